/* The interpolated median of a histogram, against the median of the values themselves. */
#include "analysis/histogram.h"

#include <math.h>

#include "tests/support/check.h"

#define VALUES 1001u

static double median_of(double middle, double width)
{
	struct epp_histogram histogram = { 0 };

	for (unsigned i = 0; i < VALUES; i++)
		ck_assert(histogram_add(&histogram, llround(middle * (1 + width * ((double)i / (VALUES - 1) - 0.5)))));
	double median = epp_histogram_interpolate(&histogram, 0.5);
	histogram_deinit(&histogram);
	return median;
}

/* A bucket is up to 1.6 % wide.  Values that differ by less are found in it, and those of several buckets are as well. */
START_TEST(a_small_change_of_all_values_shows)
{
	static const double widths[] = { 0, 0.0001, 0.002, 0.01, 0.03, 0.3 };
	double before = 0;

	for (size_t at = 0; at < sizeof widths / sizeof *widths; at++) {
		for (double middle = 1000000; middle < 1040000; middle *= 1.0005) {
			double median = median_of(middle, widths[at]);
			ck_assert_msg(fabs(median / middle - 1) < 0.0015, "%f instead of %f, width %f", median, middle,
			              widths[at]);
			ck_assert(middle == 1000000 || median > before);
			before = median;
		}
	}
}
END_TEST

START_TEST(few_values_are_exact)
{
	struct epp_histogram histogram = { 0 };

	ck_assert_double_eq(epp_histogram_interpolate(&histogram, 0.5), 0);
	ck_assert(histogram_add(&histogram, 1234567));
	for (double part = 0; part <= 1; part += 0.25)
		ck_assert_double_eq(epp_histogram_interpolate(&histogram, part), 1234567);
	ck_assert(histogram_add(&histogram, 7654321) && histogram_add(&histogram, 5000000));
	ck_assert_double_eq(epp_histogram_interpolate(&histogram, 0.5), 5000000);
	ck_assert_double_eq(epp_histogram_interpolate(&histogram, 1), 7654321);
	histogram_deinit(&histogram);
	ck_assert(histogram_add(&histogram, 0) && histogram_add(&histogram, INT64_MAX));
	ck_assert_double_eq(epp_histogram_interpolate(&histogram, 0), 0);
	ck_assert_double_eq(epp_histogram_interpolate(&histogram, 1), (double)INT64_MAX);
	histogram_deinit(&histogram);
}
END_TEST

static Suite *histogram_suite(void)
{
	Suite *suite = suite_create("histogram");
	TCase *tests = tcase_create("histogram");

	tcase_add_test(tests, a_small_change_of_all_values_shows);
	tcase_add_test(tests, few_values_are_exact);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(histogram_suite)
