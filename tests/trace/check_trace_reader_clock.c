/* What a trace tells of its runs and of the host's clock. */
#include "epprof/trace_reader.h"

#include "tests/support/check.h"
#include "tests/support/epp_builder.h"

#define SECOND 1000000000ull

START_TEST(runs_are_told_with_their_times)
{
	struct epp_builder *b = builder_create();
	epp_trace_run run = { .struct_size = sizeof(run) };

	builder_run_end(b, BUILDER_START + 5000);
	builder_run_start(b, BUILDER_START + 9000);
	epp_trace *trace = builder_open(b, EPF_RECORDING);
	ck_assert(epp_trace_run_at(trace, 0, &run));
	ck_assert_uint_eq(run.run, 1);
	ck_assert_int_eq(run.start_ns, 0);
	ck_assert_int_eq(run.end_ns, 5000);
	ck_assert_uint_eq(run.ended, 1);
	ck_assert_int_eq(run.start_unix_ns, BUILDER_REALTIME_NS);
	ck_assert(epp_trace_run_at(trace, 1, &run));
	ck_assert_uint_eq(run.run, 2);
	ck_assert_int_eq(run.start_ns, 9000);
	ck_assert_int_eq(run.end_ns, 0);
	ck_assert_uint_eq(run.ended, 0);
	ck_assert(!epp_trace_run_at(trace, 2, &run));
	ck_assert_uint_eq(run.run, 0);
	ck_assert(!epp_trace_run_at(trace, SIZE_MAX, &run));
	epp_trace_close(trace);
	builder_destroy(b);
}
END_TEST

START_TEST(a_good_clock_is_told_as_one)
{
	struct epp_builder *b = builder_create();
	epp_trace_clock clock = { .struct_size = sizeof(clock) };

	builder_host_pair(b, BUILDER_START + 3 * SECOND, 70, 0);
	builder_run_end(b, BUILDER_START + 10 * SECOND);
	epp_trace *trace = builder_open(b, EPF_FINISHED);
	epp_trace_get_clock(trace, &clock);
	ck_assert_uint_eq(clock.pairs_count, 3);
	ck_assert_int_eq(clock.largest_half_width_ns, 70);
	ck_assert_int_eq(clock.rate_error_ppb, 0);
	ck_assert_int_eq(clock.largest_step_ns, 0);
	epp_trace_close(trace);
	builder_destroy(b);
}
END_TEST

START_TEST(a_wrong_rate_is_told)
{
	struct epp_builder *b = builder_create();
	epp_trace_clock clock = { .struct_size = sizeof(clock) };

	/* The header says a tenth less than the pairs. */
	builder_header(b)->source.ticks_per_second = SECOND - SECOND / 10;
	builder_run_end(b, BUILDER_START + 10 * SECOND);
	epp_trace *trace = builder_open(b, EPF_FINISHED);
	epp_trace_get_clock(trace, &clock);
	ck_assert_int_ge(clock.rate_error_ppb, 111111110);
	ck_assert_int_le(clock.rate_error_ppb, 111111112);
	epp_trace_close(trace);
	builder_destroy(b);
}
END_TEST

START_TEST(a_step_of_the_time_of_day_is_told)
{
	struct epp_builder *b = builder_create();
	epp_trace_clock clock = { .struct_size = sizeof(clock) };

	builder_host_pair(b, BUILDER_START + SECOND, 50, _i ? -123456789 : 123456789);
	builder_run_end(b, BUILDER_START + 2 * SECOND);
	epp_trace *trace = builder_open(b, EPF_FINISHED);
	epp_trace_get_clock(trace, &clock);
	ck_assert_int_eq(clock.largest_step_ns, 123456789);
	epp_trace_close(trace);
	builder_destroy(b);
}
END_TEST

START_TEST(a_short_trace_tells_no_rate)
{
	struct epp_builder *b = builder_create();
	epp_trace_clock clock = { .struct_size = sizeof(clock) };

	/* Too short to tell a rate. */
	builder_run_end(b, BUILDER_START + 1000);
	epp_trace *trace = builder_open(b, EPF_FINISHED);
	epp_trace_get_clock(trace, &clock);
	ck_assert_int_eq(clock.rate_error_ppb, 0);
	epp_trace_close(trace);
	builder_destroy(b);
}
END_TEST

static Suite *trace_reader_clock_suite(void)
{
	Suite *suite = suite_create("trace_reader_clock");
	TCase *tests = tcase_create("trace_reader_clock");

	tcase_add_test(tests, runs_are_told_with_their_times);
	tcase_add_test(tests, a_good_clock_is_told_as_one);
	tcase_add_test(tests, a_wrong_rate_is_told);
	tcase_add_loop_test(tests, a_step_of_the_time_of_day_is_told, 0, 2);
	tcase_add_test(tests, a_short_trace_tells_no_rate);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(trace_reader_clock_suite)
