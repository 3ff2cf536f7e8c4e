/* A plugin of the first revision.  It leaves the size of its table as the host set it, and returns a RunMetadata but no
 * XSpace: with the current time, with TF_FAULT=old a past time, or with TF_FAULT=cut only half of it. */
#include <string.h>
#include <time.h>

#include "epprof/abi/tf.h"
#include "hanging.h"
#include "tf_faults.h"

static void start(const TP_Profiler *profiler, TF_Status *status)
{
	hang_at("first:start");
	(void)profiler, (void)status;
}

static void stop(const TP_Profiler *profiler, TF_Status *status)
{
	hang_at("first:stop");
	(void)profiler, (void)status;
}

static void collect(const TP_Profiler *profiler, uint8_t *buffer, size_t *size_in_bytes, TF_Status *status)
{
	uint8_t node[128], device[256], stats[300], run[400];
	struct timespec now;
	(void)profiler, (void)status;
	clock_gettime(CLOCK_REALTIME, &now);
	uint64_t now_us = is("old") ? 5 : (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
	size_t count = field(node, 1, "MatMul", 6);
	node[count++] = 2 << 3;
	count += varint(node + count, now_us);
	node[count++] = 5 << 3;
	node[count++] = 7;
	node[count++] = 10 << 3;
	node[count++] = 4;
	count += field(node + count, 8, "[XPU] MatMul(\"a\")", 17);
	static const uint8_t thread[] = { 1 << 3, 4, 2 << 3 | 2, 5, 'q', 'u', 'e', 'u', 'e' };
	size_t device_count = field(device, 1, "/job:a/device:XPU:1", 19);
	device_count += field(device + device_count, 2, node, count);
	device_count += field(device + device_count, 3, thread, sizeof(thread));
	size_t stats_count = field(stats, 1, device, device_count);
	size_t run_count = field(run, 1, stats, stats_count);
	if (is("cut"))
		run_count -= 12;
	hang_at(buffer ? "first:collect_data_run_metadata" : "first:run_metadata_size");
	if (buffer)
		memcpy(buffer, run, run_count);
	*size_in_bytes = run_count;
}

static void destroy_profiler(TP_Profiler *profiler)
{
	hang_at("first:destroy_profiler");
	(void)profiler;
}

static void destroy_fns(TP_ProfilerFns *fns)
{
	hang_at("first:destroy_profiler_fns");
	(void)fns;
}

static void collect_none(const TP_Profiler *profiler, uint8_t *buffer, size_t *size_in_bytes, TF_Status *status)
{
	hang_at("first:collect_data_xspace");
	(void)profiler, (void)buffer, (void)status;
	*size_in_bytes = 0;
}

void TF_InitProfiler(TF_ProfilerRegistrationParams *params, TF_Status *status)
{
	hang_at("first:TF_InitProfiler");
	(void)status;
	EpprofTfFirstFns *fns = (EpprofTfFirstFns *)params->profiler_fns;
	params->profiler->device_type = "XPU";
	fns->start = start;
	fns->stop = stop;
	fns->collect_data_run_metadata = collect;
	fns->collect_data_xspace = collect_none;
	params->destroy_profiler = destroy_profiler;
	params->destroy_profiler_fns = destroy_fns;
}
