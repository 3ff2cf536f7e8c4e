/* Comma-separated values: read back by a strict reader of RFC 4180, field by field.  Covers encoding/csv.c and
 * export/text/export_csv.c, and text_cache.c and args_text.c with them. */
#include "encoding/csv.h"

#include <string.h>

#include "tests/support/check.h"
#include "tests/support/export_text.h"
#include "tests/support/strict_json.h"

#define COLUMNS 23

static const char *const columns[COLUMNS] = { "kind",         "name",   "category", "start_ns",  "duration_ns",
	                                      "source",       "pid",    "group",    "tid",       "track",
	                                      "track_name",   "device", "stream",   "lane",      "depth",
	                                      "id",           "parent", "run",      "placement", "start_error_ns",
	                                      "end_error_ns", "flags",  "args" };

static struct epp_builder *builder;
static epp_trace *trace;
static struct export_text text;
static char **cells; /* COLUMNS to a row */
static size_t rows;

static void setup(void)
{
	builder = builder_create();
}

static void teardown(void)
{
	for (size_t i = 0; i < rows * COLUMNS; i++)
		free(cells[i]);
	free(cells);
	export_text_free(&text);
	epp_trace_close(trace);
	builder_destroy(builder);
}

/* One field; returns what follows it: ',' or '\n' (for CR LF). */
static char read_field(const char **at, char **field)
{
	const char *from = *at;
	char *to = *field = malloc(strlen(from) + 1);

	if (*from == '"') {
		for (from++; *from != '"' || from[1] == '"'; from++) {
			ck_assert_msg(*from, "a quote that does not end");
			from += *from == '"';
			*to++ = *from;
		}
		from++;
	} else {
		while (*from && !strchr(",\"\r\n", *from))
			*to++ = *from++;
	}
	*to = 0;
	if (*from == ',') {
		*at = from + 1;
		return ',';
	}
	ck_assert_msg(from[0] == '\r' && from[1] == '\n', "a field ends with '%.10s'", from);
	*at = from + 2;
	return '\n';
}

static void write_and_parse(void)
{
	trace = builder_open(builder, EPF_FINISHED);
	export_text_make(&text, trace, "csv", NULL);
	for (const char *at = text.bytes; *at; rows++) {
		cells = realloc(cells, (rows + 1) * COLUMNS * sizeof *cells);
		for (size_t i = 0; i < COLUMNS; i++) {
			char end = read_field(&at, &cells[rows * COLUMNS + i]);
			ck_assert_msg(end == (i + 1 < COLUMNS ? ',' : '\n'), "row %zu ends in column %zu", rows, i);
		}
	}
	for (size_t i = 0; i < COLUMNS; i++)
		ck_assert_str_eq(cells[i], columns[i]);
}

static const char *cell(size_t row, const char *column)
{
	ck_assert_uint_lt(row, rows);
	for (size_t i = 0; i < COLUMNS; i++) {
		if (strcmp(columns[i], column) == 0)
			return cells[row * COLUMNS + i];
	}
	ck_abort_msg("no column %s", column);
	return NULL;
}

START_TEST(every_event_is_a_row)
{
	epp_arg rows_arg = { .key = builder_name(builder, "rows"), .type = EPP_ARG_I64, .value.i64 = 4 };
	uint32_t thread = builder_thread(builder, "main, \"1\"", 12),
		 stream = builder_device(builder, "s", "Accelerator 0", 3, 7, EPF_TRACK_CLOCK_HOST);
	uint64_t id = builder_event(builder, thread, BUILDER_START + 2000, 999, EPP_NODE,
	                            builder_name(builder, "a \"quoted\"\r\nname"), NULL, 0);

	builder_complete(builder, stream, BUILDER_START + 2100, 10, EPP_KERNEL, builder_name(builder, "gemm"), id,
	                 &rows_arg, 1);
	builder_begin(builder, thread, BUILDER_START + 9000, EPP_API, builder_name(builder, "stuck"));
	write_and_parse();
	ck_assert_str_eq(cell(1, "kind"), "slice");
	ck_assert_str_eq(cell(1, "name"), "a \"quoted\"\r\nname");
	ck_assert_str_eq(cell(1, "category"), "Node");
	ck_assert_str_eq(cell(1, "start_ns"), "2000");
	ck_assert_str_eq(cell(1, "duration_ns"), "999");
	ck_assert_str_eq(cell(1, "tid"), "12");
	ck_assert_str_eq(cell(1, "track_name"), "main, \"1\"");
	ck_assert_str_eq(cell(1, "device"), "");
	ck_assert_str_eq(cell(1, "parent"), "");
	ck_assert_str_eq(cell(1, "placement"), "measured");
	ck_assert_str_eq(cell(1, "flags"), "referred");
	ck_assert_str_eq(cell(1, "args"), "");
	ck_assert_str_eq(cell(2, "group"), "Accelerator 0");
	ck_assert_str_eq(cell(2, "tid"), "");
	ck_assert_str_eq(cell(2, "device"), "3");
	ck_assert_str_eq(cell(2, "stream"), "7");
	ck_assert_str_eq(cell(2, "parent"), cell(1, "id"));
	ck_assert_str_eq(cell(2, "args"), "{\"rows\":4}");
	ck_assert_str_eq(cell(3, "flags"), "unended");
}
END_TEST

START_TEST(ledger_and_facts_are_the_last_rows)
{
	uint32_t thread = builder_thread(builder, "main", 12);

	builder_lost(builder, thread, EPP_LOSS_TOO_DEEP, 3, 0);
	write_and_parse();
	ck_assert_uint_eq(rows, 4); /* head, session, thread, trace */
	ck_assert_str_eq(cell(2, "kind"), "ledger");
	ck_assert_str_eq(cell(2, "name"), "thread main (12)");
	struct json *ledger = json_expect(cell(2, "args"), strlen(cell(2, "args")));
	ck_assert_int_eq(json_thousandths(json_get(ledger, "lost"), "too deep"), 3000);
	json_free(ledger);
	ck_assert_str_eq(cell(3, "kind"), "trace");
	struct json *facts = json_expect(cell(3, "args"), strlen(cell(3, "args")));
	ck_assert_str_eq(json_text(facts, "epoch_unix_ns"), "1700000000000000000");
	ck_assert_str_eq(json_text(facts, "program"), "test");
	json_free(facts);
}
END_TEST

START_TEST(no_field_holds_what_it_must_not)
{
	static const struct {
		const char *text, *escaped;
		bool quotes;
	} cases[] = {
		{ "plain", "plain", false },
		{ "", "", false },
		{ "a,b", "a,b", true },
		{ "\"", "\"\"", true },
		{ "a\nb", "a\nb", true },
		{ "a\rb", "a\rb", true },
		{ " a", " a", true },
		{ "a\t", "a\t", true },
		{ "\x01", "\xEF\xBF\xBD", false },
		{ "\x7f", "\xEF\xBF\xBD", false },
		{ "\xC3\xA4", "\xC3\xA4", false },
		{ "\xC3", "\xEF\xBF\xBD", false },
		{ "\xFF\"", "\xEF\xBF\xBD\"\"", true },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char escaped[64];
		size_t bytes = strlen(cases[i].text);
		*csv_escape(escaped, cases[i].text, bytes) = 0;
		ck_assert_str_eq(escaped, cases[i].escaped);
		ck_assert_int_eq(csv_needs_quotes(cases[i].text, bytes), cases[i].quotes);
	}
}
END_TEST

/* Kept pieces must not be mixed up: the same name in two categories, the same track in two lanes. */
START_TEST(what_is_kept_is_kept_apart)
{
	uint32_t one = builder_thread(builder, "one", 1), two = builder_thread(builder, "two", 2);
	epp_name name = builder_name(builder, "op");

	for (unsigned i = 0; i < 8; i++)
		builder_event(builder, i & 1 ? one : two, BUILDER_START + i * 100, 10, i & 2 ? EPP_NODE : EPP_API, name,
		              NULL, 0);
	builder_instant(builder, one, BUILDER_START + 1000, EPP_NODE, name, NULL, 0);
	write_and_parse();
	for (unsigned i = 0; i < 8; i++) {
		ck_assert_str_eq(cell(i + 1, "track_name"), i & 1 ? "one" : "two");
		ck_assert_str_eq(cell(i + 1, "category"), i & 2 ? "Node" : "Api");
	}
	ck_assert_str_eq(cell(9, "kind"), "instant");
}
END_TEST

static Suite *csv_suite(void)
{
	Suite *suite = suite_create("csv");
	TCase *tests = tcase_create("csv");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, every_event_is_a_row);
	tcase_add_test(tests, ledger_and_facts_are_the_last_rows);
	tcase_add_test(tests, no_field_holds_what_it_must_not);
	tcase_add_test(tests, what_is_kept_is_kept_apart);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(csv_suite)
