/* The file through which plugins/failing_malloc.so or plugins/failing_calls.so and the test that preloads it
 * communicate. */
#ifndef EPPROF_TESTS_PLUGINS_FAILING_H
#define EPPROF_TESTS_PLUGINS_FAILING_H

#include <stdint.h>

#define FAILING_STACKS (1u << 18)
#define FAILING_RANGES 4

/* Addresses of code; all zero: none. */
struct failing_range {
	uint64_t from, to;
};

struct failing {
	uint64_t first, last; /* these calls fail, counted from 1 */
	uint64_t observe;     /* 1: fill in `stacks` */
	uint64_t is_short;    /* 1: no call fails, but each read and write transfers only half of its bytes */
	uint64_t count;       /* calls so far */
	/* If `callers` names any: only calls from them fail or count, directly or through `between`. */
	struct failing_range callers[FAILING_RANGES], between[FAILING_RANGES];
	uint32_t stacks[FAILING_STACKS]; /* for each call a hash of its callers */
};

#endif
