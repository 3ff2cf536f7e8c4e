/* What the parts of the writer share: segments and blocks at their places, block_writer.c; where those of a ring are,
 * block_ring.c. */
#ifndef EPPROF_RUNTIME_STORAGE_BLOCK_WRITER_PRIVATE_H
#define EPPROF_RUNTIME_STORAGE_BLOCK_WRITER_PRIVATE_H

#include "storage/block_writer.h"

#define SEGMENT EPF_SEGMENT_BYTES

/* All return 0 or errno. */

/* Bytes at `at`, from segments_offset. */
int block_writer_write(struct block_writer *writer, uint64_t at, const void *data, size_t bytes);

/* A segment's header; what its times are is known once it is full. */
int block_writer_header(struct block_writer *writer, uint64_t index, const struct block_segment *segment, bool full);

/* A block into a segment that has room for it. */
int block_writer_block(struct block_writer *writer, struct block_segment *segment, struct epf_block *block);

/* Begins the next segment of a kind. */
int block_writer_next(struct block_writer *writer, struct block_segment *segment);

/* ---- of a ring ---- */

/* Sees to it that the segment in hand, which may become another one, has room for a block. */
int block_ring_room(struct block_writer *writer, struct block_segment *segment, const struct epf_block *block,
                    size_t bytes);

/* Where the next segment of this kind goes; and that it has begun there. */
int block_ring_place(struct block_writer *writer, const struct block_segment *segment, uint64_t *index);
void block_ring_begun(struct block_writer *writer, const struct block_segment *segment, uint64_t index, uint64_t number);

void block_ring_destroy(struct block_ring *ring);

static inline uint64_t block_segment_index(const struct block_segment *segment)
{
	return segment->end / SEGMENT - 1;
}

#endif
