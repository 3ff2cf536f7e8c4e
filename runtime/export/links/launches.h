/* Finds the call that launched a device event, for the arrow that viewers draw between the two.  A plugin gives both
 * the same number, in the arg `correlation` or `correlation_id`.  The parents of events are not found here, but in
 * timeline/find_parent.c.
 *
 * The table has room for 262,144 calls, in 14 MiB.  If about as many calls come between a call and its device event,
 * the call may have been replaced, and the two are not joined. */
#ifndef EPPROF_RUNTIME_EXPORT_LINKS_LAUNCHES_H
#define EPPROF_RUNTIME_EXPORT_LINKS_LAUNCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "epprof/timeline.h"

struct launch_call {
	uint64_t number; /* 0: the entry is free */
	uint64_t flow;   /* number of the arrow that begins at this call, unique in the file */
	int64_t start_ns, end_ns;
	uint32_t source, run;
	int32_t producer;
	uint32_t row; /* the row of the call, as given by the caller */
};

/* Must be zeroed before the first use. */
struct launches {
	struct launch_call *calls; /* NULL: no call was added yet */
	uint32_t next;
	uint64_t calls_count;
};

void launches_deinit(struct launches *launches);

/* Adds a call, unless it is inside another call with the same number, such as a driver call inside a runtime call.
 * *call is the new entry, or NULL.  Errors: EPP_OUT_OF_MEMORY.  Ownership: valid until the next call. */
epp_status *launches_add(struct launches *launches, const epp_event *event, uint32_t row, const struct launch_call **call)
    EPP_MUST_CHECK;

/* Returns the call that launched a device event; NULL: unknown.  The call began no later than the device event, because
 * events come in order of their start. */
const struct launch_call *launches_find(const struct launches *launches, const epp_event *event);

#endif
