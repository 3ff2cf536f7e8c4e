/* A plugin for TensorFlow with the fault that TF_FAULT names.  If TF_CALLS is set, it appends a letter for each call: i
 * init, s start, e stop, n collect with NULL, c collect, p destroy_profiler, f destroy_profiler_fns.  Without a fault it
 * returns an XSpace with one event per run, whose line starts now. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "epprof/abi/tf.h"
#include "hanging.h"
#include "tf_faults.h"

#pragma weak TF_SetStatus

static int64_t start_ns;
static unsigned run;

static void call(const char *letter)
{
	char calls[512];
	const char *before = getenv("TF_CALLS");
	/* Only tests in C set it: in a framework other threads may be in getenv, which setenv would break. */
	if (!before)
		return;
	snprintf(calls, sizeof(calls), "%s%s", before, letter);
	setenv("TF_CALLS", calls, 1);
}

static void fail(TF_Status *status, const char *step)
{
	if (is(step) && TF_SetStatus)
		TF_SetStatus(status, TF_INTERNAL, "the \"device\" is\tgone");
}

static void start(const TP_Profiler *profiler, TF_Status *status)
{
	hang_at("tf:start");
	struct timespec now;
	(void)profiler;
	call("s");
	clock_gettime(CLOCK_REALTIME, &now);
	start_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	run++;
	fail(status, "start");
}

static void stop(const TP_Profiler *profiler, TF_Status *status)
{
	hang_at("tf:stop");
	(void)profiler;
	call("e");
	fail(status, "stop");
}

/* XSpace { plane "/device:XPU:3" { line 5 "queue \"5\"" { event "work N" } } } and, on request, more. */
static size_t xspace(uint8_t *out)
{
	uint8_t line[256], plane[512], name[128], entry[160];
	char text[64];
	size_t count = 0, plane_count = 0, name_count = 0, entry_count = 0;
	line[count++] = 1 << 3;
	line[count++] = 5;
	count += field(line + count, 2, "queue \"5\"", 9);
	line[count++] = 3 << 3;
	count += varint(line + count, (uint64_t)(is("epoch")    ? 1000
	                                         : is("future") ? start_ns + 3600000000000
	                                                        : start_ns));
	/* metadata 1, offset 1 us, duration 2 us; or backwards */
	uint8_t event[32] = { 1 << 3, 1 };
	size_t event_count = 2;
	event[event_count++] = 2 << 3;
	event_count += varint(event + event_count, 1000000);
	event[event_count++] = 3 << 3;
	event_count += varint(event + event_count, is("backwards") ? (uint64_t)-5000000 : 2000000);
	count += field(line + count, 4, event, event_count);
	plane_count += field(plane + plane_count, 2, "/device:XPU:3", 13);
	plane_count += field(plane + plane_count, 3, line, count);
	snprintf(text, sizeof(text), "work %u", run);
	name[name_count++] = 1 << 3;
	name[name_count++] = 1;
	name_count += field(name + name_count, 2, text, strlen(text));
	entry[entry_count++] = 1 << 3;
	entry[entry_count++] = 1;
	entry_count += field(entry + entry_count, 2, name, name_count);
	plane_count += field(plane + plane_count, 4, entry, entry_count);
	size_t all = field(out, 1, plane, plane_count);
	if (is("messages")) {
		all += field(out + all, 2, "counters are missing", 20);
		all += field(out + all, 3, "slow driver", 11);
	}
	return all;
}

static void collect(const TP_Profiler *profiler, uint8_t *buffer, size_t *size_in_bytes, TF_Status *status)
{
	uint8_t bytes[1024];
	(void)profiler;
	size_t count = xspace(bytes);
	call(buffer ? "c" : "n");
	hang_at(buffer ? "tf:collect_data_xspace" : "tf:size");
	if (!buffer) {
		*size_in_bytes = is("huge") ? (size_t)4 << 30 : is("largest") ? SIZE_MAX : is("empty") ? 0 : count;
		if (is("grow far"))
			*size_in_bytes = 1;
		if (is("grow"))
			*size_in_bytes = count - 7;
		if (is("zero tail"))
			*size_in_bytes = count + 1000;
		if (is("size"))
			*size_in_bytes = (size_t)1 << 60;
		fail(status, "size");
		return;
	}
	if (is("grow far")) {
		*size_in_bytes = (size_t)1 << 40;
		return;
	}
	memcpy(buffer, bytes, count);
	if (is("grow"))
		*size_in_bytes = count;
	if (is("overrun"))
		memset(buffer + count, 'x', 100);
	if (is("short"))
		*size_in_bytes = count - 3;
	if (is("garbage"))
		memset(buffer, 0xA5, count);
	fail(status, "bytes");
}

static void destroy_profiler(TP_Profiler *profiler)
{
	hang_at("tf:destroy_profiler");
	(void)profiler;
	call("p");
}

static void destroy_fns(TP_ProfilerFns *fns)
{
	hang_at("tf:destroy_profiler_fns");
	(void)fns;
	call("f");
}

void TF_InitProfiler(TF_ProfilerRegistrationParams *params, TF_Status *status)
{
	hang_at("tf:TF_InitProfiler");
	call("i");
	params->profiler->device_type = is("lower") ? "xpu" : is("digit") ? "XPU2" : is("no type") ? NULL : "XPU";
	if (is("long type"))
		params->profiler->device_type = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
	params->profiler_fns->start = is("no start") ? NULL : start;
	params->profiler_fns->stop = is("no stop") ? NULL : stop;
	params->profiler_fns->collect_data_xspace = is("no collect") ? NULL : collect;
	params->destroy_profiler = is("no destroy") ? NULL : destroy_profiler;
	params->destroy_profiler_fns = is("no destroy fns") ? NULL : destroy_fns;
	if (is("fns size"))
		params->profiler_fns->struct_size = 39;
	if (is("fns no size"))
		params->profiler_fns->struct_size = 0;
	if (is("profiler size"))
		params->profiler->struct_size = 16;
	if (is("params size"))
		params->struct_size = 56;
	/* A later, unknown revision: hosts ignore the additional members. */
	if (is("later")) {
		params->profiler_fns->struct_size = 88;
		memset((uint8_t *)params->profiler_fns + 40, 0xEE, 48);
	}
	fail(status, "init");
}
