/* Sets of id intervals, used to read a time range out of a file with an index: they determine which blocks must be
 * read.
 *
 * A reference from an event outside the time range matters only if its target is inside, because an event is flagged
 * if another event names it as parent.  A parent outside the range matters only if an event inside names it.  The
 * index has for each block the intervals of its own ids and of the ids that it references.  A set holds intervals of
 * ids of one source each, sorted and disjoint. */
#ifndef EPPROF_RUNTIME_TIMELINE_EVENTS_TIME_RANGE_H
#define EPPROF_RUNTIME_TIMELINE_EVENTS_TIME_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epprof/status.h"
#include "trace/reader.h"

struct time_range_ids {
	uint32_t source;
	uint64_t first, last;
};

struct time_range {
	struct time_range_ids *ids;
	size_t count, room;
};

void time_range_deinit(struct time_range *time_range);
/* Adds an interval; an empty one (first > last) is ignored. */
epp_status *time_range_add(struct time_range *time_range, uint32_t source, uint64_t first, uint64_t last) EPP_MUST_CHECK;
/* Adds all ids of a block's events. */
epp_status *time_range_add_block(struct time_range *time_range, uint32_t source, const struct reader_summary *block)
    EPP_MUST_CHECK;
/* Must be called after the last add and before the first time_range_meets. */
void time_range_sort(struct time_range *time_range);
/* Returns true if the set contains any id of [first, last]. */
bool time_range_meets(const struct time_range *time_range, uint32_t source, uint64_t first, uint64_t last);
/* Returns true if the set contains any id of the block's events. */
bool time_range_meets_block(const struct time_range *time_range, uint32_t source, const struct reader_summary *block);

#endif
