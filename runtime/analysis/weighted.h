/* Sums of times of events that represent several events. */
#ifndef EPPROF_RUNTIME_ANALYSIS_WEIGHTED_H
#define EPPROF_RUNTIME_ANALYSIS_WEIGHTED_H

#include <stdint.h>

/* Adds `ns` times `weight` to *sum.  If the sum would overflow, it becomes the largest or smallest value. */
static inline void add_weighted(int64_t *sum, int64_t ns, uint32_t weight)
{
	int64_t limit = ns < 0 ? INT64_MIN : INT64_MAX, product;

	if (__builtin_mul_overflow(ns, weight, &product) || __builtin_add_overflow(*sum, product, sum))
		*sum = limit;
}

#endif
