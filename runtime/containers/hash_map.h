/* A map from 64-bit keys to 64-bit values: an array of entries, in the order in which they were added, and an index
 * over them.  Thread: one at a time; any number of readers. */
#ifndef EPPROF_RUNTIME_CONTAINERS_HASH_MAP_H
#define EPPROF_RUNTIME_CONTAINERS_HASH_MAP_H

#include "containers/hash_index.h"

struct hash_map_entry {
	uint64_t key, value;
};

/* An empty map is zero-initialised. */
struct hash_map {
	struct hash_map_entry *entries;
	size_t count, room;
	struct hash_index index;
};

/* Returns a pointer to a key's value, which the caller may read or change; NULL if the key is not in the map. Valid
 * until the next call of hash_map_add. */
static inline uint64_t *hash_map_find(const struct hash_map *map, uint64_t key)
{
	struct hash_probe probe = hash_index_probe(&map->index, hash_u64(key));
	uint32_t number;

	while (hash_index_next(&map->index, &probe, &number)) {
		if (map->entries[number].key == key)
			return &map->entries[number].value;
	}
	return NULL;
}
/* Adds a key that is not in the map. Returns false if out of memory; the map is then unchanged. */
bool hash_map_add(struct hash_map *map, uint64_t key, uint64_t value);
void hash_map_deinit(struct hash_map *map);

/* As hash_map_find, for values that are pointers: returns the value, or NULL if the key is not in the map. */
static inline void *hash_map_pointer(const struct hash_map *map, uint64_t key)
{
	const uint64_t *value = hash_map_find(map, key);

	return value ? (void *)(uintptr_t)*value : NULL;
}

#endif
