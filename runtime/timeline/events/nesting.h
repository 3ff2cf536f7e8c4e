/* Depth, lane and enclosing event of the slices of one track, given in order of their start.
 *
 * A lane is a stack of events that are open now, each inside the one below.  An event goes to the first lane where it nests
 * or nothing is open; events that overlap without nesting so come to lie in lanes of their own.  Memory: what is open.
 * Positions are in any unit that orders the track's events: ticks on threads, nanoseconds on devices.
 */
#ifndef EPPROF_RUNTIME_TIMELINE_EVENTS_NESTING_H
#define EPPROF_RUNTIME_TIMELINE_EVENTS_NESTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nest_open {
	uint64_t end;      /* position; UINT64_MAX: it has not ended */
	uint64_t sequence; /* where it begins at the end of another, it lies inside if it was recorded before it; 0: never */
	uint64_t id;
	int64_t start_ns;
	int64_t end_ns;
};

struct nest_lane {
	struct nest_open *open;
	size_t room;
	uint32_t depth;
};

/* Overlaps that would need more lanes share the last one. */
#define NEST_LANES_MAX 1024u

struct nest {
	struct nest_lane first;
	struct nest_lane *more;
	size_t more_room;
	uint32_t more_count; /* up to the last that may hold something */
};

struct nest_place {
	uint32_t lane;
	uint32_t depth;
	uint64_t parent; /* id of the innermost event around it, in whatever lane; 0: none */
};

void nest_deinit(struct nest *nest);

/* Places an event that begins at `start` and opens it.  False: no memory. */
bool nest_slice_any(struct nest *nest, uint64_t start, const struct nest_open *event, struct nest_place *place);

/* The same: one lane, and the event nests in it. */
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
		/* Copies, so that the usual event and its place stay in registers. */
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

/* What is open around a moment: the innermost event, or NULL; `depth` of what stood there. */
const struct nest_open *nest_moment(struct nest *nest, uint64_t position, uint64_t sequence, uint32_t *depth);

/* The innermost event that contains a time not before the last start given, without moving on; NULL: none. */
const struct nest_open *nest_containing(const struct nest *nest, int64_t ns);

/* The end of the outermost open event that spans [start_ns, end_ns]; INT64_MIN: there is none. */
int64_t nest_outer_end(const struct nest *nest, int64_t start_ns, int64_t end_ns);

#endif
