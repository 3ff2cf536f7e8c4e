/* The pool of a window's chunks: recorders take chunks and fill them, the drain puts them back.
 *
 * Free chunks are a lock-free list, last in, first out, so that a quiet session uses few chunks. If chunks run short,
 * the helper prepares more (storage/window/window.h). A recording thread does so only in the first milliseconds of a
 * session in a file, and in a lossless session. */
#ifndef EPPROF_RUNTIME_STORAGE_WINDOW_CHUNK_POOL_H
#define EPPROF_RUNTIME_STORAGE_WINDOW_CHUNK_POOL_H

#include "storage/window/window.h"

#define CHUNK_NONE UINT32_MAX
/* How many chunks are added each time they run short: 16 MiB. */
#define CHUNKS_MORE 256u
_Static_assert((EPF_CHUNK_COUNT - WINDOW_FIRST_CHUNKS) % CHUNKS_MORE == 0, "no more than there are");

/* Of a chunk, or of the region inside a slot. */
enum region_state { REGION_FREE = 0, REGION_TAKEN = 1, REGION_FULL = 2 };

/* A filled chunk. */
struct full_chunk {
	uint64_t ticks; /* when it became full */
	uint32_t chunk;
};

struct chunk_pool {
	struct window *window;
	uint64_t head; /* free list: tag in the high half, index + 1 in the low */
	uint32_t free;
	uint32_t used;           /* high-water mark of drained chunks; under the drain lock, as are the rest */
	uint32_t free_at_visit;  /* free chunks after the helper's last visit; far fewer wake it early */
	uint32_t wanted;         /* target number of chunks */
	uint64_t looked_ticks;   /* time of the last check of full chunks */
	uint64_t grow_due_ticks; /* earliest time of the next attempt, after the window could not grow; atomic */
	/* One entry a chunk, in one piece of memory with `room` entries. */
	uint32_t room;
	uint32_t *next;          /* free list: index + 1; 0: the last */
	uint8_t *state;          /* enum region_state */
	uint64_t *full_ticks;    /* when it became full */
	struct full_chunk *full; /* for the drain */
};

/* Puts all chunks of a new window into the pool, which was zeroed or used before: its memory is kept until the pool of
 * a later window needs more. Returns false if out of memory. */
bool chunks_init(struct chunk_pool *pool, struct window *window);

struct epf_region *chunk_region(const struct chunk_pool *pool, uint32_t chunk);

/* Returns a chunk's index, or CHUNK_NONE if none is free and none of the first ones is left to prepare. Wakes the helper
 * if many were taken since its last visit. Thread: [any-thread]. */
uint32_t chunks_take(struct chunk_pool *pool);

/* Passes a filled chunk on to the drain.  Thread: the one that took it. */
void chunks_fill(struct chunk_pool *pool, uint32_t chunk);

/* Puts an emptied chunk back. The drain lock is held. */
void chunks_put_back(struct chunk_pool *pool, uint32_t chunk);

/* Collects the full chunks, oldest first: the order in which a ring discards them and in which readers expect them.
 * `full` has room for all chunks of the window. The drain lock is held, so chunks may become full meanwhile, but none
 * becomes free. Returns how many. */
size_t chunks_collect_full(const struct chunk_pool *pool, struct full_chunk *full);

/* Finds the oldest full chunk. The drain lock is held. Returns false if there is none. */
bool chunks_oldest_full(const struct chunk_pool *pool, struct full_chunk *oldest);

/* Grows the window by one step, unless that failed during the last second. The drain lock is held. Returns false if the
 * window did not grow. */
bool chunks_grow(struct chunk_pool *pool);

/* The helper's first task on a visit. Prepares the chunks that have room on the disk but are not usable yet. After
 * that, if the helper is late or few chunks are free, the window is to grow, one step a visit while there is time, but
 * not if blocks cannot be written. Returns true if a step was taken and there may be another. The drain lock is
 * held. */
bool chunks_grow_if_short(struct chunk_pool *pool, bool writing_fails);

#endif
