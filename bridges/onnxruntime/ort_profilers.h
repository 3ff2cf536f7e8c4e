/* The hosted profilers of one profiling run, in addition to the collector. All functions accept NULL (none). */
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

/* Creates a profiler of each EP that has one, joins it to the session, which outlives it, and starts it. Each profiler
 * gets the offset at the time of its own start.
 * Errors: a profiler that fails to start still takes part, as in ONNX Runtime; the first status is returned. */
OrtStatus *ort_profilers_start(const struct ort_eps *eps, epp_session *session,
                               const struct ort_start_times *start_times, struct ort_profilers **profilers);
/* `id` is the trace's id. It is converted to ONNX Runtime's `ort_id` for ONNX Runtime's profile. */
OrtStatus *ort_profilers_start_event(struct ort_profilers *profilers, uint64_t id, uint64_t ort_id);
OrtStatus *ort_profilers_stop_event(struct ort_profilers *profilers, uint64_t id, uint64_t ort_id,
                                    const OrtProfilingEvent *event);
/* Requests the events of all profilers, for the trace and for ONNX Runtime's container. Errors are logged: a profiler
 * that fails loses only its own events. Events may begin and end meanwhile and afterwards; they are ignored. */
void ort_profilers_end(struct ort_profilers *profilers, OrtProfilingEventsContainer *container);
/* `driven` is run by ONNX Runtime and has joined the session itself. Hosted profilers of the same library would give
 * the same events again, so their events are dropped. */
void ort_profilers_mute(struct ort_profilers *profilers, const OrtEpProfilerImpl *driven);
/* Adds the labels of profilers whose events are in the trace to `missing`. */
struct ort_missing;
void ort_profilers_report(const struct ort_profilers *profilers, struct ort_missing *missing);
void ort_profilers_release(struct ort_profilers *profilers);

#endif
