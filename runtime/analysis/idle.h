/* Attributes the idle time of a stream to reasons.  A gap is the time between the end of a stream's events so far
 * and the start of its next event; before its first event, the gap begins with the trace.  Its time is divided:
 *
 *   unlaunched   until the earliest possible launch of the next event (launch_ns): the device had no work.  The rest of
 *                the trace after a stream's last event counts as unlaunched too
 *   copy         after that, while a copy ran on another stream of the device
 *   late         the rest until the start: the event was launched, and no copy ran
 *   unknown      the next event has no known launch
 *
 * Only the last IDLE_COPIES spans of copies are kept; earlier ones do not count. */
#ifndef EPPROF_RUNTIME_ANALYSIS_IDLE_H
#define EPPROF_RUNTIME_ANALYSIS_IDLE_H

#include "epprof/summary.h"

#define IDLE_COPIES 1024u

/* When any copy ran on a device: disjoint spans, with the total length of all spans before each. */
struct idle_copies {
	struct {
		int64_t start_ns, end_ns, before_ns;
	} spans[IDLE_COPIES];
	uint64_t count; /* of all spans; the last IDLE_COPIES are kept */
};

/* Adds the next copy, in order of start. */
void idle_copy(struct idle_copies *copies, int64_t start_ns, int64_t end_ns);
/* Divides the gap [from_ns, event->start_ns) before `event`. */
void idle_gap(int64_t idle_ns[EPP_IDLE_COUNT], const struct idle_copies *copies, int64_t from_ns, const epp_event *event);

#endif
