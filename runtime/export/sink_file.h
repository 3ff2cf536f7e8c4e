/* A file that appears, complete, by rename: until sink_file_commit nothing stands under its name.
 *
 * It is written to a nameless file of the same directory (O_TMPFILE), so that nothing stays behind however the process
 * ends; where the file system has none, to .NAME.PID.tmp.  What exists and is not a regular file (a pipe, /dev/full), and
 * "-", is written directly. */
#ifndef EPPROF_EXPORT_SINK_FILE_H
#define EPPROF_EXPORT_SINK_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "epprof/status.h"

struct sink_file {
	int fd;
	bool direct;
	bool borrowed; /* standard output: not ours to close */
	bool overwrite;
	char *path;      /* where it will stand */
	char *temporary; /* NULL: it has no name yet */
};

/* For tests: false, and every file system is one that has no nameless files. */
extern bool sink_file_nameless;

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
