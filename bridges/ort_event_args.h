/* One event of ONNX Runtime as the trace keeps it. */
#ifndef EPPROF_BRIDGES_ORT_EVENT_ARGS_H
#define EPPROF_BRIDGES_ORT_EVENT_ARGS_H

#include "ort_graph.h"

struct ort_event_args {
	epp_category category;
	epp_name name;
	size_t count;
	const epp_arg *args;
};

/* Interns the keys; before the first read. */
void ort_event_args_prepare(void);

struct ort_event_source {
	const struct ort_host *host;
	uint64_t profiling;     /* another for each, and never 0 */
	enum ort_graphs graphs; /* of its session */
};

/* Reads name, category, times and every arg that ONNX Runtime is known to give.  `started_us`: since the profile's beginning,
 * when the profilers after this one were started at the earliest; -1: not this event's to tell.  What cannot be read is left
 * out, and the first error given.
 * Ownership: the args of `read` and their texts last until the thread's next event, or as long as this one. */
OrtStatus *ort_event_args_read(const struct ort_event_source *source, const OrtProfilingEvent *event, uint64_t ort_id,
                               int64_t started_us, struct ort_event_args *read);

#endif
