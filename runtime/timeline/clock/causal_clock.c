/* Implements causal_clock.h: collects the limits, builds both bands, places events. */
#include "timeline/clock/causal_clock.h"

#include <stdlib.h>

#include "base/status.h"
#include "containers/array.h"

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
