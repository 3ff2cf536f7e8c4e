/* An SQLite database: events, args, tracks, flows, clock pairs, the ledger (docs/formats.md describes the tables).
 *
 * Rows of events go many to a statement, which costs SQLite a fraction of one by one.  Names and words are numbers.  An
 * arrow leads from a host event to each device event that it caused, and wherever the program drew one. */
#include <math.h>

#include "base/status.h"
#include "export/seen.h"
#include "export/sqlite.h"
#include "wire/json.h"

#define ROWS 32
#define COLUMNS 16
/* Of how many events one stands in start_index. */
#define START_STEP 1024
#define EVENT_ROW "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
#define FOUR(row) row "," row "," row "," row

struct sqlite {
	struct sqlite_file file;
	sqlite3_stmt *many, *one, *name, *arg, *flow, *start;
	struct seen names;
	epp_event rows[ROWS]; /* what waits; their args, names and tracks are not looked at */
	int rows_count;
	int64_t next_event; /* the row of the first that waits */
};

static void bind_event(sqlite3_stmt *statement, int column, int64_t row, const epp_event *event)
{
	const int64_t values[COLUMNS] = {
		row,         event->start_ns, event->duration_ns, event->name_number,     event->track->track,
		event->lane, event->depth,    (int64_t)event->id, (int64_t)event->parent, event->run,
		event->kind, event->category, event->placement,   event->start_error_ns,  event->end_error_ns,
		event->flags
	};

	for (int i = 0; i < COLUMNS; i++)
		sqlite3_bind_int64(statement, column + i, values[i]);
	if (!event->parent)
		sqlite3_bind_null(statement, column + 8);
}

static epp_status *flush_rows(struct sqlite *sqlite)
{
	if (sqlite->rows_count == ROWS) {
		for (int i = 0; i < ROWS; i++)
			bind_event(sqlite->many, 1 + i * COLUMNS, sqlite->next_event++, &sqlite->rows[i]);
		sqlite->rows_count = 0;
		return sqlite_step(&sqlite->file, sqlite->many);
	}
	for (int i = 0; i < sqlite->rows_count; i++) {
		bind_event(sqlite->one, 1, sqlite->next_event++, &sqlite->rows[i]);
		EPP_TRY(sqlite_step(&sqlite->file, sqlite->one));
	}
	sqlite->rows_count = 0;
	return NULL;
}

static epp_status *insert_name(struct sqlite *sqlite, const epp_event *event)
{
	sqlite3_bind_int64(sqlite->name, 1, event->name_number);
	EPP_TRY(sqlite_bind_text(&sqlite->file, sqlite->name, 2, event->name, event->name_bytes));
	return sqlite_step(&sqlite->file, sqlite->name);
}

/* Beyond SQLite's integers, and what is no number, becomes text: nothing is rounded. */
static epp_status *bind_value(struct sqlite *sqlite, const epp_trace_arg *arg)
{
	char number[JSON_NUMBER_BYTES], *end;

	if (arg->type == EPP_ARG_TEXT)
		return sqlite_bind_text(&sqlite->file, sqlite->arg, 4, arg->value.text, arg->text_bytes);
	if (arg->type == EPP_ARG_F64 && isfinite(arg->value.f64)) {
		sqlite3_bind_double(sqlite->arg, 4, arg->value.f64);
	} else if (arg->type == EPP_ARG_F64) {
		end = json_f64(number, arg->value.f64);
		sqlite3_bind_text(sqlite->arg, 4, number + 1, (int)(end - number) - 2, SQLITE_TRANSIENT);
	} else if (arg->type == EPP_ARG_U64 && arg->value.u64 > INT64_MAX) {
		end = json_u64(number, arg->value.u64);
		sqlite3_bind_text(sqlite->arg, 4, number, (int)(end - number), SQLITE_TRANSIENT);
	} else {
		sqlite3_bind_int64(sqlite->arg, 4, arg->value.i64);
	}
	return NULL;
}

static epp_status *insert_args(struct sqlite *sqlite, int64_t row, const epp_event *event)
{
	const epp_trace_arg *args = export_args(event);

	sqlite3_bind_int64(sqlite->arg, 1, row);
	for (uint32_t i = 0; i < event->args_count; i++) {
		sqlite3_bind_int64(sqlite->arg, 2, i);
		EPP_TRY(sqlite_bind_text(&sqlite->file, sqlite->arg, 3, args[i].key, args[i].key_bytes));
		EPP_TRY(bind_value(sqlite, &args[i]));
		EPP_TRY(sqlite_step(&sqlite->file, sqlite->arg));
	}
	return NULL;
}

static epp_status *insert_flow(struct sqlite *sqlite, const char *kind, const epp_event *event)
{
	sqlite3_bind_int64(sqlite->flow, 1, event->track->source);
	sqlite3_bind_text(sqlite->flow, 2, kind, -1, SQLITE_STATIC);
	sqlite3_bind_int64(sqlite->flow, 3, (int64_t)event->parent);
	sqlite3_bind_int64(sqlite->flow, 4, (int64_t)event->id);
	sqlite3_bind_int64(sqlite->flow, 5, event->start_ns);
	return sqlite_step(&sqlite->file, sqlite->flow);
}

static epp_status *insert_start(struct sqlite *sqlite, const epp_event *event)
{
	sqlite3_bind_int64(sqlite->start, 1, event->start_ns);
	sqlite3_bind_int64(sqlite->start, 2, sqlite->next_event + sqlite->rows_count);
	return sqlite_step(&sqlite->file, sqlite->start);
}

static epp_status *sqlite_event(struct export_run *run, const epp_event *event)
{
	struct sqlite *sqlite = run->state;
	bool first;

	EPP_TRY(seen_meet(&sqlite->names, event->name_number, &first));
	if (first)
		EPP_TRY(insert_name(sqlite, event));
	if (event->args_count)
		EPP_TRY(insert_args(sqlite, sqlite->next_event + sqlite->rows_count, event));
	if (event->kind == EPP_EVENT_FLOW)
		EPP_TRY(insert_flow(sqlite, "drawn", event));
	else if (event->track->kind == EPP_TRACK_DEVICE && event->parent)
		EPP_TRY(insert_flow(sqlite, "launch", event));
	if ((sqlite->next_event + sqlite->rows_count) % START_STEP == 1)
		EPP_TRY(insert_start(sqlite, event));
	sqlite->rows[sqlite->rows_count++] = *event;
	return sqlite->rows_count == ROWS ? flush_rows(sqlite) : NULL;
}

static epp_status *sqlite_begin(struct export_run *run)
{
	struct sqlite *sqlite = run->state;
	struct sqlite_file *file = &sqlite->file;

	sqlite->next_event = 1;
	EPP_TRY(sqlite_file_open(file));
	EPP_TRY(sqlite_tables_begin(run, file));
	EPP_TRY(sqlite_prepare(file, "INSERT INTO events VALUES" FOUR(FOUR(EVENT_ROW "," EVENT_ROW)), &sqlite->many));
	EPP_TRY(sqlite_prepare(file, "INSERT INTO events VALUES" EVENT_ROW, &sqlite->one));
	EPP_TRY(sqlite_prepare(file, "INSERT INTO names VALUES(?,?)", &sqlite->name));
	EPP_TRY(sqlite_prepare(file, "INSERT INTO args VALUES(?,?,?,?)", &sqlite->arg));
	EPP_TRY(sqlite_prepare(file, "INSERT INTO start_index VALUES(?,?)", &sqlite->start));
	return sqlite_prepare(file, "INSERT INTO flows(source, kind, from_id, to_id, time_ns) VALUES(?,?,?,?,?)",
	                      &sqlite->flow);
}

static void finalize(struct sqlite *sqlite)
{
	sqlite3_stmt **const statements[] = { &sqlite->many, &sqlite->one,  &sqlite->name,
		                              &sqlite->arg,  &sqlite->flow, &sqlite->start };

	for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
		sqlite3_finalize(*statements[i]);
		*statements[i] = NULL;
	}
}

static epp_status *sqlite_end(struct export_run *run)
{
	struct sqlite *sqlite = run->state;

	EPP_TRY(flush_rows(sqlite));
	finalize(sqlite);
	EPP_TRY(sqlite_tables_end(run, &sqlite->file));
	return sqlite_file_send(&sqlite->file, run->sink);
}

static void sqlite_deinit(struct export_run *run)
{
	struct sqlite *sqlite = run->state;

	finalize(sqlite);
	sqlite_file_deinit(&sqlite->file);
	seen_deinit(&sqlite->names);
}

const struct export_writer export_sqlite = {
	.format = { "sqlite", ".sqlite", "an SQLite database: events, args, tracks, flows, clock pairs, the ledger" },
	.state_bytes = sizeof(struct sqlite),
	.begin = sqlite_begin,
	.event = sqlite_event,
	.end = sqlite_end,
	.deinit = sqlite_deinit,
};
