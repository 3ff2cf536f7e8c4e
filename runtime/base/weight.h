/* The names under which libepprof records what its budget for overhead leaves out, and by which the reader finds it:
 * instants with these args.
 * WEIGHT_SET: an event stands for `weight` events like it: args event and weight.
 * BUDGET_STEP: a thread begins to leave out more or less: args step and one_in. */
#ifndef EPPROF_RUNTIME_BASE_WEIGHT_H
#define EPPROF_RUNTIME_BASE_WEIGHT_H

#define WEIGHT_SET "epprof.weight"
#define WEIGHT_KEY_EVENT "event"   /* u64: the id of the event */
#define WEIGHT_KEY_WEIGHT "weight" /* u64 */
#define WEIGHT_MAX (1u << 20)      /* larger ones are ignored */

#define BUDGET_STEP "epprof.budget"
#define BUDGET_KEY_STEP "step"     /* text: "all", "args off" or "runs" */
#define BUDGET_KEY_ONE_IN "one_in" /* u64: one run in so many is kept */

#endif
