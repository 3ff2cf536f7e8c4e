/* Implements clock_truth.h.  A launch is a host event around a kernel: the event begins, the kernel starts a little
 * later, a wait returns a little after the kernel's end, and the EP emits the kernel.  Sometimes nothing happens for
 * seconds, so that no clock pairs are read.  Each kernel has a number, by which it is found in the trace. */
#include "clock_truth.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock_world.h"
#include "epprof/ep.h"
#include "epprof/timeline.h"
#include "epprof/trace_writer.h"
#include "epprof/track.h"

#define SECOND UINT64_C(1000000000)
#define PAUSE_NS 16000000u          /* between launches, at most */
#define QUIET_EVERY 4000u           /* launches, on average */
#define QUIET_SECONDS 12u           /* at most */
#define KERNEL_NS 2000000u          /* at most */
#define LAUNCHES_A_SECOND_MOST 200u /* the arrays have room for these */

/* Between two accurate clock pairs the bound is about a microsecond plus one step of the counter. */
#define SHARP_NS 1000u

const struct clock_truth_case clock_truth_cases[] = {
	{ .name = "200 ppm fast", .clock = { .fast_ppm = 200 }, .largest_error_ns = 2000, .usual_bound_ns = SHARP_NS },
	{ .name = "200 ppm fast, in microseconds", .clock = { .fast_ppm = 200 }, .microseconds = true, .largest_error_ns = 4000 },
	{ .name = "wanders by 5 ppm",
	  .clock = { .fast_ppm = -50, .wander_ppm = 5, .wander_ns = 60 * SECOND },
	  .usual_bound_ns = SHARP_NS },
	{ .name = "wanders by 100 ppm",
	  .clock = { .fast_ppm = 20, .wander_ppm = 100, .wander_ns = 20 * SECOND },
	  .usual_bound_ns = SHARP_NS },
	{ .name = "jumps ahead by 3 s",
	  .clock = { .fast_ppm = 200, .jump_at_ns = 31 * SECOND, .jump_ns = 3 * SECOND },
	  .usual_bound_ns = SHARP_NS },
	{ .name = "jumps ahead by 40 us",
	  .clock = { .fast_ppm = 200, .jump_at_ns = 31 * SECOND, .jump_ns = 40000 },
	  .usual_bound_ns = SHARP_NS },
	{ .name = "jumps back by 50 ms",
	  .clock = { .fast_ppm = 200, .jump_at_ns = 31 * SECOND, .jump_ns = -50000000 },
	  .usual_bound_ns = SHARP_NS },
	{ .name = "jumps back by 20 s",
	  .clock = { .fast_ppm = 200, .jump_at_ns = 31 * SECOND, .jump_ns = -20 * (int64_t)SECOND },
	  .usual_bound_ns = SHARP_NS },
	{ .name = "wraps at 32 bits",
	  .clock = { .fast_ppm = 200, .start_ticks = 4000000000, .bits = 32 },
	  .usual_bound_ns = SHARP_NS },
	{ .name = "stops for 2.5 s",
	  .clock = { .fast_ppm = 200, .stop_at_ns = 31 * SECOND, .stop_ns = 5 * SECOND / 2 },
	  .usual_bound_ns = SHARP_NS },
	{ .name = "stops for good", .clock = { .fast_ppm = 200, .stop_at_ns = 31 * SECOND, .stop_ns = UINT64_MAX } },
	{ .name = "stops for good, waits known",
	  .clock = { .fast_ppm = 200, .stop_at_ns = 31 * SECOND, .stop_ns = UINT64_MAX },
	  .waits_are_known = true,
	  .usual_bound_ns = KERNEL_NS },
	{ .name = "ticks of 1 us",
	  .clock = { .ticks_per_second = 1000000, .fast_ppm = 200 },
	  .usual_bound_ns = 1000 + 2 * SHARP_NS },
	{ .name = "ticks of 1 ms",
	  .clock = { .ticks_per_second = 1000, .fast_ppm = 200 },
	  .usual_bound_ns = 2 * SECOND / 1000 },
	{ .name = "ticks of 1 ms, waits known",
	  .clock = { .ticks_per_second = 1000, .fast_ppm = 200 },
	  .waits_are_known = true,
	  .usual_bound_ns = KERNEL_NS / 4 * 3 },
	{ .name = "steps of 1 us in ticks of 1 ns",
	  .clock = { .fast_ppm = 200, .step_ticks = 1000 },
	  .usual_bound_ns = 1000 + 2 * SHARP_NS },
	{ .name = "no common clock", .clock = { .fast_ppm = 200 }, .durations_only = true, .usual_bound_ns = KERNEL_NS },
};
const size_t clock_truth_cases_count = sizeof(clock_truth_cases) / sizeof(clock_truth_cases[0]);

struct kernel {
	uint64_t start_ns; /* true */
	uint64_t end_ns;
	uint32_t seen_count;
};

struct moments {
	uint64_t *values;
	size_t count;
};

struct measuring {
	const struct clock_truth_case *subject;
	struct clock_truth *truth;
	struct kernel *kernels;
	size_t kernels_count, kernels_room;
	struct moments errors, bounds;
	uint64_t profiling_ns; /* when ONNX Runtime's profile began */
	uint64_t last_id;
	epp_trace_writer *writer; /* NULL: ONNX Runtime's interface, nothing is written */
	uint32_t thread, stream;
	epp_name launch_name, wait_name, kernel_name, number_key;
	epp_status *status; /* the first one */
};

static void keep(struct measuring *measuring, epp_status *status)
{
	if (!measuring->status)
		measuring->status = status;
	else
		epp_status_destroy(status);
}

/* ---- writes what the kit submits into a trace ---- */

static void record(struct measuring *measuring, const epp_trace_record *record)
{
	if (measuring->writer && !measuring->status)
		keep(measuring, epp_trace_writer_add_record(measuring->writer, record));
}

static void record_batch(void *user, const EpprofBatch *batch)
{
	struct measuring *measuring = user;

	for (size_t i = 0; i < batch->pairs_count; i++)
		record(measuring, &(epp_trace_record){ .kind = EPP_RECORD_CLOCK_PAIR,
		                                       .track = measuring->stream,
		                                       .name = measuring->kernel_name,
		                                       .start_ticks = batch->pairs[i].device_ticks,
		                                       .duration_ticks = batch->pairs[i].host_ticks,
		                                       .id = batch->pairs[i].half_width_ticks });
	for (size_t i = 0; i < batch->events_count; i++) {
		const EpprofEvent *event = &batch->events[i];
		const epp_arg number = { .key = measuring->number_key,
			                 .type = EPP_ARG_I64,
			                 .value.i64 = event->args[0].number.i64 };
		uint64_t bits = measuring->subject->clock.bits ? measuring->subject->clock.bits : 64;
		record(measuring, &(epp_trace_record){
				      .kind = EPP_RECORD_COMPLETE,
				      .category = EPP_KERNEL,
				      .track = measuring->stream,
				      .name = measuring->kernel_name,
				      .start_ticks = event->start_ticks,
				      .duration_ticks = (event->end_ticks - event->start_ticks) & UINT64_MAX >> (64 - bits),
				      .id = ++measuring->last_id,
				      .parent = event->parent,
				      .args = &number,
				      .args_count = 1,
				  });
	}
}

static epp_status *trace_begin(struct measuring *measuring, const char *path)
{
	const accelerator_clock_options *clock = &clock_world_get()->device.options;
	epp_trace_writer_options options = { .struct_size = sizeof(options), .path = path, .overwrite = 1 };
	epp_trace_track thread = { .kind = EPP_TRACK_THREAD, .thread_id = 1, .device = -1, .producer = -1, .name = "host" };
	epp_trace_track stream = {
		.kind = EPP_TRACK_DEVICE,
		.producer = -1,
		.clock_kind = measuring->subject->durations_only ? EPP_CLOCK_DURATION_ONLY : EPP_CLOCK_DEVICE,
		.clock = 1,
		.clock_bits = (uint32_t)clock->bits,
		.ticks_per_second = clock->ticks_per_second,
		.name = "stream",
		.group = "device",
	};

	epp_status *status = epp_trace_writer_create(&options, &measuring->writer);
	if (!status)
		status = epp_trace_writer_add_track(measuring->writer, &thread, &measuring->thread);
	if (!status)
		status = epp_trace_writer_add_track(measuring->writer, &stream, &measuring->stream);
	if (status)
		return status;
	measuring->launch_name = epp_trace_writer_intern_name(measuring->writer, "launch", 6);
	measuring->wait_name = epp_trace_writer_intern_name(measuring->writer, "wait", 4);
	measuring->kernel_name = epp_trace_writer_intern_name(measuring->writer, "kernel", 6);
	measuring->number_key = epp_trace_writer_intern_name(measuring->writer, "number", 6);
	return NULL;
}

static epp_status *trace_finish(struct measuring *measuring)
{
	uint64_t end = clock_world_get()->now_ns;
	epp_trace_pair pairs[2] = { { .ticks = CLOCK_WORLD_START_NS, .monotonic_ns = CLOCK_WORLD_START_NS },
		                    { .ticks = end, .monotonic_ns = (int64_t)end } };
	return epp_trace_writer_finish(measuring->writer, &pairs[0], &pairs[1]);
}

/* ---- the program ---- */

static epp_status *status_of(OrtStatus *status)
{
	return status ? epp_status_create(EPP_INVALID_ARGUMENT, "the kit: %s", (const char *)status) : NULL;
}

static void launch(struct measuring *measuring, epp_ep_profiler *profiler)
{
	const accelerator_clock *clock = &clock_world_get()->device;
	uint64_t id = ++measuring->last_id, wait_id = ++measuring->last_id;
	struct kernel *kernel = &measuring->kernels[measuring->kernels_count];
	const epp_ep_arg number = { .key = "number", .i64 = (int64_t)measuring->kernels_count++ };

	uint64_t begin = clock_world_host_ns();
	keep(measuring, status_of(profiler->impl.StartEvent(&profiler->impl, id)));
	uint64_t token = epp_ep_current(profiler);
	kernel->start_ns = clock_world_get()->now_ns + 2000 + clock_world_random(40000);
	kernel->end_ns = kernel->start_ns + 500 + clock_world_random(KERNEL_NS);
	clock_world_pass(1500);
	uint64_t wait_begin = clock_world_host_ns();
	clock_world_get()->now_ns = kernel->end_ns + 1000 + clock_world_random(20000);
	uint64_t wait_end = clock_world_host_ns();
	epp_ep_emit(profiler, &(epp_ep_event){ .parent = token,
	                                       .name = "kernel",
	                                       .start_ticks = accelerator_clock_at(clock, kernel->start_ns),
	                                       .end_ticks = accelerator_clock_at(clock, kernel->end_ns),
	                                       .args = &number,
	                                       .args_count = 1 });
	keep(measuring, status_of(profiler->impl.StopEvent(&profiler->impl, id, NULL)));
	uint64_t end = clock_world_host_ns();

	epp_trace_record event = { .kind = EPP_RECORD_EVENT,
		                   .category = EPP_NODE,
		                   .track = measuring->thread,
		                   .name = measuring->launch_name,
		                   .id = id,
		                   .start_ticks = begin,
		                   .duration_ticks = end - begin };
	record(measuring, &event);
	event.category = EPP_API;
	event.name = measuring->wait_name;
	event.id = wait_id;
	event.start_ticks = wait_begin;
	event.duration_ticks = wait_end - wait_begin;
	record(measuring, &event);
	if (measuring->subject->waits_are_known)
		record(measuring, &(epp_trace_record){ .kind = EPP_RECORD_FLOW,
		                                       .track = measuring->thread,
		                                       .name = measuring->wait_name,
		                                       .start_ticks = wait_begin,
		                                       .parent = id,
		                                       .id = wait_id });
}

static epp_status *run(struct measuring *measuring, uint64_t seconds)
{
	const accelerator_clock_options *clock = &clock_world_get()->device.options;
	const epp_ep_options options = {
		.struct_size = sizeof(options),
		.ort_api_base = clock_world_ort_api_base(),
		.ep_name = "simulated",
		.now_ticks = measuring->subject->durations_only ? NULL : clock_world_device_ticks,
		.ticks_per_second = clock->ticks_per_second,
		.clock_bits = (uint32_t)clock->bits,
	};
	epp_ep_profiler *profiler = NULL;

	epp_status *status = status_of(epp_ep_profiler_create(&options, &profiler));
	if (status || !profiler)
		return status;
	measuring->profiling_ns = clock_world_get()->now_ns;
	clock_world_pass(123456);
	status = status_of(profiler->impl.StartProfiling(&profiler->impl,
	                                                 (int64_t)(clock_world_get()->now_ns - measuring->profiling_ns)));
	while (!status && clock_world_get()->now_ns < CLOCK_WORLD_START_NS + seconds * SECOND) {
		clock_world_pass(clock_world_random(PAUSE_NS));
		if (clock_world_random(QUIET_EVERY) == 0)
			clock_world_pass(clock_world_random(QUIET_SECONDS * SECOND));
		if (measuring->kernels_count < measuring->kernels_room)
			launch(measuring, profiler);
	}
	if (!status)
		status = status_of(profiler->impl.EndProfiling(&profiler->impl, clock_world_container()));
	EpprofLedger ledger;
	epp_ep_ledger(profiler, &ledger);
	measuring->truth->refused_count = ledger.lost_refused;
	profiler->impl.Release(&profiler->impl);
	return status;
}

/* ---- comparing ---- */

static void compare(struct measuring *measuring, int64_t place_ns, uint64_t true_ns, const int64_t *bound_ns)
{
	struct clock_truth *truth = measuring->truth;
	int64_t off_ns = place_ns - (int64_t)(true_ns - CLOCK_WORLD_START_NS);
	uint64_t error_ns = (uint64_t)(off_ns < 0 ? -off_ns : off_ns);

	measuring->errors.values[measuring->errors.count++] = error_ns;
	truth->moments_count++;
	if (!bound_ns)
		return;
	measuring->bounds.values[measuring->bounds.count++] = (uint64_t)*bound_ns;
	truth->claimed_count++;
	truth->held_count += error_ns <= (uint64_t)*bound_ns;
}

static struct kernel *find(struct measuring *measuring, int64_t number)
{
	struct kernel *kernel = number >= 0 && (uint64_t)number < measuring->kernels_count ? &measuring->kernels[number]
	                                                                                   : NULL;
	return kernel && kernel->seen_count++ == 0 ? kernel : NULL;
}

/* There is no trace, only ONNX Runtime's profile. */
static void see_microseconds(void *user, const char *first_value, int64_t start_us, int64_t duration_us)
{
	struct measuring *measuring = user;
	struct kernel *kernel = find(measuring, strtoll(first_value, NULL, 10));
	int64_t base_ns = (int64_t)(measuring->profiling_ns - CLOCK_WORLD_START_NS);

	if (!kernel)
		return;
	compare(measuring, base_ns + start_us * 1000, kernel->start_ns, NULL);
	compare(measuring, base_ns + (start_us + duration_us) * 1000, kernel->end_ns, NULL);
}

static epp_status *see_trace(struct measuring *measuring, const char *path)
{
	epp_trace *trace = NULL;
	epp_timeline *timeline = NULL;
	const epp_event *event;

	epp_status *status = epp_trace_open(path, &trace);
	if (!status)
		status = epp_timeline_create(trace, NULL, &timeline);
	while (!status && epp_timeline_next(timeline, &event)) {
		size_t cursor = 0;
		epp_trace_arg number;
		if (event->category != EPP_KERNEL || !epp_event_args(timeline, event, &cursor, &number))
			continue;
		struct kernel *kernel = find(measuring, number.value.i64);
		if (!kernel)
			continue;
		compare(measuring, event->start_ns, kernel->start_ns, &event->start_error_ns);
		compare(measuring, event->start_ns + event->duration_ns, kernel->end_ns, &event->end_error_ns);
	}
	if (!status)
		status = epp_timeline_status(timeline);
	if (!status)
		measuring->truth->outside_count = epp_timeline_get_counts(timeline)->outside_parent;
	epp_timeline_destroy(timeline);
	epp_trace_close(trace);
	return status;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;
	return *left < *right ? -1 : *left > *right;
}

static void sum_up(struct measuring *measuring)
{
	struct clock_truth *truth = measuring->truth;
	struct moments *errors = &measuring->errors, *bounds = &measuring->bounds;

	for (size_t i = 0; i < measuring->kernels_count; i++)
		truth->lost_count += measuring->kernels[i].seen_count != 1;
	truth->lost_count -= truth->refused_count < truth->lost_count ? truth->refused_count : truth->lost_count;
	qsort(errors->values, errors->count, sizeof(uint64_t), by_value);
	qsort(bounds->values, bounds->count, sizeof(uint64_t), by_value);
	if (errors->count) {
		truth->largest_error_ns = errors->values[errors->count - 1];
		truth->usual_error_ns = errors->values[(errors->count - 1) * 999 / 1000];
	}
	if (bounds->count) {
		truth->largest_bound_ns = bounds->values[bounds->count - 1];
		truth->usual_bound_ns = bounds->values[bounds->count / 2];
	}
}

epp_status *clock_truth_measure(const struct clock_truth_case *subject, uint64_t seconds, uint64_t seed,
                                const char *path, struct clock_truth *truth)
{
	size_t room = seconds * LAUNCHES_A_SECOND_MOST;
	struct measuring measuring = { .subject = subject, .truth = truth, .kernels_room = room };
	epp_status *status = NULL;

	*truth = (struct clock_truth){ 0 };
	if (!clock_world_begin(&subject->clock, seed, subject->microseconds))
		return epp_status_create(EPP_INVALID_ARGUMENT, "%s: no such clock", subject->name);
	clock_world_get()->batch = record_batch;
	clock_world_get()->event = see_microseconds;
	clock_world_get()->user = &measuring;
	measuring.kernels = calloc(room, sizeof(*measuring.kernels));
	measuring.errors.values = calloc(2 * room, sizeof(uint64_t));
	measuring.bounds.values = calloc(2 * room, sizeof(uint64_t));
	if (!measuring.kernels || !measuring.errors.values || !measuring.bounds.values)
		status = epp_status_create(EPP_OUT_OF_MEMORY, "%s", subject->name);
	if (!status && !subject->microseconds)
		status = trace_begin(&measuring, path);
	if (!status)
		status = run(&measuring, seconds);
	if (!status) {
		status = measuring.status;
		measuring.status = NULL;
	}
	if (!status && measuring.writer)
		status = trace_finish(&measuring);
	if (!status && measuring.writer) {
		status = see_trace(&measuring, path);
		unlink(path);
	}
	if (!status)
		sum_up(&measuring);
	epp_status_destroy(measuring.status);
	epp_trace_writer_destroy(measuring.writer);
	free(measuring.kernels);
	free(measuring.errors.values);
	free(measuring.bounds.values);
	return status;
}
