/* Bounds what a power loss can destroy: all written data is synced to the disk periodically.
 *
 * Each session has a thread for this, because a sync may take seconds. The helper cannot wait that long: recorders
 * would run out of chunks. The thread has its own descriptors and outlives the session by one last pass, so no caller
 * waits for it. */
#ifndef EPPROF_RUNTIME_STORAGE_SYNC_H
#define EPPROF_RUNTIME_STORAGE_SYNC_H

#include <stdint.h>

#include "base/status.h"

struct sync;

/* Starts a pass every `interval_ms` for the existing file at `path` and for its external window file at
 * `external_path` (NULL: none). `*sync` is NULL on failure. */
epp_status *sync_begin(const char *path, const char *external_path, uint32_t interval_ms, struct sync **sync)
    EPP_MUST_CHECK;

/* Returns and clears the first errno of a pass since the last call; 0: none. `sync` may be NULL. */
int sync_take_error(struct sync *sync);

/* Ends the thread after one more pass, without waiting. NULL does nothing. */
void sync_end(struct sync *sync);

/* In a forked child, where the thread does not exist: closes the descriptors. */
void sync_fork_child(struct sync *sync);

/* For tests: replaces fdatasync. NULL restores it. */
void sync_inject(int (*call)(int fd));

#endif
