/* Page faults of recording threads: what a thread's stores wait for when the kernel has written a page of the window back.
 *
 * The kernel counts them for each thread.  A thread asks for its own when it takes its first chunk, since what came before
 * is warm-up, and when it leaves; in between the helper reads them in /proc, so that recording asks the system nothing. */
#ifndef EPPROF_RUNTIME_STORAGE_WINDOW_PAGE_FAULTS_H
#define EPPROF_RUNTIME_STORAGE_WINDOW_PAGE_FAULTS_H

struct recorder;
struct session;

/* The owner's first chunk. */
void faults_begin(struct recorder *recorder);

/* The owner leaves; the session's lock is held. */
void faults_end(struct recorder *recorder);

/* Adds what has come since the last look to the run's. */
void faults_look(struct session *session);

#endif
