/* Calls into attached profilers: StartProfiling, StartEvent, StopEvent, EndProfiling, as ONNX Runtime makes them.
 *
 * A profiler's status never stops the session: it is counted, the first text of each profiler is kept, the log is told.
 * Callbacks run outside every lock; the recorder's mark is clear and `in_callback` set, so that an ending session does not wait
 * for them, but the worker that calls EndProfiling does. */
#ifndef EPPROF_RECORD_CALLS_H
#define EPPROF_RECORD_CALLS_H

#include "epprof/ort_ep_profiler.h"
#include "record/recorder.h"

#define CALLS_PROFILERS_MAX EPF_PRODUCER_COUNT

/* The profilers that want events, fixed while a run lasts. */
struct profiler_calls {
	uint64_t base_ticks; /* the run's start */
	struct profiler_call {
		OrtEpProfilerImpl *profiler; /* NULL: no more */
		uint32_t producer;
	} start[CALLS_PROFILERS_MAX + 1], stop[CALLS_PROFILERS_MAX + 1];
};

/* The mark is set, and cleared on return.  calls_start_event returns `id`. */
uint64_t calls_start_event(struct recorder *recorder, uint64_t id);
void calls_stop_event(struct recorder *recorder, const struct epf_open *open, uint64_t end_ticks, uint64_t tail,
                      const epp_arg *args, size_t args_count);

/* Makes session->calls for a run; NULL if no profiler wants events.  False: no memory. */
bool calls_prepare(struct session *session, uint64_t base_ticks);

/* StartProfiling on each, in order of attaching: the calling thread's. */
void calls_start_profiling(struct session *session);

/* EndProfiling on each: the worker's thread. */
void calls_end_profiling(struct session *session);

/* The profiler whose EndProfiling release has waited for in vain gets an error. */
void calls_blame_hanging(struct session *session);

#endif
