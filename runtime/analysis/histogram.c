/* Values below 64 have a bucket each; octave n > 0 holds those of n + 6 bits, by the six bits behind the first. */
#include "analysis/histogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static unsigned octave_of(uint64_t value)
{
	return value < SPREAD_BUCKETS ? 0 : 58u - (unsigned)__builtin_clzll(value);
}

static unsigned bucket_of(uint64_t value, unsigned octave)
{
	return (unsigned)(octave ? value >> (octave - 1) : value) & (SPREAD_BUCKETS - 1);
}

bool spread_add(struct epp_spread *spread, int64_t value)
{
	if (value < 0)
		value = 0;
	unsigned octave = octave_of((uint64_t)value);
	if (!spread->octaves[octave]) {
		spread->octaves[octave] = calloc(SPREAD_BUCKETS, sizeof *spread->octaves[octave]);
		if (!spread->octaves[octave])
			return false;
	}
	spread->octaves[octave][bucket_of((uint64_t)value, octave)]++;
	if (!spread->count || value < spread->least)
		spread->least = value;
	if (!spread->count || value > spread->largest)
		spread->largest = value;
	spread->count++;
	return true;
}

uint64_t epp_spread_count(const epp_spread *spread)
{
	return spread->count;
}

/* The middle of a bucket. */
static int64_t bucket_value(unsigned octave, unsigned bucket)
{
	if (!octave)
		return bucket;
	uint64_t width = UINT64_C(1) << (octave - 1);
	return (int64_t)((SPREAD_BUCKETS + bucket) * width + width / 2);
}

int64_t epp_spread_quantile(const struct epp_spread *spread, double part)
{
	uint64_t wanted = (uint64_t)ceil(part * (double)spread->count), seen = 0;

	if (!spread->count)
		return 0;
	for (unsigned octave = 0; octave < SPREAD_OCTAVES; octave++) {
		for (unsigned bucket = 0; spread->octaves[octave] && bucket < SPREAD_BUCKETS; bucket++) {
			seen += spread->octaves[octave][bucket];
			if (seen < wanted || !seen)
				continue;
			int64_t value = bucket_value(octave, bucket);
			value = value < spread->least ? spread->least : value;
			return value > spread->largest ? spread->largest : value;
		}
	}
	return spread->largest;
}

int epp_spread_next(const epp_spread *spread, size_t *cursor, int64_t *from, int64_t *to, uint64_t *count)
{
	for (; *cursor < SPREAD_OCTAVES * SPREAD_BUCKETS; ++*cursor) {
		unsigned octave = (unsigned)(*cursor / SPREAD_BUCKETS), bucket = (unsigned)(*cursor % SPREAD_BUCKETS);
		if (!spread->octaves[octave] || !spread->octaves[octave][bucket])
			continue;
		uint64_t width = UINT64_C(1) << (octave ? octave - 1 : 0);
		uint64_t first = octave ? (SPREAD_BUCKETS + bucket) * width : bucket;
		*from = (int64_t)first;
		*to = first + width < INT64_MAX ? (int64_t)(first + width) : INT64_MAX;
		*count = spread->octaves[octave][bucket];
		++*cursor;
		return 1;
	}
	return 0;
}

void spread_deinit(struct epp_spread *spread)
{
	for (unsigned octave = 0; octave < SPREAD_OCTAVES; octave++)
		free(spread->octaves[octave]);
	memset(spread, 0, sizeof *spread);
}
