/* Encodes the records of a region as a block of the file. */
#ifndef EPPROF_RUNTIME_STORAGE_REGION_BLOCK_H
#define EPPROF_RUNTIME_STORAGE_REGION_BLOCK_H

#include <stdbool.h>

#include "storage/window/slots.h"

/* An encoded region that is not written yet. */
struct region_block {
	struct epf_block *block;
	struct epf_region *region; /* may be NULL */
	const uint8_t *end;        /* the end of the region's records */
	uint64_t events;
	uint32_t records; /* 0: the block is empty and need not be written */
	uint32_t slot;
};

/* Encodes a region into `block`, which must have room for CODEC_BOUND_DEFINED of the region behind its header.  If
 * `ending` is not NULL, it is the slot of a thread that has ended: the events that the thread left open are encoded,
 * too, with `end_ticks` as their end.  `region` may then be NULL, because the pool had no chunk for the thread.  `slot`
 * is the number of the region's slot. */
struct region_block region_block_encode(struct epf_block *block, struct epf_region *region, size_t region_bytes,
                                        uint32_t slot, const struct epf_slot *ending, uint64_t end_ticks);

#endif
