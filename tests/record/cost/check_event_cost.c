/* What recording costs is measured and is in the trace: of a session that records, of a file, of each run by itself. */
#include "base/clock.h"
#include "record/recorder.h"
#include "tests/support/recording.h"

static epp_name name;

/* The least time of 64 events of this thread, in picoseconds an event. */
static uint64_t least_ps(epp_session *session)
{
	uint64_t least = UINT64_MAX;
	for (int round = 0; round < 50; round++) {
		uint64_t begin = clock_ticks();
		for (int i = 0; i < 64; i++)
			epp_event_end(session, epp_event_begin(session, EPP_NODE, name), NULL, 0);
		uint64_t took = clock_ticks() - begin;
		least = took < least ? took : least;
	}
	return (uint64_t)((double)least / 64 / (double)clock_ticks_per_second() * 1e12);
}

static epp_trace_run run_of(epp_trace *trace, size_t index)
{
	epp_trace_run run = { .struct_size = sizeof(run) };
	ck_assert_int_eq(epp_trace_run_at(trace, index, &run), 1);
	return run;
}

START_TEST(the_cost_is_that_of_recording)
{
	if (!clock_is_fast()) {
		ck_assert_uint_eq(event_cost_ps(), 0);
		return;
	}
	uint64_t cost_ps = event_cost_ps();
	ck_assert_uint_eq(event_cost_ps(), cost_ps);
	epp_session *session = recording_start(NULL);
	uint64_t ps = least_ps(session);
	trace_scan_free(recording_finish(session));
	/* A median, on a machine that does other work, and the least of many. */
	ck_assert_msg(cost_ps > ps / 4 && cost_ps < ps * 20, "%llu ps, and events take %llu",
	              (unsigned long long)cost_ps, (unsigned long long)ps);
}
END_TEST

/* This thread has events of its own: measuring takes its place for a moment, and must not touch theirs. */
START_TEST(a_thread_that_records_does_not_measure)
{
	epp_session *session = recording_start(NULL);
	uint64_t id = epp_event_begin(session, EPP_NODE, name);
	event_cost_ps();
	epp_event_end(session, id, NULL, 0);
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan->records_count, 1);
	trace_scan_free(scan);
}
END_TEST

static void expect_cost(const epp_trace_run *run)
{
	ck_assert_uint_eq(run->event_cost_ps != 0, clock_is_fast());
	ck_assert_uint_gt(run->write_cpu_ns, 0);
}

START_TEST(each_run_of_a_file_has_its_cost)
{
	const char *path = check_path("cost.epp");
	epp_session *session = recording_start(path);
	epp_trace *trace;
	/* Its first run writes much, and its second nothing. */
	for (int i = 0; i < 1000000; i++)
		epp_event_end(session, epp_event_begin(session, EPP_NODE, name), NULL, 0);
	recording_end(session);
	check_ok(epp_session_start(session));
	check_ok(epp_trace_open(path, &trace));
	epp_trace_run first = run_of(trace, 0);
	expect_cost(&first);
	epp_trace_close(trace);
	recording_end(session);
	epp_session_destroy(session);
	check_ok(epp_trace_open(path, &trace));
	epp_trace_run run = run_of(trace, 0), second = run_of(trace, 1);
	expect_cost(&second);
	ck_assert_uint_eq(run.write_cpu_ns, first.write_cpu_ns);
	ck_assert_uint_eq(run.event_cost_ps, second.event_cost_ps);
	ck_assert_uint_gt(first.write_cpu_ns, second.write_cpu_ns);
	epp_trace_close(trace);
}
END_TEST

/* A reader, or a kill, finds the figures in the window. */
START_TEST(a_session_that_records_has_its_cost)
{
	const char *path = check_path("live.epp");
	epp_session *session = recording_start(path);
	epp_event_end(session, epp_event_begin(session, EPP_NODE, name), NULL, 0);
	for (bool is_written = false; !is_written; recording_sleep_ms(1)) {
		epp_trace *trace;
		check_ok(epp_trace_open(path, &trace));
		epp_trace_run run = run_of(trace, 0);
		is_written = run.write_cpu_ns > 0;
		if (is_written)
			expect_cost(&run);
		ck_assert_uint_eq(run.ended, 0);
		epp_trace_close(trace);
	}
	epp_session_destroy(session);
}
END_TEST

static Suite *cost_suite(void)
{
	Suite *suite = suite_create("event cost");
	TCase *tcase = tcase_create("cost");
	tcase_set_timeout(tcase, 60);
	name = epp_name_intern("event");
	tcase_add_test(tcase, the_cost_is_that_of_recording);
	tcase_add_test(tcase, a_thread_that_records_does_not_measure);
	tcase_add_test(tcase, each_run_of_a_file_has_its_cost);
	tcase_add_test(tcase, a_session_that_records_has_its_cost);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(cost_suite)
