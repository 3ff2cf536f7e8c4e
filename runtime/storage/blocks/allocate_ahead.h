/* Allocates disk blocks behind the end of a growing trace before they are written.
 *
 * Without it a write of the helper thread reserves blocks itself, and on ext4 waits while the kernel's write-back
 * allocates (10 ms to 1 s on a busy disk), in which recorders run out of chunks. The file's size does not change, so a
 * reader sees no difference. Unused blocks are freed at the end; a killed process leaves at most ALLOCATE_AHEAD_BYTES
 * allocated behind the end of its trace. */
#ifndef EPPROF_RUNTIME_STORAGE_BLOCKS_ALLOCATE_AHEAD_H
#define EPPROF_RUNTIME_STORAGE_BLOCKS_ALLOCATE_AHEAD_H

#include <stdint.h>

#define ALLOCATE_AHEAD_BYTES (64u << 20)

struct allocate_ahead {
	uint64_t end; /* what is before this offset was allocated; 0: nothing yet.  UINT64_MAX: not on this file system */
};

/* Allocates ALLOCATE_AHEAD_BYTES from the offset `at` on, where the next write begins, if less than half of that is
 * still allocated there. A failure is ignored: the write allocates instead, or returns the error. */
void allocate_ahead(struct allocate_ahead *ahead, int fd, uint64_t at);

/* Frees the blocks behind the file's end. Nothing else may write to the file. */
void allocate_ahead_end(struct allocate_ahead *ahead, int fd);

#endif
