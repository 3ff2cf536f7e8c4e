/* A sink whose bytes lie in a temporary file until they are read: for what a format has further down. */
#ifndef EPPROF_RUNTIME_EXPORT_SINK_SINK_SPOOL_H
#define EPPROF_RUNTIME_EXPORT_SINK_SINK_SPOOL_H

#include "export/sink/sink.h"

struct sink_spool {
	struct sink sink; /* to write into */
	int fd;
	bool is_open; /* the file is there from the first full buffer on */
	uint64_t file_bytes;
	epp_status *status; /* why the file did not take something */
};

/* Errors: EPP_OUT_OF_MEMORY. */
epp_status *sink_spool_init(struct sink_spool *spool) EPP_MUST_CHECK;
/* A spool of zeros, or one that init failed on, is fine. */
void sink_spool_deinit(struct sink_spool *spool);

/* Reads what was written, `at` from its beginning on.
 * Errors: EPP_IO and others of the temporary file; why it did not take something is told once. */
epp_status *sink_spool_read(struct sink_spool *spool, uint64_t at, char *data, size_t bytes) EPP_MUST_CHECK;

#endif
