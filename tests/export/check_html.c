/* The report's page: what is in its data, which part of a long trace it shows, and that nothing in it comes from
 * elsewhere. Covers html.c, html_columns.c, html_facts.c; that a browser shows it is
 * interop/check_report.py's. */
#include <string.h>

#include "tests/export/html_text.h"
#include "tests/support/check.h"
#include "tests/support/export_text.h"
#include "tests/support/strict_json.h"

static struct epp_builder *builder;
static epp_trace *trace;
static struct export_text page;
static struct html_text data;
static struct json *facts;

static void setup(void)
{
	builder = builder_create();
}

static void teardown(void)
{
	json_free(facts);
	facts = NULL;
	html_text_close(&data);
	export_text_free(&page);
	epp_trace_close(trace);
	trace = NULL;
	builder_destroy(builder);
}

static void make(const epp_export_options *options)
{
	trace = builder_open(builder, EPF_FINISHED);
	export_text_make(&page, trace, "html", options);
	ck_assert_uint_eq(strlen(page.bytes), page.count);
	data = html_text_open(page.bytes, page.count);
	facts = json_expect(data.facts, strlen(data.facts));
}

static int64_t fact(const struct json *json, const char *key)
{
	return json_thousandths(json, key) / 1000;
}

static bool has_line(const uint8_t *bytes, size_t count, const char *line)
{
	char text[256];

	snprintf(text, sizeof text, "%s\n", line);
	return memmem(bytes, count, text, strlen(text)) != NULL;
}

START_TEST(everything_is_in_its_column)
{
	size_t count;

	builder_destroy(builder);
	builder = export_sample();
	make(NULL);
	/* Two runs of the model with ten events each, and seven more; the arrow is none. */
	ck_assert_int_eq(fact(facts, "shown"), 27);
	ck_assert_int_eq(fact(facts, "events"), 27);
	ck_assert_ptr_null(json_get(facts, "part"));
	for (unsigned column = HTML_START; column <= HTML_ARGS; column++) {
		free(html_text_numbers(&data, column, &count));
		ck_assert_uint_eq(count, 27);
	}
	free(html_text_numbers(&data, HTML_LAUNCH, &count));
	ck_assert_uint_eq(count, 27);
	ck_assert_uint_eq(data.columns[HTML_VALUE].count, sizeof(double));
	free(html_text_numbers(&data, HTML_CAUSED, &count));
	ck_assert_uint_eq(count, 10);
	free(html_text_numbers(&data, HTML_ARROW_TO, &count));
	ck_assert_uint_eq(count, 1);
	ck_assert(has_line(data.names.bytes, data.names.count, "\"SequentialExecutor::Execute\""));
	ck_assert(has_line(data.args.bytes, data.args.count, "{\"rows\":4}"));
	/* Each once. */
	ck_assert_uint_eq(data.args.count, strlen("{\"rows\":4}\n{\"input_type_shape\":\"[{\\\"float\\\":[4,64]}]\"}\n"));
	ck_assert_str_eq(page.receipts, "");
}
END_TEST

/* Causes that begin after what they caused, as an imprecise clock tells it. */
START_TEST(a_cause_may_come_later)
{
	uint32_t thread = builder_thread(builder, "main", 1);
	uint32_t stream = builder_device(builder, "s", "d", 0, 1, EPF_TRACK_CLOCK_HOST);
	epp_name name = builder_name(builder, "op");
	size_t count;

	uint64_t id = builder_event(builder, thread, BUILDER_START + 1000, 100, EPP_NODE, name, NULL, 0);
	builder_complete(builder, stream, BUILDER_START + 400, 10, EPP_KERNEL, name, id, NULL, 0);
	builder_complete(builder, stream, BUILDER_START + 1050, 10, EPP_KERNEL, name, id, NULL, 0);
	make(NULL);
	uint64_t *caused = html_text_numbers(&data, HTML_CAUSED, &count);
	ck_assert_uint_eq(count, 2);
	ck_assert_uint_eq(caused[0], 0);
	ck_assert_uint_eq(caused[1], 2);
	uint64_t *cause = html_text_numbers(&data, HTML_CAUSE, &count);
	ck_assert_uint_eq(cause[0], 1); /* one ahead, zigzag */
	ck_assert_uint_eq(cause[1], 2); /* one back */
	/* In order of start: a kernel that cannot have waited, the node, a kernel that started 50 ns after the node. */
	uint64_t *launch = html_text_numbers(&data, HTML_LAUNCH, &count);
	ck_assert_uint_eq(count, 3);
	ck_assert_uint_eq(launch[0], 1);
	ck_assert_uint_eq(launch[1], 0);
	ck_assert_uint_eq(launch[2], 51);
	free(caused);
	free(cause);
	free(launch);
}
END_TEST

/* Runs of which the first takes long: the rule warm-up finds it.  Without, and with filters, there is no advice. */
static void build_runs(uint64_t first_ns)
{
	uint32_t thread = builder_thread(builder, "main", 1);
	epp_name run = builder_name(builder, "run \"a\" </script>");
	uint64_t at = BUILDER_START;

	for (unsigned i = 0; i < 20; i++) {
		uint64_t ns = i ? 1000000 : first_ns;
		builder_event(builder, thread, at, ns, EPP_SESSION, run, NULL, 0);
		at += ns;
	}
}

START_TEST(advice_is_in_the_facts)
{
	build_runs(6000000);
	make(NULL);
	const struct json *advice = json_get(facts, "advice");
	ck_assert(advice && advice->count == 1);
	const struct json *finding = advice->items, *place = json_get(finding, "places")->items;
	ck_assert_str_eq(json_text(finding, "rule"), "warm-up");
	ck_assert_str_eq(json_text(finding, "confidence"), "high");
	ck_assert_int_eq(strncmp(json_text(finding, "text"), "run \"a\" </script>: the first 1 of 20", 35), 0);
	/* The median is known within the width of a bucket. */
	ck_assert_int_le(llabs(fact(finding, "gain") - 5000000), fact(finding, "error"));
	ck_assert_int_eq(fact(finding, "count"), 1);
	ck_assert_int_eq(fact(place, "end") - fact(place, "start"), 6000000);
	ck_assert_int_eq(fact(place, "start"), fact(facts, "base_ns"));
	ck_assert_int_eq(fact(place, "track"), fact(json_get(facts, "rows")->items, "track"));
}
END_TEST

START_TEST(nothing_found_is_no_advice)
{
	build_runs(1000000);
	make(NULL);
	ck_assert_ptr_null(json_get(facts, "advice"));
}
END_TEST

START_TEST(filtered_events_are_no_base_for_advice)
{
	build_runs(6000000);
	make(&(epp_export_options){ .struct_size = sizeof(epp_export_options), .min_duration_ns = 2000000 });
	ck_assert_int_eq(fact(facts, "filtered"), 19);
	ck_assert_ptr_null(json_get(facts, "advice"));
}
END_TEST

/* 300 events: sparse, then 100 that keep the device busy, then sparse. */
static void build_stretch(void)
{
	uint32_t thread = builder_thread(builder, "main", 1);
	uint32_t stream = builder_device(builder, "s", "d", 0, 1, EPF_TRACK_CLOCK_HOST);
	epp_name name = builder_name(builder, "op");

	for (unsigned i = 0; i < 200; i++)
		builder_event(builder, thread, BUILDER_START + i * 1000000ull, 900000, EPP_NODE, name, NULL, 0);
	for (unsigned i = 0; i < 100; i++)
		builder_complete(builder, stream, BUILDER_START + 80000000ull + i * 200000ull, 190000, EPP_KERNEL, name,
		                 0, NULL, 0);
}

START_TEST(of_a_long_trace_the_busiest_part_is_shown)
{
	epp_export_options options = { .struct_size = sizeof options, .events_max = 150 };

	build_stretch();
	make(&options);
	const struct json *part = json_get(facts, "part");
	ck_assert_ptr_nonnull(part);
	ck_assert_int_le(fact(part, "from"), 80000000);
	ck_assert_int_ge(fact(part, "to"), 99990000);
	ck_assert_int_eq(fact(facts, "events"), 300);
	int64_t shown = fact(facts, "shown");
	ck_assert_int_ge(shown, 120);
	ck_assert_int_le(shown, 150);
	/* The tables are of all. */
	const struct json *ops = json_get(json_get(json_get(facts, "tables"), "ops"), "lines");
	ck_assert_int_eq(fact(json_get(&ops->items[0], "durations"), "count"), 200);
	char receipt[128];
	snprintf(receipt, sizeof receipt, "%d events only in the tables", (int)(300 - shown));
	ck_assert_ptr_nonnull(strstr(page.receipts, receipt));
}
END_TEST

START_TEST(the_range_of_the_timeline_can_be_chosen)
{
	epp_export_options options = { .struct_size = sizeof options };
	uint64_t *start;
	size_t count;

	build_stretch();
	/* 5 events of the host begin there, and one that began before is not over. */
	options.show_from_ns = 10500000;
	options.show_to_ns = 15500000;
	make(&options);
	ck_assert_int_eq(fact(facts, "shown"), 6);
	ck_assert_int_eq(fact(facts, "events"), 300);
	ck_assert_int_eq(fact(facts, "base_ns"), 10000000);
	const struct json *part = json_get(facts, "part");
	ck_assert_int_eq(fact(part, "from"), 10500000);
	ck_assert_int_eq(fact(part, "to"), 15500000);
	ck_assert(json_get(part, "chosen")->kind == JSON_TRUE);
	start = html_text_numbers(&data, HTML_START, &count);
	ck_assert_uint_eq(count, 6);
	ck_assert_uint_eq(start[5], 1000000);
	free(start);
	ck_assert_ptr_nonnull(strstr(page.receipts, "294 events only in the tables"));
	const struct json *ops = json_get(json_get(json_get(facts, "tables"), "ops"), "lines");
	ck_assert_int_eq(fact(json_get(&ops->items[0], "durations"), "count"), 200);
}
END_TEST

START_TEST(a_chosen_range_ends_where_the_page_is_full)
{
	epp_export_options options = { .struct_size = sizeof options, .events_max = 10, .show_from_ns = 100500000 };

	build_stretch();
	make(&options);
	ck_assert_int_eq(fact(facts, "shown"), 10);
	const struct json *part = json_get(facts, "part");
	ck_assert_int_eq(fact(part, "to"), 110000000);
	ck_assert_int_eq(fact(part, "cut"), 0);
}
END_TEST

START_TEST(a_limit_holds_whatever_the_events)
{
	uint32_t thread = builder_thread(builder, "main", 1);
	epp_name name = builder_name(builder, "op");
	epp_export_options options = { .struct_size = sizeof options, .events_max = 10 };

	/* No part of the time has so few. */
	builder_event(builder, thread, BUILDER_START, 200, EPP_NODE, name, NULL, 0);
	for (unsigned i = 0; i < 100; i++)
		builder_instant(builder, thread, BUILDER_START + i, EPP_NODE, name, NULL, 0);
	make(&options);
	ck_assert_int_eq(fact(facts, "shown"), 10);
	ck_assert_int_eq(fact(json_get(facts, "part"), "cut"), 91);
	ck_assert_int_eq(fact(facts, "instants"), 100);
}
END_TEST

START_TEST(time_may_be_long)
{
	uint32_t thread = builder_thread(builder, "main", 1);
	epp_name name = builder_name(builder, "op");
	epp_export_options options = { .struct_size = sizeof options, .events_max = 10 };

	builder_event(builder, thread, BUILDER_START, UINT64_C(1) << 60, EPP_NODE, name, NULL, 0);
	for (unsigned i = 0; i < 100; i++)
		builder_instant(builder, thread, BUILDER_START + i, EPP_NODE, name, NULL, 0);
	make(&options);
	/* Where the one event keeps it busy and the many are not. */
	ck_assert_int_eq(fact(facts, "shown"), 1);
	ck_assert_int_eq(fact(json_get(facts, "part"), "cut"), 0);
}
END_TEST

START_TEST(a_limit_that_is_not_reached_changes_nothing)
{
	epp_export_options options = { .struct_size = sizeof options, .events_max = 300 };
	size_t count;

	build_stretch();
	make(&options);
	ck_assert_ptr_null(json_get(facts, "part"));
	free(html_text_numbers(&data, HTML_START, &count));
	ck_assert_uint_eq(count, 300);
}
END_TEST

START_TEST(markup_in_names_stays_out_of_the_page)
{
	static const char hostile[] = "</script><img src=x onerror=alert(1)>";
	uint32_t thread = builder_thread(builder, hostile, 1);
	epp_arg arg = { .key = builder_name(builder, hostile),
		        .type = EPP_ARG_TEXT,
		        .value.text = hostile,
		        .text_bytes = sizeof hostile - 1 };

	builder_event(builder, thread, BUILDER_START, 10, EPP_NODE, builder_name(builder, hostile), &arg, 1);
	make(NULL);
	ck_assert_ptr_null(strstr(page.bytes, "onerror"));
	ck_assert(has_line(data.names.bytes, data.names.count, "\"</script><img src=x onerror=alert(1)>\""));
	/* The theme, the data, the scripts: nothing else closes one. */
	unsigned closed = 0;
	for (const char *at = page.bytes; (at = strstr(at, "</script>")) != NULL; at++)
		closed++;
	ck_assert_uint_eq(closed, 3);
}
END_TEST

START_TEST(nothing_comes_from_elsewhere)
{
	static const char *const ways[] = { "http:", "https:", " src=", "@import", "url(", "fetch(", "<link", "XMLHttp" };

	make(NULL);
	for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++)
		ck_assert_msg(!strstr(page.bytes, ways[i]), "%s", ways[i]);
	ck_assert_ptr_nonnull(strstr(page.bytes, "default-src 'none'"));
	/* Every mark was replaced. */
	ck_assert_ptr_null(strstr(page.bytes, "@data@"));
	ck_assert_ptr_null(strstr(page.bytes, "@scripts@"));
	ck_assert_ptr_null(strstr(page.bytes, "@title@"));
}
END_TEST

START_TEST(losses_are_told_of_their_track)
{
	uint32_t thread = builder_thread(builder, "unlucky", 77);

	builder_event(builder, thread, BUILDER_START + 100, 10, EPP_NODE, builder_name(builder, "op"), NULL, 0);
	builder_lost(builder, thread, EPP_LOSS_NO_BUFFER, 41, 0);
	make(NULL);
	ck_assert_int_eq(fact(facts, "lost"), 41);
	const struct json *losses = json_get(facts, "losses");
	ck_assert_uint_eq(losses->count, 1);
	ck_assert_int_eq(fact(&losses->items[0], "track"), thread);
	ck_assert_int_eq(fact(&losses->items[0], "lost"), 41);
}
END_TEST

static Suite *html_suite(void)
{
	Suite *suite = suite_create("html");
	TCase *tests = tcase_create("html");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, everything_is_in_its_column);
	tcase_add_test(tests, a_cause_may_come_later);
	tcase_add_test(tests, advice_is_in_the_facts);
	tcase_add_test(tests, nothing_found_is_no_advice);
	tcase_add_test(tests, filtered_events_are_no_base_for_advice);
	tcase_add_test(tests, of_a_long_trace_the_busiest_part_is_shown);
	tcase_add_test(tests, the_range_of_the_timeline_can_be_chosen);
	tcase_add_test(tests, a_chosen_range_ends_where_the_page_is_full);
	tcase_add_test(tests, a_limit_holds_whatever_the_events);
	tcase_add_test(tests, time_may_be_long);
	tcase_add_test(tests, a_limit_that_is_not_reached_changes_nothing);
	tcase_add_test(tests, markup_in_names_stays_out_of_the_page);
	tcase_add_test(tests, nothing_comes_from_elsewhere);
	tcase_add_test(tests, losses_are_told_of_their_track);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(html_suite)
