/* Whether a device's clock can be right about when events were, where nothing names their causes.
 *
 * Events of a device belong to runs of a model, and a device that works for a model does so in each run.  So a clock that keeps to
 * its bound shows no events outside all runs, and no runs without events.  One that drifts shows one or the other at the end,
 * one that jumps shows time without events.
 *
 *   host_runs_add(&runs, start_ns, end_ns, name);        in order of their start; the outermost events of category session
 *   host_runs_settle(&runs);
 *   run_coverage_init(&coverage, &runs, from_ns, to_ns); of one clock
 *   run_coverage_add(&coverage, from_ns, to_ns);         each start and end of an event, with its bound
 *   run_coverage_contradicts(&coverage, &runs);
 *
 * Memory: at most HOST_RUNS_MOST runs, of more each second, fourth, ...; and 1 MiB for each clock. */
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
	uint64_t added_count, every; /* 0 is 1: all are kept */
};

/* Errors: EPP_OUT_OF_MEMORY. */
epp_status *host_runs_add(struct host_runs *runs, int64_t start_ns, int64_t end_ns, uint32_t name) EPP_MUST_CHECK;
/* Keeps those of the name that most have: the loading of a model is none of its runs. */
void host_runs_settle(struct host_runs *runs);
void host_runs_deinit(struct host_runs *runs);

struct run_coverage {
	int64_t from_ns, to_ns; /* from the first run's start to the last one's end */
	int64_t bin_ns;
	int32_t *bins; /* how many moments may begin to be in it, less those that no longer may; NULL: there are no runs */
	size_t first, end; /* the runs */
	uint64_t moments_count, outside_count;
};

/* The runs that begin from from_ns on and end by to_ns.  Errors: EPP_OUT_OF_MEMORY. */
epp_status *run_coverage_init(struct run_coverage *coverage, const struct host_runs *runs, int64_t from_ns, int64_t to_ns)
    EPP_MUST_CHECK;
/* An event began or ended somewhere between these times, by its clock. */
void run_coverage_add(struct run_coverage *coverage, int64_t from_ns, int64_t to_ns);
/* Asked once, after all events. */
bool run_coverage_contradicts(struct run_coverage *coverage, const struct host_runs *runs);
void run_coverage_deinit(struct run_coverage *coverage);

#endif
