/* The budget for overhead in a session: applies budget.h to the threads that record.  A run is an event that is in no
 * other event on its thread or, if `step` is set, an event with this name that is inside no other event with this name.
 *
 * For an event that is left out the thread reads no clock.  The recorder's handle is removed from the cache until the
 * run ends and, if the next run may be left out too, until the next run begins.  The fast path of begin then does not
 * find the recorder, and the slow path returns at once. */
#ifndef EPPROF_RUNTIME_RECORD_BUDGET_THROTTLE_H
#define EPPROF_RUNTIME_RECORD_BUDGET_THROTTLE_H

#include "base/atomics.h"
#include "base/status.h"
#include "epprof/record.h"
#include "record/budget/budget.h"

/* The budget of a session. */
struct throttle {
	double share;  /* the share of CPU time that recording may take; above 0 */
	epp_name step; /* the name of runs; 0: runs are the outermost events */
	epp_name set, event, weight, change, change_step, change_one_in;
	bool is_alone;    /* the session has no name filter, and runs are the outermost events: after a run, the next
	                     event is a run, which may be skipped without a look at its name */
	uint32_t one_in;  /* N of the thread whose period ended last; atomic */
	bool has_devices; /* an event of a device was recorded; atomic */
	/* The time range in which runs were left out, in ticks: from the first to the last time at which a run began
	 * for which the clock was read, on a thread whose N was above 1. 0: there was none.  Atomic. */
	uint64_t from_ticks, until_ticks;
	/* The number of visits of the helper, which come every 2 ms while events are recorded; atomic.  It is in a cache line
	 * of its own, because threads read it for each run. */
	uint8_t unused_before[64];
	uint32_t visits;
	uint8_t unused_after[64];
};

enum throttle_skip {
	SKIP_NONE = 0,
	SKIP_NEXT, /* the thread is in no event, and its next run may be left out */
	SKIP_RUN,  /* the thread is in a run that is left out */
	SKIP_INNER /* the thread is in a run of which only the outermost event is recorded */
};

/* A run that was recorded. */
struct throttle_run {
	uint64_t id;
	uint32_t weight;
};

/* The budget of a thread in a session with a throttle. */
struct throttle_thread {
	struct budget_thread budget;
	struct throttle_run run, before; /* the run that was recorded last, and the one before */
	uint32_t drawn;         /* the weight that throttle_skips_next has drawn for a run that is recorded, until
	                    throttle_begin_run returns it; else 0 */
	const uint32_t *visits; /* of the throttle */
	uint32_t visits_then;   /* their number when the clock was read last */
	bool is_begun;
	bool is_alone; /* after a run that is left out, `skip` becomes SKIP_NEXT */
	uint8_t skip;  /* enum throttle_skip */
};

/* Checks and stores a share, and interns names.  If `share` is 0, `*is_given` is false.  If `step` is NULL or "", runs
 * are the outermost events.
 * Errors: EPP_INVALID_ARGUMENT, EPP_OUT_OF_MEMORY. */
epp_status *throttle_init(struct throttle *throttle, double share, const char *step, bool *is_given) EPP_MUST_CHECK;

/* Parses a share such as "1%".  NULL or "" is 0.  Errors: EPP_INVALID_ARGUMENT. */
epp_status *throttle_parse(const char *text, double *share) EPP_MUST_CHECK;

/* What has changed when a run begins: the thread's step or N, and weights of runs that were recorded. */
struct throttle_changes {
	bool step, run, before;
};

/* Begins a run with this name at `now_ticks`.  Returns its weight, or 0 if the run is left out. */
uint32_t throttle_begin_run(struct throttle *throttle, struct throttle_thread *thread, epp_name name,
                            uint64_t now_ticks, struct throttle_changes *changes);

/* Returns true if the thread is inside a run, and the events there are left out. */
static inline bool throttle_skips_inside(const struct throttle_thread *thread)
{
	return thread->skip > SKIP_NEXT;
}

/* Returns true if the run with this name that begins is left out.  Does not read the clock, and returns false if the
 * clock must be read: also if some 2 ms have passed, because runs may have become slower. */
static inline bool throttle_skips_next(struct throttle_thread *thread, epp_name name)
{
	if (thread->budget.until_due == 1 || LOAD_RELAXED(thread->visits) != thread->visits_then)
		return false;
	budget_is_due(&thread->budget);
	thread->drawn = budget_draw(&thread->budget, name, 0);
	return !thread->drawn;
}

/* Returns true if a device event without a parent is left out, because runs were left out at the time of the event.
 * `ticks` is 0 if this time is not known. */
bool throttle_was_on(const struct throttle *throttle, uint64_t ticks);

/* Returns the text by which the trace names a step. */
const char *throttle_step_word(enum budget_step step);

/* ---- cost/event_cost.c ---- */

/* Gets the costs of recording on this machine. Returns false if they were not measured yet; they are then typical
 * values. */
bool event_costs(struct budget_costs *costs);
/* Measures the costs of recording.  The first call takes about 1 ms, a later one at most 0.1 ms.  A call less than 100
 * ms after the last measurement does nothing.  A processor is slower at times, because it shares its core or its
 * frequency has changed, so each cost is the median of the last measurements.  Thread: the helper. */
void event_costs_measure(void);

/* The last measurements of a cost.  Zero-initialised. */
#define COST_HISTORY 31u
struct cost_history {
	uint64_t ps[COST_HISTORY];
	unsigned count, next;
};
/* Adds a measurement, and returns the median of those in the history. */
uint64_t cost_history_add(struct cost_history *history, uint64_t ps);

#endif
