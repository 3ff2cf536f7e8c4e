/* Varints: 7 bits a byte, the lowest bits first; bit 7 is set in all bytes but the last. Signed values are
 * zigzag-encoded. Varints are encoded and decoded in little-endian words. */
#ifndef EPPROF_RUNTIME_CODEC_VARINT_H
#define EPPROF_RUNTIME_CODEC_VARINT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "varints are put together in little-endian words");

#define VARINT_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define VARINT_BYTES_MAX 10

static inline uint64_t zigzag(uint64_t difference)
{
	return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static inline uint64_t unzigzag(uint64_t value)
{
	return value >> 1 ^ (0 - (value & 1));
}

/* ---- encoding ---- */

__attribute__((noinline, cold)) static uint8_t *put_long(uint8_t *at, uint64_t value)
{
	for (; value >= 128; value >>= 7)
		*at++ = (uint8_t)(value | 128);
	*at++ = (uint8_t)value;
	return at;
}

/* Expands two 28-bit values in the halves of a word: each group of 7 bits gets a byte. */
static inline uint64_t expand_groups(uint64_t halves)
{
	halves = (halves & 0x00003fff00003fff) | (halves & 0x0fffc0000fffc000) << 2;
	return (halves & 0x007f007f007f007f) | (halves & 0x3f803f803f803f80) << 1;
}

/* Stores the groups of a value below 2^28, and sets bit 7 in all bytes but the last. Always writes 4 bytes. */
static inline uint8_t *put_groups(uint8_t *at, uint32_t groups)
{
	unsigned empty_bits = (unsigned)__builtin_clz(groups | 1);

	groups |= 0x808080u >> (empty_bits & 24);
	memcpy(at, &groups, 4);
	return at + (4 - (empty_bits >> 3));
}

/* Stores a value below 2^14. Always writes 2 bytes. */
static inline uint8_t *put_short(uint8_t *at, uint32_t value)
{
	uint32_t two = (value + (16384 - 128)) >> 14; /* 1 if the value needs two bytes */
	/* Adding the upper group to the value once more doubles it, which moves it up by one bit. */
	uint16_t groups = (uint16_t)(value + (value & 0x3f80) + (two << 7));

	memcpy(at, &groups, 2);
	return at + 1 + two;
}

static inline uint8_t *put(uint8_t *at, uint64_t value)
{
	if (!VARINT_LIKELY(!(value >> 28)))
		return put_long(at, value);
	return put_groups(at, (uint32_t)expand_groups(value));
}

/* ---- decoding ---- */

/* Decodes a varint and checks every byte. Returns the position after the varint, or NULL if it is invalid or extends
 * beyond `end`. */
__attribute__((noinline)) static const uint8_t *get_checked(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
	uint64_t result = 0;

	for (unsigned shift = 0; shift < 64 && at < end; shift += 7) {
		uint64_t byte = *at++;
		if (shift == 63 && byte > 1)
			return NULL;
		result |= (byte & 127) << shift;
		if (byte < 128) {
			*value = result;
			return at;
		}
	}
	*value = 0;
	return NULL;
}

/* Joins the 7-bit groups in each half of a word; the inverse of `expand_groups`. */
static inline uint64_t join_groups(uint64_t halves)
{
	halves = (halves & 0x007f007f007f007f) | (halves & 0x7f007f007f007f00) >> 1;
	return (halves & 0x00003fff00003fff) | (halves & 0x3fff00003fff0000) >> 2;
}

/* Decodes a varint, the first eight bytes at once. Returns NULL if it exceeds 64 bits. `at` must have 10 readable
 * bytes. */
__attribute__((noinline)) static const uint8_t *get_long(const uint8_t *at, uint64_t *value)
{
	uint64_t word;

	memcpy(&word, at, 8);
	uint64_t stops = ~word & 0x8080808080808080;
	if (VARINT_LIKELY(stops)) {
		word &= stops ^ (stops - 1);
		at += ((unsigned)__builtin_ctzll(stops) + 1) / 8;
	}
	uint64_t halves = join_groups(word);
	*value = (halves & 0x0fffffff) | halves >> 32 << 28;
	if (stops)
		return at;
	*value |= (uint64_t)(at[8] & 127) << 56;
	if (at[8] < 128)
		return at + 9;
	if (at[9] > 1)
		return NULL;
	*value |= (uint64_t)at[9] << 63;
	return at + 10;
}

/* Decodes a varint. `at` must have 10 readable bytes. */
static inline const uint8_t *get(const uint8_t *at, uint64_t *value)
{
	uint64_t first = at[0];
	if (VARINT_LIKELY(first < 128)) {
		*value = first;
		return at + 1;
	}
	uint64_t second = at[1];
	if (VARINT_LIKELY(second < 128)) {
		*value = (first & 127) | second << 7;
		return at + 2;
	}
	uint64_t checked; /* a local variable, so that `value` can stay in a register */
	at = get_long(at, &checked);
	*value = checked;
	return at;
}

static inline const uint8_t *get_bounded(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
	return VARINT_LIKELY(end - at >= VARINT_BYTES_MAX) ? get(at, value) : get_checked(at, end, value);
}

#endif
