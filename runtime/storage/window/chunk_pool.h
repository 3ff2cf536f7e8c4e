/* The pool of a window's chunks: recorders take chunks and fill them, the drain puts them back.
 *
 * Free chunks are a lock-free list, last in, first out, so that a quiet session uses few chunks. If chunks run short,
 * the helper prepares more (storage/window/window.h). A recording thread does so only in the first milliseconds of a
 * session in a file, and in a lossless session. */
#ifndef EPPROF_RUNTIME_STORAGE_WINDOW_CHUNK_POOL_H
#define EPPROF_RUNTIME_STORAGE_WINDOW_CHUNK_POOL_H

#include "storage/window/window.h"

#define CHUNK_NONE UINT32_MAX
/* The number of chunks by which the target grows each time few are free: 16 MiB. */
#define CHUNKS_MORE 256u
_Static_assert((EPF_CHUNK_COUNT - WINDOW_FIRST_CHUNKS) % CHUNKS_MORE == 0, "no more than there are");

/* The state of a chunk, or of the region inside a slot. */
enum region_state { REGION_FREE = 0, REGION_TAKEN = 1, REGION_FULL = 2 };

/* A filled chunk. */
struct full_chunk {
	uint64_t ticks; /* the time at which it became full */
	uint32_t chunk;
};

struct chunk_pool {
	struct window *window;
	uint64_t head; /* the head of the free list: a tag in the high half, index + 1 in the low half */
	uint32_t free;
	uint32_t used;           /* the highest number of a drained chunk + 1; this and the following members are
	                            protected by the drain lock */
	uint32_t free_at_visit;  /* the number of free chunks after the helper's last visit; if far fewer are free, the
	                            helper is woken early */
	uint32_t wanted;         /* the target number of chunks */
	uint64_t looked_ticks;   /* the time of the last check of full chunks */
	uint64_t grow_due_ticks; /* the earliest time of the next attempt, after the window could not grow; atomic */
	/* Arrays with one entry a chunk, in one allocation with `room` entries. */
	uint32_t room;
	uint32_t *next;          /* the free list: index + 1 of the next free chunk; 0: the last one */
	uint8_t *state;          /* enum region_state */
	uint64_t *full_ticks;    /* the time at which the chunk became full */
	struct full_chunk *full; /* a buffer for the drain */
};

/* Puts all chunks of a new window into the pool. The pool was zeroed or used for an earlier window; its memory is used
 * again if it is large enough. Returns false if out of memory. */
bool chunks_init(struct chunk_pool *pool, struct window *window);

struct epf_region *chunk_region(const struct chunk_pool *pool, uint32_t chunk);

/* Returns the index of a free chunk. Returns CHUNK_NONE if no chunk is free and all of the first chunks are prepared
 * already. Wakes the helper if many chunks were taken since its last visit. Thread: [any-thread]. */
uint32_t chunks_take(struct chunk_pool *pool);

/* Passes a full chunk to the drain. Thread: the one that took the chunk. */
void chunks_fill(struct chunk_pool *pool, uint32_t chunk);

/* Puts an emptied chunk back. The drain lock is held. */
void chunks_put_back(struct chunk_pool *pool, uint32_t chunk);

/* Collects the full chunks, the oldest first, because a ring discards blocks in this order and readers expect it.
 * `full` has room for all chunks of the window. The drain lock is held, so chunks may become full meanwhile, but none
 * becomes free. Returns the number of full chunks. */
size_t chunks_collect_full(const struct chunk_pool *pool, struct full_chunk *full);

/* Finds the oldest full chunk. The drain lock is held. Returns false if there is none. */
bool chunks_oldest_full(const struct chunk_pool *pool, struct full_chunk *oldest);

/* Grows the window by one step, unless a step failed during the last second. The drain lock is held. Returns false if
 * the window did not grow. */
bool chunks_grow(struct chunk_pool *pool);

/* The helper's first task on a visit. Prepares chunks that have disk space but are not usable yet. When all of these
 * are usable, the window grows if the helper is late or few chunks are free: one step a visit, while there is time, but
 * not if blocks cannot be written. Returns true if a step was taken and another one may follow. The drain lock is
 * held. */
bool chunks_grow_if_short(struct chunk_pool *pool, bool writing_fails);

#endif
