/* Opens connections for SQL over a trace, and runs queries.  A connection is an in-memory database whose large tables
 * are virtual.  The small tables (names under the trace's own numbers, tracks, runs, clock pairs, ledger) are filled
 * when a statement that reads them is prepared.  SQLite calls the authorizer for each table that a statement reads and
 * for any other action. */
#include <math.h>
#include <stdlib.h>

#include "base/status.h"
#include "sql/sql.h"

#define BIT(index) (UINT64_C(1) << (index))

int sql_fail(struct epp_sql *sql, epp_status *status)
{
	if (!status)
		return SQLITE_OK;
	int code = epp_status_code(status) == EPP_OUT_OF_MEMORY ? SQLITE_NOMEM
	           : epp_status_code(status) == EPP_CANCELLED   ? SQLITE_INTERRUPT
	                                                        : SQLITE_ERROR;
	status_keep(&sql->status, status);
	return code;
}

bool sql_bound(sqlite3_value *value, int64_t *bound)
{
	int type = sqlite3_value_type(value);
	double real;

	if (type == SQLITE_INTEGER) {
		*bound = sqlite3_value_int64(value);
		return true;
	}
	if (type != SQLITE_FLOAT)
		return false;
	real = floor(sqlite3_value_double(value));
	if (real >= 0x1p63)
		*bound = INT64_MAX;
	else if (real < -0x1p63)
		*bound = INT64_MIN;
	else
		*bound = (int64_t)real;
	return true;
}

/* ---- virtual tables ---- */

const char *sql_columns_of(const char *name)
{
	const struct sqlite_table *table = sqlite_tables;

	while (table->name && strcmp(table->name, name) != 0)
		table++;
	return table->columns;
}

/* Connects a virtual table.  SQLite may call this again at any time.  SQLite calls the authorizer for the declaration
 * of the columns; sql->trusted is set meanwhile, so that it is allowed. */
int sql_vtab_connect(struct epp_sql *sql, const struct sql_table_view *view, const char *columns, sqlite3_vtab **made)
{
	struct sql_vtab *table = calloc(1, sizeof *table);
	char *declaration = sqlite3_mprintf("CREATE TABLE x%s", columns);
	bool trusted = sql->trusted;
	int code = SQLITE_NOMEM;

	sql->trusted = true;
	if (table && declaration)
		code = sqlite3_declare_vtab(sql->db, declaration);
	sql->trusted = trusted;
	sqlite3_free(declaration);
	if (code != SQLITE_OK) {
		free(table);
		return code;
	}
	table->sql = sql;
	table->view = view;
	*made = &table->base;
	return SQLITE_OK;
}

int sql_vtab_disconnect(sqlite3_vtab *table)
{
	free(table);
	return SQLITE_OK;
}

/* ---- the small tables ---- */

/* Fills the table of names.  Some numbers have no name, so the loop ends when it has found as many names as the trace
 * has. */
static epp_status *fill_names(struct export_run *run, sqlite3 *db)
{
	const char *unknown = epp_trace_name(run->trace, UINT32_MAX, NULL);
	epp_status *status = NULL;
	uint64_t found = 0;
	sqlite3_stmt *statement;

	EPP_TRY(sqlite_prepare(db, "INSERT INTO names VALUES(?,?)", &statement));
	for (uint32_t i = 0; found < run->info->names_count && !status; i++) {
		size_t bytes;
		const char *text = epp_trace_name(run->trace, i, &bytes);
		if (text == unknown)
			continue;
		found++;
		sqlite3_bind_int64(statement, 1, i);
		status = sqlite_bind_text(db, statement, 2, text, bytes);
		if (!status)
			status = sqlite_step(db, statement);
	}
	sqlite3_finalize(statement);
	return status;
}

/* Calls `fill` with a new timeline.  `reads_all_first`: a pass over all events is made first, which the facts need. */
static epp_status *with_timeline(struct export_run *run, sqlite3 *db, bool reads_all_first,
                                 epp_status *(*fill)(struct export_run *, sqlite3 *))
{
	epp_status *status = NULL;
	epp_timeline *timeline;
	const epp_event *event;

	EPP_TRY(epp_timeline_create(run->trace, run->options ? run->options->timeline : NULL, &timeline));
	run->timeline = timeline;
	if (reads_all_first) {
		while (!export_is_cancelled(run) && epp_timeline_next(timeline, &event))
			;
		status = export_is_cancelled(run) ? epp_status_create(EPP_CANCELLED, "cancelled")
		                                  : epp_timeline_status(timeline);
	}
	if (!status)
		status = fill(run, db);
	run->timeline = NULL;
	epp_timeline_destroy(timeline);
	return status;
}

static epp_status *fill_pairs(struct export_run *run, sqlite3 *db)
{
	return with_timeline(run, db, false, sqlite_insert_pairs);
}

static epp_status *fill_facts(struct export_run *run, sqlite3 *db)
{
	return with_timeline(run, db, true, sqlite_insert_facts);
}

static const struct {
	const char *name;
	epp_status *(*fill)(struct export_run *run, sqlite3 *db);
} small_tables[] = {
	{ "names", fill_names },       { "tracks", sqlite_insert_tracks }, { "runs", sqlite_insert_runs },
	{ "clock_pairs", fill_pairs }, { "ledger", sqlite_insert_ledger }, { "facts", fill_facts },
};
#define SMALL_TABLES_COUNT (sizeof small_tables / sizeof *small_tables)
static const char *const word_tables[] = { "kinds", "categories", "placements", "flag_names", "works" };
#define WORD_TABLES_COUNT (sizeof word_tables / sizeof *word_tables)

static epp_status *fill_table(struct epp_sql *sql, size_t index)
{
	epp_status *status = sqlite_run(sql->db, "SAVEPOINT filling");

	if (!status)
		status = small_tables[index].fill(&sql->run, sql->db);
	if (!status)
		status = sqlite_run(sql->db, "RELEASE filling");
	if (!status) {
		sql->filled |= BIT(index);
		return NULL;
	}
	epp_status_destroy(sqlite_run(sql->db, "ROLLBACK TO filling; RELEASE filling"));
	return status;
}

static epp_status *fill_wanted(struct epp_sql *sql)
{
	epp_status *status = NULL;
	bool trusted = sql->trusted;

	sql->trusted = true;
	for (size_t i = 0; i < SMALL_TABLES_COUNT && !status; i++) {
		if (sql->wanted & ~sql->filled & BIT(i))
			status = fill_table(sql, i);
	}
	sql->trusted = trusted;
	return status;
}

epp_status *sql_fill_all(struct epp_sql *sql)
{
	sql->wanted = BIT(SMALL_TABLES_COUNT) - 1;
	return fill_wanted(sql);
}

/* ---- authorization ---- */

static int is_harmless_pragma(const char *name, const char *argument)
{
	static const char *const of_tables[] = { "table_info", "table_xinfo", "index_list", "index_info", "index_xinfo" };
	static const char *const plain[] = { "table_list",     "function_list", "module_list",
		                             "collation_list", "database_list", "compile_options" };

	for (size_t i = 0; i < sizeof of_tables / sizeof *of_tables; i++) {
		if (sqlite3_stricmp(name, of_tables[i]) == 0)
			return 1;
	}
	for (size_t i = 0; i < sizeof plain / sizeof *plain && !argument; i++) {
		if (sqlite3_stricmp(name, plain[i]) == 0)
			return 1;
	}
	return 0;
}

static int authorize(void *user, int action, const char *first, const char *second, const char *database,
                     const char *trigger_or_view)
{
	struct epp_sql *sql = user;

	(void)database, (void)trigger_or_view;
	if (sql->trusted)
		return SQLITE_OK;
	switch (action) {
	case SQLITE_READ:
		for (size_t i = 0; i < SMALL_TABLES_COUNT; i++) {
			if (strcmp(first, small_tables[i].name) == 0)
				sql->wanted |= BIT(i);
		}
		return SQLITE_OK;
	case SQLITE_SELECT:
	case SQLITE_RECURSIVE:
	case SQLITE_FUNCTION:
		return SQLITE_OK;
	case SQLITE_PRAGMA:
		return is_harmless_pragma(first, second) ? SQLITE_OK : SQLITE_DENY;
	default:
		return SQLITE_DENY;
	}
}

static epp_status *make_tables(struct epp_sql *sql)
{
	for (const struct sqlite_table *table = sqlite_tables; table->name; table++) {
		bool small = false;
		for (size_t i = 0; i < SMALL_TABLES_COUNT; i++)
			small = small || strcmp(table->name, small_tables[i].name) == 0;
		for (size_t i = 0; i < WORD_TABLES_COUNT; i++)
			small = small || strcmp(table->name, word_tables[i]) == 0;
		if (small)
			EPP_TRY(sqlite_table_create(sql->db, table));
	}
	EPP_TRY(sqlite_insert_words(sql->db));
	EPP_TRY(sql_events_register(sql));
	return sql_args_register(sql);
}

epp_status *sql_open(const struct export_run *run, struct filter *filter, struct epp_sql **opened)
{
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
	struct epp_sql *sql = calloc(1, sizeof *sql);

	*opened = sql;
	if (!sql)
		return epp_status_no_memory();
	sql->trace = run->trace;
	sql->run = *run;
	sql->filter = filter;
	sql->trusted = true;
	if (sqlite3_open_v2(":memory:", &sql->db, flags, NULL) != SQLITE_OK)
		return epp_status_no_memory();
	return make_tables(sql);
}

epp_status *epp_sql_create(epp_trace *trace, epp_sql **opened)
{
	struct epp_sql *sql;

	if (!opened)
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_sql_create: sql is NULL");
	*opened = NULL;
	if (!trace)
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_sql_create: trace is NULL");
	const struct export_run run = {
		.trace = trace, .info = epp_trace_get_info(trace), .from_ns = INT64_MIN, .to_ns = INT64_MAX
	};
	epp_status *status = sql_open(&run, NULL, &sql);
	if (status) {
		epp_sql_destroy(sql);
		return status;
	}
	sql->trusted = false;
	sqlite3_db_config(sql->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_set_authorizer(sql->db, authorize, sql);
	*opened = sql;
	return NULL;
}

void epp_sql_destroy(epp_sql *sql)
{
	if (!sql)
		return;
	sqlite3_close(sql->db);
	sql_memory_deinit(&sql->memory);
	sql_stored_args_deinit(&sql->args);
	free(sql->marks.marks);
	inherited_deinit(&sql->inherited);
	free(sql->trace_ids);
	epp_status_destroy(sql->status);
	free(sql);
}

void epp_sql_interrupt(epp_sql *sql)
{
	sql->interrupted = 1;
	sqlite3_interrupt(sql->db);
}

int epp_sql_is_complete(const char *text)
{
	return sqlite3_complete(text);
}

int epp_sql_table_at(size_t index, const char **name, const char **columns)
{
	static const char *const order[] = { "events", "timeline",   "args",        "flows",      "names",
		                             "tracks", "runs",       "clock_pairs", "ledger",     "facts",
		                             "kinds",  "categories", "placements",  "flag_names", "works" };

	if (index >= sizeof order / sizeof *order)
		return 0;
	*name = order[index];
	*columns = strcmp(*name, "timeline") == 0 ? sql_timeline_columns : sql_columns_of(*name);
	return 1;
}

/* ---- queries ---- */

struct epp_sql_rows {
	struct epp_sql *sql;
	sqlite3_stmt *statement;
	size_t columns_count;
	epp_sql_value values[];
};

static epp_status *failure(struct epp_sql *sql)
{
	epp_status *status = sql->status;
	int code = sqlite3_errcode(sql->db);

	sql->status = NULL;
	if (status)
		return status;
	if (code == SQLITE_NOMEM)
		return epp_status_no_memory();
	if (code == SQLITE_INTERRUPT)
		return epp_status_create(EPP_CANCELLED, "interrupted");
	if (code == SQLITE_AUTH)
		return epp_status_create(EPP_INVALID_ARGUMENT, "a trace can only be read: %s", sqlite3_errmsg(sql->db));
	return epp_status_create(code == SQLITE_FULL || code == SQLITE_IOERR ? EPP_IO : EPP_INVALID_ARGUMENT, "%s",
	                         sqlite3_errmsg(sql->db));
}

epp_status *epp_sql_query(epp_sql *sql, const char *text, const char **rest, epp_sql_rows **rows)
{
	sqlite3_stmt *statement = NULL;
	const char *end = NULL;
	epp_status *status;

	if (!sql || !text || !rows)
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_sql_query: sql, text or rows is NULL");
	*rows = NULL;
	if (rest)
		*rest = text + strlen(text);
	epp_status_destroy(sql->status);
	sql->status = NULL;
	sql->interrupted = 0;
	sql->wanted = 0;
	sql->queries = 0;
	if (sqlite3_prepare_v2(sql->db, text, -1, &statement, &end) != SQLITE_OK)
		return failure(sql);
	if (rest)
		*rest = end;
	if (!statement)
		return NULL;
	status = fill_wanted(sql);
	size_t count = (size_t)sqlite3_column_count(statement);
	epp_sql_rows *made = status ? NULL : calloc(1, sizeof *made + count * sizeof *made->values);
	if (!made) {
		sqlite3_finalize(statement);
		return status ? status : epp_status_no_memory();
	}
	made->sql = sql;
	made->statement = statement;
	made->columns_count = count;
	*rows = made;
	return NULL;
}

size_t epp_sql_rows_columns_count(const epp_sql_rows *rows)
{
	return rows->columns_count;
}

const char *epp_sql_rows_column_name(const epp_sql_rows *rows, size_t index)
{
	return index < rows->columns_count ? sqlite3_column_name(rows->statement, (int)index) : NULL;
}

static void take_value(sqlite3_stmt *statement, int index, epp_sql_value *value)
{
	*value = (epp_sql_value){ .type = EPP_SQL_NULL };
	switch (sqlite3_column_type(statement, index)) {
	case SQLITE_NULL:
		break;
	case SQLITE_INTEGER:
		value->type = EPP_SQL_INTEGER;
		value->integer = sqlite3_column_int64(statement, index);
		break;
	case SQLITE_FLOAT:
		value->type = EPP_SQL_REAL;
		value->real = sqlite3_column_double(statement, index);
		break;
	default:
		value->type = EPP_SQL_TEXT;
		value->text = (const char *)sqlite3_column_text(statement, index);
		value->text_bytes = (size_t)sqlite3_column_bytes(statement, index);
		break;
	}
}

epp_status *epp_sql_rows_next(epp_sql_rows *rows, const epp_sql_value **values)
{
	int code;

	*values = NULL;
	code = sqlite3_step(rows->statement);
	if (code == SQLITE_DONE)
		return NULL;
	if (code != SQLITE_ROW)
		return failure(rows->sql);
	for (size_t i = 0; i < rows->columns_count; i++) {
		take_value(rows->statement, (int)i, &rows->values[i]);
		if (rows->values[i].type == EPP_SQL_TEXT && !rows->values[i].text)
			return epp_status_no_memory();
	}
	*values = rows->values;
	return NULL;
}

void epp_sql_rows_destroy(epp_sql_rows *rows)
{
	if (!rows)
		return;
	sqlite3_finalize(rows->statement);
	free(rows);
}
