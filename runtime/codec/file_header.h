/* Functions for the header page of a file: the offsets of a file without a window, the checksum, and the size of a
 * finished file. */
#ifndef EPPROF_RUNTIME_CODEC_FILE_HEADER_H
#define EPPROF_RUNTIME_CODEC_FILE_HEADER_H

#include <stddef.h>
#include <string.h>

#include "codec/checksum.h"
#include "format/format.h"

/* Sets the offsets for a file without a window: its segments begin at the offset at which a window has its slots. */
static inline void header_without_window(struct epf_header *header)
{
	header->live_offset = EPF_LIVE_OFFSET;
	header->slots_offset = header->log_offset = header->chunks_offset = EPF_BARE_SEGMENTS_OFFSET;
	header->segments_offset = EPF_BARE_SEGMENTS_OFFSET;
	header->slot_count = header->chunk_count = header->log_bytes = 0;
}

/* Sets the checksum and the state. The checksum excludes the state, which is changed alone when a trace is finished. */
static inline void header_seal(struct epf_header *header, enum epf_state state)
{
	header->state = 0;
	header->checksum = 0;
	header->checksum = checksum_crc32c(0, header, offsetof(struct epf_header, checksum));
	header->state = state;
}

/* The size of a finished file, at EPF_END_OFFSET in the header page. It shows whether the file was cut later. In files
 * of earlier versions these bytes are zero. */
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

/* Returns the size of the file when it was finished; 0 if the header page does not contain it. */
static inline uint64_t header_file_bytes(const uint8_t *page)
{
	struct epf_end end, expected;

	memcpy(&end, page + EPF_END_OFFSET, sizeof(end));
	expected = header_end(end.file_bytes);
	return memcmp(&end, &expected, sizeof(end)) == 0 ? end.file_bytes : 0;
}

#endif
