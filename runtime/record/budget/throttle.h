/* The budget for overhead in a session: applies budget.h to the threads that record.  A run is an event that is in no other
 * event on its thread or, if the session names its steps, an event with that name that is in no other one.
 *
 * A run that is left out costs its thread no clock: until it ends, and, as long as the next one is left out, too, until
 * that begins, the fast path of begin does not find the recorder, and the slow path returns at once. */
#ifndef EPPROF_RUNTIME_RECORD_BUDGET_THROTTLE_H
#define EPPROF_RUNTIME_RECORD_BUDGET_THROTTLE_H

#include "base/status.h"
#include "epprof/record.h"
#include "record/budget/budget.h"

/* Of a session. */
struct throttle {
	double share;  /* of CPU time; above 0 */
	epp_name step; /* 0: runs are the outermost events */
	epp_name set, event, weight, change, change_step, change_one_in;
	bool is_alone;   /* no names are left out, and runs have no name */
	uint32_t one_in; /* of the thread whose window ended last; atomic */
	/* When runs were left out, in ticks: from the first to the last time that a thread began to.  0: never.  Atomic. */
	uint64_t from_ticks, until_ticks;
};

enum throttle_skip {
	SKIP_NONE = 0,
	SKIP_RUN, /* the thread is in a run that is left out */
	SKIP_NEXT /* it is in no event, and the next one may be left out */
};

/* Of a thread in a session with a throttle. */
struct throttle_thread {
	struct budget_thread budget;
	uint64_t run_id; /* the run that was recorded last */
	uint32_t drawn;  /* the weight of a run that throttle_skips_next has not left out; else 0 */
	bool is_begun;
	bool is_alone; /* after a run that is left out, SKIP_NEXT follows */
	uint8_t skip;  /* enum throttle_skip */
};

/* Checks and stores a share, and interns names.  `share` 0: `*is_given` is false.  `step` NULL or "": the outermost events.
 * Errors: EPP_INVALID_ARGUMENT, EPP_OUT_OF_MEMORY. */
epp_status *throttle_init(struct throttle *throttle, double share, const char *step, bool *is_given) EPP_MUST_CHECK;

/* Parses a share such as "1%".  NULL or "": 0.  Errors: EPP_INVALID_ARGUMENT. */
epp_status *throttle_parse(const char *text, double *share) EPP_MUST_CHECK;

/* Begins a run at `now_ticks` and returns its weight; 0: it is left out.  `*is_changed` is set if the thread has changed what
 * it leaves out. */
uint32_t throttle_begin_run(struct throttle *throttle, struct throttle_thread *thread, uint64_t now_ticks,
                            bool *is_changed);

/* Without the clock: returns true if the run that begins is left out. */
static inline bool throttle_skips_next(struct throttle_thread *thread)
{
	if (thread->budget.until_due == 1)
		return false;
	budget_is_due(&thread->budget);
	thread->drawn = budget_draw(&thread->budget, 0);
	return !thread->drawn;
}

/* Returns true if an event of a device without a parent is left out: at its time, runs were.  `ticks` 0: it is not known. */
bool throttle_was_on(const struct throttle *throttle, uint64_t ticks);

/* The word of a step in the trace. */
const char *throttle_step_word(enum budget_step step);

/* ---- cost/event_cost.c ---- */

/* Returns what recording costs on this machine; until it is measured, what it costs on most, and false. */
bool event_costs(struct budget_costs *costs);
/* Measures it: the first call takes about a millisecond, later ones at most 0.1 ms, at most every 100 ms.  A processor is
 * slower at times, because it shares its core or its frequency has changed, so the costs are the medians of the last
 * measurements.  Thread: the helper. */
void event_costs_measure(void);

/* The last measurements of a cost.  Zero-initialised. */
#define COST_HISTORY 31u
struct cost_history {
	uint64_t ps[COST_HISTORY];
	unsigned count, next;
};
/* Adds one and returns the median. */
uint64_t cost_history_add(struct cost_history *history, uint64_t ps);

#endif
