/* Opens a .epp file: checks the header, scans the segments, reads the window of an unfinished file, and sorts the
 * definitions.
 *
 * The header page must be complete and of this version.  Any other part may be cut or damaged; it is then left out, and
 * a finding reports it.
 * A short read that sets errno is a system error; opening then fails. */
#include "trace/reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/checksum.h"
#include "codec/file_header.h"
#include "containers/array.h"
#include "trace/reader_private.h"
#include "trace/reader_process.h"

/* ---- lost names ---- */

/* If the process was killed while the log was full, names are lost (EPF_LIVE_LOG_FULL).  Only the records show which
 * numbers have no name, so all records are read once.  These numbers get the text "(name lost)" for every user of the
 * reader, including writers that copy the trace. */

struct lost_names {
	struct reader_impl *impl;
	uint64_t lost;
};

static epp_status *note_lost_name(struct lost_names *lost_names, uint32_t name)
{
	struct reader_impl *impl = lost_names->impl;
	struct reader *reader = &impl->reader;

	if (!name || name >= READER_NAMES_MAX || (name < reader->names_count && reader->names[name].text))
		return NULL;
	if (!array_reserve_zeroed(&reader->names, &impl->names_capacity, name + 1, sizeof(*reader->names)))
		return epp_status_no_memory();
	if (name >= reader->names_count)
		reader->names_count = name + 1;
	reader->names[name] = reader->names[EPF_NAME_LOST];
	lost_names->lost++;
	return NULL;
}

static epp_status *note_record(struct lost_names *lost_names, const struct reader_decoded *decoded,
                               const struct codec_record *record)
{
	struct codec_arg arg;
	uint32_t at = record->args_offset;

	EPP_TRY(note_lost_name(lost_names, record->name));
	for (uint32_t i = 0; i < record->args_count && (at = codec_arg(decoded->args, decoded->args_bytes, at, &arg)); i++)
		EPP_TRY(note_lost_name(lost_names, arg.key));
	return NULL;
}

epp_status *reader_names_lost(struct reader_impl *impl)
{
	struct reader *reader = &impl->reader;
	struct lost_names lost_names = { .impl = impl };
	struct reader_decoded decoded = { 0 };
	epp_status *status = NULL;

	if (!(reader->live.flags & EPF_LIVE_LOG_FULL))
		return NULL;
	for (size_t i = 0; i < reader->blocks_count && !status; i++) {
		status = reader_block_decode(reader, &reader->blocks[i], &decoded);
		for (uint32_t r = 0; r < decoded.count && !status; r++)
			status = note_record(&lost_names, &decoded, &decoded.records[r]);
	}
	for (size_t i = 0; i < reader->open_count && !status; i++)
		status = note_lost_name(&lost_names, reader->open[i].open.name);
	reader_decoded_deinit(&decoded);
	if (lost_names.lost)
		reader_find(impl, EPP_NOTE, reader->header.log_offset,
		            "the log of names was full: %llu names are lost, their events are not",
		            (unsigned long long)lost_names.lost);
	return status;
}

/* ---- opening ---- */

#define TEXTS_BYTES (1u << 16)

epp_status *reader_read(struct reader_impl *impl, uint64_t offset, void *buffer, size_t bytes, size_t *got)
{
	const struct reader_source *source = &impl->reader.source;

	errno = 0;
	*got = source->read(source->user, offset, buffer, bytes);
	if (*got < bytes && errno)
		return epp_status_create(EPP_IO, "reading at %llu: %s", (unsigned long long)offset, strerror(errno));
	if (*got && offset + *got > impl->reader.file_bytes)
		impl->reader.file_bytes = offset + *got;
	return NULL;
}

char *reader_text(struct reader_impl *impl, const char *text, size_t bytes)
{
	struct reader_texts *texts = impl->texts;

	if (!texts || texts->room - texts->used <= bytes) {
		size_t room = bytes < TEXTS_BYTES ? TEXTS_BYTES : bytes + 1;
		texts = malloc(sizeof(*texts) + room);
		if (!texts)
			return NULL;
		texts->next = impl->texts;
		texts->used = 0;
		texts->room = room;
		impl->texts = texts;
	}
	char *copy = texts->bytes + texts->used;
	if (bytes)
		memcpy(copy, text, bytes);
	copy[bytes] = 0;
	texts->used += bytes + 1;
	return copy;
}

void reader_find(struct reader_impl *impl, epp_severity severity, uint64_t offset, const char *format, ...)
{
	struct reader *reader = &impl->reader;
	va_list args;
	char *text;

	reader->info.damage_count += severity == EPP_ERROR;
	if (reader->findings_count >= READER_FINDINGS_MAX ||
	    !array_reserve_zeroed(&reader->findings, &impl->findings_capacity, reader->findings_count + 1,
	                          sizeof(*reader->findings)))
		return;
	va_start(args, format);
	int length = vasprintf(&text, format, args);
	va_end(args);
	if (length >= 0)
		reader->findings[reader->findings_count++] = (struct reader_finding){ severity, offset, text };
}

/* ---- the header ---- */

static bool is_range_before(uint64_t offset, uint64_t bytes, uint64_t end)
{
	return offset >= EPF_PAGE_BYTES && offset % EPF_PAGE_BYTES == 0 && offset <= end && bytes <= end - offset;
}

static bool geometry_is_sound(const struct epf_header *header)
{
	uint64_t end = header->segments_offset;

	return header->header_bytes == EPF_PAGE_BYTES && header->slot_bytes == EPF_SLOT_BYTES &&
	       header->slot_count <= READER_SLOTS_MAX && header->chunk_bytes >= EPF_PAGE_BYTES &&
	       header->chunk_bytes % EPF_PAGE_BYTES == 0 && header->chunk_bytes <= READER_CHUNK_BYTES_MAX &&
	       header->chunk_count <= READER_CHUNKS_MAX && header->log_bytes <= READER_LOG_BYTES_MAX &&
	       header->segment_bytes >= EPF_PAGE_BYTES && header->segment_bytes % EPF_PAGE_BYTES == 0 &&
	       header->segment_bytes <= READER_SEGMENT_BYTES_MAX && end % EPF_PAGE_BYTES == 0 && end < UINT64_MAX / 4 &&
	       is_range_before(header->live_offset, EPF_PAGE_BYTES + EPF_PRODUCERS_BYTES, end) &&
	       is_range_before(header->slots_offset, (uint64_t)header->slot_count * header->slot_bytes, end) &&
	       is_range_before(header->log_offset, header->log_bytes, end) &&
	       is_range_before(header->chunks_offset, (uint64_t)header->chunk_count * header->chunk_bytes, end);
}

static epp_status *take_header(struct reader_impl *impl)
{
	struct epf_header *header = &impl->reader.header, zeroed;
	uint8_t page[EPF_PAGE_BYTES] = { 0 };
	size_t got;

	EPP_TRY(reader_read(impl, 0, page, sizeof(page), &got));
	memcpy(header, page, sizeof(*header));
	memcpy(&impl->index_place, page + EPF_INDEX_PLACE_OFFSET, sizeof(impl->index_place));
	impl->finished_bytes = header->state == EPF_FINISHED ? header_file_bytes(page) : 0;
	if (!got)
		return epp_status_create(EPP_CORRUPT, "the file is empty");
	if (got < sizeof(header->magic) || memcmp(header->magic, EPF_MAGIC, sizeof(header->magic)) != 0)
		return epp_status_create(EPP_CORRUPT, "not an .epp file");
	if (got >= offsetof(struct epf_header, header_bytes)) {
		if (header->byte_order == __builtin_bswap32(EPF_BYTE_ORDER))
			return epp_status_create(
			    EPP_INCOMPATIBLE,
			    "version %u, written in the other byte order (%08x; this machine reads %08x)",
			    __builtin_bswap32(header->version), header->byte_order, EPF_BYTE_ORDER);
		if (header->byte_order != EPF_BYTE_ORDER)
			return epp_status_create(EPP_CORRUPT, "the header's byte order is %08x", header->byte_order);
		if (header->version < EPF_VERSION_MIN || header->version > EPF_VERSION)
			return epp_status_create(EPP_INCOMPATIBLE,
			                         "version %u of the format; versions %u to %u can be read",
			                         header->version, EPF_VERSION_MIN, EPF_VERSION);
	}
	if (got < sizeof(page))
		return epp_status_create(EPP_CORRUPT, "the file ends inside its header, after %zu bytes", got);
	zeroed = *header;
	zeroed.state = 0;
	zeroed.checksum = 0;
	if (checksum_crc32c(0, &zeroed, offsetof(struct epf_header, checksum)) != header->checksum)
		return epp_status_create(EPP_CORRUPT, "the header's checksum is wrong");
	uint64_t unknown = header->features & UINT32_MAX &
	                   ~(EPF_FEATURE_RING | EPF_FEATURE_PACKED | EPF_FEATURE_EXTERNAL_WINDOW | EPF_FEATURE_MERGED);
	if (unknown)
		return epp_status_create(EPP_INCOMPATIBLE, "it needs features %llx, which this version cannot read",
		                         (unsigned long long)unknown);
	if (!geometry_is_sound(header))
		return epp_status_create(EPP_CORRUPT, "the header's offsets and sizes contradict each other");
	if (header->state != EPF_RECORDING && header->state != EPF_FINISHED)
		reader_find(impl, EPP_ERROR, offsetof(struct epf_header, state), "the header has the unknown state %u",
		            header->state);
	header->window_path[sizeof(header->window_path) - 1] = 0;
	return NULL;
}

/* ---- trace info ---- */

static void terminate_strings(struct epf_source *source)
{
	source->hostname[sizeof(source->hostname) - 1] = 0;
	source->program[sizeof(source->program) - 1] = 0;
	source->label[sizeof(source->label) - 1] = 0;
}

static int64_t epoch_of(const struct reader *reader)
{
	for (size_t i = 0; i < reader->runs_count; i++)
		if (reader->runs[i].start.ticks)
			return reader->runs[i].start.realtime_ns;
	if (reader->pairs_count)
		return reader->pairs[0].realtime_ns;
	return (int64_t)reader->header.created_unix_ns;
}

static epp_status *fill_info(struct reader_impl *impl, const char *path)
{
	static const char *const clocks[] = { "unknown", "tsc", "monotonic", "cntvct", "merged" };
	struct reader *reader = &impl->reader;
	const struct epf_source *source = &reader->sources[0];
	epp_trace_info *info = &reader->info;

	if (path && !(info->path = reader_text(impl, path, strlen(path))))
		return epp_status_no_memory();
	info->label = source->label;
	info->program = source->program;
	info->hostname = source->hostname;
	for (size_t i = 0; i < sizeof(reader->header.file_id); i++)
		snprintf(info->file_id + 2 * i, 3, "%02x", reader->header.file_id[i]);
	info->version = reader->header.version;
	info->pid = source->pid;
	info->policy = reader->header.policy;
	info->runs_count = (uint32_t)reader->runs_count;
	info->sources_count = (uint32_t)reader->sources_count;
	info->tracks_count = (uint32_t)reader->tracks_count;
	for (size_t i = 0; i < reader->producers_count; i++)
		info->producers_count += reader->producers[i].label[0] != 0;
	info->clock = clocks[source->clock <= EPF_CLOCK_MERGED ? source->clock : 0];
	info->ticks_per_second = source->ticks_per_second;
	info->epoch_unix_ns = epoch_of(reader);
	info->file_bytes = reader->file_bytes;
	for (size_t i = 0; i < reader->blocks_count; i++)
		info->records_count += reader->blocks[i].record_count;
	info->open_count = reader->open_count;
	for (size_t i = 0; i < reader->names_count; i++)
		info->names_count += reader->names[i].text != NULL;
	info->survives = !(reader->header.features & EPF_FEATURE_NO_SURVIVAL);
	return NULL;
}

static epp_status *open_parts(struct reader_impl *impl, const char *path, bool by_index)
{
	struct reader *reader = &impl->reader;
	bool finished;

	EPP_TRY(take_header(impl));
	finished = reader->header.state == EPF_FINISHED;
	terminate_strings(&reader->header.source);
	reader->sources = calloc(1, sizeof(*reader->sources));
	impl->segment = malloc(reader->header.segment_bytes);
	if (!reader->sources || !impl->segment ||
	    !array_reserve_zeroed(&reader->producers, &impl->producers_capacity, EPF_PRODUCER_COUNT,
	                          sizeof(*reader->producers)))
		return epp_status_no_memory();
	impl->producers_end = EPF_PRODUCER_COUNT;
	reader->sources[0] = reader->header.source;
	reader->sources_count = 1;
	reader->info.state = finished                                   ? EPP_TRACE_FINISHED
	                     : reader_process_is_alive(&reader->header) ? EPP_TRACE_RECORDING
	                                                                : EPP_TRACE_CUT_OFF;
	if (finished && by_index && (reader->header.features & EPF_FEATURE_PACKED))
		EPP_TRY(reader_index(impl));
	if (!reader->summaries)
		EPP_TRY(reader_scan(impl));
	if (!finished)
		EPP_TRY(reader_window(impl));
	if (reader->header.features & EPF_FEATURE_RING)
		EPP_TRY(reader_ring_end(impl));
	if (impl->stop.text) {
		bool is_damage = finished || impl->stop.severity == EPP_ERROR;
		reader_find(impl, is_damage ? EPP_ERROR : EPP_NOTE, impl->stop.offset, "%s: %s", impl->stop.text,
		            is_damage ? "the rest of its segment is not read" : "where the writer was interrupted");
	}
	EPP_TRY(reader_check_end(impl, finished));
	for (size_t i = 1; i < reader->sources_count; i++)
		terminate_strings(&reader->sources[i]);
	EPP_TRY(reader_define_end(impl));
	EPP_TRY(reader_open_events(impl));
	EPP_TRY(reader_names_lost(impl));
	free(impl->segment);
	impl->segment = NULL;
	return fill_info(impl, path);
}

static epp_status *open_source(const struct reader_source *source, const char *path, bool by_index, struct reader **reader)
{
	*reader = NULL;
	struct reader_impl *impl = calloc(1, sizeof(*impl));
	if (!impl) {
		if (source->close)
			source->close(source->user);
		return epp_status_no_memory();
	}
	impl->reader.source = *source;
	epp_status *status = open_parts(impl, path, by_index);
	if (status) {
		reader_close(&impl->reader);
		return path ? epp_status_prefix(status, "%s", path) : status;
	}
	*reader = &impl->reader;
	return NULL;
}

epp_status *reader_open(const struct reader_source *source, const char *path, struct reader **reader)
{
	return open_source(source, path, true, reader);
}

epp_status *reader_open_again(const struct reader *of, struct reader **reader)
{
	return open_source(&(struct reader_source){ of->source.read, NULL, of->source.user }, NULL, false, reader);
}

void reader_close(struct reader *reader)
{
	if (!reader)
		return;
	struct reader_impl *impl = reader_impl(reader);
	if (reader->source.close)
		reader->source.close(reader->source.user);
	while (impl->texts) {
		struct reader_texts *next = impl->texts->next;
		free(impl->texts);
		impl->texts = next;
	}
	for (size_t i = 0; i < reader->findings_count; i++)
		free(reader->findings[i].text);
	for (size_t i = 0; i < impl->accounts_count; i++)
		free(impl->accounts[i].producer);
	for (size_t i = 0; i < impl->args_count; i++)
		free(impl->args[i].slots);
	free(impl->args);
	free(impl->accounts);
	for (size_t i = 0; i < READER_ITEM_COUNT; i++)
		hash_map_deinit(&impl->item_offsets[i]);
	free(impl->stop.text);
	free(impl->segment);
	free(impl->slots);
	free(impl->places);
	free(impl->overwritten);
	free(impl->entries);
	free(impl->retained);
	free(impl->origins);
	free(impl->packed);
	columns_decoder_deinit(&impl->columns);
	id_set_deinit(&impl->tracks);
	id_set_deinit(&impl->sequences);
	free(reader->sources);
	free(reader->runs);
	free(reader->tracks);
	free(reader->track_definitions);
	free(reader->names);
	free(reader->pairs);
	free(reader->ledger);
	free(reader->producers);
	free(reader->open);
	free(reader->blocks);
	free(reader->summaries);
	free(reader->spans);
	free(reader->references);
	free(reader->window_blocks);
	free(reader->findings);
	free(impl);
}
