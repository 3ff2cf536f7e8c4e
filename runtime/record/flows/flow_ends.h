/* The ends of flows whose other ends a profiler has not submitted yet. Both ends of a flow have the same number.
 * The caller holds the session's lock. */
#ifndef EPPROF_RUNTIME_RECORD_FLOWS_FLOW_ENDS_H
#define EPPROF_RUNTIME_RECORD_FLOWS_FLOW_ENDS_H

#include <stdbool.h>
#include <stdint.h>

/* The newest ends are kept; an older one is forgotten, without its flow. */
#define FLOW_ENDS_MAX 4096u

struct flow_ends;

/* Returns NULL if memory is out. free() releases it. */
struct flow_ends *flow_ends_create(void);

/* Adds the begin of a flow at event `id`. It stays after it was paired, because one begin may have several ends. It
 * replaces a begin with the same number. Neither `number` nor `id` is 0. */
void flow_ends_add_begin(struct flow_ends *flows, uint64_t number, uint64_t id);

/* Removes an end with this number that came before its begin. Returns its event, or 0. */
uint64_t flow_ends_take_end(struct flow_ends *flows, uint64_t number);

/* Returns the event at the begin, or 0: then the end at event `id` is added, to be taken by the begin. */
uint64_t flow_ends_add_end(struct flow_ends *flows, uint64_t number, uint64_t id);

#endif
