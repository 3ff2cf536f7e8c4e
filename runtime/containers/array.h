/* Arrays that grow.  Thread: one at a time. */
#ifndef EPPROF_RUNTIME_CONTAINERS_ARRAY_H
#define EPPROF_RUNTIME_CONTAINERS_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/* Makes room for `count` items in total, of `item_bytes` bytes each. `array_pointer` is the address of the pointer to
 * the first item, which may be NULL; the array may move. `*room` is the capacity in items; it at least doubles when it
 * grows. New items are not initialized. Returns false if out of memory, or if the size overflows; the array is then
 * unchanged. */
static inline bool array_reserve(void *array_pointer, size_t *room, size_t count, size_t item_bytes);
/* As array_reserve, but new items are zero. */
bool array_reserve_zeroed(void *array_pointer, size_t *room, size_t count, size_t item_bytes);

/* The slow path of array_reserve, for a capacity that is too small. */
bool array_grow(void *array_pointer, size_t *room, size_t count, size_t item_bytes);

static inline bool array_reserve(void *array_pointer, size_t *room, size_t count, size_t item_bytes)
{
	return count <= *room || array_grow(array_pointer, room, count, item_bytes);
}

#endif
