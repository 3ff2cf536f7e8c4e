/* Allocates disk blocks behind the end of a growing trace before they are written.
 *
 * Without this, each write of the helper thread reserves its blocks itself. On ext4 it then waits while the kernel's
 * writeback allocates blocks (10 ms to 1 s on a busy disk), and recorders run out of chunks meanwhile. The file's size
 * does not change, so a reader sees no difference. Unused blocks are freed when the trace is closed. If the process is
 * killed, at most ALLOCATE_AHEAD_BYTES stay allocated behind the end of its trace. */
#ifndef EPPROF_RUNTIME_STORAGE_BLOCKS_ALLOCATE_AHEAD_H
#define EPPROF_RUNTIME_STORAGE_BLOCKS_ALLOCATE_AHEAD_H

#include <stdint.h>

#define ALLOCATE_AHEAD_BYTES (64u << 20)

struct allocate_ahead {
	uint64_t end; /* everything before this offset was allocated; 0: nothing yet. UINT64_MAX: the file system does
	                 not support it */
};

/* Allocates ALLOCATE_AHEAD_BYTES from the offset `at`, where the next write begins, if less than half of that size is
 * still allocated behind `at`. A failure is ignored: the write then allocates blocks itself, or returns the error. */
void allocate_ahead(struct allocate_ahead *ahead, int fd, uint64_t at);

/* Frees the allocated blocks behind the file's end. No other thread may write to the file. */
void allocate_ahead_end(struct allocate_ahead *ahead, int fd);

#endif
