/* The bytes of an XSpace file of any size, read by position through small windows, and its protobuf fields one by one.
 *
 * A plane's tables may follow the lines that use them, so the reader goes back and forth: a file that cannot be sought, a pipe,
 * is copied to a temporary file first.  The file is not mapped, so that one that is cut while it is read gives an error. */
#ifndef EPPROF_RUNTIME_IMPORT_XSPACE_XPLANE_FILE_H
#define EPPROF_RUNTIME_IMPORT_XSPACE_XPLANE_FILE_H

#include "encoding/protobuf.h"
#include "import/import.h"

/* The most that one view shows: what is larger is read in parts or left out. */
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

/* A message in the file, or what is left of it. */
struct xplane_message {
	uint64_t at, end;
	bool damaged; /* it ended early, or held what no message holds */
};

struct xplane_field {
	uint32_t number;
	enum protobuf_type type;
	uint64_t value;                /* all types but PROTOBUF_BYTES */
	struct xplane_message message; /* PROTOBUF_BYTES: where they are; `damaged`: the file or the message ends before them */
};

/* Opens the rest of an import's input.  Errors: EPP_IO, EPP_OUT_OF_MEMORY. */
epp_status *xplane_file_open(struct xplane_file *file, struct import *import) EPP_MUST_CHECK;
void xplane_file_close(struct xplane_file *file);

void xplane_window_deinit(struct xplane_window *window);
/* The bytes from `at` on, `count` of them, at most XPLANE_VIEW_BYTES_MAX, all inside the file.
 * Ownership: valid until the next call for this window. */
epp_status *xplane_view(struct xplane_window *window, uint64_t at, size_t count, const uint8_t **bytes) EPP_MUST_CHECK;

/* The next field of a message, which is taken off it; *found is false at its end and at damage. */
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
