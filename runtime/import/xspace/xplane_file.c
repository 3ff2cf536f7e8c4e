/* Reads an XSpace file through windows.  A window reads ahead from the requested position, so a walk through a message
 * reads each byte once. */
#include "import/xspace/xplane_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "containers/array.h"
#include "files/temp_file.h"

#define AHEAD_BYTES (64u << 10)
/* The maximum size of a field without the content of a length-delimited one. */
#define HEAD_BYTES (2 * PROTOBUF_VARINT_BYTES)

/* ---- the file ---- */

static epp_status *copy(struct xplane_file *file, struct import *import)
{
	EPP_TRY(temp_file_open(&file->fd));
	file->is_copy = true;
	for (;;) {
		const char *bytes;
		size_t count;
		EPP_TRY(import_check_cancel(import));
		EPP_TRY(input_peek(&import->input, &bytes, &count));
		if (!count)
			return NULL;
		EPP_TRY(temp_file_write(file->fd, file->bytes, bytes, count));
		file->bytes += count;
		input_take(&import->input, count);
	}
}

epp_status *xplane_file_open(struct xplane_file *file, struct import *import)
{
	struct stat st;

	*file = (struct xplane_file){ .fd = import->input.fd, .path = import->input.path };
	if (fstat(file->fd, &st))
		return epp_status_errno(errno, "%s", file->path);
	/* Standard input may be a file of which another program has read a part. */
	if (!S_ISREG(st.st_mode) || import->input.borrowed)
		return copy(file, import);
	file->bytes = (uint64_t)st.st_size;
	import->input.bytes = file->bytes;
	return NULL;
}

void xplane_file_close(struct xplane_file *file)
{
	if (file->is_copy)
		close(file->fd);
	*file = (struct xplane_file){ .fd = -1 };
}

/* ---- windows ---- */

void xplane_window_deinit(struct xplane_window *window)
{
	free(window->buffer);
	*window = (struct xplane_window){ 0 };
}

static epp_status *fill(struct xplane_window *window, uint64_t at, size_t count)
{
	const struct xplane_file *file = window->file;
	size_t room = count > AHEAD_BYTES ? count : AHEAD_BYTES;

	if (!array_reserve(&window->buffer, &window->room, room, 1))
		return epp_status_no_memory();
	window->from = at;
	window->count = 0;
	while (window->count < count) {
		uint64_t left = file->bytes - at - window->count;
		size_t wanted = left < room - window->count ? (size_t)left : room - window->count;
		ssize_t got = pread(file->fd, window->buffer + window->count, wanted, (off_t)(at + window->count));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return epp_status_errno(errno, "%s", file->path);
		if (!got)
			return epp_status_create(EPP_IO, "%s: the file was cut while it was read", file->path);
		window->count += (size_t)got;
	}
	return NULL;
}

epp_status *xplane_view(struct xplane_window *window, uint64_t at, size_t count, const uint8_t **bytes)
{
	if (at < window->from || at - window->from > window->count || window->count - (at - window->from) < count)
		EPP_TRY(fill(window, at, count));
	*bytes = window->buffer + (at - window->from);
	return NULL;
}

/* ---- fields ---- */

static bool damage(struct xplane_message *message)
{
	message->at = message->end;
	message->damaged = true;
	return false;
}

static bool take_fixed(struct protobuf_reader *head, struct xplane_field *field, size_t bytes)
{
	field->value = 0;
	if ((size_t)(head->end - head->at) < bytes)
		return false;
	memcpy(&field->value, head->at, bytes);
	head->at += bytes;
	return true;
}

/* Decodes the field that begins with `head`, limited to the rest of the message. */
static bool take_field(struct protobuf_reader *head, struct xplane_message *message, struct xplane_field *field)
{
	const uint8_t *first = head->at;
	uint64_t tag, count = 0;

	if (!protobuf_next_varint(head, &tag) || tag >> 3 == 0 || tag > UINT32_MAX)
		return damage(message);
	field->number = (uint32_t)(tag >> 3);
	field->type = (enum protobuf_type)(tag & 7);
	bool whole = false;
	if (field->type == PROTOBUF_VARINT)
		whole = protobuf_next_varint(head, &field->value);
	else if (field->type == PROTOBUF_FIXED64 || field->type == PROTOBUF_FIXED32)
		whole = take_fixed(head, field, field->type == PROTOBUF_FIXED64 ? 8 : 4);
	else if (field->type == PROTOBUF_BYTES)
		whole = protobuf_next_varint(head, &count);
	if (!whole)
		return damage(message);
	message->at += (uint64_t)(head->at - first);
	if (field->type != PROTOBUF_BYTES)
		return true;
	uint64_t left = message->end - message->at;
	field->message = (struct xplane_message){ message->at, message->at + (count < left ? count : left), count > left };
	message->at = field->message.end;
	message->damaged |= count > left;
	return true;
}

epp_status *xplane_next(struct xplane_window *window, struct xplane_message *message, struct xplane_field *field,
                        bool *found)
{
	uint64_t left = message->end - message->at;
	size_t count = left < HEAD_BYTES ? (size_t)left : HEAD_BYTES;
	const uint8_t *bytes;

	*found = false;
	if (!left)
		return NULL;
	EPP_TRY(xplane_view(window, message->at, count, &bytes));
	struct protobuf_reader head = protobuf_reader_of(bytes, count);
	*found = take_field(&head, message, field);
	return NULL;
}
