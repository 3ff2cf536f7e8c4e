/* The pool of free chunks. It never waits for a free chunk; storage/drain.c does. The head of the free list contains a
 * tag, which each change of the list increments, so that a thread with an old head detects the change. */
#include "storage/window/chunk_pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomics.h"
#include "base/clock.h"
#include "base/helper.h"

/* If this many chunks were taken since the last visit, a sleeping helper is woken. */
#define CHUNKS_BEFORE_WAKE 8u
/* The helper is late if more than 1/LATE_PART of all chunks are full. If nothing delays the helper, it finds fewer full
 * chunks, at any recording speed. */
#define LATE_PART 8u
/* If fewer than 1/FEW_PART of all chunks are free, the threads need more chunks: each thread holds one. */
#define FEW_PART 4u

/* The arrays with the largest elements are first in the memory, so that all arrays are aligned. */
static bool make_arrays(struct chunk_pool *pool, uint32_t room)
{
	size_t bytes = sizeof(*pool->full) + sizeof(*pool->full_ticks) + sizeof(*pool->next) + sizeof(*pool->state);
	struct full_chunk *full = pool->full;
	if (room > pool->room) {
		full = malloc(room * bytes);
		if (!full)
			return false;
		free(pool->full);
	} else {
		room = pool->room;
	}
	*pool = (struct chunk_pool){ .room = room, .full = full };
	pool->full_ticks = (uint64_t *)(void *)(full + room);
	pool->next = (uint32_t *)(void *)(pool->full_ticks + room);
	pool->state = (uint8_t *)(pool->next + room);
	memset(full, 0, room * bytes);
	return true;
}

bool chunks_init(struct chunk_pool *pool, struct window *window)
{
	if (!make_arrays(pool, window->chunks_limit))
		return false;
	pool->window = window;
	uint32_t count = window_chunks_count(window);
	for (uint32_t i = 0; i < count; i++)
		pool->next[i] = i + 1 < count ? i + 2 : 0;
	pool->head = 1;
	pool->free = pool->free_at_visit = count;
	pool->wanted = window->chunks_first;
	return true;
}

struct epf_region *chunk_region(const struct chunk_pool *pool, uint32_t chunk)
{
	return (struct epf_region *)(void *)(pool->window->chunks + (size_t)chunk * EPF_CHUNK_BYTES);
}

/* Returns false for one second after a failed attempt to make chunks usable. */
static bool is_growth_due(const struct chunk_pool *pool)
{
	return clock_ticks() >= LOAD_RELAXED(&pool->grow_due_ticks);
}

static void delay_growth(struct chunk_pool *pool)
{
	STORE_RELAXED(&pool->grow_due_ticks, clock_ticks() + clock_ticks_per_second());
}

/* In the first milliseconds of a session in a file, a thread may need more chunks than the helper has prepared. The
 * thread then prepares the next chunk itself, which takes some 10 us, instead of losing events. */
static uint32_t prepare_one(struct chunk_pool *pool)
{
	struct chunk_range added;
	int cancel_state;
	if (window_chunks_count(pool->window) >= pool->window->chunks_first || !is_growth_due(pool))
		return CHUNK_NONE;
	/* Cancellation is disabled, because the write in window_prepare is a cancellation point. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	int error = window_prepare(pool->window, 1, &added);
	pthread_setcancelstate(cancel_state, NULL);
	if (error)
		delay_growth(pool);
	if (error || !added.count)
		return CHUNK_NONE;
	STORE_RELAXED(&pool->state[added.first], REGION_TAKEN);
	helper_wake();
	return added.first;
}

uint32_t chunks_take(struct chunk_pool *pool)
{
	uint64_t head = LOAD_ACQUIRE(&pool->head);
	for (;;) {
		uint32_t index = (uint32_t)head;
		if (!index)
			return prepare_one(pool);
		/* If the chunk was taken and put back since, the tag makes the exchange fail, so that a stale `next` is
		 * never used. */
		uint64_t next = ((head >> 32) + 1) << 32 | LOAD_RELAXED(&pool->next[index - 1]);
		if (__atomic_compare_exchange_n(&pool->head, &head, next, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			STORE_RELAXED(&pool->state[index - 1], REGION_TAKEN);
			uint32_t left = __atomic_sub_fetch(&pool->free, 1, __ATOMIC_RELAXED);
			if (left + CHUNKS_BEFORE_WAKE < LOAD_RELAXED(&pool->free_at_visit))
				helper_wake();
			return index - 1;
		}
	}
}

void chunks_fill(struct chunk_pool *pool, uint32_t chunk)
{
	STORE_RELAXED(&pool->full_ticks[chunk], clock_ticks());
	STORE_RELEASE(&pool->state[chunk], REGION_FULL);
}

static void add_free(struct chunk_pool *pool, uint32_t chunk)
{
	STORE_RELAXED(&pool->state[chunk], REGION_FREE);
	uint64_t head = LOAD_RELAXED(&pool->head);
	uint64_t next;
	do {
		STORE_RELAXED(&pool->next[chunk], (uint32_t)head);
		next = ((head >> 32) + 1) << 32 | (chunk + 1);
	} while (!__atomic_compare_exchange_n(&pool->head, &head, next, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	ADD_RELAXED(&pool->free, 1);
}

void chunks_put_back(struct chunk_pool *pool, uint32_t chunk)
{
	if (chunk >= pool->used)
		pool->used = chunk + 1;
	add_free(pool, chunk);
}

/* ---- full chunks ----
 *
 * A scan may miss a chunk, but find one that the same thread filled later. The next scan finds both. The scan is
 * therefore repeated until it finds no more chunks than the previous one. */

static int by_ticks(const void *a, const void *b)
{
	const struct full_chunk *x = a, *y = b;
	return (x->ticks > y->ticks) - (x->ticks < y->ticks);
}

/* Scans the chunks once. Stores the full ones in `full`, which may be NULL, and the oldest of them in `oldest`. Returns
 * their number. */
static size_t scan(const struct chunk_pool *pool, struct full_chunk *full, struct full_chunk *oldest)
{
	size_t count = 0;
	for (uint32_t chunk = 0; chunk < window_chunks_count(pool->window); chunk++) {
		if (LOAD_ACQUIRE(&pool->state[chunk]) != REGION_FULL)
			continue;
		struct full_chunk found = { LOAD_RELAXED(&pool->full_ticks[chunk]), chunk };
		if (count == 0 || found.ticks < oldest->ticks)
			*oldest = found;
		if (full)
			full[count] = found;
		count++;
	}
	return count;
}

static size_t scan_until_stable(const struct chunk_pool *pool, struct full_chunk *full, struct full_chunk *oldest)
{
	size_t known, count = 0;
	do
		known = count, count = scan(pool, full, oldest);
	while (count > known);
	return count;
}

size_t chunks_collect_full(const struct chunk_pool *pool, struct full_chunk *full)
{
	struct full_chunk oldest;
	size_t count = scan_until_stable(pool, full, &oldest);
	if (count > 1)
		qsort(full, count, sizeof(*full), by_ticks);
	return count;
}

bool chunks_oldest_full(const struct chunk_pool *pool, struct full_chunk *oldest)
{
	return scan_until_stable(pool, NULL, oldest) > 0;
}

/* ---- more chunks ---- */

/* Growing by one step takes 0.2 ms, or some milliseconds if the disk is busy. */
#define STEPS_PER_SECOND 200u

static uint32_t count_full(const struct chunk_pool *pool)
{
	uint32_t full = 0;
	for (uint32_t chunk = 0; chunk < window_chunks_count(pool->window); chunk++)
		full += LOAD_RELAXED(&pool->state[chunk]) == REGION_FULL;
	return full;
}

bool chunks_grow(struct chunk_pool *pool)
{
	struct chunk_range added;
	if (!is_growth_due(pool))
		return false;
	if (window_grow(pool->window, &added)) {
		delay_growth(pool);
		return false;
	}
	/* Adds the chunks in reverse order, so that the lowest one is taken first. */
	for (uint32_t i = added.count; i-- > 0;)
		add_free(pool, added.first + i);
	return true;
}

bool chunks_grow_if_short(struct chunk_pool *pool, bool writing_fails)
{
	/* The first chunks already have disk space, so a step takes less time than draining as many chunks. */
	if (!window_is_whole(pool->window))
		return chunks_grow(pool);
	uint32_t count = window_chunks_count(pool->window), full = count_full(pool), left = LOAD_RELAXED(&pool->free);
	uint64_t now = clock_ticks(), since = now - pool->looked_ticks;
	bool is_late = full > count / LATE_PART;
	/* True if the free chunks last longer than one step takes, at the rate at which chunks were filled since the
	 * last visit. */
	bool is_calm = left * since >= full * (clock_ticks_per_second() / STEPS_PER_SECOND);
	pool->looked_ticks = now;
	/* If blocks cannot be written, further chunks would fill up, too. */
	if (writing_fails)
		return false;
	if ((is_late || left < count / FEW_PART) && pool->wanted == count && count < pool->window->chunks_limit)
		pool->wanted = count + CHUNKS_MORE;
	/* A step takes longer than threads need to fill its chunks. If the helper is late, it drains first and grows on
	 * a later visit. */
	if (count >= pool->wanted || is_late || !is_calm)
		return false;
	return chunks_grow(pool);
}
