/* Preloaded into a program: makes allocations of one library fail, those that its own code or libstdc++ on its behalf
 * asks for.
 *
 *   failing_library("libx.so");   from then on allocations are counted; false if the library is not loaded
 *   failing_arm(5, 5);            counts from 1 again; the fifth one fails
 *   failing_arm(5, UINT64_MAX);   the fifth one and all after it
 *   failing_count();              since failing_arm
 *   failing_stack(5);             a hash of the callers of the fifth one */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define STACKS 65536
#define CALLERS 12
#define EXPORT __attribute__((visibility("default")))
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

struct range {
	uintptr_t from, to;
};

static struct range library, skipped[3]; /* skipped: between the library and an allocation */
static uint64_t count, first, last;
static uint32_t stacks[STACKS];
static bool is_on;
static __thread bool is_inside;

static bool is_in(const struct range *range, void *address)
{
	return (uintptr_t)address >= range->from && (uintptr_t)address < range->to;
}

static int take_range(struct dl_phdr_info *info, size_t bytes, void *name)
{
	static const char *const names[] = { "libc.so", "libstdc++.so", "failing_bridge.so" };
	struct range range = { UINTPTR_MAX, 0 };

	(void)bytes;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, to = from + info->dlpi_phdr[i].p_memsz;
		if (info->dlpi_phdr[i].p_type != PT_LOAD)
			continue;
		range.from = from < range.from ? from : range.from;
		range.to = to > range.to ? to : range.to;
	}
	for (int i = 0; i < 3; i++)
		if (strstr(info->dlpi_name, names[i]))
			skipped[i] = range;
	if (strstr(info->dlpi_name, name))
		library = range;
	return 0;
}

EXPORT int failing_library(const char *name)
{
	void *warm_up[2];

	backtrace(warm_up, 2); /* it allocates the first time */
	library = (struct range){ 0 };
	dl_iterate_phdr(take_range, (void *)(uintptr_t)name);
	return library.to != 0;
}

EXPORT void failing_arm(uint64_t from, uint64_t to)
{
	first = from;
	last = to;
	__atomic_store_n(&count, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&is_on, true, __ATOMIC_SEQ_CST);
}

EXPORT uint64_t failing_count(void)
{
	__atomic_store_n(&is_on, false, __ATOMIC_SEQ_CST);
	return count;
}

EXPORT uint32_t failing_stack(uint64_t number)
{
	return number && number <= STACKS ? stacks[number - 1] : 0;
}

/* Returns true if the library asks for memory, with a hash of the callers. */
static bool is_of_library(uint32_t *hash)
{
	void *callers[CALLERS];
	bool is_found = false;
	uint64_t number = 0;

	is_inside = true;
	int depth = backtrace(callers, CALLERS);
	is_inside = false;
	for (int i = 0; i < depth; i++) {
		if (!is_found &&
		    (is_in(&skipped[0], callers[i]) || is_in(&skipped[1], callers[i]) || is_in(&skipped[2], callers[i])))
			continue;
		if (!is_found && !is_in(&library, callers[i]))
			return false;
		is_found = true;
		number = (number ^ (uintptr_t)callers[i]) * 0x9E3779B97F4A7C15u;
	}
	*hash = (uint32_t)(number >> 32);
	return is_found;
}

static bool fails(void)
{
	uint32_t hash;

	if (!__atomic_load_n(&is_on, __ATOMIC_RELAXED) || is_inside || !is_of_library(&hash))
		return false;
	uint64_t number = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
	if (number <= STACKS)
		stacks[number - 1] = hash;
	return number >= first && number <= last;
}

EXPORT void *malloc(size_t bytes)
{
	static __typeof__(&malloc) next;

	if (!next)
		next = NEXT(malloc);
	if (!fails())
		return next(bytes);
	errno = ENOMEM;
	return NULL;
}

EXPORT void *calloc(size_t members, size_t bytes)
{
	static __typeof__(&calloc) next;

	if (!next)
		next = NEXT(calloc);
	if (!fails())
		return next(members, bytes);
	errno = ENOMEM;
	return NULL;
}

EXPORT void *realloc(void *old, size_t bytes)
{
	static __typeof__(&realloc) next;

	if (!next)
		next = NEXT(realloc);
	if (!fails())
		return next(old, bytes);
	errno = ENOMEM;
	return NULL;
}
