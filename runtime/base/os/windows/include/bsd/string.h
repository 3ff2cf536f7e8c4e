/* The part of libbsd's header that epprof uses, for Windows. libc.c has the functions. */
#ifndef EPPROF_RUNTIME_BASE_OS_WINDOWS_INCLUDE_BSD_STRING_H
#define EPPROF_RUNTIME_BASE_OS_WINDOWS_INCLUDE_BSD_STRING_H

#include <stddef.h>
#include <string.h>

size_t strlcpy(char *to, const char *from, size_t bytes);
size_t strlcat(char *to, const char *from, size_t bytes);

#endif
