/* What the sample accelerator uses of POSIX and MinGW lacks; included before each of its files.  The kit needs none of
 * it.  Threads are winpthreads'. */
#ifndef EPPROF_TESTS_INTEROP_WINDOWS_POSIX_H
#define EPPROF_TESTS_INTEROP_WINDOWS_POSIX_H

#include <io.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#define O_CLOEXEC 0
#define secure_getenv getenv
#define dprintf(file, ...) ((void)(file))
/* Of the device's buffers, which are freed by free(), so they are not aligned here: the alignment is for speed. */
#define aligned_alloc(alignment, bytes) malloc(bytes)
/* Windows has no signals that a thread could block. */
#define sigset_t int
#define sigfillset(set) ((void)(set))

#endif
