/* epprof view: what its server gives to whom.  Covers view.c and serve.c. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "tests/support/check.h"
#include "tests/support/command.h"
#include "tests/support/export_text.h"

static char trace[512], out[512], err[512], token[64];
static unsigned port;
static pid_t server;

static void start(const char *option)
{
	unlink(out);
	server = option ? command_start(out, err, "view", "--no-open", option, trace, NULL)
	                : command_start(out, err, "view", "--no-open", trace, NULL);
	for (unsigned i = 0;; i++) {
		size_t bytes;
		char *text = command_file(out, &bytes);
		int found = sscanf(text, "http://127.0.0.1:%u/%32[0-9a-f]/\n", &port, token);
		free(text);
		if (found == 2)
			break;
		ck_assert_msg(i < 2000, "it printed no address");
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	ck_assert_uint_eq(strlen(token), 32);
}

static void setup(void)
{
	struct epp_builder *b = builder_create();
	uint32_t thread = builder_thread(b, "main", 1);

	snprintf(trace, sizeof trace, "%s", check_path("trace.epp"));
	snprintf(out, sizeof out, "%s", check_path("view.out"));
	snprintf(err, sizeof err, "%s", check_path("view.err"));
	/* More than the buffers of a connection take. */
	for (unsigned i = 0; i < 200000; i++)
		builder_event(b, thread, BUILDER_START + i * 1000ull, 900 - i % 700, EPP_NODE, builder_name(b, "op"),
		              NULL, 0);
	builder_write(b, EPF_FINISHED, trace);
	builder_destroy(b);
}

static void stop(void)
{
	kill(server, SIGINT);
	ck_assert_int_eq(command_wait(server), 0);
}

static int connect_here(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		                       .sin_port = htons((uint16_t)port),
		                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	ck_assert_int_eq(
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){ .tv_sec = 20 }, sizeof(struct timeval)), 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
	return fd;
}

/* Everything up to the end, a zero behind it. */
static char *receive_all(int fd, size_t *bytes)
{
	size_t room = 1u << 16;
	char *text = malloc(room + 1);
	ssize_t count;

	for (*bytes = 0; (count = recv(fd, text + *bytes, room - *bytes, 0)) > 0; *bytes += (size_t)count) {
		if (room - *bytes - (size_t)count < room / 2)
			text = realloc(text, (room *= 2) + 1);
	}
	text[*bytes] = '\0';
	close(fd);
	return text;
}

static char *ask_bytes(const char *request, size_t request_bytes, size_t *bytes)
{
	int fd = connect_here();

	for (size_t sent = 0; sent < request_bytes;) {
		ssize_t count = send(fd, request + sent, request_bytes - sent, MSG_NOSIGNAL);
		if (count <= 0) /* it answered without reading it all */
			break;
		sent += (size_t)count;
	}
	return receive_all(fd, bytes);
}

/* Asks for TOKEN/name with further header lines. */
static char *ask(const char *method, const char *name, const char *lines, size_t *bytes)
{
	char request[1024];
	int length = snprintf(request, sizeof request, "%s /%s/%s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n%s\r\n", method,
	                      token, name, port, lines);

	return ask_bytes(request, (size_t)length, bytes);
}

static void answers(char *answer, const char *status)
{
	ck_assert_msg(strncmp(answer, "HTTP/1.1 ", 9) == 0 && strncmp(answer + 9, status, strlen(status)) == 0,
	              "'%.60s' is not %s", answer, status);
	free(answer);
}

static void request_answers(const char *status, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void request_answers(const char *status, const char *format, ...)
{
	char request[1024];
	va_list args;
	size_t bytes;

	va_start(args, format);
	int length = vsnprintf(request, sizeof request, format, args);
	va_end(args);
	answers(ask_bytes(request, (size_t)length, &bytes), status);
}

START_TEST(the_trace_comes_whole)
{
	size_t bytes, expected_bytes;
	char *path = check_path("expected.pftrace");
	struct command run = command_run(NULL, "convert", "--force", "-t", "perfetto", "-o", path, trace, NULL);

	ck_assert_int_eq(run.code, 0);
	command_free(&run);
	char *expected = command_file(path, &expected_bytes);
	ck_assert_uint_gt(expected_bytes, 1u << 20);
	start(NULL);
	char *answer = ask("GET", "trace", "", &bytes);
	char *body = strstr(answer, "\r\n\r\n") + 4;
	ck_assert_uint_eq(bytes - (size_t)(body - answer), expected_bytes);
	ck_assert_int_eq(memcmp(body, expected, expected_bytes), 0);
	char length[64];
	snprintf(length, sizeof length, "\r\nContent-Length: %zu\r\n", expected_bytes);
	ck_assert_ptr_nonnull(strstr(answer, length));
	free(answer);
	free(expected);
	answer = ask("HEAD", "trace", "", &bytes);
	ck_assert_ptr_nonnull(strstr(answer, length));
	ck_assert_str_eq(strstr(answer, "\r\n\r\n"), "\r\n\r\n");
	free(answer);
	stop();
}
END_TEST

START_TEST(the_page_may_ask_nobody_else)
{
	size_t bytes;

	start(NULL);
	char *answer = ask("GET", "", "", &bytes);
	ck_assert_ptr_nonnull(strstr(answer, "Content-Security-Policy: default-src 'none';"));
	ck_assert_ptr_nonnull(strstr(answer, "ui.perfetto.dev"));
	ck_assert_ptr_null(strstr(answer, "Access-Control"));
	free(answer);
	answer = ask("GET", "trace", "Origin: https://ui.perfetto.dev\r\n", &bytes);
	ck_assert_ptr_nonnull(strstr(answer, "\r\nAccess-Control-Allow-Origin: https://ui.perfetto.dev\r\n"));
	free(answer);
	answer = ask("GET", "trace", "Origin: https://ui.perfetto.dev.example.org\r\n", &bytes);
	ck_assert_ptr_null(strstr(answer, "Access-Control"));
	free(answer);
	stop();
}
END_TEST

START_TEST(the_report_is_served_too)
{
	size_t bytes;

	start("--report");
	char *answer = ask("GET", "", "Origin: https://ui.perfetto.dev\r\n", &bytes);
	ck_assert_ptr_nonnull(strstr(answer, "id=\"data\""));
	ck_assert_ptr_null(strstr(answer, "Access-Control"));
	free(answer);
	answers(ask("GET", "trace", "", &bytes), "404");
	stop();
}
END_TEST

START_TEST(only_who_knows_the_token_is_served)
{
	char wrong[64];
	size_t bytes;

	start(NULL);
	snprintf(wrong, sizeof wrong, "%s", token);
	wrong[31] = wrong[31] == '0' ? '1' : '0';
	request_answers("404", "GET /%s/trace HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n", wrong, port);
	request_answers("404", "GET / HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n", port);
	request_answers("404", "GET /trace HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n", port);
	request_answers("404", "GET /%s/../trace HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n", token, port);
	request_answers("404", "GET /%s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n", token, port);
	/* A name that somebody made lead here. */
	request_answers("404", "GET /%s/trace HTTP/1.1\r\nHost: rebound.example.org:%u\r\n\r\n", token, port);
	request_answers("404", "GET /%s/trace HTTP/1.1\r\n\r\n", token);
	request_answers("404", "GET /%s/trace HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nHost: 127.0.0.1:%u\r\n\r\n", token,
	                port, port);
	request_answers("200", "GET /%s/ HTTP/1.1\r\nhOST:  localhost:%u \r\n\r\n", token, port);
	answers(ask("GET", "", "", &bytes), "200");
	stop();
}
END_TEST

START_TEST(bad_requests_are_answered)
{
	static const char with_zero[] = "GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n", no_line[] = "\0\r\n\r\n";
	char long_request[20000];
	size_t bytes;

	start(NULL);
	answers(ask("POST", "", "Content-Length: 3\r\n", &bytes), "405");
	answers(ask("DELETE", "trace", "", &bytes), "405");
	request_answers("400", "GET\r\n\r\n");
	request_answers("400", "GET /\r\n\r\n");
	request_answers("400", "\r\n\r\n\r\n");
	request_answers("400", "GET /%s/ HTTP/2\r\nHost: 127.0.0.1:%u\r\n\r\n", token, port);
	request_answers("400", "GET /%s/ HTTP/1.1 \r\nHost: 127.0.0.1:%u\r\n\r\n", token, port);
	answers(ask_bytes(with_zero, sizeof with_zero - 1, &bytes), "400");
	answers(ask_bytes(no_line, sizeof no_line - 1, &bytes), "400");
	memset(long_request, 'a', sizeof long_request);
	memcpy(long_request, "GET /", 5);
	char *answer = ask_bytes(long_request, 8192, &bytes);
	answers(answer, "431");
	answers(ask("GET", "", "", &bytes), "200");
	stop();
}
END_TEST

START_TEST(silent_ones_hold_up_nobody)
{
	int silent[100];
	size_t bytes;

	start(NULL);
	for (unsigned i = 0; i < 100; i++) {
		silent[i] = connect_here();
		if (i % 2)
			ck_assert_int_eq(send(silent[i], "GET /", 5, MSG_NOSIGNAL), 5);
	}
	answers(ask("GET", "", "", &bytes), "200");
	for (unsigned i = 0; i < 100; i++)
		close(silent[i]);
	/* One that takes the trace and goes away in the middle of it, and several at once. */
	int fds[8];
	for (unsigned i = 0; i < 8; i++) {
		char request[256], piece[100];
		int length = snprintf(request, sizeof request, "GET /%s/trace HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n",
		                      token, port);
		fds[i] = connect_here();
		ck_assert_int_eq(send(fds[i], request, (size_t)length, MSG_NOSIGNAL), length);
		ck_assert_int_eq(recv(fds[i], piece, sizeof piece, MSG_WAITALL), sizeof piece);
	}
	close(fds[0]);
	size_t whole = 0;
	for (unsigned i = 1; i < 8; i++) {
		free(receive_all(fds[i], &bytes));
		ck_assert(!whole || bytes == whole);
		whole = bytes;
	}
	ck_assert_uint_gt(whole, 1u << 20);
	stop();
}
END_TEST

/* A byte now and then is progress, but not a request. */
START_TEST(a_slow_request_is_dropped)
{
	unsigned sent = 0;
	size_t bytes;

	start(NULL);
	int slow = connect_here();
	ck_assert_int_eq(send(slow, "GET /", 5, MSG_NOSIGNAL), 5);
	while (send(slow, "a", 1, MSG_NOSIGNAL) == 1 && recv(slow, &(char){ 0 }, 1, MSG_DONTWAIT) != 0) {
		ck_assert_uint_lt(sent++, 200); /* 20 s */
		nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
	}
	close(slow);
	answers(ask("GET", "", "", &bytes), "200");
	stop();
}
END_TEST

START_TEST(no_browser_is_no_reason_to_end)
{
	struct command run = command_run(NULL, "view", "--no-open", check_path("missing.epp"), NULL);

	ck_assert_int_eq(run.code, 5);
	command_free(&run);
	run = command_run("/dev/full", "view", "--no-open", trace, NULL);
	ck_assert_int_eq(run.code, 1);
	command_free(&run);
	setenv("PATH", "/nonexistent", 1);
	server = command_start(out, err, "view", trace, NULL);
	for (unsigned i = 0; i < 2000; i++) {
		size_t bytes;
		char *text = command_file(err, &bytes);
		bool told = strstr(text, "open the address in a browser") != NULL;
		free(text);
		if (told) {
			stop();
			return;
		}
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	ck_abort_msg("it does not tell that there is no browser");
}
END_TEST

static Suite *cli_view_suite(void)
{
	Suite *suite = suite_create("cli_view");
	TCase *tests = tcase_create("cli_view");

	tcase_add_unchecked_fixture(tests, setup, NULL);
	tcase_add_test(tests, the_trace_comes_whole);
	tcase_add_test(tests, the_page_may_ask_nobody_else);
	tcase_add_test(tests, the_report_is_served_too);
	tcase_add_test(tests, only_who_knows_the_token_is_served);
	tcase_add_test(tests, bad_requests_are_answered);
	tcase_add_test(tests, silent_ones_hold_up_nobody);
	tcase_add_test(tests, a_slow_request_is_dropped);
	tcase_add_test(tests, no_browser_is_no_reason_to_end);
	suite_add_tcase(suite, tests);
	return suite;
}
CHECK_MAIN(cli_view_suite)
