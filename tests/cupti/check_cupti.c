/* The plugin for NVIDIA's GPUs in sessions, over a library in the place of CUPTI (tests/plugins/fake_cupti.c): what its
 * records become, whose they are, and what happens where CUPTI fails. */
#include "tests/support/check.h"

#include <dlfcn.h>
#include <pthread.h>

#include "epprof/plugin.h"
#include "epprof/profiler.h"
#include "epprof/timeline.h"
#include "tests/support/valid_trace.h"

#define PLUGIN CHECK_BUILD "/libepprof_cupti.so"
#define FAKE CHECK_BUILD "/tests/plugins/fake_cupti.so"

static epp_plugin *plugin;
static epp_session *session;
static epp_name node;
static struct {
	uint32_t version;
	int enable_result, refused_kind;
	bool hangs_in_flush, reports_early, cuts, never_ends;
	size_t dropped_count;
	bool takes_records;
} * fake;
static void (*launch)(const char *name, uint32_t stream, uint64_t graph_node);
static void (*copies)(uint64_t bytes);
static void (*others)(void);
static bool (*is_enabled)(int kind);

static void use_fake(void)
{
	void *library = dlopen(FAKE, RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(library != NULL, "%s", dlerror());
	fake = dlsym(library, "fake_cupti");
	*(void **)&launch = dlsym(library, "fake_cupti_launch");
	*(void **)&copies = dlsym(library, "fake_cupti_copies");
	*(void **)&others = dlsym(library, "fake_cupti_others");
	*(void **)&is_enabled = dlsym(library, "fake_cupti_is_enabled");
	setenv("EPPROF_CUPTI", FAKE, 1);
}

/* The status is one of the plugin, and its message has this text; the status is released. */
static void check_message(epp_status *status, const char *text)
{
	ck_assert_int_eq(epp_status_code(status), EPP_PLUGIN);
	ck_assert_msg(strstr(epp_status_message(status), text) != NULL, "%s", epp_status_message(status));
	epp_status_destroy(status);
}

static void begin(void)
{
	OrtEpProfilerImpl *profiler;
	epp_session_options options = { .struct_size = sizeof(options) };
	if (!plugin)
		check_ok(epp_plugin_load(PLUGIN, &plugin));
	node = epp_name_intern("node");
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_plugin_profiler_create(plugin, &profiler));
	check_ok(epp_session_attach(session, profiler, "cuda"));
	check_ok(epp_session_start(session));
}

static epp_trace *trace_at_end(void)
{
	epp_trace *trace;
	check_ok(epp_session_end(session));
	check_ok(epp_session_wait(session, UINT64_MAX));
	check_ok(epp_trace_open_session(session, &trace));
	check_valid(trace);
	return trace;
}

static void done(epp_trace *trace)
{
	epp_trace_close(trace);
	epp_session_destroy(session);
}

/* Counts events with this name, on devices or not, that have this parent. */
static size_t count(epp_trace *trace, const char *name, bool on_device, uint64_t parent)
{
	size_t found = 0;
	epp_timeline *timeline;
	const epp_event *event;
	check_ok(epp_timeline_create(trace, NULL, &timeline));
	while (epp_timeline_next(timeline, &event))
		found += event->kind == EPP_EVENT_SLICE && strcmp(event->name, name) == 0 && event->parent == parent &&
		         (event->track->kind == EPP_TRACK_DEVICE) == on_device;
	check_ok(epp_timeline_status(timeline));
	epp_timeline_destroy(timeline);
	return found;
}

static uint64_t lost(epp_trace *trace)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < epp_trace_ledger_count(trace); i++) {
		epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
		check_ok(epp_trace_ledger_at(trace, i, &account));
		ck_assert(account.balanced);
		sum += account.lost_total;
	}
	return sum;
}

static void *launch_under_a_node(void *id)
{
	for (int i = 0; i < 500; i++) {
		uint64_t event = epp_event_begin(session, EPP_NODE, node);
		launch("_Z4tinyv", 7, 0);
		epp_event_end(session, event, NULL, 0);
		if (i == 0)
			*(uint64_t *)id = event;
	}
	return NULL;
}

START_TEST(kernels_are_under_their_nodes)
{
	use_fake();
	begin();
	launch("plain", 7, 0);
	uint64_t id = epp_event_begin(session, EPP_NODE, node);
	launch("_Z4gemmPf", 7, 0);
	launch("_Z4gemmPf", 8, 0);
	epp_event_end(session, id, NULL, 0);
	epp_trace *trace = trace_at_end();
	ck_assert_uint_eq(count(trace, "plain", true, 0), 1);
	ck_assert_uint_eq(count(trace, "gemm(float*)", true, id), 2);
	ck_assert_uint_eq(count(trace, "cudaLaunchKernel", false, id), 2);
	ck_assert_uint_eq(lost(trace), 0);
	done(trace);
}
END_TEST

START_TEST(threads_have_their_own_ids)
{
	pthread_t threads[4];
	uint64_t ids[4];
	use_fake();
	begin();
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, launch_under_a_node, &ids[i]), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	epp_trace *trace = trace_at_end();
	for (int i = 0; i < 4; i++)
		ck_assert_uint_eq(count(trace, "tiny()", true, ids[i]), 1);
	ck_assert_uint_eq(count(trace, "tiny()", true, 0), 0);
	ck_assert_uint_eq(lost(trace), 0);
	done(trace);
}
END_TEST

START_TEST(an_external_id_may_come_after_its_kernel)
{
	use_fake();
	begin();
	fake->reports_early = true;
	uint64_t id = epp_event_begin(session, EPP_NODE, node);
	launch("late", 7, 0);
	epp_event_end(session, id, NULL, 0);
	epp_trace *trace = trace_at_end();
	ck_assert_uint_eq(count(trace, "late", true, id), 1);
	done(trace);
}
END_TEST

/* The bound has the error of CUPTI's own conversion. */
START_TEST(the_bound_has_the_error_of_the_conversion)
{
	int64_t error_ns = 0;
	epp_timeline *timeline;
	const epp_event *event;
	use_fake();
	begin();
	launch("kernel", 7, 0);
	epp_trace *trace = trace_at_end();
	check_ok(epp_timeline_create(trace, NULL, &timeline));
	while (epp_timeline_next(timeline, &event)) {
		if (strcmp(event->name, "kernel") == 0)
			error_ns = event->start_error_ns;
	}
	check_ok(epp_timeline_status(timeline));
	epp_timeline_destroy(timeline);
	ck_assert_int_ge(error_ns, 1400);
	done(trace);
}
END_TEST

START_TEST(copies_and_fills)
{
	use_fake();
	begin();
	copies(4096);
	epp_trace *trace = trace_at_end();
	ck_assert_uint_eq(count(trace, "memcpy HtoD", true, 0), 1);
	ck_assert_uint_eq(count(trace, "memcpy PtoP", true, 0), 1);
	ck_assert_uint_eq(count(trace, "memset", true, 0), 1);
	ck_assert_uint_eq(lost(trace), 0);
	done(trace);
}
END_TEST

/* Node 5 of graph 3, in the metadata. */
START_TEST(kernels_of_graphs_have_their_node)
{
	bool found = false;
	epp_timeline *timeline;
	const epp_event *event;
	use_fake();
	begin();
	launch("captured", 7, 5);
	epp_trace *trace = trace_at_end();
	check_ok(epp_timeline_create(trace, NULL, &timeline));
	while (epp_timeline_next(timeline, &event)) {
		size_t cursor = 0;
		epp_trace_arg arg;
		while (strcmp(event->name, "captured") == 0 && epp_event_args(timeline, event, &cursor, &arg))
			found |= strcmp(arg.key, "metadata") == 0 &&
			         memmem(arg.value.text, arg.text_bytes, "\"graph\": 3, \"graph_node\": 5}", 28);
	}
	check_ok(epp_timeline_status(timeline));
	epp_timeline_destroy(timeline);
	ck_assert(found);
	done(trace);
}
END_TEST

START_TEST(queries_and_unknown_records_are_left_out)
{
	use_fake();
	begin();
	others();
	launch("kernel", 7, 0);
	epp_trace *trace = trace_at_end();
	ck_assert_uint_eq(count(trace, "kernel", true, 0), 1);
	ck_assert_uint_eq(count(trace, "cudaLaunchKernel", false, 0), 1);
	ck_assert_uint_eq(count(trace, "cudaGetDevice", false, 0) + count(trace, "cuCtxGetCurrent", false, 0), 0);
	ck_assert_uint_eq(count(trace, "cudaStreamGetCaptureInfo", false, 0) +
	                      count(trace, "cudaStreamGetCaptureInfo_v2_v11030", false, 0),
	                  0);
	ck_assert_uint_eq(lost(trace), 0);
	done(trace);
}
END_TEST

START_TEST(many_launches_need_many_buffers)
{
	use_fake();
	begin();
	uint64_t id = epp_event_begin(session, EPP_NODE, node);
	for (int i = 0; i < 20000; i++)
		launch("tiny", 7, 0);
	epp_event_end(session, id, NULL, 0);
	epp_trace *trace = trace_at_end();
	ck_assert_uint_eq(count(trace, "tiny", true, id), 20000);
	ck_assert_uint_eq(lost(trace), 0);
	done(trace);
}
END_TEST

START_TEST(a_session_runs_again)
{
	use_fake();
	for (int i = 0; i < 3; i++) {
		begin();
		launch("again", 7, 0);
		epp_trace *trace = trace_at_end();
		ck_assert_uint_eq(count(trace, "again", true, 0), 1);
		done(trace);
		launch("between", 7, 0);
	}
}
END_TEST

/* ---- losses ---- */

START_TEST(dropped_records_are_counted)
{
	use_fake();
	begin();
	fake->dropped_count = 5;
	launch("kernel", 7, 0);
	epp_trace *trace = trace_at_end();
	ck_assert_uint_eq(lost(trace), 5);
	done(trace);
}
END_TEST

START_TEST(work_that_has_not_ended_is_counted)
{
	use_fake();
	begin();
	fake->never_ends = true;
	launch("endless", 7, 0);
	epp_trace *trace = trace_at_end();
	ck_assert_uint_eq(count(trace, "endless", true, 0), 0);
	ck_assert_uint_eq(count(trace, "cudaLaunchKernel", false, 0), 1);
	ck_assert_uint_eq(lost(trace), 1);
	done(trace);
}
END_TEST

/* In each of two buffers: the kernel, and the call that the plugin makes at the end. */
START_TEST(a_buffer_that_is_cut_is_counted)
{
	use_fake();
	begin();
	fake->cuts = true;
	launch("kernel", 7, 0);
	epp_trace *trace = trace_at_end();
	ck_assert_uint_eq(count(trace, "cudaLaunchKernel", false, 0), 1);
	ck_assert_uint_eq(lost(trace), 2);
	done(trace);
}
END_TEST

/* ---- failures ---- */

static char logged[1024];

static void keep_message(void *user, epp_blame blame, const char *text)
{
	(void)user;
	(void)blame;
	snprintf(logged, sizeof(logged), "%s", text);
}

START_TEST(a_kind_that_cannot_be_enabled)
{
	use_fake();
	fake->enable_result = 35;
	OrtEpProfilerImpl *profiler;
	epp_session_options options = { .struct_size = sizeof(options), .log = keep_message };
	check_ok(epp_plugin_load(PLUGIN, &plugin));
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_plugin_profiler_create(plugin, &profiler));
	check_ok(epp_session_attach(session, profiler, "cuda"));
	check_ok(epp_session_start(session));
	ck_assert_msg(strstr(logged, "pu1TracingEnable: result 35 (CUPTI_ERROR_OF_THE_TEST)") != NULL, "%s", logged);
	epp_status_destroy(epp_session_end(session));
	epp_session_destroy(session);
}
END_TEST

/* The second of CUPTI's kinds for kernels: the first one is turned off again, and the other kinds are recorded. */
START_TEST(a_kind_of_which_a_part_is_refused)
{
	use_fake();
	fake->enable_result = 35;
	fake->refused_kind = 39;
	begin();
	ck_assert(!is_enabled(10));
	copies(64);
	epp_trace *trace = trace_at_end();
	ck_assert_uint_eq(count(trace, "memcpy HtoD", true, 0), 1);
	done(trace);
}
END_TEST

/* Before, records of the session have arrived. */
START_TEST(records_that_another_profiler_takes_are_an_error)
{
	use_fake();
	begin();
	for (int i = 0; i < 3000; i++)
		launch("tiny", 7, 0);
	fake->takes_records = true;
	launch("tiny", 7, 0);
	epp_status *status = epp_session_end(session);
	if (!status)
		status = epp_session_wait(session, UINT64_MAX);
	check_message(status, "another profiler in this process has taken CUPTI's records");
	epp_session_destroy(session);
}
END_TEST

START_TEST(a_flush_that_hangs_ends_in_time)
{
	use_fake();
	begin();
	launch("kernel", 7, 0);
	fake->hangs_in_flush = true;
	epp_status *status = epp_session_end(session);
	if (!status)
		status = epp_session_wait(session, UINT64_MAX);
	ck_assert_int_eq(epp_status_code(status), EPP_TIMEOUT);
	epp_status_destroy(status);
	epp_session_destroy(session);
}
END_TEST

static const struct {
	const char *library, *message;
} refusals[] = {
	{ "/no/such/libcupti.so", "EPPROF_CUPTI: /no/such/libcupti.so" },
	{ "libcupti.so", "it must be an absolute path" },
	{ CHECK_BUILD "/tests/plugins/plain_pu1.so", "libcupti has no cuptiGetVersion" },
};

START_TEST(without_cupti_there_is_a_message)
{
	setenv("EPPROF_CUPTI", refusals[_i].library, 1);
	check_message(epp_plugin_load(PLUGIN, &plugin), refusals[_i].message);
}
END_TEST

static const struct {
	uint32_t version;
	const char *message;
} versions[] = { { 0, "cuptiGetVersion: result 999 (CUPTI_ERROR_UNKNOWN)" },
	         { 17, "libcupti has version 17, at least 18" } };

START_TEST(an_old_version_is_refused)
{
	use_fake();
	fake->version = versions[_i].version;
	check_message(epp_plugin_load(PLUGIN, &plugin), versions[_i].message);
}
END_TEST

static Suite *cupti_suite(void)
{
	Suite *suite = suite_create("cupti");
	TCase *tests = tcase_create("cupti");
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, kernels_are_under_their_nodes);
	tcase_add_test(tests, threads_have_their_own_ids);
	tcase_add_test(tests, an_external_id_may_come_after_its_kernel);
	tcase_add_test(tests, the_bound_has_the_error_of_the_conversion);
	tcase_add_test(tests, copies_and_fills);
	tcase_add_test(tests, kernels_of_graphs_have_their_node);
	tcase_add_test(tests, queries_and_unknown_records_are_left_out);
	tcase_add_test(tests, many_launches_need_many_buffers);
	tcase_add_test(tests, a_session_runs_again);
	tcase_add_test(tests, dropped_records_are_counted);
	tcase_add_test(tests, work_that_has_not_ended_is_counted);
	tcase_add_test(tests, a_buffer_that_is_cut_is_counted);
	tcase_add_test(tests, a_kind_that_cannot_be_enabled);
	tcase_add_test(tests, a_kind_of_which_a_part_is_refused);
	tcase_add_test(tests, records_that_another_profiler_takes_are_an_error);
	tcase_add_test(tests, a_flush_that_hangs_ends_in_time);
	tcase_add_loop_test(tests, without_cupti_there_is_a_message, 0, 3);
	tcase_add_loop_test(tests, an_old_version_is_refused, 0, 2);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(cupti_suite)
