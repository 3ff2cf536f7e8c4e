/* The profilers of one profiling that are carried beside the collector.  NULL is none, and all functions take it. */
#ifndef EPPROF_BRIDGES_ONNXRUNTIME_ORT_PROFILERS_H
#define EPPROF_BRIDGES_ONNXRUNTIME_ORT_PROFILERS_H

#include "ort_carried.h"

struct ort_profilers;

/* What ONNX Runtime told at StartProfiling, and when. */
struct ort_told {
	int64_t offset_ns; /* how long ago its profile began */
	uint64_t ticks;    /* of the host's clock */
	int64_t unix_ns;   /* the same moment */
};

/* Makes a profiler of each EP that has one, takes it into the session, which outlives it, and starts it.  Each is told the
 * offset as it is by then.
 * Errors: a profiler that fails to start is carried all the same, as ONNX Runtime does it; the first status is given. */
OrtStatus *ort_profilers_start(const struct ort_eps *eps, epp_session *session, const struct ort_told *told,
                               struct ort_profilers **profilers);
/* `id` is the trace's, which becomes ONNX Runtime's where it is told. */
OrtStatus *ort_profilers_start_event(struct ort_profilers *profilers, uint64_t id, uint64_t ort_id);
OrtStatus *ort_profilers_stop_event(struct ort_profilers *profilers, uint64_t id, uint64_t ort_id,
                                    const OrtProfilingEvent *event);
/* Asks each for its events, for the trace and for ONNX Runtime's container.  What goes wrong is logged: one that fails loses
 * its own events alone.  Events may begin and end meanwhile and afterwards; they are nobody's. */
void ort_profilers_end(struct ort_profilers *profilers, OrtProfilingEventsContainer *container);
/* `driven` is driven by ONNX Runtime and in the session itself: those of the same library, which would give the same events
 * again, give none. */
void ort_profilers_mute(struct ort_profilers *profilers, const OrtEpProfilerImpl *driven);
/* Whose events the trace has, or has got in the end. */
struct ort_missing;
void ort_profilers_tell(const struct ort_profilers *profilers, struct ort_missing *missing);
void ort_profilers_release(struct ort_profilers *profilers);

#endif
