/* A stable radix sort, see radix_sort.h. */
#include "containers/radix_sort.h"

#include <string.h>

/* Sorts by one byte of the keys, and keeps the order of equal bytes. */
static void sort_by_byte(uint32_t *to, const uint32_t *from, const uint64_t *keys, uint32_t count, unsigned shift)
{
	uint32_t places[256] = { 0 }, place = 0;

	for (uint32_t i = 0; i < count; i++)
		places[keys[i] >> shift & 0xFF]++;
	for (unsigned byte = 0; byte < 256; byte++) {
		uint32_t having = places[byte];
		places[byte] = place;
		place += having;
	}
	for (uint32_t i = 0; i < count; i++)
		to[places[keys[from[i]] >> shift & 0xFF]++] = from[i];
}

void radix_sort(uint32_t *order, uint32_t *spare, const uint64_t *keys, uint32_t count)
{
	uint32_t *from = order, *to = spare;
	uint64_t differing = 0;
	uint32_t ascending = 1;

	while (ascending < count && keys[order[ascending - 1]] <= keys[order[ascending]])
		ascending++;
	if (ascending >= count)
		return;
	for (uint32_t i = 0; i < count; i++)
		differing |= keys[i] ^ keys[0];
	for (unsigned shift = 0; shift < 64; shift += 8) {
		if (!(differing >> shift & 0xFF))
			continue;
		sort_by_byte(to, from, keys, count, shift);
		uint32_t *other = from;
		from = to;
		to = other;
	}
	if (from != order)
		memcpy(order, from, count * sizeof(*order));
}
