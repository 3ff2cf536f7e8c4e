/* Profilers of other libraries, carried beside the collector: EPPROF_PROFILERS names them. */
#ifndef EPPROF_BRIDGES_ORT_CARRIED_H
#define EPPROF_BRIDGES_ORT_CARRIED_H

#include "ort.h"

/* The libraries, loaded with their factories; the EPs of one session; the profilers of one profiling.  NULL is none of each,
 * and all functions take it. */
struct ort_libraries;
struct ort_eps;
struct ort_profilers;

/* Opens the libraries of a colon-separated list, in its order; an empty list gives NULL.
 * Errors: the status names the library and the step; nothing stays loaded. */
OrtStatus *ort_libraries_load(const struct ort_host *host, const char *list, const OrtLogger *logger,
                              struct ort_libraries **libraries);
/* Asks each which of the devices it serves.  Errors: one that serves none. */
OrtStatus *ort_libraries_find_devices(struct ort_libraries *libraries, const OrtHardwareDevice *const *devices,
                                      size_t count);
void ort_libraries_unload(struct ort_libraries *libraries);

OrtStatus *ort_eps_create(const struct ort_libraries *libraries, const OrtSessionOptions *options,
                          const OrtLogger *logger, struct ort_eps **eps);
void ort_eps_release(struct ort_eps *eps);

/* Makes a profiler of each EP that has one, takes it into the session, and starts it.  The offset is what ONNX Runtime told,
 * at `told_ticks` of the host's clock: each is told it as it is by then.
 * Errors: a profiler that fails to start is carried all the same, as ONNX Runtime does it; the first status is given. */
OrtStatus *ort_profilers_start(const struct ort_eps *eps, epp_session *session, int64_t offset_ns, uint64_t told_ticks,
                               struct ort_profilers **profilers);
/* `id` is the trace's, which becomes ONNX Runtime's where it is told. */
OrtStatus *ort_profilers_start_event(struct ort_profilers *profilers, uint64_t id, uint64_t ort_id);
OrtStatus *ort_profilers_stop_event(struct ort_profilers *profilers, uint64_t id, const OrtProfilingEvent *event);
/* Asks each for its events, for the trace and for ONNX Runtime's container, and releases all. */
OrtStatus *ort_profilers_end(struct ort_profilers *profilers, OrtProfilingEventsContainer *container);

#endif
