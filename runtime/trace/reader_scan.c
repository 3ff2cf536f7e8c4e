/* Scans the segments in order: each is read as a whole, and its blocks are checked and added.
 *
 * The scan stops at the end of a segment's last valid block, and can continue there.  This is needed because a live
 * file grows: the reader scans once, reads the window, and scans again for blocks that were added meanwhile.  An
 * invalid block ends its segment, unless a valid block follows at the distance of the invalid block's length.  In the
 * last segment of an unfinished file, a killed writer leaves the beginning of a block followed by zeros; any other
 * invalid rest is damage. */
#include <stdlib.h>
#include <string.h>

#include "codec/checksum.h"
#include "containers/array.h"
#include "trace/reader_private.h"

epp_status *reader_add_block(struct reader_impl *impl, const struct epf_block *block, uint64_t offset, bool in_window,
                             uint64_t origin, uint32_t args_bytes)
{
	struct reader *reader = &impl->reader;
	bool added = true;

	if (block->sequence && !id_set_add(&impl->sequences, 0, block->sequence, &added))
		return epp_status_no_memory();
	if (!added) {
		reader_find(impl, EPP_ERROR, origin, "region %llu is in two blocks: the second one is ignored",
		            (unsigned long long)block->sequence);
		return NULL;
	}
	if (!array_reserve_zeroed(&reader->blocks, &impl->blocks_capacity, reader->blocks_count + 1,
	                          sizeof(*reader->blocks)) ||
	    !array_reserve_zeroed(&impl->origins, &impl->origins_capacity, reader->blocks_count + 1,
	                          sizeof(*impl->origins)))
		return epp_status_no_memory();
	impl->origins[reader->blocks_count] = origin;
	reader->blocks[reader->blocks_count++] = (struct reader_block){
		.offset = offset,
		.first_ticks = block->first_ticks,
		.own_first_ticks = block->own_first_ticks,
		.last_ticks = block->last_ticks,
		.payload_bytes = block->payload_bytes,
		.record_count = block->record_count,
		.track = block->track,
		.run = block->run,
		.kinds = block->kinds,
		.open_count = (uint16_t)block->open_count,
		.source = (uint16_t)block->source,
		.in_window = in_window,
		.is_packed = block->type == EPF_BLOCK_COLUMNS,
		.args_bytes = args_bytes,
	};
	return NULL;
}

epp_status *reader_take_records(struct reader_impl *impl, const struct epf_block *block, uint64_t offset,
                                uint32_t args_bytes)
{
	if (block->record_count > CODEC_RECORDS_MAX || block->open_count > EPF_OPEN_MAX || block->source > UINT16_MAX ||
	    args_bytes == UINT32_MAX) {
		reader_find(impl, EPP_ERROR, offset,
		            "a block with impossible counts (%u records, %u open events, source %u) is ignored",
		            block->record_count, block->open_count, block->source);
		return NULL;
	}
	return reader_add_block(impl, block, offset, false, offset, args_bytes);
}

static epp_status *take_block(struct reader_impl *impl, const struct epf_block *block, const uint8_t *payload,
                              uint64_t offset)
{
	if (block->type == EPF_BLOCK_INDEX)
		return NULL;
	if (block->type != EPF_BLOCK_RECORDS && block->type != EPF_BLOCK_COLUMNS)
		return reader_define_block(impl, block, payload, offset);
	if (impl->records_closed)
		return NULL;
	return reader_take_records(impl, block, offset,
	                           block->type == EPF_BLOCK_COLUMNS ? columns_args_bytes(block, payload)
	                                                            : block->payload_bytes);
}

const char *reader_block_flaw(const uint8_t *segment, size_t at, size_t bytes, size_t segment_bytes)
{
	struct epf_block block;

	if (at + sizeof(block.magic) > bytes)
		return NULL;
	memcpy(&block.magic, segment + at, sizeof(block.magic));
	if (!block.magic)
		return NULL;
	if (block.magic != EPF_BLOCK_MAGIC)
		return "no block starts here";
	if (at + sizeof(block) > bytes)
		return "the file ends inside a block's header";
	memcpy(&block, segment + at, sizeof(block));
	if (block.payload_bytes > segment_bytes - at - sizeof(block))
		return "a block extends beyond its segment";
	if (block.payload_bytes > bytes - at - sizeof(block))
		return "the file ends inside a block";
	uint32_t checksum = block.checksum;
	block.checksum = 0;
	if (checksum_crc32c(checksum_crc32c(0, &block, sizeof(block)), segment + at + sizeof(block),
	                    block.payload_bytes) != checksum)
		return "a block's checksum is wrong";
	return "";
}

static void set_stop(struct reader_impl *impl, epp_severity severity, uint64_t offset, const char *why)
{
	free(impl->stop.text);
	impl->stop = (struct reader_finding){ severity, offset, why ? strdup(why) : NULL };
}

/* Returns true if the bytes are the incomplete block that a killed writer leaves.  If the block's last byte, or any
 * byte after it, is not zero, the block was complete once, so it is damaged. */
static bool is_partial_block(const struct reader_impl *impl, size_t at, size_t bytes)
{
	size_t known = bytes - at < sizeof(struct epf_block) ? bytes - at : sizeof(struct epf_block);
	struct epf_block block = { 0 };

	memcpy(&block, impl->segment + at, known);
	if (block.magic != EPF_BLOCK_MAGIC)
		return false;
	if (known < sizeof(block))
		return true;
	if (block.payload_bytes > impl->reader.header.segment_bytes - at - sizeof(block))
		return false;
	for (size_t i = at + sizeof(block) + block.payload_bytes - 1; i < bytes; i++)
		if (impl->segment[i])
			return false;
	return true;
}

/* Returns the offset of a valid block after a damaged one; 0 if there is none. */
static size_t find_block_after_damage(const struct reader_impl *impl, size_t at, size_t bytes)
{
	uint32_t segment_bytes = impl->reader.header.segment_bytes;
	struct epf_block block;

	/* A live writer may have written the next block after this one was read, so the damage is not certain. */
	if (impl->reader.info.state == EPP_TRACE_RECORDING || at + sizeof(block) > bytes)
		return 0;
	memcpy(&block, impl->segment + at, sizeof(block));
	if (block.payload_bytes > segment_bytes - at - sizeof(block))
		return 0;
	size_t next = (at + sizeof(block) + block.payload_bytes + 7) & ~(size_t)7;
	const char *flaw = reader_block_flaw(impl->segment, next, bytes, segment_bytes);
	return flaw && !*flaw ? next : 0;
}

/* Adds the blocks from impl->segment_at on. */
static epp_status *take_segment(struct reader_impl *impl, size_t bytes)
{
	uint32_t segment_bytes = impl->reader.header.segment_bytes;
	uint64_t base = impl->reader.header.segments_offset + impl->segment_index * segment_bytes;
	const char *why = NULL;
	size_t at = impl->segment_at;

	while (at <= segment_bytes - sizeof(struct epf_block)) {
		why = reader_block_flaw(impl->segment, at, bytes, segment_bytes);
		size_t behind = why && *why ? find_block_after_damage(impl, at, bytes) : 0;
		if (behind) {
			reader_find(impl, EPP_ERROR, base + at, "%s: its contents are lost", why);
			at = behind;
			continue;
		}
		if (!why || *why)
			break;
		struct epf_block block;
		memcpy(&block, impl->segment + at, sizeof(block));
		EPP_TRY(take_block(impl, &block, impl->segment + at + sizeof(block), base + at));
		why = NULL;
		at = (at + sizeof(block) + block.payload_bytes + 7) & ~(size_t)7;
	}
	impl->segment_at = at;
	bool is_damage = why && impl->reader.info.state == EPP_TRACE_CUT_OFF && !is_partial_block(impl, at, bytes);
	set_stop(impl, is_damage ? EPP_ERROR : EPP_NOTE, base + at, why);
	return NULL;
}

/* Returns true if the blocks of a segment are to be read. */
static bool begin_segment(struct reader_impl *impl, size_t bytes)
{
	const struct epf_header *header = &impl->reader.header;
	uint64_t offset = header->segments_offset + impl->segment_index * header->segment_bytes;
	struct epf_segment segment;

	if (bytes < sizeof(segment))
		return false;
	memcpy(&segment, impl->segment, sizeof(segment));
	uint32_t checksum = segment.checksum;
	segment.checksum = 0;
	if (!segment.magic && !segment.number && !checksum)
		return true; /* the segment was preallocated; a block in it is still read */
	if (segment.magic != EPF_SEGMENT_MAGIC || checksum_crc32c(0, &segment, sizeof(segment)) != checksum)
		reader_find(impl, EPP_WARNING, offset, "segment %llu: its header is damaged",
		            (unsigned long long)impl->segment_index + 1);
	else if (!segment.number)
		return false; /* the segment is being reused: its events are counted as lost */
	else if (segment.number != impl->segment_index + 1 && !(header->features & EPF_FEATURE_RING))
		reader_find(impl, EPP_ERROR, offset, "segment %llu has the number %llu in its header",
		            (unsigned long long)impl->segment_index + 1, (unsigned long long)segment.number);
	return true;
}

epp_status *reader_scan_place(struct reader_impl *impl, uint64_t index, size_t bytes, size_t *at)
{
	struct reader_finding before = impl->stop;

	impl->stop = (struct reader_finding){ 0 };
	impl->segment_index = index;
	impl->segment_at = *at;
	if (begin_segment(impl, bytes))
		EPP_TRY(take_segment(impl, bytes));
	*at = impl->segment_at;
	/* A writer writes at one position at a time, so only one segment may end with an incomplete block. */
	if (impl->stop.text && before.text && impl->stop.offset != before.offset)
		reader_find(impl, EPP_WARNING, before.offset, "%s: the rest of its segment is not read", before.text);
	if (impl->stop.text)
		free(before.text);
	else
		impl->stop = before;
	return NULL;
}

epp_status *reader_scan(struct reader_impl *impl)
{
	struct reader *reader = &impl->reader;
	if (reader->header.features & EPF_FEATURE_RING)
		return reader_ring_scan(impl);
	uint32_t segment_bytes = reader->header.segment_bytes;
	size_t got;

	for (uint64_t index = impl->segment_index;; index++) {
		if (index > (UINT64_MAX - reader->header.segments_offset) / segment_bytes - 1)
			break;
		EPP_TRY(reader_read(impl, reader->header.segments_offset + index * segment_bytes, impl->segment,
		                    segment_bytes, &got));
		if (!got)
			break;
		if (index != impl->segment_index && impl->stop.text) {
			/* This is not the last segment, so no writer was active in it. */
			reader_find(impl, EPP_ERROR, impl->stop.offset, "%s: the rest of its segment is not read",
			            impl->stop.text);
			set_stop(impl, EPP_NOTE, 0, NULL);
		}
		if (index != impl->segment_index || !impl->segment_at) {
			impl->segment_index = index;
			impl->segment_at = begin_segment(impl, got) ? EPF_SEGMENT_HEADER_BYTES : segment_bytes;
		}
		if (got < sizeof(struct epf_segment)) {
			impl->segment_at = 0; /* read again when the file has grown */
			set_stop(impl, EPP_NOTE, reader->header.segments_offset + index * segment_bytes,
			         "the file ends inside a segment's header");
		} else {
			EPP_TRY(take_segment(impl, got));
		}
		if (got < segment_bytes)
			break;
	}
	return NULL;
}
