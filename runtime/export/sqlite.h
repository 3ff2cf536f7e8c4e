/* What the parts of the SQLite writer share: statements with their mistakes (sqlite_file.c), the tables but for the events
 * (sqlite_tables.c), the events (sqlite.c). */
#ifndef EPPROF_EXPORT_SQLITE_H
#define EPPROF_EXPORT_SQLITE_H

#include <sqlite3.h>

#include "export/writer.h"
#include "wire/json.h"

/* A database in a temporary file, which nobody else sees. */
struct sqlite_file {
	sqlite3 *db;
	bool has_fd;
	int fd; /* of the same file, to read it back */
};

/* Errors, here and below: EPP_IO with SQLite's message. */
epp_status *sqlite_file_open(struct sqlite_file *file) EPP_MUST_CHECK;
/* Closes the database and hands its bytes over. */
epp_status *sqlite_file_send(struct sqlite_file *file, struct sink *sink) EPP_MUST_CHECK;
void sqlite_file_deinit(struct sqlite_file *file);

/* What the last call of SQLite failed with. */
epp_status *sqlite_status(struct sqlite_file *file) EPP_MUST_CHECK;
epp_status *sqlite_run(struct sqlite_file *file, const char *sql) EPP_MUST_CHECK;
epp_status *sqlite_prepare(struct sqlite_file *file, const char *sql, sqlite3_stmt **statement) EPP_MUST_CHECK;
/* Text of any bytes, mended. */
epp_status *sqlite_bind_text(struct sqlite_file *file, sqlite3_stmt *statement, int index, const char *text, size_t bytes)
    EPP_MUST_CHECK;
/* Runs a statement that gives no rows, and makes it ready for the next time; bound values stay. */
epp_status *sqlite_step(struct sqlite_file *file, sqlite3_stmt *statement) EPP_MUST_CHECK;

/* The value of an arg as SQLite can hold it: nothing is rounded, so integers beyond its own, and what is no number, are text.
 * Ownership: `text` is the arg's, or in `number`. */
struct sqlite_value {
	int type; /* SQLITE_INTEGER, SQLITE_FLOAT, SQLITE_TEXT */
	int64_t integer;
	double real;
	const char *text;
	size_t bytes;
	char number[JSON_NUMBER_BYTES];
};
void sqlite_value_of(const epp_trace_arg *arg, struct sqlite_value *value);

/* A table: its name, and its columns as CREATE TABLE has them.  The last one's name is NULL. */
struct sqlite_table {
	const char *name, *columns;
};
extern const struct sqlite_table sqlite_tables[];
epp_status *sqlite_table_create(struct sqlite_file *file, const struct sqlite_table *table) EPP_MUST_CHECK;

/* Fill tables that are there and empty.  Facts count what the run's timeline has shown so far. */
epp_status *sqlite_insert_words(struct sqlite_file *file) EPP_MUST_CHECK;
epp_status *sqlite_insert_runs(struct export_run *run, struct sqlite_file *file) EPP_MUST_CHECK;
epp_status *sqlite_insert_tracks(struct export_run *run, struct sqlite_file *file) EPP_MUST_CHECK;
epp_status *sqlite_insert_pairs(struct export_run *run, struct sqlite_file *file) EPP_MUST_CHECK;
epp_status *sqlite_insert_ledger(struct export_run *run, struct sqlite_file *file) EPP_MUST_CHECK;
epp_status *sqlite_insert_facts(struct export_run *run, struct sqlite_file *file) EPP_MUST_CHECK;

/* The tables of an export, empty but for what is known before the events: words, runs, tracks. */
epp_status *sqlite_tables_begin(struct export_run *run, struct sqlite_file *file) EPP_MUST_CHECK;
/* Clock pairs, ledger, facts; indexes and views. */
epp_status *sqlite_tables_end(struct export_run *run, struct sqlite_file *file) EPP_MUST_CHECK;

#endif
