/* What tracks are: threads, streams of devices, and the calls that plugins report of threads; and what a summary makes
 * of them. */
#include "trace/reader.h"

#include <string.h>

#include "epprof/summary.h"
#include "epprof/trace_writer.h"
#include "tests/support/reader_asserts.h"

#define AT(ns) (BUILDER_START + (uint64_t)(ns))

static struct epp_builder *builder;
static epp_trace *trace;

static void set_up(void)
{
	builder = builder_create();
	builder_producer(builder, 0, "vendor");
	builder_producer(builder, 1, "other");
}

static void tear_down(void)
{
	epp_trace_close(trace);
	trace = NULL;
	builder_destroy(builder);
}

static uint32_t calls_of(int32_t producer, int64_t thread, const char *name)
{
	const struct epf_track definition = { .kind = EPF_TRACK_DEVICE, .device = -1, .stream = thread, .producer = producer };
	return builder_track(builder, &definition, name, "vendor");
}

static const epp_trace_track *track(uint32_t number)
{
	const epp_trace_track *found = epp_trace_track_find(trace, number);
	ck_assert_ptr_nonnull(found);
	return found;
}

static void must_be_calls(uint32_t number, uint32_t thread_id, uint32_t thread, const char *name)
{
	const epp_trace_track *found = track(number);
	ck_assert_uint_eq(found->kind, EPP_TRACK_CALLS);
	ck_assert_uint_eq(found->thread_id, thread_id);
	ck_assert_ptr_eq(found->thread, thread ? track(thread) : NULL);
	ck_assert_str_eq(found->name, name);
	ck_assert_str_eq(found->group, "builder");
}

static void open_trace(void)
{
	trace = builder_open(builder, EPF_FINISHED);
}

START_TEST(a_thread_without_a_name_has_its_number)
{
	uint32_t unnamed = builder_thread(builder, "", 11), calls = calls_of(0, 11, ""),
		 unknown = builder_thread(builder, "", 0);
	open_trace();
	ck_assert_str_eq(track(unnamed)->name, "thread 11");
	ck_assert_str_eq(track(calls)->name, "thread 11: calls of vendor");
	ck_assert_str_eq(track(unknown)->name, "");
}
END_TEST

START_TEST(calls_belong_to_their_thread)
{
	snprintf(builder_header(builder)->source.program, sizeof(builder_header(builder)->source.program), "builder");
	uint32_t known = calls_of(0, 11, "thread 11"), other = calls_of(1, 11, "thread 11");
	uint32_t main_thread = builder_thread(builder, "main", 11);
	uint32_t stranger = calls_of(0, 12, "python/12"), far = calls_of(0, 1ll << 40, "far");
	uint32_t stream = builder_device(builder, "stream 0", "vendor device 0", 0, 0, EPF_TRACK_CLOCK_HOST);
	uint32_t clock = calls_of(0, -1, "clock");
	open_trace();
	must_be_calls(known, 11, main_thread, "main: calls of vendor");
	must_be_calls(other, 11, main_thread, "main: calls of other");
	must_be_calls(stranger, 12, 0, "python/12: calls of vendor");
	must_be_calls(far, 0, 0, "far: calls of vendor");
	ck_assert_uint_eq(track(stream)->kind, EPP_TRACK_DEVICE);
	ck_assert_uint_eq(track(clock)->kind, EPP_TRACK_DEVICE);
	ck_assert_ptr_eq(track(main_thread)->thread, track(main_thread));
	ck_assert_str_eq(epp_track_kind_name(EPP_TRACK_CALLS), "calls");
	ck_assert_str_eq(epp_track_kind_name(EPP_TRACK_KIND_COUNT), "unknown");
}
END_TEST

START_TEST(devices_of_one_name_name_their_plugin)
{
	static const char *const groups[] = { "GPU", "GPU", "GPU", "vendor 0", "vendor 0", "alone" };
	static const char *const expected[] = { "GPU (vendor)", "GPU (other)",      "GPU (vendor)",
		                                "vendor 0",     "vendor 0 (other)", "alone" };
	uint32_t tracks[6];
	for (int i = 0; i < 6; i++) {
		const struct epf_track definition = { .kind = EPF_TRACK_DEVICE, .stream = i, .producer = i % 3 % 2 };
		tracks[i] = builder_track(builder, &definition, "stream", groups[i]);
	}
	open_trace();
	for (int i = 0; i < 6; i++)
		ck_assert_str_eq(track(tracks[i])->group, expected[i]);
	ck_assert_str_eq(epp_trace_track_plugin(trace, track(tracks[1])), "other");
	ck_assert_ptr_null(epp_trace_track_plugin(trace, &(epp_trace_track){ .producer = -1 }));
	ck_assert_ptr_null(epp_trace_track_plugin(trace, &(epp_trace_track){ .producer = 1000 }));
}
END_TEST

/* ONNX Runtime's process number is -1 for device 0 and for no device. */
START_TEST(onnx_runtime_numbers_devices_from_minus_one)
{
	uint32_t first = builder_device(builder, "stream 3", "vendor", -1, 3, EPF_TRACK_CLOCK_OFFSET_US);
	uint32_t second = builder_device(builder, "stream 3", "vendor", -2, 3, EPF_TRACK_CLOCK_OFFSET_US);
	struct epf_track definition = { .kind = EPF_TRACK_CUSTOM,
		                        .clock_kind = EPF_TRACK_CLOCK_OFFSET_US,
		                        .ticks_per_second = 1000000,
		                        .device = -1,
		                        .run = 1 };
	definition.stream = 3;
	uint32_t nobody = builder_track(builder, &definition, "stream 3", "vendor");
	definition.stream = 11;
	uint32_t somebody = builder_track(builder, &definition, "stream 11", "vendor");
	uint32_t main_thread = builder_thread(builder, "main", 11);
	open_trace();
	ck_assert_int_eq(track(first)->device, 0);
	ck_assert_int_eq(track(second)->device, 1);
	ck_assert_uint_eq(track(first)->kind, EPP_TRACK_DEVICE);
	ck_assert_uint_eq(track(nobody)->kind, EPP_TRACK_CALLS);
	ck_assert_uint_eq(track(nobody)->thread_id, 0);
	ck_assert_uint_eq(track(somebody)->thread_id, 11);
	ck_assert_ptr_eq(track(somebody)->thread, track(main_thread));
}
END_TEST

/* A track for each run; the events are all on the first.  A number that another thread had is another thread's. */
START_TEST(a_thread_is_one_track)
{
	uint32_t first = builder_thread(builder, "main", 11);
	uint32_t other = builder_thread(builder, "loader", 11);
	uint32_t second = builder_thread(builder, "main", 11);
	epp_name name = builder_name(builder, "node");
	builder_event(builder, first, AT(100), 50, EPP_NODE, name, NULL, 0);
	builder_event(builder, other, AT(200), 50, EPP_NODE, name, NULL, 0);
	builder_event(builder, second, AT(300), 50, EPP_NODE, name, NULL, 0);
	const uint32_t expected[] = { first, other, first };
	open_trace();
	epp_timeline *timeline;
	const epp_event *event;
	size_t count = 0;
	check_ok(epp_timeline_create(trace, NULL, &timeline));
	for (; epp_timeline_next(timeline, &event); count++)
		ck_assert_uint_eq(event->track->track, expected[count]);
	ck_assert_uint_eq(count, 3);
	epp_timeline_destroy(timeline);
}
END_TEST

/* Calls are host work: an op and a part of their thread's time, no kernel, no stream that idles, no compute. */
START_TEST(a_summary_counts_calls_for_the_host)
{
	uint32_t main_thread = builder_thread(builder, "main", 11);
	uint32_t calls = calls_of(0, 11, "thread 11");
	uint32_t stream = builder_device(builder, "stream 0", "vendor device 0", 0, 0, EPF_TRACK_CLOCK_HOST);
	uint64_t node = builder_event(builder, main_thread, AT(100), 100, EPP_NODE, builder_name(builder, "node"), NULL, 0);
	builder_complete(builder, calls, AT(110), 20, EPP_API, builder_name(builder, "launch"), node, NULL, 0);
	builder_complete(builder, stream, AT(140), 30, EPP_KERNEL, builder_name(builder, "gemm"), node, NULL, 0);
	open_trace();
	epp_summary *summary;
	check_ok(epp_summary_create(trace, NULL, &summary));
	const epp_summary_totals *totals = epp_summary_get_totals(summary);
	ck_assert_uint_eq(totals->host_events, 2);
	ck_assert_uint_eq(totals->device_events, 1);
	ck_assert_uint_eq(totals->counts->correlated, 1);
	ck_assert_uint_eq(totals->counts->uncorrelated, 0);
	ck_assert_uint_eq(epp_summary_lines_count(summary, EPP_BY_KERNEL), 1);
	ck_assert_uint_eq(epp_summary_lines_count(summary, EPP_BY_STREAM), 1);
	ck_assert_uint_eq(epp_summary_lines_count(summary, EPP_BY_OP), 2);
	ck_assert_str_eq(epp_summary_line_at(summary, EPP_BY_OP, 1)->name, "launch");
	ck_assert_uint_eq(epp_summary_line_at(summary, EPP_BY_OP, 1)->category, EPP_API);
	ck_assert_uint_eq(epp_summary_lines_count(summary, EPP_BY_THREAD), 1);
	const epp_summary_line *thread = epp_summary_line_at(summary, EPP_BY_THREAD, 0);
	ck_assert_str_eq(thread->name, "main");
	ck_assert_uint_eq(thread->count, 2);
	ck_assert_int_eq(thread->busy_ns, 100);
	ck_assert_int_eq(thread->self_ns, 100);
	for (size_t i = 0; i < epp_summary_lines_count(summary, EPP_BY_PHASE); i++) {
		const epp_summary_line *phase = epp_summary_line_at(summary, EPP_BY_PHASE, i);
		ck_assert(strcmp(phase->name, "compute") != 0 || phase->count == 1);
	}
	epp_summary_destroy(summary);
}
END_TEST

/* Written by an importer, read as from a recording; and a call that no plugin has is none. */
START_TEST(a_writer_s_calls)
{
	char *path = check_path("calls.epp");
	epp_trace_writer *writer;
	uint32_t calls, thread;
	int32_t producer;
	check_ok(epp_trace_writer_create(
	    &(epp_trace_writer_options){ .struct_size = sizeof(epp_trace_writer_options), .path = path, .overwrite = 1 },
	    &writer));
	epp_trace_writer_describe_source(writer, 0, 9, "builder", NULL);
	check_ok(epp_trace_writer_add_producer(writer, "vendor", &producer));
	epp_trace_track definition = {
		.kind = EPP_TRACK_CALLS, .thread_id = 11, .device = -1, .producer = producer, .name = "t"
	};
	check_ok(epp_trace_writer_add_track(writer, &definition, &calls));
	definition.producer = -1;
	check_fails(EPP_INVALID_ARGUMENT, epp_trace_writer_add_track(writer, &definition, &thread));
	definition = (epp_trace_track){
		.kind = EPP_TRACK_THREAD, .thread_id = 11, .device = -1, .producer = -1, .name = "main"
	};
	check_ok(epp_trace_writer_add_track(writer, &definition, &thread));
	const epp_trace_pair pair = { 1000, 1, 0, 1700000000000000000 };
	check_ok(epp_trace_writer_finish(writer, &pair, &pair));
	epp_trace_writer_destroy(writer);
	check_ok(epp_trace_open(path, &trace));
	must_be_calls(calls, 11, thread, "main: calls of vendor");
}
END_TEST

static Suite *suite(void)
{
	Suite *all = suite_create("reader_tracks");
	TCase *tests = tcase_create("tracks");
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, a_thread_without_a_name_has_its_number);
	tcase_add_test(tests, calls_belong_to_their_thread);
	tcase_add_test(tests, devices_of_one_name_name_their_plugin);
	tcase_add_test(tests, onnx_runtime_numbers_devices_from_minus_one);
	tcase_add_test(tests, a_thread_is_one_track);
	tcase_add_test(tests, a_summary_counts_calls_for_the_host);
	tcase_add_test(tests, a_writer_s_calls);
	suite_add_tcase(all, tests);
	return all;
}

CHECK_MAIN(suite)
