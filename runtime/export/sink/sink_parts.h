/* An output of one file, or of several if the format's readers do not accept a file of that size: NAME.EXTENSION,
 * NAME_part2.EXTENSION and so on.  All files get their names at the end. */
#ifndef EPPROF_RUNTIME_EXPORT_SINK_SINK_PARTS_H
#define EPPROF_RUNTIME_EXPORT_SINK_SINK_PARTS_H

#include <stddef.h>

#include "export/sink/sink_file.h"

struct sink_parts {
	struct sink_file *files; /* the last one is being written */
	size_t files_count;
	const char *path, *extension;
	bool overwrite;
};

/* Opens the first part, `path`. The number of later parts is inserted before `extension` (with its dot), if the path
 * ends with it; NULL: there is only one part.  Both strings must stay valid.  Errors: as sink_file_open;
 * EPP_OUT_OF_MEMORY.  After a failure there is nothing to close. */
epp_status *sink_parts_open(struct sink_parts *parts, const char *path, const char *extension, bool overwrite)
    EPP_MUST_CHECK;
/* An epp_sink_fn that writes into the last part; `parts` is a struct sink_parts. */
size_t sink_parts_write(const void *bytes, size_t count, void *parts);
/* Returns whether there can be more than one part; false for a pipe, a device or standard output. */
bool sink_parts_divide(const struct sink_parts *parts);
/* Starts the next part; later writes go into it.  Errors: as sink_parts_open. */
epp_status *sink_parts_next(struct sink_parts *parts) EPP_MUST_CHECK;
/* Gives all parts their names, the first part last: if the first part exists, all do.  After a failure, parts that were
 * already renamed are removed. */
epp_status *sink_parts_commit(struct sink_parts *parts) EPP_MUST_CHECK;
/* Closes all parts and removes what was written. */
void sink_parts_discard(struct sink_parts *parts);

#endif
