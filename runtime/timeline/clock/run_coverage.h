/* Tests if a device's clock can be right, without known causes of its events.
 *
 * Device events belong to model runs, and a device that works for a model does so in each run.  So a clock within
 * its bound shows no events outside all runs, and no runs without events.  A clock that drifts shows one or the
 * other at the end, and one that jumps shows runs without events.
 *
 *   host_runs_add(&runs, start_ns, end_ns, name);        in order of start; the outermost events of category session
 *   host_runs_settle(&runs);
 *   run_coverage_init(&coverage, &runs, from_ns, to_ns); for one clock
 *   run_coverage_add(&coverage, from_ns, to_ns);         each start and end of an event, with its bound
 *   run_coverage_contradicts(&coverage, &runs);
 *
 * Memory: at most HOST_RUNS_MOST runs (if there are more, only every second, fourth, ... is kept), and 1 MiB for
 * each clock. */
#ifndef EPPROF_RUNTIME_TIMELINE_CLOCK_RUN_COVERAGE_H
#define EPPROF_RUNTIME_TIMELINE_CLOCK_RUN_COVERAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epprof/status.h"

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
/* Keeps only the runs with the most frequent name, because loading a model is not one of its runs. */
void host_runs_settle(struct host_runs *runs);
void host_runs_deinit(struct host_runs *runs);

struct run_coverage {
	int64_t from_ns, to_ns; /* start of the first run, end of the last one */
	int64_t bin_ns;
	int32_t *bins;     /* differences of the number of events that may be in a bin; NULL: there are no runs */
	size_t first, end; /* the range of runs */
	uint64_t moments_count, outside_count;
};

/* Selects the runs within [from_ns, to_ns].  Errors: EPP_OUT_OF_MEMORY. */
epp_status *run_coverage_init(struct run_coverage *coverage, const struct host_runs *runs, int64_t from_ns, int64_t to_ns)
    EPP_MUST_CHECK;
/* Adds a start or an end of an event, which the clock places in [from_ns, to_ns]. */
void run_coverage_add(struct run_coverage *coverage, int64_t from_ns, int64_t to_ns);
/* Must be called only once, after all events. */
bool run_coverage_contradicts(struct run_coverage *coverage, const struct host_runs *runs);
void run_coverage_deinit(struct run_coverage *coverage);

#endif
