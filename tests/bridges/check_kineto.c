/* Kineto's JSON: what tools for PyTorch look for.  tests/interop has one of them. */
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/export_text.h"
#include "tests/support/strict_json.h"

static struct epp_builder *builder;
static epp_trace *trace;
static struct export_text text;
static struct json *document;

static void setup(void)
{
	builder = builder_create();
}

static void teardown(void)
{
	json_free(document);
	export_text_free(&text);
	epp_trace_close(trace);
	builder_destroy(builder);
}

static void write_and_parse(const epp_export_options *options)
{
	trace = builder_open(builder, EPF_FINISHED);
	export_text_make(&text, trace, "kineto", options);
	document = json_expect(text.bytes, text.count);
}

static const struct json *find(const char *name)
{
	const struct json *events = json_get(document, "traceEvents");

	for (size_t i = 0; i < events->count; i++) {
		if (strcmp(json_text(&events->items[i], "name"), name) == 0 && json_get(&events->items[i], "dur"))
			return &events->items[i];
	}
	ck_abort_msg("no event '%s'", name);
	return NULL;
}

static int64_t arg(const struct json *event, const char *key)
{
	return json_thousandths(json_get(event, "args"), key) / 1000;
}

START_TEST(cause_and_effect_share_a_correlation)
{
	uint32_t thread = builder_thread(builder, "main", 12),
		 stream = builder_device(builder, "s", "Accelerator", 0, 3, EPF_TRACK_CLOCK_HOST);
	epp_arg own = { .key = builder_name(builder, "correlation"), .type = EPP_ARG_I64, .value.i64 = 77 };
	uint64_t one = builder_event(builder, thread, BUILDER_START, 100, EPP_NODE, builder_name(builder, "op"), NULL, 0);
	uint64_t two = builder_event(builder, thread, BUILDER_START + 200, 100, EPP_API,
	                             builder_name(builder, "cudaLaunchKernel"), NULL, 0);

	builder_complete(builder, stream, BUILDER_START + 10, 10, EPP_KERNEL, builder_name(builder, "gemm"), one, NULL, 0);
	builder_complete(builder, stream, BUILDER_START + 210, 10, EPP_KERNEL, builder_name(builder, "relu"), two, &own, 1);
	builder_complete(builder, stream, BUILDER_START + 230, 10, EPP_KERNEL, builder_name(builder, "Memcpy HtoD"), 0,
	                 NULL, 0);
	write_and_parse(NULL);
	const struct json *op = find("op"), *gemm = find("gemm"), *launch = find("cudaLaunchKernel"), *relu = find("relu");
	ck_assert_int_eq(arg(op, "correlation"), arg(gemm, "correlation"));
	ck_assert_int_eq(arg(op, "External id"), arg(gemm, "External id"));
	ck_assert_int_eq(arg(launch, "correlation"), arg(relu, "correlation"));
	ck_assert_int_ne(arg(op, "correlation"), arg(launch, "correlation"));
	/* Small enough for a double, though ids are not. */
	ck_assert_int_lt(arg(op, "correlation"), INT64_C(1) << 53);
	ck_assert_int_eq(arg(relu, "correlation#2"), 77);
	ck_assert_ptr_null(json_get(json_get(find("Memcpy HtoD"), "args"), "correlation"));

	ck_assert_str_eq(json_text(op, "cat"), "cpu_op");
	ck_assert_str_eq(json_text(launch, "cat"), "privateuse1_runtime");
	ck_assert_str_eq(json_text(gemm, "cat"), "kernel");
	ck_assert_str_eq(json_text(find("Memcpy HtoD"), "cat"), "gpu_memcpy");
	ck_assert_int_eq(json_thousandths(gemm, "pid"), 0);
	ck_assert_int_eq(json_thousandths(gemm, "tid"), 3000);
	ck_assert_int_eq(arg(gemm, "device"), 0);
	ck_assert_int_eq(arg(gemm, "stream"), 3);
}
END_TEST

START_TEST(the_same_name_on_host_and_device_is_two_categories)
{
	uint32_t thread = builder_thread(builder, "main", 12),
		 stream = builder_device(builder, "s", "Accelerator", 0, 3, EPF_TRACK_CLOCK_HOST);
	epp_name name = builder_name(builder, "op");

	for (unsigned i = 0; i < 4; i++) {
		builder_event(builder, thread, BUILDER_START + i * 100, 10, EPP_KERNEL, name, NULL, 0);
		builder_complete(builder, stream, BUILDER_START + i * 100 + 50, 10, EPP_KERNEL, name, 0, NULL, 0);
	}
	write_and_parse(NULL);
	const struct json *events = json_get(document, "traceEvents");
	unsigned kernels = 0, ops = 0;
	for (size_t i = 0; i < events->count; i++) {
		bool device = json_get(json_get(&events->items[i], "args"), "stream") != NULL;
		kernels += strcmp(json_text(&events->items[i], "cat"), "kernel") == 0 && device;
		ops += strcmp(json_text(&events->items[i], "cat"), "cpu_op") == 0 && !device;
	}
	ck_assert_uint_eq(kernels, 4);
	ck_assert_uint_eq(ops, 4);
}
END_TEST

START_TEST(two_providers_never_share_a_row)
{
	uint32_t streams[3];

	for (unsigned i = 0; i < 3; i++) {
		struct epf_track definition = { .kind = EPF_TRACK_DEVICE, .device = 0, .stream = 1, .producer = (int32_t)i };
		builder_producer(builder, i, i ? "two" : "one");
		streams[i] = builder_track(builder, &definition, "stream 1", i == 2 ? "other" : "device 0");
		builder_complete(builder, streams[i], BUILDER_START + i, 10, EPP_KERNEL,
		                 builder_name(builder, (const char *[]){ "a", "b", "c" }[i]), 0, NULL, 0);
	}
	write_and_parse(NULL);
	ck_assert_int_eq(json_thousandths(find("a"), "pid"), 0);
	ck_assert_int_ne(json_thousandths(find("b"), "pid"), 0);
	ck_assert_int_ne(json_thousandths(find("c"), "pid"), 0);
	ck_assert_int_ne(json_thousandths(find("c"), "pid"), json_thousandths(find("b"), "pid"));
	/* Nor has a device the number of a stream, which Perfetto would take for its main thread. */
	ck_assert_int_gt(json_thousandths(find("b"), "pid"), json_thousandths(find("b"), "tid"));
	ck_assert_int_gt(json_thousandths(find("c"), "pid"), json_thousandths(find("b"), "tid"));
}
END_TEST

/* The arg, the process and the list agree on a device's number; its plugin's own stands beside it. */
START_TEST(every_device_has_one_number)
{
	static const struct {
		int32_t producer, device;
		const char *group, *name;
		int64_t number, plugin_device;
	} devices[] = { { 0, 0, "device 0", "device 0 (one)", 0, -1 },   { 0, 1, "device 1", "device 1 (one)", 1, -1 },
		        { 1, 0, "device 0", "device 0 (two)", 13, 0 },   { 1, 12, "two's", "two's", 12, -1 },
		        { 2, 1, "device 1", "device 1 (three)", 14, 1 }, { 0, 2, "two", "two (one)", 2, -1 } };
	uint32_t thread = builder_thread(builder, "main", 12);

	builder_producer(builder, 0, "one");
	builder_producer(builder, 1, "two");
	builder_producer(builder, 2, "three");
	for (unsigned i = 0; i < 6; i++) {
		struct epf_track definition = {
			.kind = EPF_TRACK_DEVICE, .device = devices[i].device, .stream = 1, .producer = devices[i].producer
		};
		uint32_t stream = builder_track(builder, &definition, "stream 1", devices[i].group);
		char name[16];
		snprintf(name, sizeof name, "kernel %u", i);
		builder_complete(builder, stream, BUILDER_START + i, 10, EPP_KERNEL, builder_name(builder, name), 0,
		                 NULL, 0);
	}
	builder_event(builder, thread, BUILDER_START + 50, 10, EPP_NODE, builder_name(builder, "op"), NULL, 0);
	write_and_parse(NULL);
	const struct json *listed = json_get(document, "deviceProperties");
	ck_assert_uint_eq(listed->count, 6);
	for (unsigned i = 0; i < 6; i++) {
		char name[16];
		snprintf(name, sizeof name, "kernel %u", i);
		const struct json *kernel = find(name), *args = json_get(kernel, "args");
		ck_assert_int_eq(json_thousandths(kernel, "pid"), devices[i].number * 1000);
		ck_assert_int_eq(arg(kernel, "device"), devices[i].number);
		if (devices[i].plugin_device < 0)
			ck_assert_ptr_null(json_get(args, "plugin device"));
		else
			ck_assert_int_eq(arg(kernel, "plugin device"), devices[i].plugin_device);
		ck_assert_int_eq(json_thousandths(&listed->items[i], "id"), devices[i].number * 1000);
		ck_assert_str_eq(json_text(&listed->items[i], "name"), devices[i].name);
	}
	ck_assert_int_ne(json_thousandths(find("op"), "pid"), 0);
}
END_TEST

static uint32_t calls_of(int32_t producer, int64_t thread)
{
	struct epf_track definition = { .kind = EPF_TRACK_DEVICE, .device = -1, .stream = thread, .producer = producer };
	return builder_track(builder, &definition, "thread", "vendor");
}

/* Two plugins count their launches from 1: each call is joined to what it launched, and to nothing of the other
 * plugin. */
START_TEST(calls_are_joined_by_the_number_of_their_plugin)
{
	const struct {
		const char *call, *work, *kind, *call_kind;
	} launches[] = { { "launch", "relu", NULL, NULL },
		         { "copy", "copy_in", "memcpy", "driver" },
		         { "fill", "zero", "memset", NULL } };
	uint32_t thread = builder_thread(builder, "main", 12);
	uint64_t op = builder_event(builder, thread, BUILDER_START, 1000, EPP_NODE, builder_name(builder, "op"), NULL, 0);
	epp_name number = builder_name(builder, "correlation"), kind = builder_name(builder, "kind");

	for (int32_t producer = 0; producer < 2; producer++) {
		struct epf_track definition = { .kind = EPF_TRACK_DEVICE, .device = 0, .stream = 1, .producer = producer };
		builder_producer(builder, (uint32_t)producer, producer ? "two" : "one");
		uint32_t stream = builder_track(builder, &definition, "stream 1", "device 0"),
			 calls = calls_of(producer, 13);
		for (uint64_t i = 0; i < 3; i++) {
			uint64_t start = BUILDER_START + i * 100 + (uint64_t)producer * 50;
			char name[32];
			epp_arg args[2] = { { .key = number, .type = EPP_ARG_U64, .value.u64 = i + 1 },
				            { .key = kind, .type = EPP_ARG_TEXT } };
			args[1].value.text = launches[i].call_kind;
			args[1].text_bytes = launches[i].call_kind ? (uint32_t)strlen(launches[i].call_kind) : 0;
			snprintf(name, sizeof name, "%s %d", launches[i].call, producer);
			builder_complete(builder, calls, start, 10, EPP_API, builder_name(builder, name), op, args,
			                 launches[i].call_kind ? 2 : 1);
			args[1].value.text = launches[i].kind;
			args[1].text_bytes = launches[i].kind ? (uint32_t)strlen(launches[i].kind) : 0;
			snprintf(name, sizeof name, "%s %d", launches[i].work, producer);
			builder_complete(builder, stream, start + 20, 10, EPP_KERNEL, builder_name(builder, name), op,
			                 args, launches[i].kind ? 2 : 1);
		}
	}
	write_and_parse(NULL);
	const struct json *relu[] = { find("relu 0"), find("relu 1") }, *launch[] = { find("launch 0"), find("launch 1") };
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_int_eq(arg(relu[i], "correlation"), arg(launch[i], "correlation"));
		ck_assert_int_eq(arg(relu[i], "External id"), arg(find("op"), "External id"));
		ck_assert_int_eq(arg(launch[i], "External id"), arg(find("op"), "External id"));
		ck_assert_int_eq(arg(relu[i], "correlation#2"), 1);
	}
	ck_assert_int_ne(arg(relu[0], "correlation"), arg(relu[1], "correlation"));
	ck_assert_int_ne(arg(relu[0], "correlation"), arg(find("op"), "correlation"));
	ck_assert_str_eq(json_text(relu[0], "cat"), "kernel");
	ck_assert_str_eq(json_text(find("copy_in 0"), "cat"), "gpu_memcpy");
	ck_assert_str_eq(json_text(find("zero 0"), "cat"), "gpu_memset");
	ck_assert_str_eq(json_text(launch[0], "cat"), "privateuse1_runtime");
	ck_assert_str_eq(json_text(find("copy 0"), "cat"), "privateuse1_driver");

	/* Six arrows, from where each call is to where its work is. */
	const struct json *events = json_get(document, "traceEvents");
	unsigned starts = 0, ends = 0;
	for (size_t i = 0; i < events->count; i++) {
		bool is_start = strcmp(json_text(&events->items[i], "ph"), "s") == 0;
		starts += is_start;
		ends += strcmp(json_text(&events->items[i], "ph"), "f") == 0;
		if (is_start)
			ck_assert_int_ne(json_thousandths(&events->items[i], "tid"), 12000);
	}
	ck_assert_uint_eq(starts, 6);
	ck_assert_uint_eq(ends, 6);
}
END_TEST

START_TEST(the_rank_is_told)
{
	epp_export_options options = { .struct_size = sizeof options, .rank = 3, .world_size = 8 };

	builder_device(builder, "s", "A \"0\"", 0, 1, EPF_TRACK_CLOCK_HOST);
	builder_device(builder, "t", "A \"0\"", 0, 2, EPF_TRACK_CLOCK_HOST);
	builder_device(builder, "u", "B", 1, 1, EPF_TRACK_CLOCK_HOST);
	write_and_parse(&options);
	ck_assert_ptr_nonnull(strstr(text.bytes, "\"rank\": 3, \"world_size\": 8}"));
	const struct json *devices = json_get(document, "deviceProperties");
	ck_assert_uint_eq(devices->count, 2);
	ck_assert_str_eq(json_text(&devices->items[0], "name"), "A \"0\"");
	ck_assert_int_eq(json_thousandths(&devices->items[1], "id"), 1000);
}
END_TEST

static Suite *kineto_suite(void)
{
	Suite *suite = suite_create("kineto");
	TCase *tests = tcase_create("kineto");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, cause_and_effect_share_a_correlation);
	tcase_add_test(tests, the_same_name_on_host_and_device_is_two_categories);
	tcase_add_test(tests, two_providers_never_share_a_row);
	tcase_add_test(tests, every_device_has_one_number);
	tcase_add_test(tests, calls_are_joined_by_the_number_of_their_plugin);
	tcase_add_test(tests, the_rank_is_told);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(kineto_suite)
