/* A table of events by id, each with a number (its grant), which other events inherit from their parents.
 * timeline/requests.c grants sets of requests, timeline/weights.c grants weights. */
#ifndef EPPROF_RUNTIME_TIMELINE_EVENTS_EVENT_GRANTS_H
#define EPPROF_RUNTIME_TIMELINE_EVENTS_EVENT_GRANTS_H

#include "containers/hash_index.h"
#include "epprof/timeline.h"

/* Zero-initialised by the caller. */
struct event_grants {
	struct event_grant {
		uint64_t id;
		uint32_t source, grant;
		union {
			int64_t end_ns; /* in open_grants */
			uint64_t of; /* in requests.persistent: the event from which this one has its requests; 0: from an
                                      * instant or from its parent */
		} u;
	} * events;
	size_t count, room;
	struct hash_index index;
};

/* The grants of host events that are open at the current position of a timeline. */
struct open_grants {
	struct event_grants open;
	size_t sweep_at; /* number of events at which those that have ended are removed */
};

/* Returns NULL if the event has no grant. */
struct event_grant *event_grants_find(const struct event_grants *granted, uint32_t source, uint64_t id);

/* Adds an event, or replaces the grant of an event that is in the table. */
epp_status *event_grants_add(struct event_grants *granted, const struct event_grant *event) EPP_MUST_CHECK;
void event_grants_deinit(struct event_grants *granted);

/* Adds a host event.  Events must come in order of start. */
epp_status *open_grants_add(struct open_grants *open, const epp_event *event, uint32_t grant) EPP_MUST_CHECK;
void open_grants_deinit(struct open_grants *open);

#endif
