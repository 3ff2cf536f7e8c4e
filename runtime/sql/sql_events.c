/* The tables events, timeline and flows as SQLite modules, and the columns of timeline.  Comparisons that exclude many
 * rows are passed to the cursor: a range of starts, one track, name, id, parent or number.  The cursor may also return
 * rows that do not match, because SQLite checks each row again. */
#include <stdio.h>
#include <stdlib.h>

#include "base/status.h"
#include "sql/sql_events.h"

const char sql_timeline_columns[] =
    "(event INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, category TEXT NOT NULL, start_ns INTEGER NOT NULL,"
    " duration_ns INTEGER NOT NULL, source INTEGER NOT NULL, pid INTEGER, group_name TEXT NOT NULL, thread_id INTEGER,"
    " track INTEGER NOT NULL, track_name TEXT NOT NULL, device INTEGER, stream INTEGER, lane INTEGER NOT NULL,"
    " depth INTEGER NOT NULL, id INTEGER NOT NULL, parent INTEGER, run INTEGER NOT NULL, placement TEXT NOT NULL,"
    " start_error_ns INTEGER NOT NULL, end_error_ns INTEGER NOT NULL, flags INTEGER NOT NULL, op_type TEXT,"
    " work TEXT, correlation INTEGER, trace_id TEXT, weight INTEGER NOT NULL)";

static const struct sql_table_view table_views[] = {
	{ "events", NULL, false, { SQL_NUMBER, SQL_START,    SQL_DURATION,    SQL_NAME,        SQL_TRACK,
	                           SQL_LANE,   SQL_DEPTH,    SQL_ID,          SQL_PARENT,      SQL_RUN,
	                           SQL_KIND,   SQL_CATEGORY, SQL_PLACEMENT,   SQL_START_ERROR, SQL_END_ERROR,
	                           SQL_FLAGS,  SQL_WORK,     SQL_CORRELATION, SQL_TRACE_ID,    SQL_WEIGHT } },
	{ "timeline",
	  sql_timeline_columns,
	  false,
	  { SQL_NUMBER,      SQL_KIND_TEXT,  SQL_NAME_TEXT, SQL_CATEGORY_TEXT, SQL_START,
	    SQL_DURATION,    SQL_SOURCE,     SQL_PID,       SQL_GROUP,         SQL_THREAD,
	    SQL_TRACK,       SQL_TRACK_NAME, SQL_DEVICE,    SQL_STREAM,        SQL_LANE,
	    SQL_DEPTH,       SQL_ID,         SQL_PARENT,    SQL_RUN,           SQL_PLACEMENT_TEXT,
	    SQL_START_ERROR, SQL_END_ERROR,  SQL_FLAGS,     SQL_OP_TYPE,       SQL_WORK_TEXT,
	    SQL_CORRELATION, SQL_TRACE_ID,   SQL_WEIGHT } },
	{ "flows", NULL, true, { SQL_NUMBER, SQL_SOURCE, SQL_FLOW_KIND, SQL_PARENT, SQL_ID, SQL_START } },
};
#define FACES_COUNT (sizeof table_views / sizeof *table_views)

/* ---- the query plan ---- */

static int comparison_of(const struct sql_table_view *view, const struct sqlite3_index_constraint *constraint)
{
	enum sql_field field = constraint->iColumn < 0 ? SQL_NUMBER : (enum sql_field)view->fields[constraint->iColumn];
	bool equal = constraint->op == SQLITE_INDEX_CONSTRAINT_EQ;

	if (!constraint->usable)
		return 0;
	if (field == SQL_START) {
		switch (constraint->op) {
		case SQLITE_INDEX_CONSTRAINT_EQ:
			return SQL_AT_START;
		case SQLITE_INDEX_CONSTRAINT_GE:
			return SQL_FROM_START;
		case SQLITE_INDEX_CONSTRAINT_GT:
			return SQL_BEHIND_START;
		case SQLITE_INDEX_CONSTRAINT_LE:
			return SQL_UP_TO_START;
		case SQLITE_INDEX_CONSTRAINT_LT:
			return SQL_BEFORE_START;
		default:
			return 0;
		}
	}
	if (!equal || (view->flows && field == SQL_NUMBER))
		return 0;
	return field == SQL_TRACK    ? SQL_OF_TRACK
	       : field == SQL_NAME   ? SQL_OF_NAME
	       : field == SQL_ID     ? SQL_OF_ID
	       : field == SQL_PARENT ? SQL_OF_PARENT
	       : field == SQL_NUMBER ? SQL_OF_NUMBER
	                             : 0;
}

/* Estimated number of an event's children. */
#define CHILDREN_ESTIMATE 4

/* Estimates cost and rows of a query.  Only a cheap lookup may get a low cost, because SQLite repeats queries with a
 * low cost in inner loops. */
static void estimate(const struct sql_vtab *table, int comparisons, sqlite3_index_info *info)
{
	double all = (double)table->sql->run.info->records_count + 100, rows = all;

	if (comparisons & (SQL_AT_START | SQL_FROM_START | SQL_BEHIND_START))
		rows /= 8;
	if (comparisons & (SQL_AT_START | SQL_UP_TO_START | SQL_BEFORE_START))
		rows /= 8;
	if (comparisons & (SQL_AT_START | SQL_OF_ID | SQL_OF_NUMBER))
		rows = 1;
	else if (comparisons & SQL_OF_PARENT)
		rows = CHILDREN_ESTIMATE;
	info->estimatedCost = rows + 20;
	if (comparisons & (SQL_OF_TRACK | SQL_OF_NAME))
		rows /= 16;
	info->estimatedRows = rows < 1 ? 1 : (sqlite3_int64)rows;
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	const struct sql_vtab *table = (struct sql_vtab *)base;
	int places[SQL_COMPARISONS_COUNT], comparisons = 0, next = 0;
	bool numbers = (info->colUsed & 1) != 0;

	for (int i = 0; i < info->nConstraint; i++) {
		int comparison = comparison_of(table->view, &info->aConstraint[i]);
		/* The number of a flow is the count of flows before it, so a query for numbers must read all flows, and
		 * no constraint is used. */
		if (!comparison || comparisons & comparison || (table->view->flows && numbers))
			continue;
		comparisons |= comparison;
		places[__builtin_ctz((unsigned)comparison)] = i;
	}
	for (int bit = 0; bit < SQL_COMPARISONS_COUNT; bit++) {
		if (comparisons & 1 << bit)
			info->aConstraintUsage[places[bit]].argvIndex = ++next;
	}
	estimate(table, comparisons, info);
	info->idxNum = comparisons | (numbers ? SQL_WITH_NUMBERS : 0);
	info->orderByConsumed = info->nOrderBy == 1 && !info->aOrderBy[0].desc && info->aOrderBy[0].iColumn >= 0 &&
	                        (table->view->fields[info->aOrderBy[0].iColumn] == SQL_START ||
	                         table->view->fields[info->aOrderBy[0].iColumn] == SQL_NUMBER);
	return SQLITE_OK;
}

/* ---- the module ---- */

static int connect(sqlite3 *db, void *user, int count, const char *const *words, sqlite3_vtab **table, char **error)
{
	const struct sql_table_view *view = table_views;

	(void)db, (void)error, (void)count;
	while (strcmp(words[2], view->name) != 0)
		view++;
	return sql_vtab_connect(user, view, view->columns ? view->columns : sql_columns_of(view->name), table);
}

static const sqlite3_module module = {
	.iVersion = 1,
	.xCreate = connect,
	.xConnect = connect,
	.xBestIndex = best_index,
	.xDisconnect = sql_vtab_disconnect,
	.xDestroy = sql_vtab_disconnect,
	.xOpen = sql_cursor_open,
	.xClose = sql_cursor_close,
	.xFilter = sql_cursor_filter,
	.xNext = sql_cursor_next,
	.xEof = sql_cursor_ended,
	.xColumn = sql_cursor_column,
};

epp_status *sql_events_register(struct epp_sql *sql)
{
	if (sqlite3_create_module(sql->db, "epprof_events", &module, sql) != SQLITE_OK)
		return epp_status_no_memory();
	for (size_t i = 0; i < FACES_COUNT; i++) {
		char text[96];
		snprintf(text, sizeof text, "CREATE VIRTUAL TABLE %s USING epprof_events", table_views[i].name);
		EPP_TRY(sqlite_run(sql->db, text));
	}
	return NULL;
}
