/* The host's clock misbehaves while a session records: a thread moves to a processor whose counter is behind, the time
 * of day is set, the machine sleeps, the counter begins anew.  Covers the way from clock to timeline and validate. */
#include "base/clock.h"
#include "base/helper.h"
#include "epprof/timeline.h"
#include "epprof/trace_reader.h"
#include "tests/support/export_text.h"
#include "tests/support/recording.h"

static _Atomic uint64_t ticks;
static _Atomic int64_t monotonic_off, realtime_off;

static uint64_t injected_ticks(void)
{
	return ticks;
}

static void injected_pair(struct epf_host_pair *pair)
{
	uint64_t now = ticks;
	*pair = (struct epf_host_pair){ .ticks = now,
		                        .half_width_ticks = 20,
		                        .monotonic_ns = (int64_t)now + monotonic_off,
		                        .realtime_ns = (int64_t)now + monotonic_off + realtime_off };
}

static void set_up(void)
{
	clock_setup();
	ticks = 5000000000;
	monotonic_off = 0;
	realtime_off = 1700000000000000000;
	clock_inject(injected_ticks, 1000000000, injected_pair);
}

static void tear_down(void)
{
	clock_inject(NULL, 0, NULL);
}

static struct {
	unsigned warnings, errors;
	char text[256];
} found;

static void keep(void *unused, const epp_trace_finding *finding)
{
	(void)unused;
	found.errors += finding->severity == EPP_ERROR;
	if (finding->severity == EPP_WARNING && !found.warnings++)
		snprintf(found.text, sizeof(found.text), "%s", finding->text);
}

/* The trace of a session that ended; validate finds this many things, none of which is an error. */
static epp_trace *open_trace(epp_session *session, uint64_t *warnings)
{
	epp_trace *trace;
	recording_end(session);
	check_ok(epp_trace_open_session(session, &trace));
	found.warnings = found.errors = 0;
	check_ok(epp_trace_validate(trace, keep, NULL, warnings));
	ck_assert_uint_eq(found.errors, 0);
	return trace;
}

static void event_at(epp_session *session, const char *name, uint64_t start, uint64_t end)
{
	ticks = start;
	uint64_t id = epp_event_begin(session, EPP_NODE, epp_name_intern(name));
	ticks = end;
	epp_event_end(session, id, NULL, 0);
}

struct seen {
	epp_event events[8];
	unsigned count;
};

static struct seen see(epp_trace *trace)
{
	struct seen seen = { .count = 0 };
	epp_timeline *timeline;
	const epp_event *event;
	check_ok(epp_timeline_create(trace, NULL, &timeline));
	while (epp_timeline_next(timeline, &event)) {
		ck_assert_uint_lt(seen.count, 8);
		seen.events[seen.count++] = *event;
	}
	check_ok(epp_timeline_status(timeline));
	epp_timeline_destroy(timeline);
	return seen;
}

START_TEST(an_event_ends_on_a_processor_that_is_behind)
{
	epp_session *session = recording_start(NULL);
	uint64_t begin = ticks, warnings;
	event_at(session, "moves", begin + 1000, begin + 960);
	event_at(session, "stays", begin + 2000, begin + 2500);
	ticks = begin + 10000;
	epp_trace *trace = open_trace(session, &warnings);
	ck_assert_uint_eq(warnings, 1);
	ck_assert_msg(strstr(found.text, "ends 40 ticks before it begins") != NULL, "%s", found.text);
	struct seen seen = see(trace);
	ck_assert_uint_eq(seen.count, 2);
	ck_assert_int_eq(seen.events[0].start_ns, 1000);
	ck_assert_int_eq(seen.events[0].duration_ns, 0);
	ck_assert_int_eq(seen.events[1].start_ns, 2000);
	ck_assert_int_eq(seen.events[1].duration_ns, 500);
	epp_trace_close(trace);
	epp_session_destroy(session);
}
END_TEST

/* Nothing goes by the time of day but the epoch, and the step is told. */
START_TEST(the_time_of_day_is_set)
{
	epp_session *session = recording_start(NULL);
	uint64_t begin = ticks, warnings;
	event_at(session, "before", begin + 1000, begin + 2000);
	realtime_off -= 3600000000000;
	event_at(session, "behind", begin + 200000000, begin + 200001000);
	epp_trace *trace = open_trace(session, &warnings);
	ck_assert_uint_eq(warnings, 0);
	struct seen seen = see(trace);
	ck_assert_int_eq(seen.events[1].start_ns, 200000000);
	ck_assert_int_eq(seen.events[1].start_error_ns, 0);
	epp_trace_clock clock = { .struct_size = sizeof(clock) };
	epp_trace_get_clock(trace, &clock);
	ck_assert_int_eq(clock.largest_step_ns, 3600000000000);
	ck_assert_int_eq(epp_trace_get_info(trace)->epoch_unix_ns, 1700000000000000000 + 5000000000);
	epp_trace_close(trace);
	epp_session_destroy(session);
}
END_TEST

/* A pair is due: the helper reads it in the next visit that begins. */
static void let_the_helper_read(void)
{
	for (uint64_t visits = helper_visits(); helper_visits() < visits + 2;) {
		helper_wake();
		recording_sleep_ms(1);
	}
}

/* Asleep for 60 s: the counter went on, CLOCK_MONOTONIC did not.  What lies in between claims no more than it may. */
START_TEST(the_machine_sleeps)
{
	epp_session *session = recording_start(NULL);
	uint64_t begin = ticks, warnings;
	event_at(session, "before", begin + 1000, begin + 2000);
	ticks = begin + 150000000;
	let_the_helper_read();
	event_at(session, "around", begin + 160000000, begin + 60000000000);
	monotonic_off -= 59000000000;
	ticks = begin + 61000000000;
	epp_trace *trace = open_trace(session, &warnings);
	ck_assert_uint_ge(warnings, 1);
	struct seen seen = see(trace);
	ck_assert_uint_eq(seen.count, 2);
	ck_assert_int_eq(seen.events[0].start_error_ns, 0);
	/* 1.85 s of CLOCK_MONOTONIC passed between the pairs around the sleep. */
	ck_assert_int_eq(seen.events[1].start_error_ns, 1850000000);
	ck_assert_int_eq(seen.events[1].end_error_ns, 1850000000);
	/* Of host events as well every format tells it. */
	static const char *const formats[] = { "chrome", "kineto", "ort", "ndjson" };
	for (unsigned i = 0; i < 4; i++) {
		struct export_text text;
		export_text_make(&text, trace, formats[i], NULL);
		ck_assert_msg(strstr(text.bytes, "\"start_error_ns\":1850000000") ||
		                  strstr(text.bytes, "\"start_error_ns\":\"1850000000\"") ||
		                  strstr(text.bytes, "\"start_error_ns\" : \"1850000000\""),
		              "%s: %s", formats[i], text.bytes);
		export_text_free(&text);
	}
	struct export_text text;
	export_text_make(&text, trace, "csv", NULL);
	ck_assert_ptr_nonnull(strstr(text.bytes, ",1850000000,1850000000,"));
	export_text_free(&text);
	epp_trace_close(trace);
	epp_session_destroy(session);
}
END_TEST

static Suite *clock_moves_suite(void)
{
	Suite *suite = suite_create("clock moves");
	TCase *tests = tcase_create("clock moves");
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, an_event_ends_on_a_processor_that_is_behind);
	tcase_add_test(tests, the_time_of_day_is_set);
	tcase_add_test(tests, the_machine_sleeps);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(clock_moves_suite)
