/* The ids that events of devices and flows name, and what is known of the host events that carry them.
 *
 * A set of ids in pages of 512, so that it takes about 1.6 bits an id where they are dense and stays bounded where they
 * are not.  Filled at first, then sealed: from then on each id has a number, and the table has 32 bytes for each.
 * A key is an id and the source that it is unique in.
 */
#ifndef EPPROF_TIMELINE_REFERRED_H
#define EPPROF_TIMELINE_REFERRED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epprof/status.h"

#define REFERRED_PAGE_IDS 512u
#define REFERRED_NONE UINT32_MAX

struct referred_page {
	uint64_t key; /* id / 512 */
	uint64_t bits[8];
	uint32_t source;
	uint32_t first;     /* number of its first id, once sealed */
	uint16_t before[8]; /* ids in the words before each */
};

/* An event that is referred to. */
struct referred_event {
	int64_t start_ns; /* INT64_MIN: not found (yet) */
	int64_t end_ns;
	int64_t outer_end_ns; /* of the outermost event around it; INT64_MIN: it has not passed yet */
	uint32_t line;        /* key */
	uint32_t unused;
};

struct referred {
	struct referred_page *pages;
	size_t pages_count, pages_room;
	uint32_t *buckets; /* open addressing: page index + 1, 0 is free */
	size_t buckets_count;
	uint32_t recent; /* the page of the last call of add */
	struct referred_event *events;
	uint32_t events_count;
};

void referred_deinit(struct referred *referred);

epp_status *referred_add(struct referred *referred, uint32_t source, uint64_t id) EPP_MUST_CHECK;

/* Numbers the ids; `table`: with an event for each, all unknown. */
epp_status *referred_seal(struct referred *referred, bool table) EPP_MUST_CHECK;

/* The caller's memory of the last answer. */
struct referred_lookup {
	uint64_t key;
	uint32_t page; /* index + 1; 0: no such page */
	uint32_t source;
};
uint32_t referred_find_far(const struct referred *referred, struct referred_lookup *last, uint32_t source, uint64_t id);

/* The source of a page's ids; *first is the first of the REFERRED_PAGE_IDS. */
static inline uint32_t referred_page_ids(const struct referred_page *page, uint64_t *first)
{
	*first = page->key * REFERRED_PAGE_IDS;
	return page->source;
}

/* The number of an id that is referred to, else REFERRED_NONE.  `*last` is the caller's, all ones at first: ids close to
 * the one before cost a bit test.  Needs the seal. */
static inline uint32_t referred_find(const struct referred *referred, struct referred_lookup *last, uint32_t source,
                                     uint64_t id)
{
	if (last->key == id / REFERRED_PAGE_IDS && last->source == source) {
		if (!last->page)
			return REFERRED_NONE;
		uint64_t word = referred->pages[last->page - 1].bits[id / 64 % 8];
		if (!(word >> id % 64 & 1))
			return REFERRED_NONE;
	}
	return referred_find_far(referred, last, source, id);
}

#endif
