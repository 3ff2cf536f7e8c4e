/* Clock pairs: simultaneous readings of two clocks, arithmetic of ticks, and the choice of pairs for a fit.  Part of
 * clock_fit.h. */
#ifndef EPPROF_CLOCK_PAIRS_H
#define EPPROF_CLOCK_PAIRS_H

#include <stddef.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 clock_fit_u128;

/* At host time `host` +- half_width (host ticks), the device's counter was at `device`. */
struct clock_pair {
	uint64_t device;
	uint64_t host;
	uint64_t half_width;
};

/* Returns the pair of a reading of the device's counter between two readings of the host's clock. */
static inline struct clock_pair clock_pair_of_bracket(uint64_t device, uint64_t host_before, uint64_t host_after)
{
	uint64_t width = host_after - host_before;
	return (struct clock_pair){ device, host_before + width / 2, width - width / 2 };
}

/* a * b / c, saturated. */
static inline uint64_t clock_fit_scale(uint64_t a, uint64_t b, uint64_t c)
{
	clock_fit_u128 result = (clock_fit_u128)a * b / (c ? c : 1);
	return result >> 64 ? UINT64_MAX : (uint64_t)result;
}

static inline uint64_t clock_fit_add(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static inline uint64_t clock_fit_distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Orders by host time; at equal times, the smaller half-width comes first. */
static inline int clock_pair_before(const struct clock_pair *a, const struct clock_pair *b)
{
	return a->host != b->host ? a->host < b->host : a->half_width < b->half_width;
}

static inline void clock_pair_sift(struct clock_pair *pairs, size_t root, size_t count)
{
	for (size_t child; (child = 2 * root + 1) < count; root = child) {
		if (child + 1 < count && clock_pair_before(&pairs[child], &pairs[child + 1]))
			child++;
		if (!clock_pair_before(&pairs[root], &pairs[child]))
			return;
		struct clock_pair swap = pairs[root];
		pairs[root] = pairs[child];
		pairs[child] = swap;
	}
}

/* Sorts pairs by host time and keeps the narrowest one of each 100 ms, the first and the last.  Returns the number
 * kept. */
static inline size_t clock_fit_prepare(struct clock_pair *pairs, size_t count, uint64_t host_per_second)
{
	size_t sorted = 1;
	while (sorted < count && !clock_pair_before(&pairs[sorted], &pairs[sorted - 1]))
		sorted++;
	if (sorted < count) {
		for (size_t root = count / 2; root-- > 0;)
			clock_pair_sift(pairs, root, count);
		for (size_t end = count; end-- > 1;) {
			struct clock_pair swap = pairs[0];
			pairs[0] = pairs[end];
			pairs[end] = swap;
			clock_pair_sift(pairs, 0, end);
		}
	}
	uint64_t interval = host_per_second >= 10 ? host_per_second / 10 : 1;
	/* The first interval has half the length, so that pairs read every 100 ms are in the middle of their
	 * intervals. */
	uint64_t origin = count ? pairs[0].host - interval / 2 : 0;
	size_t kept = 0;
	for (size_t i = 0; i < count;) {
		uint64_t number = (pairs[i].host - origin) / interval;
		size_t best = i;
		size_t next = i + 1;
		for (; next < count && (pairs[next].host - origin) / interval == number; next++) {
			if (pairs[next].half_width < pairs[best].half_width)
				best = next;
		}
		/* Pairs only move to the left of their old index, so unread ones are not overwritten. */
		if (i == 0 && best != 0)
			kept++;
		struct clock_pair last = pairs[next - 1];
		pairs[kept++] = pairs[best];
		if (next == count && last.host != pairs[kept - 1].host)
			pairs[kept++] = last;
		i = next;
	}
	return kept;
}

#endif
