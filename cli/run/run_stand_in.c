/* A profiler that does nothing.  It represents a provider's profiler in the recording's ledger, if ONNX Runtime calls
 * the real profiler. */
#include "run.h"

static void stand_in_release(OrtEpProfilerImpl *profiler)
{
	(void)profiler;
}

static OrtStatus *stand_in_start(OrtEpProfilerImpl *profiler, int64_t offset_ns)
{
	(void)profiler, (void)offset_ns;
	return NULL;
}

static OrtStatus *stand_in_end(OrtEpProfilerImpl *profiler, OrtProfilingEventsContainer *container)
{
	(void)profiler, (void)container;
	return NULL;
}

OrtEpProfilerImpl run_stand_in = { .ort_version_supported = EPPROF_ORT_API_VERSION_MIN,
	                           .Release = stand_in_release,
	                           .StartProfiling = stand_in_start,
	                           .EndProfiling = stand_in_end };
