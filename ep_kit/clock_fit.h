/* Device time to host time: a piecewise linear fit through clock pairs, with an error bound for every placement.
 *
 *   struct clock_pair pairs[n];                                   read on the way: device +- nothing at host +- half_width
 *   size_t count = clock_fit_prepare(pairs, n, host_per_second);  sorts, keeps the best of each interval of 100 ms
 *   struct clock_segment segments[count];                         the caller's, as many as pairs
 *   struct clock_fit fit;
 *   clock_fit_build(&fit, segments, pairs, count, device_per_second, host_per_second, bits);
 *   size_t hint = 0;
 *   struct clock_place place = clock_fit_map(&fit, device_ticks, &hint);
 *
 * Bound inside an interval: the larger half-width of its two pairs, plus the largest difference in it between
 * extrapolating from the left neighbour and from the right, plus a tick.  An interval whose slope is off the nominal one
 * by more than 1,000 ppm is broken (a jump, a stop): its whole deviation is the bound.  Before the first and after the
 * last pair the uncertainty of the slope grows with the distance, up to 500 ppm; a single pair assumes 500 ppm.
 * A neighbour's slope is measured over at least half the interval's length, so that a short interval's noise is not
 * multiplied; an interval that has no sound neighbour assumes a wander of 1 ppm.
 *
 * Positions are device ticks since the first pair, unwrapped, signed: a counter may start anywhere, near 2^64 too.  A
 * clock that goes backwards begins a new epoch; positions are looked for in the hint's epoch first.
 * Logic only: no allocation, no system call, 64-bit modular arithmetic; used by the kit and by the timeline.
 */
#ifndef EPPROF_CLOCK_FIT_H
#define EPPROF_CLOCK_FIT_H

#include <stddef.h>
#include <stdint.h>

#define CLOCK_FIT_BROKEN_PPM 1000u
#define CLOCK_FIT_ASSUMED_PPM 500u
#define CLOCK_FIT_WANDER_PPM 1u

/* What ONNX Runtime's microseconds add to the error of a start and of an end. */
#define CLOCK_FIT_MICROSECOND_START_NS 1000u
#define CLOCK_FIT_MICROSECOND_END_NS 2000u

__extension__ typedef unsigned __int128 clock_fit_u128;

/* At host time `host` +- half_width (host ticks) the device's counter stood at `device`. */
struct clock_pair {
	uint64_t device;
	uint64_t host;
	uint64_t half_width;
};

enum clock_fit_kind {
	CLOCK_FIT_NONE = 0,    /* no pair: no place */
	CLOCK_FIT_FITTED = 1,  /* between two pairs */
	CLOCK_FIT_FORMULA = 2, /* one pair: ONNX Runtime's formula */
	CLOCK_FIT_OUTSIDE = 3, /* before the first or after the last pair */
	CLOCK_FIT_BROKEN = 4   /* in an interval that holds a jump */
};

/* From one pair to the next; the last pair's has no length. */
struct clock_segment {
	int64_t position;     /* of its left pair */
	uint64_t length;      /* device ticks; 0: the epoch ends here */
	uint64_t host;        /* of its left pair */
	uint64_t slope;       /* host ticks a device tick, `shift` fractional bits */
	uint64_t bound;       /* host ticks, anywhere inside */
	uint64_t bend;        /* the part of it that comes from the neighbours */
	uint64_t half_width;  /* of its left pair */
	uint32_t epoch_first; /* pairs */
	uint32_t epoch_last;
	uint32_t kind; /* enum clock_fit_kind */
};

struct clock_fit {
	const struct clock_segment *segments;
	size_t count; /* pairs */
	uint64_t device_first;
	uint64_t device_per_second;
	uint64_t host_per_second;
	uint64_t slope; /* the nominal one */
	uint64_t tick;  /* a device tick in host ticks, at least 1 */
	uint32_t shift;
	uint32_t unused_bits; /* 64 - bits */
};

struct clock_place {
	uint64_t host;
	uint64_t bound; /* host ticks; UINT64_MAX for CLOCK_FIT_NONE */
	enum clock_fit_kind kind;
};

/* The pair of a bracket: the device's counter was read between two readings of the host's clock. */
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

/* By host time; at the same time the narrower one first. */
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

/* Sorts pairs by host time and keeps the narrowest of each 100 ms, the first and the last.  Returns how many stay. */
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
	/* The first interval is half a one, so that pairs read every 100 ms fall into the middle of theirs. */
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
		/* A pair is only ever moved to the left of where it stood, so what is still to be read stays. */
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

/* The slope of a line through two pairs: host ticks over device ticks (above 0), saturated. */
static inline uint64_t clock_fit_slope(const struct clock_fit *fit, uint64_t host_ticks, uint64_t device_ticks)
{
	clock_fit_u128 slope = ((clock_fit_u128)host_ticks << fit->shift) / device_ticks;
	return slope >> 63 ? UINT64_MAX >> 1 : (uint64_t)slope;
}

static inline uint64_t clock_fit_advance(const struct clock_fit *fit, uint64_t device_ticks, uint64_t slope)
{
	return (uint64_t)((clock_fit_u128)device_ticks * slope >> fit->shift);
}

/* The unwrapped position of a counter's value that lies closest to `near`. */
static inline int64_t clock_fit_unwrap(const struct clock_fit *fit, uint64_t device_ticks, int64_t near)
{
	uint64_t offset = (device_ticks - fit->device_first - (uint64_t)near) << fit->unused_bits;
	return (int64_t)((uint64_t)near + (uint64_t)((int64_t)offset >> fit->unused_bits));
}

/* How much the slope left (right) of a segment differs from its own, over its length; UINT64_MAX: no sound neighbour. */
static inline uint64_t clock_fit_bend(const struct clock_fit *fit, const struct clock_segment *segments, size_t i,
                                      int to_right)
{
	const struct clock_segment *own = &segments[i];
	uint64_t enough = (segments[i + 1].host - own->host) / 2;
	size_t near = to_right ? i + 1 : i;
	for (size_t far = near; far != (to_right ? own->epoch_last : own->epoch_first);) {
		if (segments[to_right ? far : far - 1].kind == CLOCK_FIT_BROKEN)
			return UINT64_MAX;
		far = to_right ? far + 1 : far - 1;
		uint64_t host_ticks = to_right ? segments[far].host - segments[near].host
		                               : segments[near].host - segments[far].host;
		if (host_ticks < enough)
			continue;
		uint64_t device_ticks = (uint64_t)(segments[far].position - segments[near].position);
		uint64_t slope = clock_fit_slope(fit, host_ticks, to_right ? device_ticks : -device_ticks);
		return clock_fit_advance(fit, own->length, clock_fit_distance(slope, own->slope)) + 1;
	}
	return UINT64_MAX;
}

/* Positions, slopes and epochs; what is broken. */
static inline void clock_fit_lay_out(struct clock_fit *fit, struct clock_segment *segments, const struct clock_pair *pairs)
{
	size_t count = fit->count;
	for (size_t i = 0; i < count; i++) {
		segments[i] = (struct clock_segment){
			.host = pairs[i].host,
			.half_width = pairs[i].half_width,
			.slope = fit->slope,
			.kind = CLOCK_FIT_OUTSIDE,
		};
		if (i == 0)
			continue;
		struct clock_segment *left = &segments[i - 1];
		uint64_t host_ticks = pairs[i].host - pairs[i - 1].host;
		uint64_t expected = clock_fit_scale(host_ticks, fit->device_per_second, fit->host_per_second);
		segments[i].position = clock_fit_unwrap(fit, pairs[i].device,
		                                        (int64_t)((uint64_t)left->position + expected));
		segments[i].epoch_first = left->epoch_first;
		if (segments[i].position <= left->position) {
			segments[i].epoch_first = (uint32_t)i;
			continue;
		}
		left->length = (uint64_t)segments[i].position - (uint64_t)left->position;
		left->slope = clock_fit_slope(fit, host_ticks, left->length);
		uint64_t nominal = clock_fit_scale(left->length, fit->host_per_second, fit->device_per_second);
		uint64_t deviation = clock_fit_distance(nominal, host_ticks);
		uint64_t explained = clock_fit_add(left->half_width, pairs[i].half_width) + fit->tick;
		left->kind = CLOCK_FIT_FITTED;
		if (deviation > explained &&
		    deviation - explained > clock_fit_scale(nominal, CLOCK_FIT_BROKEN_PPM, 1000000)) {
			left->kind = CLOCK_FIT_BROKEN;
			left->bend = deviation;
		}
	}
	uint32_t last = 0;
	for (size_t i = count; i-- > 0;) {
		if (i + 1 == count || segments[i].length == 0)
			last = (uint32_t)i;
		segments[i].epoch_last = last;
	}
}

/* Builds the fit over prepared pairs.  `segments` has room for `count` and must live as long as the fit.
 * bits: where the device's counter wraps; 0: 64.  Rates of 0 are taken for 1. */
static inline void clock_fit_build(struct clock_fit *fit, struct clock_segment *segments, const struct clock_pair *pairs,
                                   size_t count, uint64_t device_per_second, uint64_t host_per_second, uint32_t bits)
{
	*fit = (struct clock_fit){
		.segments = segments,
		.count = count,
		.device_per_second = device_per_second ? device_per_second : 1,
		.host_per_second = host_per_second ? host_per_second : 1,
		.unused_bits = bits == 0 || bits > 64 ? 0 : 64 - bits,
	};
	clock_fit_u128 ratio = fit->host_per_second;
	while (fit->shift < 63 && ratio / fit->device_per_second < 1ull << 50) {
		ratio <<= 1;
		fit->shift++;
	}
	fit->slope = clock_fit_slope(fit, fit->host_per_second, fit->device_per_second);
	fit->tick = (fit->host_per_second - 1) / fit->device_per_second + 1;
	if (count == 0)
		return;
	fit->device_first = pairs[0].device;
	clock_fit_lay_out(fit, segments, pairs);
	for (size_t i = 0; i + 1 < count; i++) {
		struct clock_segment *own = &segments[i];
		if (own->length == 0)
			continue;
		if (own->kind != CLOCK_FIT_BROKEN) {
			uint64_t left = clock_fit_bend(fit, segments, i, 0);
			uint64_t right = clock_fit_bend(fit, segments, i, 1);
			if (left != UINT64_MAX && (right == UINT64_MAX || left > right))
				own->bend = left;
			else if (right != UINT64_MAX)
				own->bend = right;
			else
				own->bend = 1 + clock_fit_scale(segments[i + 1].host - own->host, CLOCK_FIT_WANDER_PPM,
				                                1000000);
		}
		uint64_t next = segments[i + 1].half_width;
		own->bound = clock_fit_add(own->half_width > next ? own->half_width : next, own->bend) + fit->tick + 1;
	}
}

/* Where position lies beyond pair `pair`, the first or the last of its epoch. */
static inline struct clock_place clock_fit_outside(const struct clock_fit *fit, size_t pair, int64_t position)
{
	const struct clock_segment *end = &fit->segments[pair];
	int before = position < end->position;
	uint64_t distance = (uint64_t)position - (uint64_t)end->position;
	if (before)
		distance = -distance;
	uint64_t slope = fit->slope;
	uint64_t limit = 1 + clock_fit_scale(clock_fit_advance(fit, distance, slope), CLOCK_FIT_ASSUMED_PPM,
	                                     1000000 - CLOCK_FIT_ASSUMED_PPM);
	uint64_t growth = limit;
	if (end->epoch_first != end->epoch_last && distance != 0) {
		const struct clock_segment *inner = before ? end : end - 1;
		double relative = (double)distance / (double)inner->length;
		double noise = (double)inner[0].half_width + (double)inner[1].half_width;
		double grown = relative * (noise + (double)inner->bend * (1 + relative));
		uint64_t explained = clock_fit_scale(inner[1].host - inner[0].host, CLOCK_FIT_ASSUMED_PPM, 1000000);
		if (inner->kind == CLOCK_FIT_FITTED && noise < (double)explained) {
			slope = inner->slope;
			growth = grown < (double)limit ? (uint64_t)grown + 1 : limit;
		}
	}
	uint64_t ticks = clock_fit_advance(fit, distance, slope);
	struct clock_place place = { before ? end->host - ticks : end->host + ticks, 0, CLOCK_FIT_OUTSIDE };
	place.bound = clock_fit_add(clock_fit_add(end->half_width, growth), fit->tick + 1);
	if (fit->count == 1)
		place.kind = CLOCK_FIT_FORMULA;
	else if (distance == 0)
		place.kind = CLOCK_FIT_FITTED;
	return place;
}

/* The epoch that holds position, as its first pair; `count` if none does. */
static inline size_t clock_fit_epoch(const struct clock_fit *fit, int64_t position)
{
	const struct clock_segment *segments = fit->segments;
	size_t first = 0;
	while (first < fit->count &&
	       (position < segments[first].position || position > segments[segments[first].epoch_last].position))
		first = (size_t)segments[first].epoch_last + 1;
	return first;
}

/* The pair at or before position: in the hint's epoch, or in one that holds it where the hint's cannot reach. */
static inline size_t clock_fit_seek(const struct clock_fit *fit, int64_t position, size_t hint)
{
	const struct clock_segment *segments = fit->segments;
	size_t first = segments[hint].epoch_first;
	size_t last = segments[hint].epoch_last;
	if (position < segments[first].position || position > segments[last].position) {
		/* Beyond its epoch, but before the clock is known to have gone backwards: still of that epoch. */
		size_t end = position < segments[first].position ? first : last;
		uint64_t host = clock_fit_outside(fit, end, position).host;
		if (end == last ? last + 1 == fit->count || host <= segments[last + 1].host
		                : first == 0 || host >= segments[first - 1].host)
			return end;
		size_t other = clock_fit_epoch(fit, position);
		if (other == fit->count)
			return end;
		first = other;
		last = segments[other].epoch_last;
	} else if (hint < last && (uint64_t)position - (uint64_t)segments[hint + 1].position < segments[hint + 1].length) {
		return hint + 1;
	}
	while (first < last) {
		size_t middle = first + (last - first + 1) / 2;
		if (position < segments[middle].position)
			last = middle - 1;
		else
			first = middle;
	}
	return first;
}

/* Places an unwrapped position. */
static inline struct clock_place clock_fit_place(const struct clock_fit *fit, int64_t position, size_t *hint)
{
	if (fit->count == 0)
		return (struct clock_place){ 0, UINT64_MAX, CLOCK_FIT_NONE };
	size_t pair = *hint < fit->count ? *hint : fit->count - 1;
	const struct clock_segment *segment = &fit->segments[pair];
	uint64_t offset = (uint64_t)position - (uint64_t)segment->position;
	if (offset >= segment->length) {
		pair = clock_fit_seek(fit, position, pair);
		segment = &fit->segments[pair];
		offset = (uint64_t)position - (uint64_t)segment->position;
		*hint = pair;
		if (offset >= segment->length)
			return clock_fit_outside(fit, pair, position);
	}
	uint64_t host = segment->host + clock_fit_advance(fit, offset, segment->slope);
	return (struct clock_place){ host, segment->bound, (enum clock_fit_kind)segment->kind };
}

/* The position of a counter's value: of those that it may stand for, the one closest to the hint's pair. */
static inline int64_t clock_fit_position(const struct clock_fit *fit, uint64_t device_ticks, size_t hint)
{
	return clock_fit_unwrap(fit, device_ticks, hint < fit->count ? fit->segments[hint].position : 0);
}

/* Places a counter's value.  `*hint` is 0 at first and belongs to one run of queries: queries close to the one before
 * cost a multiplication, and a counter that wraps is unwrapped to the value closest to it. */
static inline struct clock_place clock_fit_map(const struct clock_fit *fit, uint64_t device_ticks, size_t *hint)
{
	return clock_fit_place(fit, clock_fit_position(fit, device_ticks, *hint), hint);
}

/* Points `*hint` at host time `host_ticks`. */
static inline void clock_fit_hint(const struct clock_fit *fit, uint64_t host_ticks, size_t *hint)
{
	size_t first = 0;
	size_t last = fit->count == 0 ? 0 : fit->count - 1;
	while (first < last) {
		size_t middle = first + (last - first + 1) / 2;
		if (host_ticks < fit->segments[middle].host)
			last = middle - 1;
		else
			first = middle;
	}
	*hint = first;
}

/* The position of a value known to lie near host time `near_host_ticks` (its parent's start, say): right if that is less
 * than half a wrap away, however far apart the pairs are.  Points the hint there. */
static inline int64_t clock_fit_position_near(const struct clock_fit *fit, uint64_t device_ticks,
                                              uint64_t near_host_ticks, size_t *hint)
{
	clock_fit_hint(fit, near_host_ticks, hint);
	if (fit->count == 0)
		return 0;
	const struct clock_segment *segment = &fit->segments[*hint];
	uint64_t since = clock_fit_distance(near_host_ticks, segment->host);
	uint64_t ticks = clock_fit_scale(since, fit->device_per_second, fit->host_per_second);
	int64_t near = (int64_t)((uint64_t)segment->position + (near_host_ticks < segment->host ? -ticks : ticks));
	return clock_fit_unwrap(fit, device_ticks, near);
}

/* The same as clock_fit_map for such a value. */
static inline struct clock_place clock_fit_map_near(const struct clock_fit *fit, uint64_t device_ticks,
                                                    uint64_t near_host_ticks, size_t *hint)
{
	return clock_fit_place(fit, clock_fit_position_near(fit, device_ticks, near_host_ticks, hint), hint);
}

#endif
