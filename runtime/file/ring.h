/* The account of a ring of segments: which is the oldest, what each one holds, and what was overwritten, so that an event
 * that is overwritten is lost by policy in the account of its thread and of its profiler.
 *
 * Bytes are block_writer's; here are only numbers.  Who appends blocks holds the session's drain lock.
 */
#ifndef EPPROF_FILE_RING_H
#define EPPROF_FILE_RING_H

#include <stdbool.h>
#include <stddef.h>

#include "file/format.h"

/* Threads and profilers, by run, that a ring can keep the accounts of: what fits into a quarter of a segment. */
#define RING_ROWS_MAX (EPF_SEGMENT_BYTES / 4 / (uint32_t)sizeof(struct epf_overwritten_row))

struct ring_rows {
	struct epf_overwritten_row *rows;
	size_t count, capacity;
};

struct ring_segment {
	uint64_t index, number;
	struct ring_rows holds;
};

struct ring {
	struct ring_segment *segments;
	uint32_t segments_max, segments_count;
	uint32_t oldest;       /* index into segments, once all are in use */
	struct ring_rows gone; /* sorted */
	uint64_t gone_through; /* the number of the last segment that was overwritten */
	uint64_t gone_events;  /* those of threads */
};

/* False: no memory. */
bool ring_init(struct ring *ring, uint32_t segments_max);
void ring_deinit(struct ring *ring);

/* The segment to be overwritten next; NULL: there may be another one first. */
const struct ring_segment *ring_victim(const struct ring *ring);

/* How large an EPF_BLOCK_OVERWRITTEN that gives up the victim may get, header and all; 0: there is no victim.  The filling
 * segment must keep as much free. */
size_t ring_reserve(const struct ring *ring);

/* The payload of that block, at `payload`.  Returns its size; 0: no memory, or more accounts than RING_ROWS_MAX. */
size_t ring_give_up(struct ring *ring, void *payload);

/* A segment is begun: the victim, if there is one, is gone (ring_give_up came before), its place is `index`. */
void ring_begin(struct ring *ring, uint64_t index, uint64_t number);

/* Room to count a block's events in the newest segment; false: no memory. */
bool ring_room(struct ring *ring);

/* The newest segment holds so many more events of a thread's track, or of a producer. */
void ring_count(struct ring *ring, uint32_t of, uint32_t run, uint64_t events);

#endif
