/* The session's calls into profilers: order, threads, errors, and profilers that are slow, hang or call back:
 * runtime/record/profiler_calls.c and what sorted_run.c does around it. */
#include <string.h>

#include "epprof/profiler.h"
#include "tests/support/profiler_double.h"

static epp_name name, key;

static void set_up(void)
{
	name = epp_name_intern("node");
	key = epp_name_intern("key");
}

/* What was called, in which StartProfiling of all, EndProfiling of all and Release of all happen side by side: those in
 * the order of their letters. */
static const char *in_order(void)
{
	static char sorted[sizeof(double_order)];
	memcpy(sorted, double_order, sizeof(sorted));
	for (size_t end = 2; end < strlen(sorted); end += 2)
		for (char *at = sorted + end;
		     at > sorted && (*at == 'S' || *at == 'E' || *at == 'R') && at[-2] == *at && at[-1] > at[1]; at -= 2) {
			char letter = at[1];
			at[1] = at[-1];
			at[-1] = letter;
		}
	return sorted;
}

START_TEST(order_and_threads_are_those_of_onnx_runtime)
{
	struct profiler_double a = double_make('a'), b = double_make('b');
	epp_session *session = double_attached(&a, NULL, "first");
	check_ok(epp_session_attach(session, &b.impl, NULL));
	check_ok(epp_session_start(session));
	uint64_t outer = epp_event_begin(session, EPP_SESSION, name);
	ck_assert_uint_eq(a.id, outer);
	uint64_t inner = epp_event_begin(session, EPP_API, name);
	ck_assert_uint_eq(b.id, inner);
	epp_event_end(session, inner, &(epp_arg){ .key = key, .type = EPP_ARG_I64, .value.i64 = -7 }, 1);
	ck_assert_str_eq(a.name, "node");
	ck_assert_str_eq(b.value, "-7");
	ck_assert_int_eq(a.category, EPP_API);
	ck_assert_int_ge(a.timestamp_us, 0);
	a.id = b.id = outer;
	epp_event_end_named(session, outer, EPP_KERNEL, key, NULL, 0);
	ck_assert_str_eq(b.name, "key");
	ck_assert_int_eq(b.category, EPP_KERNEL);
	ck_assert_str_eq(b.value, "none");
	epp_instant_record(session, EPP_NODE, name, NULL, 0);
	recording_end(session);
	ck_assert_str_eq(in_order(), "SaSbsasbsasbeaebeaebEaEb");
	uint32_t self = os_thread_id();
	ck_assert_uint_eq(a.thread[STEP_START_EVENT], self);
	ck_assert_uint_eq(a.thread[STEP_STOP_EVENT], self);
	ck_assert_uint_ne(a.thread[STEP_START_PROFILING], self);
	ck_assert_uint_eq(a.thread[STEP_START_PROFILING], a.thread[STEP_END_PROFILING]);
	ck_assert_uint_ne(a.thread[STEP_END_PROFILING], b.thread[STEP_END_PROFILING]);
	ck_assert_int_ge(a.offset_ns, 0);
	ck_assert_int_ge(b.offset_ns, 0);
	ck_assert_int_ne(b.offset_ns, a.offset_ns);
	ck_assert_int_lt(b.offset_ns, 1000000000);
	/* A second run, then release. */
	check_ok(epp_session_start(session));
	recording_end(session);
	epp_session_destroy(session);
	ck_assert_str_eq(in_order(), "SaSbsasbsasbeaebeaebEaEbSaSbEaEbRaRb");
	ck_assert_uint_eq(a.thread[STEP_RELEASE], a.thread[STEP_START_PROFILING]);
}
END_TEST

START_TEST(entries_that_may_be_missing)
{
	struct profiler_double a = double_make('a'), b = double_make('b'), c = double_make('c');
	a.impl.StartEvent = NULL;
	b.impl.StopEvent = NULL;
	c.impl.StartEvent = NULL;
	c.impl.StopEvent = NULL;
	epp_session *session = double_attached(&c, NULL, "c");
	check_ok(epp_session_start(session));
	epp_event_end(session, epp_event_begin(session, EPP_NODE, name), NULL, 0);
	recording_end(session);
	check_ok(epp_session_attach(session, &a.impl, "a"));
	check_ok(epp_session_attach(session, &b.impl, "b"));
	check_ok(epp_session_start(session));
	uint64_t id = epp_event_begin(session, EPP_NODE, name);
	a.id = id;
	epp_event_end(session, id, NULL, 0);
	recording_end(session);
	epp_session_destroy(session);
	ck_assert_str_eq(in_order(), "ScEcSaSbScsbeaEaEbEcRaRbRc");
}
END_TEST

START_TEST(profilers_that_are_not_taken)
{
	struct profiler_double a = double_make('a'), bad = double_make('x');
	epp_session *session = double_attached(&a, NULL, "a"), *other;
	check_ok(epp_session_create(NULL, &other));
	check_fails(EPP_BUSY, epp_session_attach(session, &a.impl, "again"));
	check_fails(EPP_BUSY, epp_session_attach(other, &a.impl, "again"));
	check_fails(EPP_INVALID_ARGUMENT, epp_session_attach(session, NULL, NULL));
	bad.impl.ort_version_supported = 24;
	check_fails(EPP_INCOMPATIBLE, epp_session_attach(session, &bad.impl, NULL));
	bad.impl.ort_version_supported = 25;
	bad.impl.Release = NULL;
	check_fails(EPP_INCOMPATIBLE, epp_session_attach(session, &bad.impl, NULL));
	bad = double_make('x');
	bad.impl.StartProfiling = NULL;
	check_fails(EPP_INCOMPATIBLE, epp_session_attach(session, &bad.impl, NULL));
	bad = double_make('x');
	bad.impl.EndProfiling = NULL;
	check_fails(EPP_INCOMPATIBLE, epp_session_attach(session, &bad.impl, NULL));
	bad = double_make('x');
	check_ok(epp_session_start(session));
	check_fails(EPP_WRONG_STATE, epp_session_attach(session, &bad.impl, NULL));
	recording_end(session);
	struct trace_scan *scan = recording_look(session);
	ck_assert_str_eq(scan->producers[0].label, "a");
	ck_assert_str_eq(scan->producers[1].label, "");
	trace_scan_free(scan);
	struct profiler_double many[CALLS_PROFILERS_MAX];
	for (unsigned i = 1; i < CALLS_PROFILERS_MAX; i++) {
		many[i] = double_make('m');
		check_ok(epp_session_attach(session, &many[i].impl, "one of very very very many profilers"));
	}
	check_fails(EPP_LIMIT, epp_session_attach(session, &bad.impl, NULL));
	check_ok(epp_session_start(session));
	epp_event_begin(session, EPP_NODE, name);
	epp_session_destroy(session);
	epp_session_destroy(other);
	ck_assert_uint_eq(bad.calls[STEP_RELEASE], 0);
	for (unsigned i = 1; i < CALLS_PROFILERS_MAX; i++)
		ck_assert_uint_eq(
		    many[i].calls[STEP_RELEASE] + many[i].calls[STEP_START_EVENT] + many[i].calls[STEP_END_PROFILING], 3);
}
END_TEST

/* Which step fails: _i, or all. */
START_TEST(errors_are_counted_and_kept)
{
	static const char *const steps[] = { "StartProfiling", "StartEvent", "StopEvent", "EndProfiling",
		                             "StartProfiling" };
	struct profiler_double a = double_make('a');
	char expected[64];
	for (int step = 0; step <= STEP_END_PROFILING; step++)
		a.fails[step] = _i == 4 || step == _i;
	epp_session *session = double_attached(&a, NULL, "un\"lucky");
	check_ok(epp_session_start(session));
	for (int i = 0; i < 3; i++)
		epp_event_end(session, epp_event_begin(session, EPP_NODE, name), NULL, 0);
	check_ok(epp_session_end(session));
	epp_status *status = epp_session_wait(session, UINT64_MAX);
	snprintf(expected, sizeof(expected), "un\"lucky: %s: no \"luck\"", steps[_i]);
	ck_assert_str_eq(epp_status_message(status), expected);
	ck_assert_int_eq(epp_status_code(status), EPP_PLUGIN);
	epp_status_destroy(status);
	struct trace_scan *scan = recording_look(session);
	const unsigned errors[] = { 1, 3, 3, 1, 8 };
	ck_assert_uint_eq(scan->producers[0].errors, errors[_i]);
	ck_assert_uint_eq(scan->records_count, 3);
	trace_scan_free(scan);
	/* The next run begins without blame. */
	memset(a.fails, 0, sizeof(a.fails));
	check_ok(epp_session_start(session));
	recording_end(session);
	epp_session_destroy(session);
}
END_TEST

/* ---- callbacks that call back ---- */

static uint64_t open_id;

static void call_back(struct profiler_double *self, OrtProfilingEventsContainer *container)
{
	(void)container;
	epp_session *other = self->user;
	ck_assert_uint_eq(epp_event_begin(self->session, EPP_NODE, name), 0);
	ck_assert_uint_eq(epp_event_begin(other, EPP_NODE, name), 0);
	ck_assert_uint_eq(epp_async_begin(self->session, EPP_NODE, name), 0);
	epp_event_end(self->session, open_id, NULL, 0);
	epp_event_end_named(self->session, open_id, EPP_NODE, key, NULL, 0);
	epp_instant_record(self->session, EPP_NODE, name, NULL, 0);
	epp_counter_record_i64(other, name, 1);
	epp_flow_record(self->session, open_id, open_id);
}

START_TEST(callbacks_that_record_are_refused)
{
	struct profiler_double a = double_make('a');
	epp_session *other = recording_start(NULL);
	epp_session *session = double_attached(&a, NULL, NULL);
	a.user = other;
	check_ok(epp_session_start(session));
	open_id = epp_event_begin(session, EPP_NODE, name);
	a.does[STEP_START_EVENT] = a.does[STEP_STOP_EVENT] = call_back;
	uint64_t id = epp_event_begin(session, EPP_NODE, name);
	ck_assert_uint_ne(id, 0);
	epp_event_end(session, id, NULL, 0);
	a.does[STEP_STOP_EVENT] = NULL;
	a.id = open_id;
	epp_event_end(session, open_id, NULL, 0);
	ck_assert_uint_ne(epp_event_begin(other, EPP_NODE, name), 0);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_AFTER_END), 0);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_NO_SLOT), 0);
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan->records_count, 2);
	ck_assert_uint_eq(scan_ids_taken(scan), 2);
	trace_scan_free(scan);
	scan = recording_finish(other);
	ck_assert_uint_eq(scan->records_count, 1);
	trace_scan_free(scan);
}
END_TEST

static void end_session(struct profiler_double *self, OrtProfilingEventsContainer *container)
{
	(void)container;
	check_ok(epp_session_end(self->session));
	check_fails(EPP_TIMEOUT, epp_session_wait(self->session, 1000000));
}

START_TEST(a_callback_that_ends_the_session)
{
	struct profiler_double a = double_make('a');
	epp_session *session = double_attached(&a, NULL, NULL);
	check_ok(epp_session_start(session));
	a.does[STEP_START_EVENT] = end_session;
	ck_assert_uint_ne(epp_event_begin(session, EPP_NODE, name), 0);
	check_ok(epp_session_wait(session, UINT64_MAX));
	struct trace_scan *scan = recording_look(session);
	ck_assert_uint_eq(EPF_BITS_FLAGS(scan->records[0].bits), EPF_FLAG_UNENDED);
	trace_scan_free(scan);
	epp_session_destroy(session);
}
END_TEST

/* ---- slow ones ---- */

static uint32_t inside, let_go;

static void dawdle(struct profiler_double *self, OrtProfilingEventsContainer *container)
{
	(void)self, (void)container;
	STORE_RELEASE(&inside, 1);
	while (!LOAD_ACQUIRE(&let_go))
		recording_sleep_ms(1);
}

static void *begin_one(void *argument)
{
	epp_event_begin(argument, EPP_NODE, name);
	/* The run is over by now. */
	ck_assert_uint_eq(epp_event_begin(argument, EPP_NODE, name), 0);
	return NULL;
}

static void wait_for(const uint32_t *flag)
{
	while (!LOAD_ACQUIRE(flag))
		recording_sleep_ms(1);
}

/* The default limit; and one that is longer than the machine has run, which no sum or difference of times may break. */
static const uint64_t limits_ns[] = { 0, UINT64_MAX };

START_TEST(a_start_event_that_is_running_when_the_session_ends)
{
	double_timeout_ns = limits_ns[_i];
	struct profiler_double a = double_make('a');
	epp_session *session = double_attached(&a, NULL, NULL);
	a.does[STEP_START_EVENT] = dawdle;
	check_ok(epp_session_start(session));
	pthread_t thread = recording_thread(begin_one, session);
	wait_for(&inside);
	/* It returns while the callback is still inside. */
	check_ok(epp_session_end(session));
	check_fails(EPP_TIMEOUT, epp_session_wait(session, 20000000));
	ck_assert_uint_eq(LOAD_RELAXED(&a.calls[STEP_END_PROFILING]), 0);
	STORE_RELEASE(&let_go, 1);
	check_ok(epp_session_wait(session, UINT64_MAX));
	pthread_join(thread, NULL);
	ck_assert_uint_eq(a.calls[STEP_END_PROFILING], 1);
	epp_session_destroy(session);
}
END_TEST

START_TEST(an_end_profiling_that_hangs)
{
	double_timeout_ns = 50000000;
	struct profiler_double a = double_make('a');
	char *path = _i ? check_path("hangs.epp") : NULL;
	epp_session *session = double_attached(&a, path, "sleepy");
	a.does[STEP_END_PROFILING] = dawdle;
	check_ok(epp_session_start(session));
	epp_event_begin(session, EPP_NODE, name);
	uint64_t before = recording_now_ns();
	check_ok(epp_session_end(session));
	epp_session_destroy(session);
	uint64_t took = recording_now_ns() - before;
	ck_assert_uint_ge(took, 50000000);
	ck_assert_uint_lt(took, 20000000000);
	ck_assert_uint_eq(LOAD_RELAXED(&a.calls[STEP_RELEASE]), 0);
	/* It is released: nothing can be done with it any more, and other sessions go on. */
	check_fails(EPP_INVALID_ARGUMENT, epp_session_start(session));
	epp_session_destroy(session);
	trace_scan_free(recording_finish(recording_start(NULL)));
	STORE_RELEASE(&let_go, 1);
	for (int i = 0; i < 5000 && !LOAD_RELAXED(&a.calls[STEP_RELEASE]); i++)
		recording_sleep_ms(1);
	ck_assert_uint_eq(LOAD_RELAXED(&a.calls[STEP_RELEASE]), 1);
	if (!path)
		return;
	/* The helper finishes the file; the profiler's account says what happened. */
	struct trace_scan *scan = trace_scan_file(path);
	for (int i = 0; i < 1000 && scan->header.state != EPF_FINISHED; i++) {
		recording_sleep_ms(2);
		trace_scan_free(scan);
		scan = trace_scan_file(path);
	}
	ck_assert_ptr_null(scan_balance(scan));
	ck_assert_uint_eq(scan->producers[0].errors, 1);
	ck_assert_uint_eq(scan->records_count, 1);
	trace_scan_free(scan);
}
END_TEST

/* What is allocated in between belongs to a session that a call which hangs keeps for ever. */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#define LEAKS_BEGIN() __lsan_disable()
#define LEAKS_END() __lsan_enable()
#else
#define LEAKS_BEGIN() ((void)0)
#define LEAKS_END() ((void)0)
#endif

/* The thread that was held comes out when the other profiler has been released. */
START_TEST(a_start_event_that_hangs_and_returns_after_release)
{
	static struct profiler_double a, b; /* used until the process ends */
	a = double_make('a');
	b = double_make('b');
	LEAKS_BEGIN();
	double_timeout_ns = 200000000;
	epp_session *session = double_attached(&a, NULL, "sleepy");
	a.does[STEP_START_EVENT] = dawdle;
	check_ok(epp_session_attach(session, &b.impl, "other"));
	check_ok(epp_session_start(session));
	LEAKS_END();
	pthread_t thread = recording_thread(begin_one, session);
	wait_for(&inside);
	epp_session_destroy(session);
	ck_assert_uint_eq(LOAD_RELAXED(&a.calls[STEP_END_PROFILING]) + LOAD_RELAXED(&a.calls[STEP_RELEASE]), 0);
	ck_assert_uint_eq(LOAD_RELAXED(&b.calls[STEP_RELEASE]), 1);
	STORE_RELEASE(&let_go, 1);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(LOAD_RELAXED(&b.calls[STEP_START_EVENT]), 0);
}
END_TEST

static uint32_t inside_release, leave_release;

static void hang_in_release(struct profiler_double *self, OrtProfilingEventsContainer *container)
{
	(void)self, (void)container;
	STORE_RELEASE(&inside_release, 1);
	wait_for(&leave_release);
}

/* It is the helper's to call, since EndProfiling has outlasted the session's release: the helper goes on all the same.
 * */
START_TEST(a_release_that_hangs)
{
	static struct profiler_double a; /* its Release may go on when the test is over */
	double_timeout_ns = 50000000;
	a = double_make('a');
	char *path = strdup(check_path("released.epp")), *other_path = check_path("other.epp");
	epp_session *session = double_attached(&a, path, "sleepy"), *other = recording_start(other_path);
	a.does[STEP_END_PROFILING] = dawdle;
	a.does[STEP_RELEASE] = hang_in_release;
	check_ok(epp_session_start(session));
	epp_event_end(session, epp_event_begin(session, EPP_NODE, name), NULL, 0);
	epp_session_destroy(session);
	STORE_RELEASE(&let_go, 1);
	wait_for(&inside_release);
	/* Its file is whole, and another session's events become blocks. */
	struct trace_scan *scan = trace_scan_file(path);
	ck_assert_uint_eq(scan->header.state, EPF_FINISHED);
	ck_assert_uint_eq(scan->records_count, 1);
	trace_scan_free(scan);
	epp_event_end(other, epp_event_begin(other, EPP_NODE, name), NULL, 0);
	trace_scan_free(recording_finish_file(other, other_path));
	STORE_RELEASE(&leave_release, 1);
	free(path);
}
END_TEST

static Suite *calls_suite(void)
{
	Suite *suite = suite_create("calls");
	TCase *tcase = tcase_create("calls");
	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_test(tcase, order_and_threads_are_those_of_onnx_runtime);
	tcase_add_test(tcase, entries_that_may_be_missing);
	tcase_add_test(tcase, profilers_that_are_not_taken);
	tcase_add_loop_test(tcase, errors_are_counted_and_kept, 0, 5);
	tcase_add_test(tcase, callbacks_that_record_are_refused);
	tcase_add_test(tcase, a_callback_that_ends_the_session);
	tcase_add_loop_test(tcase, a_start_event_that_is_running_when_the_session_ends, 0, 2);
	tcase_add_loop_test(tcase, an_end_profiling_that_hangs, 0, 2);
	tcase_add_test(tcase, a_start_event_that_hangs_and_returns_after_release);
	tcase_add_test(tcase, a_release_that_hangs);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(calls_suite)
