/* See referred.h.  Pages stand in an array, in the order in which they were first needed; the buckets lead to them.  An id's
 * number is its page's first one plus the set bits before its own. */
#include "timeline/referred.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"

void referred_deinit(struct referred *referred)
{
	free(referred->pages);
	free(referred->buckets);
	free(referred->events);
	*referred = (struct referred){ 0 };
}

static size_t bucket_of(const struct referred *referred, uint32_t source, uint64_t key)
{
	key += source * 0xd6e8feb86659fd93u;
	return (key * 0x9e3779b97f4a7c15u >> 20) & (referred->buckets_count - 1);
}

/* The page's index + 1, or 0. */
static uint32_t find_page(const struct referred *referred, uint32_t source, uint64_t key)
{
	if (!referred->buckets_count)
		return 0;
	for (size_t at = bucket_of(referred, source, key);; at = (at + 1) & (referred->buckets_count - 1)) {
		uint32_t page = referred->buckets[at];
		if (!page || (referred->pages[page - 1].key == key && referred->pages[page - 1].source == source))
			return page;
	}
}

static bool grow_buckets(struct referred *referred)
{
	size_t count = referred->buckets_count ? referred->buckets_count * 2 : 64;
	uint32_t *buckets = calloc(count, sizeof(*buckets));
	if (!buckets)
		return false;
	free(referred->buckets);
	referred->buckets = buckets;
	referred->buckets_count = count;
	for (size_t i = 0; i < referred->pages_count; i++) {
		size_t at = bucket_of(referred, referred->pages[i].source, referred->pages[i].key);
		while (buckets[at])
			at = (at + 1) & (count - 1);
		buckets[at] = (uint32_t)(i + 1);
	}
	return true;
}

static struct referred_page *add_page(struct referred *referred, uint32_t source, uint64_t key)
{
	if (referred->pages_count == referred->pages_room) {
		size_t room = referred->pages_room ? referred->pages_room * 2 : 32;
		struct referred_page *pages = NULL;
		if (room < UINT32_MAX / 2)
			pages = reallocarray(referred->pages, room, sizeof(*pages));
		if (!pages)
			return NULL;
		referred->pages = pages;
		referred->pages_room = room;
	}
	if (referred->pages_count * 2 >= referred->buckets_count && !grow_buckets(referred))
		return NULL;
	size_t at = bucket_of(referred, source, key);
	while (referred->buckets[at])
		at = (at + 1) & (referred->buckets_count - 1);
	struct referred_page *page = &referred->pages[referred->pages_count++];
	*page = (struct referred_page){ .key = key, .source = source };
	referred->buckets[at] = (uint32_t)referred->pages_count;
	return page;
}

epp_status *referred_add(struct referred *referred, uint32_t source, uint64_t id)
{
	uint64_t key = id / REFERRED_PAGE_IDS;
	struct referred_page *page;

	if (!id)
		return NULL;
	page = referred->recent < referred->pages_count ? &referred->pages[referred->recent] : NULL;
	if (!page || page->key != key || page->source != source) {
		uint32_t index = find_page(referred, source, key);
		page = index ? &referred->pages[index - 1] : add_page(referred, source, key);
		if (!page)
			return epp_status_no_memory();
		referred->recent = (uint32_t)(page - referred->pages);
	}
	page->bits[id / 64 % 8] |= 1ull << id % 64;
	return NULL;
}

epp_status *referred_seal(struct referred *referred, bool table)
{
	uint64_t count = 0;
	for (size_t i = 0; i < referred->pages_count; i++) {
		struct referred_page *page = &referred->pages[i];
		page->first = (uint32_t)count;
		for (unsigned word = 0; word < 8; word++) {
			page->before[word] = (uint16_t)(count - page->first);
			count += (unsigned)__builtin_popcountll(page->bits[word]);
		}
		if (count >= REFERRED_NONE)
			return epp_status_no_memory();
	}
	referred->events_count = (uint32_t)count;
	if (!table || !count)
		return NULL;
	referred->events = reallocarray(NULL, count, sizeof(*referred->events));
	if (!referred->events)
		return epp_status_no_memory();
	for (uint64_t i = 0; i < count; i++)
		referred->events[i] = (struct referred_event){ .start_ns = INT64_MIN, .outer_end_ns = INT64_MIN };
	return NULL;
}

uint32_t referred_find_far(const struct referred *referred, struct referred_lookup *last, uint32_t source, uint64_t id)
{
	uint64_t key = id / REFERRED_PAGE_IDS;

	if (last->key != key || last->source != source)
		*last = (struct referred_lookup){ key, find_page(referred, source, key), source };
	if (!last->page)
		return REFERRED_NONE;
	const struct referred_page *page = &referred->pages[last->page - 1];
	unsigned word = id / 64 % 8;
	if (!(page->bits[word] >> id % 64 & 1))
		return REFERRED_NONE;
	return page->first + page->before[word] +
	       (uint32_t)__builtin_popcountll(page->bits[word] & ((1ull << id % 64) - 1));
}
