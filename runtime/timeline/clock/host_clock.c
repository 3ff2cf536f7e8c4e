/* Implements host_clock.h.  Segments are contiguous; the last one covers later ticks as far as its arithmetic
 * allows, and ticks before the first one use its slope.
 * ns = (ticks << shift) * multiplier / 2^64: one multiplication, if a segment's ticks leave `shift` bits free. */
#include "timeline/clock/host_clock.h"

#include <stdlib.h>

#include "base/status.h"

/* Two samples determine a slope if their half-widths together are at most this fraction of their distance. */
#define UNCERTAINTY_PART 10000u

/* Two readings contradict each other only if they differ by more than this and their half-widths: the kernel adjusts
 * CLOCK_MONOTONIC, and times are rounded. */
#define DISAGREEMENT_NS 1000
/* The machine was suspended or a clock jumped in a segment whose rate differs from the nominal one by more than
 * this. */
#define BROKEN_PPM 1000

static uint64_t multiplier_of(const struct host_clock *clock, uint64_t ns, uint64_t ticks)
{
	unsigned __int128 multiplier = ((unsigned __int128)ns << 64 >> clock->shift) / ticks;
	return multiplier >> 64 ? UINT64_MAX : (uint64_t)multiplier;
}

static bool gives_slope(const struct host_clock *clock, const struct epf_host_pair *a, const struct epf_host_pair *b)
{
	unsigned __int128 noise = (unsigned __int128)a->half_width_ticks + b->half_width_ticks;
	uint64_t ticks = b->ticks - a->ticks;
	return b->ticks > a->ticks && ticks < UINT64_MAX >> clock->shift && b->monotonic_ns > a->monotonic_ns &&
	       noise * UNCERTAINTY_PART <= ticks;
}

/* Returns true if the time of a sample is within ITEM_NS_MAX / 2 of zero_ns, the timeline's time 0, so that it can be
 * converted.  In a damaged file the difference of the two times may exceed 64 bits. */
static bool is_possible(const struct epf_host_pair *pair, int64_t zero_ns)
{
	int64_t ns;
	return !__builtin_sub_overflow(pair->monotonic_ns, zero_ns, &ns) && ns >= -(ITEM_NS_MAX / 2) &&
	       ns <= ITEM_NS_MAX / 2;
}

/* Copies the samples to use and returns their number; impossible times are left out. */
static size_t choose_pairs(const struct host_clock *clock, struct epf_host_pair *chosen,
                           const struct epf_host_pair *pairs, size_t count, int64_t zero_ns)
{
	size_t kept = 0;
	for (size_t i = 0; i < count; i++) {
		if (!is_possible(&pairs[i], zero_ns))
			continue;
		/* A sample with a large half-width is replaced by a better one that follows soon. */
		while (kept > 0 && !gives_slope(clock, &chosen[kept - 1], &pairs[i]) &&
		       pairs[i].ticks > chosen[kept - 1].ticks &&
		       pairs[i].half_width_ticks < chosen[kept - 1].half_width_ticks / 4)
			kept--;
		if (kept == 0 || gives_slope(clock, &chosen[kept - 1], &pairs[i]))
			chosen[kept++] = pairs[i];
	}
	return kept;
}

/* Returns the length of the last segment in ticks.  ITEM_NS_MAX and the bits that the shift needs limit it. */
static uint64_t span_of_last(const struct host_clock *clock, const struct host_segment *segment)
{
	unsigned __int128 room = (unsigned __int128)(ITEM_NS_MAX - segment->ns) << 64;
	uint64_t most = UINT64_MAX - segment->ticks;

	room = (room / (segment->multiplier ? segment->multiplier : 1)) >> clock->shift;
	most = most < UINT64_MAX >> clock->shift ? most : UINT64_MAX >> clock->shift;
	return room > most ? most : (uint64_t)room;
}

static void lay_out(struct host_clock *clock, const struct epf_host_pair *pairs, size_t count, int64_t zero_ns)
{
	clock->count = count;
	for (size_t i = 0; i < count; i++) {
		struct host_segment *segment = &clock->segments[i];
		*segment = (struct host_segment){ .ticks = pairs[i].ticks,
			                          .ns = pairs[i].monotonic_ns - zero_ns,
			                          .multiplier = clock->nominal };
		if (i + 1 < count) {
			segment->span = pairs[i + 1].ticks - pairs[i].ticks;
			segment->multiplier = multiplier_of(
			    clock, (uint64_t)(pairs[i + 1].monotonic_ns - pairs[i].monotonic_ns), segment->span);
		} else {
			if (i > 0)
				segment->multiplier = segment[-1].multiplier;
			segment->span = span_of_last(clock, segment);
		}
	}
}

/* ---- doubt: samples that contradict each other ---- */

static void doubt(struct host_clock *clock, size_t segment, int64_t by_ns)
{
	if (by_ns <= clock->segments[segment].doubt_ns)
		return;
	clock->segments[segment].doubt_ns = by_ns < ITEM_NS_MAX ? by_ns : ITEM_NS_MAX;
	clock->is_doubted = true;
}

static int64_t distance_of(int64_t a, int64_t b)
{
	uint64_t distance = a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
	return distance < (uint64_t)ITEM_NS_MAX ? (int64_t)distance : ITEM_NS_MAX;
}

static int64_t half_width_ns(const struct host_clock *clock, const struct epf_host_pair *pair)
{
	int64_t ns = host_clock_span_ns(clock, pair->half_width_ticks);
	return ns < ITEM_NS_MAX / 8 ? ns : ITEM_NS_MAX / 8;
}

/* Returns the largest difference between the samples a and b that is not taken as a contradiction, in ns. */
static int64_t slack_of(const struct host_clock *clock, const struct epf_host_pair *a, const struct epf_host_pair *b)
{
	return half_width_ns(clock, a) + half_width_ns(clock, b) + DISAGREEMENT_NS;
}

/* Sets the doubt of a segment in which a suspend or a jump occurred.  The time that was lost there may be at any place
 * in the segment.  So a time in it may be wrong by all of the lost time, but not by more than the segment's length. */
static bool doubt_if_broken(struct host_clock *clock, size_t i, const struct epf_host_pair *pairs)
{
	int64_t length_ns = distance_of(pairs[i + 1].monotonic_ns, pairs[i].monotonic_ns);
	int64_t off_ns = distance_of(host_clock_span_ns(clock, clock->segments[i].span), length_ns);

	if (off_ns < slack_of(clock, &pairs[i], &pairs[i + 1]) || off_ns < length_ns / (1000000 / BROKEN_PPM))
		return false;
	doubt(clock, i, off_ns < length_ns ? off_ns : length_ns);
	return true;
}

/* Compares a chosen sample with the line between its neighbours. */
static void doubt_between(struct host_clock *clock, size_t i, const struct epf_host_pair *pairs)
{
	const struct epf_host_pair *left = &pairs[i - 1], *right = &pairs[i + 1];
	double part = (double)(pairs[i].ticks - left->ticks) / (double)(right->ticks - left->ticks);
	double off_ns = part * (double)(right->monotonic_ns - left->monotonic_ns) -
	                (double)(pairs[i].monotonic_ns - left->monotonic_ns);

	off_ns = off_ns < 0 ? -off_ns : off_ns;
	if (off_ns < (double)(slack_of(clock, left, right) + slack_of(clock, &pairs[i], right)))
		return;
	int64_t by_ns = off_ns < (double)ITEM_NS_MAX ? (int64_t)off_ns : ITEM_NS_MAX;
	doubt(clock, i - 1, by_ns);
	doubt(clock, i, by_ns);
}

/* Compares a sample with the clock, that is, the function through the chosen samples.  A chosen sample cannot
 * contradict it. */
static void doubt_beside(struct host_clock *clock, const struct epf_host_pair *pair, int64_t zero_ns)
{
	size_t hint = 0;
	int64_t mapped_ns = host_clock_ns_far(clock, &hint, pair->ticks);
	int64_t off_ns = distance_of(mapped_ns, (int64_t)((uint64_t)pair->monotonic_ns - (uint64_t)zero_ns));

	if (off_ns > slack_of(clock, pair, pair))
		doubt(clock, hint, off_ns);
}

static void find_doubts(struct host_clock *clock, const struct epf_host_pair *chosen, const struct epf_host_pair *pairs,
                        size_t count, int64_t zero_ns)
{
	bool left_is_broken = true;

	for (size_t i = 0; i + 1 < clock->count; i++) {
		bool is_broken = doubt_if_broken(clock, i, chosen);
		if (!is_broken && !left_is_broken)
			doubt_between(clock, i, chosen);
		left_is_broken = is_broken;
	}
	for (size_t i = 0; i < count; i++)
		doubt_beside(clock, &pairs[i], zero_ns);
}

/* Returns the earliest host tick in the blocks of a trace; 0: there is none. */
static uint64_t first_ticks(const struct reader *reader)
{
	uint64_t first = UINT64_MAX;
	for (size_t i = 0; i < reader->blocks_count; i++) {
		if (reader->blocks[i].first_ticks < first)
			first = reader->blocks[i].first_ticks;
	}
	return first == UINT64_MAX ? 0 : first;
}

epp_status *host_clock_build(struct host_clock *clock, const struct epf_host_pair *pairs, size_t count,
                             const struct epf_host_pair *zero, uint64_t ticks_per_second)
{
	if (!count) {
		pairs = zero;
		count = 1;
	}
	*clock = (struct host_clock){ .ticks_per_second = ticks_per_second ? ticks_per_second : 1000000000 };
	/* The shift is chosen so that the nominal ns per tick, divided by 2^shift, are below 1/16.  A multiplier of 64
	 * bits can then hold 16 times the nominal rate. */
	uint64_t ns_a_tick = 1000000000 / clock->ticks_per_second + 1;
	clock->shift = 64 - (uint32_t)__builtin_clzll(ns_a_tick) + 4;
	clock->nominal = multiplier_of(clock, 1000000000, clock->ticks_per_second);

	struct epf_host_pair *chosen = malloc(count * sizeof(*chosen));
	clock->segments = malloc(count * sizeof(*clock->segments));
	if (!chosen || !clock->segments) {
		free(chosen);
		host_clock_deinit(clock);
		return epp_status_no_memory();
	}
	size_t kept = choose_pairs(clock, chosen, pairs, count, zero->monotonic_ns);
	if (!kept)
		chosen[kept++] = *zero;
	lay_out(clock, chosen, kept, zero->monotonic_ns);
	find_doubts(clock, chosen, pairs, count, zero->monotonic_ns);
	free(chosen);
	return NULL;
}

struct epf_host_pair host_clock_zero(const struct reader *reader)
{
	for (size_t i = 0; i < reader->runs_count; i++) {
		if (reader->runs[i].start.ticks)
			return reader->runs[i].start;
	}
	if (reader->pairs_count)
		return reader->pairs[0];
	return (struct epf_host_pair){ .ticks = first_ticks(reader) };
}

epp_status *host_clock_init(struct host_clock *clock, const struct reader *reader)
{
	struct epf_host_pair zero = host_clock_zero(reader);
	return host_clock_build(clock, reader->pairs, reader->pairs_count, &zero, reader->header.source.ticks_per_second);
}

void host_clock_deinit(struct host_clock *clock)
{
	free(clock->segments);
	clock->segments = NULL;
}

/* `ticks` must leave the upper `shift` bits free. */
static int64_t advance(const struct host_clock *clock, const struct host_segment *segment, uint64_t ticks)
{
	return (int64_t)((unsigned __int128)(ticks << clock->shift) * segment->multiplier >> 64);
}

int64_t host_clock_ns_far(const struct host_clock *clock, size_t *hint, uint64_t ticks)
{
	size_t first = 0, last = clock->count - 1;
	while (first < last) {
		size_t middle = first + (last - first + 1) / 2;
		if (ticks < clock->segments[middle].ticks)
			last = middle - 1;
		else
			first = middle;
	}
	const struct host_segment *segment = &clock->segments[first];
	*hint = first;
	if (ticks >= segment->ticks) {
		if (ticks - segment->ticks >= segment->span)
			return ITEM_NS_MAX;
		return segment->ns + advance(clock, segment, ticks - segment->ticks);
	}
	if ((segment->ticks - ticks) >> (64 - clock->shift))
		return -ITEM_NS_MAX;
	uint64_t before = (uint64_t)advance(clock, segment, segment->ticks - ticks);
	if (before > (uint64_t)ITEM_NS_MAX || segment->ns - (int64_t)before < -ITEM_NS_MAX)
		return -ITEM_NS_MAX;
	return segment->ns - (int64_t)before;
}

int64_t host_clock_span_ns(const struct host_clock *clock, uint64_t ticks)
{
	if (ticks >> (64 - clock->shift))
		return ITEM_NS_MAX;
	uint64_t ns = (uint64_t)((unsigned __int128)(ticks << clock->shift) * clock->nominal >> 64);
	return ns < (uint64_t)ITEM_NS_MAX ? (int64_t)ns + 1 : ITEM_NS_MAX;
}

uint64_t host_clock_ticks(const struct host_clock *clock, int64_t ns)
{
	size_t first = 0, last = clock->count - 1;
	while (first < last) {
		size_t middle = first + (last - first + 1) / 2;
		if (ns < clock->segments[middle].ns)
			last = middle - 1;
		else
			first = middle;
	}
	const struct host_segment *segment = &clock->segments[first];
	uint64_t multiplier = segment->multiplier ? segment->multiplier : 1;
	bool before = ns < segment->ns;
	uint64_t distance = before ? (uint64_t)segment->ns - (uint64_t)ns : (uint64_t)ns - (uint64_t)segment->ns;
	uint64_t ticks = (uint64_t)(((unsigned __int128)distance << 64) / multiplier >> clock->shift);
	return before ? segment->ticks - ticks : segment->ticks + ticks;
}
