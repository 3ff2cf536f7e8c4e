/* Implements nesting.h.  Each lane is a stack of open events: none ends after the one below it.  Events that have ended
 * are therefore at the top.  After their removal, all remaining events contain the start of the new event.  Nearly
 * every track has one lane; the others are visited only while they hold open events. */
#include "timeline/events/nesting.h"

#include <stdlib.h>

#include "containers/array.h"

#define unlikely(condition) __builtin_expect(!!(condition), 0)

void nest_deinit(struct nest *nest)
{
	free(nest->first.open);
	for (size_t i = 0; i < nest->more_room; i++)
		free(nest->more[i].open);
	free(nest->more);
	*nest = (struct nest){ 0 };
}

static struct nest_lane *lane_at(const struct nest *nest, uint32_t lane)
{
	return lane ? &nest->more[lane - 1] : (struct nest_lane *)&nest->first;
}

static inline void close_ended(struct nest_lane *lane, uint64_t start, uint64_t sequence)
{
	while (lane->depth) {
		const struct nest_open *top = &lane->open[lane->depth - 1];
		if (start < top->end || (unlikely(start == top->end) && sequence < top->sequence))
			return;
		lane->depth--;
	}
}

static inline bool push(struct nest_lane *lane, const struct nest_open *event)
{
	if (!array_reserve(&lane->open, &lane->room, lane->depth + (size_t)1, sizeof(*lane->open)))
		return false;
	lane->open[lane->depth++] = *event;
	return true;
}

/* Removes the ended events from all lanes but the first, and removes empty lanes at the end of the list. */
static void close_all(struct nest *nest, uint64_t start, uint64_t sequence)
{
	uint32_t used = 0;
	for (uint32_t i = 0; i < nest->more_count; i++) {
		close_ended(&nest->more[i], start, sequence);
		if (nest->more[i].depth)
			used = i + 1;
	}
	nest->more_count = used;
}

static bool starts_later(const struct nest_open *a, const struct nest_open *b)
{
	if (!b)
		return true;
	return a->start_ns != b->start_ns ? a->start_ns > b->start_ns : a->id > b->id;
}

/* Returns the innermost event that ends at or after `end`, over all lanes. */
static const struct nest_open *innermost(const struct nest *nest, uint64_t end)
{
	const struct nest_open *found = NULL;
	for (uint32_t i = 0; i <= nest->more_count; i++) {
		const struct nest_lane *lane = lane_at(nest, i);
		uint32_t depth = lane->depth;
		while (depth && lane->open[depth - 1].end < end)
			depth--;
		if (depth && starts_later(&lane->open[depth - 1], found))
			found = &lane->open[depth - 1];
	}
	return found;
}

static bool add_lane(struct nest *nest)
{
	if (!array_reserve_zeroed(&nest->more, &nest->more_room, nest->more_count + (size_t)1, sizeof(*nest->more)))
		return false;
	nest->more[nest->more_count++].depth = 0;
	return true;
}

/* The slow path of nest_slice_any: there are several lanes, or the event does not nest in the first one. */
__attribute__((noinline)) static bool slice_among_lanes(struct nest *nest, const struct nest_open *event,
                                                        struct nest_place *place)
{
	const struct nest_open *parent = innermost(nest, event->end);
	uint32_t number = 0;

	for (;; number++) {
		if (number > nest->more_count) {
			if (number == NEST_LANES_MAX) {
				number--;
				break;
			}
			if (!add_lane(nest))
				return false;
		}
		const struct nest_lane *lane = lane_at(nest, number);
		if (!lane->depth || event->end <= lane->open[lane->depth - 1].end)
			break;
	}
	struct nest_lane *lane = lane_at(nest, number);
	*place = (struct nest_place){ .lane = number, .depth = lane->depth, .parent = parent ? parent->id : 0 };
	bool fits = !lane->depth || event->end <= lane->open[lane->depth - 1].end;
	return !fits || push(lane, event);
}

bool nest_slice_any(struct nest *nest, uint64_t start, const struct nest_open *event, struct nest_place *place)
{
	struct nest_lane *lane = &nest->first;

	close_ended(lane, start, event->sequence);
	if (unlikely(nest->more_count))
		close_all(nest, start, event->sequence);
	uint32_t depth = lane->depth;
	if (unlikely(nest->more_count || (depth && event->end > lane->open[depth - 1].end)))
		return slice_among_lanes(nest, event, place);
	if (!push(lane, event))
		return false;
	*place = (struct nest_place){ .depth = depth, .parent = depth ? lane->open[depth - 1].id : 0 };
	return true;
}

const struct nest_open *nest_instant(struct nest *nest, uint64_t position, uint64_t sequence, uint32_t *depth)
{
	close_ended(&nest->first, position, sequence);
	close_all(nest, position, sequence);
	*depth = nest->first.depth;
	return innermost(nest, position);
}

const struct nest_open *nest_containing(const struct nest *nest, int64_t ns)
{
	const struct nest_open *found = NULL;
	for (uint32_t i = 0; i <= nest->more_count; i++) {
		const struct nest_lane *lane = lane_at(nest, i);
		uint32_t depth = lane->depth;
		while (depth && lane->open[depth - 1].end_ns <= ns)
			depth--;
		if (depth && starts_later(&lane->open[depth - 1], found))
			found = &lane->open[depth - 1];
	}
	return found;
}

int64_t nest_outer_end(const struct nest *nest, int64_t start_ns, int64_t end_ns)
{
	int64_t outer_end_ns = INT64_MIN;
	for (uint32_t i = 0; i <= nest->more_count; i++) {
		const struct nest_lane *lane = lane_at(nest, i);
		if (!lane->depth || lane->open[0].start_ns > start_ns || lane->open[0].end_ns < end_ns)
			continue;
		if (lane->open[0].end_ns > outer_end_ns)
			outer_end_ns = lane->open[0].end_ns;
	}
	return outer_end_ns;
}
