/* Filters of sessions: which names a pattern leaves out, what of a recording is left out, and that each event that is
 * left out is counted: runtime/record/filter/name_filter.c, with record/event.c and record/submit.c. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "epprof/timeline.h"
#include "epprof/track.h"
#include "record/filter/name_filter.h"
#include "tests/support/forking.h"
#include "tests/support/profiler_double.h"
#include "tests/support/valid_trace.h"

/* By default ThreadSanitizer ends the forked child of a process with several threads when it starts a thread. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "die_after_fork=0";
}

static epp_session *start(const char *path, const char *include, const char *exclude)
{
	epp_session *session;
	epp_session_options options = {
		.struct_size = sizeof(options), .path = path, .overwrite = 1, .include = include, .exclude = exclude
	};
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_session_start(session));
	return session;
}

static void one_event(epp_session *session, const char *name)
{
	epp_event_end(session, epp_event_begin_text(session, EPP_NODE, name), NULL, 0);
}

/* ---- patterns ---- */

static const struct {
	const char *include, *exclude, *name;
	bool is_left_out;
} patterns[] = {
	{ NULL, "skip*", "skip me", true },
	{ NULL, "skip*", "do not skip", false },
	{ NULL, ";;skip*;", "skip me", true },
	{ NULL, "a;b", "b", true },
	{ NULL, "a;b", "a;b", false },
	{ NULL, "a?b", "a;b", true },
	{ "mat*;conv", NULL, "conv", false },
	{ "mat*;conv", NULL, "matmul", false },
	{ "mat*;conv", NULL, "convolution", true },
	{ "mat*", "*mul", "matmul", true },
	{ "mat*", "*mul", "matrix", false },
	{ "[ab]::*", NULL, "a::b<c, d>(e/f)", false },
	{ "\\*", NULL, "*", false },
	{ "\\*", NULL, "a", true },
	{ "x", NULL, "a \"quoted\" name", true },
	{ NULL, "*\"quoted\"*", "a \"quoted\" name", true },
	{ NULL, "*", "\xff\xfe", true },
	{ NULL, "*", "", false },
	{ NULL, "*", "epprof.restart_gap", false },
	{ "x", NULL, "epprof.restart_gap", false },
};
#define PATTERNS_COUNT (sizeof(patterns) / sizeof(*patterns))

/* _i: names are interned before the filter is created, or after. */
START_TEST(names_match_patterns)
{
	for (size_t i = 0; i < PATTERNS_COUNT; i++) {
		struct name_filter *filter;
		epp_name name = _i ? 0 : epp_name_intern(patterns[i].name);
		check_ok(name_filter_create(patterns[i].include, patterns[i].exclude, NULL, NULL, 0, &filter));
		ck_assert_ptr_nonnull(filter);
		name = _i ? epp_name_intern(patterns[i].name) : name;
		ck_assert_msg(name_filter_leaves_out(filter, name) == patterns[i].is_left_out, "'%s'", patterns[i].name);
		ck_assert(!name_filter_leaves_out(filter, 0));
		ck_assert(!name_filter_leaves_out(filter, UINT32_MAX));
		name_filter_destroy(filter);
	}
}
END_TEST

START_TEST(without_patterns_there_is_no_filter)
{
	const char *const none[] = { NULL, "", ";", ";;" };
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		struct name_filter *filter;
		check_ok(name_filter_create(none[i], none[(i + 1) % 4], NULL, NULL, 0, &filter));
		ck_assert_ptr_null(filter);
		ck_assert(!name_filter_leaves_out(filter, epp_name_intern("a name")));
		name_filter_destroy(filter);
	}
}
END_TEST

/* ---- threads ---- */

#define EVENTS (4000 / RECORDING_SLOW)
#define DEPTH 3 /* left out, one inside the other */

/* Of these are recorded: outer, inner.  Each new name is decided while another thread records. */
static void *nest(void *session)
{
	epp_name outer_name = epp_name_intern("outer"), inner_name = epp_name_intern("inner");
	for (unsigned i = 0; i < EVENTS; i++) {
		uint64_t skipped[DEPTH];
		char fresh[32];
		snprintf(fresh, sizeof(fresh), "skip %u", i);
		uint64_t outer = epp_event_begin(session, EPP_NODE, outer_name);
		for (unsigned depth = 0; depth < DEPTH; depth++)
			skipped[depth] = epp_event_begin_text(session, EPP_NODE, fresh);
		uint64_t inner = epp_event_begin(session, EPP_API, inner_name);
		epp_event_end(session, inner, NULL, 0);
		for (unsigned depth = DEPTH; depth-- > 0;) {
			ck_assert_uint_eq(skipped[depth], 0);
			epp_event_end(session, skipped[depth], NULL, 0);
		}
		ck_assert(outer && inner);
		epp_event_end(session, outer, NULL, 0);
	}
	return NULL;
}

/* The parent of each inner event is the outer event before it on its thread. */
static void check_parents(const char *path)
{
	uint64_t outer[16] = { 0 };
	unsigned inner_count = 0;
	const epp_event *event;
	epp_timeline *timeline;
	epp_trace *trace = open_valid(path);
	check_ok(epp_timeline_create(trace, NULL, &timeline));
	while (epp_timeline_next(timeline, &event)) {
		ck_assert_uint_lt(event->track->track, 16);
		if (strcmp(event->name, "outer") == 0) {
			ck_assert_uint_eq(event->parent, 0);
			outer[event->track->track] = event->id;
			continue;
		}
		ck_assert_str_eq(event->name, "inner");
		ck_assert_uint_eq(event->parent, outer[event->track->track]);
		inner_count++;
	}
	check_ok(epp_timeline_status(timeline));
	epp_timeline_destroy(timeline);
	epp_trace_close(trace);
	ck_assert_uint_eq(inner_count, 2 * EVENTS);
}

START_TEST(two_threads_leave_out_nested_events)
{
	char *path = strdup(check_path("threads.epp"));
	epp_session *session = start(path, NULL, "skip*");
	pthread_t threads[2];
	for (unsigned i = 0; i < 2; i++)
		threads[i] = recording_thread(nest, session);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_FILTER), 2 * EVENTS * DEPTH);
	struct trace_scan *scan = recording_finish_file(session, path);
	ck_assert_uint_eq(scan_lost(scan, EPP_LOSS_FILTER), 2 * EVENTS * DEPTH);
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, 0), 2 * EVENTS * 2);
	ck_assert_uint_eq(scan->records_count, 2 * EVENTS * 2);
	trace_scan_free(scan);
	check_parents(path);
	free(path);
}
END_TEST

/* The stack has room for 64 events that are recorded, and for no more. */
START_TEST(events_left_out_take_no_place_on_the_stack)
{
	epp_session *session = start(NULL, NULL, "skip");
	for (unsigned i = 0; i < EPF_OPEN_MAX; i++) {
		ck_assert_uint_ne(epp_event_begin_text(session, EPP_NODE, "deep"), 0);
		ck_assert_uint_eq(epp_event_begin_text(session, EPP_NODE, "skip"), 0);
	}
	ck_assert_uint_eq(epp_event_begin_text(session, EPP_NODE, "skip"), 0);
	ck_assert_uint_eq(epp_event_begin_text(session, EPP_NODE, "too deep"), 0);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_FILTER), EPF_OPEN_MAX + 1);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_TOO_DEEP), 1);
	trace_scan_free(recording_finish(session));
}
END_TEST

START_TEST(a_filter_stays_for_all_runs)
{
	epp_session *session = start(NULL, "kept", NULL);
	for (unsigned run = 1; run <= 2; run++) {
		one_event(session, "kept");
		one_event(session, "skip");
		recording_end(session);
		one_event(session, "skip");
		struct trace_scan *scan = recording_look(session);
		ck_assert_uint_eq(scan_count(scan, EPF_EVENT, epp_name_intern("kept")), run);
		ck_assert_uint_eq(scan->records_count, run);
		ck_assert_uint_eq(scan_lost(scan, EPP_LOSS_FILTER), run);
		trace_scan_free(scan);
		check_ok(epp_session_start(session));
	}
	trace_scan_free(recording_finish(session));
}
END_TEST

START_TEST(sessions_have_filters_of_their_own)
{
	epp_session *sessions[] = { start(NULL, "a", NULL), start(NULL, NULL, "a"), start(NULL, NULL, NULL) };
	const unsigned a[] = { 1, 0, 1 }, b[] = { 0, 1, 1 };
	for (unsigned i = 0; i < 9; i++) {
		one_event(sessions[i % 3], "a");
		one_event(sessions[i % 3], "b");
	}
	for (unsigned i = 0; i < 3; i++) {
		struct trace_scan *scan = recording_finish(sessions[i]);
		ck_assert_uint_eq(scan_count(scan, EPF_EVENT, epp_name_intern("a")), 3 * a[i]);
		ck_assert_uint_eq(scan_count(scan, EPF_EVENT, epp_name_intern("b")), 3 * b[i]);
		ck_assert_uint_eq(scan_lost(scan, EPP_LOSS_FILTER), 6 - 3 * (a[i] + b[i]));
		trace_scan_free(scan);
	}
}
END_TEST

/* ---- instants, counters, asynchronous and submitted events ---- */

START_TEST(other_records_are_left_out_too)
{
	epp_session *session = start(NULL, NULL, "skip");
	epp_name skip = epp_name_intern("skip"), kept = epp_name_intern("kept");
	epp_track_options options;
	epp_track track;
	epp_track_options_init(&options);
	check_ok(epp_track_create(session, &options, &track));
	epp_instant_record(session, EPP_NODE, skip, NULL, 0);
	epp_instant_record(session, EPP_NODE, kept, NULL, 0);
	epp_counter_record_i64(session, skip, 1);
	epp_counter_record_f64(session, skip, 1);
	epp_counter_record_i64(session, kept, 1);
	ck_assert_uint_eq(epp_async_begin(session, EPP_NODE, skip), 0);
	epp_async_end(session, 0, NULL, 0);
	ck_assert_uint_eq(epp_event_record(session, track, EPP_NODE, skip, 1, 2, 0, NULL, 0), 0);
	ck_assert_uint_ne(epp_event_record(session, track, EPP_NODE, kept, 1, 2, 0, NULL, 0), 0);
	/* Refused before the filter sees it. */
	ck_assert_uint_eq(epp_event_record(session, track, EPP_NODE, skip, 2, 1, 0, NULL, 0), 0);
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan_lost(scan, EPP_LOSS_FILTER), 5);
	ck_assert_uint_eq(scan_lost(scan, EPP_LOSS_REFUSED), 1);
	ck_assert_uint_eq(scan_count(scan, EPF_INSTANT, kept), 1);
	ck_assert_uint_eq(scan_count(scan, EPF_COUNTER, kept), 1);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, kept), 1);
	ck_assert_uint_eq(scan_count(scan, EPF_ASYNC_BEGIN, 0), 0);
	for (enum epf_kind kind = EPF_EVENT; kind <= EPF_CLOCK_PAIR; kind++)
		ck_assert_uint_eq(scan_count(scan, kind, skip), 0);
	trace_scan_free(scan);
}
END_TEST

/* As the operators of ONNX Runtime, which have no name when they begin. */
START_TEST(events_that_are_named_at_their_end)
{
	epp_session *session = start(NULL, NULL, "skip");
	epp_name skip = epp_name_intern("skip"), kept = epp_name_intern("kept");
	for (unsigned i = 0; i < 3; i++) {
		uint64_t outer = epp_event_begin(session, EPP_NODE, 0);
		uint64_t inner = epp_event_begin(session, EPP_NODE, 0);
		epp_event_end_named(session, inner, EPP_NODE, i ? skip : kept, NULL, 0);
		epp_event_end_named(session, outer, EPP_NODE, i ? kept : skip, NULL, 0);
	}
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan_count(scan, EPF_EVENT, kept), 3);
	ck_assert_uint_eq(scan->records_count, 3);
	ck_assert_uint_eq(scan_lost(scan, EPP_LOSS_FILTER), 3);
	trace_scan_free(scan);
}
END_TEST

/* An event whose name is only known at its end was announced before. */
START_TEST(profilers_are_not_called_for_events_left_out)
{
	struct profiler_double a = double_make('a');
	epp_session_options options = { .struct_size = sizeof(options), .exclude = "skip" };
	epp_session *session;
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_session_attach(session, &a.impl, "profiler"));
	check_ok(epp_session_start(session));
	one_event(session, "skip");
	ck_assert_uint_eq(a.calls[STEP_START_EVENT] + a.calls[STEP_STOP_EVENT], 0);
	one_event(session, "kept");
	epp_event_end_named(session, epp_event_begin(session, EPP_NODE, 0), EPP_NODE, epp_name_intern("skip"), NULL, 0);
	ck_assert_uint_eq(a.calls[STEP_START_EVENT], 2);
	ck_assert_uint_eq(a.calls[STEP_STOP_EVENT], 2);
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan->records_count, 1);
	ck_assert_uint_eq(scan_lost(scan, EPP_LOSS_FILTER), 2);
	trace_scan_free(scan);
}
END_TEST

/* Events that a profiler pushes are left out by their names, and counted in its account. */
START_TEST(events_of_devices)
{
	char *path = strdup(check_path("device.epp"));
	struct profiler_double a = double_make('a');
	epp_session_options options = { .struct_size = sizeof(options), .path = path, .overwrite = 1, .include = "gemm*" };
	epp_session *session;
	check_ok(epp_session_create(&options, &session));
	check_ok(epp_session_attach(session, &a.impl, "device"));
	check_ok(epp_session_start(session));
	const EpprofClock clock = { .id = 1, .kind = 1, .ticks_per_second = 1000 };
	const EpprofArg property = { .key = "cores", .type = EPP_ARG_I64, .number.i64 = 4 };
	const EpprofDevice device = { .group = "device 0", .args = &property, .args_count = 1 };
	const EpprofEvent events[] = { { .name = "gemm_1", .start_ticks = 1, .end_ticks = 2, .clock = 1 },
		                       { .name = "copy", .start_ticks = 3, .end_ticks = 4, .clock = 1 },
		                       { .name = "gemm_2", .start_ticks = 5, .end_ticks = 6, .clock = 1 } };
	const EpprofCounter counter = { .name = "load", .type = EPP_ARG_I64, .number.i64 = 1 };
	uint64_t ids[3];
	profiler_registry_push(&a.impl, &(EpprofBatch){ .struct_size = sizeof(EpprofBatch),
	                                                .clocks = &clock,
	                                                .clocks_count = 1,
	                                                .devices = &device,
	                                                .devices_count = 1,
	                                                .counters = &counter,
	                                                .counters_count = 1,
	                                                .events = events,
	                                                .events_count = 3,
	                                                .ids = ids });
	ck_assert(ids[0] && !ids[1] && ids[2]);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_FILTER), 2);
	struct trace_scan *scan = recording_finish_file(session, path);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, epp_name_intern("copy")), 0);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, epp_name_intern("gemm_1")), 1);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, epp_name_intern("epprof.device")), 1);
	ck_assert_uint_eq(scan_count(scan, EPF_COUNTER, 0), 0);
	ck_assert_uint_eq(scan->producers[0].lost[EPP_LOSS_FILTER], 2);
	trace_scan_free(scan);
	epp_trace *trace = open_valid(path);
	for (size_t i = 0; i < epp_trace_ledger_count(trace); i++) {
		epp_trace_ledger_entry line = { .struct_size = sizeof(line) };
		check_ok(epp_trace_ledger_at(trace, i, &line));
		ck_assert_msg(line.balanced, "%s", line.producer);
	}
	epp_trace_close(trace);
	free(path);
}
END_TEST

/* ---- the environment, and forks ---- */

START_TEST(variables_set_the_filter)
{
	char *path = strdup(check_path("variables.epp"));
	epp_session *session;
	setenv("EPPROF_OUTPUT", path, 1);
	setenv("EPPROF_INCLUDE", "kept*", 1);
	setenv("EPPROF_EXCLUDE", "*2;*3", 1);
	check_ok(epp_session_share_output(&session));
	ck_assert_ptr_nonnull(session);
	for (unsigned i = 1; i <= 3; i++) {
		char name[16];
		snprintf(name, sizeof(name), "kept %u", i);
		one_event(session, name);
		one_event(session, "other");
	}
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_FILTER), 5);
	struct trace_scan *scan = recording_look(session);
	ck_assert_uint_eq(scan->records_count, 1);
	trace_scan_free(scan);
	epp_session_destroy(session);
	free(path);
}
END_TEST

/* The filters of the parent's sessions are gone in the child, which has its own. */
START_TEST(forked_child)
{
	epp_session *session = start(NULL, "parent", NULL);
	int status;
	one_event(session, "parent");
	recording_end(session);
	forking_begin(true);
	pid_t child = fork();
	forking_end();
	if (child == 0) {
		epp_session *own = start(NULL, "child", NULL);
		one_event(own, "child");
		one_event(own, "parent");
		bool is_right = epp_session_lost(own, EPP_LOSS_FILTER) == 1;
		epp_session_destroy(own);
		_exit(is_right ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
	epp_session_destroy(session);
}
END_TEST

static Suite *name_filter_suite(void)
{
	Suite *suite = suite_create("name_filter");
	TCase *tests = tcase_create("name_filter");
	tcase_add_loop_test(tests, names_match_patterns, 0, 2);
	tcase_add_test(tests, without_patterns_there_is_no_filter);
	tcase_add_test(tests, two_threads_leave_out_nested_events);
	tcase_add_test(tests, events_left_out_take_no_place_on_the_stack);
	tcase_add_test(tests, a_filter_stays_for_all_runs);
	tcase_add_test(tests, sessions_have_filters_of_their_own);
	tcase_add_test(tests, other_records_are_left_out_too);
	tcase_add_test(tests, events_that_are_named_at_their_end);
	tcase_add_test(tests, profilers_are_not_called_for_events_left_out);
	tcase_add_test(tests, events_of_devices);
	tcase_add_test(tests, variables_set_the_filter);
	tcase_add_test(tests, forked_child);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(name_filter_suite)
