/* The sample EP as an unusual device: one that reports its work late, one that counts cycles only, and one that replays
 * captured graphs.  The device's own log (ACCELERATOR_LOG) has the truth.  Covers ep_sample/ort_ep_reports.c. */
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "epprof/plugin.h"
#include "epprof/profiler.h"
#include "tests/ep_sample/trace_content.h"

#define SAMPLE_EP CHECK_BUILD "/libsample_ort_ep.so"
#define KERNELS 4
#define NEVER_MS "3600000"

static epp_plugin *plugin;
static epp_session *session;
static int (*work)(int count);
static char *path, *log_path;

/* Loads the device, and makes a session of it in a file. */
static void open_device(const char *option, const char *value, uint64_t grace_ns)
{
	OrtEpProfilerImpl *profiler;
	path = check_path("device.epp");
	log_path = check_path("device.log");
	unlink(log_path);
	setenv("ACCELERATOR_LOG", log_path, 1);
	setenv(option, value, 1);
	check_ok(epp_plugin_load(SAMPLE_EP, &plugin));
	*(void **)&work = epp_plugin_symbol(plugin, "epp_sample_work");
	ck_assert_ptr_nonnull(work);
	const epp_session_options options = {
		.struct_size = sizeof(options), .path = path, .overwrite = 1, .grace_ns = grace_ns
	};
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_plugin_profiler_create(plugin, &profiler));
	check_ok(epp_session_attach(session, profiler, "sample"));
}

/* Records a run of nodes with work. */
static void record(uint64_t *nodes, int nodes_count)
{
	check_ok(epp_session_start(session));
	for (int i = 0; i < nodes_count; i++) {
		nodes[i] = epp_event_begin_text(session, EPP_NODE, "node");
		ck_assert_int_eq(work(KERNELS), 0);
		epp_event_end(session, nodes[i], NULL, 0);
	}
	check_ok(epp_session_end(session));
	check_ok(epp_session_wait(session, UINT64_MAX));
}

static void close_device(void)
{
	epp_session_destroy(session);
	check_ok(epp_plugin_unload(plugin));
}

static struct content read_trace(void)
{
	epp_trace *trace;
	check_ok(epp_trace_open(path, &trace));
	struct content content = content_of(trace);
	epp_trace_close(trace);
	return content;
}

/* Expects the kernels of each node: its own, as many as it launched, at their time. */
static void check_kernels(const struct content *content, const uint64_t *nodes, int nodes_count)
{
	ck_assert_uint_eq(content->device_count, (size_t)nodes_count * KERNELS);
	for (int i = 0; i < nodes_count; i++) {
		size_t count = 0;
		for (size_t j = 0; j < content->slices_count; j++) {
			const struct slice *slice = &content->slices[j];
			if (!slice->on_device || slice->parent != nodes[i])
				continue;
			ck_assert_str_eq(slice->name, "relu");
			ck_assert(lies_within(slice, slice_find(content, nodes[i])));
			count++;
		}
		ck_assert_uint_eq(count, KERNELS);
	}
}

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Two seconds late: the end of the run waits for them, and no longer. */
START_TEST(late_within_the_grace_time)
{
	uint64_t nodes[2], began_ns = now_ns();
	open_device("SAMPLE_EP_LATE_MS", "2000", UINT64_C(3600000000000));
	record(nodes, 2);
	ck_assert_uint_ge(now_ns() - began_ns, 2000000000);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_AFTER_END), 0);
	close_device();
	struct content content = read_trace();
	ck_assert_uint_eq(content.lost, 0);
	check_kernels(&content, nodes, 2);
	free(content.slices);
}
END_TEST

/* They are lost until they come, and then belong to their run. */
START_TEST(late_after_the_end)
{
	uint64_t nodes[2];
	open_device("SAMPLE_EP_LATE_MS", "100", 0);
	for (int run = 0; run < 2; run++) {
		record(&nodes[run], 1);
		while (epp_session_lost(session, EPP_LOSS_AFTER_END) > 0)
			nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	check_ok(epp_session_wait(session, UINT64_MAX));
	close_device();
	struct content content = read_trace();
	ck_assert_uint_eq(content.lost, 0);
	check_kernels(&content, nodes, 2);
	free(content.slices);
}
END_TEST

/* The session is released, and the library unloaded, long before they come. */
START_TEST(later_than_the_session)
{
	uint64_t nodes[2];
	open_device("SAMPLE_EP_LATE_MS", NEVER_MS, 1000000);
	record(nodes, 2);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_AFTER_END), 2 * KERNELS);
	close_device();
	struct content content = read_trace();
	ck_assert_uint_eq(content.lost, 2 * KERNELS);
	ck_assert_uint_eq(content.device_count, 0);
	ck_assert_uint_eq(count_named(&content, "node"), 2);
	free(content.slices);
}
END_TEST

/* A second session gets its events, while those of the first one still come. */
START_TEST(late_for_a_session_that_is_gone)
{
	uint64_t node;
	OrtEpProfilerImpl *profiler;
	open_device("SAMPLE_EP_LATE_MS", "30", 0);
	record(&node, 1);
	epp_session_destroy(session);
	const epp_session_options options = {
		.struct_size = sizeof(options), .path = path, .overwrite = 1, .grace_ns = UINT64_C(3600000000000)
	};
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_plugin_profiler_create(plugin, &profiler));
	check_ok(epp_session_attach(session, profiler, "sample"));
	record(&node, 1);
	close_device();
	struct content content = read_trace();
	ck_assert_uint_eq(content.lost, 0);
	check_kernels(&content, &node, 1);
	free(content.slices);
}
END_TEST

/* After the end of a run, where the account has what is missing; and while the end waits, with the host's events. */
START_TEST(killed_before_they_come)
{
	int ready[2];
	char byte;
	ck_assert_int_eq(pipe(ready), 0);
	path = check_path("device.epp");
	pid_t child = fork();
	if (child == 0) {
		uint64_t node;
		open_device("SAMPLE_EP_LATE_MS", NEVER_MS, _i ? UINT64_C(3600000000000) : 0);
		if (!_i) {
			record(&node, 1);
		} else {
			check_ok(epp_session_start(session));
			node = epp_event_begin_text(session, EPP_NODE, "node");
			ck_assert_int_eq(work(KERNELS), 0);
			epp_event_end(session, node, NULL, 0);
			check_ok(epp_session_end(session));
			check_fails(EPP_TIMEOUT, epp_session_wait(session, 20000000));
		}
		ck_assert_int_eq(write(ready[1], "", 1), 1);
		for (;;)
			pause();
	}
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	struct content content = read_trace();
	ck_assert_uint_eq(content.lost, _i ? 0 : KERNELS);
	ck_assert_uint_eq(content.device_count, 0);
	ck_assert_uint_eq(count_named(&content, "node"), 1);
	free(content.slices);
}
END_TEST

static int compare_numbers(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* The cycles of each command, in order of their number. */
static size_t read_log(int64_t *cycles, size_t room)
{
	FILE *log = fopen(log_path, "r");
	char name[16];
	int stream;
	unsigned long long start, end;
	size_t count = 0;
	ck_assert_ptr_nonnull(log);
	while (fscanf(log, "%15s %d %llu %llu", name, &stream, &start, &end) == 4) {
		ck_assert_uint_lt(count, room);
		cycles[count++] = (int64_t)(end - start);
	}
	fclose(log);
	qsort(cycles, count, sizeof(*cycles), compare_numbers);
	return count;
}

/* The durations are the device's; where an event is in its node is not known, and each is marked so. */
START_TEST(cycles_only)
{
	uint64_t nodes[2];
	int64_t cycles[2 * KERNELS], durations[2 * KERNELS];
	size_t count = 0;
	open_device("SAMPLE_EP_DURATIONS_ONLY", "1", 0);
	record(nodes, 2);
	close_device();
	struct content content = read_trace();
	ck_assert_uint_eq(content.lost, 0);
	check_kernels(&content, nodes, 2);
	for (size_t i = 0; i < content.slices_count; i++) {
		const struct slice *slice = &content.slices[i];
		if (!slice->on_device)
			continue;
		const struct slice *node = slice_find(&content, slice->parent);
		ck_assert_int_eq(slice->placement, EPP_PLACED_DURATION);
		/* It may have run anywhere in the node. */
		ck_assert_int_le(slice->start_ns - slice->start_error_ns, node->start_ns);
		ck_assert_int_ge(slice->end_ns + slice->end_error_ns, node->end_ns);
		durations[count++] = slice->end_ns - slice->start_ns;
	}
	qsort(durations, count, sizeof(*durations), compare_numbers);
	ck_assert_uint_eq(read_log(cycles, 2 * KERNELS), 2 * KERNELS);
	/* Its clock has 1 GHz. */
	ck_assert_mem_eq(cycles, durations, sizeof(cycles));
	free(content.slices);
}
END_TEST

static uint64_t next_number(const epp_timeline *timeline, const epp_event *event, size_t *cursor, const char *key)
{
	epp_trace_arg arg;
	ck_assert(epp_event_args(timeline, event, cursor, &arg));
	ck_assert_str_eq(arg.key, key);
	return arg.value.u64;
}

/* Each replay has all kernels of the graph once, and they belong to the node that launched it. */
START_TEST(replayed_graphs)
{
	uint64_t nodes[3];
	unsigned seen[3] = { 0 };
	int64_t cycles[3 * KERNELS];
	const epp_event *event;
	epp_trace *trace;
	epp_timeline *timeline;
	open_device("SAMPLE_EP_GRAPHS", "1", 0);
	record(nodes, 3);
	close_device();
	ck_assert_uint_eq(read_log(cycles, 3 * KERNELS), 3 * KERNELS);
	struct content content = read_trace();
	ck_assert_uint_eq(content.lost, 0);
	check_kernels(&content, nodes, 3);
	free(content.slices);
	check_ok(epp_trace_open(path, &trace));
	check_ok(epp_timeline_create(trace, NULL, &timeline));
	while (epp_timeline_next(timeline, &event)) {
		if (event->track->kind != EPP_TRACK_DEVICE || event->kind != EPP_EVENT_SLICE)
			continue;
		int node = event->parent == nodes[0] ? 0 : event->parent == nodes[1] ? 1 : 2;
		size_t cursor = 0;
		ck_assert_uint_eq(next_number(timeline, event, &cursor, "graph"), 1);
		uint64_t number = next_number(timeline, event, &cursor, "graph_node");
		ck_assert_uint_lt(number, KERNELS);
		seen[node] |= 1u << number;
	}
	check_ok(epp_timeline_status(timeline));
	epp_timeline_destroy(timeline);
	epp_trace_close(trace);
	for (int i = 0; i < 3; i++)
		ck_assert_uint_eq(seen[i], (1u << KERNELS) - 1);
}
END_TEST

START_TEST(options_that_are_refused)
{
	setenv("SAMPLE_EP_LATE_MS", "soon", 1);
	check_fails(EPP_PLUGIN, epp_plugin_load(SAMPLE_EP, &plugin));
	setenv("SAMPLE_EP_LATE_MS", "20", 1);
	setenv("SAMPLE_EP_GRAPHS", "1", 1);
	check_fails(EPP_PLUGIN, epp_plugin_load(SAMPLE_EP, &plugin));
}
END_TEST

static Suite *sample_devices_suite(void)
{
	Suite *suite = suite_create("sample devices");
	TCase *tests = tcase_create("devices");
	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, late_within_the_grace_time);
	tcase_add_test(tests, late_after_the_end);
	tcase_add_test(tests, later_than_the_session);
	tcase_add_test(tests, late_for_a_session_that_is_gone);
	tcase_add_loop_test(tests, killed_before_they_come, 0, 2);
	tcase_add_test(tests, cycles_only);
	tcase_add_test(tests, replayed_graphs);
	tcase_add_test(tests, options_that_are_refused);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(sample_devices_suite)
