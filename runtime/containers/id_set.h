/* A set of ids, each with the source in which it is unique: one bit per id, in pages of consecutive ids. Threads assign
 * ids in ascending order, so pages are well filled. A set of other numbers uses source 0.
 * Thread: one at a time. */
#ifndef EPPROF_RUNTIME_CONTAINERS_ID_SET_H
#define EPPROF_RUNTIME_CONTAINERS_ID_SET_H

#include "containers/hash_index.h"

#define ID_SET_PAGE_IDS 512u

struct id_set_page {
	uint64_t number; /* id / ID_SET_PAGE_IDS */
	uint32_t source;
	uint64_t bits[ID_SET_PAGE_IDS / 64];
};

/* An empty set is zero-initialised. */
struct id_set {
	struct id_set_page *pages;
	size_t pages_count, pages_room;
	struct hash_index index; /* finds a page by its number */
	size_t last;             /* the last page used, which is tried first: most ids are close to the previous one */
};

/* Adds an id. `*added` is true if it was not in the set. Returns false if out of memory; the set is then unchanged. */
bool id_set_add(struct id_set *set, uint32_t source, uint64_t id, bool *added);
void id_set_deinit(struct id_set *set);

/* Returns a page by its number, or NULL. */
struct id_set_page *id_set_find_page(struct id_set *set, uint32_t source, uint64_t number);

static inline bool id_set_is_page(const struct id_set_page *page, uint32_t source, uint64_t number)
{
	return page->number == number && page->source == source;
}

static inline bool id_set_has(struct id_set *set, uint32_t source, uint64_t id)
{
	uint64_t number = id / ID_SET_PAGE_IDS;

	if (!set->pages_count)
		return false;
	const struct id_set_page *page = &set->pages[set->last];
	if (!id_set_is_page(page, source, number))
		page = id_set_find_page(set, source, number);
	return page && (page->bits[id % ID_SET_PAGE_IDS / 64] >> id % 64 & 1);
}

#endif
