/* Profilers that ONNX Runtime drives beside the collector and that hand it their events:
 * bridges/onnxruntime/ort_joined.c and ep_kit/collector.h, the collector in its library, the kit in this program.  In
 * ONNX Runtime itself: tests/interop/check_collector.py. */
#include <signal.h>
#include <stdatomic.h>

#include "epprof/ep.h"
#include "ort_bridge_host.h"

static uint64_t now_ns(void *user)
{
	struct timespec now;
	(void)user;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static OrtExperimentalFnPtr no_function(const char *name)
{
	(void)name;
	return NULL;
}

/* After host_open: from then on no epprof host. */
static epp_ep_profiler *ep_with(epp_ep_options options)
{
	static const OrtApiBase base = { get_api, get_version_string };
	epp_ep_profiler *profiler;
	api.table.GetExperimentalFunction = no_function;
	options.struct_size = sizeof(options);
	options.ort_api_base = &base;
	options.ep_name = options.ep_name ? options.ep_name : "TestEP";
	options.ticks_per_second = 1000000000;
	ck_assert_ptr_null(epp_ep_profiler_create(&options, &profiler));
	return profiler;
}

static epp_ep_profiler *ep_started(const char *name)
{
	epp_ep_profiler *profiler = ep_with((epp_ep_options){ .ep_name = name, .now_ticks = now_ns });
	ck_assert_ptr_null(profiler->impl.StartProfiling(&profiler->impl, 440000));
	return profiler;
}

/* A kernel of 1,234 ns. */
static void emit(epp_ep_profiler *profiler, uint64_t token, const char *name)
{
	uint64_t now = now_ns(NULL);
	epp_ep_emit(
	    profiler,
	    &(epp_ep_event){ .parent = token, .name = name, .start_ticks = now - 1234, .end_ticks = now, .stream = 1 });
}

/* An event in which a kernel is launched, told to two profilers in this order. */
static void launch(OrtEpProfilerImpl *first, OrtEpProfilerImpl *second, epp_ep_profiler *ep, uint64_t id, const char *name)
{
	char kernel[64];
	snprintf(kernel, sizeof(kernel), "kernel of %s", name);
	begin(first, id);
	begin(second, id);
	emit(ep, epp_ep_current(ep), kernel);
	end(first, id, name);
	end(second, id, name);
}

static void assert_caused(const struct trace_scan *scan, const char *name)
{
	char kernel[64];
	snprintf(kernel, sizeof(kernel), "kernel of %s", name);
	ck_assert_msg(scan_arg(named(scan, kernel), EPF_NAME_PARENT) != NULL, "%s has no cause", kernel);
	ck_assert_uint_eq(scan_arg(named(scan, kernel), EPF_NAME_PARENT)->value, named(scan, name)->id);
}

static const struct epf_producer *producer(const struct trace_scan *scan, const char *label)
{
	for (size_t i = 0; i < EPF_PRODUCER_COUNT; i++)
		if (!strcmp(scan->producers[i].label, label))
			return &scan->producers[i];
	ck_abort_msg("no producer %s", label);
}

/* ---- one of each ---- */

enum { COLLECTOR_FIRST, EP_FIRST, ORDERS };
static int order;

static void record_in_order(void)
{
	struct host host = host_open();
	OrtEpProfilerImpl *collector, *first, *second;
	epp_ep_profiler *ep;
	if (order == COLLECTOR_FIRST) {
		collector = first = started(&host);
		ep = ep_started(NULL);
		second = &ep->impl;
	} else {
		ep = ep_started(NULL);
		first = &ep->impl;
		collector = second = started(&host);
	}
	/* Events that began in one microsecond. */
	begin(first, 5000);
	begin(second, 5000);
	launch(first, second, ep, 5000, "inner");
	launch(first, second, ep, 5000, "next");
	emit(ep, epp_ep_current(ep), "kernel of outer");
	uint64_t since = epp_ep_host_ticks(ep);
	usleep(3000);
	epp_ep_waited(ep, epp_ep_current(ep), since);
	end(first, 5000, "outer");
	end(second, 5000, "outer");
	emit(ep, 0, "of nobody");
	ended(first);
	ended(second);
	(void)collector;
	/* ONNX Runtime's profile has them as ever. */
	if (!strstr(added_names, "kernel of inner@5000;") || !strstr(added_names, "of nobody@none;"))
		_exit(5);
	host_close(&host);
}

START_TEST(kernels_are_in_the_trace_whatever_the_order)
{
	order = _i;
	struct trace_scan *scan = recorded(record_in_order, NULL);
	assert_caused(scan, "inner");
	assert_caused(scan, "next");
	assert_caused(scan, "outer");
	ck_assert_ptr_null(scan_arg(named(scan, "of nobody"), EPF_NAME_PARENT));
	const struct scan_record *kernel = named(scan, "kernel of inner");
	ck_assert_uint_eq(kernel->duration_ticks, 1234);
	ck_assert_uint_eq(scan_track(scan, kernel->track)->definition.ticks_per_second, 1000000000);
	/* Four kernels and the wait. */
	ck_assert_uint_eq(producer(scan, "TestEP")->emitted, 5);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, 0), 5);
	ck_assert_uint_ge(scan_count(scan, EPF_CLOCK_PAIR, 0), 2);
	trace_scan_free(scan);
}
END_TEST

/* By each pair alone, the kernel that ended before its cause did lies inside of it. */
START_TEST(clocks_are_converted)
{
	order = COLLECTOR_FIRST;
	struct trace_scan *scan = recorded(record_in_order, NULL);
	const struct scan_record *outer = named(scan, "outer"), *kernel = named(scan, "kernel of outer"), *pair;
	size_t pairs_count = 0;
	for (size_t from = 0; (pair = scan_next(scan, EPF_CLOCK_PAIR, 0, &from)); pairs_count++) {
		double ticks_per_ns = (double)epp_host_ticks_per_second() / 1e9;
		int64_t since_ns = (int64_t)(kernel->start_ticks - pair->start_ticks);
		int64_t host = (int64_t)pair->duration_ticks + (int64_t)((double)since_ns * ticks_per_ns);
		int64_t half = (int64_t)pair->id + 2000;
		ck_assert_int_ge(host + half, (int64_t)outer->start_ticks);
		ck_assert_int_le(host - half, (int64_t)(outer->start_ticks + outer->duration_ticks));
		/* Nobody holds a thread up for a millisecond between two readings, in one of the tries. */
		ck_assert_uint_lt(pair->id, epp_host_ticks_per_second() / 100);
	}
	ck_assert_uint_ge(pairs_count, 2);
	trace_scan_free(scan);
}
END_TEST

/* ---- several ---- */

static struct host shared_host;

struct driven {
	OrtEpProfilerImpl *collector;
	epp_ep_profiler *ep;
	const char *name;
};

static void *run_session(void *argument)
{
	struct driven *driven = argument;
	for (uint64_t i = 0; i < 300; i++) {
		char name[32];
		snprintf(name, sizeof(name), "%s %llu", driven->name, (unsigned long long)i);
		/* The ids of both sessions are equal. */
		launch(driven->collector, &driven->ep->impl, driven->ep, 7000 + i, name);
	}
	return NULL;
}

static void record_sessions_in_threads(void)
{
	shared_host = host_open();
	struct driven sessions[2];
	pthread_t threads[4];
	for (int i = 0; i < 2; i++)
		sessions[i] = (struct driven){ .collector = started(&shared_host), .name = i ? "second" : "first" };
	for (int i = 0; i < 2; i++) {
		sessions[i].ep = ep_started(i ? "SecondEP" : "FirstEP");
		begin(sessions[i].collector, 6000);
		begin(&sessions[i].ep->impl, 6000);
		end(sessions[i].collector, 6000, "session_initialization");
		end(&sessions[i].ep->impl, 6000, "session_initialization");
	}
	for (int i = 0; i < 4; i++)
		threads[i] = recording_thread(run_session, &sessions[i % 2]);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 2; i++) {
		ended(sessions[i].collector);
		ended(&sessions[i].ep->impl);
	}
	host_close(&shared_host);
}

START_TEST(each_session_has_its_own_kernels)
{
	struct trace_scan *scan = recorded(record_sessions_in_threads, NULL);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, 0), 4 * 300);
	ck_assert_uint_eq(producer(scan, "FirstEP")->emitted, 2 * 300);
	ck_assert_uint_eq(producer(scan, "SecondEP")->emitted, 2 * 300);
	/* Two threads run the same session, so each name is there twice: by the cause's name. */
	for (size_t i = 0; i < scan->records_count; i++) {
		const struct scan_record *record = &scan->records[i];
		if (EPF_BITS_KIND(record->bits) != EPF_COMPLETE)
			continue;
		const struct scan_record *cause = scan_id(scan, EPF_EVENT, scan_arg(record, EPF_NAME_PARENT)->value);
		ck_assert_ptr_nonnull(cause);
		char wanted[64];
		snprintf(wanted, sizeof(wanted), "kernel of %s", scan->names[cause->name].text);
		ck_assert_msg(scan_name_is(scan, record->name, wanted), "a kernel under %s", wanted);
	}
	trace_scan_free(scan);
}
END_TEST

/* ---- more than the kit has room for ---- */

#define MANY 30000u

static void record_more_than_there_is_room_for(void)
{
	struct host host = host_open();
	OrtEpProfilerImpl *collector = started(&host);
	epp_ep_profiler *ep = ep_with((epp_ep_options){ .now_ticks = now_ns, .buffer_bytes = 512 << 10 });
	ck_assert_ptr_null(ep->impl.StartProfiling(&ep->impl, 440000));
	begin(collector, 5000);
	begin(&ep->impl, 5000);
	for (unsigned i = 0; i < MANY; i++)
		emit(ep, epp_ep_current(ep), "kernel of outer");
	end(collector, 5000, "outer");
	end(&ep->impl, 5000, "outer");
	ended(collector);
	EpprofLedger ledger;
	struct OrtProfilingEventsContainer container = { container_add, NULL };
	ck_assert_ptr_null(ep->impl.EndProfiling(&ep->impl, &container));
	epp_ep_ledger(ep, &ledger);
	if (ledger.emitted != MANY || ledger.lost_no_buffer || added_count >= MANY || added_count < 1000)
		_exit(5);
	ep->impl.Release(&ep->impl);
	host_close(&host);
}

START_TEST(what_has_no_room_until_the_end_is_in_the_trace)
{
	struct trace_scan *scan = recorded(record_more_than_there_is_room_for, NULL);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, 0), MANY);
	ck_assert_uint_eq(producer(scan, "TestEP")->emitted, MANY);
	trace_scan_free(scan);
}
END_TEST

/* ---- ends ---- */

/* The collector goes first, with all that ONNX Runtime has of it. */
static void record_and_release_the_collector_first(void)
{
	struct host host = host_open();
	OrtEpProfilerImpl *collector = started(&host);
	epp_ep_profiler *ep = ep_started(NULL);
	launch(collector, &ep->impl, ep, 5000, "outer");
	ended(collector);
	host_close(&host);
	void *library = dlopen(CHECK_BUILD "/libepprof_ort.so", RTLD_NOW | RTLD_NOLOAD);
	if (!library || dlclose(library) || dlclose(library))
		_exit(3);
	emit(ep, 0, "late");
	ended(&ep->impl);
}

START_TEST(the_collector_may_go_first)
{
	struct trace_scan *scan = recorded(record_and_release_the_collector_first, NULL);
	assert_caused(scan, "outer");
	named(scan, "late");
	trace_scan_free(scan);
}
END_TEST

/* Without EndProfiling, as when a session fails. */
static void record_and_release_the_ep_first(void)
{
	struct host host = host_open();
	OrtEpProfilerImpl *collector = started(&host);
	for (int i = 0; i < 40; i++) {
		epp_ep_profiler *ep = ep_started(NULL);
		launch(collector, &ep->impl, ep, 5000, "outer");
		ep->impl.Release(&ep->impl);
	}
	begin(collector, 6000);
	end(collector, 6000, "after");
	ended(collector);
	host_close(&host);
}

START_TEST(the_ep_may_go_first)
{
	struct trace_scan *scan = recorded(record_and_release_the_ep_first, NULL);
	named(scan, "after");
	ck_assert_uint_eq(scan_lost(scan, EPP_LOSS_REFUSED), 0);
	trace_scan_free(scan);
}
END_TEST

/* Run after run, with one profiler. */
static void record_runs(void)
{
	struct host host = host_open();
	epp_ep_profiler *ep = ep_with((epp_ep_options){ .now_ticks = now_ns });
	for (int i = 0; i < 40; i++) {
		struct OrtProfilingEventsContainer container = { container_add, NULL };
		char name[32];
		OrtEpProfilerImpl *collector = started(&host);
		ck_assert_ptr_null(ep->impl.StartProfiling(&ep->impl, 440000));
		snprintf(name, sizeof(name), "run %d", i);
		launch(&ep->impl, collector, ep, 5000, name);
		ended(collector);
		ck_assert_ptr_null(ep->impl.EndProfiling(&ep->impl, &container));
	}
	ep->impl.Release(&ep->impl);
	host_close(&host);
}

START_TEST(each_run_joins_anew)
{
	struct trace_scan *scan = recorded(record_runs, NULL);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, 0), 40);
	ck_assert_uint_eq(producer(scan, "TestEP")->emitted, 40);
	assert_caused(scan, "run 0");
	assert_caused(scan, "run 39");
	trace_scan_free(scan);
}
END_TEST

/* Launches a kernel in an event that is left out, because the stack of the thread is full. */
static void record_left_out(void)
{
	struct host host = host_open();
	OrtEpProfilerImpl *collector = started(&host);
	epp_ep_profiler *ep = ep_started(NULL);
	char name[32];
	for (uint64_t i = 0; i <= EPF_OPEN_MAX; i++) {
		begin(collector, 5000 + i);
		begin(&ep->impl, 5000 + i);
	}
	emit(ep, epp_ep_current(ep), "kernel of innermost");
	for (uint64_t i = EPF_OPEN_MAX + 1; i-- > 0;) {
		snprintf(name, sizeof(name), i == EPF_OPEN_MAX - 1 ? "innermost" : "event %u", (unsigned)i);
		end(collector, 5000 + i, name);
		end(&ep->impl, 5000 + i, name);
	}
	ended(collector);
	ended(&ep->impl);
	host_close(&host);
}

START_TEST(the_cause_is_an_event_that_is_recorded)
{
	struct trace_scan *scan = recorded(record_left_out, NULL);
	ck_assert_uint_eq(scan_lost(scan, EPP_LOSS_TOO_DEEP), 1);
	assert_caused(scan, "innermost");
	trace_scan_free(scan);
}
END_TEST

#define KILLED_EVENTS 5000u

START_TEST(what_was_handed_over_survives_a_kill)
{
	char *path = check_path("joined-killed.epp");
	pid_t pid = fork();
	if (!pid) {
		setenv("EPPROF_OUTPUT", path, 1);
		struct host host = host_open();
		OrtEpProfilerImpl *collector = started(&host);
		epp_ep_profiler *ep = ep_started(NULL);
		begin(collector, 5000);
		begin(&ep->impl, 5000);
		for (unsigned i = 0; i < KILLED_EVENTS; i++)
			emit(ep, epp_ep_current(ep), "kernel of outer");
		kill(getpid(), SIGKILL);
	}
	int result;
	waitpid(pid, &result, 0);
	ck_assert(WIFSIGNALED(result) && WTERMSIG(result) == SIGKILL);
	struct trace_scan *scan = trace_scan_file(path);
	ck_assert_msg(!scan->error, "%s", scan->error);
	/* All but what was in the last buffer. */
	ck_assert_uint_gt(scan_count(scan, EPF_COMPLETE, 0), KILLED_EVENTS - 600);
	trace_scan_free(scan);
}
END_TEST

/* ---- a label that is not the provider's name ---- */

static const char *node_provider;

static const char *value_of(const char *key)
{
	return strcmp(key, "provider") == 0 ? node_provider : NULL;
}

/* The kit's events belong to TestExecutionProvider, whose first node launches no kernel; OtherEP has no profiler. */
static void record_under_another_label(void)
{
	own_arg_value = value_of;
	struct host host = host_open();
	OrtEpProfilerImpl *collector = started(&host);
	epp_ep_profiler *ep = ep_started(NULL);
	node_provider = "TestExecutionProvider";
	begin(collector, 5000);
	begin(&ep->impl, 5000);
	end(collector, 5000, "no kernel");
	end(&ep->impl, 5000, "no kernel");
	launch(collector, &ep->impl, ep, 5001, "outer");
	node_provider = "OtherEP";
	begin(collector, 5002);
	begin(&ep->impl, 5002);
	end(collector, 5002, "other");
	end(&ep->impl, 5002, "other");
	if (getenv("CHECK_KILLED"))
		kill(getpid(), SIGKILL);
	ended(&ep->impl);
	ended(collector);
	host_close(&host);
}

static void assert_only_other_is_missing(const struct trace_scan *scan)
{
	ck_assert_uint_eq(producer(scan, "TestEP")->emitted, 1);
	ck_assert_uint_eq(producer(scan, "TestExecutionProvider")->emitted, 0);
	ck_assert_str_eq(producer(scan, "TestExecutionProvider")->note, "");
	ck_assert_uint_eq(producer(scan, "OtherEP")->emitted, 1);
	ck_assert(strstr(producer(scan, "OtherEP")->note, "missing: ") == producer(scan, "OtherEP")->note);
}

START_TEST(a_provider_is_not_missing_under_another_label)
{
	struct trace_scan *scan = recorded(record_under_another_label, NULL);
	assert_only_other_is_missing(scan);
	ck_assert_uint_eq(producer(scan, "OtherEP")->lost[EPP_LOSS_PLUGIN], 1);
	trace_scan_free(scan);
}
END_TEST

START_TEST(nor_after_a_kill)
{
	char *path = check_path("joined-label.epp");
	pid_t pid = fork();
	if (!pid) {
		setenv("EPPROF_OUTPUT", path, 1);
		setenv("CHECK_KILLED", "1", 1);
		record_under_another_label();
	}
	int result;
	waitpid(pid, &result, 0);
	ck_assert(WIFSIGNALED(result) && WTERMSIG(result) == SIGKILL);
	struct trace_scan *scan = trace_scan_file(path);
	ck_assert_msg(!scan->error, "%s", scan->error);
	ck_assert_uint_eq(producer(scan, "TestExecutionProvider")->emitted, 0);
	ck_assert_uint_eq(producer(scan, "OtherEP")->emitted, 1);
	trace_scan_free(scan);
}
END_TEST

/* ---- without the collector ---- */

static void record_without_output(void)
{
	unsetenv("EPPROF_OUTPUT");
	setenv("EPPROF_PROFILERS", CHECK_BUILD "/tests/plugins/plain_ep.so", 1);
	struct host host = host_open();
	OrtEpProfilerImpl *collector = started(&host);
	epp_ep_profiler *ep = ep_started(NULL);
	launch(collector, &ep->impl, ep, 5000, "outer");
	ended(collector);
	ended(&ep->impl);
	host_close(&host);
	_exit(strstr(added_names, "kernel of outer@5000;") ? 0 : 5);
}

START_TEST(without_an_output_nobody_joins)
{
	pid_t pid = fork();
	if (!pid)
		record_without_output();
	int result;
	waitpid(pid, &result, 0);
	ck_assert_int_eq(result, 0);
}
END_TEST

static Suite *ort_joined_suite(void)
{
	Suite *suite = suite_create("ort_joined");
	TCase *tcase = tcase_create("ort_joined");
	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, kernels_are_in_the_trace_whatever_the_order, 0, ORDERS);
	tcase_add_test(tcase, clocks_are_converted);
	tcase_add_test(tcase, each_session_has_its_own_kernels);
	tcase_add_test(tcase, what_has_no_room_until_the_end_is_in_the_trace);
	tcase_add_test(tcase, the_collector_may_go_first);
	tcase_add_test(tcase, the_ep_may_go_first);
	tcase_add_test(tcase, each_run_joins_anew);
	tcase_add_test(tcase, the_cause_is_an_event_that_is_recorded);
	tcase_add_test(tcase, what_was_handed_over_survives_a_kill);
	tcase_add_test(tcase, a_provider_is_not_missing_under_another_label);
	tcase_add_test(tcase, nor_after_a_kill);
	tcase_add_test(tcase, without_an_output_nobody_joins);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(ort_joined_suite)
