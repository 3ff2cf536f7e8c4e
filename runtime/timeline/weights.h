/* The weights of events: the number of the program's events that a recorded event represents, because a budget left out
 * the others.
 *
 * The recorder marks the outermost event of a run with an instant that names it (base/weight.h).  Every other event has
 * the weight of its parent.  As for requests, all events are read once in advance: this collects the weights of such
 * instants, and of each event to which others refer by id.  If the weight of a run comes after the run, because it has
 * changed, they are read once more. */
#ifndef EPPROF_RUNTIME_TIMELINE_WEIGHTS_H
#define EPPROF_RUNTIME_TIMELINE_WEIGHTS_H

#include "timeline/events/event_grants.h"

struct reader;

struct weights {
	struct event_grants persistent; /* by event: outermost events of runs, and events to which others refer; `grant` is the
                                 * weight */
};

/* Reads all events of a trace, of the processes that the options select.  *weights is NULL if the trace has no weights.
 * Ownership: destroyed by the caller. */
epp_status *weights_create(struct reader *reader, const epp_timeline_options *options, struct weights **weights)
    EPP_MUST_CHECK;
void weights_destroy(struct weights *weights);

/* Sets event->weight.  Must be called for all events, in order of start. */
epp_status *weights_of(const struct weights *weights, struct open_grants *open, epp_event *event) EPP_MUST_CHECK;

#endif
