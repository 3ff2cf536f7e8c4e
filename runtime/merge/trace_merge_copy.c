/* Copies the records of one trace: each block is decoded, converted to the merged trace's clock and numbers, and
 * encoded again in the same order.  One block is in memory at a time.
 *
 * A block that is too large becomes several; each begins on the block's own track, as a region does. */
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "codec/codec.h"
#include "merge/trace_merge.h"

/* Limit of one block, for the records in memory. */
#define BLOCK_BYTES (128u << 10)
/* Upper limit of one record's slots: each text may end in a partly filled slot. */
#define SLOTS_MAX (2 * EPF_ARG_SLOTS_MAX + EPF_ARG_TEXT_MAX / 16)

_Static_assert(CODEC_BOUND(BLOCK_BYTES) + 10 * EPF_OPEN_MAX <= TRACE_WRITER_PAYLOAD_MAX, "an encoded block fits");
_Static_assert(EPF_RECORD_BYTES * 2 + SLOTS_MAX * 16 <= BLOCK_BYTES, "a record and a switch fit");

struct copying {
	struct trace_merge *merge;
	struct merge_input *input;
	struct reader_decoded from; /* the input block */
	struct epf_block *block;    /* the output block */
	struct epf_arg *slots;

	uint32_t track, own_track; /* merged numbers: of the current record, of the block */
	bool host_clock;           /* the track's complete events are in host ticks */
	struct codec_writer codec;
	uint32_t bytes;    /* of the records in `block` */
	uint64_t at_ticks; /* merged time of the last record in host ticks, used for track switches */
	size_t start_hint, end_hint;
};

static uint32_t name_of(const struct copying *copying, uint32_t name)
{
	return name < copying->input->reader->names_count ? copying->input->names[name] : EPF_NAME_LOST;
}

static uint64_t ticks_of(const struct copying *copying, size_t *hint, uint64_t ticks)
{
	return trace_merge_ticks(copying->merge, copying->input, hint, ticks);
}

static epp_status *on_track(struct copying *copying, uint32_t track)
{
	const struct epf_track *definition = reader_track_definition(copying->input->reader, track);

	copying->host_clock = !definition || definition->clock_kind == EPF_TRACK_CLOCK_HOST;
	return trace_merge_track(copying->merge, copying->input, copying->from.header.source, track, &copying->track);
}

/* ---- blocks ---- */

static void begin_block(struct copying *copying, uint32_t open_count)
{
	codec_begin(&copying->codec, (uint8_t *)(copying->block + 1), copying->from.open_ids, open_count);
	copying->bytes = 0;
}

static epp_status *end_block(struct copying *copying)
{
	const struct epf_block *from = &copying->from.header;
	struct epf_block *block = copying->block;

	if (!copying->codec.state.record_count)
		return NULL;
	*block = (struct epf_block){ .type = EPF_BLOCK_RECORDS,
		                     .run = trace_merge_run(copying->input, from->run),
		                     .source = copying->merge->writer->tracks[copying->own_track - 1].definition.source,
		                     .track = copying->own_track,
		                     .first_id = from->first_id };
	codec_finish(&copying->codec, block);
	copying->merge->counts.records += block->record_count;
	return trace_writer_append(copying->merge->writer, block);
}

static void put(struct copying *copying, const struct epf_record *record)
{
	codec_append(&copying->codec, record, copying->slots);
	copying->bytes += EPF_RECORD_BYTES + record->arg_slots * 16u;
}

static void put_switch(struct copying *copying)
{
	put(copying, &(struct epf_record){ .start_ticks = copying->at_ticks,
	                                   .id = copying->track == copying->own_track ? 0 : copying->track,
	                                   .name = EPF_NAME_TRACK_SWITCH,
	                                   .bits = EPF_BITS(0, EPF_TRACK_SWITCH, 0, 0) });
}

static epp_status *make_room(struct copying *copying, uint32_t bytes)
{
	if (copying->bytes + bytes <= BLOCK_BYTES && copying->codec.state.record_count < CODEC_RECORDS_MAX)
		return NULL;
	EPP_TRY(end_block(copying));
	begin_block(copying, 0);
	if (copying->track != copying->own_track)
		put_switch(copying);
	return NULL;
}

/* ---- records ---- */

/* Converts args to slots; args that do not fit are cut, which never happens with a valid trace. */
static uint32_t take_args(struct copying *copying, const struct codec_record *record, bool *cut)
{
	uint32_t at = record->args_offset, used = 0;
	struct codec_arg arg;

	for (uint32_t i = 0; i < record->args_count; i++) {
		at = codec_arg(copying->from.args, copying->from.args_bytes, at, &arg);
		uint32_t text_slots = at && arg.type == EPP_ARG_TEXT ? (arg.text_bytes + 15) / 16 : 0;
		if (!at || text_slots >= SLOTS_MAX - used) {
			*cut = true;
			break;
		}
		uint32_t text_bytes = arg.type == EPP_ARG_TEXT ? arg.text_bytes : 0;
		copying->slots[used++] = (struct epf_arg){ .key = name_of(copying, arg.key),
			                                   .type_and_bytes = arg.type | text_bytes << 8,
			                                   .value = text_bytes ? 0 : arg.value };
		if (text_slots) {
			copying->slots[used + text_slots - 1] = (struct epf_arg){ 0 };
			memcpy(&copying->slots[used], arg.text, text_bytes);
		}
		used += text_slots;
	}
	return used;
}

static void bring_on(struct copying *copying, unsigned kind, struct epf_record *record)
{
	if (kind == EPF_CLOCK_PAIR) {
		record->duration_ticks = ticks_of(copying, &copying->end_hint, record->duration_ticks);
		record->id = record->id ? (uint64_t)host_clock_span_ns(copying->input->clock, record->id) : 0;
		return;
	}
	if (kind == EPF_COMPLETE && !copying->host_clock)
		return;
	uint64_t end_ticks = record->start_ticks + record->duration_ticks;
	if (end_ticks < record->start_ticks)
		end_ticks = UINT64_MAX;
	record->start_ticks = ticks_of(copying, &copying->start_hint, record->start_ticks);
	uint64_t end = record->duration_ticks ? ticks_of(copying, &copying->end_hint, end_ticks) : record->start_ticks;
	record->duration_ticks = end > record->start_ticks ? end - record->start_ticks : 0;
	if (kind != EPF_COMPLETE)
		copying->at_ticks = end;
}

static epp_status *copy_record(struct copying *copying, const struct codec_record *from)
{
	unsigned kind = EPF_BITS_KIND(from->bits);
	struct epf_record record = { .start_ticks = from->start_ticks,
		                     .duration_ticks = from->duration_ticks,
		                     .id = from->id,
		                     .name = name_of(copying, from->name),
		                     .bits = from->bits };
	bool cut = false;

	if (kind == EPF_TRACK_SWITCH) {
		EPP_TRY(make_room(copying, EPF_RECORD_BYTES));
		EPP_TRY(on_track(copying, from->id ? (uint32_t)from->id : copying->from.header.track));
		put_switch(copying);
		return NULL;
	}
	uint32_t slots = from->args_count ? take_args(copying, from, &cut) : 0;
	record.arg_slots = (uint16_t)slots;
	if (cut)
		record.bits |= EPF_BITS(0, 0, 0, EPF_FLAG_CUT);
	bring_on(copying, kind, &record);
	EPP_TRY(make_room(copying, EPF_RECORD_BYTES + slots * 16));
	put(copying, &record);
	return NULL;
}

static epp_status *copy_block(struct copying *copying, const struct reader_block *block)
{
	struct reader *reader = copying->input->trace->reader;
	const volatile int *cancel = copying->merge->options->cancel;

	if (cancel && *cancel)
		return epp_status_create(EPP_UNAVAILABLE, "cancelled");
	EPP_TRY(reader_block_decode(reader, block, &copying->from));
	if (!copying->from.whole)
		trace_merge_tell(copying->merge, "%s: a block of %u records, of which %u can be read",
		                 reader->info.path, copying->from.header.record_count, copying->from.count);
	EPP_TRY(on_track(copying, block->track));
	copying->own_track = copying->track;
	begin_block(copying, block->open_count);
	for (uint32_t i = 0; i < copying->from.count; i++)
		EPP_TRY(copy_record(copying, &copying->from.records[i]));
	return end_block(copying);
}

/* Writes the events that were open when the process was killed: they end at the latest host time, innermost first. */
static epp_status *copy_open(struct copying *copying)
{
	const struct reader *reader = copying->input->reader;

	copying->from.header = (struct epf_block){ .run = reader->live.run, .first_id = UINT64_MAX };
	for (size_t first = 0, behind; first < reader->open_count; first = behind) {
		for (behind = first;
		     behind < reader->open_count && reader->open[behind].track == reader->open[first].track;)
			behind++;
		EPP_TRY(on_track(copying, reader->open[first].track));
		copying->own_track = copying->track;
		begin_block(copying, 0);
		for (size_t i = behind; i-- > first;) {
			const struct epf_open *open = &reader->open[i].open;
			EPP_TRY(copy_record(copying, &(struct codec_record){
							 .start_ticks = open->start_ticks,
							 .duration_ticks = copying->input->last_ticks - open->start_ticks,
							 .id = open->id,
							 .name = open->name,
							 .bits = open->bits | EPF_BITS(0, 0, 0, EPF_FLAG_UNENDED) }));
		}
		EPP_TRY(end_block(copying));
	}
	return NULL;
}

epp_status *trace_merge_copy(struct trace_merge *merge, struct merge_input *input)
{
	struct copying copying = { .merge = merge, .input = input };
	epp_status *status = NULL;

	copying.block = malloc(sizeof(*copying.block) + TRACE_WRITER_PAYLOAD_MAX);
	copying.slots = reallocarray(NULL, SLOTS_MAX + 1, sizeof(*copying.slots));
	if (!copying.block || !copying.slots)
		status = epp_status_no_memory();
	for (size_t i = 0; i < input->reader->blocks_count && !status; i++)
		status = copy_block(&copying, &input->reader->blocks[i]);
	if (!status)
		status = copy_open(&copying);
	free(copying.from.bytes);
	free(copying.from.records);
	free(copying.block);
	free(copying.slots);
	return status;
}
