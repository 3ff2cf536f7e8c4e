/* The parts of format/format.h that only ring files have: the numbers of overwritten events, and the ledger entries of
 * compacted segments. */
#ifndef EPPROF_RUNTIME_FORMAT_FORMAT_RING_H
#define EPPROF_RUNTIME_FORMAT_FORMAT_RING_H

#include "format/format.h"

/* The events that a ring has overwritten since its start. They count as lost by policy. Rows follow, sorted by `of`,
 * then by `run`. */
struct epf_overwritten {
	uint64_t through; /* reusable segments with numbers up to this one are void */
	uint64_t row_count;
};

struct epf_overwritten_row {
	uint32_t of; /* the track of a thread; or a producer: EPF_OVERWRITTEN_PRODUCER plus its index */
	uint32_t run;
	uint64_t events;
};
#define EPF_OVERWRITTEN_PRODUCER (1u << 31)

/* Retained segments with numbers up to `through` are void. Two ledger entries follow. They replace all entries of these
 * segments that were not copied: one of track 0, and one of EPF_TRACK_GONE, the sum of all threads whose events are all
 * overwritten. This sum includes the rows that an EPF_BLOCK_OVERWRITTEN may still have for these threads. */
struct epf_retained {
	uint64_t through;
	uint64_t entry_count;
};
#define EPF_TRACK_GONE UINT32_MAX

_Static_assert(sizeof(struct epf_overwritten) == 16 && sizeof(struct epf_overwritten_row) == 16, "overwritten");
_Static_assert(sizeof(struct epf_retained) == 16, "retained");

#endif
