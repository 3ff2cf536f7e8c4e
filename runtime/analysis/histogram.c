/* Histograms of durations and their quantiles (p50, p99).  Values below 64 have a bucket each; octave n > 0 has the
 * values with n + 6 bits, and the six bits after the leading one are the number of the bucket. */
#include "analysis/histogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static unsigned octave_of(uint64_t value)
{
	return value < HISTOGRAM_BUCKETS ? 0 : 58u - (unsigned)__builtin_clzll(value);
}

static unsigned bucket_of(uint64_t value, unsigned octave)
{
	return (unsigned)(octave ? value >> (octave - 1) : value) & (HISTOGRAM_BUCKETS - 1);
}

/* Returns the width of the buckets of an octave. */
static uint64_t width_of(unsigned octave)
{
	return UINT64_C(1) << (octave ? octave - 1 : 0);
}

bool histogram_add_many(struct epp_histogram *histogram, int64_t value, uint64_t count)
{
	if (value < 0)
		value = 0;
	unsigned octave = octave_of((uint64_t)value);
	if (!histogram->octaves[octave]) {
		histogram->octaves[octave] = calloc(HISTOGRAM_BUCKETS, sizeof *histogram->octaves[octave]);
		if (!histogram->octaves[octave])
			return false;
	}
	struct histogram_bucket *bucket = &histogram->octaves[octave][bucket_of((uint64_t)value, octave)];
	bucket->count += count;
	bucket->sum += ((uint64_t)value & (width_of(octave) - 1)) * count;
	if (!histogram->count || value < histogram->least)
		histogram->least = value;
	if (!histogram->count || value > histogram->largest)
		histogram->largest = value;
	histogram->count += count;
	return true;
}

bool histogram_add(struct epp_histogram *histogram, int64_t value)
{
	return histogram_add_many(histogram, value, 1);
}

uint64_t epp_histogram_count(const epp_histogram *histogram)
{
	return histogram->count;
}

/* Returns the smallest value of a bucket. */
static int64_t first_value(unsigned octave, unsigned bucket)
{
	return octave ? (int64_t)((HISTOGRAM_BUCKETS + bucket) * width_of(octave)) : bucket;
}

/* Returns the middle of a bucket. */
static int64_t bucket_value(unsigned octave, unsigned bucket)
{
	return first_value(octave, bucket) + (int64_t)(width_of(octave) / 2);
}

int64_t epp_histogram_quantile(const struct epp_histogram *histogram, double part)
{
	uint64_t wanted = (uint64_t)ceil(part * (double)histogram->count), seen = 0;

	if (!histogram->count)
		return 0;
	if (part >= 1)
		return histogram->largest;
	for (unsigned octave = 0; octave < HISTOGRAM_OCTAVES; octave++) {
		for (unsigned bucket = 0; histogram->octaves[octave] && bucket < HISTOGRAM_BUCKETS; bucket++) {
			seen += histogram->octaves[octave][bucket].count;
			if (seen < wanted || !seen)
				continue;
			int64_t value = bucket_value(octave, bucket);
			value = value < histogram->least ? histogram->least : value;
			return value > histogram->largest ? histogram->largest : value;
		}
	}
	return histogram->largest;
}

double epp_histogram_interpolate(const struct epp_histogram *histogram, double part)
{
	double wanted = part * (double)histogram->count, before = 0;

	for (unsigned octave = 0; octave < HISTOGRAM_OCTAVES; octave++) {
		const struct histogram_bucket *counted = histogram->octaves[octave];
		for (unsigned bucket = 0; counted && bucket < HISTOGRAM_BUCKETS; bucket++) {
			double count = (double)counted[bucket].count, rest = (double)(width_of(octave) - 1);
			if (!counted[bucket].count || before + count < wanted) {
				before += count;
				continue;
			}
			/* The values in the bucket are assumed to be evenly spaced.  Their mean is known from the sum;
			 * they are spread around it symmetrically, as far as the bucket's limits allow. */
			double mean = (double)counted[bucket].sum / count, reach = fmin(mean, rest - mean);
			double place = fmin(fmax(wanted - before, 0.5), count - 0.5) / count;
			double value = (double)first_value(octave, bucket) + mean + reach * (2 * place - 1);
			return fmin(fmax(value, (double)histogram->least), (double)histogram->largest);
		}
	}
	return (double)histogram->largest;
}

int epp_histogram_next(const epp_histogram *histogram, size_t *cursor, int64_t *from, int64_t *to, uint64_t *count)
{
	for (; *cursor < HISTOGRAM_OCTAVES * HISTOGRAM_BUCKETS; ++*cursor) {
		unsigned octave = (unsigned)(*cursor / HISTOGRAM_BUCKETS),
			 bucket = (unsigned)(*cursor % HISTOGRAM_BUCKETS);
		if (!histogram->octaves[octave] || !histogram->octaves[octave][bucket].count)
			continue;
		uint64_t first = (uint64_t)first_value(octave, bucket), width = width_of(octave);
		*from = (int64_t)first;
		*to = first + width < INT64_MAX ? (int64_t)(first + width) : INT64_MAX;
		*count = histogram->octaves[octave][bucket].count;
		++*cursor;
		return 1;
	}
	return 0;
}

void histogram_deinit(struct epp_histogram *histogram)
{
	for (unsigned octave = 0; octave < HISTOGRAM_OCTAVES; octave++)
		free(histogram->octaves[octave]);
	memset(histogram, 0, sizeof *histogram);
}
