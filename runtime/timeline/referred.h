/* The ids that events of devices and flows name, and what is known of the host events that carry them.
 *
 * A set of ids in pages of 512, so that it takes about 2 bits an id where they are dense and stays bounded where they
 * are not; where flows name some, who names which is known besides.  Filled at first, then sealed: from then on each id has a number, and what is known of its event takes 32 bytes,
 * from when the first event of its page is noted until the last one that names one there was seen.
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

/* Of a page that flows name, whose ends are asked for at any time, the events stay. */
#define REFERRED_FOREVER UINT32_MAX

/* How a record names an id. */
enum referred_how { REFERRED_AS_PARENT, REFERRED_BY_FLOW };

struct referred_page {
	uint64_t key; /* id / 512 */
	uint64_t bits[8];
	uint64_t (*how)[8];            /* those of `bits` by enum referred_how; NULL: all as parents */
	struct referred_event *events; /* NULL: none was noted, or none is asked for any more */
	uint32_t source;
	uint32_t references; /* how many records still name one of its ids */
	uint16_t before[8];  /* ids in the words before each, once sealed */
};

/* An event that is referred to. */
struct referred_event {
	int64_t start_ns; /* INT64_MIN: not found (yet) */
	int64_t end_ns;
	int64_t outer_end_ns; /* of the outermost event around it; INT64_MIN: it has not passed yet */
	uint32_t line;        /* key */
	uint32_t is_call : 1; /* of category API */
	uint32_t wait : 31;   /* what a flow leads to from here: its number and 1; 0: nothing */
};

_Static_assert(sizeof(struct referred_event) == 32, "referred_event");

struct referred {
	struct referred_page *pages;
	size_t pages_count, pages_room;
	uint32_t *buckets; /* open addressing: page index + 1, 0 is free */
	size_t buckets_count;
	uint32_t recent; /* the page of the last call of add */
	bool has_table;  /* what is noted is kept */
};

/* A number: the page's index, and the id's place in it. */
#define REFERRED_PAGES_MAX (UINT32_MAX / REFERRED_PAGE_IDS)
static inline uint32_t referred_number(uint32_t page, uint32_t place)
{
	return page * REFERRED_PAGE_IDS + place;
}

void referred_deinit(struct referred *referred);

/* A record that names an id. */
epp_status *referred_add(struct referred *referred, uint32_t source, uint64_t id, enum referred_how how) EPP_MUST_CHECK;

/* Numbers the ids, below the number that is returned; `table`: what is noted is kept. */
uint32_t referred_seal(struct referred *referred, bool table);

/* Whether a number's id, whose place in it is the id's, is named so. */
static inline bool referred_so(const struct referred *referred, uint32_t number, uint64_t id, enum referred_how how)
{
	const struct referred_page *page = &referred->pages[number / REFERRED_PAGE_IDS];
	return page->how ? page->how[how][id / 64 % 8] >> id % 64 & 1 : how == REFERRED_AS_PARENT;
}

/* What is known of an event by its number; NULL: nothing. */
static inline struct referred_event *referred_at(const struct referred *referred, uint32_t number)
{
	struct referred_event *events = referred->pages[number / REFERRED_PAGE_IDS].events;
	return events ? &events[number % REFERRED_PAGE_IDS] : NULL;
}

/* The same to write there; *event is NULL if nobody asks for it any more.  Errors: EPP_OUT_OF_MEMORY. */
epp_status *referred_note(struct referred *referred, uint32_t number, struct referred_event **event) EPP_MUST_CHECK;
/* One record that names it was seen. */
void referred_done(struct referred *referred, uint32_t number);

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
