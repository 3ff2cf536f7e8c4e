/* The file through which plugins/failing_malloc.so and the test that preloads it communicate. */
#ifndef EPPROF_TESTS_FAILING_MALLOC_H
#define EPPROF_TESTS_FAILING_MALLOC_H

#include <stdint.h>

#define FAILING_MALLOC_STACKS (1u << 18)

struct failing_malloc {
	uint64_t first, last;                   /* these allocations fail, counted from 1 */
	uint64_t observe;                       /* 1: fill in `stacks` */
	uint64_t count;                         /* allocations so far */
	uint32_t stacks[FAILING_MALLOC_STACKS]; /* for each allocation a hash of its callers */
};

#endif
