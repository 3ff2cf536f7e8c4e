/* A model of how events get from a thread's stack through a region into a block, by the order of stores that
 * runtime/format/format.h specifies, in all interleavings.  The recorder (record/event.c, region_begin in
 * record/recorder.c) and the helper (storage/drain.c) each make one store after the other; after every store, in every
 * interleaving, the process is killed and the file read as trace/reader_window.c does.  Each event that has begun must be
 * there once, and no other.
 *
 * Then two neighbouring stores of one of the two are swapped: a kill must show it, except for the swaps that are listed
 * as harmless.  Stores become visible in program order, as on x86-64 and as release stores do. */
#include <stdbool.h>
#include <string.h>

#include "tests/support/check.h"

#define RECORDS 2 /* of the region */
#define EVENTS 3  /* the last one needs the region again */

struct state {
	int recorder_at, helper_at; /* in their programs */
	/* The file. */
	struct {
		int sequence, sequence_used;
		bool has_fields;
		struct {
			int id;
			bool has_tail;
		} records[RECORDS];
	} region;
	struct {
		int id;
		bool has_tail;
	} open;
	struct {
		int ids[RECORDS], sequence, parts_count; /* its checksum is right if it has all parts */
	} block;
	/* Memory. */
	bool is_full, is_free;
	bool begun[EVENTS + 1]; /* the event's entry is pushed */
};

/* ---- the programs: what each store is, and its operand ---- */

enum store {
	WAIT_FREE,
	FILL_FIELDS,
	USE_SEQUENCE,
	PUSH_ENTRY,
	PUSH_TAIL,
	POP,
	RECORD_ID,
	RECORD_TAIL,
	HAND_OVER,
	WAIT_FULL,
	WRITE_PART,
	CLEAR_RECORD,
	NEXT_SEQUENCE,
	GIVE_BACK,
};

struct step {
	enum store store;
	int id, place;
};

static const struct step recorder[] = {
	{ .store = PUSH_ENTRY, .id = 1 },
	{ .store = PUSH_TAIL, .id = 1 },
	{ .store = FILL_FIELDS },
	{ .store = USE_SEQUENCE },
	{ .store = RECORD_ID, .id = 1, .place = 0 },
	{ .store = RECORD_TAIL, .place = 0 },
	{ .store = POP },
	{ .store = PUSH_ENTRY, .id = 2 },
	{ .store = PUSH_TAIL, .id = 2 },
	{ .store = RECORD_ID, .id = 2, .place = 1 },
	{ .store = RECORD_TAIL, .place = 1 },
	{ .store = POP },
	{ .store = HAND_OVER },
	{ .store = PUSH_ENTRY, .id = 3 },
	{ .store = PUSH_TAIL, .id = 3 },
	{ .store = WAIT_FREE },
	{ .store = FILL_FIELDS },
	{ .store = USE_SEQUENCE },
	{ .store = RECORD_ID, .id = 3, .place = 0 },
	{ .store = RECORD_TAIL, .place = 0 },
	{ .store = POP },
};
#define RECORDER_STEPS ((int)(sizeof recorder / sizeof *recorder))

static const struct step helper[] = {
	{ .store = WAIT_FULL },
	{ .store = WRITE_PART, .place = 0 },
	{ .store = WRITE_PART, .place = 1 },
	{ .store = CLEAR_RECORD, .place = 0 },
	{ .store = CLEAR_RECORD, .place = 1 },
	{ .store = NEXT_SEQUENCE },
	{ .store = GIVE_BACK },
};
#define HELPER_STEPS ((int)(sizeof helper / sizeof *helper))

/* Returns false if the step has to wait. */
static bool make_step(struct state *state, const struct step *step)
{
	switch (step->store) {
	case WAIT_FREE:
		return state->is_free;
	case WAIT_FULL:
		return state->is_full;
	case FILL_FIELDS:
		state->region.has_fields = true;
		break;
	case USE_SEQUENCE:
		state->region.sequence_used = state->region.sequence;
		break;
	case PUSH_ENTRY:
		state->open.id = step->id;
		break;
	case PUSH_TAIL:
		state->open.has_tail = true;
		state->begun[step->id] = true;
		break;
	case POP:
		state->open.has_tail = false;
		break;
	case RECORD_ID:
		state->region.records[step->place].id = step->id;
		break;
	case RECORD_TAIL:
		state->region.records[step->place].has_tail = true;
		break;
	case HAND_OVER:
		state->is_full = true;
		break;
	case WRITE_PART:
		if (state->region.records[step->place].has_tail)
			state->block.ids[step->place] = state->region.records[step->place].id;
		state->block.sequence = state->region.sequence;
		state->block.parts_count++;
		break;
	case CLEAR_RECORD:
		state->region.records[step->place].id = 0;
		state->region.records[step->place].has_tail = false;
		break;
	case NEXT_SEQUENCE:
		state->region.sequence++;
		state->region.has_fields = false; /* those of its last use */
		break;
	case GIVE_BACK:
		state->is_free = true;
		break;
	}
	return true;
}

/* ---- reading the file of a killed process ---- */

/* Returns whether each event that has begun is there once, and no other one. */
static bool is_consistent(const struct state *state)
{
	int found[EVENTS + 1] = { 0 };

	bool has_block = state->block.parts_count == RECORDS;
	for (int i = 0; has_block && i < RECORDS; i++)
		found[state->block.ids[i]] += state->block.ids[i] != 0;
	bool is_in_block = has_block && state->block.sequence == state->region.sequence;
	if (!is_in_block && state->region.sequence_used == state->region.sequence) {
		for (int i = 0; i < RECORDS && state->region.records[i].has_tail; i++) {
			if (!state->region.has_fields || !state->region.records[i].id)
				return false;
			found[state->region.records[i].id]++;
		}
	}
	if (state->open.has_tail && !found[state->open.id])
		found[state->open.id]++;
	for (int id = 0; id <= EVENTS; id++) {
		if (found[id] != state->begun[id])
			return false;
	}
	return true;
}

/* ---- all interleavings ---- */

static const struct step *programs[2];
static unsigned states_count, ends_count;

static bool explore(const struct state *state)
{
	states_count++;
	if (!is_consistent(state))
		return false;
	if (state->recorder_at == RECORDER_STEPS && state->helper_at == HELPER_STEPS)
		ends_count++;
	for (int who = 0; who < 2; who++) {
		struct state next = *state;
		int *at = who ? &next.helper_at : &next.recorder_at;
		if (*at == (who ? HELPER_STEPS : RECORDER_STEPS) || !make_step(&next, &programs[who][*at]))
			continue;
		++*at;
		if (!explore(&next))
			return false;
	}
	return true;
}

static bool holds(const struct step *of_recorder, const struct step *of_helper)
{
	struct state state = { .region = { .sequence = 1 } };

	programs[0] = of_recorder;
	programs[1] = of_helper;
	states_count = ends_count = 0;
	return explore(&state) && ends_count > 0; /* both reach their ends */
}

START_TEST(no_kill_loses_or_repeats_an_event)
{
	ck_assert(holds(recorder, helper));
	ck_assert_uint_gt(ends_count, 10);
	ck_assert_uint_gt(states_count, 100);
}
END_TEST

/* Swaps of a step with the next one that no kill shows. */
static const enum store harmless[][2] = {
	/* The stack and the region are independent. */
	{ PUSH_TAIL, FILL_FIELDS },
	{ PUSH_TAIL, RECORD_ID },
	{ PUSH_TAIL, WAIT_FREE },
	{ HAND_OVER, PUSH_ENTRY },
	/* A region without a record is empty, whatever its header has, and a record is read only with its tail. */
	{ FILL_FIELDS, USE_SEQUENCE },
	{ USE_SEQUENCE, RECORD_ID },
	/* An open event that also has a record is not read from the stack. */
	{ POP, HAND_OVER },
	/* The block's checksum covers all its parts. */
	{ WRITE_PART, WRITE_PART },
	/* While a block has the region's sequence, or the region's new one is not used, its records are not read. */
	{ CLEAR_RECORD, CLEAR_RECORD },
	{ CLEAR_RECORD, NEXT_SEQUENCE },
};

static bool is_harmless(const struct step *steps)
{
	for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++) {
		if (harmless[i][0] == steps[0].store && harmless[i][1] == steps[1].store)
			return true;
	}
	return false;
}

START_TEST(swapped_stores_are_found)
{
	const struct step *program = _i ? helper : recorder;
	int count = _i ? HELPER_STEPS : RECORDER_STEPS;
	struct step changed[RECORDER_STEPS];

	for (int i = 0; i + 1 < count; i++) {
		memcpy(changed, program, (size_t)count * sizeof *program);
		changed[i] = program[i + 1];
		changed[i + 1] = program[i];
		bool is_right = _i ? holds(recorder, changed) : holds(changed, helper);
		ck_assert_msg(is_right == is_harmless(program + i), "step %d and the next: %s", i,
		              is_right ? "not found" : "found, but listed as harmless");
	}
}
END_TEST

static Suite *publish_order_suite(void)
{
	Suite *suite = suite_create("publish_order");
	TCase *tcase = tcase_create("model");

	tcase_add_test(tcase, no_kill_loses_or_repeats_an_event);
	tcase_add_loop_test(tcase, swapped_stores_are_found, 0, 2);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(publish_order_suite)
