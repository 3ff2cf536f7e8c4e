/* Implements run_coverage.h: a histogram of possible event times, compared with the runs. */
#include "timeline/clock/run_coverage.h"

#include <stdlib.h>

#include "base/status.h"
#include "containers/array.h"

#define BINS 262144
/* A clock is contradicted if more than one in CONTRADICTS_ONE_IN events is outside all runs, or runs are without
 * events, or if CONTRADICTS_IN_A_ROW consecutive runs have no event. */
#define CONTRADICTS_ONE_IN 1000u
#define CONTRADICTS_IN_A_ROW 16u

/* ---- runs ---- */

epp_status *host_runs_add(struct host_runs *runs, int64_t start_ns, int64_t end_ns, uint32_t name)
{
	runs->every = runs->every ? runs->every : 1;
	if (runs->added_count++ % runs->every)
		return NULL;
	if (runs->count == HOST_RUNS_MOST) {
		for (size_t i = 0; i < HOST_RUNS_MOST / 2; i++)
			runs->runs[i] = runs->runs[2 * i];
		runs->count = HOST_RUNS_MOST / 2;
		runs->every *= 2;
	}
	if (!array_reserve(&runs->runs, &runs->room, runs->count + 1, sizeof(*runs->runs)))
		return epp_status_no_memory();
	runs->runs[runs->count++] = (struct host_run){ start_ns, end_ns, name };
	return NULL;
}

void host_runs_settle(struct host_runs *runs)
{
	uint32_t name = 0;
	size_t lead = 0, kept = 0;

	/* Majority vote (Boyer-Moore): if more than half of the runs have one name, it remains. */
	for (size_t i = 0; i < runs->count; i++) {
		if (!lead)
			name = runs->runs[i].name;
		lead += runs->runs[i].name == name ? 1 : -(size_t)1;
	}
	for (size_t i = 0; i < runs->count; i++) {
		if (runs->runs[i].name == name)
			runs->runs[kept++] = runs->runs[i];
	}
	runs->count = kept;
}

void host_runs_deinit(struct host_runs *runs)
{
	free(runs->runs);
	*runs = (struct host_runs){ 0 };
}

/* ---- coverage ---- */

epp_status *run_coverage_init(struct run_coverage *coverage, const struct host_runs *runs, int64_t from_ns, int64_t to_ns)
{
	*coverage = (struct run_coverage){ .from_ns = INT64_MAX, .to_ns = INT64_MIN };
	while (coverage->first < runs->count && runs->runs[coverage->first].start_ns < from_ns)
		coverage->first++;
	for (coverage->end = coverage->first; coverage->end < runs->count; coverage->end++) {
		const struct host_run *run = &runs->runs[coverage->end];
		if (run->end_ns > to_ns)
			break;
		coverage->from_ns = run->start_ns < coverage->from_ns ? run->start_ns : coverage->from_ns;
		coverage->to_ns = run->end_ns > coverage->to_ns ? run->end_ns : coverage->to_ns;
	}
	if (coverage->first == coverage->end)
		return NULL;
	coverage->bin_ns = (coverage->to_ns - coverage->from_ns) / BINS + 1;
	coverage->bins = calloc(BINS + 1, sizeof(*coverage->bins));
	return coverage->bins ? NULL : epp_status_no_memory();
}

static size_t bin_of(const struct run_coverage *coverage, int64_t at_ns)
{
	if (at_ns <= coverage->from_ns)
		return 0;
	return at_ns >= coverage->to_ns ? BINS - 1 : (size_t)((at_ns - coverage->from_ns) / coverage->bin_ns);
}

void run_coverage_add(struct run_coverage *coverage, int64_t from_ns, int64_t to_ns)
{
	if (!coverage->bins)
		return;
	coverage->moments_count++;
	if (to_ns < coverage->from_ns || from_ns > coverage->to_ns) {
		coverage->outside_count++;
		return;
	}
	coverage->bins[bin_of(coverage, from_ns)]++;
	coverage->bins[bin_of(coverage, to_ns) + 1]--;
}

/* Replaces each bin by the number of bins up to it that contain an event. */
static void add_up(int32_t *bins)
{
	int32_t open = 0, covered = 0;

	for (size_t i = 0; i < BINS; i++) {
		open += bins[i];
		covered += open > 0;
		bins[i] = covered;
	}
}

bool run_coverage_contradicts(struct run_coverage *coverage, const struct host_runs *runs)
{
	uint64_t without = 0, in_a_row = 0;

	if (!coverage->bins || !coverage->moments_count)
		return false;
	if (coverage->outside_count * CONTRADICTS_ONE_IN > coverage->moments_count)
		return true;
	add_up(coverage->bins);
	for (size_t i = coverage->first; i < coverage->end; i++) {
		size_t from = bin_of(coverage, runs->runs[i].start_ns), to = bin_of(coverage, runs->runs[i].end_ns);
		bool has_event = coverage->bins[to] > (from ? coverage->bins[from - 1] : 0);
		in_a_row = has_event ? 0 : in_a_row + 1;
		without += !has_event;
		if (in_a_row >= CONTRADICTS_IN_A_ROW)
			return true;
	}
	/* A single run may have used the device not at all. */
	return without > 1 && without * CONTRADICTS_ONE_IN > coverage->end - coverage->first;
}

void run_coverage_deinit(struct run_coverage *coverage)
{
	free(coverage->bins);
	coverage->bins = NULL;
}
