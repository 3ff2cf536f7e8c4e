/* The output of exporters: a large buffer in front of one write function.
 *
 * After the first error, all output is discarded and sink_flush returns this error, so writers need not check for
 * errors.  A writer reserves room, writes into the room, and commits the bytes that it wrote. */
#ifndef EPPROF_RUNTIME_EXPORT_SINK_SINK_H
#define EPPROF_RUNTIME_EXPORT_SINK_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "epprof/export.h"
#include "files/atomic_file.h"

#define SINK_BUFFER_BYTES (256u << 10)
/* The largest number of bytes that can be reserved at once. */
#define SINK_RESERVE_MAX (64u << 10)

struct sink {
	epp_sink_fn write;
	void *user;
	char *buffer, *at, *limit;
	uint64_t pushes_count; /* number of times that the buffer was emptied */
	bool failed;
	int error; /* errno of the first failure; 0: unknown */
};

/* Errors: EPP_OUT_OF_MEMORY. */
epp_status *sink_init(struct sink *sink, epp_sink_fn write, void *user) EPP_MUST_CHECK;
/* Frees the sink.  Bytes that were not flushed are dropped. */
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

/* Adds the bytes that were written into the reserved room to the output; `end` is the position after them. */
static inline void sink_commit(struct sink *sink, char *end)
{
	sink->at = end;
}

/* Slow path of sink_bytes: the bytes may not fit into the rest of the buffer, or `count` is 0. */
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
/* Writes the content of a JSON string, without quotes, of any length. */
void sink_json_text(struct sink *sink, const char *text, size_t bytes);
/* Writes a JSON string with its quotes. */
void sink_json_string(struct sink *sink, const char *text);

/* Writes text of any length, escaped for use in XML and HTML, as text or in attributes. */
void sink_xml_text(struct sink *sink, const char *text, size_t bytes);

/* Sets the sink's error (an errno), if the caller cannot produce the data. */
static inline void sink_fail(struct sink *sink, int error)
{
	sink->error = sink->failed ? sink->error : error;
	sink->failed = true;
}

/* Passes the buffered bytes to the write function, and returns the first error of the sink.  Errors: EPP_IO ("writing:
 * No space left ..."), EPP_OUT_OF_MEMORY (errno ENOMEM). */
epp_status *sink_flush(struct sink *sink) EPP_MUST_CHECK;

/* A memory buffer as the output of a sink: an epp_sink_fn and its user pointer. */
struct sink_memory {
	char *bytes;
	size_t count, room;
};
size_t sink_memory_write(const void *bytes, size_t count, void *memory);

/* A sink whose bytes are stored in a temporary file and read later, for data that a format has after other data. */

struct sink_spool {
	struct sink sink; /* the sink to write into */
	int fd;
	bool is_open; /* the file is created when the buffer is full for the first time */
	uint64_t file_bytes;
	epp_status *status; /* the error of the first failed write to the file */
};

/* Errors: EPP_OUT_OF_MEMORY. */
epp_status *sink_spool_init(struct sink_spool *spool) EPP_MUST_CHECK;
/* Must also be called for a zeroed spool, and for one whose init failed. */
void sink_spool_deinit(struct sink_spool *spool);

/* Reads bytes that were written before, beginning with offset `at`.  Errors: those of the temporary file, such as
 * EPP_IO.  If an earlier write failed, only the next read returns its error. */
epp_status *sink_spool_read(struct sink_spool *spool, uint64_t at, char *data, size_t bytes) EPP_MUST_CHECK;

/* An output of one file, or of several if the format's readers do not accept a file of that size: NAME.EXTENSION,
 * NAME_part2.EXTENSION and so on.  All files get their final names at the end. */

struct sink_parts {
	struct sink_file *files; /* the last one is being written */
	size_t files_count;
	const char *path, *extension;
	bool overwrite;
};

/* Opens the first part, whose path is `path`.  If the path ends with `extension` (which includes the dot), the number
 * of a later part is inserted before the extension.  If `extension` is NULL, there is only one part.  Both strings must
 * stay valid.  Errors: as sink_file_open; EPP_OUT_OF_MEMORY.  After a failure there is nothing to close. */
epp_status *sink_parts_open(struct sink_parts *parts, const char *path, const char *extension, bool overwrite)
    EPP_MUST_CHECK;
/* An epp_sink_fn that writes into the last part; `parts` is a struct sink_parts. */
size_t sink_parts_write(const void *bytes, size_t count, void *parts);
/* Returns true if there can be several parts; false for a pipe, a device or standard output. */
bool sink_parts_divide(const struct sink_parts *parts);
/* Begins the next part, to which all later writes go.  Errors: as sink_parts_open. */
epp_status *sink_parts_next(struct sink_parts *parts) EPP_MUST_CHECK;
/* Gives all parts their final names.  The first part is last, so that it only exists if all parts do.  After a failure,
 * parts that were already renamed are removed. */
epp_status *sink_parts_commit(struct sink_parts *parts) EPP_MUST_CHECK;
/* Closes all parts and removes the files that were written. */
void sink_parts_discard(struct sink_parts *parts);

/* A file that appears, complete, by rename (files/atomic_file.h).  An existing file that is not a regular file (a pipe,
 * /dev/full), "-", and a path that names a descriptor of this process (/dev/stdout, /dev/stderr, /dev/fd/N) is written
 * directly. */

struct sink_file {
	struct atomic_file file; /* if written directly, only file.fd is set */
	bool direct;
	bool borrowed; /* the descriptor belongs to the process and must not be closed */
};

/* Errors: EPP_EXISTS if a regular file exists and `overwrite` is false; EPP_NOT_FOUND, EPP_IO; the message contains the
 * path.  After a failure there is nothing to close. */
epp_status *sink_file_open(struct sink_file *file, const char *path, bool overwrite) EPP_MUST_CHECK;
/* An epp_sink_fn; `file` is a struct sink_file. */
size_t sink_file_write(const void *bytes, size_t count, void *file);
/* Renames the file to its final name and closes it.  After a failure, an existing file of this name is unchanged. */
epp_status *sink_file_commit(struct sink_file *file) EPP_MUST_CHECK;
/* Closes the file and removes the part that was written. */
void sink_file_discard(struct sink_file *file);

#endif
