/* The asymmetric barrier between recording threads and those who end sessions.
 *
 * A recorder marks itself with a plain store and then looks whether it is closed, without a fence: the compiler keeps the
 * order, the processor may not.  Whoever closes it stores `closed`, calls gate_barrier, which makes every running thread
 * of the process pass a full barrier (membarrier(2)), and then reads the mark: now either the recorder has seen `closed`
 * or its mark is seen here.  The cost lies wholly on the side that happens once a run.
 */
#ifndef EPPROF_RUNTIME_BASE_GATE_H
#define EPPROF_RUNTIME_BASE_GATE_H

#include <stdbool.h>

/* Registers with the kernel; once, at load, and in a forked child again. */
void gate_setup(void);

/* True if every thread has passed a barrier.  False: the kernel has no membarrier; then nothing that a recorder could
 * still write to may be unmapped or used again. */
bool gate_barrier(void);

#endif
