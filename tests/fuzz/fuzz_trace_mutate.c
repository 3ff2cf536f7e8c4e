/* Changes traces, and repairs their checksums, so that the change reaches the code behind them: of the header, the end,
 * the place of the index, the segments and the blocks.
 *
 * A change is often in one part (a header, a slot, a block) and keeps its size: most bytes of a trace are zeros of no
 * meaning, and an inserted byte moves all that follows. */
#include <string.h>

#include "codec/file_header.h"
#include "format/format_packed.h"
#include "tests/fuzz/fuzz.h"

#define PARTS_MAX 256u
#define WINDOW_BYTES 48u /* of a change within a part */

struct part {
	size_t offset, bytes;
};

struct parts {
	struct part list[PARTS_MAX];
	size_t count;
};

static void add(struct parts *parts, uint64_t offset, uint64_t bytes, size_t count)
{
	if (bytes && offset <= count && bytes <= count - offset && parts->count < PARTS_MAX)
		parts->list[parts->count++] = (struct part){ offset, bytes };
}

/* Sets the checksum of a struct that begins with magic and checksum. */
static void seal(uint8_t *at, size_t bytes)
{
	uint32_t sum;

	memset(at + 4, 0, 4);
	sum = checksum_crc32c(0, at, bytes);
	memcpy(at + 4, &sum, 4);
}

static bool has_magic(const uint8_t *bytes, size_t count, uint64_t at, size_t needed, uint32_t magic)
{
	return at <= count && needed <= count - at && memcmp(bytes + at, &magic, 4) == 0;
}

/* Adds a segment's blocks to `parts`, or seals them. */
static void each_block(uint8_t *bytes, size_t count, size_t start, size_t end, struct parts *parts)
{
	struct epf_block block;

	for (size_t at = start + EPF_SEGMENT_HEADER_BYTES; has_magic(bytes, count, at, sizeof block, EPF_BLOCK_MAGIC);) {
		memcpy(&block, bytes + at, sizeof block);
		if (block.payload_bytes > count - at - sizeof block || at + sizeof block + block.payload_bytes > end)
			return;
		if (parts) {
			add(parts, at, sizeof block, count);
			add(parts, at + sizeof block, block.payload_bytes, count);
		} else {
			seal(bytes + at, sizeof block + block.payload_bytes);
		}
		at = (at + sizeof block + block.payload_bytes + 7) & ~(size_t)7;
	}
}

static void each_segment(uint8_t *bytes, size_t count, const struct epf_header *header, struct parts *parts)
{
	if (header->segment_bytes < EPF_PAGE_BYTES || header->segments_offset % 8)
		return;
	for (uint64_t at = header->segments_offset;
	     has_magic(bytes, count, at, sizeof(struct epf_segment), EPF_SEGMENT_MAGIC); at += header->segment_bytes) {
		if (parts)
			add(parts, at, sizeof(struct epf_segment), count);
		else
			seal(bytes + at, sizeof(struct epf_segment));
		each_block(bytes, count, at, at + header->segment_bytes, parts);
	}
}

static void repair(uint8_t *bytes, size_t count, struct epf_header *header)
{
	header_seal(header, header->state);
	memcpy(bytes, header, sizeof *header);
	if (has_magic(bytes, count, EPF_END_OFFSET, sizeof(struct epf_end), EPF_END_MAGIC))
		seal(bytes + EPF_END_OFFSET, sizeof(struct epf_end));
	if (has_magic(bytes, count, EPF_INDEX_PLACE_OFFSET, sizeof(struct epf_index_place), EPF_INDEX_MAGIC))
		seal(bytes + EPF_INDEX_PLACE_OFFSET, sizeof(struct epf_index_place));
	each_segment(bytes, count, header, NULL);
}

static void find_parts(uint8_t *bytes, size_t count, const struct epf_header *header, struct parts *parts)
{
	add(parts, 0, sizeof *header, count);
	add(parts, EPF_END_OFFSET, sizeof(struct epf_end), count);
	add(parts, EPF_INDEX_PLACE_OFFSET, sizeof(struct epf_index_place), count);
	if (header->segments_offset > header->slots_offset) {
		add(parts, header->live_offset, sizeof(struct epf_live), count);
		add(parts, header->log_offset, header->log_bytes, count);
		for (uint32_t i = 0; i < header->slot_count && i < 8; i++)
			add(parts, header->slots_offset + (uint64_t)i * EPF_SLOT_BYTES, EPF_SLOT_BYTES, count);
		for (uint32_t i = 0; i < header->chunk_count && i < 8; i++)
			add(parts, header->chunks_offset + (uint64_t)i * header->chunk_bytes, header->chunk_bytes, count);
	}
	each_segment(bytes, count, header, parts);
}

static void change_part(uint8_t *bytes, const struct part *part, unsigned random, fuzz_change_fn change)
{
	uint8_t window[WINDOW_BYTES] = { 0 };
	size_t size = part->bytes < WINDOW_BYTES ? part->bytes : WINDOW_BYTES;
	size_t offset = part->offset + random % (part->bytes - size + 1) / 8 * 8;

	memcpy(window, bytes + offset, size);
	change(window, size, size);
	memcpy(bytes + offset, window, size);
}

size_t fuzz_trace_mutate(uint8_t *bytes, size_t count, size_t room, unsigned random, fuzz_change_fn change)
{
	struct parts parts = { .count = 0 };
	struct epf_header header;

	if (count >= EPF_PAGE_BYTES) {
		memcpy(&header, bytes, sizeof header);
		find_parts(bytes, count, &header, &parts);
	}
	if (parts.count && random % 4)
		change_part(bytes, &parts.list[random / 4 % parts.count], random / 1024, change);
	else
		count = change(bytes, count, room);
	if (count >= EPF_PAGE_BYTES && random / 4 % 16) {
		memcpy(&header, bytes, sizeof header);
		repair(bytes, count, &header);
	}
	return count;
}
