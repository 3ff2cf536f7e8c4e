/* Progress on a terminal: a line that is rewritten and erased after two seconds; nothing for short commands, for files
 * and with --quiet.  The input is a pipe that is held open. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/command.h"
#include "tests/support/export_text.h"

#define ERASE "\r\033[K"
#define PROFILE "[{\"ph\":\"X\",\"name\":\"op\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1}]"
/* Progress would have been shown after this. */
#define LONG_MS 3500

struct terminal {
	int fd;
	char path[64];
	char text[1 << 16];
	size_t bytes;
};

static struct terminal terminal;

static void open_terminal(unsigned short columns)
{
	struct winsize size = { .ws_row = 24, .ws_col = columns };

	terminal.bytes = 0;
	terminal.fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	ck_assert_int_ge(terminal.fd, 0);
	ck_assert_int_eq(grantpt(terminal.fd), 0);
	ck_assert_int_eq(unlockpt(terminal.fd), 0);
	ck_assert_int_eq(ptsname_r(terminal.fd, terminal.path, sizeof terminal.path), 0);
	ck_assert_int_eq(ioctl(terminal.fd, TIOCSWINSZ, &size), 0);
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Reads until the text contains `wanted`, or for a time; false: it does not. */
static bool read_until(const char *wanted, int64_t ms)
{
	struct pollfd ready = { .fd = terminal.fd, .events = POLLIN };

	for (int64_t end = now_ms() + ms; now_ms() < end && !(wanted && strstr(terminal.text, wanted));) {
		if (poll(&ready, 1, 50) <= 0)
			continue;
		ssize_t bytes = read(terminal.fd, terminal.text + terminal.bytes,
		                     sizeof terminal.text - 1 - terminal.bytes);
		/* The command has ended, or has not opened its terminal yet. */
		if (bytes <= 0) {
			nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
			continue;
		}
		terminal.bytes += (size_t)bytes;
		terminal.text[terminal.bytes] = '\0';
	}
	return wanted && strstr(terminal.text, wanted);
}

/* Runs an import whose input takes `input_ms`. Standard error is `err`. */
static void import(const char *err, const char *quiet, int64_t input_ms, const char *wanted)
{
	char *fifo = check_path("profile.json"), *output = check_path("out.epp");

	unlink(fifo);
	ck_assert_int_eq(mkfifo(fifo, 0600), 0);
	pid_t pid = command_start("/dev/null", err, "import", "--force", "-o", output, fifo, quiet, NULL);
	int input = open(fifo, O_WRONLY | O_CLOEXEC);
	ck_assert_int_ge(input, 0);
	bool found = read_until(wanted, input_ms);
	ck_assert_msg(!wanted || found, "not shown: %s", terminal.text);
	ck_assert_int_eq(write(input, PROFILE, strlen(PROFILE)), (ssize_t)strlen(PROFILE));
	close(input);
	ck_assert_int_eq(command_wait(pid), 0);
	read_until("wrote", err == terminal.path ? 20000 : 0);
}

START_TEST(a_line_that_is_rewritten_and_erased)
{
	open_terminal(100);
	import(terminal.path, NULL, 60000, " 3 s");
	ck_assert_ptr_nonnull(strstr(terminal.text, ERASE "epprof: 2 s, "));
	ck_assert_ptr_nonnull(strstr(terminal.text, " read"));
	/* One line, which is erased before the message. */
	char *message = strstr(terminal.text, ERASE "epprof: wrote ");
	ck_assert_msg(message != NULL, "%s", terminal.text);
	ck_assert_ptr_eq(strchr(terminal.text, '\n'), strchr(message, '\n'));
}
END_TEST

START_TEST(a_narrow_terminal)
{
	open_terminal(14);
	import(terminal.path, NULL, 60000, "epprof: 3 s");
	for (char *at = terminal.text; (at = strstr(at, ERASE "epprof: ")) && !strstr(at, "wrote"); at++)
		ck_assert_uint_lt(strcspn(at + strlen(ERASE), "\r"), 14);
}
END_TEST

START_TEST(none_for_a_short_command)
{
	open_terminal(100);
	int64_t start = now_ms();
	import(terminal.path, NULL, 1, NULL);
	/* A busy machine may make it a long command. */
	if (now_ms() - start < 2000)
		ck_assert_ptr_null(strstr(terminal.text, ERASE));
	ck_assert_ptr_nonnull(strstr(terminal.text, "wrote"));
}
END_TEST

START_TEST(none_if_quiet)
{
	open_terminal(100);
	import(terminal.path, "--quiet", LONG_MS, NULL);
	ck_assert_ptr_null(strstr(terminal.text, ERASE));
	ck_assert_ptr_nonnull(strstr(terminal.text, "wrote"));
}
END_TEST

START_TEST(none_in_a_file)
{
	open_terminal(100);
	import(check_path("err"), NULL, LONG_MS, NULL);
	size_t bytes;
	char *err = command_file(check_path("err"), &bytes);
	ck_assert_ptr_null(strchr(err, '\r'));
	ck_assert_ptr_nonnull(strstr(err, "wrote"));
	free(err);
}
END_TEST

START_TEST(while_a_query_runs)
{
	struct epp_builder *b = export_sample();

	builder_write(b, EPF_FINISHED, check_path("sample.epp"));
	builder_destroy(b);
	open_terminal(100);
	pid_t pid = command_start(terminal.path, terminal.path, "sql", check_path("sample.epp"),
	                          "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
	                          NULL);
	bool found = read_until(ERASE "epprof: 3 s", 60000);
	kill(pid, SIGINT);
	ck_assert_int_eq(command_wait(pid), -SIGINT);
	ck_assert_msg(found, "%s", terminal.text);
	ck_assert(read_until("interrupted", 10000));
	ck_assert_ptr_nonnull(strstr(terminal.text, ERASE "epprof: interrupted"));
}
END_TEST

static Suite *progress_suite(void)
{
	Suite *suite = suite_create("progress");
	TCase *tests = tcase_create("progress");

	tcase_set_timeout(tests, 150);
	tcase_add_test(tests, a_line_that_is_rewritten_and_erased);
	tcase_add_test(tests, a_narrow_terminal);
	tcase_add_test(tests, none_for_a_short_command);
	tcase_add_test(tests, none_if_quiet);
	tcase_add_test(tests, none_in_a_file);
	tcase_add_test(tests, while_a_query_runs);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(progress_suite)
