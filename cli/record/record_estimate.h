/* Estimates how much a recording will write, from its first second. */
#ifndef EPPROF_CLI_RECORD_RECORD_ESTIMATE_H
#define EPPROF_CLI_RECORD_RECORD_ESTIMATE_H

#include <stdint.h>

struct record_estimate; /* defined in record_estimate.c */

/* Creates an estimate for the processes that write into `folder`.  `ring_bytes` is the size of the ring; 0: no ring.
 * NULL: an estimate is not possible.  Ownership: record_estimate_destroy; the folder is copied. */
struct record_estimate *record_estimate_create(const char *folder, uint64_t ring_bytes);
/* Starts a thread that requests numbers from these processes, as `epprof ctl status` does.  One second after it has
 * found the first process that records, it prints a line on standard error: events a second, bytes an hour, the share
 * of a processor that recording takes, and for how long a ring keeps events.  There is no line if the processes cannot
 * be controlled, or the thread cannot be started.  Signals are not delivered to the thread.  Must be called after the
 * fork that starts the program.  NULL does nothing. */
void record_estimate_start(struct record_estimate *estimate);
/* Stops the thread.  NULL does nothing. */
void record_estimate_destroy(struct record_estimate *estimate);

#endif
