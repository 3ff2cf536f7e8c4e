/* The set of ids that device events and flows reference, and the times of the host events with these ids.
 *
 * The set has pages of 512 ids, so it takes about 2 bits per id where ids are dense and remains bounded where they are
 * sparse.  If flows reference ids of a page, the page also records for each id whether it is referenced as a parent, by
 * a flow, or both.  The set is filled first and then sealed.  A sealed set numbers its ids and stores 32 bytes for each
 * event (struct referenced_event), from the time when the first event of a page is noted until the last record that
 * references the page has been processed.  At most `bytes_most` of these are in memory: pages that were not used
 * recently are written to a temporary file and read back on demand.
 * A key is an id and the source in which it is unique. */
#ifndef EPPROF_RUNTIME_TIMELINE_EVENTS_REFERENCES_H
#define EPPROF_RUNTIME_TIMELINE_EVENTS_REFERENCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "containers/hash_index.h"
#include "epprof/status.h"

#define REFERENCES_PAGE_IDS 512u
#define REFERENCES_NONE UINT32_MAX

/* Value of references_page.references for pages that flows reference.  Their events stay until the end, because a later
 * wait may need them. */
#define REFERENCES_FOREVER UINT32_MAX

/* The kind of reference to an id. */
enum reference_kind { REFERENCES_AS_PARENT, REFERENCES_BY_FLOW };

struct references_page {
	uint64_t key; /* id / 512 */
	uint64_t bits[8];
	uint64_t (*kind)[8]; /* `bits` split by enum reference_kind; NULL: all are REFERENCES_AS_PARENT */
	/* NULL: no event of the page was noted, all references are processed, or the events are in the file */
	struct referenced_event *events;
	uint32_t source;
	uint32_t references;       /* how many records that reference ids of this page are not processed yet */
	uint16_t before[8];        /* once sealed: number of ids in the words of `bits` before each word */
	uint32_t slot;             /* position in the file, in events; REFERENCES_NONE: not in the file */
	uint32_t resident_at : 30; /* index of the page in references->resident */
	uint32_t is_recent : 1;    /* used since the last visit of the eviction hand */
	uint32_t is_changed : 1;   /* differs from the copy in the file */
};

/* A referenced event. */
struct referenced_event {
	int64_t start_ns; /* INT64_MIN: not found yet, or not in the trace */
	int64_t end_ns;
	int64_t outer_end_ns; /* end of the outermost event around this one; INT64_MIN: the merge has not reached this
                               * event yet */
	uint32_t line;        /* key of its line (tracks/track_state.h) */
	uint32_t is_call : 1; /* its category is EPP_API */
	uint32_t ended_elsewhere : 1; /* it is an event of a thread, and ended on another one */
	uint32_t wait : 30;           /* index of its first flow in timeline->waits, plus 1; 0: none */
};

_Static_assert(sizeof(struct referenced_event) == 32, "referenced_event");

struct references {
	struct references_page *pages;
	size_t pages_count, pages_room;
	struct hash_index index; /* finds pages */
	uint32_t recent;         /* page of the last references_add */
	bool has_table;          /* the events of the ids are stored */
	bool has_used;           /* also stored: how many ns of each event duration-only events occupy
	                            (references_used) */

	size_t bytes_most, bytes; /* limit and current size of the events in memory, without the pages themselves */
	uint32_t *resident;       /* indexes of the pages whose events are in memory */
	size_t resident_count, resident_room, clock_hand;
	int file;
	bool has_file;
	uint32_t file_events;
};

/* The usual value of bytes_most, enough for 32768 events.  At one position of the merge, the pages that are still
 * needed rarely have more events. */
#define REFERENCES_BYTES_MOST ((size_t)1 << 20)

/* The number of an id is composed of the page's index and the id's index in the page. */
#define REFERENCES_PAGES_MAX (UINT32_MAX / REFERENCES_PAGE_IDS)
static inline uint32_t references_number(uint32_t page, uint32_t place)
{
	return page * REFERENCES_PAGE_IDS + place;
}

void references_deinit(struct references *references);

/* Adds the id that a record references. */
epp_status *references_add(struct references *references, uint32_t source, uint64_t id, enum reference_kind kind)
    EPP_MUST_CHECK;

/* Numbers the ids and returns the number after the last.  `table`: the events of the ids will be stored. */
uint32_t references_seal(struct references *references, bool table);

/* Returns true if an id is referenced in the given way.  `number` is the id's number. */
static inline bool references_is_kind(const struct references *references, uint32_t number, uint64_t id,
                                      enum reference_kind kind)
{
	const struct references_page *page = &references->pages[number / REFERENCES_PAGE_IDS];
	return page->kind ? page->kind[kind][id / 64 % 8] >> id % 64 & 1 : kind == REFERENCES_AS_PARENT;
}

/* Finds an event by its number; *event is NULL if its page is not stored.  The result is valid until the next call for
 * another number.  Errors: EPP_OUT_OF_MEMORY, EPP_IO. */
static inline epp_status *references_at(struct references *references, uint32_t number, struct referenced_event **event)
    EPP_MUST_CHECK;
/* As references_at, but the caller may change the event, which is created if needed.  *event is NULL if all records
 * that reference the page have been processed. */
static inline epp_status *references_update(struct references *references, uint32_t number,
                                            struct referenced_event **event) EPP_MUST_CHECK;
/* Finds how many nanoseconds of a noted event are occupied by duration-only events.  The caller may change the value.
 * Requires has_used. */
epp_status *references_used(struct references *references, uint32_t number, int64_t **used_ns) EPP_MUST_CHECK;
epp_status *references_at_slow(struct references *references, uint32_t number, struct referenced_event **event)
    EPP_MUST_CHECK;
epp_status *references_update_slow(struct references *references, uint32_t number, struct referenced_event **event)
    EPP_MUST_CHECK;

static inline epp_status *references_at(struct references *references, uint32_t number, struct referenced_event **event)
{
	struct references_page *page = &references->pages[number / REFERENCES_PAGE_IDS];

	if (__builtin_expect(!page->events, 0))
		return references_at_slow(references, number, event);
	page->is_recent = true;
	*event = &page->events[number % REFERENCES_PAGE_IDS];
	return NULL;
}

static inline epp_status *references_update(struct references *references, uint32_t number, struct referenced_event **event)
{
	struct references_page *page = &references->pages[number / REFERENCES_PAGE_IDS];

	if (__builtin_expect(!page->events, 0))
		return references_update_slow(references, number, event);
	page->is_recent = page->is_changed = true;
	*event = &page->events[number % REFERENCES_PAGE_IDS];
	return NULL;
}

/* Counts as processed a record that references this id. */
void references_release(struct references *references, uint32_t number);

/* Cache of references_find: the page of the last id. */
struct references_lookup {
	uint64_t key;
	uint32_t page; /* index + 1; 0: no such page */
	uint32_t source;
};
/* Returns the number of an id whose page is known. */
uint32_t references_number_of(const struct references *references, uint32_t page, uint64_t id);
uint32_t references_find_slow(const struct references *references, struct references_lookup *last, uint32_t source,
                              uint64_t id);

/* Returns the source of a page's ids; *first is the first of its REFERENCES_PAGE_IDS ids. */
static inline uint32_t references_page_ids(const struct references_page *page, uint64_t *first)
{
	*first = page->key * REFERENCES_PAGE_IDS;
	return page->source;
}

/* Returns the number of a referenced id, else REFERENCES_NONE.  `*last` is the caller's cache; its key must be
 * UINT64_MAX before the first call.  An id in the same page as the previous one costs only a bit test.  Requires
 * references_seal. */
static inline uint32_t references_find(const struct references *references, struct references_lookup *last,
                                       uint32_t source, uint64_t id)
{
	if (last->key == id / REFERENCES_PAGE_IDS && last->source == source) {
		if (!last->page)
			return REFERENCES_NONE;
		uint64_t word = references->pages[last->page - 1].bits[id / 64 % 8];
		return word >> id % 64 & 1 ? references_number_of(references, last->page - 1, id) : REFERENCES_NONE;
	}
	return references_find_slow(references, last, source, id);
}

#endif
