/* ONNX Runtime's profile format: its shape to the space, its order, and valid JSON where ONNX Runtime's own is not.
 * Also covers pending.c and the spool of sink.c. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/onnxruntime/pending.h"
#include "export/sink/sink.h"
#include "tests/support/check.h"
#include "tests/support/export_text.h"
#include "tests/support/strict_json.h"

static struct epp_builder *builder;
static epp_trace *trace;
static struct export_text text;
static struct json *records;

static void setup(void)
{
	builder = builder_create();
}

static void teardown(void)
{
	json_free(records);
	export_text_free(&text);
	epp_trace_close(trace);
	builder_destroy(builder);
}

static void write_and_parse(void)
{
	trace = builder_open(builder, EPF_FINISHED);
	export_text_make(&text, trace, "ort", NULL);
	records = json_expect(text.bytes, text.count);
}

static const char *name_at(size_t index)
{
	ck_assert_uint_lt(index, records->count);
	return json_text(&records->items[index], "name");
}

/* The text of a line, from 1. */
static const char *line_at(unsigned line)
{
	static char copy[4096];
	const char *at = text.bytes;

	while (--line)
		at = strchr(at, '\n') + 1;
	snprintf(copy, sizeof copy, "%.*s", (int)strcspn(at, "\n"), at);
	return copy;
}

START_TEST(it_has_the_shape_of_onnx_runtime_s)
{
	uint32_t thread = builder_thread(builder, "main", 2);
	epp_arg args[] = {
		{ .key = builder_name(builder, "k"), .type = EPP_ARG_TEXT, .value.text = "v", .text_bytes = 1 },
		{ .key = builder_name(builder, "k2"), .type = EPP_ARG_TEXT, .value.text = "[1, 2]", .text_bytes = 6 },
		{ .key = builder_name(builder, "n"), .type = EPP_ARG_I64, .value.i64 = 512 }
	};

	builder_event(builder, thread, BUILDER_START + 10999, 5999, EPP_NODE, builder_name(builder, "n"), args, 3);
	builder_header(builder)->source.pid = 1;
	write_and_parse();
	ck_assert_str_eq(line_at(1), "[");
	ck_assert_str_eq(line_at(2),
	                 "{\"cat\" : \"Node\",\"pid\" :1,\"tid\" :2,\"dur\" :5,\"ts\" :10,\"ph\" : \"X\",\"name\" :\"n\","
	                 "\"args\" : {\"k\" : \"v\",\"k2\" : [1, 2],\"n\" : \"512\"}},");
	ck_assert_str_eq(text.bytes + text.count - 3, "\n]\n");
	ck_assert_uint_eq(records->count, 2);
	ck_assert_str_eq(name_at(1), "epprof.ledger");
	ck_assert_str_eq(json_text(json_get(&records->items[1], "args"), "balanced"), "true");
	ck_assert_int_eq(json_get(json_get(&records->items[1], "args"), "ledger")->kind, JSON_ARRAY);
}
END_TEST

START_TEST(host_events_come_by_their_end_then_the_provider_s)
{
	uint32_t one = builder_thread(builder, "one", 1), two = builder_thread(builder, "two", 2);
	uint32_t stream = builder_device(builder, "s", "A", 0, 1, EPF_TRACK_CLOCK_HOST);
	uint64_t outer = builder_begin(builder, one, BUILDER_START, EPP_SESSION, builder_name(builder, "outer"));
	uint64_t inner = builder_begin(builder, one, BUILDER_START + 1000, EPP_NODE, builder_name(builder, "inner"));

	builder_complete(builder, stream, BUILDER_START + 2000, 100, EPP_KERNEL, builder_name(builder, "kernel"), inner,
	                 NULL, 0);
	builder_end(builder, one, inner, BUILDER_START + 5000, NULL, 0);
	builder_event(builder, two, BUILDER_START + 500, 8000, EPP_NODE, builder_name(builder, "other"), NULL, 0);
	builder_event(builder, one, BUILDER_START + 6000, 1000, EPP_NODE, builder_name(builder, "second"), NULL, 0);
	builder_end(builder, one, outer, BUILDER_START + 7000, NULL, 0);
	write_and_parse();
	static const char *const expected[] = { "inner", "second", "outer", "other", "kernel", "epprof.ledger" };
	ck_assert_uint_eq(records->count, 6);
	for (unsigned i = 0; i < 6; i++)
		ck_assert_str_eq(name_at(i), expected[i]);
	/* The microsecond of the parent's start. */
	ck_assert_str_eq(json_text(json_get(&records->items[4], "args"), "ort_correlation_id"), "1700000000000001");
}
END_TEST

/* As many as do not fit into the spool's buffer. */
#define MANY 8000u

/* More than fits into a buffer, and nothing of the host in front. */
START_TEST(a_provider_s_events_alone_make_a_file)
{
	uint32_t stream = builder_device(builder, "s", "A", 0, 1, EPF_TRACK_CLOCK_HOST);
	epp_name name = builder_name(builder, "kernel");
	unsigned count = MANY;

	for (unsigned i = 0; i < count; i++)
		builder_complete(builder, stream, BUILDER_START + i * 1000, 100, EPP_KERNEL, name, 0, NULL, 0);
	write_and_parse();
	ck_assert_uint_gt(text.count, 2 * SINK_BUFFER_BYTES);
	ck_assert_uint_eq(records->count, count + 1);
	for (unsigned i = 0; i < count; i++) {
		ck_assert_str_eq(name_at(i), "kernel");
		ck_assert_int_eq(json_thousandths(&records->items[i], "ts"), i * 1000);
	}
}
END_TEST

START_TEST(without_room_for_them_it_fails)
{
	uint32_t stream = builder_device(builder, "s", "A", 0, 1, EPF_TRACK_CLOCK_HOST);
	epp_name name = builder_name(builder, "kernel");

	for (unsigned i = 0; i < MANY; i++)
		builder_complete(builder, stream, BUILDER_START + i * 1000, 100, EPP_KERNEL, name, 0, NULL, 0);
	struct sink_memory memory = { 0 };
	trace = builder_open(builder, EPF_FINISHED);
	setenv("TMPDIR", check_path("missing"), 1);
	check_fails(EPP_NOT_FOUND, epp_export(trace, "ort", NULL, sink_memory_write, &memory, NULL, NULL));
	free(memory.bytes);
}
END_TEST

START_TEST(a_provider_s_own_args_are_kept)
{
	uint32_t thread = builder_thread(builder, "main", 2),
		 stream = builder_device(builder, "s", "A", 0, 1, EPF_TRACK_CLOCK_HOST);
	epp_arg args[] = {
		{ .key = builder_name(builder, "ort_correlation_id"),
		  .type = EPP_ARG_TEXT,
		  .value.text = "42",
		  .text_bytes = 2 },
		{ .key = builder_name(builder, "placement"), .type = EPP_ARG_TEXT, .value.text = "left", .text_bytes = 4 }
	};
	uint64_t id = builder_event(builder, thread, BUILDER_START, 1000, EPP_NODE, builder_name(builder, "n"), NULL, 0);

	builder_complete(builder, stream, BUILDER_START + 10, 10, EPP_KERNEL, builder_name(builder, "k"), id, args, 2);
	write_and_parse();
	const struct json *written = json_get(&records->items[1], "args");
	ck_assert_str_eq(json_text(written, "ort_correlation_id"), "42");
	ck_assert_str_eq(json_text(written, "placement"), "left");
	ck_assert_str_eq(json_text(written, "placement#2"), "measured");
}
END_TEST

/* Texts of all lengths, in events of two clocks that take turns, behind one of the host. */
START_TEST(what_waits_in_a_file_is_what_came)
{
	static char letters[20000];
	uint32_t thread = builder_thread(builder, "main", 2);
	uint32_t streams[] = { builder_device(builder, "s", "A", 0, 1, EPF_TRACK_CLOCK_HOST),
		               builder_device(builder, "t", "A", 0, 2, EPF_TRACK_CLOCK_OFFSET_US) };
	epp_name key = builder_name(builder, "k"), number = builder_name(builder, "n"),
		 name = builder_name(builder, "kernel");
	const unsigned count = 400;

	memset(letters, 'x', sizeof letters);
	for (unsigned i = 0; i < count; i++) {
		epp_arg args[] = {
			{ .key = key, .type = EPP_ARG_TEXT, .value.text = letters, .text_bytes = i * i % sizeof letters },
			{ .key = number, .type = EPP_ARG_I64, .value.i64 = i },
			{ .key = key, .type = EPP_ARG_TEXT, .value.text = "second", .text_bytes = 6 },
		};
		bool on_host = i % 3 != 0;
		builder_complete(builder, streams[!on_host], on_host ? BUILDER_START + i * 1000 : i, on_host ? 100 : 1,
		                 EPP_KERNEL, name, 0, args, i % 7 ? i % 4 : 0);
	}
	builder_event(builder, thread, BUILDER_START, 1000, EPP_NODE, builder_name(builder, "host"), NULL, 0);
	write_and_parse();
	ck_assert_uint_gt(text.count, 4 * SINK_BUFFER_BYTES);
	ck_assert_uint_eq(records->count, count + 2);
	ck_assert_str_eq(name_at(0), "host");
	unsigned of_formula = 0;
	for (unsigned at = 1; at <= count; at++) {
		const struct json *args = json_get(&records->items[at], "args");
		unsigned i = (unsigned)json_thousandths(&records->items[at], "ts") / 1000, args_count = i % 7 ? i % 4 : 0;
		bool on_host = i % 3 != 0;
		ck_assert_str_eq(json_text(args, "stream"), on_host ? "1" : "2");
		ck_assert_str_eq(json_text(args, "placement"), on_host ? "measured" : "formula");
		ck_assert_uint_eq(strlen(json_text(args, "start_error_ns")),
		                  on_host ? 1 : 4); /* a microsecond and little more */
		ck_assert_uint_eq(args_count > 0, json_get(args, "k") != NULL);
		if (args_count > 0)
			ck_assert_uint_eq(strlen(json_text(args, "k")), i * i % sizeof letters);
		if (args_count > 1)
			ck_assert_uint_eq(strtoul(json_text(args, "n"), NULL, 10), i);
		if (args_count > 2)
			ck_assert_str_eq(json_text(args, "k#2"), "second");
		of_formula += !on_host;
	}
	ck_assert_uint_eq(of_formula, (count + 2) / 3);
}
END_TEST

START_TEST(what_is_no_json_is_a_string)
{
	static const char *const values[] = {
		"[1,2", "{float:[4,64]}", "[\"\xff\"]", "say \"hi\"", "tab\there", "{\"a\":1} ", ""
	};
	unsigned count = sizeof values / sizeof *values;
	uint32_t thread = builder_thread(builder, "main", 2);
	epp_arg args[8];

	for (unsigned i = 0; i < count; i++) {
		char key[] = { 'a', (char)('0' + i), 0 };
		args[i] = (epp_arg){ .key = builder_name(builder, key),
			             .type = EPP_ARG_TEXT,
			             .value.text = values[i],
			             .text_bytes = strlen(values[i]) };
	}
	builder_event(builder, thread, BUILDER_START, 1000, EPP_NODE, builder_name(builder, "a \"name\"\n"), args, count);
	write_and_parse();
	ck_assert_str_eq(name_at(0), "a \"name\"\n");
	const struct json *written = json_get(&records->items[0], "args");
	ck_assert_str_eq(json_text(written, "a0"), "[1,2");
	ck_assert_str_eq(json_text(written, "a1"), "{float:[4,64]}");
	ck_assert_str_eq(json_text(written, "a3"), "say \"hi\"");
	ck_assert_int_eq(json_get(written, "a5")->kind, JSON_OBJECT);
}
END_TEST

/* What a record's texts may hold fits, whatever is escaped; long keys do not. */
START_TEST(a_record_longer_than_the_buffer_waits_whole)
{
	enum { ARGS = 200 };
	uint32_t thread = builder_thread(builder, "main", 2), name = builder_name(builder, "n");
	static char key[2001];
	epp_arg args[ARGS] = { 0 };

	ck_assert_uint_gt(ARGS * sizeof key, SINK_BUFFER_BYTES);
	memset(key, 'k', sizeof key - 1);
	for (int i = 0; i < ARGS; i++)
		args[i] = (epp_arg){ .key = builder_name(builder, key), .type = EPP_ARG_I64, .value.i64 = i };
	for (int i = 0; i < 5; i++)
		builder_event(builder, thread, BUILDER_START + 1000 * (uint64_t)i, 900, EPP_NODE, name, args,
		              i % 2 ? ARGS : 1);
	write_and_parse();
	ck_assert_uint_eq(records->count, 6);
	for (size_t i = 0; i < 5; i++) {
		const struct json *own = json_get(&records->items[i], "args");
		ck_assert_uint_eq(own->count, i % 2 ? ARGS : 1);
		ck_assert_str_eq(own->items[own->count - 1].text, i % 2 ? "199" : "0");
	}
}
END_TEST

START_TEST(times_before_zero_are_rounded_down)
{
	uint32_t stream = builder_device(builder, "s", "A", 0, 1, EPF_TRACK_CLOCK_HOST);

	builder_complete(builder, stream, BUILDER_START - 1, 10, EPP_KERNEL, builder_name(builder, "k"), 0, NULL, 0);
	write_and_parse();
	ck_assert_int_eq(json_thousandths(&records->items[0], "ts"), -1000);
}
END_TEST

START_TEST(what_the_format_lacks_is_told)
{
	builder_destroy(builder);
	builder = export_sample();
	write_and_parse();
	ck_assert_str_eq(text.receipts, "1 instant left out: the format does not support them\n"
	                                "1 counter value left out: the format does not support them\n"
	                                "1 arrow left out: the format does not support them\n"
	                                "22 events rounded down to microseconds, the format's unit\n");
	ck_assert_uint_eq(records->count, 25 + 1);
}
END_TEST

/* Takes what comes before `before`, each of which is its own time; returns how many. */
static size_t take_times(struct pending *pending, int64_t before, int64_t *last)
{
	const char *piece;
	size_t count = 0, bytes;
	int64_t time;

	check_ok(pending_select(pending, before));
	while (pending_next(pending, &piece, &bytes)) {
		memcpy(&time, piece, sizeof time);
		if (bytes != sizeof time || time < *last || time >= before)
			ck_abort_msg("text %zu is out of order: %" PRId64 " after %" PRId64, count, time, *last);
		*last = time;
		count++;
	}
	return count;
}

START_TEST(waiting_texts_come_in_order)
{
	struct pending pending = { 0 };
	int64_t last = INT64_MIN;
	size_t taken = 0, pushed = 0;

	srand48(4);
	/* Times far apart, of either sign; what is pushed later ends after what was taken. */
	for (int64_t now = -1000000; now < 1000000; now += 20000) {
		for (unsigned i = 0; i < 100; i++, pushed++) {
			int64_t time = now + (lrand48() % 5 ? lrand48() % 3000 : lrand48() * 1000);
			check_ok(pending_push(&pending, time, (char *)&time, sizeof time));
		}
		taken += take_times(&pending, now, &last);
	}
	ck_assert_uint_gt(taken, pushed / 2);
	ck_assert_uint_eq(pending.count, pushed - taken);
	taken += take_times(&pending, INT64_MAX, &last);
	ck_assert_uint_eq(taken, pushed);
	ck_assert_uint_eq(take_times(&pending, INT64_MAX, &last), 0);
	pending_deinit(&pending);
}
END_TEST

/* The inner event ended with the outer one. */
START_TEST(of_equal_times_the_last_comes_first)
{
	static const char *const texts[] = { "outer", "inner", "" };
	struct pending pending = { 0 };
	const char *piece;
	size_t bytes;

	for (unsigned i = 0; i < 3; i++)
		check_ok(pending_push(&pending, 7, texts[i], strlen(texts[i])));
	check_ok(pending_select(&pending, 7));
	ck_assert(!pending_next(&pending, &piece, &bytes));
	check_ok(pending_select(&pending, 8));
	for (unsigned i = 3; i-- > 0;) {
		ck_assert(pending_next(&pending, &piece, &bytes));
		ck_assert_uint_eq(bytes, strlen(texts[i]));
		ck_assert_mem_eq(piece, texts[i], bytes);
	}
	ck_assert(!pending_next(&pending, &piece, &bytes));
	pending_deinit(&pending);
}
END_TEST

/* Long texts are looked through long before there are thousands of them. */
START_TEST(it_is_due_by_number_and_by_bytes)
{
	struct pending pending = { 0 };
	char piece[65536] = "";
	unsigned pushed = 0;

	for (; !pending_is_due(&pending) && pushed < 10000; pushed++)
		check_ok(pending_push(&pending, pushed, piece, sizeof piece));
	ck_assert_uint_lt(pushed, 100);
	/* Nothing can go: the next look comes when there is thrice as much. */
	check_ok(pending_select(&pending, 0));
	const char *next;
	size_t bytes;
	ck_assert(!pending_next(&pending, &next, &bytes));
	pending_deinit(&pending);
	for (pushed = 0; !pending_is_due(&pending) && pushed < 10000; pushed++)
		check_ok(pending_push(&pending, pushed, piece, 1));
	ck_assert_uint_eq(pushed, 4096);
	pending_deinit(&pending);
}
END_TEST

/* Three args in front, as the collector for ONNX Runtime puts them. */
static void collected(uint32_t thread, uint64_t start, const char *name, int64_t ts, int64_t dur, int64_t profile)
{
	epp_arg args[] = {
		{ .key = builder_name(builder, "ort_ts_us"), .type = EPP_ARG_I64, .value.i64 = ts },
		{ .key = builder_name(builder, "ort_dur_us"), .type = EPP_ARG_I64, .value.i64 = dur },
		{ .key = builder_name(builder, "ort_profile_us"), .type = EPP_ARG_I64, .value.i64 = profile },
		{ .key = builder_name(builder, "op_name"), .type = EPP_ARG_TEXT, .value.text = "Add", .text_bytes = 3 }
	};
	builder_event(builder, thread, start, 900, EPP_NODE, builder_name(builder, name), args, 4);
}

START_TEST(times_of_a_profile_come_back)
{
	uint32_t thread = builder_thread(builder, "main", 2);
	/* The epoch of the trace is 1700000000 s; the first profile began 2 ms before, the second 5 ms after. */
	const int64_t first = 1700000000000000 - 2000, second = first + 7000;

	/* What its times count from is not known yet when this comes. */
	builder_complete(builder, builder_device(builder, "s", "A", 0, 1, EPF_TRACK_CLOCK_HOST), BUILDER_START + 500,
	                 100, EPP_KERNEL, builder_name(builder, "early"), 0, NULL, 0);
	collected(thread, BUILDER_START + 1000, "one", 2005, 77, first);
	builder_event(builder, thread, BUILDER_START + 3000, 900, EPP_NODE, builder_name(builder, "plain"), NULL, 0);
	collected(thread, BUILDER_START + 5000, "two", 12, 3, second);
	collected(thread, BUILDER_START + 7000, "wild", INT64_MAX, INT64_MIN, INT64_MAX);
	write_and_parse();
	ck_assert_uint_eq(records->count, 6);
	ck_assert_str_eq(name_at(4), "early");
	ck_assert_int_eq(json_thousandths(&records->items[4], "ts"), 2000000);
	ck_assert_int_eq(json_thousandths(&records->items[0], "ts"), 2005000);
	ck_assert_int_eq(json_thousandths(&records->items[0], "dur"), 77000);
	ck_assert_int_eq(json_thousandths(&records->items[1], "ts"), 2003000);
	ck_assert_int_eq(json_thousandths(&records->items[1], "dur"), 0);
	ck_assert_int_eq(json_thousandths(&records->items[2], "ts"), 7012000);
	ck_assert_int_eq(json_thousandths(&records->items[2], "dur"), 3000);
	ck_assert_uint_eq(json_get(&records->items[0], "args")->count, 1);
	ck_assert_str_eq(json_text(json_get(&records->items[0], "args"), "op_name"), "Add");
}
END_TEST

/* A provider's event as the importer writes it, in a trace that began at another time than its profile. */
static void claimed(uint32_t stream, uint64_t start, const char *name, int64_t profile_us)
{
	static const char *const keys[] = { "ort_ts_us", "ort_dur_us", "ort_profile_us", "ort_pid", "ort_tid" };
	const int64_t values[] = { 15, 3, profile_us, -2, -1 };
	epp_arg args[5];

	for (unsigned i = 0; i < 5; i++) {
		args[i] = (epp_arg){ .key = builder_name(builder, keys[i]), .type = EPP_ARG_I64 };
		args[i].value.i64 = values[i];
	}
	builder_complete(builder, stream, start, 100, EPP_KERNEL, builder_name(builder, name), 0, args, 5);
}

START_TEST(a_provider_s_event_comes_back_as_it_was)
{
	uint32_t thread = builder_thread(builder, "main", 2);
	uint32_t stream = builder_device(builder, "s", "A", 0, 1, EPF_TRACK_CLOCK_HOST);

	collected(thread, BUILDER_START + 1000, "one", 12, 3, 1700000000000000 - 2000);
	claimed(stream, BUILDER_START + 2000, "known", 1700000000000000);
	claimed(stream, BUILDER_START + 3000, "unknown", 0);
	write_and_parse();
	ck_assert_uint_eq(records->count, 4);
	ck_assert_str_eq(name_at(1), "known");
	ck_assert_int_eq(json_thousandths(&records->items[1], "ts"), 2015000);
	ck_assert_int_eq(json_thousandths(&records->items[1], "dur"), 3000);
	ck_assert_int_eq(json_thousandths(&records->items[1], "pid"), -2000);
	ck_assert_int_eq(json_thousandths(&records->items[1], "tid"), -1000);
	ck_assert_uint_eq(json_get(&records->items[1], "args")->count, 0);
	/* When its profile began is not known: it gets its place in the trace. */
	ck_assert_int_eq(json_thousandths(&records->items[2], "ts"), 2003000);
	ck_assert_int_eq(json_thousandths(&records->items[2], "dur"), 0);
	ck_assert_int_ge(json_thousandths(&records->items[2], "pid"), 1);
	ck_assert_str_eq(json_text(json_get(&records->items[2], "args"), "stream"), "1");
	ck_assert_ptr_null(json_get(json_get(&records->items[2], "args"), "ort_pid"));
}
END_TEST

static Suite *ort_json_suite(void)
{
	Suite *suite = suite_create("ort_json");
	TCase *tests = tcase_create("ort_json");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, it_has_the_shape_of_onnx_runtime_s);
	tcase_add_test(tests, host_events_come_by_their_end_then_the_provider_s);
	tcase_add_test(tests, a_provider_s_events_alone_make_a_file);
	tcase_add_test(tests, without_room_for_them_it_fails);
	tcase_add_test(tests, a_provider_s_own_args_are_kept);
	tcase_add_test(tests, what_waits_in_a_file_is_what_came);
	tcase_add_test(tests, what_is_no_json_is_a_string);
	tcase_add_test(tests, a_record_longer_than_the_buffer_waits_whole);
	tcase_add_test(tests, times_before_zero_are_rounded_down);
	tcase_add_test(tests, what_the_format_lacks_is_told);
	tcase_add_test(tests, times_of_a_profile_come_back);
	tcase_add_test(tests, a_provider_s_event_comes_back_as_it_was);
	tcase_add_test(tests, waiting_texts_come_in_order);
	tcase_add_test(tests, of_equal_times_the_last_comes_first);
	tcase_add_test(tests, it_is_due_by_number_and_by_bytes);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(ort_json_suite)
