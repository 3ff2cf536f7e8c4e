/* What an EP with the kit tells beside events, in a trace of libepprof: names of devices and streams, counters,
 * measured times of submission, copies, flows between queues. */
#include <string.h>

#include "epprof/ep.h"
#include "epprof/plugin.h"
#include "epprof/profiler.h"
#include "epprof/summary.h"
#include "epprof/timeline.h"
#include "tests/support/recording.h"
#include "tests/support/valid_trace.h"

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
}

static void start(void)
{
	check_ok(epp_session_start(session));
	uint64_t now = epp_host_ticks();
	epp_ep_clock_pair(&kit, now, now, 1);
}

static void let_pass(uint64_t ticks)
{
	for (uint64_t start = epp_host_ticks(); epp_host_ticks() - start < ticks;)
		;
}

static epp_timeline *timeline;
static epp_trace *trace;

static void open_timeline(void)
{
	recording_end(session);
	trace = recording_open(session);
	check_valid(trace);
	check_ok(epp_timeline_create(trace, NULL, &timeline));
}

static void close_timeline(void)
{
	check_ok(epp_timeline_status(timeline));
	epp_timeline_destroy(timeline);
	epp_trace_close(trace);
	epp_session_destroy(session);
}

static void emit(const char *name, int32_t device, int64_t stream)
{
	uint64_t now = epp_host_ticks();
	epp_ep_emit(&kit, &(epp_ep_event){
			      .name = name, .start_ticks = now, .end_ticks = now + 1, .device = device, .stream = stream });
}

START_TEST(names)
{
	static const struct {
		const char *event, *group, *name;
	} expected[] = {
		{ "a", "Card", "copies" },          { "b", "Card", "stream 1" }, { "c", "Card (device 1)", "copies" },
		{ "d", "EP device 2", "stream 0" }, { "e", "Late", "later" },
	};
	const epp_event *event;
	unsigned count = 0;
	set_up();
	epp_ep_stream_name_set(&kit, 0, 0, "copies");
	epp_ep_device_name_set(&kit, 0, "Card");
	epp_ep_device_name_set(&kit, 1, "Card");
	epp_ep_stream_name_set(&kit, 1, 0, "copies");
	start();
	emit("a", 0, 0);
	emit("b", 0, 1);
	emit("c", 1, 0);
	emit("d", 2, 0);
	epp_ep_device_name_set(&kit, 3, "Late");
	epp_ep_stream_name_set(&kit, 3, 0, "later");
	emit("e", 3, 0);
	open_timeline();
	while (epp_timeline_next(timeline, &event)) {
		for (size_t i = 0; i < 5; i++) {
			if (strcmp(event->name, expected[i].event) != 0)
				continue;
			count++;
			ck_assert_str_eq(event->track->group, expected[i].group);
			ck_assert_str_eq(event->track->name, expected[i].name);
		}
	}
	ck_assert_uint_eq(count, 5);
	close_timeline();
}
END_TEST

START_TEST(counters)
{
	const epp_event *event;
	unsigned count = 0;
	set_up();
	epp_ep_device_name_set(&kit, 0, "Card");
	start();
	uint64_t at = epp_host_ticks();
	let_pass(second / 1000);
	epp_ep_counter_record(&kit,
	                      &(epp_ep_counter){ .name = "power", .type = EPP_EP_F64, .f64 = 12.5, .host_ticks = at });
	epp_ep_counter_record(&kit, &(epp_ep_counter){ .name = "memory", .type = EPP_EP_U64, .u64 = 1024 });
	/* Before the run, in the future, without a name, of an unknown type. */
	epp_ep_counter_record(&kit, &(epp_ep_counter){ .name = "bad", .host_ticks = 1 });
	epp_ep_counter_record(&kit, &(epp_ep_counter){ .name = "bad", .host_ticks = at + 1000 * second });
	epp_ep_counter_record(&kit, &(epp_ep_counter){ .name = NULL });
	epp_ep_counter_record(&kit, &(epp_ep_counter){ .name = "bad", .type = 3 });
	open_timeline();
	while (epp_timeline_next(timeline, &event)) {
		epp_trace_arg arg;
		size_t cursor = 0;
		if (event->kind != EPP_EVENT_COUNTER)
			continue;
		count++;
		ck_assert_str_eq(event->track->group, "Card");
		ck_assert_int_eq(event->track->device, 0);
		ck_assert(epp_event_args(timeline, event, &cursor, &arg));
		if (!strcmp(event->name, "power")) {
			ck_assert_uint_eq(event->start_ticks, at);
			ck_assert_uint_eq(arg.type, EPP_ARG_F64);
			ck_assert(arg.value.f64 == 12.5);
		} else {
			ck_assert_str_eq(event->name, "memory");
			ck_assert_uint_eq(event->start_ticks > at, 1);
			ck_assert_uint_eq(arg.type, EPP_ARG_U64);
			ck_assert_uint_eq(arg.value.u64, 1024);
		}
	}
	ck_assert_uint_eq(count, 2);
	ck_assert_uint_eq(epp_session_lost(session, EPP_LOSS_NO_BUFFER), 0);
	close_timeline();
}
END_TEST

START_TEST(times_of_submission)
{
	const epp_event *event;
	unsigned count = 0;
	set_up();
	start();
	uint64_t node = epp_event_begin(session, EPP_NODE, epp_name_intern("node"));
	uint64_t ms = second / 1000, token = epp_ep_current(&kit);
	let_pass(10 * ms);
	uint64_t submit = epp_ep_host_ticks(&kit);
	let_pass(9 * ms);
	epp_ep_event kernel = { .parent = token,
		                .name = "both",
		                .start_ticks = submit + 5 * ms,
		                .end_ticks = submit + 6 * ms,
		                .submit_host_ticks = submit,
		                .queue_ticks = submit + 2 * ms };
	epp_ep_emit(&kit, &kernel);
	kernel.name = "submit only";
	kernel.queue_ticks = 0;
	epp_ep_emit(&kit, &kernel);
	kernel.name = "queue only";
	kernel.submit_host_ticks = 0;
	kernel.queue_ticks = submit + 2 * ms;
	epp_ep_emit(&kit, &kernel);
	kernel.name = "none";
	kernel.queue_ticks = 0;
	epp_ep_emit(&kit, &kernel);
	epp_event_end(session, node, NULL, 0);
	open_timeline();
	while (epp_timeline_next(timeline, &event)) {
		bool has_submit = !strcmp(event->name, "both") || !strcmp(event->name, "submit only");
		bool has_queue = !strcmp(event->name, "both") || !strcmp(event->name, "queue only");
		unsigned args = 0;
		epp_trace_arg arg;
		size_t cursor = 0;
		if (event->category != EPP_KERNEL)
			continue;
		count++;
		if (has_submit)
			ck_assert_int_le(llabs(event->start_ns - event->launch_ns - 5000000), 2000);
		else
			ck_assert_int_eq(event->launch_ns, event->parent_start_ns);
		if (has_queue)
			ck_assert_int_le(llabs(event->start_ns - event->queue_ns - 3000000), 2000);
		else
			ck_assert_int_eq(event->queue_ns, INT64_MIN);
		while (epp_event_args(timeline, event, &cursor, &arg)) {
			int64_t since_ns = !strcmp(arg.key, "launch_ns") ? event->launch_ns : event->queue_ns;
			ck_assert(!strcmp(arg.key, "launch_ns") || !strcmp(arg.key, "queue_ns"));
			ck_assert_int_eq(arg.value.i64, event->start_ns - since_ns);
			args++;
		}
		ck_assert_uint_eq(args, has_submit + has_queue);
	}
	ck_assert_uint_eq(count, 4);
	close_timeline();
}
END_TEST

START_TEST(summary_of_copies_and_phases)
{
	static const uint32_t copies[] = { EPP_EP_HOST_TO_DEVICE, EPP_EP_DEVICE_TO_HOST, EPP_EP_DEVICE_TO_DEVICE,
		                           EPP_EP_FILL };
	static const char *const kinds[] = { "copy in", "copy out", "copy", "fill" };
	set_up();
	start();
	uint64_t us = second / 1000000, submit = epp_ep_host_ticks(&kit);
	let_pass(second / 100);
	for (unsigned i = 0; i < 4; i++) {
		uint64_t begin = submit + 1000 * us + i * 100 * us;
		epp_ep_emit(&kit, &(epp_ep_event){ .name = "dma", /* the same name for all */
		                                   .start_ticks = begin,
		                                   .end_ticks = begin + 10 * us,
		                                   .copy = copies[i],
		                                   .bytes = 1000 + i,
		                                   .submit_host_ticks = begin - 50 * us,
		                                   .queue_ticks = begin - 30 * us });
	}
	recording_end(session);
	trace = recording_open(session);
	epp_summary *summary;
	check_ok(epp_summary_create(trace, NULL, &summary));
	size_t lines_count;
	unsigned found = 0;
	for (size_t at = 0; at < (lines_count = epp_summary_lines_count(summary, EPP_BY_PHASE)); at++) {
		const epp_summary_line *line = epp_summary_line_at(summary, EPP_BY_PHASE, at);
		for (unsigned i = 0; i < 4; i++) {
			if (strcmp(line->name, kinds[i]) != 0)
				continue;
			found++;
			ck_assert_uint_eq(line->count, 1);
			ck_assert_uint_eq(line->bytes, 1000 + i);
		}
		if (!strcmp(line->name, "submit"))
			ck_assert_int_le(llabs(line->total_ns - 80000), 400);
		if (!strcmp(line->name, "queue"))
			ck_assert_int_le(llabs(line->total_ns - 120000), 400);
		found += !strcmp(line->name, "submit") || !strcmp(line->name, "queue");
	}
	ck_assert_uint_eq(found, 6);
	epp_summary_destroy(summary);
	epp_trace_close(trace);
	epp_session_destroy(session);
}
END_TEST

/* Two ends of one begin; an end that comes before its begin; an end without one. */
START_TEST(flows)
{
	static const struct {
		const char *name;
		uint64_t begin, end;
	} events[] = { { "wait early", 0, 2 }, { "signal", 1, 0 },      { "wait a", 0, 1 },
		       { "wait b", 0, 1 },     { "late signal", 2, 0 }, { "never", 0, 9 } };
	const epp_event *event;
	uint64_t ids[6] = { 0 }, from_ids[8], tos[8];
	unsigned count = 0;
	set_up();
	start();
	for (unsigned i = 0; i < 6; i++) {
		uint64_t now = epp_host_ticks();
		epp_ep_emit(&kit, &(epp_ep_event){ .name = events[i].name,
		                                   .start_ticks = now,
		                                   .end_ticks = now + 1,
		                                   .stream = i,
		                                   .flow_begin = events[i].begin,
		                                   .flow_end = events[i].end });
	}
	open_timeline();
	while (epp_timeline_next(timeline, &event)) {
		for (unsigned i = 0; i < 6; i++) {
			if (!strcmp(event->name, events[i].name)) {
				ids[i] = event->id;
				ck_assert_uint_eq(event->args_count, 0);
				ck_assert_uint_eq((event->flags & EPP_FLAG_FLOW) != 0, i != 5);
			}
		}
		if (event->kind == EPP_EVENT_FLOW) {
			ck_assert_uint_lt(count, 8);
			from_ids[count] = event->parent;
			tos[count++] = event->id;
		}
	}
	ck_assert_uint_eq(count, 3);
	ck_assert(from_ids[0] == ids[1] && tos[0] == ids[2]);
	ck_assert(from_ids[1] == ids[1] && tos[1] == ids[3]);
	ck_assert(from_ids[2] == ids[4] && tos[2] == ids[0]);
	close_timeline();
}
END_TEST

static void flow_event(const char *name, uint64_t begin, uint64_t end)
{
	uint64_t now = epp_host_ticks();
	epp_ep_emit(&kit,
	            &(epp_ep_event){
			.name = name, .start_ticks = now, .end_ticks = now + 1, .flow_begin = begin, .flow_end = end });
}

/* Numbers start anew with each run. */
START_TEST(flows_of_two_runs_with_one_number)
{
	const epp_event *event;
	uint64_t signals[2] = { 0 }, waits[2] = { 0 };
	unsigned count = 0;
	set_up();
	start();
	flow_event("signal 0", 7, 0);
	flow_event("wait 0", 0, 7);
	recording_end(session);
	start();
	flow_event("wait 1", 0, 7);
	flow_event("signal 1", 7, 0);
	open_timeline();
	while (epp_timeline_next(timeline, &event)) {
		for (unsigned i = 0; i < 2; i++) {
			signals[i] = !strncmp(event->name, "signal", 6) && event->name[7] == '0' + (char)i ? event->id
			                                                                                   : signals[i];
			waits[i] = !strncmp(event->name, "wait", 4) && event->name[5] == '0' + (char)i ? event->id
			                                                                               : waits[i];
		}
		if (event->kind != EPP_EVENT_FLOW)
			continue;
		ck_assert_uint_lt(count, 2);
		ck_assert_uint_eq(event->parent, signals[count]);
		ck_assert_uint_eq(event->id, waits[count]);
		count++;
	}
	ck_assert_uint_eq(count, 2);
	close_timeline();
}
END_TEST

static Suite *recorded_suite(void)
{
	Suite *suite = suite_create("ep_kit_recorded");
	TCase *tcase = tcase_create("recorded");
	tcase_add_test(tcase, names);
	tcase_add_test(tcase, counters);
	tcase_add_test(tcase, times_of_submission);
	tcase_add_test(tcase, summary_of_copies_and_phases);
	tcase_add_test(tcase, flows);
	tcase_add_test(tcase, flows_of_two_runs_with_one_number);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(recorded_suite)
