/* An event has the args that ONNX Runtime gave for it, all of them and no others, whatever events came before:
 * bridges/onnxruntime/ort_event_record.c in a host of the test's own. */
#include "ort_bridge_host.h"
#include "tests/support/random_values.h"

enum {
	NODE_INDEX,
	OP_NAME,
	PROVIDER,
	ACTIVATION,
	PARAMETER,
	OUTPUT,
	INPUTS,
	OUTPUTS,
	STATS,
	MEMORY,
	KEYS = MEMORY + 7
};
static const char *const key_texts[KEYS] = { "node_index",
	                                     "op_name",
	                                     "provider",
	                                     "activation_size",
	                                     "parameter_size",
	                                     "output_size",
	                                     "input_type_shape",
	                                     "output_type_shape",
	                                     "thread_scheduling_stats",
	                                     "mem_bytes_in_use",
	                                     "mem_bytes_requested_in_use",
	                                     "mem_in_use_delta",
	                                     "mem_requested_in_use_delta",
	                                     "mem_in_use_peak",
	                                     "mem_arena_held",
	                                     "mem_arena_held_delta" };

/* A node's event as ONNX Runtime would make it; what is NULL it has not. */
struct node_event {
	const char *values[KEYS];
	char texts[KEYS][400];
};

static struct node_event the_event;
static unsigned asked_count, failing_question; /* 0: none */

#define FAILURES 500u

static const char *value_of_the_event(const char *key)
{
	if (++asked_count == failing_question)
		own_arg_fails = true;
	for (unsigned i = 0; i < KEYS; i++)
		if (!strcmp(key, key_texts[i]))
			return the_event.values[i];
	return NULL;
}

static void put_number(struct node_event *event, unsigned key, uint64_t number)
{
	snprintf(event->texts[key], sizeof(event->texts[key]), "%llu", (unsigned long long)number);
	event->values[key] = event->texts[key];
}

static void put_text(struct node_event *event, unsigned key, const char *text)
{
	snprintf(event->texts[key], sizeof(event->texts[key]), "%s", text);
	event->values[key] = event->texts[key];
}

/* Up to 7 tensors. */
static void put_shapes(struct node_event *event, unsigned key, uint64_t random)
{
	char text[400] = "[";
	for (unsigned i = 0; i < random % 8; i++) {
		unsigned rows = 1 + (unsigned)(random >> (8 + 2 * i)) % 4, columns = 1000 + i;
		size_t used = strlen(text);
		snprintf(text + used, sizeof(text) - used, "%s{\"float\":[%u,%u]}", i ? "," : "", rows, columns);
	}
	size_t end = strlen(text);
	snprintf(text + end, sizeof(text) - end, "]");
	put_text(event, key, text);
}

/* Few values of each arg, independent of each other, so that an event often differs from an earlier one in a single
 * arg.  Names and node indexes repeat, as in the branches of an If. */
static void random_event(struct node_event *event, bool has_pool)
{
	static const char *const operations[] = { "Neg", "Abs", "LayerNormalization", "", "17" };
	static const char *const providers[] = { "CPUExecutionProvider", "CUDAExecutionProvider" };
	static const uint64_t shapes[9] = { 0, 1, 2, 0x102, 7, 0x107, 0x200007, 3, 0x303 };
	memset(event->values, 0, sizeof(event->values));
	put_number(event, NODE_INDEX, random_below(2));
	put_text(event, OP_NAME, operations[random_below(5)]);
	put_text(event, PROVIDER, providers[random_below(2)]);
	put_shapes(event, INPUTS, shapes[random_below(9)]);
	put_number(event, ACTIVATION, random_below(3));
	put_number(event, PARAMETER, random_below(3));
	put_shapes(event, OUTPUTS, shapes[random_below(9)]);
	put_number(event, OUTPUT, random_below(3));
	put_text(event, STATS, random_below(2) ? "" : has_pool ? "{\"main_thread\": {}}" : "{}");
	bool has_memory = random_below(4);
	for (unsigned i = 0; i < 7 && has_memory; i++)
		put_number(event, MEMORY + i, random_below(3) * (i % 2 ? 1 : 1000000007ull));
	/* Some have little or nothing; some lack one. */
	if (!random_below(8))
		for (unsigned i = 0; i < KEYS; i++)
			if (i != OP_NAME || random_below(2))
				event->values[i] = NULL;
	if (!random_below(4))
		event->values[random_below(KEYS)] = NULL;
}

#define RANDOM_EVENTS 20000u
#define PROFILINGS 3u

/* Often the one that was, as in a loop of one session. */
static unsigned profiling_at(unsigned number)
{
	return number / 8 % PROFILINGS;
}

/* Of several sessions by turns, each of which has a pool of threads or has none. */
static void record_random_events(void)
{
	version_text = "1.32.0";
	own_arg_value = value_of_the_event;
	struct host host = host_open();
	OrtEpProfilerImpl *profilers[PROFILINGS];
	for (unsigned i = 0; i < PROFILINGS; i++)
		profilers[i] = started(&host);
	random_state = RANDOM_SEED;
	for (unsigned i = 0; i < RANDOM_EVENTS; i++) {
		unsigned of = profiling_at(i);
		random_event(&the_event, of > 0);
		begin(profilers[of], 5000 + i);
		end(profilers[of], 5000 + i, i % 2 ? "node" : "");
	}
	for (unsigned i = 0; i < PROFILINGS; i++)
		ended(profilers[i]);
	host_close(&host);
}

static void check_event(const struct trace_scan *scan, const struct scan_record *record, const struct node_event *event,
                        unsigned number)
{
	unsigned wanted = 0;
	for (unsigned i = 0; i < KEYS; i++) {
		const struct scan_arg *arg = NULL;
		for (unsigned j = 0; j < record->args_count; j++)
			if (scan_name_is(scan, record->args[j].key, key_texts[i]))
				arg = &record->args[j];
		ck_assert_msg(!arg == !event->values[i], "event %u: %s %s", number, key_texts[i],
		              arg ? "is new" : "is missing");
		if (!arg)
			continue;
		char text[400];
		if (arg->type == EPP_ARG_TEXT)
			snprintf(text, sizeof(text), "%.*s", (int)arg->text_bytes, arg->text);
		else
			snprintf(text, sizeof(text), "%lld", (long long)arg->value);
		ck_assert_msg(!strcmp(text, event->values[i]), "event %u: %s is %s, not %s", number, key_texts[i], text,
		              event->values[i]);
		wanted++;
	}
	ck_assert_uint_eq(record->args_count, 3 + wanted + (number == 0 || record->args_count - wanted == 4));
}

START_TEST(an_event_has_its_own_args_whatever_came_before)
{
	struct trace_scan *scan = recorded(record_random_events, NULL);
	ck_assert_uint_eq(scan->records_count, RANDOM_EVENTS);
	random_state = RANDOM_SEED;
	for (unsigned i = 0; i < RANDOM_EVENTS; i++) {
		random_event(&the_event, profiling_at(i) > 0);
		check_event(scan, &scan->records[i], &the_event, i);
	}
	trace_scan_free(scan);
}
END_TEST

static void record_and_count_questions(void)
{
	version_text = "1.32.0";
	own_arg_value = value_of_the_event;
	struct host host = host_open();
	OrtEpProfilerImpl *profiler = started(&host);
	random_state = RANDOM_SEED;
	random_event(&the_event, false);
	for (unsigned i = 0; i < 100; i++) {
		asked_count = 0;
		begin(profiler, 5000 + i);
		end(profiler, 5000 + i, "node");
		if (asked_count != KEYS)
			_exit(1);
	}
	ended(profiler);
	host_close(&host);
}

START_TEST(each_event_is_asked_for_every_key)
{
	trace_scan_free(recorded(record_and_count_questions, NULL));
}
END_TEST

/* ---- more different args than are interned ---- */

#define DIFFERENT_EVENTS 100000u

/* Each comes three times in a row, then never again. */
static void different_event(unsigned number)
{
	memset(the_event.values, 0, sizeof(the_event.values));
	put_number(&the_event, NODE_INDEX, number % 7);
	put_number(&the_event, ACTIVATION, number / 3);
	put_text(&the_event, OP_NAME, "Attention");
}

static void record_different_events(void)
{
	version_text = "1.32.0";
	own_arg_value = value_of_the_event;
	struct host host = host_open();
	OrtEpProfilerImpl *profiler = started(&host);
	epp_name before = epp_name_intern("before");
	for (unsigned i = 0; i < DIFFERENT_EVENTS; i++) {
		different_event(i);
		begin(profiler, 5000 + i);
		end(profiler, 5000 + i, "node");
	}
	/* The names of a process have room for a million. */
	if (epp_name_intern("after") - before > 17000)
		_exit(1);
	ended(profiler);
	host_close(&host);
}

START_TEST(shapes_that_change_without_end_leave_room_for_names)
{
	struct trace_scan *scan = recorded(record_different_events, NULL);
	ck_assert_uint_eq(scan->records_count, DIFFERENT_EVENTS);
	for (unsigned i = 0; i < DIFFERENT_EVENTS; i++) {
		different_event(i);
		check_event(scan, &scan->records[i], &the_event, i);
	}
	trace_scan_free(scan);
}
END_TEST

/* ---- failures ---- */

/* Each question of an event fails in turn; between two that fail is one that does not. */
static void record_failures(void)
{
	version_text = "1.32.0";
	own_arg_value = value_of_the_event;
	struct host host = host_open();
	OrtEpProfilerImpl *profiler = started(&host);
	random_state = RANDOM_SEED;
	for (unsigned i = 0; i < 2 * FAILURES; i++) {
		random_event(&the_event, true);
		asked_count = 0;
		failing_question = i % 2 ? 1 + i / 2 % KEYS : 0;
		begin(profiler, 5000 + i);
		OrtProfilingEvent *event;
		ck_assert_ptr_null(ep_api->CreateProfilingEvent(OrtProfilingEventCategory_NODE, 1, 2, "node", 4000 + i,
		                                                7, NULL, NULL, 0, &event));
		OrtStatus *status = profiler->StopEvent(profiler, 5000 + i, event);
		if (!status == (failing_question && failing_question <= asked_count))
			_exit(1);
		api.table.ReleaseStatus(status);
		ep_api->ReleaseProfilingEvent(event);
	}
	ended(profiler);
	host_close(&host);
}

START_TEST(a_question_that_fails_leaves_nothing_behind)
{
	struct trace_scan *scan = recorded(record_failures, NULL);
	ck_assert_uint_eq(scan->records_count, 2 * FAILURES);
	random_state = RANDOM_SEED;
	for (unsigned i = 0; i < 2 * FAILURES; i++) {
		random_event(&the_event, true);
		if (i % 2 == 0)
			check_event(scan, &scan->records[i], &the_event, i);
	}
	trace_scan_free(scan);
}
END_TEST

static Suite *ort_event_asks_suite(void)
{
	Suite *suite = suite_create("ort_event_asks");
	TCase *tcase = tcase_create("ort_event_asks");
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, an_event_has_its_own_args_whatever_came_before);
	tcase_add_test(tcase, each_event_is_asked_for_every_key);
	tcase_add_test(tcase, shapes_that_change_without_end_leave_room_for_names);
	tcase_add_test(tcase, a_question_that_fails_leaves_nothing_behind);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(ort_event_asks_suite)
