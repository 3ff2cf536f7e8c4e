/* SQL over a trace: the answers are those of the SQLite export of the same trace; nothing can be written.  Covers
 * sql.c, sql_memory.c, sql_events.c, sql_cursor.c, sql_values.c, sql_args.c and sql_tables.c; sql_scan.c has a
 * program of its own. */
#include "epprof/sql.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "tests/support/check.h"
#include "tests/support/export_text.h"
#include "tests/support/sql_text.h"
#include "tests/support/sqlite_text.h"

static struct epp_builder *builder;
static epp_trace *trace;
static epp_sql *sql;
static sqlite3 *db;
static struct export_text text;

static void teardown(void)
{
	sqlite3_close(db);
	db = NULL;
	epp_sql_destroy(sql);
	sql = NULL;
	export_text_free(&text);
	epp_trace_close(trace);
	trace = NULL;
	builder_destroy(builder);
	builder = NULL;
}

/* The trace that the builder has, both ways. */
static void open_both(void)
{
	trace = builder_open(builder, EPF_FINISHED);
	export_text_make(&text, trace, "sqlite", NULL);
	db = sqlite_text_open(text.bytes, text.count);
	check_ok(epp_sql_create(trace, &sql));
}

static void must_agree(const char *statement)
{
	char *expected = sqlite_text_query(db, statement), *answer = sql_text_query(sql, statement);

	for (size_t i = 0; expected[i] || answer[i]; i++) {
		if (expected[i] != answer[i])
			ck_abort_msg("%s: behind %zu characters:\n%.200s\nand not\n%.200s", statement, i,
			             answer + (i > 100 ? i - 100 : 0), expected + (i > 100 ? i - 100 : 0));
	}
	free(expected);
	free(answer);
}

static const char *const questions[] = {
	"SELECT * FROM events",
	"SELECT * FROM timeline ORDER BY event",
	"SELECT * FROM args",
	"SELECT * FROM flows",
	"SELECT * FROM tracks",
	"SELECT * FROM runs",
	"SELECT * FROM clock_pairs",
	"SELECT * FROM ledger",
	"SELECT * FROM facts",
	"SELECT * FROM kinds",
	"SELECT * FROM categories",
	"SELECT * FROM placements",
	"SELECT * FROM flag_names",
	"SELECT * FROM works",
	"SELECT a.event, b.event, b.work, b.correlation FROM timeline a JOIN timeline b ON b.id = a.parent ORDER BY 1, 2",
	"SELECT DISTINCT name, text FROM names JOIN events USING(name) ORDER BY 1",
	"SELECT count(*), sum(duration_ns), min(start_ns), max(event) FROM events",
	"SELECT count(*) FROM timeline WHERE parent IS NULL",
	"SELECT name, count(*), total(duration_ns) FROM timeline GROUP BY name ORDER BY 3 DESC, 1",
	"SELECT name, duration_ns FROM (SELECT name, duration_ns, row_number() OVER (PARTITION BY name ORDER BY duration_ns)"
	" AS place, count(*) OVER (PARTITION BY name) AS count FROM timeline) WHERE place = (count * 99 + 99) / 100 ORDER BY 1",
	/* Starts, from all sides, and what is no integer. */
	"SELECT event, name FROM timeline WHERE start_ns >= 20000 AND start_ns < 40000",
	"SELECT start_ns FROM events WHERE start_ns > 20400 AND start_ns <= 38000",
	"SELECT event, start_ns FROM events WHERE start_ns = 20400",
	"SELECT event FROM events WHERE start_ns BETWEEN 20400 AND 20400",
	"SELECT event FROM events WHERE start_ns BETWEEN 40000 AND 20000",
	"SELECT event, start_ns FROM events WHERE start_ns >= 20399.5 AND start_ns < 25300.5",
	"SELECT event FROM events WHERE start_ns > -1e300 AND start_ns < 1e300",
	"SELECT event FROM events WHERE start_ns >= '20400'",
	"SELECT event FROM events WHERE start_ns > NULL",
	"SELECT event FROM events WHERE start_ns < 'text'",
	"SELECT event FROM events WHERE start_ns >= 9223372036854775807",
	"SELECT event FROM events WHERE start_ns <= -9223372036854775807 - 1",
	"SELECT count(*) FROM flows WHERE time_ns >= 30000",
	"SELECT flow, to_id FROM flows WHERE time_ns >= 30000",
	/* One of something. */
	"SELECT * FROM timeline WHERE event = 7",
	"SELECT * FROM events WHERE event IN (3, 1, 7, 1000000, 0, -5)",
	"SELECT name FROM timeline WHERE id = (SELECT id FROM events WHERE event = 5)",
	"SELECT event FROM events WHERE track = 2 ORDER BY start_ns LIMIT 5",
	"SELECT event, start_ns FROM events ORDER BY start_ns DESC LIMIT 5",
	"SELECT count(*) FROM events WHERE name = (SELECT name FROM names WHERE text = 'gemm')",
	"SELECT key, value, typeof(value) FROM args WHERE event = 3",
	/* Joins. */
	"SELECT a.name, b.name, count(*), min(b.start_ns - a.start_ns) FROM timeline b JOIN timeline a ON a.id = b.parent"
	" AND a.source = b.source WHERE b.stream IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2",
	"SELECT flows.kind, a.name, b.name FROM flows JOIN timeline a ON a.id = from_id JOIN timeline b ON b.id = to_id"
	" ORDER BY flow, 2, 3",
	"SELECT a.event, b.event FROM events a LEFT JOIN events b ON b.id = a.parent ORDER BY a.event",
	"SELECT timeline.name, key, value FROM timeline JOIN args USING(event) ORDER BY event, number",
	"SELECT key, name FROM args LEFT JOIN timeline USING(event) ORDER BY event, number",
	"SELECT a.event, key, value FROM events b JOIN events a ON a.id = b.parent JOIN args ON args.event = a.event"
	" ORDER BY a.event, b.event, number",
	"SELECT a.event, count(b.event) FROM events a JOIN events b ON b.start_ns > a.start_ns"
	" AND b.start_ns < a.start_ns + a.duration_ns WHERE a.event < 20 GROUP BY 1",
	"SELECT event FROM events WHERE id IN (SELECT parent FROM events) ORDER BY 1",
	"SELECT event FROM events WHERE parent = (SELECT id FROM events WHERE event = 1)",
	"SELECT event FROM events WHERE parent = 0",
	"SELECT p.event, c.event FROM events p LEFT JOIN events c ON c.parent = p.id ORDER BY 1, 2",
	"SELECT e.event, to_id FROM events e LEFT JOIN flows ON from_id = e.id ORDER BY 1, 2",
	"SELECT count(*) FROM (SELECT event FROM events UNION SELECT event FROM args)",
	"SELECT event, op_type FROM timeline ORDER BY event",
	"SELECT a.event, b.event, b.op_type FROM timeline a JOIN timeline b ON b.id = a.parent ORDER BY 1, 2",
};
#define QUESTIONS_COUNT ((int)(sizeof questions / sizeof *questions))

START_TEST(a_sample_answers_as_its_export)
{
	builder = export_sample();
	open_both();
	for (int i = 0; i < QUESTIONS_COUNT; i++)
		must_agree(questions[i]);
	/* Correlated; the export has no index for these. */
	must_agree("SELECT p.event, (SELECT count(*) FROM timeline c WHERE c.parent = p.id AND c.name = 'gemm') FROM events p"
	           " ORDER BY 1");
	must_agree("SELECT p.event, (SELECT count(*) FROM events c WHERE c.parent = p.id AND c.id > p.id) FROM events p"
	           " ORDER BY 1");
}
END_TEST

START_TEST(a_large_trace_answers_as_its_export)
{
	builder = sql_text_trace(20000);
	open_both();
	for (int i = 0; i < QUESTIONS_COUNT; i++)
		must_agree(questions[i]);
}
END_TEST

static int64_t processor_ns(const char *statement)
{
	struct timespec from, to;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	free(sql_text_query(sql, statement));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	return (to.tv_sec - from.tv_sec) * INT64_C(1000000000) + to.tv_nsec - from.tv_nsec;
}

/* A join of parents and children, from either side, takes time in proportion to the events: without an index it takes
 * thousands of scans. */
START_TEST(a_join_by_parent_takes_as_long_as_some_scans)
{
	static const char *const joins[] = {
		"SELECT count(*) FROM events c JOIN events p ON c.parent = p.id",
		"SELECT count(*) FROM events p LEFT JOIN events c ON c.parent = p.id",
		"SELECT sum((SELECT count(*) FROM timeline c WHERE c.parent = p.id)) FROM events p",
		"SELECT count(*) FROM events e LEFT JOIN flows ON from_id = e.id",
	};

	builder = sql_text_trace(50000);
	trace = builder_open(builder, EPF_FINISHED);
	for (size_t i = 0; i < sizeof joins / sizeof *joins; i++) {
		check_ok(epp_sql_create(trace, &sql));
		int64_t scan_ns = processor_ns("SELECT count(*), max(duration_ns) FROM events");
		int64_t join_ns = processor_ns(joins[i]);
		if (join_ns > scan_ns * 50)
			ck_abort_msg("%s: %" PRId64 " ns, a scan %" PRId64 " ns", joins[i], join_ns, scan_ns);
		epp_sql_destroy(sql);
		sql = NULL;
	}
}
END_TEST

START_TEST(nodes_have_an_operator_type)
{
	builder = builder_create();
	uint32_t thread = builder_thread(builder, "main", 1);
	uint32_t stream = builder_device(builder, "stream", "d", 0, 1, EPF_TRACK_CLOCK_HOST);
	epp_arg arg = { .key = builder_name(builder, "op_name"), .type = EPP_ARG_TEXT, .value.text = "Conv", .text_bytes = 4 };
	uint64_t node = builder_event(builder, thread, BUILDER_START, 600, EPP_NODE, builder_name(builder, "a"), &arg, 1);
	builder_event(builder, thread, BUILDER_START + 700, 600, EPP_API, builder_name(builder, "b"), &arg, 1);
	builder_complete(builder, stream, BUILDER_START + 50, 300, EPP_KERNEL, builder_name(builder, "gemm"), node,
	                 NULL, 0);
	open_both();
	for (int i = 0; i < QUESTIONS_COUNT; i++)
		must_agree(questions[i]);
	sql_text_expect(sql, "SELECT name, op_type FROM timeline WHERE op_type IS NOT NULL", "a|Conv\n");
	/* By number and from memory. */
	sql_text_expect(sql, "SELECT k.name, n.op_type FROM timeline k JOIN timeline n ON n.id = k.parent", "gemm|Conv\n");
	sql_text_expect(sql, "SELECT op_type FROM timeline WHERE event = 1", "Conv\n");
}
END_TEST

START_TEST(names_keep_what_a_text_can_hold)
{
	builder = sql_text_trace(8);
	open_both();
	sql_text_expect(sql, "SELECT DISTINCT hex(name) FROM timeline WHERE kind = 'slice' ORDER BY 1",
	                "\n67656D6D\n6F2770EFBFBD\n7A6500726F\n");
}
END_TEST

/* ---- what goes wrong ---- */

START_TEST(nothing_can_be_written)
{
	static const char *const statements[] = {
		"CREATE TABLE t(x)",
		"CREATE TEMP TABLE t(x)",
		"CREATE VIEW v AS SELECT 1",
		"CREATE VIRTUAL TABLE x USING epprof_args",
		"DROP TABLE events",
		"DROP TABLE names",
		"INSERT INTO events(event) VALUES(1)",
		"INSERT INTO names VALUES(1, 'x')",
		"INSERT INTO ledger SELECT * FROM ledger",
		"UPDATE events SET name = 1",
		"UPDATE names SET text = 'x'",
		"UPDATE sqlite_master SET sql = 'x'",
		"DELETE FROM args",
		"DELETE FROM ledger",
		"ALTER TABLE names RENAME TO others",
		"ATTACH '/tmp/x' AS other",
		"DETACH main",
		"VACUUM INTO '/tmp/x'",
		"PRAGMA journal_mode = WAL",
		"PRAGMA temp_store_directory = '/tmp'",
		"PRAGMA writable_schema = 1",
		"PRAGMA query_only",
		"REINDEX",
		"ANALYZE",
		"BEGIN",
		"SAVEPOINT s",
		"SELECT load_extension('x')",
	};

	builder = export_sample();
	open_both();
	for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
		check_fails(EPP_INVALID_ARGUMENT, sql_text_status(sql, statements[i]));
	check_ok(sql_text_status(sql, "PRAGMA table_info(events)"));
	check_ok(sql_text_status(sql, "EXPLAIN QUERY PLAN SELECT * FROM events JOIN args USING(event)"));
	must_agree("SELECT count(*) FROM names JOIN events USING(name)");
	must_agree("SELECT * FROM ledger");
}
END_TEST

START_TEST(mistakes_are_explained)
{
	const char *rest;
	epp_sql_rows *rows;
	epp_sql *none;

	builder = export_sample();
	open_both();
	epp_status *status = epp_sql_query(sql, "SELECT nme FROM timeline", NULL, &rows);
	ck_assert_str_eq(epp_status_message(status), "no such column: nme");
	ck_assert_int_eq((int)epp_status_code(status), EPP_INVALID_ARGUMENT);
	epp_status_destroy(status);
	check_fails(EPP_INVALID_ARGUMENT, sql_text_status(sql, "SELEC 1"));
	check_fails(EPP_INVALID_ARGUMENT, sql_text_status(sql, "SELECT '"));
	check_fails(EPP_INVALID_ARGUMENT, epp_sql_query(sql, NULL, NULL, &rows));
	check_fails(EPP_INVALID_ARGUMENT, epp_sql_query(NULL, "SELECT 1", NULL, &rows));
	check_fails(EPP_INVALID_ARGUMENT, epp_sql_create(NULL, &none));
	ck_assert_ptr_null(none);

	check_ok(epp_sql_query(sql, " -- nothing\n", &rest, &rows));
	ck_assert_ptr_null(rows);
	check_ok(epp_sql_query(sql, "SELECT 1 AS one; SELECT 2", &rest, &rows));
	ck_assert_str_eq(rest, " SELECT 2");
	ck_assert_uint_eq(epp_sql_rows_columns_count(rows), 1);
	ck_assert_str_eq(epp_sql_rows_column_name(rows, 0), "one");
	ck_assert_ptr_null(epp_sql_rows_column_name(rows, 1));
	epp_sql_rows_destroy(rows);
	epp_sql_rows_destroy(NULL);
	ck_assert(epp_sql_is_complete("SELECT 1;"));
	ck_assert(!epp_sql_is_complete("SELECT ';"));
}
END_TEST

/* ---- the documentation ---- */

/* Every statement of docs/formats.md that is marked as SQL for this command has an answer, the same as the export's. */
START_TEST(the_examples_of_the_page_work)
{
	char *page = NULL, *at;
	size_t room = 0;
	unsigned count = 0;

	builder = export_sample();
	open_both();
	FILE *file = fopen(CHECK_SOURCE "/docs/formats.md", "r");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_gt(getdelim(&page, &room, '\0', file), 0);
	fclose(file);
	at = strstr(page, "\n## sql\n");
	ck_assert_ptr_nonnull(at);
	char *end = strstr(at + 1, "\n## ");
	*(end ? end : at + strlen(at)) = '\0';
	while ((at = strstr(at, "```sql\n")) != NULL) {
		char *statement = at + strlen("```sql\n");
		char *behind = strstr(statement, ";\n```");
		ck_assert_ptr_nonnull(behind);
		*behind = '\0';
		must_agree(statement);
		char *answer = sql_text_query(sql, statement);
		ck_assert_str_ne(answer, "");
		free(answer);
		at = behind + 1;
		count++;
	}
	ck_assert_uint_ge(count, 3);
	free(page);
}
END_TEST

START_TEST(tables_say_their_columns)
{
	const char *name, *columns;
	char statement[2048];
	sqlite3 *empty;
	size_t count = 0;

	builder = export_sample();
	open_both();
	ck_assert_int_eq(sqlite3_open(":memory:", &empty), SQLITE_OK);
	for (; epp_sql_table_at(count, &name, &columns); count++) {
		snprintf(statement, sizeof statement, "CREATE TABLE %s%s", name, columns);
		ck_assert_int_eq(sqlite3_exec(empty, statement, NULL, NULL, NULL), SQLITE_OK);
		snprintf(statement, sizeof statement, "PRAGMA table_info(%s)", name);
		char *expected = sqlite_text_query(empty, statement);
		sql_text_expect(sql, statement, expected);
		free(expected);
	}
	ck_assert_uint_eq(count, 15);
	sqlite3_close(empty);
}
END_TEST

static Suite *sql_suite(void)
{
	Suite *suite = suite_create("sql");
	TCase *tests = tcase_create("sql");

	tcase_add_checked_fixture(tests, NULL, teardown);
	tcase_add_test(tests, a_sample_answers_as_its_export);
	tcase_add_test(tests, a_large_trace_answers_as_its_export);
	tcase_add_test(tests, a_join_by_parent_takes_as_long_as_some_scans);
	tcase_add_test(tests, nodes_have_an_operator_type);
	tcase_add_test(tests, names_keep_what_a_text_can_hold);
	tcase_add_test(tests, nothing_can_be_written);
	tcase_add_test(tests, mistakes_are_explained);
	tcase_add_test(tests, the_examples_of_the_page_work);
	tcase_add_test(tests, tables_say_their_columns);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(sql_suite)
