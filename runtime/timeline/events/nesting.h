/* Computes depth, lane and enclosing event of the slices of one track, which must come in order of start.
 *
 * A lane is a stack of the currently open events, each inside the one below it.  An event goes to the first lane
 * where it nests or where nothing is open, so events that overlap without nesting get separate lanes.  Memory: the
 * open events.
 * Positions are in any unit that orders the track's events: ticks on threads, nanoseconds on devices.
 */
#ifndef EPPROF_RUNTIME_TIMELINE_EVENTS_NESTING_H
#define EPPROF_RUNTIME_TIMELINE_EVENTS_NESTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nest_open {
	uint64_t end; /* position; UINT64_MAX: it has not ended */
	/* recording order: an event that begins exactly at this event's end is inside it if its sequence is smaller; 0:
	 * no such event is inside it */
	uint64_t sequence;
	uint64_t id;
	int64_t start_ns;
	int64_t end_ns;
};

struct nest_lane {
	struct nest_open *open;
	size_t room;
	uint32_t depth;
};

/* If overlapping events need more lanes than this, they share the last lane. */
#define NEST_LANES_MAX 1024u

struct nest {
	struct nest_lane first;
	struct nest_lane *more;
	size_t more_room;
	uint32_t more_count; /* number of lanes after the first, up to the last one that may have an open event */
};

struct nest_place {
	uint32_t lane;
	uint32_t depth;
	uint64_t parent; /* id of the innermost enclosing event, in any lane; 0: none */
};

void nest_deinit(struct nest *nest);

/* Computes the place of an event that begins at `start`, and adds it to the open events.  Returns false if there is no
 * memory. */
bool nest_slice_any(struct nest *nest, uint64_t start, const struct nest_open *event, struct nest_place *place);

/* Fast path of nest_slice_any: there is one lane, and the event nests in it. */
static inline bool nest_slice(struct nest *nest, uint64_t start, const struct nest_open *event, struct nest_place *place)
{
	struct nest_lane *lane = &nest->first;
	uint32_t depth = lane->depth;
	/* An empty lane may have no array, and NULL + 0 is undefined in C. */
	struct nest_open *top = depth ? lane->open + depth : lane->open;

	while (depth && start > top[-1].end) {
		top--;
		depth--;
	}
	if (__builtin_expect(depth == lane->room || nest->more_count ||
	                         (depth && (start == top[-1].end || event->end > top[-1].end)),
	                     0)) {
		/* Local copies: the address of `event` and `place` is not passed on, so the caller's objects can be in
		 * registers. */
		struct nest_open opened = *event;
		struct nest_place found = { 0 };
		bool memory = nest_slice_any(nest, start, &opened, &found);
		*place = found;
		return memory;
	}
	top->end = event->end;
	top->sequence = event->sequence;
	top->id = event->id;
	top->start_ns = event->start_ns;
	top->end_ns = event->end_ns;
	lane->depth = depth + 1;
	place->lane = 0;
	place->depth = depth;
	place->parent = depth ? top[-1].id : 0;
	return true;
}

/* Returns the innermost event that is open at `position`, or NULL; `*depth` is the number of events open in the
 * first lane. */
const struct nest_open *nest_instant(struct nest *nest, uint64_t position, uint64_t sequence, uint32_t *depth);

/* Returns the innermost event that contains ns; NULL: none.  `ns` must not be before the start of the last event.
 * Changes nothing. */
const struct nest_open *nest_containing(const struct nest *nest, int64_t ns);

/* Returns the end of the outermost open event that contains [start_ns, end_ns]; INT64_MIN: no event contains it. */
int64_t nest_outer_end(const struct nest *nest, int64_t start_ns, int64_t end_ns);

#endif
