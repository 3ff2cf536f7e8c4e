/* A histogram in little memory: the width of a bucket is at most 1/64 of its values, so a quantile has an error of
 * at most 0.8 %. */
#ifndef EPPROF_RUNTIME_ANALYSIS_HISTOGRAM_H
#define EPPROF_RUNTIME_ANALYSIS_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "epprof/summary.h"

/* Number of buckets of each octave (from one power of two to the next); an octave is allocated with its first value. */
#define HISTOGRAM_BUCKETS 64u
#define HISTOGRAM_OCTAVES 59u

struct histogram_octave {
	uint64_t counts[HISTOGRAM_BUCKETS];
	uint64_t sums[HISTOGRAM_BUCKETS]; /* of the values, from the smallest value of their bucket */
};

struct epp_histogram {
	uint64_t count;
	int64_t least, largest;
	struct histogram_octave *octaves[HISTOGRAM_OCTAVES];
};

/* Negative values count as 0.  False: no memory. */
bool histogram_add(struct epp_histogram *histogram, int64_t value);
void histogram_deinit(struct epp_histogram *histogram);

#endif
