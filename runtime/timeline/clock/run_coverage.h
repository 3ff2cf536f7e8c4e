/* Tests whether the clock of a device can be right although no causes of its events are known.
 *
 * Device events belong to model runs, and a device that executes a part of a model executes it in each run.  So three
 * things contradict a clock, if its error bound does not explain them:
 *
 *   - events outside all runs, or runs without events: the end of a recording with a clock that drifts, and any place
 *     of one that jumps
 *   - events that advance more slowly or faster than the runs, all in proportion to the time since the clock's sample;
 *     this also finds a drift where runs of several threads overlap, so that each time is inside some run
 *
 *   host_runs_add(&runs, start_ns, end_ns, name);        in order of start; the outermost events of category session
 *   host_runs_settle(&runs);
 *   run_coverage_init(&coverage, &runs, from_ns, to_ns); for one clock
 *   run_coverage_add(&coverage, &event);
 *   run_coverage_contradicts(&coverage, &runs, &sample, &is_wrong);
 *
 * Memory: at most HOST_RUNS_MOST runs (if there are more, only every second, fourth, ... is kept), and 3 MiB for each
 * clock. */
#ifndef EPPROF_RUNTIME_TIMELINE_CLOCK_RUN_COVERAGE_H
#define EPPROF_RUNTIME_TIMELINE_CLOCK_RUN_COVERAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epprof/status.h"
#include "timeline/clock/causal_band.h"

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
 * are no runs of the model.  If no name is that frequent, no run is kept, and the clocks cannot be tested. */
void host_runs_settle(struct host_runs *runs);
void host_runs_deinit(struct host_runs *runs);

/* The times of an event by its own clock, and their error bounds. */
struct run_coverage_event {
	int64_t start_ns, start_error_ns;
	int64_t end_ns, end_error_ns;
};

struct run_coverage {
	int64_t from_ns, to_ns; /* start of the first run, end of the last one */
	int64_t bin_ns;
	int32_t *bins;           /* bin i: the number of added times whose earliest possible value is in it, minus those
	                           whose latest possible value is in bin i - 1; NULL: there are no runs */
	uint32_t *starts, *ends; /* bin i: the number of events that start or end in it by their clock */
	size_t first, end;       /* the range of runs */
	uint64_t events_count, moments_count, outside_count;
};

/* Selects the runs within [from_ns, to_ns] for the test. */
epp_status *run_coverage_init(struct run_coverage *coverage, const struct host_runs *runs, int64_t from_ns, int64_t to_ns)
    EPP_MUST_CHECK;
void run_coverage_add(struct run_coverage *coverage, const struct run_coverage_event *event);
/* `sample`: when the clock was compared, and within which offsets it was right then.  Call only once, after all events
 * were added.  Errors: EPP_OUT_OF_MEMORY. */
epp_status *run_coverage_contradicts(struct run_coverage *coverage, const struct host_runs *runs,
                                     const struct causal_point *sample, bool *contradicts) EPP_MUST_CHECK;
void run_coverage_deinit(struct run_coverage *coverage);

#endif
