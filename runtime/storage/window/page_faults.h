/* Page faults of recording threads: the delay of a store after the kernel has written a page of the window back.
 *
 * The kernel counts faults per thread. A thread reads its own count when it takes its first chunk (earlier faults are
 * warm-up) and when it leaves. In between the helper reads the counts in /proc, so that recording makes no system
 * call. */
#ifndef EPPROF_RUNTIME_STORAGE_WINDOW_PAGE_FAULTS_H
#define EPPROF_RUNTIME_STORAGE_WINDOW_PAGE_FAULTS_H

struct recorder;
struct session;

/* Called by the owner at its first chunk. */
void faults_begin(struct recorder *recorder);

/* Called by the owner when it leaves; the session's lock is held. */
void faults_end(struct recorder *recorder);

/* Adds the faults since the last call to the run's count. */
void faults_look(struct session *session);

#endif
