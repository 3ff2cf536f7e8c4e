/* libepprof records the effect of its budget for overhead as instants with these names and args, and the reader finds
 * it by them.
 * WEIGHT_SET: an event stands for `weight` similar events.  Its args are `event` and `weight`.
 * BUDGET_STEP: a thread begins to leave out more or fewer events.  Its args are `step` and `one_in`. */
#ifndef EPPROF_RUNTIME_BASE_WEIGHT_H
#define EPPROF_RUNTIME_BASE_WEIGHT_H

#define WEIGHT_SET "epprof.weight"
#define WEIGHT_KEY_EVENT "event"   /* u64: the id of the event */
#define WEIGHT_KEY_WEIGHT "weight" /* u64: the number of events for which the event stands, including itself */
#define WEIGHT_MAX (1u << 20)      /* larger weights are ignored */

#define BUDGET_STEP "epprof.budget"
#define BUDGET_KEY_STEP "step"     /* text: "all", "args off", BUDGET_STEP_KERNELS or "runs" */
#define BUDGET_KEY_ONE_IN "one_in" /* u64: one run in this many is recorded */
#define BUDGET_STEP_KERNELS "kernels only"

#endif
