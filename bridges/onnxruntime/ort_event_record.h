/* Converts one event of ONNX Runtime to a record of the trace. */
#ifndef EPPROF_BRIDGES_ONNXRUNTIME_ORT_EVENT_RECORD_H
#define EPPROF_BRIDGES_ONNXRUNTIME_ORT_EVENT_RECORD_H

#include "ort.h"

#define ORT_EVENT_ARGS_MAX 21u

struct ort_event_args {
	epp_category category;
	epp_name name;
	const char *provider; /* provider of a node; NULL: none */
	/* times by ONNX Runtime, since the start of its profile; -1: ONNX Runtime returned an error */
	int64_t start_us, duration_us;
	size_t count;
	epp_arg args[ORT_EVENT_ARGS_MAX];
};

/* Interns the keys.  Must be called before the first ort_event_args_read. */
void ort_event_args_prepare(void);

/* Caches of a thread, which make recording its next events faster.  Ownership: the caller frees the memory with free.
 * NULL: no memory. */
struct ort_event_memory;
struct ort_event_memory *ort_event_memory_create(void);

/* Reads name, category, times and every arg with a known key.  `started_us` is recorded as an arg, too: when the
 * collector's StartProfiling was called, in us since the start of the profile, which is before the start of later
 * profilers; -1: no arg.  After an error, the remaining values are left out, and the error is returned.
 * Ownership: the texts of the args belong to the event. */
OrtStatus *ort_event_args_read(const struct ort_host *host, const OrtProfilingEvent *event, uint64_t ort_id,
                               int64_t started_us, struct ort_event_memory *memory, struct ort_event_args *read);

/* Adds the tag of a run as the arg ort_run_tag, after the args with times.  At most 256 bytes of it are recorded.
 * Ownership: the text is borrowed. */
void ort_event_args_put_run_tag(struct ort_event_args *read, const char *tag);

#endif
