/* What plugins/failing_malloc.so and the test that preloads it share through a file. */
#ifndef EPPROF_TESTS_FAILING_MALLOC_H
#define EPPROF_TESTS_FAILING_MALLOC_H

#include <stdint.h>

#define FAILING_MALLOC_STACKS (1u << 18)

struct failing_malloc {
	uint64_t first, last;                   /* these allocations fail, counted from 1 */
	uint64_t observe;                       /* whether `stacks` is wanted */
	uint64_t count;                         /* allocations so far */
	uint32_t stacks[FAILING_MALLOC_STACKS]; /* of each allocation a number for its callers */
};

#endif
