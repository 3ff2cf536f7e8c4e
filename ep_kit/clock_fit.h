/* Converts device time to host time: a piecewise linear fit through clock pairs, with an error bound for every
 * placement.
 *
 *   struct clock_pair pairs[n];                                   measured: device at host +- half_width
 *   size_t count = clock_fit_prepare(pairs, n, host_per_second);  sorts, keeps the best of each interval of 100 ms
 *   struct clock_segment segments[count];                         the caller's, as many as pairs
 *   struct clock_fit fit;
 *   clock_fit_build(&fit, segments, pairs, count, device_per_second, host_per_second, bits);
 *   size_t hint = 0;
 *   struct clock_place place = clock_fit_map(&fit, device_ticks, &hint);
 *
 * Error bound inside an interval: the larger half-width of its two pairs, plus the largest difference in the interval
 * between its own line and the extrapolation from the left or the right neighbour, plus a tick.  An interval whose
 * slope differs from the nominal one by more than 1,000 ppm is broken (the clock jumped or stopped): its bound is the
 * difference between its length in host time and the length that its device ticks have at the nominal rate, or its
 * length in host time if that is less.  Before the first and after the last pair, the uncertainty of the slope grows
 * with the distance, up to 500 ppm; a single pair assumes 500 ppm.  A neighbour's slope is measured over at least half
 * of the interval's length, so that the noise of a short interval is not multiplied.  For an interval without a usable
 * neighbour, a rate error of 1 ppm is assumed.  The length of a tick is determined from the counter's values: a counter
 * in nanoseconds that only shows multiples of 1000 has ticks of 1 us.
 *
 * Positions are device ticks since the first pair, unwrapped and signed: a counter may start anywhere, even near
 * 2^64.
 * A position may be ambiguous: it may stand for several host times.  The bound then covers all of them, unless the
 * event's cause is known (an event does not begin before its cause):
 *   a clock that jumped          between two pairs, the line before the jump or the line after it may be valid
 *   a clock that stopped         the position stands for any moment of the time in which the clock stood still
 *   a clock that lost time       the clock may have jumped back, so that positions just before the jump occurred again
 *                                after it
 *   a clock that went backwards  a new epoch begins; a position is searched in the hint's epoch first
 * Pure computation: no allocation, no system call, 64-bit modular arithmetic; used by the kit and by the timeline. */
#ifndef EPPROF_EP_KIT_CLOCK_FIT_H
#define EPPROF_EP_KIT_CLOCK_FIT_H

#include "clock_segments.h"

/* The rounding errors of ONNX Runtime's microseconds, for a start and for an end. */
#define CLOCK_FIT_MICROSECOND_START_NS 1000u
#define CLOCK_FIT_MICROSECOND_END_NS 2000u

#ifdef __GNUC__
#define CLOCK_FIT_UNUSED __attribute__((unused))
#else
#define CLOCK_FIT_UNUSED
#endif

struct clock_place {
	uint64_t host;
	uint64_t bound; /* the error bound in host ticks; UINT64_MAX for CLOCK_FIT_NONE */
	enum clock_fit_kind kind;
};

static inline struct clock_place clock_place_of(uint64_t host, uint64_t bound, enum clock_fit_kind kind)
{
	struct clock_place place = { host, bound, kind };
	return place;
}

/* Places a position that is beyond the pair with the index `pair`, the first or the last one of its epoch. */
static inline struct clock_place clock_fit_outside(const struct clock_fit *fit, size_t pair, int64_t position)
{
	const struct clock_segment *end = &fit->segments[pair];
	int before = position < end->position;
	uint64_t distance = (uint64_t)position - (uint64_t)end->position;
	if (before)
		distance = 0 - distance;
	uint64_t slope = fit->slope;
	uint64_t limit = 1 + clock_fit_scale(clock_fit_advance(fit, distance, slope), CLOCK_FIT_ASSUMED_PPM,
	                                     1000000 - CLOCK_FIT_ASSUMED_PPM);
	uint64_t growth = limit;
	if (end->epoch_first != end->epoch_last && distance != 0) {
		const struct clock_segment *inner = before ? end : end - 1;
		double relative = (double)distance / (double)inner->length;
		double noise = (double)inner[0].half_width + (double)inner[1].half_width;
		double grown = relative * (noise + (double)inner->bend * (1 + relative));
		uint64_t host_ticks = clock_segment_first(&inner[1]) - inner[0].host;
		uint64_t explained = clock_fit_scale(host_ticks, CLOCK_FIT_ASSUMED_PPM, 1000000);
		if (inner->kind == CLOCK_FIT_FITTED && noise < (double)explained) {
			slope = inner->slope;
			growth = grown < (double)limit ? (uint64_t)grown + 1 : limit;
		}
	}
	uint64_t ticks = clock_fit_advance(fit, distance, slope);
	struct clock_place place = { before ? clock_segment_first(end) - ticks : end->host + ticks, 0, CLOCK_FIT_OUTSIDE };
	place.bound = clock_fit_add(clock_fit_add(end->half_width, growth), clock_fit_add(fit->tick, 1));
	if (fit->count == 1)
		place.kind = CLOCK_FIT_FORMULA;
	else if (distance == 0)
		place.kind = CLOCK_FIT_FITTED;
	return place;
}

/* Returns the first pair of the epoch that contains the position; `count` if there is none. */
static inline size_t clock_fit_epoch(const struct clock_fit *fit, int64_t position)
{
	const struct clock_segment *segments = fit->segments;
	size_t first = 0;
	while (first < fit->count &&
	       (position < segments[first].position || position > segments[segments[first].epoch_last].position))
		first = (size_t)segments[first].epoch_last + 1;
	return first;
}

/* Returns the pair at or before the position: in the hint's epoch or, if the position cannot be in that epoch, in one
 * that contains it. */
static inline size_t clock_fit_seek(const struct clock_fit *fit, int64_t position, size_t hint)
{
	const struct clock_segment *segments = fit->segments;
	size_t first = segments[hint].epoch_first;
	size_t last = segments[hint].epoch_last;
	if (position < segments[first].position || position > segments[last].position) {
		/* A position beyond the epoch's pairs still belongs to the epoch, if its host time is before the first
		 * pair of the next epoch. */
		size_t end = position < segments[first].position ? first : last;
		uint64_t host = clock_fit_outside(fit, end, position).host;
		if (end == last ? last + 1 == fit->count || host <= clock_segment_first(&segments[last + 1])
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

/* Places an unwrapped position in the hint's epoch.  The same position may occur in other epochs, too; the caller
 * handles these. */
static inline struct clock_place clock_fit_find(const struct clock_fit *fit, int64_t position, size_t *hint)
{
	size_t pair = *hint < fit->count ? *hint : fit->count - 1;
	const struct clock_segment *segment = &fit->segments[pair];
	uint64_t offset = (uint64_t)position - (uint64_t)segment->position;
	if (offset >= segment->length) {
		pair = clock_fit_seek(fit, position, pair);
		segment = &fit->segments[pair];
		offset = (uint64_t)position - (uint64_t)segment->position;
	}
	*hint = pair;
	if (offset == 0 && segment->still != 0) {
		uint64_t bound = clock_fit_add(segment->still - segment->still / 2, segment->half_width);
		return clock_place_of(segment->host - segment->still / 2,
		                      clock_fit_add(bound, clock_fit_add(fit->tick, 1)), CLOCK_FIT_BROKEN);
	}
	if (offset >= segment->length)
		return clock_fit_outside(fit, pair, position);
	uint64_t host = segment->host + clock_fit_advance(fit, offset, segment->slope);
	return clock_place_of(host, segment->bound, (enum clock_fit_kind)segment->kind);
}

/* Places a position in the epoch before or after that of the pair `hint`; an epoch ends where the clock went backwards.
 * Returns false if there is no such epoch, or if its clock cannot have been at this position.  `*other` is the index of
 * a pair of the other epoch. */
static inline int clock_fit_find_beside(const struct clock_fit *fit, int64_t position, size_t hint, int to_right,
                                        size_t *other, struct clock_place *place)
{
	const struct clock_segment *segments = fit->segments;
	const struct clock_segment *own = &segments[hint];
	if (to_right ? (size_t)own->epoch_last + 1 == fit->count : own->epoch_first == 0)
		return 0;
	*other = to_right ? own->epoch_last + 1 : own->epoch_first - 1;
	const struct clock_segment *beside = &segments[*other];
	const struct clock_segment *first = &segments[beside->epoch_first];
	const struct clock_segment *last = &segments[beside->epoch_last];
	if (position >= first->position && position <= last->position) {
		*place = clock_fit_find(fit, position, other);
		return 1;
	}
	/* The position is between the two epochs, so the clock of the other epoch is extrapolated. */
	*place = clock_fit_outside(fit, *other, position);
	return to_right ? position < first->position && place->host >= segments[own->epoch_last].host
	                : position > last->position && place->host <= clock_segment_first(&segments[own->epoch_first]);
}

/* Places an unwrapped position.  If it may stand for several host times, the bound covers them. */
static inline struct clock_place clock_fit_place(const struct clock_fit *fit, int64_t position, size_t *hint)
{
	if (fit->count == 0)
		return clock_place_of(0, UINT64_MAX, CLOCK_FIT_NONE);
	struct clock_place place = clock_fit_find(fit, position, hint);
	if (!fit->is_doubtful)
		return place;
	const struct clock_segment *segment = &fit->segments[*hint];
	uint64_t bound = clock_fit_add(place.bound, segment->before > segment->after ? segment->before : segment->after);
	for (int to_right = 0; to_right < 2; to_right++) {
		size_t other;
		struct clock_place beside;
		if (!clock_fit_find_beside(fit, position, *hint, to_right, &other, &beside))
			continue;
		uint64_t distance = clock_fit_add(clock_fit_distance(place.host, beside.host), beside.bound);
		bound = bound > distance ? bound : distance;
	}
	place.bound = bound;
	return place;
}

/* Returns the host ticks for `ticks` device ticks, which may be negative, along `slope`. */
static inline int64_t clock_fit_move(const struct clock_fit *fit, int64_t ticks, uint64_t slope)
{
	uint64_t distance = ticks < 0 ? 0 - (uint64_t)ticks : (uint64_t)ticks;
	uint64_t high, most = INT64_MAX / 4, moved = clock_fit_shift(distance, slope, fit->shift);
	clock_fit_multiply(distance, slope, &high);
	int64_t host = (int64_t)(high >> fit->shift == 0 && moved < most ? moved : most);
	return ticks < 0 ? -host : host;
}

/* Places a position in an interval with a jump: on the line before the jump or on the line after it.  Chooses the
 * earlier place that is inside the interval and not before the cause.  The bound reaches from one line to the other,
 * because the clock may have lost the time gradually, but not before the cause.  Returns false if neither line is
 * possible. */
static inline int clock_fit_place_at_jump(const struct clock_fit *fit, const struct clock_segment *own,
                                          int64_t position, uint64_t cause_host_ticks, struct clock_place *place)
{
	int64_t offset = (int64_t)((uint64_t)position - (uint64_t)own->position);
	int64_t span = (int64_t)(clock_segment_first(&own[1]) - own->host);
	int64_t cause = (int64_t)(cause_host_ticks - own->host);
	const int64_t most = INT64_MAX / 4; /* sums of three of these are in range */
	if (offset < -most || offset > most || own->length > (uint64_t)most || span < 0 || span > most)
		return 0;
	uint64_t width = own->half_width > own[1].half_width ? own->half_width : own[1].half_width;
	uint64_t slack = clock_fit_add(clock_fit_add(width, fit->tick),
	                               1 + (uint64_t)span / (1000000 / CLOCK_FIT_WANDER_PPM));
	int64_t from = cause > 0 ? cause : 0, best = INT64_MAX;
	const int64_t lines[] = { clock_fit_move(fit, offset, own->around),
		                  span + clock_fit_move(fit, offset - (int64_t)own->length, own->around) };
	if (slack > (uint64_t)most)
		return 0;
	for (int i = 0; i < 2; i++) {
		if (lines[i] + (int64_t)slack >= from && lines[i] - (int64_t)slack <= span && lines[i] < best)
			best = lines[i];
	}
	if (best == INT64_MAX)
		return 0;
	int64_t low = lines[0] < lines[1] ? lines[0] : lines[1], high = lines[0] < lines[1] ? lines[1] : lines[0];
	low = low > from ? low : from;
	high = high < span ? high : span;
	int64_t below = best - low, above = high - best, reach = below > above ? below : above;
	*place = clock_place_of(own->host + (uint64_t)best, clock_fit_add(slack, reach > 0 ? (uint64_t)reach : 0),
	                        CLOCK_FIT_BROKEN);
	return 1;
}

/* If the cause of an event began in an interval with a jump, or in the interval before that, sets `*place` to the
 * earliest possible place that is not before the cause.  Returns false if there is no such interval, or if the position
 * can be explained without a jump. */
static inline int clock_fit_place_by_jump(const struct clock_fit *fit, int64_t position, uint64_t cause_host_ticks,
                                          size_t *hint, struct clock_place *place)
{
	for (size_t i = *hint; i < fit->count && i <= *hint + 1; i++) {
		const struct clock_segment *own = &fit->segments[i];
		uint64_t offset = (uint64_t)position - (uint64_t)own->position;
		/* The clock stood still at this position for longer than this interval. */
		if ((offset == 0 && own->still != 0) || (own->length != 0 && offset == own->length && own[1].still != 0))
			return 0;
		if (!own->around) {
			uint64_t host = own->host + clock_fit_advance(fit, offset, own->slope);
			if (offset < own->length && clock_fit_add(host, own->bound) >= cause_host_ticks)
				return 0;
		} else if (clock_fit_place_at_jump(fit, own, position, cause_host_ticks, place)) {
			*hint = i;
			return 1;
		}
	}
	return 0;
}

/* Places a position of an event whose cause began at `cause_host_ticks`, at the earliest possible moment that is not
 * before the cause.  The hint must be the pair at or before `cause_host_ticks`. */
static inline struct clock_place clock_fit_place_caused(const struct clock_fit *fit, int64_t position,
                                                        uint64_t cause_host_ticks, size_t *hint)
{
	if (fit->count == 0 || !fit->is_doubtful)
		return clock_fit_place(fit, position, hint);
	size_t begin = *hint < fit->count ? *hint : fit->count - 1, other;
	struct clock_place place, beside;
	*hint = begin;
	if (clock_fit_place_by_jump(fit, position, cause_host_ticks, hint, &place))
		return place;
	place = clock_fit_find(fit, position, hint);
	int is_early = clock_fit_add(place.host, place.bound) < cause_host_ticks;
	if (clock_fit_find_beside(fit, position, begin, 1, &other, &beside)) {
		uint64_t distance = clock_fit_distance(place.host, beside.host);
		if (is_early) {
			place = beside;
			*hint = other;
		} else if (*hint == fit->segments[begin].epoch_last && place.kind == CLOCK_FIT_OUTSIDE) {
			/* A position in the gap between two epochs may belong to either of them. */
			place.bound = clock_fit_add(place.bound, distance);
		}
	}
	const struct clock_segment *segment = &fit->segments[*hint];
	if (position == segment->position && segment->still != 0) {
		uint64_t first = clock_segment_first(segment);
		uint64_t from = cause_host_ticks < first           ? first
		                : cause_host_ticks > segment->host ? segment->host
		                                                   : cause_host_ticks;
		uint64_t behind = segment->host - from, ahead = from - first;
		place.host = from;
		place.bound = clock_fit_add(clock_fit_add(behind > ahead ? behind : ahead, segment->half_width),
		                            clock_fit_add(fit->tick, 1));
		return place;
	}
	uint64_t doubt = segment->after;
	if (segment->before > doubt &&
	    clock_fit_add(place.host, place.bound) >= clock_fit_add(cause_host_ticks, segment->before))
		doubt = segment->before;
	place.bound = clock_fit_add(place.bound, doubt);
	return place;
}

/* Returns the position of a counter value.  Of the possible positions, it is the one that is closest to the hint's
 * pair. */
static inline int64_t clock_fit_position(const struct clock_fit *fit, uint64_t device_ticks, size_t hint)
{
	return clock_fit_unwrap(fit, device_ticks, hint < fit->count ? fit->segments[hint].position : 0);
}

/* Places a counter value.  `*hint` must be 0 at first, and must be used for one sequence of queries only.  A query
 * close to the previous one costs only a multiplication.  A counter that wraps is unwrapped to the position closest to
 * the previous query.  CLOCK_FIT_UNUSED avoids a warning in the kit's single file, which does not call this
 * function. */
static inline CLOCK_FIT_UNUSED struct clock_place clock_fit_map(const struct clock_fit *fit, uint64_t device_ticks,
                                                                size_t *hint)
{
	return clock_fit_place(fit, clock_fit_position(fit, device_ticks, *hint), hint);
}

/* Sets `*hint` to the pair at or before the host time `host_ticks`. */
static inline void clock_fit_hint(const struct clock_fit *fit, uint64_t host_ticks, size_t *hint)
{
	size_t first = 0;
	size_t last = fit->count == 0 ? 0 : fit->count - 1;
	while (first < last) {
		size_t middle = first + (last - first + 1) / 2;
		if (host_ticks < clock_segment_first(&fit->segments[middle]))
			last = middle - 1;
		else
			first = middle;
	}
	*hint = first;
}

/* Returns the position of a counter value that is known to be near host time `near_host_ticks` (the start of its
 * cause).  The result is right if the counter was read less than half a wrap before or after `near_host_ticks`,
 * independent of the distances between clock pairs.  Sets `*hint` to the pair at or before `near_host_ticks`. */
static inline int64_t clock_fit_position_near(const struct clock_fit *fit, uint64_t device_ticks,
                                              uint64_t near_host_ticks, size_t *hint)
{
	clock_fit_hint(fit, near_host_ticks, hint);
	if (fit->count == 0)
		return 0;
	const struct clock_segment *segment = &fit->segments[*hint];
	uint64_t since = near_host_ticks >= segment->host                 ? near_host_ticks - segment->host
	                 : near_host_ticks < clock_segment_first(segment) ? clock_segment_first(segment) - near_host_ticks
	                                                                  : 0;
	uint64_t ticks = clock_fit_scale(since, fit->device_per_second, fit->host_per_second);
	int64_t expected = (int64_t)((uint64_t)segment->position + (near_host_ticks < segment->host ? 0 - ticks : ticks));
	return clock_fit_unwrap(fit, device_ticks, expected);
}

/* As clock_fit_map, for a counter value of an event whose cause began at `near_host_ticks`. */
static inline CLOCK_FIT_UNUSED struct clock_place clock_fit_map_near(const struct clock_fit *fit, uint64_t device_ticks,
                                                                     uint64_t near_host_ticks, size_t *hint)
{
	int64_t position = clock_fit_position_near(fit, device_ticks, near_host_ticks, hint);
	return clock_fit_place_caused(fit, position, near_host_ticks, hint);
}

#endif
