/* The system and the compiler: everything that differs between Linux, Windows and macOS, and between C11 and C++17.
 * Included first, because it defines the feature macros of the C library.
 *
 *   KIT_ATOMIC(type)        a type for the functions of <stdatomic.h>, which have the same names in C and in C++
 *   KIT_THREAD_LOCAL        a variable of each thread, with a constant initialiser and without a destructor
 *   KIT_ZERO                the initialiser of a struct without values
 *   KIT_NOEXCEPT            for functions that ONNX Runtime calls
 *   KIT_NOINLINE, kit_likely   speed alone
 *
 * Thread: all functions [any-thread].  Errors: none; if a system does not have a feature, the function returns the
 * documented default. */
#ifndef EPPROF_EP_KIT_SYSTEM_H
#define EPPROF_EP_KIT_SYSTEM_H

#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE 1
#endif

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- the compiler ---- */

#ifdef __cplusplus
#include <atomic>
#define KIT_ATOMIC(type) std::atomic<type>
#define KIT_THREAD_LOCAL thread_local
#define KIT_ZERO \
	{ \
	}
#define KIT_NOEXCEPT noexcept
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;
#else
#ifdef __STDC_NO_ATOMICS__
#error "this C compiler has no <stdatomic.h>: compile ep_kit.c as C++17, with /TP /std:c++17 in MSVC"
#endif
#include <stdatomic.h>
#define KIT_ATOMIC(type) _Atomic(type)
#ifdef _MSC_VER
#define KIT_THREAD_LOCAL __declspec(thread)
#else
#define KIT_THREAD_LOCAL _Thread_local
#endif
#define KIT_ZERO \
	{ \
		0 \
	}
#define KIT_NOEXCEPT
#endif

#if defined(__GNUC__)
#define KIT_NOINLINE __attribute__((noinline))
#define kit_likely(condition) __builtin_expect(!!(condition), 1)
#else
#define KIT_NOINLINE __declspec(noinline)
#define kit_likely(condition) (condition)
#endif

/* A DLL exports only functions that are marked, so functions must be hidden only on other systems. */
#ifndef EPP_EP_API
#if defined(__GNUC__) && !defined(_WIN32)
#define EPP_EP_API __attribute__((visibility("hidden")))
#else
#define EPP_EP_API
#endif
#endif

/* ---- the system ---- */

/* Returns the id of this process. */
static inline uint64_t system_process_id(void);

/* Returns the operating system's id of this thread. */
static inline uint64_t system_thread_id(void);

/* Returns false if the thread with this id has ended.  If a new thread has the same id, returns true.  `process_id` is
 * the id of the calling process. */
static inline bool system_thread_lives(uint64_t process_id, uint64_t thread_id);

/* Returns the time in ns of a clock that does not jump, the one of ONNX Runtime's steady_clock: CLOCK_MONOTONIC on
 * Linux. */
static inline uint64_t system_clock_ns(void);

/* Returns the time in ns of the clock of ONNX Runtime's correlation ids, which is C++'s high_resolution_clock.  On
 * Linux it counts from 1970; on other systems it is the clock of system_clock_ns. */
static inline uint64_t system_correlation_clock_ns(void);

/* Lets other threads run. */
static inline void system_yield(void);

/* Waits for about 20 us, or for the shortest time that the system supports. */
static inline void system_pause(void);

/* A pointer to a function of any type; it is converted before the call. */
typedef void (*system_function)(void);

/* Returns the function `symbol` of a loaded library whose file name begins with `file`; NULL if there is none.  On
 * Windows the file's name must be `file` with ".dll"; on other systems than these and Linux always returns NULL. */
static inline system_function system_library_function(const char *file, const char *symbol);

#ifdef _WIN32

#ifndef _WIN64
#error "ONNX Runtime's calling convention is declared for 64 bits only"
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <stdio.h>
#include <string.h>
#include <windows.h>

static inline uint64_t system_process_id(void)
{
	return GetCurrentProcessId();
}

static inline uint64_t system_thread_id(void)
{
	return GetCurrentThreadId();
}

static inline bool system_thread_lives(uint64_t process_id, uint64_t thread_id)
{
	(void)process_id;
	HANDLE thread = OpenThread(SYNCHRONIZE, FALSE, (DWORD)thread_id);
	if (!thread)
		return GetLastError() != ERROR_INVALID_PARAMETER;
	bool lives = WaitForSingleObject(thread, 0) != WAIT_OBJECT_0;
	CloseHandle(thread);
	return lives;
}

static inline uint64_t system_clock_ns(void)
{
	LARGE_INTEGER count, per_second;
	QueryPerformanceFrequency(&per_second);
	QueryPerformanceCounter(&count);
	uint64_t ticks = (uint64_t)count.QuadPart, rate = (uint64_t)per_second.QuadPart;
	return ticks / rate * 1000000000u + ticks % rate * 1000000000u / rate;
}

static inline uint64_t system_correlation_clock_ns(void)
{
	return system_clock_ns();
}

static inline void system_yield(void)
{
	SwitchToThread();
}

static inline void system_pause(void)
{
	Sleep(1);
}

static inline system_function system_library_function(const char *file, const char *symbol)
{
	char name[64];
	HMODULE library;
	system_function function = NULL;
	snprintf(name, sizeof(name), "%s.dll", file);
	if (!GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_PIN, name, &library))
		return NULL;
	FARPROC found = GetProcAddress(library, symbol);
	memcpy(&function, &found, sizeof(function));
	return function;
}

#else

#include <errno.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

static inline uint64_t system_process_id(void)
{
	return (uint64_t)getpid();
}

static inline uint64_t system_timespec_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline void system_yield(void)
{
	sched_yield();
}

static inline void system_pause(void)
{
	struct timespec pause = KIT_ZERO;
	pause.tv_nsec = 20000;
	nanosleep(&pause, NULL);
}

#ifdef __APPLE__

#include <libproc.h>
#include <pthread.h>

static inline uint64_t system_thread_id(void)
{
	uint64_t id = 0;
	pthread_threadid_np(NULL, &id);
	return id;
}

static inline bool system_thread_lives(uint64_t process_id, uint64_t thread_id)
{
	struct proc_threadinfo info;
	return proc_pidinfo((int)process_id, PROC_PIDTHREADID64INFO, thread_id, &info, sizeof(info)) > 0 || errno != ESRCH;
}

static inline uint64_t system_clock_ns(void)
{
	return system_timespec_ns(CLOCK_MONOTONIC_RAW);
}

static inline uint64_t system_correlation_clock_ns(void)
{
	return system_clock_ns();
}

static inline system_function system_library_function(const char *file, const char *symbol)
{
	(void)file;
	(void)symbol;
	return NULL;
}

#else

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/syscall.h>

#define SYSTEM_PATH_BYTES 4096u

static inline uint64_t system_thread_id(void)
{
	return (uint64_t)syscall(SYS_gettid);
}

static inline bool system_thread_lives(uint64_t process_id, uint64_t thread_id)
{
	return syscall(SYS_tgkill, (pid_t)process_id, (pid_t)thread_id, 0) == 0 || errno != ESRCH;
}

static inline uint64_t system_clock_ns(void)
{
	return system_timespec_ns(CLOCK_MONOTONIC);
}

static inline uint64_t system_correlation_clock_ns(void)
{
	return system_timespec_ns(CLOCK_REALTIME);
}

struct system_library {
	const char *file;
	char path[SYSTEM_PATH_BYTES];
};

static inline int system_library_look(struct dl_phdr_info *info, size_t bytes, void *user)
{
	struct system_library *library = (struct system_library *)user;
	const char *path = info->dlpi_name, *slash = path ? strrchr(path, '/') : NULL;
	const char *file = slash ? slash + 1 : path;
	size_t length = path ? strlen(path) : 0;
	(void)bytes;
	if (!file || strncmp(file, library->file, strlen(library->file)) != 0 || length >= SYSTEM_PATH_BYTES)
		return 0;
	memcpy(library->path, path, length + 1);
	return 1;
}

static inline system_function system_library_function(const char *file, const char *symbol)
{
	struct system_library library = KIT_ZERO;
	system_function function = NULL;
	library.file = file;
	dl_iterate_phdr(system_library_look, &library);
	void *loaded = library.path[0] ? dlopen(library.path, RTLD_NOW | RTLD_NOLOAD) : NULL;
	if (!loaded)
		return NULL;
	void *address = dlsym(loaded, symbol);
	memcpy(&function, &address, sizeof(function));
	dlclose(loaded);
	return function;
}

#endif
#endif
#endif
