/* Whether two traces are of the same boot, and whether their CLOCK_MONOTONIC has the same zero. */
#ifndef EPPROF_RUNTIME_MERGE_SAME_CLOCK_H
#define EPPROF_RUNTIME_MERGE_SAME_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "trace/reader.h"

/* A smaller number (before 2001) is not taken as a Unix time, because imported traces count from 0. */
#define UNIX_NS_LEAST 1000000000000000000
/* If the differences between CLOCK_REALTIME and CLOCK_MONOTONIC of two traces differ by more than this, their
 * CLOCK_MONOTONIC do not have the same zero, for example because of a container with a time namespace. */
#define SAME_ZERO_NS 1000000000

static inline bool same_boot(const struct reader *a, const struct reader *b)
{
	static const uint8_t unknown[sizeof(a->header.source.boot_id)];

	return memcmp(a->header.source.boot_id, unknown, sizeof(unknown)) != 0 &&
	       memcmp(a->header.source.boot_id, b->header.source.boot_id, sizeof(unknown)) == 0;
}

/* Returns the absolute difference of two times, at most INT64_MAX. */
static inline int64_t distance(int64_t a, int64_t b)
{
	int64_t difference;

	if (__builtin_sub_overflow(a, b, &difference) || difference == INT64_MIN)
		return INT64_MAX;
	return difference < 0 ? -difference : difference;
}

static inline int64_t realtime_offset(const struct epf_host_pair *pair)
{
	int64_t offset;

	return __builtin_sub_overflow(pair->realtime_ns, pair->monotonic_ns, &offset) ? INT64_MAX : offset;
}

#endif
