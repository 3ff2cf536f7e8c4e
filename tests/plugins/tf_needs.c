/* A plugin for TensorFlow that links libtensorflow_framework.so.2, and reports an error at each start. */
#include <stddef.h>

#include "epprof/abi/tf.h"

static void start(const TP_Profiler *profiler, TF_Status *status)
{
	(void)profiler;
	TF_SetStatus(status, TF_UNAVAILABLE, "always");
}

static void collect(const TP_Profiler *profiler, uint8_t *buffer, size_t *size_in_bytes, TF_Status *status)
{
	(void)profiler, (void)buffer, (void)status;
	*size_in_bytes = 0;
}

static void destroy_profiler(TP_Profiler *profiler)
{
	(void)profiler;
}

static void destroy_fns(TP_ProfilerFns *fns)
{
	(void)fns;
}

void TF_InitProfiler(TF_ProfilerRegistrationParams *params, TF_Status *status)
{
	(void)status;
	params->profiler->device_type = "NEEDY";
	params->profiler_fns->start = start;
	params->profiler_fns->stop = start;
	params->profiler_fns->collect_data_xspace = collect;
	params->destroy_profiler = destroy_profiler;
	params->destroy_profiler_fns = destroy_fns;
}
