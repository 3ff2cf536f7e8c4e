/* Turns full regions into blocks, when the helper visits a session and at the end of a run.  In a lossless session a
 * recording thread that finds no free chunk drains one itself or waits. Callers hold the drain lock, except where
 * stated. */
#ifndef EPPROF_RUNTIME_STORAGE_DRAIN_H
#define EPPROF_RUNTIME_STORAGE_DRAIN_H

#include "storage/storage.h"

/* Returns false if the ends of so many runs could not be written that the live page has no room for another run. */
bool drain_may_begin_run(struct storage *storage);

/* Starts a run: stores its start in the live page and schedules the first pair of clock readings. */
void drain_begin_run(struct storage *storage, const struct epf_host_pair *start, uint64_t first_id);

/* One visit: drains full regions and the slots of threads that have left, and writes definitions and clock pairs.
 * Returns the number of regions that were emptied. */
unsigned drain_visit(struct storage *storage);

/* A visit of the helper: adds chunks if few are free, and touches pages of the window before recorders need them.
 * Returns the time in ns until the next visit is due; 0: at once. */
int64_t drain_and_grow(struct storage *storage);

/* Frees a full region: all full regions in slots or, if there are none, the oldest full chunk. The region becomes a
 * block or, if it cannot be written, its events are counted as lost. Returns false if no region is full, or if the
 * region stays for another visit. The caller need not hold the storage's lock.  Thread: [any-thread]. */
bool drain_oldest(struct storage *storage);

/* Returns a free chunk, or CHUNK_NONE. In a lossless session, while no chunk is free, this function writes the oldest
 * full chunk as a block, or waits for another thread that is draining. It then returns CHUNK_NONE only if no chunk is
 * full either and the window cannot grow.
 * Thread: [any-thread], with its recorder marked as in use; no lock is held. Not a cancellation point. */
uint32_t drain_take_chunk(struct storage *storage);

/* Stores the time of the run's end. All recorders must be closed; no lock is needed. */
void drain_end_run(struct storage *storage);

/* Writes everything that is left of the run as blocks, and the ledgers of the slots and of the first `producers_count`
 * profilers. All recorders must be closed, and nothing may be submitted any more. */
void drain_finish_run(struct storage *storage, uint32_t producers_count);

/* Late events of profilers are stored between these two calls, in the run that has ended. drain_finish_late writes them
 * as blocks. After a kill in between they are in the window. drain_begin_late needs no lock. */
void drain_begin_late(struct storage *storage);
void drain_finish_late(struct storage *storage, uint32_t producers_count);

/* Writes the last data of a trace: the losses that belong to no slot and, if there was no run, an empty run. */
void drain_rest(struct storage *storage);

#endif
