/* epprof: SQL queries over a trace.
 *
 *   epp_sql *sql;
 *   epp_sql_create(trace, &sql);
 *   epp_sql_query(sql, "SELECT name, count(*) FROM timeline GROUP BY name", NULL, &rows);
 *   while (!(status = epp_sql_rows_next(rows, &values)) && values) ...
 *   epp_sql_rows_destroy(rows);
 *   epp_sql_destroy(sql);
 *
 * The language is SQLite's, and the tables are those of the SQLite export (docs/formats.md).  Rows of events, timeline,
 * args and flows are read from the trace while the query runs: nothing is loaded in advance, and a query with a
 * condition on a range of start_ns reads only that part of the trace.  The small tables are filled at their first use.
 * Statements that write, ATTACH and load_extension are refused.
 *
 * Memory: that of SQLite for the query, and the names if a query uses them.  The first query that looks up single
 * events (for example a join on an id or a parent) adds up to 104 bytes an event.
 *
 * Thread, unless a function says otherwise: one at a time for one trace and all objects that are open on it. */
#ifndef EPPROF_SQL_H
#define EPPROF_SQL_H

#include "epprof/trace_reader.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct epp_sql epp_sql;
typedef struct epp_sql_rows epp_sql_rows;

/* Opens a trace for queries.
 * Ownership: the caller destroys `*sql` before the trace is closed.  Errors: EPP_OUT_OF_MEMORY. */
EPP_EXPORT epp_status *epp_sql_create(epp_trace *trace, epp_sql **sql) EPP_MUST_CHECK;

/* Destroys `sql`.  All its rows must have been destroyed before.  NULL does nothing. */
EPP_EXPORT void epp_sql_destroy(epp_sql *sql);

/* Prepares the first statement of `text`.  If `rest` is not NULL, `*rest` is the text after that statement.  If the
 * text has only blanks and comments, `*rows` is NULL.
 * Ownership: the caller destroys `*rows`.  Errors: EPP_INVALID_ARGUMENT with SQLite's message (an invalid statement, or
 * one that would write), EPP_CORRUPT, EPP_IO, EPP_OUT_OF_MEMORY. */
EPP_EXPORT epp_status *epp_sql_query(epp_sql *sql, const char *text, const char **rest, epp_sql_rows **rows)
    EPP_MUST_CHECK;

typedef enum epp_sql_type { EPP_SQL_NULL = 0, EPP_SQL_INTEGER = 1, EPP_SQL_REAL = 2, EPP_SQL_TEXT = 3 } epp_sql_type;

typedef struct epp_sql_value {
	uint32_t type; /* epp_sql_type */
	uint32_t reserved;
	int64_t integer;
	double real;
	const char *text; /* UTF-8 (for a blob: its bytes), NUL-terminated; NULL if the value is not a text */
	size_t text_bytes;
} epp_sql_value;

EPP_EXPORT size_t epp_sql_rows_columns_count(const epp_sql_rows *rows);
/* Returns the name of a column; NULL beyond the last.
 * Ownership: valid until the rows are destroyed. */
EPP_EXPORT const char *epp_sql_rows_column_name(const epp_sql_rows *rows, size_t index);

/* Gets the next row, one value a column; NULL after the last row and after an error.
 * Ownership: valid until the next call.  Errors: as epp_sql_query; EPP_CANCELLED (epp_sql_interrupt). */
EPP_EXPORT epp_status *epp_sql_rows_next(epp_sql_rows *rows, const epp_sql_value **values) EPP_MUST_CHECK;

/* Destroys rows; NULL does nothing. */
EPP_EXPORT void epp_sql_rows_destroy(epp_sql_rows *rows);

/* Interrupts the running query, which soon ends with EPP_CANCELLED.
 * Thread: [any-thread], [signal-safe]; not while `sql` is being destroyed. */
EPP_EXPORT void epp_sql_interrupt(epp_sql *sql);

/* Returns 1 if `text` ends with a complete statement, 0 if more lines belong to it.
 * Thread: [any-thread]. */
EPP_EXPORT int epp_sql_is_complete(const char *text);

/* Gets a table: its name, and its columns as written in CREATE TABLE.  Returns 0 beyond the last table.
 * Thread: [any-thread].  Ownership: valid for the life of the process. */
EPP_EXPORT int epp_sql_table_at(size_t index, const char **name, const char **columns);

#ifdef __cplusplus
}
#endif
#endif
