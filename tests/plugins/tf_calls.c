/* A plugin for TensorFlow that reports calls and their kernels in planes of a GPU, after the host's plane or before it
 * (TF_CALLS_LAST): two calls, three kernels launched by them, and one kernel without a call.  TF_CALLS_LINE: the id of
 * the calls' line. */
#include <stdlib.h>
#include <time.h>

#include "epprof/abi/tf.h"
#include "tests/support/xplane_builder.h"

static int64_t start_ns;

static void start(const TP_Profiler *profiler, TF_Status *status)
{
	struct timespec now;
	(void)profiler, (void)status;
	clock_gettime(CLOCK_REALTIME, &now);
	start_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void stop(const TP_Profiler *profiler, TF_Status *status)
{
	/* Wait, because the events have a duration of some us. */
	(void)profiler, (void)status;
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static void add(struct xbytes *line, int64_t name, int64_t offset_us, int64_t duration_us, uint64_t correlation, int details)
{
	struct xbytes event = { 0 };
	xevent(&event, name, offset_us * 1000000, duration_us * 1000000);
	if (correlation)
		xstat_number(&event, 4, 1, 3, correlation);
	if (details)
		xstat_text(&event, 4, 2, 5, "regs:8 static_shared:0 dynamic_shared:0 grid:1,1,1 block:64,1,1 occ_pct:50");
	xput(line, 4, &event);
}

static void add_host(struct xbytes *space)
{
	struct xbytes plane = { 0 }, line = { 0 };
	xtext(&plane, 2, "/host:CPU");
	const char *id = getenv("TF_CALLS_LINE");
	xline(&line, id ? (int64_t)strtoull(id, NULL, 10) : 77, "thread", start_ns);
	add(&line, 1, 10, 20, 1, 0);
	add(&line, 1, 40, 20, 2, 0);
	xput(&plane, 3, &line);
	xentry(&plane, 4, 1, "launch", NULL);
	xentry(&plane, 5, 1, "correlation_id", NULL);
	xput(space, 1, &plane);
}

static void add_device(struct xbytes *space)
{
	struct xbytes plane = { 0 }, line = { 0 };
	xtext(&plane, 2, "/device:GPU:0");
	xline(&line, 13, "Stream #13(Compute)", start_ns);
	add(&line, 1, 35, 10, 1, 1);
	add(&line, 2, 70, 10, 2, 1);
	add(&line, 3, 81, 10, 2, 1);
	add(&line, 4, 95, 1, 0, 1);
	xput(&plane, 3, &line);
	xentry(&plane, 4, 1, "gemm", NULL);
	xentry(&plane, 4, 2, "relu", NULL);
	xentry(&plane, 4, 3, "softmax", NULL);
	xentry(&plane, 4, 4, "nobody's", NULL);
	xentry(&plane, 5, 1, "correlation_id", NULL);
	xentry(&plane, 5, 2, "kernel_details", NULL);
	xentry(&plane, 5, 3, "device_vendor", NULL);
	xentry(&plane, 5, 4, "core_count", NULL);
	xstat_text(&plane, 6, 3, 5, "Nvidia");
	xstat_number(&plane, 6, 4, 4, 108);
	xput(space, 1, &plane);
}

static void collect(const TP_Profiler *profiler, uint8_t *buffer, size_t *size_in_bytes, TF_Status *status)
{
	struct xbytes space = { 0 };
	(void)profiler, (void)status;
	if (!getenv("TF_CALLS_LAST"))
		add_host(&space);
	add_device(&space);
	if (getenv("TF_CALLS_LAST"))
		add_host(&space);
	if (buffer)
		memcpy(buffer, space.bytes, space.count);
	*size_in_bytes = space.count;
	free(space.bytes);
}

static void destroy_profiler(TP_Profiler *profiler)
{
	(void)profiler;
}

static void destroy_profiler_fns(TP_ProfilerFns *fns)
{
	(void)fns;
}

__attribute__((visibility("default"))) void TF_InitProfiler(TF_ProfilerRegistrationParams *params, TF_Status *status)
{
	(void)status;
	params->profiler->device_type = "CALLS";
	params->profiler_fns->start = start;
	params->profiler_fns->stop = stop;
	params->profiler_fns->collect_data_xspace = collect;
	params->destroy_profiler = destroy_profiler;
	params->destroy_profiler_fns = destroy_profiler_fns;
}
