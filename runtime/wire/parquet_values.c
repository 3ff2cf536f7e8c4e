/* Both encodings end in `pack`, which puts numbers of a few bits one behind the other, the lowest bits first: eight at a
 * time, by code of its own for each width, in which every shift is a constant. */
#include "wire/parquet_values.h"

#include <stdbool.h>
#include <string.h>

#include "wire/protobuf.h"

/* Differences come in blocks with a least one, and in each in groups with a width. */
#define BLOCK 128u
#define GROUPS 4u
#define GROUP (BLOCK / GROUPS)
/* What a packed run counts in. */
#define EIGHT 8u

static char *put_word(char *at, uint64_t word)
{
	return mempcpy(at, &word, sizeof word); /* little-endian, as is every processor that this runs on */
}

struct run {
	char *at;
	uint64_t word;
	unsigned used; /* bits of the word */
};

#define ALWAYS_INLINE inline __attribute__((always_inline))

static ALWAYS_INLINE void put_number(struct run *run, uint64_t number, unsigned width)
{
	run->word |= number << run->used;
	run->used += width;
	if (run->used >= 64) {
		run->at = put_word(run->at, run->word);
		run->used -= 64;
		run->word = run->used ? number >> (width - run->used) : 0;
	}
}

/* Eight numbers are `width` bytes.  Where that is a constant, so is where each of them comes to stand. */
static ALWAYS_INLINE char *pack_wide(char *at, const uint64_t *numbers, size_t count, unsigned width)
{
	for (size_t i = 0; i < count; i += EIGHT, at += width) {
		struct run run = { .at = at };
		put_number(&run, numbers[i], width);
		put_number(&run, numbers[i + 1], width);
		put_number(&run, numbers[i + 2], width);
		put_number(&run, numbers[i + 3], width);
		put_number(&run, numbers[i + 4], width);
		put_number(&run, numbers[i + 5], width);
		put_number(&run, numbers[i + 6], width);
		put_number(&run, numbers[i + 7], width);
		if (run.used)
			put_word(run.at, run.word);
	}
	return at;
}

static ALWAYS_INLINE char *pack_small(char *at, const uint32_t *numbers, size_t count, unsigned width)
{
	for (size_t i = 0; i < count; i += EIGHT, at += width) {
		struct run run = { .at = at };
		put_number(&run, numbers[i] | (uint64_t)numbers[i + 1] << width, 2 * width);
		put_number(&run, numbers[i + 2] | (uint64_t)numbers[i + 3] << width, 2 * width);
		put_number(&run, numbers[i + 4] | (uint64_t)numbers[i + 5] << width, 2 * width);
		put_number(&run, numbers[i + 6] | (uint64_t)numbers[i + 7] << width, 2 * width);
		if (run.used)
			put_word(run.at, run.word);
	}
	return at;
}

#define CASE(pack, width) \
	case width: \
		return pack(at, numbers, count, width);
#define FOUR(pack, width) CASE(pack, (width)) CASE(pack, (width) + 1) CASE(pack, (width) + 2) CASE(pack, (width) + 3)
#define SIXTEEN(pack, width) \
	FOUR(pack, (width)) FOUR(pack, (width) + 4) FOUR(pack, (width) + 8) FOUR(pack, (width) + 12)

/* `count`, here and below, is a multiple of eight; words that are not full are written too, and are not part of the result. */
static char *pack(char *at, const uint64_t *numbers, size_t count, unsigned width)
{
	switch (width) {
		SIXTEEN(pack_wide, 1)
		SIXTEEN(pack_wide, 17)
		SIXTEEN(pack_wide, 33)
		SIXTEEN(pack_wide, 49)
	default:
		return at;
	}
}

static char *pack_places(char *at, const uint32_t *numbers, size_t count, unsigned width)
{
	switch (width) {
		SIXTEEN(pack_small, 1)
		SIXTEEN(pack_small, 17)
	default:
		return at;
	}
}

static bool all_same(const void *values, size_t count, size_t value_bytes)
{
	return memcmp(values, (const char *)values + value_bytes, (count - 1) * value_bytes) == 0;
}

/* ---- differences ---- */

struct block {
	uint64_t differences[BLOCK]; /* beyond the least one */
	uint64_t bits[GROUPS];       /* that some of a group has */
	int64_t least;
	struct parquet_limits limits; /* of all values so far */
};

/* Differences wrap, as the format wants it: readers add them up the same way.  The last block is filled up with zeros. */
static ALWAYS_INLINE void take_differences(struct block *restrict block, const int64_t *restrict values, size_t count)
{
	int64_t least = INT64_MAX, low = block->limits.least, high = block->limits.largest;

	for (size_t i = 0; i < count; i++) {
		int64_t value = values[i + 1], difference = (int64_t)((uint64_t)value - (uint64_t)values[i]);
		block->differences[i] = (uint64_t)difference;
		least = difference < least ? difference : least;
		low = value < low ? value : low;
		high = value > high ? value : high;
	}
	for (size_t i = count; i < BLOCK; i++)
		block->differences[i] = (uint64_t)least;
	block->least = least;
	block->limits = (struct parquet_limits){ low, high };
	for (unsigned group = 0; group < GROUPS; group++) {
		uint64_t *of_group = block->differences + group * GROUP, bits = 0;
		for (unsigned i = 0; i < GROUP; i++) {
			uint64_t difference = of_group[i] - (uint64_t)least;
			of_group[i] = difference;
			bits |= difference;
		}
		block->bits[group] = bits;
	}
}

static void take_some(struct block *block, const int64_t *values, size_t count)
{
	take_differences(block, values, count);
}

/* The same for a whole block, four values at a time where the processor can. */
#if defined(__x86_64__)
__attribute__((target("avx2"))) static void take_whole(struct block *block, const int64_t *values)
{
	take_differences(block, values, BLOCK);
}

static bool can_take_whole(void)
{
	return __builtin_cpu_supports("avx2");
}
#else
static void take_whole(struct block *block, const int64_t *values)
{
	take_differences(block, values, BLOCK);
}

static bool can_take_whole(void)
{
	return true;
}
#endif

static char *put_block(char *at, const struct block *block)
{
	uint8_t *widths;

	at = protobuf_varint(at, protobuf_zigzag(block->least));
	widths = (uint8_t *)at;
	at += GROUPS;
	for (unsigned group = 0; group < GROUPS; group++) {
		uint64_t bits = block->bits[group];
		widths[group] = bits ? (uint8_t)(64 - __builtin_clzll(bits)) : 0;
		if (bits)
			at = pack(at, block->differences + group * GROUP, GROUP, widths[group]);
	}
	return at;
}

char *parquet_delta(char *at, const int64_t *values, size_t count, struct parquet_limits *limits)
{
	struct block block;
	bool whole = can_take_whole();

	at = protobuf_varint(at, BLOCK);
	at = protobuf_varint(at, GROUPS);
	at = protobuf_varint(at, count);
	at = protobuf_varint(at, protobuf_zigzag(count ? values[0] : 0));
	if (!count)
		return at;
	block.limits.least = values[0] < limits->least ? values[0] : limits->least;
	block.limits.largest = values[0] > limits->largest ? values[0] : limits->largest;
	*limits = block.limits;
	if (all_same(values, count, sizeof *values)) {
		/* The least difference, and the widths, are 0. */
		size_t bytes = (count - 1 + BLOCK - 1) / BLOCK * (1 + GROUPS);
		return (char *)memset(at, 0, bytes) + bytes;
	}
	for (size_t i = 0; i + 1 < count; i += BLOCK) {
		size_t left = count - 1 - i;
		if (whole && left >= BLOCK)
			take_whole(&block, values + i);
		else
			take_some(&block, values + i, left < BLOCK ? left : BLOCK);
		at = put_block(at, &block);
	}
	*limits = block.limits;
	return at;
}

/* ---- small numbers ---- */

char *parquet_repeated(char *at, uint32_t value, size_t count, unsigned width)
{
	at = protobuf_varint(at, count << 1);
	memcpy(at, &value, sizeof value);
	return at + (width + 7) / 8;
}

char *parquet_packed(char *at, const uint32_t *values, size_t count, unsigned width)
{
	if (!count)
		return at;
	if (all_same(values, count, sizeof *values))
		return parquet_repeated(at, values[0], count, width);
	at = protobuf_varint(at, (count + EIGHT - 1) / EIGHT << 1 | 1);
	uint32_t last[EIGHT] = { 0 };
	size_t whole = count / EIGHT * EIGHT;
	at = pack_places(at, values, whole, width);
	if (whole == count)
		return at;
	memcpy(last, values + whole, (count - whole) * sizeof *last);
	return pack_places(at, last, EIGHT, width);
}
