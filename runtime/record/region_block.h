/* What a recorder left in a region, as a block of the file. */
#ifndef EPPROF_RUNTIME_RECORD_REGION_BLOCK_H
#define EPPROF_RUNTIME_RECORD_REGION_BLOCK_H

#include "record/recorder.h"

/* A region as a block that is not written yet. */
struct region_block {
	struct epf_block *block;
	struct epf_region *region; /* may be NULL */
	const uint8_t *end;        /* of its records */
	uint64_t events;
	uint32_t records; /* none: there is nothing to write */
	uint32_t slot;
};

/* Encodes a region and, if `ending`, what its thread left open, up to `end_ticks`, into `block`, which has room for
 * CODEC_BOUND_DEFINED of the region behind its header.  `region` may be NULL (the thread had none when the pool was dry). */
struct region_block region_block_encode(struct epf_block *block, struct epf_region *region, size_t region_bytes,
                                        const struct recorder *ending, uint64_t end_ticks);

#endif
