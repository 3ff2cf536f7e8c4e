/* Writes a run as a folder of Parquet files, for engines that read many files in parallel:
 *
 *   DIRECTORY/run=R/host=H/part-N.parquet   the events of up to 64 processes of a host, in order of start
 *   DIRECTORY/run=R/processes.parquet       and tracks.parquet, names.parquet, ledger.parquet: small tables
 *
 * The times in all files are by the same clock.  Events are sorted only within a file: engines need no more, because
 * they skip row groups by their smallest and largest start.  The folder is created under a temporary name and renamed
 * when it is complete. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/options.h"
#include "base/os/os.h"
#include "base/output_file.h"
#include "export/ledger.h"
#include "export/parquet/parquet_file.h"
#include "export/sink/sink.h"

#define PROCESSES_A_FILE 64u
#define NAME_MAX_BYTES 128u

struct dataset {
	epp_trace *trace;
	const epp_trace_info *info;
	epp_export_options options; /* options for the export of one part file */
	epp_timeline_options window;
	char *temporary_path; /* temporary path of the folder */
	char *final_path;     /* its final path */
	bool made_directory;
	uint8_t *wanted;   /* by source: 1 if the current part contains the source */
	uint64_t filtered; /* number of filtered events in all parts */
	epp_receipt_fn receipt;
	void *receipt_user;
};

/* ---- folders ---- */

/* Makes the name of a host's folder.  Replaces characters that have a meaning for engines. */
static void folder_of_host(const char *host, char text[NAME_MAX_BYTES])
{
	size_t used = 0;

	for (const char *at = *host ? host : "unknown"; *at && used < NAME_MAX_BYTES - 1; at++)
		text[used++] = strchr(EPP_RUN_LETTERS, *at) ? *at : '_';
	text[used] = '\0';
}

static epp_status *make_folder(const char *path)
{
	return mkdir(path, 0777) < 0 && errno != EEXIST ? epp_status_errno(errno, "%s", path) : NULL;
}

static epp_status *begin_folder(struct dataset *dataset, const char *directory, const char *run, bool overwrite)
{
	struct stat st;

	if (!*run || *run == '.' || run[strspn(run, EPP_RUN_LETTERS)])
		return epp_status_create(EPP_INVALID_ARGUMENT,
		                         "run '%s': only letters, digits, '.', '_' and '-' are allowed in a folder's name",
		                         run);
	dataset->made_directory = mkdir(directory, 0777) == 0;
	if (!dataset->made_directory && errno != EEXIST)
		return epp_status_errno(errno, "%s", directory);
	if (asprintf(&dataset->final_path, "%s/run=%s", directory, run) < 0) {
		dataset->final_path = NULL;
		return epp_status_no_memory();
	}
	if (!overwrite && lstat(dataset->final_path, &st) == 0)
		return epp_status_create(EPP_EXISTS, "%s: exists already", dataset->final_path);
	/* Engines ignore folders whose names begin with a dot, so they do not see the incomplete folder. */
	char *temporary_path;
	if (asprintf(&temporary_path, "%s/.run=%s.XXXXXX", directory, run) < 0)
		return epp_status_no_memory();
	if (!mkdtemp(temporary_path)) {
		epp_status *status = epp_status_errno(errno, "%s", dataset->final_path);
		free(temporary_path);
		return status;
	}
	dataset->temporary_path = temporary_path;
	return NULL;
}

/* mkdtemp made the folder for this user alone.  Sets the permissions that the umask allows, so that users who may read
 * new files may list the folder, too. */
static epp_status *set_mode(const struct dataset *dataset)
{
	mode_t mode;

	EPP_TRY(output_file_mode(&mode));
	mode |= (mode & 0444) >> 2;
	return chmod(dataset->temporary_path, mode) < 0 ? epp_status_errno(errno, "%s", dataset->final_path) : NULL;
}

static epp_status *publish_folder(struct dataset *dataset, bool overwrite)
{
	EPP_TRY(set_mode(dataset));
	if (overwrite)
		os_file_remove_all(dataset->final_path);
	if (rename(dataset->temporary_path, dataset->final_path) < 0)
		return errno == EEXIST || errno == ENOTEMPTY
		           ? epp_status_create(EPP_EXISTS, "%s: exists already", dataset->final_path)
		           : epp_status_errno(errno, "%s", dataset->final_path);
	free(dataset->temporary_path);
	dataset->temporary_path = NULL;
	return NULL;
}

/* ---- events ---- */

struct host_source {
	char host[NAME_MAX_BYTES];
	uint32_t source;
};

static int by_host(const void *a, const void *b)
{
	const struct host_source *left = a, *right = b;
	int order = strcmp(left->host, right->host);
	return order ? order : (left->source > right->source) - (left->source < right->source);
}

static epp_status *write_part(struct dataset *dataset, const struct host_source *processes, size_t count, size_t number)
{
	char *folder = NULL, *path = NULL;
	epp_status *status = NULL;
	uint64_t filtered = 0;

	memset(dataset->wanted, 0, dataset->info->sources_count);
	for (size_t i = 0; i < count; i++)
		dataset->wanted[processes[i].source] = 1;
	if (asprintf(&folder, "%s/host=%s", dataset->temporary_path, processes->host) < 0)
		return epp_status_no_memory();
	if (asprintf(&path, "%s/part-%zu.parquet", folder, number) < 0) {
		free(folder);
		return epp_status_no_memory();
	}
	status = make_folder(folder);
	if (!status)
		status = export_file(dataset->trace, "parquet", &dataset->options, path, 0, dataset->receipt,
		                     dataset->receipt_user, &filtered);
	dataset->filtered += filtered;
	free(folder);
	free(path);
	return status;
}

static epp_status *write_parts(struct dataset *dataset)
{
	size_t count = dataset->info->sources_count;
	struct host_source *processes = calloc(count, sizeof *processes);
	epp_status *status = processes ? NULL : epp_status_no_memory();

	for (uint32_t i = 0; i < count && !status; i++) {
		epp_trace_source source = { .struct_size = sizeof(source) };
		epp_trace_source_at(dataset->trace, i, &source);
		processes[i].source = i;
		folder_of_host(source.hostname, processes[i].host);
	}
	if (!status)
		qsort(processes, count, sizeof *processes, by_host);
	for (size_t from = 0, number = 0, step; from < count && !status; from += step) {
		if (from && strcmp(processes[from].host, processes[from - 1].host) != 0)
			number = 0;
		for (step = 1; from + step < count && step < PROCESSES_A_FILE; step++)
			if (strcmp(processes[from + step].host, processes[from].host) != 0)
				break;
		status = write_part(dataset, processes + from, step, number++);
	}
	free(processes);
	return status;
}

/* ---- the small tables ---- */

/* One of the small tables, which is a file of its own. */
struct table {
	struct sink_file out;
	struct sink sink;
	struct parquet_file file;
	bool is_open;
};

static epp_status *put_text(struct parquet_file *table, size_t column, const char *text)
{
	return parquet_text(table, column, text, strlen(text));
}

static epp_status *fill_processes(const struct dataset *dataset, struct parquet_file *table)
{
	epp_trace_source source = { .struct_size = sizeof(source) };

	for (size_t i = 0; epp_trace_source_at(dataset->trace, i, &source); i++) {
		char host[NAME_MAX_BYTES];
		const char *relation = epp_relation_name(source.relation);
		folder_of_host(source.hostname, host);
		EPP_TRY(parquet_integer(table, 0, source.source));
		EPP_TRY(put_text(table, 1, host));
		EPP_TRY(put_text(table, 2, source.hostname));
		EPP_TRY(parquet_integer(table, 3, source.pid));
		EPP_TRY(put_text(table, 4, source.program));
		EPP_TRY(put_text(table, 5, source.label));
		EPP_TRY(put_text(table, 6, relation ? relation : "unknown"));
		if (source.clock_error_ns != INT64_MAX)
			EPP_TRY(parquet_integer(table, 7, source.clock_error_ns));
		EPP_TRY(parquet_integer(table, 8, dataset->info->epoch_unix_ns));
		EPP_TRY(parquet_end_row(table));
	}
	return NULL;
}

static epp_status *fill_tracks(const struct dataset *dataset, struct parquet_file *table)
{
	const epp_trace_track *track;

	for (size_t i = 0; (track = epp_trace_track_at(dataset->trace, i)) != NULL; i++) {
		EPP_TRY(parquet_integer(table, 0, track->source));
		EPP_TRY(parquet_integer(table, 1, track->track));
		EPP_TRY(put_text(table, 2, epp_track_kind_name(track->kind)));
		if (export_has_thread(track))
			EPP_TRY(parquet_integer(table, 3, track->thread_id));
		if (track->device >= 0)
			EPP_TRY(parquet_integer(table, 4, track->device));
		if (track->kind == EPP_TRACK_DEVICE)
			EPP_TRY(parquet_integer(table, 5, track->stream));
		EPP_TRY(put_text(table, 6, track->name));
		EPP_TRY(put_text(table, 7, track->group));
		EPP_TRY(parquet_end_row(table));
	}
	return NULL;
}

/* Fills the table of names.  Skips numbers that have no name, and reserved numbers, which no event has as its name. */
static epp_status *fill_names(const struct dataset *dataset, struct parquet_file *table)
{
	const char *unknown = epp_trace_name(dataset->trace, UINT32_MAX, NULL);

	for (uint64_t number = 1, found = 0; found < dataset->info->names_count && number < 1u << 22; number++) {
		size_t bytes;
		const char *name = epp_trace_name(dataset->trace, (epp_name)number, &bytes);
		if (name == unknown)
			continue;
		found++;
		EPP_TRY(parquet_integer(table, 0, (int64_t)number));
		EPP_TRY(parquet_text(table, 1, name, bytes));
		EPP_TRY(parquet_end_row(table));
	}
	return NULL;
}

static epp_status *put_account(struct parquet_file *table, const epp_trace_ledger_entry *account)
{
	struct ledger_entry entries[LEDGER_ENTRIES_MAX];
	size_t count = ledger_entries(account, entries);

	for (size_t i = 0; i < count; i++) {
		if (account->source != LEDGER_NO_SOURCE)
			EPP_TRY(parquet_integer(table, 0, account->source));
		EPP_TRY(put_text(table, 1, account->producer));
		EPP_TRY(put_text(table, 2, entries[i].entry));
		if (entries[i].reason)
			EPP_TRY(put_text(table, 3, entries[i].reason));
		EPP_TRY(parquet_integer(table, 4, entries[i].events < INT64_MAX ? (int64_t)entries[i].events : INT64_MAX));
		EPP_TRY(parquet_end_row(table));
	}
	return NULL;
}

static epp_status *fill_ledger(const struct dataset *dataset, struct parquet_file *table)
{
	size_t count = epp_trace_ledger_count(dataset->trace);
	epp_trace_ledger_entry account = { .struct_size = sizeof(account) };

	for (size_t i = 0; i < count; i++) {
		EPP_TRY(epp_trace_ledger_at(dataset->trace, i, &account));
		EPP_TRY(put_account(table, &account));
	}
	account = ledger_of_filters(dataset->filtered);
	return dataset->filtered ? put_account(table, &account) : NULL;
}

#define INTEGER(column) \
	{ \
		.name = column \
	}
#define TEXT(column) \
	{ \
		.name = column, .is_text = true \
	}
#define INTEGER_OR_NONE(column) \
	{ \
		.name = column, .optional = true \
	}
#define TEXT_OR_NONE(column) \
	{ \
		.name = column, .is_text = true, .optional = true \
	}

static const struct parquet_field process_fields[] = {
	INTEGER("source"),        TEXT("host"),  TEXT("hostname"), INTEGER("pid"),
	TEXT("program"),          TEXT("label"), TEXT("clock"),    INTEGER_OR_NONE("clock_error_ns"),
	INTEGER("epoch_unix_ns"),
};
static const struct parquet_field track_fields[] = {
	INTEGER("source"),         INTEGER("track"),          TEXT("kind"), INTEGER_OR_NONE("tid"),
	INTEGER_OR_NONE("device"), INTEGER_OR_NONE("stream"), TEXT("name"), TEXT("group_name"),
};
static const struct parquet_field name_fields[] = { INTEGER("number"), TEXT("name") };
static const struct parquet_field ledger_fields[] = { INTEGER_OR_NONE("source"), TEXT("producer"), TEXT("entry"),
	                                              TEXT_OR_NONE("reason"), INTEGER("events") };

#define TABLE(fields) fields, sizeof(fields) / sizeof(*(fields))
static const struct {
	const char *name;
	epp_status *(*fill)(const struct dataset *dataset, struct parquet_file *table);
	const struct parquet_field *fields;
	size_t fields_count;
} tables[] = {
	{ "processes", fill_processes, TABLE(process_fields) },
	{ "tracks", fill_tracks, TABLE(track_fields) },
	{ "names", fill_names, TABLE(name_fields) },
	{ "ledger", fill_ledger, TABLE(ledger_fields) },
};

static epp_status *write_table(struct dataset *dataset, size_t index, const char *path, struct table *table)
{
	EPP_TRY(sink_file_open(&table->out, path, false));
	table->is_open = true;
	EPP_TRY(sink_init(&table->sink, sink_file_write, &table->out));
	EPP_TRY(parquet_file_init(&table->file, &table->sink, tables[index].fields, tables[index].fields_count));
	EPP_TRY(tables[index].fill(dataset, &table->file));
	EPP_TRY(parquet_file_end(&table->file, NULL, 0));
	EPP_TRY(sink_flush(&table->sink));
	table->is_open = false;
	return sink_file_commit(&table->out);
}

static epp_status *write_tables(struct dataset *dataset)
{
	epp_status *status = NULL;

	for (size_t i = 0; i < sizeof tables / sizeof *tables && !status; i++) {
		struct table table = { 0 };
		char *path;
		if (asprintf(&path, "%s/%s.parquet", dataset->temporary_path, tables[i].name) < 0)
			return epp_status_no_memory();
		status = write_table(dataset, i, path, &table);
		parquet_file_deinit(&table.file);
		sink_deinit(&table.sink);
		if (table.is_open)
			sink_file_discard(&table.out);
		if (status)
			status = epp_status_prefix(status, "%s", path);
		free(path);
	}
	return status;
}

/* ---- the whole dataset ---- */

epp_status *epp_export_dataset(epp_trace *trace, const char *directory, const char *run, const epp_export_options *options,
                               int overwrite, epp_receipt_fn receipt, void *receipt_user)
{
	struct dataset dataset = { .trace = trace, .receipt = receipt, .receipt_user = receipt_user };

	if (!trace || !directory || !run)
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_export_dataset: trace, directory or run is NULL");
	EPP_TRY(options_take(&dataset.options, sizeof dataset.options, options, "epp_export_options"));
	EPP_TRY(options_take(&dataset.window, sizeof dataset.window, dataset.options.timeline, "timeline options"));
	dataset.info = epp_trace_get_info(trace);
	dataset.wanted = calloc(dataset.info->sources_count + 1ul, 1);
	if (!dataset.wanted)
		return epp_status_no_memory();
	dataset.options.struct_size = sizeof dataset.options;
	dataset.options.timeline = &dataset.window;
	dataset.options.partitioned = 1;
	dataset.window.struct_size = sizeof dataset.window;
	dataset.window.sources = dataset.wanted;
	dataset.window.sources_count = dataset.info->sources_count;

	epp_status *status = begin_folder(&dataset, directory, run, overwrite);
	if (!status)
		status = write_parts(&dataset);
	if (!status)
		status = write_tables(&dataset);
	if (!status)
		status = publish_folder(&dataset, overwrite);
	if (dataset.temporary_path)
		os_file_remove_all(dataset.temporary_path);
	if (status && dataset.made_directory)
		rmdir(directory);
	free(dataset.temporary_path);
	free(dataset.final_path);
	free(dataset.wanted);
	return status;
}
