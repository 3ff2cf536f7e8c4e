/* The collector for ONNX Runtime, bridges/ort*.c, driven by a host of the test's own: how events are paired, what is
 * kept of them, and what a table of an older version lacks.  What it carries: check_ort_hosted.c.  In ONNX Runtime
 * itself: tests/interop/check_collector*.py.
 *
 * Each test records in a process of its own, whose environment names the trace, and looks at that afterwards. */
#include <stdatomic.h>

#include "ort_bridge_host.h"

/* ---- pairing ---- */

static size_t unended_count(const struct trace_scan *scan)
{
	size_t count = 0;
	for (size_t i = 0; i < scan->records_count; i++)
		count += EPF_BITS_KIND(scan->records[i].bits) == EPF_EVENT &&
		         (EPF_BITS_FLAGS(scan->records[i].bits) & EPF_FLAG_UNENDED);
	return count;
}

static void record_equal_ids(void)
{
	struct host host = host_open();
	OrtEpProfilerImpl *profiler = started(&host);
	for (int i = 0; i < 3; i++)
		begin(profiler, 5000);
	end(profiler, 5000, "inner");
	end(profiler, 5000, "middle");
	end(profiler, 5000, "outer");
	end(profiler, 5000, "never begun");
	ended(profiler);
	host_close(&host);
}

START_TEST(equal_ids_are_paired_by_the_stack)
{
	struct trace_scan *scan = recorded(record_equal_ids, NULL);
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, 0), 3);
	ck_assert_uint_eq(scan->records_count, 3);
	ck_assert_uint_gt(named(scan, "inner")->id, named(scan, "middle")->id);
	ck_assert_uint_gt(named(scan, "middle")->id, named(scan, "outer")->id);
	ck_assert_uint_eq(unended_count(scan), 0);
	trace_scan_free(scan);
}
END_TEST

static void record_two_that_cross(void)
{
	struct host host = host_open();
	OrtEpProfilerImpl *a = started(&host), *b = started(&host);
	begin(a, 5000);
	begin(b, 5000);
	begin(b, 5001);
	end(b, 5001, "inside b");
	end(a, 5000, "a");
	end(b, 5000, "b");
	/* An inner one that never ended goes with its outer one. */
	begin(a, 6000);
	begin(a, 6001);
	end(a, 6000, "outer of one that never ends");
	end(a, 6001, "too late");
	ended(b);
	ended(a);
	host_close(&host);
}

START_TEST(two_collectors_on_one_thread)
{
	struct trace_scan *scan = recorded(record_two_that_cross, NULL);
	named(scan, "a");
	named(scan, "inside b");
	named(scan, "outer of one that never ends");
	/* b's outer event, which a's end closed, has its name and its end in a record of its own. */
	ck_assert_uint_eq(EPF_BITS_KIND(named(scan, "b")->bits), EPF_ORPHAN_END);
	ck_assert_uint_eq(unended_count(scan), 2);
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, 0), 5);
	trace_scan_free(scan);
}
END_TEST

static void *nest(void *argument)
{
	OrtEpProfilerImpl *profiler = argument;
	for (uint64_t i = 0; i < 1000; i++) {
		for (uint64_t depth = 0; depth < 5; depth++)
			begin(profiler, 5000 + depth / 2);
		for (uint64_t depth = 5; depth-- > 0;)
			end(profiler, 5000 + depth / 2, "nested");
	}
	return NULL;
}

static void record_threads(void)
{
	struct host host = host_open();
	OrtEpProfilerImpl *profiler = started(&host);
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		threads[i] = recording_thread(nest, profiler);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	ended(profiler);
	host_close(&host);
}

START_TEST(each_thread_has_a_stack)
{
	struct trace_scan *scan = recorded(record_threads, NULL);
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, 0), 4 * 5 * 1000);
	ck_assert_uint_eq(unended_count(scan), 0);
	trace_scan_free(scan);
}
END_TEST

static atomic_ullong nested_count;
static atomic_int is_closed;

static void *nest_while_it_is_closed(void *argument)
{
	while (!atomic_load(&is_closed)) {
		begin(argument, 5000);
		end(argument, 5000, "nested");
		atomic_fetch_add(&nested_count, 1);
	}
	return NULL;
}

/* ONNX Runtime lets go of a library that is unregistered, whoever is inside it. */
static void record_and_close(void)
{
	struct host host = host_open();
	OrtEpProfilerImpl *profiler = started(&host);
	pthread_t thread = recording_thread(nest_while_it_is_closed, profiler);
	while (atomic_load(&nested_count) < 100)
		sched_yield();
	void *library = dlopen(CHECK_BUILD "/libepprof_ort.so", RTLD_NOW | RTLD_NOLOAD);
	/* Its own and the host's. */
	if (!library || dlclose(library) || dlclose(library))
		_exit(3);
	unsigned long long before = atomic_load(&nested_count);
	while (atomic_load(&nested_count) < before + 100)
		sched_yield();
	atomic_store(&is_closed, 1);
	pthread_join(thread, NULL);
	begin(profiler, 6000);
	end(profiler, 6000, "after");
	ended(profiler);
	host_close(&host);
}

START_TEST(closed_while_its_threads_live_on)
{
	struct trace_scan *scan = recorded(record_and_close, NULL);
	ck_assert_uint_gt(scan_count(scan, EPF_EVENT, 0), 200);
	named(scan, "after");
	ck_assert_uint_eq(unended_count(scan), 0);
	trace_scan_free(scan);
}
END_TEST

static void record_deep(void)
{
	struct host host = host_open();
	OrtEpProfilerImpl *profiler = started(&host);
	for (uint64_t depth = 0; depth < 200; depth++)
		begin(profiler, depth);
	for (uint64_t depth = 200; depth-- > 0;)
		end(profiler, depth, "deep");
	begin(profiler, 1);
	end(profiler, 1, "after");
	ended(profiler);
	host_close(&host);
}

START_TEST(deeper_than_there_is_room)
{
	struct trace_scan *scan = recorded(record_deep, NULL);
	/* 64 of 200 were recorded; the outermost of them were forgotten here and end with what comes next, or with the
	 * run. */
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, 0), 64);
	trace_scan_free(scan);
}
END_TEST

/* ---- what is kept ---- */

static const char *const keys[] = { "op_name",         "node_index",     "output_size",
	                            "activation_size", "parameter_size", "input_type_shape",
	                            "unknown_key",     "provider",       "mem_bytes_in_use" };
static const char *const values[] = { "Re\"lu\xff",        "17", "007", "-0",  "123456789012345678901",
	                              "[{\"float\":[3]}]", "x",  "",    "4096" };

static void record_args(void)
{
	struct host host = host_open();
	OrtEpProfilerImpl *profiler = started(&host);
	begin(profiler, 5000);
	end_with(profiler, 5000, "tab\there \xff", keys, values, 9);
	/* What it cannot read is an event all the same. */
	begin(profiler, 5001);
	OrtProfilingEvent bad = { .category = 9, .name = "bad" };
	OrtStatus *status = profiler->StopEvent(profiler, 5001, &bad);
	api.table.ReleaseStatus(status);
	ended(profiler);
	host_close(&host);
}

START_TEST(args_and_times)
{
	struct trace_scan *scan = recorded(record_args, NULL);
	const struct scan_record *record = named(scan, "tab\there \xff");
	ck_assert_uint_eq(EPF_BITS_CATEGORY(record->bits), EPP_NODE);
	/* Three times, one more of the first event, and all but the unknown key and what no event of this version
	 * has. */
	ck_assert_uint_eq(record->args_count, 3 + 1 + 7);
	ck_assert_uint_eq(record->args[0].value, 4000);
	ck_assert_uint_eq(record->args[1].value, 7);
	ck_assert_uint_eq(record->args[2].value, 1000);
	/* It was told that the profile began 440 us before. */
	ck_assert_uint_ge(record->args[3].value, 440);
	for (unsigned i = 4; i < record->args_count; i++) {
		const struct scan_arg *arg = &record->args[i];
		ck_assert_uint_eq(arg->type, scan_name_is(scan, arg->key, "node_index") ? EPP_ARG_I64 : EPP_ARG_TEXT);
	}
	ck_assert_uint_eq(record->args[4].value, 17);
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, 0), 2);
	trace_scan_free(scan);
}
END_TEST

/* ---- more than there are accounts ---- */

#define MANY 40u

static void record_many_at_once(void)
{
	struct host host = host_open();
	OrtEpProfilerImpl *all[MANY];
	for (unsigned i = 0; i < MANY; i++) {
		all[i] = profiler_of(&host);
		OrtStatus *status = all[i]->StartProfiling(all[i], 440000);
		api.table.ReleaseStatus(status);
	}
	for (unsigned i = 0; i < MANY; i++) {
		begin(all[i], 5000 + i);
		end(all[i], 5000 + i, "model_run");
	}
	for (unsigned i = 0; i < MANY; i++)
		ended(all[i]);
	host_close(&host);
}

START_TEST(of_many_at_once_each_has_its_events)
{
	struct trace_scan *scan = recorded(record_many_at_once, NULL);
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, named(scan, "model_run")->name), MANY);
	ck_assert_uint_eq(scan_lost(scan, EPP_LOSS_REFUSED), 0);
	trace_scan_free(scan);
}
END_TEST

static void record_steps(void)
{
	struct host host = host_open();
	OrtEpProfilerImpl *profiler = started(&host);
	begin(profiler, 1);
	end(profiler, 1, "session_initialization");
	for (uint64_t i = 0; i < 5; i++) {
		begin(profiler, 1000 + i);
		begin(profiler, 2000 + i);
		end(profiler, 2000 + i, "node");
		end(profiler, 1000 + i, "model_run");
	}
	ended(profiler);
	host_close(&host);
}

/* Its events get their names at their ends. */
START_TEST(steps_of_a_schedule)
{
	setenv("EPPROF_SCHEDULE", "skip=1,warmup=1,active=1,repeat=2", 1);
	struct trace_scan *scan = recorded(record_steps, NULL);
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, named(scan, "model_run")->name), 2);
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, named(scan, "node")->name), 2);
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, 0), 4);
	ck_assert_uint_eq(scan_lost(scan, EPP_LOSS_FILTER), 1 + 2 * 3);
	trace_scan_free(scan);
}
END_TEST

/* A collector and a hosted profiler want an account each: 16 pairs have them. */
START_TEST(a_hosted_one_without_an_account_is_counted_as_lost)
{
	struct trace_scan *scan = recorded(record_many_at_once, CHECK_BUILD "/tests/plugins/plain_ep.so");
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, named(scan, "model_run")->name), MANY);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, named(scan, "kernel of model_run")->name), 16);
	ck_assert_uint_eq(scan_lost(scan, EPP_LOSS_REFUSED), MANY - 16);
	trace_scan_free(scan);
}
END_TEST

/* ---- hosts ---- */

static void record_run_by_run(void)
{
	struct host host = host_open();
	for (uint64_t i = 0; i < 50; i++) {
		OrtEpProfilerImpl *profiler = started(&host);
		begin(profiler, i);
		end(profiler, i, "model_run");
		ended(profiler);
	}
	/* One that is not started, as in a session that is not profiled. */
	OrtEpProfilerImpl *profiler = profiler_of(&host);
	profiler->Release(profiler);
	/* One that is released without an end. */
	profiler = started(&host);
	begin(profiler, 1);
	profiler->Release(profiler);
	host_close(&host);
}

START_TEST(a_profiler_for_each_run)
{
	struct trace_scan *scan = recorded(record_run_by_run, NULL);
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, 0), 51);
	ck_assert_uint_eq(unended_count(scan), 1);
	ck_assert_str_eq(scan->producers[0].label, "onnxruntime");
	ck_assert_str_eq(scan->producers[1].label, "");
	trace_scan_free(scan);
}
END_TEST

static void record_in_an_older_host(void)
{
	version_text = "1.26.0";
	record_equal_ids();
	if (version_asked != 26)
		_exit(1);
}

START_TEST(an_older_host)
{
	struct trace_scan *scan = recorded(record_in_an_older_host, CHECK_BUILD "/libsample_ort_ep.so");
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, 0), 3);
	trace_scan_free(scan);
}
END_TEST

static void record_in_a_newer_host(void)
{
	version_text = "1.99.3";
	record_equal_ids();
	if (version_asked != EPPROF_ORT_API_VERSION)
		_exit(1);
}

START_TEST(a_newer_host)
{
	trace_scan_free(recorded(record_in_a_newer_host, NULL));
}
END_TEST

static void refuse_too_old_a_host(void)
{
	version_text = "1.24.4";
	struct host host = host_open();
	if (!host.error || !strstr(host.error, "1.25"))
		_exit(1);
}

static void refuse_libraries(void)
{
	static const char *const lists[] = { "/no/such.so", CHECK_BUILD "/libepprof.so", CHECK_BUILD "/libepprof_tf.so",
		                             CHECK_BUILD "/libsample_ort_ep.so:/no/such.so" };
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		setenv("EPPROF_PROFILERS", lists[i], 1);
		struct host host = host_open();
		if (!host.error || !strstr(host.error, "EPPROF_PROFILERS: "))
			_exit(2);
	}
}

/* It would open itself. */
static void refuse_bridges(void)
{
	static const char *const names[] = { "libepprof_ort.so", "libepprof_tf.so" };
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char list[256], reason[256];
		snprintf(list, sizeof(list), CHECK_BUILD "/%s", names[i]);
		snprintf(reason, sizeof(reason), "EPPROF_PROFILERS: %s: is a bridge itself", names[i]);
		setenv("EPPROF_PROFILERS", list, 1);
		struct host host = host_open();
		if (!host.error || strcmp(host.error, reason) != 0)
			_exit(2);
	}
}

START_TEST(what_is_refused)
{
	void (*const refusals[])(void) = { refuse_bridges, refuse_too_old_a_host, refuse_libraries };
	for (unsigned i = 0; i < 3; i++) {
		record_apart(refusals[i], NULL);
		ck_assert_int_eq(access(trace_path, F_OK), -1);
	}
}
END_TEST

static void do_nothing(void)
{
	unsetenv("EPPROF_OUTPUT");
	for (int i = 0; i < 2; i++) {
		struct host host = host_open();
		if (profiler_of(&host))
			_exit(3);
		host_close(&host);
	}
	_exit(logged_count == 1 ? 0 : 4);
}

START_TEST(without_an_output)
{
	pid_t pid = fork();
	if (!pid)
		do_nothing();
	int result;
	waitpid(pid, &result, 0);
	ck_assert_int_eq(result, 0);
}
END_TEST

static Suite *ort_bridge_suite(void)
{
	Suite *suite = suite_create("ort_bridge");
	TCase *tcase = tcase_create("ort_bridge");
	tcase_add_test(tcase, equal_ids_are_paired_by_the_stack);
	tcase_add_test(tcase, two_collectors_on_one_thread);
	tcase_add_test(tcase, each_thread_has_a_stack);
	tcase_add_test(tcase, closed_while_its_threads_live_on);
	tcase_add_test(tcase, deeper_than_there_is_room);
	tcase_add_test(tcase, args_and_times);
	tcase_add_test(tcase, of_many_at_once_each_has_its_events);
	tcase_add_test(tcase, steps_of_a_schedule);
	tcase_add_test(tcase, a_hosted_one_without_an_account_is_counted_as_lost);
	tcase_add_test(tcase, a_profiler_for_each_run);
	tcase_add_test(tcase, an_older_host);
	tcase_add_test(tcase, a_newer_host);
	tcase_add_test(tcase, what_is_refused);
	tcase_add_test(tcase, without_an_output);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(ort_bridge_suite)
