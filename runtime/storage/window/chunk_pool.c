/* The head of the free list carries a tag that every change counts up. */
#include "storage/window/chunk_pool.h"

#include <time.h>

#include "base/clock.h"
#include "storage/drain.h"
#include "storage/helper.h"

/* How many chunks may go between two visits before a sleeping helper is woken. */
#define CHUNKS_BEFORE_WAKE 8u
/* Of all, how many are full when the helper has come late: if nothing holds it up it finds fewer, whatever the speed. */
#define LATE_PART 8u
/* Of all, how many are left when threads, which have one in hand each, take too many. */
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
		/* The tag makes the exchange fail if the chunk was taken and put back since: what is read here is then void. */
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

/* A step may have to wait for the disk for so long. */
#define STEPS_PER_SECOND 20u

static uint32_t count_full(const struct session *session)
{
	uint32_t full = 0;
	for (uint32_t chunk = 0; chunk < session->window.chunks_count; chunk++)
		full += LOAD_RELAXED(&session->chunk_state[chunk]) == REGION_FULL;
	return full;
}

/* A step of the window; where it fails, not again for a second. */
static bool grow(struct session *session, uint64_t now)
{
	uint32_t count = session->window.chunks_count;
	if (now < session->chunks_grow_due_ticks)
		return false;
	if (window_grow(&session->window)) {
		session->chunks_grow_due_ticks = now + clock_ticks_per_second();
		return false;
	}
	/* The lowest is taken first. */
	for (uint32_t chunk = session->window.chunks_count; chunk-- > count;)
		chunks_put_back(session, chunk);
	return true;
}

bool chunks_grow(struct session *session)
{
	/* These have room already: a step takes less time than to empty as many. */
	if (!window_is_whole(&session->window))
		return grow(session, clock_ticks());
	uint32_t count = session->window.chunks_count, full = count_full(session),
		 left = LOAD_RELAXED(&session->chunks_free);
	uint64_t now = clock_ticks(), since = now - session->chunks_looked_ticks;
	bool is_late = full > count / LATE_PART;
	/* As fast as those that are full now were filled, the others last until a step has been taken. */
	bool is_calm = left * since >= full * (clock_ticks_per_second() / STEPS_PER_SECOND);
	session->chunks_looked_ticks = now;
	/* Where blocks cannot be written, more chunks would fill up too. */
	if (session->writer.error)
		return false;
	if ((is_late || left < count / FEW_PART) && session->chunks_wanted == count && count < EPF_CHUNK_COUNT)
		session->chunks_wanted = count + CHUNKS_MORE;
	/* Room takes longer to make than to fill: those that are full go first, the room is for the next time. */
	if (count >= session->chunks_wanted || is_late || !is_calm)
		return false;
	return grow(session, now);
}

/* Somebody else writes, which frees a chunk every 20 us or so. */
#define WAIT_NS 50000

/* Makes a chunk free; the drain lock is held.  False: there is none to be had. */
static bool make_free(struct session *session)
{
	/* One may have been put back since. */
	return LOAD_RELAXED(&session->chunks_free) || drain_oldest(session) || LOAD_RELAXED(&session->chunks_free) ||
	       grow(session, clock_ticks());
}

uint32_t chunks_take_lossless(struct session *session)
{
	uint32_t chunk;
	bool hopeless = false;
	int before;
	/* A thread that is cancelled while it writes would keep the lock. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	while ((chunk = chunks_take(session)) == RECORDER_NO_CHUNK && !hopeless) {
		/* Who has the lock frees one chunk after the other, so a thread does not wait for the lock itself. */
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
