/* Implements blake2b.h: sections 2 and 3 of RFC 7693, whose names the comments use. */
#include "anonymize/blake2b.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are little-endian");

#define ROUNDS 12u

static const uint64_t iv[8] = { 0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1,
	                        0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179 };

/* SIGMA: the order of the message's words; rounds 10 and 11 are as 0 and 1. */
static const uint8_t order[10][16] = {
	{ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
	{ 14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3 },
	{ 11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4 },
	{ 7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8 },
	{ 9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13 },
	{ 2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9 },
	{ 12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11 },
	{ 13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10 },
	{ 6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5 },
	{ 10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0 },
};

static uint64_t rotate_right(uint64_t word, unsigned bits)
{
	return word >> bits | word << (64 - bits);
}

/* G: mixes four words of v with two of the message. */
static void mix(uint64_t *a, uint64_t *b, uint64_t *c, uint64_t *d, uint64_t x, uint64_t y)
{
	*a += *b + x;
	*d = rotate_right(*d ^ *a, 32);
	*c += *d;
	*b = rotate_right(*b ^ *c, 24);
	*a += *b + y;
	*d = rotate_right(*d ^ *a, 16);
	*c += *d;
	*b = rotate_right(*b ^ *c, 63);
}

/* F: the compression function. */
static void compress(struct blake2b *state, uint64_t count, uint64_t last)
{
	uint64_t v[16], m[16];

	memcpy(m, state->block, sizeof(m));
	memcpy(v, state->chain, sizeof(state->chain));
	memcpy(v + 8, iv, sizeof(iv));
	v[12] ^= count; /* the upper half of the 128-bit count is 0 */
	v[14] ^= last;
	for (unsigned round = 0; round < ROUNDS; round++) {
		const uint8_t *s = order[round % 10];
		mix(&v[0], &v[4], &v[8], &v[12], m[s[0]], m[s[1]]);
		mix(&v[1], &v[5], &v[9], &v[13], m[s[2]], m[s[3]]);
		mix(&v[2], &v[6], &v[10], &v[14], m[s[4]], m[s[5]]);
		mix(&v[3], &v[7], &v[11], &v[15], m[s[6]], m[s[7]]);
		mix(&v[0], &v[5], &v[10], &v[15], m[s[8]], m[s[9]]);
		mix(&v[1], &v[6], &v[11], &v[12], m[s[10]], m[s[11]]);
		mix(&v[2], &v[7], &v[8], &v[13], m[s[12]], m[s[13]]);
		mix(&v[3], &v[4], &v[9], &v[14], m[s[14]], m[s[15]]);
	}
	for (unsigned i = 0; i < 8; i++)
		state->chain[i] ^= v[i] ^ v[i + 8];
}

void blake2b_begin(struct blake2b *state, const void *key, size_t key_bytes, size_t hash_bytes)
{
	*state = (struct blake2b){ .hash_bytes = hash_bytes };
	memcpy(state->chain, iv, sizeof(iv));
	state->chain[0] ^= 0x01010000u ^ (uint64_t)key_bytes << 8 ^ (uint64_t)hash_bytes;
	if (key_bytes) {
		memcpy(state->block, key, key_bytes);
		state->used = BLAKE2B_BLOCK_BYTES;
	}
}

void blake2b_add(struct blake2b *state, const void *bytes, size_t count)
{
	const uint8_t *from = bytes;

	while (count) {
		if (state->used == BLAKE2B_BLOCK_BYTES) {
			state->count += BLAKE2B_BLOCK_BYTES;
			compress(state, state->count, 0);
			state->used = 0;
		}
		size_t step = BLAKE2B_BLOCK_BYTES - state->used;
		step = step < count ? step : count;
		memcpy(state->block + state->used, from, step);
		state->used += step;
		from += step;
		count -= step;
	}
}

void blake2b_end(struct blake2b *state, uint8_t *hash)
{
	state->count += state->used;
	memset(state->block + state->used, 0, BLAKE2B_BLOCK_BYTES - state->used);
	compress(state, state->count, UINT64_MAX);
	memcpy(hash, state->chain, state->hash_bytes);
}
