/* What events have by themselves, by id: numbers that other events inherit from their parents (timeline/requests.c,
 * timeline/weights.c). */
#ifndef EPPROF_RUNTIME_TIMELINE_EVENTS_GRANTED_H
#define EPPROF_RUNTIME_TIMELINE_EVENTS_GRANTED_H

#include "containers/hash_index.h"
#include "epprof/timeline.h"

/* Zero-initialised by the caller. */
struct granted {
	struct granted_event {
		uint64_t id;
		uint32_t source, grant;
		union {
			int64_t end_ns; /* of an open event */
			uint64_t of; /* of a lasting one: the event that it has its requests from; 0: by itself, or its parent */
		} u;
	} * events;
	size_t count, room;
	struct hash_index index;
};

/* The grants of host events that are open at the current position of a timeline. */
struct open_grants {
	struct granted open;
	size_t sweep_at; /* the count at which ended ones are removed */
};

/* NULL: the event has none. */
struct granted_event *granted_find(const struct granted *granted, uint32_t source, uint64_t id);

/* Adds an event, or replaces its grant. */
epp_status *granted_put(struct granted *granted, const struct granted_event *event) EPP_MUST_CHECK;
void granted_deinit(struct granted *granted);

/* Adds an event of a host, in order of start. */
epp_status *open_grants_add(struct open_grants *open, const epp_event *event, uint32_t grant) EPP_MUST_CHECK;
void open_grants_deinit(struct open_grants *open);

#endif
