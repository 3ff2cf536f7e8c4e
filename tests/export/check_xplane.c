/* XSpace, read back field by field: every event where it belongs, every number explained.  tests/interop has XProf's
 * reader. Covers xplane.c and xplane_document.c. */
#include "export/xspace/xplane.h"

#include <signal.h>
#include <sys/resource.h>

#include "tests/support/check.h"
#include "tests/support/export_text.h"
#include "tests/support/xspace_text.h"

static struct epp_builder *builder;
static epp_trace *trace;
static struct export_text text;
static struct xspace_text space;

static void setup(void)
{
	builder = builder_create();
}

static void teardown(void)
{
	xspace_text_free(&space);
	export_text_free(&text);
	epp_trace_close(trace);
	builder_destroy(builder);
}

static void write_and_read(const epp_export_options *options)
{
	trace = builder_open(builder, EPF_FINISHED);
	export_text_make(&text, trace, "xspace", options);
	xspace_text_read(&space, text.bytes, text.count);
}

static const struct xspace_found *find(const char *name)
{
	return xspace_text_find(&space, name);
}

START_TEST(every_event_is_on_its_line)
{
	builder_destroy(builder);
	builder = export_sample();
	write_and_read(NULL);
	ck_assert_uint_eq(space.count, 25); /* 24 slices and an instant */
	const struct xspace_found *gemm = find("gemm"), *fc1 = find("fc1");
	ck_assert_str_eq(gemm->plane, "/device:CUSTOM:Accelerator 0");
	ck_assert_str_eq(gemm->line, "stream 1");
	ck_assert_int_eq(gemm->offset_ps, 8300000);
	ck_assert_int_eq(gemm->duration_ps, 9000000);
	ck_assert_str_eq(gemm->details, "");
	ck_assert_str_eq(fc1->plane, "/host:CPU");
	ck_assert_str_eq(fc1->line, "main");
	ck_assert_uint_ne(fc1->correlation, 0);
	ck_assert_uint_eq(gemm->correlation, fc1->correlation);
	ck_assert_uint_eq(find("prefetch")->correlation, 0);
	ck_assert_int_eq(find("cache miss")->duration_ps, 0);
	ck_assert_str_eq(text.receipts, "1 counter value left out: the format's tools do not show them\n"
	                                "1 arrow left out: the format supports only arrows from launch to kernel\n"
	                                "1 asynchronous event left out: the format supports only nested events\n");
}
END_TEST

START_TEST(gpu_planes_have_kernels)
{
	epp_export_options options = { .struct_size = sizeof options, .gpu_planes = 1 };

	builder_destroy(builder);
	builder = export_sample();
	write_and_read(&options);
	ck_assert_str_eq(find("gemm")->plane, "/device:GPU:0");
	ck_assert_ptr_nonnull(strstr(find("gemm")->details, "grid:1,1,1 block:1,1,1"));
}
END_TEST

START_TEST(recorded_details_are_kept)
{
	epp_export_options options = { .struct_size = sizeof options, .gpu_planes = 1 };
	uint32_t stream = builder_device(builder, "stream 1", "Device", 0, 1, EPF_TRACK_CLOCK_HOST);
	epp_arg arg = { .key = builder_name(builder, "kernel_details"),
		        .type = EPP_ARG_TEXT,
		        .value.text = "regs:7",
		        .text_bytes = 6 };

	builder_complete(builder, stream, BUILDER_START, 9, EPP_KERNEL, builder_name(builder, "op"), 0, &arg, 1);
	write_and_read(&options);
	ck_assert_str_eq(find("op")->details, "regs:7");
	ck_assert_uint_eq(find("op")->details_count, 1);
}
END_TEST

static void many_events(unsigned count)
{
	uint32_t one = builder_thread(builder, "one", 1), two = builder_thread(builder, "two", 2);
	epp_name name = builder_name(builder, "op");

	for (unsigned i = 0; i < count; i++)
		builder_event(builder, i & 1 ? one : two, BUILDER_START + i * 10, 9, EPP_NODE, name, NULL, 0);
}

START_TEST(what_goes_through_the_file_keeps_its_order)
{
	int64_t last_ps = -1;
	size_t lines = 0;

	many_events(40000);
	write_and_read(NULL);
	ck_assert_uint_eq(space.count, 40000);
	for (size_t i = 0; i < space.count; i++) {
		if (i && strcmp(space.events[i].line, space.events[i - 1].line) != 0) {
			last_ps = -1;
			lines++;
		}
		if (space.events[i].offset_ps <= last_ps)
			ck_abort_msg("event %zu is out of order", i);
		last_ps = space.events[i].offset_ps;
	}
	ck_assert_uint_eq(lines, 1);
}
END_TEST

START_TEST(a_full_disk_is_an_error)
{
	struct rlimit limit = { 100000, 100000 };

	many_events(40000);
	trace = builder_open(builder, EPF_FINISHED);
	setenv("TMPDIR", check_path("no such directory"), 1);
	check_fails(EPP_NOT_FOUND, epp_export_file(trace, "xspace", NULL, check_path("out.pb"), 0, NULL, NULL));
	setenv("TMPDIR", check_path("."), 1);
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	check_fails(EPP_IO, epp_export_file(trace, "xspace", NULL, check_path("out.pb"), 0, NULL, NULL));
	ck_assert_int_ne(access(check_path("out.pb"), F_OK), 0);
}
END_TEST

START_TEST(times_beyond_picoseconds_are_told)
{
	uint32_t stream = builder_device(builder, "s", "A", 0, 1, EPF_TRACK_CLOCK_HOST);

	builder_complete(builder, stream, BUILDER_START - 5, 3, EPP_KERNEL, builder_name(builder, "early"), 0, NULL, 0);
	write_and_read(NULL);
	ck_assert_int_eq(find("early")->offset_ps, 0);
	ck_assert_int_eq(find("early")->duration_ps, 3000);
	ck_assert_str_eq(text.receipts, "1 time moved: before the trace's time 0, or beyond 106 days\n");
}
END_TEST

START_TEST(unix_times_are_cut_at_their_base)
{
	epp_timeline_options window = { .struct_size = sizeof window, .from_ns = 1000, .to_ns = INT64_MAX };
	epp_export_options options = { .struct_size = sizeof options, .timeline = &window, .unix_times = 1 };
	uint32_t stream = builder_device(builder, "s", "A", 0, 1, EPF_TRACK_CLOCK_HOST);

	builder_complete(builder, stream, BUILDER_START + 900, 50, EPP_KERNEL, builder_name(builder, "gone"), 0, NULL, 0);
	builder_complete(builder, stream, BUILDER_START + 960, 90, EPP_KERNEL, builder_name(builder, "cut"), 0, NULL, 0);
	builder_complete(builder, stream, BUILDER_START + 1070, 7, EPP_KERNEL, builder_name(builder, "in"), 0, NULL, 0);
	write_and_read(&options);
	ck_assert_uint_eq(space.count, 2);
	ck_assert_int_eq(find("cut")->offset_ps, 0);
	ck_assert_int_eq(find("cut")->duration_ps, 50000);
	ck_assert_int_eq(find("in")->offset_ps, 70000);
	ck_assert_int_eq(find("in")->duration_ps, 7000);
	ck_assert_str_eq(find("in")->line, "s"); /* nothing is correlated where it is wanted */
	for (size_t i = 0; i < space.count; i++)
		ck_assert_int_eq(space.events[i].line_unix_ns, epp_trace_get_info(trace)->epoch_unix_ns + 1000);
	ck_assert_str_eq(text.receipts, "1 time moved: before the trace's time 0, or beyond 106 days\n");
}
END_TEST

START_TEST(a_device_that_has_a_plane_s_name_keeps_it)
{
	uint32_t one = builder_device(builder, "s", "/device:CUSTOM:A:0", 0, 1, EPF_TRACK_CLOCK_HOST);
	uint32_t other = builder_device(builder, "s", "/device:XPU:0", 0, 1, EPF_TRACK_CLOCK_HOST);

	builder_complete(builder, one, BUILDER_START, 3, EPP_KERNEL, builder_name(builder, "a"), 0, NULL, 0);
	builder_complete(builder, other, BUILDER_START, 3, EPP_KERNEL, builder_name(builder, "b"), 0, NULL, 0);
	write_and_read(NULL);
	ck_assert_str_eq(find("a")->plane, "/device:CUSTOM:A:0");
	ck_assert_str_eq(find("b")->plane, "/device:CUSTOM:/device:XPU:0"); /* which viewers would leave out */
}
END_TEST

/* What a plugin that is told of no host event says: a call and its kernel, by an id that another plugin has, too. */
static void a_call_and_its_kernel(int32_t producer, const char *call, const char *kernel)
{
	const struct epf_track calling = {
		.kind = EPF_TRACK_DEVICE, .device = -1, .stream = 77, .clock_kind = EPF_TRACK_CLOCK_HOST, .producer = producer
	};
	const struct epf_track computing = { .kind = EPF_TRACK_DEVICE,
		                             .clock_kind = EPF_TRACK_CLOCK_HOST,
		                             .producer = producer };
	uint32_t calls = builder_track(builder, &calling, "thread 77", "plugin");
	uint32_t stream = builder_track(builder, &computing, "stream 0", "plugin device 0");
	epp_arg arg = { .key = builder_name(builder, "correlation"), .type = EPP_ARG_U64, .value.u64 = 5 };

	builder_complete(builder, calls, BUILDER_START, 3, EPP_API, builder_name(builder, call), 0, &arg, 1);
	builder_complete(builder, stream, BUILDER_START + 5, 3, EPP_KERNEL, builder_name(builder, kernel), 0, &arg, 1);
}

START_TEST(a_plugin_s_calls_are_the_host_s_and_lead_to_its_kernels)
{
	builder_producer(builder, 0, "one");
	builder_producer(builder, 1, "other");
	a_call_and_its_kernel(0, "launch", "kernel");
	a_call_and_its_kernel(1, "other's launch", "other's kernel");
	write_and_read(NULL);
	ck_assert_str_eq(find("launch")->plane, "/host:CPU");
	ck_assert_str_eq(find("launch")->line, "thread 77: calls of one");
	ck_assert_str_eq(find("kernel")->plane, "/device:CUSTOM:plugin device 0 (one)");
	ck_assert_str_eq(find("other's kernel")->plane, "/device:CUSTOM:plugin device 0 (other)");
	ck_assert_uint_eq(find("launch")->correlation, 5);
	ck_assert_uint_eq(find("kernel")->correlation, 5);
	ck_assert_uint_ne(find("other's kernel")->correlation, 5);
	ck_assert_uint_eq(find("other's kernel")->correlation, find("other's launch")->correlation);
}
END_TEST

static Suite *xplane_suite(void)
{
	Suite *suite = suite_create("xplane");
	TCase *tests = tcase_create("xplane");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, every_event_is_on_its_line);
	tcase_add_test(tests, gpu_planes_have_kernels);
	tcase_add_test(tests, recorded_details_are_kept);
	tcase_add_test(tests, what_goes_through_the_file_keeps_its_order);
	tcase_add_test(tests, a_full_disk_is_an_error);
	tcase_add_test(tests, times_beyond_picoseconds_are_told);
	tcase_add_test(tests, unix_times_are_cut_at_their_base);
	tcase_add_test(tests, a_device_that_has_a_plane_s_name_keeps_it);
	tcase_add_test(tests, a_plugin_s_calls_are_the_host_s_and_lead_to_its_kernels);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(xplane_suite)
