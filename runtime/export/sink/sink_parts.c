/* Writes numbered part files.  With `overwrite`, parts of an earlier and longer export with higher numbers are removed:
 * a reader that takes all parts would mix the two exports. */
#include "export/sink/sink_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/status.h"

/* Returns "a/run_part2.xplane.pb" for "a/run.xplane.pb".  Ownership: malloc; NULL without memory. */
static char *name_of(const struct sink_parts *parts, size_t number)
{
	size_t bytes = strlen(parts->path), ending = strlen(parts->extension);
	char *name;

	if (bytes < ending || strcmp(parts->path + bytes - ending, parts->extension) != 0)
		ending = 0;
	return asprintf(&name, "%.*s_part%zu%s", (int)(bytes - ending), parts->path, number,
	                parts->path + bytes - ending) < 0
	           ? NULL
	           : name;
}

static epp_status *add(struct sink_parts *parts, const char *path)
{
	struct sink_file *larger = reallocarray(parts->files, parts->files_count + 1, sizeof *larger);

	if (!larger)
		return epp_status_no_memory();
	parts->files = larger;
	EPP_TRY(sink_file_open(&parts->files[parts->files_count], path, parts->overwrite));
	parts->files_count++;
	return NULL;
}

epp_status *sink_parts_open(struct sink_parts *parts, const char *path, const char *extension, bool overwrite)
{
	*parts = (struct sink_parts){ .path = path, .extension = extension, .overwrite = overwrite };
	epp_status *status = add(parts, path);
	if (status)
		sink_parts_discard(parts);
	return status;
}

size_t sink_parts_write(const void *bytes, size_t count, void *user)
{
	struct sink_parts *parts = user;

	return sink_file_write(bytes, count, &parts->files[parts->files_count - 1]);
}

bool sink_parts_divide(const struct sink_parts *parts)
{
	return parts->extension && !parts->files[0].direct;
}

epp_status *sink_parts_next(struct sink_parts *parts)
{
	char *name = name_of(parts, parts->files_count + 1);
	epp_status *status = name ? add(parts, name) : epp_status_no_memory();

	free(name);
	return status;
}

static void remove_older(const struct sink_parts *parts, size_t number)
{
	bool removed = parts->overwrite && sink_parts_divide(parts);

	while (removed) {
		char *name = name_of(parts, number++);
		removed = name && unlink(name) == 0;
		free(name);
	}
}

epp_status *sink_parts_commit(struct sink_parts *parts)
{
	size_t done = parts->files_count;
	epp_status *status = NULL;

	remove_older(parts, parts->files_count + 1);
	while (done && !status)
		status = sink_file_commit(&parts->files[--done]);
	for (size_t i = done + 1; status && i < parts->files_count; i++) {
		char *name = name_of(parts, i + 1);
		if (name)
			unlink(name);
		free(name);
	}
	/* Committed files have nothing left to discard. */
	sink_parts_discard(parts);
	return status;
}

void sink_parts_discard(struct sink_parts *parts)
{
	for (size_t i = 0; i < parts->files_count; i++)
		sink_file_discard(&parts->files[i]);
	free(parts->files);
	*parts = (struct sink_parts){ 0 };
}
