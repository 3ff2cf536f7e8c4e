/* Starts threads of the library, with all signals blocked; condition variables and deadlines on CLOCK_MONOTONIC. */
#ifndef EPPROF_RUNTIME_BASE_THREAD_H
#define EPPROF_RUNTIME_BASE_THREAD_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* Starts a detached thread in which every signal is blocked.  `name` must be NULL if the thread may end before it can
 * be named.  Returns 0 or an errno. */
int thread_start(const char *name, void *(*run)(void *argument), void *argument, pthread_t *started);
/* As thread_start, for a thread that is joined or detached later. */
int thread_start_joinable(const char *name, void *(*run)(void *argument), void *argument, pthread_t *started);

/* thread_cond_init initializes a condition variable whose timed waits use CLOCK_MONOTONIC.  thread_deadline returns the
 * time of that clock `ns` from now. */
void thread_cond_init(pthread_cond_t *condition);
struct timespec thread_deadline(uint64_t ns);

/* Returns the time of CLOCK_MONOTONIC in ns. */
int64_t thread_now_ns(void);
/* Returns the CPU time of the calling thread in ns. */
int64_t thread_cpu_ns(void);

#endif
