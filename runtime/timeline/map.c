/* Open addressing, at most half full; the room is a power of two. */
#include "timeline/map.h"

#include <stdlib.h>
#include <string.h>

static size_t place(const struct map *map, uint64_t key)
{
	uint64_t hash = key * UINT64_C(0x9E3779B97F4A7C15);
	size_t at = (size_t)(hash ^ hash >> 32) & (map->room - 1);

	while (map->values[at] && map->keys[at] != key)
		at = (at + 1) & (map->room - 1);
	return at;
}

void *map_find(const struct map *map, uint64_t key)
{
	return map->room ? map->values[place(map, key)] : NULL;
}

static int grow(struct map *map)
{
	struct map larger = { .count = map->count, .room = map->room ? map->room * 2 : 64 };

	larger.keys = calloc(larger.room, sizeof *larger.keys);
	larger.values = calloc(larger.room, sizeof *larger.values);
	if (!larger.keys || !larger.values) {
		map_deinit(&larger);
		return -1;
	}
	for (size_t i = 0; i < map->room; i++) {
		if (!map->values[i])
			continue;
		size_t at = place(&larger, map->keys[i]);
		larger.keys[at] = map->keys[i];
		larger.values[at] = map->values[i];
	}
	map_deinit(map);
	*map = larger;
	return 0;
}

int map_add(struct map *map, uint64_t key, void *value)
{
	if (map->count * 2 >= map->room && grow(map) < 0)
		return -1;
	size_t at = place(map, key);
	map->keys[at] = key;
	map->values[at] = value;
	map->count++;
	return 0;
}

void map_deinit(struct map *map)
{
	free(map->keys);
	free(map->values);
	memset(map, 0, sizeof *map);
}
