/* Functions that read fields of a slot, the part of the window in which one thread records.  Used by the helper, and by
 * readers of the file of a killed process. */
#ifndef EPPROF_RUNTIME_FORMAT_FORMAT_SLOT_H
#define EPPROF_RUNTIME_FORMAT_FORMAT_SLOT_H

#include "format/format.h"

/* Returns the name as it is stored in blocks, where 0 is not a name. */
static inline uint32_t epf_tail_name(uint64_t tail)
{
	return EPF_TAIL_NAME(tail) ? EPF_TAIL_NAME(tail) : EPF_NAME_PENDING;
}

/* Returns the number of ids that a thread has taken.  The result is correct even if the thread was killed at any
 * instant. */
static inline uint64_t epf_slot_ids_taken(const struct epf_slot *slot)
{
	return slot->ids_settled ? slot->ids_settled - 1
	                         : (uint64_t)slot->id_blocks * 65536 + slot->next_id - slot->id_block_first;
}

static inline uint32_t epf_slot_open_count(const struct epf_slot *slot)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < EPF_OPEN_MAX; i++)
		count += slot->open[i].tail != 0;
	return count;
}

/* Returns the number of the thread's events that the helper has lost.  All other losses are only in `lost`. */
static inline uint64_t epf_slot_lost_disk(const struct epf_slot *slot)
{
	return slot->dropped ? slot->dropped_disk : slot->drain_lost_disk;
}

static inline uint64_t epf_slot_lost_policy(const struct epf_slot *slot)
{
	return slot->dropped ? slot->dropped_policy : slot->drain_lost_policy;
}

#endif
