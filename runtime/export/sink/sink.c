/* A buffer between the writers of formats and the function that takes their bytes. */
#include "export/sink/sink.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "containers/array.h"
#include "encoding/json.h"
#include "encoding/utf8.h"

/* Text is escaped in pieces of at most this many bytes. */
#define PIECE_BYTES (SINK_RESERVE_MAX / 6)

epp_status *sink_init(struct sink *sink, epp_sink_fn write, void *user)
{
	memset(sink, 0, sizeof *sink);
	sink->write = write;
	sink->user = user;
	sink->buffer = malloc(SINK_BUFFER_BYTES);
	if (!sink->buffer)
		return epp_status_no_memory();
	sink->at = sink->buffer;
	sink->limit = sink->buffer + SINK_BUFFER_BYTES;
	return NULL;
}

void sink_deinit(struct sink *sink)
{
	free(sink->buffer);
	memset(sink, 0, sizeof *sink);
}

void sink_push(struct sink *sink)
{
	size_t count = (size_t)(sink->at - sink->buffer);

	sink->at = sink->buffer;
	sink->pushes_count++;
	if (sink->failed || !count)
		return;
	errno = 0;
	if (sink->write(sink->buffer, count, sink->user) != count)
		sink_fail(sink, errno);
}

void sink_bytes_in_pieces(struct sink *sink, const void *bytes, size_t count)
{
	const char *from = bytes;

	while (count) {
		size_t piece = count < SINK_RESERVE_MAX ? count : SINK_RESERVE_MAX;
		char *at = sink_reserve(sink, piece);
		memcpy(at, from, piece);
		sink_commit(sink, at + piece);
		from += piece;
		count -= piece;
	}
}

void sink_format(struct sink *sink, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	int length = vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (length > 0)
		sink_bytes(sink, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

void sink_json_text(struct sink *sink, const char *text, size_t bytes)
{
	while (bytes) {
		size_t piece = utf8_cut(text, bytes, PIECE_BYTES);
		sink_commit(sink, json_escape(sink_reserve(sink, JSON_ESCAPED_BYTES(piece)), text, piece));
		text += piece;
		bytes -= piece;
	}
}

void sink_json_string(struct sink *sink, const char *text)
{
	sink_text(sink, "\"");
	sink_json_text(sink, text, strlen(text));
	sink_text(sink, "\"");
}

epp_status *sink_flush(struct sink *sink)
{
	sink_push(sink);
	if (!sink->failed)
		return NULL;
	if (sink->error == ENOMEM)
		return epp_status_no_memory();
	return epp_status_create(EPP_IO, "writing: %s", sink->error ? strerror(sink->error) : "the bytes were not taken");
}

size_t sink_memory_write(const void *bytes, size_t count, void *user)
{
	struct sink_memory *memory = user;

	if (!array_reserve(&memory->bytes, &memory->room, memory->count + count, 1)) {
		errno = ENOMEM;
		return 0;
	}
	memcpy(memory->bytes + memory->count, bytes, count);
	memory->count += count;
	return count;
}
