/* Clock pairs, which are simultaneous readings of the device's and the host's clock.  Functions to create pairs, to
 * compute with their ticks, and to choose the pairs that a fit uses.  Part of clock_fit.h. */
#ifndef EPPROF_EP_KIT_CLOCK_PAIRS_H
#define EPPROF_EP_KIT_CLOCK_PAIRS_H

#include <stddef.h>
#include <stdint.h>

/* A clock pair: when the host's clock was `host` +- half_width (host ticks), the device's counter was `device`. */
struct clock_pair {
	uint64_t device;
	uint64_t host;
	uint64_t half_width;
};

/* Returns the pair for a reading of the device's counter between two readings of the host's clock. */
static inline struct clock_pair clock_pair_of_bracket(uint64_t device, uint64_t host_before, uint64_t host_after)
{
	uint64_t width = host_after - host_before;
	struct clock_pair pair = { device, host_before + width / 2, width - width / 2 };
	return pair;
}

/* Products of 128 bits.  32-bit targets have no __int128; EPPROF_NO_INT128 selects their code on any target. */
#if defined(__SIZEOF_INT128__) && !defined(EPPROF_NO_INT128)
__extension__ typedef unsigned __int128 clock_fit_u128;

/* Returns the low half of a * b and sets `*high` to the high half. */
static inline uint64_t clock_fit_multiply(uint64_t a, uint64_t b, uint64_t *high)
{
	clock_fit_u128 product = (clock_fit_u128)a * b;
	*high = (uint64_t)(product >> 64);
	return (uint64_t)product;
}

/* Returns a * b / c; the largest number if that overflows. */
static inline uint64_t clock_fit_scale(uint64_t a, uint64_t b, uint64_t c)
{
	clock_fit_u128 result = (clock_fit_u128)a * b / (c ? c : 1);
	return result >> 64 ? UINT64_MAX : (uint64_t)result;
}

/* Returns (a * b) >> shift modulo 2^64, for a shift below 64. */
static inline uint64_t clock_fit_shift(uint64_t a, uint64_t b, uint32_t shift)
{
	return (uint64_t)((clock_fit_u128)a * b >> shift);
}
#else
static inline uint64_t clock_fit_multiply(uint64_t a, uint64_t b, uint64_t *high)
{
	uint64_t a_low = (uint32_t)a, a_high = a >> 32, b_low = (uint32_t)b, b_high = b >> 32;
	uint64_t low = a_low * b_low, middle = a_high * b_low + (low >> 32), other = a_low * b_high + (uint32_t)middle;
	*high = a_high * b_high + (middle >> 32) + (other >> 32);
	return other << 32 | (uint32_t)low;
}

/* Without a 128-bit type: divides bit by bit. */
static inline uint64_t clock_fit_scale(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t rest, low = clock_fit_multiply(a, b, &rest), quotient = 0;
	c = c ? c : 1;
	if (rest >= c)
		return UINT64_MAX;
	for (int bit = 63; bit >= 0; bit--) {
		int carry = rest >> 63 != 0;
		rest = rest << 1 | (low >> bit & 1);
		if (carry || rest >= c) {
			rest -= c;
			quotient |= UINT64_C(1) << bit;
		}
	}
	return quotient;
}

static inline uint64_t clock_fit_shift(uint64_t a, uint64_t b, uint32_t shift)
{
	uint64_t high, low = clock_fit_multiply(a, b, &high);
	return shift ? high << (64 - shift) | low >> shift : low;
}
#endif

static inline uint64_t clock_fit_add(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static inline uint64_t clock_fit_distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Compares pairs by host time.  At equal times, the one with the smaller half-width comes first. */
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

/* Sorts pairs by host time.  Keeps the pair with the smallest half-width of each 100 ms, and the first and the last
 * pair.  Returns the number of pairs that are kept. */
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
		/* A pair is only moved to a lower index, so that pairs which were not read yet are not overwritten. */
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
