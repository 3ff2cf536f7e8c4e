/* From 64-bit keys to pointers.  Keeps neither order nor what the pointers lead to. */
#ifndef EPPROF_TIMELINE_MAP_H
#define EPPROF_TIMELINE_MAP_H

#include <stddef.h>
#include <stdint.h>

struct map {
	uint64_t *keys;
	void **values; /* NULL: free */
	size_t count, room;
};

/* NULL if there is none. */
void *map_find(const struct map *map, uint64_t key);
/* Adds a key that is not there; `value` must not be NULL.  Returns -1 without memory. */
int map_add(struct map *map, uint64_t key, void *value);
void map_deinit(struct map *map);

#endif
