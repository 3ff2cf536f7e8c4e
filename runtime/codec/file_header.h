/* What all who write a header do to it. */
#ifndef EPPROF_RUNTIME_CODEC_FILE_HEADER_H
#define EPPROF_RUNTIME_CODEC_FILE_HEADER_H

#include <stddef.h>
#include <string.h>

#include "codec/checksum.h"
#include "format/format.h"

/* Of a file that has no window: its segments begin where the slots would. */
static inline void header_without_window(struct epf_header *header)
{
	header->live_offset = EPF_LIVE_OFFSET;
	header->slots_offset = header->log_offset = header->chunks_offset = EPF_BARE_SEGMENTS_OFFSET;
	header->segments_offset = EPF_BARE_SEGMENTS_OFFSET;
	header->slot_count = header->chunk_count = header->log_bytes = 0;
}

/* Makes it whole.  The checksum leaves the state out, which changes alone when a trace is finished. */
static inline void header_seal(struct epf_header *header, enum epf_state state)
{
	header->state = 0;
	header->checksum = 0;
	header->checksum = checksum_crc32c(0, header, offsetof(struct epf_header, checksum));
	header->state = state;
}

/* Where a finished file ends, at EPF_END_OFFSET in the header page, so that a file that was cut later is recognised.  Files
 * of earlier versions have zeros there. */
#define EPF_END_OFFSET 3072u
#define EPF_END_MAGIC 0x45465045u /* "EPFE" */
struct epf_end {
	uint32_t magic;
	uint32_t checksum; /* CRC-32C of this struct with checksum 0 */
	uint64_t file_bytes;
};

static inline struct epf_end header_end(uint64_t file_bytes)
{
	struct epf_end end = { .magic = EPF_END_MAGIC, .file_bytes = file_bytes };

	end.checksum = checksum_crc32c(0, &end, sizeof(end));
	return end;
}

/* How large the file was when it was finished; 0: its header page does not state it. */
static inline uint64_t header_file_bytes(const uint8_t *page)
{
	struct epf_end end, expected;

	memcpy(&end, page + EPF_END_OFFSET, sizeof(end));
	expected = header_end(end.file_bytes);
	return memcmp(&end, &expected, sizeof(end)) == 0 ? end.file_bytes : 0;
}

#endif
