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
#include "timeline/merging/merge_item.h"

/* Tests whether the clock of a device can be right although no causes of its events are known.
 *
 * Device events belong to model runs, and a device that runs a part of a model runs it each time.  So with a clock
 * within its bound, no event is outside all runs, and no run is without events.  With a clock that drifts, one of the
 * two occurs towards the end; with a clock that jumps, there are runs without events.
 *
 *   host_runs_add(&runs, start_ns, end_ns, name);        in order of start; the outermost events of category session
 *   host_runs_settle(&runs);
 *   run_coverage_init(&coverage, &runs, from_ns, to_ns); for one clock
 *   run_coverage_add(&coverage, from_ns, to_ns);         each start and end of an event, with its bound
 *   run_coverage_contradicts(&coverage, &runs);
 *
 * Memory: at most HOST_RUNS_MOST runs (if there are more, only every second, fourth, ... is kept), and 1 MiB for each
 * clock. */

#define HOST_RUNS_MOST ((size_t)1 << 18)

struct host_run {
	int64_t start_ns, end_ns;
	uint32_t name;
};

struct host_runs {
	struct host_run *runs;
	size_t count, room;
	uint64_t added_count, every; /* one of `every` runs is kept; 0 means 1 */
};

/* Errors: EPP_OUT_OF_MEMORY. */
epp_status *host_runs_add(struct host_runs *runs, int64_t start_ns, int64_t end_ns, uint32_t name) EPP_MUST_CHECK;
/* Keeps only the runs with the name that more than half of them have.  Other session events, such as loading a model,
 * are no runs of the model.  If no name is that frequent, the runs with one of the names are kept. */
void host_runs_settle(struct host_runs *runs);
void host_runs_deinit(struct host_runs *runs);

struct run_coverage {
	int64_t from_ns, to_ns; /* start of the first run, end of the last one */
	int64_t bin_ns;
	int32_t *bins;     /* bin i: the number of added times whose earliest possible value is in it, minus those whose
	                      latest possible value is in bin i - 1; NULL: there are no runs */
	size_t first, end; /* the range of runs */
	uint64_t moments_count, outside_count;
};

/* Selects the runs within [from_ns, to_ns] for the test. */
epp_status *run_coverage_init(struct run_coverage *coverage, const struct host_runs *runs, int64_t from_ns, int64_t to_ns)
    EPP_MUST_CHECK;
/* Adds a start or an end of an event, whose time is in [from_ns, to_ns] by the clock and its error bound. */
void run_coverage_add(struct run_coverage *coverage, int64_t from_ns, int64_t to_ns);
/* Call only once, after all events were added. */
bool run_coverage_contradicts(struct run_coverage *coverage, const struct host_runs *runs);
void run_coverage_deinit(struct run_coverage *coverage);

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
	bool has_end;   /* an upper limit other than CAUSAL_PARENT exists */
	bool is_wide;   /* there are no certain limits for ends, so the error bounds must also cover `place` */
	bool is_moved;  /* the clock's own times contradict some limit */
	bool is_wrong;  /* set by measure.c: the clock has no causes and is proven wrong, so it is only known in which
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
