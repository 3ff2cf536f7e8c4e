/* Ends that were recorded apart from their event: orphan ends (another thread's) and ends of asynchronous events, by id.
 * 32 bytes an end and an index, filled before the merge; where an id ended twice the earlier end counts.
 */
#ifndef EPPROF_RUNTIME_TIMELINE_MERGING_SEPARATE_ENDS_H
#define EPPROF_RUNTIME_TIMELINE_MERGING_SEPARATE_ENDS_H

#include <stddef.h>
#include <stdint.h>

#include "containers/hash_index.h"
#include "epprof/status.h"

struct end {
	uint64_t id;
	uint64_t ticks;
	uint32_t block;       /* whose args these are */
	uint32_t args_offset; /* in its payload */
	uint32_t name;        /* 0: not given at the end */
	uint16_t source;
	uint8_t args_count;
	uint8_t category : 4;
	uint8_t flags : 4; /* EPP_FLAG_* that the end's record has: below 16 */
};

_Static_assert(sizeof(struct end) == 32, "end");

struct ends {
	struct end *ends;
	size_t count, room;
	struct hash_index index;
};

void ends_deinit(struct ends *ends);
epp_status *ends_add(struct ends *ends, const struct end *end) EPP_MUST_CHECK;
/* NULL if that id ended nowhere else.  Valid until the next add. */
const struct end *ends_find(const struct ends *ends, uint32_t source, uint64_t id);

#endif
