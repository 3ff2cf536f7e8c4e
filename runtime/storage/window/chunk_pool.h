/* The pool of a session's chunks: what recorders take, and the drain puts back.
 *
 * A free list that needs no lock, last in, first out: a quiet session goes round in few of them.  When they get short the
 * helper makes room for more (storage/window/window.h); a recording thread does only where nothing may be lost. */
#ifndef EPPROF_RUNTIME_STORAGE_WINDOW_CHUNK_POOL_H
#define EPPROF_RUNTIME_STORAGE_WINDOW_CHUNK_POOL_H

#include "record/session.h"

/* How many more are wanted each time that they are short: 16 MiB. */
#define CHUNKS_MORE 256u
_Static_assert((EPF_CHUNK_COUNT - WINDOW_FIRST_CHUNKS) % CHUNKS_MORE == 0, "no more than there are");

/* All chunks that a new window has are free. */
void chunks_init(struct session *session);

/* An index, or RECORDER_NO_CHUNK: none is free.  Wakes the helper if it has been long.  Thread: [any-thread]. */
uint32_t chunks_take(struct session *session);

/* The same for a session that is lossless: while none is free the caller makes the oldest full one a block itself, or waits for
 * whoever is doing that.  RECORDER_NO_CHUNK: none is full either, and the window cannot grow.
 * Thread: [any-thread], whose mark is set; no lock is held.  Not a cancellation point. */
uint32_t chunks_take_lossless(struct session *session);

/* Puts an emptied chunk back.  Thread: [any-thread]. */
void chunks_put_back(struct session *session, uint32_t chunk);

/* What the helper does first on a visit: while not all chunks are usable that a window has room for, it prepares more; where it has come late, or few chunks are left, the window is to grow, which it does
 * step by step while there is time for it; where there is no room to be had, not again for a while.  Whether a step was
 * taken: there may be another.  The drain lock is held. */
bool chunks_grow(struct session *session);

#endif
