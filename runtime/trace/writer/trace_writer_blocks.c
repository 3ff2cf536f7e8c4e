/* Writes the file of a trace writer: segments are filled in memory and written in order; the header is written last. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limit_signal.h"
#include "codec/checksum.h"
#include "codec/file_header.h"
#include "trace/writer/trace_writer_private.h"

_Static_assert(sizeof(struct epf_block) + TRACE_WRITER_PAYLOAD_MAX <= EPF_SEGMENT_BYTES - EPF_SEGMENT_HEADER_BYTES,
               "a block fits into a segment");

/* A recording process holds a lock on its file (storage/window/window.c). */
static bool is_being_recorded(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool locked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return locked;
}

epp_status *trace_writer_open(struct epp_trace_writer *writer)
{
	struct stat st;
	bool exists = stat(writer->path, &st) == 0;

	if (exists && !S_ISREG(st.st_mode))
		return epp_status_create(EPP_INVALID_ARGUMENT,
		                         "%s: not a regular file: a trace is not written in one go", writer->path);
	if (exists && writer->overwrite && is_being_recorded(writer->path))
		return epp_status_create(EPP_BUSY, "%s: a session is writing it", writer->path);
	return atomic_file_open(&writer->file, writer->path, writer->overwrite);
}

static epp_status *write_at(struct epp_trace_writer *writer, uint64_t offset, const void *data, size_t bytes)
{
	sigset_t before;
	int error = 0;

	limit_signal_hold(&before);
	for (const uint8_t *from = data; bytes && !error;) {
		ssize_t done = pwrite(writer->file.fd, from, bytes, (off_t)offset);
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
	/* The rest of the segment is a hole, which reads as zeros: no block begins there. */
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
	const struct epf_end end = header_end(writer->segment_number ? trace_writer_end(writer) : EPF_PAGE_BYTES);
	uint8_t page[EPF_PAGE_BYTES] = { 0 };

	header_seal(&writer->header, EPF_FINISHED);
	memcpy(page, &writer->header, sizeof(writer->header));
	memcpy(page + EPF_INDEX_PLACE_OFFSET, &writer->index_place, sizeof(writer->index_place));
	memcpy(page + EPF_END_OFFSET, &end, sizeof(end));
	return write_at(writer, 0, page, sizeof(page));
}

epp_status *trace_writer_commit(struct epp_trace_writer *writer)
{
	if (writer->no_memory)
		return epp_status_no_memory();
	EPP_TRY(write_segment(writer));
	EPP_TRY(write_header(writer));
	return atomic_file_commit(&writer->file);
}
