/* A histogram that needs little memory.  The width of a bucket is at most 1/64 of its values, so the error of a
 * quantile is at most 0.8 %. */
#ifndef EPPROF_RUNTIME_ANALYSIS_HISTOGRAM_H
#define EPPROF_RUNTIME_ANALYSIS_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "epprof/summary.h"

/* Number of buckets of each octave, which is the range from one power of two to the next.  The buckets of an octave are
 * allocated when its first value is added. */
#define HISTOGRAM_BUCKETS 64u
#define HISTOGRAM_OCTAVES 59u

struct histogram_bucket {
	uint64_t count;
	uint64_t sum; /* sum of the values, relative to the smallest value of the bucket */
};

struct epp_histogram {
	uint64_t count;
	int64_t least, largest;
	struct histogram_bucket *octaves[HISTOGRAM_OCTAVES];
};

/* Adds a value; a negative one counts as 0.  Returns false if there is no memory. */
bool histogram_add(struct epp_histogram *histogram, int64_t value);
/* Adds a value `count` times. */
bool histogram_add_many(struct epp_histogram *histogram, int64_t value, uint64_t count);
void histogram_deinit(struct epp_histogram *histogram);

#endif
