/* Runs of PU1 libraries: what is enabled when, who ends whom, and libraries that hang, refuse, drop and come late. */
#include "pu1_recording.h"
#include "tests/support/forking.h"

#include <semaphore.h>
#include <sys/wait.h>

#include "epprof/timeline.h"
#include "epprof/track.h"
#include "plugins/pu1/pu1_profiler.h"

#define ALL_KINDS 0x3eu

/* The thread sanitizer itself dies of a forked child whose threads get the ids of the parent's ("dup thread with used
 * id"); the address sanitizer's run has the test. */
#ifdef __SANITIZE_THREAD__
#define CHILDREN_MAY_MAKE_THREADS false
#else
#define CHILDREN_MAY_MAKE_THREADS true
#endif

static struct pu1_test test;

static void setup(void)
{
	test = pu1_load(PU1_PLUGIN("scripted_pu1"));
}

static void setup_impatient(void)
{
	setenv("EPPROF_PLUGIN_TIMEOUT_MS", "300", 1);
	setup();
}

static void teardown(void)
{
	check_ok(epp_plugin_unload(test.plugin));
}

static void emit(const char *name)
{
	pu1ActivityRecord record = pu1_kernel(name);
	pu1_emit(test.script, &record);
}

static void check_finish(epp_session *session, const char *error, size_t written)
{
	struct pu1_outcome outcome = pu1_finish(session);
	ck_assert_str_eq(outcome.error, error);
	ck_assert_uint_eq(outcome.written, written);
	trace_scan_free(outcome.scan);
}

START_TEST(the_last_session_stops_what_the_first_began)
{
	ck_assert_uint_eq(test.script->kinds_enabled, 0);
	epp_session *first = pu1_start(&test);
	ck_assert_uint_eq(test.script->kinds_enabled, ALL_KINDS);
	ck_assert_uint_eq(test.script->flushes_count, 0);
	emit("first's");
	epp_session *second = pu1_start(&test);
	emit("both's");
	check_finish(first, "", 2);
	ck_assert_uint_eq(test.script->kinds_enabled, ALL_KINDS);
	ck_assert_uint_eq(test.script->flushes_count, 1);
	ck_assert_uint_eq(test.script->set_callbacks_count, 1);
	emit("second's");
	check_finish(second, "", 2);
	ck_assert_uint_eq(test.script->kinds_enabled, 0);
	ck_assert_uint_eq(test.script->flushes_count, 2);
}
END_TEST

static struct pu1_writer held;

static void give_held(void)
{
	if (held.buffer)
		pu1_give(&held);
	held.buffer = NULL;
}

START_TEST(a_flush_brings_what_the_library_holds)
{
	test.script->on_flush = give_held;
	epp_session *session = pu1_start(&test);
	pu1ActivityRecord record = pu1_kernel("held");
	held = pu1_begin(test.script);
	pu1_put(&held, &record);
	check_finish(session, "", 1);
}
END_TEST

static uint64_t emitted(epp_session *session)
{
	return __atomic_load_n(&recording_storage(session)->window.producers[0].emitted, __ATOMIC_ACQUIRE);
}

/* Each session gets what its own run holds, whenever it comes: while another one records, and while none does. */
START_TEST(what_comes_late_is_added_to_its_run)
{
	epp_session *session = pu1_start(&test), *other = NULL;
	uint64_t id = epp_event_begin(session, EPP_NODE, epp_name_intern("node"));
	pu1ActivityRecord record = pu1_kernel("late");
	record.flags = PU1_FLAG_EXTERNAL_ID;
	record.external_id = test.script->top();
	struct pu1_writer writer = pu1_begin(test.script);
	pu1_put(&writer, &record);
	epp_event_end(session, id, NULL, 0);
	recording_end(session);
	if (_i)
		other = pu1_start(&test);
	pu1_give(&writer); /* after stop */
	if (other)
		emit("other's");
	while (emitted(session) == 0)
		usleep(1000);
	struct pu1_outcome outcome = pu1_finish(session);
	ck_assert_uint_eq(outcome.written, 1);
	ck_assert_uint_eq(pu1_count(&outcome, "late"), 1);
	ck_assert_uint_eq(outcome.lost_after_end, 0);
	ck_assert_uint_eq(scan_first(outcome.scan, EPF_COMPLETE, 0)->args[0].value, id);
	trace_scan_free(outcome.scan);
	if (other)
		check_finish(other, "", 1);
}
END_TEST

static void emit_for_top(const char *name)
{
	pu1ActivityRecord record = pu1_kernel(name);
	record.flags = PU1_FLAG_EXTERNAL_ID;
	record.external_id = test.script->top();
	pu1_emit(test.script, &record);
}

struct ending {
	epp_session *session;
	uint64_t id;
};

static void *end_event(void *argument)
{
	const struct ending *ending = argument;
	epp_event_end(ending->session, ending->id, NULL, 0);
	return NULL;
}

/* Its token stays on top of the first thread's stack, so later work gets a wrong parent, which is marked. */
START_TEST(an_event_that_ends_on_another_thread)
{
	epp_session *session = pu1_start(&test);
	uint64_t id = epp_event_begin(session, EPP_NODE, epp_name_intern("node"));
	emit_for_top("during");
	recording_sleep_ms(50);
	pthread_join(recording_thread(end_event, &(struct ending){ session, id }), NULL);
	recording_sleep_ms(50);
	emit_for_top("after");
	uint64_t next = epp_event_begin(session, EPP_NODE, epp_name_intern("next"));
	emit_for_top("during the next");
	epp_event_end(session, next, NULL, 0);
	recording_end(session);
	epp_trace *trace = recording_open(session);
	epp_timeline *timeline;
	const epp_event *event;
	unsigned count = 0;
	check_ok(epp_timeline_create(trace, NULL, &timeline));
	while (epp_timeline_next(timeline, &event)) {
		if (event->track->kind != EPP_TRACK_DEVICE || event->kind != EPP_EVENT_SLICE)
			continue;
		bool is_next = strcmp(event->name, "during the next") == 0;
		ck_assert_uint_eq(event->parent, is_next ? next : id);
		ck_assert_int_eq(event->placement == EPP_PLACED_INFERRED, strcmp(event->name, "after") == 0);
		count++;
	}
	ck_assert_uint_eq(count, 3);
	epp_timeline_destroy(timeline);
	epp_trace_close(trace);
	epp_session_destroy(session);
}
END_TEST

/* It is not in the run that has begun since. */
START_TEST(what_comes_after_the_next_start_is_not_added)
{
	epp_session *session = pu1_start(&test), *other = pu1_start(&test);
	pu1ActivityRecord record = pu1_kernel("late");
	struct pu1_writer writer = pu1_begin(test.script);
	pu1_put(&writer, &record);
	recording_end(session);
	check_ok(epp_session_start(session));
	pu1_give(&writer);
	emit("second run's");
	struct pu1_outcome outcome = pu1_finish(session);
	ck_assert_uint_eq(outcome.written, 1);
	ck_assert_uint_eq(pu1_count(&outcome, "second run's"), 1);
	trace_scan_free(outcome.scan);
	check_finish(other, "", 2);
}
END_TEST

START_TEST(a_library_may_refuse_to_start)
{
	test.script->set_callbacks_result = PU1_OUT_OF_MEMORY;
	check_finish(pu1_start(&test), "pu1: StartProfiling: pu1TracingSetCallbacks: result 8 (scripted)", 0);
	test.script->set_callbacks_result = PU1_SUCCESS;
	test.script->kinds_refused = ALL_KINDS;
	check_finish(pu1_start(&test), "pu1: StartProfiling: pu1TracingEnable: result 21 (scripted)", 0);
	/* One kind is enough. */
	test.script->kinds_refused = ALL_KINDS & ~2u;
	epp_session *session = pu1_start(&test);
	ck_assert_uint_eq(test.script->kinds_enabled, 2);
	emit("kernel");
	check_finish(session, "", 1);
}
END_TEST

START_TEST(what_fails_is_told_once_a_run)
{
	for (int i = 0; i < 2; i++) {
		test.script->push_result = PU1_UNKNOWN;
		test.script->flush_result = PU1_UNKNOWN;
		epp_session *session = pu1_start(&test);
		for (int j = 0; j < 5; j++)
			epp_event_end(session, epp_event_begin(session, EPP_NODE, epp_name_intern("node")), NULL, 0);
		emit("kernel");
		check_finish(session, "pu1: StartEvent: pu1PushExternalCorrelationId: result 999", 1);
		test.script->push_result = PU1_SUCCESS;
		session = pu1_start(&test);
		emit("kernel");
		check_finish(session, "pu1: EndProfiling: pu1FlushAll: result 999", 1);
	}
}
END_TEST

/* ---- hanging ---- */

static sem_t may_return;

static void hang(void)
{
	while (sem_wait(&may_return))
		;
}

START_TEST(a_flush_that_hangs_holds_nobody)
{
	sem_init(&may_return, 0, 0);
	test.script->on_flush = hang;
	epp_session *session = pu1_start(&test), *other = pu1_start(&test), *third = pu1_start(&test);
	emit("kernel");
	uint64_t before_ns = recording_now_ns();
	/* Beside what was handed over before, a loss of unknown size. */
	struct pu1_outcome outcome = pu1_finish(session);
	ck_assert_str_eq(outcome.error, "pu1: EndProfiling: it has not returned after 300 ms");
	ck_assert_uint_eq(outcome.written, 1);
	ck_assert_uint_eq(outcome.scan->producers[0].lost[EPP_LOSS_HUNG], 1);
	ck_assert_str_eq(outcome.scan->producers[0].note, "EndProfiling: it has not returned after 300 ms");
	trace_scan_free(outcome.scan);
	outcome = pu1_finish(other);
	ck_assert_str_eq(outcome.error, "pu1: EndProfiling: not called, because an earlier call has not returned");
	trace_scan_free(outcome.scan);
	OrtEpProfilerImpl *profiler;
	epp_status *status;
	check_fails(EPP_TIMEOUT, epp_plugin_profiler_create(test.plugin, &profiler));
	check_ok(epp_session_end(third));
	check_fails(EPP_TIMEOUT, epp_session_wait(third, 50000000000u));
	check_ok(epp_session_start(third));
	check_ok(epp_session_end(third));
	status = epp_session_wait(third, 50000000000u);
	ck_assert_str_eq(epp_status_message(status),
	                 "pu1: StartProfiling: not called, because an earlier call has not returned");
	epp_status_destroy(status);
	epp_session_destroy(third);
	ck_assert_uint_lt(recording_now_ns() - before_ns, 5000000000);
	/* It does at last. */
	for (int i = 0; i < 2000; i++)
		sem_post(&may_return);
	while ((status = epp_plugin_profiler_create(test.plugin, &profiler))) {
		epp_status_destroy(status);
		recording_sleep_ms(1);
	}
	epp_plugin_profiler_destroy(profiler);
	for (int i = 0; i < 1000; i++) {
		session = pu1_start(&test);
		emit("kernel");
		outcome = pu1_finish(session);
		bool is_well = outcome.error[0] == '\0';
		trace_scan_free(outcome.scan);
		if (is_well)
			return;
		recording_sleep_ms(1);
	}
	ck_abort_msg("it does not start again");
}
END_TEST

/* ---- losses ---- */

/* A process may end then, and with it what the library uses. */
START_TEST(after_the_end_the_library_is_not_called_without_need)
{
	epp_session *session = pu1_start(&test);
	emit("kernel");
	check_ok(epp_session_end(session));
	check_ok(epp_session_wait(session, 50000000000u));
	/* A call of pu1GetNumDroppedRecords would make it 0. */
	test.script->dropped_count = 7;
	recording_sleep_ms(300);
	ck_assert_uint_eq(test.script->dropped_count, 7);
	test.script->dropped_count = 0;
	epp_session_destroy(session);
}
END_TEST

START_TEST(dropped_records_are_counted)
{
	epp_session *session = pu1_start(&test);
	emit("kernel");
	test.script->dropped_count = 41;
	struct pu1_outcome outcome = pu1_finish(session);
	ck_assert_str_eq(outcome.error, "");
	ck_assert_uint_eq(outcome.emitted, 42);
	ck_assert_uint_eq(outcome.lost_plugin, 41);
	trace_scan_free(outcome.scan);
	/* Those before a run are nobody's. */
	test.script->dropped_count = 5;
	session = pu1_start(&test);
	emit("kernel");
	check_finish(session, "", 1);
}
END_TEST

START_TEST(a_count_that_cannot_be_is_told)
{
	epp_session *session = pu1_start(&test);
	test.script->dropped_count = SIZE_MAX;
	check_finish(session,
	             "pu1: EndProfiling: pu1GetNumDroppedRecords: it reported 18446744073709551615, which is impossible",
	             0);
	test.script->dropped_result = PU1_UNKNOWN;
	session = pu1_start(&test);
	emit("kernel");
	struct pu1_outcome outcome = pu1_finish(session);
	/* How often it was asked depends on the worker. */
	static const char error[] = "pu1: EndProfiling: pu1GetNumDroppedRecords: result 999";
	ck_assert_msg(!strncmp(outcome.error, error, sizeof(error) - 1), "%s", outcome.error);
	ck_assert_uint_eq(outcome.written, 1);
	trace_scan_free(outcome.scan);
}
END_TEST

/* A library that counts for itself; and one that does not, for which each declined request is a loss. */
START_TEST(beyond_the_pool_requests_are_declined)
{
	bool counts = _i == 0;
	if (!counts) {
		teardown();
		test = pu1_load(PU1_PLUGIN("plain_pu1"));
	}
	struct pu1_writer writers[PU1_BUFFERS_COUNT];
	epp_session *session = pu1_start(&test);
	pu1ActivityRecord record = pu1_kernel("kernel");
	size_t count = 0;
	while ((writers[count] = pu1_begin(test.script)).buffer) {
		pu1_put(&writers[count], &record);
		ck_assert_uint_lt(++count, PU1_BUFFERS_COUNT + 1);
		if (count == PU1_BUFFERS_COUNT)
			break;
	}
	ck_assert_uint_ge(count, PU1_BUFFERS_COUNT - 1); /* one may be warmed */
	for (int i = 0; i < 3; i++) {
		while (count < PU1_BUFFERS_COUNT) {
			writers[count] = pu1_begin(test.script);
			if (writers[count].buffer)
				pu1_put(&writers[count++], &record);
			else
				recording_sleep_ms(1);
		}
		ck_assert_ptr_null(pu1_begin(test.script).buffer);
	}
	if (counts)
		test.script->dropped_count = 3;
	for (size_t i = 0; i < count; i++)
		pu1_give(&writers[i]);
	struct pu1_outcome outcome = pu1_finish(session);
	ck_assert_str_eq(outcome.error, "");
	ck_assert_uint_eq(outcome.written, PU1_BUFFERS_COUNT);
	ck_assert_uint_ge(outcome.lost_plugin, 3);
	trace_scan_free(outcome.scan);
}
END_TEST

START_TEST(buffers_given_wrongly_change_nothing)
{
	epp_session *session = pu1_start(&test);
	pu1ActivityRecord record = pu1_kernel("kernel");
	struct pu1_writer writer = pu1_begin(test.script);
	pu1_put(&writer, &record);
	pu1_give(&writer);
	pu1_give(&writer); /* twice */
	test.script->complete(writer.buffer + 8, writer.size, 88);
	test.script->complete(NULL, 0, 0);
	test.script->complete((uint8_t *)&record, sizeof(record), sizeof(record));
	uint8_t *buffer = NULL;
	size_t size = 0;
	test.script->request(NULL, NULL, NULL);
	test.script->request(&buffer, NULL, NULL);
	ck_assert_ptr_nonnull(buffer);
	test.script->complete(buffer, size, 0);
	struct pu1_outcome outcome = pu1_finish(session);
	ck_assert_str_ne(outcome.error, "");
	ck_assert_uint_eq(outcome.written, 1);
	trace_scan_free(outcome.scan);
	session = pu1_start(&test);
	emit("kernel");
	check_finish(session, "", 1);
}
END_TEST

/* ---- clocks ---- */

static _Atomic uint64_t odd_ns;

static uint64_t backwards_ns(void)
{
	return atomic_fetch_sub(&odd_ns, 1000) - 1000;
}

START_TEST(a_clock_that_goes_backwards_costs_no_more_than_its_own_events)
{
	odd_ns = UINT64_C(1) << 60;
	test.script->now_ns = backwards_ns;
	epp_session *session = pu1_start(&test);
	pu1ActivityRecord record = pu1_kernel("kernel");
	record.start_time = odd_ns - 1;
	record.end_time = odd_ns;
	pu1_emit(test.script, &record);
	struct pu1_outcome outcome = pu1_finish(session);
	ck_assert_uint_eq(outcome.emitted, 1);
	trace_scan_free(outcome.scan);
}
END_TEST

START_TEST(a_clock_that_cannot_be_read_leaves_durations)
{
	test.script->timestamp_result = PU1_NOT_IMPLEMENTED;
	epp_session *session = pu1_start(&test);
	pu1ActivityRecord record = pu1_kernel("kernel");
	record.start_time = 5;
	record.end_time = 1005;
	pu1_emit(test.script, &record);
	struct pu1_outcome outcome = pu1_finish(session);
	ck_assert_str_eq(outcome.error, "pu1: EndProfiling: pu1GetTimestamp: its clock cannot be read");
	const struct scan_record *kernel = scan_first(outcome.scan, EPF_COMPLETE, epp_name_intern("kernel"));
	ck_assert_ptr_nonnull(kernel);
	ck_assert_uint_eq(scan_track(outcome.scan, kernel->track)->definition.clock_kind, EPP_CLOCK_DURATION_ONLY);
	trace_scan_free(outcome.scan);
}
END_TEST

START_TEST(pairs_come_while_a_run_lasts)
{
	epp_session *session = pu1_start(&test);
	recording_sleep_ms(450);
	struct pu1_outcome outcome = pu1_finish(session);
	ck_assert_uint_ge(scan_count(outcome.scan, EPF_CLOCK_PAIR, 0), 3);
	trace_scan_free(outcome.scan);
}
END_TEST

/* ---- threads ---- */

enum { THREADS = 6, ROUNDS = 400 / RECORDING_SLOW, RECORDS = 20 };
static _Atomic size_t declined_count;

static void *emit_many(void *argument)
{
	epp_session *session = argument;
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t id = epp_event_begin(session, EPP_NODE, epp_name_intern("node"));
		struct pu1_writer writer = pu1_begin(test.script);
		pu1ActivityRecord record = pu1_kernel("kernel");
		record.flags = PU1_FLAG_EXTERNAL_ID;
		record.external_id = test.script->top();
		for (int j = 0; j < RECORDS && writer.buffer; j++)
			pu1_put(&writer, &record);
		if (writer.buffer) {
			pu1_give(&writer);
		} else {
			declined_count += RECORDS;
			test.script->dropped_count += RECORDS;
		}
		epp_event_end(session, id, NULL, 0);
	}
	return NULL;
}

START_TEST(callbacks_from_many_threads)
{
	pthread_t threads[THREADS];
	epp_session *session = pu1_start(&test);
	for (size_t i = 0; i < THREADS; i++)
		threads[i] = recording_thread(emit_many, session);
	/* Others come and go meanwhile. */
	for (int i = 0; i < 10; i++) {
		struct pu1_outcome outcome = pu1_finish(pu1_start(&test));
		ck_assert_str_eq(outcome.error, "");
		trace_scan_free(outcome.scan);
	}
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	struct pu1_outcome outcome = pu1_finish(session);
	ck_assert_str_eq(outcome.error, "");
	ck_assert_uint_eq(outcome.emitted, THREADS * ROUNDS * RECORDS);
	ck_assert_uint_eq(outcome.lost_plugin, declined_count);
	size_t without_parent = 0;
	for (size_t i = 0; i < outcome.scan->records_count; i++) {
		const struct scan_record *record = &outcome.scan->records[i];
		if (EPF_BITS_KIND(record->bits) == EPF_COMPLETE)
			without_parent += record->args_count < 2;
	}
	ck_assert_uint_eq(without_parent, 0);
	trace_scan_free(outcome.scan);
}
END_TEST

START_TEST(of_too_many_sessions_the_last_is_told)
{
	epp_session *sessions[PU1_PROFILERS_MAX + 1];
	for (unsigned i = 0; i <= PU1_PROFILERS_MAX; i++)
		sessions[i] = pu1_start(&test);
	emit("kernel");
	struct pu1_outcome outcome = pu1_finish(sessions[PU1_PROFILERS_MAX]);
	ck_assert_str_eq(outcome.error, "pu1: StartProfiling: 64 sessions use it, the maximum");
	ck_assert_uint_eq(outcome.scan->producers[0].errors, 1);
	trace_scan_free(outcome.scan);
	for (unsigned i = 0; i < PU1_PROFILERS_MAX; i++)
		check_finish(sessions[i], "", 1);
}
END_TEST

static size_t completes_in(epp_session *session)
{
	struct trace_scan *scan = recording_look(session);
	size_t count = scan_count(scan, EPF_COMPLETE, 0);
	trace_scan_free(scan);
	return count;
}

/* The child has neither the parent's runs nor its worker, and can profile on its own. */
START_TEST(a_forked_child_starts_anew)
{
	epp_session *session = pu1_start(&test);
	uint64_t id = epp_event_begin(session, EPP_NODE, epp_name_intern("node"));
	emit("parent's");
	/* By then its worker has read it, and allocates nothing any more. */
	while (!FORKING_ALLOCATOR_IS_WHOLE && completes_in(session) < 1)
		recording_sleep_ms(1);
	pid_t child = forking_fork(true);
	if (child == 0) {
		epp_session *own = pu1_start(&test);
		epp_event_end(own, epp_event_begin(own, EPP_NODE, epp_name_intern("node")), NULL, 0);
		bool is_clean = test.script->depth() == 0;
		emit("child's");
		struct pu1_outcome outcome = pu1_finish(own);
		_exit(is_clean && outcome.written == 1 && outcome.error[0] == '\0' ? 0 : 1);
	}
	int status;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	emit("parent's");
	epp_event_end(session, id, NULL, 0);
	check_finish(session, "", 2);
}
END_TEST

static Suite *pu1_profiler_suite(void)
{
	Suite *suite = suite_create("pu1_profiler");
	TCase *tests = tcase_create("pu1_profiler");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, the_last_session_stops_what_the_first_began);
	tcase_add_test(tests, a_flush_brings_what_the_library_holds);
	tcase_add_loop_test(tests, what_comes_late_is_added_to_its_run, 0, 2);
	tcase_add_test(tests, an_event_that_ends_on_another_thread);
	tcase_add_test(tests, what_comes_after_the_next_start_is_not_added);
	tcase_add_test(tests, a_library_may_refuse_to_start);
	tcase_add_test(tests, what_fails_is_told_once_a_run);
	tcase_add_test(tests, after_the_end_the_library_is_not_called_without_need);
	tcase_add_test(tests, dropped_records_are_counted);
	tcase_add_test(tests, a_count_that_cannot_be_is_told);
	tcase_add_loop_test(tests, beyond_the_pool_requests_are_declined, 0, 2);
	tcase_add_test(tests, buffers_given_wrongly_change_nothing);
	tcase_add_test(tests, a_clock_that_goes_backwards_costs_no_more_than_its_own_events);
	tcase_add_test(tests, a_clock_that_cannot_be_read_leaves_durations);
	tcase_add_test(tests, pairs_come_while_a_run_lasts);
	tcase_add_test(tests, callbacks_from_many_threads);
	tcase_add_test(tests, of_too_many_sessions_the_last_is_told);
	if (CHILDREN_MAY_MAKE_THREADS)
		tcase_add_test(tests, a_forked_child_starts_anew);
	TCase *hanging = tcase_create("hanging");
	tcase_add_checked_fixture(hanging, setup_impatient, teardown);
	tcase_add_test(hanging, a_flush_that_hangs_holds_nobody);
	suite_add_tcase(suite, tests);
	suite_add_tcase(suite, hanging);
	return suite;
}

CHECK_MAIN(pu1_profiler_suite)
