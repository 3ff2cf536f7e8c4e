/* A small HTTP server: one loop with poll(2) serves all connections.  Each connection first receives its request, then
 * sends the header of the response, then the file. */
#include "serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS_MAX 32u
#define REQUEST_BYTES 8192u
#define HEAD_BYTES 1024u
/* Time limit for receiving a whole request, so that a client that sends it very slowly does not keep its connection. */
#define REQUEST_S 3
/* A connection is closed after this time in which nothing was received or sent. */
#define IDLE_S 30
/* Most bytes of a request that are read after the response was sent. */
#define REST_BYTES (8 * REQUEST_BYTES)
/* Interval at which *stop is checked, in ms. */
#define TICK_MS 250

struct connection {
	int fd;                   /* -1: the slot is free */
	time_t begun_s, active_s; /* times at which it was accepted, and at which data was last received or sent */
	char request[REQUEST_BYTES + 1];
	size_t request_bytes;
	char head[HEAD_BYTES];
	size_t head_bytes, head_sent; /* head_bytes is 0 until the request is complete */
	const struct served_file *file;
	uint64_t file_sent, file_end; /* number of bytes of the file that were sent, and that must be sent */
};

static epp_status *failure(const char *what)
{
	return epp_status_create(EPP_IO, "%s: %s", what, strerror(errno));
}

static time_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* ---- opening ---- */

static epp_status *listen_here(struct server *server)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t bytes = sizeof address;

	server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (server->fd < 0)
		return failure("a socket");
	if (bind(server->fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(server->fd, 64) < 0 ||
	    getsockname(server->fd, (struct sockaddr *)&address, &bytes) < 0)
		return failure("listening on 127.0.0.1");
	server->port = ntohs(address.sin_port);
	return NULL;
}

epp_status *server_open(struct server *server, const struct served_file *files, size_t files_count, const char *origin)
{
	unsigned char random[(SERVER_TOKEN_BYTES - 1) / 2];

	*server = (struct server){ .fd = -1, .origin = origin, .files = files, .files_count = files_count };
	if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
		return failure("a token");
	for (size_t i = 0; i < sizeof random; i++)
		snprintf(server->token + 2 * i, 3, "%02x", random[i]);
	epp_status *status = listen_here(server);
	if (status)
		server_close(server);
	return status;
}

const char *server_url(const struct server *server, char url[SERVER_URL_BYTES])
{
	snprintf(url, SERVER_URL_BYTES, "http://127.0.0.1:%u/%s/", server->port, server->token);
	return url;
}

void server_close(struct server *server)
{
	if (server->fd >= 0)
		close(server->fd);
	server->fd = -1;
}

/* ---- requests ---- */

/* Returns the value of a header of a request, without blanks around it; NULL: it has no such header.  *bytes is set to
 * the length of the value, *count to how often the header occurs.  `fields` is the request from the end of its first
 * line on. */
static const char *header_of(const char *fields, const char *name, size_t *bytes, unsigned *count)
{
	const char *found = NULL;
	size_t name_bytes = strlen(name);

	*count = 0;
	*bytes = 0;
	for (const char *line = fields; strncmp(line, "\r\n\r\n", 4) != 0;) {
		const char *begin = line + 2, *end = strstr(begin, "\r\n");
		if (strncasecmp(begin, name, name_bytes) == 0 && begin[name_bytes] == ':') {
			begin += name_bytes + 1;
			begin += strspn(begin, " \t");
			found = begin;
			*bytes = (size_t)(end - begin);
			while (*bytes && (begin[*bytes - 1] == ' ' || begin[*bytes - 1] == '\t'))
				--*bytes;
			++*count;
		}
		line = end;
	}
	return found;
}

static bool is_text(const char *bytes, size_t count, const char *text)
{
	return count == strlen(text) && memcmp(bytes, text, count) == 0;
}

static bool is_addressed_here(const struct server *server, const char *fields)
{
	char host[2][32];
	unsigned count;
	size_t bytes;
	const char *given = header_of(fields, "Host", &bytes, &count);

	snprintf(host[0], sizeof host[0], "127.0.0.1:%u", server->port);
	snprintf(host[1], sizeof host[1], "localhost:%u", server->port);
	return count == 1 && (is_text(given, bytes, host[0]) || is_text(given, bytes, host[1]));
}

/* Returns true if a text begins with the token.  The time does not depend on the text, so it does not help to guess the
 * token. */
static bool is_token(const struct server *server, const char *text)
{
	unsigned difference = 0;

	for (size_t i = 0; i < SERVER_TOKEN_BYTES - 1; i++)
		difference |= (unsigned char)text[i] ^ (unsigned char)server->token[i];
	return difference == 0;
}

static const struct served_file *find_file(const struct server *server, const char *target, size_t bytes)
{
	if (bytes < SERVER_TOKEN_BYTES + 1 || target[0] != '/' || target[SERVER_TOKEN_BYTES] != '/' ||
	    !is_token(server, target + 1))
		return NULL;
	target += SERVER_TOKEN_BYTES + 1;
	bytes -= SERVER_TOKEN_BYTES + 1;
	for (size_t i = 0; i < server->files_count; i++) {
		if (is_text(target, bytes, server->files[i].name))
			return &server->files[i];
	}
	return NULL;
}

static void answer(struct connection *connection, const char *status, const char *more)
{
	connection->head_bytes = (size_t)snprintf(connection->head, HEAD_BYTES,
	                                          "HTTP/1.1 %s\r\nConnection: close\r\nContent-Length: 0\r\n%s\r\n",
	                                          status, more);
}

static void answer_file(const struct server *server, struct connection *connection, const struct served_file *file,
                        const char *fields, bool with_body)
{
	unsigned count;
	size_t bytes;
	const char *origin = header_of(fields, "Origin", &bytes, &count);
	bool is_allowed = server->origin && count == 1 && is_text(origin, bytes, server->origin);

	connection->head_bytes = (size_t)snprintf(
	    connection->head, HEAD_BYTES,
	    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: %s\r\nContent-Length: %llu\r\nCache-Control: no-store\r\n"
	    "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nVary: Origin\r\n%s%s%s%s%s%s\r\n",
	    file->type, (unsigned long long)file->count, is_allowed ? "Access-Control-Allow-Origin: " : "",
	    is_allowed ? server->origin : "", is_allowed ? "\r\n" : "", file->policy ? "Content-Security-Policy: " : "",
	    file->policy ? file->policy : "", file->policy ? "\r\n" : "");
	connection->file = file;
	connection->file_end = with_body ? file->count : 0;
}

/* Handles a complete request, whose first line is METHOD TARGET VERSION. */
static void take_request(const struct server *server, struct connection *connection)
{
	const char *line = connection->request;
	/* A request that contains a NUL is rejected, because the functions below search a string that ends with NUL. */
	const char *fields = strlen(line) == connection->request_bytes ? strstr(line, "\r\n") : NULL;
	const char *target = fields ? memchr(line, ' ', (size_t)(fields - line)) : NULL;
	const char *version = target ? memchr(target + 1, ' ', (size_t)(fields - target - 1)) : NULL;

	if (!version || strncmp(version, " HTTP/1.", 8) != 0 || fields - version != 9) {
		answer(connection, "400 Bad Request", "");
		return;
	}
	bool head = is_text(line, (size_t)(target - line), "HEAD");
	if (!head && !is_text(line, (size_t)(target - line), "GET")) {
		answer(connection, "405 Method Not Allowed", "Allow: GET, HEAD\r\n");
		return;
	}
	const struct served_file *file = find_file(server, target + 1, (size_t)(version - target - 1));
	if (!file || !is_addressed_here(server, fields)) {
		answer(connection, "404 Not Found", "");
		return;
	}
	answer_file(server, connection, file, fields, !head);
}

/* ---- connections ---- */

static void close_connection(struct connection *connection)
{
	close(connection->fd);
	connection->fd = -1;
}

static void receive(const struct server *server, struct connection *connection)
{
	ssize_t count = recv(connection->fd, connection->request + connection->request_bytes,
	                     REQUEST_BYTES - connection->request_bytes, 0);

	if (count < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (count <= 0) {
		close_connection(connection);
		return;
	}
	connection->request_bytes += (size_t)count;
	connection->request[connection->request_bytes] = '\0';
	if (memmem(connection->request, connection->request_bytes, "\r\n\r\n", 4))
		take_request(server, connection);
	else if (connection->request_bytes == REQUEST_BYTES)
		answer(connection, "431 Request Header Fields Too Large", "");
}

/* Sends the next piece of the header or, after it, of the file.  Returns the number of bytes that were sent; -1: it
 * would block or has failed, see errno. */
static ssize_t send_piece(struct connection *connection)
{
	const struct served_file *file = connection->file;
	uint64_t rest = connection->file_end - connection->file_sent;
	off_t offset = (off_t)connection->file_sent;
	size_t piece = rest < (1u << 20) ? (size_t)rest : 1u << 20;

	if (connection->head_sent < connection->head_bytes)
		return send(connection->fd, connection->head + connection->head_sent,
		            connection->head_bytes - connection->head_sent, MSG_NOSIGNAL);
	if (file->bytes)
		return send(connection->fd, file->bytes + offset, piece, MSG_NOSIGNAL);
	return sendfile(connection->fd, file->fd, &offset, piece);
}

static void send_more(struct connection *connection)
{
	ssize_t count = send_piece(connection);

	if (count < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (count <= 0) {
		close_connection(connection);
		return;
	}
	if (connection->head_sent < connection->head_bytes)
		connection->head_sent += (size_t)count;
	else
		connection->file_sent += (uint64_t)count;
	if (connection->head_sent == connection->head_bytes && connection->file_sent == connection->file_end) {
		/* The rest of the request is read before the connection is closed.  If unread data were left, TCP would
		 * reset the connection, and the client could lose the response. */
		shutdown(connection->fd, SHUT_WR);
		ssize_t rest;
		size_t taken = 0;
		while (taken < REST_BYTES && (rest = recv(connection->fd, connection->request, REQUEST_BYTES, 0)) > 0)
			taken += (size_t)rest;
		close_connection(connection);
	}
}

static void accept_connection(const struct server *server, struct connection *connections)
{
	struct connection *chosen = &connections[0];
	int fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	/* If all connections are in use, the one that has been idle for the longest time is closed and replaced. */
	for (size_t i = 0; i < CONNECTIONS_MAX && chosen->fd >= 0; i++) {
		if (connections[i].fd < 0 || connections[i].active_s < chosen->active_s)
			chosen = &connections[i];
	}
	if (chosen->fd >= 0)
		close_connection(chosen);
	memset(chosen, 0, sizeof *chosen);
	chosen->fd = fd;
	chosen->begun_s = chosen->active_s = now_s();
}

static void serve_once(const struct server *server, struct connection *connections, const struct pollfd *polls)
{
	time_t now = now_s();

	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		struct connection *connection = &connections[i];
		if (connection->fd < 0)
			continue;
		if (!connection->head_bytes && now - connection->begun_s > REQUEST_S) {
			close_connection(connection);
		} else if (polls[i].revents) {
			connection->active_s = now;
			if (connection->head_bytes)
				send_more(connection);
			else
				receive(server, connection);
		} else if (now - connection->active_s > IDLE_S) {
			close_connection(connection);
		}
	}
	if (polls[CONNECTIONS_MAX].revents)
		accept_connection(server, connections);
}

epp_status *server_run(struct server *server, const volatile int *stop)
{
	struct connection *connections = calloc(CONNECTIONS_MAX, sizeof *connections);
	struct pollfd polls[CONNECTIONS_MAX + 1];
	epp_status *status = NULL;

	if (!connections)
		return epp_status_no_memory();
	for (size_t i = 0; i < CONNECTIONS_MAX; i++)
		connections[i].fd = -1;
	while (!*stop && !status) {
		for (size_t i = 0; i < CONNECTIONS_MAX; i++)
			polls[i] = (struct pollfd){ .fd = connections[i].fd,
				                    .events = connections[i].head_bytes ? POLLOUT : POLLIN };
		polls[CONNECTIONS_MAX] = (struct pollfd){ .fd = server->fd, .events = POLLIN };
		int count = poll(polls, CONNECTIONS_MAX + 1, TICK_MS);
		if (count < 0 && errno != EINTR)
			status = failure("waiting for connections");
		else if (count >= 0)
			serve_once(server, connections, polls);
	}
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		if (connections[i].fd >= 0)
			close_connection(&connections[i]);
	}
	free(connections);
	return status;
}
