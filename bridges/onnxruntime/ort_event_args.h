/* One event of ONNX Runtime as a record of the trace. */
#ifndef EPPROF_BRIDGES_ONNXRUNTIME_ORT_EVENT_ARGS_H
#define EPPROF_BRIDGES_ONNXRUNTIME_ORT_EVENT_ARGS_H

#include "ort.h"

#define ORT_EVENT_ARGS_MAX 20u

struct ort_event_args {
	epp_category category;
	epp_name name;
	const char *provider; /* of a node; NULL: it has none */
	size_t count;
	epp_arg args[ORT_EVENT_ARGS_MAX];
};

/* Interns the keys; before the first read. */
void ort_event_args_prepare(void);

/* What a thread remembers of its events, so that the next one is recorded sooner; zeroed, freed with free.  NULL: no memory. */
struct ort_event_memory;
struct ort_event_memory *ort_event_memory_create(void);

/* Reads name, category, times and every arg that ONNX Runtime is known to give.  `started_us`: since the profile's beginning,
 * when the profilers after this one were started at the earliest; -1: it is not recorded with this event.  What cannot be read
 * is left out, and the first error returned.
 * Ownership: the texts of the args are the event's. */
OrtStatus *ort_event_args_read(const struct ort_host *host, const OrtProfilingEvent *event, uint64_t ort_id,
                               int64_t started_us, struct ort_event_memory *memory, struct ort_event_args *read);

#endif
