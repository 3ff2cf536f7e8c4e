/* Arrays that grow.  Thread: one at a time. */
#ifndef EPPROF_RUNTIME_CONTAINERS_ARRAY_H
#define EPPROF_RUNTIME_CONTAINERS_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/* Makes room for `count` items of `item_bytes` bytes in all.  `array_pointer`: the address of the pointer to the first item,
 * which may be NULL; the array may move.  `*room`: for how many items there is room.  The room at least doubles when it
 * grows, and new items are not set.  Returns false without memory, or if the size overflows: the array is then unchanged. */
static inline bool array_reserve(void *array_pointer, size_t *room, size_t count, size_t item_bytes);
/* The same; new items are zero. */
bool array_reserve_zeroed(void *array_pointer, size_t *room, size_t count, size_t item_bytes);

/* array_reserve, where there is no room yet. */
bool array_grow(void *array_pointer, size_t *room, size_t count, size_t item_bytes);

static inline bool array_reserve(void *array_pointer, size_t *room, size_t count, size_t item_bytes)
{
	return count <= *room || array_grow(array_pointer, room, count, item_bytes);
}

#endif
