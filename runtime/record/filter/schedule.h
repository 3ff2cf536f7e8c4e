/* The schedule of a session, which selects the steps of the program that are recorded.  A step is an event with the
 * schedule's name that is inside no other step on its thread.  Steps of all threads are numbered together, in the order
 * in which they begin.  The first `skip` steps are left out; then, `repeat` times, `warmup` steps are left out and
 * `active` steps are recorded; the remaining steps are left out.
 *
 * Events in a step, on its thread, are recorded if the step is.  Other events of threads are recorded if the last step
 * that began is recorded; before the first step, if the first step will be.
 *
 * An event without a name may get the name of steps at its end, as the events of ONNX Runtime do.  Such steps are
 * numbered in the order in which they end, so steps that run at the same time have the same number.  Other events are
 * then recorded if the next step will be. */
#ifndef EPPROF_RUNTIME_RECORD_FILTER_SCHEDULE_H
#define EPPROF_RUNTIME_RECORD_FILTER_SCHEDULE_H

#include <stdbool.h>

#include "base/status.h"
#include "epprof/record.h"

#define SCHEDULE_STEP_DEFAULT "model_run"
#define SCHEDULE_RANGES 256u

struct schedule {
	uint64_t skip, warmup, active, repeat; /* repeat 0: until the end of the recording */
	epp_name step;
	uint64_t count;   /* the number of steps that were numbered so far; atomic */
	bool counts_ends; /* steps get their names at their ends, and are numbered there; atomic */
	/* A ring with the last time ranges of recorded steps, for events of devices that arrive later.  A time range
	 * lasts from the begin of the first recorded step of a cycle to the begin of the first step after the recorded
	 * ones, in ticks.  Threads may store the ranges in any order, so `over` is the number, from 1 on, of the cycle
	 * to which `to` belongs.  Atomic. */
	struct schedule_range {
		uint64_t from, to, over;
	} ranges[SCHEDULE_RANGES];
};

/* The step in which a thread is. */
struct schedule_step {
	uint64_t id;     /* 0: the thread is in no step; EPP_LEFT_OUT_ID: it is in a step that is left out */
	bool is_active;  /* the step is recorded */
	bool is_unnamed; /* the event has no name yet, so it may not be a step */
};

/* Parses a text such as "skip=10,warmup=5,active=20,repeat=3", in any order.  Missing numbers are 0; `active` is
 * required.  Interns the name of steps; if `step` is NULL or "", it is SCHEDULE_STEP_DEFAULT.  If `text` is NULL or "",
 * `*is_given` is false.
 * Errors: EPP_INVALID_ARGUMENT, EPP_OUT_OF_MEMORY. */
epp_status *schedule_parse(const char *text, const char *step, struct schedule *schedule, bool *is_given) EPP_MUST_CHECK;

/* Returns true if the step with this number, counted from 0, is recorded. */
bool schedule_includes(const struct schedule *schedule, uint64_t number);

/* Begins a step, or an event without a name (`name` 0).  If the step is recorded, the caller sets its id. */
void schedule_begin_step(struct schedule *schedule, struct schedule_step *step, epp_name name, uint64_t now_ticks);

/* Ends the step.  `name` is its name, or 0 if it never got one. */
void schedule_end_step(struct schedule *schedule, struct schedule_step *step, epp_name name, uint64_t now_ticks);

/* Returns true if events outside steps are recorded now. */
bool schedule_is_on(const struct schedule *schedule);

/* As schedule_is_on, for an earlier time.  Returns true if the time is before all stored time ranges. */
bool schedule_was_on(const struct schedule *schedule, uint64_t ticks);

#endif
