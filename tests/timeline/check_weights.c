/* Weights of events: which events have them, and that sums, tables and exports use them. */
#include "epprof/export.h"
#include "epprof/sql.h"
#include "epprof/summary.h"
#include "epprof/timeline.h"
#include "epprof/track.h"
#include "tests/support/export_text.h"
#include "tests/support/recording.h"
#include "tests/support/sql_text.h"
#include <math.h>

static uint64_t begin(epp_session *session, const char *name)
{
	return epp_event_begin(session, EPP_NODE, epp_name_intern(name));
}

static void end(epp_session *session, uint64_t id)
{
	epp_event_end(session, id, NULL, 0);
}

static void set_weight(epp_session *session, uint64_t event, uint64_t weight)
{
	const epp_arg args[] = {
		{ .key = epp_name_intern("event"), .type = EPP_ARG_U64, .value.u64 = event },
		{ .key = epp_name_intern("weight"), .type = EPP_ARG_U64, .value.u64 = weight },
	};
	epp_instant_record(session, EPP_SESSION, epp_name_intern("epprof.weight"), args, 2);
}

/* Checks the weight of each event that is not the library's, in order of start: names that begin with a digit have it as
 * their weight. */
static void expect_weights(epp_trace *trace, const epp_timeline_options *options, unsigned expected_count)
{
	epp_timeline *timeline;
	const epp_event *event;
	unsigned count = 0;
	check_ok(epp_timeline_create(trace, options, &timeline));
	while (epp_timeline_next(timeline, &event)) {
		if (strncmp(event->name, "epprof.", 7) == 0)
			continue;
		count++;
		ck_assert_msg(event->weight == strtoul(event->name, NULL, 10), "'%s' has the weight %u", event->name,
		              event->weight);
	}
	check_ok(epp_timeline_status(timeline));
	ck_assert_uint_eq(count, expected_count);
	epp_timeline_destroy(timeline);
}

static void *other_thread(void *session)
{
	uint64_t id = begin(session, "1 other thread");
	end(session, begin(session, "1 in it"));
	end(session, id);
	return NULL;
}

/* A run of weight 5 with a kernel; between runs without a weight. */
static epp_session *record(void)
{
	epp_session *session = recording_start(NULL);
	epp_track_options options;
	epp_track device;
	epp_track_options_init(&options);
	options.device = 0;
	options.clock_kind = EPP_CLOCK_HOST;
	check_ok(epp_track_create(session, &options, &device));
	end(session, begin(session, "1 before"));
	uint64_t run = begin(session, "5 run");
	set_weight(session, run, 5);
	uint64_t outer = begin(session, "5 outer"), inner = begin(session, "5 inner");
	pthread_join(recording_thread(other_thread, session), NULL);
	uint64_t at = epp_host_ticks();
	epp_instant_record(session, EPP_NODE, epp_name_intern("5 instant"), NULL, 0);
	end(session, inner);
	end(session, outer);
	end(session, run);
	/* It arrives later. */
	uint64_t kernel = epp_event_record(session, device, EPP_KERNEL, epp_name_intern("5 kernel"), at, at + 10, inner,
	                                   NULL, 0);
	ck_assert_uint_ne(kernel, 0);
	ck_assert_uint_ne(
	    epp_event_record(session, device, EPP_KERNEL, epp_name_intern("1 kernel"), at + 20, at + 30, 0, NULL, 0), 0);
	uint64_t after = begin(session, "1 after");
	end(session, begin(session, "1 in it"));
	end(session, after);
	recording_end(session);
	return session;
}

START_TEST(events_inherit_weights)
{
	epp_session *session = record();
	epp_trace *trace = recording_open(session);
	expect_weights(trace, NULL, 11);
	/* With requests, of which there are none. */
	expect_weights(trace, &(epp_timeline_options){ .struct_size = sizeof(epp_timeline_options), .requests = 1 }, 11);
	epp_trace_close(trace);
	epp_session_destroy(session);
}
END_TEST

/* A range that begins in the run, behind the instant. */
START_TEST(a_part_of_a_run)
{
	epp_session *session = record();
	epp_trace *trace = recording_open(session);
	epp_timeline_options options = { .struct_size = sizeof(options), .to_ns = INT64_MAX };
	epp_timeline *timeline;
	const epp_event *event;
	check_ok(epp_timeline_create(trace, NULL, &timeline));
	while (epp_timeline_next(timeline, &event))
		if (strcmp(event->name, "5 instant") == 0)
			options.from_ns = event->start_ns;
	epp_timeline_destroy(timeline);
	ck_assert_int_ne(options.from_ns, 0);
	check_ok(epp_timeline_create(trace, &options, &timeline));
	unsigned count = 0;
	while (epp_timeline_next(timeline, &event)) {
		count += event->weight == 5;
		ck_assert_uint_eq(event->weight == 5, strncmp(event->name, "5 ", 2) == 0);
	}
	/* The run, two events in it and the instant. */
	ck_assert_uint_ge(count, 4);
	epp_timeline_destroy(timeline);
	epp_trace_close(trace);
	epp_session_destroy(session);
}
END_TEST

/* Instants with other args, of events that do not exist, with weights that cannot be. */
START_TEST(forged_instants_are_ignored)
{
	epp_session *session = recording_start(NULL);
	const epp_arg wrong[] = {
		{ .key = epp_name_intern("event"), .type = EPP_ARG_TEXT, .value.text = "5", .text_bytes = 1 },
		{ .key = epp_name_intern("weight"), .type = EPP_ARG_F64, .value.f64 = 5 },
		{ .type = EPP_ARG_U64, .value.u64 = 5 },
	};
	uint64_t event = begin(session, "1 event");
	set_weight(session, event, 0);
	set_weight(session, event, (1u << 20) + 1);
	set_weight(session, event, UINT64_C(1) << 32 | 5);
	set_weight(session, 0, 5);
	set_weight(session, 12345, 5);
	for (unsigned i = 0; i <= 3; i++)
		epp_instant_record(session, EPP_SESSION, epp_name_intern("epprof.weight"), wrong, i);
	end(session, begin(session, "1 in it"));
	end(session, event);
	uint64_t twice = begin(session, "3 event");
	set_weight(session, twice, 2);
	set_weight(session, twice, 3);
	end(session, twice);
	recording_end(session);
	epp_trace *trace = recording_open(session);
	expect_weights(trace, NULL, 3);
	epp_trace_close(trace);
	epp_session_destroy(session);
}
END_TEST

/* Weights that come after the run, or change after it: the last one counts, for all that is in the run. */
START_TEST(weights_that_change)
{
	static const struct {
		const char *run, *inner, *kernel;
		unsigned weight, later;
	} cases[] = { { "3 run", "3 inner", "3 kernel", 5, 3 },
		      { "1 run", "1 inner", "1 kernel", 8, 1 },
		      { "2 run", "2 inner", "2 kernel", 1, 2 } };
	epp_session *session = recording_start(NULL);
	epp_track_options options;
	epp_track device;
	epp_track_options_init(&options);
	options.device = 0;
	options.clock_kind = EPP_CLOCK_HOST;
	check_ok(epp_track_create(session, &options, &device));
	for (unsigned i = 0; i < 3; i++) {
		uint64_t run = begin(session, cases[i].run);
		if (cases[i].weight > 1)
			set_weight(session, run, cases[i].weight);
		uint64_t inner = begin(session, cases[i].inner);
		end(session, inner);
		end(session, run);
		uint64_t at = epp_host_ticks();
		uint64_t kernel = epp_event_record(session, device, EPP_KERNEL, epp_name_intern(cases[i].kernel), at,
		                                   at + 10, inner, NULL, 0);
		ck_assert_uint_ne(kernel, 0);
		end(session, begin(session, "1 between"));
		set_weight(session, run, cases[i].later);
	}
	recording_end(session);
	epp_trace *trace = recording_open(session);
	expect_weights(trace, NULL, 4 * 3);
	epp_trace_close(trace);
	epp_session_destroy(session);
}
END_TEST

/* Runs that are open when the trace is read, more than are swept away at once. */
START_TEST(many_runs)
{
	enum { RUNS = 3000 };
	epp_session *session = recording_start(NULL);
	for (unsigned i = 0; i < RUNS; i++) {
		uint64_t run = begin(session, i % 2 ? "7 run" : "1 run");
		if (i % 2)
			set_weight(session, run, 7);
		end(session, begin(session, i % 2 ? "7 in it" : "1 in it"));
		if (i + 1 < RUNS)
			end(session, run);
	}
	epp_trace *trace = recording_open(session);
	expect_weights(trace, NULL, 2 * RUNS);
	epp_trace_close(trace);
	recording_end(session);
	epp_session_destroy(session);
}
END_TEST

static const epp_summary_line *line_of(const epp_summary *summary, epp_summary_by by, const char *name)
{
	const epp_summary_line *line;
	for (size_t i = 0; (line = epp_summary_line_at(summary, by, i)); i++)
		if (strcmp(line->name, name) == 0)
			return line;
	ck_abort_msg("no line of '%s'", name);
	return NULL;
}

START_TEST(sums_are_weighted)
{
	epp_session *session = record();
	epp_trace *trace = recording_open(session);
	epp_summary *summary;
	check_ok(epp_summary_create(trace, NULL, &summary));
	const epp_summary_line *run = line_of(summary, EPP_BY_OP, "5 run"),
			       *outer = line_of(summary, EPP_BY_OP, "5 outer");
	const epp_summary_line *inner = line_of(summary, EPP_BY_OP, "5 inner");
	ck_assert_uint_eq(run->count, 5);
	ck_assert_int_eq(run->total_ns, 5 * run->max_ns);
	ck_assert_int_eq(run->self_ns, 5 * (run->max_ns - outer->max_ns));
	ck_assert_uint_eq(epp_histogram_count(run->durations), 5);
	ck_assert_double_eq(run->samples, 1);
	ck_assert_double_eq(line_of(summary, EPP_BY_OP, "1 in it")->samples, 2);
	ck_assert_uint_eq(inner->device_count, 5);
	ck_assert_int_eq(inner->device_ns, 5 * line_of(summary, EPP_BY_KERNEL, "5 kernel")->max_ns);
	ck_assert_uint_eq(line_of(summary, EPP_BY_KERNEL, "5 kernel")->count, 5);
	ck_assert_uint_eq(line_of(summary, EPP_BY_OP, "1 after")->count, 1);
	ck_assert_uint_eq(line_of(summary, EPP_BY_OP, "1 in it")->count, 2);
	ck_assert_uint_eq(line_of(summary, EPP_BY_PHASE, "compute")->count, 6);
	const epp_summary_totals *totals = epp_summary_get_totals(summary);
	ck_assert_uint_eq(totals->host_events, 8);
	ck_assert_uint_eq(totals->weighted, 4);
	ck_assert_uint_eq(totals->runs_kept, 4);
	ck_assert_uint_eq(totals->runs_count, 3 + 5);
	ck_assert_double_eq(totals->runs_count_variance, 5 * 4);
	double run_ns = (double)run->max_ns, after_ns = (double)line_of(summary, EPP_BY_OP, "1 after")->max_ns;
	double variance = 5 * 4 * run_ns * run_ns + after_ns * after_ns;
	ck_assert_double_eq_tol(totals->runs_ns_variance / variance, 1, 1e-9);
	epp_summary_destroy(summary);
	epp_trace_close(trace);
	epp_session_destroy(session);
}
END_TEST

/* The errors of the sums of runs: the first one of a name and weight, differences between runs, and a run after one
 * with a larger weight. */
START_TEST(errors_of_sums)
{
	static const struct {
		const char *name;
		unsigned weight;
	} runs[] = { { "a", 4 }, { "a", 5 }, { "a", 4 }, { "b", 4 }, { "a", 1 }, { "a", 4 }, { "b", 1 }, { "c", 1 } };
	enum { RUNS = sizeof(runs) / sizeof(*runs) };
	epp_session *session = recording_start(NULL);
	end(session, begin(session, "before"));
	for (unsigned i = 0; i < RUNS; i++) {
		uint64_t run = begin(session, runs[i].name);
		if (runs[i].weight > 1)
			set_weight(session, run, runs[i].weight);
		recording_sleep_ms(1 + i % 3);
		end(session, run);
	}
	recording_end(session);
	epp_trace *trace = recording_open(session);
	epp_timeline *timeline;
	const epp_event *event;
	double ns[1 + RUNS], sum = 0;
	unsigned count = 0;
	check_ok(epp_timeline_create(trace, NULL, &timeline));
	while (epp_timeline_next(timeline, &event)) {
		if (event->kind == EPP_EVENT_SLICE)
			ns[count++] = (double)event->duration_ns;
	}
	epp_timeline_destroy(timeline);
	ck_assert_uint_eq(count, 1 + RUNS);
	sum += 4 * 3 * ns[1] * ns[1] + 5 * 4 * pow(ns[2] - ns[1], 2) / 2 + 4 * 3 * pow(ns[3] - ns[2], 2) / 2;
	sum += 4 * 3 * ns[4] * ns[4] + ns[5] * ns[5];
	sum += 4 * 3 * pow(ns[6] - ns[4], 2) / 2 + ns[7] * ns[7];
	epp_summary *summary;
	check_ok(epp_summary_create(trace, NULL, &summary));
	const epp_summary_totals *totals = epp_summary_get_totals(summary);
	ck_assert_uint_eq(totals->runs_count, 1 + 4 + 5 + 4 + 4 + 1 + 4 + 1 + 1);
	ck_assert_double_eq_tol(totals->runs_count_variance, 4 * 3 + 4 * 3, 1e-9);
	ck_assert_double_eq_tol(totals->runs_ns_variance / sum, 1, 1e-9);
	epp_summary_destroy(summary);
	epp_trace_close(trace);
	epp_session_destroy(session);
}
END_TEST

START_TEST(sql_and_exports_have_weights)
{
	epp_session *session = record();
	epp_trace *trace = recording_open(session);
	epp_sql *sql;
	check_ok(epp_sql_create(trace, &sql));
	sql_text_expect(sql, "SELECT sum(weight), max(weight) FROM timeline WHERE kind = 'slice'", "26|5\n");
	sql_text_expect(sql, "SELECT weight FROM timeline WHERE name = '5 inner'", "5\n");
	sql_text_expect(
	    sql, "SELECT a.weight FROM timeline a JOIN timeline b ON a.parent = b.id WHERE a.name = '5 kernel'", "5\n");
	epp_sql_destroy(sql);
	static const struct {
		const char *format, *weight;
	} formats[] = {
		{ "chrome", "\"epprof.weight\":5" },
		{ "kineto", "\"epprof.weight\":5" },
		{ "ndjson", "\"epprof.weight\":5" },
		{ "csv", "\"\"epprof.weight\"\":5" },
	};
	struct export_text text;
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		export_text_make(&text, trace, formats[i].format, NULL);
		unsigned found = 0;
		for (const char *at = text.bytes; (at = strstr(at, formats[i].weight)); at++)
			found++;
		ck_assert_msg(found >= 4, "%s: %u", formats[i].format, found);
		export_text_free(&text);
	}
	export_text_make(&text, trace, "ndjson", NULL);
	ck_assert_ptr_nonnull(strstr(text.bytes, "\"name\":\"5 kernel\""));
	ck_assert_ptr_nonnull(strstr(text.bytes, "\"args\":{\"epprof.weight\":5}"));
	export_text_free(&text);
	/* Five of each of the three on the host, and of the kernel. */
	export_text_make(&text, trace, "flame", NULL);
	unsigned found = 0;
	for (const char *at = text.bytes; (at = strstr(at, "\n5 events, ")); at++)
		found++;
	ck_assert_uint_eq(found, 4);
	export_text_free(&text);
	epp_trace_close(trace);
	epp_session_destroy(session);
}
END_TEST

/* `inner` is two levels below the run; without its request, the run is not in the timeline. */
START_TEST(weights_reach_events_of_a_request)
{
	epp_session *session = recording_start(NULL);
	uint64_t run = begin(session, "5 run");
	set_weight(session, run, 5);
	uint64_t outer = begin(session, "5 outer"), inner = begin(session, "5 inner");
	check_ok(epp_context_set(session, "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01", NULL));
	end(session, inner);
	end(session, outer);
	end(session, run);
	recording_end(session);
	epp_trace *trace = recording_open(session);
	const epp_timeline_options options = { .struct_size = sizeof(options),
		                               .trace_id = "0123456789abcdef0123456789abcdef" };
	expect_weights(trace, &options, 1);
	epp_summary *summary;
	check_ok(epp_summary_create(
	    trace, &(epp_summary_options){ .struct_size = sizeof(epp_summary_options), .timeline = &options }, &summary));
	ck_assert_uint_eq(epp_summary_get_totals(summary)->runs_kept, 0);
	ck_assert_uint_eq(line_of(summary, EPP_BY_OP, "5 inner")->count, 5);
	epp_summary_destroy(summary);
	const epp_timeline_options unweighted = { .struct_size = sizeof(unweighted), .unweighted = 1 };
	check_ok(epp_summary_create(
	    trace, &(epp_summary_options){ .struct_size = sizeof(epp_summary_options), .timeline = &unweighted },
	    &summary));
	ck_assert_uint_eq(line_of(summary, EPP_BY_OP, "5 inner")->count, 1);
	epp_summary_destroy(summary);
	epp_trace_close(trace);
	epp_session_destroy(session);
}
END_TEST

/* Runs with a name, inside an event that was always recorded: how many of what there were is unknown. */
START_TEST(runs_inside_other_events)
{
	epp_session *session = recording_start(NULL);
	uint64_t loop = begin(session, "1 loop");
	uint64_t step = begin(session, "64 step");
	set_weight(session, step, 64);
	end(session, step);
	end(session, loop);
	recording_end(session);
	epp_trace *trace = recording_open(session);
	epp_summary *summary;
	check_ok(epp_summary_create(trace, NULL, &summary));
	ck_assert_uint_eq(epp_summary_get_totals(summary)->weighted, 1);
	ck_assert_uint_eq(epp_summary_get_totals(summary)->runs_kept, 0);
	epp_summary_destroy(summary);
	epp_trace_close(trace);
	epp_session_destroy(session);
}
END_TEST

static Suite *weights_suite(void)
{
	Suite *suite = suite_create("weights");
	TCase *tests = tcase_create("weights");
	tcase_add_test(tests, events_inherit_weights);
	tcase_add_test(tests, a_part_of_a_run);
	tcase_add_test(tests, forged_instants_are_ignored);
	tcase_add_test(tests, many_runs);
	tcase_add_test(tests, sums_are_weighted);
	tcase_add_test(tests, errors_of_sums);
	tcase_add_test(tests, weights_that_change);
	tcase_add_test(tests, weights_reach_events_of_a_request);
	tcase_add_test(tests, runs_inside_other_events);
	tcase_add_test(tests, sql_and_exports_have_weights);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(weights_suite)
