/* Encodes the records of a region as a block of the file. */
#ifndef EPPROF_RUNTIME_RECORD_REGION_BLOCK_H
#define EPPROF_RUNTIME_RECORD_REGION_BLOCK_H

#include "record/recorder.h"

/* An encoded region that is not written yet. */
struct region_block {
	struct epf_block *block;
	struct epf_region *region; /* may be NULL */
	const uint8_t *end;        /* end of its records */
	uint64_t events;
	uint32_t records; /* 0: there is nothing to write */
	uint32_t slot;
};

/* Encodes a region into `block`, which has room for CODEC_BOUND_DEFINED of the region behind its header. If `ending` is
 * set, also the events that its thread left open, up to `end_ticks`. `region` may be NULL (the pool had no chunk for
 * the thread). */
struct region_block region_block_encode(struct epf_block *block, struct epf_region *region, size_t region_bytes,
                                        const struct recorder *ending, uint64_t end_ticks);

#endif
