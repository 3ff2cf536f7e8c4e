/* The asymmetric barrier between recording threads and threads that end sessions.
 *
 * A recorder sets its mark with a plain store and then checks whether the recorder is closed. There is no fence between
 * the two: the compiler keeps their order, but the processor may not. The closing thread stores `closed`, calls
 * gate_barrier, which makes every running thread of the process execute a full barrier (membarrier(2) on Linux), and
 * then reads the mark. After that, either the recorder has seen `closed`, or the closing thread sees the recorder's
 * mark. Only the closing thread executes a system call, once per run. */
#ifndef EPPROF_RUNTIME_BASE_GATE_H
#define EPPROF_RUNTIME_BASE_GATE_H

#include <stdbool.h>

/* Registers the process for the barrier. Called once at load, and again in a forked child. */
void gate_setup(void);

/* Makes every thread of the process execute a barrier. Returns false if the system does not support this; then memory
 * that a recorder may still write to must not be unmapped or reused. */
bool gate_barrier(void);

#endif
