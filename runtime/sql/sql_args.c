/* The table args: a row for each arg of each event.  It is mostly joined to events by their number.  The args are then
 * those of the current event of the events cursor.  Otherwise the first query reads a timeline; later ones store all
 * args in memory, and read these. */
#include <stdlib.h>

#include "base/status.h"
#include "containers/array.h"
#include "sql/sql.h"

/* ---- stored args ---- */

/* Stores all args in memory, for joins that read the args of many events in any order.  Keys are not copied, because
 * they belong to the trace; texts are copied one after the other. */

void sql_stored_args_deinit(struct sql_stored_args *args)
{
	free(args->args);
	free(args->first_of);
	free(args->texts.bytes);
	*args = (struct sql_stored_args){ 0 };
}

static bool keep_arg(struct sql_stored_args *args, const epp_trace_arg *arg)
{
	if (args->count >= UINT32_MAX || !array_reserve(&args->args, &args->room, args->count + 1, sizeof *args->args))
		return false;
	epp_trace_arg *kept = &args->args[args->count++];
	*kept = *arg;
	if (arg->type != EPP_ARG_TEXT)
		return true;
	kept->value.u64 = args->texts.count;
	return !arg->text_bytes || sink_memory_write(arg->value.text, arg->text_bytes, &args->texts) == arg->text_bytes;
}

/* Stores the args of the scan's current event.  Events must be added in order of their numbers, without gaps. */
static bool keep_event(struct sql_stored_args *args, const struct sql_scan *scan)
{
	size_t cursor = 0;
	epp_trace_arg arg;

	if (!array_reserve(&args->first_of, &args->first_room, args->events_count + 2, sizeof *args->first_of))
		return false;
	args->first_of[args->events_count++] = (uint32_t)args->count;
	while (epp_event_args(scan->timeline, scan->event, &cursor, &arg)) {
		if (!keep_arg(args, &arg))
			return false;
	}
	args->first_of[args->events_count] = (uint32_t)args->count;
	return true;
}

epp_status *sql_stored_args_fill(struct epp_sql *sql)
{
	struct sql_stored_args *args = &sql->args;
	struct sql_scan scan = { 0 };
	epp_status *status;

	if (args->complete)
		return NULL;
	status = sql_scan_start(sql, &scan, INT64_MIN, INT64_MAX, true);
	while (!status && scan.event)
		status = keep_event(args, &scan) ? sql_scan_next(&scan) : epp_status_no_memory();
	sql_scan_end(&scan);
	if (status) {
		sql_stored_args_deinit(args);
		return status;
	}
	for (size_t i = 0; i < args->count; i++) {
		if (args->args[i].type == EPP_ARG_TEXT)
			args->args[i].value.text = args->texts.bytes + args->args[i].value.u64;
	}
	args->complete = true;
	return NULL;
}

const epp_trace_arg *sql_stored_args_of(const struct sql_stored_args *args, int64_t number, size_t *count)
{
	*count = 0;
	if (number < 1 || (uint64_t)number > args->events_count)
		return NULL;
	*count = args->first_of[number] - args->first_of[number - 1];
	/* If no event has an arg, the array is NULL. */
	return *count ? args->args + args->first_of[number - 1] : NULL;
}

/* ---- the table ---- */

enum { EVENT, NUMBER, KEY, VALUE };
enum { OF_EVENT = 1 };

struct cursor {
	sqlite3_vtab_cursor base;
	unsigned lookups_count; /* number of lookups by event number that this cursor has made in this statement */
	struct sql_scan own;
	/* the scan whose current event has the args: the cursor's own, or another cursor's; NULL: they are in memory,
	 * or there are no more */
	const struct sql_scan *scan;
	const epp_trace_arg *stored; /* the remaining args, if they are in memory */
	size_t kept_count;
	bool is_single; /* the query is for the args of one event */
	bool ended;
	int64_t event; /* number of the event */
	size_t position;
	int64_t number; /* number of the arg */
	epp_trace_arg arg;
};

static struct epp_sql *sql_of(const struct cursor *cursor)
{
	return ((struct sql_vtab *)cursor->base.pVtab)->sql;
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	const struct sql_vtab *table = (struct sql_vtab *)base;

	info->estimatedRows = (sqlite3_int64)table->sql->run.info->records_count + 100;
	info->estimatedCost = (double)info->estimatedRows * 2;
	for (int i = 0; i < info->nConstraint && !info->idxNum; i++) {
		const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
		if (!constraint->usable || constraint->iColumn != EVENT || constraint->op != SQLITE_INDEX_CONSTRAINT_EQ)
			continue;
		info->aConstraintUsage[i].argvIndex = 1;
		info->idxNum = OF_EVENT;
		info->estimatedCost = 10;
		info->estimatedRows = 3;
	}
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **base)
{
	struct cursor *cursor = calloc(1, sizeof *cursor);

	(void)table;
	if (!cursor)
		return SQLITE_NOMEM;
	*base = &cursor->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;

	sql_scan_end(&cursor->own);
	free(cursor);
	return SQLITE_OK;
}

/* Moves to the next arg of the event, or to the first arg of a later event. */
static epp_status *step(struct cursor *cursor)
{
	cursor->number++;
	if (cursor->kept_count) {
		cursor->arg = *cursor->stored++;
		cursor->kept_count--;
		return NULL;
	}
	while (cursor->scan && cursor->scan->event) {
		cursor->event = cursor->scan->number;
		if (epp_event_args(cursor->scan->timeline, cursor->scan->event, &cursor->position, &cursor->arg))
			return NULL;
		if (cursor->is_single)
			break;
		cursor->position = 0;
		cursor->number = 0;
		EPP_TRY(sql_scan_next(&cursor->own));
	}
	cursor->ended = true;
	return NULL;
}

static epp_status *begin(struct cursor *cursor, int64_t event)
{
	struct epp_sql *sql = sql_of(cursor);

	cursor->position = 0;
	cursor->number = -1;
	cursor->kept_count = 0;
	cursor->ended = false;
	cursor->scan = cursor->is_single ? sql_scan_on(sql, event) : NULL;
	if (cursor->scan)
		return step(cursor);
	if (cursor->is_single && (cursor->lookups_count++ || sql->args.complete)) {
		EPP_TRY(sql_stored_args_fill(sql));
		cursor->event = event;
		cursor->stored = sql_stored_args_of(&sql->args, event, &cursor->kept_count);
		return step(cursor);
	}
	if (cursor->is_single)
		EPP_TRY(sql_scan_seek(sql, &cursor->own, event));
	else
		EPP_TRY(sql_scan_start(sql, &cursor->own, INT64_MIN, INT64_MAX, true));
	cursor->scan = &cursor->own;
	return step(cursor);
}

static int filter(sqlite3_vtab_cursor *base, int comparisons, const char *text, int count, sqlite3_value **values)
{
	struct cursor *cursor = (struct cursor *)base;
	int64_t event = 0;

	(void)text, (void)count;
	cursor->is_single = comparisons & OF_EVENT && sql_bound(values[0], &event);
	cursor->ended = comparisons & OF_EVENT && sqlite3_value_type(values[0]) == SQLITE_NULL;
	if (cursor->ended)
		return SQLITE_OK;
	return sql_fail(sql_of(cursor), begin(cursor, event));
}

static int next_row(sqlite3_vtab_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;

	return sql_fail(sql_of(cursor), step(cursor));
}

static int is_ended(sqlite3_vtab_cursor *base)
{
	return ((struct cursor *)base)->ended;
}

/* Sets the value of an arg as the result.  A text is copied, because it is valid only until the timeline's next
 * event. */
static void result_value(sqlite3_context *context, const epp_trace_arg *arg)
{
	struct sqlite_value value;

	sqlite_value_of(arg, &value);
	if (value.type == SQLITE_TEXT)
		sql_result_copy(context, value.text, value.bytes);
	else if (value.type == SQLITE_FLOAT)
		sqlite3_result_double(context, value.real);
	else
		sqlite3_result_int64(context, value.integer);
}

static int result(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	const struct cursor *cursor = (struct cursor *)base;

	if (column == EVENT)
		sqlite3_result_int64(context, cursor->event);
	else if (column == NUMBER)
		sqlite3_result_int64(context, cursor->number);
	else if (column == KEY)
		sql_result_text(context, cursor->arg.key, cursor->arg.key_bytes);
	else
		result_value(context, &cursor->arg);
	return SQLITE_OK;
}

static int connect(sqlite3 *db, void *user, int count, const char *const *words, sqlite3_vtab **table, char **error)
{
	(void)db, (void)count, (void)words, (void)error;
	return sql_vtab_connect(user, NULL, sql_columns_of("args"), table);
}

static const sqlite3_module module = {
	.iVersion = 1,
	.xCreate = connect,
	.xConnect = connect,
	.xBestIndex = best_index,
	.xDisconnect = sql_vtab_disconnect,
	.xDestroy = sql_vtab_disconnect,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter,
	.xNext = next_row,
	.xEof = is_ended,
	.xColumn = result,
};

epp_status *sql_args_register(struct epp_sql *sql)
{
	if (sqlite3_create_module(sql->db, "epprof_args", &module, sql) != SQLITE_OK)
		return epp_status_no_memory();
	return sqlite_run(sql->db, "CREATE VIRTUAL TABLE args USING epprof_args");
}
