/* Writes an opened trace as a finished one.  This is used to recover a trace that its process did not finish, to take a
 * snapshot of a trace that is being recorded, and to pack a trace.
 *
 * The reader's data is written unchanged.  Regions of the window are written as the blocks that the helper would have
 * made from them.  Open events become records with the flag `unended`.  The ledger is written with its current sums,
 * including a ring's overwritten events, because the new file is not a ring: all of its segments are valid.
 *
 * A snapshot leaves out blocks that ended before its time range, and counts their events as filtered.  A trace that is
 * being recorded is not read at one instant, so its ledger is computed from the events that were found. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codec/file_header.h"
#include "epprof/trace_writer.h"
#include "trace/reader_private.h"
#include "trace/writer/trace_writer_private.h"

#define DEFINITIONS_BYTES (256u << 10)

struct recovery {
	struct reader_impl *impl;
	struct epp_trace_writer *writer;
	uint8_t *buffer; /* scratch memory of DEFINITIONS_BYTES: definitions, or a block of open events */
	size_t used;
	uint64_t from_ticks;                 /* blocks that ended before this time are left out */
	uint64_t last_ticks;                 /* the latest host time in the trace */
	uint64_t *left_out;                  /* the number of events that were left out, for each line of the ledger */
	struct trace_packer *packer;         /* NULL: records are written without packing */
	const struct trace_rewrite *rewrite; /* NULL: nothing is changed */
};

/* Returns true if a snapshot leaves out the block.  Blocks of devices have no host time, so they are kept. */
static bool is_left_out(const struct recovery *recovery, const struct reader_block *block)
{
	return block->last_ticks && block->last_ticks < recovery->from_ticks;
}

/* ---- names and tracks ---- */

static epp_status *flush_definitions(struct recovery *recovery)
{
	size_t bytes = recovery->used;

	recovery->used = 0;
	return trace_writer_append_payload(recovery->writer, EPF_BLOCK_DEFINITIONS, recovery->buffer, bytes, SIZE_MAX);
}

/* Adds a definition with a fixed part and up to two texts. */
static epp_status *append_definition(struct recovery *recovery, enum epf_definition_type type, const void *fixed,
                                     size_t fixed_bytes, const char *text, size_t text_bytes, const char *more,
                                     size_t more_bytes)
{
	struct epf_definition head = { .bytes = (uint32_t)(fixed_bytes + text_bytes + more_bytes), .type = type };
	size_t bytes = sizeof(head) + (((size_t)head.bytes + 7) & ~(size_t)7);

	if (bytes > DEFINITIONS_BYTES - recovery->used)
		EPP_TRY(flush_definitions(recovery));
	uint8_t *at = recovery->buffer + recovery->used;
	memset(at, 0, bytes);
	at = mempcpy(at, &head, sizeof(head));
	at = mempcpy(at, fixed, fixed_bytes);
	at = mempcpy(at, text, text_bytes);
	memcpy(at, more, more_bytes);
	recovery->used += bytes;
	return NULL;
}

static epp_status *write_definitions(struct recovery *recovery)
{
	const struct reader *reader = &recovery->impl->reader;

	for (uint32_t i = 0; i < reader->names_count; i++)
		if (reader->names[i].text)
			EPP_TRY(append_definition(recovery, EPF_DEFINE_NAME, &i, sizeof(i), reader->names[i].text,
			                          reader->names[i].bytes, "", 0));
	for (size_t i = 0; i < reader->tracks_count; i++) {
		struct epf_track track = reader->track_definitions[i];
		const char *name = reader->tracks[i].name, *group = reader->tracks[i].group;
		size_t name_bytes = strnlen(name, EPF_NAME_BYTES_MAX), group_bytes = strnlen(group, EPF_NAME_BYTES_MAX);
		track.name_bytes = (uint32_t)name_bytes;
		track.group_bytes = (uint32_t)group_bytes;
		EPP_TRY(append_definition(recovery, EPF_DEFINE_TRACK, &track, sizeof(track), name, name_bytes, group,
		                          group_bytes));
	}
	return flush_definitions(recovery);
}

/* ---- records ---- */

/* Counts, for each line of the ledger, the events of the blocks that are left out. */
static epp_status *count_left_out(struct recovery *recovery)
{
	struct reader_impl *impl = recovery->impl;
	struct reader *reader = &impl->reader;
	struct reader_decoded records = { 0 };
	epp_status *status = reader_account_lines(impl);

	if (status)
		return status;
	recovery->left_out = calloc(impl->accounts_count + 1, sizeof(*recovery->left_out));
	if (!recovery->left_out)
		return epp_status_no_memory();
	reader_account_begin(impl);
	for (size_t i = 0; i < reader->blocks_count && !status; i++) {
		if (!is_left_out(recovery, &reader->blocks[i]))
			continue;
		status = reader_block_decode(reader, &reader->blocks[i], &records);
		if (!status)
			reader_account_count(impl, &reader->blocks[i], records.records, records.count);
	}
	reader_decoded_deinit(&records);
	for (size_t i = 0; i < impl->accounts_count; i++)
		recovery->left_out[i] = impl->accounts[i].account.written;
	reader_account_begin(impl);
	return status;
}

epp_status *trace_writer_rows(const struct reader_decoded *decoded, struct epf_block **made)
{
	struct epf_block *block = malloc(sizeof(*block) + CODEC_BOUND_DECODED(decoded->count, decoded->args_bytes));
	struct codec_writer rows;

	*made = NULL;
	if (!block)
		return epp_status_no_memory();
	*block = decoded->header;
	block->type = EPF_BLOCK_RECORDS;
	codec_begin(&rows, (uint8_t *)(block + 1), decoded->open_ids, decoded->header.open_count);
	for (uint32_t i = 0; i < decoded->count; i++)
		codec_append_decoded(&rows, &decoded->records[i], decoded->args, decoded->args_bytes);
	codec_finish(&rows, block);
	if (sizeof(*block) + block->payload_bytes > EPF_SEGMENT_BYTES - EPF_SEGMENT_HEADER_BYTES) {
		epp_status *status = epp_status_create(
		    EPP_INCOMPATIBLE, "a block of %u bytes does not fit into a segment", block->payload_bytes);
		free(block);
		return status;
	}
	*made = block;
	return NULL;
}

/* Writes decoded columns as a block of rows. */
static epp_status *write_rows(struct recovery *recovery, const struct reader_decoded *decoded)
{
	struct epf_block *block;

	EPP_TRY(trace_writer_rows(decoded, &block));
	epp_status *status = trace_writer_append(recovery->writer, block);
	free(block);
	return status;
}

static epp_status *write_block(struct recovery *recovery, const struct reader_block *block, struct reader_decoded *records)
{
	const struct trace_rewrite *rewrite = recovery->rewrite;

	if (rewrite && rewrite->block)
		return rewrite->block(rewrite->user, recovery->writer, records);
	return block->is_packed ? write_rows(recovery, records)
	                        : trace_writer_append(recovery->writer, (struct epf_block *)(void *)records->bytes);
}

/* Each block is counted when it is written, because a ring may overwrite the block at any time. */
static epp_status *write_blocks(struct recovery *recovery)
{
	struct reader_impl *impl = recovery->impl;
	struct reader *reader = &impl->reader;
	struct reader_decoded records = { 0 };
	epp_status *status = count_left_out(recovery);

	for (size_t i = 0; i < reader->blocks_count && !status; i++) {
		const struct reader_block *block = &reader->blocks[i];
		if (block->last_ticks > recovery->last_ticks)
			recovery->last_ticks = block->last_ticks;
		if (is_left_out(recovery, block))
			continue;
		status = reader_block_decode(reader, block, &records);
		if (!status &&
		    sizeof(struct epf_block) + block->payload_bytes > EPF_SEGMENT_BYTES - EPF_SEGMENT_HEADER_BYTES)
			status = epp_status_create(EPP_INCOMPATIBLE, "a block of %u bytes does not fit into a segment",
			                           block->payload_bytes);
		if (status || !records.header.record_count)
			continue;
		reader_account_count(impl, block, records.records, records.count);
		status = write_block(recovery, block, &records);
	}
	reader_decoded_deinit(&records);
	return status;
}

static epp_status *pack_blocks(struct recovery *recovery)
{
	const struct reader *reader = &recovery->impl->reader;

	for (size_t i = 0; i < reader->blocks_count; i++)
		if (reader->blocks[i].last_ticks > recovery->last_ticks)
			recovery->last_ticks = reader->blocks[i].last_ticks;
	EPP_TRY(count_left_out(recovery));
	return trace_packer_blocks(recovery->packer);
}

/* Writes the open events, the innermost first, as the end of the session would have stored them. */
static epp_status *write_open(struct recovery *recovery)
{
	const struct reader *reader = &recovery->impl->reader;
	struct epf_block *block = (struct epf_block *)(void *)recovery->buffer;
	uint32_t run = reader->live.run;

	for (size_t i = 0; i < reader->open_count; i++)
		if (reader->open[i].open.start_ticks > recovery->last_ticks)
			recovery->last_ticks = reader->open[i].open.start_ticks;
	for (size_t from = 0, to; from < reader->open_count; from = to) {
		struct codec_writer records;
		for (to = from; to < reader->open_count && reader->open[to].track == reader->open[from].track; to++)
			;
		*block = (struct epf_block){ .type = EPF_BLOCK_RECORDS, .run = run, .track = reader->open[from].track };
		block->first_id = UINT64_MAX;
		codec_begin(&records, (uint8_t *)(block + 1), NULL, 0);
		for (size_t i = to; i-- > from;) {
			const struct epf_open *open = &reader->open[i].open;
			struct epf_record record = {
				.start_ticks = open->start_ticks,
				.duration_ticks = recovery->last_ticks - open->start_ticks,
				.id = open->id,
				.name = open->name,
				.bits = open->bits | EPF_BITS(0, 0, 0, EPF_FLAG_UNENDED),
			};
			codec_append(&records, &record, NULL);
		}
		codec_finish(&records, block);
		EPP_TRY(recovery->packer ? trace_packer_rows(recovery->packer, block)
		                         : trace_writer_append(recovery->writer, block));
	}
	return NULL;
}

/* ---- clocks and accounts ---- */

/* Adds times.  The result is limited, because damage may have made a time too large for the sum. */
static int64_t add_saturating(int64_t ns, double more_ns)
{
	int64_t sum;

	return more_ns >= 0x1p63 || __builtin_add_overflow(ns, (int64_t)more_ns, &sum) ? INT64_MAX : sum;
}

/* Returns the end of a run that never ended: the latest known host time. */
static struct epf_host_pair last_pair(const struct recovery *recovery, const struct epf_run *run)
{
	const struct reader *reader = &recovery->impl->reader;
	struct epf_host_pair pair = run->start;
	uint64_t per_second = reader->header.source.ticks_per_second;

	for (size_t i = 0; i < reader->pairs_count; i++)
		if (reader->pairs[i].ticks > pair.ticks)
			pair = reader->pairs[i];
	if (recovery->last_ticks > pair.ticks && per_second) {
		double more_ns = (double)(recovery->last_ticks - pair.ticks) * 1e9 / (double)per_second;
		pair.ticks = recovery->last_ticks;
		pair.monotonic_ns = add_saturating(pair.monotonic_ns, more_ns);
		pair.realtime_ns = add_saturating(pair.realtime_ns, more_ns);
	}
	return pair;
}

static epp_status *write_clocks(struct recovery *recovery)
{
	const struct reader *reader = &recovery->impl->reader;
	static const struct epf_run none = { 0 };

	if (!reader->runs_count)
		EPP_TRY(trace_writer_append_payload(recovery->writer, EPF_BLOCK_RUN, &none, sizeof(none), sizeof(none)));
	EPP_TRY(trace_writer_append_payload(recovery->writer, EPF_BLOCK_HOST_PAIRS, reader->pairs,
	                                    reader->pairs_count * sizeof(*reader->pairs), sizeof(*reader->pairs)));
	for (size_t i = 0; i < reader->runs_count; i++) {
		struct epf_run run = reader->runs[i];
		if (!run.end.ticks)
			run.end = last_pair(recovery, &run);
		EPP_TRY(trace_writer_append_payload(recovery->writer, EPF_BLOCK_RUN, &run, sizeof(run), sizeof(run)));
	}
	if (reader->sources_count < 2)
		return NULL;
	return trace_writer_append_payload(recovery->writer, EPF_BLOCK_SOURCES, reader->sources + 1,
	                                   (reader->sources_count - 1) * sizeof(*reader->sources),
	                                   sizeof(*reader->sources));
}

/* Adds the events that were left out to the losses by filter and to the emitted events. */
static void settle_snapshot(struct recovery *recovery)
{
	for (size_t i = 0; i < recovery->impl->accounts_count; i++) {
		epp_trace_ledger_entry *line = &recovery->impl->accounts[i].account;
		line->lost[EPP_LOSS_FILTER] += recovery->left_out[i];
		line->lost_total += recovery->left_out[i];
		line->emitted = line->written + line->lost_total + line->open;
	}
}

static uint32_t run_of_source(const struct reader *reader, uint32_t source)
{
	for (size_t i = 0; i < reader->runs_count; i++)
		if (reader->runs[i].source == source)
			return reader->runs[i].run;
	return 1;
}

/* Writes the ledger.  `producers` are those of the trace; they receive the sums of their lines. */
static epp_status *write_lines(struct recovery *recovery, struct epf_producer *producers)
{
	struct reader_impl *impl = recovery->impl;
	const struct reader *reader = &impl->reader;

	for (size_t i = 0; i < impl->accounts_count; i++) {
		const epp_trace_ledger_entry *line = &impl->accounts[i].account;
		struct epf_ledger_entry entry = { .track = line->track, .run = 1, .ids_taken = line->emitted };
		memcpy(entry.lost, line->lost, sizeof(entry.lost));
		if (i >= impl->accounts_threads) {
			struct epf_producer *producer = &producers[impl->accounts[i].producer_index];
			memcpy(producer->lost, line->lost, sizeof(line->lost));
			producer->emitted = line->emitted;
			continue;
		}
		/* The line of the session (track 0) counts only losses that belong to no thread.  These have no ids. */
		if (!line->track) {
			entry.run = run_of_source(reader, line->source);
			entry.ids_taken = 0;
			entry.lost_idless = line->lost_total;
		}
		EPP_TRY(trace_writer_append_payload(recovery->writer, EPF_BLOCK_LEDGER, &entry, sizeof(entry),
		                                    sizeof(entry)));
	}
	return NULL;
}

static epp_status *write_accounts(struct recovery *recovery)
{
	struct reader *reader = &recovery->impl->reader;
	size_t count = reader->producers_count < EPF_PRODUCER_COUNT ? EPF_PRODUCER_COUNT : reader->producers_count;
	struct epf_producer *producers = reallocarray(NULL, count, sizeof(*producers));

	if (!producers)
		return epp_status_no_memory();
	memcpy(producers, reader->producers, count * sizeof(*producers));
	reader_account_end(recovery->impl);
	if (reader->info.state == EPP_TRACE_RECORDING)
		settle_snapshot(recovery);
	epp_status *status = write_lines(recovery, producers);
	if (!status)
		status = trace_writer_append_producers(recovery->writer, producers, count);
	free(producers);
	return status;
}

/* ---- the file ---- */

static void fill_header(struct epf_header *header, const struct epf_header *old)
{
	*header = *old;
	header->features &= ~(EPF_FEATURE_RING | EPF_FEATURE_PACKED | EPF_FEATURE_EXTERNAL_WINDOW);
	header_without_window(header);
	header->segment_bytes = EPF_SEGMENT_BYTES;
	memset(header->window_path, 0, sizeof(header->window_path));
}

/* Writes the definitions of a rewritten trace.  They follow the records, because the names are known only then. */
static epp_status *write_changed_definitions(struct recovery *recovery)
{
	const struct trace_rewrite *rewrite = recovery->rewrite;

	EPP_TRY(rewrite->definitions(rewrite->user, recovery->writer));
	recovery->last_ticks -= recovery->last_ticks < rewrite->base_ticks ? recovery->last_ticks : rewrite->base_ticks;
	/* The header is filled in again, because `rewrite` may have changed the reader's header. */
	fill_header(&recovery->writer->header, &recovery->impl->reader.header);
	return write_definitions(recovery);
}

static epp_status *write_all(struct recovery *recovery)
{
	EPP_TRY(trace_writer_open(recovery->writer));
	fill_header(&recovery->writer->header, &recovery->impl->reader.header);
	if (recovery->packer)
		recovery->writer->header.features |= EPF_FEATURE_PACKED;
	if (!recovery->rewrite)
		EPP_TRY(write_definitions(recovery));
	EPP_TRY(recovery->packer ? pack_blocks(recovery) : write_blocks(recovery));
	if (recovery->rewrite)
		EPP_TRY(write_changed_definitions(recovery));
	EPP_TRY(write_open(recovery));
	EPP_TRY(write_clocks(recovery));
	EPP_TRY(write_accounts(recovery));
	if (recovery->packer)
		EPP_TRY(trace_writer_index_write(recovery->writer));
	return trace_writer_commit(recovery->writer);
}

static epp_status *write_finished(struct reader *reader, const char *path, int overwrite, uint64_t from_ticks,
                                  uint32_t packed_records, const struct trace_rewrite *rewrite)
{
	struct recovery recovery = { .impl = reader_impl(reader), .from_ticks = from_ticks, .rewrite = rewrite };
	struct trace_writer_index index;
	epp_status *status = NULL;

	trace_writer_index_init(&index);

	recovery.writer = calloc(1, sizeof(*recovery.writer));
	recovery.buffer = malloc(DEFINITIONS_BYTES);
	if (recovery.writer) {
		recovery.writer->file.fd = -1;
		recovery.writer->overwrite = overwrite;
		recovery.writer->rewrite = rewrite;
		recovery.writer->path = strdup(path);
		recovery.writer->segment = malloc(EPF_SEGMENT_BYTES);
	}
	if (!recovery.buffer || !recovery.writer || !recovery.writer->path || !recovery.writer->segment)
		status = epp_status_no_memory();
	if (!status && packed_records) {
		recovery.writer->index = &index;
		status = trace_packer_create(recovery.writer, recovery.impl, packed_records, &recovery.packer);
	}
	if (!status)
		status = write_all(&recovery);
	trace_packer_destroy(recovery.packer);
	trace_writer_index_deinit(&index);
	epp_trace_writer_destroy(recovery.writer);
	free(recovery.buffer);
	free(recovery.left_out);
	return status;
}

/* Returns true if `path` is the file that the reader has open. */
static bool is_same_file(const struct reader *reader, const char *path)
{
	struct stat theirs, ours;
	return reader->info.path && stat(reader->info.path, &theirs) == 0 && stat(path, &ours) == 0 &&
	       theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}

epp_status *trace_writer_pack(struct reader *reader, const char *path, int overwrite, uint32_t records_most)
{
	if (reader->info.state == EPP_TRACE_RECORDING)
		return epp_status_create(EPP_BUSY, "process %u is still recording it", reader->info.pid);
	bool in_place = is_same_file(reader, path);
	epp_status *status = write_finished(reader, path, overwrite, 0, records_most, NULL);
	/* The separate window file belonged to the trace that was replaced. */
	if (!status && in_place && reader_impl(reader)->has_external_window)
		unlink(reader->header.window_path);
	return status;
}

epp_status *trace_writer_rewrite(struct reader *reader, const char *path, int overwrite, const struct trace_rewrite *rewrite)
{
	return write_finished(reader, path, overwrite, 0, 0, rewrite);
}

epp_status *epp_trace_recover(epp_trace *trace, const char *path, int overwrite)
{
	return trace_writer_pack(trace->reader, path, overwrite, 0);
}

epp_status *epp_trace_pack(epp_trace *trace, const char *path, int overwrite)
{
	return trace_writer_pack(trace->reader, path, overwrite, TRACE_WRITER_PACKED_RECORDS);
}

/* Writes the last `last_ns` before now of a trace that a process of this machine is recording. */
static epp_status *snapshot(struct reader *reader, const char *path, uint64_t last_ns, int overwrite)
{
	uint64_t now = epp_host_ticks(), per_second = epp_host_ticks_per_second();
	double ticks = (double)last_ns / 1e9 * (double)per_second;

	return write_finished(reader, path, overwrite, ticks < (double)now ? now - (uint64_t)ticks : 0, 0, NULL);
}

/* Returns true if the trace's ticks are those of this process's clock.  Both processes have measured the rate, with a
 * small error. */
static bool has_own_clock(const struct reader *reader)
{
	uint64_t own = epp_host_ticks_per_second(), theirs = reader->header.source.ticks_per_second;

	return theirs > own - own / 100 && theirs < own + own / 100;
}

epp_status *epp_trace_snapshot(epp_trace *trace, const char *path, uint64_t last_ns, int overwrite)
{
	struct reader *reader = trace->reader;

	if (reader->info.state != EPP_TRACE_RECORDING)
		return epp_status_create(EPP_WRONG_STATE, "no process is recording it");
	if (last_ns != UINT64_MAX && !has_own_clock(reader))
		return epp_status_create(EPP_INCOMPATIBLE, "process %u uses another clock than this process",
		                         reader->info.pid);
	return snapshot(reader, path, last_ns, overwrite);
}

epp_status *epp_session_snapshot(epp_session *session, const char *path, uint64_t last_ns, int overwrite)
{
	epp_trace *trace;

	EPP_TRY(epp_trace_open_session(session, &trace));
	epp_status *status = snapshot(trace->reader, path, last_ns, overwrite);
	epp_trace_close(trace);
	return status;
}
