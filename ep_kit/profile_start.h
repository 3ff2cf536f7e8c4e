/* Computes the begin of ONNX Runtime's profile from its events.
 *
 * ONNX Runtime computes the offset for StartProfiling before it calls the kit.  If the thread is preempted in between,
 * or has a page fault, all device events would be placed too early by that delay.  An event's correlation id is its
 * start on a clock of the system, and its timestamp is its start since the beginning of the profile: the difference is
 * the begin of the profile on that clock, exact to a microsecond.
 * If a host uses other ids, the computed begin is out of bounds, and the offset is used unchanged. */
#ifndef EPPROF_EP_KIT_PROFILE_START_H
#define EPPROF_EP_KIT_PROFILE_START_H

#include "kit.h"

#define KIT_CORRELATION_TRIES 3
#define KIT_LATE_MAX_NS UINT64_C(10000000000)

/* Called in StartProfiling: reads the clock of correlation ids against the host's clock a few times, and uses the
 * reading with the narrowest bracket. */
static void kit_profile_start(struct kit *kit)
{
	uint64_t narrowest = UINT64_MAX, before = kit_host_ticks(kit);
	atomic_store_explicit(&kit->profile_us, 0, memory_order_relaxed);
	for (int i = 0; i < KIT_CORRELATION_TRIES; i++) {
		uint64_t now = system_correlation_clock_ns(), after = kit_host_ticks(kit);
		if (after - before < narrowest) {
			narrowest = after - before;
			kit->to_correlation_ns = (int64_t)(now - (before + narrowest / 2));
		}
		before = after;
	}
}

static inline void kit_profile_start_learn(struct kit *kit, uint64_t id, int64_t start_us)
{
	atomic_store_explicit(&kit->profile_us, (int64_t)(id - (uint64_t)start_us), memory_order_relaxed);
}

/* Returns how long before the call of StartProfiling ONNX Runtime computed the offset, with a resolution of a
 * microsecond; 0 if this is unknown or out of bounds. */
static int64_t kit_profile_start_late_ns(const struct kit *kit)
{
	int64_t profile_us = atomic_load_explicit(&kit->profile_us, memory_order_relaxed);
	if (profile_us <= 0 || profile_us > INT64_MAX / 1000)
		return 0;
	/* The arithmetic is modulo 2^64: a result that is out of range wraps to a number that is out of bounds. */
	uint64_t start_ns = kit->start_ns + (uint64_t)kit->to_correlation_ns;
	uint64_t late_ns = start_ns - (uint64_t)profile_us * 1000 - (uint64_t)kit->offset_ns;
	return late_ns > 1000 && late_ns <= KIT_LATE_MAX_NS ? (int64_t)late_ns : 0;
}

#endif
