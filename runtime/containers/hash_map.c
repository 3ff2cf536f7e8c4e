/* A hash map of 64-bit integers, see hash_map.h. */
#include "containers/hash_map.h"

#include <stdlib.h>

#include "containers/array.h"

bool hash_map_add(struct hash_map *map, uint64_t key, uint64_t value)
{
	if (map->count >= HASH_INDEX_NONE ||
	    !array_reserve(&map->entries, &map->room, map->count + 1, sizeof(*map->entries)) ||
	    !hash_index_add(&map->index, hash_u64(key), (uint32_t)map->count))
		return false;
	map->entries[map->count++] = (struct hash_map_entry){ key, value };
	return true;
}

void hash_map_deinit(struct hash_map *map)
{
	free(map->entries);
	hash_index_deinit(&map->index);
	*map = (struct hash_map){ 0 };
}
