/* Turns full regions into blocks, when the helper visits a session and at the end of a run.  In a lossless session a
 * recording thread that finds no free chunk drains one itself or waits.  The drain lock is held, except where
 * stated. */
#ifndef EPPROF_RUNTIME_STORAGE_DRAIN_H
#define EPPROF_RUNTIME_STORAGE_DRAIN_H

#include "storage/storage.h"

/* Returns false if the ends of so many runs could not be written that the live page has no room for another. */
bool drain_may_begin_run(struct storage *storage);

/* Starts a run: stores its start in the live page and makes the first pair of clock readings due. */
void drain_begin_run(struct storage *storage, const struct epf_host_pair *start, uint64_t first_id);

/* One visit: full regions, threads that left, definitions, clock pairs. Returns how many regions were emptied. */
unsigned drain_visit(struct storage *storage);

/* A visit of the helper: adds chunks if they run short, and touches pages of the window ahead of the recorders. Returns
 * the time in ns until the next visit is due; 0: at once. */
int64_t drain_and_grow(struct storage *storage);

/* Frees the oldest full region: all full regions in slots first, otherwise the oldest full chunk. It becomes a block,
 * or its events are counted as lost if it cannot be written. Returns false if nothing is full or the region stays for
 * another visit. The lock of the storage is not needed.  Thread: [any-thread]. */
bool drain_oldest(struct storage *storage);

/* Returns a free chunk, or CHUNK_NONE. In a lossless session, while no chunk is free, the caller writes the oldest full
 * one as a block, or waits for another thread that is draining; it gets none only if none is full either and the window
 * cannot grow.
 * Thread: [any-thread], with its recorder marked as in use; no lock is held.  Not a cancellation point. */
uint32_t drain_take_chunk(struct storage *storage);

/* Stores the time of the run's end. All recorders of events are closed; no lock is needed. */
void drain_end_run(struct storage *storage);

/* Everything becomes blocks, and the ledgers of the slots and of the first `producers_count` profilers are written. All
 * recorders are closed, and nothing is submitted any more. */
void drain_finish_run(struct storage *storage, uint32_t producers_count);

/* Late events of profilers are stored in the run that has ended, then they become blocks like the rest before. A kill in
 * between leaves them in the window. drain_begin_late needs no lock. */
void drain_begin_late(struct storage *storage);
void drain_finish_late(struct storage *storage, uint32_t producers_count);

/* What is written last: the losses that belong to no slot, and an empty run if there was none. */
void drain_rest(struct storage *storage);

#endif
