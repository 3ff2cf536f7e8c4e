/* A device clock that was compared with the host's once, and what causes tell of it besides.
 *
 * By itself such a clock may be off by 500 ppm of the time since that sample, and by any amount if it jumped.  Each event whose cause
 * is in the trace limits the offset (causal_band.h).  Two bands are made of these limits:
 *
 *   bound   what is certain: events begin after their cause, and end before a wait for them or before the outermost event of
 *           category session around their cause ends
 *   place   the same if events also end before their cause does, as they do where the host calls an execution provider
 *           synchronously; used only if it contradicts hardly more than the first
 *
 * Where durations show that events outlast the outermost event of a session, the host leaves work running, and only waits count.
 * Where nothing certain limits when events ended, a clock that has jumped ahead looks like work that the host leaves running: events
 * stay, and their bounds cover the place.
 * Where no event has a known cause, the sample's bound is kept unless the runs of models contradict it (run_coverage.h).
 * An event stays where its clock puts it unless some limit excludes that; then the whole clock is placed by the bands.
 */
#ifndef EPPROF_RUNTIME_TIMELINE_CLOCK_CAUSAL_CLOCK_H
#define EPPROF_RUNTIME_TIMELINE_CLOCK_CAUSAL_CLOCK_H

#include "timeline/clock/causal_band.h"
#include "timeline/clock/run_coverage.h"
#include "timeline/merging/merge_item.h"

struct causal_clock {
	/* Who it belongs to. */
	uint32_t source;
	int32_t producer;
	uint32_t run;
	const void *device_clock; /* NULL: ONNX Runtime's microseconds of that producer and run */
	struct causal_point sample;
	int64_t run_end_ns; /* of the recording's run; INT64_MAX: not known */
	int64_t tick_ns;    /* times are rounded down to it, or up by as much */
	/* While points are collected. */
	struct causal_points points;
	struct run_coverage coverage; /* as long as there are no points */
	uint64_t events_count, outlasting_parent_count, outlasting_session_count;
	/* Once built. */
	struct causal_band bound, place;
	bool is_built, has_place;
	bool has_end;   /* there is a certain limit of when some event ended */
	bool is_wide;   /* for want of such limits bounds have to cover the place too */
	bool is_moved;  /* the clock's own times contradict some limit */
	bool is_adrift; /* it has no causes and cannot be right: nothing is known but the run that its events are in */
	bool by_causes; /* there are several pieces: the place of an event depends on its cause */
};

/* Keeps sums and differences of times and offsets in range. */
static inline int64_t causal_clip(int64_t ns)
{
	return ns > ITEM_NS_MAX / 4 ? ITEM_NS_MAX / 4 : ns < -ITEM_NS_MAX / 4 ? -ITEM_NS_MAX / 4 : ns;
}

/* What is known of one event: its claimed times, and times of the host. */
struct causal_event {
	int64_t start_ns, end_ns;
	int64_t cause_ns;       /* when its cause began */
	int64_t parent_end_ns;  /* when it ended */
	int64_t session_end_ns; /* of the outermost event of a session around it; CAUSAL_NS_MAX: not known */
	int64_t wait_end_ns;    /* of what waited for the event; CAUSAL_NS_MAX: nothing */
};

epp_status *causal_clock_add(struct causal_clock *clock, const struct causal_event *event) EPP_MUST_CHECK;
/* Frees the points.  Without any the clock stays unbuilt, and its sample is all that is known. */
epp_status *causal_clock_build(struct causal_clock *clock) EPP_MUST_CHECK;
void causal_clock_deinit(struct causal_clock *clock);

/* Moves a claimed time of an event whose cause began at cause_ns (CAUSAL_NO_CAUSE: not known) and sets its bound, without what
 * rounding adds. */
void causal_clock_place(const struct causal_clock *clock, int64_t *at_ns, int64_t cause_ns, int64_t *error_ns);

#endif
