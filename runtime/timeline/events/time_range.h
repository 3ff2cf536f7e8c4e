/* Sets of id intervals.  They determine which blocks must be read for a time range of a file with an index.
 *
 * An event outside the time range is needed in two cases: if it names an event inside the range as its parent, the
 * parent gets EPP_FLAG_REFERENCED; if an event inside the range names it as its parent, its times are needed.  For each
 * block, the index has the intervals of its events' ids and of the ids that they reference.  The intervals of a set are
 * sorted and disjoint; each is of ids of one source. */
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
/* Call after the last add and before the first time_range_overlaps. */
void time_range_sort(struct time_range *time_range);
/* Returns true if the set contains any id of [first, last]. */
bool time_range_overlaps(const struct time_range *time_range, uint32_t source, uint64_t first, uint64_t last);
/* Returns true if the set contains any id of the block's events. */
bool time_range_overlaps_block(const struct time_range *time_range, uint32_t source, const struct reader_summary *block);

#endif
