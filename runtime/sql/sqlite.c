/* Writes an SQLite database: copies the tables of SQL over a trace (sql_tables.c) into a file.  docs/formats.md
 * describes them.
 *
 * SQLite needs a file with random access, so it writes a temporary file, which is copied to the sink at the end.  No
 * journal is needed, because no other process opens the file, and because it is discarded after a failure. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/status.h"
#include "files/temp_file.h"
#include "sql/sql.h"

/* The table start_index has one row for START_STEP events. */
#define START_STEP "1024"

struct sqlite {
	struct epp_sql *sql;
	bool has_fd;
	int fd; /* descriptor of the temporary file */
};

/* The SELECT by which a table is copied.  Tables that are not in this list are copied unchanged. */
static const struct {
	const char *table, *rows;
} selections[] = {
	{ "names", "SELECT name, text FROM main.names WHERE name IN (SELECT name FROM out.events)" },
	/* from_id is 0 if the event where the flow begins is missing. */
	{ "flows", "SELECT flow, source, kind, coalesce(from_id, 0), to_id, time_ns FROM main.flows" },
	{ "start_index", "SELECT start_ns, event FROM out.events WHERE event % " START_STEP " = 1" },
};

/* Few events are referred to by other records, so the indexes over the ids of these events are small.  An index over
 * the starts of all events would be larger than all other data.  So the table start_index has the start of one event in
 * 1,024; the events between two of them are in order of start.  Sorting for an index uses as much memory as the page
 * cache, which is therefore limited. */
static const char indexes[] =
    "PRAGMA out.cache_size=-4096;"
    "CREATE INDEX out.events_referred ON events(id) WHERE flags & 16;"
    "CREATE INDEX out.events_of_flows ON events(id) WHERE flags & 256;"
    "CREATE INDEX out.flows_by_from ON flows(from_id);"
    "CREATE VIEW out.timeline AS SELECT event, kinds.text AS kind, names.text AS name, categories.text AS category, start_ns,"
    " duration_ns, tracks.source, tracks.pid, tracks.group_name, tracks.thread_id, track, tracks.name AS track_name,"
    " tracks.device, tracks.stream, lane, depth, id, parent, run, placements.text AS placement, start_error_ns, end_error_ns,"
    " flags, (SELECT value FROM args WHERE args.event = events.event AND args.key = 'op_name' AND events.category = 1)"
    " AS op_type, works.text AS work, correlation, trace_id, weight FROM events JOIN names USING(name) JOIN tracks USING(track)"
    " JOIN kinds ON kinds.kind = events.kind JOIN categories ON categories.category = events.category"
    " JOIN placements ON placements.placement = events.placement LEFT JOIN works ON works.work = events.work;"
    "COMMIT; DETACH out";

/* Runs a statement.  If a virtual table had an error, it is returned, because it is more specific than SQLite's
 * message. */
static epp_status *run_statement(struct epp_sql *sql, const char *text)
{
	epp_status *status = sqlite_run(sql->db, text);

	if (status && sql->status) {
		epp_status_destroy(status);
		status = sql->status;
		sql->status = NULL;
	}
	return status;
}

/* As run_statement, with a format of sqlite3_mprintf. */
static epp_status *run_format(struct epp_sql *sql, const char *format, ...)
{
	epp_status *status;
	va_list values;

	va_start(values, format);
	char *text = sqlite3_vmprintf(format, values);
	va_end(values);
	status = text ? run_statement(sql, text) : epp_status_no_memory();
	sqlite3_free(text);
	return status;
}

/* Attaches the temporary file.  Its name is removed once SQLite has opened it. */
static epp_status *attach_file(struct sqlite *sqlite)
{
	const char *directory = secure_getenv("TMPDIR");
	epp_status *status;
	char *path;

	if (asprintf(&path, "%s/epprof-sqlite.XXXXXX", directory && *directory ? directory : "/tmp") < 0)
		return epp_status_no_memory();
	sqlite->fd = mkostemp(path, O_CLOEXEC);
	sqlite->has_fd = sqlite->fd >= 0;
	if (!sqlite->has_fd) {
		status = epp_status_errno(errno, "%s", path);
	} else {
		status = run_format(sqlite->sql,
		                    "ATTACH %Q AS out; PRAGMA out.journal_mode=OFF; PRAGMA out.synchronous=OFF;"
		                    "PRAGMA out.cache_size=-16384; BEGIN",
		                    path);
		unlink(path);
	}
	free(path);
	return status;
}

static epp_status *copy_table(struct epp_sql *sql, const struct sqlite_table *table)
{
	for (size_t i = 0; i < sizeof selections / sizeof *selections; i++) {
		if (strcmp(table->name, selections[i].table) == 0)
			return run_format(sql, "INSERT INTO out.%s %s", table->name, selections[i].rows);
	}
	return run_format(sql, "INSERT INTO out.%s SELECT * FROM main.%s", table->name, table->name);
}

/* Copies the tables.  The events are first, because the ledger and the facts have the number of filtered events, and
 * because other tables are made from the rows of `events`. */
static epp_status *copy_tables(struct epp_sql *sql)
{
	for (const struct sqlite_table *table = sqlite_tables; table->name; table++)
		EPP_TRY(run_format(sql, "CREATE TABLE out.%s%s", table->name, table->columns));
	EPP_TRY(copy_table(sql, &sqlite_tables[0]));
	EPP_TRY(sql_fill_all(sql));
	for (const struct sqlite_table *table = sqlite_tables + 1; table->name; table++)
		EPP_TRY(copy_table(sql, table));
	return run_statement(sql, indexes);
}

static epp_status *send_file(const struct sqlite *sqlite, struct sink *sink)
{
	off_t size = lseek(sqlite->fd, 0, SEEK_END);

	for (off_t at = 0; at < size && !sink->failed;) {
		size_t piece = size - at < (off_t)SINK_RESERVE_MAX ? (size_t)(size - at) : SINK_RESERVE_MAX;
		char *to = sink_reserve(sink, piece);
		EPP_TRY(temp_file_read(sqlite->fd, (uint64_t)at, to, piece));
		sink_commit(sink, to + piece);
		at += (off_t)piece;
	}
	return NULL;
}

static epp_status *sqlite_write(struct export_run *run, struct filter *filter)
{
	struct sqlite *sqlite = run->state;

	EPP_TRY(sql_open(run, filter, &sqlite->sql));
	EPP_TRY(attach_file(sqlite));
	EPP_TRY(copy_tables(sqlite->sql));
	run->filtered = sqlite->sql->run.filtered;
	return send_file(sqlite, run->sink);
}

static void sqlite_deinit(struct export_run *run)
{
	struct sqlite *sqlite = run->state;

	epp_sql_destroy(sqlite->sql);
	if (sqlite->has_fd)
		close(sqlite->fd);
}

const struct export_writer export_sqlite = {
	.format = { "sqlite", ".sqlite", "an SQLite database with events, args, tracks, flows, clock pairs and the ledger" },
	.state_bytes = sizeof(struct sqlite),
	.write = sqlite_write,
	.deinit = sqlite_deinit,
};
