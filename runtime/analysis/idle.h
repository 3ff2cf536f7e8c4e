/* Why a stream did nothing.  A gap lies between the end of what ran on a stream and the start of its next event; before its
 * first event it begins where the trace begins.  Its time is shared out:
 *
 *   unlaunched   until the next one can have been launched (launch_ns): the device had nothing to do.  After a stream's
 *                last event the rest of the trace is that too
 *   copy         after that, as long as a copy ran on another stream of the device
 *   late         the rest until the start: it was launched, and nothing was copied for it
 *   unknown      the next event names no host event
 *
 * What copies covered is kept for the last IDLE_COPIES of them; earlier ones do not count. */
#ifndef EPPROF_RUNTIME_ANALYSIS_IDLE_H
#define EPPROF_RUNTIME_ANALYSIS_IDLE_H

#include "epprof/summary.h"

#define IDLE_COPIES 1024u

/* When any copy ran on a device: spans apart from each other, and how long all before each were. */
struct idle_copies {
	struct {
		int64_t start_ns, end_ns, before_ns;
	} spans[IDLE_COPIES];
	uint64_t count; /* of all; the last ones are kept */
};

/* The next copy, in order of the start. */
void idle_copy(struct idle_copies *copies, int64_t start_ns, int64_t end_ns);
/* Shares out the gap of [from_ns, event->start_ns) before `event`. */
void idle_gap(int64_t idle_ns[EPP_IDLE_COUNT], const struct idle_copies *copies, int64_t from_ns, const epp_event *event);

#endif
