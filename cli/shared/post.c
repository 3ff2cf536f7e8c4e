/* Implements post.h: HTTP/1.1 without TLS, with one request for each message.  Only the status line of the response is
 * used. */
#include "post.h"

#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define HEAD_BYTES 1024u
#define NS_PER_S INT64_C(1000000000)

struct post {
	char host[256], port[8], path[256];
	bool is_protobuf;
	int64_t limit_ns;    /* time limit of a request */
	int64_t deadline_ns; /* time at which the current request must end, of CLOCK_MONOTONIC */
	char *buffer;        /* bytes that were not sent yet; it begins with the first byte of a message */
	size_t bytes, room;
	epp_status *status;
};

int post_check(const struct cli_command *command)
{
	(void)command;
	return CLI_OK;
}

epp_status *post_create(const char *url, bool is_protobuf, int64_t limit_ns, struct post **post)
{
	static const char scheme[] = "http://";
	const char *host = url + sizeof scheme - 1;

	*post = NULL;
	struct post *made = calloc(1, sizeof *made);
	if (!made)
		return epp_status_no_memory();
	bool is_http = strncmp(url, scheme, sizeof scheme - 1) == 0;
	size_t host_bytes = is_http ? strcspn(host, ":/") : 0;
	const char *port = is_http && host[host_bytes] == ':' ? host + host_bytes + 1 : "";
	size_t port_bytes = strspn(port, "0123456789");
	const char *path = *port ? port + port_bytes : host + host_bytes;
	if (!host_bytes || host_bytes >= sizeof made->host || port_bytes >= sizeof made->port ||
	    (*port && !port_bytes) || (*path && *path != '/') || strlen(path) >= sizeof made->path ||
	    strcspn(path, " \r\n") != strlen(path) || strcspn(host, " \r\n@") < host_bytes) {
		free(made);
		return epp_status_create(EPP_INVALID_ARGUMENT, "'%.200s' is no URL of the form http://HOST:PORT", url);
	}
	memcpy(made->host, host, host_bytes);
	memcpy(made->port, port_bytes ? port : "4318", port_bytes ? port_bytes : 4);
	snprintf(made->path, sizeof made->path, "%s", path[0] && path[1] ? path : "/v1/traces");
	made->is_protobuf = is_protobuf;
	made->limit_ns = limit_ns;
	*post = made;
	return NULL;
}

void post_destroy(struct post *post)
{
	if (!post)
		return;
	free(post->buffer);
	epp_status_destroy(post->status);
	free(post);
}

epp_status *post_status(struct post *post)
{
	epp_status *status = post->status;

	post->status = NULL;
	return status;
}

static epp_status *failure(const struct post *post, const char *reason)
{
	return epp_status_create(EPP_IO, "http://%s:%s%s: %s", post->host, post->port, post->path, reason);
}

/* Returns the error for a failed system call on the socket.  If the socket's time limit was exceeded, errno is EAGAIN
 * or EINPROGRESS, which is reported as ETIMEDOUT. */
static epp_status *failure_of(const struct post *post, int error)
{
	return failure(post, strerror(error == EAGAIN || error == EINPROGRESS ? ETIMEDOUT : error));
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* Sets the time limit of the socket's next system call to the time that is left until `deadline_ns`.  Returns false and
 * sets errno if no time is left, or the limit cannot be set. */
static bool limit_call(int fd, int64_t deadline_ns)
{
	int64_t left_ns = deadline_ns - now_ns();
	struct timeval left = { .tv_sec = left_ns / NS_PER_S, .tv_usec = left_ns % NS_PER_S / 1000 };

	/* A timeout of 0 would mean that there is none. */
	if (left_ns < 1000) {
		errno = ETIMEDOUT;
		return false;
	}
	return setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &left, sizeof left) == 0 &&
	       setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &left, sizeof left) == 0;
}

/* Connects to the host.  The time limit of the request begins after its addresses were looked up.  The addresses are
 * tried one after the other.  Each gets an equal part of the time that is left, so that an address that does not answer
 * leaves time for the next ones. */
static epp_status *connected(struct post *post, int *fd)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *addresses;
	int64_t count = 0;
	int error = getaddrinfo(post->host, post->port, &hints, &addresses);

	*fd = -1;
	if (error)
		return failure(post, gai_strerror(error));
	if (__builtin_add_overflow(now_ns(), post->limit_ns, &post->deadline_ns))
		post->deadline_ns = INT64_MAX;
	for (const struct addrinfo *at = addresses; at; at = at->ai_next)
		count++;
	for (const struct addrinfo *at = addresses; at && *fd < 0; at = at->ai_next, count--) {
		int64_t now = now_ns();
		*fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (*fd < 0)
			continue;
		if (limit_call(*fd, now + (post->deadline_ns - now) / count) &&
		    connect(*fd, at->ai_addr, at->ai_addrlen) == 0)
			continue;
		error = errno;
		close(*fd);
		errno = error;
		*fd = -1;
	}
	freeaddrinfo(addresses);
	return *fd < 0 ? failure_of(post, errno) : NULL;
}

static bool send_all(const struct post *post, int fd, const char *bytes, size_t count)
{
	while (count) {
		ssize_t sent = limit_call(fd, post->deadline_ns) ? send(fd, bytes, count, MSG_NOSIGNAL) : -1;
		if (sent <= 0)
			return false;
		bytes += sent;
		count -= (size_t)sent;
	}
	return true;
}

/* Reads the first line of the response.  A status other than 2xx is an error.  `send_error` is the errno of sending the
 * request; 0: all was sent.  If a server answers and closes the connection before it has read the whole request,
 * sending fails, but the response has the reason, which is then reported. */
static epp_status *response(const struct post *post, int fd, int send_error)
{
	char head[HEAD_BYTES + 1] = "";
	size_t count = 0;
	ssize_t got = 1;

	while (count < HEAD_BYTES && !memchr(head, '\n', count) && got > 0) {
		got = limit_call(fd, post->deadline_ns) ? recv(fd, head + count, HEAD_BYTES - count, 0) : -1;
		count += got > 0 ? (size_t)got : 0;
	}
	head[count] = 0;
	int error = got < 0 ? errno : 0;
	head[strcspn(head, "\r\n")] = 0;
	bool is_http = strncmp(head, "HTTP/1.", 7) == 0 && strlen(head) > 9 && head[8] == ' ' &&
	               strspn(head + 9, "0123456789") == 3; /* a line that was cut is no success */
	if (is_http && head[9] != '2')
		return failure(post, head + 9);
	if (send_error || error)
		return failure_of(post, send_error ? send_error : error);
	return is_http ? NULL : failure(post, "the answer is no HTTP");
}

static epp_status *send_message(struct post *post, size_t count)
{
	char head[HEAD_BYTES];
	int fd;

	int bytes = snprintf(head, sizeof head,
	                     "POST %s HTTP/1.1\r\nHost: %s:%s\r\nContent-Type: application/%s\r\n"
	                     "Content-Length: %zu\r\nConnection: close\r\n\r\n",
	                     post->path, post->host, post->port, post->is_protobuf ? "x-protobuf" : "json", count);
	epp_status *status = connected(post, &fd);
	if (status)
		return status;
	bool is_sent = send_all(post, fd, head, (size_t)bytes) && send_all(post, fd, post->buffer, count);
	status = response(post, fd, is_sent ? 0 : errno);
	close(fd);
	return status;
}

static bool append(struct post *post, const char *bytes, size_t count)
{
	if (post->room - post->bytes < count) {
		size_t room = (post->bytes + count) * 2;
		char *buffer = realloc(post->buffer, room);
		if (!buffer)
			return false;
		post->buffer = buffer;
		post->room = room;
	}
	memcpy(post->buffer + post->bytes, bytes, count);
	post->bytes += count;
	return true;
}

/* Returns the size of the first message in the buffer; 0: it is not complete yet.  In JSON, a message is a line with
 * its newline.  In protobuf, it is a field: a tag of one byte, the length as a varint, and as many bytes. */
static size_t whole_message(const struct post *post)
{
	const char *newline = post->bytes ? memchr(post->buffer, '\n', post->bytes) : NULL;
	size_t at = 1, length = 0;

	if (!post->is_protobuf)
		return newline ? (size_t)(newline - post->buffer) + 1 : 0;
	for (unsigned shift = 0; at < post->bytes && shift < 63; shift += 7) {
		unsigned char byte = (unsigned char)post->buffer[at++];
		length |= (size_t)(byte & 0x7F) << shift;
		if (byte < 0x80)
			return length <= post->bytes - at ? at + length : 0;
	}
	return 0;
}

size_t post_write(const void *bytes, size_t count, void *of)
{
	struct post *post = of;
	size_t whole;

	if (!append(post, bytes, count)) {
		errno = ENOMEM;
		return 0;
	}
	while (!post->status && (whole = whole_message(post)) != 0) {
		post->status = send_message(post, post->is_protobuf ? whole : whole - 1);
		post->bytes -= whole;
		memmove(post->buffer, post->buffer + whole, post->bytes);
	}
	errno = post->status ? EIO : 0;
	return post->status ? 0 : count;
}
