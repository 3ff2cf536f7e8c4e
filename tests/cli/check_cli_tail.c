/* epprof tail: the last events, and following a process that records.  Covers tail.c and seen.c. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "epprof/session.h"
#include "tests/support/check.h"
#include "tests/support/command.h"
#include "tests/support/export_text.h"

static char path[512], out[512], err[512];

static void setup(void)
{
	snprintf(path, sizeof path, "%s", check_path("trace.epp"));
	snprintf(out, sizeof out, "%s", check_path("tail.out"));
	snprintf(err, sizeof err, "%s", check_path("tail.err"));
	unlink(path);
	unlink(out);
}

static size_t lines_in(const char *text)
{
	size_t count = 0;

	for (; *text; text++)
		count += *text == '\n';
	return count;
}

START_TEST(the_last_events_come_in_order_of_their_end)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "main", 1);
	uint64_t outer = builder_begin(b, thread, BUILDER_START, EPP_SESSION, builder_name(b, "outer"));

	builder_event(b, thread, BUILDER_START + 1000, 2000, EPP_NODE, builder_name(b, "first"), NULL, 0);
	builder_event(b, thread, BUILDER_START + 4000, 1500000, EPP_NODE, builder_name(b, "second"), NULL, 0);
	builder_end(b, thread, outer, BUILDER_START + 2000000, NULL, 0);
	builder_event(b, thread, BUILDER_START + 3000000, 500, EPP_NODE, builder_name(b, "third"), NULL, 0);
	builder_write(b, EPF_FINISHED, path);
	struct command run = command_run(NULL, "tail", "-n", "3", path, NULL);
	ck_assert_int_eq(run.code, 0);
	ck_assert_str_eq(run.out, "      0.001504    1.50 ms  main             second\n"
	                          "      0.002000    2.00 ms  main             outer\n"
	                          "      0.003001     500 ns  main             third\n");
	command_free(&run);
	run = command_run(NULL, "tail", "-n0", path, NULL);
	ck_assert_str_eq(run.out, "");
	command_free(&run);
	run = command_run(NULL, "tail", "--lines=1000000", "-f", path, NULL);
	ck_assert_int_eq(run.code, 0);
	ck_assert_uint_eq(lines_in(run.out), 4);
	command_free(&run);
	builder_destroy(b);
}
END_TEST

START_TEST(every_kind_is_printed)
{
	struct epp_builder *b = export_sample();

	builder_write(b, EPF_RECORDING, path);
	builder_destroy(b);
	struct command run = command_run(NULL, "tail", "-n", "100", path, NULL);
	ck_assert_int_eq(run.code, 0);
	ck_assert_ptr_nonnull(strstr(run.out, "  instant  main             cache miss\n"));
	ck_assert_ptr_nonnull(strstr(run.out, "   = 4096  main             bytes in use\n"));
	ck_assert_ptr_nonnull(strstr(run.out, "  33.0 us  main             request\n"));
	/* What is open has not ended. */
	ck_assert_ptr_null(strstr(run.out, "stuck"));
	ck_assert_ptr_nonnull(strstr(run.err, "1 event was open"));
	command_free(&run);
}
END_TEST

static void sleep_ms(unsigned ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000L }, NULL);
}

static epp_session *record(void)
{
	const epp_session_options options = { .struct_size = sizeof options, .path = path };
	epp_session *session;

	check_ok(epp_session_create(&options, &session));
	check_ok(epp_session_start(session));
	return session;
}

/* Until the file has this many lines. */
static void wait_for_lines(size_t count)
{
	for (unsigned tries = 0;; tries++) {
		size_t bytes;
		char *text = command_file(out, &bytes);
		size_t lines = lines_in(text);
		free(text);
		if (lines >= count)
			return;
		ck_assert_msg(tries < 200, "%zu lines of %zu", lines, count);
		sleep_ms(50);
	}
}

START_TEST(it_follows_until_the_end)
{
	epp_session *session = record();
	epp_name name = epp_name_intern("burst"), spanning = epp_name_intern("spanning");
	unsigned counts[3] = { 7, 3000, 100 }, total = 0;

	epp_event_end(session, epp_event_begin(session, EPP_NODE, epp_name_intern("before")), NULL, 0);
	pid_t pid = command_start(out, err, "tail", "-f", "-n", "5", path, NULL);
	wait_for_lines(1);
	uint64_t id = epp_event_begin(session, EPP_SESSION, spanning);
	for (unsigned burst = 0; burst < 3; burst++) {
		for (unsigned i = 0; i < counts[burst]; i++)
			epp_event_end(session, epp_event_begin(session, EPP_NODE, name), NULL, 0);
		total += counts[burst];
		wait_for_lines(1 + total);
	}
	epp_event_end(session, id, NULL, 0);
	wait_for_lines(1 + total + 1);
	check_ok(epp_session_end(session));
	check_ok(epp_session_wait(session, UINT64_MAX));
	epp_session_release(session);
	ck_assert_int_eq(command_wait(pid), 0);

	size_t bytes;
	char *text = command_file(out, &bytes), *errors = command_file(err, &bytes);
	ck_assert_uint_eq(lines_in(text), 1 + total + 1);
	ck_assert_str_eq(errors, "");
	const char *last = strstr(text, "spanning\n");
	ck_assert(last && !last[9]);
	free(text);
	free(errors);
}
END_TEST

START_TEST(it_notices_a_killed_process)
{
	int ends[2];
	char byte;

	ck_assert_int_eq(pipe(ends), 0);
	pid_t recorder = fork();
	if (recorder == 0) {
		epp_session *session = record();
		epp_event_end(session, epp_event_begin(session, EPP_NODE, epp_name_intern("done")), NULL, 0);
		epp_event_begin(session, EPP_NODE, epp_name_intern("open"));
		if (write(ends[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	ck_assert_int_eq(read(ends[0], &byte, 1), 1);
	pid_t pid = command_start(out, err, "tail", "-f", path, NULL);
	wait_for_lines(1);
	kill(recorder, SIGKILL);
	ck_assert_int_eq(command_wait(recorder), -SIGKILL);
	ck_assert_int_eq(command_wait(pid), 0);
	size_t bytes;
	char *text = command_file(out, &bytes), *errors = command_file(err, &bytes);
	ck_assert_uint_eq(lines_in(text), 1);
	ck_assert_ptr_nonnull(strstr(errors, "the recording process is gone; 1 event was open"));
	free(text);
	free(errors);
}
END_TEST

START_TEST(ctrl_c_ends_it)
{
	epp_session *session = record();

	epp_event_end(session, epp_event_begin(session, EPP_NODE, epp_name_intern("one")), NULL, 0);
	pid_t pid = command_start(out, err, "tail", "-f", path, NULL);
	wait_for_lines(1);
	kill(pid, SIGINT);
	ck_assert_int_eq(command_wait(pid), -SIGINT);
	epp_session_release(session);
}
END_TEST

static Suite *cli_tail_suite(void)
{
	Suite *suite = suite_create("cli_tail");
	TCase *tests = tcase_create("cli_tail");

	tcase_add_checked_fixture(tests, setup, NULL);
	tcase_add_test(tests, the_last_events_come_in_order_of_their_end);
	tcase_add_test(tests, every_kind_is_printed);
	tcase_add_test(tests, it_follows_until_the_end);
	tcase_add_test(tests, it_notices_a_killed_process);
	tcase_add_test(tests, ctrl_c_ends_it);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(cli_tail_suite)
