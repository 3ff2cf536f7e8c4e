/* Threads of the library's own. */
#ifndef EPPROF_RUNTIME_BASE_THREAD_H
#define EPPROF_RUNTIME_BASE_THREAD_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* Starts a detached thread in which every signal is blocked.  `name` is NULL for a thread that may end at once.
 * Returns an errno. */
int thread_start(const char *name, void *(*run)(void *argument), void *argument, pthread_t *started);

/* A condition variable whose timed waits take times of CLOCK_MONOTONIC, and the time so many ns from now. */
void thread_cond_init(pthread_cond_t *condition);
struct timespec thread_deadline(uint64_t ns);

#endif
