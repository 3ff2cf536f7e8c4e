/* Members of a session, which somebody else drives while it records: their accounts, the bracket of their start, what
 * they push and add, and what becomes of them when the session goes first: runtime/record/profilers.c.
 * Attached profilers, which the session drives, are in check_profiler_calls. */
#include <string.h>

#include "epprof/plugin.h"
#include "epprof/profiler.h"
#include "tests/support/profiler_double.h"
#include "tests/support/valid_trace.h"

static epp_hosted_profiler *join(epp_session *session, struct profiler_double *profiler, const char *label)
{
	epp_hosted_profiler *member;
	check_ok(epp_hosted_profiler_create(session, &profiler->impl, label, &member));
	return member;
}

static void start(epp_hosted_profiler *member, int64_t offset_ns)
{
	epp_hosted_profiler_call call = { .hosted = member };
	epp_hosted_profilers_start(&call, 1, offset_ns, 0);
	ck_assert_ptr_null(call.status);
	check_ok(call.failure);
}

/* An event made by the tables that libraries are given. */
static void add(epp_hosted_profiler *member, int64_t timestamp_us, int64_t duration_us, const char *parent)
{
	const OrtEpApi *api = epp_ort_api_base()->GetApi(EPPROF_ORT_API_VERSION)->GetEpApi();
	const char *key = "ort_correlation_id";
	OrtProfilingEvent *event;
	ck_assert_ptr_null(api->CreateProfilingEvent(OrtProfilingEventCategory_KERNEL, -1, 7, "kernel", timestamp_us,
	                                             duration_us, &key, &parent, parent != NULL, &event));
	const OrtProfilingEvent *events[] = { event };
	ck_assert_ptr_null(api->ProfilingEventsContainer_AddEvents(epp_hosted_profiler_container(member), events, 1));
	api->ReleaseProfilingEvent(event);
}

static const struct epf_producer *producer_of(const struct trace_scan *scan, const char *label)
{
	for (size_t i = 0; i < EPF_PRODUCER_COUNT; i++)
		if (!strcmp(scan->producers[i].label, label))
			return &scan->producers[i];
	return NULL;
}

START_TEST(it_knows_its_account)
{
	epp_session *session = recording_start(NULL);
	struct profiler_double one = double_make('1'), two = double_make('2'), three = double_make('3');
	epp_hosted_profiler *first = join(session, &one, "one"), *second = join(session, &two, "two");
	ck_assert_uint_eq(epp_hosted_profiler_producers(first) & epp_hosted_profiler_producers(second), 0);
	uint64_t alone = epp_hosted_profiler_producers(first);
	epp_hosted_profiler *third = join(session, &three, "one");
	ck_assert_uint_eq(epp_hosted_profiler_producers(first), epp_hosted_profiler_producers(third));
	ck_assert_uint_eq(epp_hosted_profiler_producers(first) & alone, alone);
	ck_assert_int_eq(__builtin_popcountll(epp_hosted_profiler_producers(third)), 2);
	/* Also when it has left. */
	epp_hosted_profiler_destroy(third);
	ck_assert_int_eq(__builtin_popcountll(epp_hosted_profiler_producers(first)), 2);
	struct trace_scan *scan = recording_look(session);
	ck_assert_str_eq(scan->producers[ffsll((long long)epp_hosted_profiler_producers(first)) - 1].label, "one");
	ck_assert_str_eq(scan->producers[ffsll((long long)epp_hosted_profiler_producers(second)) - 1].label, "two");
	trace_scan_free(scan);
	trace_scan_free(recording_finish(session));
	ck_assert_uint_eq(epp_hosted_profiler_producers(first), 0);
	epp_hosted_profiler_destroy(first);
	epp_hosted_profiler_destroy(second);
}
END_TEST

START_TEST(it_is_not_called)
{
	epp_session *session = recording_start(NULL);
	struct profiler_double profiler = double_make('m');
	epp_hosted_profiler *member = join(session, &profiler, "other's");
	uint64_t id = epp_event_begin_text(session, EPP_NODE, "host");
	epp_event_end(session, id, NULL, 0);
	recording_end(session);
	/* Nor in the next run. */
	check_ok(epp_session_start(session));
	id = epp_event_begin_text(session, EPP_NODE, "host");
	epp_event_end(session, id, NULL, 0);
	for (int step = 0; step < STEP_COUNT; step++)
		ck_assert_uint_eq(profiler.calls[step], 0);
	epp_hosted_profiler_destroy(member);
	trace_scan_free(recording_finish(session));
	ck_assert_uint_eq(profiler.calls[STEP_RELEASE], 0);
}
END_TEST

START_TEST(what_it_adds_is_moved_to_the_run)
{
	epp_session *session = recording_start(NULL);
	struct profiler_double profiler = double_make('m');
	epp_hosted_profiler *member = join(session, &profiler, NULL);
	uint64_t id = epp_event_begin_text(session, EPP_NODE, "host");
	/* Its profile began an hour before the run did: what it says of now is 3,600 s more than the run says. */
	const int64_t hour_ns = 3600000000000;
	const struct storage *inside = recording_storage(session);
	uint64_t before = clock_ticks_to_ns(clock_ticks() - inside->window.live->run_start.ticks);
	start(member, hour_ns + 499);
	uint64_t after = clock_ticks_to_ns(clock_ticks() - inside->window.live->run_start.ticks);
	ck_assert_int_eq(profiler.offset_ns, hour_ns + 499);
	char parent[32];
	snprintf(parent, sizeof(parent), "%llu", (unsigned long long)id);
	add(member, hour_ns / 1000 + 20, 5, parent);
	epp_event_end(session, id, NULL, 0);
	epp_hosted_profiler_destroy(member);
	struct trace_scan *scan = recording_finish(session);
	const struct scan_record *record = scan_first(scan, EPF_COMPLETE, 0);
	ck_assert_uint_eq(scan_arg(record, EPF_NAME_PARENT)->value, id);
	ck_assert_uint_ge(record->start_ticks + 2, before / 1000 + 20);
	ck_assert_uint_le(record->start_ticks, after / 1000 + 20);
	ck_assert_uint_eq(record->duration_ticks, 5);
	ck_assert_uint_eq(producer_of(scan, "ep")->emitted, 1);
	trace_scan_free(scan);
}
END_TEST

/* Where the run's clock is, in its microseconds. */
static int64_t run_us(epp_session *session)
{
	return (int64_t)clock_ticks_to_ns(clock_ticks() - recording_storage(session)->window.live->run_start.ticks) / 1000;
}

/* What was told is older than was known: the bound covers a profiler that counts from it, and one that repeats the
 * teller's times.  It may be older than the run. */
START_TEST(what_it_was_told_was_late)
{
	static const int64_t late_ns[] = { -1000000, 40000000, 60000000000 }, offset_ns = 3600000000000;
	const int64_t late_us = late_ns[_i] < 0 ? 0 : late_ns[_i] / 1000;
	epp_session *session = recording_start(NULL);
	struct profiler_double profiler = double_make('m');
	epp_hosted_profiler *member = join(session, &profiler, NULL);
	int64_t before = run_us(session);
	start(member, offset_ns);
	int64_t after = run_us(session);
	epp_hosted_profiler_add_start_delay(member, late_ns[_i]);
	/* As the teller says of just now. */
	add(member, offset_ns / 1000 + late_us + 20, 5, NULL);
	epp_hosted_profiler_destroy(member);
	struct trace_scan *scan = recording_finish(session);
	const struct scan_record *record = scan_first(scan, EPF_COMPLETE, 0);
	ck_assert_ptr_nonnull(record);
	ck_assert_int_ge((int64_t)record->start_ticks + 2, before + 20);
	ck_assert_int_le((int64_t)record->start_ticks, after + 20 + 2);
	int64_t bracket_us = (int64_t)clock_ticks_to_ns(scan_track(scan, record->track)->definition.bracket_ticks) / 1000;
	ck_assert_int_ge(bracket_us + 2, late_us);
	ck_assert_int_le(bracket_us, late_us + after - before + 4);
	trace_scan_free(scan);
}
END_TEST

START_TEST(times_that_are_none)
{
	epp_session *session = recording_start(NULL);
	struct profiler_double profiler = double_make('m');
	epp_hosted_profiler *member = join(session, &profiler, "wild");
	static const int64_t times[] = { INT64_MAX, INT64_MIN, INT64_MAX / 1000, -3600000000 };
	start(member, 0);
	for (size_t i = 0; i < 4; i++)
		add(member, times[i], 1, NULL);
	start(member, INT64_MAX);
	start(member, INT64_MIN);
	for (size_t i = 0; i < 4; i++)
		add(member, times[i], 1, NULL);
	epp_hosted_profiler_destroy(member);
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(producer_of(scan, "wild")->emitted, 8);
	ck_assert_uint_eq(producer_of(scan, "wild")->lost[EPP_LOSS_REFUSED], 8);
	trace_scan_free(scan);
}
END_TEST

START_TEST(accounts_go_by_label)
{
	epp_session *session = recording_start(NULL);
	struct profiler_double one = double_make('1'), two = double_make('2');
	epp_hosted_profiler *first = join(session, &one, "same"), *beside = join(session, &two, "same");
	start(first, 0);
	start(beside, 0);
	add(first, 0, 1, NULL);
	add(beside, 0, 1, NULL);
	epp_hosted_profiler_set_note(first, "a \"note\"");
	epp_hosted_profiler_count_error(beside);
	epp_hosted_profiler_destroy(first);
	/* Its account is taken up again, as often as there are sessions of a framework. */
	for (int i = 0; i < 2 * (int)EPF_PRODUCER_COUNT; i++) {
		first = join(session, &one, "same");
		start(first, 0);
		add(first, 0, 1, NULL);
		epp_hosted_profiler_destroy(first);
	}
	epp_hosted_profiler_destroy(beside);
	struct trace_scan *scan = recording_finish(session);
	ck_assert_str_eq(scan->producers[0].label, "same");
	ck_assert_uint_eq(scan->producers[0].emitted, 2 * EPF_PRODUCER_COUNT + 1);
	ck_assert_str_eq(scan->producers[0].note, "a \"note\"");
	ck_assert_str_eq(scan->producers[1].label, "same");
	ck_assert_uint_eq(scan->producers[1].emitted, 1);
	ck_assert_uint_eq(scan->producers[1].errors, 1);
	ck_assert_str_eq(scan->producers[2].label, "");
	trace_scan_free(scan);
}
END_TEST

START_TEST(losses_are_counted_with_their_reason)
{
	epp_session *session = recording_start(NULL);
	struct profiler_double one = double_make('1'), two = double_make('2');
	epp_hosted_profiler *member = join(session, &one, "one"), *beside = join(session, &two, "two");
	add(member, 0, 1, NULL);
	epp_hosted_profiler_count_lost(member, EPP_LOSS_REFUSED, 3);
	epp_hosted_profiler_count_lost(member, EPP_LOSS_TOO_LARGE, 2);
	epp_hosted_profiler_count_lost(member, EPP_LOSS_ENTRY_COUNT, 9);
	/* What was expected and came is no loss, what did not come is one. */
	epp_hosted_profiler_set_expected(member, 1);
	epp_hosted_profiler_set_expected(member, 1);
	epp_hosted_profiler_set_expected(member, 0);
	epp_hosted_profiler_set_expected(member, 0);
	epp_hosted_profiler_set_expected(beside, 1);
	epp_hosted_profiler_destroy(beside);
	epp_hosted_profiler_destroy(member);
	recording_end(session);
	epp_trace *trace = recording_open(session);
	check_valid(trace);
	for (size_t i = 0; i < epp_trace_ledger_count(trace); i++) {
		epp_trace_ledger_entry line = { .struct_size = sizeof(line) };
		check_ok(epp_trace_ledger_at(trace, i, &line));
		ck_assert(line.balanced);
		bool is_one = strcmp(line.producer, "one") == 0, is_two = strcmp(line.producer, "two") == 0;
		ck_assert_uint_eq(line.lost_total, is_one ? 3 : is_two ? 1 : 0);
		ck_assert_uint_eq(line.lost[EPP_LOSS_TOO_LARGE], is_one ? 2 : 0);
		ck_assert_uint_eq(line.lost[EPP_LOSS_PLUGIN], is_two ? 1 : 0);
	}
	epp_trace_close(trace);
	epp_session_destroy(session);
}
END_TEST

/* Nothing is missing of a profiler that submits its events itself. */
START_TEST(what_is_submitted_is_not_expected)
{
	epp_session *session = recording_start(NULL);
	struct profiler_double one = double_make('1'), two = double_make('2'), three = double_make('3');
	epp_hosted_profiler *member = join(session, &one, "vendor"), *other = join(session, &two, "other"),
			    *third = join(session, &three, "third");
	epp_hosted_profiler_set_expected(member, 1);
	epp_hosted_profiler_set_note(member, "missing");
	epp_hosted_profiler_set_expected(other, 1);
	epp_hosted_profiler_set_note(other, "missing");
	epp_hosted_profiler_set_note(third, "kept");
	epp_session_expect_none(session, "vendor");
	epp_session_expect_none(session, "vendor");
	epp_session_expect_none(session, "third");
	epp_session_expect_none((epp_session *)4, "vendor");
	epp_hosted_profiler_set_expected(member, 0);
	epp_hosted_profiler_destroy(member);
	epp_hosted_profiler_destroy(other);
	epp_hosted_profiler_destroy(third);
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan->producers[0].emitted, 0);
	ck_assert_str_eq(scan->producers[0].note, "");
	ck_assert_uint_eq(scan->producers[1].emitted, 1);
	ck_assert_uint_eq(scan->producers[1].lost[EPP_LOSS_PLUGIN], 1);
	ck_assert_str_eq(scan->producers[1].note, "missing");
	ck_assert_str_eq(scan->producers[2].note, "kept");
	trace_scan_free(scan);
}
END_TEST

/* A plugin without a profiler; its second report is one of the next run. */
START_TEST(one_that_hangs_has_an_account)
{
	epp_session *session = recording_start(NULL);
	struct profiler_double one = double_make('1');
	epp_hosted_profiler *member = join(session, &one, "vendor");
	epp_session_report_hang(session, "libother.so", "opening it: it has not returned");
	epp_session_report_hang(session, "vendor", "another one");
	epp_session_report_hang(session, "libother.so", "opening it: still");
	epp_session_report_hang(NULL, "libother.so", "");
	epp_session_report_hang((epp_session *)4, "libother.so", "");
	epp_hosted_profiler_destroy(member);
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan->producers[0].emitted, 0);
	ck_assert_str_eq(scan->producers[1].label, "libother.so");
	ck_assert_uint_eq(scan->producers[1].emitted, 2);
	ck_assert_uint_eq(scan->producers[1].lost[EPP_LOSS_HUNG], 2);
	ck_assert_str_eq(scan->producers[1].note, "opening it: it has not returned");
	ck_assert_uint_eq(scan->producers[2].lost[EPP_LOSS_HUNG], 1);
	ck_assert_msg(!scan_balance(scan), "%s", scan_balance(scan));
	trace_scan_free(scan);
}
END_TEST

/* The losses are counted, but not by name. */
START_TEST(more_that_hang_than_there_are_accounts)
{
	epp_session *session = recording_start(NULL);
	for (unsigned i = 0; i < 40; i++) {
		char label[16];
		snprintf(label, sizeof(label), "plugin %u", i);
		epp_session_report_hang(session, label, "opening it: it has not returned");
	}
	struct trace_scan *scan = recording_finish(session);
	uint64_t lost = scan_lost(scan, EPP_LOSS_HUNG);
	ck_assert_uint_gt(lost, 0);
	for (size_t i = 0; i < EPF_PRODUCER_COUNT; i++)
		lost += scan->producers[i].lost[EPP_LOSS_HUNG];
	ck_assert_uint_eq(lost, 40);
	ck_assert_msg(!scan_balance(scan), "%s", scan_balance(scan));
	trace_scan_free(scan);
}
END_TEST

START_TEST(who_cannot_join)
{
	epp_session *session = recording_start(NULL);
	struct profiler_double profiler = double_make('m'), old = double_make('o'), many[EPF_PRODUCER_COUNT + 1];
	epp_hosted_profiler *member = join(session, &profiler, "m"), *members[EPF_PRODUCER_COUNT], *none = member;
	check_fails(EPP_BUSY, epp_hosted_profiler_create(session, &profiler.impl, "again", &none));
	ck_assert_ptr_null(none);
	check_fails(EPP_INVALID_ARGUMENT, epp_hosted_profiler_create(session, NULL, "none", &none));
	check_fails(EPP_INVALID_ARGUMENT,
	            epp_hosted_profiler_create((epp_session *)4, &profiler.impl, "no session", &none));
	old.impl.ort_version_supported = 24;
	check_fails(EPP_INCOMPATIBLE, epp_hosted_profiler_create(session, &old.impl, "old", &none));
	old.impl.ort_version_supported = 25;
	old.impl.EndProfiling = NULL;
	check_fails(EPP_INCOMPATIBLE, epp_hosted_profiler_create(session, &old.impl, "half", &none));
	epp_hosted_profiler_destroy(member);
	for (unsigned i = 0; i < EPF_PRODUCER_COUNT; i++) {
		char label[16];
		snprintf(label, sizeof(label), "m%u", i);
		many[i] = double_make('x');
		/* The first place is that of "m", and no other's. */
		if (i + 1 < EPF_PRODUCER_COUNT)
			members[i] = join(session, &many[i], label);
		else
			check_fails(EPP_LIMIT, epp_hosted_profiler_create(session, &many[i].impl, label, &none));
	}
	for (unsigned i = 0; i + 1 < EPF_PRODUCER_COUNT; i++)
		epp_hosted_profiler_destroy(members[i]);
	epp_hosted_profiler_destroy(NULL);
	trace_scan_free(recording_finish(session));
}
END_TEST

START_TEST(the_session_goes_first)
{
	epp_session *session = recording_start(NULL);
	struct profiler_double profiler = double_make('m');
	epp_hosted_profiler *member = join(session, &profiler, "m");
	start(member, 0);
	epp_session_destroy(session);
	/* The same entry of the table, for somebody else. */
	epp_session *next = recording_start(NULL);
	start(member, 0);
	ck_assert_uint_eq(profiler.calls[STEP_START_PROFILING], 2);
	add(member, 0, 1, NULL);
	epp_hosted_profiler_set_note(member, "late");
	epp_hosted_profiler_count_error(member);
	epp_hosted_profiler_count_lost(member, EPP_LOSS_REFUSED, 1);
	epp_hosted_profiler_set_expected(member, 1);
	epp_hosted_profiler_destroy(member);
	struct trace_scan *scan = recording_finish(next);
	ck_assert_str_eq(scan->producers[0].label, "");
	ck_assert_uint_eq(scan->records_count, 0);
	trace_scan_free(scan);
}
END_TEST

/* ---- beside recording, and beside the session's end ---- */

#define ROUNDS (400 / RECORDING_SLOW)

static void *come_and_go(void *session)
{
	struct profiler_double profiler = double_make('t');
	for (int i = 0; i < ROUNDS; i++) {
		epp_hosted_profiler *member;
		epp_status *status = epp_hosted_profiler_create(session, &profiler.impl, "thread", &member);
		if (status) {
			epp_status_destroy(status);
			break;
		}
		start(member, 0);
		uint64_t id = epp_event_begin_text(session, EPP_NODE, "host");
		add(member, 0, 1, NULL);
		epp_event_end(session, id, NULL, 0);
		epp_hosted_profiler_destroy(member);
	}
	return NULL;
}

START_TEST(threads_that_come_and_go)
{
	epp_session *session = recording_start(NULL);
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		threads[i] = recording_thread(come_and_go, session);
	if (_i) /* it ends in the middle */
		recording_sleep_ms(2);
	else
		for (int i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
	recording_end(session);
	for (int i = 0; _i && i < 4; i++)
		pthread_join(threads[i], NULL);
	struct trace_scan *scan = recording_look(session);
	uint64_t emitted = 0;
	for (size_t i = 0; i < EPF_PRODUCER_COUNT; i++)
		emitted += scan->producers[i].emitted;
	if (!_i)
		ck_assert_uint_eq(emitted, 4 * ROUNDS);
	trace_scan_free(scan);
	epp_session_destroy(session);
}
END_TEST

static Suite *profilers_suite(void)
{
	Suite *suite = suite_create("profilers");
	TCase *tcase = tcase_create("profilers");
	tcase_add_test(tcase, it_knows_its_account);
	tcase_add_test(tcase, it_is_not_called);
	tcase_add_test(tcase, what_it_adds_is_moved_to_the_run);
	tcase_add_loop_test(tcase, what_it_was_told_was_late, 0, 3);
	tcase_add_test(tcase, times_that_are_none);
	tcase_add_test(tcase, accounts_go_by_label);
	tcase_add_test(tcase, losses_are_counted_with_their_reason);
	tcase_add_test(tcase, what_is_submitted_is_not_expected);
	tcase_add_test(tcase, one_that_hangs_has_an_account);
	tcase_add_test(tcase, more_that_hang_than_there_are_accounts);
	tcase_add_test(tcase, who_cannot_join);
	tcase_add_test(tcase, the_session_goes_first);
	tcase_add_loop_test(tcase, threads_that_come_and_go, 0, 2);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(profilers_suite)
