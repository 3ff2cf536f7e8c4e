/* What libepprof_ort.so carries: execution providers and plugins of other frameworks', in a host that calls in ONNX
 * Runtime's order.  Covers ort_profilers.c and ort_plugin_events.c. */
#include <stdatomic.h>
#include <sys/mman.h>

#include "ort_bridge_host.h"
#include "tests/support/lives.h"

static void record_hosted(void)
{
	struct host host = host_open();
	OrtEpProfilerImpl *profiler = started(&host);
	begin(profiler, 5000);
	begin(profiler, 5000);
	end(profiler, 5000, "in \"ner\xff");
	end(profiler, 5000, "outer");
	ended(profiler);
	host_close(&host);
	/* ONNX Runtime's ids in its own profile. */
	if (strcmp(added_names, "kernel of in \"ner\xff@5000;kernel of outer@5000;") != 0)
		_exit(5);
}

START_TEST(hosted_events_go_into_both)
{
	struct trace_scan *scan = recorded(record_hosted, ":" CHECK_BUILD "/tests/plugins/plain_ep.so:");
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, 0), 2);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, 0), 2);
	/* The trace's ids in the trace, which tell them apart. */
	ck_assert_uint_eq(scan_arg(named(scan, "kernel of outer"), EPF_NAME_PARENT)->value, named(scan, "outer")->id);
	ck_assert_uint_eq(scan_arg(named(scan, "kernel of in \"ner\xff"), EPF_NAME_PARENT)->value,
	                  named(scan, "in \"ner\xff")->id);
	ck_assert_uint_eq(scan->producers[1].emitted, 2);
	trace_scan_free(scan);
}
END_TEST

#define LATE_US 100000

static int64_t now_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* In memory that the recording process shares: how long the begin of the event took, in which its time is read. */
static int64_t *begin_took_us;

/* The offset was read long before it is told. */
static void record_with_an_old_offset(void)
{
	struct host host = host_open();
	OrtEpProfilerImpl *profiler = profiler_of(&host);
	const int64_t profile_us = now_us() - LATE_US;
	ck_assert_ptr_null(profiler->StartProfiling(profiler, 0));
	int64_t begin_us = now_us();
	begin(profiler, (uint64_t)begin_us);
	*begin_took_us = now_us() - begin_us;
	end_at(profiler, (uint64_t)begin_us, begin_us - profile_us, "outer");
	ended(profiler);
	host_close(&host);
}

/* plain_ep repeats ONNX Runtime's times, which count from what the offset does not say. */
START_TEST(an_offset_may_be_old)
{
	begin_took_us = mmap(NULL, sizeof(*begin_took_us), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(begin_took_us, MAP_FAILED);
	struct trace_scan *scan = recorded(record_with_an_old_offset, CHECK_BUILD "/tests/plugins/plain_ep.so");
	const struct scan_record *host = named(scan, "outer"), *kernel = named(scan, "kernel of outer");
	int64_t bracket_ns = (int64_t)clock_ticks_to_ns(scan_track(scan, kernel->track)->definition.bracket_ticks);
	int64_t host_ns = (int64_t)clock_ticks_to_ns(host->start_ticks - scan->runs[0].start.ticks);
	ck_assert_int_ge(bracket_ns, LATE_US * 1000);
	/* The true start lies between here and the bracket's end. */
	int64_t low_ns = (int64_t)kernel->start_ticks * 1000;
	ck_assert_int_ge(host_ns + 3000, low_ns);
	ck_assert_int_le(host_ns, low_ns + bracket_ns + *begin_took_us * 1000 + 3000);
	munmap(begin_took_us, sizeof(*begin_took_us));
	trace_scan_free(scan);
}
END_TEST

/* What a plugin is given to do inside an event. */
static int (*work_of(const char *path))(int)
{
	int (*work)(int);
	*(void **)&work = dlsym(dlopen(path, RTLD_NOW), "epp_sample_work");
	return work;
}

static void record_a_plugin_s(void)
{
	struct host host = host_open();
	int (*work)(int) = work_of(CHECK_BUILD "/tests/plugins/names_pu1.so");
	OrtEpProfilerImpl *profiler = started(&host);
	begin(profiler, 5000);
	work(1);
	end(profiler, 5000, "outer");
	ended(profiler);
	host_close(&host);
	/* From 1.31 on ONNX Runtime escapes names itself. */
	const char *quoted = strcmp(version_text, "1.31.0") == 0 ? "a \"quote\"@5000;" : "a \\\"quote\\\"@5000;";
	if (added_count != 8 || !strstr(added_names, "plain@5000;") || !strstr(added_names, quoted))
		_exit(5);
}

START_TEST(a_plugin_of_another_framework_s_too)
{
	struct trace_scan *scan = recorded(record_a_plugin_s, CHECK_BUILD "/tests/plugins/names_pu1.so");
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, 0), 8);
	ck_assert_uint_eq(scan_arg(named(scan, "plain"), EPF_NAME_PARENT)->value, named(scan, "outer")->id);
	ck_assert_str_eq(scan->producers[1].label, "names_pu1");
	trace_scan_free(scan);
}
END_TEST

START_TEST(names_are_escaped_once)
{
	version_text = "1.31.0";
	struct trace_scan *scan = recorded(record_a_plugin_s, CHECK_BUILD "/tests/plugins/names_pu1.so");
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, 0), 8);
	trace_scan_free(scan);
	version_text = "1.29.0";
}
END_TEST

/* What is not for ONNX Runtime alone need not be right for it. */
static void record_what_pytorch_s_variable_names(void)
{
	setenv("KINETO_PLUGIN_PATH", CHECK_BUILD "/tests/plugins/names_pu1.so:/nowhere.so", 1);
	record_a_plugin_s();
	if (!strstr(logged_text, "KINETO_PLUGIN_PATH: nowhere.so: "))
		_exit(6);
}

START_TEST(a_plugin_may_be_named_as_for_pytorch)
{
	struct trace_scan *scan = recorded(record_what_pytorch_s_variable_names, "");
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, 0), 8);
	trace_scan_free(scan);
}
END_TEST

/* Plugins that are profiled for the whole process, hosted by two sessions of ONNX Runtime's at once. */
#define SHARED_PLUGINS \
	CHECK_BUILD "/tests/plugins/names_pu1.so:" CHECK_BUILD "/libsample_tf_ep.so:" CHECK_BUILD "/libsample_pjrt_ep.so"

static void work_inside(OrtEpProfilerImpl *profiler, uint64_t id)
{
	begin(profiler, id);
	work_of(CHECK_BUILD "/tests/plugins/names_pu1.so")(1);
	work_of(CHECK_BUILD "/libsample_tf_ep.so")(3);
	work_of(CHECK_BUILD "/libsample_pjrt_ep.so")(3);
	end(profiler, id, "op");
}

static size_t count_added(const char *what)
{
	size_t count = 0;
	for (const char *at = added_names; (at = strstr(at, what)); at++)
		count++;
	return count;
}

static void record_in_two_sessions(void)
{
	struct host host = host_open();
	OrtEpProfilerImpl *first = started(&host), *second = started(&host);
	work_inside(first, 5000);
	ended(first);
	if (added_count != 14 || count_added("relu@none;") != 6 || !strstr(added_names, "plain@5000;"))
		_exit(5);
	added_count = 0;
	added_names[0] = 0;
	work_inside(second, 6000);
	ended(second);
	/* It was there all the time, and of events that another session's launched it has no id; and told of two
	 * gaps. */
	if (count_added("relu@none;") != 12 || count_added("plain@none;") != 1 || count_added("plain@6000;") != 1)
		_exit(6);
	if (added_count != 28 + 2 || count_added("epprof.restart_gap") != 2)
		_exit(7);
	added_count = 0;
	OrtEpProfilerImpl *third = started(&host);
	ended(third);
	if (added_count)
		_exit(8);
	host_close(&host);
}

START_TEST(a_plugin_that_sessions_share_records_once)
{
	struct trace_scan *scan = recorded(record_in_two_sessions, SHARED_PLUGINS);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, 0), 28 + 2);
	/* There are two of each, in any order. */
	uint64_t of_plains = 0, of_ops = 0;
	for (size_t i = 0; i < scan->records_count; i++) {
		const struct scan_record *record = &scan->records[i];
		if (scan_name_is(scan, record->name, "plain"))
			of_plains ^= scan_arg(record, EPF_NAME_PARENT)->value;
		else if (scan_name_is(scan, record->name, "op"))
			of_ops ^= record->id;
	}
	ck_assert_uint_ne(of_ops, 0);
	ck_assert_uint_eq(of_plains, of_ops);
	trace_scan_free(scan);
}
END_TEST

/* A profiling of a session of ONNX Runtime's, with all that it carries; the trace goes on. */
static struct host lasting;

static void whole_profiling(void)
{
	OrtEpProfilerImpl *profiler = started(&lasting);
	begin(profiler, 5000);
	end(profiler, 5000, "op");
	ended(profiler);
	added_names[0] = 0;
}

static void record_again_and_again(void)
{
	lasting = host_open();
	OrtEpProfilerImpl *other = started(&lasting);
	lives_leave_nothing(whole_profiling);
	ended(other);
	host_close(&lasting);
}

START_TEST(profilings_leave_nothing_behind)
{
	struct trace_scan *scan = recorded(record_again_and_again, SHARED_PLUGINS);
	ck_assert_uint_ge(scan_count(scan, EPF_EVENT, 0), 30);
	trace_scan_free(scan);
}
END_TEST

/* In a process that names plugins and no output. */
static void without_output(void (*record)(void))
{
	pid_t pid = fork();
	if (!pid) {
		unsetenv("EPPROF_OUTPUT");
		setenv("EPPROF_PROFILERS", SHARED_PLUGINS ":" CHECK_BUILD "/tests/plugins/plain_ep.so", 1);
		record();
		exit(logged_count ? 9 : 0);
	}
	int result;
	waitpid(pid, &result, 0);
	ck_assert_int_eq(result, 0);
}

static void profile_again_and_again(void)
{
	for (int i = 0; i < 3; i++) {
		struct host host = host_open();
		OrtEpProfilerImpl *first = started(&host), *second = started(&host);
		added_count = 0;
		added_names[0] = 0;
		work_inside(first, 5000);
		ended(first);
		if (count_added("relu@none;") != 6 || count_added("plain@5000;") != 1 ||
		    !strstr(added_names, "kernel of op@5000;"))
			_exit(5);
		ended(second);
		host_close(&host);
	}
}

START_TEST(without_an_output_it_is_in_the_profile)
{
	without_output(profile_again_and_again);
}
END_TEST

START_TEST(without_an_output_nothing_is_left_behind)
{
	without_output(record_again_and_again);
}
END_TEST

/* ---- libraries that ONNX Runtime runs itself ---- */

#define PLAIN_EP CHECK_BUILD "/tests/plugins/plain_ep.so"

static void profile_a_node(OrtEp *ep)
{
	OrtEpProfilerImpl *profiler;
	ck_assert_ptr_null(ep->CreateProfiler(ep, &profiler));
	ck_assert_ptr_null(profiler->StartProfiling(profiler, 440000));
	begin(profiler, 5000);
	end(profiler, 5000, "node");
	ended(profiler);
}

static bool is_skip_logged(void)
{
	bool is_logged = strstr(logged_text, "plain_ep.so: not hosted, because it is registered with ONNX Runtime") ||
	                 strstr(logged_text, "link.so: not hosted, because it is registered with ONNX Runtime");
	logged_text[0] = 0;
	return is_logged;
}

/* ONNX Runtime has the library by another path. */
static void record_beside_a_registered_one(void)
{
	char *link = check_path("link.so");
	unlink(link);
	if (symlink(PLAIN_EP, link))
		_exit(4);
	registered_library = link;
	struct host host = host_open();
	if (!is_skip_logged())
		_exit(5);
	profile_a_node(host.ep);
	OrtEp *another = host_ep(&host, NULL);
	profile_a_node(another);
	host.factory->ReleaseEp(host.factory, another);
	host_close(&host);
	unlink(link);
	/* It is logged once. */
	if (added_count || is_skip_logged())
		_exit(6);
}

START_TEST(a_registered_library_is_not_hosted)
{
	struct trace_scan *scan = recorded(record_beside_a_registered_one, PLAIN_EP);
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, 0), 2);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, 0), 0);
	ck_assert_str_eq(scan->producers[0].label, "onnxruntime");
	ck_assert_str_eq(scan->producers[0].note, "registered with ONNX Runtime, so not hosted: plain_ep.so");
	ck_assert_str_eq(scan->producers[1].label, "");
	trace_scan_free(scan);
}
END_TEST

/* The library is hosted in the sessions before its registration and after its end. */
static void record_before_and_after_the_registration(void)
{
	struct host host = host_open();
	profile_a_node(host.ep);
	if (added_count != 1 || is_skip_logged())
		_exit(5);
	for (int is_over = 0; is_over < 2; is_over++) {
		registered_library = is_over ? NULL : PLAIN_EP;
		OrtEp *another = host_ep(&host, NULL);
		if (is_skip_logged() == is_over)
			_exit(6);
		profile_a_node(another);
		host.factory->ReleaseEp(host.factory, another);
		if (added_count != 1u + (unsigned)is_over)
			_exit(7);
	}
	host_close(&host);
}

START_TEST(a_library_may_be_registered_later)
{
	struct trace_scan *scan = recorded(record_before_and_after_the_registration, PLAIN_EP);
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, 0), 3);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, 0), 2);
	trace_scan_free(scan);
}
END_TEST

/* There is nothing to profile. */
static void do_not_record_a_registered_one(void)
{
	OrtEpProfilerImpl *profiler;
	unsetenv("EPPROF_OUTPUT");
	setenv("EPPROF_PROFILERS", PLAIN_EP, 1);
	registered_library = PLAIN_EP;
	struct host host = host_open();
	if (host.ep->CreateProfiler(host.ep, &profiler) || profiler)
		_exit(5);
	host_close(&host);
	_exit(0);
}

START_TEST(without_an_output_a_registered_library_is_left_alone)
{
	pid_t pid = fork();
	if (!pid)
		do_not_record_a_registered_one();
	int result;
	waitpid(pid, &result, 0);
	ck_assert_int_eq(result, 0);
}
END_TEST

/* Each session fails with the reason, and the functions of the library are called once. */
static void host_one_that_is_refused(void)
{
	static const char reason[] = "EPPROF_PROFILERS: evil_ep.so: CreateEpFactories: ";
	struct host host = host_open();
	if (!host.error || strncmp(host.error, reason, sizeof(reason) - 1) != 0)
		_exit(5);
	host.error = NULL;
	if (host_ep(&host, NULL) || !host.error || strncmp(host.error, reason, sizeof(reason) - 1) != 0)
		_exit(6);
	ck_assert_ptr_null(host.release_factory(host.factory));
	/* It may be meant for another framework. */
	setenv("KINETO_PLUGIN_PATH", CHECK_BUILD "/tests/plugins/evil_ep.so", 1);
	setenv("EPPROF_PROFILERS", "", 1);
	host = host_open();
	if (host.error || !strstr(logged_text, "KINETO_PLUGIN_PATH: evil_ep.so: CreateEpFactories: "))
		_exit(7);
	host_close(&host);
}

START_TEST(a_library_that_refuses_is_an_error_of_each_session)
{
	record_apart(host_one_that_is_refused, CHECK_BUILD "/tests/plugins/evil_ep.so");
}
END_TEST

/* One that fails at its end, beside one that does not. */
static void record_beside_a_failure(void)
{
	setenv("TF_FAULT", "huge", 1);
	struct host host = host_open();
	OrtEpProfilerImpl *profiler = started(&host);
	begin(profiler, 5000);
	end(profiler, 5000, "op");
	ended(profiler);
	host_close(&host);
	if (strcmp(added_names, "kernel of op@5000;") != 0)
		_exit(5);
	if (!strstr(logged_text, "epprof: XPU: EndProfiling: "))
		_exit(6);
}

START_TEST(one_that_fails_loses_its_own_events_alone)
{
	struct trace_scan *scan = recorded(record_beside_a_failure, CHECK_BUILD
	                                   "/tests/plugins/tf_fault.so:" CHECK_BUILD "/tests/plugins/plain_ep.so");
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, 0), 1);
	ck_assert_uint_eq(scan->producers[1].errors, 1);
	trace_scan_free(scan);
}
END_TEST

static atomic_bool is_over;

static void *begin_again_and_again(void *argument)
{
	OrtEpProfilerImpl *profiler = argument;
	for (uint64_t id = 1; !atomic_load(&is_over); id++) {
		begin(profiler, id);
		end(profiler, id, "op");
	}
	return NULL;
}

static void record_beside_the_end(void)
{
	for (int i = 0; i < 20; i++) {
		struct OrtProfilingEventsContainer container = { container_add, NULL };
		struct host host = host_open();
		OrtEpProfilerImpl *profiler = started(&host);
		pthread_t thread;
		atomic_store(&is_over, false);
		pthread_create(&thread, NULL, begin_again_and_again, profiler);
		usleep(1000);
		ck_assert_ptr_null(profiler->EndProfiling(profiler, &container));
		atomic_store(&is_over, true);
		pthread_join(thread, NULL);
		profiler->Release(profiler);
		host_close(&host);
	}
}

START_TEST(events_begin_beside_the_end)
{
	trace_scan_free(recorded(record_beside_the_end, CHECK_BUILD "/libsample_pu1_ep.so"));
}
END_TEST

static Suite *ort_hosted_suite(void)
{
	Suite *suite = suite_create("ort_hosted");
	TCase *tcase = tcase_create("ort_hosted");
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, hosted_events_go_into_both);
	tcase_add_test(tcase, an_offset_may_be_old);
	tcase_add_test(tcase, a_plugin_of_another_framework_s_too);
	tcase_add_test(tcase, names_are_escaped_once);
	tcase_add_test(tcase, a_plugin_may_be_named_as_for_pytorch);
	tcase_add_test(tcase, a_plugin_that_sessions_share_records_once);
	tcase_add_test(tcase, profilings_leave_nothing_behind);
	tcase_add_test(tcase, without_an_output_it_is_in_the_profile);
	tcase_add_test(tcase, without_an_output_nothing_is_left_behind);
	tcase_add_test(tcase, a_registered_library_is_not_hosted);
	tcase_add_test(tcase, a_library_may_be_registered_later);
	tcase_add_test(tcase, without_an_output_a_registered_library_is_left_alone);
	tcase_add_test(tcase, a_library_that_refuses_is_an_error_of_each_session);
	tcase_add_test(tcase, one_that_fails_loses_its_own_events_alone);
	tcase_add_test(tcase, events_begin_beside_the_end);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(ort_hosted_suite)
