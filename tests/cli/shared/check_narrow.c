/* What people read fits a narrow terminal: no line of summary, info, diff, show and sql is longer than COLUMNS. */
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "tests/support/check.h"
#include "tests/support/command.h"
#include "tests/support/epp_builder.h"
#include "tests/support/merging.h"

static const int widths[] = { 40, 41, 47, 60, 80, 200 };
static char path[512], merged_path[512];

/* Long names, numbers and groups; copies, phases, losses, args, launches. */
static void write_process(char file)
{
	struct epp_builder *b = builder_create();
	struct epf_source *source = &builder_header(b)->source;
	epp_arg args[] = {
		{ .key = builder_name(b, "op_name"), .type = EPP_ARG_TEXT, .value.text = "Convolution2D", .text_bytes = 13 },
		{ .key = builder_name(b, "bytes"), .type = EPP_ARG_I64, .value.i64 = 123456789 }
	};
	char name[200];

	memset(builder_header(b)->file_id, file, sizeof(builder_header(b)->file_id));
	snprintf(source->hostname, sizeof source->hostname, "a-host-with-a-long-name.of.a.domain.example");
	snprintf(source->program, sizeof source->program, "/usr/local/bin/a program with words, a server");
	snprintf(source->label, sizeof source->label, "rank %c of a job with a label", file);
	builder_producer(b, 0, "AnExecutionProvider");
	uint32_t worker = builder_thread(b, "a worker", 1234567);
	uint32_t stream = builder_device(b, "a stream of kernels and of copies", "Accelerator 0 with a long name", 0,
	                                 12, EPF_TRACK_CLOCK_HOST);
	uint64_t at = BUILDER_START + 1000;
	for (unsigned i = 0; i < 400; i++, at += 1234567) {
		snprintf(name, sizeof name, "node number %u, with a very long name: \xC3\xBC\xE6\xBC\xA2 %s", i % 30,
		         "/model/layers.0/self_attn/q_proj/MatMul");
		uint64_t id = builder_event(b, worker, at, 900000, EPP_NODE, builder_name(b, name), args, 2);
		snprintf(name, sizeof name, i % 3 ? "ampere_sgemm_128x64_tn_%u" : "Memcpy HtoD", i % 30);
		builder_complete(b, stream, at + 200000, 300000, EPP_KERNEL, builder_name(b, name), id, args + 1, 1);
	}
	builder_lost(b, worker, EPP_LOSS_NO_BUFFER, 12345678, 12345678);
	builder_lost(b, worker, EPP_LOSS_TOO_DEEP, 7, 0);
	builder_write(b, EPF_FINISHED, check_path("%c.epp", file));
	builder_destroy(b);
}

static int columns_of(const char *line, size_t bytes)
{
	int columns = 0;
	for (size_t at = 0; at < bytes;) {
		wchar_t character;
		mbstate_t state = { 0 };
		size_t length = mbrtowc(&character, line + at, bytes - at, &state);
		ck_assert_msg(length && length <= bytes - at, "no UTF-8: %.*s", (int)bytes, line);
		columns += wcwidth(character);
		at += length;
	}
	return columns;
}

static void expect_narrow(int width, struct command run)
{
	ck_assert_msg(run.code == 0, "%s", run.err);
	ck_assert_uint_gt(run.out_bytes, 0);
	for (const char *line = run.out; *line; line += strcspn(line, "\n") + 1) {
		size_t bytes = strcspn(line, "\n");
		ck_assert_msg(columns_of(line, bytes) <= width, "COLUMNS=%d: '%.*s'", width, (int)bytes, line);
	}
	command_free(&run);
}

static void set_up(void)
{
	ck_assert_ptr_nonnull(setlocale(LC_CTYPE, "C.UTF-8"));
	write_process('a');
	write_process('b');
	snprintf(path, sizeof path, "%s", check_path("a.epp"));
	snprintf(merged_path, sizeof merged_path, "%s", check_path("m.epp"));
	epp_trace_close(merging(merged_path, NULL, path, check_path("b.epp")));
}

START_TEST(all_lines_fit)
{
	char columns[16];
	int width = widths[_i];

	snprintf(columns, sizeof columns, "%d", width);
	setenv("COLUMNS", columns, 1);
	expect_narrow(width, command_run(NULL, "summary", path, NULL));
	expect_narrow(width, command_run(NULL, "summary", "--warmup", "3", merged_path, NULL));
	expect_narrow(width, command_run(NULL, "summary", "--by", "process", merged_path, NULL));
	expect_narrow(width, command_run(NULL, "info", path, NULL));
	expect_narrow(width, command_run(NULL, "info", "--all", merged_path, NULL));
	expect_narrow(width, command_run(NULL, "diff", path, check_path("b.epp"), NULL));
	expect_narrow(width, command_run(NULL, "show", "--where", "name = 'Memcpy HtoD'", path, NULL));
	expect_narrow(width, command_run(NULL, "show", "--where", "name LIKE 'node number 7%'", merged_path, NULL));
}
END_TEST

/* The columns that matter most stay. */
START_TEST(what_stays)
{
	setenv("COLUMNS", "40", 1);
	struct command run = command_run(NULL, "summary", "--by", "op", path, NULL);
	const char *title = strstr(run.out, "By op, on the host\n");
	ck_assert_msg(title != NULL, "%s", run.out);
	const char *heads = strchr(title, '\n') + 1;
	char words[64];
	snprintf(words, sizeof words, "%.*s", (int)strcspn(heads, "\n"), heads);
	ck_assert_msg(strstr(words, "count") && strstr(words, "total") && strstr(words, " op"), "%s", words);
	command_free(&run);
}
END_TEST

/* An invalid value is ignored; without one, a file has lines of any length. */
START_TEST(values_of_columns)
{
	unsetenv("COLUMNS");
	struct command free_run = command_run(NULL, "summary", path, NULL);
	static const char *const values[] = { "", "0", "-40", "19", "forty", "99999999999" };
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		setenv("COLUMNS", values[i], 1);
		struct command run = command_run(NULL, "summary", path, NULL);
		ck_assert_str_eq(run.out, free_run.out);
		command_free(&run);
	}
	command_free(&free_run);
}
END_TEST

/* An accent takes no column: as many as a name can have are in one line. */
START_TEST(a_name_of_accents)
{
	static char name[EPF_NAME_BYTES_MAX];
	struct epp_builder *b = builder_create();
	for (size_t at = 0; at + 2 < sizeof name; at += 2)
		memcpy(name + at, "\xCC\x81", 2);
	builder_event(b, builder_thread(b, "worker", 7), BUILDER_START + 100, 50, EPP_NODE, builder_name(b, name), NULL, 0);
	builder_write(b, EPF_FINISHED, check_path("accents.epp"));
	builder_destroy(b);
	setenv("COLUMNS", "40", 1);
	expect_narrow(40, command_run(NULL, "show", "--where", "1", check_path("accents.epp"), NULL));
	expect_narrow(40, command_run(NULL, "summary", check_path("accents.epp"), NULL));
}
END_TEST

/* Columns of a query are what was asked for: none is left out. */
START_TEST(a_query_keeps_its_columns)
{
	setenv("COLUMNS", "40", 1);
	struct command run = command_run(
	    NULL, "sql", path, "SELECT id, start_ns, duration_ns, id AS four, name FROM timeline LIMIT 1", NULL);
	ck_assert_msg(strstr(run.out, "start_ns") && strstr(run.out, "four") && strstr(run.out, "name"), "%s", run.out);
	command_free(&run);
}
END_TEST

/* With more columns than fit, each row is a record, with all values in full if they fit. */
START_TEST(a_query_as_records)
{
	setenv("COLUMNS", "40", 1);
	expect_narrow(40, command_run(NULL, "sql", path, "SELECT * FROM timeline LIMIT 3", NULL));
	struct command run = command_run(NULL, "sql", path,
	                                 "SELECT 1234567890123 AS first, NULL AS second, 2345678901234 AS \"a title that is longer "
	                                 "than half of the terminal\", 'a text' AS fourth, hex(zeroblob(30)) AS fifth "
	                                 "UNION ALL SELECT 2, 3, 4, '5', '6'",
	                                 NULL);
	ck_assert_msg(strstr(run.out, "  first ") == run.out, "%s", run.out);
	ck_assert_msg(strstr(run.out, "1234567890123\n  second\n  a title that is lon"), "%s", run.out);
	ck_assert_msg(strstr(run.out, "\xE2\x80\xA6  2345678901234\n"), "%s", run.out);
	ck_assert_msg(strstr(run.out, "0000\xE2\x80\xA6\n\n  first "), "%s", run.out);
	command_free(&run);
}
END_TEST

static Suite *narrow_suite(void)
{
	Suite *suite = suite_create("narrow");
	TCase *tests = tcase_create("narrow");

	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, set_up, NULL);
	tcase_add_loop_test(tests, all_lines_fit, 0, sizeof widths / sizeof *widths);
	tcase_add_test(tests, what_stays);
	tcase_add_test(tests, values_of_columns);
	tcase_add_test(tests, a_name_of_accents);
	tcase_add_test(tests, a_query_keeps_its_columns);
	tcase_add_test(tests, a_query_as_records);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(narrow_suite)
