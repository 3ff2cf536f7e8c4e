/* The output of exporters: a large buffer in front of one write function.
 *
 * The first error is kept: after it all output is discarded, so that writers need not check, and sink_flush returns the
 * error.  A writer reserves room, writes into it, and commits what it wrote. */
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
	int error; /* errno of the failure; 0: unknown */
};

/* Errors: EPP_OUT_OF_MEMORY. */
epp_status *sink_init(struct sink *sink, epp_sink_fn write, void *user) EPP_MUST_CHECK;
/* Discards data that was not flushed. */
void sink_deinit(struct sink *sink);

/* Passes the buffered bytes to the write function. */
void sink_push(struct sink *sink);

/* Returns room for `bytes` bytes, at most SINK_RESERVE_MAX. */
static inline char *sink_reserve(struct sink *sink, size_t bytes)
{
	if ((size_t)(sink->limit - sink->at) < bytes)
		sink_push(sink);
	return sink->at;
}

/* `end`: the position after the bytes that were written into the reserved room. */
static inline void sink_commit(struct sink *sink, char *end)
{
	sink->at = end;
}

/* The slow path of sink_bytes: the rest of the buffer may be too small, or `count` is 0. */
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
/* Writes the content of a JSON string, of any length. */
void sink_json_text(struct sink *sink, const char *text, size_t bytes);
/* Writes a JSON string with its quotes. */
void sink_json_string(struct sink *sink, const char *text);

/* Marks the sink as failed with this errno, for data that cannot be produced. */
static inline void sink_fail(struct sink *sink, int error)
{
	sink->error = sink->failed ? sink->error : error;
	sink->failed = true;
}

/* Passes the buffered bytes to the write function and returns the first error so far.  Errors: EPP_IO ("writing: No
 * space left ..."), EPP_OUT_OF_MEMORY (errno ENOMEM). */
epp_status *sink_flush(struct sink *sink) EPP_MUST_CHECK;

/* A memory buffer as the target of a sink: an epp_sink_fn and its user pointer. */
struct sink_memory {
	char *bytes;
	size_t count, room;
};
size_t sink_memory_write(const void *bytes, size_t count, void *memory);

#endif
