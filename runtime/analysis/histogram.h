/* How values are spread, in little memory: buckets whose width is at most 1/64 of their values, so that a quantile is
 * within 0.8 % of the true one. */
#ifndef EPPROF_RUNTIME_ANALYSIS_HISTOGRAM_H
#define EPPROF_RUNTIME_ANALYSIS_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "epprof/summary.h"

/* Each octave (from one power of two to the next) has this many buckets; made when its first value comes. */
#define SPREAD_BUCKETS 64u
#define SPREAD_OCTAVES 59u

struct epp_histogram {
	uint64_t count;
	int64_t least, largest;
	uint64_t *octaves[SPREAD_OCTAVES];
};

/* Negative values count as 0.  False: no memory. */
bool histogram_add(struct epp_histogram *histogram, int64_t value);
void histogram_deinit(struct epp_histogram *histogram);

#endif
