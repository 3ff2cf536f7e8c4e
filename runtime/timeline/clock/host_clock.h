/* Converts host ticks to nanoseconds by a piecewise linear, never decreasing function through the host clock samples of
 * the file.
 *
 * A sample is used only if it determines the slope to better than 100 ppm.  Samples that are too close together or have
 * a large half-width are left out, so a short trace has the nominal rate.  Time 0 is the start of the first run.
 *
 * If samples contradict each other by more than their tolerance, the times between them are doubtful: the machine was
 * suspended, the counters of its processors differ, or the counter was reset. */
#ifndef EPPROF_RUNTIME_TIMELINE_CLOCK_HOST_CLOCK_H
#define EPPROF_RUNTIME_TIMELINE_CLOCK_HOST_CLOCK_H

#include "epprof/status.h"
#include "timeline/merging/merge_item.h"
#include "trace/reader.h"

struct host_segment {
	uint64_t ticks;      /* first tick */
	uint64_t span;       /* ticks up to the next segment */
	uint64_t multiplier; /* ns per tick, times 2^(64 - clock->shift) */
	int64_t ns;
	int64_t doubt_ns; /* a time in the segment may be wrong by this much; 0: no sample contradicts the segment */
};

struct host_clock {
	struct host_segment *segments; /* at least one */
	size_t count;
	uint32_t shift;
	uint64_t ticks_per_second; /* nominal rate */
	uint64_t nominal;          /* the multiplier of the nominal rate */
	bool is_doubted;           /* some segment has doubt_ns > 0 */
};

/* Returns the clock sample that defines time 0: the one at the start of the first run; if there is none, the closest
 * substitute. */
struct epf_host_pair host_clock_zero(const struct reader *reader);
/* Like host_clock_init, but with samples from the caller, sorted by ticks.  `count` may be 0. */
epp_status *host_clock_build(struct host_clock *clock, const struct epf_host_pair *pairs, size_t count,
                             const struct epf_host_pair *zero, uint64_t ticks_per_second) EPP_MUST_CHECK;
epp_status *host_clock_init(struct host_clock *clock, const struct reader *reader) EPP_MUST_CHECK;
void host_clock_deinit(struct host_clock *clock);

int64_t host_clock_ns_far(const struct host_clock *clock, size_t *hint, uint64_t ticks);

/* Returns the time at `offset` ticks from the beginning of a segment; the offset must be inside the segment. */
static inline int64_t host_segment_ns(const struct host_clock *clock, const struct host_segment *segment, uint64_t offset)
{
	return segment->ns + (int64_t)((unsigned __int128)(offset << clock->shift) * segment->multiplier >> 64);
}

/* `*hint` must be 0 at the first call, and unchanged between calls: a query near the previous one is then cheap.  The
 * result is within +-ITEM_NS_MAX. */
static inline int64_t host_clock_ns(const struct host_clock *clock, size_t *hint, uint64_t ticks)
{
	const struct host_segment *segment = &clock->segments[*hint];
	uint64_t offset = ticks - segment->ticks;

	if (__builtin_expect(offset >= segment->span, 0))
		return host_clock_ns_far(clock, hint, ticks);
	return host_segment_ns(clock, segment, offset);
}

/* Returns the error bound of a time, at most ITEM_NS_MAX.  `*hint` must be as the query for that time has left it. */
static inline int64_t host_clock_doubt_ns(const struct host_clock *clock, const size_t *hint)
{
	return clock->segments[*hint].doubt_ns;
}

/* Converts a length by the nominal rate, rounded up by at most a nanosecond.  The result is at most ITEM_NS_MAX. */
int64_t host_clock_span_ns(const struct host_clock *clock, uint64_t ticks);

/* Converts nanoseconds to ticks, accurate to a tick or two, which is enough to resolve clocks that wrap. */
uint64_t host_clock_ticks(const struct host_clock *clock, int64_t ns);

#endif
