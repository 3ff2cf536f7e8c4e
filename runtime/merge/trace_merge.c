/* Implements epp_trace_merge: maps the clocks, assigns numbers, then copies the records of one trace after the
 * other.  The timeline merges them by time when the trace is read. */
#include "merge/trace_merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/status.h"
#include "codec/codec.h"

/* ---- records ---- */

/* Copies the records of one trace: each block is decoded, converted to the merged trace's clock and numbers, and
 * encoded again in the same order.  One block is in memory at a time.
 *
 * If a block is too large, it is divided.  Each part starts with the block's own track as the current track, as a
 * region does. */

/* The maximum size of a block's records in memory. */
#define BLOCK_BYTES (128u << 10)
/* Upper limit for the slots of one record.  A text may end in a partly filled slot, so there may be twice as many slots
 * as args. */
#define SLOTS_MAX (2 * EPF_ARG_SLOTS_MAX + EPF_ARG_TEXT_MAX / 16)

_Static_assert(CODEC_BOUND(BLOCK_BYTES) + 10 * EPF_OPEN_MAX <= TRACE_WRITER_PAYLOAD_MAX, "an encoded block fits");
_Static_assert(EPF_RECORD_BYTES * 2 + SLOTS_MAX * 16 <= BLOCK_BYTES, "a record and a switch fit");

struct copying {
	struct trace_merge *merge;
	struct merge_input *input;
	struct reader_decoded from; /* the block of the input */
	struct epf_block *block;    /* the block of the output */
	struct epf_arg *slots;

	uint32_t track, own_track; /* numbers in the merged trace: track of the current record, track of the block */
	bool host_clock;           /* the ticks of complete events on `track` are host ticks */
	struct codec_writer codec;
	uint32_t bytes;    /* size of the records in `block` */
	uint64_t at_ticks; /* time of the last record with host ticks, in the merged trace; used for track switches */
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

static epp_status *switch_track(struct copying *copying, uint32_t track)
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

/* Converts the args of a record to slots.  Args that do not fit are cut, which does not happen with a valid trace. */
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
		if (arg.key == EPF_NAME_SUBMIT)
			arg.value = ticks_of(copying, &copying->start_hint, arg.value);
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

static void convert_record(struct copying *copying, unsigned kind, struct epf_record *record)
{
	if (kind == EPF_CLOCK_PAIR) {
		record->duration_ticks = ticks_of(copying, &copying->end_hint, record->duration_ticks);
		record->id = record->id ? (uint64_t)host_clock_span_ns(copying->input->clock, record->id) : 0;
		return;
	}
	if (kind == EPF_COMPLETE && !copying->host_clock)
		return;
	uint64_t end_ticks = codec_end(record->start_ticks, record->duration_ticks);
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
		EPP_TRY(switch_track(copying, from->id ? (uint32_t)from->id : copying->from.header.track));
		put_switch(copying);
		return NULL;
	}
	uint32_t slots = from->args_count ? take_args(copying, from, &cut) : 0;
	record.arg_slots = (uint16_t)slots;
	if (cut)
		record.bits |= EPF_BITS(0, 0, 0, EPF_FLAG_CUT);
	convert_record(copying, kind, &record);
	EPP_TRY(make_room(copying, EPF_RECORD_BYTES + slots * 16));
	put(copying, &record);
	return NULL;
}

static epp_status *copy_block(struct copying *copying, const struct reader_block *block)
{
	struct reader *reader = copying->input->trace->reader;
	const volatile int *cancel = copying->merge->options->cancel;

	if (cancel && *cancel)
		return epp_status_create(EPP_CANCELLED, "cancelled");
	EPP_TRY(reader_block_decode(reader, block, &copying->from));
	if (!copying->from.is_complete)
		trace_merge_report(copying->merge, "%s: a block of %u records, of which %u can be read",
		                   reader->info.path, copying->from.header.record_count, copying->from.count);
	EPP_TRY(switch_track(copying, block->track));
	copying->own_track = copying->track;
	begin_block(copying, block->open_count);
	for (uint32_t i = 0; i < copying->from.count; i++)
		EPP_TRY(copy_record(copying, &copying->from.records[i]));
	return end_block(copying);
}

/* Writes the events that were open when the process was killed.  They end at the latest host time, the innermost
 * first. */
static epp_status *copy_open(struct copying *copying)
{
	const struct reader *reader = copying->input->reader;

	copying->from.header = (struct epf_block){ .run = reader->live.run, .first_id = UINT64_MAX };
	for (size_t first = 0, behind; first < reader->open_count; first = behind) {
		for (behind = first;
		     behind < reader->open_count && reader->open[behind].track == reader->open[first].track;)
			behind++;
		EPP_TRY(switch_track(copying, reader->open[first].track));
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

static epp_status *trace_merge_copy(struct trace_merge *merge, struct merge_input *input)
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

/* ---- merging ---- */

static const char *path_of(const struct trace_merge *merge, size_t input)
{
	const char *path = merge->inputs[input].reader->info.path;
	return path ? path : "a session";
}

/* ---- duplicate recordings ---- */

struct origin {
	uint64_t origin;
	size_t input;
};

static int by_origin(const void *a, const void *b)
{
	const struct origin *x = a, *y = b;
	return (x->origin > y->origin) - (x->origin < y->origin);
}

static uint64_t file_id_half(const uint8_t *file_id)
{
	uint64_t half;
	memcpy(&half, file_id, sizeof(half));
	return half;
}

/* Returns an error if a recording is given twice.  Recordings are compared by file ids; a merged trace has one for each
 * process.  Several processes of one trace may have the same file id. */
static epp_status *check_duplicates(const struct trace_merge *merge)
{
	size_t count = 0, room = 0;

	for (size_t i = 0; i < merge->inputs_count; i++)
		room += merge->inputs[i].reader->sources_count;
	struct origin *origins = reallocarray(NULL, room, sizeof(*origins));
	if (!origins)
		return epp_status_no_memory();
	for (size_t i = 0; i < merge->inputs_count; i++) {
		const struct reader *reader = merge->inputs[i].reader;
		for (size_t s = 0; s < reader->sources_count; s++) {
			uint64_t origin = reader->sources[s].origin;
			origins[count++] = (struct origin){ origin ? origin : file_id_half(reader->header.file_id), i };
		}
	}
	qsort(origins, count, sizeof(*origins), by_origin);
	epp_status *status = NULL;
	for (size_t i = 1; i < count && !status; i++) {
		if (origins[i].origin == origins[i - 1].origin && origins[i].input != origins[i - 1].input)
			status = epp_status_create(EPP_INVALID_ARGUMENT, "%s and %s contain the same recording",
			                           path_of(merge, origins[i - 1].input), path_of(merge, origins[i].input));
	}
	free(origins);
	return status;
}

/* ---- inputs ---- */

static uint64_t last_ticks(const struct reader *reader)
{
	uint64_t last = reader->pairs_count ? reader->pairs[reader->pairs_count - 1].ticks : 0;

	for (size_t i = 0; i < reader->blocks_count; i++)
		last = reader->blocks[i].last_ticks > last ? reader->blocks[i].last_ticks : last;
	for (size_t i = 0; i < reader->open_count; i++)
		last = reader->open[i].open.start_ticks > last ? reader->open[i].open.start_ticks : last;
	return last;
}

static epp_status *take_inputs(struct trace_merge *merge, epp_trace *const *traces, size_t count)
{
	if (!count)
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_trace_merge: no trace");
	merge->inputs = calloc(count, sizeof(*merge->inputs));
	if (!merge->inputs)
		return epp_status_no_memory();
	for (size_t i = 0; i < count; i++) {
		struct merge_input *input = &merge->inputs[i];
		const struct reader *reader = traces[i]->reader;
		*input = (struct merge_input){ .trace = traces[i], .reader = reader, .last_ticks = last_ticks(reader) };
		merge->inputs_count = i + 1;
		if (reader->info.state == EPP_TRACE_RECORDING)
			return epp_status_create(EPP_BUSY, "%s: process %u is still recording it", path_of(merge, i),
			                         reader->info.pid);
	}
	return check_duplicates(merge);
}

/* ---- reporting how the clocks were mapped ---- */

static void report_machine(const struct trace_merge *merge, const struct merge_machine *machine)
{
	static const char *const how[] = {
		[EPF_RELATED_SELF] = "its clock is the clock of the merged trace",
		[EPF_RELATED_REALTIME] = "by wall-clock time",
		[EPF_RELATED_EVENTS] = "by common events",
		[EPF_RELATED_NOT] = "unaligned: its start is set to the start of the earliest trace"
	};
	const struct reader *leader = merge->inputs[machine->leader].reader;
	const char *host = leader->header.source.hostname;
	char others[64] = "", error[160] = "";

	if (machine->inputs_count > 1)
		snprintf(others, sizeof(others), " and %u more of its machine", machine->inputs_count - 1);
	if (machine->relation == EPF_RELATED_REALTIME || machine->relation == EPF_RELATED_EVENTS)
		snprintf(error, sizeof(error), ", within %llu ns", (unsigned long long)machine->error_ns);
	trace_merge_report(merge, "%s%s (%s): %s%s", path_of(merge, machine->leader), others,
	                   *host ? host : "unknown host", how[machine->relation], error);
}

static epp_status *report_clocks(struct trace_merge *merge)
{
	bool any_realtime = false;

	for (size_t i = 0; i < merge->machines_count; i++) {
		const struct merge_machine *machine = &merge->machines[i];
		if (merge->machines_count > 1)
			report_machine(merge, machine);
		merge->counts.unrelated += machine->relation == EPF_RELATED_NOT;
		if (machine->relation == EPF_RELATED_NOT && merge->options->strict)
			return epp_status_create(EPP_INCOMPATIBLE, "%s: its clock cannot be aligned with the others",
			                         path_of(merge, machine->leader));
		any_realtime = any_realtime || machine->relation == EPF_RELATED_REALTIME;
	}
	if (any_realtime)
		trace_merge_report(merge,
		                   "by wall-clock time: plus the unknown difference between the machines' wall clocks");
	return NULL;
}

/* ---- counting hosts ---- */

/* Returns true if two processes are on the same host: the name of the host and its boot are equal.  If neither process
 * has a name and a boot, the processes are on the same host if they are of the same trace. */
static bool same_host(const struct epf_source *a, const struct epf_source *b)
{
	static const uint8_t unknown[sizeof(a->boot_id)];
	bool is_known = a->hostname[0] || memcmp(a->boot_id, unknown, sizeof(unknown)) != 0;

	return memcmp(a->boot_id, b->boot_id, sizeof(unknown)) == 0 &&
	       strncmp(a->hostname, b->hostname, sizeof(a->hostname)) == 0 && (is_known || a->origin == b->origin);
}

static uint32_t count_hosts(struct trace_merge *merge)
{
	uint32_t count = 0, other;

	for (uint32_t i = 0; i < merge->writer->sources_count; i++) {
		const struct epf_source *source = trace_writer_source(merge->writer, i);
		for (other = 0; other < i && !same_host(source, trace_writer_source(merge->writer, other)); other++)
			;
		count += other == i;
	}
	return count;
}

/* ---- the merge ---- */

static epp_status *write_all(struct trace_merge *merge, const char *path)
{
	EPP_TRY(trace_merge_relate(merge));
	if (merge->options->align)
		EPP_TRY(trace_merge_align(merge));
	EPP_TRY(report_clocks(merge));
	EPP_TRY(epp_trace_writer_create(&(epp_trace_writer_options){ .struct_size = sizeof(epp_trace_writer_options),
	                                                             .path = path,
	                                                             .overwrite = merge->options->overwrite },
	                                &merge->writer));
	EPP_TRY(trace_merge_number(merge));
	merge->counts.sources = merge->writer->sources_count;
	merge->counts.machines = count_hosts(merge);
	if (merge->counts.names_lost) {
		trace_merge_report(merge, "%llu names do not fit: their events are named (name lost)",
		                   (unsigned long long)merge->counts.names_lost);
		if (merge->options->strict)
			return epp_status_create(EPP_INCOMPATIBLE, "%s: the names do not fit", path);
	}
	for (size_t i = 0; i < merge->inputs_count; i++)
		EPP_TRY(trace_merge_copy(merge, &merge->inputs[i]));
	EPP_TRY(trace_merge_definitions(merge));
	return trace_writer_commit(merge->writer);
}

static void deinit(struct trace_merge *merge)
{
	epp_trace_writer_destroy(merge->writer);
	for (size_t i = 0; i < merge->inputs_count; i++) {
		host_clock_deinit(&merge->inputs[i].own);
		free(merge->inputs[i].names);
		free(merge->inputs[i].runs);
		free(merge->inputs[i].unknown);
	}
	for (size_t i = 0; i < merge->machines_count; i++)
		host_clock_deinit(&merge->machines[i].clock);
	free(merge->inputs);
	free(merge->machines);
	free(merge->runs);
}

epp_status *epp_trace_merge(epp_trace *const *traces, size_t count, const char *path, const epp_merge_options *given,
                            epp_receipt_fn receipt, void *receipt_user, epp_merge_counts *counts)
{
	epp_merge_options options;
	struct trace_merge merge = { .options = &options, .receipt = receipt, .receipt_user = receipt_user };

	if (counts && !options_fill(counts, &(epp_merge_counts){ 0 }, sizeof(*counts)))
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_merge_counts: struct_size is not set");
	epp_status *status = options_take(&options, sizeof(options), given, "epp_merge_options");
	if (!status)
		status = take_inputs(&merge, traces, count);
	if (!status)
		status = write_all(&merge, path);
	if (counts && !status)
		options_fill(counts, &merge.counts, sizeof(*counts));
	deinit(&merge);
	return status;
}
