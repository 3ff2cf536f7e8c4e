/* Host events that another profiler timed, and parents that were named behind their events: recorded, read, packed and
 * merged. Covers timeline/late_parents.c. */
#include "epprof/trace_writer.h"
#include "epprof/track.h"
#include "tests/support/merging.h"
#include "tests/support/recording.h"
#include "timeline/late_parents.h"

#define KERNELS_COUNT 1000u

static epp_name name_of(const char *format, unsigned number)
{
	char text[32];
	snprintf(text, sizeof(text), format, number);
	return epp_name_intern(text);
}

/* An operation with an inner one for each kernel; kernels know no parent.  The parents are named last. */
static char *record(void)
{
	char *path = check_path("parents.epp");
	epp_session *session = recording_start(path);
	epp_track thread, again, device;
	static uint64_t kernels[KERNELS_COUNT];
	epp_track_options options = {
		.struct_size = sizeof(options), .name = "stream", .group = "device", .device = 0, .clock_kind = EPP_CLOCK_HOST
	};

	check_ok(epp_track_create_thread(session, 4711, "worker", &thread));
	check_ok(epp_track_create_thread(session, 4711, "worker", &again));
	check_ok(epp_track_create(session, &options, &device));
	epp_thread_set_waiting(session);
	uint64_t now = epp_host_ticks();
	for (unsigned i = 0; i < KERNELS_COUNT; i++) {
		kernels[i] = epp_event_record(session, device, EPP_KERNEL, name_of("kernel %u", i), now + i * 100 + 20,
		                              now + i * 100 + 30, 0, NULL, 0);
		ck_assert_uint_ne(kernels[i], 0);
	}
	/* The two begin at the same tick. */
	ck_assert(epp_event_record(session, thread, EPP_SESSION, name_of("step", 0), now, now + KERNELS_COUNT * 100, 0,
	                           NULL, 0));
	for (unsigned i = 0; i < KERNELS_COUNT; i++) {
		uint64_t id = epp_event_record(session, i % 2 ? again : thread, EPP_NODE, name_of("op %u", i),
		                               now + i * 100, now + i * 100 + 50, 0, NULL, 0);
		epp_event_set_parent(session, kernels[i], id);
		epp_event_set_parent(session, 0, id);
		epp_event_set_parent(session, id, 0);
	}
	ck_assert_uint_eq(epp_event_record(session, thread, EPP_NODE, name_of("backwards", 0), 9, 8, 0, NULL, 0), 0);
	recording_end(session);
	epp_session_destroy(session);
	return path;
}

static void look_at(epp_trace *trace)
{
	struct merged_events events = merged_events(trace);
	unsigned kernels = 0;

	ck_assert_uint_eq(events.count, 2 * KERNELS_COUNT + 1); /* and no arrow */
	const epp_event *step = merged_find(&events, 0, "step");
	ck_assert_uint_eq(step->track->thread_id, 4711);
	ck_assert_uint_eq(step->depth, 0);
	for (size_t i = 0; i < events.count; i++) {
		const epp_event *event = &events.list[i].event;
		char op[32];
		if (strncmp(event->name, "kernel", 6) != 0)
			continue;
		snprintf(op, sizeof(op), "op %s", event->name + 7);
		const epp_event *parent = merged_find(&events, 0, op);
		ck_assert_uint_eq(event->parent, parent->id);
		ck_assert_int_eq(event->parent_start_ns, parent->start_ns);
		ck_assert(!(event->flags & EPP_FLAG_UNCORRELATED));
		ck_assert(parent->flags & EPP_FLAG_REFERENCED);
		ck_assert_str_eq(parent->track->name, "worker");
		/* The events of both tracks are on the thread's row. */
		ck_assert_ptr_eq(parent->track, step->track);
		kernels++;
	}
	ck_assert_uint_eq(kernels, KERNELS_COUNT);
	free(events.list);
}

START_TEST(are_read)
{
	epp_trace *trace = open_valid(record());
	look_at(trace);
	epp_trace_close(trace);
}
END_TEST

START_TEST(are_read_of_a_session_that_records)
{
	epp_session *session = recording_start(NULL);
	epp_track thread;
	epp_trace *trace;

	check_ok(epp_track_create_thread(session, 0, NULL, &thread));
	uint64_t op = epp_event_record(session, thread, EPP_NODE, name_of("op", 0), 5, 9, 0, NULL, 0);
	ck_assert_uint_ne(op, 0);
	check_ok(epp_trace_open_session(session, &trace));
	struct merged_events events = merged_events(trace);
	ck_assert_uint_eq(merged_find(&events, 0, "op")->id, op);
	free(events.list);
	epp_trace_close(trace);
	trace_scan_free(recording_finish(session));
}
END_TEST

START_TEST(are_packed)
{
	const char *path = record(), *packed = check_path("packed.epp");
	epp_trace *trace = open_valid(path);

	check_ok(epp_trace_pack(trace, packed, 1));
	epp_trace_close(trace);
	trace = open_valid(packed);
	look_at(trace);
	epp_trace_close(trace);
}
END_TEST

START_TEST(are_merged)
{
	char *path = record();
	epp_trace *trace = merging(check_path("merged.epp"), NULL, path);

	look_at(trace);
	epp_trace_close(trace);
}
END_TEST

START_TEST(are_told_apart_by_their_source)
{
	struct parents parents = { 0 };

	ck_assert_uint_eq(parents_find(&parents, 0, 1), 0);
	for (uint64_t i = 1000; i > 0; i--)
		check_ok(parents_add(&parents, i % 3, i, i + 1));
	parents_seal(&parents);
	for (uint64_t i = 1; i <= 1000; i++)
		for (uint32_t source = 0; source < 4; source++)
			ck_assert_uint_eq(parents_find(&parents, source, i), i % 3 == source ? i + 1 : 0);
	parents_deinit(&parents);
	ck_assert_uint_eq(parents_find(&parents, 0, 1), 0);
}
END_TEST

static Suite *parents_suite(void)
{
	Suite *suite = suite_create("late_parents");
	TCase *cases = tcase_create("late_parents");

	tcase_add_test(cases, are_read);
	tcase_add_test(cases, are_read_of_a_session_that_records);
	tcase_add_test(cases, are_packed);
	tcase_add_test(cases, are_merged);
	tcase_add_test(cases, are_told_apart_by_their_source);
	suite_add_tcase(suite, cases);
	return suite;
}

CHECK_MAIN(parents_suite)
