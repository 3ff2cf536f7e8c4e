/* --trace-id: every command that reads events has it, and shows only the events of that request. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "epprof/session.h"
#include "tests/support/command_expect.h"

#define ID_A "0af7651916cd43dd8448eb211c80319c"
#define ID_B "4bf92f3577b34da6a3ce929d0e0e4736"
#define ID_C "00000000000000000000000000000001"

/* One row for each command that 'epprof help' lists. */
static const struct {
	const char *name;
	const char *without; /* why the command has no --trace-id; NULL: it has one */
	const char *args[5]; /* before --trace-id ID TRACE */
	bool is_twice;       /* the command has two traces */
	bool shows_names;    /* its output has the names of events; if not, other tests compare what it makes */
} commands[] = {
	{ .name = "info", .without = "describes the file" },
	{ .name = "validate", .without = "checks the file" },
	{ .name = "import", .without = "reads no trace" },
	{ .name = "recover", .without = "writes all of a trace" },
	{ .name = "merge", .without = "writes all of its traces" },
	{ .name = "amend", .without = "writes all of a trace" },
	{ .name = "pack", .without = "writes all of a trace" },
	{ .name = "anonymize", .without = "writes all of a trace" },
	{ .name = "sql", .without = "its tables have the column trace_id" },
	{ .name = "run", .without = "records" },
	{ .name = "record", .without = "records" },
	{ .name = "ctl", .without = "records" },
	{ .name = "probe", .without = "reads no trace" },
	{ .name = "conform", .without = "reads no trace" },
	{ .name = "summary", .shows_names = true },
	{ .name = "show", .shows_names = true },
	{ .name = "diff", .is_twice = true, .shows_names = true },
	{ .name = "tail", .shows_names = true },
	{ .name = "advise", .args = { "--json" } },
	{ .name = "report", .args = { "-o", "-" } },
	{ .name = "flame", .args = { "-o", "-" }, .shows_names = true },
	{ .name = "convert", .args = { "-t", "csv", "-o", "-" }, .shows_names = true },
	{ .name = "view", .args = { "--no-open" } },
};
#define COMMANDS_COUNT (sizeof commands / sizeof *commands)

static char path[512];

static void record_step(epp_session *session, const char *name, const char *traceparent)
{
	uint64_t id = epp_event_begin(session, EPP_SESSION, epp_name_intern("epp\"run"));

	if (traceparent)
		check_ok(epp_context_set(session, traceparent, NULL));
	uint64_t inner = epp_event_begin(session, EPP_NODE, epp_name_intern(name));
	epp_event_end(session, inner, NULL, 0);
	epp_event_end(session, id, NULL, 0);
}

static void setup(void)
{
	epp_session *session;

	snprintf(path, sizeof path, "%s", check_path("requests.epp"));
	unlink(path);
	check_ok(epp_session_create(&(epp_session_options){ .struct_size = sizeof(epp_session_options), .path = path },
	                            &session));
	check_ok(epp_session_start(session));
	record_step(session, "of_a", "00-" ID_A "-b7ad6b7169203331-01");
	record_step(session, "of_b", "00-" ID_B "-00f067aa0ba902b7-01");
	record_step(session, "of_none", NULL);
	check_ok(epp_session_end(session));
	epp_session_destroy(session);
}

static struct command run_with(size_t index, const char *id)
{
	const char *words[10] = { commands[index].name };
	size_t count = 1;

	for (size_t i = 0; i < 5 && commands[index].args[i]; i++)
		words[count++] = commands[index].args[i];
	words[count++] = "--trace-id";
	words[count++] = id;
	words[count++] = path;
	if (commands[index].is_twice)
		words[count++] = path;
	return command_run(NULL, words[0], words[1], words[2], words[3], words[4], words[5], words[6], words[7],
	                   words[8], NULL);
}

/* A command that is new has to be added to the table above. */
START_TEST(every_command_is_in_the_table)
{
	struct command run = command_run(NULL, "help", NULL);
	char *save, *line = strstr(run.out, "Commands:\n");
	size_t count = 0;

	ck_assert_ptr_nonnull(line);
	for (line = strtok_r(line, "\n", &save); (line = strtok_r(NULL, "\n", &save)) && line[0] == ' '; count++) {
		char name[32];
		size_t i = 0;
		ck_assert_int_eq(sscanf(line, "%31s", name), 1);
		while (i < COMMANDS_COUNT && strcmp(commands[i].name, name) != 0)
			i++;
		ck_assert_msg(i < COMMANDS_COUNT, "'%s': does it have --trace-id, or why not?", name);
	}
	ck_assert_uint_eq(count, COMMANDS_COUNT);
	command_free(&run);
}
END_TEST

START_TEST(help_has_the_option)
{
	struct command run = command_run(NULL, "help", commands[_i].name, NULL);

	ck_assert_msg(!strstr(run.out, "  --trace-id ID ") == !!commands[_i].without, "%s", run.out);
	command_free(&run);
}
END_TEST

START_TEST(only_events_of_the_request_are_shown)
{
	if (!commands[_i].shows_names)
		return;
	/* Capital letters are the same id. */
	struct command run = run_with((size_t)_i, "0AF7651916cd43dd8448eb211c80319c");

	ck_assert_msg(run.code == 0, "status %d: %s", run.code, run.err);
	ck_assert_msg(strstr(run.out, "of_a") != NULL, "%s: %.2000s", commands[_i].name, run.out);
	ck_assert_msg(!strstr(run.out, "of_b"), "%s: %.2000s", commands[_i].name, run.out);
	ck_assert_msg(!strstr(run.out, "of_none"), "%s: %.2000s", commands[_i].name, run.out);
	command_free(&run);
}
END_TEST

START_TEST(wrong_ids_are_refused)
{
	static const struct {
		const char *id, *error;
	} wrong[] = { { ID_C, "no request has the trace id " ID_C },
		      { "", "'' is no trace id" },
		      { "' OR 1 OR '", "is no trace id" },
		      { ID_A "0", "is no trace id" } };

	for (size_t i = 0; !commands[_i].without && i < sizeof wrong / sizeof *wrong; i++) {
		struct command run = run_with((size_t)_i, wrong[i].id);
		ck_assert_msg(run.code == 1 || run.code == 5, "%s '%s': status %d", commands[_i].name, wrong[i].id,
		              run.code);
		ck_assert_msg(strstr(run.err, wrong[i].error) != NULL, "%s: %s", commands[_i].name, run.err);
		command_free(&run);
	}
}
END_TEST

/* One request against another of the same trace: what only one of them has is new or gone. */
START_TEST(diff_has_an_id_for_each_side)
{
	struct command run = command_run(NULL, "diff", "--format", "csv", "--trace-id", ID_A, "--trace-id", ID_B, path,
	                                 path, NULL);

	ck_assert_msg(run.code == 0, "%s", run.err);
	const char *gone = strstr(run.out, "op,\"of_a\","), *new = strstr(run.out, "op,\"of_b\",");
	ck_assert_msg(gone && new, "%s", run.out);
	ck_assert_int_eq(strncmp(strstr(gone, "\r\n") - 4, "gone", 4), 0);
	ck_assert_int_eq(strncmp(strstr(new, "\r\n") - 3, "new", 3), 0);
	ck_assert_ptr_null(strstr(run.out, "of_none"));
	command_free(&run);
	EXPECT(2, "--trace-id is given at most twice", "diff", "--trace-id", ID_A, "--trace-id", ID_B, "--trace-id",
	       ID_A, path, path);
	/* Sets of traces, too. */
	run = command_run(NULL, "diff", "--format", "json", "--trace-id", ID_A, "--before", path, path, "--after", path,
	                  path, NULL);
	ck_assert_msg(run.code == 0, "%s", run.err);
	ck_assert_msg(strstr(run.out, "of_a") && !strstr(run.out, "of_b"), "%s", run.out);
	command_free(&run);
}
END_TEST

START_TEST(show_combines_it_with_a_condition)
{
	struct command run = command_run(NULL, "show", "--trace-id", ID_B, "--where", "category = 'Node'", path, NULL);

	ck_assert_msg(run.code == 0, "%s", run.err);
	ck_assert_int_eq(strncmp(run.out, "of_b\n", 5), 0);
	command_free(&run);
	EXPECT(1, "no event where name = 'of_a'", "show", "--trace-id", ID_B, "--where", "name = 'of_a'", path);
	EXPECT(1, "no event with id = ", "show", "--trace-id", ID_B, "--id", "99", path);
	EXPECT(2, "which event?", "show", "--id", "1", "--where", "1", path);
}
END_TEST

/* -f of a request that never comes ends with the recording, and is no error. */
START_TEST(tail_waits_for_a_request)
{
	EXPECT(0, "", "tail", "-f", "--trace-id", ID_C, path);
	EXPECT(5, "no request has the trace id", "tail", "--trace-id", ID_C, path);
	EXPECT(5, "is no trace id", "tail", "-f", "--trace-id", "x", path);
}
END_TEST

static Suite *trace_id_suite(void)
{
	Suite *suite = suite_create("cli_trace_id");
	TCase *tests = tcase_create("trace_id");

	tcase_add_checked_fixture(tests, setup, NULL);
	tcase_add_test(tests, every_command_is_in_the_table);
	tcase_add_loop_test(tests, help_has_the_option, 0, COMMANDS_COUNT);
	tcase_add_loop_test(tests, only_events_of_the_request_are_shown, 0, COMMANDS_COUNT);
	tcase_add_loop_test(tests, wrong_ids_are_refused, 0, COMMANDS_COUNT);
	tcase_add_test(tests, diff_has_an_id_for_each_side);
	tcase_add_test(tests, show_combines_it_with_a_condition);
	tcase_add_test(tests, tail_waits_for_a_request);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(trace_id_suite)
