/* A file that appears, complete, by rename (files/atomic_file.h).  An existing file that is not a regular file (a pipe,
 * /dev/full), and "-", is written directly. */
#ifndef EPPROF_RUNTIME_EXPORT_SINK_SINK_FILE_H
#define EPPROF_RUNTIME_EXPORT_SINK_SINK_FILE_H

#include <stddef.h>

#include "files/atomic_file.h"

struct sink_file {
	struct atomic_file file; /* if written directly, only its fd is set */
	bool direct;
	bool borrowed; /* standard output: must not be closed */
};

/* Errors: EPP_UNAVAILABLE if a regular file exists and `overwrite` is false; EPP_NOT_FOUND, EPP_IO; the message has the
 * path.  After a failure there is nothing to close. */
epp_status *sink_file_open(struct sink_file *file, const char *path, bool overwrite) EPP_MUST_CHECK;
/* An epp_sink_fn; `file` is a struct sink_file. */
size_t sink_file_write(const void *bytes, size_t count, void *file);
/* Renames the file to its final name and closes it; after a failure, an earlier file of that name is unchanged. */
epp_status *sink_file_commit(struct sink_file *file) EPP_MUST_CHECK;
/* Closes the file and removes what was written. */
void sink_file_discard(struct sink_file *file);

#endif
