/* An open-addressing hash index over a caller's array, see hash_index.h. */
#include "containers/hash_index.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS_LEAST 64u

static void insert(struct hash_index *index, struct hash_index_slot slot)
{
	size_t at = slot.hash & (index->room - 1);

	while (index->slots[at].item)
		at = (at + 1) & (index->room - 1);
	index->slots[at] = slot;
}

static bool grow(struct hash_index *index)
{
	struct hash_index larger = { .room = index->room ? index->room * 2 : SLOTS_LEAST, .count = index->count };

	larger.slots = calloc(larger.room, sizeof(*larger.slots));
	if (!larger.slots)
		return false;
	for (size_t i = 0; i < index->room; i++) {
		if (index->slots[i].item)
			insert(&larger, index->slots[i]);
	}
	free(index->slots);
	*index = larger;
	return true;
}

bool hash_index_add(struct hash_index *index, uint64_t hash, uint32_t number)
{
	if ((index->count + 1) * 5 > index->room * 4 && !grow(index))
		return false;
	insert(index, (struct hash_index_slot){ hash_index_probe(index, hash).hash, number + 1 });
	index->count++;
	return true;
}

void hash_index_clear(struct hash_index *index)
{
	if (index->count)
		memset(index->slots, 0, index->room * sizeof(*index->slots));
	index->count = 0;
}

void hash_index_deinit(struct hash_index *index)
{
	free(index->slots);
	*index = (struct hash_index){ 0 };
}

/* Packs less than 8 bytes into a number that is unique among byte strings of the same length. */
static inline uint64_t last_bytes(const char *at, size_t count)
{
	uint32_t first, last;

	if (count >= sizeof(first)) {
		memcpy(&first, at, sizeof(first));
		memcpy(&last, at + count - sizeof(last), sizeof(last));
		return (uint64_t)last << 32 | first;
	}
	if (!count)
		return 0;
	return (uint64_t)(unsigned char)at[count - 1] << 16 | (uint64_t)(unsigned char)at[count / 2] << 8 |
	       (unsigned char)at[0];
}

uint64_t hash_bytes(const void *bytes, size_t count)
{
	const char *at = bytes;
	uint64_t hash = count, word;

	for (; count >= sizeof(word); at += sizeof(word), count -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
		hash ^= hash >> 32;
	}
	hash = (hash ^ last_bytes(at, count)) * UINT64_C(0xC2B2AE3D27D4EB4F);
	return hash_u64(hash);
}
