/* Names that were lost in a kill: the log was full, and the helper had not emptied it yet (EPF_LIVE_LOG_FULL).  Only
 * the records show which names these are, so all records are read once.  These names become "(name lost)" for every
 * reader of the trace, including writers that copy it. */
#include "containers/array.h"
#include "trace/reader_private.h"

struct losing {
	struct reader_impl *impl;
	uint64_t lost;
};

static epp_status *note(struct losing *losing, uint32_t name)
{
	struct reader_impl *impl = losing->impl;
	struct reader *reader = &impl->reader;

	if (!name || name >= READER_NAMES_MAX || (name < reader->names_count && reader->names[name].text))
		return NULL;
	if (!array_reserve_zeroed(&reader->names, &impl->names_capacity, name + 1, sizeof(*reader->names)))
		return epp_status_no_memory();
	if (name >= reader->names_count)
		reader->names_count = name + 1;
	reader->names[name] = reader->names[EPF_NAME_LOST];
	losing->lost++;
	return NULL;
}

static epp_status *note_record(struct losing *losing, const struct reader_decoded *decoded,
                               const struct codec_record *record)
{
	struct codec_arg arg;
	uint32_t at = record->args_offset;

	EPP_TRY(note(losing, record->name));
	for (uint32_t i = 0; i < record->args_count && (at = codec_arg(decoded->args, decoded->args_bytes, at, &arg)); i++)
		EPP_TRY(note(losing, arg.key));
	return NULL;
}

epp_status *reader_names_lost(struct reader_impl *impl)
{
	struct reader *reader = &impl->reader;
	struct losing losing = { .impl = impl };
	struct reader_decoded decoded = { 0 };
	epp_status *status = NULL;

	if (!(reader->live.flags & EPF_LIVE_LOG_FULL))
		return NULL;
	for (size_t i = 0; i < reader->blocks_count && !status; i++) {
		status = reader_block_decode(reader, &reader->blocks[i], &decoded);
		for (uint32_t r = 0; r < decoded.count && !status; r++)
			status = note_record(&losing, &decoded, &decoded.records[r]);
	}
	for (size_t i = 0; i < reader->open_count && !status; i++)
		status = note(&losing, reader->open[i].open.name);
	reader_decoded_deinit(&decoded);
	if (losing.lost)
		reader_find(impl, EPP_NOTE, reader->header.log_offset,
		            "the log of names was full: %llu names are lost, their events are there",
		            (unsigned long long)losing.lost);
	return status;
}
