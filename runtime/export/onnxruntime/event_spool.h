/* Events in a temporary file, for a format that has some of them further down: put as they come, then taken in that order.
 * What an event points to, its track and its names, stays with the timeline and the trace; its args are copied. */
#ifndef EPPROF_RUNTIME_EXPORT_ONNXRUNTIME_EVENT_SPOOL_H
#define EPPROF_RUNTIME_EXPORT_ONNXRUNTIME_EVENT_SPOOL_H

#include "epprof/timeline.h"
#include "export/sink/sink_spool.h"

struct event_spool {
	struct sink_spool spool;
	uint64_t bytes_count, bytes_taken;
	char *piece; /* of the file */
	size_t piece_room, piece_bytes, piece_at;
	epp_event event; /* the one taken last */
};

/* Errors: EPP_OUT_OF_MEMORY. */
epp_status *event_spool_init(struct event_spool *spool) EPP_MUST_CHECK;
/* A spool of zeros, or one that init failed on, is fine. */
void event_spool_deinit(struct event_spool *spool);

void event_spool_put(struct event_spool *spool, const epp_event *event);
/* `*event` is NULL behind the last one.  It has no ids, ticks and depth; of its parent it has the start alone.  After the
 * first call nothing is put.
 * Ownership: valid until the next call.  Errors: those of the temporary file, EPP_OUT_OF_MEMORY. */
epp_status *event_spool_take(struct event_spool *spool, const epp_event **event) EPP_MUST_CHECK;

#endif
