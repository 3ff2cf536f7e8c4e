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

struct histogram_bucket {
	uint64_t count;
	uint64_t sum; /* of the values, from the smallest value of the bucket */
};

struct epp_histogram {
	uint64_t count;
	int64_t least, largest;
	struct histogram_bucket *octaves[HISTOGRAM_OCTAVES];
};

/* Negative values count as 0.  False: no memory. */
bool histogram_add(struct epp_histogram *histogram, int64_t value);
/* Adds a value `count` times. */
bool histogram_add_many(struct epp_histogram *histogram, int64_t value, uint64_t count);
void histogram_deinit(struct epp_histogram *histogram);

#endif
