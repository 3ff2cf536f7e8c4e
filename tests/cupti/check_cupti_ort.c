/* The plugin for NVIDIA's GPUs as an execution provider (libepprof_cupti_ort.so), over a library in the place of CUPTI:
 * whose its kernels are, and what happens where CUPTI fails.  tests/interop/check_cupti_ort.py has ONNX Runtime. */
#include "tests/support/check.h"

#include <dlfcn.h>

#include "epprof/plugin.h"
#include "epprof/profiler.h"
#include "epprof/timeline.h"
#include "tests/support/valid_trace.h"

#define PLUGIN CHECK_BUILD "/libepprof_cupti_ort.so"
#define FAKE CHECK_BUILD "/tests/plugins/fake_cupti.so"

static epp_plugin *plugin;
static epp_name node;
/* The first members of fake_cupti. */
static struct {
	uint32_t version;
	int enable_result, refused_kind;
	bool hangs_in_flush, reports_early, cuts, never_ends;
	size_t dropped_count;
	bool takes_records;
} * fake;
static void (*launch)(const char *name, uint32_t stream, uint64_t graph_node);
static void (*copies)(uint64_t bytes);

static void begin(void)
{
	void *library = dlopen(FAKE, RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(library != NULL, "%s", dlerror());
	fake = dlsym(library, "fake_cupti");
	*(void **)&launch = dlsym(library, "fake_cupti_launch");
	*(void **)&copies = dlsym(library, "fake_cupti_copies");
	setenv("EPPROF_CUPTI", FAKE, 1);
	node = epp_name_intern("node");
	check_ok(epp_plugin_load(PLUGIN, &plugin));
}

static char logged[1024];

static void keep_message(void *user, epp_blame blame, const char *text)
{
	(void)user, (void)blame;
	snprintf(logged, sizeof(logged), "%s", text);
}

static epp_session *session_with_profiler(void)
{
	epp_session_options options = { .struct_size = sizeof(options), .log = keep_message };
	OrtEpProfilerImpl *profiler;
	epp_session *session;
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_plugin_profiler_create(plugin, &profiler));
	check_ok(epp_session_attach(session, profiler, "cuda"));
	return session;
}

static epp_trace *trace_at_end(epp_session *session)
{
	epp_trace *trace;
	check_ok(epp_session_end(session));
	check_ok(epp_session_wait(session, UINT64_MAX));
	check_ok(epp_trace_open_session(session, &trace));
	check_valid(trace);
	return trace;
}

static void done(epp_session *session, epp_trace *trace)
{
	epp_trace_close(trace);
	epp_session_destroy(session);
}

static size_t count(epp_trace *trace, const char *name, uint64_t parent)
{
	size_t found = 0;
	epp_timeline *timeline;
	const epp_event *event;
	check_ok(epp_timeline_create(trace, NULL, &timeline));
	while (epp_timeline_next(timeline, &event)) {
		bool is_found = event->track->kind == EPP_TRACK_DEVICE && strcmp(event->name, name) == 0;
		/* CUPTI's conversion alone has this error. */
		ck_assert(!is_found || event->start_error_ns >= 1400);
		found += is_found && event->parent == parent;
	}
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
		sum += account.lost_total;
	}
	return sum;
}

START_TEST(kernels_are_under_their_nodes)
{
	for (int run = 0; run < 3; run++) {
		epp_session *session = session_with_profiler();
		check_ok(epp_session_start(session));
		launch("alone", 7, 0);
		uint64_t outer = epp_event_begin(session, EPP_NODE, node);
		launch("_Z4gemmPf", 7, 0);
		uint64_t inner = epp_event_begin(session, EPP_NODE, node);
		launch("inner", 8, 5);
		epp_event_end(session, inner, NULL, 0);
		launch("_Z4gemmPf", 7, 0);
		epp_event_end(session, outer, NULL, 0);
		copies(4096);
		epp_trace *trace = trace_at_end(session);
		ck_assert_uint_eq(count(trace, "alone", 0), 1);
		ck_assert_uint_eq(count(trace, "gemm(float*)", outer), 2);
		ck_assert_uint_eq(count(trace, "inner", inner), 1);
		ck_assert_uint_eq(count(trace, "memcpy HtoD", 0), 1);
		ck_assert_uint_eq(count(trace, "memset", 0), 1);
		ck_assert_uint_eq(lost(trace), 0);
		done(session, trace);
		launch("between", 7, 0);
	}
}
END_TEST

START_TEST(dropped_records_are_counted)
{
	epp_session *session = session_with_profiler();
	check_ok(epp_session_start(session));
	launch("kernel", 7, 0);
	fake->dropped_count = 5;
	epp_trace *trace = trace_at_end(session);
	ck_assert_uint_eq(count(trace, "kernel", 0), 1);
	ck_assert_uint_eq(lost(trace), 5);
	done(session, trace);
}
END_TEST

static void check_logged(const char *text)
{
	ck_assert_msg(strstr(logged, text) != NULL, "%s", logged);
}

/* CUPTI has one receiver. */
START_TEST(a_second_session_is_refused)
{
	epp_session *first = session_with_profiler(), *second = session_with_profiler();
	check_ok(epp_session_start(first));
	epp_status_destroy(epp_session_start(second));
	check_logged("another session is being profiled");
	uint64_t of_first = epp_event_begin(first, EPP_NODE, node), of_second = epp_event_begin(second, EPP_NODE, node);
	launch("kernel", 7, 0);
	epp_event_end(second, of_second, NULL, 0);
	epp_event_end(first, of_first, NULL, 0);
	epp_status_destroy(epp_session_end(second));
	epp_session_destroy(second);
	epp_trace *trace = trace_at_end(first);
	ck_assert_uint_eq(count(trace, "kernel", of_first), 1);
	done(first, trace);
}
END_TEST

START_TEST(cupti_that_fails_is_reported)
{
	epp_session *session = session_with_profiler();
	fake->enable_result = 999;
	epp_status_destroy(epp_session_start(session));
	check_logged("CUPTI_ERROR_UNKNOWN");
	fake->enable_result = 0;
	epp_session_destroy(session);
	session = session_with_profiler();
	check_ok(epp_session_start(session));
	launch("kernel", 7, 0);
	epp_trace *trace = trace_at_end(session);
	ck_assert_uint_eq(count(trace, "kernel", 0), 1);
	done(session, trace);
}
END_TEST

START_TEST(records_that_another_profiler_takes_are_reported)
{
	epp_session *session = session_with_profiler();
	check_ok(epp_session_start(session));
	fake->takes_records = true;
	launch("kernel", 7, 0);
	epp_status_destroy(epp_session_end(session));
	epp_status_destroy(epp_session_wait(session, UINT64_MAX));
	check_logged("another profiler in this process has taken CUPTI's records");
	epp_session_destroy(session);
}
END_TEST

START_TEST(without_cupti_the_library_says_where_it_looked)
{
	epp_plugin *other;
	setenv("EPPROF_CUPTI", "/nonexistent/libcupti.so", 1);
	epp_status *status = epp_plugin_load(PLUGIN, &other);
	ck_assert_msg(status && strstr(epp_status_message(status), "/nonexistent/libcupti.so"), "%s",
	              epp_status_message(status));
	epp_status_destroy(status);
}
END_TEST

static Suite *suite(void)
{
	Suite *suite = suite_create("cupti_ort");
	TCase *tests = tcase_create("cupti_ort"), *alone = tcase_create("without_cupti");

	tcase_add_checked_fixture(tests, begin, NULL);
	tcase_add_test(tests, kernels_are_under_their_nodes);
	tcase_add_test(tests, dropped_records_are_counted);
	tcase_add_test(tests, a_second_session_is_refused);
	tcase_add_test(tests, cupti_that_fails_is_reported);
	tcase_add_test(tests, records_that_another_profiler_takes_are_reported);
	suite_add_tcase(suite, tests);
	tcase_add_test(alone, without_cupti_the_library_says_where_it_looked);
	suite_add_tcase(suite, alone);
	return suite;
}

CHECK_MAIN(suite)
