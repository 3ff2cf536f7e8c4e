/* Encodes the records of a region as a block of the file. */
#ifndef EPPROF_RUNTIME_STORAGE_REGION_BLOCK_H
#define EPPROF_RUNTIME_STORAGE_REGION_BLOCK_H

#include <stdbool.h>

#include "storage/window/slots.h"

/* An encoded region that is not written yet. */
struct region_block {
	struct epf_block *block;
	struct epf_region *region; /* may be NULL */
	const uint8_t *end;        /* end of its records */
	uint64_t events;
	uint32_t records; /* 0: there is nothing to write */
	uint32_t slot;
};

/* Encodes a region into `block`, which has room for CODEC_BOUND_DEFINED of the region behind its header. `ending` is
 * NULL, or the slot of a thread that has ended: the events that it left open are encoded too, up to `end_ticks`.
 * `region` may be NULL then (the pool had no chunk for the thread). `slot` is the number of the region's slot. */
struct region_block region_block_encode(struct epf_block *block, struct epf_region *region, size_t region_bytes,
                                        uint32_t slot, const struct epf_slot *ending, uint64_t end_ticks);

#endif
