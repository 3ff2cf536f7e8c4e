/* Implements post.h: HTTP/1.1 without TLS, one request a line, and of the response only its status. */
#include "post.h"

#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define TIMEOUT_S 30
#define HEAD_BYTES 1024u

struct post {
	char host[256], port[8], path[256];
	char *line;
	size_t bytes, room;
	epp_status *status;
};

epp_status *post_create(const char *url, struct post **post)
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
	*post = made;
	return NULL;
}

void post_destroy(struct post *post)
{
	if (!post)
		return;
	free(post->line);
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

/* A time limit of a socket is reported as if the call would block. */
static epp_status *failure_of(const struct post *post, int error)
{
	return failure(post, strerror(error == EAGAIN || error == EINPROGRESS ? ETIMEDOUT : error));
}

static epp_status *connected(const struct post *post, int *fd)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	const struct timeval timeout = { .tv_sec = TIMEOUT_S };
	struct addrinfo *addresses;
	int error = getaddrinfo(post->host, post->port, &hints, &addresses);

	*fd = -1;
	if (error)
		return failure(post, gai_strerror(error));
	for (const struct addrinfo *at = addresses; at && *fd < 0; at = at->ai_next) {
		*fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (*fd < 0)
			continue;
		setsockopt(*fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
		setsockopt(*fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
		if (connect(*fd, at->ai_addr, at->ai_addrlen) == 0)
			continue;
		error = errno;
		close(*fd);
		errno = error;
		*fd = -1;
	}
	freeaddrinfo(addresses);
	return *fd < 0 ? failure_of(post, errno) : NULL;
}

static bool send_all(int fd, const char *bytes, size_t count)
{
	while (count) {
		ssize_t sent = send(fd, bytes, count, MSG_NOSIGNAL);
		if (sent <= 0)
			return false;
		bytes += sent;
		count -= (size_t)sent;
	}
	return true;
}

/* Reads the head of the response; a status other than 2xx is an error.  A server may answer and close before it has read
 * everything: then `send_error` is not 0, and its answer has the reason. */
static epp_status *response(const struct post *post, int fd, int send_error)
{
	char head[HEAD_BYTES + 1] = "";
	size_t count = 0;
	ssize_t got = 1;

	while (count < HEAD_BYTES && !memchr(head, '\n', count) && got > 0) {
		got = recv(fd, head + count, HEAD_BYTES - count, 0);
		count += got > 0 ? (size_t)got : 0;
	}
	head[count] = 0;
	int error = got < 0 ? errno : 0;
	head[strcspn(head, "\r\n")] = 0;
	bool is_http = strncmp(head, "HTTP/1.", 7) == 0 && strlen(head) > 9 && head[8] == ' ';
	if (is_http && head[9] != '2')
		return failure(post, head + 9);
	if (send_error || error)
		return failure_of(post, send_error ? send_error : error);
	return is_http ? NULL : failure(post, "the answer is no HTTP");
}

static epp_status *send_line(const struct post *post)
{
	char head[HEAD_BYTES];
	int fd;

	int bytes = snprintf(head, sizeof head,
	                     "POST %s HTTP/1.1\r\nHost: %s:%s\r\nContent-Type: application/json\r\n"
	                     "Content-Length: %zu\r\nConnection: close\r\n\r\n",
	                     post->path, post->host, post->port, post->bytes);
	epp_status *status = connected(post, &fd);
	if (status)
		return status;
	bool is_sent = send_all(fd, head, (size_t)bytes) && send_all(fd, post->line, post->bytes);
	status = response(post, fd, is_sent ? 0 : errno);
	close(fd);
	return status;
}

static bool keep(struct post *post, const char *bytes, size_t count)
{
	if (post->room - post->bytes < count) {
		size_t room = (post->bytes + count) * 2;
		char *line = realloc(post->line, room);
		if (!line)
			return false;
		post->line = line;
		post->room = room;
	}
	memcpy(post->line + post->bytes, bytes, count);
	post->bytes += count;
	return true;
}

size_t post_write(const void *bytes, size_t count, void *of)
{
	struct post *post = of;
	const char *at = bytes, *end = at + count;

	while (at < end && !post->status) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		if (!keep(post, at, (size_t)((newline ? newline : end) - at))) {
			errno = ENOMEM;
			return (size_t)(at - (const char *)bytes);
		}
		at = newline ? newline + 1 : end;
		if (!newline)
			break;
		post->status = send_line(post);
		post->bytes = 0;
	}
	errno = post->status ? EIO : 0;
	return post->status ? 0 : count;
}
