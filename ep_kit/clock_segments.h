/* Builds the segments of a fit, one from each pair to the next; detects jumps and stops of the clock between pairs; and
 * computes error bounds by the rules in clock_fit.h, of which this file is a part.
 *
 * The steps are: positions and epochs, the counter's step, slopes and broken intervals, bounds. */
#ifndef EPPROF_EP_KIT_CLOCK_SEGMENTS_H
#define EPPROF_EP_KIT_CLOCK_SEGMENTS_H

#include <string.h>

#include "clock_pairs.h"

#define CLOCK_FIT_BROKEN_PPM 1000u
#define CLOCK_FIT_ASSUMED_PPM 500u
#define CLOCK_FIT_WANDER_PPM 1u
/* The maximum deviation of a working clock's rate from its nominal rate, in ppm: a larger one is due to a jump. */
#define CLOCK_FIT_RATE_PPM 50000u

/* The number of different intervals that are needed to determine the counter's step, and their minimum length in
 * steps. */
#define CLOCK_FIT_STEP_INTERVALS 8u
#define CLOCK_FIT_STEP_PARTS 64u
/* If the clock stays at one position for longer than 1/CLOCK_FIT_STILL_PART of a second, the cause of an event is
 * needed to place it. */
#define CLOCK_FIT_STILL_PART 1000u

enum clock_fit_kind {
	CLOCK_FIT_NONE = 0,    /* there is no pair, so an event cannot be placed */
	CLOCK_FIT_FITTED = 1,  /* the position is between two pairs */
	CLOCK_FIT_FORMULA = 2, /* there is one pair: placed at the clock's nominal rate from it, as by
	                          ONNX Runtime's formula */
	CLOCK_FIT_OUTSIDE = 3, /* the position is before the first or after the last pair */
	CLOCK_FIT_BROKEN = 4   /* the position is in an interval with a jump, or the clock stood still at it */
};

/* The interval from one pair to the next.  The interval of the last pair has no length.  Pairs with the same device
 * time, at which the clock stood still, are merged. */
struct clock_segment {
	int64_t position;     /* the position of the left pair */
	uint64_t length;      /* in device ticks; 0: the epoch ends at this pair */
	uint64_t host;        /* the host time of the left pair; if pairs were merged, of the last one */
	uint64_t still;       /* host ticks from the first to the last pair with this device time */
	uint64_t lost;        /* if the interval is broken: how many more host ticks passed than the device's ticks
	                         explain */
	uint64_t before;      /* in host ticks: the same positions may have occurred up to this much earlier */
	uint64_t after;       /* in host ticks: the same positions may have occurred up to this much later */
	uint64_t slope;       /* host ticks per device tick, with `shift` fractional bits */
	uint64_t around;      /* if the clock jumped in this interval: its slope before and after the jump; 0: no jump
	                         is known */
	uint64_t bound;       /* the error bound of all positions in the interval, in host ticks */
	uint64_t bend;        /* the part of `bound` that results from the neighbours */
	uint64_t half_width;  /* the half-width of the left pair */
	uint32_t epoch_first; /* epoch_first and epoch_last are the indexes of the first and the last pair of the
	                         epoch */
	uint32_t epoch_last;
	uint32_t kind; /* enum clock_fit_kind */
};

struct clock_fit {
	const struct clock_segment *segments;
	size_t count; /* the number of segments */
	uint64_t device_first;
	uint64_t device_per_second;
	uint64_t host_per_second;
	uint64_t slope; /* the nominal slope */
	uint64_t tick;  /* the step of the device's counter in host ticks, at least 1 */
	uint32_t shift;
	uint32_t unused_bits; /* 64 - bits */
	uint32_t is_doubtful; /* 1: positions may be ambiguous, so the cause of an event helps to place it */
};

/* Returns the slope of a line through two pairs: host ticks per device tick; above 0, limited to the largest number. */
static inline uint64_t clock_fit_slope(const struct clock_fit *fit, uint64_t host_ticks, uint64_t device_ticks)
{
	uint64_t slope = clock_fit_scale(host_ticks, UINT64_C(1) << fit->shift, device_ticks);
	return slope >> 63 ? UINT64_MAX >> 1 : slope;
}

static inline uint64_t clock_fit_advance(const struct clock_fit *fit, uint64_t device_ticks, uint64_t slope)
{
	return clock_fit_shift(device_ticks, slope, fit->shift);
}

/* Returns the unwrapped position for a counter value.  Of the possible positions, it is the one closest to
 * `expected`. */
static inline int64_t clock_fit_unwrap(const struct clock_fit *fit, uint64_t device_ticks, int64_t expected)
{
	uint64_t offset = (device_ticks - fit->device_first - (uint64_t)expected) << fit->unused_bits;
	return (int64_t)((uint64_t)expected + (uint64_t)((int64_t)offset >> fit->unused_bits));
}

/* Returns the host time of the first pair with the segment's position; segment->host is that of the last one. */
static inline uint64_t clock_segment_first(const struct clock_segment *segment)
{
	return segment->host - segment->still;
}

/* Returns the deviation, over a segment's length, between its slope and the slope of its left (right) neighbours;
 * UINT64_MAX if there is no usable neighbour. */
static inline uint64_t clock_fit_bend(const struct clock_fit *fit, const struct clock_segment *segments, size_t i,
                                      int to_right)
{
	const struct clock_segment *own = &segments[i];
	uint64_t enough = (clock_segment_first(&segments[i + 1]) - own->host) / 2;
	size_t begin = to_right ? i + 1 : i;
	for (size_t end = begin; end != (to_right ? own->epoch_last : own->epoch_first);) {
		if (segments[to_right ? end : end - 1].kind == CLOCK_FIT_BROKEN)
			return UINT64_MAX;
		end = to_right ? end + 1 : end - 1;
		uint64_t host_ticks = to_right ? clock_segment_first(&segments[end]) - segments[begin].host
		                               : clock_segment_first(&segments[begin]) - segments[end].host;
		if (host_ticks < enough)
			continue;
		uint64_t device_ticks = (uint64_t)segments[end].position - (uint64_t)segments[begin].position;
		uint64_t slope = clock_fit_slope(fit, host_ticks, to_right ? device_ticks : 0 - device_ticks);
		return clock_fit_advance(fit, own->length, clock_fit_distance(slope, own->slope)) + 1;
	}
	return UINT64_MAX;
}

/* Sets positions and epochs.  Merges pairs with the same position. */
static inline void clock_fit_lay_out(struct clock_fit *fit, struct clock_segment *segments,
                                     const struct clock_pair *pairs, size_t pairs_count)
{
	size_t count = 0;
	for (size_t i = 0; i < pairs_count; i++) {
		struct clock_segment next;
		memset(&next, 0, sizeof(next));
		next.host = pairs[i].host;
		next.half_width = pairs[i].half_width;
		next.slope = fit->slope;
		next.kind = CLOCK_FIT_OUTSIDE;
		struct clock_segment *left = count > 0 ? &segments[count - 1] : NULL;
		if (left) {
			uint64_t host_ticks = next.host - left->host;
			uint64_t expected = clock_fit_scale(host_ticks, fit->device_per_second, fit->host_per_second);
			next.position = clock_fit_unwrap(fit, pairs[i].device,
			                                 (int64_t)((uint64_t)left->position + expected));
		}
		if (left && next.position == left->position) {
			left->still += next.host - left->host;
			left->host = next.host;
			left->half_width = left->half_width > next.half_width ? left->half_width : next.half_width;
			continue;
		}
		if (left && next.position > left->position) {
			left->length = (uint64_t)next.position - (uint64_t)left->position;
			next.epoch_first = left->epoch_first;
		} else {
			next.epoch_first = (uint32_t)count;
		}
		segments[count++] = next;
	}
	fit->count = count;
	uint32_t last = 0;
	for (size_t i = count; i-- > 0;) {
		if (segments[i].length == 0)
			last = (uint32_t)i;
		segments[i].epoch_last = last;
	}
}

/* Returns the step of the counter in ticks: the greatest common divisor of the distances between pairs, if there are
 * enough distances that differ. */
static inline uint64_t clock_fit_step(const struct clock_fit *fit, const struct clock_segment *segments)
{
	uint64_t step = 0, sum = 0, intervals = 0, differing = 0, last = 0;
	for (size_t i = 0; i < fit->count; i++) {
		uint64_t length = segments[i].length;
		if (length == 0)
			continue;
		intervals++;
		differing += length != last;
		last = length;
		sum = clock_fit_add(sum, length);
		while (length != 0) {
			uint64_t rest = step % length;
			step = length;
			length = rest;
		}
	}
	return differing >= CLOCK_FIT_STEP_INTERVALS && step <= sum / intervals / CLOCK_FIT_STEP_PARTS ? step : 1;
}

/* Sets slope and kind of an interval.  If the interval is broken, returns the time that the clock lost in it. */
static inline uint64_t clock_fit_lay_interval(const struct clock_fit *fit, struct clock_segment *own)
{
	uint64_t host_ticks = clock_segment_first(&own[1]) - own->host;
	own->slope = clock_fit_slope(fit, host_ticks, own->length);
	own->kind = CLOCK_FIT_FITTED;
	uint64_t nominal = clock_fit_scale(own->length, fit->host_per_second, fit->device_per_second);
	uint64_t deviation = clock_fit_distance(nominal, host_ticks);
	uint64_t explained = clock_fit_add(clock_fit_add(own->half_width, own[1].half_width), fit->tick);
	if (deviation <= explained || deviation - explained <= clock_fit_scale(nominal, CLOCK_FIT_BROKEN_PPM, 1000000))
		return 0;
	own->kind = CLOCK_FIT_BROKEN;
	/* Without a usable neighbour, the true rate may differ from the nominal one. */
	deviation = clock_fit_add(deviation, clock_fit_scale(host_ticks, CLOCK_FIT_ASSUMED_PPM, 1000000));
	own->bend = deviation < host_ticks ? deviation : host_ticks;
	return host_ticks > nominal ? deviation : 0;
}

/* The ambiguity that results from an interval in which the clock lost time: the clock may have jumped back.  Then the
 * positions just before the interval may have occurred a second time in it, and the positions just after it may have
 * occurred in it already; in both cases as many as the lost time has ticks. */
struct clock_doubt {
	uint64_t lost;  /* the lost time in host ticks */
	uint64_t ticks; /* the number of device ticks, from the interval on, that are ambiguous */
};

static inline void clock_doubt_pass(struct clock_doubt *doubt, uint64_t length)
{
	if (doubt->ticks <= length)
		doubt->lost = doubt->ticks = 0;
	else
		doubt->ticks -= length;
}

static inline void clock_doubt_add(const struct clock_fit *fit, struct clock_doubt *doubt, uint64_t lost)
{
	uint64_t ticks = clock_fit_scale(lost, fit->device_per_second, fit->host_per_second);
	doubt->lost = doubt->lost > lost ? doubt->lost : lost;
	doubt->ticks = doubt->ticks > ticks ? doubt->ticks : ticks;
}

static inline void clock_fit_lay_intervals(struct clock_fit *fit, struct clock_segment *segments)
{
	struct clock_doubt doubt = { 0, 0 };
	for (size_t i = 0; i < fit->count; i++) {
		struct clock_segment *own = &segments[i];
		fit->is_doubtful |= own->still > fit->host_per_second / CLOCK_FIT_STILL_PART || own->epoch_first > 0;
		own->before = doubt.lost;
		clock_doubt_pass(&doubt, own->length ? own->length : UINT64_MAX);
		if (own->length != 0)
			own->lost = clock_fit_lay_interval(fit, own);
		if (own->lost != 0) {
			fit->is_doubtful = 1;
			clock_doubt_add(fit, &doubt, own->lost);
		}
	}
	for (size_t i = fit->count; i-- > 0;) {
		struct clock_segment *own = &segments[i];
		if (own->length == 0)
			doubt.lost = doubt.ticks = 0;
		own->after = doubt.lost;
		clock_doubt_pass(&doubt, own->length);
		if (own->lost != 0)
			clock_doubt_add(fit, &doubt, own->lost);
	}
}

static inline int clock_slope_is_near(uint64_t slope, uint64_t other, uint64_t ppm)
{
	return clock_fit_distance(slope, other) <= clock_fit_scale(slope, ppm, 1000000);
}

/* Returns the clock's slope before and after the jump in a broken interval; 0 if no jump is known.  If a neighbour has
 * the same slope as the interval, the clock did not jump: its rate is far from nominal.  If there is no usable
 * neighbour, this cannot be excluded, so the function returns 0, too. */
static inline uint64_t clock_fit_slope_around(const struct clock_fit *fit, const struct clock_segment *segments, size_t i)
{
	const struct clock_segment *own = &segments[i];
	uint64_t around = 0;
	for (int to_right = 0; to_right < 2; to_right++) {
		if (to_right ? i + 2 > own->epoch_last : i == own->epoch_first)
			continue;
		const struct clock_segment *beside = to_right ? own + 1 : own - 1;
		/* The slope of a short neighbour has too much noise. */
		if (clock_segment_first(&beside[1]) - beside->host < (clock_segment_first(&own[1]) - own->host) / 2)
			continue;
		if (clock_slope_is_near(own->slope, beside->slope, CLOCK_FIT_BROKEN_PPM))
			return 0;
		if (!around || clock_fit_distance(beside->slope, fit->slope) < clock_fit_distance(around, fit->slope))
			around = beside->slope;
	}
	/* A neighbour with an impossible rate may contain a jump itself, so the nominal slope is used instead. */
	return around && !clock_slope_is_near(fit->slope, around, CLOCK_FIT_RATE_PPM) ? fit->slope : around;
}

/* Builds the fit over prepared pairs.  `segments` must have room for `count` segments, and must be valid as long as the
 * fit.  `bits` is the width of the device's counter; 0: 64.  Rates of 0 are replaced by 1. */
static inline void clock_fit_build(struct clock_fit *fit, struct clock_segment *segments, const struct clock_pair *pairs,
                                   size_t count, uint64_t device_per_second, uint64_t host_per_second, uint32_t bits)
{
	memset(fit, 0, sizeof(*fit));
	fit->segments = segments;
	fit->count = count;
	fit->device_per_second = device_per_second ? device_per_second : 1;
	fit->host_per_second = host_per_second ? host_per_second : 1;
	fit->unused_bits = bits == 0 || bits > 64 ? 0 : 64 - bits;
	while (fit->shift < 63 && clock_fit_scale(fit->host_per_second, UINT64_C(1) << fit->shift,
	                                          fit->device_per_second) < UINT64_C(1) << 50)
		fit->shift++;
	fit->slope = clock_fit_slope(fit, fit->host_per_second, fit->device_per_second);
	fit->tick = (fit->host_per_second - 1) / fit->device_per_second + 1;
	if (count == 0)
		return;
	fit->device_first = pairs[0].device;
	clock_fit_lay_out(fit, segments, pairs, count);
	uint64_t step = clock_fit_step(fit, segments);
	if (step > 1)
		fit->tick = clock_fit_add(clock_fit_scale(step, fit->host_per_second, fit->device_per_second), 1);
	clock_fit_lay_intervals(fit, segments);
	for (size_t i = 0; i < fit->count; i++) {
		struct clock_segment *own = &segments[i];
		if (own->length == 0)
			continue;
		own->around = own->kind == CLOCK_FIT_BROKEN ? clock_fit_slope_around(fit, segments, i) : 0;
		fit->is_doubtful |= own->around != 0;
		if (own->kind != CLOCK_FIT_BROKEN) {
			uint64_t left = clock_fit_bend(fit, segments, i, 0);
			uint64_t right = clock_fit_bend(fit, segments, i, 1);
			if (left != UINT64_MAX && (right == UINT64_MAX || left > right))
				own->bend = left;
			else if (right != UINT64_MAX)
				own->bend = right;
			else
				own->bend = 1 + clock_fit_scale(clock_segment_first(&segments[i + 1]) - own->host,
				                                CLOCK_FIT_WANDER_PPM, 1000000);
		}
		uint64_t next = segments[i + 1].half_width;
		own->bound = clock_fit_add(own->half_width > next ? own->half_width : next, own->bend);
		own->bound = clock_fit_add(own->bound, clock_fit_add(fit->tick, 1));
	}
}

#endif
