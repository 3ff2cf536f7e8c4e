/* The comparison of two sets of runs, against sets of known truth: how often equal sets raise an alarm, how often a change
 * of 3 % is found, and how often an interval has the true change in it.  The numbers are random, with fixed seeds. */
#include "epprof/compare.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "tests/support/check.h"

#define COMPARISONS 1000u
#define NAMES 4u
#define RUNS_MOST 12u

/* How the values of a run differ from the truth. */
struct noise {
	double run;   /* a factor of the whole run, the same for all its names: standard deviation of its logarithm */
	double name;  /* a factor of one name in one run: what the events inside leave of their noise in its median */
	double spike; /* one run in ten takes longer by this: another program had the processor */
};

struct sets {
	double values[NAMES + 1][2][RUNS_MOST]; /* 0: the time of a run, before and after */
	size_t counts[2];
};

static double normal(unsigned short *random)
{
	return sqrt(-2 * log(1 - erand48(random))) * cos(2 * M_PI * erand48(random));
}

static void draw(struct sets *sets, unsigned short *random, const struct noise *noise, double slowdown)
{
	for (unsigned set = 0; set < 2; set++) {
		for (size_t run = 0; run < sets->counts[set]; run++) {
			double offset = noise->run * normal(random) + (erand48(random) < 0.1 ? noise->spike : 0);
			for (unsigned name = 0; name <= NAMES; name++)
				sets->values[name][set][run] = 1000.0 * (name + 1) *
				                               exp(offset + noise->name * normal(random)) *
				                               (set ? 1 + slowdown : 1);
		}
	}
}

static epp_comparison *compare(const struct sets *sets, const epp_comparison_options *options)
{
	epp_quantity quantities[NAMES + 1];
	epp_comparison *comparison;

	for (unsigned name = 0; name <= NAMES; name++)
		quantities[name] = (epp_quantity){ sets->values[name][0], sets->counts[0], sets->values[name][1],
			                           sets->counts[1] };
	check_ok(epp_comparison_create(quantities, NAMES + 1, options, &comparison));
	return comparison;
}

static bool has_verdict(const epp_comparison *comparison)
{
	for (unsigned name = 0; name <= NAMES; name++)
		if (epp_comparison_change_at(comparison, name)->verdict != EPP_VERDICT_NONE)
			return true;
	return false;
}

struct rates {
	unsigned alarms, found, covered, beyond;
};

static struct rates simulate(unsigned comparisons, size_t before_count, size_t after_count, const struct noise *noise,
                             double slowdown, double limit)
{
	const epp_comparison_options options = { .struct_size = sizeof options, .limit = limit };
	struct sets sets = { .counts = { before_count, after_count } };
	unsigned short random[3] = { 1, (unsigned short)before_count, (unsigned short)after_count };
	struct rates rates = { 0 };

	for (unsigned i = 0; i < comparisons; i++) {
		draw(&sets, random, noise, slowdown);
		epp_comparison *comparison = compare(&sets, &options);
		const epp_change *main = epp_comparison_change_at(comparison, 0);
		rates.alarms += has_verdict(comparison);
		rates.found += main->verdict == EPP_VERDICT_MORE;
		rates.covered += main->least_part <= slowdown && slowdown <= main->most_part;
		bool is_beyond = false;
		for (unsigned name = 0; name <= NAMES; name++)
			is_beyond = is_beyond || epp_comparison_change_at(comparison, name)->is_beyond;
		rates.beyond += is_beyond;
		epp_comparison_destroy(comparison);
	}
	return rates;
}

static const struct noise usual = { .run = 0.01, .name = 0.002 };

static const struct equal {
	size_t before, after;
	struct noise noise;
} equal[] = {
	{ 5, 5, { .run = 0.01, .name = 0.002 } },
	{ 5, 5, { .run = 0.002, .name = 0.01 } }, /* names that vary independently */
	{ 5, 5, { .run = 0.01, .name = 0.002, .spike = 0.2 } },
	{ 2, 2, { .run = 0.01, .name = 0.002 } },
	{ 3, 3, { .run = 0.01, .name = 0.01 } },
	{ 1, 5, { .run = 0.01, .name = 0.002 } },
	{ 5, 1, { .run = 0.01, .name = 0.01 } },
	{ 4, 12, { .run = 0.01, .name = 0.002 } },
	{ 10, 10, { .run = 0.01, .name = 0.01 } },
};

START_TEST(equal_sets_raise_few_alarms)
{
	const struct equal *sets = &equal[_i];
	struct rates rates = simulate(COMPARISONS, sets->before, sets->after, &sets->noise, 0, 0);

	/* With one run in a set, the rate is 5 % and not below: three standard deviations of the count are allowed. */
	bool is_exact = sets->before == 1 || sets->after == 1;
	ck_assert_uint_le(rates.alarms, COMPARISONS / 20 + (is_exact ? 21 : 0));
	ck_assert_uint_le(rates.beyond, COMPARISONS / 20);
	ck_assert_uint_ge(rates.covered, COMPARISONS * 93 / 100);
}
END_TEST

START_TEST(a_slowdown_of_3_percent_is_found)
{
	struct rates rates = simulate(COMPARISONS, 5, 5, &usual, 0.03, 0);

	ck_assert_uint_ge(rates.found, COMPARISONS * 95 / 100);
	/* Also beyond a limit of 0, which is the same question. */
	ck_assert_uint_ge(rates.beyond, COMPARISONS * 95 / 100);
	ck_assert_uint_ge(rates.covered, COMPARISONS * 93 / 100);
	ck_assert_uint_le(rates.covered, COMPARISONS * 97 / 100);
	/* Three times the noise hides it more often than not. */
	ck_assert_uint_lt(simulate(300, 5, 5, &(struct noise){ .run = 0.03 }, 0.03, 0).found, 150);
}
END_TEST

START_TEST(a_limit_is_exceeded_by_more_than_it)
{
	ck_assert_uint_le(simulate(300, 5, 5, &usual, 0.03, 0.03).beyond, 300 / 20);
	ck_assert_uint_eq(simulate(300, 5, 5, &usual, 0.03, 0.10).beyond, 0);
	ck_assert_uint_ge(simulate(300, 5, 5, &usual, 0.03, 0.005).beyond, 300 * 80 / 100);
	/* Faster is not beyond any limit. */
	ck_assert_uint_eq(simulate(300, 5, 5, &usual, -0.03, 0).beyond, 0);
}
END_TEST

/* A name that changes is found although the time of a run does not change, and no other one is. */
START_TEST(a_name_that_changes_is_found)
{
	struct sets sets = { .counts = { 5, 5 } };
	unsigned short random[3] = { 7, 7, 7 };
	unsigned found = 0, others = 0;

	for (unsigned i = 0; i < 200; i++) {
		draw(&sets, random, &usual, 0);
		for (unsigned run = 0; run < 5; run++)
			sets.values[3][1][run] *= 0.8;
		epp_comparison *comparison = compare(&sets, NULL);
		for (unsigned name = 0; name <= NAMES; name++) {
			bool is_less = epp_comparison_change_at(comparison, name)->verdict == EPP_VERDICT_LESS;
			found += name == 3 && is_less;
			others += name != 3 && epp_comparison_change_at(comparison, name)->verdict != EPP_VERDICT_NONE;
		}
		epp_comparison_destroy(comparison);
	}
	ck_assert_uint_ge(found, 195);
	ck_assert_uint_le(others, 40);
}
END_TEST

/* ---- exact values ---- */

static epp_change change_of(size_t before_count, const double *before, size_t after_count, const double *after)
{
	const epp_quantity quantity = { before, before_count, after, after_count };
	epp_comparison *comparison;

	check_ok(epp_comparison_create(&quantity, 1, NULL, &comparison));
	epp_change change = *epp_comparison_change_at(comparison, 0);
	ck_assert_ptr_null(epp_comparison_change_at(comparison, 1));
	epp_comparison_destroy(comparison);
	return change;
}

START_TEST(p_values_are_those_of_welch)
{
	/* Logarithms 0 0.1 0.2 0.3 0.4 and 0.2 0.4 0.6 0.8 1: t = 2.529822128, 5.882352941 degrees of freedom. */
	double before[5], after[5];

	for (unsigned i = 0; i < 5; i++) {
		before[i] = exp(0.1 * i);
		after[i] = exp(0.2 * (i + 1));
	}
	epp_change change = change_of(5, before, 5, after);
	ck_assert_double_eq_tol(change.p, 0.0454646189709, 1e-6);
	ck_assert_double_eq_tol(change.part, exp(0.4) - 1, 1e-12);
	ck_assert_double_eq_tol(change.before, exp(0.2), 1e-12);
	ck_assert_double_eq_tol(change.after, exp(0.6), 1e-12);
	/* One run has the variance of the other set: t = 2.886751346, 4 degrees of freedom; the interval is that of the
	 * t-test, t = 2.7764451. */
	double one = exp(0.2 + 0.5);
	change = change_of(5, before, 1, &one);
	double error = 0.1 * sqrt(2.5 * 1.2);
	ck_assert_double_eq_tol(change.p, 0.0447085872797, 1e-6);
	ck_assert_double_eq_tol(change.least_part, expm1(0.5 - 2.7764451052 * error), 1e-6);
	ck_assert_double_eq_tol(change.most_part, expm1(0.5 + 2.7764451052 * error), 1e-6);
	ck_assert_uint_eq(change.verdict, EPP_VERDICT_MORE);
}
END_TEST

START_TEST(many_runs_are_as_exact)
{
	enum { COUNT = 5000 };
	static double before[COUNT], after[COUNT];

	for (unsigned i = 0; i < COUNT; i++) {
		before[i] = exp(i % 2 ? 0.01 : -0.01);
		after[i] = exp(0.0004 + (i % 2 ? 0.01 : -0.01));
	}
	ck_assert_double_eq_tol(change_of(COUNT, before, COUNT, after).p, 0.0455488716275, 1e-6);
}
END_TEST

START_TEST(values_without_noise)
{
	const double same[5] = { 7, 7, 7, 7, 7 }, other[5] = { 8, 8, 8, 8, 8 };

	epp_change change = change_of(5, same, 5, same);
	ck_assert_uint_eq(change.verdict, EPP_VERDICT_NONE);
	ck_assert(change.p == 1 && change.least_part == 0 && change.most_part == 0);
	/* Of the 252 divisions of the runs, two separate them like this. */
	change = change_of(5, same, 5, other);
	ck_assert_uint_eq(change.verdict, EPP_VERDICT_MORE);
	ck_assert_double_eq_tol(change.p, 2.0 / 252, 1e-12);
	ck_assert_double_eq_tol(change.least_part, 1.0 / 7, 1e-12);
	ck_assert_uint_eq(change_of(5, other, 5, same).verdict, EPP_VERDICT_LESS);
	/* Two of three prove nothing. */
	change = change_of(2, same, 1, other);
	ck_assert_uint_eq(change.verdict, EPP_VERDICT_NONE);
	ck_assert_double_eq_tol(change.p, 2.0 / 3, 1e-12);
}
END_TEST

START_TEST(the_same_values_give_the_same_result)
{
	const double before[5] = { 1, 1.02, 0.99, 1.01, 1.03 }, after[5] = { 1.1, 1.07, 1.09, 1.12, 1.08 };
	epp_change first = change_of(5, before, 5, after), second = change_of(5, before, 5, after);

	ck_assert_int_eq(memcmp(&first, &second, sizeof first), 0);
	ck_assert_uint_eq(first.verdict, EPP_VERDICT_MORE);
	ck_assert(first.least_part > 0.04 && first.least_part < first.part && first.part < first.most_part &&
	          first.most_part < 0.13);
}
END_TEST

START_TEST(mistakes_are_refused)
{
	const double good[2] = { 1, 2 };
	const double bad[][2] = { { 1, 0 }, { 1, -1 }, { NAN, 1 }, { INFINITY, 1 } };
	const epp_quantity quantity = { good, 2, good, 2 };
	epp_comparison *comparison = (epp_comparison *)&quantity;

	check_fails(EPP_INVALID_ARGUMENT, epp_comparison_create(&quantity, 0, NULL, &comparison));
	ck_assert_ptr_null(comparison);
	check_fails(EPP_INVALID_ARGUMENT,
	            epp_comparison_create(&(epp_quantity){ good, 1, good, 1 }, 1, NULL, &comparison));
	check_fails(EPP_INVALID_ARGUMENT,
	            epp_comparison_create(&(epp_quantity){ good, 0, good, 2 }, 1, NULL, &comparison));
	check_fails(EPP_INVALID_ARGUMENT,
	            epp_comparison_create(&(epp_quantity){ good, 2, good, 0 }, 1, NULL, &comparison));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		check_fails(EPP_INVALID_ARGUMENT,
		            epp_comparison_create(&(epp_quantity){ good, 2, bad[i], 2 }, 1, NULL, &comparison));
		check_fails(EPP_INVALID_ARGUMENT,
		            epp_comparison_create(&(epp_quantity){ bad[i], 2, good, 2 }, 1, NULL, &comparison));
	}
	check_fails(EPP_INVALID_ARGUMENT,
	            epp_comparison_create(&quantity, 1, &(epp_comparison_options){ 0 }, &comparison));
	check_fails(
	    EPP_INVALID_ARGUMENT,
	    epp_comparison_create(&quantity, 1,
	                          &(epp_comparison_options){ .struct_size = sizeof(epp_comparison_options), .limit = -1 },
	                          &comparison));
	epp_comparison_destroy(NULL);
}
END_TEST

static Suite *compare_suite(void)
{
	Suite *suite = suite_create("compare");
	TCase *tests = tcase_create("compare");

	tcase_add_loop_test(tests, equal_sets_raise_few_alarms, 0, (int)(sizeof equal / sizeof *equal));
	tcase_add_test(tests, a_slowdown_of_3_percent_is_found);
	tcase_add_test(tests, a_limit_is_exceeded_by_more_than_it);
	tcase_add_test(tests, a_name_that_changes_is_found);
	tcase_add_test(tests, p_values_are_those_of_welch);
	tcase_add_test(tests, many_runs_are_as_exact);
	tcase_add_test(tests, values_without_noise);
	tcase_add_test(tests, the_same_values_give_the_same_result);
	tcase_add_test(tests, mistakes_are_refused);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(compare_suite)
