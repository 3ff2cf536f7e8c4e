/* Schedules of sessions: which steps are recorded, whole, on which threads, and that all else is counted:
 * runtime/record/filter/schedule.c, with record/event.c and record/submit.c. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "epprof/timeline.h"
#include "epprof/track.h"
#include "record/filter/schedule.h"
#include "record/shared_sessions.h"
#include "tests/support/profiler_double.h"
#include "tests/support/valid_trace.h"

static epp_session *create(const char *path, const char *schedule)
{
	epp_session *session;
	epp_session_options options = {
		.struct_size = sizeof(options), .path = path, .overwrite = 1, .schedule = schedule, .step = "step"
	};
	check_ok(epp_session_create(&options, &session));
	return session;
}

static epp_session *start(const char *path, const char *schedule)
{
	epp_session *session = create(path, schedule);
	check_ok(epp_session_start(session));
	return session;
}

static uint64_t begin(epp_session *session, const char *name)
{
	return epp_event_begin_text(session, EPP_NODE, name);
}

/* Records a step with two events, one inside the other, whose names have a number.  Returns how many of the three were
 * recorded. */
static unsigned step(epp_session *session, unsigned number)
{
	char name[32];
	uint64_t ids[3] = { begin(session, "step") };
	snprintf(name, sizeof(name), "outer %u", number);
	ids[1] = begin(session, name);
	snprintf(name, sizeof(name), "inner %u", number);
	ids[2] = begin(session, name);
	for (unsigned i = 3; i-- > 0;)
		epp_event_end(session, ids[i], NULL, 0);
	return (ids[0] > EPP_LEFT_OUT_ID) + (ids[1] > EPP_LEFT_OUT_ID) + (ids[2] > EPP_LEFT_OUT_ID);
}

/* 'R' for each step that is recorded, '.' for each that is left out. */
static void expect_steps(epp_session *session, unsigned first, const char *expected)
{
	for (unsigned i = 0; expected[i]; i++) {
		unsigned recorded = step(session, first + i);
		ck_assert_msg(recorded == (expected[i] == 'R' ? 3 : 0), "step %u of '%s': %u", i, expected, recorded);
	}
}

static void expect_counts(struct trace_scan *scan, size_t recorded, uint64_t left_out)
{
	ck_assert_uint_eq(scan->records_count, recorded);
	ck_assert_uint_eq(scan_lost(scan, EPP_LOSS_FILTER), left_out);
	trace_scan_free(scan);
}

/* Checks each account, and the events that are left out. */
static void check_balanced(epp_trace *trace, uint64_t left_out)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < epp_trace_ledger_count(trace); i++) {
		epp_trace_ledger_entry line = { .struct_size = sizeof(line) };
		check_ok(epp_trace_ledger_at(trace, i, &line));
		ck_assert_msg(line.balanced, "%s", line.producer);
		sum += line.lost[EPP_LOSS_FILTER];
	}
	ck_assert_uint_eq(sum, left_out);
}

/* ---- the text ---- */

static const struct {
	const char *text, *steps;
} schedules[] = {
	{ "active=2", "RRRRRRRR" },
	{ "active=2,repeat=1", "RR......" },
	{ "active=2,repeat=3", "RRRRRR.." },
	{ "warmup=1,active=2", ".RR.RR.RR" },
	{ "repeat=2,active=1,warmup=2,skip=1", "...R..R....." },
	{ "skip=3,active=1,repeat=1", "...R...." },
	{ "skip=0,warmup=0,active=1000000000,repeat=0", "RRR" },
	{ "skip=1000000000,active=1", "...." },
};

START_TEST(numbers_decide)
{
	for (size_t i = 0; i < sizeof(schedules) / sizeof(*schedules); i++) {
		struct schedule schedule;
		bool is_given;
		check_ok(schedule_parse(schedules[i].text, "step", &schedule, &is_given));
		ck_assert(is_given);
		for (unsigned number = 0; schedules[i].steps[number]; number++)
			ck_assert_msg(schedule_includes(&schedule, number) == (schedules[i].steps[number] == 'R'),
			              "%s: %u", schedules[i].text, number);
	}
}
END_TEST

START_TEST(schedules_that_are_wrong)
{
	static const char *const wrong[] = {
		"active",     "active=",           "active=0",         "skip=3",
		"active=-1",  "active=1000000001", "active=1;skip=2",  "active=1,wait=2",
		"active=2x",  " active=2",         "active=1,,skip=2", "active=99999999999999",
		"active=1 2", "ACTIVE=1",          "active=1,=",       ","
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		epp_session *session;
		epp_session_options options = { .struct_size = sizeof(options), .schedule = wrong[i] };
		epp_status *status = epp_session_create(&options, &session);
		ck_assert_msg(epp_status_code(status) == EPP_INVALID_ARGUMENT, "'%s'", wrong[i]);
		ck_assert_msg(strstr(epp_status_message(status), wrong[i]) != NULL, "%s", epp_status_message(status));
		ck_assert_ptr_null(session);
		epp_status_destroy(status);
	}
	epp_session *session = start(NULL, "");
	expect_steps(session, 0, "RR");
	expect_counts(recording_finish(session), 6, 0);
}
END_TEST

START_TEST(variables_set_the_schedule)
{
	epp_session *session;
	setenv("EPPROF_OUTPUT", check_path("variables.epp"), 1);
	setenv("EPPROF_SCHEDULE", "active=none", 1);
	epp_status *status = epp_session_share_output(&session);
	ck_assert_int_eq(epp_status_code(status), EPP_INVALID_ARGUMENT);
	ck_assert_ptr_nonnull(strstr(epp_status_message(status), "EPPROF_SCHEDULE"));
	epp_status_destroy(status);
	setenv("EPPROF_SCHEDULE", "skip=1,active=1", 1);
	setenv("EPPROF_STEP", "a \"step\", really", 1);
	check_ok(epp_session_share_output(&session));
	for (unsigned i = 0; i < 3; i++)
		epp_event_end(session, begin(session, "a \"step\", really"), NULL, 0);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_FILTER), 1);
	epp_session_destroy(session);
}
END_TEST

START_TEST(the_default_step)
{
	epp_session *session;
	epp_session_options options = { .struct_size = sizeof(options), .schedule = "active=2,repeat=1" };
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_session_start(session));
	for (unsigned i = 0; i < 3; i++)
		epp_event_end(session, begin(session, "model_run"), NULL, 0);
	expect_counts(recording_finish(session), 2, 1);
}
END_TEST

/* ---- steps of one thread ---- */

START_TEST(steps_are_recorded_whole)
{
	char *path = strdup(check_path("whole.epp"));
	epp_session *session = start(path, "skip=2,warmup=1,active=2,repeat=2");
	expect_steps(session, 0, "...RR.RR...");
	struct trace_scan *scan = recording_finish_file(session, path);
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, epp_name_intern("step")), 4);
	static const unsigned recorded[] = { 3, 4, 6, 7 };
	for (unsigned i = 0; i < 4; i++) {
		char name[32];
		snprintf(name, sizeof(name), "inner %u", recorded[i]);
		ck_assert_uint_eq(scan_count(scan, EPF_EVENT, epp_name_intern(name)), 1);
	}
	expect_counts(scan, 12, 7 * 3);
	epp_trace_close(open_valid(path));
	free(path);
}
END_TEST

START_TEST(only_the_outermost_step_counts)
{
	epp_session *session = start(NULL, "skip=1,active=1,repeat=1");
	for (unsigned i = 0; i < 3; i++) {
		uint64_t outer = begin(session, "step"), inner = begin(session, "step"),
			 innermost = begin(session, "step");
		ck_assert(i == 1 ? innermost > EPP_LEFT_OUT_ID : innermost == 0);
		epp_event_end(session, innermost, NULL, 0);
		epp_event_end(session, inner, NULL, 0);
		/* The step goes on behind the inner ones. */
		ck_assert_uint_eq(step(session, 0), i == 1 ? 3 : 0);
		epp_event_end(session, outer, NULL, 0);
	}
	expect_counts(recording_finish(session), 6, 2 * 6);
}
END_TEST

/* What is between two steps belongs to the first of them. */
START_TEST(events_outside_steps)
{
	epp_session *session = start(NULL, "skip=1,active=1,repeat=1");
	for (unsigned i = 0; i < 3; i++) {
		uint64_t id = begin(session, "before");
		ck_assert((id != 0) == (i == 2));
		epp_event_end(session, id, NULL, 0);
		step(session, i);
		epp_instant_record(session, EPP_NODE, epp_name_intern("instant"), NULL, 0);
		epp_counter_record_i64(session, epp_name_intern("counter"), 1);
		ck_assert((epp_async_begin(session, EPP_NODE, epp_name_intern("async")) != 0) == (i == 1));
	}
	expect_counts(recording_finish(session), 3 + 3 + 1, 2 * (3 + 3 + 1));
}
END_TEST

/* The step begins a decision of its own in an event that encloses all steps. */
START_TEST(an_event_around_all_steps)
{
	epp_session *session = start(NULL, "skip=1,active=1,repeat=1");
	uint64_t around = begin(session, "main");
	ck_assert_uint_eq(around, 0);
	expect_steps(session, 0, ".R.");
	epp_event_end(session, around, NULL, 0);
	expect_counts(recording_finish(session), 3, 1 + 6);
	session = start(NULL, "active=1,repeat=1");
	around = begin(session, "main");
	ck_assert_uint_gt(around, EPP_LEFT_OUT_ID);
	expect_steps(session, 0, "R..");
	epp_event_end(session, around, NULL, 0);
	expect_counts(recording_finish(session), 4, 6);
}
END_TEST

/* As in ONNX Runtime: an event has its name at its end, and others than steps have none before. */
START_TEST(steps_that_are_named_at_their_end)
{
	epp_session *session = start(NULL, "skip=1,active=1,repeat=1");
	epp_name step_name = epp_name_intern("step"), other = epp_name_intern("other"), node = epp_name_intern("node");
	for (unsigned i = 0; i < 4; i++) {
		uint64_t outer = epp_event_begin(session, EPP_NODE, 0), inner = epp_event_begin(session, EPP_NODE, 0);
		ck_assert(i == 2 ? inner > EPP_LEFT_OUT_ID && outer > EPP_LEFT_OUT_ID : !inner && outer == EPP_LEFT_OUT_ID);
		epp_event_end_named(session, inner, EPP_NODE, node, NULL, 0);
		epp_event_end_named(session, outer, EPP_NODE, i ? step_name : other, NULL, 0);
	}
	expect_counts(recording_finish(session), 2, 6);
	/* One that never gets a name is no step. */
	session = start(NULL, "active=1,repeat=1");
	epp_event_end(session, epp_event_begin(session, EPP_NODE, 0), NULL, 0);
	expect_steps(session, 0, "R..");
	epp_event_end(session, epp_event_begin(session, EPP_NODE, 0), NULL, 0);
	expect_counts(recording_finish(session), 4, 7);
}
END_TEST

static void *unnamed_event(void *session)
{
	uint64_t id = epp_event_begin(session, EPP_NODE, 0);
	epp_event_end_named(session, id, EPP_NODE, epp_name_intern("node"), NULL, 0);
	return (void *)(uintptr_t)(id > EPP_LEFT_OUT_ID);
}

/* As the threads of ONNX Runtime that run nodes for another thread's step. */
START_TEST(unnamed_events_of_other_threads_belong_to_the_step)
{
	epp_session *session = start(NULL, "skip=1,active=2,repeat=1");
	epp_name step_name = epp_name_intern("step");
	for (unsigned i = 0; i < 4; i++) {
		void *is_recorded;
		uint64_t id = epp_event_begin(session, EPP_NODE, 0);
		pthread_join(recording_thread(unnamed_event, session), &is_recorded);
		ck_assert_int_eq(is_recorded != NULL, i == 1 || i == 2);
		ck_assert_int_eq(id > EPP_LEFT_OUT_ID, is_recorded != NULL);
		epp_event_end_named(session, id, EPP_NODE, step_name, NULL, 0);
	}
	expect_counts(recording_finish(session), 4, 4);
	/* A step that is named at its begin is one, also in an event without a name. */
	session = start(NULL, "skip=1,active=1,repeat=1");
	uint64_t around = epp_event_begin(session, EPP_NODE, 0);
	expect_steps(session, 0, ".R.");
	epp_event_end(session, around, NULL, 0);
	expect_steps(session, 0, ".");
	expect_counts(recording_finish(session), 3, 10);
}
END_TEST

START_TEST(ends_without_a_begin)
{
	epp_session *session = start(NULL, "skip=1,active=1,repeat=1");
	epp_event_end(session, EPP_LEFT_OUT_ID, NULL, 0);
	epp_event_end_named(session, EPP_LEFT_OUT_ID, EPP_NODE, epp_name_intern("step"), NULL, 0);
	expect_steps(session, 0, ".");
	epp_event_end(session, EPP_LEFT_OUT_ID, NULL, 0);
	expect_steps(session, 1, "R.");
	epp_event_end(NULL, EPP_LEFT_OUT_ID, NULL, 0);
	expect_counts(recording_finish(session), 3, 6);
	session = start(NULL, "active=1");
	epp_event_end(session, EPP_LEFT_OUT_ID, NULL, 0);
	recording_end(session);
	epp_event_end(session, EPP_LEFT_OUT_ID, NULL, 0);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_AFTER_END), 0);
	epp_session_destroy(session);
}
END_TEST

/* The ends of a step that is on the stack, and of an event in it, are missing. */
START_TEST(begins_without_an_end)
{
	epp_session *session = start(NULL, "active=1,repeat=1");
	uint64_t around = begin(session, "around");
	ck_assert_uint_gt(begin(session, "step"), EPP_LEFT_OUT_ID);
	ck_assert_uint_gt(begin(session, "open"), EPP_LEFT_OUT_ID);
	epp_event_end(session, around, NULL, 0);
	expect_steps(session, 0, "..");
	expect_counts(recording_finish(session), 3, 6);
}
END_TEST

START_TEST(a_filter_beside_the_schedule)
{
	epp_session *session;
	epp_session_options options = { .struct_size = sizeof(options),
		                        .exclude = "step;outer*",
		                        .schedule = "skip=1,active=1,repeat=1",
		                        .step = "step" };
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_session_start(session));
	for (unsigned i = 0; i < 3; i++)
		ck_assert_uint_eq(step(session, i), i == 1);
	expect_counts(recording_finish(session), 1, 8);
}
END_TEST

/* ---- runs ---- */

/* A pause ends in the middle of a step that is left out, and begins in the middle of one that is recorded. */
START_TEST(pauses)
{
	epp_session *session = start(NULL, "skip=2,active=2,repeat=1");
	uint64_t skipped = begin(session, "step");
	ck_assert_uint_eq(skipped, EPP_LEFT_OUT_ID);
	ck_assert(session_pause(session));
	expect_steps(session, 0, "...");
	check_ok(session_resume(session));
	epp_event_end(session, skipped, NULL, 0);
	expect_steps(session, 0, ".");
	uint64_t recorded = begin(session, "step");
	ck_assert(session_pause(session));
	epp_event_end(session, recorded, NULL, 0);
	check_ok(session_resume(session));
	expect_steps(session, 1, "R.");
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan_lost(scan, EPP_LOSS_AFTER_END), 1);
	expect_counts(scan, 4, 1 + 3 + 3);
}
END_TEST

START_TEST(a_start_that_is_paused)
{
	epp_session *session;
	setenv("EPPROF_OUTPUT", check_path("paused.epp"), 1);
	setenv("EPPROF_START_PAUSED", "1", 1);
	setenv("EPPROF_SCHEDULE", "skip=1,active=1,repeat=1", 1);
	setenv("EPPROF_STEP", "step", 1);
	check_ok(epp_session_share_output(&session));
	expect_steps(session, 0, "....");
	check_ok(session_resume(session));
	expect_steps(session, 0, ".R.");
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_FILTER), 6);
}
END_TEST

START_TEST(a_ring)
{
	char *path = strdup(check_path("ring.epp"));
	epp_session *session;
	epp_session_options options = { .struct_size = sizeof(options),
		                        .path = path,
		                        .overwrite = 1,
		                        .policy = EPP_POLICY_RING,
		                        .max_bytes = 4 << 20,
		                        .lossless = 1,
		                        .schedule = "warmup=1,active=1",
		                        .step = "step" };
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_session_start(session));
	const unsigned steps = 200000 / RECORDING_SLOW * 2;
	for (unsigned i = 0; i < steps; i++)
		ck_assert_uint_eq(step(session, i % 2), i % 2 ? 3 : 0);
	recording_end(session);
	epp_session_destroy(session);
	epp_trace *trace = open_valid(path);
	check_balanced(trace, 3 * (steps / 2));
	epp_trace_close(trace);
	free(path);
}
END_TEST

/* Killed in a step, each time in another one. */
START_TEST(a_kill)
{
	char *path = strdup(check_path("killed.epp"));
	int status;
	pid_t child = fork();
	if (child == 0) {
		epp_session *session = start(path, "skip=1,active=2,repeat=1");
		expect_steps(session, 0, ".RR.");
		for (int i = _i; i > 0; i--)
			epp_event_end(session, begin(session, "step"), NULL, 0);
		begin(session, "step");
		begin(session, "open");
		kill(getpid(), SIGKILL);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(WTERMSIG(status), SIGKILL);
	struct trace_scan *scan = trace_scan_file(path);
	ck_assert_msg(!scan->error, "%s", scan->error);
	ck_assert_ptr_null(scan_balance(scan));
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, epp_name_intern("step")), 2);
	expect_counts(scan, 6, 6 + (unsigned)_i + 2);
	free(path);
}
END_TEST

/* ---- threads ---- */

#define THREADS 4u
#define STEPS (2000u / RECORDING_SLOW)

static unsigned recorded_steps[THREADS];

struct worker_of {
	epp_session *session;
	unsigned number;
};

static void *run_steps(void *argument)
{
	const struct worker_of *self = argument;
	for (unsigned i = 0; i < STEPS; i++) {
		unsigned recorded = step(self->session, i);
		ck_assert(recorded == 0 || recorded == 3);
		recorded_steps[self->number] += recorded == 3;
	}
	return NULL;
}

/* Of each ten steps four are recorded, whichever thread has them, and all of each. */
START_TEST(several_threads)
{
	char *path = strdup(check_path("threads.epp"));
	epp_session *session = start(path, _i ? "skip=10,warmup=6,active=4,repeat=3" : "warmup=6,active=4");
	pthread_t threads[THREADS];
	struct worker_of workers[THREADS];
	unsigned recorded = 0, expected = _i ? 12 : THREADS * STEPS / 10 * 4;
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i] = (struct worker_of){ session, i };
		threads[i] = recording_thread(run_steps, &workers[i]);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		recorded += recorded_steps[i];
	}
	ck_assert_uint_eq(recorded, expected);
	expect_counts(recording_finish_file(session, path), 3 * expected, 3 * (THREADS * STEPS - expected));
	epp_trace_close(open_valid(path));
	free(path);
}
END_TEST

static void *other_event(void *session)
{
	uint64_t id = begin(session, "other thread");
	epp_event_end(session, id, NULL, 0);
	return (void *)(uintptr_t)id;
}

static bool other_thread_records(epp_session *session)
{
	void *id;
	pthread_join(recording_thread(other_event, session), &id);
	return id != NULL;
}

/* A step that overlaps another one on another thread keeps its decision; threads without steps follow the last one. */
START_TEST(steps_that_overlap)
{
	epp_session *session = start(NULL, "skip=1,active=1,repeat=1");
	ck_assert(!other_thread_records(session));
	uint64_t first = begin(session, "step");
	ck_assert(!other_thread_records(session));
	struct worker_of worker = { session, 0 };
	pthread_join(recording_thread(run_steps, &worker), NULL);
	ck_assert_uint_eq(recorded_steps[0], 1);
	ck_assert(!other_thread_records(session));
	ck_assert_uint_eq(begin(session, "in the first"), 0);
	epp_event_end(session, first, NULL, 0);
	trace_scan_free(recording_finish(session));
	worker.session = session = start(NULL, "active=1,repeat=1");
	first = begin(session, "step");
	ck_assert(other_thread_records(session));
	pthread_join(recording_thread(run_steps, &worker), NULL);
	ck_assert(!other_thread_records(session));
	/* The first step goes on. */
	ck_assert_uint_gt(begin(session, "in the first"), EPP_LEFT_OUT_ID);
	epp_event_end(session, first, NULL, 0);
	trace_scan_free(recording_finish(session));
}
END_TEST

/* ---- devices ---- */

/* Of a session that counts ticks of the host's clock. */
static uint64_t push(struct profiler_double *a, uint64_t start_ticks, uint64_t parent)
{
	const EpprofEvent event = {
		.name = "kernel", .start_ticks = start_ticks, .end_ticks = start_ticks + 1, .parent = parent, .clock = 1
	};
	uint64_t id;
	profiler_registry_push(
	    &a->impl,
	    &(EpprofBatch){ .struct_size = sizeof(EpprofBatch), .events = &event, .events_count = 1, .ids = &id });
	return id;
}

/* Events arrive when all steps are over. */
START_TEST(events_of_devices)
{
	char *path = strdup(check_path("device.epp"));
	struct profiler_double a = double_make('a');
	epp_session *session = create(path, "warmup=1,active=1,repeat=2");
	check_ok(epp_session_attach(session, &a.impl, "device"));
	check_ok(epp_session_start(session));
	const EpprofClock clock = { .id = 1, .kind = 1, .bits = 40, .ticks_per_second = epp_host_ticks_per_second() };
	const EpprofDevice device = { .group = "device 0",
		                      .args = &(EpprofArg){ .key = "cores", .number.i64 = 4 },
		                      .args_count = 1 };
	const uint64_t mask = (UINT64_C(1) << 40) - 1;
	EpprofClockPair pair = { .host_ticks = epp_host_ticks(), .clock = 1 };
	pair.device_ticks = (pair.host_ticks + 1000000) & mask;
	profiler_registry_push(&a.impl, &(EpprofBatch){ .struct_size = sizeof(EpprofBatch),
	                                                .clocks = &clock,
	                                                .clocks_count = 1,
	                                                .devices = &device,
	                                                .devices_count = 1,
	                                                .pairs = &pair,
	                                                .pairs_count = 1 });
	uint64_t ids[5], times[5];
	for (unsigned i = 0; i < 5; i++) {
		ids[i] = begin(session, "step");
		recording_sleep_ms(1);
		times[i] = (epp_host_ticks() + 1000000) & mask;
		recording_sleep_ms(1);
		epp_event_end(session, ids[i], NULL, 0);
	}
	for (unsigned i = 0; i < 5; i++) {
		bool is_recorded = i == 1 || i == 3;
		ck_assert_int_eq(ids[i] > EPP_LEFT_OUT_ID, is_recorded);
		ck_assert_int_eq(push(&a, times[i], 0) != 0, is_recorded);
		/* With a parent, the time does not matter. */
		ck_assert_int_eq(push(&a, times[4 - i], ids[i]) != 0, is_recorded);
	}
	ck_assert_uint_eq(a.calls[STEP_START_EVENT], 2);
	struct trace_scan *scan = recording_finish_file(session, path);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, epp_name_intern("kernel")), 4);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, epp_name_intern("epprof.device")), 1);
	ck_assert_uint_eq(scan->producers[0].lost[EPP_LOSS_FILTER], 6);
	trace_scan_free(scan);
	epp_trace *trace = open_valid(path);
	check_balanced(trace, 3 + 6);
	epp_trace_close(trace);
	free(path);
}
END_TEST

/* The times of more parts than are kept: those of older ones count as recorded. */
START_TEST(times_of_many_parts)
{
	struct schedule schedule;
	struct schedule_step one = { 0 };
	bool is_given;
	check_ok(schedule_parse("skip=1,warmup=1,active=1", "step", &schedule, &is_given));
	ck_assert(!schedule_was_on(&schedule, 5));
	const uint64_t cycles = 2 * SCHEDULE_RANGES + 3;
	/* Step n begins at 10 n + 10. */
	for (uint64_t number = 0; number < 1 + 2 * cycles + 1; number++) {
		schedule_begin_step(&schedule, &one, schedule.step, 10 * number + 10);
		schedule_end_step(&schedule, &one, schedule.step, 0);
	}
	for (uint64_t number = 1 + 2 * (cycles - SCHEDULE_RANGES) + 1; number < 1 + 2 * cycles + 1; number++)
		ck_assert_msg(schedule_was_on(&schedule, 10 * number + 15) == schedule_includes(&schedule, number),
		              "%d", (int)number);
	ck_assert(schedule_was_on(&schedule, 15));
	check_ok(schedule_parse("active=1,repeat=1", "step", &schedule, &is_given));
	ck_assert(schedule_was_on(&schedule, 5));
	for (uint64_t number = 0; number < 5; number++)
		schedule_begin_step(&schedule, &one, schedule.step, 10 * number + 10);
	ck_assert(schedule_was_on(&schedule, 19) && !schedule_was_on(&schedule, 20) && !schedule_was_on(&schedule, 1000));
}
END_TEST

/* Events that the host submits. */
START_TEST(submitted_events)
{
	epp_session *session = start(NULL, "skip=1,active=1,repeat=1");
	epp_name name = epp_name_intern("work");
	epp_track_options options;
	epp_track host, device;
	epp_track_options_init(&options);
	check_ok(epp_track_create(session, &options, &host));
	options.clock_kind = EPP_CLOCK_DURATION_ONLY;
	options.ticks_per_second = 1000;
	check_ok(epp_track_create(session, &options, &device));
	uint64_t ids[3], times[3];
	for (unsigned i = 0; i < 3; i++) {
		ids[i] = begin(session, "step");
		times[i] = epp_host_ticks();
		/* Its clock is unknown: the time at which it arrives decides. */
		ck_assert_int_eq(epp_event_record(session, device, EPP_NODE, name, 1, 2, 0, NULL, 0) != 0, i == 1);
		epp_event_end(session, ids[i], NULL, 0);
	}
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_int_eq(epp_event_record(session, host, EPP_NODE, name, times[i], times[i] + 1, 0, NULL, 0) != 0,
		                 i == 1);
		uint64_t child = epp_event_record(session, host, EPP_NODE, name, 1, 2, ids[i], NULL, 0);
		ck_assert_int_eq(child != 0, i == 1);
		/* Neither refers to an event that does not exist. */
		epp_flow_record(session, ids[i], ids[1]);
		epp_flow_record(session, ids[1], ids[i]);
		epp_event_set_parent(session, ids[1], ids[i] == ids[1] ? 0 : ids[i]);
	}
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan_count(scan, EPF_FLOW, 0), 2);
	expect_counts(scan, 1 + 3 + 2, 2 + 6);
}
END_TEST

static Suite *schedule_suite(void)
{
	Suite *suite = suite_create("schedule");
	TCase *tests = tcase_create("schedule");
	tcase_add_test(tests, numbers_decide);
	tcase_add_test(tests, schedules_that_are_wrong);
	tcase_add_test(tests, variables_set_the_schedule);
	tcase_add_test(tests, the_default_step);
	tcase_add_test(tests, steps_are_recorded_whole);
	tcase_add_test(tests, only_the_outermost_step_counts);
	tcase_add_test(tests, events_outside_steps);
	tcase_add_test(tests, an_event_around_all_steps);
	tcase_add_test(tests, steps_that_are_named_at_their_end);
	tcase_add_test(tests, unnamed_events_of_other_threads_belong_to_the_step);
	tcase_add_test(tests, ends_without_a_begin);
	tcase_add_test(tests, begins_without_an_end);
	tcase_add_test(tests, a_filter_beside_the_schedule);
	tcase_add_test(tests, pauses);
	tcase_add_test(tests, a_start_that_is_paused);
	tcase_add_test(tests, a_ring);
	tcase_add_loop_test(tests, a_kill, 0, 2);
	tcase_add_loop_test(tests, several_threads, 0, 2);
	tcase_add_test(tests, steps_that_overlap);
	tcase_add_test(tests, events_of_devices);
	tcase_add_test(tests, times_of_many_parts);
	tcase_add_test(tests, submitted_events);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(schedule_suite)
