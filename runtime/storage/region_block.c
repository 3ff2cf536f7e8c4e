/* Encodes a region as a block. A region ends at the first record that was not published. */
#include "storage/region_block.h"

#include "base/name.h"
#include "codec/codec.h"
#include "format/format_slot.h"

/* The kinds of records that have an id of their own. */
#define OWN_ID_KINDS \
	(1u << EPF_EVENT | 1u << EPF_INSTANT | 1u << EPF_COUNTER | 1u << EPF_COMPLETE | 1u << EPF_FLOW | \
	 1u << EPF_ASYNC_BEGIN)

/* Appends the events that are still open when their thread has left or the run has ended. They get `end_ticks` as their
 * end, the innermost first. */
static void append_unended(struct codec_writer *writer, const struct epf_slot *slot, uint64_t end_ticks)
{
	for (const struct epf_open *open = slot->open + EPF_OPEN_MAX; open-- > slot->open;) {
		if (!open->tail)
			continue;
		struct epf_record record = {
			.start_ticks = open->start_ticks,
			.duration_ticks = end_ticks > open->start_ticks ? end_ticks - open->start_ticks : 0,
			.id = open->id,
			.name = open->name,
			.bits = open->bits | EPF_BITS(0, 0, 0, EPF_FLAG_UNENDED),
		};
		codec_append(writer, &record, NULL);
	}
}

/* The callback codec_writer.defined. The returned args stay valid, because interned args are never freed. */
static const struct epf_arg *defined_args(const void *user, uint32_t number, uint32_t *slots)
{
	struct name_text of = name_get(number);
	(void)user;
	*slots = of.bytes / (uint32_t)sizeof(struct epf_arg);
	return of.is_args ? (const struct epf_arg *)(const void *)of.text : NULL;
}

struct region_block region_block_encode(struct epf_block *block, struct epf_region *region, size_t region_bytes,
                                        uint32_t slot, const struct epf_slot *ending, uint64_t end_ticks)
{
	struct codec_writer writer;
	struct region_block encoded = { .block = block, .region = region, .slot = slot };
	const uint8_t *at = NULL;
	*block = (struct epf_block){ .type = EPF_BLOCK_RECORDS, .slot = slot };
	codec_begin(&writer, (uint8_t *)(block + 1), region ? (const uint64_t *)(const void *)(region + 1) : NULL,
	            region ? region->open_count : 0);
	writer.defined = defined_args;
	if (region) {
		block->sequence = region->sequence;
		block->run = region->run;
		block->track = region->track;
		block->first_id = region->first_id;
		at = (const uint8_t *)(region + 1) + (region->open_count + 3) / 4 * 32;
		at = codec_append_region(&writer, at, (uint8_t *)region + region_bytes, OWN_ID_KINDS, &encoded.events);
	} else {
		block->run = ending->run;
		block->track = ending->track;
		block->first_id = ending->next_id;
	}
	if (ending) {
		append_unended(&writer, ending, end_ticks);
		encoded.events += epf_slot_open_count(ending);
	}
	codec_finish(&writer, block);
	encoded.end = at;
	encoded.records = block->record_count;
	return encoded;
}
