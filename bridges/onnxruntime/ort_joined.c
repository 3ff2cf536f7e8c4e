/* The collector's interface for profilers that ONNX Runtime runs: EpprofCollector of epprof/ep_push.h.
 *
 * An EpprofRecording is registered with the collector's session as a hosted profiler and has a reference to the
 * collector, so that the session exists until the last profiler has left.  Profilers use nanoseconds of
 * CLOCK_MONOTONIC, sessions use ticks.  Both clocks are read when a profiler joins, and again when a batch is
 * converted.  A time is converted along the line through these two readings. */
#include "ort_joined.h"

#include <stdlib.h>
#include <time.h>

#include "epprof/ep_push.h"
#include "epprof/plugin.h"
#include "epprof/profiler.h"

EPP_EXPORT const EpprofCollector *EpprofGetCollector(void);

#define SHORT_NS 1000000u /* the shortest time between two readings from which a rate is computed */

struct reading {
	uint64_t ns, ticks;
	uint64_t half_ticks;
};

struct EpprofRecording {
	struct collector *collector;
	OrtEpProfilerImpl *profiler;
	epp_hosted_profiler *registration;
	uint32_t number; /* number of the profiler in the collector */
	EpprofApi_PushEvents_SinceV1_Fn push;
	struct reading joined;
};

/* ---- the clock ---- */

static struct reading read_clocks(void)
{
	struct timespec now;
	uint64_t before = epp_host_ticks();
	clock_gettime(CLOCK_MONOTONIC, &now);
	uint64_t after = epp_host_ticks();
	return (struct reading){ (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
		                 before + (after - before) / 2, (after - before + 1) / 2 };
}

static double ticks_per_ns(const struct reading *first, const struct reading *now)
{
	if (now->ns - first->ns < SHORT_NS)
		return (double)epp_host_ticks_per_second() / 1e9;
	return (double)(now->ticks - first->ticks) / (double)(now->ns - first->ns);
}

static uint64_t to_ticks(const struct reading *now, double rate, uint64_t ns)
{
	return now->ticks + (uint64_t)(int64_t)((double)(int64_t)(ns - now->ns) * rate);
}

/* ---- entries ---- */

static EpprofRecording *join_recording(OrtEpProfilerImpl *profiler, const char *ep_name, uint64_t correlation_id)
{
	const OrtApi *own = epp_ort_api_base()->GetApi(EPPROF_ORT_API_VERSION);
	struct collector *collector = ort_collector_hold(correlation_id);
	EpprofRecording *made = collector ? calloc(1, sizeof(*made)) : NULL;
	if (!made)
		goto out;
	*made = (EpprofRecording){ .collector = collector, .profiler = profiler, .joined = read_clocks() };
	made->push = (EpprofApi_PushEvents_SinceV1_Fn)own->GetExperimentalFunction("EpprofApi_PushEvents_SinceV1");
	epp_status *status = ort_collector_join(collector, profiler, ep_name, &made->registration, &made->number);
	if (!status)
		return made;
	epp_status_destroy(status);
	free(made);
out:
	if (collector)
		ort_collector_release(collector);
	return NULL;
}

static uint64_t event_id(EpprofRecording *recording, uint64_t correlation_id)
{
	return ort_collector_event(recording->collector, correlation_id, recording->number);
}

static void push_pairs(const EpprofRecording *recording, const EpprofBatch *batch, const struct reading *now, double rate)
{
	for (size_t i = 0; i < batch->pairs_count; i++) {
		EpprofClockPair pair = batch->pairs[i];
		pair.host_ticks = to_ticks(now, rate, pair.host_ticks);
		pair.half_width_ticks = (uint64_t)((double)pair.half_width_ticks * rate) + now->half_ticks + 1;
		recording->push(recording->profiler,
		                &(EpprofBatch){ .struct_size = sizeof(EpprofBatch), .pairs = &pair, .pairs_count = 1 });
	}
}

static void push_waits(const EpprofRecording *recording, const EpprofBatch *batch, const struct reading *now, double rate)
{
	for (size_t i = 0; i < batch->waits_count; i++) {
		EpprofWait wait = batch->waits[i];
		wait.start_host_ticks = to_ticks(now, rate, wait.start_host_ticks);
		wait.end_host_ticks = to_ticks(now, rate, wait.end_host_ticks);
		recording->push(recording->profiler,
		                &(EpprofBatch){ .struct_size = sizeof(EpprofBatch), .waits = &wait, .waits_count = 1 });
	}
}

/* Pushes a batch in parts.  The first part has the clocks, devices and tracks, which must precede events; the last part
 * has the ledger. */
static void push(EpprofRecording *recording, const EpprofBatch *given)
{
	EpprofBatch batch = { 0 };
	size_t known = given->struct_size < sizeof(batch) ? given->struct_size : sizeof(batch);
	__builtin_memcpy(&batch, given, known);
	const struct reading now = read_clocks();
	double rate = ticks_per_ns(&recording->joined, &now);
	if (batch.pairs_count || batch.waits_count) {
		recording->push(recording->profiler, &(EpprofBatch){ .struct_size = sizeof(EpprofBatch),
		                                                     .clocks = batch.clocks,
		                                                     .clocks_count = batch.clocks_count,
		                                                     .devices = batch.devices,
		                                                     .devices_count = batch.devices_count,
		                                                     .tracks = batch.tracks,
		                                                     .tracks_count = batch.tracks_count });
		push_pairs(recording, &batch, &now, rate);
		push_waits(recording, &batch, &now, rate);
		batch.clocks_count = batch.devices_count = batch.tracks_count = 0;
		batch.pairs_count = batch.waits_count = 0;
	}
	const EpprofHostClock clock = { .origin = now.ns, .ticks = now.ticks, .ticks_per_unit = rate };
	batch.host_clock = &clock;
	batch.struct_size = sizeof(batch);
	recording->push(recording->profiler, &batch);
}

static void leave_recording(EpprofRecording *recording)
{
	epp_hosted_profiler_destroy(recording->registration);
	ort_collector_release(recording->collector);
	free(recording);
}

const EpprofCollector *EpprofGetCollector(void)
{
	static const EpprofCollector collector = { .struct_size = sizeof(collector),
		                                   .Join = join_recording,
		                                   .EventId = event_id,
		                                   .Push = push,
		                                   .Leave = leave_recording };
	return &collector;
}
