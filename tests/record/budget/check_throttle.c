/* The budget for overhead in a session: runs are recorded or left out as a whole, on all paths, and counted. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "epprof/profiler.h"
#include "epprof/summary.h"
#include "epprof/timeline.h"
#include "epprof/track.h"
#include "record/filter/name_filter.h"
#include "tests/support/recording.h"
#include "tests/support/valid_trace.h"

static epp_session *start_with(epp_session_options options)
{
	epp_session *session;
	options.struct_size = sizeof(options);
	options.overwrite = 1;
	options.max_overhead = options.max_overhead ? options.max_overhead : 0.01;
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_session_start(session));
	return session;
}

static epp_session *start(const char *path)
{
	return start_with((epp_session_options){ .path = path });
}

static uint64_t begin(epp_session *session, const char *name)
{
	return epp_event_begin_text(session, EPP_NODE, name);
}

/* From now on the calling thread records one run in `one_in`, whatever they take. It has a recorder. */
static void keep_one_in(uint32_t one_in)
{
	struct budget_thread *budget = &recorder_cache.resident->throttle.budget;
	budget->period_ns = UINT64_MAX / 4000;
	budget->step = one_in > 1 ? BUDGET_RUNS : BUDGET_ALL;
	budget->one_in = one_in;
}

/* Begins a session on this thread that records one run in `one_in`, after one run that is recorded. */
static epp_session *start_one_in(const char *path, uint32_t one_in)
{
	epp_session *session = start(path);
	epp_event_end(session, begin(session, "first"), NULL, 0);
	keep_one_in(one_in);
	return session;
}

/* Records a run with three events in it, an instant and a counter; returns whether it was recorded, and asserts that
 * all of it was or nothing. */
static bool run(epp_session *session)
{
	uint64_t ids[4] = { begin(session, "run"), begin(session, "outer"), begin(session, "inner") };
	epp_instant_record(session, EPP_NODE, epp_name_intern("instant"), NULL, 0);
	epp_event_end(session, ids[2], NULL, 0);
	ids[3] = epp_event_begin(session, EPP_NODE, 0);
	epp_event_end_named(session, ids[3], EPP_NODE, epp_name_intern("named"), NULL, 0);
	epp_event_end(session, ids[1], &(epp_arg){ .key = 1, .value.i64 = 1 }, 1);
	epp_event_end(session, ids[0], NULL, 0);
	bool is_recorded = ids[0] > EPP_LEFT_OUT_ID;
	ck_assert(is_recorded || ids[0] == EPP_LEFT_OUT_ID);
	for (unsigned i = 1; i < 4; i++)
		ck_assert_int_eq(ids[i] > EPP_LEFT_OUT_ID, is_recorded);
	return is_recorded;
}
#define EVENTS_OF_RUN 5u /* with the instant */

/* Reads the trace: each run has all its events, with the same weight; returns the sum of weights of the runs. */
static uint64_t check_trees(const char *path, unsigned kept)
{
	epp_trace *trace = open_valid(path);
	epp_timeline *timeline;
	const epp_event *event;
	unsigned events = 0, runs = 0, weight = 0;
	uint64_t weights = 0;
	check_ok(epp_timeline_create(trace, NULL, &timeline));
	while (epp_timeline_next(timeline, &event)) {
		if (strncmp(event->name, "epprof.", 7) == 0 || strcmp(event->name, "first") == 0)
			continue;
		events++;
		if (strcmp(event->name, "run") == 0) {
			runs++;
			weight = event->weight;
			weights += weight;
		}
		ck_assert_uint_eq(event->weight, weight);
		ck_assert_int_eq(event->parent == 0, strcmp(event->name, "run") == 0);
	}
	ck_assert_uint_eq(runs, kept);
	ck_assert_uint_eq(events, kept * EVENTS_OF_RUN);
	epp_timeline_destroy(timeline);
	epp_trace_close(trace);
	return weights;
}

START_TEST(runs_are_whole)
{
	enum { RUNS = 4000, ONE_IN = 8 };
	char *path = strdup(check_path("whole.epp"));
	epp_session *session = start_one_in(path, ONE_IN);
	unsigned kept = 0;
	for (unsigned i = 0; i < RUNS; i++)
		kept += run(session);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_THROTTLED), (RUNS - kept) * EVENTS_OF_RUN);
	recording_end(session);
	epp_session_destroy(session);
	/* One of each 8 runs. */
	ck_assert_uint_eq(kept, RUNS / ONE_IN);
	ck_assert_uint_eq(check_trees(path, kept), RUNS);
	free(path);
}
END_TEST

/* The first slow run is drawn as a fast one.  If it was recorded, it stands for itself alone; else the next one stands
 * for both.  Events inside have the same weight. */
START_TEST(runs_that_become_slower)
{
	enum { ONE_IN = 8, CLASS = 3 };
	char *path = strdup(check_path("slower.epp"));
	epp_session *session = start_one_in(path, ONE_IN);
	struct budget_thread *budget = &recorder_cache.resident->throttle.budget;
	struct budget_block *block = &budget->blocks[epp_name_intern("slow") % BUDGET_KINDS][CLASS];
	bool is_recorded = _i;
	/* Of four runs of 100 us that are left, the first or the last is recorded. */
	*block = (struct budget_block){ ONE_IN, 4, is_recorded ? 4 : 1 };
	budget->kept_every_ns = ONE_IN * 100000.0;
	budget->due_ns = (uint64_t)((double)epp_host_ticks() * (1e9 / (double)clock_ticks_per_second()));
	budget->due_runs = budget->runs;
	for (unsigned i = 0; i < 3; i++) {
		uint64_t run = begin(session, "slow");
		ck_assert_int_eq(run > EPP_LEFT_OUT_ID, i || is_recorded);
		epp_event_end(session, begin(session, "inside"), NULL, 0);
		recording_sleep_ms(20);
		epp_event_end(session, run, NULL, 0);
	}
	/* The run is back in the block of fast ones. */
	ck_assert_uint_eq(block->left, 4);
	ck_assert(block->kept >= 1 && block->kept <= 4);
	recording_end(session);
	epp_session_destroy(session);
	epp_trace *trace = open_valid(path);
	epp_timeline *timeline;
	const epp_event *event;
	unsigned runs = 0, inside = 0;
	check_ok(epp_timeline_create(trace, NULL, &timeline));
	while (epp_timeline_next(timeline, &event)) {
		bool is_run = strcmp(event->name, "slow") == 0, is_inside = strcmp(event->name, "inside") == 0;
		runs += is_run;
		inside += is_inside;
		if (is_run || is_inside)
			ck_assert_uint_eq(event->weight, is_recorded || runs > 1 ? 1 : 2);
	}
	ck_assert_uint_eq(runs, is_recorded ? 3 : 2);
	ck_assert_uint_eq(inside, runs);
	epp_timeline_destroy(timeline);
	epp_trace_close(trace);
	free(path);
}
END_TEST

static void *runs_of_thread(void *session)
{
	unsigned kept = 0;
	epp_event_end(session, begin(session, "first"), NULL, 0);
	keep_one_in(3);
	for (unsigned i = 0; i < 1000; i++)
		kept += run(session);
	return (void *)(uintptr_t)kept;
}

START_TEST(threads_decide_by_themselves)
{
	epp_session *session = start_one_in(NULL, 1);
	pthread_t threads[4];
	unsigned kept = 0;
	for (unsigned i = 0; i < 4; i++)
		threads[i] = recording_thread(runs_of_thread, session);
	for (unsigned i = 0; i < 1000; i++)
		ck_assert(run(session));
	for (unsigned i = 0; i < 4; i++) {
		void *of_thread;
		pthread_join(threads[i], &of_thread);
		kept += (unsigned)(uintptr_t)of_thread;
	}
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_THROTTLED), (4000 - kept) * EVENTS_OF_RUN);
	ck_assert(kept >= 4 * 333 && kept <= 4 * 334);
	trace_scan_free(recording_finish(session));
}
END_TEST

/* A thread in two sessions at once, one of them by two handles. */
START_TEST(two_sessions)
{
	setenv("EPPROF_OUTPUT", check_path("default.epp"), 1);
	setenv("EPPROF_MAX_OVERHEAD", "1%", 1);
	epp_session *own = recording_start(NULL), *throttled;
	check_ok(epp_session_share_output(&throttled));
	epp_event_end(NULL, begin(NULL, "first"), NULL, 0);
	keep_one_in(4);
	unsigned kept = 0;
	for (unsigned i = 0; i < 1000; i++) {
		uint64_t around = begin(own, "around"), id = begin(i % 2 ? NULL : throttled, "run");
		uint64_t inside = begin(i % 3 ? NULL : throttled, "inside"), beside = begin(own, "beside");
		ck_assert_int_eq(inside > EPP_LEFT_OUT_ID, id > EPP_LEFT_OUT_ID);
		ck_assert(around > EPP_LEFT_OUT_ID && beside > EPP_LEFT_OUT_ID);
		epp_event_end(own, beside, NULL, 0);
		epp_event_end(i % 3 ? NULL : throttled, inside, NULL, 0);
		epp_event_end(i % 5 ? NULL : throttled, id, NULL, 0);
		epp_event_end(own, around, NULL, 0);
		kept += id > EPP_LEFT_OUT_ID;
	}
	ck_assert(kept > 100 && kept < 500);
	ck_assert_uint_eq(epp_session_lost(throttled, EPP_LOSS_THROTTLED), 2 * (1000 - kept));
	struct trace_scan *scan = recording_finish(own);
	ck_assert_uint_eq(scan->records_count, 2000);
	trace_scan_free(scan);
	epp_session_destroy(throttled);
}
END_TEST

/* With a name, only events of that name are runs; what is around and beside them is recorded. */
START_TEST(runs_with_a_name)
{
	epp_session *session = start_with((epp_session_options){ .step = "step" });
	unsigned kept = 0;
	uint64_t main = begin(session, "main");
	epp_event_end(session, begin(session, "step"), NULL, 0);
	keep_one_in(4);
	for (unsigned i = 0; i < 1000; i++) {
		uint64_t step = begin(session, "step"), inside = begin(session, "step");
		ck_assert_int_eq(inside > EPP_LEFT_OUT_ID, step > EPP_LEFT_OUT_ID);
		epp_event_end(session, inside, NULL, 0);
		epp_event_end(session, step, NULL, 0);
		uint64_t beside = begin(session, "beside");
		ck_assert_uint_gt(beside, EPP_LEFT_OUT_ID);
		epp_event_end(session, beside, NULL, 0);
		kept += step > EPP_LEFT_OUT_ID;
	}
	epp_event_end(session, main, NULL, 0);
	ck_assert(kept > 100 && kept < 500);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_THROTTLED), 2 * (1000 - kept));
	trace_scan_free(recording_finish(session));
}
END_TEST

/* An exception has skipped the end of the run. */
START_TEST(the_end_of_an_outer_event_ends_a_run_that_is_left_out)
{
	epp_session *session = start_with((epp_session_options){ .step = "step" });
	epp_event_end(session, begin(session, "step"), NULL, 0);
	keep_one_in(1u << 19);
	uint64_t outer = begin(session, "outer");
	ck_assert_uint_gt(outer, EPP_LEFT_OUT_ID);
	uint64_t step = begin(session, "step");
	ck_assert_uint_eq(step, EPP_LEFT_OUT_ID);
	ck_assert_uint_eq(begin(session, "in the step"), 0);
	epp_event_end(session, outer, NULL, 0);
	uint64_t after = begin(session, "after");
	ck_assert_uint_gt(after, EPP_LEFT_OUT_ID);
	epp_event_end(session, after, NULL, 0);
	recording_end(session);
	epp_session_destroy(session);
}
END_TEST

START_TEST(a_filter_applies_first)
{
	epp_session *session = start_with((epp_session_options){ .exclude = "left out" });
	epp_event_end(session, begin(session, "first"), NULL, 0);
	keep_one_in(1u << 20);
	for (unsigned i = 0; i < 100; i++) {
		ck_assert_uint_eq(begin(session, "left out"), 0);
		ck_assert(!run(session));
	}
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_FILTER), 100);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_THROTTLED), 100 * EVENTS_OF_RUN);
	trace_scan_free(recording_finish(session));
}
END_TEST

/* Ends that are missing, are there twice, come after the end of the session, or have no begin. */
START_TEST(ends_that_are_wrong)
{
	epp_session *session = start_one_in(NULL, 1u << 20);
	epp_event_end(session, EPP_LEFT_OUT_ID, NULL, 0);
	epp_event_end_named(session, EPP_LEFT_OUT_ID, EPP_NODE, epp_name_intern("x"), NULL, 0);
	uint64_t id = begin(session, "run");
	ck_assert_uint_eq(id, EPP_LEFT_OUT_ID);
	epp_event_end(session, id, NULL, 0);
	epp_event_end(session, id, NULL, 0);
	/* It is in the run until that ends. */
	id = begin(session, "run");
	ck_assert_uint_eq(begin(session, "open"), 0);
	ck_assert_uint_eq(epp_async_begin(session, EPP_NODE, epp_name_intern("async")), 0);
	epp_counter_record_i64(session, epp_name_intern("counter"), 1);
	recording_end(session);
	epp_event_end(session, id, NULL, 0);
	ck_assert_uint_eq(begin(session, "after the end"), 0);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_THROTTLED), 5);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_AFTER_END), 0);
	/* Another run of the session begins anew. */
	check_ok(epp_session_start(session));
	ck_assert(run(session));
	trace_scan_free(recording_finish(session));
}
END_TEST

/* Device events belong to the run of their parent; without a parent, they are left out while runs are. */
START_TEST(events_of_devices)
{
	epp_session *session = start(NULL);
	epp_track_options options;
	epp_track device;
	epp_track_options_init(&options);
	options.device = 0;
	check_ok(epp_track_create(session, &options, &device));
	epp_name kernel = epp_name_intern("kernel");
	uint64_t before = epp_host_ticks();
	epp_event_end(session, begin(session, "first"), NULL, 0);
	keep_one_in(1u << 20);
	uint64_t from = epp_host_ticks();
	ck_assert_uint_ne(epp_event_record(session, device, EPP_KERNEL, kernel, from, from + 1, 0, NULL, 0), 0);
	uint64_t id = begin(session, "run"), during = epp_host_ticks();
	epp_event_end(session, id, NULL, 0);
	epp_event_end(session, begin(session, "run"), NULL, 0);
	/* The next ones are not due, so that the time of the last one that was is known. */
	recorder_cache.resident->throttle.budget.until_due = 1;
	epp_event_end(session, begin(session, "run"), NULL, 0);
	ck_assert_uint_eq(epp_event_record(session, device, EPP_KERNEL, kernel, during, during + 1, id, NULL, 0), 0);
	ck_assert_uint_eq(epp_event_record(session, device, EPP_KERNEL, kernel, during, during + 1, 0, NULL, 0), 0);
	ck_assert_uint_ne(epp_event_record(session, device, EPP_KERNEL, kernel, before, before + 1, 0, NULL, 0), 0);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_THROTTLED), 3 + 2);
	keep_one_in(1);
	recorder_cache.resident->throttle.budget.until_due = 1;
	id = begin(session, "run");
	ck_assert_uint_gt(id, EPP_LEFT_OUT_ID);
	ck_assert_uint_ne(epp_event_record(session, device, EPP_KERNEL, kernel, during, during + 1, id, NULL, 0), 0);
	epp_event_end(session, id, NULL, 0);
	trace_scan_free(recording_finish(session));
}
END_TEST

START_TEST(args_off)
{
	char *path = strdup(check_path("args.epp"));
	epp_session *session = start_one_in(path, 1);
	ck_assert(run(session));
	recorder_cache.resident->throttle.budget.step = BUDGET_ARGS_OFF;
	ck_assert(run(session));
	recording_end(session);
	epp_session_destroy(session);
	check_trees(path, 2);
	epp_trace *trace = open_valid(path);
	epp_timeline *timeline;
	const epp_event *event;
	unsigned with_args = 0;
	check_ok(epp_timeline_create(trace, NULL, &timeline));
	while (epp_timeline_next(timeline, &event))
		with_args += strcmp(event->name, "outer") == 0 && event->args_count == 1;
	ck_assert_uint_eq(with_args, 1);
	epp_timeline_destroy(timeline);
	epp_trace_close(trace);
	free(path);
}
END_TEST

/* ---- kernels only ---- */

/* From now on the calling thread records runs without what is in them. */
static void keep_kernels_only(void)
{
	keep_one_in(1);
	recorder_cache.resident->throttle.budget.step = BUDGET_KERNELS;
}

static epp_session *start_kernels_only(epp_session_options options)
{
	epp_session *session = start_with(options);
	epp_event_end(session, begin(session, "first"), NULL, 0);
	keep_kernels_only();
	return session;
}

/* Records a run of which only the run itself is recorded; returns its id. */
static uint64_t run_alone(epp_session *session)
{
	uint64_t id = begin(session, "run"), inside = begin(session, "inside");
	ck_assert_uint_gt(id, EPP_LEFT_OUT_ID);
	ck_assert_uint_eq(inside, 0);
	ck_assert_uint_eq(begin(session, "deeper"), 0);
	epp_instant_record(session, EPP_NODE, epp_name_intern("instant"), NULL, 0);
	epp_counter_record_i64(session, epp_name_intern("counter"), 1);
	epp_event_end(session, 0, NULL, 0);
	epp_event_end_named(session, inside, EPP_NODE, epp_name_intern("named"), NULL, 0);
	epp_event_end(session, id, &(epp_arg){ .key = 1, .value.i64 = 1 }, 1);
	return id;
}
#define LEFT_OUT_OF_RUN 4u

#define TRACEPARENT "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

/* Runs have their args, asynchronous events and requests in them are recorded, and kernels have the run as their parent. */
START_TEST(kernels_only)
{
	enum { RUNS = 100 };
	char *path = strdup(check_path("kernels.epp"));
	epp_session *session = start_kernels_only((epp_session_options){ .path = path });
	epp_track_options options;
	epp_track device;
	epp_track_options_init(&options);
	options.device = 0;
	check_ok(epp_track_create(session, &options, &device));
	epp_name kernel = epp_name_intern("kernel");
	for (unsigned i = 0; i < RUNS; i++) {
		uint64_t id = run_alone(session), now = epp_host_ticks();
		ck_assert_uint_ne(epp_event_record(session, device, EPP_KERNEL, kernel, now, now + 1, id, NULL, 0), 0);
	}
	ck_assert(recording_inside(session)->filter->throttle->has_devices);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_THROTTLED), RUNS * LEFT_OUT_OF_RUN);
	uint64_t with_request = begin(session, "run");
	begin(session, "inside");
	uint64_t async = epp_async_begin(session, EPP_NODE, epp_name_intern("async"));
	ck_assert_uint_gt(async, EPP_LEFT_OUT_ID);
	check_ok(epp_context_set(session, TRACEPARENT, NULL));
	epp_async_end(session, async, NULL, 0);
	epp_event_end(session, with_request, &(epp_arg){ .key = 1, .value.i64 = 1 }, 1);
	/* From the next run on, all is recorded again. */
	keep_one_in(1);
	ck_assert(run(session));
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_THROTTLED), RUNS * LEFT_OUT_OF_RUN + 1);
	recording_end(session);
	epp_session_destroy(session);
	epp_trace *trace = open_valid(path);
	epp_timeline *timeline;
	const epp_event *event;
	unsigned runs = 0, kernels = 0, with_args = 0, inside = 0, requests = 0;
	uint64_t last_run = 0;
	check_ok(epp_timeline_create(
	    trace, &(epp_timeline_options){ .struct_size = sizeof(epp_timeline_options), .requests = 1 }, &timeline));
	while (epp_timeline_next(timeline, &event)) {
		ck_assert_uint_eq(event->weight, 1);
		if (strcmp(event->name, "run") == 0) {
			runs++;
			with_args += event->args_count == 1;
			last_run = event->id;
			requests += event->requests != 0;
		}
		kernels += strcmp(event->name, "kernel") == 0 && event->parent == last_run;
		inside += strcmp(event->name, "inside") == 0 || strcmp(event->name, "deeper") == 0;
	}
	ck_assert_uint_eq(runs, RUNS + 2);
	ck_assert_uint_eq(with_args, RUNS + 1);
	ck_assert_uint_eq(kernels, RUNS);
	ck_assert_uint_eq(inside, 0);
	ck_assert_uint_eq(requests, 1);
	epp_timeline_destroy(timeline);
	epp_trace_close(trace);
	free(path);
}
END_TEST

/* A profiler that checks that events begin and end in pairs, on one thread. */
struct pairs {
	OrtEpProfilerImpl impl;
	uint64_t open[8];
	unsigned depth, begun;
	bool is_wrong;
};

static OrtStatus *pairs_start(OrtEpProfilerImpl *impl, uint64_t id)
{
	struct pairs *pairs = (struct pairs *)(void *)impl;
	pairs->begun++;
	if (pairs->depth < 8)
		pairs->open[pairs->depth++] = id;
	else
		pairs->is_wrong = true;
	return NULL;
}

static OrtStatus *pairs_stop(OrtEpProfilerImpl *impl, uint64_t id, const OrtProfilingEvent *event)
{
	struct pairs *pairs = (struct pairs *)(void *)impl;
	(void)event;
	if (!pairs->depth || pairs->open[--pairs->depth] != id)
		pairs->is_wrong = true;
	return NULL;
}

static OrtStatus *nothing_started(OrtEpProfilerImpl *impl, int64_t offset_ns)
{
	(void)impl, (void)offset_ns;
	return NULL;
}

static OrtStatus *nothing_ended(OrtEpProfilerImpl *impl, OrtProfilingEventsContainer *container)
{
	(void)impl, (void)container;
	return NULL;
}

static void nothing_released(OrtEpProfilerImpl *impl)
{
	(void)impl;
}

/* A profiler gets the calls of the run, which is the innermost event during all that is in it. */
START_TEST(profilers_get_the_run)
{
	static struct pairs pairs = { .impl = { .ort_version_supported = EPPROF_ORT_API_VERSION_MIN,
		                                .Release = nothing_released,
		                                .StartProfiling = nothing_started,
		                                .StartEvent = pairs_start,
		                                .StopEvent = pairs_stop,
		                                .EndProfiling = nothing_ended } };
	epp_session_options options = { .struct_size = sizeof(options), .max_overhead = 0.01 };
	epp_session *session;
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_session_attach(session, &pairs.impl, NULL));
	check_ok(epp_session_start(session));
	epp_event_end(session, begin(session, "first"), NULL, 0);
	keep_kernels_only();
	for (unsigned i = 0; i < 10; i++) {
		uint64_t id = begin(session, "run");
		ck_assert_uint_eq(begin(session, "inside"), 0);
		ck_assert_uint_eq(pairs.depth, 1);
		ck_assert_uint_eq(pairs.open[0], id);
		epp_event_end(session, 0, NULL, 0);
		epp_event_end(session, id, NULL, 0);
		ck_assert_uint_eq(pairs.depth, 0);
	}
	ck_assert_uint_eq(pairs.begun, 11);
	ck_assert(!pairs.is_wrong);
	trace_scan_free(recording_finish(session));
}
END_TEST

static void *kernels_only_of_thread(void *session)
{
	epp_event_end(session, begin(session, "run"), NULL, 0);
	keep_kernels_only();
	for (unsigned i = 0; i < 1000; i++)
		run_alone(session);
	return NULL;
}

/* Each thread has its own step. The name of runs, a handle of the default session, and a second session change
 * nothing. */
START_TEST(kernels_only_on_one_thread)
{
	setenv("EPPROF_OUTPUT", check_path("default.epp"), 1);
	setenv("EPPROF_MAX_OVERHEAD", "1%", 1);
	setenv("EPPROF_STEP", "run", 1);
	epp_session *own = recording_start(NULL), *throttled;
	check_ok(epp_session_share_output(&throttled));
	pthread_t thread = recording_thread(kernels_only_of_thread, throttled);
	epp_event_end(NULL, begin(NULL, "run"), NULL, 0);
	keep_one_in(1);
	for (unsigned i = 0; i < 100; i++) {
		uint64_t id = begin(i % 2 ? NULL : throttled, "run"), inside = begin(throttled, "inside");
		uint64_t beside = begin(own, "beside");
		ck_assert(id > EPP_LEFT_OUT_ID && inside > EPP_LEFT_OUT_ID && beside > EPP_LEFT_OUT_ID);
		epp_event_end(own, beside, NULL, 0);
		epp_event_end(NULL, inside, NULL, 0);
		epp_event_end(throttled, id, NULL, 0);
	}
	pthread_join(thread, NULL);
	ck_assert_uint_eq(epp_session_lost(throttled, EPP_LOSS_THROTTLED), 1000 * LEFT_OUT_OF_RUN);
	epp_event_end(throttled, begin(throttled, "around"), NULL, 0);
	keep_kernels_only();
	for (unsigned i = 0; i < 100; i++) {
		uint64_t around = begin(NULL, "around"), id = begin(i % 2 ? NULL : throttled, "run");
		ck_assert_uint_eq(begin(i % 3 ? NULL : throttled, "run"), 0);
		uint64_t beside = begin(own, "beside");
		ck_assert_uint_gt(beside, EPP_LEFT_OUT_ID);
		epp_event_end(own, beside, NULL, 0);
		ck_assert_uint_eq(begin(i % 5 ? NULL : throttled, "inside"), 0);
		/* Every other time the end of the run is missing. */
		epp_event_end(i % 2 ? NULL : throttled, i % 4 ? id : around, NULL, 0);
		uint64_t after = begin(NULL, "after");
		ck_assert_uint_gt(after, EPP_LEFT_OUT_ID);
		epp_event_end(throttled, after, NULL, 0);
		epp_event_end(throttled, i % 4 ? around : 0, NULL, 0);
	}
	ck_assert_uint_eq(epp_session_lost(throttled, EPP_LOSS_THROTTLED), 1000 * LEFT_OUT_OF_RUN + 200);
	/* A run that is too deep for the stack is lost, and what follows is lost for the same reason. */
	uint64_t outermost = begin(throttled, "around");
	for (unsigned i = 1; i < EPF_OPEN_MAX; i++)
		begin(throttled, "around");
	ck_assert_uint_eq(begin(throttled, "run"), 0);
	ck_assert_uint_eq(begin(throttled, "inside"), 0);
	ck_assert_uint_eq(epp_session_lost(throttled, EPP_LOSS_TOO_DEEP), 2);
	epp_event_end(throttled, outermost, NULL, 0);
	trace_scan_free(recording_finish(own));
	epp_session_destroy(throttled);
}
END_TEST

/* Ends the thread's period as if it had recorded an event every 100 ns until now, nearly all of them inside runs. */
static void end_busy_period(epp_session *session)
{
	struct budget_thread *budget = &recorder_cache.resident->throttle.budget;
	struct timespec time;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	uint64_t events = ((uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec) / 100;
	budget->begin = budget->counts;
	budget->counts.events += events;
	budget->counts.inner += events;
	budget->begin_cpu_ns = 0;
	budget->events_rate = budget->slots_rate = budget->left_out_rate = 0;
	budget->debt_ps = -1e18;
	budget->step = BUDGET_ALL;
	budget->one_in = 1;
	budget->period_ns = 0;
	budget->until_due = 1;
	epp_event_end(session, begin(session, "run"), NULL, 0);
	budget->period_ns = UINT64_MAX / 4000;
}

/* Without events of devices, one run in N follows on args; with one, the runs alone. */
START_TEST(the_step_needs_devices)
{
	if (!clock_is_fast())
		return;
	char *path = strdup(check_path("devices.epp"));
	/* With the credit of a second the target is 9 %: recording takes some 20 %, leaving out 3 %. */
	epp_session *session = start_with((epp_session_options){ .path = path, .max_overhead = 0.03 });
	struct budget_costs costs;
	epp_track_options options;
	epp_track device;
	while (!event_costs(&costs))
		recording_sleep_ms(1);
	epp_event_end(session, begin(session, "first"), NULL, 0);
	event_costs(&costs);
	bool is_usual = costs.event_ps > 18000 && costs.left_out_ps < 8000; /* so that N is 2 or more */
	end_busy_period(session);
	ck_assert(!is_usual || recorder_cache.resident->throttle.budget.step == BUDGET_RUNS);
	epp_track_options_init(&options);
	options.device = 0;
	check_ok(epp_track_create(session, &options, &device));
	uint64_t now = epp_host_ticks();
	epp_event_record(session, device, EPP_API, epp_name_intern("call"), now, now + 1, 12345, NULL, 0);
	ck_assert(!recording_inside(session)->filter->throttle->has_devices);
	epp_event_record(session, device, EPP_KERNEL, epp_name_intern("kernel"), now, now + 1, 12345, NULL, 0);
	end_busy_period(session);
	ck_assert(!is_usual || recorder_cache.resident->throttle.budget.step == BUDGET_KERNELS);
	recording_end(session);
	epp_session_destroy(session);
	epp_trace *trace = open_valid(path);
	epp_timeline *timeline;
	const epp_event *event;
	unsigned steps = 0;
	check_ok(epp_timeline_create(trace, NULL, &timeline));
	while (epp_timeline_next(timeline, &event)) {
		size_t cursor = 0;
		epp_trace_arg arg;
		if (strcmp(event->name, "epprof.budget") == 0)
			while (epp_event_args(timeline, event, &cursor, &arg))
				steps += arg.type == EPP_ARG_TEXT && arg.text_bytes == strlen("kernels only") &&
				         memcmp(arg.value.text, "kernels only", arg.text_bytes) == 0;
	}
	ck_assert(!is_usual || steps == 1);
	epp_timeline_destroy(timeline);
	epp_summary *summary;
	check_ok(epp_summary_create(trace, NULL, &summary));
	ck_assert_uint_eq(epp_summary_get_totals(summary)->kernels_only_count, steps);
	epp_summary_destroy(summary);
	epp_trace_close(trace);
	free(path);
}
END_TEST

/* Killed in a run that is recorded, in one that is left out, and in one that is recorded alone. */
START_TEST(a_kill)
{
	char *path = strdup(check_path("killed.epp"));
	int status;
	pid_t child = fork();
	if (child == 0) {
		epp_session *session = start_one_in(path, _i ? 2 : 1u << 20);
		for (unsigned i = 0; i < 200; i++)
			run(session);
		if (_i == 2)
			keep_kernels_only();
		begin(session, "run");
		begin(session, "open");
		kill(getpid(), SIGKILL);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(WTERMSIG(status), SIGKILL);
	struct trace_scan *scan = trace_scan_file(path);
	ck_assert_msg(!scan->error, "%s", scan->error);
	ck_assert_ptr_null(scan_balance(scan));
	ck_assert_uint_gt(scan_lost(scan, EPP_LOSS_THROTTLED), 0);
	trace_scan_free(scan);
	free(path);
}
END_TEST

START_TEST(wrong_budgets_are_refused)
{
	static const double wrong[] = { -0.01, 0.51, NAN, INFINITY };
	static const char *const texts[] = { "1", "0%", "60%", "%", "1%x", "-1%", "nan%" };
	epp_session *session;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		epp_session_options options = { .struct_size = sizeof(options), .max_overhead = wrong[i] };
		check_fails(EPP_INVALID_ARGUMENT, epp_session_create(&options, &session));
	}
	epp_session_options both = { .struct_size = sizeof(both), .max_overhead = 0.01, .schedule = "active=1" };
	check_fails(EPP_INVALID_ARGUMENT, epp_session_create(&both, &session));
	setenv("EPPROF_OUTPUT", check_path("wrong.epp"), 1);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		setenv("EPPROF_MAX_OVERHEAD", texts[i], 1);
		epp_status *status = epp_session_share_output(&session);
		ck_assert_int_eq(epp_status_code(status), EPP_INVALID_ARGUMENT);
		ck_assert_ptr_nonnull(strstr(epp_status_message(status), "EPPROF_MAX_OVERHEAD"));
		epp_status_destroy(status);
	}
	setenv("EPPROF_MAX_OVERHEAD", "", 1);
	check_ok(epp_session_share_output(&session));
	ck_assert_ptr_null(recording_inside(session)->filter);
	epp_session_destroy(session);
}
END_TEST

static uint64_t cpu_ns(void)
{
	struct timespec time;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void work(unsigned count)
{
	static volatile uint64_t sink;
	for (unsigned i = 0; i < count; i++)
		sink = sink * UINT64_C(6364136223846793005) + 1;
}

static double spent_ns_of(const struct budget_counts *counts, const struct budget_costs *costs)
{
	return ((double)counts->events * (double)costs->event_ps + (double)counts->left_out * (double)costs->left_out_ps +
	        (double)counts->clocks * (double)costs->clock_ps) /
	       1000;
}

/* A disturbed measurement does not count, a lasting change does. */
START_TEST(costs_are_medians)
{
	struct cost_history history = { 0 };
	ck_assert_uint_eq(cost_history_add(&history, 20), 20);
	for (unsigned i = 0; i < 5 * COST_HISTORY; i++)
		ck_assert_uint_eq(cost_history_add(&history, i % 3 ? 20 : 29 + i), 20);
	for (unsigned i = 0; i < COST_HISTORY / 2; i++)
		cost_history_add(&history, 30);
	for (unsigned i = 0; i < COST_HISTORY; i++)
		ck_assert_uint_ge(cost_history_add(&history, 30), 30);
	ck_assert_uint_eq(cost_history_add(&history, 20), 30);
}
END_TEST

/* A load of 1,000 to 1 between two and ten times a second: what it spends, by the counts of events and what each takes,
 * and its sums. */
START_TEST(a_load_that_swings)
{
	enum { FAST = 200, EVENTS = 20 };
	if (!clock_is_fast())
		return;
	char *path = strdup(check_path("swings.epp"));
	epp_session *session = start(path);
	struct budget_costs costs;
	uint64_t runs = 0, work_count = 0;
	epp_name run_name = epp_name_intern("run"), node = epp_name_intern("node");
	/* By the helper, which measures them again later. */
	while (!event_costs(&costs))
		recording_sleep_ms(1);
	uint64_t begin_ns = cpu_ns();
	while (cpu_ns() - begin_ns < 1500000000u) {
		for (unsigned i = 0; i < 2000; i++, runs++) {
			/* The same run, and a pause between runs of another length. */
			uint64_t id = epp_event_begin(session, EPP_NODE, run_name);
			for (unsigned j = 0; j < EVENTS; j++) {
				uint64_t inner = epp_event_begin(session, EPP_NODE, node);
				work(FAST);
				epp_event_end(session, inner, NULL, 0);
			}
			epp_event_end(session, id, NULL, 0);
		}
		for (unsigned i = 0; i < 4; i++, runs++, work_count++) {
			epp_event_end(session, epp_event_begin(session, EPP_NODE, run_name), NULL, 0);
			work(FAST * 1000);
		}
	}
	double cpu = (double)(cpu_ns() - begin_ns);
	struct budget_counts counts = recorder_cache.resident->throttle.budget.counts;
	/* The costs at the end are medians of many measurements. */
	event_costs(&costs);
	double spent_ns = spent_ns_of(&counts, &costs);
	ck_assert_uint_gt(work_count, 0);
	uint64_t left_out = epp_session_lost(session, EPP_LOSS_THROTTLED);
	ck_assert_uint_eq(left_out, counts.left_out);
	recording_end(session);
	epp_session_destroy(session);
	epp_trace *trace = open_valid(path);
	epp_summary *summary;
	check_ok(epp_summary_create(trace, NULL, &summary));
	const epp_summary_totals *totals = epp_summary_get_totals(summary);
	double error = fabs((double)totals->runs_count - (double)runs), known = sqrt(totals->runs_count_variance);
	/* On a machine on which recording takes long, N is large for so few runs. */
	double most = known < 0.01 * (double)runs ? fmin(0.02 * (double)runs, 3 * known) : 3 * known;
	ck_assert_msg(error <= most, "%.0f of %llu, error %.0f", error, (unsigned long long)runs, known);
	/* Leaving out alone may take more, on a machine that is slow at it. */
	double least = (double)left_out * (double)costs.left_out_ps / 1000 / cpu;
	ck_assert_msg(spent_ns / cpu < fmax(0.0125, 1.5 * least + 0.005), "%.4f of CPU time, leaving out %.4f",
	              spent_ns / cpu, least);
	ck_assert_msg(!left_out || spent_ns / cpu > 0.005, "%.4f of CPU time", spent_ns / cpu);
	epp_summary_destroy(summary);
	epp_trace_close(trace);
	free(path);
}
END_TEST

static Suite *throttle_suite(void)
{
	Suite *suite = suite_create("throttle");
	TCase *tests = tcase_create("throttle");
	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, runs_are_whole);
	tcase_add_loop_test(tests, runs_that_become_slower, 0, 2);
	tcase_add_test(tests, threads_decide_by_themselves);
	tcase_add_test(tests, two_sessions);
	tcase_add_test(tests, runs_with_a_name);
	tcase_add_test(tests, the_end_of_an_outer_event_ends_a_run_that_is_left_out);
	tcase_add_test(tests, a_filter_applies_first);
	tcase_add_test(tests, ends_that_are_wrong);
	tcase_add_test(tests, events_of_devices);
	tcase_add_test(tests, args_off);
	tcase_add_test(tests, kernels_only);
	tcase_add_test(tests, profilers_get_the_run);
	tcase_add_test(tests, kernels_only_on_one_thread);
	tcase_add_test(tests, the_step_needs_devices);
	tcase_add_loop_test(tests, a_kill, 0, 3);
	tcase_add_test(tests, wrong_budgets_are_refused);
	tcase_add_test(tests, costs_are_medians);
	tcase_add_test(tests, a_load_that_swings);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(throttle_suite)
