/* A JSON object a line: each is strict JSON, and says what the event is. */
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/export_text.h"
#include "tests/support/strict_json.h"

static struct export_text text;
static struct json *lines[64];
static size_t count;

static void write_and_parse(struct epp_builder *builder)
{
	epp_trace *trace = builder_open(builder, EPF_FINISHED);

	export_text_make(&text, trace, "ndjson", NULL);
	for (char *at = text.bytes; *at; count++) {
		size_t bytes = strcspn(at, "\n");
		ck_assert_uint_lt(count, sizeof lines / sizeof *lines);
		ck_assert_int_eq(at[bytes], '\n');
		lines[count] = json_expect(at, bytes);
		at += bytes + 1;
	}
	epp_trace_close(trace);
	builder_destroy(builder);
}

static void teardown(void)
{
	while (count)
		json_free(lines[--count]);
	export_text_free(&text);
}

static const struct json *named(const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(json_text(lines[i], "name"), name) == 0)
			return lines[i];
	}
	ck_abort_msg("no line '%s'", name);
	return NULL;
}

START_TEST(every_event_is_a_line)
{
	write_and_parse(export_sample());
	const struct json *fc1 = named("fc1"), *gemm = named("gemm"), *counter = named("bytes in use");
	ck_assert_str_eq(json_text(fc1, "kind"), "slice");
	ck_assert_int_eq(json_thousandths(fc1, "start_ns"), 3000000);
	ck_assert_int_eq(json_thousandths(fc1, "tid"), 4711000);
	ck_assert_ptr_null(json_get(fc1, "device"));
	ck_assert_str_eq(json_text(json_get(fc1, "args"), "input_type_shape"), "[{\"float\":[4,64]}]");
	ck_assert_str_eq(json_text(gemm, "parent"), json_text(fc1, "id"));
	ck_assert_str_eq(json_text(gemm, "group"), "Accelerator 0");
	ck_assert_int_eq(json_thousandths(gemm, "stream"), 1000);
	ck_assert_ptr_null(json_get(gemm, "flags"));
	ck_assert_str_eq(json_text(counter, "kind"), "counter");
	ck_assert_int_eq(json_thousandths(json_get(counter, "args"), "bytes in use"), 4096000);
	ck_assert_str_eq(json_get(named("stuck"), "flags")->items[0].text, "unended");
	/* 28 events, four accounts, the trace. */
	ck_assert_uint_eq(count, 28 + 4 + 1);
	ck_assert_str_eq(json_text(json_get(lines[count - 1], "trace"), "program"), "test");
	ck_assert_str_eq(text.receipts, "");
}
END_TEST

START_TEST(large_integers_are_strings)
{
	struct epp_builder *builder = builder_create();
	uint32_t thread = builder_thread(builder, "main", 1);
	epp_arg args[] = {
		{ .key = builder_name(builder, "exact"), .type = EPP_ARG_I64, .value.i64 = INT64_C(1) << 53 },
		{ .key = builder_name(builder, "beyond"), .type = EPP_ARG_I64, .value.i64 = (INT64_C(1) << 53) + 1 },
		{ .key = builder_name(builder, "most"), .type = EPP_ARG_U64, .value.u64 = UINT64_MAX },
		{ .key = builder_name(builder, "least"), .type = EPP_ARG_I64, .value.i64 = INT64_MIN },
	};

	builder_event(builder, thread, BUILDER_START, 1, EPP_NODE, builder_name(builder, "op"), args, 4);
	write_and_parse(builder);
	const struct json *written = json_get(named("op"), "args");
	ck_assert_int_eq(json_get(written, "exact")->kind, JSON_NUMBER);
	ck_assert_str_eq(json_text(written, "beyond"), "9007199254740993");
	ck_assert_str_eq(json_text(written, "most"), "18446744073709551615");
	ck_assert_str_eq(json_text(written, "least"), "-9223372036854775808");
}
END_TEST

static Suite *ndjson_suite(void)
{
	Suite *suite = suite_create("ndjson");
	TCase *tests = tcase_create("ndjson");

	tcase_add_checked_fixture(tests, NULL, teardown);
	tcase_add_test(tests, every_event_is_a_line);
	tcase_add_test(tests, large_integers_are_strings);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(ndjson_suite)
