/* Linear probing at a load of at most one half; the hash is Fibonacci's, since sequences and ids come in runs. */
#include "file/reader_set.h"

#include <stdlib.h>

static size_t place_of(const struct reader_set *set, uint64_t number)
{
	size_t place = (size_t)(number * 0x9e3779b97f4a7c15u >> 20) & (set->places_count - 1);
	while (set->places[place] && set->places[place] != number)
		place = (place + 1) & (set->places_count - 1);
	return place;
}

static bool grow(struct reader_set *set)
{
	struct reader_set larger = { .places_count = set->places_count ? set->places_count * 2 : 64 };
	larger.places = calloc(larger.places_count, sizeof(*larger.places));
	if (!larger.places)
		return false;
	for (size_t i = 0; i < set->places_count; i++)
		if (set->places[i])
			larger.places[place_of(&larger, set->places[i])] = set->places[i];
	free(set->places);
	set->places = larger.places;
	set->places_count = larger.places_count;
	return true;
}

bool reader_set_add(struct reader_set *set, uint64_t number, bool *added)
{
	if (number == 0) {
		*added = !set->has_zero;
		set->has_zero = true;
		return true;
	}
	if (set->count * 2 >= set->places_count && !grow(set))
		return false;
	size_t place = place_of(set, number);
	*added = set->places[place] == 0;
	set->places[place] = number;
	set->count += *added;
	return true;
}

bool reader_set_has(const struct reader_set *set, uint64_t number)
{
	if (number == 0)
		return set->has_zero;
	return set->places_count && set->places[place_of(set, number)] == number;
}

void reader_set_deinit(struct reader_set *set)
{
	free(set->places);
	*set = (struct reader_set){ 0 };
}
