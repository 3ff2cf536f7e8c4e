/* Functions that the files of this folder share. */
#ifndef EPPROF_RUNTIME_BASE_OS_WINDOWS_WIN32_H
#define EPPROF_RUNTIME_BASE_OS_WINDOWS_WIN32_H

#include <stdbool.h>
#include <stddef.h>
#include <wchar.h>
#include <windows.h>

/* Returns the errno for the last error of a Windows function on this thread (GetLastError). */
int windows_errno(void);

/* Converts UTF-8. Returns NULL and sets errno if the text is not UTF-8, or if out of memory. Ownership: malloc. */
wchar_t *windows_wide(const char *text);
/* Converts to UTF-8, with a NUL. Returns false if the result does not fit into `bytes` bytes. */
bool windows_narrow(const wchar_t *wide, char *text, size_t bytes);

#endif
