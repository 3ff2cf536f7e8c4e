/* The part of POSIX' fnmatch.h that epprof uses, for Windows. fnmatch.c has the function. */
#ifndef EPPROF_RUNTIME_BASE_OS_WINDOWS_INCLUDE_FNMATCH_H
#define EPPROF_RUNTIME_BASE_OS_WINDOWS_INCLUDE_FNMATCH_H

#define FNM_NOMATCH 1

/* `flags` must be 0. */
int fnmatch(const char *pattern, const char *text, int flags);

#endif
