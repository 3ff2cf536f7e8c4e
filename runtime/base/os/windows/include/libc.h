/* Functions of glibc that Windows' C library lacks, for Windows; libc.c has them. The build includes it in front of every file. */
#ifndef EPPROF_RUNTIME_BASE_OS_WINDOWS_INCLUDE_LIBC_H
#define EPPROF_RUNTIME_BASE_OS_WINDOWS_INCLUDE_LIBC_H

#include <stddef.h>

void *reallocarray(void *array, size_t count, size_t item_bytes);
void *mempcpy(void *to, const void *from, size_t bytes);
/* winpthreads' nanosleep takes a lock that it holds while it calls the destructors of a thread's keys: if one of these waits for
 * a thread that sleeps, neither goes on. */
#define nanosleep libc_nanosleep

char *strchrnul(const char *text, int c);

#endif
