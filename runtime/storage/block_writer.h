/* Appends blocks to a trace's segments: to the file behind the window, or to memory with the same offsets.
 *
 * Who appends holds the session's drain lock: there is one writer at a time.  A block lies whole in one segment; what
 * fails half-way is written again at the same offset by the next append, so a reader sees it whole or not at all.
 * A ring has two segments in hand: one for what goes round (records, host pairs), one for what is kept (block_ring.c).
 */
#ifndef EPPROF_RUNTIME_STORAGE_BLOCK_WRITER_H
#define EPPROF_RUNTIME_STORAGE_BLOCK_WRITER_H

#include <stdbool.h>
#include <stddef.h>

#include "format/format.h"
#include "storage/retained_definitions.h"
#include "storage/ring.h"

/* A segment in hand. */
struct block_segment {
	uint64_t number; /* 0: none begun */
	uint64_t at;     /* where the next block goes, from segments_offset */
	uint64_t end;
	uint64_t first_ticks, last_ticks;
	uint32_t flags;
};

/* What a ring's writer has besides. */
struct block_ring {
	struct ring ring;
	struct kept kept;
	uint32_t places_max; /* segments at most */
	uint64_t *free;      /* places that were used before */
	uint32_t free_count;
	uint64_t given_up; /* the number of the victim that a block says is gone */
	uint64_t said_at;  /* the number of the segment with that block */
	uint64_t clean_at; /* how full the kept segment in hand is when another is to be emptied into it */
};

struct block_writer {
	int fd;               /* -1: memory */
	int error;            /* errno of the last append; 0: it worked */
	uint64_t limit_bytes; /* of all segments; 0: none.  An eighth of it is left to blocks that explain others */
	struct block_segment current;
	struct block_segment kept; /* of a ring: what is not overwritten */
	uint64_t segments_count;   /* places in use */
	uint64_t numbers;          /* given out */
	struct block_ring *ring;   /* NULL: not a ring */
	uint8_t **segments;        /* memory */
	size_t segments_capacity;
	uint64_t blocks_count;
};

void block_writer_init(struct block_writer *writer, int fd, uint64_t limit_bytes);
/* A ring of `limit_bytes`, which is at least BLOCK_WRITER_RING_BYTES_MIN.  False: no memory. */
bool block_writer_init_ring(struct block_writer *writer, int fd, uint64_t limit_bytes);
#define BLOCK_WRITER_RING_BYTES_MIN (4u * EPF_SEGMENT_BYTES)
/* Frees memory segments (the first few go to a pool). */
void block_writer_deinit(struct block_writer *writer);

/* Appends a block: `block` is a header with the payload right behind it; its magic and checksum are filled in here.
 * Returns 0 or errno (ENOSPC, EFBIG, EDQUOT, EIO; ENOBUFS: over limit_bytes; ENOMEM). */
int block_writer_append(struct block_writer *writer, struct epf_block *block);

/* Units: bytes.  How much may be appended with one write; 0: block after block only (a ring, in memory, a segment to begin). */
size_t block_writer_room(const struct block_writer *writer);

/* Appends several blocks of records with one write: they lie one behind the other, each padded to 8 bytes, `bytes` in all,
 * for which there is room.  Returns 0 or errno; then none of them counts, and they may be appended again. */
int block_writer_append_several(struct block_writer *writer, struct epf_block *blocks, size_t bytes);

/* Tells a ring whose events the block of records appended last holds: those of a thread's track, or of a producer. */
void block_writer_count(struct block_writer *writer, uint32_t of, uint32_t run, uint64_t events);

/* Units: events.  How many of threads a ring has overwritten.  Thread: [any-thread]. */
uint64_t block_writer_overwritten(const struct block_writer *writer);

/* Reads back, memory only: from segments_offset.  Returns how many bytes there were. */
size_t block_writer_read(const struct block_writer *writer, uint64_t offset, void *buffer, size_t bytes);

void block_writer_fork_child(void);

#endif
