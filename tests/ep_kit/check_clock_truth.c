/* Device clocks whose truth is known, through kit, trace and timeline: the bound that is claimed holds, and it is not
 * wider than what the clock deserves. */
#include "bench/clock_truth.h"
#include "tests/support/check.h"

#define SECONDS 600

START_TEST(claims_hold)
{
	size_t number = (size_t)_i * CHECK_ONE_IN;
	const struct clock_truth_case *subject = &clock_truth_cases[number];
	struct clock_truth truth;

	check_ok(clock_truth_measure(subject, SECONDS, 1 + (uint64_t)number, check_path("truth.epp"), &truth));
	ck_assert_uint_eq(truth.lost_count, 0);
	ck_assert_uint_gt(truth.moments_count, 50000);
	ck_assert_uint_eq(truth.claimed_count, subject->microseconds ? 0 : truth.moments_count);
	ck_assert_msg(truth.held_count * 1000 >= truth.claimed_count * 999, "%s: %llu of %llu held", subject->name,
	              (unsigned long long)truth.held_count, (unsigned long long)truth.claimed_count);
	if (subject->largest_error_ns)
		ck_assert_uint_lt(truth.largest_error_ns, subject->largest_error_ns);
	if (subject->usual_bound_ns)
		ck_assert_uint_le(truth.usual_bound_ns, subject->usual_bound_ns);
	ck_assert_uint_eq(truth.outside_count, 0);
}
END_TEST

static Suite *clock_truth_suite(void)
{
	Suite *suite = suite_create("clock_truth");
	TCase *tests = tcase_create("clock_truth");
	tcase_set_timeout(tests, 120);
	tcase_add_loop_test(tests, claims_hold, 0, (int)(clock_truth_cases_count + CHECK_ONE_IN - 1) / CHECK_ONE_IN);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(clock_truth_suite)
