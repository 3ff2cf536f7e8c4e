/* epprof summary: that its numbers are right.  Covers the command's summary.c and summary_data.c and the library's
 * summary.c, accumulator.c, histogram.c and map.c. */
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/command.h"
#include "tests/support/epp_builder.h"
#include "tests/support/strict_json.h"

static struct epp_builder *builder;
static struct command run;
static struct json *json;
static char path[512];

static void setup(void)
{
	builder = builder_create();
	snprintf(path, sizeof path, "%s", check_path("trace.epp"));
}

static void teardown(void)
{
	json_free(json);
	json = NULL;
	command_free(&run);
	builder_destroy(builder);
	unlink(path);
}

static void summarize(void)
{
	builder_write(builder, EPF_FINISHED, path);
	run = command_run(NULL, "summary", "--format", "json", path, NULL);
	ck_assert_msg(run.code == 0, "%s", run.err);
	json = json_expect(run.out, run.out_bytes);
}

/* The line of a table with a name and, if it is not NULL, something else that has the given text. */
static const struct json *line_of(const char *table, const char *name, const char *key, const char *value)
{
	const struct json *lines = json_get(json, table);

	ck_assert_ptr_nonnull(lines);
	for (size_t i = 0; i < lines->count; i++) {
		const struct json *line = &lines->items[i];
		if (strcmp(json_text(line, "name"), name) == 0 && (!key || strcmp(json_text(line, key), value) == 0))
			return line;
	}
	ck_abort_msg("no '%s' in %s", name, table);
	return NULL;
}

static int64_t number(const struct json *line, const char *key)
{
	return json_thousandths(line, key) / 1000;
}

static void is_near(int64_t value, int64_t expected)
{
	ck_assert_msg(value >= expected - expected / 100 && value <= expected + expected / 100, "%lld is not near %lld",
	              (long long)value, (long long)expected);
}

/* How each stream's events were placed, and within what. */
START_TEST(streams_tell_how_they_were_placed)
{
	uint32_t thread = builder_thread(builder, "main", 1);
	uint32_t fitted = builder_device(builder, "fitted", "gpu", 0, 1, EPF_TRACK_CLOCK_DEVICE);
	uint32_t timed = builder_device(builder, "durations", "gpu", 0, 2, EPF_TRACK_CLOCK_DURATION);
	epp_name name = builder_name(builder, "op");
	uint64_t node = builder_event(builder, thread, BUILDER_START, 5000000, EPP_NODE, name, NULL, 0);

	builder_device_pair(builder, fitted, 0, BUILDER_START, 1000);
	builder_device_pair(builder, fitted, 10000000, BUILDER_START + 10000000, 3000);
	builder_host_pair(builder, BUILDER_START + 10000000, 20, 0);
	for (unsigned i = 0; i < 700; i++)
		builder_complete(builder, fitted, 1000 + i * 1000, 500, EPP_KERNEL, name, node, NULL, 0);
	builder_complete(builder, timed, 0, 1000000, EPP_KERNEL, name, node, NULL, 0);
	summarize();
	const struct json *line = line_of("streams", "fitted", NULL, NULL);
	ck_assert_int_ge(number(line, "error_max_ns"), 3000);
	ck_assert_int_lt(number(line, "error_max_ns"), 4000);
	is_near(number(line, "error_p999_ns"), number(line, "error_max_ns"));
	ck_assert_int_eq(number(json_get(line, "placed"), "fitted"), 700);
	ck_assert_uint_eq(json_get(line, "placed")->count, 1);
	line = line_of("streams", "durations", NULL, NULL);
	ck_assert_int_eq(number(line, "error_max_ns"), 4000000);
	ck_assert_int_eq(number(json_get(line, "placed"), "duration only"), 1);
	command_free(&run);
	run = command_run(NULL, "summary", "--by", "stream", path, NULL);
	ck_assert_ptr_nonnull(strstr(run.out, "  unlaunched: the host had not launched work; copy: "));
	ck_assert_ptr_nonnull(strstr(run.out, "Placement of device events on the host's clock, with error bounds"));
	/* What occurs is explained, nothing else. */
	ck_assert_ptr_nonnull(strstr(run.out, "\n  fitted: converted by a fit over many comparisons of the two clocks"));
	ck_assert_ptr_null(strstr(run.out, "formula:"));
	ck_assert_msg(strstr(run.out, "4.00 ms  duration only  gpu     durations") != NULL, "%s", run.out);
	command_free(&run);
	run = command_run(NULL, "summary", "--by", "stream", "--format", "csv", path, NULL);
	ck_assert_msg(strstr(run.out, ",4000000,duration only:1,,,,,,\n") != NULL, "%s", run.out);
}
END_TEST

START_TEST(totals_are_exact_and_quantiles_near)
{
	uint32_t thread = builder_thread(builder, "main", 1);
	epp_name name = builder_name(builder, "op");
	uint64_t at = BUILDER_START;
	int64_t total = 0;

	/* 1, 2, ... 1000 times a number that is no power of two, in no order. */
	for (unsigned i = 0; i < 1000; i++) {
		uint64_t duration = (i * 379 % 1000 + 1) * 12347;
		builder_event(builder, thread, at, duration, EPP_NODE, name, NULL, 0);
		at += duration + 10;
		total += (int64_t)duration;
	}
	summarize();
	const struct json *line = line_of("ops", "op", "category", "Node");
	ck_assert_int_eq(number(line, "count"), 1000);
	ck_assert_int_eq(number(line, "total_ns"), total);
	ck_assert_int_eq(number(line, "self_ns"), total);
	ck_assert_int_eq(number(line, "mean_ns"), total / 1000);
	ck_assert_int_eq(number(line, "max_ns"), 12347000);
	is_near(number(line, "p50_ns"), 500 * 12347);
	is_near(number(line, "p99_ns"), 990 * 12347);
	ck_assert_int_eq(number(json, "wall_ns"), (int64_t)(at - BUILDER_START) - 10);
	ck_assert_int_eq(number(line_of("threads", "main", NULL, NULL), "busy_ns"), total);
}
END_TEST

START_TEST(quantiles_of_any_magnitude_are_near)
{
	uint32_t thread = builder_thread(builder, "main", 1);
	uint64_t at = BUILDER_START;
	char text[32];

	for (unsigned bits = 0; bits < 50; bits++) {
		uint64_t duration = (UINT64_C(1) << bits) + (UINT64_C(1) << bits) / 3;
		snprintf(text, sizeof text, "op %u", bits);
		builder_event(builder, thread, at, duration, EPP_NODE, builder_name(builder, text), NULL, 0);
		builder_event(builder, thread, at + duration, duration * 2, EPP_NODE, builder_name(builder, text), NULL, 0);
		builder_event(builder, thread, at + duration * 3, duration * 3, EPP_NODE, builder_name(builder, text),
		              NULL, 0);
		at += duration * 6;
	}
	builder_event(builder, thread, at, 0, EPP_NODE, builder_name(builder, "moment"), NULL, 0);
	summarize();
	for (unsigned bits = 0; bits < 50; bits++) {
		snprintf(text, sizeof text, "op %u", bits);
		int64_t duration = (INT64_C(1) << bits) + (INT64_C(1) << bits) / 3;
		is_near(number(line_of("ops", text, NULL, NULL), "p50_ns"), duration * 2);
		ck_assert_int_eq(number(line_of("ops", text, NULL, NULL), "max_ns"), duration * 3);
	}
	ck_assert_int_eq(number(line_of("ops", "moment", NULL, NULL), "p99_ns"), 0);
}
END_TEST

START_TEST(own_time_leaves_out_what_is_inside)
{
	uint32_t thread = builder_thread(builder, "main", 1), other = builder_thread(builder, "other", 2);
	epp_name outer = builder_name(builder, "outer"), inner = builder_name(builder, "inner");

	uint64_t a = builder_begin(builder, thread, BUILDER_START, EPP_SESSION, outer);
	uint64_t b = builder_begin(builder, thread, BUILDER_START + 100, EPP_NODE, inner);
	builder_event(builder, thread, BUILDER_START + 150, 50, EPP_NODE, inner, NULL, 0);
	builder_end(builder, thread, b, BUILDER_START + 400, NULL, 0);
	builder_event(builder, thread, BUILDER_START + 500, 200, EPP_NODE, inner, NULL, 0);
	builder_end(builder, thread, a, BUILDER_START + 1000, NULL, 0);
	/* Inside by time, but not on the same thread; and the same name in another category. */
	builder_event(builder, other, BUILDER_START + 200, 300, EPP_API, inner, NULL, 0);
	summarize();
	ck_assert_int_eq(number(line_of("ops", "outer", NULL, NULL), "self_ns"), 1000 - 300 - 200);
	ck_assert_int_eq(number(line_of("ops", "inner", "category", "Node"), "total_ns"), 300 + 50 + 200);
	ck_assert_int_eq(number(line_of("ops", "inner", "category", "Node"), "self_ns"), 250 + 50 + 200);
	ck_assert_int_eq(number(line_of("ops", "inner", "category", "Api"), "self_ns"), 300);
	ck_assert_int_eq(number(line_of("threads", "main", NULL, NULL), "self_ns"), 1000);
	ck_assert_int_eq(number(line_of("threads", "main", NULL, NULL), "busy_ns"), 1000);
	ck_assert_int_eq(number(json, "host_events"), 5);
}
END_TEST

START_TEST(streams_are_busy_once)
{
	uint32_t thread = builder_thread(builder, "main", 1);
	uint32_t stream = builder_device(builder, "stream 1", "Accelerator", 0, 1, EPF_TRACK_CLOCK_HOST);
	epp_name op = builder_name(builder, "op"), kernel = builder_name(builder, "kernel");
	uint64_t id = builder_event(builder, thread, BUILDER_START, 10000, EPP_NODE, op, NULL, 0);

	/* Two that overlap in part, one inside, one apart that nobody caused. */
	builder_complete(builder, stream, BUILDER_START + 1000, 2000, EPP_KERNEL, kernel, id, NULL, 0);
	builder_complete(builder, stream, BUILDER_START + 2000, 3000, EPP_KERNEL, kernel, id, NULL, 0);
	builder_complete(builder, stream, BUILDER_START + 3000, 500, EPP_KERNEL, kernel, id, NULL, 0);
	builder_complete(builder, stream, BUILDER_START + 20000, 1000, EPP_KERNEL, kernel, 0, NULL, 0);
	summarize();
	const struct json *line = line_of("streams", "stream 1", "device", "Accelerator");
	ck_assert_int_eq(number(line, "count"), 4);
	ck_assert_int_eq(number(line, "busy_ns"), 4000 + 1000);
	ck_assert_int_eq(number(line, "total_ns"), 6500);
	line = line_of("kernels", "kernel", NULL, NULL);
	is_near(number(line, "launch_p50_ns"), 2000);
	ck_assert_int_eq(number(json, "device_events"), 4);
	ck_assert_int_eq(number(json, "correlated"), 3);
	ck_assert_int_eq(number(json, "uncorrelated"), 1);
}
END_TEST

START_TEST(idle_time_has_its_cause)
{
	uint32_t thread = builder_thread(builder, "main", 1);
	uint32_t stream = builder_device(builder, "stream 1", "Accelerator", 0, 1, EPF_TRACK_CLOCK_HOST);
	uint32_t copies = builder_device(builder, "copies", "Accelerator", 0, 2, EPF_TRACK_CLOCK_HOST);
	uint32_t other = builder_device(builder, "stream 1", "Another", 1, 1, EPF_TRACK_CLOCK_HOST);
	epp_name op = builder_name(builder, "op"), kernel = builder_name(builder, "gemm");
	uint64_t first = builder_event(builder, thread, BUILDER_START, 5000, EPP_NODE, op, NULL, 0);
	uint64_t second = builder_event(builder, thread, BUILDER_START + 10000, 9000, EPP_NODE, op, NULL, 0);

	/* Idle before 1000: launched at 0, of which a copy takes 100 to 400, twice. */
	builder_complete(builder, copies, BUILDER_START + 100, 200, EPP_KERNEL, builder_name(builder, "Copy_In"), first,
	                 NULL, 0);
	builder_complete(builder, copies, BUILDER_START + 200, 200, EPP_KERNEL, builder_name(builder, "MemcpyHtoD"),
	                 first, NULL, 0);
	builder_complete(builder, stream, BUILDER_START + 1000, 2000, EPP_KERNEL, kernel, first, NULL, 0);
	/* From 3000 to 12000: launched at 10000; a copy from 9000 to 10500 counts from there on. */
	builder_complete(builder, copies, BUILDER_START + 9000, 1500, EPP_KERNEL, builder_name(builder, "dtoh"), first,
	                 NULL, 0);
	builder_complete(builder, stream, BUILDER_START + 12000, 1000, EPP_KERNEL, kernel, second, NULL, 0);
	/* From 13000 to 15000, by nobody; and until 19000 nothing. */
	builder_complete(builder, stream, BUILDER_START + 15000, 1000, EPP_KERNEL, kernel, 0, NULL, 0);
	builder_complete(builder, other, BUILDER_START + 1000, 10, EPP_KERNEL, kernel, first, NULL, 0);
	summarize();
	const struct json *line = line_of("streams", "stream 1", "device", "Accelerator");
	ck_assert_int_eq(number(line, "busy_ns"), 4000);
	ck_assert_int_eq(number(line, "idle_copy_ns"), 300 + 500);
	ck_assert_int_eq(number(line, "idle_late_ns"), 700 + 1500);
	ck_assert_int_eq(number(line, "idle_unlaunched_ns"), 7000 + 3000);
	ck_assert_int_eq(number(line, "idle_unknown_ns"), 2000);
	ck_assert_int_eq(number(line, "gaps"), 3);
	line = line_of("streams", "stream 1", "device", "Another");
	ck_assert_int_eq(number(line, "idle_copy_ns"), 0);
	ck_assert_int_eq(number(line, "idle_late_ns"), 1000);
	ck_assert_int_eq(number(line_of("phases", "copy in", NULL, NULL), "count"), 2);
	ck_assert_int_eq(number(line_of("phases", "copy out", NULL, NULL), "total_ns"), 1500);
	ck_assert_int_eq(number(line_of("phases", "compute", NULL, NULL), "count"), 4);
	ck_assert_int_eq(number(line_of("phases", "queue", NULL, NULL), "max_ns"), 9000);
}
END_TEST

START_TEST(a_wait_is_no_submission)
{
	uint32_t thread = builder_thread(builder, "main", 1);
	uint32_t stream = builder_device(builder, "stream", "Accelerator", 0, 1, EPF_TRACK_CLOCK_HOST);
	uint64_t launch = builder_event(builder, thread, BUILDER_START, 700, EPP_API, builder_name(builder, "launch"),
	                                NULL, 0);
	uint64_t wait = builder_event(builder, thread, BUILDER_START + 1000, 5000, EPP_API,
	                              builder_name(builder, "wait"), NULL, 0);

	builder_complete(builder, stream, BUILDER_START + 800, 2000, EPP_KERNEL, builder_name(builder, "gemm"), launch,
	                 NULL, 0);
	builder_flow(builder, thread, BUILDER_START + 6000, launch, wait);
	summarize();
	const struct json *line = line_of("phases", "submit", NULL, NULL);
	ck_assert_int_eq(number(line, "count"), 1);
	ck_assert_int_eq(number(line, "total_ns"), 700);
}
END_TEST

/* More copies than are kept: what is older than they are does not count as one. */
START_TEST(many_copies_take_little_memory)
{
	uint32_t thread = builder_thread(builder, "main", 1);
	uint32_t stream = builder_device(builder, "stream", "Accelerator", 0, 1, EPF_TRACK_CLOCK_HOST);
	uint32_t copies = builder_device(builder, "copies", "Accelerator", 0, 2, EPF_TRACK_CLOCK_HOST);
	epp_name copy = builder_name(builder, "copy");
	uint64_t id = builder_event(builder, thread, BUILDER_START, 1000000, EPP_NODE, copy, NULL, 0);

	for (unsigned i = 0; i < 3000; i++)
		builder_complete(builder, copies, BUILDER_START + i * 100, 10, EPP_KERNEL, copy, id, NULL, 0);
	builder_complete(builder, stream, BUILDER_START + 300000, 10, EPP_KERNEL, builder_name(builder, "k"), id, NULL, 0);
	summarize();
	const struct json *line = line_of("streams", "stream", NULL, NULL);
	ck_assert_int_eq(number(line, "idle_copy_ns"), 10240);
	ck_assert_int_eq(number(line, "idle_late_ns"), 300000 - 10240);
}
END_TEST

START_TEST(warm_up_is_told_apart)
{
	uint32_t thread = builder_thread(builder, "main", 1);
	epp_name op = builder_name(builder, "op"), inner = builder_name(builder, "inner");

	for (unsigned i = 0; i < 5; i++) {
		uint64_t at = BUILDER_START + i * 1000;
		uint64_t id = builder_begin(builder, thread, at, EPP_NODE, op);
		builder_event(builder, thread, at + 10, 20, EPP_NODE, inner, NULL, 0);
		builder_end(builder, thread, id, at + (i < 2 ? 900 : 100), NULL, 0);
	}
	builder_write(builder, EPF_FINISHED, path);
	run = command_run(NULL, "summary", "--format", "json", "--warmup", "2", path, NULL);
	json = json_expect(run.out, run.out_bytes);
	const struct json *line = line_of("ops", "op", NULL, NULL);
	ck_assert_int_eq(number(line, "count"), 3);
	ck_assert_int_eq(number(line, "total_ns"), 300);
	ck_assert_int_eq(number(line, "self_ns"), 240);
	ck_assert_int_eq(number(line, "max_ns"), 100);
	ck_assert_int_eq(number(line, "warmup_count"), 2);
	ck_assert_int_eq(number(line, "warmup_ns"), 1800);
	ck_assert_int_eq(number(line_of("threads", "main", NULL, NULL), "busy_ns"), 2100);
	struct command text = command_run(NULL, "summary", "--warmup", "2", "--by", "op", path, NULL);
	ck_assert_ptr_nonnull(strstr(text.out, "  warm-up  count"));
	ck_assert_ptr_nonnull(strstr(text.out, "   900 ns      3"));
	command_free(&text);
}
END_TEST

static uint64_t add_node(uint32_t thread, uint64_t at, uint64_t ns, const char *name, const char *op, const char *provider)
{
	epp_arg args[2] = {
		{ .key = builder_name(builder, "provider"),
		  .type = EPP_ARG_TEXT,
		  .value.text = provider,
		  .text_bytes = strlen(provider) },
		{ .key = builder_name(builder, "op_name"), .type = EPP_ARG_TEXT, .value.text = op, .text_bytes = strlen(op) }
	};
	return builder_event(builder, thread, BUILDER_START + at, ns, EPP_NODE, builder_name(builder, name), args, 2);
}

/* Nodes by operator type and provider, kernels by the type of the node that caused them; names as people read them. */
START_TEST(operator_types_are_added_up)
{
	uint32_t thread = builder_thread(builder, "main", 1);
	uint32_t stream = builder_device(builder, "s", "gpu", 0, 1, EPF_TRACK_CLOCK_HOST);
	epp_name gemm = builder_name(builder, "gemm");

	uint64_t run_id = builder_begin(builder, thread, BUILDER_START, EPP_SESSION, builder_name(builder, "model_run"));
	uint64_t conv = add_node(thread, 100, 100, "conv1_kernel_time", "Conv", "MyEP");
	uint64_t matmul = add_node(thread, 300, 50, "fc_kernel_time", "MatMul", "MyEP");
	add_node(thread, 400, 200, "conv2_kernel_time", "Conv", "MyEP");
	add_node(thread, 700, 40, "conv3_kernel_time", "Conv", "CPU");
	add_node(thread, 800, 1, "_kernel_time", "Conv", "CPU");
	builder_event(builder, thread, BUILDER_START + 900, 5, EPP_NODE, builder_name(builder, "untold"), NULL, 0);
	builder_end(builder, thread, run_id, BUILDER_START + 1000, NULL, 0);
	builder_complete(builder, stream, BUILDER_START + 150, 20, EPP_KERNEL, gemm, conv, NULL, 0);
	builder_complete(builder, stream, BUILDER_START + 210, 30, EPP_KERNEL, gemm, conv, NULL, 0);
	builder_complete(builder, stream, BUILDER_START + 320, 40, EPP_KERNEL, gemm, matmul, NULL, 0);
	builder_complete(builder, stream, BUILDER_START + 950, 1, EPP_KERNEL, gemm, 0, NULL, 0);
	summarize();
	ck_assert_uint_eq(json_get(json, "op_types")->count, 3);
	const struct json *line = line_of("op_types", "Conv", "provider", "MyEP");
	ck_assert_int_eq(number(line, "count"), 2);
	ck_assert_int_eq(number(line, "total_ns"), 300);
	ck_assert_int_eq(number(line, "device_count"), 2);
	ck_assert_int_eq(number(line, "device_ns"), 50);
	ck_assert_int_eq(number(line_of("op_types", "Conv", "provider", "CPU"), "total_ns"), 41);
	ck_assert_int_eq(number(line_of("op_types", "MatMul", NULL, NULL), "device_ns"), 40);
	ck_assert_uint_eq(json_get(json, "kernels")->count, 3);
	ck_assert_int_eq(number(line_of("kernels", "gemm", "op_type", "Conv"), "total_ns"), 50);
	ck_assert_int_eq(number(line_of("kernels", "gemm", "op_type", "MatMul"), "total_ns"), 40);
	ck_assert_str_eq(json_text(line_of("ops", "conv1", NULL, NULL), "op_type"), "Conv");
	line_of("ops", "_kernel_time", NULL, NULL);
	struct command text = command_run(NULL, "summary", "--by", "op-type", path, NULL);
	ck_assert_ptr_nonnull(strstr(text.out, "  30.0 %"));
	ck_assert_ptr_nonnull(strstr(text.out, "MyEP      Conv\n"));
	command_free(&text);
	text = command_run(NULL, "summary", "--format", "csv", path, NULL);
	ck_assert_ptr_nonnull(strstr(text.out, "op_type,\"Conv\",\"MyEP\",2,300,300,150,"));
	ck_assert_ptr_nonnull(strstr(text.out, ",0,0,\"\",2,50,"));
	command_free(&text);
}
END_TEST

/* A node's time without what is inside counts for its type; warm-up as for the node. */
START_TEST(operator_types_nest_and_warm_up)
{
	uint32_t thread = builder_thread(builder, "main", 1);
	epp_arg arg = { .key = builder_name(builder, "op_name"),
		        .type = EPP_ARG_TEXT,
		        .value.text = "If",
		        .text_bytes = strlen("If") };

	for (unsigned i = 0; i < 3; i++) {
		uint64_t at = i * 1000, outer = builder_begin(builder, thread, BUILDER_START + at, EPP_NODE,
		                                              builder_name(builder, "if"));
		add_node(thread, at + 100, 300, "mul_kernel_time", "Mul", "CPU");
		builder_end(builder, thread, outer, BUILDER_START + at + (i ? 500 : 900), &arg, 1);
	}
	builder_write(builder, EPF_FINISHED, path);
	run = command_run(NULL, "summary", "--format", "json", "--warmup", "1", path, NULL);
	json = json_expect(run.out, run.out_bytes);
	const struct json *line = line_of("op_types", "If", "provider", "");
	ck_assert_int_eq(number(line, "count"), 2);
	ck_assert_int_eq(number(line, "total_ns"), 1000);
	ck_assert_int_eq(number(line, "self_ns"), 400);
	ck_assert_int_eq(number(line, "warmup_ns"), 900);
	ck_assert_int_eq(number(line_of("op_types", "Mul", NULL, NULL), "self_ns"), 600);
}
END_TEST

START_TEST(an_empty_trace_has_a_summary)
{
	summarize();
	ck_assert_int_eq(number(json, "wall_ns"), 0);
	ck_assert_uint_eq(json_get(json, "ops")->count, 0);
	struct command text = command_run(NULL, "summary", path, NULL);
	ck_assert_int_eq(text.code, 0);
	ck_assert_ptr_null(strstr(text.out, "nan"));
	command_free(&text);
}
END_TEST

static Suite *cli_summary_suite(void)
{
	Suite *suite = suite_create("cli_summary");
	TCase *tests = tcase_create("cli_summary");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, streams_tell_how_they_were_placed);
	tcase_add_test(tests, totals_are_exact_and_quantiles_near);
	tcase_add_test(tests, quantiles_of_any_magnitude_are_near);
	tcase_add_test(tests, own_time_leaves_out_what_is_inside);
	tcase_add_test(tests, streams_are_busy_once);
	tcase_add_test(tests, idle_time_has_its_cause);
	tcase_add_test(tests, a_wait_is_no_submission);
	tcase_add_test(tests, many_copies_take_little_memory);
	tcase_add_test(tests, warm_up_is_told_apart);
	tcase_add_test(tests, operator_types_are_added_up);
	tcase_add_test(tests, operator_types_nest_and_warm_up);
	tcase_add_test(tests, an_empty_trace_has_a_summary);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(cli_summary_suite)
