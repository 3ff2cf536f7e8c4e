/* Reads the input of an import: bytes of a file or a pipe, through one buffer. */
#ifndef EPPROF_RUNTIME_IMPORT_INPUT_H
#define EPPROF_RUNTIME_IMPORT_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define INPUT_BUFFER_BYTES (128u << 10)
/* The maximum length of a line, and of several lines that are read as one record. */
#define INPUT_LINE_BYTES_MAX (1u << 20)

struct input {
	const char *path; /* owned by the caller */
	int fd;
	bool borrowed; /* the descriptor is standard input, which must not be closed */
	bool ended;
	char *buffer; /* bytes [at, end) are unread */
	size_t at, end, room;
	uint64_t bytes; /* number of bytes read so far */
};

/* Errors: EPP_NOT_FOUND, EPP_IO, EPP_OUT_OF_MEMORY; the message has the path. */
epp_status *input_open(struct input *input, const char *path) EPP_MUST_CHECK;
void input_close(struct input *input);

/* Gets the next bytes without consuming them.  At the end of the input there are none, else at least one. */
epp_status *input_peek(struct input *input, const char **bytes, size_t *count) EPP_MUST_CHECK;
void input_take(struct input *input, size_t count);

/* Gets at least `count` bytes without consuming them, or fewer at the end of the input. */
epp_status *input_need(struct input *input, size_t count) EPP_MUST_CHECK;

/* Finds the end of the line that begins `skip` bytes after the current position.  *end is an offset from the current
 * position: of the newline, of the end of the input, or of the place where the line is cut because it exceeds
 * INPUT_LINE_BYTES_MAX. input_bytes then returns the bytes. */
epp_status *input_line(struct input *input, size_t skip, size_t *end) EPP_MUST_CHECK;

static inline const char *input_bytes(const struct input *input, size_t *count)
{
	*count = input->end - input->at;
	return input->buffer + input->at;
}

#endif
