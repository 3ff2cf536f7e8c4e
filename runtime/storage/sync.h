/* Limits the loss of data in a power failure: all written data is synced to the disk periodically.
 *
 * Each session has a thread for this, because a sync may take seconds. If the helper waited that long, recorders would
 * run out of chunks. The thread has its own descriptors and outlives the session by one last sync, so no caller waits
 * for it. */
#ifndef EPPROF_RUNTIME_STORAGE_SYNC_H
#define EPPROF_RUNTIME_STORAGE_SYNC_H

#include <stdint.h>

#include "base/status.h"

struct sync;

/* Starts to sync the existing file at `path`, and its external window file at `external_path` (NULL: none), every
 * `interval_ms`. `*sync` is NULL on failure. */
epp_status *sync_begin(const char *path, const char *external_path, uint32_t interval_ms, struct sync **sync)
    EPP_MUST_CHECK;

/* Returns and clears the errno of the first failed sync since the last call; 0: none failed. `sync` may be NULL. */
int sync_take_error(struct sync *sync);

/* Ends the thread after one more sync, without waiting for it. NULL does nothing. */
void sync_end(struct sync *sync);

/* Closes the descriptors in a forked child, where the thread does not exist. */
void sync_fork_child(struct sync *sync);

/* For tests: replaces fdatasync. NULL restores it. */
void sync_inject(int (*call)(int fd));

#endif
