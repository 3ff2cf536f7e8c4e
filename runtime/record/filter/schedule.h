/* The schedule of a session: which steps of the program are recorded.  A step is an event with the schedule's name that
 * is inside no other step on its thread.  Steps are numbered as they begin, on all threads together.  The first `skip` are
 * left out; then, `repeat` times, `warmup` are left out and `active` recorded; the rest is left out.
 *
 * The number of a step decides about everything in it on its thread.  Other events of threads are recorded if the step
 * that began last is; before the first step, if that one will be.
 *
 * An event without a name may get the step's at its end, as the events of ONNX Runtime do.  Such steps are numbered as
 * they end, so that those that run at once have one number, and others are recorded if the next step will be. */
#ifndef EPPROF_RUNTIME_RECORD_FILTER_SCHEDULE_H
#define EPPROF_RUNTIME_RECORD_FILTER_SCHEDULE_H

#include <stdbool.h>

#include "base/status.h"
#include "epprof/record.h"

#define SCHEDULE_STEP_DEFAULT "model_run"
#define SCHEDULE_WINDOWS 256u

struct schedule {
	uint64_t skip, warmup, active, repeat; /* repeat 0: until the end */
	epp_name step;
	uint64_t count;   /* steps that have taken a number; atomic */
	bool counts_ends; /* steps have their names at their ends; atomic */
	/* Times of the recorded steps, for events of devices that arrive later: the last ones, in the order of a ring.  From
	 * the begin of the first step of a cycle to that of the first step behind it, in ticks.  Threads may store these in
	 * any order, so `over` is the number of the cycle that `to` belongs to, from 1 on.  Atomic. */
	struct schedule_window {
		uint64_t from, to, over;
	} windows[SCHEDULE_WINDOWS];
};

/* The step that a thread is in. */
struct schedule_step {
	uint64_t id;     /* 0: none; EPP_LEFT_OUT_ID: one that is left out */
	bool is_active;  /* it is recorded */
	bool is_unnamed; /* it has no name yet, and may be no step */
};

/* Parses a text such as "skip=10,warmup=5,active=20,repeat=3", in any order; what is missing is 0, except `active`.
 * Interns the name of the step; NULL or "": SCHEDULE_STEP_DEFAULT.  `text` NULL or "": `*is_given` is false.
 * Errors: EPP_INVALID_ARGUMENT, EPP_OUT_OF_MEMORY. */
epp_status *schedule_parse(const char *text, const char *step, struct schedule *schedule, bool *is_given) EPP_MUST_CHECK;

/* Returns true if the step with this number, from 0, is recorded. */
bool schedule_has(const struct schedule *schedule, uint64_t number);

/* Begins a step, or an event without a name (`name` 0).  The caller sets the id of one that is recorded. */
void schedule_begin_step(struct schedule *schedule, struct schedule_step *step, epp_name name, uint64_t now_ticks);

/* Ends it.  `name`: its name, 0 if it never got one. */
void schedule_end_step(struct schedule *schedule, struct schedule_step *step, epp_name name, uint64_t now_ticks);

/* Returns true if events outside steps are recorded now. */
bool schedule_is_on(const struct schedule *schedule);

/* The same for an earlier time.  True if the time is before those that are kept. */
bool schedule_was_on(const struct schedule *schedule, uint64_t ticks);

#endif
