/* The flame graph: what its frames add up to.  Covers flame.c. */
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/export_text.h"

static struct epp_builder *builder;
static epp_trace *trace;
static struct export_text text;

static void setup(void)
{
	builder = builder_create();
}

static void teardown(void)
{
	export_text_free(&text);
	epp_trace_close(trace);
	trace = NULL;
	builder_destroy(builder);
}

static void draw(const epp_export_options *options)
{
	trace = builder_open(builder, EPF_FINISHED);
	export_text_make(&text, trace, "flame", options);
}

static unsigned count_of(const char *what)
{
	unsigned count = 0;

	for (const char *at = text.bytes; (at = strstr(at, what)) != NULL; at++)
		count++;
	return count;
}

/* The frame of a name tells this below it. */
static void tells(const char *name, const char *what)
{
	char line[256];

	snprintf(line, sizeof line, "<title>%s\n%s", name, what);
	ck_assert_msg(strstr(text.bytes, line) != NULL, "no frame '%s': %s", name, what);
}

START_TEST(equal_stacks_are_one_frame)
{
	uint32_t main_thread = builder_thread(builder, "main", 1), worker = builder_thread(builder, "worker", 2);
	epp_name outer = builder_name(builder, "outer"), inner = builder_name(builder, "inner");

	for (unsigned i = 0; i < 10; i++) {
		uint32_t thread = i % 2 ? worker : main_thread;
		uint64_t at = BUILDER_START + i * 10000;
		uint64_t id = builder_begin(builder, thread, at, EPP_NODE, outer);
		builder_event(builder, thread, at + 100, 500, EPP_NODE, inner, NULL, 0);
		builder_event(builder, thread, at + 700, 100, EPP_NODE, inner, NULL, 0);
		builder_end(builder, thread, id, at + 1000, NULL, 0);
	}
	builder_event(builder, main_thread, BUILDER_START + 200000, 10000, EPP_NODE, inner, NULL, 0);
	draw(NULL);
	ck_assert_uint_eq(count_of("<title>outer\n"), 1);
	ck_assert_uint_eq(count_of("<title>inner\n"), 2);
	tells("outer", "10.0\xC2\xA0\xC2\xB5s, 50.0 % of all\n10 events, 1.00\xC2\xA0\xC2\xB5s each");
	tells("inner", "6.00\xC2\xA0\xC2\xB5s, 30.0 % of all\n20 events, 300\xC2\xA0ns each");
	tells("inner", "10.0\xC2\xA0\xC2\xB5s, 50.0 % of all\n1 events");
	ck_assert_ptr_null(strstr(text.bytes, "Devices,"));
	ck_assert_str_eq(text.receipts, "");
}
END_TEST

START_TEST(kernels_stand_below_what_caused_them)
{
	uint32_t thread = builder_thread(builder, "main", 1);
	uint32_t stream = builder_device(builder, "stream", "d", 0, 1, EPF_TRACK_CLOCK_HOST);
	epp_name kernel = builder_name(builder, "gemm");
	uint64_t run = builder_begin(builder, thread, BUILDER_START, EPP_SESSION, builder_name(builder, "run"));
	uint64_t node = builder_begin(builder, thread, BUILDER_START + 10, EPP_NODE, builder_name(builder, "MatMul"));

	/* Longer than the host event that launched it. */
	builder_complete(builder, stream, BUILDER_START + 50, 3000, EPP_KERNEL, kernel, node, NULL, 0);
	builder_end(builder, thread, node, BUILDER_START + 100, NULL, 0);
	builder_end(builder, thread, run, BUILDER_START + 120, NULL, 0);
	builder_complete(builder, stream, BUILDER_START + 5000, 1000, EPP_KERNEL, kernel, 0, NULL, 0);
	draw(NULL);
	tells("run", "3.00\xC2\xA0\xC2\xB5s, 75.0 % of all</title>");
	tells("MatMul", "3.00\xC2\xA0\xC2\xB5s, 75.0 % of all</title>");
	tells("gemm", "3.00\xC2\xA0\xC2\xB5s, 75.0 % of all\n1 events");
	tells("gemm", "1.00\xC2\xA0\xC2\xB5s, 25.0 % of all\n1 events");
	tells("run", "120\xC2\xA0ns, 100.0 % of all\n1 events");
	ck_assert_str_eq(text.receipts, "1 device event with unknown host stack\n");
}
END_TEST

/* A plugin's calls, by its own clock, stand below what made them, on the host and above their kernels. */
START_TEST(calls_stand_below_what_made_them)
{
	uint32_t thread = builder_thread(builder, "main", 11);
	uint32_t stream = builder_device(builder, "stream", "d", 0, 1, EPF_TRACK_CLOCK_HOST);
	builder_producer(builder, 1, "vendor");
	uint32_t calls = builder_track(builder,
	                               &(struct epf_track){ .kind = EPF_TRACK_DEVICE,
	                                                    .clock_kind = EPF_TRACK_CLOCK_DEVICE,
	                                                    .clock = 99,
	                                                    .clock_bits = 64,
	                                                    .ticks_per_second = 1000000000,
	                                                    .device = -1,
	                                                    .stream = 11,
	                                                    .producer = 1 },
	                               "calls", "vendor");
	builder_device_pair(builder, calls, 0, BUILDER_START, 1);
	builder_device_pair(builder, calls, 100000, BUILDER_START + 100000, 1);
	uint64_t node = builder_begin(builder, thread, BUILDER_START + 10, EPP_NODE, builder_name(builder, "MatMul"));
	uint64_t call = builder_complete(builder, calls, 20, 40, EPP_API, builder_name(builder, "launch"), node, NULL, 0);
	builder_complete(builder, stream, BUILDER_START + 50, 3000, EPP_KERNEL, builder_name(builder, "gemm"), call,
	                 NULL, 0);
	builder_end(builder, thread, node, BUILDER_START + 100, NULL, 0);
	draw(NULL);
	/* The operation is all there is of the host, and all that the device worked for. */
	tells("MatMul", "90\xC2\xA0ns, 100.0 % of all\n1 events");
	tells("MatMul", "3.00\xC2\xA0\xC2\xB5s, 100.0 % of all</title>");
	tells("launch", "3.00\xC2\xA0\xC2\xB5s, 100.0 % of all</title>");
	ck_assert_str_eq(text.receipts, "");
}
END_TEST

/* Nodes of one operator type are in one frame, also those that launched something. */
START_TEST(nodes_are_below_their_operator_type)
{
	uint32_t thread = builder_thread(builder, "main", 1);
	uint32_t stream = builder_device(builder, "stream", "d", 0, 1, EPF_TRACK_CLOCK_HOST);
	epp_arg arg = { .key = builder_name(builder, "op_name"), .type = EPP_ARG_TEXT, .value.text = "Conv", .text_bytes = 4 };
	uint64_t first = builder_event(builder, thread, BUILDER_START, 600, EPP_NODE,
	                               builder_name(builder, "a_kernel_time"), &arg, 1);

	builder_event(builder, thread, BUILDER_START + 1000, 400, EPP_NODE, builder_name(builder, "b_kernel_time"),
	              &arg, 1);
	builder_complete(builder, stream, BUILDER_START + 50, 300, EPP_KERNEL, builder_name(builder, "gemm"), first,
	                 NULL, 0);
	draw(NULL);
	ck_assert_uint_eq(count_of("<title>Conv\n"), 2);
	ck_assert_uint_eq(count_of("_kernel_time"), 0);
	tells("Conv", "1.00\xC2\xA0\xC2\xB5s, 100.0 % of all\n2 events");
	tells("a", "600\xC2\xA0ns, 60.0 % of all");
	tells("b", "400\xC2\xA0ns, 40.0 % of all");
	tells("gemm", "300\xC2\xA0ns, 100.0 % of all");
}
END_TEST

START_TEST(what_a_filter_leaves_out_is_in_no_stack)
{
	uint32_t thread = builder_thread(builder, "main", 1);
	epp_export_options options = { .struct_size = sizeof options, .name = "[ac]" };

	for (unsigned i = 0; i < 2; i++) {
		uint64_t at = BUILDER_START + i * 10000;
		uint64_t a = builder_begin(builder, thread, at, EPP_NODE, builder_name(builder, i ? "x" : "a"));
		uint64_t b = builder_begin(builder, thread, at + 10, EPP_NODE, builder_name(builder, "b"));
		builder_event(builder, thread, at + 20, 100, EPP_NODE, builder_name(builder, "c"), NULL, 0);
		builder_end(builder, thread, b, at + 500, NULL, 0);
		builder_end(builder, thread, a, at + 900, NULL, 0);
	}
	draw(&options);
	/* Once inside of a, once alone. */
	ck_assert_uint_eq(count_of("<title>c\n100"), 2);
	tells("a", "900\xC2\xA0ns, 90.0 % of all");
	ck_assert_uint_eq(count_of("<title>b"), 0);
}
END_TEST

START_TEST(stacks_may_be_many_and_deep)
{
	uint32_t thread = builder_thread(builder, "main", 1);
	uint64_t ids[60];
	char name[32];

	for (unsigned i = 0; i < 60; i++) {
		snprintf(name, sizeof name, "level %u", i);
		ids[i] = builder_begin(builder, thread, BUILDER_START + i, EPP_NODE, builder_name(builder, name));
	}
	for (unsigned i = 60; i--;)
		builder_end(builder, thread, ids[i], BUILDER_START + 100000 - i, NULL, 0);
	for (unsigned i = 0; i < 5000; i++) {
		snprintf(name, sizeof name, "op %u", i);
		builder_event(builder, thread, BUILDER_START + 200000 + i * 10, 2, EPP_NODE,
		              builder_name(builder, name), NULL, 0);
	}
	draw(NULL);
	ck_assert_uint_eq(count_of("<title>level 59\n"), 1);
	/* Too narrow to be seen. */
	ck_assert_uint_eq(count_of("<title>op "), 0);
}
END_TEST

START_TEST(names_are_text)
{
	uint32_t thread = builder_thread(builder, "main", 1);

	builder_event(builder, thread, BUILDER_START, 10, EPP_NODE, builder_name(builder, "</text><script>&\"\xff\x01"),
	              NULL, 0);
	draw(NULL);
	ck_assert_uint_eq(count_of("<script>"), 1);
	ck_assert_ptr_nonnull(strstr(text.bytes, "&lt;/text&gt;&lt;script&gt;&amp;"));
}
END_TEST

/* A node that is called as its operator is not drawn twice; a name that has no room is cut with an ellipsis. */
START_TEST(nothing_is_doubled_and_cuts_are_seen)
{
	uint32_t thread = builder_thread(builder, "main", 1);
	epp_arg op = {
		.key = builder_name(builder, "op_name"), .type = EPP_ARG_TEXT, .value.text = "MatMul", .text_bytes = 6
	};

	builder_event(builder, thread, BUILDER_START, 950, EPP_NODE, builder_name(builder, "MatMul_kernel_time"), &op, 1);
	builder_event(builder, thread, BUILDER_START + 960, 950, EPP_NODE, builder_name(builder, "other_kernel_time"),
	              &op, 1);
	builder_event(builder, thread, BUILDER_START + 2000, 100, EPP_SESSION,
	              builder_name(builder, "a name with little room"), NULL, 0);
	draw(NULL);
	ck_assert_uint_eq(count_of("<title>MatMul\n"), 1);
	ck_assert_uint_eq(count_of("<title>other\n"), 1);
	ck_assert_ptr_nonnull(strstr(text.bytes, "<title>a name with little room\n"));
	ck_assert_ptr_null(strstr(text.bytes, "\">a name with little room</text>"));
	ck_assert_ptr_nonnull(strstr(text.bytes, "\xE2\x80\xA6</text>"));
	/* The script is a part of an XML document. */
	const char *script = strstr(text.bytes, "<script>") + strlen("<script>");
	ck_assert_ptr_eq(script + strcspn(script, "<&"), strstr(script, "</script>"));
}
END_TEST

static Suite *flame_suite(void)
{
	Suite *suite = suite_create("flame");
	TCase *tests = tcase_create("flame");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, equal_stacks_are_one_frame);
	tcase_add_test(tests, kernels_stand_below_what_caused_them);
	tcase_add_test(tests, calls_stand_below_what_made_them);
	tcase_add_test(tests, nodes_are_below_their_operator_type);
	tcase_add_test(tests, what_a_filter_leaves_out_is_in_no_stack);
	tcase_add_test(tests, stacks_may_be_many_and_deep);
	tcase_add_test(tests, names_are_text);
	tcase_add_test(tests, nothing_is_doubled_and_cuts_are_seen);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(flame_suite)
