/* Host ticks to nanoseconds: a piecewise linear map through the file's host pairs, never decreasing.
 *
 * A pair is used only if it tells the slope better than 100 ppm; what is closer together, or was read badly, is left out,
 * so a short trace goes by the nominal rate.  Time 0 is the first run's start.
 *
 * Where pairs contradict each other by more than they may, times are in doubt: the machine slept, the counters of its
 * processors differ, or the counter began anew.
 */
#ifndef EPPROF_RUNTIME_TIMELINE_CLOCK_HOST_CLOCK_H
#define EPPROF_RUNTIME_TIMELINE_CLOCK_HOST_CLOCK_H

#include "epprof/status.h"
#include "timeline/merging/merge_item.h"
#include "trace/reader.h"

struct host_segment {
	uint64_t ticks;      /* its beginning */
	uint64_t span;       /* ticks up to the next one's */
	uint64_t multiplier; /* ns for 2^clock->shift ticks, as a fraction of 2^64 */
	int64_t ns;
	int64_t doubt_ns; /* by so much times inside may be wrong; 0: no pair contradicts */
};

struct host_clock {
	struct host_segment *segments; /* at least one */
	size_t count;
	uint32_t shift;
	uint64_t ticks_per_second; /* nominal */
	uint64_t nominal;          /* multiplier */
	bool is_doubted;           /* some segment is */
};

/* The reading at time 0: the first run's start, or what comes closest to one. */
struct epf_host_pair host_clock_zero(const struct reader *reader);
/* The same as init out of any pairs, sorted by ticks; there may be none. */
epp_status *host_clock_build(struct host_clock *clock, const struct epf_host_pair *pairs, size_t count,
                             const struct epf_host_pair *zero, uint64_t ticks_per_second) EPP_MUST_CHECK;
epp_status *host_clock_init(struct host_clock *clock, const struct reader *reader) EPP_MUST_CHECK;
void host_clock_deinit(struct host_clock *clock);

int64_t host_clock_ns_far(const struct host_clock *clock, size_t *hint, uint64_t ticks);

/* A time by its segment, which it lies in, so far from its beginning. */
static inline int64_t host_segment_ns(const struct host_clock *clock, const struct host_segment *segment, uint64_t offset)
{
	return segment->ns + (int64_t)((unsigned __int128)(offset << clock->shift) * segment->multiplier >> 64);
}

/* `*hint` is 0 at first and makes queries close to each other cheap.  Within +-ITEM_NS_MAX. */
static inline int64_t host_clock_ns(const struct host_clock *clock, size_t *hint, uint64_t ticks)
{
	const struct host_segment *segment = &clock->segments[*hint];
	uint64_t offset = ticks - segment->ticks;

	if (__builtin_expect(offset >= segment->span, 0))
		return host_clock_ns_far(clock, hint, ticks);
	return host_segment_ns(clock, segment, offset);
}

/* The doubt at a time, up to ITEM_NS_MAX; `*hint` is that of the time's query. */
static inline int64_t host_clock_doubt_ns(const struct host_clock *clock, const size_t *hint)
{
	return clock->segments[*hint].doubt_ns;
}

/* A length by the nominal rate, at most a nanosecond more than it is; at most ITEM_NS_MAX. */
int64_t host_clock_span_ns(const struct host_clock *clock, uint64_t ticks);

/* The ticks at a time, to within a tick or two: where a clock that wraps is to be looked for. */
uint64_t host_clock_ticks(const struct host_clock *clock, int64_t ns);

#endif
