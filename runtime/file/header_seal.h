/* Makes a header whole before it is written. */
#ifndef EPPROF_FILE_HEADER_SEAL_H
#define EPPROF_FILE_HEADER_SEAL_H

#include <stddef.h>

#include "base/checksum.h"
#include "file/format.h"

/* The checksum leaves the state out, which changes alone when a trace is finished. */
static inline void header_seal(struct epf_header *header, enum epf_state state)
{
	header->state = 0;
	header->checksum = 0;
	header->checksum = checksum_crc32c(0, header, offsetof(struct epf_header, checksum));
	header->state = state;
}

#endif
