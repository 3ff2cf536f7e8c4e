/* Computes when ONNX Runtime's profile began, from its events.
 *
 * ONNX Runtime computes StartProfiling's offset before the call arrives.  If the thread is preempted in between, or
 * loads a page, all device events would be placed too early by that delay.  An event's correlation id is its start
 * since the epoch, and its timestamp is its start since the beginning of the profile: the difference is the
 * wall-clock time of the beginning, exact to a microsecond.
 * If a host uses other ids, the computed beginning is out of bounds, and the offset is used unchanged.
 */
#ifndef EPPROF_KIT_PROFILE_START_H
#define EPPROF_KIT_PROFILE_START_H

#include <time.h>

#include "kit.h"

#define KIT_UNIX_TRIES 3
#define KIT_LATE_MAX_NS 10000000000

/* Called in StartProfiling: reads wall-clock time against the host's clock a few times, and uses the reading with
 * the narrowest bracket. */
static void kit_profile_start(struct kit *kit)
{
	uint64_t narrowest = UINT64_MAX, before = kit_host_ticks(kit);
	atomic_store_explicit(&kit->profile_us, 0, memory_order_relaxed);
	for (int i = 0; i < KIT_UNIX_TRIES; i++) {
		struct timespec now;
		clock_gettime(CLOCK_REALTIME, &now);
		uint64_t after = kit_host_ticks(kit), unix_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
		if (after - before < narrowest) {
			narrowest = after - before;
			kit->to_unix_ns = (int64_t)(unix_ns - (before + narrowest / 2));
		}
		before = after;
	}
}

static inline void kit_profile_start_learn(struct kit *kit, uint64_t id, int64_t start_us)
{
	atomic_store_explicit(&kit->profile_us, (int64_t)(id - (uint64_t)start_us), memory_order_relaxed);
}

/* Returns the age of the offset when StartProfiling began, as far as a resolution of a microsecond shows it. */
static int64_t kit_profile_start_late_ns(const struct kit *kit)
{
	int64_t profile_us = atomic_load_explicit(&kit->profile_us, memory_order_relaxed), profile_ns, late_ns;
	int64_t start_unix_ns = (int64_t)kit->start_ns + kit->to_unix_ns;
	if (!profile_us || __builtin_mul_overflow(profile_us, 1000, &profile_ns) ||
	    __builtin_sub_overflow(start_unix_ns, profile_ns, &late_ns) ||
	    __builtin_sub_overflow(late_ns, kit->offset_ns, &late_ns))
		return 0;
	return late_ns > 1000 && late_ns <= KIT_LATE_MAX_NS ? late_ns : 0;
}

#endif
