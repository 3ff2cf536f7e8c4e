/* The pool of a session's chunks: recorders take chunks, the drain puts them back.
 *
 * A lock-free list, last in, first out, so that a quiet session uses few chunks. If chunks run short, the helper
 * prepares more (storage/window/window.h); a recording thread does so only in a lossless session. */
#ifndef EPPROF_RUNTIME_STORAGE_WINDOW_CHUNK_POOL_H
#define EPPROF_RUNTIME_STORAGE_WINDOW_CHUNK_POOL_H

#include "record/session.h"

/* How many chunks are added each time they run short: 16 MiB. */
#define CHUNKS_MORE 256u
_Static_assert((EPF_CHUNK_COUNT - WINDOW_FIRST_CHUNKS) % CHUNKS_MORE == 0, "no more than there are");

/* Puts all chunks of a new window into the pool. */
void chunks_init(struct session *session);

/* Returns a chunk's index, or RECORDER_NO_CHUNK if none is free. Wakes the helper if many were taken since its last
 * visit.
 * Thread: [any-thread]. */
uint32_t chunks_take(struct session *session);

/* As chunks_take, for a lossless session: while no chunk is free, the caller writes the oldest full one as a block, or
 * waits for another thread that is draining. Returns RECORDER_NO_CHUNK if none is full either and the window cannot
 * grow.
 * Thread: [any-thread], with its recorder marked as in use; no lock is held.  Not a cancellation point. */
uint32_t chunks_take_lossless(struct session *session);

/* Puts an emptied chunk back.  Thread: [any-thread]. */
void chunks_put_back(struct session *session, uint32_t chunk);

/* The helper's first task on a visit. Prepares the chunks that have room on the disk but are not usable yet. After
 * that, if the helper is late or few chunks are free, the window is to grow, one step a visit while there is time.
 * After a failed step it does not try again for a second. Returns true if a step was taken and there may be another.
 * The drain lock is held. */
bool chunks_grow(struct session *session);

#endif
