/* Sends a request to a recording process, and divides its answer into lines and fields. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "ctl.h"

#define ANSWER_BYTES_MAX ((size_t)16 << 20)
#define PART_BYTES 65536

static epp_status *failure(const struct ctl_socket *to)
{
	if (errno == ECONNREFUSED || errno == ENOENT)
		return epp_status_create(EPP_NOT_FOUND, "process %lld has ended", to->pid);
	if (errno == EAGAIN || errno == EWOULDBLOCK)
		return epp_status_create(EPP_TIMEOUT, "process %lld does not answer", to->pid);
	return epp_status_errno(errno, "process %lld", to->pid);
}

static epp_status *connect_to(const struct ctl_socket *to, int timeout_s, int *fd)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const struct timeval timeout = { .tv_sec = timeout_s };

	snprintf(address.sun_path, sizeof address.sun_path, "%s", to->path);
	*fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (*fd < 0)
		return epp_status_errno(errno, "a socket");
	if (setsockopt(*fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) != 0 ||
	    setsockopt(*fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout) != 0 ||
	    connect(*fd, (const struct sockaddr *)&address, sizeof address) != 0)
		return failure(to);
	return NULL;
}

static epp_status *send_line(int fd, const struct ctl_socket *to, const char *request)
{
	char *line;
	int bytes = asprintf(&line, "%s\n", request);

	if (bytes < 0)
		return epp_status_no_memory();
	/* A request is one line, which fits into the socket's buffer, so one call sends all of it. */
	epp_status *status = send(fd, line, (size_t)bytes, MSG_NOSIGNAL) == bytes ? NULL : failure(to);
	free(line);
	return status;
}

/* Reads the answer until the end of the stream. */
static epp_status *receive(int fd, const struct ctl_socket *to, char **text)
{
	size_t used = 0;

	for (ssize_t bytes = 1; bytes > 0; used += bytes > 0 ? (size_t)bytes : 0) {
		char *larger = used < ANSWER_BYTES_MAX ? realloc(*text, used + PART_BYTES + 1) : NULL;
		if (!larger)
			return epp_status_no_memory();
		*text = larger;
		bytes = recv(fd, *text + used, PART_BYTES, 0);
		if (bytes < 0)
			return failure(to);
		(*text)[used + (size_t)bytes] = '\0';
	}
	return NULL;
}

/* Divides the text into lines and fields. */
static epp_status *split_answer(struct ctl_answer *answer)
{
	size_t lines_count = 1;

	for (const char *at = answer->text; (at = strchr(at, '\n')); at++)
		lines_count++;
	answer->lines = calloc(lines_count, sizeof *answer->lines);
	if (!answer->lines)
		return epp_status_no_memory();
	for (char *rest = answer->text, *text; (text = strsep(&rest, "\n"));) {
		struct ctl_line *line = &answer->lines[answer->count];
		for (char *field; *text && line->count < CTL_FIELDS_MAX && (field = strsep(&text, "\t"));) {
			line->fields[line->count++] = field;
			if (!text)
				break;
		}
		answer->count += line->count > 0;
	}
	return NULL;
}

static epp_status *check(const struct ctl_answer *answer, const struct ctl_socket *to)
{
	const struct ctl_line *first = answer->lines;

	if (answer->count && strcmp(first->fields[0], "ok") == 0)
		return NULL;
	if (answer->count && strcmp(first->fields[0], "error") == 0)
		return epp_status_create(EPP_WRONG_STATE, "process %lld: %s", to->pid,
		                         first->count > 1 ? first->fields[1] : "");
	return epp_status_create(EPP_IO, "process %lld gives no answer", to->pid);
}

epp_status *ctl_request(const struct ctl_socket *to, const char *request, int timeout_s, struct ctl_answer *answer)
{
	int fd;

	*answer = (struct ctl_answer){ 0 };
	epp_status *status = connect_to(to, timeout_s, &fd);
	if (!status)
		status = send_line(fd, to, request);
	if (!status)
		status = receive(fd, to, &answer->text);
	if (fd >= 0)
		close(fd);
	if (!status)
		status = split_answer(answer);
	return status ? status : check(answer, to);
}

void ctl_answer_deinit(struct ctl_answer *answer)
{
	free(answer->lines);
	free(answer->text);
	*answer = (struct ctl_answer){ 0 };
}

const char *ctl_field(const struct ctl_line *line, const char *name)
{
	size_t bytes = strlen(name);

	for (size_t i = 0; i < line->count; i++)
		if (strncmp(line->fields[i], name, bytes) == 0 && line->fields[i][bytes] == '=')
			return line->fields[i] + bytes + 1;
	return "";
}

uint64_t ctl_number(const struct ctl_line *line, const char *name)
{
	return strtoull(ctl_field(line, name), NULL, 10);
}
