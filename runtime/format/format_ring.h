/* The part of format/format.h that rings alone have: the accounts of what they gave up. */
#ifndef EPPROF_RUNTIME_FORMAT_FORMAT_RING_H
#define EPPROF_RUNTIME_FORMAT_FORMAT_RING_H

#include "format/format.h"

/* What a ring has overwritten since its beginning: lost by policy.  Rows follow, in order of `of`, then `run`. */
struct epf_overwritten {
	uint64_t through; /* segments that are not kept, with numbers up to this one, are gone */
	uint64_t row_count;
};

struct epf_overwritten_row {
	uint32_t of; /* the track of a thread; or a producer: EPF_OVERWRITTEN_PRODUCER and its index */
	uint32_t run;
	uint64_t events;
};
#define EPF_OVERWRITTEN_PRODUCER (1u << 31)

/* Kept segments with numbers up to `through` are void.  Ledger entries follow, which stand for all that were there and are
 * nowhere else: of track 0, and of EPF_TRACK_GONE, which is all threads together whose events are overwritten to the last.
 * What an EPF_BLOCK_OVERWRITTEN still says of these threads is counted there already. */
struct epf_kept {
	uint64_t through;
	uint64_t entry_count;
};
#define EPF_TRACK_GONE UINT32_MAX

_Static_assert(sizeof(struct epf_overwritten) == 16 && sizeof(struct epf_overwritten_row) == 16, "overwritten");
_Static_assert(sizeof(struct epf_kept) == 16, "kept");

#endif
