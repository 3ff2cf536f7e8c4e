/* Segments are begun when the first block needs them.  Behind the writer the page cache is given back: each full segment
 * is handed to the disk at once, and dropped some segments later, when it has most likely arrived; nothing waits. */
#include "file/block_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checksum.h"
#include "file/window.h"

#define SEGMENT EPF_SEGMENT_BYTES
#define POOL_MAX 16
#define DROP_BEHIND 16u /* segments */

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
	void *fresh = mmap(NULL, SEGMENT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return fresh == MAP_FAILED ? NULL : fresh;
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
		munmap(segment, SEGMENT);
}

void block_writer_init(struct block_writer *writer, int fd, uint64_t limit_bytes)
{
	*writer = (struct block_writer){ .fd = fd, .limit_bytes = limit_bytes };
}

void block_writer_deinit(struct block_writer *writer)
{
	for (size_t i = 0; i < writer->segments_capacity; i++)
		if (writer->segments[i])
			segment_free(writer->segments[i], i == writer->at / SEGMENT ? writer->at % SEGMENT : SEGMENT);
	free(writer->segments);
	*writer = (struct block_writer){ .fd = -1 };
}

static uint8_t *memory_segment(struct block_writer *writer, size_t index)
{
	if (index >= writer->segments_capacity) {
		size_t capacity = writer->segments_capacity ? writer->segments_capacity * 2 : 4;
		uint8_t **segments = reallocarray(writer->segments, capacity, sizeof(*segments));
		if (!segments)
			return NULL;
		memset(segments + writer->segments_capacity, 0,
		       (capacity - writer->segments_capacity) * sizeof(*segments));
		writer->segments = segments;
		writer->segments_capacity = capacity;
	}
	if (!writer->segments[index])
		writer->segments[index] = segment_new();
	return writer->segments[index];
}

static int write_at(struct block_writer *writer, uint64_t at, const void *data, size_t bytes)
{
	if (writer->fd < 0) {
		uint8_t *segment = memory_segment(writer, at / SEGMENT);
		if (!segment)
			return ENOMEM;
		memcpy(segment + at % SEGMENT, data, bytes);
		return 0;
	}
	sigset_t before;
	int error = 0;
	/* It is not only the helper, with its signals blocked, that writes: a release does, too. */
	window_hold_signal(&before);
	for (const uint8_t *from = data; bytes && !error;) {
		ssize_t done = pwrite(writer->fd, from, bytes, (off_t)(EPF_SEGMENTS_OFFSET + at));
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0) {
			error = done < 0 ? errno : ENOSPC;
			break;
		}
		from += done;
		at += (uint64_t)done;
		bytes -= (size_t)done;
	}
	window_let_go_signal(&before, error);
	return error;
}

static int write_segment_header(struct block_writer *writer, uint64_t number, uint64_t first, uint64_t last)
{
	struct epf_segment header = { .magic = EPF_SEGMENT_MAGIC, .number = number, .first_ticks = first, .last_ticks = last };
	header.checksum = checksum_crc32c(0, &header, sizeof(header));
	return write_at(writer, (number - 1) * SEGMENT, &header, sizeof(header));
}

static void give_back_cache(const struct block_writer *writer, uint64_t full_number)
{
	off_t offset = (off_t)(EPF_SEGMENTS_OFFSET + (full_number - 1) * SEGMENT);
	sync_file_range(writer->fd, offset, SEGMENT, SYNC_FILE_RANGE_WRITE);
	/* Twice, since a slow disk may have kept it dirty the first time. */
	if (full_number > DROP_BEHIND)
		posix_fadvise(writer->fd, offset - (off_t)DROP_BEHIND * SEGMENT, SEGMENT, POSIX_FADV_DONTNEED);
	if (full_number > 8 * DROP_BEHIND)
		posix_fadvise(writer->fd, offset - 8 * (off_t)DROP_BEHIND * SEGMENT, SEGMENT, POSIX_FADV_DONTNEED);
}

/* Begins the next segment; `at` then points behind its header. */
static int next_segment(struct block_writer *writer)
{
	uint64_t number = writer->segment_number + 1;
	int error = write_segment_header(writer, number, 0, 0);
	if (error)
		return error;
	if (writer->segment_number) {
		write_segment_header(writer, writer->segment_number, writer->segment_first_ticks,
		                     writer->segment_last_ticks);
		if (writer->fd >= 0)
			give_back_cache(writer, writer->segment_number);
	}
	writer->segment_number = number;
	writer->segment_first_ticks = UINT64_MAX;
	writer->segment_last_ticks = 0;
	writer->at = (number - 1) * SEGMENT + EPF_SEGMENT_HEADER_BYTES;
	return 0;
}

/* What comes next may be shorter than what could not be written whole, and must not have its rest behind it.  The file is
 * never made longer here: beyond a limit that is a signal. */
static void cut_off(const struct block_writer *writer)
{
	struct stat st;
	off_t end = (off_t)(EPF_SEGMENTS_OFFSET + writer->at);
	if (writer->fd >= 0 && fstat(writer->fd, &st) == 0 && st.st_size > end && ftruncate(writer->fd, end))
		return;
}

/* Records leave an eighth to what explains them: names, tracks, accounts. */
static uint64_t limit_of(const struct block_writer *writer, unsigned type)
{
	bool explains = type != EPF_BLOCK_RECORDS && type != EPF_BLOCK_HOST_PAIRS;
	return explains ? writer->limit_bytes : writer->limit_bytes - writer->limit_bytes / 8;
}

int block_writer_append(struct block_writer *writer, struct epf_block *block)
{
	size_t bytes = sizeof(*block) + block->payload_bytes;
	uint64_t room = writer->segment_number * SEGMENT - writer->at;
	bool next = !writer->segment_number || bytes > room;
	uint64_t at = next ? writer->segment_number * SEGMENT + EPF_SEGMENT_HEADER_BYTES : writer->at;
	if (writer->limit_bytes && at + bytes > limit_of(writer, block->type)) {
		writer->error = ENOBUFS;
		return ENOBUFS;
	}
	if (next) {
		writer->error = next_segment(writer);
		if (writer->error)
			return writer->error;
	}
	block->magic = EPF_BLOCK_MAGIC;
	block->checksum = 0;
	block->checksum = checksum_crc32c(0, block, bytes);
	writer->error = write_at(writer, writer->at, block, bytes);
	if (writer->error) {
		cut_off(writer);
		return writer->error;
	}
	if (block->first_ticks && block->first_ticks < writer->segment_first_ticks)
		writer->segment_first_ticks = block->first_ticks;
	if (block->last_ticks > writer->segment_last_ticks)
		writer->segment_last_ticks = block->last_ticks;
	writer->at += (bytes + 7) & ~(size_t)7;
	writer->blocks_count++;
	return 0;
}

size_t block_writer_read(const struct block_writer *writer, uint64_t offset, void *buffer, size_t bytes)
{
	size_t done = 0;
	while (done < bytes && offset < writer->at) {
		size_t index = offset / SEGMENT, inside = offset % SEGMENT;
		size_t part = SEGMENT - inside < bytes - done ? SEGMENT - inside : bytes - done;
		if (part > writer->at - offset)
			part = writer->at - offset;
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
