/* Measures the cost of recording an event.  Calls epp_event_begin and epp_event_end with a recorder whose stack and
 * region belong to no session, so that nothing is recorded in a trace. */
#include <stdlib.h>
#include <string.h>

#include "record/filter/name_filter.h"
#include "record/recorder.h"

#define PAIRS 64u
#define ROUNDS 9u
/* The number of events in a measurement with a throttle.  Their records fill a chunk, which does not fit into the
 * nearest cache, as in a recording program. */
#define THROTTLED_PAIRS 1024u
#define ARGS 2u

/* Memory in place of a thread's slot and region in the window of a session. */
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

/* Returns the time of PAIRS events in ticks: the median of the rounds. */
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
	/* The fast path is measured.  It is not available without the fast clock.  If this thread has a recorder of its
	 * own, that must not be replaced. */
	if (cost_ps || !clock_is_fast() || recorder_cache.resident)
		return cost_ps;
	/* Not on the heap, because a fork meanwhile would leave the heap locked under a sanitizer. */
	struct room room = { 0 };
	cost_ps = to_ps(measure(&room), PAIRS);
	STORE_RELAXED(&measured, cost_ps);
	return cost_ps;
}

/* ---- with a throttle ---- */

/* How often a round is measured, and the number of rounds of the first measurement. */
#define EVERY_MS 100u
#define FIRST_ROUNDS 5u

enum part { PART_EVENT, PART_SLOT, PART_LEFT_OUT, PART_CLOCK, PARTS };

/* The costs in picoseconds. These are typical values, until event_costs_measure replaces them by measured ones. */
static uint64_t costs_known[PARTS] = { 60000, 3000, 4000, 20000 };
static bool costs_are_measured;

struct throttled_room {
	struct epf_slot slot;
	struct recorder recorder;
	struct throttle throttle;
	struct name_filter filter;
	struct cost_history history[PARTS];
	uint64_t measured_ticks;
	uint8_t records[THROTTLED_PAIRS * (EPF_RECORD_BYTES + ARGS * sizeof(struct epf_arg))];
};

uint64_t cost_history_add(struct cost_history *history, uint64_t ps)
{
	uint64_t sorted[COST_HISTORY];
	unsigned count = history->count < COST_HISTORY ? history->count + 1 : COST_HISTORY;
	history->ps[history->next] = ps;
	history->next = (history->next + 1) % COST_HISTORY;
	history->count = count;
	memcpy(sorted, history->ps, count * sizeof(sorted[0]));
	qsort(sorted, count, sizeof(sorted[0]), by_value);
	return sorted[(count - 1) / 2];
}

/* Makes the recorder of `room` the resident one of this thread, in the state inside a run that is recorded. */
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

/* Returns the time of an event with `args_count` args, recorded or left out, in picoseconds. */
static uint64_t measure_throttled(struct throttled_room *room, size_t args_count, enum throttle_skip skip)
{
	static const epp_arg args[ARGS] = { { .key = 1, .value.i64 = 1 }, { .key = 1, .value.i64 = 2 } };
	epp_session *nowhere = (epp_session *)(void *)room;
	room->recorder.throttle.skip = (uint8_t)skip;
	recorder_hot.handle = skip ? RECORDER_CACHE_EMPTY : (uintptr_t)room;
	recorder_hot.at = room->records;
	uint64_t begin = clock_ticks();
	for (unsigned i = 0; i < THROTTLED_PAIRS; i++)
		epp_event_end(nowhere, epp_event_begin(nowhere, EPP_NODE, 1), args, args_count);
	return to_ps(clock_ticks() - begin, THROTTLED_PAIRS);
}

/* Functions that do nothing, like begin and end while nothing records. */
static __attribute__((noinline)) uint64_t begin_nothing(epp_session *session, epp_category category, epp_name name)
{
	__asm__ volatile("" : : "r"(session), "r"(category), "r"(name));
	return 0;
}

static __attribute__((noinline)) void end_nothing(epp_session *session, uint64_t id, const epp_arg *args, size_t count)
{
	__asm__ volatile("" : : "r"(session), "r"(id), "r"(args), "r"(count));
}

/* Returns the time of the two calls for an event, which a program makes even if nothing records. */
static uint64_t measure_calls(struct throttled_room *room)
{
	epp_session *nowhere = (epp_session *)(void *)room;
	uint64_t begin = clock_ticks();
	for (unsigned i = 0; i < THROTTLED_PAIRS; i++)
		end_nothing(nowhere, begin_nothing(nowhere, EPP_NODE, 1), NULL, 0);
	return to_ps(clock_ticks() - begin, THROTTLED_PAIRS);
}

static uint64_t measure_clock(void)
{
	uint64_t begin = clock_ticks();
	for (unsigned i = 1; i < PAIRS; i++)
		clock_ticks();
	return to_ps(clock_ticks() - begin, PAIRS);
}

/* Measures all costs one directly after the other, so that the processor is in the same state for all of them. */
static void measure_round(struct throttled_room *room)
{
	uint64_t round[PARTS];
	make_resident(room);
	round[PART_EVENT] = measure_throttled(room, 0, SKIP_NONE);
	uint64_t with_args_ps = measure_throttled(room, ARGS, SKIP_NONE);
	round[PART_SLOT] = with_args_ps > round[PART_EVENT] ? (with_args_ps - round[PART_EVENT]) / ARGS : 0;
	/* A program makes the two calls even if nothing records, so their time is not a part of the cost. */
	uint64_t left_out_ps = measure_throttled(room, 0, SKIP_RUN), calls_ps = measure_calls(room);
	round[PART_LEFT_OUT] = left_out_ps > calls_ps ? left_out_ps - calls_ps : 0;
	round[PART_CLOCK] = measure_clock();
	recorder_cache.resident = NULL;
	recorder_cache.handle = RECORDER_CACHE_EMPTY;
	recorder_hot = (struct recorder_hot){ .handle = RECORDER_CACHE_EMPTY };
	for (unsigned part = 0; part < PARTS; part++)
		STORE_RELAXED(&costs_known[part], cost_history_add(&room->history[part], round[part]));
	room->measured_ticks = clock_ticks();
}

void event_costs_measure(void)
{
	static struct throttled_room *room;
	unsigned rounds = 1;
	if (!clock_is_fast() || recorder_cache.resident)
		return;
	if (!room) {
		room = calloc(1, sizeof(*room));
		if (!room)
			return;
		/* The first round is discarded, because it includes page faults. */
		measure_round(room);
		memset(room->history, 0, sizeof(room->history));
		rounds = FIRST_ROUNDS;
	} else if (clock_ticks() - room->measured_ticks < clock_ticks_per_second() / 1000 * EVERY_MS) {
		return;
	}
	while (rounds--)
		measure_round(room);
	STORE_RELAXED(&costs_are_measured, true);
}

bool event_costs(struct budget_costs *costs)
{
	*costs = (struct budget_costs){ .event_ps = LOAD_RELAXED(&costs_known[PART_EVENT]),
		                        .slot_ps = LOAD_RELAXED(&costs_known[PART_SLOT]),
		                        .left_out_ps = LOAD_RELAXED(&costs_known[PART_LEFT_OUT]),
		                        .clock_ps = LOAD_RELAXED(&costs_known[PART_CLOCK]) };
	return LOAD_RELAXED(&costs_are_measured);
}
