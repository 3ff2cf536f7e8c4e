/* The ledger of a ring of segments: which segment is the oldest, whose events each one holds, and how many were
 * overwritten, so that an overwritten event counts as lost by policy for its thread and its profiler.
 *
 * This part holds only numbers; block_writer reads and writes the bytes. The caller holds the session's drain lock. */
#ifndef EPPROF_RUNTIME_STORAGE_BLOCKS_RING_LEDGER_H
#define EPPROF_RUNTIME_STORAGE_BLOCKS_RING_LEDGER_H

#include <stdbool.h>
#include <stddef.h>

#include "format/format_ring.h"

/* Maximum of rows (threads and profilers, by run): what fits into a quarter of a segment. */
#define RING_ROWS_MAX (EPF_SEGMENT_BYTES / 4 / (uint32_t)sizeof(struct epf_overwritten_row))

/* A segment with events of this many owners (threads and profilers) is closed even if it has room, so that the block
 * that records its removal is not too large. */
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
	struct ring_segment *segments; /* from `oldest` on, ascending by number */
	uint32_t segments_max, segments_count;
	uint32_t oldest;
	struct ring_rows gone; /* sorted */
	uint64_t gone_through; /* number of the last segment that was overwritten */
	uint64_t gone_events;  /* of threads */
};

/* Returns false if out of memory. */
bool ring_init(struct ring *ring, uint32_t segments_max);
void ring_deinit(struct ring *ring);

/* Returns the segment to be overwritten next, or NULL if there is only the current one. */
const struct ring_segment *ring_victim(const struct ring *ring);

/* The maximum size of the EPF_BLOCK_OVERWRITTEN for the next victim, including its header; 0: there is no victim. The
 * current segment must keep this much free. */
size_t ring_reserve(const struct ring *ring);

/* Writes the payload of that block to `payload`. Returns its size; 0: no memory, or more rows than RING_ROWS_MAX. */
size_t ring_drop_oldest(struct ring *ring, void *payload);

/* Removes the victim after ring_drop_oldest. Returns its place. */
uint64_t ring_forget(struct ring *ring);

/* Writes the payload that repeats the counts so far. Returns as ring_drop_oldest. */
size_t ring_repeat(const struct ring *ring, void *payload);

/* Starts a segment at the place `index`. There must be fewer than segments_max. */
void ring_begin(struct ring *ring, uint64_t index, uint64_t number);

/* Reserves memory to count a block's events in the newest segment. Returns false if out of memory. */
bool ring_room(struct ring *ring);

/* True if the newest segment holds events of RING_OWNERS_MAX owners. */
bool ring_is_crowded(const struct ring *ring);

/* Adds `events` of a thread's track or of a producer to the newest segment. */
void ring_count(struct ring *ring, uint32_t of, uint32_t run, uint64_t events);

/* Returns the owners of events in all segments, sorted, to be freed; NULL: no memory. `*first_run` is the earliest
 * run. */
uint32_t *ring_owners(const struct ring *ring, size_t *count, uint32_t *first_run);

/* The number of a thread's overwritten events. */
uint64_t ring_gone(const struct ring *ring, uint32_t track, uint32_t run);

/* Drops the rows of these threads (sorted), because their counts are in the sum of retained_definitions.c. */
void ring_drop(struct ring *ring, const uint32_t *tracks, size_t count);

#endif
