/* How Parquet lays out the values of a page: the two encodings that say much with few bits.
 *
 * Written into memory whose size the caller has made sure of (the _ROOM macros); a write returns the new end. */
#ifndef EPPROF_WIRE_PARQUET_VALUES_H
#define EPPROF_WIRE_PARQUET_VALUES_H

#include <stddef.h>
#include <stdint.h>

/* Integers as differences (DELTA_BINARY_PACKED), each group of 32 in as many bits as its largest needs. */
#define PARQUET_DELTA_ROOM(count) (((size_t)(count) / 128 + 1) * (128 * 8 + 16) + 64)
struct parquet_limits {
	int64_t least, largest;
};
/* The limits are widened by the values. */
char *parquet_delta(char *at, const int64_t *values, size_t count, struct parquet_limits *limits);

/* Small numbers in `width` bits each, 1 to 32, or once if they are all the same (RLE): levels, and places in a dictionary.
 * Neither a length nor the width stands before them. */
#define PARQUET_PACKED_ROOM(count, width) (((size_t)(count) + 7) / 8 * (width) + 24)
char *parquet_packed(char *at, const uint32_t *values, size_t count, unsigned width);
/* The same of `count` times one number. */
char *parquet_repeated(char *at, uint32_t value, size_t count, unsigned width);

/* The bits that numbers below `limit` take, at least 1. */
static inline unsigned parquet_width(uint32_t limit)
{
	return limit > 2 ? 32 - (unsigned)__builtin_clz(limit - 1) : 1;
}

#endif
