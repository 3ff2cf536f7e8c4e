/* Decides which events on the stacks of the window's slots are open: those without a record that no orphan end (an end
 * on another thread) closes.
 *
 * The record of an event that is still on its stack is the last one that its thread stored, or one of the `unended`
 * records that the thread's exit added.  It is therefore in the window, in the track's last blocks or, in a live file,
 * in a block that was written after the stack was copied.  Orphan ends may be in any block after the event's start, but
 * the headers of blocks show which blocks contain some.  If an orphan end closes an event, the start of the event is
 * only in the stack.  The event becomes a record here, with the flag `unended`, as its thread would have stored it, so
 * that readers of records find it. */
#include <stdlib.h>

#include "containers/array.h"
#include "format/format_slot.h"
#include "trace/reader_private.h"

/* If a region is full when an end unwinds the stack, its records are in two regions, so two blocks are read. */
#define LAST_BLOCKS 2

struct orphan {
	uint64_t id, end_ticks;
};

struct stacks {
	struct reader_impl *impl;
	struct reader_decoded records;
	struct id_set entries;  /* the ids on the stacks */
	struct id_set recorded; /* ids that have a record, or that were handled already */
	struct orphan *orphans; /* the orphan ends of ids on the stacks, sorted */
	size_t orphans_count, orphans_capacity;
	uint64_t first_start_ticks;
};

static epp_status *note_block(struct stacks *stacks, const struct reader_block *block)
{
	const struct reader_decoded *records = &stacks->records;
	bool added;

	EPP_TRY(reader_block_decode(&stacks->impl->reader, block, &stacks->records));
	for (uint32_t i = 0; i < records->count; i++) {
		const struct codec_record *record = &records->records[i];
		unsigned kind = EPF_BITS_KIND(record->bits);
		if ((kind != EPF_EVENT && kind != EPF_ORPHAN_END) || !id_set_has(&stacks->entries, 0, record->id))
			continue;
		if (kind == EPF_EVENT && !id_set_add(&stacks->recorded, 0, record->id, &added))
			return epp_status_no_memory();
		if (kind == EPF_EVENT)
			continue;
		if (!array_reserve_zeroed(&stacks->orphans, &stacks->orphans_capacity, stacks->orphans_count + 1,
		                          sizeof(*stacks->orphans)))
			return epp_status_no_memory();
		stacks->orphans[stacks->orphans_count++] = (struct orphan){ record->id, record->start_ticks };
	}
	return NULL;
}

static int by_id(const void *a, const void *b)
{
	const struct orphan *x = a, *y = b;
	return (x->id > y->id) - (x->id < y->id);
}

/* Reads the blocks that may contain the record or the orphan end of an event on a stack. */
static epp_status *note_blocks(struct stacks *stacks)
{
	const struct reader *reader = &stacks->impl->reader;

	for (size_t i = 0; i < reader->blocks_count; i++) {
		const struct reader_block *block = &reader->blocks[i];
		bool may_end = (block->kinds & 1u << EPF_ORPHAN_END) && block->last_ticks >= stacks->first_start_ticks;
		if (block->in_window || may_end)
			EPP_TRY(note_block(stacks, block));
	}
	for (size_t s = 0; s < stacks->impl->slots_count; s++) {
		const struct epf_slot *slot = &stacks->impl->slots[s].slot;
		bool any = epf_slot_open_count(slot) != 0;
		unsigned seen = 0;
		for (size_t i = reader->blocks_count; any && i-- > 0 && seen < LAST_BLOCKS;) {
			const struct reader_block *block = &reader->blocks[i];
			if (block->in_window || block->track != slot->track)
				continue;
			seen += i < stacks->impl->blocks_before_slots;
			/* Blocks with orphan ends were read above; their orphan ends must not be added twice. */
			if (!(block->kinds & 1u << EPF_ORPHAN_END) || block->last_ticks < stacks->first_start_ticks)
				EPP_TRY(note_block(stacks, block));
		}
	}
	if (stacks->orphans_count)
		qsort(stacks->orphans, stacks->orphans_count, sizeof(*stacks->orphans), by_id);
	return NULL;
}

static epp_status *note_entries(struct stacks *stacks)
{
	struct reader_impl *impl = stacks->impl;
	bool added;

	stacks->first_start_ticks = UINT64_MAX;
	for (size_t s = 0; s < impl->slots_count; s++) {
		const struct epf_slot *slot = &impl->slots[s].slot;
		for (uint32_t d = 0; d < EPF_OPEN_MAX; d++) {
			if (!slot->open[d].tail)
				continue;
			if (slot->open[d].start_ticks < stacks->first_start_ticks)
				stacks->first_start_ticks = slot->open[d].start_ticks;
			if (!id_set_add(&stacks->entries, 0, slot->open[d].id, &added))
				return epp_status_no_memory();
		}
	}
	return NULL;
}

static int by_end(const void *a, const void *b)
{
	const struct epf_record *x = a, *y = b;
	uint64_t x_end = x->start_ticks + x->duration_ticks, y_end = y->start_ticks + y->duration_ticks;
	return (x_end > y_end) - (x_end < y_end);
}

/* Adds the events on the stack of one slot: open events to reader->open, events that an orphan end closes as records to
 * a new block. */
static epp_status *take_slot(struct stacks *stacks, const struct reader_slot *reader_slot)
{
	struct reader_impl *impl = stacks->impl;
	struct reader *reader = &impl->reader;
	const struct epf_slot *slot = &reader_slot->slot;
	uint64_t offset = reader->header.slots_offset + (uint64_t)reader_slot->index * EPF_SLOT_BYTES;
	struct epf_record ended[EPF_OPEN_MAX];
	size_t ended_count = 0;
	bool added;

	for (uint32_t d = 0; d < EPF_OPEN_MAX; d++) {
		const struct epf_open *open = &slot->open[d];
		if (!open->tail)
			continue;
		if (!open->id) {
			reader_find(impl, EPP_ERROR, offset, "slot %u: open event %u is invalid", reader_slot->index, d);
			continue;
		}
		/* Each id is handled once, because an event is twice on a stack whose elements were being moved when it
		 * was copied. */
		if (id_set_has(&stacks->recorded, 0, open->id))
			continue;
		if (!id_set_add(&stacks->recorded, 0, open->id, &added))
			return epp_status_no_memory();
		const struct orphan key = { .id = open->id };
		const struct orphan *orphan = stacks->orphans_count
		                                  ? bsearch(&key, stacks->orphans, stacks->orphans_count,
		                                            sizeof(*stacks->orphans), by_id)
		                                  : NULL;
		if (orphan) {
			ended[ended_count++] = (struct epf_record){
				.start_ticks = open->start_ticks,
				.duration_ticks = orphan->end_ticks > open->start_ticks ? orphan->end_ticks - open->start_ticks
				                                                        : 0,
				.id = open->id,
				.name = open->name,
				.bits = open->bits | EPF_BITS(0, 0, 0, EPF_FLAG_UNENDED),
			};
			continue;
		}
		if (!array_reserve_zeroed(&reader->open, &impl->open_capacity, reader->open_count + 1,
		                          sizeof(*reader->open)))
			return epp_status_no_memory();
		reader->open[reader->open_count++] = (struct reader_open){
			*open, slot->track, d, offset + offsetof(struct epf_slot, open) + d * sizeof(*open)
		};
		reader->open[reader->open_count - 1].open.name = epf_tail_name(open->tail);
	}
	if (!ended_count)
		return NULL;

	struct codec_writer writer;
	struct epf_block *block = reader_block_room(impl, ended_count * sizeof(*ended));
	if (!block)
		return epp_status_no_memory();
	qsort(ended, ended_count, sizeof(*ended), by_end);
	block->run = slot->run;
	block->track = slot->track;
	block->slot = reader_slot->index;
	codec_begin(&writer, (uint8_t *)(block + 1), NULL, 0);
	for (size_t i = 0; i < ended_count; i++)
		codec_append(&writer, &ended[i], NULL);
	return reader_block_keep(impl, block, &writer, offset);
}

epp_status *reader_open_events(struct reader_impl *impl)
{
	struct stacks stacks = { .impl = impl };
	epp_status *status = note_entries(&stacks);

	if (!status && stacks.entries.pages_count)
		status = note_blocks(&stacks);
	for (size_t s = 0; s < impl->slots_count && !status; s++)
		status = take_slot(&stacks, &impl->slots[s]);
	reader_decoded_deinit(&stacks.records);
	id_set_deinit(&stacks.entries);
	id_set_deinit(&stacks.recorded);
	free(stacks.orphans);
	return status;
}
