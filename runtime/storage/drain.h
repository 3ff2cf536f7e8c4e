/* From regions to blocks: what the helper does on a visit, and what ends a run. */
#ifndef EPPROF_RUNTIME_STORAGE_DRAIN_H
#define EPPROF_RUNTIME_STORAGE_DRAIN_H

#include "record/session.h"

/* One visit: full regions, threads that left, definitions, clock pairs.  `final`: all recorders are closed and nothing
 * hands over any more; everything becomes blocks, the accounts are written, the run is over (state stays the caller's).
 * The drain lock is held.  Returns how many regions it emptied. */
unsigned drain_visit(struct session *session, bool final);

/* The oldest full chunk becomes a block, or is given up because it cannot be written; or, before it, what is full in slots.
 * False: nothing is full, or it stays for another visit.  The drain lock is held, session->lock need not be.
 * Thread: [any-thread]. */
bool drain_oldest(struct session *session);

/* Losses that belong to no slot become an entry of the ledger, if there are more than the last one said.  The drain lock is
 * held. */
void drain_own_losses(struct session *session);

/* Nothing was ever started: says so, where a reader might take the file for one that was cut.  The drain lock is held. */
void drain_without_run(struct session *session);

/* The run's first block is due: its start pair goes into the live page. */
void drain_begin_run(struct session *session, const struct epf_host_pair *start);

#endif
