/* The file of a trace writer: segments are filled in memory and written one after the other; the header comes last.
 *
 * It is written beside its place as ".NAME.PID-N.tmp", and gets its name when it is whole. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/limit_signal.h"
#include "file/header.h"
#include "file/trace_writer_private.h"

#define TEMPORARY_NAMES_MAX 1000u

_Static_assert(sizeof(struct epf_block) + TRACE_WRITER_PAYLOAD_MAX <= EPF_SEGMENT_BYTES - EPF_SEGMENT_HEADER_BYTES,
               "a block fits into a segment");

/* Its process holds a lock on it (file/window.c). */
static bool is_being_recorded(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool locked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return locked;
}

/* What a symbolic link leads to is written, not the link. */
static epp_status *follow_link(struct epp_trace_writer *writer)
{
	char *real = realpath(writer->path, NULL);

	if (!real)
		return errno == ENOENT ? NULL : epp_status_errno(errno, "%s", writer->path);
	free(writer->path);
	writer->path = real;
	return NULL;
}

epp_status *trace_writer_open(struct epp_trace_writer *writer)
{
	if (writer->overwrite)
		EPP_TRY(follow_link(writer));

	const char *slash = strrchr(writer->path, '/');
	int directory = slash ? (int)(slash - writer->path) + 1 : 0;
	struct stat st;

	bool exists = stat(writer->path, &st) == 0;
	if (exists && !S_ISREG(st.st_mode))
		return epp_status_create(EPP_INVALID_ARGUMENT,
		                         "%s: not a regular file: a trace is not written in one go", writer->path);
	if (exists && !writer->overwrite)
		return epp_status_create(EPP_UNAVAILABLE, "%s: exists already", writer->path);
	if (exists && is_being_recorded(writer->path))
		return epp_status_create(EPP_BUSY, "%s: a session is writing it", writer->path);
	/* Another writer of this process, or one with this pid that was killed, may have taken a name. */
	for (unsigned number = 0; number < TEMPORARY_NAMES_MAX; number++) {
		free(writer->temporary);
		if (asprintf(&writer->temporary, "%.*s.%s.%ld-%u.tmp", directory, writer->path,
		             writer->path + directory, (long)getpid(), number) < 0) {
			writer->temporary = NULL;
			return epp_status_no_memory();
		}
		writer->fd = open(writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (writer->fd >= 0 || errno != EEXIST)
			break;
	}
	/* Who could read what is replaced can read what replaces it. */
	if (writer->fd >= 0 && exists && fchmod(writer->fd, st.st_mode & 07777) == 0)
		return NULL;
	if (writer->fd >= 0 && !exists)
		return NULL;
	epp_status *status = epp_status_errno(errno, "%s", writer->path);
	trace_writer_discard(writer);
	free(writer->temporary);
	writer->temporary = NULL;
	return status;
}

static epp_status *write_at(struct epp_trace_writer *writer, uint64_t offset, const void *data, size_t bytes)
{
	sigset_t before;
	int error = 0;

	limit_signal_hold(&before);
	for (const uint8_t *from = data; bytes && !error;) {
		ssize_t done = pwrite(writer->fd, from, bytes, (off_t)offset);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0) {
			error = done < 0 ? errno : ENOSPC;
			break;
		}
		from += done;
		offset += (uint64_t)done;
		bytes -= (size_t)done;
	}
	limit_signal_let_go(&before, error);
	writer->failed |= error != 0;
	return error ? epp_status_errno(error, "%s", writer->path) : NULL;
}

uint64_t trace_writer_end(const struct epp_trace_writer *writer)
{
	return EPF_BARE_SEGMENTS_OFFSET + (writer->segment_number - 1) * EPF_SEGMENT_BYTES + writer->segment_at;
}

static epp_status *write_segment(struct epp_trace_writer *writer)
{
	struct epf_segment segment = { .magic = EPF_SEGMENT_MAGIC, .number = writer->segment_number };

	if (!writer->segment_number)
		return NULL;
	if (writer->segment_first <= writer->segment_last) {
		segment.first_ticks = writer->segment_first;
		segment.last_ticks = writer->segment_last;
	}
	segment.checksum = checksum_crc32c(0, &segment, sizeof(segment));
	memcpy(writer->segment, &segment, sizeof(segment));
	return write_at(writer, EPF_BARE_SEGMENTS_OFFSET + (writer->segment_number - 1) * EPF_SEGMENT_BYTES,
	                writer->segment, writer->segment_at);
}

static epp_status *next_segment(struct epp_trace_writer *writer)
{
	/* The rest is a hole, which reads as zeros: no block begins there. */
	EPP_TRY(write_segment(writer));
	writer->segment_number++;
	writer->segment_at = EPF_SEGMENT_HEADER_BYTES;
	writer->segment_first = UINT64_MAX;
	writer->segment_last = 0;
	return NULL;
}

epp_status *trace_writer_append(struct epp_trace_writer *writer, struct epf_block *block)
{
	size_t bytes = sizeof(*block) + block->payload_bytes, step = (bytes + 7) & ~(size_t)7;

	if (!writer->segment_number || step > EPF_SEGMENT_BYTES - writer->segment_at)
		EPP_TRY(next_segment(writer));
	block->magic = EPF_BLOCK_MAGIC;
	block->checksum = 0;
	block->checksum = checksum_crc32c(0, block, bytes);
	writer->block_offset = trace_writer_end(writer);
	memcpy(writer->segment + writer->segment_at, block, bytes);
	memset(writer->segment + writer->segment_at + bytes, 0, step - bytes);
	writer->segment_at += step;
	if ((block->type == EPF_BLOCK_RECORDS || block->type == EPF_BLOCK_COLUMNS) &&
	    block->first_ticks < writer->segment_first)
		writer->segment_first = block->first_ticks;
	if (block->last_ticks > writer->segment_last)
		writer->segment_last = block->last_ticks;
	return writer->index ? trace_writer_index_block(writer->index, writer->block_offset, block) : NULL;
}

epp_status *trace_writer_append_payload(struct epp_trace_writer *writer, unsigned type, const void *payload,
                                        size_t bytes, size_t element_bytes)
{
	size_t most = element_bytes < TRACE_WRITER_PAYLOAD_MAX ? TRACE_WRITER_PAYLOAD_MAX / element_bytes * element_bytes
	                                                       : TRACE_WRITER_PAYLOAD_MAX;
	uint8_t *block = malloc(sizeof(struct epf_block) + (bytes < most ? bytes : most));
	epp_status *status = block ? NULL : epp_status_no_memory();

	for (size_t at = 0, step; at < bytes && !status; at += step) {
		step = bytes - at < most ? bytes - at : most;
		struct epf_block head = { .type = (uint16_t)type, .run = 1, .payload_bytes = (uint32_t)step };
		memcpy(block, &head, sizeof(head));
		memcpy(block + sizeof(head), (const uint8_t *)payload + at, step);
		status = trace_writer_append(writer, (struct epf_block *)(void *)block);
	}
	free(block);
	return status;
}

epp_status *trace_writer_append_producers(struct epp_trace_writer *writer, const struct epf_producer *producers,
                                          size_t count)
{
	const size_t most = TRACE_WRITER_PAYLOAD_MAX / sizeof(*producers);
	struct epf_block *block = malloc(sizeof(*block) + (count < most ? count : most) * sizeof(*producers));
	epp_status *status = block ? NULL : epp_status_no_memory();

	for (size_t from = 0, step; from < count && !status; from += step) {
		step = count - from < most ? count - from : most;
		*block = (struct epf_block){ .type = EPF_BLOCK_PRODUCERS,
			                     .run = 1,
			                     .slot = (uint32_t)from,
			                     .payload_bytes = (uint32_t)(step * sizeof(*producers)) };
		memcpy(block + 1, producers + from, block->payload_bytes);
		status = trace_writer_append(writer, block);
	}
	free(block);
	return status;
}

static epp_status *write_header(struct epp_trace_writer *writer)
{
	uint8_t page[EPF_PAGE_BYTES] = { 0 };

	header_seal(&writer->header, EPF_FINISHED);
	memcpy(page, &writer->header, sizeof(writer->header));
	memcpy(page + EPF_INDEX_PLACE_OFFSET, &writer->index_place, sizeof(writer->index_place));
	return write_at(writer, 0, page, sizeof(page));
}

static epp_status *take_name(struct epp_trace_writer *writer)
{
	int failed = writer->overwrite ? rename(writer->temporary, writer->path)
	                               : renameat2(AT_FDCWD, writer->temporary, AT_FDCWD, writer->path, RENAME_NOREPLACE);

	/* A file system that cannot rename without replacing: a link cannot replace either. */
	if (failed && !writer->overwrite && (errno == EINVAL || errno == ENOSYS)) {
		failed = link(writer->temporary, writer->path);
		if (!failed)
			unlink(writer->temporary);
	}
	if (failed && errno == EEXIST)
		return epp_status_create(EPP_UNAVAILABLE, "%s: exists already", writer->path);
	if (failed)
		return epp_status_errno(errno, "%s", writer->path);
	free(writer->temporary);
	writer->temporary = NULL;
	return NULL;
}

epp_status *trace_writer_commit(struct epp_trace_writer *writer)
{
	EPP_TRY(write_segment(writer));
	EPP_TRY(write_header(writer));
	int fd = writer->fd;
	writer->fd = -1;
	if (close(fd) < 0 && errno != EINTR)
		return epp_status_errno(errno, "%s", writer->path);
	return take_name(writer);
}

void trace_writer_discard(struct epp_trace_writer *writer)
{
	if (writer->fd >= 0)
		close(writer->fd);
	writer->fd = -1;
	if (writer->temporary)
		unlink(writer->temporary);
	free(writer->temporary);
	writer->temporary = NULL;
}
