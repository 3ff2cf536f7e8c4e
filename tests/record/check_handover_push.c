/* What profilers push while a run goes on: rules, accounts, many threads, and pushes that come when no run does:
 * runtime/record/submit.c, EpprofApi_PushEvents_SinceV1. */
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "epprof/timeline.h"
#include "record/submit.h"
#include "tests/support/profiler_double.h"
#include "tests/support/valid_trace.h"

static epp_name name;

static void set_up(void)
{
	name = epp_name_intern("host");
}

static void push(struct profiler_double *to, const EpprofBatch *batch)
{
	EpprofBatch copy = *batch;
	copy.struct_size = sizeof(copy);
	profiler_registry_push(&to->impl, &copy);
}

static const EpprofClock a_clock = { .id = 5, .kind = 1, .bits = 0, .ticks_per_second = 1000 };

static void push_event(struct profiler_double *to, EpprofEvent event)
{
	push(to, &(EpprofBatch){ .events = &event, .events_count = 1 });
}

START_TEST(pushed_events_are_checked)
{
	struct profiler_double a = double_make('a');
	epp_session *session = double_attached(&a, NULL, "pusher");
	check_ok(epp_session_start(session));
	uint64_t parent = epp_event_begin(session, EPP_NODE, name);
	EpprofArg args[300];
	for (int i = 0; i < 300; i++)
		args[i] = (EpprofArg){ .key = i % 2 ? "odd" : NULL,
			               .type = (uint32_t)i % 4,
			               .text = i % 8 == 3 ? "a\"b c" : NULL,
			               .text_bytes = 5,
			               .number.i64 = -i };
	EpprofClock bad_clocks[] = {
		{ .id = 64, .kind = 1, .ticks_per_second = 1 },
		{ .id = 6, .kind = 0, .ticks_per_second = 1 },
		{ .id = 6, .kind = 3, .ticks_per_second = 1 },
		{ .id = 6, .kind = 1, .ticks_per_second = 0 },
		{ .id = 6, .kind = 1, .ticks_per_second = 1, .bits = 65 },
	};
	EpprofClockPair pairs[] = { { .device_ticks = 7, .host_ticks = 8, .half_width_ticks = 9, .clock = 5 },
		                    { .clock = 6 } };
	push(&a, &(EpprofBatch){ .clocks = &a_clock, .clocks_count = 1, .pairs = pairs, .pairs_count = 2 });
	push(&a, &(EpprofBatch){ .clocks = bad_clocks, .clocks_count = 5 });
	push_event(&a, (EpprofEvent){ .start_ticks = 3,
	                              .end_ticks = 5,
	                              .parent = parent,
	                              .name = "good",
	                              .args = args,
	                              .args_count = 4,
	                              .category = 2,
	                              .device = 1,
	                              .clock = 5,
	                              .stream = 6 });
	push_event(
	    &a, (EpprofEvent){ .start_ticks = 3, .end_ticks = 3, .name = "", .category = 0, .device = -1, .clock = 5 });
	push_event(&a, (EpprofEvent){ .name = "300 args", .args = args, .args_count = 300, .clock = 5 });
	push_event(&a, (EpprofEvent){ .name = "args that are missing", .args_count = 9, .clock = 5 });
	push_event(&a, (EpprofEvent){ .name = NULL, .clock = 5 });
	push_event(&a, (EpprofEvent){ .name = "category", .category = 4, .clock = 5 });
	push_event(&a, (EpprofEvent){ .name = "backwards", .start_ticks = 2, .end_ticks = 1, .clock = 5 });
	push_event(&a, (EpprofEvent){ .name = "no clock", .clock = 6 });
	push_event(&a, (EpprofEvent){ .name = "no such clock", .clock = UINT32_MAX });
	/* Arrays that are not there, and a batch of another version. */
	push(&a, &(EpprofBatch){ .events_count = 3, .clocks_count = 3, .pairs_count = 3 });
	profiler_registry_push(&a.impl, &(EpprofBatch){ .struct_size = 8 });
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, 0), 4);
	const struct scan_record *good = scan_first(scan, EPF_COMPLETE, epp_name_intern("good"));
	ck_assert_uint_eq(good->args_count, 5);
	ck_assert_uint_eq(good->args[0].value, parent);
	ck_assert_uint_eq(good->args[1].key, EPF_NAME_NONE);
	ck_assert_uint_eq(good->args[2].value, (uint64_t)-1);
	ck_assert_uint_eq(good->args[4].text_bytes, 5);
	const struct scan_track *track = scan_track(scan, good->track);
	ck_assert_str_eq(track->name, "stream 6");
	ck_assert_str_eq(track->group, "pusher device 1");
	ck_assert_uint_eq(track->definition.clock_bits, 64);
	ck_assert_int_eq(track->definition.producer, 0);
	const struct scan_record *pair = scan_first(scan, EPF_CLOCK_PAIR, 0);
	ck_assert_uint_eq(scan_count(scan, EPF_CLOCK_PAIR, 0), 1);
	ck_assert_uint_eq(scan_track(scan, pair->track)->definition.clock, track->definition.clock);
	const struct scan_record *large = scan_first(scan, EPF_COMPLETE, epp_name_intern("300 args"));
	ck_assert_uint_eq(large->args_count, 255);
	ck_assert_uint_eq(EPF_BITS_FLAGS(large->bits), EPF_FLAG_CUT);
	ck_assert_uint_eq(scan->producers[0].emitted, 9);
	ck_assert_uint_eq(scan->producers[0].lost[EPP_LOSS_REFUSED], 5);
	ck_assert_uint_eq(scan->producers[0].lost[EPP_LOSS_TOO_LARGE], 1);
	trace_scan_free(scan);
}
END_TEST

/* The device's clock is known to 50 ms only: what launched a kernel and what waited for it tell more. */
START_TEST(a_wait_narrows_the_bound)
{
	struct profiler_double a = double_make('a');
	epp_session *session = double_attached(&a, NULL, "pusher");
	check_ok(epp_session_start(session));
	uint64_t second = epp_host_ticks_per_second(), launch = epp_event_begin(session, EPP_NODE, name),
		 start = epp_host_ticks();
	EpprofClock clock = { .id = 5, .kind = 1, .ticks_per_second = second };
	EpprofClockPair pair = { .device_ticks = start, .host_ticks = start, .half_width_ticks = second / 20, .clock = 5 };
	push(&a, &(EpprofBatch){ .clocks = &clock, .clocks_count = 1, .pairs = &pair, .pairs_count = 1 });
	push_event(&a, (EpprofEvent){ .name = "kernel",
	                              .parent = launch,
	                              .category = 2,
	                              .clock = 5,
	                              .start_ticks = start,
	                              .end_ticks = start + 1 });
	EpprofWait waits[] = {
		{ .parent = launch, .start_host_ticks = start, .end_host_ticks = start + second / 1000, .thread = 77 },
		{ .parent = 0 },
		{ .parent = launch, .start_host_ticks = 2, .end_host_ticks = 1 }
	};
	push(&a, &(EpprofBatch){ .waits = waits, .waits_count = _i ? 3 : 0 });
	/* Of an EP that knows nothing of waits. */
	profiler_registry_push(
	    &a.impl, &(EpprofBatch){ .struct_size = offsetof(EpprofBatch, waits), .waits = waits, .waits_count = 3 });
	while (epp_host_ticks() < start + second / 500)
		sched_yield();
	epp_event_end(session, launch, NULL, 0);
	recording_end(session);
	epp_trace *trace = recording_open(session);
	epp_timeline *timeline;
	const epp_event *event;
	unsigned kernels = 0, rows = 0;
	int64_t launch_ns = 0, wait_end_ns = 0, error_ns = 0;
	check_ok(epp_timeline_create(trace, NULL, &timeline));
	while (epp_timeline_next(timeline, &event)) {
		if (event->id == launch)
			launch_ns = event->start_ns;
		if (!strcmp(event->name, "kernel") && ++kernels)
			error_ns = event->end_error_ns;
		if (!strcmp(event->name, "wait") && ++rows) {
			wait_end_ns = event->start_ns + event->duration_ns;
			ck_assert_str_eq(event->track->name, "thread 77: calls of pusher");
			ck_assert_uint_eq(event->track->kind, EPP_TRACK_CALLS);
			ck_assert_uint_eq(event->track->thread_id, 77);
			ck_assert_uint_eq(event->category, EPP_API);
			ck_assert_int_eq((event->duration_ns + 500) / 1000, 1000);
		}
	}
	ck_assert_uint_eq(kernels, 1);
	ck_assert_uint_eq(rows, (unsigned)_i);
	ck_assert(_i ? error_ns <= wait_end_ns - launch_ns + 1 : error_ns >= 50000000);
	epp_timeline_destroy(timeline);
	check_valid(trace);
	for (size_t i = 0; i < epp_trace_ledger_count(trace); i++) {
		epp_trace_ledger_entry line = { .struct_size = sizeof(line) };
		check_ok(epp_trace_ledger_at(trace, i, &line));
		ck_assert_uint_eq(line.emitted, !line.is_plugin ? line.written : _i ? 4 : 1);
		ck_assert_uint_eq(line.lost[EPP_LOSS_REFUSED], line.is_plugin && _i ? 2 : 0);
	}
	epp_trace_close(trace);
	epp_session_destroy(session);
}
END_TEST

/* A thread that records nothing itself; it has a name until `main_is_done` is reached. */
struct silent {
	pthread_barrier_t started;
	pthread_barrier_t main_is_done;
	int64_t thread;
};

static void *be_silent(void *argument)
{
	struct silent *silent = argument;
	silent->thread = syscall(SYS_gettid);
	pthread_setname_np(pthread_self(), "only waits");
	pthread_barrier_wait(&silent->started);
	pthread_barrier_wait(&silent->main_is_done);
	return NULL;
}

static pthread_t start_silent(struct silent *silent)
{
	pthread_t thread;
	pthread_barrier_init(&silent->started, NULL, 2);
	pthread_barrier_init(&silent->main_is_done, NULL, 2);
	ck_assert_int_eq(pthread_create(&thread, NULL, be_silent, silent), 0);
	pthread_barrier_wait(&silent->started);
	return thread;
}

static void end_silent(struct silent *silent, pthread_t thread)
{
	pthread_barrier_wait(&silent->main_is_done);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&silent->started);
	pthread_barrier_destroy(&silent->main_is_done);
}

/* Waits that the EP reports for another thread are on that thread's own row, also if the thread records nothing. */
START_TEST(a_thread_that_only_waits_has_its_own_row)
{
	struct profiler_double a = double_make('a');
	epp_session *session = double_attached(&a, NULL, "pusher");
	struct silent silent;
	pthread_t thread = start_silent(&silent);
	check_ok(epp_session_start(session));
	uint64_t launch = epp_event_begin(session, EPP_NODE, name), now = epp_host_ticks();
	const EpprofWait waits[] = {
		{ .parent = launch, .start_host_ticks = now, .end_host_ticks = now + 1, .thread = silent.thread },
		{ .parent = launch, .start_host_ticks = now + 2, .end_host_ticks = now + 3, .thread = silent.thread },
	};
	push(&a, &(EpprofBatch){ .waits = waits, .waits_count = 2 });
	epp_event_end(session, launch, NULL, 0);
	end_silent(&silent, thread);
	recording_end(session);
	epp_trace *trace = recording_open(session);
	epp_timeline *timeline;
	const epp_event *event;
	unsigned count = 0;
	check_ok(epp_timeline_create(trace, NULL, &timeline));
	while (epp_timeline_next(timeline, &event)) {
		if (strcmp(event->name, "wait") != 0)
			continue;
		count++;
		ck_assert_str_eq(event->track->name, "only waits");
		ck_assert_uint_eq(event->track->kind, EPP_TRACK_THREAD);
		ck_assert_int_eq(event->track->thread_id, silent.thread);
		ck_assert_uint_eq(event->lane, 0);
	}
	ck_assert_uint_eq(count, 2);
	epp_timeline_destroy(timeline);
	check_valid(trace);
	epp_trace_close(trace);
	epp_session_destroy(session);
}
END_TEST

/* A wait that finds no room for its track does not define the thread's row, or each push would define it again. */
START_TEST(a_wait_without_a_track_defines_no_row)
{
	struct profiler_double a = double_make('a');
	epp_session *session = double_attached(&a, NULL, "pusher");
	struct silent silent;
	pthread_t thread = start_silent(&silent);
	check_ok(epp_session_start(session));
	uint64_t launch = epp_event_begin(session, EPP_NODE, name), now = epp_host_ticks();
	EpprofWait wait = { .parent = launch, .start_host_ticks = now, .end_host_ticks = now + 1 };
	for (unsigned i = 0; i < SUBMIT_TRACKS_MAX; i++) {
		wait.thread = 0x70000000 + i; /* no thread that lives */
		push(&a, &(EpprofBatch){ .waits = &wait, .waits_count = 1 });
	}
	wait.thread = silent.thread;
	for (unsigned i = 0; i < 3; i++)
		push(&a, &(EpprofBatch){ .waits = &wait, .waits_count = 1 });
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_NO_SLOT), 3);
	epp_event_end(session, launch, NULL, 0);
	end_silent(&silent, thread);
	recording_end(session);
	epp_trace *trace = recording_open(session);
	const epp_trace_track *track;
	for (size_t i = 0; (track = epp_trace_track_at(trace, i)) != NULL; i++)
		ck_assert_int_ne(track->thread_id, silent.thread);
	check_valid(trace);
	epp_trace_close(trace);
	epp_session_destroy(session);
}
END_TEST

START_TEST(a_parent_that_was_inferred_is_marked)
{
	struct profiler_double a = double_make('a');
	epp_session *session = double_attached(&a, NULL, "pusher");
	check_ok(epp_session_start(session));
	EpprofEvent event = { .name = "inferred", .parent = 17, .category = EPP_API | EPPROF_PARENT_INFERRED, .clock = 5 };
	push(&a, &(EpprofBatch){ .clocks = &a_clock, .clocks_count = 1 });
	push_event(&a, event);
	event.name = "orphan";
	event.parent = 0;
	event.device = -1;
	push_event(&a, event);
	event.name = "ambiguous";
	event.category = EPP_API | EPPROF_PARENT_AMBIGUOUS;
	push_event(&a, event);
	event.category = EPPROF_PARENT_AMBIGUOUS << 1;
	push_event(&a, event);
	struct trace_scan *scan = recording_finish(session);
	const struct scan_record *inferred = scan_first(scan, EPF_COMPLETE, epp_name_intern("inferred"));
	ck_assert_uint_eq(EPF_BITS_PLACEMENT(inferred->bits), EPF_PLACED_INFERRED);
	ck_assert_uint_eq(EPF_BITS_CATEGORY(inferred->bits), EPP_API);
	const struct scan_record *orphan = scan_first(scan, EPF_COMPLETE, epp_name_intern("orphan"));
	ck_assert_uint_eq(EPF_BITS_PLACEMENT(orphan->bits), 0);
	const struct scan_record *ambiguous = scan_first(scan, EPF_COMPLETE, epp_name_intern("ambiguous"));
	ck_assert_uint_eq(EPF_BITS_PLACEMENT(ambiguous->bits), EPF_PLACED_AMBIGUOUS);
	ck_assert_str_eq(scan_track(scan, orphan->track)->name, "thread 0");
	ck_assert_uint_eq(scan->producers[0].lost[EPP_LOSS_REFUSED], 1);
	trace_scan_free(scan);
}
END_TEST

static const struct epf_producer *account(epp_session *session)
{
	return &recording_storage(session)->window.producers[0];
}

START_TEST(a_profiler_that_counts_for_itself)
{
	struct profiler_double a = double_make('a');
	epp_session *session = double_attached(&a, NULL, "counts");
	check_ok(epp_session_start(session));
	push(&a, &(EpprofBatch){ .clocks = &a_clock, .clocks_count = 1 });
	/* Two before it says so: they are its word's, not ours, from then on. */
	push_event(&a, (EpprofEvent){ .name = "e", .clock = 5 });
	push_event(&a, (EpprofEvent){ .name = "e", .clock = 5 });
	ck_assert_uint_eq(account(session)->emitted, 2);
	push(&a, &(EpprofBatch){ .ledger = &(EpprofLedger){ .emitted = 5, .lost_no_buffer = 2, .lost_other = 1 } });
	ck_assert_uint_eq(account(session)->emitted, 5);
	ck_assert_uint_eq(account(session)->lost[EPP_LOSS_PLUGIN], 3);
	push_event(&a, (EpprofEvent){ .name = "e", .clock = 5 });
	push(&a, &(EpprofBatch){ .ledger = &(EpprofLedger){ .emitted = 7, .lost_no_buffer = 3, .lost_other = 1 } });
	ck_assert_uint_eq(account(session)->emitted, 7);
	/* Counts that go back are not believed. */
	push(&a, &(EpprofBatch){ .ledger = &(EpprofLedger){ .emitted = 3 } });
	push(&a, &(EpprofBatch){ .ledger = &(EpprofLedger){ .emitted = 9, .lost_other = 1 } });
	ck_assert_uint_eq(account(session)->emitted, 7);
	ck_assert_uint_eq(account(session)->lost[EPP_LOSS_PLUGIN], 4);
	recording_end(session);
	/* From nothing in each run. */
	check_ok(epp_session_start(session));
	push(&a, &(EpprofBatch){ .ledger = &(EpprofLedger){ .emitted = 2, .lost_refused = 2 } });
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan->producers[0].emitted, 9);
	ck_assert_uint_eq(scan->producers[0].lost[EPP_LOSS_PLUGIN], 6);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, 0), 3);
	trace_scan_free(scan);
}
END_TEST

static const EpprofWait a_wait = { .parent = 4711, .start_host_ticks = 1, .end_host_ticks = 2, .thread = 77 };

START_TEST(pushes_when_no_run_goes_on)
{
	struct profiler_double a = double_make('a');
	epp_session *session = double_attached(&a, NULL, "early");
	const EpprofBatch waits = { .waits = &a_wait, .waits_count = 1 };
	push(&a, &(EpprofBatch){ .clocks = &a_clock, .clocks_count = 1 });
	push_event(&a, (EpprofEvent){ .name = "too early", .clock = 5 });
	push(&a, &waits);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_BEFORE_START), 2);
	check_ok(epp_session_start(session));
	ck_assert(session_pause(session));
	check_ok(epp_session_wait(session, UINT64_MAX));
	push(&a, &waits);
	check_ok(session_resume(session));
	recording_end(session);
	push_event(&a, (EpprofEvent){ .name = "too late", .clock = 5 });
	push(&a, &waits);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_AFTER_END), 3);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_BEFORE_START), 2);
	ck_assert_uint_eq(account(session)->emitted, 5);
	epp_session_destroy(session);
	push_event(&a, (EpprofEvent){ .name = "to nobody", .clock = 5 });
}
END_TEST

static void *push_a_wait(void *to)
{
	push(to, &(EpprofBatch){ .waits = &a_wait, .waits_count = 1 });
	return NULL;
}

/* The wait is accepted, and cannot be stored before the run ends: it is on its way while the session's lock is held. */
START_TEST(a_run_that_ends_during_a_push_is_the_reason)
{
	struct profiler_double a = double_make('a');
	epp_session *handle = double_attached(&a, NULL, "waits");
	check_ok(epp_session_start(handle));
	struct session *session = recording_inside(handle);
	pthread_mutex_lock(&session->storage.lock);
	pthread_t thread = recording_thread(push_a_wait, &a);
	while (!LOAD_RELAXED(&session->storage.window.producers[0].emitted))
		sched_yield();
	STORE_RELEASE(&session->pushes, 0);
	pthread_mutex_unlock(&session->storage.lock);
	pthread_join(thread, NULL);
	STORE_RELEASE(&session->pushes, 1);
	recording_end(handle);
	ck_assert_uint_eq(epp_session_lost(handle, EPP_LOSS_AFTER_END), 1);
	ck_assert_uint_eq(epp_session_lost(handle, EPP_LOSS_NO_SLOT), 0);
	epp_session_destroy(handle);
}
END_TEST

START_TEST(more_streams_than_a_profiler_may_have)
{
	struct profiler_double a = double_make('a');
	epp_session *session = double_attached(&a, NULL, "streams");
	check_ok(epp_session_start(session));
	push(&a, &(EpprofBatch){ .clocks = &a_clock, .clocks_count = 1 });
	for (int64_t stream = 0; stream < 300; stream++)
		push_event(&a, (EpprofEvent){ .name = "s", .clock = 5, .stream = stream });
	struct trace_scan *scan = recording_finish(session);
	const struct epf_producer *producer = &scan->producers[0];
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, 0), 256);
	ck_assert_uint_eq(producer->emitted, 300);
	ck_assert_uint_eq(producer->lost[EPP_LOSS_NO_SLOT], 44);
	trace_scan_free(scan);
}
END_TEST

/* ---- many threads, while the run ends ---- */

#define PUSHERS 4

static uint32_t stop;
static uint64_t pushed;

static void *push_wildly(void *argument)
{
	struct profiler_double *to = argument;
	uint64_t mine = 0;
	EpprofEvent events[20];
	while (!LOAD_RELAXED(&stop)) {
		for (int i = 0; i < 20; i++)
			events[i] = (EpprofEvent){ .start_ticks = mine,
				                   .end_ticks = mine + 1,
				                   .name = i % 5 ? "kernel" : "copy",
				                   .category = 2,
				                   .clock = 5,
				                   .device = 0,
				                   .stream = i % 3 };
		push(to, &(EpprofBatch){ .events = events, .events_count = 20 });
		mine += 20;
		if (mine % 2000 == 0)
			recording_sleep_ms(1);
	}
	ADD_RELAXED(&pushed, mine);
	return NULL;
}

static void dawdle(struct profiler_double *self, OrtProfilingEventsContainer *container)
{
	(void)self, (void)container;
	recording_sleep_ms(5);
}

START_TEST(pushes_from_many_threads_while_runs_end)
{
	struct profiler_double a = double_make('a');
	pthread_t threads[PUSHERS];
	char *path = _i ? check_path("pushes.epp") : NULL;
	epp_session *session = double_attached(&a, path, "wild");
	a.does[STEP_END_PROFILING] = dawdle;
	check_ok(epp_session_start(session));
	push(&a, &(EpprofBatch){ .clocks = &a_clock, .clocks_count = 1 });
	for (int i = 0; i < PUSHERS; i++)
		threads[i] = recording_thread(push_wildly, &a);
	for (int run = 0; run < 10; run++) {
		recording_sleep_ms(8);
		recording_end(session);
		check_ok(epp_session_start(session));
	}
	check_ok(epp_session_end(session));
	STORE_RELAXED(&stop, 1);
	for (int i = 0; i < PUSHERS; i++)
		pthread_join(threads[i], NULL);
	check_ok(epp_session_wait(session, UINT64_MAX));
	/* What came after the last run's end stands in the account in memory alone. */
	struct epf_producer producer = *account(session);
	struct trace_scan *scan = recording_look(session);
	const char *wrong = scan_balance(scan);
	ck_assert_msg(!wrong, "%s", wrong);
	uint64_t lost = 0;
	for (unsigned reason = 0; reason < EPF_LOSS_COUNT; reason++)
		lost += producer.lost[reason];
	ck_assert_uint_eq(producer.emitted, pushed);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, 0) + lost, pushed);
	ck_assert_uint_eq(lost, producer.lost[EPP_LOSS_AFTER_END] + producer.lost[EPP_LOSS_NO_BUFFER]);
	ck_assert_uint_gt(scan_count(scan, EPF_COMPLETE, 0), 0);
	trace_scan_free(scan);
	epp_session_destroy(session);
}
END_TEST

/* A track is what it was called first; a batch of before there were names has none, whatever lies behind it. */
START_TEST(streams_have_the_names_they_were_given)
{
	struct profiler_double a = double_make('a');
	epp_session *session = double_attached(&a, NULL, "pusher");
	check_ok(epp_session_start(session));
	EpprofTrack tracks[] = {
		{ .name = "Compute \"0\"", .group = "/device:XPU:1", .device = 1, .stream = 6, .clock = 5 },
		{ .name = "again", .group = "again", .device = 1, .stream = 6, .clock = 5 },
		{ .name = NULL, .group = NULL, .device = 1, .stream = 7, .clock = 5 },
		{ .name = "no such clock", .device = 1, .stream = 8, .clock = 6 },
	};
	push(&a, &(EpprofBatch){ .clocks = &a_clock, .clocks_count = 1, .tracks = tracks, .tracks_count = 4 });
	profiler_registry_push(&a.impl, &(EpprofBatch){ .struct_size = offsetof(EpprofBatch, tracks),
	                                                .tracks = &(EpprofTrack){ .name = "old", .stream = 9, .clock = 5 },
	                                                .tracks_count = 1 });
	for (int64_t stream = 6; stream < 10; stream++)
		push_event(&a, (EpprofEvent){ .name = "e", .device = 1, .stream = stream, .clock = 5 });
	struct trace_scan *scan = recording_finish(session);
	static const char *const names[] = { "Compute \"0\"", "stream 7", "stream 8", "stream 9" };
	static const char *const groups[] = { "/device:XPU:1", "pusher device 1", "pusher device 1", "pusher device 1" };
	unsigned found_count = 0;
	for (uint32_t i = 0; i < scan->tracks_count; i++) {
		const struct scan_track *track = &scan->tracks[i];
		if (track->definition.kind != EPF_TRACK_DEVICE || track->definition.device != 1)
			continue;
		ck_assert_str_eq(track->name, names[track->definition.stream - 6]);
		ck_assert_str_eq(track->group, groups[track->definition.stream - 6]);
		found_count++;
	}
	ck_assert_uint_eq(found_count, 4);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, 0), 4);
	trace_scan_free(scan);
}
END_TEST

static Suite *push_suite(void)
{
	Suite *suite = suite_create("handover_push");
	TCase *tcase = tcase_create("push");
	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_test(tcase, pushed_events_are_checked);
	tcase_add_test(tcase, streams_have_the_names_they_were_given);
	tcase_add_loop_test(tcase, a_wait_narrows_the_bound, 0, 2);
	tcase_add_test(tcase, a_thread_that_only_waits_has_its_own_row);
	tcase_add_test(tcase, a_wait_without_a_track_defines_no_row);
	tcase_add_test(tcase, a_parent_that_was_inferred_is_marked);
	tcase_add_test(tcase, a_profiler_that_counts_for_itself);
	tcase_add_test(tcase, pushes_when_no_run_goes_on);
	tcase_add_test(tcase, a_run_that_ends_during_a_push_is_the_reason);
	tcase_add_test(tcase, more_streams_than_a_profiler_may_have);
	tcase_add_loop_test(tcase, pushes_from_many_threads_while_runs_end, 0, 2);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(push_suite)
