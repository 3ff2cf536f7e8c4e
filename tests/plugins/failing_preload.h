/* What the preloaded libraries failing_malloc and failing_calls share.  FAILING names a file that contains a struct
 * failing: which calls fail, and room for observations. */
#ifndef EPPROF_TESTS_PLUGINS_FAILING_PRELOAD_H
#define EPPROF_TESTS_PLUGINS_FAILING_PRELOAD_H

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "failing.h"

#define EXPORT __attribute__((visibility("default")))
#define CALLERS 10

/* The next library's function of this name. */
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

EXPORT void failing_now(void);
EXPORT void failing_pause(bool pause);

static struct failing *shared;
static __thread bool is_observing, is_paused;

static bool is_in(const struct failing_range *ranges, void *address)
{
	for (int i = 0; i < FAILING_RANGES; i++) {
		if ((uintptr_t)address >= ranges[i].from && (uintptr_t)address < ranges[i].to)
			return true;
	}
	return false;
}

/* Returns a hash of the functions on the stack, 0 if the call is none of those that fail or count; within a process the
 * same functions give the same number. */
static uint32_t stack_number(void)
{
	void *callers[CALLERS + 2];
	uint64_t number = 0;
	bool is_called = !shared->callers[0].to;

	is_observing = true;
	int count = backtrace(callers, CALLERS + 2);
	is_observing = false;
	for (int i = is_called ? 2 : 0; i < count; i++) {
		if (!is_called && is_in(shared->between, callers[i]))
			continue;
		if (!is_called && !is_in(shared->callers, callers[i]))
			return 0;
		is_called = true;
		number = (number ^ (uintptr_t)callers[i]) * 0x9E3779B97F4A7C15u;
	}
	return is_called ? (uint32_t)(number >> 32) | 1 : 0;
}

/* Called at each failure, as a place for a breakpoint: break failing_now */
EXPORT __attribute__((noinline)) void failing_now(void)
{
	__asm__ volatile("");
}

/* Found with dlsym: until failing_pause(false), no call of this thread fails or counts. */
EXPORT void failing_pause(bool pause)
{
	is_paused = pause;
}

/* Counts a call of `caller`; true, and errno is set, if it fails. */
static bool fails_from(void *caller, int error)
{
	uint32_t stack = 0;

	if (!shared || is_observing || is_paused)
		return false;
	/* Most calls of a large process end here. */
	if (shared->callers[0].to && !is_in(shared->callers, caller) && !is_in(shared->between, caller))
		return false;
	if ((shared->observe || shared->callers[0].to) && !(stack = stack_number()))
		return false;
	uint64_t number = __atomic_add_fetch(&shared->count, 1, __ATOMIC_RELAXED);
	if (stack && number <= FAILING_STACKS)
		shared->stacks[number - 1] = stack;
	if (number < shared->first || number > shared->last)
		return false;
	failing_now();
	errno = error;
	return true;
}

#define fails(error) fails_from(__builtin_return_address(0), error)

__attribute__((constructor)) static void init(void)
{
	const char *path = getenv("FAILING");
	void *caller;

	if (!path)
		return;
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		abort();
	struct failing *map = mmap(NULL, sizeof *map, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		abort();
	if (map->observe)
		backtrace(&caller, 1); /* the first call of backtrace loads a library */
	shared = map;
}

#endif
