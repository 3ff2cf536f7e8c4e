/* Reads the file or pipe of an import, through one buffer. */
#include "import/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "containers/array.h"

epp_status *input_open(struct input *input, const char *path)
{
	bool is_stdin = strcmp(path, "-") == 0;

	*input = (struct input){ .path = is_stdin ? "standard input" : path, .borrowed = is_stdin };
	input->fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (input->fd < 0)
		return epp_status_errno(errno, "%s", path);
	input->room = INPUT_BUFFER_BYTES;
	input->buffer = malloc(input->room);
	if (!input->buffer) {
		input_close(input);
		return epp_status_no_memory();
	}
	return NULL;
}

void input_close(struct input *input)
{
	if (input->fd >= 0 && !input->borrowed)
		close(input->fd);
	free(input->buffer);
	*input = (struct input){ .fd = -1 };
}

/* Moves the unread bytes to the front of the buffer, and reads more bytes behind them. */
static epp_status *fill(struct input *input)
{
	if (input->at) {
		memmove(input->buffer, input->buffer + input->at, input->end - input->at);
		input->end -= input->at;
		input->at = 0;
	}
	if (!array_reserve(&input->buffer, &input->room, input->end + 1, 1))
		return epp_status_no_memory();
	while (!input->ended) {
		ssize_t got = read(input->fd, input->buffer + input->end, input->room - input->end);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return epp_status_errno(errno, "%s", input->path);
		input->ended = got == 0;
		input->end += (size_t)got;
		input->bytes += (uint64_t)got;
		break;
	}
	return NULL;
}

epp_status *input_peek(struct input *input, const char **bytes, size_t *count)
{
	if (input->at == input->end && !input->ended)
		EPP_TRY(fill(input));
	*bytes = input->buffer + input->at;
	*count = input->end - input->at;
	return NULL;
}

void input_take(struct input *input, size_t count)
{
	input->at += count;
}

epp_status *input_need(struct input *input, size_t count)
{
	while (input->end - input->at < count && !input->ended)
		EPP_TRY(fill(input));
	return NULL;
}

epp_status *input_line(struct input *input, size_t skip, size_t *end)
{
	size_t searched = skip;

	for (;;) {
		size_t count;
		const char *from = input_bytes(input, &count);
		const char *newline = count > searched ? memchr(from + searched, '\n', count - searched) : NULL;
		if (newline || input->ended || count >= INPUT_LINE_BYTES_MAX) {
			*end = newline ? (size_t)(newline - from) : count;
			return NULL;
		}
		searched = count > skip ? count : skip;
		EPP_TRY(fill(input));
	}
}
