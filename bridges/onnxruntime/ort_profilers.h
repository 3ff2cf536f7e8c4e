/* The hosted profilers of one profiling run, in addition to the collector.  In all functions, NULL means that there are
 * none. */
#ifndef EPPROF_BRIDGES_ONNXRUNTIME_ORT_PROFILERS_H
#define EPPROF_BRIDGES_ONNXRUNTIME_ORT_PROFILERS_H

#include "ort_hosted.h"

struct ort_profilers;

/* The arguments of StartProfiling, and when it was called. */
struct ort_start_times {
	int64_t offset_ns; /* time since the start of ONNX Runtime's profile */
	uint64_t ticks;    /* the host's clock at the call */
	int64_t unix_ns;   /* UNIX time at the call */
};

/* Creates a profiler of each EP that has one, adds it to the session, and starts it.  The session must exist longer
 * than the profilers.  A profiler that starts later than StartProfiling was called gets a correspondingly larger
 * offset.  Errors: the first status of a profiler that failed to start.  The profiler is used nevertheless, as in ONNX
 * Runtime. */
OrtStatus *ort_profilers_start(struct ort_eps *eps, epp_session *session, const struct ort_start_times *start_times,
                               struct ort_profilers **profilers);
/* Call StartEvent or StopEvent of all profilers.  `id` is the event's id in the trace, which the profilers get;
 * `ort_id` is its id in ONNX Runtime, which replaces `id` in ONNX Runtime's profile. */
OrtStatus *ort_profilers_start_event(struct ort_profilers *profilers, uint64_t id, uint64_t ort_id);
OrtStatus *ort_profilers_stop_event(struct ort_profilers *profilers, uint64_t id, uint64_t ort_id,
                                    const OrtProfilingEvent *event);
/* Gets the events of all profilers, for the trace and for ONNX Runtime's container.  Errors are logged: if a profiler
 * fails, only its own events are lost.  Host events that begin or end during the call or later are ignored. */
void ort_profilers_end(struct ort_profilers *profilers, OrtProfilingEventsContainer *container);
/* Adds the labels of profilers whose events are in the trace to `missing`. */
struct ort_missing;
void ort_profilers_report(const struct ort_profilers *profilers, struct ort_missing *missing);
void ort_profilers_release(struct ort_profilers *profilers);

#endif
