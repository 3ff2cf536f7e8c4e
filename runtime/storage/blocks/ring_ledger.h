/* The ledger of a ring of segments: the order of the segments, the owners of the events in each segment, and the number
 * of overwritten events of each owner. Overwritten events count as lost by policy for their thread and their
 * profiler.
 *
 * These functions only count; block_writer reads and writes the bytes. The caller holds the session's drain lock. */
#ifndef EPPROF_RUNTIME_STORAGE_BLOCKS_RING_LEDGER_H
#define EPPROF_RUNTIME_STORAGE_BLOCKS_RING_LEDGER_H

#include <stdbool.h>
#include <stddef.h>

#include "format/format_ring.h"

/* The maximum number of rows (a thread or a profiler in one run): as many as fit into a quarter of a segment. */
#define RING_ROWS_MAX (EPF_SEGMENT_BYTES / 4 / (uint32_t)sizeof(struct epf_overwritten_row))

/* A segment with rows for this many owners (threads and profilers) or more is closed even if it has room, because the
 * block that records its removal must not be too large. */
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
	struct ring_segment *segments; /* from the index `oldest` on, in ascending order of their numbers */
	uint32_t segments_max, segments_count;
	uint32_t oldest;
	struct ring_rows overwritten; /* the counts of overwritten events, sorted */
	uint64_t overwritten_through; /* the number of the last segment that was overwritten */
	uint64_t overwritten_events;  /* the number of overwritten events of threads */
};

/* Returns false if out of memory. */
bool ring_init(struct ring *ring, uint32_t segments_max);
void ring_deinit(struct ring *ring);

/* Returns the victim, the segment that is overwritten next, or NULL if there is only the current one. */
const struct ring_segment *ring_oldest(const struct ring *ring);

/* Returns the maximum size of the EPF_BLOCK_OVERWRITTEN for the next victim, including the header; 0 if there is no
 * victim. The current segment must keep this many bytes free. */
size_t ring_reserve(const struct ring *ring);

/* Writes the payload of the EPF_BLOCK_OVERWRITTEN for the victim to `payload`. Returns its size; 0 if out of memory, or
 * if there are more rows than RING_ROWS_MAX. */
size_t ring_drop_oldest(struct ring *ring, void *payload);

/* Removes the victim after ring_drop_oldest. Returns its place. */
uint64_t ring_forget(struct ring *ring);

/* Writes the payload of an EPF_BLOCK_OVERWRITTEN with the present counts and no victim. Returns the same as
 * ring_drop_oldest. */
size_t ring_encode(const struct ring *ring, void *payload);

/* Starts a segment at the place `index`. The ring must have fewer than segments_max segments. */
void ring_begin(struct ring *ring, uint64_t index, uint64_t number);

/* Reserves memory to count a block's events in the newest segment. Returns false if out of memory. */
bool ring_room(struct ring *ring);

/* Returns true if the newest segment has RING_OWNERS_MAX rows or more. */
bool ring_is_crowded(const struct ring *ring);

/* Adds `events` of a thread's track or of a producer to the newest segment. */
void ring_count(struct ring *ring, uint32_t of, uint32_t run, uint64_t events);

/* Returns the owners of events in all segments, sorted; NULL if out of memory. `*first_run` is the earliest run of the
 * events of threads; UINT32_MAX: there are none. The caller frees the result. */
uint32_t *ring_owners(const struct ring *ring, size_t *count, uint32_t *first_run);

/* Returns the number of overwritten events of a thread. */
uint64_t ring_overwritten(const struct ring *ring, uint32_t track, uint32_t run);

/* Removes the rows of these threads (sorted), because their counts were added to the sum of retained_definitions.c. */
void ring_drop(struct ring *ring, const uint32_t *tracks, size_t count);

#endif
