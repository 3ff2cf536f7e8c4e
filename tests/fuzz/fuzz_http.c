/* Requests to the server of `epprof view`, in two pieces over a socket. */
#include "cli/view/serve.c"

#include "tests/fuzz/fuzz.h"

#define TOKEN "0123456789abcdef0123456789abcdef"

static void receive_piece(const struct server *server, struct connection *connection, int client, const uint8_t *bytes,
                          size_t count)
{
	if (!count || connection->fd < 0 || connection->head_bytes)
		return;
	FUZZ_MUST(send(client, bytes, count, MSG_NOSIGNAL) == (ssize_t)count);
	receive(server, connection);
}

/* Returns the response, which begins with "HTTP/1.1 " if there is one. */
static void check_response(int client)
{
	char response[4096];
	ssize_t count = recv(client, response, sizeof response - 1, MSG_DONTWAIT);

	if (count <= 0)
		return;
	response[count] = '\0';
	FUZZ_MUST(strncmp(response, "HTTP/1.1 ", 9) == 0 && strstr(response, "\r\n\r\n"));
}

static void run(const uint8_t *bytes, size_t count)
{
	static struct connection connection;
	static const struct served_file files[] = { { .name = "", .type = "text/html", .bytes = "hello", .count = 5 },
		                                    { .name = "trace", .type = "x/y", .bytes = "abc", .count = 3 } };
	struct server server = {
		.port = 80, .token = TOKEN, .origin = "https://ui.perfetto.dev", .files = files, .files_count = 2
	};
	int pair[2];
	size_t first = count ? bytes[0] : 0;

	if (count > REQUEST_BYTES + 100)
		return;
	FUZZ_MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
	memset(&connection, 0, sizeof connection);
	connection.fd = pair[0];
	first = first < count ? first : count;
	receive_piece(&server, &connection, pair[1], bytes, first);
	receive_piece(&server, &connection, pair[1], bytes + first, count - first);
	for (unsigned i = 0; connection.fd >= 0 && connection.head_bytes && i < 10; i++)
		send_more(&connection);
	check_response(pair[1]);
	if (connection.fd >= 0)
		close(connection.fd);
	close(pair[1]);
}

static size_t seed(size_t index, uint8_t *bytes)
{
	static const char *const requests[] = {
		"GET /" TOKEN "/ HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n",
		"HEAD /" TOKEN "/trace HTTP/1.1\r\nHost: localhost:80\r\nOrigin: https://ui.perfetto.dev\r\n\r\n",
		"POST / HTTP/1.0\r\n\r\n",
		"GET  \r\n\r\n",
	};

	if (index >= sizeof requests / sizeof *requests)
		return 0;
	memcpy(bytes, requests[index], strlen(requests[index]));
	return strlen(requests[index]);
}

const struct fuzz_target fuzz_http = { "http", run, seed, NULL };
