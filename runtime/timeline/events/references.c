/* See references.h.  Pages stand in an array, in the order in which they were first needed; the index finds them.  An id's
 * place in its page is how many set bits are before its own. */
#include "timeline/events/references.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "containers/array.h"

void referred_deinit(struct referred *referred)
{
	referred_deinit_events(referred);
	for (size_t i = 0; i < referred->pages_count; i++)
		free(referred->pages[i].how);
	free(referred->pages);
	hash_index_deinit(&referred->index);
	*referred = (struct referred){ 0 };
}

/* How many bits are set: the compiler's own is a call where processors without the instruction must do. */
static inline uint32_t count_bits(uint64_t word)
{
	word -= word >> 1 & 0x5555555555555555;
	word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
	return (uint32_t)(((word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f) * 0x0101010101010101 >> 56);
}

/* The page's index + 1, or 0. */
static uint32_t find_page(const struct referred *referred, uint32_t source, uint64_t key)
{
	struct hash_probe probe = hash_index_probe(&referred->index, hash_pair(key, source));
	uint32_t page;

	while (hash_index_next(&referred->index, &probe, &page)) {
		if (referred->pages[page].key == key && referred->pages[page].source == source)
			return page + 1;
	}
	return 0;
}

static struct referred_page *add_page(struct referred *referred, uint32_t source, uint64_t key)
{
	if (referred->pages_count >= REFERRED_PAGES_MAX ||
	    !array_reserve(&referred->pages, &referred->pages_room, referred->pages_count + 1, sizeof(*referred->pages)) ||
	    !hash_index_add(&referred->index, hash_pair(key, source), (uint32_t)referred->pages_count))
		return NULL;
	struct referred_page *page = &referred->pages[referred->pages_count++];
	*page = (struct referred_page){ .key = key, .source = source, .slot = REFERRED_NONE };
	return page;
}

static bool note_how(struct referred_page *page, uint64_t id, enum referred_how how)
{
	if (!page->how) {
		if (how == REFERRED_AS_PARENT)
			return true;
		page->how = calloc(2, sizeof(*page->how));
		if (!page->how)
			return false;
		memcpy(page->how[REFERRED_AS_PARENT], page->bits, sizeof(page->bits));
	}
	page->how[how][id / 64 % 8] |= 1ull << id % 64;
	return true;
}

epp_status *referred_add(struct referred *referred, uint32_t source, uint64_t id, enum referred_how how)
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
	if (!note_how(page, id, how))
		return epp_status_no_memory();
	page->bits[id / 64 % 8] |= 1ull << id % 64;
	if (how == REFERRED_BY_FLOW)
		page->references = REFERRED_FOREVER;
	else if (page->references != REFERRED_FOREVER)
		page->references++;
	return NULL;
}

uint32_t referred_seal(struct referred *referred, bool table)
{
	for (size_t i = 0; i < referred->pages_count; i++) {
		struct referred_page *page = &referred->pages[i];
		unsigned count = 0;
		for (unsigned word = 0; word < 8; word++) {
			page->before[word] = (uint16_t)count;
			count += count_bits(page->bits[word]);
		}
	}
	referred->has_table = table && referred->pages_count;
	return referred_number((uint32_t)referred->pages_count, 0);
}

uint32_t referred_number_of(const struct referred *referred, uint32_t page, uint64_t id)
{
	const struct referred_page *known = &referred->pages[page];
	unsigned word = id / 64 % 8;

	return referred_number(page, known->before[word] + count_bits(known->bits[word] & ((1ull << id % 64) - 1)));
}

uint32_t referred_find_far(const struct referred *referred, struct referred_lookup *last, uint32_t source, uint64_t id)
{
	uint64_t key = id / REFERRED_PAGE_IDS;

	*last = (struct referred_lookup){ key, find_page(referred, source, key), source };
	if (!last->page || !(referred->pages[last->page - 1].bits[id / 64 % 8] >> id % 64 & 1))
		return REFERRED_NONE;
	return referred_number_of(referred, last->page - 1, id);
}
