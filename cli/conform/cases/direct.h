/* Calls the entries of an OrtEpProfilerImpl directly from a case.  A session is recording, so that the profiler can
 * deliver events, but the session does not call the profiler. */
#ifndef EPPROF_CLI_CONFORM_CASES_DIRECT_H
#define EPPROF_CLI_CONFORM_CASES_DIRECT_H

#include "cli/conform/conform.h"
#include "epprof/profiler.h"

struct direct {
	OrtEpProfilerImpl *profiler;
	OrtProfilingEventsContainer *container;
	OrtProfilingEvent *node; /* for StopEvent */
};

/* Loads the plugin and makes a profiler, or skips the case. */
struct direct direct_open(const struct conform *conform);
OrtStatus *direct_start(const struct direct *direct);
OrtStatus *direct_end(const struct direct *direct);
/* Return NULL also if the profiler lacks the entry, which is optional. */
OrtStatus *direct_start_event(const struct direct *direct, uint64_t id);
OrtStatus *direct_stop_event(const struct direct *direct, uint64_t id);

#endif
