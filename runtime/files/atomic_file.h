/* A file that appears, complete, by rename: until atomic_file_commit nothing stands under its name.
 *
 * It is written to a nameless file of the same directory (O_TMPFILE), so that nothing stays behind however the process
 * ends; where the file system has none, to .NAME.PID.tmp.  A link is followed: the file it names is replaced, and keeps its
 * permissions. */
#ifndef EPPROF_RUNTIME_FILES_ATOMIC_FILE_H
#define EPPROF_RUNTIME_FILES_ATOMIC_FILE_H

#include <stdbool.h>

#include "epprof/status.h"

struct atomic_file {
	int fd; /* to write to; -1: none is open */
	bool overwrite;
	char *path;      /* where it will stand */
	char *temporary; /* NULL: it has no name yet */
};

/* For tests: false, and every file system is one that has no nameless files. */
extern bool atomic_file_nameless;

/* Errors: EPP_UNAVAILABLE if a file exists and `overwrite` is false; EPP_NOT_FOUND, EPP_IO; the message has the path.  On
 * failure there is nothing to discard. */
epp_status *atomic_file_open(struct atomic_file *file, const char *path, bool overwrite) EPP_MUST_CHECK;
/* Gives the file its name and closes it; a failure leaves what stood there before. */
epp_status *atomic_file_commit(struct atomic_file *file) EPP_MUST_CHECK;
/* Closes it and removes what was written; may be called again, and after a commit. */
void atomic_file_discard(struct atomic_file *file);

#endif
