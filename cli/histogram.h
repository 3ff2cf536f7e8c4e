/* How values are spread, in little memory: buckets whose width is at most 1/64 of their values, so that a quantile is
 * within 0.8 % of the true one. */
#ifndef EPPROF_CLI_HISTOGRAM_H
#define EPPROF_CLI_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

/* Each octave (from one power of two to the next) has this many buckets; made when its first value comes. */
#define HISTOGRAM_BUCKETS 64u
#define HISTOGRAM_OCTAVES 59u

struct histogram {
	uint64_t count;
	int64_t least, largest;
	uint64_t *octaves[HISTOGRAM_OCTAVES];
};

/* Negative values count as 0.  False: no memory. */
bool histogram_add(struct histogram *histogram, int64_t value);
/* The value below which `part` (0 to 1) of all values lie; 0 if there are none. */
int64_t histogram_quantile(const struct histogram *histogram, double part);
void histogram_deinit(struct histogram *histogram);

#endif
