/* Finds the thread of a line in a framework's XSpace.  The id of the line is libstdc++'s hash of the thread's
 * pthread_t, from which the pthread_t can be computed. */
#ifndef EPPROF_BRIDGES_SHARED_XSPACE_THREADS_H
#define EPPROF_BRIDGES_SHARED_XSPACE_THREADS_H

#include <stdint.h>

/* Returns the pthread_t of a line's thread, or a number that is none if the id is no such hash. */
uint64_t xspace_thread_handle(int64_t line_id);

/* Returns the system's id of a line's thread, which must belong to this process. 0: the thread has ended, or the id is
 * no such hash. */
uint32_t xspace_thread(int64_t line_id);

/* Keeps a thread's pthread_t and its id of the system, as long as no other thread takes its place in a table of 4096.
 * xspace_thread_noted returns the pthread_t of an id; 0: unknown.  A thread may have ended.
 * Thread: any. */
void xspace_thread_note(uint64_t handle, uint32_t thread);
uint64_t xspace_thread_noted(uint32_t thread);

#endif
