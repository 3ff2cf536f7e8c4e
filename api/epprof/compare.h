/* epprof: compares two sets of runs: which quantities changed from one set to the other.
 *
 *   double before[] = { 10.1, 10.0, 10.2 }, after[] = { 10.6, 10.5, 10.4 };
 *   epp_comparison *comparison;
 *   epp_comparison_create(&(epp_quantity){ before, 3, after, 3 }, 1, NULL, &comparison);
 *   ... epp_comparison_change_at(comparison, 0)->part ...
 *   epp_comparison_destroy(comparison);
 *
 * A run gives one value of each quantity, for example the median of its durations.  The noise is estimated from the
 * runs of one set.  Runs are assumed to be independent.  Changes are relative: the logarithms of the values are
 * compared.
 *
 *   p value     Welch's t-test of the logarithms.  If a set has one run, it gets the variance of the other set.
 *   verdict     if nothing changed, and the logarithms are about normally distributed, at most 5 % of comparisons have
 *               a verdict other than EPP_VERDICT_NONE for any quantity.  The first quantity is the main one.  It is
 *               tested at 4 %, and the others together at 1 %, by the method of Holm.  If the main quantity has
 *               changed, the others are tested at 5 %.  If there are no others, the main one is tested at 5 %.
 *   interval    of one change, at 95 %.  It is computed by a studentised bootstrap with 1,000 resamples of the runs,
 *               whose distances from the mean of their set are pooled.  If a set has fewer than 4 runs, it is the
 *               interval of the t-test.  A quantity has a verdict only if its interval does not contain 0.
 *
 * Thread, unless a function says otherwise: [any-thread]; a comparison does not change after epp_comparison_create. */
#ifndef EPPROF_COMPARE_H
#define EPPROF_COMPARE_H

#include <stddef.h>
#include <stdint.h>

#include "epprof/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct epp_comparison epp_comparison;

/* A quantity with one value a run.  Each value is larger than 0; each set has at least one value, and one of them at
 * least two. */
typedef struct epp_quantity {
	const double *before;
	size_t before_count;
	const double *after;
	size_t after_count;
} epp_quantity;

typedef enum epp_verdict {
	EPP_VERDICT_NONE = 0, /* no change was found, which does not prove that there is none */
	EPP_VERDICT_LESS = 1,
	EPP_VERDICT_MORE = 2,
	EPP_VERDICT_COUNT
} epp_verdict;

typedef struct epp_change {
	double before; /* geometric means of the values */
	double after;
	double part;       /* after / before - 1: 0.03 means 3 % more */
	double least_part; /* the ends of the interval of `part`; -1 and INFINITY if it has no end on that side */
	double most_part;
	double p;           /* the probability that a difference of at least this size appears although nothing
	                       changed */
	uint32_t verdict;   /* epp_verdict */
	uint32_t is_beyond; /* 1: the change is larger than the limit of the options; a false alarm is as unlikely as
	                       for a verdict */
} epp_change;

typedef struct epp_comparison_options {
	size_t struct_size;
	double limit; /* the limit for epp_change.is_beyond: 0.1 means 10 % more; at least 0 */
} epp_comparison_options;

/* Compares `count` quantities, of which the first is the main one.  The result depends on the values only: a repeated
 * call gives the same one.  `options` may be NULL.  Errors: EPP_INVALID_ARGUMENT (no quantity, too few values, a value
 * that is not finite and larger than 0, an option that this version does not have), EPP_OUT_OF_MEMORY.
 * Ownership: the values are read during the call only; the caller destroys the comparison. */
EPP_EXPORT epp_status *epp_comparison_create(const epp_quantity *quantities, size_t count,
                                             const epp_comparison_options *options, epp_comparison **comparison)
    EPP_MUST_CHECK;

/* Returns the change of a quantity; NULL beyond the last.
 * Ownership: valid until the comparison is destroyed. */
EPP_EXPORT const epp_change *epp_comparison_change_at(const epp_comparison *comparison, size_t index);

/* Destroys a comparison; NULL does nothing. */
EPP_EXPORT void epp_comparison_destroy(epp_comparison *comparison);

#ifdef __cplusplus
}
#endif
#endif
