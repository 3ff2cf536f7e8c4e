/* Texts and errors of Windows, and the text functions of os.h. */
#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "base/os/windows/win32.h"

int windows_errno(void)
{
	switch (GetLastError()) {
	case ERROR_FILE_NOT_FOUND:
	case ERROR_PATH_NOT_FOUND:
	case ERROR_INVALID_NAME:
	case ERROR_BAD_NETPATH:
		return ENOENT;
	case ERROR_ACCESS_DENIED:
	case ERROR_SHARING_VIOLATION:
	case ERROR_WRITE_PROTECT:
	case ERROR_USER_MAPPED_FILE:
		return EACCES;
	case ERROR_FILE_EXISTS:
	case ERROR_ALREADY_EXISTS:
		return EEXIST;
	case ERROR_LOCK_VIOLATION:
	case ERROR_IO_PENDING:
		return EWOULDBLOCK;
	case ERROR_DISK_FULL:
	case ERROR_HANDLE_DISK_FULL:
		return ENOSPC;
	case ERROR_NOT_ENOUGH_MEMORY:
	case ERROR_OUTOFMEMORY:
	case ERROR_COMMITMENT_LIMIT:
		return ENOMEM;
	case ERROR_FILENAME_EXCED_RANGE:
		return ENAMETOOLONG;
	case ERROR_INVALID_HANDLE:
		return EBADF;
	default:
		return EIO;
	}
}

wchar_t *windows_wide(const char *text)
{
	int count = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
	if (!count) {
		errno = EILSEQ;
		return NULL;
	}
	wchar_t *wide = malloc((size_t)count * sizeof(*wide));
	if (!wide)
		errno = ENOMEM;
	else
		MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, wide, count);
	return wide;
}

bool windows_narrow(const wchar_t *wide, char *text, size_t bytes)
{
	return WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, (int)bytes, NULL, NULL) != 0;
}

const char *os_error_text(int error, char *buffer, size_t bytes)
{
	return strerror_s(buffer, bytes, error) ? "unknown error" : buffer;
}

static _locale_t c_locale;

static void make_c_locale(void)
{
	c_locale = _create_locale(LC_ALL, "C");
}

size_t os_number_print(char *text, size_t bytes, double value)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, make_c_locale);
	int length = _snprintf_l(text, bytes, "%.15g", c_locale, value);
	if (_strtod_l(text, NULL, c_locale) != value)
		length = _snprintf_l(text, bytes, "%.17g", c_locale, value);
	return (size_t)length;
}
