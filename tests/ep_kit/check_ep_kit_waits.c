/* epp_ep_waited: a reported wait is an event of its thread, and limits the end of the work that it waited for. Without
 * a run or a token it does nothing.  The kit in an epprof host. */
#include <string.h>
#include <sys/syscall.h>

#include "epprof/ep.h"
#include "epprof/plugin.h"
#include "epprof/profiler.h"
#include "epprof/timeline.h"
#include "tests/support/recording.h"
#include "tests/support/valid_trace.h"

/* A device whose clock is the host's, but known to 50 ms only. */
static epp_ep_profiler kit;
static epp_session *session;
static uint64_t second;

static void set_up(void)
{
	second = epp_host_ticks_per_second();
	epp_ep_options options = { .struct_size = sizeof(options),
		                   .ort_api_base = epp_ort_api_base(),
		                   .ep_name = "EP",
		                   .ticks_per_second = second,
		                   .own_clock_pairs = 1 };
	ck_assert_ptr_null(epp_ep_profiler_init(&kit, &options));
	check_ok(epp_session_create(&(epp_session_options){ .struct_size = sizeof(epp_session_options) }, &session));
	check_ok(epp_session_attach(session, &kit.impl, "EP"));
	check_ok(epp_session_start(session));
}

static void let_pass(uint64_t ticks)
{
	for (uint64_t start = epp_host_ticks(); epp_host_ticks() - start < ticks;)
		;
}

/* A kernel under a node, which waits for it. */
static void launch_and_wait(bool tells)
{
	uint64_t node = epp_event_begin(session, EPP_NODE, epp_name_intern("node")), start = epp_host_ticks();
	uint64_t token = epp_ep_current(&kit), since = epp_ep_host_ticks(&kit);
	epp_ep_clock_pair(&kit, start, start, second / 20);
	let_pass(second / 10000);
	epp_ep_emit(&kit,
	            &(epp_ep_event){ .parent = token, .name = "kernel", .start_ticks = start, .end_ticks = start + 1 });
	if (tells)
		epp_ep_waited(&kit, token, since);
	epp_event_end(session, node, NULL, 0);
}

struct seen {
	unsigned kernels, waits, arrows;
	int64_t room_ns; /* from the node's begin to the wait's end */
	int64_t kernel_error_ns;
};

/* Ends the run and releases the session. */
static struct seen see(void)
{
	struct seen seen = { 0 };
	epp_timeline *timeline;
	const epp_event *event;
	int64_t node_start_ns = 0;
	recording_end(session);
	epp_trace *trace = recording_open(session);
	check_valid(trace);
	check_ok(epp_timeline_create(trace, NULL, &timeline));
	while (epp_timeline_next(timeline, &event)) {
		seen.arrows += event->kind == EPP_EVENT_FLOW;
		if (!strcmp(event->name, "node"))
			node_start_ns = event->start_ns;
		if (!strcmp(event->name, "wait")) {
			seen.waits++;
			seen.room_ns = event->start_ns + event->duration_ns - node_start_ns;
			ck_assert_uint_eq(event->category, EPP_API);
			ck_assert_int_eq(event->start_error_ns, 0);
			/* In its process, on the row of the thread that waited, inside what was open there. */
			ck_assert_uint_eq(event->track->kind, EPP_TRACK_THREAD);
			ck_assert_uint_eq(event->track->thread_id, (unsigned)syscall(SYS_gettid));
			ck_assert_uint_eq(event->lane, 0);
			ck_assert_uint_eq(event->depth, 1);
		}
		if (!strcmp(event->name, "kernel")) {
			seen.kernels++;
			seen.kernel_error_ns = event->end_error_ns;
		}
	}
	check_ok(epp_timeline_status(timeline));
	epp_timeline_destroy(timeline);
	epp_trace_close(trace);
	epp_session_destroy(session);
	return seen;
}

START_TEST(it_narrows_the_bound)
{
	set_up();
	launch_and_wait(_i);
	struct seen seen = see();
	ck_assert_uint_eq(seen.kernels, 1);
	ck_assert_uint_eq(seen.waits, (unsigned)_i);
	ck_assert_uint_eq(seen.arrows, (unsigned)_i);
	if (_i)
		ck_assert_int_le(seen.kernel_error_ns, seen.room_ns + 1);
	else
		ck_assert_int_ge(seen.kernel_error_ns, 50000000);
}
END_TEST

START_TEST(what_cannot_be_used_is_nothing)
{
	epp_ep_waited(NULL, 1, 1);
	set_up();
	epp_ep_waited(&kit, 0, 0);
	/* A beginning that is not known, and one that is behind the end. */
	uint64_t node = epp_event_begin(session, EPP_NODE, epp_name_intern("node"));
	epp_ep_waited(&kit, epp_ep_current(&kit), 0);
	epp_ep_waited(&kit, epp_ep_current(&kit), UINT64_MAX);
	epp_event_end(session, node, NULL, 0);
	check_ok(epp_session_end(session));
	check_ok(epp_session_wait(session, UINT64_MAX));
	epp_ep_waited(&kit, node, 0);
	struct seen seen = see();
	ck_assert_uint_eq(seen.waits, 2);
}
END_TEST

/* Ten times launch, wait, report, under one node: each wait covers the launches before it, none the later ones. */
START_TEST(often_under_one_node)
{
	epp_timeline *timeline;
	const epp_event *event;
	unsigned kernels = 0;

	set_up();
	uint64_t node = epp_event_begin(session, EPP_NODE, epp_name_intern("node")), token = epp_ep_current(&kit);
	for (int i = 0; i < 10; i++) {
		uint64_t since = epp_ep_host_ticks(&kit), start = epp_host_ticks();
		epp_ep_clock_pair(&kit, start, start, second / 1000000);
		let_pass(second / 10000);
		epp_ep_emit(&kit,
		            &(epp_ep_event){
				.parent = token, .name = "kernel", .start_ticks = start, .end_ticks = epp_host_ticks() });
		epp_ep_waited(&kit, token, since);
	}
	epp_event_end(session, node, NULL, 0);
	recording_end(session);
	epp_trace *trace = recording_open(session);
	check_valid(trace);
	check_ok(epp_timeline_create(trace, NULL, &timeline));
	while (epp_timeline_next(timeline, &event)) {
		kernels += !strcmp(event->name, "kernel");
		ck_assert_uint_eq(event->flags & (EPP_FLAG_OUTSIDE_PARENT | EPP_FLAG_AFTER_WAIT), 0);
	}
	check_ok(epp_timeline_status(timeline));
	ck_assert_uint_eq(kernels, 10);
	epp_timeline_destroy(timeline);
	epp_trace_close(trace);
	epp_session_destroy(session);
}
END_TEST

static Suite *waits_suite(void)
{
	Suite *suite = suite_create("ep_kit_waits");
	TCase *tcase = tcase_create("waits");
	tcase_add_loop_test(tcase, it_narrows_the_bound, 0, 2);
	tcase_add_test(tcase, what_cannot_be_used_is_nothing);
	tcase_add_test(tcase, often_under_one_node);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(waits_suite)
