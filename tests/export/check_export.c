/* Exporting at large: the table of formats, options, failing sinks, cancelling, and the bytes of golden files.
 * Also covers ledger.c.
 *
 * EPPROF_UPDATE_GOLDEN=1 writes the golden files anew; look at the difference before it goes in. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "encoding/protobuf.h"
#include "epprof/epprof.h"
#include "tests/export/html_text.h"
#include "tests/support/check.h"
#include "tests/support/export_text.h"
#include "tests/support/parquet_text.h"
#include "tests/support/sqlite_text.h"
#include "tests/support/strict_json.h"

#define LEDGER_JSON "\"thread unlucky (77)\",\"emitted\":42,\"written\":1,\"open\":0,\"lost\":{\"no buffer\":41}"
#define LEDGER_CSV "\"\"emitted\"\":42,\"\"written\"\":1,\"\"open\"\":0,\"\"lost\"\":{\"\"no buffer\"\":41}"
#define LEDGER_TEXT \
	"\\\"thread unlucky (77)\\\",\\\"emitted\\\":42,\\\"written\\\":1,\\\"open\\\":0," \
	"\\\"lost\\\":{\\\"no buffer\\\":41}"
#define LEDGER_XML \
	"&quot;thread unlucky (77)&quot;,&quot;emitted&quot;:42,&quot;written&quot;:1,&quot;open&quot;:0," \
	"&quot;lost&quot;:{&quot;no buffer&quot;:41}"

/* The table of formats, in its order; what a valid document of each is at least, and its golden file. */
static void is_json(const char *bytes, size_t count)
{
	json_free(json_expect(bytes, count));
}

static void is_lines_of_json(const char *bytes, size_t count)
{
	for (const char *end; count; count -= (size_t)(end - bytes) + 1, bytes = end + 1) {
		end = memchr(bytes, '\n', count);
		ck_assert_ptr_nonnull(end);
		json_free(json_expect(bytes, (size_t)(end - bytes)));
	}
}

static void is_text(const char *bytes, size_t count)
{
	ck_assert_uint_eq(strlen(bytes), count);
}

static void is_database(const char *bytes, size_t count)
{
	sqlite3_close(sqlite_text_open(bytes, count));
}

/* Messages of protobuf, one after the other; field 1 is the packets of Perfetto, the planes of XSpace. */
static void is_protobuf(const char *bytes, size_t count)
{
	struct protobuf_reader reader = protobuf_reader_of(bytes, count);
	struct protobuf_field field;

	while (protobuf_next(&reader, &field)) {
		struct protobuf_reader inner = protobuf_reader_in(&field);
		ck_assert_int_eq(field.type, PROTOBUF_BYTES);
		while (field.number == 1 && protobuf_next(&inner, &(struct protobuf_field){ 0 }))
			;
		ck_assert(!inner.damaged);
	}
	ck_assert(!reader.damaged);
}

static void is_parquet(const char *bytes, size_t count)
{
	parquet_table_free(parquet_table_read(bytes, count));
}

static const struct {
	const char *name, *golden;
	void (*expect)(const char *bytes, size_t count);
	const char *ledger;                                /* how a loss of 41 events shows in it */
	char *(*text_of)(const char *bytes, size_t count); /* what the golden file holds, if not the bytes */
	size_t step; /* a large document fails at each so many bytes; 0: at each */
} formats[] = {
	{ "chrome", "sample.chrome.json", is_json, LEDGER_JSON, NULL, 0 },
	{ "ort", "sample.ort.json", is_json, LEDGER_JSON, NULL, 0 },
	{ "svg", "sample.svg", is_text, LEDGER_XML, NULL, 0 },
	{ "csv", "sample.csv", is_text, LEDGER_CSV, NULL, 0 },
	{ "ndjson", "sample.ndjson", is_lines_of_json, LEDGER_JSON, NULL, 0 },
	{ "sqlite", "sample.sqlite.txt", is_database, "lostno buffer)", sqlite_text_dump, 997 },
	{ "perfetto", "sample.pftrace", is_protobuf, "thread unlucky (77)", NULL, 0 },
	{ "kineto", "sample.kineto.json", is_json, LEDGER_JSON, NULL, 0 },
	{ "xspace", "sample.xplane.pb", is_protobuf, LEDGER_JSON, NULL, 0 },
	{ "parquet", "sample.parquet.txt", is_parquet, LEDGER_JSON, parquet_text_dump, 0 },
	{ "html", "sample.html.txt", is_text, "41 lost", html_text_dump, 997 },
	{ "flame", "sample.flame.svg", is_text, LEDGER_XML, NULL, 0 },
	{ "otlp", "sample.otlp.jsonl", is_lines_of_json, LEDGER_TEXT, NULL, 0 },
	{ "otlp-proto", "sample.otlp.pb", is_protobuf, LEDGER_JSON, NULL, 0 },
};
#define FORMATS_COUNT ((int)(sizeof formats / sizeof *formats))

START_TEST(every_format_says_what_it_is)
{
	size_t count = 0;
	const epp_export_format *format;

	for (; (format = epp_export_format_at(count)) != NULL; count++) {
		ck_assert_int_lt((int)count, FORMATS_COUNT);
		ck_assert_str_eq(format->name, formats[count].name);
		ck_assert_int_eq(format->extension[0], '.');
		ck_assert_uint_gt(strlen(format->description), 10);
	}
	ck_assert_uint_eq(count, FORMATS_COUNT);
	ck_assert_ptr_null(epp_export_format_at(SIZE_MAX));
}
END_TEST

static size_t take_nothing(const void *bytes, size_t count, void *user)
{
	(void)bytes, (void)count, (void)user;
	return 0;
}

START_TEST(misuse_is_refused)
{
	struct epp_builder *b = export_sample();
	epp_trace *trace = builder_open(b, EPF_FINISHED);
	struct {
		epp_export_options options;
		uint64_t newer;
	} newer = { .options.struct_size = sizeof newer, .newer = 1 };

	check_fails(EPP_NOT_FOUND, epp_export(trace, "crome", NULL, take_nothing, NULL, NULL, NULL));
	check_fails(EPP_NOT_FOUND, epp_export_file(trace, "", NULL, "-", 0, NULL, NULL));
	check_fails(EPP_INVALID_ARGUMENT, epp_export(NULL, "chrome", NULL, take_nothing, NULL, NULL, NULL));
	check_fails(EPP_INVALID_ARGUMENT, epp_export(trace, NULL, NULL, take_nothing, NULL, NULL, NULL));
	check_fails(EPP_INVALID_ARGUMENT, epp_export(trace, "chrome", NULL, NULL, NULL, NULL, NULL));
	check_fails(EPP_INVALID_ARGUMENT, epp_export_file(trace, "chrome", NULL, NULL, 0, NULL, NULL));
	check_fails(EPP_INVALID_ARGUMENT, epp_export(trace, "chrome", &newer.options, take_nothing, NULL, NULL, NULL));
	newer.newer = 0;
	check_fails(EPP_IO, epp_export(trace, "chrome", &newer.options, take_nothing, NULL, NULL, NULL));
	epp_trace_close(trace);
	builder_destroy(b);
}
END_TEST

/* ---- failing sinks ---- */

struct limited {
	size_t left;
	unsigned calls_after_failure;
	int failed;
};

static size_t take_limited(const void *bytes, size_t count, void *user)
{
	struct limited *limited = user;
	size_t taken = count < limited->left ? count : limited->left;

	(void)bytes;
	limited->calls_after_failure += limited->failed;
	limited->left -= taken;
	limited->failed = taken < count;
	errno = limited->failed ? ENOSPC : 0;
	return taken;
}

START_TEST(a_write_that_fails_anywhere_is_an_error)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "main", 1), stream = builder_device(b, "s", "d", 0, 1, EPF_TRACK_CLOCK_HOST);
	epp_name name = builder_name(b, "op");
	uint64_t id = builder_event(b, thread, BUILDER_START, 100, EPP_NODE, name, NULL, 0);
	builder_complete(b, stream, BUILDER_START + 10, 20, EPP_KERNEL, name, id, NULL, 0);
	epp_trace *trace = builder_open(b, EPF_FINISHED);
	struct export_text text;
	struct limited limited = { 0 };

	export_text_make(&text, trace, formats[_i].name, NULL);
	for (size_t left = 0; left < text.count; left += (formats[_i].step ? formats[_i].step : 1) * CHECK_ONE_IN) {
		limited = (struct limited){ .left = left };
		epp_status *status = epp_export(trace, formats[_i].name, NULL, take_limited, &limited, NULL, NULL);
		if (epp_status_code(status) != EPP_IO ||
		    !strstr(epp_status_message(status), "No space left on device") || limited.calls_after_failure)
			ck_abort_msg("%s with room for %zu of %zu: %s", formats[_i].name, left, text.count,
			             epp_status_message(status));
		epp_status_destroy(status);
	}
	limited = (struct limited){ .left = text.count };
	check_ok(epp_export(trace, formats[_i].name, NULL, take_limited, &limited, NULL, NULL));
	export_text_free(&text);
	epp_trace_close(trace);
	builder_destroy(b);
}
END_TEST

static struct epp_builder *long_trace(size_t events)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "main", 1);
	epp_name name = builder_name(b, "op");

	for (size_t i = 0; i < events; i++)
		builder_event(b, thread, BUILDER_START + i * 100, 90, EPP_NODE, name, NULL, 0);
	return b;
}

START_TEST(the_first_failure_ends_a_long_export)
{
	struct epp_builder *b = long_trace(20000);
	epp_trace *trace = builder_open(b, EPF_FINISHED);

	/* More than one buffer full, so that some writes succeed. */
	for (size_t left = 0; left < 900000; left += 100000) {
		struct limited limited = { .left = left };
		check_fails(EPP_IO, epp_export(trace, "chrome", NULL, take_limited, &limited, NULL, NULL));
		ck_assert_uint_eq(limited.calls_after_failure, 0);
	}
	epp_trace_close(trace);
	builder_destroy(b);
}
END_TEST

START_TEST(a_long_export_is_whole)
{
	struct epp_builder *b = long_trace(20000);
	epp_trace *trace = builder_open(b, EPF_FINISHED);
	struct export_text text;
	int64_t expected_us = 0;
	size_t slices = 0;

	export_text_make(&text, trace, "chrome", NULL);
	struct json *json = json_expect(text.bytes, text.count);
	const struct json *events = json_get(json, "traceEvents");
	for (size_t i = 0; i < events->count; i++) {
		if (strcmp(json_text(&events->items[i], "ph"), "X") != 0)
			continue;
		if (json_thousandths(&events->items[i], "ts") != expected_us)
			ck_abort_msg("event %zu is at the wrong time", slices);
		expected_us += 100;
		slices++;
	}
	ck_assert_uint_eq(slices, 20000);
	json_free(json);
	export_text_free(&text);
	epp_trace_close(trace);
	builder_destroy(b);
}
END_TEST

START_TEST(it_can_be_cancelled)
{
	struct epp_builder *b = long_trace(5000);
	epp_trace *trace = builder_open(b, EPF_FINISHED);
	volatile int cancel = 1;
	epp_export_options options = { .struct_size = sizeof options, .cancel = &cancel };
	char *path = check_path("cancelled.json");

	check_fails(EPP_CANCELLED, epp_export_file(trace, "chrome", &options, path, 0, NULL, NULL));
	ck_assert_int_ne(access(path, F_OK), 0);
	cancel = 0;
	check_ok(epp_export_file(trace, "chrome", &options, path, 0, NULL, NULL));
	ck_assert_int_eq(access(path, F_OK), 0);
	/* Options of a caller that knows of no cancelling. */
	options.struct_size = offsetof(epp_export_options, cancel);
	cancel = 1;
	check_ok(epp_export_file(trace, "chrome", &options, path, 1, NULL, NULL));
	epp_trace_close(trace);
	builder_destroy(b);
}
END_TEST

/* ---- what is written ---- */

static void expect_golden(const char *golden_name, const struct export_text *text)
{
	char path[512];
	size_t count = 0, line = 1;

	snprintf(path, sizeof path, "%s/tests/golden/%s", CHECK_SOURCE, golden_name);
	FILE *file = fopen(path, getenv("EPPROF_UPDATE_GOLDEN") ? "w+" : "r");
	ck_assert_msg(file != NULL, "%s: %s", path, strerror(errno));
	if (getenv("EPPROF_UPDATE_GOLDEN"))
		fwrite(text->bytes, 1, text->count, file);
	rewind(file);
	char *golden = malloc(text->count + 2);
	count = fread(golden, 1, text->count + 1, file);
	fclose(file);
	for (size_t i = 0; i < count && i < text->count; i++) {
		ck_assert_msg(golden[i] == text->bytes[i], "%s differs in line %zu: %.*s", golden_name, line,
		              (int)strcspn(text->bytes + i, "\n"), text->bytes + i);
		line += golden[i] == '\n';
	}
	ck_assert_uint_eq(count, text->count);
	free(golden);
}

START_TEST(the_bytes_are_those_of_the_golden_file)
{
	struct epp_builder *b = export_sample();
	epp_trace *trace = builder_open(b, EPF_FINISHED);
	struct export_text text;

	export_text_make(&text, trace, formats[_i].name, NULL);
	if (formats[_i].text_of) {
		char *as_text = formats[_i].text_of(text.bytes, text.count);
		free(text.bytes);
		text.bytes = as_text;
		text.count = strlen(as_text);
	}
	expect_golden(formats[_i].golden, &text);
	export_text_free(&text);
	epp_trace_close(trace);
	builder_destroy(b);
}
END_TEST

START_TEST(so_are_those_of_stages_of_gpus)
{
	struct epp_builder *b = export_sample();
	epp_trace *trace = builder_open(b, EPF_FINISHED);
	epp_export_options options = { .struct_size = sizeof options, .gpu_stages = 1 };
	struct export_text text;

	export_text_make(&text, trace, "perfetto", &options);
	expect_golden("sample.stages.pftrace", &text);
	export_text_free(&text);
	epp_trace_close(trace);
	builder_destroy(b);
}
END_TEST

START_TEST(an_empty_trace_gives_a_valid_document)
{
	struct epp_builder *b = builder_create();
	epp_trace *trace = builder_open(b, _i % 2 ? EPF_RECORDING : EPF_FINISHED);
	struct export_text text;

	export_text_make(&text, trace, formats[_i / 2].name, NULL);
	ck_assert_uint_gt(text.count, 0);
	formats[_i / 2].expect(text.bytes, text.count);
	ck_assert_str_eq(text.receipts, "");
	export_text_free(&text);
	epp_trace_close(trace);
	builder_destroy(b);
}
END_TEST

START_TEST(the_ledger_stands_in_every_format)
{
	struct epp_builder *b = export_sample();
	uint32_t thread = builder_thread(b, "unlucky", 77);
	struct export_text text;
	epp_trace *trace;

	builder_event(b, thread, BUILDER_START + 100, 10, EPP_NODE, builder_name(b, "op"), NULL, 0);
	builder_lost(b, thread, EPP_LOSS_NO_BUFFER, 41, 0);
	trace = builder_open(b, EPF_FINISHED);
	export_text_make(&text, trace, formats[_i].name, NULL);
	ck_assert_ptr_nonnull(memmem(text.bytes, text.count, formats[_i].ledger, strlen(formats[_i].ledger)));
	export_text_free(&text);
	epp_trace_close(trace);
	builder_destroy(b);
}
END_TEST

#define LONGEST_NAME_BYTES 65535u

/* Names and args of any bytes, up to the longest. */
START_TEST(any_bytes_make_a_valid_document)
{
	struct epp_builder *b = builder_create();
	char *longest = malloc(LONGEST_NAME_BYTES);
	char all[255];
	struct export_text text;

	for (unsigned i = 0; i < sizeof all; i++)
		all[i] = (char)(i + 1);
	for (unsigned i = 0; i < LONGEST_NAME_BYTES; i++)
		longest[i] = "\"\\,\n\xff\xc3 a"[i % 8];
	const struct {
		const char *text;
		size_t bytes;
	} hostile[] = { { all, sizeof all }, { longest, LONGEST_NAME_BYTES }, { "\"", 1 },       { "", 0 },
		        { "=1,2\r\n", 6 },   { "\xed\xa0\x80", 3 },           { "\xf0\x9f", 2 }, { " a ", 3 } };
	uint32_t thread = builder_thread(b, "thr\"ead\xff,\n\x01", 7);
	uint32_t stream = builder_device(b, "str\"eam\xff", "dev\x01,\"\xfe", 0, 1, EPF_TRACK_CLOCK_HOST);
	for (unsigned i = 0; i < sizeof hostile / sizeof *hostile; i++) {
		epp_name name = builder_name_bytes(b, hostile[i].text, hostile[i].bytes);
		size_t text_bytes = hostile[i].bytes < 30000 ? hostile[i].bytes : 30000;
		epp_arg args[] = {
			{ .key = name, .type = EPP_ARG_TEXT, .value.text = hostile[i].text, .text_bytes = text_bytes },
			{ .key = name, .type = EPP_ARG_F64, .value.f64 = i ? -0.0 : NAN },
			{ .key = name, .type = EPP_ARG_U64, .value.u64 = UINT64_MAX },
			{ .key = name, .type = EPP_ARG_I64, .value.i64 = INT64_MIN }
		};
		uint64_t at = BUILDER_START + i * 1000;
		uint64_t id = builder_event(b, thread, at, 500, EPP_NODE, name, args, 4);
		builder_instant(b, thread, at + 600, EPP_API, name, args, 1);
		builder_counter(b, thread, at + 700, name, -5);
		builder_complete(b, stream, at + 100, 50, EPP_KERNEL, name, id, args, 4);
	}
	epp_trace *trace = builder_open(b, EPF_FINISHED);
	export_text_make(&text, trace, formats[_i].name, NULL);
	formats[_i].expect(text.bytes, text.count);
	export_text_free(&text);
	epp_trace_close(trace);
	builder_destroy(b);
	free(longest);
}
END_TEST

static Suite *export_suite(void)
{
	Suite *suite = suite_create("export");
	TCase *tests = tcase_create("export");

	tcase_add_test(tests, every_format_says_what_it_is);
	tcase_add_test(tests, misuse_is_refused);
	tcase_add_loop_test(tests, a_write_that_fails_anywhere_is_an_error, 0, FORMATS_COUNT);
	tcase_add_test(tests, the_first_failure_ends_a_long_export);
	tcase_add_test(tests, a_long_export_is_whole);
	tcase_add_test(tests, it_can_be_cancelled);
	tcase_add_loop_test(tests, the_bytes_are_those_of_the_golden_file, 0, FORMATS_COUNT);
	tcase_add_test(tests, so_are_those_of_stages_of_gpus);
	tcase_add_loop_test(tests, an_empty_trace_gives_a_valid_document, 0, 2 * FORMATS_COUNT);
	tcase_add_loop_test(tests, the_ledger_stands_in_every_format, 0, FORMATS_COUNT);
	tcase_add_loop_test(tests, any_bytes_make_a_valid_document, 0, FORMATS_COUNT);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(export_suite)
