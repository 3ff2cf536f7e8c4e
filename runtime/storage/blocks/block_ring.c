/* Allocates the segments of a ring (policy ring) and reuses the places of old ones.
 *
 * A ring has two kinds of segments. Overwritable segments hold records and host clock pairs; the oldest one is reused
 * first. Retained segments hold the blocks that readers need to interpret records: definitions, ledgers, runs. A place
 * (a position for one segment in the file) can hold either kind. One eighth of the places, at least one, is reserved
 * for retained segments. If retained segments need more places, because there are very many threads or names, a
 * retained segment takes the place of the oldest overwritable segment. While more than this eighth of the places holds
 * retained segments, the oldest one is compacted into the newest (storage/blocks/retained_definitions.h), and its place
 * becomes overwritable again.
 *
 * A segment is discarded only after a block that records its removal was written. Each segment therefore reserves room
 * for the block that records the next removal. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "codec/checksum.h"
#include "storage/blocks/block_writer_private.h"

/* The minimum number of overwritable segments: the current one and the one before it. */
#define ROUND_MIN 2u
/* If the ledger has more rows of ended threads than this, the rows are replaced by their sum. */
#define ROWS_MANY (RING_ROWS_MAX / 4)
/* Bytes kept free in a retained segment for the block that records the removal of another segment. */
#define RETAINED_RESERVE ((ROWS_MANY + 2 * RING_OWNERS_MAX) * sizeof(struct epf_overwritten_row))
/* The room that a compaction must leave free in the current retained segment. If it leaves less than ROOM_AFTER, the
 * compaction is not worth its cost. If the compaction cannot be avoided, ROOM_MUST is enough. */
#define ROOM_AFTER (SEGMENT / 4)
#define ROOM_MUST (SEGMENT / 8)
/* If a compaction fails for another reason than a lack of room, it is tried again after this many further bytes were
 * appended to the retained segment. */
#define CLEAN_AGAIN (64u << 10)

bool block_writer_init_ring(struct block_writer *writer, int fd, uint64_t limit_bytes)
{
	uint64_t places = limit_bytes / SEGMENT;
	block_writer_init(writer, fd, limit_bytes);
	writer->retained.flags = EPF_SEGMENT_RETAINED;
	struct block_ring *ring = calloc(1, sizeof(*ring));
	if (!ring)
		return false;
	ring->clean_at = UINT64_MAX;
	ring->places_max = places < UINT32_MAX ? (uint32_t)places : UINT32_MAX;
	ring->free = calloc(ring->places_max, sizeof(*ring->free));
	if (ring->free && ring_init(&ring->ring, ring->places_max) && retained_init(&ring->retained, ring->places_max)) {
		writer->ring = ring;
		return true;
	}
	block_ring_destroy(ring);
	return false;
}

void block_ring_destroy(struct block_ring *ring)
{
	ring_deinit(&ring->ring);
	retained_deinit(&ring->retained);
	free(ring->free);
	free(ring);
}

/* ---- places ---- */

static uint32_t retained_share(const struct block_ring *ring)
{
	return ring->places_max < 16 ? 1 : ring->places_max / 8;
}

static uint32_t retained_max_segments(const struct block_ring *ring)
{
	return ring->places_max - ROUND_MIN;
}

/* Returns the maximum number of overwritable segments. */
static uint32_t overwritable_max(const struct block_ring *ring)
{
	uint32_t share = retained_share(ring), retained = ring->retained.segments_count;
	return ring->places_max - (retained > share ? retained : share);
}

/* Finds an unused place. The place stays free until block_ring_is_open takes it. */
static bool free_place(const struct block_writer *writer, uint64_t *index)
{
	const struct block_ring *ring = writer->ring;
	*index = ring->free_count ? ring->free[ring->free_count - 1] : writer->segments_count;
	return *index < ring->places_max;
}

/* Fills a place with zeros, so that a reader finds no old blocks behind the new ones. */
static int clear_place(struct block_writer *writer, uint64_t index)
{
	static const uint8_t zeros[1 << 14];
	struct block_segment none = { .number = 0 };
	int error = block_writer_header(writer, index, &none, false);
	for (size_t at = EPF_SEGMENT_HEADER_BYTES; at < SEGMENT && !error;) {
		size_t bytes = SEGMENT - at < sizeof(zeros) ? SEGMENT - at : sizeof(zeros);
		error = block_writer_write(writer, index * SEGMENT + at, zeros, bytes);
		at += bytes;
	}
	return error;
}

/* ---- overwritable segments ---- */

static size_t room_of(const struct block_segment *segment)
{
	return segment->number ? segment->end - segment->at : 0;
}

/* Writes an EPF_BLOCK_OVERWRITTEN. If `victim` is set, the block includes the events of the victim, the segment that is
 * overwritten next. The block is written to the current overwritable segment if there is a victim and the block fits,
 * otherwise to the current retained segment. */
static int write_overwritten(struct block_writer *writer, bool victim)
{
	struct block_ring *ring = writer->ring;
	size_t most = sizeof(struct epf_block) + sizeof(struct epf_overwritten) +
	              RING_ROWS_MAX * sizeof(struct epf_overwritten_row);
	struct epf_block *block = calloc(1, most);
	if (!block)
		return ENOMEM;
	*block = (struct epf_block){ .type = EPF_BLOCK_OVERWRITTEN,
		                     .first_ticks = UINT64_MAX,
		                     .own_first_ticks = UINT64_MAX };
	size_t bytes = victim ? ring_drop_oldest(&ring->ring, block + 1) : ring_encode(&ring->ring, block + 1);
	block->payload_bytes = (uint32_t)bytes;
	bytes += sizeof(*block);
	struct block_segment *segment = victim && bytes <= room_of(&writer->current) ? &writer->current
	                                                                             : &writer->retained;
	int error = block->payload_bytes && bytes <= room_of(segment) ? block_writer_block(writer, segment, block)
	                                                              : ENOBUFS;
	free(block);
	if (!error)
		ring->overwritten_at = segment->number;
	return error;
}

/* Discards the oldest overwritable segment, so that its place is free. */
static int drop_oldest(struct block_writer *writer)
{
	struct block_ring *ring = writer->ring;
	const struct ring_segment *victim = ring_oldest(&ring->ring);
	struct block_segment none = { .number = 0 };
	if (!victim)
		return ENOBUFS;
	int error = ring->dropped == victim->number ? 0 : write_overwritten(writer, true);
	if (error)
		return error;
	ring->dropped = victim->number;
	error = block_writer_header(writer, victim->index, &none, false);
	if (!error)
		ring->free[ring->free_count++] = ring_forget(&ring->ring);
	return error;
}

/* ---- retained segments ---- */

static int read_segment(const struct block_writer *writer, uint64_t index, uint8_t *segment)
{
	if (writer->fd < 0)
		return block_writer_read(writer, index * SEGMENT, segment, SEGMENT) == SEGMENT ? 0 : EIO;
	/* Zeros first, because the file's last segment may be shorter than the buffer. */
	memset(segment, 0, SEGMENT);
	return os_file_read_at(writer->fd, segment, SEGMENT, writer->segments_offset + index * SEGMENT) < 0 ? errno : 0;
}

/* Undoes an incomplete compaction: fills the copied blocks with zeros and moves the append position back to `from`. If
 * already the first write of zeros fails, the position is not changed. */
static void undo_compaction(struct block_writer *writer, uint64_t from)
{
	static const uint8_t zeros[1 << 14];
	int error = 0;
	for (uint64_t at = from, bytes; at < writer->retained.at && !error; at += bytes) {
		bytes = writer->retained.at - at < sizeof(zeros) ? writer->retained.at - at : sizeof(zeros);
		error = block_writer_write(writer, at, zeros, bytes);
		/* After this error a reader may still see the copies, or parts of them. */
		if (error)
			writer->ring->retained.is_sum_frozen = true;
		if (error && at == from)
			return;
	}
	writer->retained.at = from;
}

static int write_compacted(struct block_writer *writer, const struct compaction *compaction)
{
	struct block_ring *ring = writer->ring;
	int error = 0;
	for (size_t at = 0; at < compaction->bytes && !error;) {
		struct epf_block *block = (struct epf_block *)(void *)(compaction->blocks + at);
		error = block_writer_block(writer, &writer->retained, block);
		at += (sizeof(*block) + block->payload_bytes + 7) & ~(size_t)7;
	}
	if (!error && ring->overwritten_at == ring->retained.segments[0].number)
		error = write_overwritten(writer, false);
	return error ? error : block_writer_block(writer, &writer->retained, compaction->retained);
}

/* Compacts the oldest retained segment into the current one, if that leaves `room_after` bytes free. If `must` is set,
 * overwritable segments are discarded until there is enough room. */
static int compact_oldest(struct block_writer *writer, size_t room_after, bool must)
{
	struct block_ring *ring = writer->ring;
	struct compaction compaction;
	struct block_segment none = { .number = 0 };
	room_after += 2 * RETAINED_RESERVE;
	if (ring->retained.segments_count < 2 || room_after > room_of(&writer->retained))
		return ENOBUFS;
	uint8_t *segment = malloc(SEGMENT);
	int error = segment ? read_segment(writer, ring->retained.segments[0].index, segment) : ENOMEM;
	while (!error) {
		error = retained_scan(&ring->retained, &ring->ring, segment, &compaction);
		if (error || compaction.bytes + room_after <= room_of(&writer->retained))
			break;
		bool helps = must &&
		             compaction.bytes - compaction.threads_bytes + room_after <= room_of(&writer->retained);
		compaction_deinit(&compaction);
		error = helps ? drop_oldest(writer) : ENOBUFS;
	}
	free(segment);
	if (error)
		return error;
	uint64_t from = writer->retained.at, number = ring->overwritten_at;
	error = write_compacted(writer, &compaction);
	if (error) {
		undo_compaction(writer, from);
		ring->overwritten_at = number;
	} else {
		uint64_t index = retained_remove_oldest(&ring->retained, &ring->ring, &compaction);
		/* An error is ignored, because the EPF_BLOCK_RETAINED has already made the segment with this number
		 * void. */
		block_writer_header(writer, index, &none, false);
		ring->free[ring->free_count++] = index;
	}
	compaction_deinit(&compaction);
	return error;
}

static void compact_if_worthwhile(struct block_writer *writer)
{
	struct block_ring *ring = writer->ring;
	int error = 0;
	while (!error && ring->retained.segments_count > retained_share(ring)) {
		bool must = ring->retained.segments_count >= retained_max_segments(ring);
		error = compact_oldest(writer, must ? ROOM_MUST : ROOM_AFTER, must);
	}
	ring->clean_at = error && error != ENOBUFS ? writer->retained.at + CLEAN_AGAIN : UINT64_MAX;
}

/* Compacts all retained segments once. Called when ended threads fill the ledger of overwritten events. */
static void compact_all(struct block_writer *writer)
{
	struct block_ring *ring = writer->ring;
	uint64_t last = writer->retained.number;
	if (!last || block_writer_next(writer, &writer->retained))
		return;
	while (ring->ring.overwritten.count > ROWS_MANY && ring->retained.segments[0].number <= last)
		if (compact_oldest(writer, ROOM_AFTER, false))
			return;
}

/* ---- called by block_writer.c ---- */

int block_ring_place(struct block_writer *writer, const struct block_segment *segment, uint64_t *index)
{
	struct block_ring *ring = writer->ring;
	bool is_retained = segment == &writer->retained;
	if (is_retained && ring->retained.segments_count >= retained_max_segments(ring))
		return ENOBUFS;
	bool may = is_retained || ring->ring.segments_count < overwritable_max(ring);
	int error = may && free_place(writer, index) ? 0 : drop_oldest(writer);
	if (error)
		return error;
	if (!free_place(writer, index))
		return ENOBUFS;
	return ring->free_count ? clear_place(writer, *index) : 0;
}

void block_ring_is_open(struct block_writer *writer, const struct block_segment *segment, uint64_t index, uint64_t number)
{
	struct block_ring *ring = writer->ring;
	struct retained *retained = &ring->retained;
	if (ring->free_count)
		ring->free_count--;
	if (segment == &writer->current) {
		ring_begin(&ring->ring, index, number);
		return;
	}
	if (retained->segments_count)
		retained->segments[retained->segments_count - 1].used = segment->at % SEGMENT ? segment->at % SEGMENT
		                                                                              : SEGMENT;
	retained->segments[retained->segments_count++] = (struct retained_segment){ index, number, 0 };
}

static bool has_room(const struct block_writer *writer, const struct block_segment *segment, size_t bytes)
{
	size_t reserve = segment == &writer->retained ? RETAINED_RESERVE : ring_reserve(&writer->ring->ring);
	return bytes + reserve <= room_of(segment);
}

int block_ring_room(struct block_writer *writer, struct block_segment *segment, const struct epf_block *block, size_t bytes)
{
	struct block_ring *ring = writer->ring;
	bool is_retained = segment == &writer->retained;
	if (is_retained && segment->number && segment->at >= ring->clean_at)
		compact_if_worthwhile(writer);
	bool crowded = !is_retained && segment->number && ring_is_crowded(&ring->ring);
	if (!has_room(writer, segment, bytes) || crowded) {
		if (!is_retained && ring->ring.overwritten.count > ROWS_MANY)
			compact_all(writer);
		int error = block_writer_next(writer, segment);
		if (error)
			return error;
		if (is_retained)
			compact_if_worthwhile(writer);
		if (!has_room(writer, segment, bytes))
			return ENOBUFS;
	}
	bool memory = is_retained ? retained_reserve(&ring->retained, block) : ring_room(&ring->ring);
	return memory ? 0 : ENOMEM;
}
