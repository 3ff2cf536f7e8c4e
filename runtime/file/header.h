/* What all who write a header do to it. */
#ifndef EPPROF_FILE_HEADER_H
#define EPPROF_FILE_HEADER_H

#include <stddef.h>

#include "base/checksum.h"
#include "file/format.h"

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

#endif
