/* Grows arrays, see array.h. */
#include "containers/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS_LEAST 16u

bool array_grow(void *array_pointer, size_t *room, size_t count, size_t item_bytes)
{
	size_t larger = *room < ITEMS_LEAST / 2 ? ITEMS_LEAST : *room * 2;
	void *array;

	if (larger < count)
		larger = count;
	if (larger > PTRDIFF_MAX / item_bytes)
		return false;
	/* The caller's pointer may point to any object type.  It is copied as bytes, because an access as `void *`
	 * would break the rules of aliasing. */
	memcpy(&array, array_pointer, sizeof(array));
	array = reallocarray(array, larger, item_bytes);
	if (!array)
		return false;
	memcpy(array_pointer, &array, sizeof(array));
	*room = larger;
	return true;
}

bool array_reserve_zeroed(void *array_pointer, size_t *room, size_t count, size_t item_bytes)
{
	size_t before = *room;
	char *array;

	if (!array_reserve(array_pointer, room, count, item_bytes))
		return false;
	memcpy(&array, array_pointer, sizeof(array));
	if (*room > before)
		memset(array + before * item_bytes, 0, (*room - before) * item_bytes);
	return true;
}
