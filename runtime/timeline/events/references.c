/* Implements references.h: the set of ids.  Pages are in an array, in the order in which they were added; the hash
 * index finds them.  An id's index within its page is the number of set bits before its own. */
#include "timeline/events/references.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "containers/array.h"

void references_deinit(struct references *references)
{
	references_deinit_events(references);
	for (size_t i = 0; i < references->pages_count; i++)
		free(references->pages[i].how);
	free(references->pages);
	hash_index_deinit(&references->index);
	*references = (struct references){ 0 };
}

/* Counts the set bits.  __builtin_popcountll is a library call where the target may lack the instruction. */
static inline uint32_t count_bits(uint64_t word)
{
	word -= word >> 1 & 0x5555555555555555;
	word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
	return (uint32_t)(((word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f) * 0x0101010101010101 >> 56);
}

/* Returns the page's index + 1, or 0. */
static uint32_t find_page(const struct references *references, uint32_t source, uint64_t key)
{
	struct hash_probe probe = hash_index_probe(&references->index, hash_pair(key, source));
	uint32_t page;

	while (hash_index_next(&references->index, &probe, &page)) {
		if (references->pages[page].key == key && references->pages[page].source == source)
			return page + 1;
	}
	return 0;
}

static struct references_page *add_page(struct references *references, uint32_t source, uint64_t key)
{
	if (references->pages_count >= REFERENCES_PAGES_MAX ||
	    !array_reserve(&references->pages, &references->pages_room, references->pages_count + 1,
	                   sizeof(*references->pages)) ||
	    !hash_index_add(&references->index, hash_pair(key, source), (uint32_t)references->pages_count))
		return NULL;
	struct references_page *page = &references->pages[references->pages_count++];
	*page = (struct references_page){ .key = key, .source = source, .slot = REFERENCES_NONE };
	return page;
}

static bool note_how(struct references_page *page, uint64_t id, enum references_how how)
{
	if (!page->how) {
		if (how == REFERENCES_AS_PARENT)
			return true;
		page->how = calloc(2, sizeof(*page->how));
		if (!page->how)
			return false;
		memcpy(page->how[REFERENCES_AS_PARENT], page->bits, sizeof(page->bits));
	}
	page->how[how][id / 64 % 8] |= 1ull << id % 64;
	return true;
}

epp_status *references_add(struct references *references, uint32_t source, uint64_t id, enum references_how how)
{
	uint64_t key = id / REFERENCES_PAGE_IDS;
	struct references_page *page;

	if (!id)
		return NULL;
	page = references->recent < references->pages_count ? &references->pages[references->recent] : NULL;
	if (!page || page->key != key || page->source != source) {
		uint32_t index = find_page(references, source, key);
		page = index ? &references->pages[index - 1] : add_page(references, source, key);
		if (!page)
			return epp_status_no_memory();
		references->recent = (uint32_t)(page - references->pages);
	}
	if (!note_how(page, id, how))
		return epp_status_no_memory();
	page->bits[id / 64 % 8] |= 1ull << id % 64;
	if (how == REFERENCES_BY_FLOW)
		page->references = REFERENCES_FOREVER;
	else if (page->references != REFERENCES_FOREVER)
		page->references++;
	return NULL;
}

uint32_t references_seal(struct references *references, bool table)
{
	for (size_t i = 0; i < references->pages_count; i++) {
		struct references_page *page = &references->pages[i];
		unsigned count = 0;
		for (unsigned word = 0; word < 8; word++) {
			page->before[word] = (uint16_t)count;
			count += count_bits(page->bits[word]);
		}
	}
	references->has_table = table && references->pages_count;
	return references_number((uint32_t)references->pages_count, 0);
}

uint32_t references_number_of(const struct references *references, uint32_t page, uint64_t id)
{
	const struct references_page *known = &references->pages[page];
	unsigned word = id / 64 % 8;

	return references_number(page, known->before[word] + count_bits(known->bits[word] & ((1ull << id % 64) - 1)));
}

uint32_t references_find_far(const struct references *references, struct references_lookup *last, uint32_t source,
                             uint64_t id)
{
	uint64_t key = id / REFERENCES_PAGE_IDS;

	*last = (struct references_lookup){ key, find_page(references, source, key), source };
	if (!last->page || !(references->pages[last->page - 1].bits[id / 64 % 8] >> id % 64 & 1))
		return REFERENCES_NONE;
	return references_number_of(references, last->page - 1, id);
}
