/* Joins the calls that a plugin reports to the device events that they launched, by the number that the plugin gives both: the
 * arg `correlation` or `correlation_id`.  Viewers' arrows lead from the call.
 *
 * The last 262,144 calls are remembered, in 14 MiB; a device event behind more than these has no call. */
#ifndef EPPROF_RUNTIME_EXPORT_ARROWS_LAUNCHES_H
#define EPPROF_RUNTIME_EXPORT_ARROWS_LAUNCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "epprof/timeline.h"

struct launch_call {
	uint64_t number; /* 0: free */
	uint64_t flow;   /* the call's own: no other call has it */
	int64_t start_ns, end_ns;
	uint32_t source, run;
	int32_t producer;
	uint32_t row; /* the caller's */
};

/* Zero at first. */
struct launches {
	struct launch_call *calls; /* NULL: no call was met */
	uint32_t next;
	uint64_t calls_count;
};

void launches_deinit(struct launches *launches);

/* Remembers a call, unless it lies within another one of the same number, such as a driver's within the runtime's.  Sets `call` to
 * what was remembered, or NULL.  Errors: EPP_OUT_OF_MEMORY.  Ownership: valid until the next call. */
epp_status *launches_add(struct launches *launches, const epp_event *event, uint32_t row, const struct launch_call **call)
    EPP_MUST_CHECK;

/* The call that launched a device event; NULL: none is known.  It began no later, since events come in order of their start. */
const struct launch_call *launches_find(const struct launches *launches, const epp_event *event);

#endif
