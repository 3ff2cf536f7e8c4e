/* The interface between block_writer.c, which writes segments and blocks at given places, and block_ring.c, which
 * selects the places of a ring. */
#ifndef EPPROF_RUNTIME_STORAGE_BLOCKS_BLOCK_WRITER_PRIVATE_H
#define EPPROF_RUNTIME_STORAGE_BLOCKS_BLOCK_WRITER_PRIVATE_H

#include "storage/blocks/block_writer.h"

#define SEGMENT EPF_SEGMENT_BYTES

/* All functions that return int return 0 or errno. */

/* Writes bytes at offset `at`, relative to segments_offset. */
int block_writer_write(struct block_writer *writer, uint64_t at, const void *data, size_t bytes);

/* Writes a segment's header.  If `full` is set, the header includes the segment's time range, which is final once the
 * segment is full. */
int block_writer_header(struct block_writer *writer, uint64_t index, const struct block_segment *segment, bool full);

/* Appends a block to a segment that has room for it. */
int block_writer_block(struct block_writer *writer, struct block_segment *segment, struct epf_block *block);

/* Starts the next segment of the kind of `segment`. */
int block_writer_next(struct block_writer *writer, struct block_segment *segment);

/* ---- ring only ---- */

/* Makes room for a block in the current segment of this kind.  May start a new segment. */
int block_ring_room(struct block_writer *writer, struct block_segment *segment, const struct epf_block *block,
                    size_t bytes);

/* Selects the place of the next segment of this kind.  When the segment is started there, block_ring_is_open is
 * called. */
int block_ring_place(struct block_writer *writer, const struct block_segment *segment, uint64_t *index);
void block_ring_is_open(struct block_writer *writer, const struct block_segment *segment, uint64_t index, uint64_t number);

void block_ring_destroy(struct block_ring *ring);

static inline uint64_t block_segment_index(const struct block_segment *segment)
{
	return segment->end / SEGMENT - 1;
}

#endif
