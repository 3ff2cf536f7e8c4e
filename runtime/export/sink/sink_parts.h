/* One file, or several where a format's readers take none so large: NAME.EXTENSION, NAME_part2.EXTENSION and so on.  All get
 * their names at the end. */
#ifndef EPPROF_RUNTIME_EXPORT_SINK_SINK_PARTS_H
#define EPPROF_RUNTIME_EXPORT_SINK_SINK_PARTS_H

#include <stddef.h>

#include "export/sink/sink_file.h"

struct sink_parts {
	struct sink_file *files; /* the last is being written */
	size_t files_count;
	const char *path, *extension;
	bool overwrite;
};

/* Opens the first, `path`.  `extension`, with its dot, is what the number stands before, if the path has it; NULL: there is
 * one part only.  Both must stay.
 * Errors: as sink_file_open; EPP_OUT_OF_MEMORY.  On failure there is nothing to close. */
epp_status *sink_parts_open(struct sink_parts *parts, const char *path, const char *extension, bool overwrite)
    EPP_MUST_CHECK;
/* An epp_sink_fn, into the last; `parts` is a struct sink_parts. */
size_t sink_parts_write(const void *bytes, size_t count, void *parts);
/* Whether there can be more than one: not of a pipe, a device or standard output either. */
bool sink_parts_divide(const struct sink_parts *parts);
/* What is written from now on goes into the next.  Errors: as sink_parts_open. */
epp_status *sink_parts_next(struct sink_parts *parts) EPP_MUST_CHECK;
/* Gives all of them their names, the first one last: where it stands, all do.  After a failure those that had got theirs are
 * gone again. */
epp_status *sink_parts_commit(struct sink_parts *parts) EPP_MUST_CHECK;
/* Closes them and removes what was written. */
void sink_parts_discard(struct sink_parts *parts);

#endif
