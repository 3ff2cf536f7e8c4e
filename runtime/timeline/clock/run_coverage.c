/* Implements run_coverage.h: histograms of the times of events, compared with the runs of models. */
#include "timeline/clock/run_coverage.h"

#include <stdlib.h>

#include "base/status.h"
#include "containers/array.h"

#define BINS 262144
/* A clock is contradicted if more than one in CONTRADICTS_ONE_IN events is outside all runs, if more than one in
 * CONTRADICTS_ONE_IN runs has no event, or if CONTRADICTS_IN_A_ROW consecutive runs have no event. */
#define CONTRADICTS_ONE_IN 1000u
#define CONTRADICTS_IN_A_ROW 16u
/* The progress of events is compared with that of at least so many runs. */
#define PROGRESS_RUNS_LEAST 64u

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

/* Majority vote (Boyer-Moore): if more than half of the runs have the same name, it is the one that is returned. */
static uint32_t frequent_name(const struct host_runs *runs)
{
	uint32_t name = 0;
	size_t lead = 0;

	for (size_t i = 0; i < runs->count; i++) {
		if (!lead)
			name = runs->runs[i].name;
		lead += runs->runs[i].name == name ? 1 : -(size_t)1;
	}
	return name;
}

void host_runs_settle(struct host_runs *runs)
{
	uint32_t name = frequent_name(runs);
	size_t kept = 0;

	for (size_t i = 0; i < runs->count; i++) {
		if (runs->runs[i].name == name)
			runs->runs[kept++] = runs->runs[i];
	}
	runs->count = kept > runs->count / 2 ? kept : 0;
}

void host_runs_deinit(struct host_runs *runs)
{
	free(runs->runs);
	*runs = (struct host_runs){ 0 };
}

/* ---- histograms ---- */

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
	coverage->starts = calloc(BINS, sizeof(*coverage->starts));
	coverage->ends = calloc(BINS, sizeof(*coverage->ends));
	if (coverage->bins && coverage->starts && coverage->ends)
		return NULL;
	run_coverage_deinit(coverage);
	return epp_status_no_memory();
}

void run_coverage_deinit(struct run_coverage *coverage)
{
	free(coverage->bins);
	free(coverage->starts);
	free(coverage->ends);
	coverage->bins = NULL;
	coverage->starts = coverage->ends = NULL;
}

static size_t bin_of(const struct run_coverage *coverage, int64_t at_ns)
{
	if (at_ns <= coverage->from_ns)
		return 0;
	return at_ns >= coverage->to_ns ? BINS - 1 : (size_t)((at_ns - coverage->from_ns) / coverage->bin_ns);
}

static void add_moment(struct run_coverage *coverage, int64_t from_ns, int64_t to_ns)
{
	coverage->moments_count++;
	if (to_ns < coverage->from_ns || from_ns > coverage->to_ns) {
		coverage->outside_count++;
		return;
	}
	coverage->bins[bin_of(coverage, from_ns)]++;
	coverage->bins[bin_of(coverage, to_ns) + 1]--;
}

void run_coverage_add(struct run_coverage *coverage, const struct run_coverage_event *event)
{
	if (!coverage->bins)
		return;
	/* An event that spans a clock jump would seem to fill the time that the clock skipped, so only starts and ends
	 * count. */
	add_moment(coverage, event->start_ns - event->start_error_ns, event->start_ns + event->start_error_ns);
	add_moment(coverage, event->end_ns - event->end_error_ns, event->end_ns + event->end_error_ns);
	coverage->starts[bin_of(coverage, event->start_ns)]++;
	coverage->ends[bin_of(coverage, event->end_ns)]++;
	coverage->events_count++;
}

/* ---- events outside the runs, runs without events ---- */

/* Each bin becomes the number of bins, up to and including it, in which a start or an end of an event may be. */
static void add_up(int32_t *bins)
{
	int32_t open = 0, covered = 0;

	for (size_t i = 0; i < BINS; i++) {
		open += bins[i];
		covered += open > 0;
		bins[i] = covered;
	}
}

static bool is_uncovered(struct run_coverage *coverage, const struct host_runs *runs)
{
	uint64_t without = 0, in_a_row = 0;

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
	/* One run without events is no contradiction, because a run need not use the device. */
	return without > 1 && without * CONTRADICTS_ONE_IN > coverage->end - coverage->first;
}

/* ---- the progress of events and runs ---- */

/* The rates, as ns of offset per ns, at which no event begins before its run or ends after it.  Events are assigned to
 * runs by their order alone. */
struct progress {
	const struct causal_point *sample;
	double low, high;
};

/* Narrows the rates by an event that the clock shows at `at_ns`, and whose offset is at least or at most `limit_ns`. */
static void narrow(struct progress *progress, int64_t at_ns, int64_t limit_ns, bool is_least)
{
	double since_ns = (double)at_ns - (double)progress->sample->at_ns;

	if (since_ns <= 0)
		return;
	double low = ((double)limit_ns - (double)progress->sample->high_ns) / since_ns;
	double high = ((double)limit_ns - (double)progress->sample->low_ns) / since_ns;
	if (is_least && low > progress->low)
		progress->low = low;
	if (!is_least && high < progress->high)
		progress->high = high;
}

/* Returns the bin of the event with number `rank` in order of time.  `bin` and `counted` continue the search of a
 * smaller rank: `counted` events are in the bins before `bin`. */
static size_t bin_of_rank(const uint32_t *histogram, uint64_t rank, size_t *bin, uint64_t *counted)
{
	while (*bin < BINS && *counted + histogram[*bin] <= rank)
		*counted += histogram[(*bin)++];
	return *bin;
}

/* Before the run with number i began, at most i runs with `each` events had begun.  The events of one more run are
 * allowed, because one may have lacked some. */
static void compare_starts(const struct run_coverage *coverage, const struct host_runs *runs, uint64_t each,
                           struct progress *progress)
{
	uint64_t counted = 0;
	size_t bin = 0;

	for (size_t i = coverage->first; i < coverage->end; i++) {
		uint64_t rank = each * (i - coverage->first + 1);
		if (bin_of_rank(coverage->starts, rank, &bin, &counted) >= BINS - 1)
			return; /* the last bin also has the events after it */
		int64_t at_ns = coverage->from_ns + (int64_t)(bin + 1) * coverage->bin_ns;
		narrow(progress, at_ns, runs->runs[i].start_ns - at_ns, true);
	}
}

static int by_value(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return (left > right) - (left < right);
}

/* Likewise for the ends: when i + 1 runs have ended, the events of at least i have. */
static epp_status *compare_ends(const struct run_coverage *coverage, const struct host_runs *runs, uint64_t each,
                                struct progress *progress)
{
	size_t count = coverage->end - coverage->first, bin = 0;
	uint64_t counted = 0;
	int64_t *ends_ns = reallocarray(NULL, count, sizeof(*ends_ns));

	if (!ends_ns)
		return epp_status_no_memory();
	for (size_t i = 0; i < count; i++)
		ends_ns[i] = runs->runs[coverage->first + i].end_ns;
	qsort(ends_ns, count, sizeof(*ends_ns), by_value);
	for (size_t i = 1; i < count; i++) {
		if (bin_of_rank(coverage->ends, each * i - 1, &bin, &counted) >= BINS)
			break;
		int64_t at_ns = coverage->from_ns + (int64_t)bin * coverage->bin_ns;
		if (bin > 0) /* the first bin also has the events before it */
			narrow(progress, at_ns, ends_ns[i] - at_ns, false);
	}
	free(ends_ns);
	return NULL;
}

/* Sets *is_adrift if all runs have equally many events, and these advance as the runs do at some rates of the clock,
 * but at none that is within CAUSAL_PPM of the nominal rate. */
static epp_status *compare_progress(const struct run_coverage *coverage, const struct host_runs *runs,
                                    const struct causal_point *sample, bool *is_adrift)
{
	uint64_t count = coverage->end - coverage->first, each = (coverage->events_count + count / 2) / count;
	uint64_t expected = each * count, events = coverage->events_count;
	struct progress progress = { .sample = sample, .low = -1, .high = 1 };

	*is_adrift = false;
	if (count < PROGRESS_RUNS_LEAST || !each || runs->every > 1 ||
	    (events > expected ? events - expected : expected - events) > each)
		return NULL;
	compare_starts(coverage, runs, each, &progress);
	EPP_TRY(compare_ends(coverage, runs, each, &progress));
	*is_adrift = progress.low <= progress.high &&
	             (progress.low > CAUSAL_PPM / 1e6 || progress.high < -CAUSAL_PPM / 1e6);
	return NULL;
}

/* ---- the result ---- */

epp_status *run_coverage_contradicts(struct run_coverage *coverage, const struct host_runs *runs,
                                     const struct causal_point *sample, bool *contradicts)
{
	*contradicts = false;
	if (!coverage->bins || !coverage->moments_count)
		return NULL;
	*contradicts = is_uncovered(coverage, runs);
	return *contradicts ? NULL : compare_progress(coverage, runs, sample, contradicts);
}
