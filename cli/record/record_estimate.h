/* Estimates how much a recording will write, from its first second. */
#ifndef EPPROF_CLI_RECORD_RECORD_ESTIMATE_H
#define EPPROF_CLI_RECORD_RECORD_ESTIMATE_H

#include <stdint.h>

struct record_estimate; /* record_estimate.c */

/* Prepares an estimate for the processes that write into `folder`; `ring_bytes` 0: no ring.  NULL: it is not possible.
 * Ownership: record_estimate_destroy; the folder is copied. */
struct record_estimate *record_estimate_create(const char *folder, uint64_t ring_bytes);
/* Starts a thread that asks these processes for their figures, as `epprof ctl status` does.  One second after the first
 * of them has begun to record, it prints a line on standard error: events a second, bytes an hour, the cost and how long a
 * time a ring holds.  There is no line if the processes cannot be controlled, or the thread cannot be started.  Signals
 * are not delivered to the thread.  Call it after the program's fork.  NULL does nothing. */
void record_estimate_start(struct record_estimate *estimate);
/* Stops the thread.  NULL does nothing. */
void record_estimate_destroy(struct record_estimate *estimate);

#endif
