/* The threads of os.h. Windows has neither signals nor a limit of files' sizes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "base/os/windows/win32.h"

#define NS_PER_MS 1000000

uint32_t os_thread_id(void)
{
	return GetCurrentThreadId();
}

/* GetThreadDescription and SetThreadDescription. Windows 10 has them from version 1607 on, and not all versions of
 * MinGW's headers declare them. */
static HRESULT(WINAPI *get_description)(HANDLE thread, wchar_t **name);
static HRESULT(WINAPI *set_description)(HANDLE thread, const wchar_t *name);

static void find_descriptions(void)
{
	HMODULE kernel = GetModuleHandleW(L"kernel32.dll");
	FARPROC get = kernel ? GetProcAddress(kernel, "GetThreadDescription") : NULL;
	FARPROC set = kernel ? GetProcAddress(kernel, "SetThreadDescription") : NULL;
	memcpy(&get_description, &get, sizeof(get));
	memcpy(&set_description, &set, sizeof(set));
}

static pthread_once_t descriptions = PTHREAD_ONCE_INIT;

/* Gets the name that SetThreadDescription has set, shortened to whole characters. */
static void name_of(HANDLE thread, char name[OS_THREAD_NAME_BYTES])
{
	char full_name[256];
	wchar_t *wide = NULL;
	pthread_once(&descriptions, find_descriptions);
	name[0] = '\0';
	if (!get_description || FAILED(get_description(thread, &wide)))
		return;
	if (windows_narrow(wide, full_name, sizeof(full_name))) {
		size_t bytes = strnlen(full_name, OS_THREAD_NAME_BYTES - 1);
		while (bytes && (full_name[bytes] & 0xc0) == 0x80)
			bytes--;
		memcpy(name, full_name, bytes);
		name[bytes] = '\0';
	}
	LocalFree(wide);
}

int libc_setname(pthread_t thread, const char *name)
{
	pthread_once(&descriptions, find_descriptions);
	wchar_t *wide = set_description ? windows_wide(name) : NULL;
	int error = wide && SUCCEEDED(set_description((HANDLE)pthread_gethandle(thread), wide)) ? 0 : ENOSYS;
	free(wide);
	return error;
}

/* Does not use pthread_getname_np: winpthreads holds a lock of its own while it calls the destructors of a thread's
 * keys, and that function takes it. */
void os_thread_name(char name[OS_THREAD_NAME_BYTES])
{
	name_of(GetCurrentThread(), name);
}

bool os_thread_name_of(uint32_t thread_id, char name[OS_THREAD_NAME_BYTES])
{
	HANDLE thread = OpenThread(THREAD_QUERY_LIMITED_INFORMATION, FALSE, thread_id);
	name[0] = '\0';
	if (!thread)
		return false;
	/* A thread that has ended keeps its number while a handle of it is open. */
	DWORD status;
	bool is_there = GetProcessIdOfThread(thread) == GetCurrentProcessId() && GetExitCodeThread(thread, &status) &&
	                status == STILL_ACTIVE;
	if (is_there)
		name_of(thread, name);
	CloseHandle(thread);
	return is_there;
}

/* Returns an empty name: on Windows, the main thread does not get the name of the program by default. */
bool os_thread_name_of_main(char name[OS_THREAD_NAME_BYTES])
{
	name[0] = '\0';
	return true;
}

bool os_thread_faults(uint64_t *faults)
{
	(void)faults;
	return false;
}

bool os_thread_faults_of(uint32_t thread_id, uint64_t *faults)
{
	(void)thread_id, (void)faults;
	return false;
}

void os_thread_park(uint32_t *word, int64_t ns)
{
	uint32_t asleep = 0;
	int64_t ms = ns / NS_PER_MS + (ns % NS_PER_MS != 0);
	WaitOnAddress(word, &asleep, sizeof(*word), ns < 0 || ms >= INFINITE ? INFINITE : (DWORD)ms);
}

void os_thread_unpark(uint32_t *word)
{
	WakeByAddressSingle(word);
}

uint32_t os_thread_processor(void)
{
	return GetCurrentProcessorNumber();
}

void os_thread_avoid_processor(uint32_t processor)
{
	(void)processor;
}

void os_thread_avoid_no_processor(void)
{
}

void os_thread_reduce_latency(void)
{
	SetThreadPriority(GetCurrentThread(), THREAD_PRIORITY_ABOVE_NORMAL);
}

/* Condition variables of winpthreads use the time of day, so a wait becomes longer or shorter if the system's time is
 * set meanwhile. */
clockid_t os_wait_clock(void)
{
	return CLOCK_REALTIME;
}

bool os_thread_join(pthread_t thread, uint64_t ns)
{
	uint64_t ms = ns / NS_PER_MS + 1;
	HANDLE handle = (HANDLE)pthread_gethandle(thread);
	return WaitForSingleObject(handle, ms < INFINITE ? (DWORD)ms : INFINITE) == WAIT_OBJECT_0 &&
	       pthread_join(thread, NULL) == 0;
}

void os_thread_pause(uint32_t ns)
{
	Sleep(ns / NS_PER_MS + (ns % NS_PER_MS != 0));
}

void os_thread_sleep_until(int64_t monotonic_ns)
{
	struct timespec now;
	int64_t rest;
	while (clock_gettime(CLOCK_MONOTONIC, &now) == 0 &&
	       (rest = monotonic_ns - (int64_t)now.tv_sec * 1000 * NS_PER_MS - now.tv_nsec) > 0)
		Sleep(rest / NS_PER_MS < 1000 ? (DWORD)(rest / NS_PER_MS) + 1 : 1000);
}

void os_thread_barrier_setup(void)
{
}

bool os_thread_barrier(void)
{
	FlushProcessWriteBuffers();
	return true;
}

void os_signals_block(struct os_signals *before)
{
	(void)before;
}

void os_signals_restore(const struct os_signals *before)
{
	(void)before;
}

void os_size_limit_hold(struct os_signals *before)
{
	(void)before;
}

void os_size_limit_release(const struct os_signals *before, int error)
{
	(void)before, (void)error;
}
