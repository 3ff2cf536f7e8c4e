/* A device clock that was compared with the host clock only once, and the limits of its offset that follow from causes.
 *
 * Without causes, such a clock may be off by 500 ppm of the time since that sample, and by any amount if it jumped.
 * Each event whose cause is in the trace limits the offset (causal_band.h).  Two bands are built from these limits:
 *
 *   bound   certain limits: events begin after their cause, and end before a wait for them ends or before the outermost
 *           event of category session around their cause ends
 *   place   the same limits, and events also end before their cause ends, as they do if the host calls an execution
 *           provider synchronously; used only if it has hardly more pieces than the first band
 *
 * If durations show that events outlast the outermost session event, the host does not wait for its work, and only
 * waits count.
 * If there are no certain limits for the ends of events, a clock that jumped ahead looks the same as work that the host
 * leaves running: events keep the times that their clock claims, and their error bounds also cover the times by
 * `place`.  If no event has a known cause, the sample's bound is kept unless the model runs contradict it (struct
 * run_coverage).  An event stays where its clock places it unless some limit excludes that; then the bands place all
 * events of the clock. */
#ifndef EPPROF_RUNTIME_TIMELINE_CLOCK_CAUSAL_CLOCK_H
#define EPPROF_RUNTIME_TIMELINE_CLOCK_CAUSAL_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epprof/status.h"
#include "timeline/clock/causal_band.h"
#include "timeline/clock/run_coverage.h"
#include "timeline/merging/merge_item.h"

struct causal_clock {
	/* Identity of the clock: source, and the clock number or track. */
	uint32_t source;
	int32_t producer;
	uint32_t run;
	const void *device_clock; /* NULL: ONNX Runtime's microseconds of that producer and run */
	struct causal_point sample;
	int64_t run_end_ns; /* end of the recording's run; INT64_MAX: not known */
	int64_t tick_ns;    /* the clock's times are rounded by at most this many ns */
	/* Points are collected here, and freed by causal_clock_build. */
	struct causal_points points;
	struct run_coverage coverage; /* used only while there are no points */
	uint64_t events_count, outlasting_parent_count, outlasting_session_count;
	/* Set by causal_clock_build. */
	struct causal_band bound, place;
	bool is_built, has_place;
	bool has_end;  /* an upper limit other than CAUSAL_PARENT exists */
	bool is_wide;  /* there are no certain limits for ends, so the error bounds must also cover `place` */
	bool is_moved; /* the clock's own times contradict some limit */
	bool is_wrong; /* set by measure_clocks.c: the clock has no causes and is proven wrong, so it is only known in which
	                   run its events were */
	bool by_causes; /* the bands have several pieces, so the offset of an event depends on its cause */
};

/* Limits a time or an offset, so that sums and differences do not overflow. */
static inline int64_t causal_clip(int64_t ns)
{
	return ns > ITEM_NS_MAX / 4 ? ITEM_NS_MAX / 4 : ns < -ITEM_NS_MAX / 4 ? -ITEM_NS_MAX / 4 : ns;
}

/* Input of causal_clock_add: the times of an event by its own clock, and times of the host clock. */
struct causal_event {
	int64_t start_ns, end_ns;
	int64_t cause_ns;       /* start of the cause */
	int64_t parent_end_ns;  /* end of the cause */
	int64_t session_end_ns; /* end of the outermost session event around the cause; CAUSAL_NS_MAX: not known */
	int64_t wait_end_ns;    /* end of the wait for the event; CAUSAL_NS_MAX: none */
};

epp_status *causal_clock_add(struct causal_clock *clock, const struct causal_event *event) EPP_MUST_CHECK;
/* Builds the bands and frees the points.  A clock without points gets no bands, and its single sample is all that is
 * known about it. */
epp_status *causal_clock_build(struct causal_clock *clock) EPP_MUST_CHECK;
void causal_clock_deinit(struct causal_clock *clock);

/* Corrects a claimed time of an event and sets its error bound, which does not include rounding. cause_ns is the start
 * of the event's cause; CAUSAL_NO_CAUSE: not known. */
void causal_clock_place(const struct causal_clock *clock, int64_t *at_ns, int64_t cause_ns, int64_t *error_ns);

#endif
