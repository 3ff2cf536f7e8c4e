/* See tests/support/killed.h. The child is the same program with the path of a file as its argument, whose mapping is the shared
 * memory. */
#ifndef EPPROF_TESTS_WINDOWS_INCLUDE_TESTS_SUPPORT_KILLED_H
#define EPPROF_TESTS_WINDOWS_INCLUDE_TESTS_SUPPORT_KILLED_H

#include <stdbool.h>
#include <windows.h>

#include "base/os/os.h"
#include "tests/support/check.h"

#define KILLED_STATUS 9

static PROCESS_INFORMATION killed_child;
static char killed_file[512];

static inline void *killed_map(const char *path, size_t bytes)
{
	int fd = os_file_open_output(path, true, 0600);
	return fd < 0 || os_file_reserve(fd, 0, bytes) ? NULL : os_memory_map_file(fd, bytes);
}

static inline void *killed_share(size_t bytes)
{
	snprintf(killed_file, sizeof(killed_file), "%s", check_path("shared"));
	void *shared = killed_map(killed_file, bytes);
	ck_assert_ptr_nonnull(shared);
	return shared;
}

static inline void killed_start(void (*child)(void))
{
	char program[MAX_PATH], command[2 * MAX_PATH + 512];
	STARTUPINFOA about = { .cb = sizeof(about) };
	(void)child;
	ck_assert_uint_gt(GetModuleFileNameA(NULL, program, MAX_PATH), 0);
	snprintf(command, sizeof(command), "\"%s\" \"%s\"", program, killed_file);
	ck_assert(CreateProcessA(NULL, command, NULL, NULL, FALSE, 0, NULL, NULL, &about, &killed_child));
}

static inline bool killed_end(void)
{
	DWORD status = 0;
	TerminateProcess(killed_child.hProcess, KILLED_STATUS);
	WaitForSingleObject(killed_child.hProcess, INFINITE);
	GetExitCodeProcess(killed_child.hProcess, &status);
	CloseHandle(killed_child.hThread);
	CloseHandle(killed_child.hProcess);
	return status == KILLED_STATUS;
}

#define KILLED_MAIN(suite, child, shared) \
	int main(int count, char **arguments) \
	{ \
		if (count < 2) \
			return check_main(suite); \
		*(shared) = killed_map(arguments[1], sizeof(**(shared))); \
		if (*(shared)) \
			child(); \
		return 1; \
	}

#endif
