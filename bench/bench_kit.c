/* Measures the cost of the kit for an execution provider: an emitted event with two integer args.
 *
 * There are three hosts: a session, which includes the push of full buffers; a minimal host that only counts what is
 * pushed, so that the cost of the kit alone is seen; and the same host as ONNX Runtime, where all events stay in the
 * kit's buffer. */
#include <string.h>

#include "bench.h"
#include "epprof/ep.h"
#include "epprof/plugin.h"

#define COUNT 30000u

/* ---- the stand-in ---- */

static uint64_t pushed_count;

static uint64_t per_second(void)
{
	return 1000000000;
}

static void push(OrtEpProfilerImpl *profiler, const EpprofBatch *batch)
{
	(void)profiler;
	pushed_count += batch->events_count;
}

static OrtExperimentalFnPtr find_function(const char *name)
{
	if (strcmp(name, "EpprofApi_PushEvents_SinceV1") == 0)
		return (OrtExperimentalFnPtr)push;
	if (strcmp(name, "EpprofApi_HostTicks_SinceV1") == 0)
		return (OrtExperimentalFnPtr)bench_wall_ns;
	if (strcmp(name, "EpprofApi_HostTicksPerSecond_SinceV1") == 0)
		return (OrtExperimentalFnPtr)per_second;
	return NULL;
}

static OrtStatus *create_status(OrtErrorCode code, const char *message)
{
	(void)code;
	return (OrtStatus *)(uintptr_t)message;
}

static void release_status(OrtStatus *status)
{
	(void)status;
}

static const OrtEpApi *get_ep_api(void)
{
	static OrtEpApi ep_api;
	return &ep_api;
}

static const OrtApi *get_api(uint32_t version)
{
	static OrtApi api;
	(void)version;
	api.CreateStatus = create_status;
	api.ReleaseStatus = release_status;
	api.GetEpApi = get_ep_api;
	api.GetExperimentalFunction = find_function;
	return &api;
}

static const char *version_ours(void)
{
	return "1.29.0";
}

/* The last version without GetExperimentalFunction. */
static const char *version_without(void)
{
	return "1.26.0";
}

static const OrtApiBase stand_in = { get_api, version_ours };
static const OrtApiBase stand_in_ort = { get_api, version_without };

/* ---- the case ---- */

static uint64_t device_ticks(void *user)
{
	(void)user;
	return bench_wall_ns();
}

static epp_ep_profiler *make(struct bench *bench, const OrtApiBase *base)
{
	const epp_ep_options options = {
		.struct_size = sizeof(options),
		.ort_api_base = base,
		.ep_name = "bench",
		.now_ticks = device_ticks,
		.ticks_per_second = 1000000000,
		.buffer_bytes = 1u << 30,
	};
	epp_ep_profiler *profiler = NULL;
	if (epp_ep_profiler_create(&options, &profiler) || !profiler) {
		bench_fail(bench, "making a profiler with the kit", NULL);
		return NULL;
	}
	return profiler;
}

OrtEpProfilerImpl *bench_kit_profiler(struct bench *bench)
{
	epp_ep_profiler *profiler = make(bench, epp_ort_api_base());
	return profiler ? &profiler->impl : NULL;
}

struct subject {
	struct bench *bench;
	const OrtApiBase *stand_in; /* NULL: a session */
	epp_session *session;
	epp_ep_profiler *profiler;
};

static void emit(void *user, uint64_t count)
{
	const struct subject *subject = user;
	epp_ep_profiler *profiler = subject->profiler;
	const epp_ep_arg args[] = { { .key = "m", .i64 = 64 }, { .key = "n", .i64 = 10 } };
	uint64_t begin_ns = bench_wall_ns();
	for (uint64_t i = 0; i < count; i++) {
		const epp_ep_event event = {
			.parent = i,
			.name = "gemm_f32_64x64",
			.start_ticks = begin_ns + i * 50,
			.end_ticks = begin_ns + i * 50 + 40,
			.stream = 1,
			.args = args,
			.args_count = 2,
		};
		epp_ep_emit(profiler, &event);
	}
}

static bool begin(void *user)
{
	struct subject *subject = user;
	subject->profiler = make(subject->bench, subject->stand_in ? subject->stand_in : epp_ort_api_base());
	if (!subject->profiler)
		return false;
	OrtEpProfilerImpl *impl = &subject->profiler->impl;
	if (!subject->stand_in) {
		subject->session = bench_session(subject->bench, impl);
		return subject->session != NULL;
	}
	if (impl->StartProfiling(impl, 0)) {
		impl->Release(impl);
		bench_fail(subject->bench, "StartProfiling", NULL);
		return false;
	}
	return true;
}

static uint64_t finish(void *user)
{
	struct subject *subject = user;
	EpprofLedger ledger;
	if (subject->session) {
		uint64_t lost = bench_lost(subject->session);
		epp_session_destroy(subject->session);
		return lost;
	}
	epp_ep_ledger(subject->profiler, &ledger);
	/* EndProfiling is not measured: the time in which a host processes the events is not a cost of the kit. */
	subject->profiler->impl.Release(&subject->profiler->impl);
	return ledger.lost_no_buffer + ledger.lost_refused + ledger.lost_outside_run + ledger.lost_other;
}

static void measure(struct bench *bench, const OrtApiBase *host, const char *figure, enum bench_bound kind)
{
	struct bench_samples samples;
	struct subject subject = { .bench = bench, .stand_in = host };
	const struct bench_line line = { .figure = figure, .unit = "ns", .kind = kind, .bound = 60, .count = COUNT };
	if (bench_take_turns(bench, &(struct bench_subject){ begin, emit, finish, &subject, NULL }, line.count, &samples))
		bench_report_samples(bench, &samples, &line);
}

void bench_kit_emit(struct bench *bench)
{
	measure(bench, NULL, NULL, BENCH_AT_MOST);
	measure(bench, &stand_in, "into its buffer alone", BENCH_AT_MOST);
	/* Most of this time is spent in first accesses to new memory. */
	measure(bench, &stand_in_ort, "kept for ONNX Runtime", BENCH_NO_BOUND);
}
