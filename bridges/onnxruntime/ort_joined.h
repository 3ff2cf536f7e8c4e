/* Profilers that ONNX Runtime runs and that push their events to the collector themselves (epprof/ep_push.h). */
#ifndef EPPROF_BRIDGES_ONNXRUNTIME_ORT_JOINED_H
#define EPPROF_BRIDGES_ONNXRUNTIME_ORT_JOINED_H

#include "ort.h"

#include "epprof/profiler.h"

/* Returns the collector whose innermost event with this id is open on this thread.  The caller gets a reference, which
 * ort_collector_release releases.  NULL: there is no such collector that records into a file. */
struct collector *ort_collector_hold(uint64_t ort_id);
void ort_collector_release(struct collector *collector);

/* Joins the profiler to the collector's session.  *number is the profiler's number for ort_collector_event.
 * Errors: as epp_hosted_profiler_create. */
epp_status *ort_collector_join(struct collector *collector, OrtEpProfilerImpl *profiler, const char *ep_name,
                               epp_hosted_profiler **registration, uint32_t *number);

/* Returns the id in the trace of the collector's innermost event with this id of ONNX Runtime that is open on this
 * thread or, if that event is left out, of the innermost recorded event around it; 0: none.  Records that the profiler
 * with this number has events of this node, so that the node's provider is not reported as missing. */
uint64_t ort_collector_event(const struct collector *collector, uint64_t ort_id, uint32_t number);

#endif
