/* Delivers the events of a timeline in batches.  A separate thread merges while the caller writes, so that an export
 * takes as long as the slower of the two.  Without a second thread, or a second processor for it, the caller's thread
 * does both in turn.
 *
 * In a batch, an event's `args` is an array of args_count epp_trace_arg (export_args in writer.h). */
#ifndef EPPROF_RUNTIME_EXPORT_SINK_PIPELINE_H
#define EPPROF_RUNTIME_EXPORT_SINK_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>

#include "epprof/timeline.h"

#define BATCH_EVENTS 512u

struct batch {
	epp_event events[BATCH_EVENTS];
	size_t count;
	epp_trace_arg *args;
	size_t args_count, args_room;
	char *texts;
	size_t texts_bytes, texts_room;
};

struct pipeline;

/* From here to pipeline_end, only the pipeline may use the timeline and its trace. `threaded`: whether a thread may be
 * started.  Errors: EPP_OUT_OF_MEMORY. */
epp_status *pipeline_start(struct pipeline **pipeline, epp_timeline *timeline, bool threaded) EPP_MUST_CHECK;
/* The next batch, or NULL at the end and after an error.  Ownership: valid until the next call. */
const struct batch *pipeline_next(struct pipeline *pipeline);
/* Stops the thread at any point, and returns the first error.  NULL does nothing. */
epp_status *pipeline_end(struct pipeline *pipeline) EPP_MUST_CHECK;

#endif
