/* Ends that were recorded separately from their event, by id: ends that another thread recorded, and ends of
 * asynchronous events.  They take 32 bytes each, plus an index, and are collected before the merge.  If an id ended
 * twice, the earlier end is kept. */
#ifndef EPPROF_RUNTIME_TIMELINE_MERGING_SEPARATE_ENDS_H
#define EPPROF_RUNTIME_TIMELINE_MERGING_SEPARATE_ENDS_H

#include <stddef.h>
#include <stdint.h>

#include "containers/hash_index.h"
#include "epprof/status.h"

struct end {
	uint64_t id;
	uint64_t ticks;
	uint32_t block;       /* index of the block that contains the args */
	uint32_t args_offset; /* offset of the args in the block's payload */
	uint32_t name;        /* name that was given at the end; 0: none */
	uint16_t source;
	uint8_t args_count;
	uint8_t category : 4;
	uint8_t flags : 4; /* EPP_FLAG_* of the record, all below 16 */
};

_Static_assert(sizeof(struct end) == 32, "end");

struct ends {
	struct end *ends;
	size_t count, room;
	struct hash_index index;
};

void ends_deinit(struct ends *ends);
epp_status *ends_add(struct ends *ends, const struct end *end) EPP_MUST_CHECK;
/* Returns NULL if the id has no separate end.  The result is valid until the next ends_add. */
const struct end *ends_find(const struct ends *ends, uint32_t source, uint64_t id);

#endif
