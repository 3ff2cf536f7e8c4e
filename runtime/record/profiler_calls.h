/* Calls into attached profilers: StartProfiling, StartEvent, StopEvent, EndProfiling, as ONNX Runtime makes them.
 *
 * A profiler's status never stops the session: it is counted, and the first text of each profiler is kept and passed to
 * the log.
 *
 * StartProfiling and EndProfiling are called on each profiler's worker, for all profilers at the same time and with one
 * deadline (record/profiler_steps.h). StartEvent and StopEvent are called on the event's thread, outside every lock.
 * During such a call the recorder's mark is clear and `in_callback` is set, so that an ending session does not wait for
 * the call. The call cannot be interrupted: the helper checks how long it has been running, and the thread stays in it
 * until it returns.
 *
 * If a call has not returned in time, its profiler is given up: it is not called any more in this run, and the others
 * continue. If StartEvent or StopEvent hangs, the profiler is never called again, not even its Release. */
#ifndef EPPROF_RUNTIME_RECORD_PROFILER_CALLS_H
#define EPPROF_RUNTIME_RECORD_PROFILER_CALLS_H

#include "epprof/abi/ort_ep_profiler.h"
#include "record/recorder.h"

#define CALLS_PROFILERS_MAX EPF_PRODUCER_COUNT

/* The profilers that have StartEvent or StopEvent. During a run only the pointer to a profiler that was given up
 * changes: it is replaced by a profiler that does nothing. */
struct profiler_calls {
	uint64_t base_ticks; /* the start of the run */
	struct profiler_call {
		OrtEpProfilerImpl *profiler; /* NULL: the end of the list */
		uint32_t producer;
	} start[CALLS_PROFILERS_MAX + 1], stop[CALLS_PROFILERS_MAX + 1];
};

/* Call StartEvent or StopEvent of each profiler. The recorder's mark is set, and cleared on return. calls_start_event
 * returns `id`. */
uint64_t calls_start_event(struct recorder *recorder, uint64_t id);
void calls_stop_event(struct recorder *recorder, const struct epf_open *open, uint64_t end_ticks, uint64_t tail,
                      const epp_arg *args, size_t args_count);

/* Creates session->calls for a run; sets it to NULL if no profiler has StartEvent or StopEvent. Returns false if out of
 * memory. */
bool calls_prepare(struct session *session, uint64_t base_ticks);

/* Calls StartProfiling on each profiler. */
void calls_start_profiling(struct session *session);

/* Waits for running callbacks, then calls EndProfiling on each profiler that has not been given up. */
void calls_end_profiling(struct session *session);

/* Gives up each profiler in whose StartEvent or StopEvent a thread has been for longer than the time limit. Called
 * while the session records; only the drain lock is held. */
void calls_watch(struct session *session);

#endif
