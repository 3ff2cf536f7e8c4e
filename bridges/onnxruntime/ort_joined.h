/* Profilers that ONNX Runtime drives and that hand their events to the collector themselves (epprof/ep_push.h). */
#ifndef EPPROF_BRIDGES_ONNXRUNTIME_ORT_JOINED_H
#define EPPROF_BRIDGES_ONNXRUNTIME_ORT_JOINED_H

#include "ort.h"

/* The collector whose innermost event with this id is open on this thread, held until ort_collector_let_go.  NULL: there is
 * none that records into a file. */
struct collector *ort_collector_hold(uint64_t ort_id);
void ort_collector_let_go(struct collector *collector);

/* Takes the profiler into its recording.  The library of the profiler is not hosted beside it any more.
 * Errors: as epp_session_join. */
epp_status *ort_collector_join(struct collector *collector, OrtEpProfilerImpl *profiler, const char *ep_name,
                               epp_member **member);

/* The trace's id of the innermost event of this collector with this id that is open on this thread; 0: none. */
uint64_t ort_collector_event(const struct collector *collector, uint64_t ort_id);

#endif
