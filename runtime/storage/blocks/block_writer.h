/* Appends blocks to a trace's segments, up to the size limit. The segments are in the file behind the window, or in
 * memory with the same offsets.
 *
 * The caller holds the session's drain lock, so there is one writer at a time. A block never crosses the end of a
 * segment. After a partial write, the next append starts at the same offset, so a reader sees a block completely or not
 * at all. A ring has two current segments: an overwritable one (records, clock pairs of the host) and a retained one
 * (block_ring.c). */
#ifndef EPPROF_RUNTIME_STORAGE_BLOCKS_BLOCK_WRITER_H
#define EPPROF_RUNTIME_STORAGE_BLOCKS_BLOCK_WRITER_H

#include <stdbool.h>
#include <stddef.h>

#include "format/format.h"
#include "storage/blocks/allocate_ahead.h"
#include "storage/blocks/retained_definitions.h"
#include "storage/blocks/ring_ledger.h"

/* A current segment, to which blocks are appended. */
struct block_segment {
	uint64_t number; /* 0: no segment was started */
	uint64_t at;     /* the position of the next block, relative to segments_offset */
	uint64_t end;
	uint64_t first_ticks, last_ticks;
	uint32_t flags;
};

/* Additional state of the writer of a ring. */
struct block_ring {
	struct ring ring;
	struct retained retained;
	uint32_t places_max; /* the maximum number of segments */
	uint64_t *free;      /* places of discarded segments, for reuse */
	uint32_t free_count;
	uint64_t dropped;        /* the number of the oldest segment, once an EPF_BLOCK_OVERWRITTEN counts its events as
	                            overwritten */
	uint64_t overwritten_at; /* the number of the segment with the latest EPF_BLOCK_OVERWRITTEN */
	uint64_t clean_at;       /* after a compaction failed: the value of retained.at at which it is tried again */
};

struct block_writer {
	int fd;                   /* -1: the trace is in memory */
	uint64_t segments_offset; /* the offset in the file: EPF_SEGMENTS_OFFSET, unless changed before the first
	                             append */
	int error;                /* errno of the last append; 0: success */
	uint64_t limit_bytes;     /* the maximum size of all segments; 0: no limit. One eighth is reserved for blocks
	                             other than records and clock pairs, which readers need to interpret these */
	struct block_segment current;
	struct block_segment retained; /* rings only: the current retained segment */
	uint64_t segments_count;       /* the number of places in use */
	uint64_t numbers;              /* the last segment number used */
	struct block_ring *ring;       /* NULL: the trace has no ring */
	struct writeback *writeback;   /* NULL: there is no writeback thread, or it is not needed yet */
	struct allocate_ahead ahead;
	uint8_t **segments; /* traces in memory only */
	size_t segments_capacity;
	uint64_t blocks_count;
};

void block_writer_init(struct block_writer *writer, int fd, uint64_t limit_bytes);
/* Initializes a ring of `limit_bytes`, at least BLOCK_WRITER_RING_BYTES_MIN. Returns false if out of memory. */
bool block_writer_init_ring(struct block_writer *writer, int fd, uint64_t limit_bytes);
#define BLOCK_WRITER_RING_BYTES_MIN (4u * EPF_SEGMENT_BYTES)
/* Frees the disk blocks behind the file's end. No append may follow. */
void block_writer_end(struct block_writer *writer);
/* Frees the segments in memory, of which up to 16 are kept in a pool for reuse. */
void block_writer_deinit(struct block_writer *writer);

/* Appends a block. `block` is a header, directly followed by the payload; this function fills in magic and checksum.
 * Returns 0 or errno (ENOSPC, EFBIG, EDQUOT, EIO; ENOBUFS: over limit_bytes; ENOMEM). */
int block_writer_append(struct block_writer *writer, struct epf_block *block);

/* Returns the number of bytes that block_writer_append_several can append with one write. 0: blocks must be appended
 * one by one (in a ring or a trace in memory, or if no segment was started). */
size_t block_writer_room(const struct block_writer *writer);

/* Appends several record blocks with one write. The blocks are contiguous, each padded to 8 bytes, `bytes` in total,
 * and fit into block_writer_room. Returns 0 or errno. After an error none of the blocks is in the trace, and they may
 * be appended again. */
int block_writer_append_several(struct block_writer *writer, struct epf_block *blocks, size_t bytes);

/* Rings only: adds `events`, the number of events in the record block that was appended last, to the count of `of`: a
 * thread's track or a producer. */
void block_writer_count(struct block_writer *writer, uint32_t of, uint32_t run, uint64_t events);

/* Returns the number of thread events that a ring has overwritten. Thread: [any-thread]. */
uint64_t block_writer_overwritten(const struct block_writer *writer);

/* Traces in memory only: copies `bytes` at `offset`, relative to segments_offset, to `buffer`. Returns the number of
 * bytes copied. */
size_t block_writer_read(const struct block_writer *writer, uint64_t offset, void *buffer, size_t bytes);

void block_writer_fork_child(void);

#endif
