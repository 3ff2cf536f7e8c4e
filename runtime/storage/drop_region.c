/* Counts the events of a region that could not be written as lost. A single store moves them from the window to the
 * loss counters of the thread and of each profiler that submitted some. After a kill they are in exactly one place,
 * with the reason for the loss. */
#include "storage/drop_region.h"

#include <errno.h>

#include "record/tracks.h"

void each_handed_over(struct session *session, const struct epf_region *region, const uint8_t *end,
                      void (*count)(struct session *session, uint32_t producer, uint32_t run))
{
	const uint8_t *at = (const uint8_t *)(region + 1) + (region->open_count + 3) / 4 * 32;
	const struct epf_track *track = NULL;
	while (at < end) {
		const struct epf_record *record = (const struct epf_record *)(const void *)at;
		unsigned kind = EPF_BITS_KIND(record->bits);
		if (kind == EPF_TRACK_SWITCH)
			track = tracks_get(session, (uint32_t)record->id);
		else if (kind == EPF_COMPLETE && track && track->producer >= 0)
			count(session, (uint32_t)track->producer, region->run);
		at += EPF_RECORD_BYTES + (size_t)record->arg_slots * sizeof(struct epf_arg);
	}
}

static void count_lost(struct session *session, uint32_t producer, uint32_t run)
{
	(void)run;
	uint64_t *lost = &session->window.live->given_up_lost[producer];
	STORE_RELAXED(lost, *lost + 1);
}

/* Only the drain counts losses for these two reasons, so the current values can be stored as a base. */
static void give_up_producers(struct session *session, epp_loss reason, const struct epf_region *region, const uint8_t *end)
{
	struct epf_live *live = session->window.live;
	STORE_RELAXED(&live->given_up_reason, (uint64_t)reason);
	for (unsigned i = 0; i < EPF_PRODUCER_COUNT; i++)
		STORE_RELAXED(&live->given_up_lost[i], session->window.producers[i].lost[reason]);
	if (region)
		each_handed_over(session, region, end, count_lost);
}

void give_up(struct session *session, struct epf_slot *of, int error, uint64_t events, const struct epf_region *region,
             const uint8_t *end, bool ending)
{
	bool by_policy = error == ENOBUFS;
	STORE_RELAXED(&of->given_up_disk, of->drain_lost_disk + (by_policy ? 0 : events));
	STORE_RELAXED(&of->given_up_policy, of->drain_lost_policy + (by_policy ? events : 0));
	give_up_producers(session, by_policy ? EPP_LOSS_POLICY : EPP_LOSS_DISK, region, end);
	STORE_RELEASE(&of->given_up, (region ? region->sequence : 0) | (ending ? EPF_GIVEN_UP_OPEN : 0));
}

void give_up_end(struct session *session, struct epf_slot *of)
{
	const struct epf_live *live = session->window.live;
	if (!of->given_up)
		return;
	for (unsigned i = 0; i < EPF_PRODUCER_COUNT; i++)
		STORE_RELAXED(&session->window.producers[i].lost[live->given_up_reason], live->given_up_lost[i]);
	STORE_RELEASE(&of->drain_lost_disk, of->given_up_disk);
	STORE_RELEASE(&of->drain_lost_policy, of->given_up_policy);
	STORE_RELEASE(&of->given_up, 0);
}
