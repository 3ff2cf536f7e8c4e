/* A temporary file without a name, in TMPDIR. It is removed when it is closed, even if the process is killed. */
#ifndef EPPROF_RUNTIME_FILES_TEMP_FILE_H
#define EPPROF_RUNTIME_FILES_TEMP_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

epp_status *temp_file_open(int *fd) EPP_MUST_CHECK;
/* Write or read all of the bytes, or return an error. */
epp_status *temp_file_write(int fd, uint64_t offset, const void *data, size_t bytes) EPP_MUST_CHECK;
epp_status *temp_file_read(int fd, uint64_t offset, void *data, size_t bytes) EPP_MUST_CHECK;

/* A file of pieces of any length.  The pieces are written in sequence, then read in the same order, possibly several
 * times. */
struct temp_file {
	FILE *file; /* NULL: nothing was written yet */
	uint64_t count;
	void *piece; /* the piece that was read last */
	size_t piece_room;
};

epp_status *temp_file_put(struct temp_file *spool, const void *piece, size_t bytes) EPP_MUST_CHECK;
epp_status *temp_file_rewind(struct temp_file *spool) EPP_MUST_CHECK;
/* Reads the next piece.  After the last piece `*piece` is NULL; otherwise it is valid until the next call. */
epp_status *temp_file_get(struct temp_file *spool, const void **piece, size_t *bytes) EPP_MUST_CHECK;
void temp_file_deinit(struct temp_file *spool);

#endif
