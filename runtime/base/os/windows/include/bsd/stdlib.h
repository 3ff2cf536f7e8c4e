/* The part of libbsd's header that epprof uses, for Windows. libc.c has the functions. */
#ifndef EPPROF_RUNTIME_BASE_OS_WINDOWS_INCLUDE_BSD_STDLIB_H
#define EPPROF_RUNTIME_BASE_OS_WINDOWS_INCLUDE_BSD_STDLIB_H

#include <stdint.h>
#include <stdlib.h>

/* A stable sort. Returns -1 if out of memory. */
int mergesort(void *base, size_t count, size_t bytes, int (*compare)(const void *a, const void *b));
int expand_number(const char *text, uint64_t *number);
long long strtonum(const char *text, long long least, long long most, const char **problem);

#endif
