/* A file that appears, complete, by rename (files/atomic_file.h).  What exists and is not a regular file (a pipe, /dev/full), and
 * "-", is written directly. */
#ifndef EPPROF_RUNTIME_EXPORT_SINK_SINK_FILE_H
#define EPPROF_RUNTIME_EXPORT_SINK_SINK_FILE_H

#include <stddef.h>

#include "files/atomic_file.h"

struct sink_file {
	struct atomic_file file; /* written directly it has an fd alone */
	bool direct;
	bool borrowed; /* standard output: not ours to close */
};

/* Errors: EPP_UNAVAILABLE if a regular file exists and `overwrite` is false; EPP_NOT_FOUND, EPP_IO; the message has the
 * path.  On failure there is nothing to close. */
epp_status *sink_file_open(struct sink_file *file, const char *path, bool overwrite) EPP_MUST_CHECK;
/* An epp_sink_fn; `file` is a struct sink_file. */
size_t sink_file_write(const void *bytes, size_t count, void *file);
/* Gives the file its name and closes it; a failure leaves what stood there before. */
epp_status *sink_file_commit(struct sink_file *file) EPP_MUST_CHECK;
/* Closes it and removes what was written. */
void sink_file_discard(struct sink_file *file);

#endif
