/* Events in a temporary file, for a format that writes some events further down: put in the order of arrival, then
 * taken in that order.  Tracks and names are not copied; they belong to the timeline and the trace.  Args are
 * copied. */
#ifndef EPPROF_RUNTIME_EXPORT_ONNXRUNTIME_EVENT_SPOOL_H
#define EPPROF_RUNTIME_EXPORT_ONNXRUNTIME_EVENT_SPOOL_H

#include "epprof/timeline.h"
#include "export/sink/sink_spool.h"

struct event_spool {
	struct sink_spool spool;
	uint64_t bytes_count, bytes_taken;
	char *piece; /* part of the file that is in memory */
	size_t piece_room, piece_bytes, piece_at;
	epp_event event; /* the event returned last */
};

/* Errors: EPP_OUT_OF_MEMORY. */
epp_status *event_spool_init(struct event_spool *spool) EPP_MUST_CHECK;
/* Accepts a zeroed spool, and one whose init failed. */
void event_spool_deinit(struct event_spool *spool);

void event_spool_put(struct event_spool *spool, const epp_event *event);
/* `*event` is NULL after the last event.  The event has no ids, ticks or depth; of its parent only the start is set.
 * No event may be put after the first call.  Ownership: valid until the next call.  Errors: those of the temporary
 * file, EPP_OUT_OF_MEMORY. */
epp_status *event_spool_take(struct event_spool *spool, const epp_event **event) EPP_MUST_CHECK;

#endif
