/* The ids that events of devices and flows name, and what is known of the host events that carry them.
 *
 * A set of ids in pages of 512, so that it takes about 2 bits an id where they are dense and stays bounded where they
 * are not; where flows name some, who names which is known besides.  Filled at first, then sealed: from then on each id has
 * a number, and what is known of its event takes 32 bytes, from when the first event of its page is noted until the last one
 * that names one there was seen.  Of that no more than `bytes_most` is in memory: pages that were not asked for lately go
 * into a temporary file and come back when they are.
 * A key is an id and the source that it is unique in.
 */
#ifndef EPPROF_RUNTIME_TIMELINE_EVENTS_REFERENCES_H
#define EPPROF_RUNTIME_TIMELINE_EVENTS_REFERENCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "containers/hash_index.h"
#include "epprof/status.h"

#define REFERRED_PAGE_IDS 512u
#define REFERRED_NONE UINT32_MAX

/* Of a page that flows name, whose ends are asked for at any time, the events stay. */
#define REFERRED_FOREVER UINT32_MAX

/* How a record names an id. */
enum references_how { REFERRED_AS_PARENT, REFERRED_BY_FLOW };

struct references_page {
	uint64_t key; /* id / 512 */
	uint64_t bits[8];
	uint64_t (*how)[8];              /* those of `bits` by enum references_how; NULL: all as parents */
	struct referenced_event *events; /* NULL: none was noted, none is asked for any more, or it is in the file */
	uint32_t source;
	uint32_t references;       /* how many records still name one of its ids */
	uint16_t before[8];        /* ids in the words before each, once sealed */
	uint32_t slot;             /* where it is in the file, in events; REFERRED_NONE: nowhere */
	uint32_t resident_at : 30; /* in referred->resident */
	uint32_t is_recent : 1;    /* asked for since the last look for one to put away */
	uint32_t is_changed : 1;   /* not as in the file */
};

/* An event that is referred to. */
struct referenced_event {
	int64_t start_ns; /* INT64_MIN: not found (yet) */
	int64_t end_ns;
	int64_t outer_end_ns; /* of the outermost event around it; INT64_MIN: it has not passed yet */
	uint32_t line;        /* key */
	uint32_t is_call : 1; /* of category API */
	uint32_t wait : 31;   /* where in timeline->waits the flows from here begin, plus 1; 0: there are none */
};

_Static_assert(sizeof(struct referenced_event) == 32, "referred_event");

struct references {
	struct references_page *pages;
	size_t pages_count, pages_room;
	struct hash_index index; /* of pages */
	uint32_t recent;         /* the page of the last call of add */
	bool has_table;          /* what is noted is kept */
	bool has_used;           /* and how much of an event was used */

	size_t bytes_most, bytes; /* of events in memory; a page is there in any case */
	uint32_t *resident;       /* the pages that have them */
	size_t resident_count, resident_room, hand;
	int file;
	bool has_file;
	uint32_t file_events;
};

/* For 32768 events: more are seldom referred to at a time. */
#define REFERRED_BYTES_MOST ((size_t)1 << 20)

/* A number: the page's index, and the id's place in it. */
#define REFERRED_PAGES_MAX (UINT32_MAX / REFERRED_PAGE_IDS)
static inline uint32_t references_number(uint32_t page, uint32_t place)
{
	return page * REFERRED_PAGE_IDS + place;
}

void references_deinit(struct references *references);
void references_deinit_events(struct references *references);

/* A record that names an id. */
epp_status *references_add(struct references *references, uint32_t source, uint64_t id, enum references_how how)
    EPP_MUST_CHECK;

/* Numbers the ids, below the number that is returned; `table`: what is noted is kept. */
uint32_t references_seal(struct references *references, bool table);

/* Whether a number's id, whose place in it is the id's, is named so. */
static inline bool references_so(const struct references *references, uint32_t number, uint64_t id, enum references_how how)
{
	const struct references_page *page = &references->pages[number / REFERRED_PAGE_IDS];
	return page->how ? page->how[how][id / 64 % 8] >> id % 64 & 1 : how == REFERRED_AS_PARENT;
}

/* What is known of an event by its number; NULL: nothing.  Valid until the next question.  Errors: EPP_OUT_OF_MEMORY, EPP_IO. */
static inline epp_status *references_at(struct references *references, uint32_t number, struct referenced_event **event)
    EPP_MUST_CHECK;
/* The same to write there; *event is NULL if nobody asks for it any more. */
static inline epp_status *references_note(struct references *references, uint32_t number, struct referenced_event **event)
    EPP_MUST_CHECK;
/* How much of an event that is known was used, ns, to write there; needs has_used. */
epp_status *references_used(struct references *references, uint32_t number, int64_t **used_ns) EPP_MUST_CHECK;
epp_status *references_at_far(struct references *references, uint32_t number, struct referenced_event **event)
    EPP_MUST_CHECK;
epp_status *references_note_far(struct references *references, uint32_t number, struct referenced_event **event)
    EPP_MUST_CHECK;

static inline epp_status *references_at(struct references *references, uint32_t number, struct referenced_event **event)
{
	struct references_page *page = &references->pages[number / REFERRED_PAGE_IDS];

	if (__builtin_expect(!page->events, 0))
		return references_at_far(references, number, event);
	page->is_recent = true;
	*event = &page->events[number % REFERRED_PAGE_IDS];
	return NULL;
}

static inline epp_status *references_note(struct references *references, uint32_t number, struct referenced_event **event)
{
	struct references_page *page = &references->pages[number / REFERRED_PAGE_IDS];

	if (__builtin_expect(!page->events, 0))
		return references_note_far(references, number, event);
	page->is_recent = page->is_changed = true;
	*event = &page->events[number % REFERRED_PAGE_IDS];
	return NULL;
}

/* One record that names it was seen. */
void references_done(struct references *references, uint32_t number);

/* The caller's memory of the last answer. */
struct references_lookup {
	uint64_t key;
	uint32_t page; /* index + 1; 0: no such page */
	uint32_t source;
};
/* The number of an id that is referred to: it is in that page. */
uint32_t references_number_of(const struct references *references, uint32_t page, uint64_t id);
uint32_t references_find_far(const struct references *references, struct references_lookup *last, uint32_t source,
                             uint64_t id);

/* The source of a page's ids; *first is the first of the REFERRED_PAGE_IDS. */
static inline uint32_t references_page_ids(const struct references_page *page, uint64_t *first)
{
	*first = page->key * REFERRED_PAGE_IDS;
	return page->source;
}

/* The number of an id that is referred to, else REFERRED_NONE.  `*last` is the caller's, all ones at first: ids close to
 * the one before cost a bit test.  Needs the seal. */
static inline uint32_t references_find(const struct references *references, struct references_lookup *last,
                                       uint32_t source, uint64_t id)
{
	if (last->key == id / REFERRED_PAGE_IDS && last->source == source) {
		if (!last->page)
			return REFERRED_NONE;
		uint64_t word = references->pages[last->page - 1].bits[id / 64 % 8];
		return word >> id % 64 & 1 ? references_number_of(references, last->page - 1, id) : REFERRED_NONE;
	}
	return references_find_far(references, last, source, id);
}

#endif
