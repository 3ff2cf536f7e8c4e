/* Finds the thread of a line in a framework's XSpace.  The id of the line is libstdc++'s hash of the thread's
 * pthread_t, from which the pthread_t can be computed. */
#ifndef EPPROF_BRIDGES_SHARED_XSPACE_THREADS_H
#define EPPROF_BRIDGES_SHARED_XSPACE_THREADS_H

#include <stdint.h>

/* Returns the system's id of a line's thread, which must belong to this process. 0: the thread has ended, or the id is
 * no such hash. */
uint32_t xspace_thread(int64_t line_id);

#endif
