/* Estimates how much a recording will write, from its first second. */
#ifndef EPPROF_CLI_RECORD_RECORD_ESTIMATE_H
#define EPPROF_CLI_RECORD_RECORD_ESTIMATE_H

#include <stdint.h>

struct record_estimate; /* defined in record_estimate.c */

/* Creates an estimate for the processes that write into `folder`.  `ring_bytes` is the size of the ring; 0: no ring.
 * NULL: an estimate is not possible.  Ownership: record_estimate_destroy; the folder is copied. */
struct record_estimate *record_estimate_create(const char *folder, uint64_t ring_bytes);
/* Starts a thread that asks these processes for their figures, as `epprof ctl status` does.  One second after the first
 * process has begun to record, the thread prints a line on standard error: events a second, bytes an hour, the cost,
 * and the length of the time for which a ring has room.  There is no line if the processes cannot be controlled, or the
 * thread cannot be started.  Signals are not delivered to the thread.  Must be called after the program's fork.  NULL
 * does nothing. */
void record_estimate_start(struct record_estimate *estimate);
/* Stops the thread.  NULL does nothing. */
void record_estimate_destroy(struct record_estimate *estimate);

#endif
