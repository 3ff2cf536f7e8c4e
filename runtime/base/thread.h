/* Starts threads of the library, with all signals blocked; condition variables and deadlines on CLOCK_MONOTONIC. */
#ifndef EPPROF_RUNTIME_BASE_THREAD_H
#define EPPROF_RUNTIME_BASE_THREAD_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* Starts a detached thread in which every signal is blocked.  `name` is NULL for a thread that may end at once.
 * Returns an errno. */
int thread_start(const char *name, void *(*run)(void *argument), void *argument, pthread_t *started);
/* The same for a thread that is joined or detached later. */
int thread_start_joinable(const char *name, void *(*run)(void *argument), void *argument, pthread_t *started);

/* Initializes a condition variable whose timed waits use CLOCK_MONOTONIC, and returns the time `ns` from now on that
 * clock. */
void thread_cond_init(pthread_cond_t *condition);
struct timespec thread_deadline(uint64_t ns);

/* Now, in ns of CLOCK_MONOTONIC. */
int64_t thread_now_ns(void);
/* The CPU time of the calling thread. */
int64_t thread_cpu_ns(void);

#endif
