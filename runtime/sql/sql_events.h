/* The tables events, timeline and flows: three variants of one virtual table, with a common cursor and common
 * fields. */
#ifndef EPPROF_RUNTIME_SQL_SQL_EVENTS_H
#define EPPROF_RUNTIME_SQL_SQL_EVENTS_H

#include "sql/sql.h"

enum sql_field {
	SQL_NUMBER,
	SQL_START,
	SQL_DURATION,
	SQL_NAME,
	SQL_TRACK,
	SQL_LANE,
	SQL_DEPTH,
	SQL_ID,
	SQL_PARENT,
	SQL_RUN,
	SQL_KIND,
	SQL_CATEGORY,
	SQL_PLACEMENT,
	SQL_START_ERROR,
	SQL_END_ERROR,
	SQL_FLAGS,
	SQL_WEIGHT,
	SQL_KIND_TEXT,
	SQL_NAME_TEXT,
	SQL_CATEGORY_TEXT,
	SQL_SOURCE,
	SQL_PID,
	SQL_GROUP,
	SQL_THREAD,
	SQL_TRACK_NAME,
	SQL_DEVICE,
	SQL_STREAM,
	SQL_PLACEMENT_TEXT,
	SQL_FLOW_KIND,
	SQL_TRACE_ID,
	SQL_OP_TYPE, /* this field and those below come from the args */
	SQL_WORK,
	SQL_WORK_TEXT,
	SQL_CORRELATION
};

struct sql_table_view {
	const char *name;
	const char *columns; /* NULL: the same columns as in the export */
	bool flows;          /* the table only has arrows, which have their own numbers */
	uint8_t fields[28];  /* enum sql_field of each column */
};

/* Bits for the comparisons in a query's WHERE that a cursor evaluates.  SQLite passes their values in the order of the
 * bits.  SQL_WITH_NUMBERS is not a comparison: it is another flag for the cursor. */
enum {
	SQL_AT_START = 1,
	SQL_FROM_START = 2,
	SQL_BEHIND_START = 4,
	SQL_UP_TO_START = 8,
	SQL_BEFORE_START = 16,
	SQL_OF_TRACK = 32,
	SQL_OF_NAME = 64,
	SQL_OF_ID = 128,
	SQL_OF_PARENT = 256,
	SQL_OF_NUMBER = 512,
	SQL_COMPARISONS_COUNT = 10,
	SQL_WITH_NUMBERS = 1024
};

/* sql_cursor.c: the functions of the module for cursors, which SQLite calls. */
int sql_cursor_open(sqlite3_vtab *table, sqlite3_vtab_cursor **cursor);
int sql_cursor_close(sqlite3_vtab_cursor *cursor);
int sql_cursor_filter(sqlite3_vtab_cursor *cursor, int comparisons, const char *text, int count, sqlite3_value **values);
int sql_cursor_next(sqlite3_vtab_cursor *cursor);
int sql_cursor_ended(sqlite3_vtab_cursor *cursor);
int sql_cursor_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column);

/* sql_values.c: sets a field of an event as the result.  Does not handle SQL_NUMBER. */
void sql_result_field(sqlite3_context *context, const epp_event *event, enum sql_field field);

#endif
