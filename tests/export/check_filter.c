/* Filters of an export: what passes, what the ledger says of the rest, and that no arrow leads from what is gone. */
#include <bsd/string.h>
#include <string.h>

#include "export/links/flows.h"
#include "tests/support/check.h"
#include "tests/support/export_text.h"
#include "tests/support/strict_json.h"

static struct epp_builder *builder;
static epp_trace *trace;
static struct export_text text;

static void setup(void)
{
	builder = export_sample();
	trace = builder_open(builder, EPF_FINISHED);
}

static void teardown(void)
{
	epp_trace_close(trace);
	builder_destroy(builder);
}

/* How many lines of NDJSON have a text, with these options. */
static unsigned count_lines(const epp_export_options *options, const char *part)
{
	unsigned count = 0;

	export_text_make(&text, trace, "ndjson", options);
	for (const char *at = text.bytes; (at = strstr(at, part)) != NULL; at++)
		count++;
	export_text_free(&text);
	return count;
}

#define EVENTS "\"start_ns\":"
#define COUNT(part, ...) \
	count_lines(&(epp_export_options){ .struct_size = sizeof(epp_export_options), __VA_ARGS__ }, part)

START_TEST(each_filter_keeps_what_it_should)
{
	ck_assert_uint_eq(COUNT(EVENTS, .rank = 0), 28);
	ck_assert_uint_eq(COUNT(EVENTS, .name = "gemm"), 2);
	ck_assert_uint_eq(COUNT(EVENTS, .name = "[gr]e*"), 2 + 2 + 2 + 1 + 1); /* gemm; relu, twice; request; receive */
	ck_assert_uint_eq(COUNT(EVENTS, .name = "no such"), 0);
	ck_assert_uint_eq(COUNT(EVENTS, .track = "stream ?"), 8);
	ck_assert_uint_eq(COUNT("\"track_name\":\"worker 1\"", .track = "worker*"), 7);
	ck_assert_uint_eq(COUNT(EVENTS, .track = "worker*"), 7);
	ck_assert_uint_eq(COUNT(EVENTS, .process = "Accelerator*", .name = "bias"), 2);
	ck_assert_uint_eq(COUNT(EVENTS, .process = "test"), 28);
	ck_assert_uint_eq(COUNT(EVENTS, .process = "1"), 0);
	/* Instants, counters and arrows last no time and pass. */
	ck_assert_uint_eq(COUNT("\"kind\":\"slice\"", .min_duration_ns = 9000, .name = "gemm"), 2);
	ck_assert_uint_eq(COUNT("\"kind\":\"slice\"", .min_duration_ns = 9001, .name = "gemm"), 0);
	ck_assert_uint_eq(COUNT("\"kind\":\"instant\"", .min_duration_ns = INT64_MAX), 1);
}
END_TEST

START_TEST(the_ledger_counts_what_was_left_out)
{
	ck_assert_uint_eq(COUNT("{\"producer\":\"filters of this export\",\"emitted\":26,\"written\":0,\"open\":0,"
	                        "\"lost\":{\"filter\":26},\"errors\":0,\"balanced\":true}",
	                        .name = "gemm"),
	                  1);
	ck_assert_uint_eq(COUNT("filters of this export", .name = "*"), 0);
}
END_TEST

START_TEST(no_arrow_leads_from_what_is_gone)
{
	epp_export_options options = { .struct_size = sizeof options, .track = "stream*" };

	export_text_make(&text, trace, "chrome", &options);
	struct json *document = json_expect(text.bytes, text.count);
	const struct json *events = json_get(document, "traceEvents");
	for (size_t i = 0; i < events->count; i++)
		ck_assert_str_ne(json_text(&events->items[i], "ph"), "s");
	ck_assert_str_eq(text.receipts, "8 arrows left out: an end is not in the exported part\n");
	json_free(document);
	export_text_free(&text);
}
END_TEST

START_TEST(lossless_refuses_what_the_format_cannot_hold)
{
	epp_export_options options = { .struct_size = sizeof options, .lossless = 1 };
	char *path = check_path("lossless");

	check_fails(EPP_INVALID_ARGUMENT, epp_export_file(trace, "ort", &options, path, 0, NULL, NULL));
	check_fails(EPP_INVALID_ARGUMENT, epp_export_file(trace, "xspace", &options, path, 0, NULL, NULL));
	ck_assert_int_ne(access(path, F_OK), 0);
	check_ok(epp_export_file(trace, "ndjson", &options, path, 0, NULL, NULL));
	check_ok(epp_export_file(trace, "perfetto", &options, path, 1, NULL, NULL));
	check_ok(epp_export_file(trace, "sqlite", &options, path, 1, NULL, NULL));
}
END_TEST

START_TEST(many_causes_may_be_gone)
{
	struct epp_builder *many = builder_create();
	uint32_t thread = builder_thread(many, "main", 1),
		 stream = builder_device(many, "s", "A", 0, 1, EPF_TRACK_CLOCK_HOST);
	epp_name op = builder_name(many, "op"), kernel = builder_name(many, "kernel");

	for (unsigned i = 0; i < 5000; i++) {
		uint64_t id = builder_event(many, thread, BUILDER_START + i * 100, i % 5 ? 40 : 80, EPP_NODE, op, NULL, 0);
		builder_complete(many, stream, BUILDER_START + i * 100 + 1, 60, EPP_KERNEL, kernel, id, NULL, 0);
	}
	epp_trace *whole = builder_open(many, EPF_FINISHED);
	epp_export_options options = { .struct_size = sizeof options, .min_duration_ns = 50 };
	export_text_make(&text, whole, "chrome", &options);
	ck_assert_str_eq(text.receipts, "4000 arrows left out: an end is not in the exported part\n");
	export_text_free(&text);
	epp_trace_close(whole);
	builder_destroy(many);
}
END_TEST

static void take_receipt(void *user, const char *line)
{
	strlcat(user, line, 256);
	strlcat(user, "\n", 256);
}

START_TEST(arrows_that_are_too_many_are_told_as_such)
{
	struct flows flows = { 0 };
	const epp_trace_track track = { 0 };
	const epp_event arrow = { .kind = EPP_EVENT_FLOW, .parent = 1, .id = 2, .track = &track };
	char receipts[256] = "";
	bool left_out = false;
	const struct export_run run = { .left_out = &left_out, .receipt = take_receipt, .receipt_user = receipts };

	for (unsigned i = 0; i < FLOWS_MAX; i++)
		check_ok(flows_add(&flows, &arrow));
	flows_write_receipts(&flows, &run, 0);
	ck_assert_str_eq(receipts, "");
	ck_assert(!left_out);
	for (unsigned i = 0; i < 3; i++)
		check_ok(flows_add(&flows, &arrow));
	flows_write_receipts(&flows, &run, 2);
	ck_assert_str_eq(receipts, "2 arrows left out: an end is not in the exported part\n"
	                           "3 arrows left out: at most 1048576 arrows of the program are exported\n");
	ck_assert(left_out);
	flows_deinit(&flows);
}
END_TEST

static Suite *filter_suite(void)
{
	Suite *suite = suite_create("filter");
	TCase *tests = tcase_create("filter");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, each_filter_keeps_what_it_should);
	tcase_add_test(tests, the_ledger_counts_what_was_left_out);
	tcase_add_test(tests, no_arrow_leads_from_what_is_gone);
	tcase_add_test(tests, lossless_refuses_what_the_format_cannot_hold);
	tcase_add_test(tests, many_causes_may_be_gone);
	tcase_add_test(tests, arrows_that_are_too_many_are_told_as_such);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(filter_suite)
