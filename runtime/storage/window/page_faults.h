/* Counts the page faults of recording threads.  After the kernel has written a page of the window to the disk, the next
 * store into that page causes a page fault, which delays the thread.
 *
 * The kernel counts faults per thread. A thread reads its own count when it takes its first chunk (earlier faults are
 * warm-up) and when it leaves. In between the helper reads the counts in /proc, so that recording makes no system
 * call. */
#ifndef EPPROF_RUNTIME_STORAGE_WINDOW_PAGE_FAULTS_H
#define EPPROF_RUNTIME_STORAGE_WINDOW_PAGE_FAULTS_H

#include "storage/window/slots.h"

/* Called by the owner of the slot at its first chunk. */
void faults_begin(struct slots *slots, uint32_t index);

/* Called by the owner of the slot when its thread exits. The storage's lock is held. */
void faults_end(struct slots *slots, uint32_t index);

/* Adds the page faults of all recording threads since the last call to the run's count. The storage's lock is held. */
void faults_look(struct slots *slots);

#endif
