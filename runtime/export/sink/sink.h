/* Where exporters write: one function behind a large buffer.
 *
 * The first error sticks: from then on everything is swallowed, so that writers need not look, and sink_flush tells.
 * A writer reserves room, writes into it, and commits what it wrote. */
#ifndef EPPROF_RUNTIME_EXPORT_SINK_SINK_H
#define EPPROF_RUNTIME_EXPORT_SINK_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "epprof/export.h"

#define SINK_BUFFER_BYTES (256u << 10)
/* The most that can be reserved at once. */
#define SINK_RESERVE_MAX (64u << 10)

struct sink {
	epp_sink_fn write;
	void *user;
	char *buffer, *at, *limit;
	uint64_t pushes_count; /* how often the buffer was emptied */
	bool failed;
	int error; /* errno of the failure; 0: none was given */
};

/* Errors: EPP_OUT_OF_MEMORY. */
epp_status *sink_init(struct sink *sink, epp_sink_fn write, void *user) EPP_MUST_CHECK;
/* What was not flushed is dropped. */
void sink_deinit(struct sink *sink);

/* Hands over what is buffered. */
void sink_push(struct sink *sink);

/* Room for `bytes`, at most SINK_RESERVE_MAX. */
static inline char *sink_reserve(struct sink *sink, size_t bytes)
{
	if ((size_t)(sink->limit - sink->at) < bytes)
		sink_push(sink);
	return sink->at;
}

/* `end`: behind what was written into the room. */
static inline void sink_commit(struct sink *sink, char *end)
{
	sink->at = end;
}

/* sink_bytes where the buffer's rest may be too small, or nothing is to be written. */
void sink_bytes_in_pieces(struct sink *sink, const void *bytes, size_t count);
static inline void sink_bytes(struct sink *sink, const void *bytes, size_t count)
{
	if (!count || (size_t)(sink->limit - sink->at) < count) {
		sink_bytes_in_pieces(sink, bytes, count);
		return;
	}
	memcpy(sink->at, bytes, count);
	sink->at += count;
}
static inline void sink_text(struct sink *sink, const char *text)
{
	sink_bytes(sink, text, strlen(text));
}
void sink_format(struct sink *sink, const char *format, ...) EPP_FORMAT(2, 3);
/* The inside of a JSON string, of any length. */
void sink_json_text(struct sink *sink, const char *text, size_t bytes);
/* A JSON string with its quotes. */
void sink_json_string(struct sink *sink, const char *text);

/* What comes cannot be made: the sink has failed, with this errno. */
static inline void sink_fail(struct sink *sink, int error)
{
	sink->error = sink->failed ? sink->error : error;
	sink->failed = true;
}

/* Hands over what is buffered and tells whether all went well so far.  Errors: EPP_IO ("writing: No space left ..."),
 * EPP_OUT_OF_MEMORY (errno ENOMEM). */
epp_status *sink_flush(struct sink *sink) EPP_MUST_CHECK;

/* A sink's other end in memory: an epp_sink_fn and its user. */
struct sink_memory {
	char *bytes;
	size_t count, room;
};
size_t sink_memory_write(const void *bytes, size_t count, void *memory);

#endif
