/* What the collector keeps of an event's name and args: bridges/ort_event_args.c, in a host of the test's own. */
#include <sys/mman.h>
#include <unistd.h>

#include "ort_bridge_host.h"
#include "random_values.h"

/* ---- values ---- */

static const struct {
	const char *text;
	bool is_number;
	int64_t number;
} values[] = {
	{ "0", true, 0 },
	{ "7", true, 7 },
	{ "-7", true, -7 },
	{ "1048576", true, 1048576 },
	{ "123456", true, 123456 },
	{ "1234567", true, 1234567 },
	{ "12345678", true, 12345678 },
	{ "-123456", true, -123456 },
	{ "-1234567", true, -1234567 },
	{ "999999999999999999", true, 999999999999999999 },
	{ "-999999999999999999", true, -999999999999999999 },
	{ "1000000000000000000", false, 0 },
	{ "18446744073709551616", false, 0 },
	{ "184467440737095516160000000000000000000001", false, 0 },
	{ "", false, 0 },
	{ "-", false, 0 },
	{ "-0", false, 0 },
	{ "00", false, 0 },
	{ "007", false, 0 },
	{ "-07", false, 0 },
	{ "--7", false, 0 },
	{ "+7", false, 0 },
	{ " 7", false, 0 },
	{ "7 ", false, 0 },
	{ "7.5", false, 0 },
	{ "0x7", false, 0 },
	{ "12/", false, 0 },
	{ "12:", false, 0 },
	{ "12\xb2", false, 0 },
	{ "Neg", false, 0 },
	{ "Negate", false, 0 },
	{ "Softmax", false, 0 },
	{ "Softmax1", false, 0 },
	{ "\xff\xff\xff\xff\xff\xff\xff", false, 0 },
	{ "\x01", false, 0 },
	{ "CPUExecutionProvider", false, 0 },
	{ "[{\"float\":[4]}]", false, 0 },
};
#define VALUES (sizeof(values) / sizeof(values[0]))

static void record_values(void)
{
	static const char *const keys[] = { "op_name" };
	struct host host = host_open();
	OrtEpProfilerImpl *profiler = started(&host);
	for (unsigned i = 0; i < VALUES; i++) {
		char name[16];
		snprintf(name, sizeof(name), "value %u", i);
		begin(profiler, 5000 + i);
		end_with(profiler, 5000 + i, name, keys, &values[i].text, 1);
	}
	ended(profiler);
	host_close(&host);
}

static void check_value(const struct trace_scan *scan, const struct scan_record *record, unsigned i)
{
	const struct scan_arg *arg = &record->args[record->args_count - 1];
	ck_assert_msg(scan_name_is(scan, arg->key, "op_name"), "\"%s\" has no value", values[i].text);
	if (values[i].is_number) {
		ck_assert_msg(arg->type == EPP_ARG_I64, "\"%s\" is a text", values[i].text);
		ck_assert_int_eq((int64_t)arg->value, values[i].number);
	} else {
		ck_assert_msg(arg->type == EPP_ARG_TEXT, "\"%s\" is a number", values[i].text);
		ck_assert_uint_eq(arg->text_bytes, strlen(values[i].text));
		ck_assert_mem_eq(arg->text, values[i].text, arg->text_bytes);
	}
}

START_TEST(whole_numbers_are_numbers_and_come_out_as_they_were)
{
	struct trace_scan *scan = recorded(record_values, NULL);
	for (unsigned i = 0; i < VALUES; i++) {
		char name[16];
		snprintf(name, sizeof(name), "value %u", i);
		check_value(scan, named(scan, name), i);
	}
	trace_scan_free(scan);
}
END_TEST

/* Each after each, and after itself. */
static unsigned value_at(unsigned event)
{
	unsigned first = event / 3 / VALUES, second = event / 3 % VALUES;
	return event % 3 == 0 ? first : second;
}

/* All at the same place, so that what is left of the one before stands behind the end of each. */
static void record_values_after_values(void)
{
	static const char *const keys[] = { "op_name" };
	struct host host = host_open();
	OrtEpProfilerImpl *profiler = started(&host);
	for (unsigned i = 0; i < 3 * VALUES * VALUES; i++) {
		begin(profiler, 5000 + i);
		end_with(profiler, 5000 + i, "node", keys, &values[value_at(i)].text, 1);
	}
	ended(profiler);
	host_close(&host);
}

START_TEST(a_value_is_its_own_whatever_came_before)
{
	struct trace_scan *scan = recorded(record_values_after_values, NULL);
	ck_assert_uint_eq(scan->records_count, 3 * VALUES * VALUES);
	for (unsigned i = 0; i < 3 * VALUES * VALUES; i++)
		check_value(scan, &scan->records[i], value_at(i));
	trace_scan_free(scan);
}
END_TEST

/* ---- what stands behind a value ---- */

#define BEHIND_MAX 9u

static char *page_end;  /* behind it nothing can be read */
static unsigned behind; /* how many bytes there are from a value's end to that */

/* "77" a few bytes before the end, with digits behind its 0. */
static const char *value_near_the_end(const char *key)
{
	if (strcmp(key, "op_name") != 0)
		return NULL;
	memset(page_end - 2 * BEHIND_MAX, '9', 2 * BEHIND_MAX);
	return memcpy(page_end - behind - 3, "77", 3);
}

static void record_values_near_the_end(void)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 2 * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(pages, MAP_FAILED);
	page_end = pages + page_bytes;
	ck_assert_int_eq(munmap(page_end, page_bytes), 0);
	own_arg_value = value_near_the_end;
	struct host host = host_open();
	OrtEpProfilerImpl *profiler = started(&host);
	for (behind = 0; behind <= BEHIND_MAX; behind++) {
		begin(profiler, 5000 + behind);
		end(profiler, 5000 + behind, "node");
	}
	ended(profiler);
	host_close(&host);
}

START_TEST(nothing_is_read_beyond_the_page_of_a_value)
{
	struct trace_scan *scan = recorded(record_values_near_the_end, NULL);
	ck_assert_uint_eq(scan->records_count, BEHIND_MAX + 1);
	for (unsigned i = 0; i <= BEHIND_MAX; i++) {
		const struct scan_record *record = &scan->records[i];
		ck_assert_uint_eq(record->args[record->args_count - 1].type, EPP_ARG_I64);
		ck_assert_int_eq((int64_t)record->args[record->args_count - 1].value, 77);
	}
	trace_scan_free(scan);
}
END_TEST

/* ---- what is not asked for again ---- */

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

/* Up to 7 tensors; returns their bytes. */
static uint64_t put_shapes(struct node_event *event, unsigned key, uint64_t random)
{
	char text[400] = "[";
	uint64_t bytes = 0;
	for (unsigned i = 0; i < random % 8; i++) {
		unsigned rows = 1 + (unsigned)(random >> (8 + 2 * i)) % 4, columns = 1000 + i;
		size_t used = strlen(text);
		snprintf(text + used, sizeof(text) - used, "%s{\"float\":[%u,%u]}", i ? "," : "", rows, columns);
		bytes += 4ull * rows * columns;
	}
	size_t end = strlen(text);
	snprintf(text + end, sizeof(text) - end, "]");
	put_text(event, key, text);
	return bytes;
}

/* Among few of each, so that much is as it was; names and indexes are the same all over, as in the branches of an If. */
static void random_event(struct node_event *event, bool has_pool)
{
	static const char *const operations[] = { "Neg", "Abs", "LayerNormalization", "", "17" };
	static const char *const providers[] = { "CPUExecutionProvider", "CUDAExecutionProvider" };
	static const uint64_t shapes[9] = { 0, 1, 2, 0x102, 7, 0x107, 0x200007, 3, 0x303 };
	memset(event->values, 0, sizeof(event->values));
	put_number(event, NODE_INDEX, random_below(2));
	put_text(event, OP_NAME, operations[random_below(5)]);
	put_text(event, PROVIDER, providers[random_below(2)]);
	uint64_t inputs = put_shapes(event, INPUTS, shapes[random_below(9)]), parameters = inputs / (1 + random_below(3));
	put_number(event, ACTIVATION, inputs - parameters);
	put_number(event, PARAMETER, parameters);
	put_number(event, OUTPUT, put_shapes(event, OUTPUTS, shapes[random_below(9)]));
	put_text(event, STATS, !has_pool ? "" : random_below(2) ? "{\"main_thread\": {}}" : "{}");
	bool has_memory = random_below(4);
	for (unsigned i = 0; i < 7 && has_memory; i++)
		put_number(event, MEMORY + i, random_below(3) * (i % 2 ? 1 : 1000000007ull));
	/* Some are not a kernel's, and have little or nothing; some lack what no other follows from. */
	if (!random_below(8))
		for (unsigned i = 0; i < KEYS; i++)
			if (i != OP_NAME || random_below(2))
				event->values[i] = NULL;
	static const unsigned lacking[] = { OP_NAME, PROVIDER, ACTIVATION, INPUTS, OUTPUTS };
	if (!random_below(8))
		event->values[lacking[random_below(5)]] = NULL;
	if (!random_below(8) && has_pool)
		event->values[STATS] = NULL;
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

static void make_whole_event(void)
{
	do
		random_event(&the_event, false);
	while (!the_event.values[MEMORY] || !the_event.values[OP_NAME] || !the_event.values[PROVIDER] ||
	       !the_event.values[INPUTS] || !the_event.values[OUTPUTS] || !the_event.values[ACTIVATION] ||
	       strlen(the_event.values[INPUTS]) > 100 || strlen(the_event.values[OUTPUTS]) > 100);
}

static void count_what_is_asked(void)
{
	version_text = "1.32.0";
	own_arg_value = value_of_the_event;
	struct host host = host_open();
	OrtEpProfilerImpl *profiler = started(&host);
	make_whole_event();
	for (unsigned i = 0; i < 100; i++) {
		asked_count = 0;
		begin(profiler, 5000 + i);
		end(profiler, 5000 + i, "node");
	}
	/* All but parameter_size, output_size and thread_scheduling_stats. */
	if (asked_count != KEYS - 3)
		_exit(1);
	ended(profiler);
	host_close(&host);
}

START_TEST(what_follows_from_other_args_is_not_asked_for)
{
	trace_scan_free(recorded(count_what_is_asked, NULL));
}
END_TEST

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

/* ---- names ---- */

/* More than are remembered with what came after them. */
#define NAMES 5000u
#define EVENTS 30000u

/* In order at first, as a model runs its nodes; then some are left out; then any. */
static unsigned name_at(unsigned event)
{
	if (event < 2 * NAMES)
		return event % NAMES;
	if (event < 3 * NAMES)
		return event % NAMES / 3 * 3;
	return (unsigned)(event * UINT64_C(2654435761) % 4294967291u % NAMES);
}

/* Alike in their first 70 bytes, and some the beginning of others. */
static const char *text_of(unsigned number)
{
	static char text[160];
	snprintf(text, sizeof(text), "%s%.*s", "a layer of a model with a path that is long/and alike in all of them/node",
	         (int)(number % 2 ? 5 : 10), "0000000000");
	snprintf(text + strlen(text), 16, "%u", number / 2);
	return text;
}

static void record_names(void)
{
	struct host host = host_open();
	OrtEpProfilerImpl *profiler = started(&host);
	for (unsigned i = 0; i < EVENTS; i++) {
		begin(profiler, 5000 + i);
		end(profiler, 5000 + i, text_of(name_at(i)));
	}
	ended(profiler);
	host_close(&host);
}

START_TEST(names_in_any_order)
{
	struct trace_scan *scan = recorded(record_names, NULL);
	ck_assert_uint_eq(scan->records_count, EVENTS);
	for (unsigned i = 0; i < EVENTS; i++)
		ck_assert_msg(scan_name_is(scan, scan->records[i].name, text_of(name_at(i))),
		              "event %u is not called %s", i, text_of(name_at(i)));
	trace_scan_free(scan);
}
END_TEST

static Suite *ort_event_args_suite(void)
{
	Suite *suite = suite_create("ort_event_args");
	TCase *tcase = tcase_create("ort_event_args");
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, whole_numbers_are_numbers_and_come_out_as_they_were);
	tcase_add_test(tcase, a_value_is_its_own_whatever_came_before);
	tcase_add_test(tcase, nothing_is_read_beyond_the_page_of_a_value);
	tcase_add_test(tcase, an_event_has_its_own_args_whatever_came_before);
	tcase_add_test(tcase, what_follows_from_other_args_is_not_asked_for);
	tcase_add_test(tcase, a_question_that_fails_leaves_nothing_behind);
	tcase_add_test(tcase, names_in_any_order);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(ort_event_args_suite)
