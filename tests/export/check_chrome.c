/* Chrome trace events: valid whatever names and args hold, slices that nest, rows that are nobody else's, arrows with
 * both ends.  What is written is parsed again by a strict parser and played back.
 * Also covers rows.c, json_object_keys.c and flows.c. */
#include <math.h>
#include <string.h>

#include "encoding/utf8.h"
#include "tests/export/playback.h"
#include "tests/support/check.h"
#include "tests/support/export_text.h"
#include "tests/support/strict_json.h"

static struct epp_builder *builder;
static epp_trace *trace;
static struct export_text text;
static struct json *document;
static const struct json *events;

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

static void write_and_parse(enum epf_state state, const epp_export_options *options)
{
	trace = builder_open(builder, state);
	export_text_make(&text, trace, "chrome", options);
	document = json_expect(text.bytes, text.count);
	events = json_get(document, "traceEvents");
	ck_assert_ptr_nonnull(events);
}

static bool is_phase(const struct json *event, const char *phase)
{
	return strcmp(json_text(event, "ph"), phase) == 0;
}

/* The only event of a phase and name. */
static const struct json *find(const char *phase, const char *name)
{
	const struct json *found = NULL;

	for (size_t i = 0; i < events->count; i++) {
		const struct json *event = &events->items[i];
		if (!is_phase(event, phase) || strcmp(json_text(event, "name"), name) != 0)
			continue;
		ck_assert_msg(!found, "two %s events '%s'", phase, name);
		found = event;
	}
	ck_assert_msg(found != NULL, "no %s event '%s'", phase, name);
	return found;
}

static const char *number_of(const struct json *event, const char *key)
{
	const struct json *member = json_get(event, key);

	if (!member || member->kind != JSON_NUMBER)
		ck_abort_msg("no number '%s'", key);
	return member->text;
}

/* ---- names and args ---- */

START_TEST(any_name_is_written)
{
	static const struct {
		const char *name;
		size_t bytes;
		const char *read;
	} names[] = {
		{ "a \"quoted\" name", 15, "a \"quoted\" name" },
		{ "back\\slash", 10, "back\\slash" },
		{ "line\nbreak\ttab\x01\x1f", 16, "line\nbreak\ttab\x01\x1f" },
		{ "</script>", 9, "</script>" },
		{ "bad \xff\xfe utf8", 11, "bad " UTF8_REPLACEMENT UTF8_REPLACEMENT " utf8" },
		{ "cut \xE4\xB8", 6, "cut " UTF8_REPLACEMENT },
		{ "\xED\xA0\x80", 3, UTF8_REPLACEMENT UTF8_REPLACEMENT UTF8_REPLACEMENT },
		{ "zero\0byte", 9, "zero" },
		{ "", 0, "" },
		{ "%s%n", 4, "%s%n" },
	};
	size_t count = sizeof names / sizeof *names;
	uint32_t thread = builder_thread(builder, "th\"read\n\xff", 10);

	for (size_t i = 0; i < count; i++) {
		epp_name name = builder_name_bytes(builder, names[i].name, names[i].bytes);
		epp_arg arg = { .key = name, .type = EPP_ARG_TEXT, .value.text = names[i].name, .text_bytes = names[i].bytes };
		/* Twice, as a name may be written differently when it comes again. */
		builder_event(builder, thread, BUILDER_START + i * 100, 20, EPP_NODE, name, &arg, 1);
		builder_event(builder, thread, BUILDER_START + i * 100 + 50, 20, EPP_NODE, name, &arg, 1);
	}
	write_and_parse(EPF_FINISHED, NULL);
	size_t slices = 0;
	for (size_t i = 0; i < events->count; i++) {
		const struct json *event = &events->items[i], *args = json_get(event, "args");
		if (!is_phase(event, "X"))
			continue;
		const char *expected = names[slices++ / 2].read;
		ck_assert_str_eq(json_text(event, "name"), expected);
		ck_assert_uint_eq(args->count, 1);
		ck_assert_str_eq(args->items[0].key, expected);
		ck_assert_str_eq(args->items[0].text, expected);
	}
	ck_assert_uint_eq(slices, count * 2);
	playback(events, true);
}
END_TEST

START_TEST(names_of_any_length_are_written)
{
	static const size_t lengths[] = { 1, 90, 100, 110, 120, 121, 122, 123, 500, 11000, 65536 };
	size_t count = sizeof lengths / sizeof *lengths;
	uint32_t thread = builder_thread(builder, "main", 10);
	char *name = malloc(65536);

	/* Of three bytes each, so that a piece may end anywhere in a sequence; and of one that grows sixfold. */
	for (size_t i = 0; i < 65536; i++)
		name[i] = _i ? '\x02' : "\xE4\xB8\xAD"[i % 3];
	for (size_t i = 0; i < count; i++)
		builder_event(builder, thread, BUILDER_START + i * 100, 50, EPP_NODE,
		              builder_name_bytes(builder, name, lengths[i]), NULL, 0);
	write_and_parse(EPF_FINISHED, NULL);
	size_t slices = 0;
	for (size_t i = 0; i < events->count; i++) {
		const struct json *found = json_get(&events->items[i], "name");
		if (!is_phase(&events->items[i], "X"))
			continue;
		size_t whole = _i ? lengths[slices] : lengths[slices] - lengths[slices] % 3;
		if (found->text_bytes < whole || memcmp(found->text, name, whole) != 0)
			ck_abort_msg("a name of %zu bytes came back with %zu", lengths[slices], found->text_bytes);
		slices++;
	}
	ck_assert_uint_eq(slices, count);
	free(name);
}
END_TEST

START_TEST(values_of_every_type_are_written)
{
	epp_name key = builder_name(builder, "k");
	epp_arg args[] = {
		{ .key = key, .type = EPP_ARG_I64, .value.i64 = -7 },
		{ .key = key, .type = EPP_ARG_I64, .value.i64 = INT64_MIN },
		{ .key = key, .type = EPP_ARG_U64, .value.u64 = UINT64_MAX },
		{ .key = key, .type = EPP_ARG_F64, .value.f64 = 0.25 },
		{ .key = key, .type = EPP_ARG_F64, .value.f64 = NAN },
		{ .key = builder_name(builder, "k#2"), .type = EPP_ARG_F64, .value.f64 = -INFINITY },
	};
	uint32_t thread = builder_thread(builder, "main", 10);

	builder_event(builder, thread, BUILDER_START, 50, EPP_NODE, builder_name(builder, "op"), args, 5);
	write_and_parse(EPF_FINISHED, NULL);
	const struct json *written = json_get(find("X", "op"), "args");
	ck_assert_str_eq(number_of(written, "k"), "-7");
	ck_assert_str_eq(json_text(written, "k#2"), "-9223372036854775808");
	ck_assert_str_eq(json_text(written, "k#3"), "18446744073709551615");
	ck_assert_str_eq(number_of(written, "k#4"), "0.25");
	ck_assert_str_eq(json_text(written, "k#5"), "NaN");
}
END_TEST

START_TEST(an_arg_does_not_replace_one_of_ours)
{
	uint32_t thread = builder_thread(builder, "main", 10);
	uint32_t stream = builder_device(builder, "stream 1", "Accelerator", 3, 7, EPF_TRACK_CLOCK_HOST);
	epp_arg arg = { .key = builder_name(builder, "stream"), .type = EPP_ARG_I64, .value.i64 = 99 };
	uint64_t id = builder_event(builder, thread, BUILDER_START, 500, EPP_NODE, builder_name(builder, "op"), NULL, 0);

	builder_complete(builder, stream, BUILDER_START + 10, 20, EPP_KERNEL, builder_name(builder, "k"), id, &arg, 1);
	write_and_parse(EPF_FINISHED, NULL);
	const struct json *written = json_get(find("X", "k"), "args");
	ck_assert_str_eq(number_of(written, "stream"), "7");
	ck_assert_str_eq(number_of(written, "stream#2"), "99");
	ck_assert_str_eq(number_of(written, "device"), "3");
	ck_assert_str_eq(json_text(written, "placement"), "measured");
	ck_assert_str_eq(number_of(written, "start_error_ns"), "0");
	ck_assert_str_eq(json_text(written, "parent"), json_text(json_get(find("X", "op"), "args"), "id"));
}
END_TEST

START_TEST(long_args_are_whole)
{
	uint32_t thread = builder_thread(builder, "main", 10);
	char *long_text = malloc(32768);
	epp_arg args[100];

	for (size_t i = 0; i < 32768; i++)
		long_text[i] = (char)(i % 256);
	args[0] = (epp_arg){
		.key = builder_name(builder, "text"), .type = EPP_ARG_TEXT, .value.text = long_text, .text_bytes = 32768
	};
	builder_event(builder, thread, BUILDER_START, 50, EPP_NODE, builder_name(builder, "long"), args, 1);
	for (size_t i = 0; i < 100; i++)
		args[i] = (epp_arg){ .key = builder_name(builder, "same"), .type = EPP_ARG_U64, .value.u64 = i };
	builder_event(builder, thread, BUILDER_START + 100, 50, EPP_NODE, builder_name(builder, "many"), args, 100);
	write_and_parse(EPF_FINISHED, NULL);
	const struct json *many = json_get(find("X", "many"), "args");
	ck_assert_uint_eq(many->count, 100);
	ck_assert_str_eq(number_of(many, "same#100"), "99");
	/* 128 of each 256 bytes are ASCII, the others no UTF-8 that anybody knows, but C2 to F4 with what follows. */
	const struct json *written = json_get(json_get(find("X", "long"), "args"), "text");
	ck_assert_uint_ge(written->text_bytes, 32768 / 2);
	free(long_text);
}
END_TEST

/* ---- times and rows ---- */

START_TEST(nanoseconds_are_kept)
{
	uint32_t thread = builder_thread(builder, "main", 10);

	builder_event(builder, thread, BUILDER_START + 123456789, 1001, EPP_NODE, builder_name(builder, "op"), NULL, 0);
	write_and_parse(EPF_FINISHED, NULL);
	ck_assert_str_eq(number_of(find("X", "op"), "ts"), "123456.789");
	ck_assert_str_eq(number_of(find("X", "op"), "dur"), "1.001");
	ck_assert_str_eq(json_text(document, "displayTimeUnit"), "ns");
}
END_TEST

START_TEST(rows_are_shared_by_nobody)
{
	/* The same number twice on the host, and streams that overlap in part on devices of the same name. */
	uint32_t threads[] = { builder_thread(builder, "first", 10), builder_thread(builder, "second", 10) };
	uint32_t streams[] = { builder_device(builder, "s", "Accelerator", 0, 1, EPF_TRACK_CLOCK_HOST),
		               builder_device(builder, "s", "Accelerator", 0, 1, EPF_TRACK_CLOCK_HOST),
		               builder_device(builder, "s", "Other", 0, 1, EPF_TRACK_CLOCK_HOST) };
	epp_name op = builder_name(builder, "op"), kernel = builder_name(builder, "k");

	for (unsigned i = 0; i < 40; i++) {
		uint64_t at = BUILDER_START + i * 100;
		uint64_t id = builder_event(builder, threads[i % 2], at, 90, EPP_NODE, op, NULL, 0);
		builder_complete(builder, streams[i % 3], at + 10, 250 + i * 7 % 200, EPP_KERNEL, kernel,
		                 i % 5 ? id : 0, NULL, 0);
		builder_complete(builder, streams[i % 3], at + 60, 400, EPP_KERNEL, kernel, id, NULL, 0);
	}
	write_and_parse(EPF_FINISHED, NULL);
	ck_assert_uint_gt(playback(events, true), 60);
	unsigned first_rows = 0;
	for (size_t i = 0; i < events->count; i++) {
		const struct json *event = &events->items[i];
		first_rows += strcmp(json_text(event, "name"), "thread_name") == 0 &&
		              strcmp(number_of(event, "tid"), "10") == 0;
		/* No row of ours can be a thread's. */
		if (strcmp(json_text(event, "cat"), "Kernel") == 0)
			ck_assert_uint_gt(strtoull(number_of(event, "tid"), NULL, 10), 1u << 22);
	}
	ck_assert_uint_eq(first_rows, 1);
}
END_TEST

START_TEST(random_traces_play_back)
{
	uint32_t threads[3], streams[3];
	epp_name op = builder_name(builder, "op"), kernel = builder_name(builder, "k");
	uint64_t now = BUILDER_START, last[3] = { 0 };

	srand48(_i);
	for (uint32_t i = 0; i < 3; i++) {
		threads[i] = builder_thread(builder, "t", 100 + i);
		streams[i] = builder_device(builder, "s", i < 2 ? "A" : "B", 0, i, EPF_TRACK_CLOCK_HOST);
	}
	for (unsigned i = 0; i < 150; i++) {
		uint64_t open[8];
		unsigned depth = (unsigned)(lrand48() % 8), t = (unsigned)(lrand48() % 3);
		for (unsigned d = 0; d < depth; d++) {
			open[d] = builder_begin(builder, threads[t], now += (uint64_t)(lrand48() % 3), EPP_NODE, op);
			if (lrand48() % 2)
				builder_complete(builder, streams[lrand48() % 3], now + (uint64_t)(lrand48() % 50),
				                 (uint64_t)(lrand48() % 60), EPP_KERNEL, kernel,
				                 lrand48() % 8 ? open[d] : 0, NULL, 0);
		}
		while (depth) {
			/* Some on another thread, so that they overlap in part. */
			uint64_t id = open[--depth];
			now += (uint64_t)(lrand48() % 3);
			if (lrand48() % 10)
				builder_end(builder, threads[t], id, now, NULL, 0);
			else
				builder_orphan_end(builder, threads[(t + 1) % 3], id, now + 20, NULL, 0);
		}
		last[t] = builder_event(builder, threads[t], now, 5, EPP_NODE, op, NULL, 0);
		now += 5;
		if (last[0] && last[1])
			builder_flow(builder, threads[2], now, last[0], last[1]);
	}
	write_and_parse(_i % 2 ? EPF_FINISHED : EPF_RECORDING, NULL);
	playback(events, false);
}
END_TEST

START_TEST(a_window_has_no_loose_arrows)
{
	uint32_t thread = builder_thread(builder, "main", 10);
	uint32_t stream = builder_device(builder, "s", "A", 0, 1, EPF_TRACK_CLOCK_HOST);
	epp_timeline_options window = { .struct_size = sizeof window, .from_ns = 1000, .to_ns = 2000 };
	epp_export_options options = { .struct_size = sizeof options, .timeline = &window };
	epp_name op = builder_name(builder, "op"), kernel = builder_name(builder, "k");
	uint64_t before = builder_event(builder, thread, BUILDER_START + 100, 800, EPP_NODE, op, NULL, 0);
	uint64_t inside = builder_event(builder, thread, BUILDER_START + 1100, 800, EPP_NODE, op, NULL, 0);
	uint64_t outside = builder_event(builder, thread, BUILDER_START + 2100, 800, EPP_NODE, op, NULL, 0);

	builder_complete(builder, stream, BUILDER_START + 1050, 100, EPP_KERNEL, kernel, before, NULL, 0);
	builder_complete(builder, stream, BUILDER_START + 1200, 100, EPP_KERNEL, kernel, inside, NULL, 0);
	builder_flow(builder, thread, BUILDER_START + 1900, inside, outside);
	write_and_parse(EPF_FINISHED, &options);
	ck_assert_uint_eq(playback(events, true), 1);
	ck_assert_ptr_nonnull(strstr(text.receipts, "2 arrows left out"));
}
END_TEST

START_TEST(all_kinds_are_written)
{
	builder_destroy(builder);
	builder = export_sample();
	write_and_parse(EPF_FINISHED, NULL);
	ck_assert_uint_eq(playback(events, false), 11);
	ck_assert_str_eq(json_text(find("i", "cache miss"), "s"), "t");
	ck_assert_str_eq(number_of(json_get(find("C", "bytes in use"), "args"), "value"), "4096");
	ck_assert_str_eq(json_text(find("b", "request"), "id"), json_text(find("e", "request"), "id"));
	ck_assert_int_eq(json_get(json_get(find("X", "stuck"), "args"), "unended")->kind, JSON_TRUE);
	ck_assert_int_eq(json_get(json_get(find("X", "prefetch"), "args"), "uncorrelated")->kind, JSON_TRUE);
	ck_assert_str_eq(text.receipts, "");
	const struct json *other = json_get(document, "otherData");
	ck_assert_str_eq(number_of(other, "events"), "28");
	ck_assert_uint_eq(json_get(other, "ledger")->count, 4);
}
END_TEST

START_TEST(open_events_are_marked)
{
	uint32_t thread = builder_thread(builder, "main", 10);

	builder_begin(builder, thread, BUILDER_START + 100, EPP_NODE, builder_name(builder, "open"));
	builder_event(builder, thread, BUILDER_START + 200, 50, EPP_NODE, builder_name(builder, "done"), NULL, 0);
	write_and_parse(EPF_RECORDING, NULL);
	ck_assert_int_eq(json_get(json_get(find("X", "open"), "args"), "open")->kind, JSON_TRUE);
	playback(events, false);
}
END_TEST

START_TEST(a_thread_nobody_defined_has_a_row)
{
	uint32_t thread = builder_thread_undefined(builder, "lost", 4242);

	builder_event(builder, thread, BUILDER_START, 50, EPP_NODE, builder_name(builder, "op"), NULL, 0);
	write_and_parse(EPF_RECORDING, NULL);
	playback(events, true);
	find("X", "op");
}
END_TEST

START_TEST(counters_are_numbers)
{
	uint32_t thread = builder_thread(builder, "main", 10);
	epp_name name = builder_name(builder, "c");
	epp_arg arg = { .key = builder_name(builder, "value"), .type = EPP_ARG_F64, .value.f64 = NAN };
	struct epf_record record = { .start_ticks = BUILDER_START + 50,
		                     .name = name,
		                     .bits = EPF_BITS(EPP_SESSION, EPF_COUNTER, 0, 0) };

	builder_record(builder, thread, &record, &arg, 1);
	builder_counter(builder, thread, BUILDER_START + 100, name, INT64_MAX);
	write_and_parse(EPF_FINISHED, NULL);
	ck_assert_str_eq(number_of(json_get(find("C", "c"), "args"), "value"), "9223372036854775807");
	ck_assert_str_eq(text.receipts, "1 counter value left out: not a number\n");
}
END_TEST

static Suite *chrome_suite(void)
{
	Suite *suite = suite_create("chrome");
	TCase *tests = tcase_create("chrome");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, any_name_is_written);
	tcase_add_loop_test(tests, names_of_any_length_are_written, 0, 2);
	tcase_add_test(tests, values_of_every_type_are_written);
	tcase_add_test(tests, an_arg_does_not_replace_one_of_ours);
	tcase_add_test(tests, long_args_are_whole);
	tcase_add_test(tests, nanoseconds_are_kept);
	tcase_add_test(tests, rows_are_shared_by_nobody);
	tcase_add_loop_test(tests, random_traces_play_back, 0, 12);
	tcase_add_test(tests, a_window_has_no_loose_arrows);
	tcase_add_test(tests, all_kinds_are_written);
	tcase_add_test(tests, open_events_are_marked);
	tcase_add_test(tests, a_thread_nobody_defined_has_a_row);
	tcase_add_test(tests, counters_are_numbers);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(chrome_suite)
