/* Packs bytes of which only the lowest bits are used, without the unused bits (EPF_PLANE_BITS): eight bytes at a
 * time, as one word. */
#ifndef EPPROF_RUNTIME_TRACE_COLUMNS_PLANE_BITS_H
#define EPPROF_RUNTIME_TRACE_COLUMNS_PLANE_BITS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PLANE_BITS_GROUP 8u

static inline size_t plane_bits_bytes(size_t count, unsigned width)
{
	return (count + PLANE_BITS_GROUP - 1) / PLANE_BITS_GROUP * width;
}

/* `width` is 1 to 7.  Reads whole groups of `bytes`, and writes up to 7 bytes past the end. */
static inline void plane_bits_put(uint8_t *restrict at, const uint8_t *restrict bytes, size_t count, unsigned width)
{
	for (size_t i = 0; i < count; i += PLANE_BITS_GROUP, at += width) {
		uint64_t word;
		memcpy(&word, bytes + i, sizeof(word));
		word = (word & 0x00ff00ff00ff00ff) | (word >> 8 & 0x00ff00ff00ff00ff) << width;
		word = (word & 0x0000ffff0000ffff) | (word >> 16 & 0x0000ffff0000ffff) << 2 * width;
		word = (word & 0xffffffff) | word >> 32 << 4 * width;
		memcpy(at, &word, sizeof(word));
	}
}

static inline uint64_t plane_bits_spread(uint64_t word, unsigned width)
{
	const uint64_t ones = (1u << width) - 1, twos = (1u << 2 * width) - 1, fours = (1u << 4 * width) - 1;

	word = (word & fours) | (word >> 4 * width & fours) << 32;
	word = (word & (twos | twos << 32)) | (word >> 2 * width & (twos | twos << 32)) << 16;
	return (word & (ones * 0x0001000100010001)) | (word >> width & (ones * 0x0001000100010001)) << 8;
}

/* Reads exactly plane_bits_bytes; writes whole groups. */
static inline void plane_bits_get(uint8_t *restrict bytes, const uint8_t *restrict at, size_t count, unsigned width)
{
	size_t i = 0;
	uint64_t word;

	for (; i + 2 * PLANE_BITS_GROUP <= count && (count - i) / PLANE_BITS_GROUP * width >= sizeof(word);
	     i += PLANE_BITS_GROUP, at += width) {
		memcpy(&word, at, sizeof(word));
		word = plane_bits_spread(word, width);
		memcpy(bytes + i, &word, sizeof(word));
	}
	for (; i < count; i += PLANE_BITS_GROUP, at += width) {
		word = 0;
		memcpy(&word, at, width);
		word = plane_bits_spread(word, width);
		memcpy(bytes + i, &word, sizeof(word));
	}
}

#endif
