/* epprof sql as somebody uses it: formats, mistakes, the prompt through a pipe, Ctrl-C.  Covers sql.c, sql_print.c,
 * sql_prompt.c and sql_suggestion.c of the command. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/command.h"
#include "tests/support/export_text.h"
#include "tests/support/strict_json.h"

static struct command run;
static char path[512];

static void setup(void)
{
	struct epp_builder *builder = export_sample();

	snprintf(path, sizeof path, "%s", check_path("sample.epp"));
	builder_write(builder, EPF_FINISHED, path);
	builder_destroy(builder);
}

static void teardown(void)
{
	command_free(&run);
	unlink(path);
}

/* The command reads from a file as from a pipe. */
static void run_with_input(const char *input)
{
	char *input_path = check_path("input");
	FILE *file = fopen(input_path, "w");

	fputs(input, file);
	fclose(file);
	int fd = open(input_path, O_RDONLY);
	ck_assert_int_ge(fd, 0);
	dup2(fd, STDIN_FILENO);
	close(fd);
	command_free(&run);
	run = command_run(NULL, "sql", path, NULL);
}

static void expect(int code, const char *out, const char *err)
{
	ck_assert_msg(run.code == code, "exit status %d: %s", run.code, run.err);
	ck_assert_str_eq(run.out, out);
	ck_assert_str_eq(run.err, err);
}

START_TEST(a_table_is_aligned)
{
	run = command_run(NULL, "sql", path,
	                  "SELECT name, count(*) AS number, max(parent) IS NULL AS free, 0.5 AS half, NULL AS 'none|at <all'"
	                  " FROM timeline WHERE name IN ('gemm', 'request', 'model_run') GROUP BY name",
	                  NULL);
	expect(0,
	       "  name       number  free  half  none|at <all\n"
	       "  gemm            2     0   0.5\n"
	       "  model_run       2     1   0.5\n"
	       "  request         1     1   0.5\n",
	       "");
	command_free(&run);
	run = command_run(NULL, "sql", path, "SELECT name FROM timeline WHERE event = -1", NULL);
	expect(0, "  name\n", "");
}
END_TEST

START_TEST(csv_and_json_are_exact)
{
	static const char statement[] = "SELECT 'a\"b,' || char(10) AS \"x\"\"y\", 9007199254740993 AS big, 0.1 AS real, NULL AS n,"
					" '' AS e, 1e999 AS inf, 2 AS big";

	run = command_run(NULL, "sql", "--format", "csv", path, statement, NULL);
	expect(0, "\"x\"\"y\",\"big\",\"real\",\"n\",\"e\",\"inf\",\"big\"\n\"a\"\"b, \",9007199254740993,0.1,,\"\",inf,2\n",
	       "");
	command_free(&run);
	run = command_run(NULL, "sql", "--format", "json", path, statement, NULL);
	expect(0,
	       "[\n{\"x\\\"y\":\"a\\\"b,\\u000a\",\"big\":\"9007199254740993\",\"real\":0.1,\"n\":null,\"e\":\"\",\"inf\":\"inf\","
	       "\"big#2\":2}\n]\n",
	       "");
	json_free(json_expect(run.out, run.out_bytes));
	command_free(&run);
	run = command_run(NULL, "sql", "--format", "json", path, "SELECT * FROM timeline", NULL);
	struct json *rows = json_expect(run.out, run.out_bytes);
	ck_assert_uint_eq(rows->count, 28);
	ck_assert_str_eq(json_text(&rows->items[0], "id"), "1700000000000000000");
	json_free(rows);
}
END_TEST

START_TEST(a_long_answer_is_whole)
{
	unsigned lines = 0;

	run = command_run(NULL, "sql", path,
	                  "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 2500) SELECT x FROM c",
	                  NULL);
	ck_assert_int_eq(run.code, 0);
	for (const char *at = run.out; *at; at++)
		lines += *at == '\n';
	ck_assert_uint_eq(lines, 2500 + 3);
	ck_assert_ptr_nonnull(strstr(run.out, "\n  2500\n"));
}
END_TEST

START_TEST(mistakes_have_their_status)
{
	run = command_run(NULL, "sql", path, "SELECT nme FROM timeline", NULL);
	expect(1, "", "epprof: no such column: nme; did you mean 'name'?\n");
	command_free(&run);
	run = command_run(NULL, "sql", path, "SELECT t.duratoin_ns FROM timeline t", NULL);
	expect(1, "", "epprof: no such column: t.duratoin_ns; did you mean 'duration_ns'?\n");
	command_free(&run);
	run = command_run(NULL, "sql", path, "SELECT 1 FROM event", NULL);
	expect(1, "", "epprof: no such table: event; did you mean 'events'?\n");
	command_free(&run);
	run = command_run(NULL, "sql", path, "SELECT zzzzzzzz FROM events", NULL);
	expect(1, "", "epprof: no such column: zzzzzzzz\n");
	command_free(&run);
	run = command_run(NULL, "sql", path, "DELETE FROM ledger", NULL);
	expect(1, "", "epprof: a trace can only be read: not authorized\n");
	command_free(&run);
	run = command_run(NULL, "sql", NULL);
	ck_assert_int_eq(run.code, 2);
	command_free(&run);
	run = command_run(NULL, "sql", path, "SELECT", "1", NULL);
	expect(2, "", "epprof sql: '1' is unexpected; is the statement in quotes?\nSee 'epprof help sql'.\n");
	command_free(&run);
	run = command_run(NULL, "sql", "--format", "jsn", path, "SELECT 1", NULL);
	expect(2, "", "epprof sql: --format 'jsn': did you mean 'json'?\nSee 'epprof help sql'.\n");
	command_free(&run);
	run = command_run(NULL, "sql", check_path("none.epp"), "SELECT 1", NULL);
	ck_assert_int_eq(run.code, 5);
	command_free(&run);
	run = command_run("/dev/full", "sql", path, "SELECT 1", NULL);
	ck_assert_int_eq(run.code, 1);
}
END_TEST

START_TEST(statements_are_read_to_their_semicolon)
{
	run_with_input("SELECT 1 AS a,\n\n  ';' AS b;\nSELECT 2 AS c; SELECT 3 AS d;\n\nSELECT 4 AS e");
	expect(0, "  a  b\n  1  ;\n  c\n  2\n  d\n  3\n  e\n  4\n", "");
	/* What comes behind a mistake runs, and the status tells of it. */
	run_with_input("SELECT nme FROM events;\nSELECT 5 AS f;\n");
	expect(1, "  f\n  5\n", "epprof: no such column: nme; did you mean 'name'?\n");
	run_with_input("SELECT (");
	expect(1, "", "epprof: incomplete input\n");
	run_with_input("");
	expect(0, "", "");
}
END_TEST

START_TEST(words_with_a_dot_are_for_the_prompt)
{
	run_with_input(".schema runs\n.quit\nSELECT 1;\n");
	expect(0,
	       "CREATE TABLE runs(\n  run INTEGER NOT NULL,\n  start_ns INTEGER NOT NULL,\n  end_ns INTEGER,\n"
	       "  start_unix_ns INTEGER NOT NULL);\n",
	       "");
	/* The same as an argument. */
	command_free(&run);
	run = command_run(NULL, "sql", path, ".schema runs", NULL);
	expect(0,
	       "CREATE TABLE runs(\n  run INTEGER NOT NULL,\n  start_ns INTEGER NOT NULL,\n  end_ns INTEGER,\n"
	       "  start_unix_ns INTEGER NOT NULL);\n",
	       "");
	command_free(&run);
	run = command_run(NULL, "sql", path, ".schema", NULL);
	ck_assert_int_eq(run.code, 0);
	ck_assert_ptr_nonnull(strstr(run.out, "CREATE TABLE timeline("));
	command_free(&run);
	run = command_run(NULL, "sql", path, ".schema nothing", NULL);
	expect(1, "", "epprof: no table 'nothing'; .tables lists them\n");
	run_with_input(".tables\n");
	ck_assert_ptr_nonnull(strstr(run.out, "\ntimeline\n"));
	ck_assert_int_eq(run.code, 0);
	run_with_input(".schema\n.help\n");
	ck_assert_ptr_nonnull(strstr(run.out, "CREATE TABLE args("));
	ck_assert_ptr_nonnull(strstr(run.out, ".quit"));
	run_with_input(".schema nothing\n.tbles\n");
	expect(1, "",
	       "epprof: no table 'nothing'; .tables lists them\nepprof: '.tbles': unknown command; .help lists the commands\n");
}
END_TEST

/* A statement that would never end. */
START_TEST(ctrl_c_ends_an_answer)
{
	char *out = check_path("out"), *err = check_path("err");
	size_t bytes = 0;

	pid_t pid = command_start(out, err, "sql", "--format", "csv", path,
	                          "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c", NULL);
	/* When it prints rows its handler is there. */
	for (char *text = NULL; !bytes; usleep(1000)) {
		free(text);
		text = command_file(out, &bytes);
		if (bytes)
			free(text);
	}
	kill(pid, SIGINT);
	int code = command_wait(pid);
	ck_assert_int_eq(code, -SIGINT);
	char *message = command_file(err, &bytes);
	ck_assert_str_eq(message, "epprof: interrupted\n");
	free(message);
}
END_TEST

static Suite *cli_sql_suite(void)
{
	Suite *suite = suite_create("cli_sql");
	TCase *tests = tcase_create("cli_sql");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, a_table_is_aligned);
	tcase_add_test(tests, csv_and_json_are_exact);
	tcase_add_test(tests, a_long_answer_is_whole);
	tcase_add_test(tests, mistakes_have_their_status);
	tcase_add_test(tests, statements_are_read_to_their_semicolon);
	tcase_add_test(tests, words_with_a_dot_are_for_the_prompt);
	tcase_add_test(tests, ctrl_c_ends_an_answer);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(cli_sql_suite)
