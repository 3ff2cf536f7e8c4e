/* The clocks of devices: their pairs, and device ticks to nanoseconds by the fit over them (ep_kit/clock_fit.h). */
#ifndef EPPROF_RUNTIME_TIMELINE_CLOCK_DEVICE_CLOCK_H
#define EPPROF_RUNTIME_TIMELINE_CLOCK_DEVICE_CLOCK_H

#include "ep_kit/clock_fit.h"
#include "timeline/clock/host_clock.h"

/* Shared by the tracks that name the same clock number; pairs come first, then the fit, then queries. */
struct device_clock {
	uint32_t source;
	uint32_t number; /* of the clock; 0: of `track` alone */
	uint32_t track;
	uint32_t bits;
	uint64_t ticks_per_second;
	struct clock_pair *pairs;
	size_t pairs_count, pairs_room;
	struct clock_segment *segments;
	struct clock_fit fit;
	size_t hint;    /* of the last query */
	uint64_t bound; /* of the last one inside its segment, and in ns */
	int64_t bound_ns;
	uint64_t origin; /* any ticks that were seen */
	bool has_origin;
	/* The same ticks may mean several times: the counter has fewer than 64 bits, stood still, or went backwards.  Where it is
	 * placed then depends on the query before. */
	bool ambiguous;
};

struct device_clocks {
	struct device_clock **clocks;
	size_t count;
};

void device_clocks_deinit(struct device_clocks *clocks);

/* The clock of a track, made if need be. */
epp_status *device_clocks_find(struct device_clocks *clocks, const struct epf_track *definition,
                               struct device_clock **clock) EPP_MUST_CHECK;

epp_status *device_clock_add_pair(struct device_clock *clock, uint64_t device_ticks, uint64_t host_ticks,
                                  uint64_t half_width_ticks) EPP_MUST_CHECK;

/* Fits all clocks; no pair is added afterwards. */
epp_status *device_clocks_fit(struct device_clocks *clocks, const struct host_clock *host) EPP_MUST_CHECK;

struct device_time {
	int64_t ns;
	int64_t error_ns; /* the true time lies within ns +- this */
	bool fitted;      /* else by the one-sample formula */
};

/* A query that lies in the segments of the clock and of the host that the one before did, as nearly all do; false: ask
 * device_clock_place. */
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

/* The clock has at least one pair.  `near_ns`: when the event's cause began, which is where ambiguous ticks are looked for;
 * INT64_MIN: near the query before. */
struct device_time device_clock_place(struct device_clock *clock, const struct host_clock *host, size_t *host_hint,
                                      uint64_t ticks, int64_t near_ns);

#endif
