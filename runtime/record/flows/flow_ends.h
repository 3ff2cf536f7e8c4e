/* Ends of flows whose other end a profiler has not submitted yet. Both ends of a flow have the same number.
 * The caller holds the session's lock. */
#ifndef EPPROF_RUNTIME_RECORD_FLOWS_FLOW_ENDS_H
#define EPPROF_RUNTIME_RECORD_FLOWS_FLOW_ENDS_H

#include <stdbool.h>
#include <stdint.h>

/* The maximum number of ends. A new end replaces the oldest one, whose flow is then not recorded. */
#define FLOW_ENDS_MAX 4096u

struct flow_ends;

/* Returns NULL if out of memory. Released with free(). */
struct flow_ends *flow_ends_create(void);

/* Adds the begin of a flow at event `id`. A begin stays after it was paired, because it may have several ends. It
 * replaces a begin with the same number. Neither `number` nor `id` is 0. */
void flow_ends_add_begin(struct flow_ends *flows, uint64_t number, uint64_t id);

/* Removes one end with this number that was added before its begin. Returns its event, or 0 if there is none. */
uint64_t flow_ends_take_end(struct flow_ends *flows, uint64_t number);

/* Returns the event at the begin of the flow. If the begin was not added yet, adds the end at event `id` and returns
 * 0. */
uint64_t flow_ends_add_end(struct flow_ends *flows, uint64_t number, uint64_t id);

#endif
