/* The folder in which the processes of a recorded program write their traces, and the output, which is made from these
 * traces. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "epprof/import.h"
#include "epprof/merge.h"
#include "epprof/trace_writer.h"
#include "record.h"

struct traces {
	char **paths;
	epp_trace **open;
	size_t count;
	size_t unread_count;  /* number of traces and profiles that cannot be read */
	size_t written_count; /* number of traces that a process is still writing */
};

epp_status *record_make_folder(const char *output, char **folder)
{
	if (asprintf(folder, "%s.XXXXXX", output) < 0) {
		*folder = NULL;
		return epp_status_no_memory();
	}
	if (mkdtemp(*folder))
		return NULL;
	epp_status *status = epp_status_errno(errno, "%s", output);
	free(*folder);
	*folder = NULL;
	return status;
}

/* ---- the traces of a folder ---- */

static bool has_ending(const char *name, const char *ending)
{
	size_t bytes = strlen(name), ending_bytes = strlen(ending);

	return bytes > ending_bytes && strcmp(name + bytes - ending_bytes, ending) == 0;
}

int record_is_trace(const struct dirent *entry)
{
	return has_ending(entry->d_name, ".epp");
}

static int is_profile(const struct dirent *entry)
{
	return has_ending(entry->d_name, ".profile");
}

/* Imports the profile FOLDER/NAME as the trace FOLDER/NAME.epp.  The label of the trace is NAME up to the first '.'. */
static epp_status *import_profile(const char *folder, const char *name)
{
	char *input = NULL, *output = NULL, *label = strndup(name, strcspn(name, "."));
	/* A profile without events is no error: a program may load a framework and not use it. */
	const epp_import_options options = {
		.struct_size = sizeof options, .label = label, .cancel = &cli_signal, .allow_empty = 1
	};
	bool has_memory = label && asprintf(&input, "%s/%s", folder, name) > 0 && asprintf(&output, "%s.epp", input) > 0;
	epp_status *status = has_memory ? epp_import_file(input, output, &options, NULL, NULL, NULL)
	                                : epp_status_no_memory();

	free(label);
	free(input);
	free(output);
	return status;
}

/* Imports the profiles in the folder, which frameworks' own profilers have written.  Returns the number of profiles
 * that cannot be read. */
static size_t import_profiles(const char *folder)
{
	struct dirent **entries = NULL;
	int count = scandir(folder, &entries, is_profile, alphasort);
	size_t left_count = 0;

	for (int i = 0; i < count; i++) {
		cli_progress_begin();
		epp_status *status = import_profile(folder, entries[i]->d_name);
		if (status) {
			cli_failure(status);
			left_count++;
		}
		free(entries[i]);
	}
	free(entries);
	return left_count;
}

/* Opens the traces that can be read and are not being written any more.  Returns an enum cli_exit. */
static int open_traces(struct traces *traces, const char *folder)
{
	struct dirent **entries = NULL;
	int count = scandir(folder, &entries, record_is_trace, alphasort);
	bool has_memory = count >= 0;

	if (count > 0) {
		traces->paths = calloc((size_t)count, sizeof *traces->paths);
		traces->open = calloc((size_t)count, sizeof(*traces->open));
		has_memory = traces->paths && traces->open;
	}
	for (int i = 0; i < count; i++) {
		char *path = NULL;
		epp_trace *trace = NULL;
		has_memory = has_memory && asprintf(&path, "%s/%s", folder, entries[i]->d_name) > 0;
		free(entries[i]);
		if (!has_memory)
			continue;
		if (cli_open(path, &trace) == CLI_OK && epp_trace_get_info(trace)->state != EPP_TRACE_RECORDING) {
			traces->paths[traces->count] = path;
			traces->open[traces->count++] = trace;
			continue;
		}
		if (trace)
			fprintf(stderr, "epprof: %s: process %u is still running\n", path, epp_trace_get_info(trace)->pid);
		traces->written_count += trace != NULL;
		traces->unread_count += trace == NULL;
		epp_trace_close(trace);
		free(path);
	}
	free(entries);
	return has_memory ? CLI_OK : cli_failure(epp_status_no_memory());
}

static void close_traces(struct traces *traces)
{
	for (size_t i = 0; i < traces->count; i++) {
		epp_trace_close(traces->open[i]);
		free(traces->paths[i]);
	}
	free(traces->open);
	free(traces->paths);
}

/* ---- notes ---- */

void record_print_notes(const char *folder)
{
	char *path, *line = NULL;
	size_t room = 0;

	if (asprintf(&path, "%s/notes", folder) < 0)
		return;
	FILE *notes = fopen(path, "re");
	char *printed = notes ? strdup("\n") : NULL;
	/* `printed` contains a newline and all lines printed so far, so that repeated lines can be detected. */
	while (printed && getline(&line, &room, notes) > 0) {
		char *lines, *found = strstr(printed, line);
		if (found && found[-1] == '\n')
			continue;
		line[strcspn(line, "\n")] = '\0';
		cli_message(line, "");
		if (asprintf(&lines, "%s%s\n", printed, line) < 0)
			break;
		free(printed);
		printed = lines;
	}
	free(printed);
	free(line);
	free(path);
	if (notes)
		fclose(notes);
}

/* ---- the output ---- */

/* Moves a trace to the output, which replaces an existing file only if `overwrite` is set.  Used if the folder has only
 * one trace. */
static epp_status *move(const char *path, const char *output, bool overwrite)
{
	if (renameat2(AT_FDCWD, path, AT_FDCWD, output, overwrite ? 0 : RENAME_NOREPLACE) == 0)
		return NULL;
	/* RENAME_NOREPLACE does not work on every file system. */
	if (errno == EINVAL && link(path, output) == 0)
		return NULL;
	if (errno == EEXIST)
		return epp_status_create(EPP_EXISTS, "%s: %s", output, strerror(errno));
	return epp_status_errno(errno, "%s", output);
}

static epp_status *write_output(const struct traces *traces, const char *output, bool overwrite)
{
	const epp_merge_options options = { .struct_size = sizeof options, .overwrite = overwrite, .cancel = &cli_signal };

	if (traces->count > 1)
		return epp_trace_merge(traces->open, traces->count, output, &options, NULL, NULL, NULL);
	if (epp_trace_get_info(traces->open[0])->state == EPP_TRACE_FINISHED)
		return move(traces->paths[0], output, overwrite);
	return epp_trace_recover(traces->open[0], output, overwrite);
}

static void remove_folder(const char *folder)
{
	DIR *open = opendir(folder);

	for (struct dirent *entry; open && (entry = readdir(open));) {
		char *path;
		if (asprintf(&path, "%s/%s", folder, entry->d_name) < 0)
			break;
		unlink(path);
		free(path);
	}
	if (open)
		closedir(open);
	rmdir(folder);
}

int record_join_traces(const char *folder, const char *output, bool overwrite, size_t *count)
{
	struct traces traces = { .unread_count = import_profiles(folder) };
	int code = open_traces(&traces, folder);
	bool is_kept = code != CLI_OK || traces.unread_count || traces.written_count;

	*count = 0;
	if (code == CLI_OK && traces.count) {
		epp_status *status = write_output(&traces, output, overwrite);
		is_kept |= status != NULL;
		if (status)
			code = cli_not_written(status);
		else
			*count = traces.count;
	}
	cli_progress_end();
	close_traces(&traces);
	if (is_kept)
		fprintf(stderr, "epprof: traces are left in %s; 'epprof merge' joins them into one trace\n", folder);
	else
		remove_folder(folder);
	return code == CLI_OK && traces.unread_count ? CLI_FAILURE : code;
}
