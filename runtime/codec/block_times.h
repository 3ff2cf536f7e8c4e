/* Computes the times and kinds in a block's header, record by record. Used for rows and for columns. */
#ifndef EPPROF_RUNTIME_CODEC_BLOCK_TIMES_H
#define EPPROF_RUNTIME_CODEC_BLOCK_TIMES_H

#include <stdbool.h>

#include "format/format.h"

/* The kinds whose start is in the host's ticks. */
#define BLOCK_HOST_KINDS \
	(1u << EPF_EVENT | 1u << EPF_INSTANT | 1u << EPF_COUNTER | 1u << EPF_FLOW | 1u << EPF_ASYNC_BEGIN | \
	 1u << EPF_ASYNC_END | 1u << EPF_ORPHAN_END)

struct block_times {
	uint64_t first_ticks, last_ticks, own_first_ticks;
	const uint64_t *open_ids; /* ids of the events that are open at the block's start; owned by the caller */
	uint32_t open_count;
	uint64_t first_id; /* larger than all of these ids; 0: no event was open */
	uint16_t kinds;
};

static inline void block_times_begin(struct block_times *times, const uint64_t *open_ids, uint32_t open_count)
{
	*times = (struct block_times){
		.first_ticks = UINT64_MAX, .own_first_ticks = UINT64_MAX, .open_ids = open_ids, .open_count = open_count
	};
	for (uint32_t i = 0; i < open_count; i++)
		if (open_ids[i] >= times->first_id)
			times->first_id = open_ids[i] + 1;
}

/* Returns true if the event was open at the block's start. Threads assign ids in ascending order, so nearly all ids are
 * above those that were open. A smaller id is searched in the list, because blocks may have been joined out of
 * order. */
static inline bool block_times_was_open(const struct block_times *times, uint64_t id)
{
	if (__builtin_expect(id >= times->first_id, 1))
		return false;
	for (uint32_t i = 0; i < times->open_count; i++)
		if (times->open_ids[i] == id)
			return true;
	return false;
}

/* Returns the end of an event. If the processor's counter went back, the event would end before it begins; its end is
 * then its start. */
static inline uint64_t block_times_end(uint64_t start, uint64_t duration)
{
	return duration >> 63 ? start : start + duration;
}

/* Adds an event of BLOCK_HOST_KINDS. */
static inline void block_times_add_timed(struct block_times *times, unsigned kind, uint64_t start, uint64_t end,
                                         uint64_t id)
{
	if (end > times->last_ticks)
		times->last_ticks = end;
	/* own_first_ticks is never below first_ticks, so a start at or after it changes neither. */
	if (__builtin_expect(start >= times->own_first_ticks, 1))
		return;
	if (start < times->first_ticks)
		times->first_ticks = start;
	if (!(kind == EPF_EVENT && block_times_was_open(times, id)))
		times->own_first_ticks = start;
}

static inline void block_times_add(struct block_times *times, unsigned kind, uint64_t start, uint64_t end, uint64_t id)
{
	if (__builtin_expect(BLOCK_HOST_KINDS >> kind & 1, 1))
		block_times_add_timed(times, kind, start, end, id);
}

static inline void block_times_store(const struct block_times *times, struct epf_block *block)
{
	block->kinds = times->kinds;
	block->first_ticks = times->first_ticks;
	block->last_ticks = times->last_ticks;
	block->own_first_ticks = times->own_first_ticks;
}

#endif
