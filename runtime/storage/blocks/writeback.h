/* Bounds the page cache of a growing trace: full segments are written to the disk, and their pages are dropped.
 *
 * A trace has a thread for this, because these calls wait while the disk is busy (300 ms were measured), and recorders
 * run out of chunks sooner. The thread has its own descriptor and outlives the block writer by one call, so no caller
 * waits for it, unless the disk is WRITEBACK_BEHIND_MAX behind. What it has not reached at the end is left to the
 * kernel's own writeback. */
#ifndef EPPROF_RUNTIME_STORAGE_BLOCKS_WRITEBACK_H
#define EPPROF_RUNTIME_STORAGE_BLOCKS_WRITEBACK_H

#include <stdint.h>

#define WRITEBACK_BYTES (16u << 20)                 /* written and dropped at a time */
#define WRITEBACK_BEHIND_MAX (64 * WRITEBACK_BYTES) /* 1 GiB */

struct writeback;

/* Starts the thread for the open file `fd`, from the offset `begin`. Returns NULL if that is impossible. */
struct writeback *writeback_begin(int fd, uint64_t begin);

/* Everything before the offset `end` of the file is to be written and dropped. Waits while that is more than
 * WRITEBACK_BEHIND_MAX. */
void writeback_advance(struct writeback *writeback, uint64_t end);

/* Requests the thread's end after its present call, and does not wait for it. NULL does nothing. */
void writeback_end(struct writeback *writeback);

/* In a forked child, where the thread does not exist: closes the descriptor. NULL does nothing. */
void writeback_fork_child(struct writeback *writeback);

/* For tests: replaces the calls that write and drop a range. NULL restores them. */
void writeback_inject(void (*call)(int fd, uint64_t offset, uint64_t bytes));

#endif
