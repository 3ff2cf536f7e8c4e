/* Appends blocks to the segments of a trace, in a file or in memory.
 *
 * A segment is created when its first block is appended. */
#include "storage/blocks/block_writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "codec/checksum.h"
#include "containers/array.h"
#include "storage/blocks/block_writer_private.h"
#include "storage/blocks/writeback.h"
#include "storage/window/window.h"

#define POOL_MAX 16

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *pool[POOL_MAX];
static unsigned pool_count;

static uint8_t *segment_new(void)
{
	uint8_t *segment = NULL;
	pthread_mutex_lock(&pool_lock);
	if (pool_count)
		segment = pool[--pool_count];
	pthread_mutex_unlock(&pool_lock);
	if (segment)
		return segment;
	return os_memory_map(SEGMENT);
}

static void segment_free(uint8_t *segment, size_t used)
{
	memset(segment, 0, used);
	pthread_mutex_lock(&pool_lock);
	bool kept = pool_count < POOL_MAX;
	if (kept)
		pool[pool_count++] = segment;
	pthread_mutex_unlock(&pool_lock);
	if (!kept)
		os_memory_unmap(segment, SEGMENT);
}

void block_writer_init(struct block_writer *writer, int fd, uint64_t limit_bytes)
{
	*writer = (struct block_writer){ .fd = fd, .segments_offset = EPF_SEGMENTS_OFFSET, .limit_bytes = limit_bytes };
}

void block_writer_end(struct block_writer *writer)
{
	allocate_ahead_end(&writer->ahead, writer->fd);
}

void block_writer_deinit(struct block_writer *writer)
{
	/* segment_free clears the bytes that were used, because it may keep the segment for reuse.  All segments are used
	 * as a whole, except the last one of a trace without a ring. */
	for (size_t i = 0; i < writer->segments_capacity; i++)
		if (writer->segments[i])
			segment_free(writer->segments[i], !writer->ring && i == writer->current.at / SEGMENT
			                                      ? writer->current.at % SEGMENT
			                                      : SEGMENT);
	free(writer->segments);
	if (writer->ring)
		block_ring_destroy(writer->ring);
	/* Clear the writer first: the handler of a fork that happens from here on must not use the freed struct. */
	struct writeback *writeback = writer->writeback;
	*writer = (struct block_writer){ .fd = -1 };
	writeback_end(writeback);
}

static uint8_t *memory_segment(struct block_writer *writer, size_t index)
{
	if (!array_reserve_zeroed(&writer->segments, &writer->segments_capacity, index + 1, sizeof(uint8_t *)))
		return NULL;
	if (!writer->segments[index])
		writer->segments[index] = segment_new();
	return writer->segments[index];
}

int block_writer_write(struct block_writer *writer, uint64_t at, const void *data, size_t bytes)
{
	if (writer->fd < 0) {
		uint8_t *segment = memory_segment(writer, at / SEGMENT);
		if (!segment)
			return ENOMEM;
		memcpy(segment + at % SEGMENT, data, bytes);
		return 0;
	}
	struct os_signals before;
	/* A release writes on the caller's thread, which does not block SIGXFSZ as the helper thread does. */
	os_size_limit_hold(&before);
	int error = os_file_write_at(writer->fd, data, bytes, writer->segments_offset + at);
	os_size_limit_release(&before, error);
	return error;
}

/* ---- segments ---- */

int block_writer_header(struct block_writer *writer, uint64_t index, const struct block_segment *segment, bool full)
{
	struct epf_segment header = { .magic = EPF_SEGMENT_MAGIC, .number = segment->number, .flags = segment->flags };
	if (full) {
		header.first_ticks = segment->first_ticks;
		header.last_ticks = segment->last_ticks;
	}
	header.checksum = checksum_crc32c(0, &header, sizeof(header));
	return block_writer_write(writer, index * SEGMENT, &header, sizeof(header));
}

/* Passes full segments to the thread that writes them to the disk and drops them from the page cache, WRITEBACK_BYTES
 * at a time. A ring and a smaller file have no such thread, because they have few pages. */
static void write_back(struct block_writer *writer, uint64_t full_count)
{
	if (writer->ring || writer->fd < 0 || full_count * SEGMENT % WRITEBACK_BYTES)
		return;
	allocate_ahead(&writer->ahead, writer->fd, writer->segments_offset + full_count * SEGMENT);
	if (!writer->writeback)
		writer->writeback = writeback_begin(writer->fd, writer->segments_offset);
	if (writer->writeback)
		writeback_advance(writer->writeback, writer->segments_offset + full_count * SEGMENT);
}

/* Returns the size of a block, padded to a multiple of 8. */
static size_t padded(const struct epf_block *block)
{
	return (sizeof(*block) + block->payload_bytes + 7) & ~(size_t)7;
}

static void seal(struct epf_block *block)
{
	block->magic = EPF_BLOCK_MAGIC;
	block->checksum = 0;
	block->checksum = checksum_crc32c(0, block, sizeof(*block) + block->payload_bytes);
}

int block_writer_block(struct block_writer *writer, struct block_segment *segment, struct epf_block *block)
{
	seal(block);
	int error = block_writer_write(writer, segment->at, block, sizeof(*block) + block->payload_bytes);
	if (!error)
		segment->at += padded(block);
	return error;
}

/* Starts the next segment of the kind of `segment`. */
int block_writer_next(struct block_writer *writer, struct block_segment *segment)
{
	struct block_segment next = { .number = writer->numbers + 1, .flags = segment->flags, .first_ticks = UINT64_MAX };
	uint64_t index = writer->segments_count;
	int error = writer->ring ? block_ring_place(writer, segment, &index) : 0;
	if (!error)
		error = block_writer_header(writer, index, &next, false);
	if (error)
		return error;
	if (writer->ring)
		block_ring_is_open(writer, segment, index, next.number);
	if (segment->number) {
		block_writer_header(writer, block_segment_index(segment), segment, true);
		write_back(writer, block_segment_index(segment) + 1);
	}
	next.at = index * SEGMENT + EPF_SEGMENT_HEADER_BYTES;
	next.end = (index + 1) * SEGMENT;
	*segment = next;
	writer->numbers = next.number;
	if (index == writer->segments_count)
		writer->segments_count++;
	return 0;
}

/* ---- blocks ---- */

/* Truncates the file after a partial write, because the next block may be shorter, and the rest of the partial block
 * would stay behind it. Does nothing if the segment is not the last one in the file. The file is never extended here,
 * because that would raise SIGXFSZ beyond a file-size limit. */
static void truncate_partial(const struct block_writer *writer, const struct block_segment *segment)
{
	uint64_t size, end = writer->segments_offset + segment->at;
	bool last = block_segment_index(segment) + 1 == writer->segments_count;
	if (last && writer->fd >= 0 && os_file_size(writer->fd, &size) && size > end && os_file_set_size(writer->fd, end))
		return;
}

/* Returns true for blocks that readers need to interpret records: names, tracks, ledgers. The size limit reserves room
 * for these blocks. */
static bool is_metadata(const struct epf_block *block)
{
	return block->type != EPF_BLOCK_RECORDS && block->type != EPF_BLOCK_HOST_PAIRS;
}

static bool over_limit(const struct block_writer *writer, const struct epf_block *block, uint64_t at, size_t bytes)
{
	uint64_t limit = writer->limit_bytes - (is_metadata(block) ? 0 : writer->limit_bytes / 8);
	return writer->limit_bytes && at + bytes > limit;
}

static int make_room(struct block_writer *writer, struct block_segment *segment, const struct epf_block *block, size_t bytes)
{
	if (writer->ring)
		return block_ring_room(writer, segment, block, bytes);
	bool next = !segment->number || bytes > segment->end - segment->at;
	if (over_limit(writer, block, next ? segment->end + EPF_SEGMENT_HEADER_BYTES : segment->at, bytes))
		return ENOBUFS;
	return next ? block_writer_next(writer, segment) : 0;
}

static void widen_times(struct block_segment *segment, const struct epf_block *block)
{
	if (block->first_ticks && block->first_ticks < segment->first_ticks)
		segment->first_ticks = block->first_ticks;
	if (block->last_ticks > segment->last_ticks)
		segment->last_ticks = block->last_ticks;
}

static int append(struct block_writer *writer, struct epf_block *block)
{
	struct block_segment *segment = writer->ring && is_metadata(block) ? &writer->retained : &writer->current;
	int error = make_room(writer, segment, block, sizeof(*block) + block->payload_bytes);
	if (error)
		return error;
	error = block_writer_block(writer, segment, block);
	if (error) {
		truncate_partial(writer, segment);
		return error;
	}
	if (segment == &writer->retained)
		retained_note(&writer->ring->retained, block);
	widen_times(segment, block);
	writer->blocks_count++;
	return 0;
}

size_t block_writer_room(const struct block_writer *writer)
{
	const struct block_segment *segment = &writer->current;
	uint64_t end = segment->end, limit = writer->limit_bytes - writer->limit_bytes / 8;
	if (writer->ring || writer->fd < 0 || !segment->number)
		return 0;
	if (limit && limit < end)
		end = limit;
	return end > segment->at ? (size_t)(end - segment->at) : 0;
}

int block_writer_append_several(struct block_writer *writer, struct epf_block *blocks, size_t bytes)
{
	struct block_segment *segment = &writer->current;
	uint8_t *at = (uint8_t *)blocks, *end = at + bytes;
	for (size_t block_bytes; at < end; at += block_bytes) {
		struct epf_block *block = (struct epf_block *)(void *)at;
		seal(block);
		block_bytes = padded(block);
		memset((uint8_t *)(block + 1) + block->payload_bytes, 0,
		       block_bytes - sizeof(*block) - block->payload_bytes);
	}
	writer->error = block_writer_write(writer, segment->at, blocks, bytes);
	if (writer->error) {
		truncate_partial(writer, segment);
		return writer->error;
	}
	for (at = (uint8_t *)blocks; at < end; at += padded((const struct epf_block *)(const void *)at)) {
		widen_times(segment, (const struct epf_block *)(const void *)at);
		writer->blocks_count++;
	}
	segment->at += bytes;
	return 0;
}

int block_writer_append(struct block_writer *writer, struct epf_block *block)
{
	return writer->error = append(writer, block);
}

void block_writer_count(struct block_writer *writer, uint32_t of, uint32_t run, uint64_t events)
{
	/* Also called for 0 events, because a block without events still belongs to a thread. */
	if (writer->ring)
		ring_count(&writer->ring->ring, of, run, events);
}

uint64_t block_writer_overwritten(const struct block_writer *writer)
{
	return writer->ring ? __atomic_load_n(&writer->ring->ring.overwritten_events, __ATOMIC_RELAXED) : 0;
}

size_t block_writer_read(const struct block_writer *writer, uint64_t offset, void *buffer, size_t bytes)
{
	size_t done = 0;
	uint64_t end = writer->ring ? writer->segments_count * SEGMENT : writer->current.at;
	while (done < bytes && offset < end) {
		size_t index = offset / SEGMENT, inside = offset % SEGMENT;
		size_t part = SEGMENT - inside < bytes - done ? SEGMENT - inside : bytes - done;
		if (part > end - offset)
			part = end - offset;
		if (index >= writer->segments_capacity || !writer->segments[index])
			break;
		memcpy((uint8_t *)buffer + done, writer->segments[index] + inside, part);
		done += part;
		offset += part;
	}
	return done;
}

void block_writer_fork_child(void)
{
	pthread_mutex_init(&pool_lock, NULL);
	pool_count = 0;
}
