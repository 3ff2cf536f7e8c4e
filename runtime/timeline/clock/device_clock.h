/* Device clocks: their clock samples, and the conversion of device ticks to nanoseconds by a fit of the samples
 * (ep_kit/clock_fit.h). */
#ifndef EPPROF_RUNTIME_TIMELINE_CLOCK_DEVICE_CLOCK_H
#define EPPROF_RUNTIME_TIMELINE_CLOCK_DEVICE_CLOCK_H

#include "ep_kit/clock_fit.h"
#include "timeline/clock/host_clock.h"

/* A clock.  All tracks with the same clock number share one.  Samples are added first, then the fit is built, then
 * times are queried. */
struct device_clock {
	uint32_t source;
	uint32_t number; /* clock number; 0: the clock belongs to `track` only */
	uint32_t track;
	uint32_t bits;
	uint64_t ticks_per_second;
	struct clock_pair *pairs;
	size_t pairs_count, pairs_room;
	struct clock_segment *segments;
	struct clock_fit fit;
	size_t hint;    /* segment of the last query */
	uint64_t bound; /* cache of device_clock_near: the error bound of the last segment in host ticks; bound_ns: the
	                   same in ns */
	int64_t bound_ns;
	uint64_t origin; /* an arbitrary tick value of this clock, as the reference for signed differences */
	bool has_origin;
	/* The same ticks may correspond to several times, because the counter has fewer than 64 bits, stopped, or went
	 * backwards.  The result of a query then depends on the previous query. */
	bool ambiguous;
};

struct device_clocks {
	struct device_clock **clocks;
	size_t count;
};

void device_clocks_deinit(struct device_clocks *clocks);

/* Finds the clock of a track; adds it if it is new. */
epp_status *device_clocks_find(struct device_clocks *clocks, const struct epf_track *definition,
                               struct device_clock **clock) EPP_MUST_CHECK;

epp_status *device_clock_add_pair(struct device_clock *clock, uint64_t device_ticks, uint64_t host_ticks,
                                  uint64_t half_width_ticks) EPP_MUST_CHECK;

/* Fits all clocks; no sample may be added afterwards. */
epp_status *device_clocks_fit(struct device_clocks *clocks, const struct host_clock *host) EPP_MUST_CHECK;

struct device_time {
	int64_t ns;
	int64_t error_ns; /* the true time is within ns +- this */
	bool fitted;      /* false: by the formula for a single sample */
};

/* Fast path for a query in the same segments of the device clock and the host clock as the previous one, which is
 * nearly always the case.  Returns false if device_clock_place must be called. */
static inline bool device_clock_near(struct device_clock *clock, const struct host_clock *host, size_t host_hint,
                                     uint64_t ticks, struct device_time *time)
{
	const struct clock_fit *fit = &clock->fit;
	const struct host_segment *near = &host->segments[host_hint];

	if (clock->ambiguous || clock->hint >= fit->count)
		return false;
	const struct clock_segment *segment = &fit->segments[clock->hint];
	uint64_t offset = ticks - fit->device_first - (uint64_t)segment->position;
	if (!offset || offset >= segment->length)
		return false;
	uint64_t host_offset = segment->host + clock_fit_advance(fit, offset, segment->slope) - near->ticks;
	if (host_offset >= near->span || near->ticks + host_offset > UINT64_MAX / 2 || near->doubt_ns)
		return false;
	if (segment->bound != clock->bound) {
		clock->bound = segment->bound;
		clock->bound_ns = host_clock_span_ns(host, segment->bound);
	}
	*time = (struct device_time){ .ns = host_segment_ns(host, near, host_offset),
		                      .error_ns = clock->bound_ns,
		                      .fitted = (enum clock_fit_kind)segment->kind != CLOCK_FIT_FORMULA };
	return true;
}

/* Requires at least one sample.  `near_ns`: ambiguous ticks are resolved to the time that is closest to this one, the
 * start of the event's cause; INT64_MIN: closest to the result of the previous query. */
struct device_time device_clock_place(struct device_clock *clock, const struct host_clock *host, size_t *host_hint,
                                      uint64_t ticks, int64_t near_ns);

#endif
