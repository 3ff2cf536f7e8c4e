/* Appends blocks to a trace's segments: to the file behind the window, or to memory with the same offsets.
 *
 * Who appends holds the session's drain lock: there is one writer at a time.  A block lies whole in one segment; what
 * fails half-way is written again at the same offset by the next append, so a reader sees it whole or not at all.
 */
#ifndef EPPROF_FILE_BLOCK_WRITER_H
#define EPPROF_FILE_BLOCK_WRITER_H

#include <stdbool.h>
#include <stddef.h>

#include "file/format.h"

struct block_writer {
	int fd;                  /* -1: memory */
	int error;               /* errno of the last append; 0: it worked */
	uint64_t limit_bytes;    /* of all segments; 0: none.  Records leave an eighth of it to other blocks */
	uint64_t at;             /* where the next block goes, from segments_offset */
	uint64_t segment_number; /* of the segment that `at` lies in; 0: none begun */
	uint64_t segment_first_ticks, segment_last_ticks;
	uint8_t **segments; /* memory */
	size_t segments_capacity;
	uint64_t blocks_count;
};

void block_writer_init(struct block_writer *writer, int fd, uint64_t limit_bytes);
/* Frees memory segments (the first few go to a pool). */
void block_writer_deinit(struct block_writer *writer);

/* Appends a block: `block` is a header with the payload right behind it; its magic and checksum are filled in here.
 * Returns 0 or errno (ENOSPC, EFBIG, EDQUOT, EIO; ENOBUFS: over limit_bytes; ENOMEM). */
int block_writer_append(struct block_writer *writer, struct epf_block *block);

/* Reads back, memory only: from segments_offset.  Returns how many bytes there were. */
size_t block_writer_read(const struct block_writer *writer, uint64_t offset, void *buffer, size_t bytes);

void block_writer_fork_child(void);

#endif
