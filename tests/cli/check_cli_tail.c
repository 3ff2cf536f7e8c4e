/* epprof tail: the last events, and following a process that records.  Covers tail.c and seen.c. */
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
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
	epp_session_destroy(session);
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

/* The number before " events:" on each line that sums up, added to the number of other lines. */
static uint64_t events_printed(const char *text, unsigned *sums)
{
	uint64_t count = 0;

	for (const char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
		const char *found = memmem(line, (size_t)(end - line), " events: ", 9);
		uint64_t number = 0;
		for (const char *at = line + 16; found && at < found; at++)
			number = *at == ',' ? number : number * 10 + (uint64_t)(*at - '0');
		count += found ? number : 1;
		*sums += found != NULL;
	}
	return count;
}

static uint64_t events_in_file(void)
{
	epp_trace *trace;

	check_ok(epp_trace_open(path, &trace));
	uint64_t count = epp_trace_get_info(trace)->records_count;
	epp_trace_close(trace);
	return count;
}

/* More events than can be printed are summed up; each counts once. */
START_TEST(a_flood_is_summed_up)
{
	epp_session *session = record();
	epp_name names[] = { epp_name_intern("often"), epp_name_intern("some\ttimes"), epp_name_intern("seldom"),
		             epp_name_intern("rare"), epp_name_intern("once") };
	const uint64_t total = 400000;
	unsigned sums = 0;
	size_t bytes;

	epp_event_end(session, epp_event_begin(session, EPP_NODE, epp_name_intern("before")), NULL, 0);
	pid_t pid = command_start(out, err, "tail", "-f", path, NULL);
	wait_for_lines(1);
	for (uint64_t i = 0; i < total; i++) {
		unsigned name = i == 0 ? 4 : i % 100 == 0 ? 3 : i % 10 == 0 ? 2 : i % 4 == 0;
		epp_event_end(session, epp_event_begin(session, EPP_NODE, names[name]), NULL, 0);
		if (i % 50000 == 0)
			sleep_ms(20);
	}
	check_ok(epp_session_end(session));
	check_ok(epp_session_wait(session, UINT64_MAX));
	epp_session_destroy(session);
	ck_assert_int_eq(command_wait(pid), 0);
	char *text = command_file(out, &bytes), *errors = command_file(err, &bytes);
	ck_assert_str_eq(errors, "");
	/* Without those that the session lost, if any. */
	ck_assert_uint_eq(events_printed(text, &sums), events_in_file());
	ck_assert_uint_ge(sums, 1);
	ck_assert_ptr_nonnull(strstr(text, " events: often "));
	ck_assert_ptr_nonnull(strstr(text, "), some times "));
	ck_assert_ptr_nonnull(strstr(text, " more name"));
	free(text);
	free(errors);
}
END_TEST

/* A burst of events, and all that tail printed until then: each event once, also where a poll of a large trace reads only
 * its last part. */
static void burst(epp_session *session, epp_name name, uint64_t count, uint64_t total)
{
	unsigned sums = 0;
	size_t bytes;

	for (uint64_t i = 0; i < count; i++)
		epp_event_end(session, epp_event_begin(session, EPP_NODE, name), NULL, 0);
	for (unsigned tries = 0;; tries++) {
		char *text = command_file(out, &bytes);
		uint64_t printed = events_printed(text, &sums);
		free(text);
		if (printed == total)
			return;
		ck_assert_uint_lt(printed, total);
		ck_assert_uint_lt(tries, 400);
		sleep_ms(50);
	}
}

START_TEST(bursts_of_a_large_trace_are_summed_up)
{
	const epp_session_options options = { .struct_size = sizeof options, .path = path, .lossless = 1 };
	const uint64_t count = 400000, bursts = 4; /* more than a poll reads completely */
	epp_name name = epp_name_intern("burst");
	epp_session *session;
	unsigned sums = 0;
	size_t bytes;

	check_ok(epp_session_create(&options, &session));
	check_ok(epp_session_start(session));
	epp_event_end(session, epp_event_begin(session, EPP_NODE, epp_name_intern("before")), NULL, 0);
	pid_t pid = command_start(out, err, "tail", "-f", path, NULL);
	wait_for_lines(1);
	for (uint64_t i = 1; i <= bursts; i++)
		burst(session, name, count, 1 + i * count);
	/* A single event after the bursts is printed, not summed up. */
	epp_event_end(session, epp_event_begin(session, EPP_NODE, epp_name_intern("after")), NULL, 0);
	burst(session, name, 0, 2 + bursts * count);
	check_ok(epp_session_end(session));
	check_ok(epp_session_wait(session, UINT64_MAX));
	epp_session_destroy(session);
	ck_assert_int_eq(command_wait(pid), 0);
	char *text = command_file(out, &bytes);
	ck_assert_uint_eq(events_printed(text, &sums), 2 + bursts * count);
	ck_assert_uint_ge(sums, bursts);
	ck_assert_ptr_nonnull(strstr(text, " after\n"));
	free(text);
}
END_TEST

static int64_t processor_ns(void)
{
	struct rusage usage;

	getrusage(RUSAGE_CHILDREN, &usage);
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * INT64_C(1000000000) +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * INT64_C(1000);
}

/* The last events of a long trace take a small part of the time that reading all takes. */
START_TEST(it_begins_at_the_end)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "main", 1);
	epp_name name = builder_name(b, "op");
	const uint64_t count = 300000;

	for (uint64_t i = 0; i < count; i++)
		builder_event(b, thread, BUILDER_START + i * 10000, 900, EPP_NODE, name, NULL, 0);
	builder_write(b, EPF_FINISHED, path);
	builder_destroy(b);
	int64_t began_ns = processor_ns();
	struct command run = command_run(NULL, "tail", "-n", "2000000", path, NULL);
	int64_t all_ns = processor_ns() - began_ns;
	ck_assert_uint_eq(lines_in(run.out), count);
	command_free(&run);
	began_ns = processor_ns();
	run = command_run(NULL, "tail", "-n", "2", path, NULL);
	int64_t end_ns = processor_ns() - began_ns;
	ck_assert_str_eq(run.out, "      2.999981     900 ns  main             op\n"
	                          "      2.999991     900 ns  main             op\n");
	command_free(&run);
	ck_assert_msg(end_ns * 5 < all_ns, "the end takes %lld ns, all %lld ns", (long long)end_ns, (long long)all_ns);
}
END_TEST

/* A part of the trace without events before its end is no reason to stop. */
START_TEST(a_gap_before_the_end_is_crossed)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "main", 1);
	epp_name name = builder_name(b, "op");

	for (uint64_t i = 0; i < 20; i++)
		builder_event(b, thread, BUILDER_START + i * 1000, 900, EPP_NODE, name, NULL, 0);
	builder_event(b, thread, BUILDER_START + 3600000000000, 900, EPP_NODE, builder_name(b, "late"), NULL, 0);
	builder_write(b, EPF_FINISHED, path);
	builder_destroy(b);
	struct command run = command_run(NULL, "tail", "-n", "3", path, NULL);
	ck_assert_str_eq(run.out, "      0.000019     900 ns  main             op\n"
	                          "      0.000020     900 ns  main             op\n"
	                          "   3600.000001     900 ns  main             late\n");
	command_free(&run);
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
	ck_assert_ptr_nonnull(strstr(errors, "the recording process has ended; 1 event was open"));
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
	epp_session_destroy(session);
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
	tcase_add_test(tests, a_flood_is_summed_up);
	tcase_add_test(tests, bursts_of_a_large_trace_are_summed_up);
	tcase_add_test(tests, it_begins_at_the_end);
	tcase_add_test(tests, a_gap_before_the_end_is_crossed);
	tcase_add_test(tests, it_notices_a_killed_process);
	tcase_add_test(tests, ctrl_c_ends_it);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(cli_tail_suite)
