/* The pool of a session's chunks: what recorders take, and the drain puts back.
 *
 * A free list that needs no lock, last in, first out: a quiet session goes round in few of them.  When they get short the
 * helper makes room for more (file/window.h); a recording thread never does. */
#ifndef EPPROF_RECORD_CHUNKS_H
#define EPPROF_RECORD_CHUNKS_H

#include "record/session.h"

/* All chunks that a new window has are free. */
void chunks_init(struct session *session);

/* An index, or RECORDER_NO_CHUNK: none is free.  Wakes the helper if it has been long.  Thread: [any-thread]. */
uint32_t chunks_take(struct session *session);

/* Puts an emptied chunk back.  Thread: [any-thread]. */
void chunks_put_back(struct session *session, uint32_t chunk);

/* What the helper does first on a visit: where it has come late, or few chunks are left, another extent of the window; where
 * there is none to be had, not again for a while.  The drain lock is held. */
void chunks_grow(struct session *session);

#endif
