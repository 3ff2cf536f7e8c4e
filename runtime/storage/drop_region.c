/* If a region could not be written, its events are counted as lost. A single store moves them from the window to the
 * loss counters of the thread and of each profiler that submitted some of them. After a kill the events are therefore
 * in exactly one place, with the reason for the loss. */
#include "storage/drop_region.h"

#include <errno.h>

#include "base/atomics.h"

void drop_region_each_submitted(struct storage *storage, const struct epf_region *region, const uint8_t *end,
                                void (*count)(struct storage *storage, uint32_t producer))
{
	const uint8_t *at = (const uint8_t *)(region + 1) + (region->open_count + 3) / 4 * 32;
	const struct epf_track *track = NULL;
	while (at < end) {
		const struct epf_record *record = (const struct epf_record *)(const void *)at;
		unsigned kind = EPF_BITS_KIND(record->bits);
		if (kind == EPF_TRACK_SWITCH)
			track = definitions_track(&storage->definitions, (uint32_t)record->id);
		else if (kind == EPF_COMPLETE && track && track->producer >= 0)
			count(storage, (uint32_t)track->producer);
		at += EPF_RECORD_BYTES + (size_t)record->arg_slots * sizeof(struct epf_arg);
	}
}

static void count_lost(struct storage *storage, uint32_t producer)
{
	uint64_t *lost = &storage->window.live->dropped_lost[producer];
	STORE_RELAXED(lost, *lost + 1);
}

/* Stores the new loss counts of all producers for `reason`: the present counts, plus the events in the region. Only the
 * drain counts losses for the reasons EPP_LOSS_DISK and EPP_LOSS_POLICY, so no other thread changes the present counts
 * meanwhile. */
static void drop_of_producers(struct storage *storage, epp_loss reason, const struct epf_region *region, const uint8_t *end)
{
	struct epf_live *live = storage->window.live;
	STORE_RELAXED(&live->dropped_reason, (uint64_t)reason);
	for (unsigned i = 0; i < EPF_PRODUCER_COUNT; i++)
		STORE_RELAXED(&live->dropped_lost[i], storage->window.producers[i].lost[reason]);
	if (region)
		drop_region_each_submitted(storage, region, end, count_lost);
}

void drop_region_begin(struct storage *storage, struct epf_slot *of, int error, uint64_t events,
                       const struct epf_region *region, const uint8_t *end, bool ending)
{
	bool by_policy = error == ENOBUFS;
	STORE_RELAXED(&of->dropped_disk, of->drain_lost_disk + (by_policy ? 0 : events));
	STORE_RELAXED(&of->dropped_policy, of->drain_lost_policy + (by_policy ? events : 0));
	drop_of_producers(storage, by_policy ? EPP_LOSS_POLICY : EPP_LOSS_DISK, region, end);
	STORE_RELEASE(&of->dropped, (region ? region->sequence : 0) | (ending ? EPF_DROPPED_OPEN : 0));
}

void drop_region_end(struct storage *storage, struct epf_slot *of)
{
	const struct epf_live *live = storage->window.live;
	if (!of->dropped)
		return;
	for (unsigned i = 0; i < EPF_PRODUCER_COUNT; i++)
		STORE_RELAXED(&storage->window.producers[i].lost[live->dropped_reason], live->dropped_lost[i]);
	STORE_RELEASE(&of->drain_lost_disk, of->dropped_disk);
	STORE_RELEASE(&of->drain_lost_policy, of->dropped_policy);
	STORE_RELEASE(&of->dropped, 0);
}
