/* Events that profilers push after their EndProfiling: EpprofApi_PushLateEvents_SinceV1; and the grace time. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/profiler_double.h"
#include "tests/support/valid_trace.h"

#define PUSHES 200

static const EpprofClock a_clock = { .id = 5, .kind = 1, .ticks_per_second = 1000 };
static const EpprofClock durations_only = { .id = 6, .kind = 2, .ticks_per_second = 1000 };
static epp_name name;

static void set_up(void)
{
	name = epp_name_intern("host");
}

static void push_late(struct profiler_double *to, const char *text, uint64_t parent, uint32_t clock)
{
	EpprofEvent event = {
		.start_ticks = 1, .end_ticks = 3, .parent = parent, .name = text, .category = 2, .clock = clock
	};
	EpprofLedger ignored = { .emitted = 1000 };
	profiler_registry_push_late(
	    &to->impl,
	    &(EpprofBatch){ .struct_size = sizeof(EpprofBatch), .events = &event, .events_count = 1, .ledger = &ignored });
}

static void push_clocks(struct profiler_double *to, bool counts)
{
	EpprofClock clocks[] = { a_clock, durations_only };
	EpprofLedger ledger = { .emitted = 0 };
	profiler_registry_push(&to->impl, &(EpprofBatch){ .struct_size = sizeof(EpprofBatch),
	                                                  .clocks = clocks,
	                                                  .clocks_count = 2,
	                                                  .ledger = counts ? &ledger : NULL });
}

static uint64_t record_run(epp_session *session, struct profiler_double *profiler, bool counts)
{
	check_ok(epp_session_start(session));
	push_clocks(profiler, counts);
	uint64_t id = epp_event_begin(session, EPP_NODE, name);
	epp_event_end(session, id, NULL, 0);
	recording_end(session);
	return id;
}

static const struct epf_producer *account(epp_session *session)
{
	return &recording_storage(session)->window.producers[0];
}

/* In memory, in a file, and in a ring; of a profiler that counts for itself, and of one that does not. */
START_TEST(late_events_are_added_to_the_run)
{
	struct profiler_double a = double_make('a');
	bool counts = _i % 2;
	epp_session_options options = { .struct_size = sizeof(options),
		                        .path = _i / 2 ? check_path("late.epp") : NULL,
		                        .overwrite = 1,
		                        .policy = _i / 2 == 2 ? EPP_POLICY_RING : EPP_POLICY_STREAM,
		                        .max_bytes = _i / 2 == 2 ? 4u << 20 : 0 };
	epp_session *session;
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_session_attach(session, &a.impl, "late"));
	push_late(&a, "before any run", 1, 5);
	ck_assert_uint_eq(account(session)->lost[EPP_LOSS_AFTER_END], 1);
	uint64_t id = record_run(session, &a, counts);
	push_late(&a, "late", id, 5);
	push_late(&a, "late again", id, 6);
	push_late(&a, "unknown clock", id, 7);
	profiler_registry_push_late(&a.impl, NULL);
	profiler_registry_push_late(&a.impl, &(EpprofBatch){ .struct_size = sizeof(EpprofBatch), .events_count = 4 });
	check_ok(epp_session_wait(session, UINT64_MAX));
	ck_assert_uint_eq(account(session)->emitted, 4);
	ck_assert_uint_eq(account(session)->lost[EPP_LOSS_REFUSED], 1);
	struct trace_scan *scan = recording_look(session);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, 0), 2);
	const struct scan_record *late = scan_first(scan, EPF_COMPLETE, epp_name_intern("late again"));
	ck_assert_uint_eq(late->args[0].value, id);
	ck_assert_uint_eq(scan_track(scan, late->track)->definition.clock_kind, EPF_TRACK_CLOCK_DURATION);
	ck_assert_uint_eq(scan->producers[0].emitted, 4);
	trace_scan_free(scan);
	/* The next run begins as usual, and takes none of them. */
	check_ok(epp_session_start(session));
	push_late(&a, "of the run before", id, 5);
	ck_assert_uint_eq(account(session)->lost[EPP_LOSS_AFTER_END], 2);
	scan = recording_finish(session);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, 0), 2);
	ck_assert_uint_eq(scan->producers[0].emitted, 5);
	trace_scan_free(scan);
	push_late(&a, "to nobody", id, 5);
}
END_TEST

/* After a second run, an event that belongs to the first one. */
START_TEST(a_late_event_of_an_earlier_run_is_lost)
{
	struct profiler_double a = double_make('a');
	epp_session *session = double_attached(&a, check_path("earlier.epp"), "late");
	uint64_t first = record_run(session, &a, true), second = record_run(session, &a, true);
	EpprofEvent events[3] = {
		{ .parent = second, .name = "second", .start_ticks = 1, .end_ticks = 2, .category = 2, .clock = 5 },
		{ .parent = first, .name = "first", .start_ticks = 1, .end_ticks = 2, .category = 2, .clock = 5 },
		{ .parent = second, .name = "second", .start_ticks = 3, .end_ticks = 4, .category = 2, .clock = 5 }
	};
	uint64_t ids[3] = { 77, 77, 77 };
	const EpprofBatch batch = { .struct_size = sizeof(batch), .events = events, .events_count = 3, .ids = ids };
	profiler_registry_push_late(&a.impl, &batch);
	check_ok(epp_session_wait(session, UINT64_MAX));
	ck_assert_uint_eq(account(session)->lost[EPP_LOSS_AFTER_END], 1);
	ck_assert(ids[0] > 0 && ids[1] == 0 && ids[2] > ids[0]);
	struct trace_scan *scan = recording_finish(session);
	ck_assert_ptr_null(scan_first(scan, EPF_COMPLETE, epp_name_intern("first")));
	ck_assert_uint_eq(scan->producers[0].emitted, 3);
	trace_scan_free(scan);
}
END_TEST

/* ---- unfinished work ---- */

static void report_unfinished(struct profiler_double *self, OrtProfilingEventsContainer *container)
{
	const EpprofLedger ledger = { .emitted = 0 };
	(void)container;
	profiler_registry_push(
	    &self->impl, &(EpprofBatch){ .struct_size = sizeof(EpprofBatch), .ledger = &ledger, .unfinished_count = 3 });
}

/* The plugin's account in a file, which balances. */
static epp_trace_ledger_entry plugin_account(const char *path)
{
	epp_trace *trace = open_valid(path);
	epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
	for (size_t i = 0; i < epp_trace_ledger_count(trace) && !account.is_plugin; i++) {
		check_ok(epp_trace_ledger_at(trace, i, &account));
		check_balance(&account);
	}
	ck_assert(account.is_plugin);
	account.note = NULL;
	epp_trace_close(trace);
	return account;
}

/* It is lost until its events come; a further run does not change what an earlier one has lost. */
START_TEST(unfinished_work_is_lost_until_it_comes)
{
	struct profiler_double a = double_make('a');
	char *path = check_path("unfinished.epp");
	a.does[STEP_END_PROFILING] = report_unfinished;
	epp_session *session = double_attached(&a, path, "late");
	uint64_t id = record_run(session, &a, true);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_AFTER_END), 3);
	push_late(&a, "late", id, 5);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_AFTER_END), 2);
	for (int i = 0; i < 3; i++)
		push_late(&a, "late", id, 5);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_AFTER_END), 0);
	check_ok(epp_session_wait(session, UINT64_MAX));

	uint64_t second = record_run(session, &a, true);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_AFTER_END), 3);
	/* One that cannot be added is lost once. */
	push_late(&a, "of the first run", id, 5);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_AFTER_END), 3);
	push_late(&a, "late", second, 5);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_AFTER_END), 2);
	/* One was in the run. */
	profiler_registry_push_late(&a.impl, &(EpprofBatch){ .struct_size = sizeof(EpprofBatch), .unfinished_count = 1 });
	epp_session_destroy(session);
	epp_trace_ledger_entry account = plugin_account(path);
	ck_assert_uint_eq(account.lost[EPP_LOSS_AFTER_END], 1);
	ck_assert_uint_eq(account.written, 5);
}
END_TEST

/* The account of a killed process has what did not come. */
START_TEST(killed_before_unfinished_work_comes)
{
	char *path = check_path("unfinished_kill.epp");
	int ready[2];
	char byte;
	ck_assert_int_eq(pipe(ready), 0);
	pid_t child = fork();
	if (child == 0) {
		struct profiler_double a = double_make('a');
		a.does[STEP_END_PROFILING] = report_unfinished;
		epp_session *session = double_attached(&a, path, "late");
		push_late(&a, "late", record_run(session, &a, true), 5);
		ck_assert_int_eq(write(ready[1], "", 1), 1);
		for (;;)
			pause();
	}
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	epp_trace_ledger_entry account = plugin_account(path);
	ck_assert_uint_eq(account.written, 1);
	ck_assert_uint_eq(account.lost[EPP_LOSS_AFTER_END], 2);
}
END_TEST

/* ---- many threads while the session is released ---- */

static struct pusher {
	struct profiler_double *to;
	uint64_t parent;
	_Atomic unsigned pushed;
} pusher;

static void *push_many(void *unused)
{
	for (unsigned i = 0; i < PUSHES; i++) {
		push_late(pusher.to, "late", pusher.parent, 5);
		pusher.pushed++;
	}
	return unused;
}

static void *push_for_ever(void *profiler)
{
	while (true) {
		push_late(profiler, "late", pusher.parent, 5);
		pthread_testcancel();
	}
	return NULL;
}

/* A cancelled thread leaves no lock behind. */
START_TEST(a_thread_that_is_cancelled)
{
	struct profiler_double a = double_make('a');
	epp_session *session = double_attached(&a, check_path("cancelled.epp"), "late");
	pusher = (struct pusher){ .to = &a, .parent = record_run(session, &a, true) };
	for (int i = 0; i < 20; i++) {
		pthread_t thread = recording_thread(push_for_ever, &a);
		recording_sleep_ms(5);
		pthread_cancel(thread);
		pthread_join(thread, NULL);
	}
	check_ok(epp_session_wait(session, UINT64_MAX));
	trace_scan_free(recording_finish(session));
}
END_TEST

START_TEST(late_events_while_the_session_is_released)
{
	struct profiler_double a = double_make('a');
	char *path = check_path("released.epp");
	pthread_t threads[2];
	epp_session *session = double_attached(&a, path, "late");
	pusher = (struct pusher){ .to = &a, .parent = record_run(session, &a, true) };
	for (int i = 0; i < 2; i++)
		threads[i] = recording_thread(push_many, NULL);
	while (!pusher.pushed)
		recording_sleep_ms(1);
	epp_session_destroy(session);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	epp_trace *trace = open_valid(path);
	uint64_t written = 0;
	for (size_t i = 0; i < epp_trace_ledger_count(trace); i++) {
		epp_trace_ledger_entry line = { .struct_size = sizeof(line) };
		check_ok(epp_trace_ledger_at(trace, i, &line));
		check_balance(&line);
		written += line.is_plugin ? line.written : 0;
	}
	ck_assert_uint_ge(written, 1);
	ck_assert_uint_le(written, 2 * PUSHES);
	ck_assert_int_eq(epp_trace_get_info(trace)->state, EPP_TRACE_FINISHED);
	epp_trace_close(trace);
}
END_TEST

/* ---- kills, full disks ---- */

START_TEST(killed_while_late_events_are_stored)
{
	char *path = check_path("killed.epp");
	_Atomic unsigned *done = mmap(NULL, sizeof(*done), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (unsigned kills = 0; kills < 20; kills++) {
		*done = 0;
		pid_t child = fork();
		if (child == 0) {
			struct profiler_double a = double_make('a');
			epp_session *session = double_attached(&a, path, "late");
			uint64_t id = record_run(session, &a, kills % 2);
			for (;; ++*done)
				push_late(&a, "late", id, 5);
		}
		for (int ms = 0; ms < 20000 && *done < 1 + kills * 3; ms++)
			recording_sleep_ms(1);
		kill(child, SIGKILL);
		int status;
		waitpid(child, &status, 0);
		ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		epp_trace *trace = open_valid(path);
		for (size_t i = 0; i < epp_trace_ledger_count(trace); i++) {
			epp_trace_ledger_entry line = { .struct_size = sizeof(line) };
			check_ok(epp_trace_ledger_at(trace, i, &line));
			check_balance(&line);
			/* What the call had stored when it returned is in the file. */
			if (line.is_plugin) {
				ck_assert_uint_ge(line.written, *done);
				ck_assert_uint_le(line.written, *done + 1);
			}
		}
		epp_trace_close(trace);
	}
	munmap((void *)done, sizeof(*done));
}
END_TEST

/* They stay in the file's window, from which they are read. */
START_TEST(late_events_that_cannot_be_written)
{
	struct profiler_double a = double_make('a');
	char *path = check_path("full.epp");
	epp_session *session = double_attached(&a, path, "late");
	uint64_t id = record_run(session, &a, true);
	int *fd = &recording_storage(session)->writer.fd, good = *fd;
	*fd = open("/dev/null", O_RDONLY);
	for (unsigned i = 0; i < 3; i++)
		push_late(&a, "late", id, 5);
	check_fails(EPP_IO, epp_session_wait(session, UINT64_MAX));
	epp_session_destroy(session);
	close(good);
	epp_trace *trace = open_valid(path);
	ck_assert_int_ne(epp_trace_get_info(trace)->state, EPP_TRACE_FINISHED);
	for (size_t i = 0; i < epp_trace_ledger_count(trace); i++) {
		epp_trace_ledger_entry line = { .struct_size = sizeof(line) };
		check_ok(epp_trace_ledger_at(trace, i, &line));
		check_balance(&line);
		if (line.is_plugin)
			ck_assert_uint_eq(line.written, 3);
	}
	epp_trace_close(trace);
}
END_TEST

/* ---- the grace time ---- */

static _Atomic bool may_return;

static void await(struct profiler_double *self, OrtProfilingEventsContainer *container)
{
	(void)container;
	ck_assert_uint_eq(profiler_registry_grace_ns(&self->impl), UINT64_C(3600000000000));
	while (!may_return)
		recording_sleep_ms(1);
}

/* EndProfiling takes longer than the time limit, and is not given up. */
START_TEST(the_end_waits_for_the_grace_time)
{
	/* Its Release may come after the test, because of the short time limit. */
	static struct profiler_double a;
	a = double_make('a');
	epp_session_options options = { .struct_size = sizeof(options), .grace_ns = UINT64_C(3600000000000) };
	epp_session *session;
	a.does[STEP_END_PROFILING] = await;
	ck_assert_uint_eq(profiler_registry_grace_ns(&a.impl), 0);
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_session_attach(session, &a.impl, "late"));
	check_ok(epp_session_start(session));
	recording_inside(session)->plugin_timeout_ns = 1000000;
	check_ok(epp_session_end(session));
	check_fails(EPP_TIMEOUT, epp_session_wait(session, 20000000));
	may_return = true;
	check_ok(epp_session_wait(session, UINT64_MAX));
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_HUNG), 0);
	epp_session_destroy(session);
}
END_TEST

static Suite *late_suite(void)
{
	Suite *suite = suite_create("late");
	TCase *tcase = tcase_create("late");
	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, late_events_are_added_to_the_run, 0, 6);
	tcase_add_test(tcase, a_late_event_of_an_earlier_run_is_lost);
	tcase_add_test(tcase, unfinished_work_is_lost_until_it_comes);
	tcase_add_test(tcase, killed_before_unfinished_work_comes);
	tcase_add_test(tcase, a_thread_that_is_cancelled);
	tcase_add_test(tcase, late_events_while_the_session_is_released);
	tcase_add_test(tcase, killed_while_late_events_are_stored);
	tcase_add_test(tcase, late_events_that_cannot_be_written);
	tcase_add_test(tcase, the_end_waits_for_the_grace_time);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(late_suite)
