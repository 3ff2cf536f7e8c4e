/* Reads the window of an unfinished file so that no event is lost or duplicated, although its writer may be active.
 *
 * The parts are read in the reverse of the order in which the writer stores them.
 * - The stacks of open events are copied before the records.  An event that ends in between is in both copies; its
 * record is used.
 * - A region is read twice.  The first copy gives the end of its records, the second their content.  A record that was
 * being stored is therefore either left out or complete.
 * - Then the segments are scanned again.  If a region became a block meanwhile, its sequence is found in the block, and
 * the copy is dropped.  (A region is zeroed after its block was written.)
 * - The writer defines names and tracks before records use them, and in the log before in a block.  The log is
 * therefore read after the records, and the scan after the log looks only for definitions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os/os.h"
#include "containers/array.h"
#include "format/format_slot.h"
#include "trace/reader_private.h"

/* ---- a window in a separate file ---- */

/* Reads a window in a separate file (EPF_FEATURE_EXTERNAL_WINDOW).  The bytes between the live page and the segments
 * are read from that file, all others from the trace.  The window's file has the same layout and a copy of the header
 * page, whose file_id must match the trace. */

struct external_window {
	struct reader_source trace;
	int fd;
	uint64_t first, end; /* the range of the window's offsets */
};

static size_t read_window(int fd, uint64_t offset, uint8_t *to, size_t bytes)
{
	int64_t got = os_file_read_at(fd, to, bytes, offset);
	return got < 0 ? 0 : (size_t)got;
}

static size_t read_split(void *user, uint64_t offset, void *buffer, size_t bytes)
{
	const struct external_window *external_window = user;
	uint8_t *to = buffer;
	size_t done = 0;
	while (done < bytes) {
		uint64_t at = offset + done;
		bool window = at >= external_window->first && at < external_window->end;
		size_t part = bytes - done;
		if (window && part > external_window->end - at)
			part = (size_t)(external_window->end - at);
		if (at < external_window->first && part > external_window->first - at)
			part = (size_t)(external_window->first - at);
		size_t got = window ? read_window(external_window->fd, at, to + done, part)
		                    : external_window->trace.read(external_window->trace.user, at, to + done, part);
		done += got;
		if (got < part)
			break;
	}
	return done;
}

static void close_both(void *user)
{
	struct external_window *external_window = user;
	close(external_window->fd);
	if (external_window->trace.close)
		external_window->trace.close(external_window->trace.user);
	free(external_window);
}

bool reader_external_window(struct reader_impl *impl)
{
	const struct epf_header *header = &impl->reader.header;
	struct epf_header theirs;
	int fd = os_file_open(header->window_path, false);
	if (fd < 0) {
		reader_find(impl, EPP_ERROR, UINT64_MAX, "the window is in the file %s: %s", header->window_path,
		            strerror(errno));
		return false;
	}
	struct external_window *external_window = NULL;
	if (read_window(fd, 0, (uint8_t *)&theirs, sizeof(theirs)) != sizeof(theirs) ||
	    memcmp(theirs.file_id, header->file_id, sizeof(theirs.file_id)) != 0)
		reader_find(impl, EPP_ERROR, UINT64_MAX, "the window file %s belongs to another trace",
		            header->window_path);
	else if (!(external_window = malloc(sizeof(*external_window))))
		reader_find(impl, EPP_ERROR, UINT64_MAX, "the window file %s: out of memory", header->window_path);
	if (!external_window) {
		close(fd);
		return false;
	}
	*external_window = (struct external_window){ impl->reader.source, fd, header->live_offset,
		                                     header->segments_offset };
	impl->reader.source = (struct reader_source){ .read = read_split, .close = close_both, .user = external_window };
	impl->has_external_window = true;
	return true;
}

/* ---- the window ---- */

#define BATCH_BYTES (1u << 18)
#define TRIES 4

/* A copy of a region. */
struct copy {
	uint64_t offset;
	size_t bytes; /* the size of header, open ids and records */
	uint8_t *region;
};

struct window_reading {
	struct reader_impl *impl;
	uint8_t *batch;
	size_t batch_bytes;
	struct copy *copies;
	size_t copies_count, copies_capacity;
};

/* As reader_read, but bytes beyond the end of the file are zero. */
static epp_status *read_or_zero(struct reader_impl *impl, uint64_t offset, void *buffer, size_t bytes)
{
	size_t got;

	EPP_TRY(reader_read(impl, offset, buffer, bytes, &got));
	memset((uint8_t *)buffer + got, 0, bytes - got);
	return NULL;
}

/* ---- live page, producers, log ---- */

static epp_status *read_live(struct reader_impl *impl)
{
	struct reader *reader = &impl->reader;
	struct epf_producer producers[EPF_PRODUCER_COUNT];

	EPP_TRY(read_or_zero(impl, reader->header.live_offset, &reader->live, sizeof(reader->live)));
	EPP_TRY(read_or_zero(impl, reader->header.live_offset + sizeof(reader->live), producers, sizeof(producers)));
	for (size_t i = 0; i < EPF_PRODUCER_COUNT; i++)
		if (producers[i].label[0])
			reader->producers[i] = producers[i];
	if (!reader_note_producer_offsets(impl, 0, EPF_PRODUCER_COUNT, reader->header.live_offset + sizeof(reader->live)))
		return epp_status_no_memory();
	return NULL;
}

/* Adds a run of the live page, unless a block has it. */
static bool add_run(struct reader_impl *impl, const struct epf_run *run)
{
	struct reader *reader = &impl->reader;

	for (size_t i = 0; i < reader->runs_count; i++) {
		if (reader->runs[i].run == run->run)
			return true;
	}
	if (!array_reserve_zeroed(&reader->runs, &impl->runs_capacity, reader->runs_count + 1, sizeof(*reader->runs)))
		return false;
	reader->runs[reader->runs_count++] = *run;
	return true;
}

/* Reads the runs whose blocks could not be written, and the current run. Called after the regions are read: a run may
 * begin and store records while they are read, and these records need their run.  If a run has ended since, it is in a
 * block, which the next scan reads. */
static epp_status *read_run(struct reader_impl *impl)
{
	struct epf_live *live = &impl->reader.live;
	uint64_t offset = impl->reader.header.live_offset;

	for (size_t i = 0; i < EPF_UNWRITTEN_RUNS; i++) {
		if (live->unwritten[i].run && !add_run(impl, &live->unwritten[i]))
			return epp_status_no_memory();
	}
	/* The writer stores the run's number last, so it is read first. */
	EPP_TRY(read_or_zero(impl, offset, &live->run, sizeof(live->run)));
	if (!live->run)
		return NULL;
	EPP_TRY(read_or_zero(impl, offset + offsetof(struct epf_live, run_first_id), &live->run_first_id,
	                     offsetof(struct epf_live, log_used) - offsetof(struct epf_live, run_first_id)));
	EPP_TRY(read_or_zero(impl, offset + offsetof(struct epf_live, faults), &live->faults, sizeof(live->faults)));
	EPP_TRY(read_or_zero(impl, offset + offsetof(struct epf_live, event_cost_ps), &live->event_cost_ps,
	                     2 * sizeof(uint64_t)));
	struct epf_run run = { .run = live->run,
		               .first_id = live->run_first_id,
		               .start = live->run_start,
		               .faults = live->faults,
		               .event_cost_ps = live->event_cost_ps,
		               .write_cpu_ns = live->write_cpu_ns };
	return add_run(impl, &run) ? NULL : epp_status_no_memory();
}

/* Reads the session's own losses that no ledger block contains yet.  Called after the blocks are read, so that no loss
 * is counted twice. */
static epp_status *read_own_losses(struct reader_impl *impl)
{
	struct reader *reader = &impl->reader;
	struct epf_ledger_entry own = { .run = 1 };

	EPP_TRY(read_or_zero(impl, reader->header.live_offset + offsetof(struct epf_live, lost), reader->live.lost,
	                     sizeof(reader->live.lost)));
	if (!array_reserve_zeroed(&reader->ledger, &impl->ledger_capacity, reader->ledger_count + 1,
	                          sizeof(*reader->ledger)))
		return epp_status_no_memory();
	for (unsigned reason = 0; reason < EPF_LOSS_COUNT; reason++) {
		own.lost[reason] = reader->live.lost[reason];
		own.lost_idless += EPF_LOSS_IS_OF_EVENTS(reason) ? own.lost[reason] : 0;
	}
	reader->ledger[reader->ledger_count++] = own;
	return NULL;
}

/* Reads a piece of the log.  If the piece was emptied while it was read, its definitions are in blocks; later
 * definitions are not needed, because no record that was read so far uses them. */
static epp_status *read_log_piece(struct reader_impl *impl, uint8_t *piece, uint64_t word_offset, uint64_t offset)
{
	uint32_t bytes = impl->reader.header.log_bytes;
	uint64_t word, after;

	EPP_TRY(read_or_zero(impl, word_offset, &word, sizeof(word)));
	uint32_t used = EPF_LOG_USED(word);
	if (used > bytes) {
		reader_find(impl, EPP_ERROR, word_offset, "the log's size is %u of %u bytes, which is impossible", used,
		            bytes);
		used = bytes;
	}
	EPP_TRY(read_or_zero(impl, offset, piece, used));
	EPP_TRY(read_or_zero(impl, word_offset, &after, sizeof(after)));
	bool emptied = EPF_LOG_EMPTIED(after) != EPF_LOG_EMPTIED(word) || after < word;
	return emptied ? NULL : reader_define(impl, piece, used, offset);
}

/* Reads the definitions that are not in a block yet. */
static epp_status *read_log(struct reader_impl *impl)
{
	const struct epf_header *header = &impl->reader.header;
	uint64_t word_offset = header->live_offset + offsetof(struct epf_live, extents_used),
		 offset = header->chunks_offset + (uint64_t)header->chunk_count * header->chunk_bytes;
	uint8_t *piece = malloc(header->log_bytes ? header->log_bytes : 1);
	epp_status *status = piece
	                         ? read_log_piece(impl, piece, header->live_offset + offsetof(struct epf_live, log_used),
	                                          header->log_offset)
	                         : epp_status_no_memory();

	for (unsigned i = 0; i < EPF_LOG_EXTENTS && !status && header->log_bytes <= header->segments_offset - offset; i++) {
		status = read_log_piece(impl, piece, word_offset, offset);
		word_offset += sizeof(uint64_t);
		offset += header->log_bytes;
	}
	free(piece);
	/* Reads the window's last byte, because only reads show the length of the file. */
	uint8_t last;
	return status ? status : read_or_zero(impl, header->segments_offset - 1, &last, 1);
}

/* ---- slots ---- */

static epp_status *add_slot(struct window_reading *window, uint32_t index, const struct epf_slot *seen)
{
	struct reader_impl *impl = window->impl;
	const struct epf_header *header = &impl->reader.header;
	uint64_t offset = header->slots_offset + (uint64_t)index * header->slot_bytes;
	struct reader_slot slot = { .index = index };
	size_t head = offsetof(struct epf_slot, region);

	memcpy(&slot.slot, seen, head);
	/* The thread may have pushed and popped events during the copy.  Two equal copies are consistent. */
	for (int i = 0; i < TRIES && impl->reader.info.state == EPP_TRACE_RECORDING; i++) {
		uint8_t again[offsetof(struct epf_slot, region)];
		EPP_TRY(read_or_zero(impl, offset, again, head));
		if (!memcmp(again, &slot.slot, head))
			break;
		memcpy(&slot.slot, again, head);
	}
	if (slot.slot.state != EPF_SLOT_IN_USE && slot.slot.state != EPF_SLOT_LEFT) {
		if (slot.slot.state != EPF_SLOT_FREE)
			reader_find(impl, EPP_ERROR, offset, "slot %u: state %u", index, slot.slot.state);
		return NULL;
	}
	if (slot.slot.dropped & EPF_DROPPED_OPEN)
		memset(slot.slot.open, 0, sizeof(slot.slot.open));
	if (!array_reserve_zeroed(&impl->slots, &impl->slots_capacity, impl->slots_count + 1, sizeof(*impl->slots)))
		return epp_status_no_memory();
	impl->slots[impl->slots_count++] = slot;
	return NULL;
}

/* Adds the ledger entry of a slot's thread, unless a block has one. */
static epp_status *read_account(struct reader_impl *impl, const struct epf_slot *slot, uint64_t offset)
{
	struct reader *reader = &impl->reader;

	for (size_t i = 0; i < reader->ledger_count; i++)
		if (reader->ledger[i].track == slot->track && reader->ledger[i].run == slot->run)
			return NULL;
	if (!array_reserve_zeroed(&reader->ledger, &impl->ledger_capacity, reader->ledger_count + 1,
	                          sizeof(*reader->ledger)) ||
	    !reader_note_offset(impl, READER_ITEM_ACCOUNT, slot->track, offset))
		return epp_status_no_memory();
	struct epf_ledger_entry *entry = &reader->ledger[reader->ledger_count++];
	*entry = (struct epf_ledger_entry){ .track = slot->track,
		                            .run = slot->run,
		                            .ids_taken = epf_slot_ids_taken(slot),
		                            .lost_idless = slot->lost_idless };
	memcpy(entry->lost, slot->lost, sizeof(entry->lost));
	entry->lost[EPP_LOSS_DISK] += epf_slot_lost_disk(slot);
	entry->lost[EPP_LOSS_POLICY] += epf_slot_lost_policy(slot);
	return NULL;
}

/* Adds the events that profilers lost with a region that is being dropped.  The writer's store to the slot's `dropped`
 * makes this loss and the thread's loss valid at once. */
static void read_dropped(struct reader *reader)
{
	uint64_t reason = reader->live.dropped_reason;

	for (size_t i = 0; i < EPF_PRODUCER_COUNT && reason < EPF_LOSS_COUNT; i++)
		if (reader->producers[i].lost[reason] < reader->live.dropped_lost[i])
			reader->producers[i].lost[reason] = reader->live.dropped_lost[i];
}

static epp_status *read_slots(struct window_reading *window)
{
	struct reader_impl *impl = window->impl;
	const struct epf_header *header = &impl->reader.header;
	uint32_t batch_count = (uint32_t)(window->batch_bytes / EPF_SLOT_BYTES);

	for (uint32_t first = 0; first < header->slot_count; first += batch_count) {
		uint32_t count = header->slot_count - first < batch_count ? header->slot_count - first : batch_count;
		EPP_TRY(read_or_zero(impl, header->slots_offset + (uint64_t)first * EPF_SLOT_BYTES, window->batch,
		                     (size_t)count * EPF_SLOT_BYTES));
		for (uint32_t i = 0; i < count; i++) {
			const struct epf_slot *slot = (const struct epf_slot *)(const void *)(window->batch +
			                                                                      i * EPF_SLOT_BYTES);
			if (slot->state != EPF_SLOT_FREE)
				EPP_TRY(add_slot(window, first + i, slot));
		}
	}
	for (size_t i = 0; i < impl->slots_count; i++)
		if (impl->slots[i].slot.track)
			EPP_TRY(read_account(impl, &impl->slots[i].slot,
			                     header->slots_offset + (uint64_t)impl->slots[i].index * EPF_SLOT_BYTES));
	for (size_t i = 0; i < impl->slots_count; i++)
		if (impl->slots[i].slot.dropped)
			read_dropped(&impl->reader);
	return NULL;
}

/* ---- regions ---- */

static size_t records_start(const struct epf_region *header)
{
	return sizeof(*header) + ((size_t)header->open_count * sizeof(uint64_t) + EPF_RECORD_BYTES - 1) /
	                             EPF_RECORD_BYTES * EPF_RECORD_BYTES;
}

/* Returns true if the thread's account already counts the region's events as lost. */
static bool is_dropped(const struct reader_impl *impl, const struct epf_region *header)
{
	for (size_t i = 0; i < impl->slots_count; i++)
		if (impl->slots[i].index == header->slot)
			return (impl->slots[i].slot.dropped & ~EPF_DROPPED_OPEN) == header->sequence;
	return false;
}

/* Returns the end of the region's last record, or 0 if it has no valid record. */
static size_t region_used(struct reader_impl *impl, const uint8_t *region, size_t bytes, uint64_t offset)
{
	struct epf_region header;
	struct epf_record record;

	memcpy(&header, region, sizeof(header));
	if (!header.sequence || header.sequence != header.sequence_used || is_dropped(impl, &header))
		return 0;
	if (header.open_count > EPF_OPEN_MAX || records_start(&header) > bytes) {
		reader_find(impl, EPP_ERROR, offset, "a region has an impossible number of open events: %u",
		            header.open_count);
		return 0;
	}
	size_t start = records_start(&header), at = start;
	while (bytes - at >= sizeof(record)) {
		memcpy(&record, region + at, sizeof(record));
		if (!record.tail)
			break;
		size_t args = (size_t)record.arg_slots * sizeof(struct epf_arg);
		if (args > bytes - at - sizeof(record)) {
			reader_find(impl, EPP_ERROR, offset + at, "a record's %u arg slots extend beyond its region",
			            record.arg_slots);
			break;
		}
		at += sizeof(record) + args;
	}
	return at > start ? at : 0;
}

static epp_status *copy_region(struct window_reading *window, const uint8_t *region, size_t bytes, uint64_t offset)
{
	struct reader_impl *impl = window->impl;
	size_t used = region_used(impl, region, bytes, offset);

	if (!used)
		return NULL;
	if (!array_reserve_zeroed(&window->copies, &window->copies_capacity, window->copies_count + 1,
	                          sizeof(*window->copies)))
		return epp_status_no_memory();
	struct copy *copy = &window->copies[window->copies_count];
	*copy = (struct copy){ offset, used, malloc(used) };
	if (!copy->region)
		return epp_status_no_memory();
	window->copies_count++;
	if (impl->reader.info.state != EPP_TRACE_RECORDING) {
		memcpy(copy->region, region, used);
		return NULL;
	}
	EPP_TRY(read_or_zero(impl, offset, copy->region, used));
	/* If the region has another sequence now, the records of the first copy are in a block. */
	if (memcmp(copy->region, region, 2 * sizeof(uint64_t)) != 0)
		copy->bytes = 0;
	return NULL;
}

static epp_status *copy_regions(struct window_reading *window, uint64_t offset, uint32_t count, size_t stride,
                                size_t from, size_t bytes)
{
	uint32_t batch_count = (uint32_t)(window->batch_bytes / stride);

	for (uint32_t first = 0; first < count; first += batch_count) {
		uint32_t now = count - first < batch_count ? count - first : batch_count;
		uint64_t at = offset + (uint64_t)first * stride;
		EPP_TRY(read_or_zero(window->impl, at, window->batch, now * stride));
		for (uint32_t i = 0; i < now; i++)
			EPP_TRY(copy_region(window, window->batch + i * stride + from, bytes, at + i * stride + from));
	}
	return NULL;
}

struct epf_block *reader_block_room(struct reader_impl *impl, size_t records_bytes)
{
	struct reader *reader = &impl->reader;
	size_t at = reader->window_blocks_bytes, most = sizeof(struct epf_block) + CODEC_BOUND(records_bytes);

	if (!array_reserve_zeroed(&reader->window_blocks, &impl->window_blocks_capacity, at + most, 1))
		return NULL;
	struct epf_block *block = (struct epf_block *)(void *)(reader->window_blocks + at);
	*block = (struct epf_block){ .magic = EPF_BLOCK_MAGIC, .type = EPF_BLOCK_RECORDS };
	return block;
}

epp_status *reader_block_keep(struct reader_impl *impl, struct epf_block *block, const struct codec_writer *writer,
                              uint64_t origin)
{
	struct reader *reader = &impl->reader;
	size_t at = reader->window_blocks_bytes;

	codec_finish(writer, block);
	if (!block->record_count)
		return NULL;
	reader->window_blocks_bytes = (at + sizeof(*block) + block->payload_bytes + 7) & ~(size_t)7;
	reader->info.recovered_records_count += block->record_count;
	return reader_add_block(impl, block, at, true, origin, block->payload_bytes);
}

/* In a live ring, drops the copies of regions that were emptied since they were copied.  Their records are in blocks;
 * the next scan finds these, unless the ring has overwritten them already.  Regions that are emptied later were copied
 * completely. */
static epp_status *drop_emptied(struct window_reading *window)
{
	struct reader_impl *impl = window->impl;

	if (!(impl->reader.header.features & EPF_FEATURE_RING) || impl->reader.info.state != EPP_TRACE_RECORDING)
		return NULL;
	for (size_t i = 0; i < window->copies_count; i++) {
		struct copy *copy = &window->copies[i];
		uint64_t now;
		EPP_TRY(read_or_zero(impl, copy->offset, &now, sizeof(now)));
		if (memcmp(&now, copy->region, sizeof(now)) != 0)
			copy->bytes = 0;
	}
	return NULL;
}

/* Returns the record at the offset `from` of a copy, or NULL. */
static const struct epf_record *record_at(const struct copy *copy, size_t from, size_t *bytes)
{
	const struct epf_record *record = (const struct epf_record *)(const void *)(copy->region + from);

	if (from >= copy->bytes || !record->tail)
		return NULL;
	*bytes = sizeof(*record) + (size_t)record->arg_slots * sizeof(struct epf_arg);
	return *bytes <= copy->bytes - from ? record : NULL;
}

/* Returns the size of a region's copy, plus that of the shared args (EPF_DEFINE_ARGS) which the encoder will insert for
 * its records.  `from` is the offset of the first record. */
static size_t bytes_with_args(const struct reader_impl *impl, const struct copy *copy, size_t from)
{
	size_t whole = copy->bytes, bytes;
	const struct epf_record *record;
	uint32_t numbers[EPF_DEFINED_MAX], slots = 0;

	for (; impl->args_count && (record = record_at(copy, from, &bytes)); from += bytes) {
		const struct epf_arg *args = (const struct epf_arg *)(const void *)(record + 1);
		for (uint32_t count = codec_defined_numbers(args, record->arg_slots, numbers); count-- > 0;)
			if (reader_defined_args(impl, numbers[count], &slots))
				whole += slots * sizeof(*args);
	}
	return whole;
}

/* Encodes a region that is in no block as a block in memory. */
static epp_status *encode(struct reader_impl *impl, const struct copy *copy)
{
	struct epf_region header;
	struct codec_writer writer;
	const struct epf_record *record;
	size_t bytes;

	memcpy(&header, copy->region, sizeof(header));
	if (id_set_has(&impl->sequences, 0, header.sequence))
		return NULL;
	struct epf_block *block = reader_block_room(impl, bytes_with_args(impl, copy, records_start(&header)));
	if (!block)
		return epp_status_no_memory();
	block->sequence = header.sequence;
	block->run = header.run;
	block->track = header.track;
	block->slot = header.slot;
	block->first_id = header.first_id;
	codec_begin(&writer, (uint8_t *)(block + 1), (const uint64_t *)(const void *)(copy->region + sizeof(header)),
	            header.open_count);
	writer.defined = reader_defined_args;
	writer.defined_user = impl;
	for (size_t from = records_start(&header); (record = record_at(copy, from, &bytes)); from += bytes)
		codec_append(&writer, record, (const struct epf_arg *)(const void *)(record + 1));
	impl->args_lost += writer.cut_count;
	return reader_block_keep(impl, block, &writer, copy->offset);
}

/* Defines threads whose definition is missing, because the log could not be read. */
static epp_status *define_threads(struct reader_impl *impl)
{
	for (size_t i = 0; i < impl->slots_count; i++)
		if (impl->slots[i].slot.track)
			EPP_TRY(reader_define_thread(impl, &impl->slots[i].slot));
	return NULL;
}

/* Returns the size of the memory for a batch of regions.  A small window needs little; the batch has room for at least
 * one slot and one chunk. */
static size_t batch_size(const struct epf_header *header)
{
	uint64_t slots = (uint64_t)header->slot_count * EPF_SLOT_BYTES;
	uint64_t chunks = (uint64_t)header->chunk_count * header->chunk_bytes;
	uint64_t bytes = slots > chunks ? slots : chunks;

	if (bytes > BATCH_BYTES)
		bytes = BATCH_BYTES;
	return bytes > header->chunk_bytes ? bytes : header->chunk_bytes;
}

epp_status *reader_window(struct reader_impl *impl)
{
	const struct epf_header *header = &impl->reader.header;
	struct window_reading window = { .impl = impl };
	epp_status *status = NULL;

	if ((header->features & EPF_FEATURE_EXTERNAL_WINDOW) && !reader_external_window(impl))
		return NULL;
	window.batch_bytes = batch_size(header);
	window.batch = malloc(window.batch_bytes);
	impl->blocks_before_slots = impl->reader.blocks_count;
	status = window.batch ? read_live(impl) : epp_status_no_memory();
	if (!status)
		status = read_slots(&window);
	if (!status)
		status = copy_regions(&window, header->slots_offset, header->slot_count, EPF_SLOT_BYTES,
		                      offsetof(struct epf_slot, region), EPF_SLOT_REGION_BYTES);
	if (!status)
		status = copy_regions(&window, header->chunks_offset, header->chunk_count, header->chunk_bytes, 0,
		                      header->chunk_bytes);
	if (!status)
		status = read_run(impl);
	if (!status)
		status = drop_emptied(&window);
	if (!status)
		status = reader_scan(impl);
	impl->records_closed = true;
	if (!status)
		status = read_log(impl);
	if (!status)
		status = reader_scan(impl);
	if (!status)
		status = read_own_losses(impl);
	if (!status)
		status = reader_order_args(impl);
	for (size_t i = 0; i < window.copies_count && !status; i++)
		if (window.copies[i].bytes)
			status = encode(impl, &window.copies[i]);
	if (impl->args_lost)
		reader_find(impl, impl->reader.live.flags & EPF_LIVE_LOG_FULL ? EPP_NOTE : EPP_ERROR,
		            header->log_offset, "%llu records lack args: the args that they refer to are not defined",
		            (unsigned long long)impl->args_lost);
	if (!status)
		status = define_threads(impl);
	for (size_t i = 0; i < window.copies_count; i++)
		free(window.copies[i].region);
	free(window.copies);
	free(window.batch);
	return status;
}
