/* Events that have begun and not ended yet: nested events of threads, by lane, and asynchronous events, by a hash of
 * their id.
 *
 * Of several events with the same key, the one that began last ends first.  Their size is limited to
 * OPEN_EVENTS_BYTES_MAX; further events are refused. */
#ifndef EPPROF_RUNTIME_IMPORT_OPEN_EVENTS_H
#define EPPROF_RUNTIME_IMPORT_OPEN_EVENTS_H

#include <bsd/sys/tree.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define OPEN_EVENTS_BYTES_MAX (3u << 20)

struct open_event {
	RB_ENTRY(open_event) link;
	uint64_t key;
	uint64_t number; /* counts up; the event that began last has the largest number */
	bool is_async;
	size_t bytes;
	uint8_t packed[]; /* the record, as packed by record_pack */
};

RB_HEAD(open_events_tree, open_event);

/* Zero-initialised: empty. */
struct open_events {
	struct open_events_tree tree;
	uint64_t next;
	size_t bytes;
};

/* Adds a copy of a packed record.  *fits is false if the record would exceed OPEN_EVENTS_BYTES_MAX. */
epp_status *open_events_add(struct open_events *open_events, uint64_t key, bool is_async, const void *packed,
                            size_t bytes, bool *fits);
/* Removes and returns the event with this key that began last; NULL: none.  Ownership: open_events_free. */
struct open_event *open_events_take(struct open_events *open_events, uint64_t key, bool is_async);
/* Removes and returns any event; NULL: none is left. */
struct open_event *open_events_take_any(struct open_events *open_events);
void open_events_free(struct open_event *event);
void open_events_deinit(struct open_events *open_events);

#endif
