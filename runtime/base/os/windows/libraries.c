/* Loads DLLs with the functions of POSIX. */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/windows/win32.h"

static _Thread_local struct {
	bool is_set;
	char text[512];
} failure;

/* Stores the text of the last error of Windows, without the end of its line. */
static void set_failure(void)
{
	wchar_t wide[256];
	DWORD error = GetLastError();
	DWORD count = FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL, error, 0, wide,
	                             sizeof(wide) / sizeof(*wide), NULL);
	while (count && (wide[count - 1] == L'\n' || wide[count - 1] == L'\r' || wide[count - 1] == L'.'))
		wide[--count] = L'\0';
	failure.is_set = true;
	if (!count || !windows_narrow(wide, failure.text, sizeof(failure.text)))
		snprintf(failure.text, sizeof(failure.text), "error %lu of Windows", error);
}

/* LoadLibraryExW searches the folder of the DLL only if its path is absolute and has backslashes. */
static HMODULE load(const wchar_t *path)
{
	wchar_t absolute[MAX_PATH];
	DWORD count = GetFullPathNameW(path, MAX_PATH, absolute, NULL);
	if (!count || count >= MAX_PATH) {
		SetLastError(ERROR_FILENAME_EXCED_RANGE);
		return NULL;
	}
	return LoadLibraryExW(absolute, NULL, LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
}

void *dlopen(const char *path, int flags)
{
	HMODULE library = NULL;
	wchar_t *wide = windows_wide(path);
	if (!wide)
		SetLastError(ERROR_INVALID_NAME);
	else
		library = load(wide);
	if (!library)
		set_failure();
	if (library && flags & RTLD_NODELETE)
		GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
		                   (const wchar_t *)(void *)library, &library);
	free(wide);
	return library;
}

int dlclose(void *library)
{
	return FreeLibrary(library) ? 0 : -1;
}

void *dlsym(void *library, const char *name)
{
	FARPROC found = GetProcAddress(library, name);
	void *symbol;
	memcpy(&symbol, &found, sizeof(symbol));
	return symbol;
}

char *dlerror(void)
{
	bool was_set = failure.is_set;
	failure.is_set = false;
	return was_set ? failure.text : NULL;
}

int dladdr(const void *address, Dl_info *found)
{
	static _Thread_local char path[MAX_PATH * 3];
	wchar_t wide[MAX_PATH];
	HMODULE library;
	if (!GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
	                        address, &library))
		return 0;
	DWORD count = GetModuleFileNameW(library, wide, MAX_PATH);
	if (!count || count >= MAX_PATH || !windows_narrow(wide, path, sizeof(path)))
		return 0;
	for (char *at = path; *at; at++)
		*at = *at == '\\' ? '/' : *at;
	found->dli_fname = path;
	return 1;
}
