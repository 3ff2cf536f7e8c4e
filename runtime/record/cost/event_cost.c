/* Measures what recording an event costs: epp_event_begin and epp_event_end themselves, with a recorder whose stack and
 * region are no session's, so that nothing is recorded. */
#include <stdlib.h>

#include "record/filter/name_filter.h"
#include "record/recorder.h"

#define PAIRS 64u
#define ROUNDS 9u
/* With a throttle, the records of a chunk: their memory is not in the nearest cache, as when a program records. */
#define THROTTLED_PAIRS 1024u
#define ARGS 2u

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

static uint64_t median(uint64_t took[ROUNDS])
{
	qsort(took, ROUNDS, sizeof(took[0]), by_value);
	return took[ROUNDS / 2];
}

static uint64_t to_ps(uint64_t ticks, unsigned count)
{
	return (uint64_t)((double)ticks / count / (double)clock_ticks_per_second() * 1e12);
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
	return median(took);
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
	cost_ps = to_ps(measure(room), PAIRS);
	free(room);
	STORE_RELAXED(&measured, cost_ps);
	return cost_ps;
}

/* ---- with a throttle ---- */

/* What they are on most machines. */
static struct budget_costs costs_known = { .event_ps = 60000, .slot_ps = 3000, .left_out_ps = 4000, .clock_ps = 20000 };
static bool costs_are_measured;

struct throttled_room {
	struct epf_slot slot;
	struct recorder recorder;
	struct throttle throttle;
	struct name_filter filter;
	uint8_t records[THROTTLED_PAIRS * (EPF_RECORD_BYTES + ARGS * sizeof(struct epf_arg))];
};

/* A thread in a run that is recorded. */
static void make_resident(struct throttled_room *room)
{
	room->filter.throttle = &room->throttle;
	recorder_hot = (struct recorder_hot){ .handle = (uintptr_t)room,
		                              .top = room->slot.open + 1,
		                              .top_end = room->slot.open,
		                              .next_id = 2,
		                              .id_end = UINT64_MAX,
		                              .slot = &room->slot,
		                              .limit = room->records + sizeof(room->records),
		                              .filter = &room->filter };
	room->recorder.hot = &recorder_hot;
	room->recorder.slot = &room->slot;
	recorder_cache.resident = &room->recorder;
	recorder_cache.handle = (uintptr_t)room;
}

/* Returns the time of an event with so many args, recorded or left out, in picoseconds. */
static uint64_t measure_throttled(struct throttled_room *room, size_t args_count, enum throttle_skip skip)
{
	static const epp_arg args[ARGS] = { { .key = 1, .value.i64 = 1 }, { .key = 1, .value.i64 = 2 } };
	epp_session *nowhere = (epp_session *)(void *)room;
	uint64_t took[ROUNDS];
	room->recorder.throttle.skip = (uint8_t)skip;
	recorder_hot.handle = skip ? RECORDER_CACHE_EMPTY : (uintptr_t)room;
	for (unsigned round = 0; round < ROUNDS; round++) {
		recorder_hot.at = room->records;
		uint64_t begin = clock_ticks();
		for (unsigned i = 0; i < THROTTLED_PAIRS; i++)
			epp_event_end(nowhere, epp_event_begin(nowhere, EPP_NODE, 1), args, args_count);
		took[round] = clock_ticks() - begin;
	}
	return to_ps(median(took), THROTTLED_PAIRS);
}

static uint64_t measure_clock(void)
{
	uint64_t begin = clock_ticks();
	for (unsigned i = 1; i < PAIRS; i++)
		clock_ticks();
	return to_ps(clock_ticks() - begin, PAIRS);
}

void event_costs_measure(void)
{
	if (LOAD_RELAXED(&costs_are_measured) || !clock_is_fast() || recorder_cache.resident)
		return;
	struct throttled_room *room = calloc(1, sizeof(*room));
	if (!room)
		return;
	make_resident(room);
	uint64_t event_ps = measure_throttled(room, 0, SKIP_NONE), with_args_ps = measure_throttled(room, ARGS, SKIP_NONE);
	STORE_RELAXED(&costs_known.left_out_ps, measure_throttled(room, 0, SKIP_RUN));
	STORE_RELAXED(&costs_known.event_ps, event_ps);
	STORE_RELAXED(&costs_known.slot_ps, with_args_ps > event_ps ? (with_args_ps - event_ps) / ARGS : 0);
	STORE_RELAXED(&costs_known.clock_ps, measure_clock());
	recorder_cache.resident = NULL;
	recorder_cache.handle = RECORDER_CACHE_EMPTY;
	recorder_hot = (struct recorder_hot){ .handle = RECORDER_CACHE_EMPTY };
	STORE_RELAXED(&costs_are_measured, true);
	free(room);
}

bool event_costs(struct budget_costs *costs)
{
	*costs = (struct budget_costs){ .event_ps = LOAD_RELAXED(&costs_known.event_ps),
		                        .slot_ps = LOAD_RELAXED(&costs_known.slot_ps),
		                        .left_out_ps = LOAD_RELAXED(&costs_known.left_out_ps),
		                        .clock_ps = LOAD_RELAXED(&costs_known.clock_ps) };
	return LOAD_RELAXED(&costs_are_measured);
}
