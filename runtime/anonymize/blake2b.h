/* BLAKE2b (RFC 7693): a hash of up to 64 bytes with a key.
 *
 * It is implemented here, because no library that epprof depends on has it: libmd has no BLAKE2, and zstd, SQLite and
 * zlib have no keyed hash.  A test compares it with the vectors of the RFC and of the reference implementation. */
#ifndef EPPROF_RUNTIME_ANONYMIZE_BLAKE2B_H
#define EPPROF_RUNTIME_ANONYMIZE_BLAKE2B_H

#include <stddef.h>
#include <stdint.h>

#define BLAKE2B_BYTES 64u
#define BLAKE2B_BLOCK_BYTES 128u

/* The state of a hash.  A copy of the state after the key has been added can begin another hash with the same key. */
struct blake2b {
	uint64_t chain[8];
	uint64_t count; /* number of bytes that were compressed */
	uint8_t block[BLAKE2B_BLOCK_BYTES];
	size_t used; /* number of bytes in `block`; a full block is compressed when more bytes follow */
	size_t hash_bytes;
};

/* Begins a hash of `hash_bytes` (1 to 64) bytes.  The key has at most 64 bytes; 0: no key. */
void blake2b_begin(struct blake2b *state, const void *key, size_t key_bytes, size_t hash_bytes);
void blake2b_add(struct blake2b *state, const void *bytes, size_t count);
/* Writes the hash.  The state must not be used after this call. */
void blake2b_end(struct blake2b *state, uint8_t *hash);

#endif
