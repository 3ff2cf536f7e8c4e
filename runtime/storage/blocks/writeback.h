/* Limits the page cache of a growing trace: full segments are written to the disk, and their pages are dropped.
 *
 * A trace has a thread for this, because these calls wait while the disk is busy (300 ms were measured), and recorders
 * would run out of chunks meanwhile. The thread has its own descriptor and outlives the block writer by one call, so
 * callers do not wait for it, unless more than WRITEBACK_BEHIND_MAX are not written yet. The kernel's own writeback
 * writes the segments that the thread has not reached when the trace is closed. */
#ifndef EPPROF_RUNTIME_STORAGE_BLOCKS_WRITEBACK_H
#define EPPROF_RUNTIME_STORAGE_BLOCKS_WRITEBACK_H

#include <stdint.h>

#define WRITEBACK_BYTES (16u << 20)                 /* the number of bytes that are written and dropped at a time */
#define WRITEBACK_BEHIND_MAX (64 * WRITEBACK_BYTES) /* 1 GiB */

struct writeback;

/* Starts the thread for the open file `fd`, from the offset `begin`. Returns NULL on failure. */
struct writeback *writeback_begin(int fd, uint64_t begin);

/* Makes the thread write and drop everything before the offset `end` of the file. Waits while more than
 * WRITEBACK_BEHIND_MAX are not written yet. */
void writeback_advance(struct writeback *writeback, uint64_t end);

/* Makes the thread end after its present call, without waiting for it. NULL does nothing. */
void writeback_end(struct writeback *writeback);

/* Closes the descriptor in a forked child, where the thread does not exist. NULL does nothing. */
void writeback_fork_child(struct writeback *writeback);

/* For tests: replaces the calls that write and drop a range. NULL restores them. */
void writeback_inject(void (*call)(int fd, uint64_t offset, uint64_t bytes));

#endif
