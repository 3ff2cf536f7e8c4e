/* The asymmetric barrier between recording threads and threads that end sessions.
 *
 * A recorder sets its mark with a plain store and then checks whether it is closed, without a fence: the compiler keeps
 * the order, but the processor may not. The closing thread stores `closed`, calls gate_barrier, which makes every
 * running thread of the process execute a full barrier (membarrier(2) on Linux), and then reads the mark. After that, either the
 * recorder has seen `closed`, or the closing thread sees its mark. Only the closing side, once per run, pays for the
 * barrier. */
#ifndef EPPROF_RUNTIME_BASE_GATE_H
#define EPPROF_RUNTIME_BASE_GATE_H

#include <stdbool.h>

/* Registers with the kernel; called once at load, and again in a forked child. */
void gate_setup(void);

/* Returns true if every thread has executed a barrier. False: the system cannot; then memory that a recorder
 * may still write to must not be unmapped or reused. */
bool gate_barrier(void);

#endif
