/* BLAKE2b (RFC 7693): a hash of up to 64 bytes with a key.
 *
 * An implementation of its own because no library at hand has it without a new dependency of the wheel and of the
 * packages: libmd has no BLAKE2, and zstd, SQLite and zlib have no keyed hash.  It is checked with the vectors of the
 * RFC and of the reference implementation. */
#ifndef EPPROF_RUNTIME_ANONYMIZE_BLAKE2B_H
#define EPPROF_RUNTIME_ANONYMIZE_BLAKE2B_H

#include <stddef.h>
#include <stdint.h>

#define BLAKE2B_BYTES 64u
#define BLAKE2B_BLOCK_BYTES 128u

/* May be copied: a state after the key is the start of every hash with that key. */
struct blake2b {
	uint64_t chain[8];
	uint64_t count; /* of bytes before `block` */
	uint8_t block[BLAKE2B_BLOCK_BYTES];
	size_t used; /* of `block`; a full one is compressed when more follows */
	size_t hash_bytes;
};

/* `key_bytes`: at most 64, 0 without a key; `hash_bytes`: 1 to 64. */
void blake2b_begin(struct blake2b *state, const void *key, size_t key_bytes, size_t hash_bytes);
void blake2b_add(struct blake2b *state, const void *bytes, size_t count);
/* Writes the hash; the state must not be used any more. */
void blake2b_end(struct blake2b *state, uint8_t *hash);

#endif
