/* Access to an opened trace: reads and decodes blocks, finds tracks by their number. */
#include <stdlib.h>
#include <string.h>

#include "codec/checksum.h"
#include "containers/array.h"
#include "trace/reader_private.h"

epp_status *reader_block_read(struct reader *reader, const struct reader_block *block, uint8_t **buffer,
                              size_t *buffer_bytes)
{
	struct reader_impl *impl = reader_impl(reader);
	size_t bytes = sizeof(struct epf_block) + block->payload_bytes, got;
	struct epf_block header;

	if (!array_reserve_zeroed(buffer, buffer_bytes, bytes, 1))
		return epp_status_no_memory();
	if (block->in_window) {
		memcpy(*buffer, reader->window_blocks + block->offset, bytes);
		return NULL;
	}
	EPP_TRY(reader_read(impl, block->offset, *buffer, bytes, &got));
	if (got == bytes) {
		memcpy(&header, *buffer, sizeof(header));
		uint32_t checksum = header.checksum;
		header.checksum = 0;
		if (header.magic == EPF_BLOCK_MAGIC && header.payload_bytes == block->payload_bytes &&
		    header.record_count == block->record_count && header.open_count == block->open_count &&
		    header.track == block->track && header.run == block->run && header.first_ticks == block->first_ticks &&
		    header.last_ticks == block->last_ticks && header.own_first_ticks == block->own_first_ticks &&
		    header.source == block->source && header.kinds == block->kinds &&
		    checksum_crc32c(checksum_crc32c(0, &header, sizeof(header)), *buffer + sizeof(header),
		                    block->payload_bytes) == checksum)
			return NULL;
	}
	if ((reader->header.features & EPF_FEATURE_RING) && reader->info.state == EPP_TRACE_RECORDING) {
		/* The ring has overwritten this block. The next reader that opens the file counts its events as
		 * overwritten. */
		header = (struct epf_block){ .magic = EPF_BLOCK_MAGIC,
			                     .type = EPF_BLOCK_RECORDS,
			                     .run = block->run,
			                     .track = block->track,
			                     .first_ticks = UINT64_MAX,
			                     .own_first_ticks = UINT64_MAX };
		memset(*buffer, 0, bytes);
		memcpy(*buffer, &header, sizeof(header));
		return NULL;
	}
	return epp_status_create(EPP_CORRUPT, "the block at %llu was modified after the file was opened",
	                         (unsigned long long)block->offset);
}

static epp_status *decode_columns(struct reader_impl *impl, const struct reader_block *block, struct reader_decoded *decoded)
{
	EPP_TRY(reader_block_read(&impl->reader, block, &impl->packed, &impl->packed_room));
	const uint8_t *payload = impl->packed + sizeof(decoded->header);
	memcpy(&decoded->header, impl->packed, sizeof(decoded->header));
	uint32_t bytes = columns_args_bytes(&decoded->header, payload);
	if (bytes == UINT32_MAX)
		return NULL;
	if (!array_reserve(&decoded->bytes, &decoded->bytes_room, bytes, 1))
		return epp_status_no_memory();
	decoded->args = decoded->bytes;
	decoded->args_bytes = bytes;
	enum columns_result result = columns_decode(&impl->columns, &decoded->header, payload, decoded->open_ids,
	                                            decoded->records, decoded->bytes, &decoded->count);
	decoded->is_complete = result == COLUMNS_OK;
	return result == COLUMNS_NO_MEMORY ? epp_status_no_memory() : NULL;
}

epp_status *reader_decode_rows(struct reader_decoded *decoded)
{
	const struct epf_block *header = &decoded->header;
	uint32_t room = CODEC_PAYLOAD_ROOM(header->payload_bytes);

	if (!array_reserve(&decoded->bytes, &decoded->bytes_room, sizeof(*header) + room, 1))
		return epp_status_no_memory();
	struct codec_payload payload = { decoded->bytes + sizeof(*header), header->payload_bytes, room };
	decoded->is_complete = codec_decode(header, &payload, decoded->open_ids, decoded->records, &decoded->count);
	decoded->args = payload.bytes;
	decoded->args_bytes = payload.count;
	return NULL;
}

static epp_status *decode_rows(struct reader_impl *impl, const struct reader_block *block, struct reader_decoded *decoded)
{
	EPP_TRY(reader_block_read(&impl->reader, block, &decoded->bytes, &decoded->bytes_room));
	memcpy(&decoded->header, decoded->bytes, sizeof(decoded->header));
	return reader_decode_rows(decoded);
}

/* Marks an unreadable block as lost: from now on it has no records. */
static void mark_lost(struct reader_impl *impl, const struct reader_block *block, const char *why)
{
	struct reader_block *lost = &impl->reader.blocks[block - impl->reader.blocks];

	reader_find(impl, EPP_ERROR, lost->offset, "%s: its %u records are lost", why, lost->record_count);
	impl->reader.info.records_count -= lost->record_count;
	impl->accounts_counted = false;
	lost->is_lost = 1;
	lost->record_count = lost->open_count = lost->kinds = 0;
}

epp_status *reader_block_decode(struct reader *reader, const struct reader_block *block, struct reader_decoded *decoded)
{
	struct reader_impl *impl = reader_impl(reader);
	epp_status *status = NULL;

	decoded->args = NULL;
	decoded->args_bytes = decoded->count = 0;
	decoded->is_complete = false;
	if (!array_reserve(&decoded->records, &decoded->records_room, block->record_count, sizeof(*decoded->records)))
		return epp_status_no_memory();
	if (!block->is_lost)
		status = block->is_packed ? decode_columns(impl, block, decoded) : decode_rows(impl, block, decoded);
	if (epp_status_code(status) == EPP_CORRUPT && reader->summaries) {
		epp_status_destroy(status);
		status = NULL;
		mark_lost(impl, block, "a block's checksum is wrong, or the block differs from the index");
	}
	if (block->is_lost) {
		decoded->header = (struct epf_block){
			.type = EPF_BLOCK_RECORDS, .run = block->run, .track = block->track, .source = block->source
		};
		decoded->count = 0;
		decoded->is_complete = true;
	}
	return status;
}

void reader_decoded_deinit(struct reader_decoded *decoded)
{
	free(decoded->bytes);
	free(decoded->records);
	*decoded = (struct reader_decoded){ 0 };
}

/* Returns the index of a track. Tracks are sorted by number. Most files number them 1, 2, 3, ..., so that track N is at
 * index N - 1, which is tried first. */
static size_t track_index(const struct reader *reader, uint32_t track)
{
	size_t low = 0, high = reader->tracks_count;

	if (track && track <= high && reader->tracks[track - 1].track == track)
		return track - 1;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (reader->tracks[middle].track < track)
			low = middle + 1;
		else
			high = middle;
	}
	return low < reader->tracks_count && reader->tracks[low].track == track ? low : SIZE_MAX;
}

const epp_trace_track *reader_track(const struct reader *reader, uint32_t track)
{
	size_t index = track_index(reader, track);
	return index == SIZE_MAX ? NULL : &reader->tracks[index];
}

const struct epf_track *reader_track_definition(const struct reader *reader, uint32_t track)
{
	size_t index = track_index(reader, track);
	return index == SIZE_MAX ? NULL : &reader->track_definitions[index];
}
