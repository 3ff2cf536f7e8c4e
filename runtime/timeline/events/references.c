/* Implements references.h: the set of ids.  Pages are in an array, in the order in which they were added; the hash
 * index finds them.  An id's index within its page is the number of set bits before its own. */
#include "timeline/events/references.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/status.h"
#include "containers/array.h"
#include "files/temp_file.h"

/* ---- events ---- */

/* Stores the events of a set of references: see references.h.  The events of a page are one allocation.  If has_used is
 * set, the numbers of references_used follow the events.
 * If bytes_most is exceeded, the events of some pages are written to a temporary file and freed.  The clock algorithm
 * chooses these pages: a hand visits the pages in memory in turn, and evicts each one that was not used since its last
 * visit. */

static unsigned ids_count(const struct references_page *page)
{
	return page->before[7] + (unsigned)__builtin_popcountll(page->bits[7]);
}

static size_t event_bytes(const struct references *references)
{
	return sizeof(struct referenced_event) + (references->has_used ? sizeof(int64_t) : 0);
}

static size_t page_bytes(const struct references *references, const struct references_page *page)
{
	return ids_count(page) * event_bytes(references);
}

static void references_deinit_events(struct references *references)
{
	for (size_t i = 0; i < references->resident_count; i++)
		free(references->pages[references->resident[i]].events);
	free(references->resident);
	if (references->has_file)
		close(references->file);
}

/* ---- which pages are in memory ---- */

static void release_page(struct references *references, struct references_page *page)
{
	uint32_t last = references->resident[--references->resident_count];

	references->resident[page->resident_at] = last;
	references->pages[last].resident_at = page->resident_at;
	references->bytes -= page_bytes(references, page);
	free(page->events);
	page->events = NULL;
}

static epp_status *evict_page(struct references *references, struct references_page *page)
{
	if (!references->has_file)
		EPP_TRY(temp_file_open(&references->file));
	references->has_file = true;
	if (page->slot == REFERENCES_NONE) {
		page->slot = references->file_events;
		references->file_events += ids_count(page);
		page->is_changed = true;
	}
	if (page->is_changed)
		EPP_TRY(temp_file_write(references->file, page->slot * event_bytes(references), page->events,
		                        page_bytes(references, page)));
	release_page(references, page);
	return NULL;
}

static epp_status *make_room(struct references *references, size_t bytes)
{
	while (references->resident_count && references->bytes + bytes > references->bytes_most) {
		if (references->clock_hand >= references->resident_count)
			references->clock_hand = 0;
		struct references_page *page = &references->pages[references->resident[references->clock_hand]];
		if (page->is_recent) {
			page->is_recent = false;
			references->clock_hand++;
		} else {
			EPP_TRY(evict_page(references, page));
		}
	}
	if (!array_reserve(&references->resident, &references->resident_room, references->resident_count + 1,
	                   sizeof(*references->resident)))
		return epp_status_no_memory();
	return NULL;
}

/* Loads the events of a page from the file.  If the page was never in the file, its events are marked as not found. */
static epp_status *load_page(struct references *references, struct references_page *page)
{
	unsigned count = ids_count(page);
	size_t bytes = page_bytes(references, page);

	EPP_TRY(make_room(references, bytes));
	struct referenced_event *events = malloc(bytes);
	if (!events)
		return epp_status_no_memory();
	if (page->slot != REFERENCES_NONE) {
		epp_status *status = temp_file_read(references->file, page->slot * event_bytes(references), events, bytes);
		if (status) {
			free(events);
			return status;
		}
	} else {
		int64_t *used_ns = (int64_t *)(void *)(events + count);
		for (unsigned i = 0; i < count; i++) {
			events[i] = (struct referenced_event){ .start_ns = INT64_MIN, .outer_end_ns = INT64_MIN };
			if (references->has_used)
				used_ns[i] = 0;
		}
	}
	page->events = events;
	page->is_changed = false;
	page->resident_at = (uint32_t)references->resident_count & 0x3fffffffu;
	references->resident[references->resident_count++] = (uint32_t)(page - references->pages);
	references->bytes += bytes;
	return NULL;
}

/* ---- queries ---- */

epp_status *references_at_slow(struct references *references, uint32_t number, struct referenced_event **event)
{
	struct references_page *page = &references->pages[number / REFERENCES_PAGE_IDS];

	*event = NULL;
	if (!page->references || page->slot == REFERENCES_NONE)
		return NULL;
	EPP_TRY(load_page(references, page));
	return references_at(references, number, event);
}

epp_status *references_update_slow(struct references *references, uint32_t number, struct referenced_event **event)
{
	struct references_page *page = &references->pages[number / REFERENCES_PAGE_IDS];

	*event = NULL;
	if (!page->references)
		return NULL;
	EPP_TRY(load_page(references, page));
	return references_update(references, number, event);
}

epp_status *references_used(struct references *references, uint32_t number, int64_t **used_ns)
{
	const struct references_page *page = &references->pages[number / REFERENCES_PAGE_IDS];
	struct referenced_event *event;

	*used_ns = NULL;
	EPP_TRY(references_update(references, number, &event));
	if (event)
		*used_ns = (int64_t *)(void *)(page->events + ids_count(page)) + number % REFERENCES_PAGE_IDS;
	return NULL;
}

void references_release(struct references *references, uint32_t number)
{
	struct references_page *page = &references->pages[number / REFERENCES_PAGE_IDS];

	if (page->references == REFERENCES_FOREVER || (page->references && --page->references))
		return;
	if (page->events)
		release_page(references, page);
}

/* ---- ids ---- */

void references_deinit(struct references *references)
{
	references_deinit_events(references);
	for (size_t i = 0; i < references->pages_count; i++)
		free(references->pages[i].kind);
	free(references->pages);
	hash_index_deinit(&references->index);
	*references = (struct references){ 0 };
}

/* Counts the set bits.  Without a popcount instruction in the target, __builtin_popcountll would be a library call. */
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

static bool add_kind(struct references_page *page, uint64_t id, enum reference_kind kind)
{
	if (!page->kind) {
		if (kind == REFERENCES_AS_PARENT)
			return true;
		page->kind = calloc(2, sizeof(*page->kind));
		if (!page->kind)
			return false;
		memcpy(page->kind[REFERENCES_AS_PARENT], page->bits, sizeof(page->bits));
	}
	page->kind[kind][id / 64 % 8] |= 1ull << id % 64;
	return true;
}

epp_status *references_add(struct references *references, uint32_t source, uint64_t id, enum reference_kind kind)
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
	if (!add_kind(page, id, kind))
		return epp_status_no_memory();
	page->bits[id / 64 % 8] |= 1ull << id % 64;
	if (kind == REFERENCES_BY_FLOW)
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

uint32_t references_find_slow(const struct references *references, struct references_lookup *last, uint32_t source,
                              uint64_t id)
{
	uint64_t key = id / REFERENCES_PAGE_IDS;

	*last = (struct references_lookup){ key, find_page(references, source, key), source };
	if (!last->page || !(references->pages[last->page - 1].bits[id / 64 % 8] >> id % 64 & 1))
		return REFERENCES_NONE;
	return references_number_of(references, last->page - 1, id);
}
