/* Pages are found by source and the id's upper 48 bits; they are made when the first id of theirs is added. */
#include "file/validate_ids.h"

#include <stdlib.h>

#define PAGE_IDS 65536u

struct validate_ids_page {
	uint64_t number; /* id / PAGE_IDS */
	uint32_t source;
	uint64_t bits[PAGE_IDS / 64];
};

static size_t place_of(const struct validate_ids *ids, uint32_t source, uint64_t number)
{
	size_t place = (size_t)((number + source * 0xd6e8feb86659fd93u) * 0x9e3779b97f4a7c15u >> 20) &
	               (ids->places_count - 1);
	while (ids->places[place] && (ids->places[place]->number != number || ids->places[place]->source != source))
		place = (place + 1) & (ids->places_count - 1);
	return place;
}

static bool grow(struct validate_ids *ids)
{
	struct validate_ids larger = { .places_count = ids->places_count ? ids->places_count * 2 : 64 };
	larger.places = calloc(larger.places_count, sizeof(*larger.places));
	if (!larger.places)
		return false;
	for (size_t i = 0; i < ids->places_count; i++)
		if (ids->places[i])
			larger.places[place_of(&larger, ids->places[i]->source, ids->places[i]->number)] = ids->places[i];
	free(ids->places);
	ids->places = larger.places;
	ids->places_count = larger.places_count;
	return true;
}

bool validate_ids_add(struct validate_ids *ids, uint32_t source, uint64_t id, bool *doubled)
{
	uint64_t number = id / PAGE_IDS, bit = 1ull << id % 64;
	struct validate_ids_page *page = ids->last;

	if (!page || page->number != number || page->source != source) {
		if (ids->pages_count * 2 >= ids->places_count && !grow(ids))
			return false;
		size_t place = place_of(ids, source, number);
		page = ids->places[place];
		if (!page) {
			page = calloc(1, sizeof(*page));
			if (!page)
				return false;
			page->number = number;
			page->source = source;
			ids->places[place] = page;
			ids->pages_count++;
		}
		ids->last = page;
	}
	uint64_t *word = &page->bits[id % PAGE_IDS / 64];
	*doubled = (*word & bit) != 0;
	*word |= bit;
	return true;
}

bool validate_ids_has(const struct validate_ids *ids, uint32_t source, uint64_t id)
{
	if (!ids->places_count)
		return false;
	const struct validate_ids_page *page = ids->places[place_of(ids, source, id / PAGE_IDS)];
	return page && (page->bits[id % PAGE_IDS / 64] >> id % 64 & 1);
}

void validate_ids_deinit(struct validate_ids *ids)
{
	for (size_t i = 0; i < ids->places_count; i++)
		free(ids->places[i]);
	free(ids->places);
	*ids = (struct validate_ids){ 0 };
}
