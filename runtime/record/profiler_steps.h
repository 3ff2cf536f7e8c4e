/* Calls StartProfiling or EndProfiling of several profilers in parallel, each on its worker. */
#ifndef EPPROF_RUNTIME_RECORD_PROFILER_STEPS_H
#define EPPROF_RUNTIME_RECORD_PROFILER_STEPS_H

#include "base/worker.h"
#include "epprof/abi/ort_ep_profiler.h"

struct profiler_step {
	OrtEpProfilerImpl *profiler;
	struct worker *worker;
	OrtProfilingEventsContainer *container; /* for EndProfiling; NULL: a container that adds events to the
	                                           profiler's session */
	/* Results. */
	enum worker_result result;
	OrtStatus *status; /* set if the result is WORKER_DONE; the caller releases it */
	uint64_t before_ticks, after_ticks;
	int64_t offset_ns; /* the argument of StartProfiling */
};

/* Adds events to the session to which the profiler belongs.  Does nothing if there is no such session any more. */
OrtStatus *profiler_steps_add(OrtEpProfilerImpl *profiler, const OrtProfilingEvent *const *events, size_t count);

/* Calls StartProfiling of all profilers.  Its argument is `offset_ns`, plus the time since `since_ticks` if that is not
 * 0.  A call may take `timeout_ns` from now, less what earlier calls of its worker have taken of the calling thread's
 * budget (base/worker.h).  If a call returns later, EndProfiling is called after it, and its events are discarded. */
void profiler_steps_start(struct profiler_step *steps, size_t count, int64_t offset_ns, uint64_t since_ticks,
                          uint64_t timeout_ns);
/* Calls EndProfiling of all profilers.  All calls have the same deadline. */
void profiler_steps_end(struct profiler_step *steps, size_t count, const struct timespec *deadline);

#endif
