/* A stretch of time out of a file that was opened by an index: sets of ids that tell which blocks need to be read.
 *
 * What an event outside the stretch refers to matters only if that is inside: an event knows whether anything names it as
 * its parent.  And a parent outside matters only if something inside names it.  Blocks say from which id to which they have
 * events, and from which to which they refer; a set is of intervals of ids of one source, sorted and apart. */
#ifndef EPPROF_RUNTIME_TIMELINE_TIME_RANGE_H
#define EPPROF_RUNTIME_TIMELINE_TIME_RANGE_H

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
/* Adds ids; none if first > last. */
epp_status *time_range_add(struct time_range *time_range, uint32_t source, uint64_t first, uint64_t last) EPP_MUST_CHECK;
/* All that a block has. */
epp_status *time_range_add_block(struct time_range *time_range, uint32_t source, const struct reader_summary *block)
    EPP_MUST_CHECK;
/* Before the first question. */
void time_range_sort(struct time_range *time_range);
/* Whether any of these ids is in the set. */
bool time_range_meets(const struct time_range *time_range, uint32_t source, uint64_t first, uint64_t last);
/* Whether any that a block has is. */
bool time_range_meets_block(const struct time_range *time_range, uint32_t source, const struct reader_summary *block);

#endif
