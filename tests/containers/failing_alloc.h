/* Allocations that fail on demand, for the unit test of a container.  The test includes this header and then the
 * container's C files, whose functions it so links in place of the library's. */
#ifndef EPPROF_TESTS_CONTAINERS_FAILING_ALLOC_H
#define EPPROF_TESTS_CONTAINERS_FAILING_ALLOC_H

#include <stdlib.h>

/* How many allocations succeed before all others fail; negative: all succeed. */
static int allocs_left = -1;

static inline int alloc_fails(void)
{
	if (allocs_left > 0)
		allocs_left--;
	else if (!allocs_left)
		return 1;
	return 0;
}

static inline void *failing_calloc(size_t count, size_t bytes)
{
	return alloc_fails() ? NULL : calloc(count, bytes);
}

static inline void *failing_reallocarray(void *array, size_t count, size_t bytes)
{
	return alloc_fails() ? NULL : reallocarray(array, count, bytes);
}

#define calloc(count, bytes) failing_calloc(count, bytes)
#define reallocarray(array, count, bytes) failing_reallocarray(array, count, bytes)

#endif
