/* Calls into attached profilers: StartProfiling, StartEvent, StopEvent, EndProfiling, as ONNX Runtime makes them.
 *
 * A profiler's status never stops the session: it is counted, the first text of each profiler is kept, the log gets it.
 *
 * StartProfiling and EndProfiling are called on each profiler's worker, for all of them at once and with one deadline
 * (record/profilers/profiler_steps.h).  StartEvent and StopEvent belong to the event's thread and are called there, outside every lock;
 * the recorder's mark is clear and `in_callback` set, so that an ending session does not wait for them.  No deadline can end
 * such a call: the helper looks how long it has been running, and the thread stays inside until it returns.
 *
 * A profiler of which a call has not returned in time is given up: it is not called any more in this run, and the others go
 * on.  If StartEvent or StopEvent hangs it is never called again, not even Release. */
#ifndef EPPROF_RUNTIME_RECORD_PROFILERS_PROFILER_CALLS_H
#define EPPROF_RUNTIME_RECORD_PROFILERS_PROFILER_CALLS_H

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

/* StartProfiling on each. */
void calls_start_profiling(struct session *session);

/* EndProfiling on each that has not been given up; waits for callbacks that are running. */
void calls_end_profiling(struct session *session);

/* Gives up each profiler in whose StartEvent or StopEvent a thread has been for too long.  While the session records; no lock
 * but the drain lock is held. */
void calls_watch(struct session *session);

#endif
