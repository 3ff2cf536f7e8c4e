/* Names are data: hostile texts in every place of a trace that has a text, through every command and every export
 * format.  None of them may be a control sequence for a terminal, markup of a page, a formula of a spreadsheet or a
 * statement of SQL. */
#include <bsd/string.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/command.h"
#include "tests/support/export_text.h"

/* "evil" finds a text again.  The last but one has U+009B and U+202E, the last is not UTF-8. */
static const char *const texts[] = {
	"evil</script><script>alert(1)</script>",
	"evil\"><img src=x onerror=alert(1)>",
	"\x1b]0;evil\x07",
	"=cmd|' /C calc'!A0 evil",
	"@SUM(1) evil",
	"+1 evil",
	"-1 evil",
	"\tevil",
	"\revil",
	"evil'; DROP TABLE events; --",
	"evil \xc2\x9b"
	"31m \xe2\x80\xae"
	"txt.exe \x7f",
	"evil \x9b\xff",
};
#define TEXTS_COUNT (sizeof texts / sizeof *texts)
/* A zero byte, in front of which a text may not end. */
static const char zero[] = "ev\0il";

static char trace[512];

static struct epp_builder *hostile_trace(void)
{
	struct epp_builder *b = builder_create();
	struct epf_source *source = &builder_header(b)->source;
	uint64_t at = BUILDER_START;

	builder_geometry(b, 32, 64, 4096, 1u << 20, 1u << 20);

	snprintf(source->program, sizeof source->program, "%s", texts[2]);
	snprintf(source->label, sizeof source->label, "%s", texts[10]);
	snprintf(source->hostname, sizeof source->hostname, "%s", texts[0]);
	for (unsigned i = 0; i < TEXTS_COUNT; i++) {
		const char *text = texts[i];
		uint32_t thread = builder_thread(b, text, 100 + i);
		uint32_t stream = builder_device(b, text, text, (int32_t)i, i, EPF_TRACK_CLOCK_HOST);
		struct epf_producer *producer = builder_producer(b, i, text);
		snprintf(producer->note, sizeof producer->note, "%s", text);
		epp_name name = builder_name(b, text);
		const epp_arg args[] = {
			{ .key = name, .type = EPP_ARG_TEXT, .value.text = text, .text_bytes = strlen(text) },
			{ .key = builder_name(b, "op_name"),
			  .type = EPP_ARG_TEXT,
			  .value.text = text,
			  .text_bytes = strlen(text) },
		};
		uint64_t node = builder_begin(b, thread, at, EPP_NODE, name);
		builder_complete(b, stream, at + 100, 500, EPP_KERNEL, name, node, args, 2);
		builder_instant(b, thread, at + 200, EPP_API, name, args, 2);
		builder_counter(b, thread, at + 300, name, 7);
		builder_end(b, thread, node, at + 900, args, 2);
		at += 1000;
	}
	builder_event(b, builder_thread(b, "last", 99), at, 10, EPP_NODE, builder_name_bytes(b, zero, sizeof zero - 1),
	              NULL, 0);
	return b;
}

static void setup(void)
{
	struct epp_builder *b = hostile_trace();

	snprintf(trace, sizeof trace, "%s", check_path("trace.epp"));
	builder_write(b, EPF_FINISHED, trace);
	builder_destroy(b);
}

static void has_not(const char *what, const char *text, size_t bytes, const char *raw)
{
	ck_assert_msg(!memmem(text, bytes, raw, strlen(raw)), "%s has '%s'", what, raw);
}

/* Control characters, also those of two bytes, and those that turn the direction of text. */
static void is_safe_for_a_terminal(const char *what, const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		unsigned char byte = (unsigned char)text[i], next = i + 1 < bytes ? (unsigned char)text[i + 1] : 0;
		bool is_allowed = byte >= 0x20 || byte == '\n' || byte == '\r';
		ck_assert_msg(is_allowed && byte != 0x7F, "%s has byte %02x at %zu", what, byte, i);
		ck_assert_msg(byte != '\r' || next == '\n', "%s has a single CR at %zu", what, i);
		ck_assert_msg(byte != 0xC2 || next >= 0xA0, "%s has U+00%02X at %zu", what, next, i);
	}
	has_not(what, text, bytes, "\xe2\x80\xae");
}

/* No field of CSV begins a formula, except a negative number. */
static void has_no_formula(const char *what, const char *text)
{
	bool is_quoted = false, begins = true;

	for (const char *at = text; *at; at++) {
		bool is_number = *at == '-' && strspn(at + 1, "0123456789.") > 0 &&
		                 strchr(",\r\n", at[1 + strspn(at + 1, "0123456789.")]);
		if (begins && *at != '"')
			ck_assert_msg(!strchr("=+-@\t", *at) || is_number, "%s: a cell begins with '%.20s'", what, at);
		if (*at == '"') {
			is_quoted = !is_quoted;
			continue; /* the cell begins behind its quote */
		}
		begins = !is_quoted && (*at == ',' || *at == '\n');
	}
}

/* ---- the commands ---- */

/* Runs a command; its output and messages are safe, and contain the texts. */
#define SHOWS(...) \
	do { \
		struct command shown = command_run(NULL, __VA_ARGS__, NULL); \
		const char *const words[] = { __VA_ARGS__ }; \
		char what[256] = ""; \
		for (size_t word = 0; word < sizeof words / sizeof *words; word++) { \
			strlcat(what, " ", sizeof what); \
			strlcat(what, words[word], sizeof what); \
		} \
		ck_assert_msg(shown.code >= 0 && shown.code <= 5, "%s: status %d", what, shown.code); \
		is_safe_for_a_terminal(what, shown.out, shown.out_bytes); \
		is_safe_for_a_terminal(what, shown.err, strlen(shown.err)); \
		ck_assert_msg(strstr(shown.out, "evil") || strstr(shown.err, "evil"), "%s shows no text: %s", what, \
		              shown.out); \
		if (strstr(what, " csv ")) \
			has_no_formula(what, shown.out); \
		command_free(&shown); \
	} while (0)

START_TEST(what_the_commands_print)
{
	static const char *const by[] = { "op-type", "op", "kernel", "call", "stream", "thread", "phase", "process" };
	static const char *const formats[] = { "text", "csv", "json" }, *const sets[] = { "text", "markdown", "json" };

	for (size_t i = 0; i < sizeof by / sizeof *by; i++)
		for (size_t j = 0; j < 3; j++)
			if (strcmp(by[i], "phase") != 0 && strcmp(by[i], "process") != 0)
				SHOWS("summary", "--by", by[i], "--format", formats[j], trace);
	SHOWS("summary", trace);
	SHOWS("summary", "--histogram", texts[3], trace);
	SHOWS("info", trace);
	SHOWS("info", "--format", "json", trace);
	SHOWS("tail", "-n", "1000", trace);
	SHOWS("show", "--where", "name LIKE '%DROP%'", trace);
	SHOWS("diff", trace, trace);
	SHOWS("diff", "--format", "csv", trace, trace);
	for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
		SHOWS("diff", "--format", sets[i], "--top", "0", "--before", trace, trace, "--after", trace);
	SHOWS("sql", trace, "SELECT * FROM timeline");
	SHOWS("sql", "--format", "csv", trace, "SELECT name, track_name FROM timeline");
	SHOWS("sql", "--format", "json", trace, "SELECT * FROM timeline");
	SHOWS("sql", trace, "SELECT name AS \"\x1b[31m evil\" FROM timeline");
}
END_TEST

START_TEST(what_is_written)
{
	char *named = check_path("evil.epp"), *other = check_path("other.epp"), *json = check_path("names.json"),
	     *second = check_path("second.epp");

	SHOWS("pack", "-o", named, trace);
	SHOWS("pack", "-o", named, trace);
	SHOWS("recover", "-o", other, check_path("missing \x1b evil.epp"));
	struct epp_builder *b = hostile_trace();
	builder_header(b)->file_id[0] ^= 1;
	builder_write(b, EPF_FINISHED, second);
	builder_destroy(b);
	struct command run = command_run(NULL, "merge", "-o", other, trace, second, NULL);
	ck_assert_msg(run.code == 0, "%s", run.err);
	is_safe_for_a_terminal("merge", run.err, strlen(run.err));
	command_free(&run);
	SHOWS("summary", other);
	SHOWS("info", other);
	run = command_run(NULL, "convert", "-t", "chrome", "-o", json, trace, NULL);
	ck_assert_int_eq(run.code, 0);
	command_free(&run);
	SHOWS("import", "--label", texts[2], "-o", check_path("evil imported.epp"), json);
	SHOWS("summary", check_path("evil imported.epp"));
	run = command_run(NULL, "convert", "--run", "one", "-o", check_path("runs"), trace, NULL);
	ck_assert_msg(run.code == 0, "%s", run.err);
	command_free(&run);
	ck_assert_int_eq(
	    access(check_path("runs/run=one/host=evil__script__script_alert_1___script_/part-0.parquet"), F_OK), 0);
}
END_TEST

/* ---- the formats ---- */

static char *export_as(const char *format, const char *input, size_t *bytes)
{
	char *path = check_path("out.%s", format);
	struct command run = command_run(NULL, "convert", "--force", "-t", format, "-o", path, input, NULL);

	ck_assert_msg(run.code == 0, "%s: %s", format, run.err);
	is_safe_for_a_terminal(format, run.err, strlen(run.err));
	command_free(&run);
	return command_file(path, bytes);
}

static unsigned count(const char *text, size_t bytes, const char *part)
{
	unsigned found = 0;

	for (const char *at = text; (at = memmem(at, bytes - (size_t)(at - text), part, strlen(part))); at++)
		found++;
	return found;
}

START_TEST(what_is_exported)
{
	static const char *const markup[] = { "html", "svg", "flame" };
	static const char *const jsons[] = { "chrome", "kineto", "ort", "ndjson", "csv" };
	char *plain = check_path("plain.epp");
	struct epp_builder *b = export_sample();
	size_t bytes, plain_bytes;

	builder_write(b, EPF_FINISHED, plain);
	builder_destroy(b);
	for (size_t i = 0; i < sizeof markup / sizeof *markup; i++) {
		char *expected = export_as(markup[i], plain, &plain_bytes), *text = export_as(markup[i], trace, &bytes);
		static const char *const parts[] = { "<script", "</script", "<img" };
		for (size_t j = 0; j < sizeof parts / sizeof *parts; j++)
			ck_assert_msg(count(text, bytes, parts[j]) == count(expected, plain_bytes, parts[j]),
			              "%s: %u %s", markup[i], count(text, bytes, parts[j]), parts[j]);
		has_not(markup[i], text, bytes, "\x1b");
		ck_assert_ptr_null(memchr(text, 0, bytes));
		free(expected);
		free(text);
	}
	for (size_t i = 0; i < sizeof jsons / sizeof *jsons; i++) {
		char *text = export_as(jsons[i], trace, &bytes);
		has_not(jsons[i], text, bytes, "\x1b");
		has_not(jsons[i], text, bytes, "\x07");
		ck_assert_ptr_null(memchr(text, 0, bytes));
		ck_assert_uint_gt(count(text, bytes, "evil"), 10);
		if (strcmp(jsons[i], "csv") == 0)
			has_no_formula("csv", text);
		free(text);
	}
	/* The others are read by their own length of a text. */
	const epp_export_format *format;
	for (size_t i = 0; (format = epp_export_format_at(i)) != NULL; i++)
		free(export_as(format->name, trace, &bytes));
}
END_TEST

START_TEST(sql_has_the_names_as_they_are)
{
	char *text = export_as("sqlite", trace, &(size_t){ 0 });
	sqlite3 *db;
	sqlite3_stmt *statement;

	free(text);
	ck_assert_int_eq(sqlite3_open(check_path("out.sqlite"), &db), SQLITE_OK);
	for (size_t i = 0; i < TEXTS_COUNT - 1; i++) {
		ck_assert_int_eq(
		    sqlite3_prepare_v2(db, "SELECT count(*) FROM timeline WHERE name = ?", -1, &statement, NULL),
		    SQLITE_OK);
		sqlite3_bind_text(statement, 1, texts[i], -1, SQLITE_STATIC);
		ck_assert_int_eq(sqlite3_step(statement), SQLITE_ROW);
		ck_assert_msg(sqlite3_column_int(statement, 0) >= 3, "%d of '%s'", sqlite3_column_int(statement, 0),
		              texts[i]);
		sqlite3_finalize(statement);
	}
	sqlite3_close(db);
}
END_TEST

/* ---- plugins ---- */

START_TEST(what_a_plugin_answers)
{
	static const char *const formats[] = { "text", "tap", "junit", "json" };
	static const char plugin[] = CHECK_BUILD "/tests/plugins/evil_ep.so";

	SHOWS("probe", plugin);
	SHOWS("probe", "--format", "json", plugin);
	SHOWS("probe", "--try", plugin);
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		SHOWS("conform", "--case", "^1[.]load", "--format", formats[i], "-o", check_path("conform.json"), plugin);
}
END_TEST

static Suite *cli_names_suite(void)
{
	Suite *suite = suite_create("cli_names");
	TCase *tests = tcase_create("cli_names");

	tcase_add_unchecked_fixture(tests, setup, NULL);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, what_the_commands_print);
	tcase_add_test(tests, what_is_written);
	tcase_add_test(tests, what_is_exported);
	tcase_add_test(tests, sql_has_the_names_as_they_are);
	tcase_add_test(tests, what_a_plugin_answers);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(cli_names_suite)
