/* Takes, leaves, clears and frees slots. */
#include "storage/window/slots.h"

#include <string.h>

#include "base/atomics.h"
#include "base/clock.h"
#include "format/format_slot.h"
#include "storage/window/page_faults.h"

void slots_init(struct slots *slots, struct window *window)
{
	slots->window = window;
	slots->used = 0;
	memset(slots->uses, 0, sizeof(slots->uses));
	memset(slots->lost_before, 0, sizeof(slots->lost_before));
	slots->emitted_before = 0;
	STORE_RELAXED(&slots->free, EPF_SLOT_COUNT);
}

uint32_t slots_take(struct slots *slots)
{
	uint32_t index = 0;
	while (index < EPF_SLOT_COUNT && slots->uses[index].taken)
		index++;
	if (index == EPF_SLOT_COUNT)
		return SLOT_NONE;
	struct slot_use *use = &slots->uses[index];
	use->taken = use->to_close = true;
	use->has_exited = use->faults_counted = false;
	use->chunk = CHUNK_NONE;
	STORE_RELAXED(&slots->free, slots->free - 1);
	if (index >= slots->used)
		STORE_RELAXED(&slots->used, index + 1);
	return index;
}

void slots_leave(struct slots *slots, uint32_t index)
{
	struct slot_use *use = &slots->uses[index];
	if (!use->to_close)
		return;
	faults_end(slots, index);
	use->left_ticks = clock_ticks();
	use->has_exited = true;
}

void slots_clear(struct slots *slots, uint32_t index)
{
	struct epf_slot *slot = &slots->window->slots[index];
	for (unsigned reason = 0; reason < EPF_LOSS_COUNT; reason++)
		slots->lost_before[reason] += slot->lost[reason];
	slots->lost_before[EPP_LOSS_DISK] += slot->drain_lost_disk;
	slots->lost_before[EPP_LOSS_POLICY] += slot->drain_lost_policy;
	slots->emitted_before += epf_slot_ids_taken(slot) + slot->lost_idless;
	STORE_RELEASE(&slot->state, EPF_SLOT_FREE);
	memset((uint8_t *)slot + sizeof(slot->state), 0, offsetof(struct epf_slot, region) - sizeof(slot->state));
	STORE_RELAXED(&slots->uses[index].region_state, REGION_FREE);
	slots->uses[index].taken = slots->uses[index].to_close = false;
	STORE_RELAXED(&slots->free, slots->free + 1);
}

void slots_fill_region(struct slots *slots, struct chunk_pool *chunks, uint32_t index)
{
	struct slot_use *use = &slots->uses[index];
	if (!use->region)
		return;
	use->region = NULL;
	if (use->chunk != CHUNK_NONE)
		chunks_fill(chunks, use->chunk);
	else
		STORE_RELEASE(&use->region_state, REGION_FULL);
}

/* As epf_slot_ids_taken, but while the thread records: the three fields may then belong to two different blocks of
 * ids. */
static uint64_t ids_taken(const struct epf_slot *slot)
{
	uint64_t settled = LOAD_ACQUIRE(&slot->ids_settled);
	uint64_t first = LOAD_RELAXED(&slot->id_block_first), next = LOAD_RELAXED(&slot->next_id);
	uint64_t in_block = next - first;
	if (settled)
		return settled - 1;
	return (uint64_t)LOAD_RELAXED(&slot->id_blocks) * 65536 + (in_block <= 65536 ? in_block : 0);
}

uint64_t slots_emitted(const struct slots *slots)
{
	uint64_t emitted = slots->emitted_before;
	for (uint32_t i = 0; i < slots->used; i++) {
		const struct epf_slot *slot = &slots->window->slots[i];
		emitted += ids_taken(slot) + LOAD_RELAXED(&slot->lost_idless);
	}
	return emitted;
}

uint64_t slots_lost(const struct slots *slots, epp_loss reason)
{
	uint64_t lost = slots->lost_before[reason];
	for (uint32_t i = 0; i < slots->used; i++) {
		const struct epf_slot *slot = &slots->window->slots[i];
		lost += LOAD_RELAXED(&slot->lost[reason]);
		if (reason == EPP_LOSS_DISK)
			lost += LOAD_RELAXED(&slot->drain_lost_disk);
		if (reason == EPP_LOSS_POLICY)
			lost += LOAD_RELAXED(&slot->drain_lost_policy);
	}
	return lost;
}
