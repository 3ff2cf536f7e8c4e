/* State and functions that the files of SQL over a trace share.
 *
 *   sql.c          the connection: authorization, the small tables, queries
 *   sql_scan.c     reads the timeline from any position, with each event's number in the order of start
 *   sql_memory.c   all events in memory, for repeated reads
 *   sql_events.c, sql_cursor.c, sql_values.c   the tables events, timeline and flows
 *   sql_args.c     the table args
 *   sql_tables.c   the columns of the tables; fills the small tables
 *   sqlite.c       writes the tables into an SQLite file */
#ifndef EPPROF_RUNTIME_SQL_SQL_H
#define EPPROF_RUNTIME_SQL_SQL_H

#include "encoding/json.h"
#include "epprof/sql.h"
#include "epprof/timeline.h"
#include "export/filter.h"
#include "export/writer.h"
#include "timeline/timeline.h"

#include <sqlite3.h>

/* A timeline and its current event. */
struct sql_scan {
	struct epp_sql *sql;
	epp_timeline *timeline; /* NULL: not started, or at the end */
	const epp_event *event;
	int64_t number;        /* number of the event, from 1; 0: unknown */
	struct sql_scan *next; /* next in the list of all started scans */
};

/* A mark has a start time, and how many events begin earlier.  A scan that starts at this time thus finds out the
 * numbers of its events. */
struct sql_mark {
	int64_t start_ns; /* `number` events begin before this time */
	int64_t number;
};

struct sql_marks {
	struct sql_mark *marks;
	size_t count, room;
	bool complete;
};

/* The fields of an event that are stored in memory. */
struct sql_event {
	int64_t start_ns, duration_ns, start_error_ns, end_error_ns;
	uint64_t id, parent;
	const epp_trace_track *track;
	uint32_t name_number, run, depth, lane;
	uint32_t kind : 4, category : 4, placement : 8, flags : 16;
	uint32_t next_of_id; /* index + 1 of the next event in the hash chain of the id */
	uint32_t next_of_parent;
	uint32_t requests, weight;
};

struct sql_memory {
	struct sql_event *events; /* all events in order of start */
	size_t count, room;
	uint32_t *ids, *parents; /* hash buckets, with index + 1 of the first event in the chain */
	size_t buckets_count;
	bool complete;
};

/* The args of all events. */
struct sql_stored_args {
	epp_trace_arg *args; /* while args are collected, value.u64 of a text is its offset in `texts` */
	size_t count, room;
	uint32_t *first_of; /* index of the first arg, by event number - 1; a further entry is the number of all args */
	size_t events_count, first_room;
	struct sink_memory texts;
	bool complete;
};

struct epp_sql {
	sqlite3 *db; /* an in-memory database */
	/* passed to the functions that fill the small tables; in an export, it has the options of the export */
	struct export_run run;
	struct filter *filter; /* the filter of an export; NULL: all events pass */
	epp_trace *trace;
	unsigned queries; /* number of queries of event tables in the current statement */
	/* sets of small tables, a bit for each by its position in the list in sql.c: those that the current statement
	 * reads, and those that are filled */
	uint64_t wanted, filled;
	bool trusted;            /* the current statement is the library's own, for which the authorizer allows
	                            everything */
	_Atomic int interrupted; /* may be set by any thread, or by a signal handler */
	epp_status *status;      /* error of a virtual table, which is reported after the statement */
	struct sql_scan *scans;
	struct inherited inherited; /* requests and weights of the trace */
	bool inherited_known;       /* `inherited` has been read */
	/* Text of the trace ids of the last event that had some.  Most rows have the same as the row before. */
	char *trace_ids;
	size_t trace_ids_bytes;
	uint32_t trace_ids_of; /* event->requests of that event; 0: none */
	struct sql_marks marks;
	struct sql_memory memory;
	struct sql_stored_args args;
};

struct sql_vtab {
	sqlite3_vtab base;
	struct epp_sql *sql;
	const struct sql_table_view *view;
};

/* Opens the tables for an export.  They have the events that are in its time range and pass `filter`, which may be
 * NULL.  Any statement is allowed.  Ownership: the caller calls epp_sql_destroy, also after a failure.  Errors:
 * EPP_OUT_OF_MEMORY. */
epp_status *sql_open(const struct export_run *run, struct filter *filter, struct epp_sql **sql) EPP_MUST_CHECK;
/* Fills all small tables at once.  Without this call, a table is filled by the first statement that needs it.
 * sql->run.filtered must be the number of events that the filter left out in the scan before. */
epp_status *sql_fill_all(struct epp_sql *sql) EPP_MUST_CHECK;

/* Returns the column definitions of a table of the export. */
const char *sql_columns_of(const char *name);
/* Create and free a virtual table.  Called by SQLite. */
int sql_vtab_connect(struct epp_sql *sql, const struct sql_table_view *view, const char *columns, sqlite3_vtab **table);
int sql_vtab_disconnect(sqlite3_vtab *table);

/* Stores the error, and returns the corresponding error code of SQLite. */
int sql_fail(struct epp_sql *sql, epp_status *status);

/* Converts a value that is compared with an integer column to an integer bound.  The bound is rounded so that no
 * matching row is left out.  Returns false if the value gives no bound. */
bool sql_bound(sqlite3_value *value, int64_t *bound);

/* ---- sql_scan.c ---- */

/* Starts a scan at the first event that starts in [from_ns, to_ns).  INT64_MIN, INT64_MAX: all events.  If `numbers` is
 * false, scan->number is only known if all events are read.  Errors, here and below: those of the timeline;
 * EPP_CANCELLED: interrupted. */
epp_status *sql_scan_start(struct epp_sql *sql, struct sql_scan *scan, int64_t from_ns, int64_t to_ns, bool numbers)
    EPP_MUST_CHECK;
/* Moves to the event with a number.  If there is no such event, scan->event is NULL. */
epp_status *sql_scan_seek(struct epp_sql *sql, struct sql_scan *scan, int64_t number) EPP_MUST_CHECK;
/* Moves to the next event; scan->event is NULL after the last one. */
epp_status *sql_scan_next(struct sql_scan *scan) EPP_MUST_CHECK;
void sql_scan_end(struct sql_scan *scan);
/* Returns a started scan whose current event has this number; NULL: there is none. */
struct sql_scan *sql_scan_on(struct epp_sql *sql, int64_t number);

/* ---- sql_memory.c ---- */

epp_status *sql_memory_fill(struct epp_sql *sql) EPP_MUST_CHECK;
void sql_memory_deinit(struct sql_memory *memory);
/* Return the index of the first event with an id, and of the next one with the same id; SIZE_MAX: none. */
size_t sql_memory_of_id(const struct sql_memory *memory, uint64_t id);
size_t sql_memory_next_of_id(const struct sql_memory *memory, size_t index);
/* Return the index of the first event with a parent, and of the next one with the same parent; SIZE_MAX: none. */
size_t sql_memory_of_parent(const struct sql_memory *memory, uint64_t parent);
size_t sql_memory_next_of_parent(const struct sql_memory *memory, size_t index);
/* Returns the index of the first event that starts at `start_ns` or later. */
size_t sql_memory_from(const struct sql_memory *memory, int64_t start_ns);
/* Makes an event from the fields that are stored in memory. */
void sql_memory_event(const struct epp_sql *sql, size_t index, epp_event *event);

/* ---- sql_args.c ---- */

epp_status *sql_stored_args_fill(struct epp_sql *sql) EPP_MUST_CHECK;
void sql_stored_args_deinit(struct sql_stored_args *args);
/* Returns the args of the event with a number.  *count is set to how many there are. */
const epp_trace_arg *sql_stored_args_of(const struct sql_stored_args *args, int64_t number, size_t *count);

/* ---- sql_events.c, sql_args.c ---- */

extern const char sql_timeline_columns[];

/* Register the modules with SQLite and create the tables. */
epp_status *sql_events_register(struct epp_sql *sql) EPP_MUST_CHECK;
epp_status *sql_args_register(struct epp_sql *sql) EPP_MUST_CHECK;
/* Set a text of any bytes as the result: without a copy, if the text is valid until the trace is closed, or with a
 * copy. */
void sql_result_text(sqlite3_context *context, const char *text, size_t bytes);
void sql_result_copy(sqlite3_context *context, const char *text, size_t bytes);

/* ---- sql_tables.c ---- */

/* Errors, here and below: EPP_IO with SQLite's message, EPP_OUT_OF_MEMORY. */
epp_status *sqlite_run(sqlite3 *db, const char *sql) EPP_MUST_CHECK;
epp_status *sqlite_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **statement) EPP_MUST_CHECK;
/* Binds a text of any bytes.  Invalid UTF-8 is replaced. */
epp_status *sqlite_bind_text(sqlite3 *db, sqlite3_stmt *statement, int index, const char *text, size_t bytes)
    EPP_MUST_CHECK;
/* Runs a statement that returns no rows, and resets it, so that it can run again with the same bound values. */
epp_status *sqlite_step(sqlite3 *db, sqlite3_stmt *statement) EPP_MUST_CHECK;

/* The value of an arg as an SQLite value.  Nothing is rounded: integers beyond SQLite's range, and values that are not
 * a number, become text.  Ownership: `text` points into the arg, or to `number`. */
struct sqlite_value {
	int type; /* type of the value: SQLITE_INTEGER, SQLITE_FLOAT or SQLITE_TEXT */
	int64_t integer;
	double real;
	const char *text;
	size_t bytes;
	char number[JSON_NUMBER_BYTES];
};
void sqlite_value_of(const epp_trace_arg *arg, struct sqlite_value *value);

/* A table: its name, and its columns as in CREATE TABLE.  A NULL name ends the list of tables. */
struct sqlite_table {
	const char *name, *columns;
};
extern const struct sqlite_table sqlite_tables[];
epp_status *sqlite_table_create(sqlite3 *db, const struct sqlite_table *table) EPP_MUST_CHECK;

/* These functions fill existing, empty tables.  The facts contain counts of the events that run->timeline has returned
 * so far. */
epp_status *sqlite_insert_words(sqlite3 *db) EPP_MUST_CHECK;
epp_status *sqlite_insert_runs(struct export_run *run, sqlite3 *db) EPP_MUST_CHECK;
epp_status *sqlite_insert_tracks(struct export_run *run, sqlite3 *db) EPP_MUST_CHECK;
epp_status *sqlite_insert_pairs(struct export_run *run, sqlite3 *db) EPP_MUST_CHECK;
epp_status *sqlite_insert_ledger(struct export_run *run, sqlite3 *db) EPP_MUST_CHECK;
epp_status *sqlite_insert_facts(struct export_run *run, sqlite3 *db) EPP_MUST_CHECK;

#endif
