/* The tables of SQL over a trace and of an SQLite export: their columns, and the functions that fill the small ones. */
#ifndef EPPROF_RUNTIME_SQL_SQLITE_H
#define EPPROF_RUNTIME_SQL_SQLITE_H

#include <sqlite3.h>

#include "encoding/json.h"
#include "export/writer.h"

/* Errors, here and below: EPP_IO with SQLite's message, EPP_OUT_OF_MEMORY. */
epp_status *sqlite_run(sqlite3 *db, const char *sql) EPP_MUST_CHECK;
epp_status *sqlite_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **statement) EPP_MUST_CHECK;
/* Binds a text of any bytes; invalid UTF-8 is replaced. */
epp_status *sqlite_bind_text(sqlite3 *db, sqlite3_stmt *statement, int index, const char *text, size_t bytes)
    EPP_MUST_CHECK;
/* Runs a statement that returns no rows, and resets it for the next run; bound values are kept. */
epp_status *sqlite_step(sqlite3 *db, sqlite3_stmt *statement) EPP_MUST_CHECK;

/* The value of an arg as an SQLite value.  Nothing is rounded: integers beyond SQLite's range, and values that are not
 * a number, become text.  Ownership: `text` belongs to the arg, or is in `number`. */
struct sqlite_value {
	int type; /* SQLITE_INTEGER, SQLITE_FLOAT, SQLITE_TEXT */
	int64_t integer;
	double real;
	const char *text;
	size_t bytes;
	char number[JSON_NUMBER_BYTES];
};
void sqlite_value_of(const epp_trace_arg *arg, struct sqlite_value *value);

/* A table: its name, and its columns as in CREATE TABLE.  The name of the last table in the list is NULL. */
struct sqlite_table {
	const char *name, *columns;
};
extern const struct sqlite_table sqlite_tables[];
epp_status *sqlite_table_create(sqlite3 *db, const struct sqlite_table *table) EPP_MUST_CHECK;

/* These functions fill existing, empty tables.  Facts count the events that the run's timeline has returned so far. */
epp_status *sqlite_insert_words(sqlite3 *db) EPP_MUST_CHECK;
epp_status *sqlite_insert_runs(struct export_run *run, sqlite3 *db) EPP_MUST_CHECK;
epp_status *sqlite_insert_tracks(struct export_run *run, sqlite3 *db) EPP_MUST_CHECK;
epp_status *sqlite_insert_pairs(struct export_run *run, sqlite3 *db) EPP_MUST_CHECK;
epp_status *sqlite_insert_ledger(struct export_run *run, sqlite3 *db) EPP_MUST_CHECK;
epp_status *sqlite_insert_facts(struct export_run *run, sqlite3 *db) EPP_MUST_CHECK;

#endif
