/* Finds the thread of a line in a framework's XSpace. The line's id is libstdc++'s hash of the thread's pthread_t,
 * which can be inverted. */
#ifndef EPPROF_BRIDGES_SHARED_XSPACE_THREADS_H
#define EPPROF_BRIDGES_SHARED_XSPACE_THREADS_H

#include <stdint.h>

/* Returns the system's id of a line's thread, which must be of this process; 0: the thread has ended, or the id is
 * another number. */
uint32_t xspace_thread(int64_t line_id);

#endif
