/* For sessions that bound what a power loss may take: every so often all that was written goes to the disk.
 *
 * A thread of the session's own does it, since it may take seconds, for which the helper has no time: while it waits,
 * recorders would run dry.  It has descriptors of its own and outlives the session by a last pass, so nobody waits for it.
 */
#ifndef EPPROF_RUNTIME_STORAGE_SYNC_H
#define EPPROF_RUNTIME_STORAGE_SYNC_H

#include <stdint.h>

#include "base/status.h"

struct sync;

/* Begins a pass every `interval_ms` for the file at `path`, which is there, and that of its window if it lies elsewhere, else
 * NULL.  `*sync` is NULL on failure. */
epp_status *sync_begin(const char *path, const char *elsewhere, uint32_t interval_ms, struct sync **sync) EPP_MUST_CHECK;

/* The first errno of a pass that was not asked for yet; 0: none.  NULL has none. */
int sync_take_error(struct sync *sync);

/* Lets it go: one pass more, then it ends.  NULL does nothing. */
void sync_end(struct sync *sync);

/* In a forked child: nothing of it is there but memory and descriptors. */
void sync_fork_child(struct sync *sync);

/* For tests: what a pass calls for each file instead of fdatasync; NULL: that. */
void sync_inject(int (*call)(int fd));

#endif
