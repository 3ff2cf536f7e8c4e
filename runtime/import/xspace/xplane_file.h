/* Reads the bytes of an XSpace file of any size by position through small windows, and decodes its protobuf fields one
 * by one.
 *
 * A plane's tables may come after the lines that use them, so the reader moves back and forth: an input without seek,
 * such as a pipe, is copied to a temporary file first.  The file is not mapped, so that a file that is truncated during
 * the read gives an error instead of a signal. */
#ifndef EPPROF_RUNTIME_IMPORT_XSPACE_XPLANE_FILE_H
#define EPPROF_RUNTIME_IMPORT_XSPACE_XPLANE_FILE_H

#include "encoding/protobuf.h"
#include "import/import.h"

/* The maximum size of one view; larger data is read in parts or left out. */
#define XPLANE_VIEW_BYTES_MAX (1u << 20)

struct xplane_file {
	int fd;
	bool is_copy;
	const char *path;
	uint64_t bytes;
};

struct xplane_window {
	const struct xplane_file *file;
	uint8_t *buffer;
	uint64_t from;
	size_t count, room;
};

/* A message in the file, or its unread rest. */
struct xplane_message {
	uint64_t at, end;
	bool damaged; /* the message ended early, or is not valid */
};

struct xplane_field {
	uint32_t number;
	enum protobuf_type type;
	uint64_t value;                /* for all types but PROTOBUF_BYTES */
	struct xplane_message message; /* position of PROTOBUF_BYTES; `damaged`: the file or message ends before them */
};

/* Opens the rest of an import's input.  Errors: EPP_IO, EPP_OUT_OF_MEMORY. */
epp_status *xplane_file_open(struct xplane_file *file, struct import *import) EPP_MUST_CHECK;
void xplane_file_close(struct xplane_file *file);

void xplane_window_deinit(struct xplane_window *window);
/* Returns `count` bytes from `at` on, at most XPLANE_VIEW_BYTES_MAX, all inside the file.  Ownership: valid until the
 * next call for this window. */
epp_status *xplane_view(struct xplane_window *window, uint64_t at, size_t count, const uint8_t **bytes) EPP_MUST_CHECK;

/* Reads the next field of a message and removes it from the message; *found is false at the end and at damage. */
epp_status *xplane_next(struct xplane_window *window, struct xplane_message *message, struct xplane_field *field,
                        bool *found) EPP_MUST_CHECK;

static inline bool xplane_is(const struct xplane_field *field, uint32_t number, enum protobuf_type type)
{
	return field->number == number && field->type == type;
}

static inline uint64_t xplane_message_bytes(const struct xplane_message *message)
{
	return message->end - message->at;
}

#endif
