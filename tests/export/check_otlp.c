/* OTLP: spans of requests and batches in JSON and protobuf, and what `epprof convert --post` does with the answers of a
 * server.  tests/interop/check_otlp.py reads the messages with OpenTelemetry's own classes. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "epprof/track.h"
#include "tests/support/command_expect.h"
#include "tests/support/recording.h"
#include "tests/support/strict_json.h"

#define ID_A "0af7651916cd43dd8448eb211c80319c"
#define ID_B "4bf92f3577b34da6a3ce929d0e0e4736"
#define A "00-" ID_A "-b7ad6b7169203331-01"
#define B "00-" ID_B "-00f067aa0ba902b7-00"

static char trace[512];

/* Two requests, a batch of both with a node and a kernel, and an event of one of them. */
static void record_requests(void)
{
	snprintf(trace, sizeof(trace), "%s", check_path("requests.epp"));
	epp_session *session = recording_start(trace);
	const epp_track_options device_options = { .struct_size = sizeof(device_options),
		                                   .name = "stream",
		                                   .group = "device",
		                                   .device = 0,
		                                   .clock_kind = EPP_CLOCK_HOST };
	const epp_arg args[] = {
		{ .key = epp_name_intern("large"), .type = EPP_ARG_U64, .value.u64 = UINT64_MAX },
		{ .key = epp_name_intern("ratio"), .type = EPP_ARG_F64, .value.f64 = 0.5 },
		{ .key = epp_name_intern("twice"), .type = EPP_ARG_I64, .value.i64 = 1 },
		{ .key = epp_name_intern("twice"), .type = EPP_ARG_I64, .value.i64 = -2 },
	};
	uint64_t contexts[2];
	epp_track device;

	check_ok(epp_track_create(session, &device_options, &device));
	check_ok(epp_context_begin(session, A, "vendor=1", &contexts[0]));
	check_ok(epp_context_begin(session, B, NULL, &contexts[1]));
	uint64_t step = epp_event_begin(session, EPP_SESSION, epp_name_intern("a \"step\""));
	check_ok(epp_context_attach(session, contexts, 2));
	uint64_t node = epp_event_begin(session, EPP_NODE, epp_name_intern("node"));
	epp_event_end(session, node, args, 4);
	uint64_t now = epp_host_ticks();
	epp_event_record(session, device, EPP_KERNEL, epp_name_intern("kernel"), now, now + 1000, node, NULL, 0);
	epp_event_end(session, step, NULL, 0);
	uint64_t alone = epp_event_begin(session, EPP_SESSION, epp_name_intern("alone"));
	check_ok(epp_context_attach(session, &contexts[1], 1));
	epp_event_end(session, alone, NULL, 0);
	epp_async_end(session, contexts[0], NULL, 0);
	epp_async_end(session, contexts[1], NULL, 0);
	epp_event_end(session, epp_event_begin(session, EPP_NODE, epp_name_intern("of no request")), NULL, 0);
	recording_end(session);
	epp_session_destroy(session);
}

/* ---- a server ---- */

#define MESSAGES_MAX 8u

/* Each connection gets `answer`; with NULL the server accepts none. */
static struct server {
	const char *answer;
	int fd;
	char url[64];
	pthread_t thread;
	char *heads[MESSAGES_MAX], *bodies[MESSAGES_MAX];
	size_t bytes[MESSAGES_MAX];
	unsigned count;
} server;

/* Reads a request up to the end that its head announces. */
static void take_request(int fd)
{
	size_t room = 1u << 20, bytes = 0, whole = room;
	char *text = calloc(room + 1, 1);
	ssize_t got = 1;

	for (; bytes < whole && got > 0; bytes += got > 0 ? (size_t)got : 0) {
		const char *end = strstr(text, "\r\n\r\n"), *length = strstr(text, "Content-Length: ");
		if (end && length)
			whole = (size_t)(end + 4 - text) + strtoul(length + 16, NULL, 10);
		got = bytes < whole ? recv(fd, text + bytes, room - bytes, 0) : 0;
	}
	char *end = strstr(text, "\r\n\r\n");
	MUST(end && server.count < MESSAGES_MAX);
	size_t head_bytes = (size_t)(end + 4 - text);
	server.heads[server.count] = strndup(text, head_bytes);
	server.bytes[server.count] = bytes - head_bytes;
	memmove(text, text + head_bytes, bytes - head_bytes);
	server.bodies[server.count++] = text;
}

static void *serve(void *unused)
{
	int fd;

	(void)unused;
	while ((fd = accept(server.fd, NULL, NULL)) >= 0) {
		take_request(fd);
		MUST(send(fd, server.answer, strlen(server.answer), MSG_NOSIGNAL) >= 0);
		close(fd);
	}
	return NULL;
}

static void server_start(const char *answer)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t bytes = sizeof(address);

	server = (struct server){ .answer = answer, .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) };
	ck_assert_int_eq(bind(server.fd, (struct sockaddr *)&address, bytes), 0);
	ck_assert_int_eq(getsockname(server.fd, (struct sockaddr *)&address, &bytes), 0);
	ck_assert_int_eq(listen(server.fd, 8), 0);
	snprintf(server.url, sizeof(server.url), "http://127.0.0.1:%u", ntohs(address.sin_port));
	if (answer)
		ck_assert_int_eq(pthread_create(&server.thread, NULL, serve, NULL), 0);
}

/* From here on the requests can be read. */
static void server_stop(void)
{
	shutdown(server.fd, SHUT_RDWR);
	if (server.answer)
		pthread_join(server.thread, NULL);
	close(server.fd);
}

static void server_free(void)
{
	for (unsigned i = 0; i < server.count; i++) {
		free(server.heads[i]);
		free(server.bodies[i]);
	}
}

/* ---- tests ---- */

/* What is sent is what is written to a file, a message a request. */
static void post_as(const char *format, const char *type, const char *between)
{
	const char *path = check_path("out");
	size_t bytes, at = 0;

	EXPECT(0, "wrote", "convert", "--force", "-t", format, "--kernels", "-o", path, trace);
	char *file = command_file(path, &bytes);
	server_start("HTTP/1.1 200 OK\r\n\r\n");
	struct command run = command_run(NULL, "convert", "-t", format, "--kernels", "--post", server.url, trace, NULL);
	ck_assert_msg(run.code == 0, "%s", run.err);
	command_free(&run);
	server_stop();
	ck_assert_uint_ge(server.count, 2);
	for (unsigned i = 0; i < server.count; i++) {
		ck_assert(strncmp(server.heads[i], "POST /v1/traces HTTP/1.1\r\n", 26) == 0);
		ck_assert_ptr_nonnull(strstr(server.heads[i], type));
		ck_assert_uint_le(at + server.bytes[i] + strlen(between), bytes);
		ck_assert_int_eq(memcmp(file + at, server.bodies[i], server.bytes[i]), 0);
		at += server.bytes[i];
		ck_assert_int_eq(memcmp(file + at, between, strlen(between)), 0);
		at += strlen(between);
	}
	ck_assert_uint_eq(at, bytes);
	server_free();
	free(file);
}

START_TEST(posts_what_it_writes)
{
	record_requests();
	post_as("otlp", "Content-Type: application/json\r\n", "\n");
	post_as("otlp-proto", "Content-Type: application/x-protobuf\r\n", "");
}
END_TEST

/* The text of a span's member. */
static const char *span_text(const struct json *spans, const char *name, const char *member)
{
	for (size_t i = 0; i < spans->count; i++) {
		if (strcmp(json_text(&spans->items[i], "name"), name) == 0)
			return json_text(&spans->items[i], member);
	}
	ck_abort_msg("no span '%s'", name);
	return NULL;
}

START_TEST(a_batch_has_a_trace_of_its_own)
{
	size_t bytes;

	record_requests();
	EXPECT(0, "1 arg left out, whose key the span has twice", "convert", "-t", "otlp", "--kernels", "-o",
	       check_path("out.jsonl"), trace);
	char *text = command_file(check_path("out.jsonl"), &bytes), *end = strchr(text, '\n');
	ck_assert_ptr_nonnull(end);
	ck_assert_ptr_nonnull(strstr(text, "{\"key\":\"large\",\"value\":{\"stringValue\":\"18446744073709551615\"}}"));
	ck_assert_ptr_nonnull(strstr(text, "{\"key\":\"ratio\",\"value\":{\"doubleValue\":0.5}}"));
	ck_assert_ptr_nonnull(strstr(text, "{\"key\":\"twice\",\"value\":{\"intValue\":\"-2\"}}"));
	struct json *message = json_expect(text, (size_t)(end - text));
	const struct json *spans = json_get(
	    &json_get(&json_get(message, "resourceSpans")->items[0], "scopeSpans")->items[0], "spans");
	const char *batch = span_text(spans, "a \"step\"", "traceId");
	ck_assert_str_ne(batch, ID_A);
	ck_assert_str_ne(batch, ID_B);
	ck_assert_str_eq(span_text(spans, "node", "traceId"), batch);
	ck_assert_str_eq(span_text(spans, "node", "parentSpanId"), span_text(spans, "a \"step\"", "spanId"));
	ck_assert_str_eq(span_text(spans, "kernel", "parentSpanId"), span_text(spans, "node", "spanId"));
	ck_assert_str_eq(span_text(spans, "alone", "traceId"), ID_B);
	json_free(message);
	free(text);
}
END_TEST

START_TEST(an_answer_that_is_no_success)
{
	static const char *const answers[][2] = {
		{ "HTTP/1.1 503 Try later\r\n\r\n", "/v1/traces: 503 Try later" },
		{ "HTTP/1.0 404\n", "/v1/traces: 404" },
		{ "SSH-2.0-server\r\n", "/v1/traces: the answer is no HTTP" },
		{ "HTTP/1.1 20", "/v1/traces: the answer is no HTTP" },
		{ "", "/v1/traces: the answer is no HTTP" },
	};

	record_requests();
	for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
		server_start(answers[i][0]);
		EXPECT(1, answers[i][1], "convert", "--post", server.url, trace);
		server_stop();
		/* It gives up at the first message. */
		ck_assert_uint_eq(server.count, 1);
		server_free();
	}
}
END_TEST

START_TEST(a_server_that_does_not_answer)
{
	char closed[80];

	record_requests();
	server_start(NULL);
	EXPECT(1, "/v1/traces: Connection timed out", "convert", "--post", server.url, "--post-limit", "100ms", trace);
	snprintf(closed, sizeof(closed), "%s/path", server.url);
	server_stop();
	EXPECT(1, "/path: Connection refused", "convert", "--post", closed, trace);
}
END_TEST

START_TEST(no_url)
{
	static const char *const urls[] = {
		"",           "127.0.0.1",        "https://127.0.0.1", "http://",
		"http://:1",  "http://host:",     "http://host:1x",    "http://host:12345678",
		"http://a b", "http://user@host", "http://host/a b",   "http://host/\r\nHost: other",
	};
	char path[300] = "http://host/";

	record_requests();
	for (size_t i = 0; i < sizeof(urls) / sizeof(*urls); i++)
		EXPECT(1, "is no URL of the form http://HOST:PORT", "convert", "--post", urls[i], trace);
	memset(path + strlen(path), 'x', sizeof(path) - strlen(path) - 1);
	EXPECT(1, "is no URL of the form http://HOST:PORT", "convert", "--post", path, trace);
}
END_TEST

static Suite *otlp_suite(void)
{
	Suite *suite = suite_create("otlp");
	TCase *tests = tcase_create("otlp");

	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, posts_what_it_writes);
	tcase_add_test(tests, a_batch_has_a_trace_of_its_own);
	tcase_add_test(tests, an_answer_that_is_no_success);
	tcase_add_test(tests, a_server_that_does_not_answer);
	tcase_add_test(tests, no_url);
	suite_add_tcase(suite, tests);
	return suite;
}

CHECK_MAIN(otlp_suite)
