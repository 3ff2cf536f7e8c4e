/* Both encodings end in `pack`, which puts numbers of a few bits one behind the other, the lowest bits first. */
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

/* Eight numbers of at most eight bits are one word. */
static inline void put_eight(char *at, const uint64_t *v, unsigned width)
{
	uint64_t low = v[0] | v[1] << width | v[2] << 2 * width | v[3] << 3 * width;
	uint64_t high = v[4] | v[5] << width | v[6] << 2 * width | v[7] << 3 * width;

	put_word(at, low | high << 4 * width);
}

/* `count` is a multiple of eight; words that are not full are written too, and are not part of the result. */
static char *pack(char *at, const uint64_t *values, size_t count, unsigned width)
{
	char *end = at + count / EIGHT * width;
	uint64_t word = 0;
	unsigned used = 0;

	if (width <= EIGHT) {
		for (size_t i = 0; i < count; i += EIGHT, at += width)
			put_eight(at, values + i, width);
		return end;
	}
	for (size_t i = 0; i < count; i++) {
		word |= values[i] << used;
		used += width;
		if (used >= 64) {
			at = put_word(at, word);
			used -= 64;
			word = used ? values[i] >> (width - used) : 0;
		}
	}
	put_word(at, word);
	return end;
}

static bool all_same(const void *values, size_t count, size_t value_bytes)
{
	return memcmp(values, (const char *)values + value_bytes, (count - 1) * value_bytes) == 0;
}

/* ---- differences ---- */

struct block {
	uint64_t differences[BLOCK];
	int64_t least;
};

/* Differences wrap, as the format wants it: readers add them up the same way. */
static void take_differences(struct block *block, const int64_t *values, size_t count)
{
	int64_t least = INT64_MAX;

	for (size_t i = 0; i < count; i++) {
		int64_t difference = (int64_t)((uint64_t)values[i + 1] - (uint64_t)values[i]);
		block->differences[i] = (uint64_t)difference;
		least = difference < least ? difference : least;
	}
	block->least = least;
	for (size_t i = 0; i < count; i++)
		block->differences[i] -= (uint64_t)least;
	memset(block->differences + count, 0, (BLOCK - count) * sizeof *block->differences);
}

static char *put_block(char *at, const struct block *block)
{
	uint8_t *widths;

	at = protobuf_varint(at, protobuf_zigzag(block->least));
	widths = (uint8_t *)at;
	at += GROUPS;
	for (unsigned group = 0; group < GROUPS; group++) {
		const uint64_t *differences = block->differences + group * GROUP;
		uint64_t bits = 0;
		for (unsigned i = 0; i < GROUP; i++)
			bits |= differences[i];
		widths[group] = bits ? (uint8_t)(64 - __builtin_clzll(bits)) : 0;
		if (bits)
			at = pack(at, differences, GROUP, widths[group]);
	}
	return at;
}

char *parquet_delta(char *at, const int64_t *values, size_t count)
{
	struct block block;

	at = protobuf_varint(at, BLOCK);
	at = protobuf_varint(at, GROUPS);
	at = protobuf_varint(at, count);
	at = protobuf_varint(at, protobuf_zigzag(count ? values[0] : 0));
	if (count && all_same(values, count, sizeof *values)) {
		/* The least difference, and the widths, are 0. */
		size_t bytes = (count - 1 + BLOCK - 1) / BLOCK * (1 + GROUPS);
		return (char *)memset(at, 0, bytes) + bytes;
	}
	for (size_t i = 0; i + 1 < count; i += BLOCK) {
		take_differences(&block, values + i, count - 1 - i < BLOCK ? count - 1 - i : BLOCK);
		at = put_block(at, &block);
	}
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
	uint64_t wide[BLOCK];

	if (!count)
		return at;
	if (all_same(values, count, sizeof *values))
		return parquet_repeated(at, values[0], count, width);
	at = protobuf_varint(at, (count + EIGHT - 1) / EIGHT << 1 | 1);
	for (size_t i = 0, step; i < count; i += step) {
		step = count - i < BLOCK ? count - i : BLOCK;
		for (size_t j = 0; j < step; j++)
			wide[j] = values[i + j];
		size_t eights = (step + EIGHT - 1) / EIGHT * EIGHT;
		memset(wide + step, 0, (eights - step) * sizeof *wide);
		at = pack(at, wide, eights, width);
	}
	return at;
}
