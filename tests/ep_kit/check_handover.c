/* Events that were timed elsewhere: the host application's tracks, what profilers push, what they add at the end, and
 * who answers for what is refused or lost: runtime/record/submit.c and tracks.c. */
#include <string.h>

#include "epprof/sql.h"
#include "epprof/summary.h"
#include "epprof/track.h"
#include "tests/support/profiler_double.h"

static epp_name name, key;

static void set_up(void)
{
	name = epp_name_intern("handed");
	key = epp_name_intern("key");
}

/* ---- the host's tracks ---- */

static epp_track make_track(epp_session *session, epp_clock_kind kind, epp_track clock_of)
{
	epp_track track;
	epp_track_options options = {
		.struct_size = sizeof(options),
		.name = "stream \"1\"",
		.group = "Device 0",
		.ticks_per_second = 1000,
		.clock_kind = kind,
		.clock_bits = 48,
		.device = 2,
		.stream = -9,
		.clock_of = clock_of,
	};
	check_ok(epp_track_create(session, &options, &track));
	return track;
}

static epp_status *refused_track(epp_session *session, epp_track_options options)
{
	epp_track track = 77;
	epp_status *status = epp_track_create(session, &options, &track);
	ck_assert_uint_eq(track, 0);
	return status;
}

START_TEST(tracks_and_what_stands_on_them)
{
	char *path = check_path("tracks.epp");
	epp_session *session;
	epp_session_options options = { .struct_size = sizeof(options), .path = path, .overwrite = 1 };
	check_ok(epp_session_create(&options, &session));
	/* Before a start, too. */
	epp_track host = make_track(session, EPP_CLOCK_HOST, 0), device = make_track(session, EPP_CLOCK_DEVICE, 0);
	check_ok(epp_session_start(session));
	epp_track shared = make_track(session, EPP_CLOCK_DEVICE, device),
		  none = make_track(session, EPP_CLOCK_DURATION_ONLY, 0);
	uint64_t parent = epp_event_begin(session, EPP_NODE, name);
	const epp_track tracks[] = { host, device, device, shared, none, host };
	for (uint64_t i = 0; i < 6; i++)
		epp_event_record(session, tracks[i], EPP_KERNEL, name, i * 10, i * 10 + i, i % 2 ? parent : 0,
		                 &(epp_arg){ .key = key, .type = EPP_ARG_U64, .value.u64 = i }, 1);
	epp_clock_pair_add(session, device, 500, 1000, 3);
	epp_event_end(session, parent, NULL, 0);
	struct trace_scan *live = recording_look(session);
	struct trace_scan *scan = recording_finish_file(session, path);
	for (int finished = 0; finished < 2; finished++) {
		const struct trace_scan *one = finished ? scan : live;
		size_t from = 0;
		for (uint64_t i = 0; i < 6; i++) {
			const struct scan_record *record = scan_next(one, EPF_COMPLETE, name, &from);
			ck_assert_uint_eq(record->track, tracks[i]);
			ck_assert_uint_eq(record->start_ticks, i * 10);
			ck_assert_uint_eq(record->duration_ticks, i);
			ck_assert_uint_eq(EPF_BITS_CATEGORY(record->bits), EPP_KERNEL);
			ck_assert_uint_eq(scan_arg(record, key)->value, i);
			ck_assert_uint_eq(record->args_count, 1 + i % 2);
			if (i % 2)
				ck_assert_uint_eq(scan_arg(record, EPF_NAME_PARENT)->value, parent);
		}
		const struct scan_record *pair = scan_first(one, EPF_CLOCK_PAIR, 0);
		ck_assert_uint_eq(pair->track, device);
		ck_assert_uint_eq(pair->start_ticks, 500);
		ck_assert_uint_eq(pair->duration_ticks, 1000);
		ck_assert_uint_eq(pair->id, 3);
	}
	const struct scan_track *track = scan_track(scan, device);
	ck_assert_str_eq(track->name, "stream \"1\"");
	ck_assert_str_eq(track->group, "Device 0");
	ck_assert_uint_eq(track->definition.kind, EPF_TRACK_DEVICE);
	ck_assert_uint_eq(track->definition.clock_bits, 48);
	ck_assert_int_eq(track->definition.stream, -9);
	ck_assert_int_eq(track->definition.producer, -1);
	ck_assert_uint_ne(track->definition.clock, 0);
	ck_assert_uint_eq(track->definition.clock, scan_track(scan, shared)->definition.clock);
	ck_assert_uint_eq(scan_track(scan, host)->definition.clock, 0);
	ck_assert_uint_ne(scan_track(scan, none)->definition.clock, track->definition.clock);
	trace_scan_free(live);
	trace_scan_free(scan);
}
END_TEST

/* A track is a device's stream by its device or by its clock, for the summary and for SQL alike. */
START_TEST(tracks_of_devices_and_others)
{
	static const struct {
		epp_clock_kind clock_kind;
		int32_t device;
		int64_t stream;
		bool is_device;
	} cases[] = {
		{ EPP_CLOCK_HOST, -1, -1, false },       { EPP_CLOCK_HOST, 0, 3, true },
		{ EPP_CLOCK_DEVICE, -1, -1, true },      { EPP_CLOCK_DEVICE, 1, 4, true },
		{ EPP_CLOCK_DURATION_ONLY, 0, 0, true },
	};
	epp_session *session = recording_start(NULL);
	epp_track track;
	epp_track_options options;
	memset(&options, 0x55, sizeof(options));
	epp_track_options_init(&options);
	ck_assert_uint_eq(options.struct_size, sizeof(options));
	ck_assert_ptr_null(options.name);
	options.clock_kind = cases[_i].clock_kind;
	options.device = cases[_i].device;
	options.stream = cases[_i].stream;
	options.ticks_per_second = 1000000000;
	options.name = "row";
	check_ok(epp_track_create(session, &options, &track));
	uint64_t parent = epp_event_begin(session, EPP_NODE, name);
	uint64_t now = epp_host_ticks();
	epp_clock_pair_add(session, track, now, now, 1);
	ck_assert_uint_ne(epp_event_record(session, track, EPP_KERNEL, name, now, now + 1000, parent, NULL, 0), 0);
	epp_event_end(session, parent, NULL, 0);
	check_ok(epp_session_end(session));
	check_ok(epp_session_wait(session, UINT64_MAX));
	epp_trace *trace;
	check_ok(epp_trace_open_session(session, &trace));
	epp_summary *summary;
	check_ok(epp_summary_create(trace, NULL, &summary));
	ck_assert_uint_eq(epp_summary_lines_count(summary, EPP_BY_KERNEL), cases[_i].is_device);
	ck_assert_uint_eq(epp_summary_lines_count(summary, EPP_BY_STREAM), cases[_i].is_device);
	ck_assert_uint_eq(epp_summary_get_totals(summary)->device_events, cases[_i].is_device);
	epp_summary_destroy(summary);
	epp_sql *sql;
	epp_sql_rows *rows;
	const epp_sql_value *values;
	check_ok(epp_sql_create(trace, &sql));
	check_ok(epp_sql_query(sql, "SELECT device, stream FROM timeline WHERE category = 'Kernel'", NULL, &rows));
	check_ok(epp_sql_rows_next(rows, &values));
	ck_assert_ptr_nonnull(values);
	ck_assert_uint_eq(values[0].type, cases[_i].device < 0 ? EPP_SQL_NULL : EPP_SQL_INTEGER);
	if (cases[_i].device >= 0)
		ck_assert_int_eq(values[0].integer, cases[_i].device);
	ck_assert_uint_eq(values[1].type, cases[_i].is_device ? EPP_SQL_INTEGER : EPP_SQL_NULL);
	if (cases[_i].is_device)
		ck_assert_int_eq(values[1].integer, cases[_i].stream);
	epp_sql_rows_destroy(rows);
	epp_sql_destroy(sql);
	epp_trace_close(trace);
	epp_session_destroy(session);
}
END_TEST

/* An older caller's options end before `stream`; a newer caller's have members that this version does not know. */
START_TEST(options_of_other_sizes)
{
	struct {
		epp_track_options options;
		uint64_t newer;
	} given;
	epp_session *session = recording_start(NULL);
	epp_track track;
	epp_track_options_init(&given.options);
	given.options.name = "other size";
	given.options.struct_size = offsetof(epp_track_options, device);
	given.options.device = 7;
	check_ok(epp_track_create(session, &given.options, &track));
	given.options.struct_size = sizeof(given);
	given.newer = 0;
	epp_track newer_track;
	check_ok(epp_track_create(session, &given.options, &newer_track));
	given.newer = 1;
	check_fails(EPP_INVALID_ARGUMENT, epp_track_create(session, &given.options, &(epp_track){ 0 }));
	struct trace_scan *scan = recording_finish(session);
	ck_assert_int_eq(scan_track(scan, track)->definition.device, -1);
	ck_assert_uint_eq(scan_track(scan, track)->definition.kind, EPF_TRACK_CUSTOM);
	ck_assert_int_eq(scan_track(scan, newer_track)->definition.device, 7);
	trace_scan_free(scan);
}
END_TEST

START_TEST(tracks_and_events_that_are_refused)
{
	epp_session *session = recording_start(NULL);
	epp_track_options good = { .struct_size = sizeof(good), .name = "t", .device = -1 };
	check_fails(EPP_INVALID_ARGUMENT, refused_track(NULL, good));
	check_fails(EPP_INVALID_ARGUMENT, refused_track(session, (epp_track_options){ .name = "no size" }));
	check_fails(EPP_INVALID_ARGUMENT,
	            refused_track(session, (epp_track_options){ .struct_size = sizeof(good), .clock_kind = 3 }));
	check_fails(EPP_INVALID_ARGUMENT,
	            refused_track(session, (epp_track_options){ .struct_size = sizeof(good), .clock_kind = 1 }));
	check_fails(EPP_INVALID_ARGUMENT,
	            refused_track(session, (epp_track_options){ .struct_size = sizeof(good), .clock_of = 99 }));
	epp_track track = make_track(session, EPP_CLOCK_HOST, 0);
	epp_event_record(session, track, EPP_NODE, name, 10, 9, 0, NULL, 0);
	epp_event_record(session, 0, EPP_NODE, name, 9, 10, 0, NULL, 0);
	epp_event_record(session, 12345, EPP_NODE, name, 9, 10, 0, NULL, 0);
	epp_clock_pair_add(session, 12345, 1, 2, 3);
	epp_event_begin(session, EPP_NODE, name);
	/* A thread's own track is nobody's to record on. */
	for (epp_track any = 1; any < 4; any++)
		if (any != track)
			epp_event_record(session, any, EPP_NODE, name, 9, 10, 0, NULL, 0);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_REFUSED), 5);
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, 0), 0);
	ck_assert_uint_eq(scan_lost(scan, EPP_LOSS_REFUSED), 5);
	trace_scan_free(scan);
	epp_event_record(NULL, track, EPP_NODE, name, 9, 10, 0, NULL, 0);
	epp_event_record(session, track, EPP_NODE, name, 9, 10, 0, NULL, 0);
}
END_TEST

START_TEST(as_many_tracks_as_there_may_be)
{
	epp_session *session = recording_start(NULL);
	epp_track tracks[DEFINITIONS_TRACKS_MAX];
	for (unsigned i = 0; i < DEFINITIONS_TRACKS_MAX; i++) {
		tracks[i] = make_track(session, EPP_CLOCK_DEVICE, i ? tracks[0] : 0);
		if (i % 7 == 0)
			epp_event_record(session, tracks[i], EPP_NODE, name, i, i, 0, NULL, 0);
	}
	check_fails(EPP_OUT_OF_MEMORY,
	            refused_track(session, (epp_track_options){ .struct_size = sizeof(epp_track_options) }));
	/* Threads have rows of their own. */
	ck_assert_uint_ne(epp_event_begin(session, EPP_NODE, name), 0);
	struct trace_scan *scan = recording_finish(session);
	size_t from = 0;
	for (unsigned i = 0; i < DEFINITIONS_TRACKS_MAX; i += 7)
		ck_assert_uint_eq(scan_next(scan, EPF_COMPLETE, 0, &from)->track, tracks[i]);
	for (unsigned i = 0; i < DEFINITIONS_TRACKS_MAX; i++)
		ck_assert_ptr_nonnull(scan_track(scan, tracks[i]));
	trace_scan_free(scan);
}
END_TEST

START_TEST(handed_over_while_the_pool_is_dry)
{
	epp_session *session = recording_start(NULL);
	struct storage *inside = recording_storage(session);
	epp_track a = make_track(session, EPP_CLOCK_HOST, 0), b = make_track(session, EPP_CLOCK_HOST, 0);
	uint64_t events = 0;
	pthread_mutex_lock(&inside->drain_lock);
	for (; LOAD_RELAXED(&inside->chunks.free) > 0 || epp_session_lost(session, EPP_LOSS_NO_BUFFER) < 50; events++)
		epp_event_record(session, events % 2 ? a : b, EPP_NODE, name, events, events, 1, NULL, 0);
	for (int i = 0; i < 10; i++)
		epp_clock_pair_add(session, a, 1, 2, 3);
	pthread_mutex_unlock(&inside->drain_lock);
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan_lost(scan, EPP_LOSS_NO_BUFFER), 50);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, name), events - 50);
	for (size_t i = 0; i < scan->records_count; i++)
		if (EPF_BITS_KIND(scan->records[i].bits) == EPF_COMPLETE)
			ck_assert_uint_eq(scan->records[i].track, scan->records[i].start_ticks % 2 ? a : b);
	trace_scan_free(scan);
}
END_TEST

/* ---- AddEvents ---- */

struct add {
	int32_t category;
	const char *name;
	int64_t timestamp_us, duration_us;
	bool kept;
};

static const struct add adds[] = {
	{ 2, "kernel", 0, 1, true },
	{ 0, "", 1, 0, true },
	{ 3, "touches the start", -5, 5, true },
	{ 2, NULL, 0, 1, false },
	{ 2, "negative duration", 0, -1, false },
	{ 4, "category 4", 0, 1, false },
	{ -1, "category -1", 0, 1, false },
	{ 2, "a little early, by a clock that drifts", -500000, 4, true },
	{ 2, "before the run", -1500000, 4, false },
	{ 2, "after the run", 3600000000, 1, false },
	{ 2, "beyond all time", 1, INT64_MAX, false },
	{ 2, "reaches beyond the run", 0, 3600000000, true },
};
#define ADDS (sizeof(adds) / sizeof(adds[0]))

static void add_events(struct profiler_double *self, OrtProfilingEventsContainer *container)
{
	char correlation[32], values[300][16], keys[300][16];
	const char *key_list[300] = { "ort_correlation_id", "key", NULL, "no value" };
	const char *value_list[300] = { correlation, "va\"lue", "no key", NULL };
	OrtProfilingEvent *events[ADDS + 2] = { NULL };
	snprintf(correlation, sizeof(correlation), "%llu", (unsigned long long)self->id);
	for (size_t i = 0; i < ADDS; i++)
		events[i] = ort_event_create(adds[i].category, -1, (int32_t)i % 2, adds[i].name, adds[i].timestamp_us,
		                             adds[i].duration_us, key_list, value_list, 4);
	for (int i = 0; i < 300; i++) {
		snprintf(keys[i], sizeof(keys[i]), "k%d", i);
		snprintf(values[i], sizeof(values[i]), "%d", i);
		key_list[i] = keys[i];
		value_list[i] = values[i];
	}
	events[ADDS] = ort_event_create(2, -1, 0, "300 args", 0, 0, key_list, value_list, 300);
	ck_assert_ptr_null(container->add(container, (const OrtProfilingEvent *const *)events, ADDS + 2));
	ck_assert_ptr_null(container->add(container, NULL, 0));
	OrtStatus *status = container->add(container, NULL, 3);
	ck_assert_ptr_nonnull(status);
	ort_status_release(status);
	for (size_t i = 0; i <= ADDS; i++)
		ort_event_destroy(events[i]);
}

START_TEST(added_events_are_checked)
{
	struct profiler_double a = double_make('a');
	epp_session *session = double_attached(&a, NULL, "adder");
	a.does[STEP_END_PROFILING] = add_events;
	check_ok(epp_session_start(session));
	uint64_t id = epp_event_begin(session, EPP_NODE, name);
	epp_event_end(session, id, NULL, 0);
	struct trace_scan *scan = recording_finish(session);
	size_t kept = 0, from = 0;
	for (size_t i = 0; i < ADDS; i++) {
		if (!adds[i].kept)
			continue;
		const struct scan_record *record = scan_next(scan, EPF_COMPLETE, 0, &from);
		ck_assert_msg(scan_name_is(scan, record->name, adds[i].name), "%s is called %s", adds[i].name,
		              epp_name_text(record->name));
		ck_assert_uint_eq(record->start_ticks, (uint64_t)adds[i].timestamp_us);
		ck_assert_uint_eq(record->duration_ticks, (uint64_t)adds[i].duration_us);
		ck_assert_uint_eq(scan_arg(record, EPF_NAME_PARENT)->value, id);
		ck_assert_mem_eq(scan_arg(record, key)->text, "va\"lue", 6);
		const struct epf_track *track = &scan_track(scan, record->track)->definition;
		ck_assert_uint_eq(track->clock_kind, EPF_TRACK_CLOCK_OFFSET_US);
		ck_assert_uint_eq(track->run, 1);
		ck_assert_int_eq(track->offset_ns, a.offset_ns);
		ck_assert_int_eq(track->producer, 0);
		ck_assert_str_eq(scan_track(scan, record->track)->group, "adder");
		kept++;
	}
	const struct scan_record *large = scan_next(scan, EPF_COMPLETE, 0, &from);
	ck_assert_uint_eq(large->args_count, 255);
	ck_assert_uint_eq(EPF_BITS_FLAGS(large->bits), EPF_FLAG_CUT);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, 0), kept + 1);
	const struct epf_producer *producer = &scan->producers[0];
	ck_assert_uint_eq(producer->emitted, ADDS + 2);
	ck_assert_uint_eq(producer->lost[EPP_LOSS_REFUSED], ADDS + 1 - kept);
	ck_assert_uint_eq(producer->lost[EPP_LOSS_TOO_LARGE], 1);
	trace_scan_free(scan);
}
END_TEST

static void add_one(struct profiler_double *self, OrtProfilingEventsContainer *container)
{
	(void)self;
	OrtProfilingEvent *event = ort_event_create(2, -1, -1, "one", 0, 0, NULL, NULL, 0);
	ck_assert_ptr_null(container->add(container, (const OrtProfilingEvent *const *)&event, 1));
	ort_event_destroy(event);
}

START_TEST(each_run_has_tracks_of_its_own)
{
	struct profiler_double a = double_make('a');
	epp_session *session = double_attached(&a, NULL, NULL);
	a.does[STEP_END_PROFILING] = add_one;
	for (int run = 0; run < 300; run++) {
		check_ok(epp_session_start(session));
		recording_end(session);
	}
	struct trace_scan *scan = recording_finish(session);
	ck_assert_uint_eq(scan_count(scan, EPF_COMPLETE, 0), 300);
	size_t from = 0;
	for (uint32_t run = 1; run <= 300; run++)
		ck_assert_uint_eq(scan_track(scan, scan_next(scan, EPF_COMPLETE, 0, &from)->track)->definition.run, run);
	ck_assert_uint_eq(scan->producers[0].emitted, 300);
	trace_scan_free(scan);
}
END_TEST

static Suite *submission_suite(void)
{
	Suite *suite = suite_create("handover");
	TCase *tcase = tcase_create("handover");
	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_test(tcase, tracks_and_what_stands_on_them);
	tcase_add_loop_test(tcase, tracks_of_devices_and_others, 0, 5);
	tcase_add_test(tcase, options_of_other_sizes);
	tcase_add_test(tcase, tracks_and_events_that_are_refused);
	tcase_add_test(tcase, as_many_tracks_as_there_may_be);
	tcase_add_test(tcase, handed_over_while_the_pool_is_dry);
	tcase_add_test(tcase, added_events_are_checked);
	tcase_add_test(tcase, each_run_has_tracks_of_its_own);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(submission_suite)
