/* Implements epprof/compare.h: tests whether the quantities of two sets of runs differ, and computes confidence
 * intervals of the changes. */
#include "epprof/compare.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"

/* The probability that a comparison of equal sets reports a change (a false alarm), and the part of it that is reserved
 * for the quantities after the first. */
#define FALSE_ALARMS 0.05
#define FALSE_ALARMS_OF_OTHERS 0.01
/* The probability that the true change is below an interval, and the probability that it is above. */
#define OUTSIDE 0.025

struct epp_comparison {
	size_t count;
	epp_change changes[];
};

/* The logarithms of the values of a quantity in one set of runs. */
struct set {
	double *logs; /* measure_set subtracts their mean */
	size_t count;
	double mean, variance;
};

/* The difference of two means. */
struct difference {
	/* `error` is the standard error of the difference, with `freedom` degrees of freedom */
	double log, error, freedom;
};

/* ---- Student's distribution ---- */

#define SIMPSON_STEPS 256u

/* Returns the probability that |t| is at least `t`.  With t = sqrt(freedom) tan(a), the density is a power of cos(a).
 * The integral is computed from a to a right angle, or to the angle from which on the density is negligible. */
static double student_p(double t, double freedom)
{
	double from = atan(t / sqrt(freedom)), width = fmin(M_PI / 2 - from, 12 / sqrt(freedom)) / SIMPSON_STEPS, sum = 0;
	int sign;

	for (unsigned i = 0; i <= SIMPSON_STEPS; i++) {
		double factor = i == 0 || i == SIMPSON_STEPS ? 1 : i % 2 ? 4 : 2;
		sum += factor * pow(fmax(cos(from + i * width), 0), freedom - 1);
	}
	double scale = exp(lgamma_r((freedom + 1) / 2, &sign) - lgamma_r(freedom / 2, &sign)) / sqrt(M_PI);
	return fmin(2 * scale * sum * width / 3, 1);
}

/* Returns the value of t that |t| exceeds with the probability `p`. */
static double student_t(double p, double freedom)
{
	double low = 0, high = 1;

	while (student_p(high, freedom) > p)
		high *= 2;
	for (unsigned i = 0; i < 40; i++) {
		double middle = (low + high) / 2;
		if (student_p(middle, freedom) > p)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* ---- one quantity ---- */

/* Smaller differences are rounding errors. */
#define ROUNDING 1e-9

static void measure_set(struct set *set)
{
	double squares = 0;

	for (size_t i = 0; i < set->count; i++)
		set->mean += set->logs[i] / (double)set->count;
	for (size_t i = 0; i < set->count; i++) {
		set->logs[i] -= set->mean;
		squares += set->logs[i] * set->logs[i];
	}
	set->variance = set->count > 1 ? squares / (double)(set->count - 1) : 0;
}

static struct difference difference_of(const struct set *before, const struct set *after)
{
	double before_variance = before->count > 1 ? before->variance : after->variance;
	double after_variance = after->count > 1 ? after->variance : before->variance;
	double left = before_variance / (double)before->count, right = after_variance / (double)after->count, parts = 0;
	struct difference difference = { .log = after->mean - before->mean, .error = sqrt(left + right) };

	if (before->count == 1 || after->count == 1 || difference.error < ROUNDING) {
		difference.freedom = (double)(before->count + after->count - 2);
		return difference;
	}
	parts += left * left / (double)(before->count - 1);
	parts += right * right / (double)(after->count - 1);
	difference.freedom = fmax((left + right) * (left + right) / parts, 1);
	return difference;
}

/* Returns the p value of a difference.  If the values within each set are equal, there is no variance.  The p value is
 * then that of a permutation test: of all divisions of the runs into two sets of these sizes, the fraction in which
 * each set has equal values, too. */
static double p_of(double log, const struct difference *difference, const struct set *before, const struct set *after)
{
	double divisions = 1;

	if (fabs(log) < ROUNDING)
		return 1;
	if (difference->error >= ROUNDING)
		return student_p(fabs(log) / difference->error, difference->freedom);
	for (size_t i = 1; i <= before->count; i++)
		divisions *= (double)(after->count + i) / (double)i;
	return fmin(2 / divisions, 1);
}

/* ---- intervals ---- */

#define RESAMPLES 1000u
/* With fewer runs in a set, there are too few values to draw from, and the interval is that of Student's
 * distribution. */
#define RESAMPLED_LEAST 4u

/* The values from which resamples are drawn: the distances of all runs from the mean of their set.  They are multiplied
 * by sqrt(n / (n - 1)), because distances from a mean that is computed from the same n runs are too small.  The runs of
 * both sets are used, because resamples of a single set would too often have no variance. */
struct pool {
	double *logs;
	size_t count;
	uint64_t random;
};

static void add_to_pool(struct pool *pool, const struct set *set)
{
	for (size_t i = 0; i < set->count; i++)
		pool->logs[pool->count++] = set->logs[i] * sqrt((double)set->count / (double)(set->count - 1));
}

/* Draws a set of runs.  Returns its mean, and sets *error2 to the square of the mean's standard error. */
static double resample(struct pool *pool, size_t runs_count, double *error2)
{
	double sum = 0, squares = 0, count = (double)runs_count;

	for (size_t i = 0; i < runs_count; i++) {
		/* Knuth's MMIX generator.  The generators of libc have a state that is shared between threads. */
		pool->random = pool->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		double log = pool->logs[(size_t)(pool->random >> 33) % pool->count];
		sum += log;
		squares += log * log;
	}
	*error2 = fmax(squares - sum * sum / count, 0) / (count - 1) / count;
	return sum / count;
}

static int ascending(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

/* Draws pairs of sets from the same pool, so that their true difference is 0, and sets the range that contains 95 % of
 * the differences of their means, each divided by its standard error. */
static void bootstrap(struct pool *pool, size_t before_count, size_t after_count, double *least, double *most)
{
	double drawn[RESAMPLES];

	for (size_t i = 0; i < RESAMPLES; i++) {
		double before_error2, after_error2;
		double log = -resample(pool, before_count, &before_error2);
		log += resample(pool, after_count, &after_error2);
		double error = sqrt(before_error2 + after_error2);
		drawn[i] = fabs(log) < ROUNDING ? 0 : error < ROUNDING ? copysign(INFINITY, log) : log / error;
	}
	qsort(drawn, RESAMPLES, sizeof *drawn, ascending);
	*least = drawn[(size_t)(RESAMPLES * OUTSIDE)];
	*most = drawn[RESAMPLES - 1 - (size_t)(RESAMPLES * OUTSIDE)];
}

/* Sets the confidence interval of a change.  `logs` has room for the values of both sets. */
static void find_interval(epp_change *change, const struct difference *difference, const struct set *before,
                          const struct set *after, double *logs)
{
	struct pool pool = { .logs = logs, .random = UINT64_C(0x9abc56781234) };
	double least, most;

	change->least_part = change->most_part = change->part;
	if (difference->error < ROUNDING)
		return;
	if (before->count >= RESAMPLED_LEAST && after->count >= RESAMPLED_LEAST) {
		add_to_pool(&pool, before);
		add_to_pool(&pool, after);
		bootstrap(&pool, before->count, after->count, &least, &most);
	} else {
		most = student_t(2 * OUTSIDE, difference->freedom);
		least = -most;
	}
	change->least_part = expm1(difference->log - most * difference->error);
	change->most_part = expm1(difference->log - least * difference->error);
}

/* ---- verdicts ---- */

struct test {
	double p;
	size_t index;
};

static int by_p_value(const void *a, const void *b)
{
	const struct test *left = a, *right = b;

	if (left->p != right->p)
		return left->p < right->p ? -1 : 1;
	return (left->index > right->index) - (left->index < right->index);
}

/* Sets rejected[i] for the quantities whose hypothesis of no change is rejected, by the method of Holm for the
 * quantities after the first.  Sorts `tests`. */
static void reject(struct test *tests, size_t count, bool *rejected)
{
	double level = count > 1 ? FALSE_ALARMS - FALSE_ALARMS_OF_OTHERS : FALSE_ALARMS;

	memset(rejected, 0, count * sizeof *rejected);
	rejected[0] = tests[0].p <= level;
	level = rejected[0] ? FALSE_ALARMS : FALSE_ALARMS_OF_OTHERS;
	qsort(tests + 1, count - 1, sizeof *tests, by_p_value);
	for (size_t i = 1; i < count && tests[i].p <= level / (double)(count - i); i++)
		rejected[tests[i].index] = true;
}

struct work {
	double *logs; /* room for twice the values of a quantity */
	size_t logs_room;
	struct test *changed, *beyond;
	bool *rejected;
	double limit_log;
};

static void compare(struct work *work, const epp_quantity *quantity, size_t index, epp_change *change)
{
	struct set before = { .logs = work->logs, .count = quantity->before_count };
	struct set after = { .logs = work->logs + quantity->before_count, .count = quantity->after_count };

	for (size_t i = 0; i < before.count; i++)
		before.logs[i] = log(quantity->before[i]);
	for (size_t i = 0; i < after.count; i++)
		after.logs[i] = log(quantity->after[i]);
	measure_set(&before);
	measure_set(&after);
	struct difference difference = difference_of(&before, &after);
	double over = difference.log - work->limit_log;
	change->before = exp(before.mean);
	change->after = exp(after.mean);
	change->part = expm1(difference.log);
	change->p = p_of(difference.log, &difference, &before, &after);
	find_interval(change, &difference, &before, &after, work->logs + work->logs_room);
	work->changed[index] = (struct test){ change->p, index };
	work->beyond[index] = (struct test){ over > 0 ? p_of(over, &difference, &before, &after) : 1, index };
}

static void set_verdicts(struct work *work, epp_comparison *comparison, double limit)
{
	epp_change *changes = comparison->changes;

	reject(work->changed, comparison->count, work->rejected);
	for (size_t i = 0; i < comparison->count; i++)
		changes[i].verdict = !work->rejected[i]          ? EPP_VERDICT_NONE
		                     : changes[i].least_part > 0 ? EPP_VERDICT_MORE
		                     : changes[i].most_part < 0  ? EPP_VERDICT_LESS
		                                                 : EPP_VERDICT_NONE;
	reject(work->beyond, comparison->count, work->rejected);
	for (size_t i = 0; i < comparison->count; i++)
		changes[i].is_beyond = work->rejected[i] && changes[i].least_part > limit;
}

/* ---- the public functions ---- */

static bool are_positive(const double *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!(values[i] > 0) || !isfinite(values[i]))
			return false;
	return true;
}

/* Checks the quantities, and sets *most to the largest number of values of a quantity. */
static epp_status *check(const epp_quantity *quantities, size_t count, size_t *most)
{
	if (!count)
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_comparison_create: no quantity");
	for (size_t i = 0; i < count; i++) {
		const epp_quantity *quantity = &quantities[i];
		if (!quantity->before_count || !quantity->after_count || quantity->before_count + quantity->after_count < 3)
			return epp_status_create(
			    EPP_INVALID_ARGUMENT,
			    "epp_comparison_create: quantity %zu needs a value in each set, and two in one", i);
		if (!are_positive(quantity->before, quantity->before_count) ||
		    !are_positive(quantity->after, quantity->after_count))
			return epp_status_create(
			    EPP_INVALID_ARGUMENT,
			    "epp_comparison_create: quantity %zu has a value that is not larger than 0", i);
		if (quantity->before_count + quantity->after_count > *most)
			*most = quantity->before_count + quantity->after_count;
	}
	return NULL;
}

epp_status *epp_comparison_create(const epp_quantity *quantities, size_t count, const epp_comparison_options *given,
                                  epp_comparison **comparison)
{
	epp_comparison_options options;
	epp_status *status = NULL;
	size_t most = 0;

	*comparison = NULL;
	EPP_TRY(options_take(&options, sizeof options, given, "epp_comparison_options"));
	if (!(options.limit >= 0))
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_comparison_options: the limit is below 0");
	EPP_TRY(check(quantities, count, &most));
	epp_comparison *made = calloc(1, sizeof *made + count * sizeof *made->changes);
	struct work work = { .logs = calloc(most, 2 * sizeof(double)),
		             .logs_room = most,
		             .changed = calloc(count, sizeof(struct test)),
		             .beyond = calloc(count, sizeof(struct test)),
		             .rejected = calloc(count, sizeof(bool)),
		             .limit_log = log1p(options.limit) };
	if (made && work.logs && work.changed && work.beyond && work.rejected) {
		made->count = count;
		for (size_t i = 0; i < count; i++)
			compare(&work, &quantities[i], i, &made->changes[i]);
		set_verdicts(&work, made, options.limit);
		*comparison = made;
	} else {
		free(made);
		status = epp_status_no_memory();
	}
	free(work.logs);
	free(work.changed);
	free(work.beyond);
	free(work.rejected);
	return status;
}

const epp_change *epp_comparison_change_at(const epp_comparison *comparison, size_t index)
{
	return index < comparison->count ? &comparison->changes[index] : NULL;
}

void epp_comparison_destroy(epp_comparison *comparison)
{
	free(comparison);
}
