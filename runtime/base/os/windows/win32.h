/* What the files of this folder share. */
#ifndef EPPROF_RUNTIME_BASE_OS_WINDOWS_WIN32_H
#define EPPROF_RUNTIME_BASE_OS_WINDOWS_WIN32_H

#include <stdbool.h>
#include <stddef.h>
#include <wchar.h>
#include <windows.h>

/* The errno of the last failure of a call of Windows. */
int windows_errno(void);

/* Converts UTF-8. Returns NULL and sets errno if it is not UTF-8, or without memory. Ownership: malloc. */
wchar_t *windows_wide(const char *text);
/* Converts to UTF-8, with a NUL. False: it does not fit. */
bool windows_narrow(const wchar_t *wide, char *text, size_t bytes);

#endif
