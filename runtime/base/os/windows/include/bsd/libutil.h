/* The part of libbsd's header that epprof uses, for Windows. libc.c has the functions. */
#ifndef EPPROF_RUNTIME_BASE_OS_WINDOWS_INCLUDE_BSD_LIBUTIL_H
#define EPPROF_RUNTIME_BASE_OS_WINDOWS_INCLUDE_BSD_LIBUTIL_H

#include <stdint.h>

int expand_number(const char *text, uint64_t *number);

#endif
