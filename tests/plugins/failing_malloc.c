/* Preloaded into a program, makes selected allocations fail: malloc, calloc, realloc and the aligned ones; libc's own
 * strdup, asprintf, reallocarray and so on call these.  FAILING_MALLOC names a file that contains a struct
 * failing_malloc: which allocations fail, and room for observations. */
#include "failing_malloc.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define CALLERS 10

EXPORT void *malloc(size_t bytes);
EXPORT void *calloc(size_t count, size_t bytes);
EXPORT void *realloc(void *old, size_t bytes);
EXPORT void *aligned_alloc(size_t alignment, size_t bytes);
EXPORT void failing_malloc_now(void);
EXPORT int posix_memalign(void **result, size_t alignment, size_t bytes);

static struct failing_malloc *shared;
static __thread bool is_observing;

/* Returns a hash of the functions on the stack; within a process the same functions give the same number. */
static uint32_t stack_number(void)
{
	void *callers[CALLERS + 2];
	uint64_t number = 0;

	is_observing = true;
	int count = backtrace(callers, CALLERS + 2);
	is_observing = false;
	for (int i = 2; i < count; i++)
		number = (number ^ (uintptr_t)callers[i]) * 0x9E3779B97F4A7C15u;
	return (uint32_t)(number >> 32);
}

/* Called at each failure, as a place for a breakpoint: break failing_malloc_now */
EXPORT __attribute__((noinline)) void failing_malloc_now(void)
{
	errno = ENOMEM;
}

static bool fails(void)
{
	if (!shared || is_observing)
		return false;
	uint64_t number = __atomic_add_fetch(&shared->count, 1, __ATOMIC_RELAXED);
	if (shared->observe && number <= FAILING_MALLOC_STACKS)
		shared->stacks[number - 1] = stack_number();
	if (number < shared->first || number > shared->last)
		return false;
	failing_malloc_now();
	return true;
}

/* The next library's function of this name. */
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

void *malloc(size_t bytes)
{
	static __typeof__(&malloc) next;

	if (!next)
		next = NEXT(malloc);
	return fails() ? NULL : next(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	static __typeof__(&calloc) next;

	if (!next)
		next = NEXT(calloc);
	return fails() ? NULL : next(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
	static __typeof__(&realloc) next;

	if (!next)
		next = NEXT(realloc);
	return fails() ? NULL : next(old, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	static __typeof__(&aligned_alloc) next;

	if (!next)
		next = NEXT(aligned_alloc);
	return fails() ? NULL : next(alignment, bytes);
}

int posix_memalign(void **result, size_t alignment, size_t bytes)
{
	static __typeof__(&posix_memalign) next;

	if (!next)
		next = NEXT(posix_memalign);
	return fails() ? ENOMEM : next(result, alignment, bytes);
}

__attribute__((constructor)) static void init(void)
{
	const char *path = getenv("FAILING_MALLOC");
	void *caller;

	if (!path)
		return;
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		abort();
	struct failing_malloc *map = mmap(NULL, sizeof *map, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		abort();
	if (map->observe)
		backtrace(&caller, 1); /* the first call of backtrace loads a library */
	shared = map;
}
