/* The pool of chunks. The head of the free list has a tag that each change increments. */
#include "storage/window/chunk_pool.h"

#include <time.h>

#include "base/clock.h"
#include "storage/drain.h"
#include "storage/helper.h"

/* Chunks taken since the last visit after which a sleeping helper is woken. */
#define CHUNKS_BEFORE_WAKE 8u
/* More than this part of all chunks full: the helper is late. Without delays it finds fewer, at any recording speed. */
#define LATE_PART 8u
/* Fewer than this part of all chunks free: there are too many threads, each of which holds one chunk. */
#define FEW_PART 4u

void chunks_init(struct session *session)
{
	uint32_t count = session->window.chunks_count;
	for (uint32_t i = 0; i < count; i++)
		session->chunk_next[i] = (uint16_t)(i + 1 < count ? i + 2 : 0);
	session->chunks_head = 1;
	session->chunks_free = session->chunks_free_at_visit = count;
	session->chunks_wanted = WINDOW_FIRST_CHUNKS;
}

uint32_t chunks_take(struct session *session)
{
	uint64_t head = LOAD_ACQUIRE(&session->chunks_head);
	for (;;) {
		uint32_t index = (uint32_t)head;
		if (!index)
			return RECORDER_NO_CHUNK;
		/* The tag makes the exchange fail if the chunk was taken and put back since: a stale `next` is never
		 * used. */
		uint64_t next = ((head >> 32) + 1) << 32 | LOAD_RELAXED(&session->chunk_next[index - 1]);
		if (__atomic_compare_exchange_n(&session->chunks_head, &head, next, false, __ATOMIC_ACQ_REL,
		                                __ATOMIC_ACQUIRE)) {
			STORE_RELAXED(&session->chunk_state[index - 1], REGION_TAKEN);
			uint32_t left = __atomic_sub_fetch(&session->chunks_free, 1, __ATOMIC_RELAXED);
			if (left + CHUNKS_BEFORE_WAKE < LOAD_RELAXED(&session->chunks_free_at_visit))
				helper_wake();
			return index - 1;
		}
	}
}

void chunks_put_back(struct session *session, uint32_t chunk)
{
	STORE_RELAXED(&session->chunk_state[chunk], REGION_FREE);
	uint64_t head = LOAD_RELAXED(&session->chunks_head);
	uint64_t next;
	do {
		STORE_RELAXED(&session->chunk_next[chunk], (uint16_t)head);
		next = ((head >> 32) + 1) << 32 | (chunk + 1);
	} while (!__atomic_compare_exchange_n(&session->chunks_head, &head, next, false, __ATOMIC_ACQ_REL,
	                                      __ATOMIC_RELAXED));
	ADD_RELAXED(&session->chunks_free, 1);
}

/* Growing by one step may have to wait for the disk for 1/20 s. */
#define STEPS_PER_SECOND 20u

static uint32_t count_full(const struct session *session)
{
	uint32_t full = 0;
	for (uint32_t chunk = 0; chunk < session->window.chunks_count; chunk++)
		full += LOAD_RELAXED(&session->chunk_state[chunk]) == REGION_FULL;
	return full;
}

/* Grows the window by one step. After a failure, it does not try again for a second. */
static bool grow(struct session *session, uint64_t now)
{
	uint32_t count = session->window.chunks_count;
	if (now < session->chunks_grow_due_ticks)
		return false;
	if (window_grow(&session->window)) {
		session->chunks_grow_due_ticks = now + clock_ticks_per_second();
		return false;
	}
	/* In reverse order, so that the lowest chunk is taken first. */
	for (uint32_t chunk = session->window.chunks_count; chunk-- > count;)
		chunks_put_back(session, chunk);
	return true;
}

bool chunks_grow(struct session *session)
{
	/* The first chunks have room on the disk already: a step takes less time than draining as many chunks. */
	if (!window_is_whole(&session->window))
		return grow(session, clock_ticks());
	uint32_t count = session->window.chunks_count, full = count_full(session),
		 left = LOAD_RELAXED(&session->chunks_free);
	uint64_t now = clock_ticks(), since = now - session->chunks_looked_ticks;
	bool is_late = full > count / LATE_PART;
	/* True if, at the rate of the chunks filled since the last visit, the free ones last longer than one step. */
	bool is_calm = left * since >= full * (clock_ticks_per_second() / STEPS_PER_SECOND);
	session->chunks_looked_ticks = now;
	/* If blocks cannot be written, more chunks would fill up too. */
	if (session->writer.error)
		return false;
	if ((is_late || left < count / FEW_PART) && session->chunks_wanted == count && count < EPF_CHUNK_COUNT)
		session->chunks_wanted = count + CHUNKS_MORE;
	/* A step takes longer than filling its chunks. When late, drain first and grow on a later visit. */
	if (count >= session->chunks_wanted || is_late || !is_calm)
		return false;
	return grow(session, now);
}

/* The lock's holder frees about one chunk every 20 us. */
#define WAIT_NS 50000

/* Makes a chunk free. The drain lock is held. Returns false if that is impossible. */
static bool make_free(struct session *session)
{
	/* A chunk may have been put back since. */
	return LOAD_RELAXED(&session->chunks_free) || drain_oldest(session) || LOAD_RELAXED(&session->chunks_free) ||
	       grow(session, clock_ticks());
}

uint32_t chunks_take_lossless(struct session *session)
{
	uint32_t chunk;
	bool hopeless = false;
	int before;
	/* A thread cancelled while it writes would leave the lock held. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	while ((chunk = chunks_take(session)) == RECORDER_NO_CHUNK && !hopeless) {
		/* The holder frees chunk after chunk, so polling for a chunk is better than waiting for the lock. */
		if (pthread_mutex_trylock(&session->drain_lock) == 0) {
			hopeless = !make_free(session);
			pthread_mutex_unlock(&session->drain_lock);
		} else {
			nanosleep(&(struct timespec){ .tv_nsec = WAIT_NS }, NULL);
		}
	}
	pthread_setcancelstate(before, NULL);
	return chunk;
}
