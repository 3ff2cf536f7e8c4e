/* Implements sink.h: the buffer between the writers of formats and the output, output files and their parts, and
 * temporary files for data that a format has after other data. */
#include "export/sink/sink.h"

#include <bsd/stdlib.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/os.h"
#include "base/status.h"
#include "containers/array.h"
#include "encoding/json.h"
#include "encoding/utf8.h"
#include "encoding/xml.h"
#include "files/temp_file.h"

/* ---- spool ---- */

/* Stores the bytes of a sink in a temporary file.  The last bytes are not written to the file, but read from the sink's
 * buffer. */

static size_t to_file(const void *bytes, size_t count, void *user)
{
	struct sink_spool *spool = user;

	if (!spool->is_open) {
		spool->status = temp_file_open(&spool->fd);
		spool->is_open = !spool->status;
	}
	if (!spool->status)
		spool->status = temp_file_write(spool->fd, spool->file_bytes, bytes, count);
	spool->file_bytes += count;
	return spool->status ? 0 : count;
}

epp_status *sink_spool_init(struct sink_spool *spool)
{
	*spool = (struct sink_spool){ 0 };
	return sink_init(&spool->sink, to_file, spool);
}

void sink_spool_deinit(struct sink_spool *spool)
{
	sink_deinit(&spool->sink);
	if (spool->is_open)
		close(spool->fd);
	epp_status_destroy(spool->status);
	*spool = (struct sink_spool){ 0 };
}

epp_status *sink_spool_read(struct sink_spool *spool, uint64_t at, char *data, size_t bytes)
{
	epp_status *status = spool->status;
	size_t in_file = 0;

	spool->status = NULL;
	if (!status && at < spool->file_bytes) {
		in_file = bytes < spool->file_bytes - at ? bytes : (size_t)(spool->file_bytes - at);
		status = temp_file_read(spool->fd, at, data, in_file);
	}
	if (!status && in_file < bytes)
		memcpy(data + in_file, spool->sink.buffer + (at + in_file - spool->file_bytes), bytes - in_file);
	return status;
}

/* ---- parts ---- */

/* Writes numbered part files.  With `overwrite`, parts with higher numbers, from an earlier and longer export, are
 * removed.  Otherwise a reader of all parts would mix the two exports. */

/* Makes "a/run_part2.xplane.pb" from "a/run.xplane.pb".  Ownership: malloc; NULL: no memory. */
static char *name_of(const struct sink_parts *parts, size_t number)
{
	size_t bytes = strlen(parts->path), ending = strlen(parts->extension);
	char *name;

	if (bytes < ending || strcmp(parts->path + bytes - ending, parts->extension) != 0)
		ending = 0;
	return asprintf(&name, "%.*s_part%zu%s", (int)(bytes - ending), parts->path, number,
	                parts->path + bytes - ending) < 0
	           ? NULL
	           : name;
}

static epp_status *add(struct sink_parts *parts, const char *path)
{
	struct sink_file *larger = reallocarray(parts->files, parts->files_count + 1, sizeof *larger);

	if (!larger)
		return epp_status_no_memory();
	parts->files = larger;
	EPP_TRY(sink_file_open(&parts->files[parts->files_count], path, parts->overwrite));
	parts->files_count++;
	return NULL;
}

epp_status *sink_parts_open(struct sink_parts *parts, const char *path, const char *extension, bool overwrite)
{
	*parts = (struct sink_parts){ .path = path, .extension = extension, .overwrite = overwrite };
	epp_status *status = add(parts, path);
	if (status)
		sink_parts_discard(parts);
	return status;
}

size_t sink_parts_write(const void *bytes, size_t count, void *user)
{
	struct sink_parts *parts = user;

	return sink_file_write(bytes, count, &parts->files[parts->files_count - 1]);
}

bool sink_parts_divide(const struct sink_parts *parts)
{
	return parts->extension && !parts->files[0].direct;
}

epp_status *sink_parts_next(struct sink_parts *parts)
{
	char *name = name_of(parts, parts->files_count + 1);
	epp_status *status = name ? add(parts, name) : epp_status_no_memory();

	free(name);
	return status;
}

static void remove_older(const struct sink_parts *parts, size_t number)
{
	bool removed = parts->overwrite && sink_parts_divide(parts);

	while (removed) {
		char *name = name_of(parts, number++);
		removed = name && unlink(name) == 0;
		free(name);
	}
}

epp_status *sink_parts_commit(struct sink_parts *parts)
{
	size_t done = parts->files_count;
	epp_status *status = NULL;

	remove_older(parts, parts->files_count + 1);
	while (done && !status)
		status = sink_file_commit(&parts->files[--done]);
	for (size_t i = done + 1; status && i < parts->files_count; i++) {
		char *name = name_of(parts, i + 1);
		if (name)
			unlink(name);
		free(name);
	}
	/* All files have their final names, so this only frees memory. */
	sink_parts_discard(parts);
	return status;
}

void sink_parts_discard(struct sink_parts *parts)
{
	for (size_t i = 0; i < parts->files_count; i++)
		sink_file_discard(&parts->files[i]);
	free(parts->files);
	*parts = (struct sink_parts){ 0 };
}

/* ---- files ---- */

/* Writes the bytes of a sink into a file that appears by rename, or into an existing pipe, device or standard
 * output. */

/* Returns the descriptor of this process that a path refers to; -1: none. */
static int descriptor_of(const char *path)
{
	static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };

	if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0)
		return STDOUT_FILENO;
	if (strcmp(path, "/dev/stderr") == 0)
		return STDERR_FILENO;
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		size_t bytes = strlen(folders[i]);
		const char *problem = NULL;
		long long fd = strncmp(path, folders[i], bytes) == 0 ? strtonum(path + bytes, 0, INT_MAX, &problem) : -1;
		if (fd >= 0 && !problem)
			return (int)fd;
	}
	return -1;
}

epp_status *sink_file_open(struct sink_file *file, const char *path, bool overwrite)
{
	int descriptor = descriptor_of(path);
	struct stat st;

	*file = (struct sink_file){ .file.fd = -1 };
	if (!path[0])
		return epp_status_errno(ENOENT, "an empty path");
	file->borrowed = descriptor >= 0;
	file->direct = file->borrowed || (lstat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode));
	if (!file->direct)
		return atomic_file_open(&file->file, path, overwrite);
	file->file.path = strdup(descriptor == STDOUT_FILENO ? "standard output" : path);
	if (!file->file.path)
		return epp_status_no_memory();
	file->file.fd = file->borrowed ? descriptor : open(path, O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
	if (file->file.fd >= 0)
		return NULL;
	epp_status *status = epp_status_errno(errno, "%s", path);
	sink_file_discard(file);
	return status;
}

size_t sink_file_write(const void *bytes, size_t count, void *user)
{
	struct sink_file *file = user;
	size_t done = 0;
	struct os_signals before;

	os_size_limit_hold(&before);
	while (done < count) {
		ssize_t n = write(file->file.fd, (const char *)bytes + done, count - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			if (n == 0)
				errno = ENOSPC;
			break;
		}
		done += (size_t)n;
	}
	int error = done < count ? errno : 0;
	os_size_limit_release(&before, error);
	errno = error;
	return done;
}

epp_status *sink_file_commit(struct sink_file *file)
{
	epp_status *status = NULL;

	if (!file->direct)
		return atomic_file_commit(&file->file);
	if (!file->borrowed) {
		int fd = file->file.fd;
		file->file.fd = -1;
		if (close(fd) < 0 && errno != EINTR)
			status = epp_status_errno(errno, "%s", file->file.path);
	}
	sink_file_discard(file);
	return status;
}

void sink_file_discard(struct sink_file *file)
{
	if (file->borrowed)
		file->file.fd = -1;
	atomic_file_discard(&file->file);
}

/* ---- the sink ---- */

/* Text is escaped in pieces of at most this many bytes, so that each piece fits into one reservation. */
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

void sink_xml_text(struct sink *sink, const char *text, size_t bytes)
{
	while (bytes) {
		size_t piece = utf8_cut(text, bytes, PIECE_BYTES);
		sink_commit(sink, xml_escape(sink_reserve(sink, XML_ESCAPED_BYTES(piece)), text, piece));
		text += piece;
		bytes -= piece;
	}
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
