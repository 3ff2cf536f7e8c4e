/* The account of a ring of segments: which is the oldest, what each one holds, and what was overwritten, so that an event
 * that is overwritten is lost by policy in the account of its thread and of its profiler.
 *
 * Bytes are block_writer's; here are only numbers.  Who appends blocks holds the session's drain lock.
 */
#ifndef EPPROF_RUNTIME_STORAGE_RING_H
#define EPPROF_RUNTIME_STORAGE_RING_H

#include <stdbool.h>
#include <stddef.h>

#include "format/format_ring.h"

/* Threads and profilers, by run, that a ring can keep the accounts of: what fits into a quarter of a segment. */
#define RING_ROWS_MAX (EPF_SEGMENT_BYTES / 4 / (uint32_t)sizeof(struct epf_overwritten_row))

/* Of so many a segment holds the events before the next one is begun, room or not: what explains them must fit beside it. */
#define RING_OWNERS_MAX 1024u

struct ring_rows {
	struct epf_overwritten_row *rows;
	size_t count, capacity;
};

struct ring_segment {
	uint64_t index, number;
	struct ring_rows holds;
};

struct ring {
	struct ring_segment *segments; /* from `oldest` on, in order of their numbers */
	uint32_t segments_max, segments_count;
	uint32_t oldest;
	struct ring_rows gone; /* sorted */
	uint64_t gone_through; /* the number of the last segment that was overwritten */
	uint64_t gone_events;  /* those of threads */
};

/* False: no memory. */
bool ring_init(struct ring *ring, uint32_t segments_max);
void ring_deinit(struct ring *ring);

/* The segment to be overwritten next; NULL: there is none but the one in hand. */
const struct ring_segment *ring_victim(const struct ring *ring);

/* How large an EPF_BLOCK_OVERWRITTEN that gives up the victim may get, header and all; 0: there is no victim.  The filling
 * segment must keep as much free. */
size_t ring_reserve(const struct ring *ring);

/* The payload of that block, at `payload`.  Returns its size; 0: no memory, or more accounts than RING_ROWS_MAX. */
size_t ring_give_up(struct ring *ring, void *payload);

/* The victim is gone for good (ring_give_up came before).  Returns its place. */
uint64_t ring_forget(struct ring *ring);

/* The payload that says once more what is gone; as ring_give_up. */
size_t ring_repeat(const struct ring *ring, void *payload);

/* A segment is begun at the place `index`; there are fewer than segments_max. */
void ring_begin(struct ring *ring, uint64_t index, uint64_t number);

/* Room to count a block's events in the newest segment; false: no memory. */
bool ring_room(struct ring *ring);

/* The newest segment holds events of as many as it should. */
bool ring_is_crowded(const struct ring *ring);

/* The newest segment holds so many more events of a thread's track, or of a producer. */
void ring_count(struct ring *ring, uint32_t of, uint32_t run, uint64_t events);

/* Whose events the segments still hold, to be freed; NULL: no memory.  `*first_run` is the earliest run of any. */
uint32_t *ring_owners(const struct ring *ring, size_t *count, uint32_t *first_run);

/* How many of a thread's events are gone. */
uint64_t ring_gone(const struct ring *ring, uint32_t track, uint32_t run);

/* Their accounts are kept elsewhere: of these threads (sorted) nothing is said any more. */
void ring_drop(struct ring *ring, const uint32_t *tracks, size_t count);

#endif
