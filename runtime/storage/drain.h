/* Turns regions into blocks: the helper's work on a visit, and the end of a run. */
#ifndef EPPROF_RUNTIME_STORAGE_DRAIN_H
#define EPPROF_RUNTIME_STORAGE_DRAIN_H

#include "record/session.h"

/* One visit: full regions, threads that left, definitions, clock pairs. `final`: all recorders are closed and nothing
 * is submitted any more; everything becomes blocks, the ledgers are written and the run ends (the caller changes the
 * session's state). The drain lock is held. Returns how many regions were emptied. */
unsigned drain_visit(struct session *session, bool final);

/* Frees the oldest full region: all full regions in slots first, otherwise the oldest full chunk. It becomes a block,
 * or its events are counted as lost if it cannot be written. Returns false if nothing is full or the region stays for
 * another visit. The drain lock is held; session->lock is not needed.  Thread: [any-thread]. */
bool drain_oldest(struct session *session);

/* Writes a ledger entry for losses that belong to no slot, if they changed since the last one. The drain lock is
 * held. */
void drain_own_losses(struct session *session);

/* Writes an empty run block if the session was never started, so that a reader does not report the file as cut. The
 * drain lock is held. */
void drain_without_run(struct session *session);

/* Starts a run: stores its start pair in the live page and makes the first host pair due. */
void drain_begin_run(struct session *session, const struct epf_host_pair *start);

#endif
