/* Serves the control socket: one client after the other, with a time limit for each. */
#include "control/server.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "control/socket_file.h"

/* Time limits: for the request, and for each part of the answer. */
#define CLIENT_NS 1000000000
/* After accept(2) has failed because of a lack of descriptors or memory. */
#define RETRY_NS 100000000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the variables below */
static int listening = -1;
static struct socket_file file;
static bool has_ended;

static pthread_mutex_t answering = PTHREAD_MUTEX_INITIALIZER; /* held while a request is answered */

/* Waits until the client can be read from or written to. */
static bool wait_for(int client, short events, int64_t deadline_ns)
{
	struct pollfd of = { .fd = client, .events = events };
	int64_t left_ns;
	while ((left_ns = deadline_ns - thread_now_ns()) > 0) {
		int ready = poll(&of, 1, (int)(left_ns / 1000000) + 1);
		if (ready > 0)
			return true;
		if (ready < 0 && errno != EINTR)
			return false;
	}
	return false;
}

static bool is_allowed(int client)
{
	struct ucred peer;
	socklen_t bytes = sizeof(peer);
	return getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && (peer.uid == geteuid() || peer.uid == 0);
}

/* Reads a line. Returns false if the client does not send one in time. */
static bool read_request(int client, char request[CONTROL_REQUEST_BYTES])
{
	int64_t deadline_ns = thread_now_ns() + CLIENT_NS;
	size_t used = 0;
	while (used < CONTROL_REQUEST_BYTES && wait_for(client, POLLIN, deadline_ns)) {
		ssize_t bytes = recv(client, request + used, CONTROL_REQUEST_BYTES - used, MSG_DONTWAIT);
		if (bytes == 0 || (bytes < 0 && errno != EAGAIN && errno != EINTR))
			return false;
		char *end = bytes > 0 ? memchr(request + used, '\n', (size_t)bytes) : NULL;
		if (end) {
			*end = '\0';
			return true;
		}
		used += bytes > 0 ? (size_t)bytes : 0;
	}
	return false;
}

static void send_answer(int client, const char *answer, size_t bytes)
{
	while (bytes && wait_for(client, POLLOUT, thread_now_ns() + CLIENT_NS)) {
		ssize_t part = send(client, answer, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (part < 0 && errno != EAGAIN && errno != EINTR)
			return;
		answer += part > 0 ? part : 0;
		bytes -= part > 0 ? (size_t)part : 0;
	}
}

static void answer_request(int client, const char *request)
{
	char *answer = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&answer, &bytes);
	if (!out)
		return;
	pthread_mutex_lock(&answering);
	if (has_ended)
		fputs("error\tprocess is ending\n", out);
	else
		control_answer(request, out);
	pthread_mutex_unlock(&answering);
	if (fclose(out) == 0)
		send_answer(client, answer, bytes);
	free(answer);
}

static void *serve(void *argument)
{
	int listener = (int)(intptr_t)argument;
	char request[CONTROL_REQUEST_BYTES];
	for (;;) {
		int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (client >= 0) {
			if (is_allowed(client) && read_request(client, request))
				answer_request(client, request);
			close(client);
		} else if (errno == EINVAL || errno == EBADF) {
			return NULL; /* control_end has shut it down */
		} else if (errno != EINTR && errno != ECONNABORTED) {
			nanosleep(&(struct timespec){ .tv_nsec = RETRY_NS }, NULL);
		}
	}
}

void control_start(void)
{
	pthread_t thread;
	pthread_mutex_lock(&lock);
	int socket = listening < 0 && !has_ended ? socket_file_open(&file) : -1;
	if (socket >= 0 && thread_start("epprof-control", serve, (void *)(intptr_t)socket, &thread)) {
		socket_file_remove(&file);
		close(socket);
	} else if (socket >= 0) {
		listening = socket;
	}
	pthread_mutex_unlock(&lock);
}

void control_end(void)
{
	pthread_mutex_lock(&answering);
	pthread_mutex_lock(&lock);
	has_ended = true;
	if (listening >= 0) {
		socket_file_remove(&file);
		shutdown(listening, SHUT_RDWR);
	}
	pthread_mutex_unlock(&lock);
	pthread_mutex_unlock(&answering);
}

void control_fork_child(void)
{
	pthread_mutex_init(&lock, NULL);
	pthread_mutex_init(&answering, NULL);
	if (listening >= 0)
		close(listening);
	listening = -1;
	has_ended = false;
}
