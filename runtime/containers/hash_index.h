/* A hash index over items in the caller's array. It finds the numbers of the items with a given hash; the caller
 * compares the items themselves.
 *
 *   uint32_t number;
 *   for (struct hash_probe probe = hash_index_probe(&index, hash); hash_index_next(&index, &probe, &number);)
 *           if (is_same(&items[number], key))
 *                   return number;
 *
 * Open addressing with linear probing, at most four fifths full. A slot contains 32 bits of its item's hash, so that
 * growing does not access items and most non-matching items need no comparison. The hashes are not secret: an attacker
 * who can choose the keys in a trace can make reading that trace slow.
 * Thread: one at a time; any number of readers. */
#ifndef EPPROF_RUNTIME_CONTAINERS_HASH_INDEX_H
#define EPPROF_RUNTIME_CONTAINERS_HASH_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASH_INDEX_NONE UINT32_MAX

struct hash_index_slot {
	uint32_t hash;
	uint32_t item; /* the item's number + 1; 0: the slot is free */
};

/* An empty index is zero-initialised. */
struct hash_index {
	struct hash_index_slot *slots;
	size_t room, count; /* `room` is 0 or a power of two */
};

/* Adds an item that is not in the index. Returns false if out of memory; the index is then unchanged. */
bool hash_index_add(struct hash_index *index, uint64_t hash, uint32_t number);
/* Removes all items and keeps the memory. */
void hash_index_clear(struct hash_index *index);
void hash_index_deinit(struct hash_index *index);

struct hash_probe {
	size_t at;
	uint32_t hash;
};

/* Begins a search. Uses the upper bits of the hash, because in a product they depend on all bits of the factors. */
static inline struct hash_probe hash_index_probe(const struct hash_index *index, uint64_t hash)
{
	uint32_t kept = (uint32_t)(hash >> 32);

	return (struct hash_probe){ .at = index->room ? kept & (index->room - 1) : 0, .hash = kept };
}

/* Finds the next item whose hash matches. Returns false if there is none. */
static inline bool hash_index_next(const struct hash_index *index, struct hash_probe *probe, uint32_t *number)
{
	if (!index->room)
		return false;
	for (;;) {
		const struct hash_index_slot *slot = &index->slots[probe->at];
		if (!slot->item)
			return false;
		probe->at = (probe->at + 1) & (index->room - 1);
		if (slot->hash == probe->hash) {
			*number = slot->item - 1;
			return true;
		}
	}
}

/* ---- hashes ---- */

static inline uint64_t hash_u64(uint64_t key)
{
	return (key ^ key >> 32) * UINT64_C(0x9E3779B97F4A7C15);
}

static inline uint64_t hash_pair(uint64_t first, uint64_t second)
{
	return hash_u64(first + second * UINT64_C(0xD6E8FEB86659FD93));
}

uint64_t hash_bytes(const void *bytes, size_t count);

#endif
