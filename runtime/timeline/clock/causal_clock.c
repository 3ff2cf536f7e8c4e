/* Implements causal_clock.h: collects the limits, builds both bands, places events. */
#include "timeline/clock/causal_clock.h"

#include <stdlib.h>

#include "base/status.h"
#include "containers/array.h"

/* ---- coverage of a run ---- */

/* A histogram of the times at which events may have begun or ended, compared with the runs of models (struct
 * run_coverage). */

#define BINS 262144
/* A clock is contradicted if more than one in CONTRADICTS_ONE_IN events is outside all runs, if more than one in
 * CONTRADICTS_ONE_IN runs has no event, or if CONTRADICTS_IN_A_ROW consecutive runs have no event. */
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

	/* Majority vote (Boyer-Moore): if more than half of the runs have the same name, `name` is this name
	 * afterwards. */
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
	/* One run without events is no contradiction, because a run need not use the device. */
	return without > 1 && without * CONTRADICTS_ONE_IN > coverage->end - coverage->first;
}

void run_coverage_deinit(struct run_coverage *coverage)
{
	free(coverage->bins);
	coverage->bins = NULL;
}

/* ---- the clock ---- */

/* If more than one in OUTLASTING_ONE_IN events ends after its host event, the host is assumed not to wait for its
 * device events. */
#define OUTLASTING_ONE_IN 1000u

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static epp_status *add_end(struct causal_clock *clock, const struct causal_event *event, int64_t end_ns,
                           enum causal_level level)
{
	if (end_ns >= CAUSAL_NS_MAX)
		return NULL;
	clock->has_end |= level != CAUSAL_PARENT;
	/* The end of the host's event may have been rounded too, if it was recorded in ONNX Runtime's microseconds. */
	return causal_points_add(
	    &clock->points,
	    &(struct causal_point){ .cause_ns = causal_clip(event->cause_ns),
	                            .at_ns = causal_clip(event->end_ns),
	                            .low_ns = -CAUSAL_NS_MAX,
	                            .high_ns = causal_clip(end_ns) - causal_clip(event->end_ns) + 2 * clock->tick_ns,
	                            .level = level });
}

/* Returns true if an event is too long to have ended by end_ns, whatever its start and the rate of the clock. */
static bool outlasts(const struct causal_clock *clock, const struct causal_event *event, int64_t end_ns)
{
	int64_t duration_ns = causal_clip(event->end_ns) - causal_clip(event->start_ns),
		room_ns = causal_clip(end_ns) - causal_clip(event->cause_ns);

	return end_ns < CAUSAL_NS_MAX && duration_ns - duration_ns / 100 > room_ns + 4 * clock->tick_ns;
}

epp_status *causal_clock_add(struct causal_clock *clock, const struct causal_event *event)
{
	clock->events_count++;
	clock->outlasting_parent_count += outlasts(clock, event, event->parent_end_ns);
	clock->outlasting_session_count += outlasts(clock, event, event->session_end_ns);
	epp_status *status = causal_points_add(
	    &clock->points,
	    &(struct causal_point){ .cause_ns = causal_clip(event->cause_ns),
	                            .at_ns = causal_clip(event->start_ns),
	                            .low_ns = causal_clip(event->cause_ns) - causal_clip(event->start_ns) - clock->tick_ns,
	                            .high_ns = CAUSAL_NS_MAX });
	if (!status)
		status = add_end(clock, event, event->wait_end_ns, CAUSAL_WAIT);
	if (!status)
		status = add_end(clock, event, event->session_end_ns, CAUSAL_SESSION);
	if (!status)
		status = add_end(clock, event, event->parent_end_ns, CAUSAL_PARENT);
	return status;
}

static bool is_frequent(const struct causal_clock *clock, uint64_t count)
{
	return count * OUTLASTING_ONE_IN > clock->events_count;
}

/* Returns true if a band excludes a time that the clock claimed. */
static bool excludes_claims(const struct causal_band *band)
{
	if (band->is_unusable)
		return true;
	for (size_t piece = 0; piece < band->pieces_count; piece++) {
		const struct causal_piece *of = &band->pieces[piece];
		for (size_t i = of->first; i < of->first + of->count; i++) {
			int64_t low_ns, high_ns;
			causal_band_at(band, band->points[i].at_ns, band->points[i].cause_ns, &low_ns, &high_ns);
			if (low_ns > 0 || high_ns < 0)
				return true;
		}
	}
	return false;
}

epp_status *causal_clock_build(struct causal_clock *clock)
{
	bool waits_only = is_frequent(clock, clock->outlasting_session_count);

	if (!clock->points.count)
		return NULL;
	EPP_TRY(causal_band_build(&clock->bound, &clock->points, waits_only ? CAUSAL_WAIT : CAUSAL_SESSION,
	                          &clock->sample));
	clock->is_built = true;
	if (!waits_only && !is_frequent(clock, clock->outlasting_parent_count)) {
		EPP_TRY(causal_band_build(&clock->place, &clock->points, CAUSAL_PARENT, &clock->sample));
		/* Without certain limits for ends, `bound` detects only backward jumps.  As many forward jumps are
		 * assumed in addition. */
		size_t jumps = clock->bound.pieces_count * (clock->has_end ? 1 : 2);
		/* In addition, one piece for every OUTLASTING_ONE_IN events is allowed, because some events end after
		 * their cause for other reasons. */
		size_t pieces_most = jumps + clock->events_count / OUTLASTING_ONE_IN;
		bool is_possible = !clock->place.is_unusable && !clock->bound.is_unusable;
		clock->has_place = is_possible && clock->place.pieces_count <= pieces_most;
		clock->is_wide = is_possible && !clock->has_end;
	}
	if (!clock->has_place && !clock->is_wide)
		causal_band_deinit(&clock->place);
	causal_points_deinit(&clock->points);
	clock->is_moved = excludes_claims(&clock->bound) || (clock->has_place && excludes_claims(&clock->place));
	clock->by_causes = clock->bound.pieces_count > 1 || clock->place.pieces_count > 1;
	return NULL;
}

void causal_clock_deinit(struct causal_clock *clock)
{
	causal_points_deinit(&clock->points);
	causal_band_deinit(&clock->bound);
	causal_band_deinit(&clock->place);
}

/* Returns the middle of two limits, or the only limit that exists. */
static int64_t middle_of(int64_t low_ns, int64_t high_ns)
{
	if (high_ns >= CAUSAL_NS_MAX)
		return low_ns > -CAUSAL_NS_MAX ? low_ns : 0;
	return low_ns > -CAUSAL_NS_MAX ? low_ns + (high_ns - low_ns) / 2 : high_ns;
}

/* Returns the offset of an event.  If the clock may be right, this is 0 or the smallest possible correction, otherwise
 * the middle of the range that the bands allow. */
static int64_t offset_of(const struct causal_clock *clock, int64_t at_ns, int64_t cause_ns, int64_t low_ns, int64_t high_ns)
{
	int64_t from_ns, to_ns;

	if (!clock->is_moved)
		return low_ns > 0 ? low_ns : high_ns < 0 ? high_ns : 0;
	if (clock->has_place && causal_band_at(&clock->place, at_ns, cause_ns, &from_ns, &to_ns)) {
		bool agrees = from_ns <= high_ns && to_ns >= low_ns;
		if (agrees)
			return middle_of(larger(from_ns, low_ns), smaller(to_ns, high_ns));
		/* The clock has jumped, and `bound` detects only some jumps (see is_wide).  Where the two bands
		 * disagree, `bound` probably lacks a jump, so `place` is used. */
		if (clock->is_wide && clock->bound.pieces_count > 1)
			return middle_of(from_ns, to_ns);
	}
	return middle_of(low_ns, high_ns);
}

void causal_clock_place(const struct causal_clock *clock, int64_t *at_ns, int64_t cause_ns, int64_t *error_ns)
{
	int64_t low_ns, high_ns, claimed_ns = causal_clip(*at_ns);

	if (!clock->is_built || !causal_band_at(&clock->bound, claimed_ns, cause_ns, &low_ns, &high_ns))
		return;
	low_ns = larger(low_ns, -CAUSAL_NS_MAX);
	high_ns = smaller(high_ns, CAUSAL_NS_MAX);
	int64_t offset_ns = offset_of(clock, claimed_ns, cause_ns, low_ns, high_ns);
	int64_t below_ns = offset_ns - low_ns, above_ns = high_ns - offset_ns;
	int64_t from_ns, to_ns;
	if (clock->is_wide && causal_band_at(&clock->place, claimed_ns, cause_ns, &from_ns, &to_ns)) {
		below_ns = larger(below_ns, offset_ns - from_ns);
		above_ns = larger(above_ns, to_ns - offset_ns);
	}
	*at_ns = claimed_ns + offset_ns;
	*error_ns = larger(below_ns, above_ns) + 1;
}
