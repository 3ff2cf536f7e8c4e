/* Which thread a line of a framework's XSpace is: its id is libstdc++'s hash of the thread's pthread_t, which can be undone. */
#ifndef EPPROF_BRIDGES_SHARED_XSPACE_THREADS_H
#define EPPROF_BRIDGES_SHARED_XSPACE_THREADS_H

#include <stdint.h>

/* The operating system's number of a line's thread, of this process; 0: it has ended, or the id is another number. */
uint32_t xspace_thread(int64_t line_id);

#endif
