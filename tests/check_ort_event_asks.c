/* Which args the collector asks for, and that an event has its own whatever it did not ask for: bridges/ort_event_args.c and
 * ort_graph.c, in a host of the test's own. */
#include "ort_bridge_host.h"
#include "random_values.h"

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

/* ---- nodes ---- */

static size_t inner_count; /* graphs in a node */
static const char two_nodes[2];

static OrtStatus *get_num_nodes(const OrtGraph *graph, size_t *count)
{
	*count = graph ? 3 : 0;
	return graph ? NULL : api.table.CreateStatus(ORT_FAIL, "no graph");
}

static OrtStatus *get_nodes(const OrtGraph *graph, const OrtNode **nodes, size_t count)
{
	(void)graph;
	for (size_t i = 0; i < count; i++)
		nodes[i] = (const OrtNode *)(const void *)&two_nodes[i == 1];
	return NULL;
}

/* The second node has them. */
static OrtStatus *get_num_subgraphs(const OrtNode *node, size_t *count)
{
	*count = (const void *)node == (const void *)&two_nodes[1] ? inner_count : 0;
	return NULL;
}

static void show_graph(struct host *host, bool readable)
{
	api.table.Graph_GetNumNodes = get_num_nodes;
	api.table.Graph_GetNodes = get_nodes;
	api.table.Node_GetNumSubgraphs = get_num_subgraphs;
	const OrtGraph *graph = readable ? (const OrtGraph *)(const void *)two_nodes : NULL;
	ck_assert_ptr_null(host->ep->GetCapability(host->ep, graph, NULL));
}

#define NODES 200u
#define NODE_EVENTS 20000u

/* Mostly in order.  Two nodes have the same name, and four the same index if there are several graphs; other profilings have
 * others. */
static unsigned node_event(bool of_branches, unsigned profiling, unsigned *node_before)
{
	unsigned node = random_below(8) ? (*node_before + 1) % NODES : random_below(NODES), kind = node + 31 * profiling;
	*node_before = node;
	random_event(&the_event, true);
	put_number(&the_event, NODE_INDEX, of_branches ? node % (NODES / 4) : node);
	char text[32];
	snprintf(text, sizeof(text), "Operation%u", kind % 40);
	put_text(&the_event, OP_NAME, text);
	snprintf(text, sizeof(text), "Provider%u", kind % 3);
	put_text(&the_event, PROVIDER, text);
	/* Which of its inputs are parameters is so for good. */
	if (!of_branches && the_event.values[INPUTS]) {
		uint64_t inputs = strtoull(the_event.texts[ACTIVATION], NULL, 10) +
		                  strtoull(the_event.texts[PARAMETER], NULL, 10);
		put_number(&the_event, ACTIVATION, inputs - inputs / (1 + kind % 3));
		put_number(&the_event, PARAMETER, inputs / (1 + kind % 3));
	}
	return node % (NODES / 2);
}

static bool has_branches;

static void record_nodes(void)
{
	version_text = "1.32.0";
	own_arg_value = value_of_the_event;
	struct host host = host_open();
	inner_count = 0;
	show_graph(&host, true);
	/* Later ones, or those inside, are shown as well. */
	inner_count = has_branches;
	show_graph(&host, true);
	inner_count = 0;
	show_graph(&host, true);
	OrtEpProfilerImpl *profilers[PROFILINGS];
	for (unsigned i = 0; i < PROFILINGS; i++)
		profilers[i] = started(&host);
	unsigned node = 0;
	random_state = RANDOM_SEED;
	for (unsigned i = 0; i < NODE_EVENTS; i++) {
		unsigned of = i / 1000 % PROFILINGS;
		char name[32];
		snprintf(name, sizeof(name), "n%u_kernel_time", node_event(has_branches, of, &node));
		begin(profilers[of], 5000 + i);
		end(profilers[of], 5000 + i, name);
	}
	for (unsigned i = 0; i < PROFILINGS; i++)
		ended(profilers[i]);
	host_close(&host);
}

START_TEST(a_node_has_its_own_operation)
{
	has_branches = _i;
	struct trace_scan *scan = recorded(record_nodes, NULL);
	ck_assert_uint_eq(scan->records_count, NODE_EVENTS);
	unsigned node = 0;
	random_state = RANDOM_SEED;
	for (unsigned i = 0; i < NODE_EVENTS; i++) {
		node_event(has_branches, i / 1000 % PROFILINGS, &node);
		check_event(scan, &scan->records[i], &the_event, i);
	}
	trace_scan_free(scan);
}
END_TEST

static bool is_readable;

static void count_what_is_asked_of_a_node(void)
{
	version_text = "1.32.0";
	own_arg_value = value_of_the_event;
	struct host host = host_open();
	inner_count = has_branches;
	show_graph(&host, is_readable);
	OrtEpProfilerImpl *profiler = started(&host);
	make_whole_event();
	for (unsigned i = 0; i < 100; i++) {
		asked_count = 0;
		begin(profiler, 5000 + i);
		end(profiler, 5000 + i, "node");
	}
	/* Without op_name, provider and activation_size, too. */
	if (asked_count != KEYS - 3 - (is_readable && !has_branches ? 3 : 0))
		_exit(1);
	ended(profiler);
	host_close(&host);
}

START_TEST(a_node_of_one_graph_is_known)
{
	has_branches = _i == 1;
	is_readable = _i < 2;
	trace_scan_free(recorded(count_what_is_asked_of_a_node, NULL));
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
	tcase_add_test(tcase, what_follows_from_other_args_is_not_asked_for);
	tcase_add_loop_test(tcase, a_node_has_its_own_operation, 0, 2);
	tcase_add_loop_test(tcase, a_node_of_one_graph_is_known, 0, 3);
	tcase_add_test(tcase, a_question_that_fails_leaves_nothing_behind);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(ort_event_asks_suite)
