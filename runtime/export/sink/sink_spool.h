/* A sink whose bytes are kept in a temporary file until they are read, for data that a format has further down. */
#ifndef EPPROF_RUNTIME_EXPORT_SINK_SINK_SPOOL_H
#define EPPROF_RUNTIME_EXPORT_SINK_SINK_SPOOL_H

#include "export/sink/sink.h"

struct sink_spool {
	struct sink sink; /* to write into */
	int fd;
	bool is_open; /* the file is created when the buffer is full for the first time */
	uint64_t file_bytes;
	epp_status *status; /* the error of the first failed write to the file */
};

/* Errors: EPP_OUT_OF_MEMORY. */
epp_status *sink_spool_init(struct sink_spool *spool) EPP_MUST_CHECK;
/* Accepts a zeroed spool, and one whose init failed. */
void sink_spool_deinit(struct sink_spool *spool);

/* Reads bytes that were written, from offset `at`. Errors: EPP_IO and others of the temporary file; an error of an
 * earlier write is returned once. */
epp_status *sink_spool_read(struct sink_spool *spool, uint64_t at, char *data, size_t bytes) EPP_MUST_CHECK;

#endif
