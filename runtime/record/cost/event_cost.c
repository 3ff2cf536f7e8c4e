/* Measures what recording an event costs: epp_event_begin and epp_event_end themselves, with a recorder whose stack and
 * region are no session's, so that nothing is recorded. */
#include <stdlib.h>

#include "record/recorder.h"

#define PAIRS 64u
#define ROUNDS 9u

/* What a session's window has for a thread. */
struct room {
	struct epf_slot slot;
	struct epf_record records[PAIRS];
};

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* Returns the time of PAIRS events in ticks, the median of the rounds. */
static uint64_t measure(struct room *room)
{
	epp_session *nowhere = (epp_session *)(void *)room;
	uint64_t took[ROUNDS];
	recorder_hot = (struct recorder_hot){ .handle = (uintptr_t)room,
		                              .top = room->slot.open,
		                              .top_end = room->slot.open + EPF_OPEN_MAX,
		                              .next_id = 1,
		                              .id_end = UINT64_MAX,
		                              .slot = &room->slot,
		                              .limit = (uint8_t *)(room->records + PAIRS) };
	for (unsigned round = 0; round < ROUNDS; round++) {
		recorder_hot.at = (uint8_t *)room->records;
		uint64_t begin = clock_ticks();
		for (unsigned i = 0; i < PAIRS; i++)
			epp_event_end(nowhere, epp_event_begin(nowhere, EPP_NODE, 1), NULL, 0);
		took[round] = clock_ticks() - begin;
	}
	recorder_hot = (struct recorder_hot){ .handle = RECORDER_CACHE_EMPTY };
	qsort(took, ROUNDS, sizeof(took[0]), by_value);
	return took[ROUNDS / 2];
}

uint64_t event_cost_ps(void)
{
	static uint64_t measured;
	uint64_t cost_ps = LOAD_RELAXED(&measured);
	/* The fast path needs the fast clock, and this thread has no recorder in its place. */
	if (cost_ps || !clock_is_fast() || recorder_cache.resident)
		return cost_ps;
	struct room *room = calloc(1, sizeof(*room));
	if (!room)
		return 0;
	cost_ps = (uint64_t)((double)measure(room) / PAIRS / (double)clock_ticks_per_second() * 1e12);
	free(room);
	STORE_RELAXED(&measured, cost_ps);
	return cost_ps;
}
