/* Writes the file of a trace writer: segments are filled in memory and written in order; the header is written last. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/os.h"
#include "codec/checksum.h"
#include "codec/codec.h"
#include "codec/file_header.h"
#include "containers/radix_sort.h"
#include "trace/writer/trace_writer_private.h"

/* ---- blocks ---- */

_Static_assert(sizeof(struct epf_block) + TRACE_WRITER_PAYLOAD_MAX <= EPF_SEGMENT_BYTES - EPF_SEGMENT_HEADER_BYTES,
               "a block fits into a segment");

/* Returns true if a process has a lock on the file, as a recording process has (storage/window/window.c). */
static bool is_being_recorded(const char *path)
{
	int fd = os_file_open(path, true);
	bool locked = fd >= 0 && os_file_is_locked(fd);

	if (fd >= 0)
		close(fd);
	return locked;
}

epp_status *trace_writer_open(struct epp_trace_writer *writer)
{
	struct stat st;
	bool exists = stat(writer->path, &st) == 0;

	if (exists && !S_ISREG(st.st_mode))
		return epp_status_create(EPP_INVALID_ARGUMENT, "%s: not a regular file: a trace must be seekable",
		                         writer->path);
	if (exists && writer->overwrite && is_being_recorded(writer->path))
		return epp_status_create(EPP_BUSY, "%s: a session is writing to it", writer->path);
	return atomic_file_open(&writer->file, writer->path, writer->overwrite);
}

static epp_status *write_at(struct epp_trace_writer *writer, uint64_t offset, const void *data, size_t bytes)
{
	struct os_signals before;
	int error = 0;

	os_size_limit_hold(&before);
	for (const uint8_t *from = data; bytes && !error;) {
		ssize_t done = pwrite(writer->file.fd, from, bytes, (off_t)offset);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0) {
			error = done < 0 ? errno : ENOSPC;
			break;
		}
		from += done;
		offset += (uint64_t)done;
		bytes -= (size_t)done;
	}
	os_size_limit_release(&before, error);
	writer->failed |= error != 0;
	return error ? epp_status_errno(error, "%s", writer->path) : NULL;
}

uint64_t trace_writer_end(const struct epp_trace_writer *writer)
{
	return EPF_BARE_SEGMENTS_OFFSET + (writer->segment_number - 1) * EPF_SEGMENT_BYTES + writer->segment_at;
}

static epp_status *write_segment(struct epp_trace_writer *writer)
{
	struct epf_segment segment = { .magic = EPF_SEGMENT_MAGIC, .number = writer->segment_number };

	if (!writer->segment_number)
		return NULL;
	if (writer->segment_first <= writer->segment_last) {
		segment.first_ticks = writer->segment_first;
		segment.last_ticks = writer->segment_last;
	}
	segment.checksum = checksum_crc32c(0, &segment, sizeof(segment));
	memcpy(writer->segment, &segment, sizeof(segment));
	return write_at(writer, EPF_BARE_SEGMENTS_OFFSET + (writer->segment_number - 1) * EPF_SEGMENT_BYTES,
	                writer->segment, writer->segment_at);
}

static epp_status *next_segment(struct epp_trace_writer *writer)
{
	/* The rest of the segment is a hole, which reads as zeros, so no block begins there. */
	EPP_TRY(write_segment(writer));
	writer->segment_number++;
	writer->segment_at = EPF_SEGMENT_HEADER_BYTES;
	writer->segment_first = UINT64_MAX;
	writer->segment_last = 0;
	return NULL;
}

epp_status *trace_writer_append(struct epp_trace_writer *writer, struct epf_block *block)
{
	size_t bytes = sizeof(*block) + block->payload_bytes, step = (bytes + 7) & ~(size_t)7;

	if (!writer->segment_number || step > EPF_SEGMENT_BYTES - writer->segment_at)
		EPP_TRY(next_segment(writer));
	block->magic = EPF_BLOCK_MAGIC;
	block->checksum = 0;
	block->checksum = checksum_crc32c(0, block, bytes);
	writer->block_offset = trace_writer_end(writer);
	memcpy(writer->segment + writer->segment_at, block, bytes);
	memset(writer->segment + writer->segment_at + bytes, 0, step - bytes);
	writer->segment_at += step;
	if ((block->type == EPF_BLOCK_RECORDS || block->type == EPF_BLOCK_COLUMNS) &&
	    block->first_ticks < writer->segment_first)
		writer->segment_first = block->first_ticks;
	if (block->last_ticks > writer->segment_last)
		writer->segment_last = block->last_ticks;
	return writer->index ? trace_writer_index_block(writer->index, writer->block_offset, block) : NULL;
}

epp_status *trace_writer_append_payload(struct epp_trace_writer *writer, unsigned type, const void *payload,
                                        size_t bytes, size_t element_bytes)
{
	size_t most = element_bytes < TRACE_WRITER_PAYLOAD_MAX ? TRACE_WRITER_PAYLOAD_MAX / element_bytes * element_bytes
	                                                       : TRACE_WRITER_PAYLOAD_MAX;
	uint8_t *block = malloc(sizeof(struct epf_block) + (bytes < most ? bytes : most));
	epp_status *status = block ? NULL : epp_status_no_memory();

	for (size_t at = 0, step; at < bytes && !status; at += step) {
		step = bytes - at < most ? bytes - at : most;
		struct epf_block head = { .type = (uint16_t)type, .run = 1, .payload_bytes = (uint32_t)step };
		memcpy(block, &head, sizeof(head));
		memcpy(block + sizeof(head), (const uint8_t *)payload + at, step);
		status = trace_writer_append(writer, (struct epf_block *)(void *)block);
	}
	free(block);
	return status;
}

epp_status *trace_writer_append_producers(struct epp_trace_writer *writer, const struct epf_producer *producers,
                                          size_t count)
{
	const size_t most = TRACE_WRITER_PAYLOAD_MAX / sizeof(*producers);
	struct epf_block *block = malloc(sizeof(*block) + (count < most ? count : most) * sizeof(*producers));
	epp_status *status = block ? NULL : epp_status_no_memory();

	for (size_t from = 0, step; from < count && !status; from += step) {
		step = count - from < most ? count - from : most;
		*block = (struct epf_block){ .type = EPF_BLOCK_PRODUCERS,
			                     .run = 1,
			                     .slot = (uint32_t)from,
			                     .payload_bytes = (uint32_t)(step * sizeof(*producers)) };
		memcpy(block + 1, producers + from, block->payload_bytes);
		status = trace_writer_append(writer, block);
	}
	free(block);
	return status;
}

static epp_status *write_header(struct epp_trace_writer *writer)
{
	const struct epf_end end = header_end(writer->segment_number ? trace_writer_end(writer) : EPF_PAGE_BYTES);
	uint8_t page[EPF_PAGE_BYTES] = { 0 };

	header_seal(&writer->header, EPF_FINISHED);
	memcpy(page, &writer->header, sizeof(writer->header));
	memcpy(page + EPF_INDEX_PLACE_OFFSET, &writer->index_place, sizeof(writer->index_place));
	memcpy(page + EPF_END_OFFSET, &end, sizeof(end));
	return write_at(writer, 0, page, sizeof(page));
}

epp_status *trace_writer_commit(struct epp_trace_writer *writer)
{
	if (writer->no_memory)
		return epp_status_no_memory();
	EPP_TRY(write_segment(writer));
	EPP_TRY(write_header(writer));
	if (writer->rewrite && writer->rewrite->check)
		EPP_TRY(writer->rewrite->check(writer->rewrite->user, writer->file.fd, trace_writer_end(writer)));
	return atomic_file_commit(&writer->file);
}

/* ---- records ---- */

/* Collects and encodes the records of a trace writer.  Records of all tracks are collected in the order of the calls.
 * When there are enough, they are sorted by track and then by end, because a thread records its events in the order of
 * their ends, and encoded into blocks.  Blocks of a track may overlap in time: the timeline merges them. */

/* The limits of one block: size and number of records in memory. */
#define BLOCK_BYTES (128u << 10)
#define BLOCK_RECORDS 4096u

_Static_assert(CODEC_BOUND(BLOCK_BYTES) <= TRACE_WRITER_PAYLOAD_MAX, "an encoded block fits");

#define OWN_ID_KINDS \
	(1u << EPF_EVENT | 1u << EPF_INSTANT | 1u << EPF_COUNTER | 1u << EPF_COMPLETE | 1u << EPF_FLOW | \
	 1u << EPF_ASYNC_BEGIN)
#define HOST_KINDS \
	(1u << EPF_EVENT | 1u << EPF_INSTANT | 1u << EPF_COUNTER | 1u << EPF_FLOW | 1u << EPF_ASYNC_BEGIN | \
	 1u << EPF_ASYNC_END)

/* ---- sorting ---- */

static uint64_t end_of(const struct trace_writer_entry *entry)
{
	return entry->record.start_ticks + entry->record.duration_ticks;
}

static bool entry_before(const struct trace_writer_entry *a, const struct trace_writer_entry *b)
{
	uint64_t a_end = end_of(a), b_end = end_of(b);

	if (a->track != b->track)
		return a->track < b->track;
	if (a_end != b_end)
		return a_end < b_end;
	/* Of two events with the same end, the one that began later is the inner one, and ended first. */
	return a->record.start_ticks > b->record.start_ticks;
}

static int compare(const void *a, const void *b, void *user)
{
	const struct trace_writer_entry *entries = user;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	if (entry_before(&entries[left], &entries[right]))
		return -1;
	if (entry_before(&entries[right], &entries[left]))
		return 1;
	return left < right ? -1 : left > right;
}

/* Sorts each group of records that have the same track and the same end, so that an inner event precedes the outer one
 * (entry_before). */
static void sort_equals(struct epp_trace_writer *writer)
{
	const struct trace_writer_entry *entries = writer->entries;
	uint32_t *order = writer->order, count = writer->entries_count;

	for (uint32_t from = 0, to; from < count; from = to) {
		bool sorted = true;
		for (to = from + 1; to < count && entries[order[to]].track == entries[order[from]].track &&
		                    end_of(&entries[order[to]]) == end_of(&entries[order[from]]);
		     to++)
			sorted = sorted && compare(&order[to - 1], &order[to], writer->entries) < 0;
		if (!sorted)
			qsort_r(order + from, to - from, sizeof(*order), compare, writer->entries);
	}
}

static void sort(struct epp_trace_writer *writer)
{
	uint32_t *order = writer->order, *spare = order + TRACE_WRITER_ENTRIES, count = writer->entries_count;
	bool sorted = true;

	for (uint32_t i = 0; i < count; i++) {
		order[i] = i;
		writer->keys[i] = end_of(&writer->entries[i]);
		sorted = sorted && (!i || !entry_before(&writer->entries[i], &writer->entries[i - 1]));
	}
	if (sorted)
		return;
	radix_sort(order, spare, writer->keys, count);
	for (uint32_t i = 0; i < count; i++)
		writer->keys[i] = writer->entries[i].track;
	radix_sort(order, spare, writer->keys, count);
	sort_equals(writer);
}

/* ---- encoding ---- */

static epp_status *write_block(struct epp_trace_writer *writer, const uint32_t *order, uint32_t count)
{
	struct epf_block *block = (struct epf_block *)(void *)writer->block;
	const struct trace_writer_entry *first = &writer->entries[order[0]];
	struct codec_writer codec;

	codec_begin(&codec, (uint8_t *)(block + 1), NULL, 0);
	for (uint32_t i = 0; i < count; i++) {
		const struct trace_writer_entry *entry = &writer->entries[order[i]];
		codec_append(&codec, &entry->record, &writer->slots[entry->args]);
	}
	*block = (struct epf_block){ .type = EPF_BLOCK_RECORDS,
		                     .run = 1,
		                     .track = first->track,
		                     .source = writer->tracks[first->track - 1].definition.source };
	codec_finish(&codec, block);
	return trace_writer_append(writer, block);
}

epp_status *trace_writer_flush(struct epp_trace_writer *writer)
{
	uint32_t from = 0, bytes = 0;

	sort(writer);
	for (uint32_t i = 0; i < writer->entries_count; i++) {
		const struct trace_writer_entry *entry = &writer->entries[writer->order[i]];
		uint32_t size = EPF_RECORD_BYTES + entry->record.arg_slots * 16u;
		if (i > from && (entry->track != writer->entries[writer->order[from]].track ||
		                 bytes + size > BLOCK_BYTES || i - from == BLOCK_RECORDS)) {
			EPP_TRY(write_block(writer, writer->order + from, i - from));
			from = i;
			bytes = 0;
		}
		bytes += size;
	}
	if (writer->entries_count)
		EPP_TRY(write_block(writer, writer->order + from, writer->entries_count - from));
	writer->entries_count = writer->slots_count = 0;
	return NULL;
}

/* ---- collecting ---- */

/* Writes the args at `slot`.  Returns the number of slots.  `*cut` is set if some args did not fit. */
static uint32_t put_args(struct epf_arg *slot, const epp_trace_record *record, bool *cut)
{
	struct epf_arg *at = slot;
	size_t text_left = EPF_ARG_TEXT_MAX, most = EPF_ARG_SLOTS_MAX;

	if (record->parent) {
		*at++ = (struct epf_arg){ EPF_NAME_PARENT, EPP_ARG_U64, record->parent };
		most--;
	}
	for (size_t i = 0; i < record->args_count && i < most; i++) {
		const epp_arg *arg = &record->args[i];
		if (arg->type != EPP_ARG_TEXT) {
			*at++ = (struct epf_arg){ arg->key, arg->type, arg->value.u64 };
			continue;
		}
		size_t bytes = arg->text_bytes < text_left ? arg->text_bytes : text_left;
		*cut = *cut || bytes < arg->text_bytes;
		*at++ = (struct epf_arg){ arg->key, EPP_ARG_TEXT | (uint32_t)bytes << 8, 0 };
		if (bytes) {
			at[(bytes - 1) / 16] = (struct epf_arg){ 0 };
			memcpy(at, arg->value.text, bytes);
		}
		at += (bytes + 15) / 16;
		text_left -= bytes;
	}
	*cut = *cut || record->args_count > most;
	return (uint32_t)(at - slot);
}

static void count_record(struct epp_trace_writer *writer, const epp_trace_record *record, bool cut)
{
	struct trace_writer_track *track = &writer->tracks[record->track - 1];
	unsigned kind = 1u << record->kind;
	int32_t producer = track->definition.producer;

	if (kind & OWN_ID_KINDS)
		track->ids_taken++;
	if (record->kind == EPF_COMPLETE && producer >= 0)
		writer->producers[producer].emitted++;
	if (cut)
		trace_writer_lost(writer, track)[EPP_LOSS_TOO_LARGE]++;
	if (kind & HOST_KINDS) {
		uint64_t end = record->start_ticks + record->duration_ticks;
		writer->first_ticks = record->start_ticks < writer->first_ticks ? record->start_ticks
		                                                                : writer->first_ticks;
		writer->last_ticks = end > writer->last_ticks ? end : writer->last_ticks;
	}
	if (kind & OWN_ID_KINDS && record->kind != EPF_FLOW && record->id < writer->first_id)
		writer->first_id = record->id;
}

static epp_status *check(const struct epp_trace_writer *writer, const epp_trace_record *record)
{
	unsigned known = OWN_ID_KINDS | 1u << EPF_ASYNC_END | 1u << EPF_CLOCK_PAIR;

	if (writer->failed || writer->finished)
		return epp_status_create(EPP_WRONG_STATE, "%s: the trace is finished, or failed earlier", writer->path);
	if (!record->track || record->track > writer->tracks_count)
		return epp_status_create(EPP_INVALID_ARGUMENT, "a record is on track %u, which does not exist",
		                         record->track);
	if (record->kind > EPF_CLOCK_PAIR || !(known >> record->kind & 1) || record->category > EPP_API)
		return epp_status_create(EPP_INVALID_ARGUMENT, "a record has the unknown kind %u or category %u",
		                         record->kind, record->category);
	if (!record->name || (record->kind == EPF_FLOW && !record->parent))
		return epp_status_create(EPP_INVALID_ARGUMENT, "a record has no %s", record->name ? "parent" : "name");
	for (size_t i = 0; i < record->args_count; i++) {
		const epp_arg *arg = &record->args[i];
		if (!arg->key || arg->type > EPP_ARG_TEXT ||
		    (arg->type == EPP_ARG_TEXT && arg->text_bytes && !arg->value.text))
			return epp_status_create(EPP_INVALID_ARGUMENT,
			                         "arg %zu: key or text is NULL, or type %u is unknown", i, arg->type);
	}
	return NULL;
}

epp_status *epp_trace_writer_add_record(epp_trace_writer *writer, const epp_trace_record *record)
{
	/* The maximum number of slots of one record: the last slot of each text may be filled only in part. */
	const uint32_t slots_most = 2 * EPF_ARG_SLOTS_MAX + EPF_ARG_TEXT_MAX / 16;
	bool cut = false;

	EPP_TRY(check(writer, record));
	if (writer->entries_count == TRACE_WRITER_ENTRIES || TRACE_WRITER_SLOTS - writer->slots_count < slots_most) {
		epp_status *status = trace_writer_flush(writer);
		if (status) {
			writer->failed = true;
			return status;
		}
	}
	struct trace_writer_entry *entry = &writer->entries[writer->entries_count++];
	uint32_t slots = put_args(&writer->slots[writer->slots_count], record, &cut);
	unsigned flags = (record->unended ? EPF_FLAG_UNENDED : 0) | (cut ? EPF_FLAG_CUT : 0);
	*entry = (struct trace_writer_entry){
		.record = { .start_ticks = record->start_ticks,
		            .duration_ticks = record->duration_ticks,
		            .id = record->id,
		            .name = record->name,
		            .bits = EPF_BITS(record->category, record->kind, record->placement & 7, flags),
		            .arg_slots = (uint16_t)slots },
		.track = record->track,
		.args = writer->slots_count,
	};
	writer->slots_count += slots;
	count_record(writer, record, cut);
	return NULL;
}
