/* A file that appears under its name only when it is complete, at atomic_file_commit. Until then an older file with
 * that name is not changed. The data is written to a nameless file in the same directory (O_TMPFILE), which disappears
 * when the process ends in any way; on a file system without nameless files, it is written to .NAME.PID.tmp. If an
 * older file is replaced, the new file gets its permissions, else those of base/output_file.h. */
#ifndef EPPROF_RUNTIME_FILES_ATOMIC_FILE_H
#define EPPROF_RUNTIME_FILES_ATOMIC_FILE_H

#include <stdbool.h>

#include "epprof/status.h"

struct atomic_file {
	int fd; /* open for reading and writing; -1: not open */
	bool overwrite;
	char *path;      /* final path */
	char *temporary; /* NULL: the file has no temporary name */
};

/* For tests: if false, nameless files are not used. */
extern bool atomic_file_nameless;

/* Errors: EPP_EXISTS if a file exists and `overwrite` is false; EPP_IO if the path is a symbolic link; EPP_NOT_FOUND,
 * EPP_IO, and those of output_file_mode; the message has the path.
 * On failure there is nothing to discard. */
epp_status *atomic_file_open(struct atomic_file *file, const char *path, bool overwrite) EPP_MUST_CHECK;
/* Renames the file to its final name and closes it. A failure leaves the older file unchanged. */
epp_status *atomic_file_commit(struct atomic_file *file) EPP_MUST_CHECK;
/* Closes the file and removes it. May be called again, and after a commit, where it does nothing. */
void atomic_file_discard(struct atomic_file *file);

#endif
