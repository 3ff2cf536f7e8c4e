/* For the arrows that viewers draw from a call to the device event that it launched: joins the calls that a plugin
 * reports to device events, by the number that the plugin gives to both, the arg `correlation` or `correlation_id`.
 * The parents of events are not found here, but in timeline/find_parent.c.
 *
 * The table remembers the last 262,144 calls, in 14 MiB.  A device event that comes later than that after its call is
 * not joined. */
#ifndef EPPROF_RUNTIME_EXPORT_ARROWS_LAUNCHES_H
#define EPPROF_RUNTIME_EXPORT_ARROWS_LAUNCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "epprof/timeline.h"

struct launch_call {
	uint64_t number; /* 0: the entry is free */
	uint64_t flow;   /* unique to this call */
	int64_t start_ns, end_ns;
	uint32_t source, run;
	int32_t producer;
	uint32_t row; /* set by the caller */
};

/* Must be zeroed before the first use. */
struct launches {
	struct launch_call *calls; /* NULL: there was no call yet */
	uint32_t next;
	uint64_t calls_count;
};

void launches_deinit(struct launches *launches);

/* Remembers a call, unless it is inside another call of the same number, such as a driver call inside a runtime call.
 * Sets `call` to the remembered entry, or NULL.  Errors: EPP_OUT_OF_MEMORY.  Ownership: valid until the next call. */
epp_status *launches_add(struct launches *launches, const epp_event *event, uint32_t row, const struct launch_call **call)
    EPP_MUST_CHECK;

/* Returns the call that launched a device event, or NULL if it is unknown.  The call did not begin later than the
 * device event, because events come in order of their start. */
const struct launch_call *launches_find(const struct launches *launches, const epp_event *event);

#endif
