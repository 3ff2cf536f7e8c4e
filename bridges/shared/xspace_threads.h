/* Finds the thread of a line in a framework's XSpace.  The id of the line is libstdc++'s hash of the thread's
 * pthread_t, from which the pthread_t can be computed. */
#ifndef EPPROF_BRIDGES_SHARED_XSPACE_THREADS_H
#define EPPROF_BRIDGES_SHARED_XSPACE_THREADS_H

#include <stdint.h>

/* Returns the pthread_t of a line's thread, or an arbitrary number if the id is not the hash of a pthread_t. */
uint64_t xspace_thread_handle(int64_t line_id);

/* Returns the system's id of a line's thread, which must belong to this process. 0: the thread has ended, or the id is
 * not the hash of a pthread_t. */
uint32_t xspace_thread(int64_t line_id);

/* xspace_thread_note stores a thread's pthread_t by its system id, in a table of 4096 entries, where a later thread may
 * replace it.  xspace_thread_noted returns the pthread_t for a system id, also if the thread has ended; 0: unknown.
 * Thread: any. */
void xspace_thread_note(uint64_t handle, uint32_t thread);
uint64_t xspace_thread_noted(uint32_t thread);

#endif
