/* A set of ids as bit pages, see id_set.h. */
#include "containers/id_set.h"

#include <stdlib.h>

#include "containers/array.h"

struct id_set_page *id_set_find_page(struct id_set *set, uint32_t source, uint64_t number)
{
	struct hash_probe probe = hash_index_probe(&set->index, hash_pair(number, source));
	uint32_t at;

	while (hash_index_next(&set->index, &probe, &at)) {
		if (id_set_is_page(&set->pages[at], source, number)) {
			set->last = at;
			return &set->pages[at];
		}
	}
	return NULL;
}

static struct id_set_page *add_page(struct id_set *set, uint32_t source, uint64_t number)
{
	if (set->pages_count >= HASH_INDEX_NONE ||
	    !array_reserve(&set->pages, &set->pages_room, set->pages_count + 1, sizeof(*set->pages)) ||
	    !hash_index_add(&set->index, hash_pair(number, source), (uint32_t)set->pages_count))
		return NULL;
	set->last = set->pages_count++;
	set->pages[set->last] = (struct id_set_page){ .number = number, .source = source };
	return &set->pages[set->last];
}

bool id_set_add(struct id_set *set, uint32_t source, uint64_t id, bool *added)
{
	uint64_t number = id / ID_SET_PAGE_IDS, bit = UINT64_C(1) << id % 64;
	struct id_set_page *page = set->pages_count ? &set->pages[set->last] : NULL;

	*added = false;
	if (!page || !id_set_is_page(page, source, number))
		page = id_set_find_page(set, source, number);
	if (!page)
		page = add_page(set, source, number);
	if (!page)
		return false;
	uint64_t *word = &page->bits[id % ID_SET_PAGE_IDS / 64];
	*added = !(*word & bit);
	*word |= bit;
	return true;
}

void id_set_deinit(struct id_set *set)
{
	free(set->pages);
	hash_index_deinit(&set->index);
	*set = (struct id_set){ 0 };
}
