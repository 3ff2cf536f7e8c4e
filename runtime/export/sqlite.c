/* An SQLite database: events, args, tracks, flows, clock pairs, the ledger (docs/formats.md describes the tables).
 *
 * The rows of events are laid out here and put into the file behind SQLite's back (sqlite_tree.h); all else it does itself.
 * Names and words are numbers.  An arrow leads from a host event to each device event that it caused, and wherever the
 * program drew one. */
#include "export/sqlite.h"
#include "base/status.h"
#include "export/seen.h"
#include "export/sqlite_tree.h"
#include "timeline/work.h"

#define COLUMNS 17
/* Those among them that may be missing. */
enum { PARENT = 7, WORK = 15, CORRELATION = 16 };
/* Of how many events one stands in start_index. */
#define START_STEP 1024

struct sqlite {
	struct sqlite_file file;
	struct sqlite_tree events;
	sqlite3_stmt *name, *arg, *flow, *start;
	struct seen names;
};

static epp_status *add_event(struct sqlite *sqlite, const epp_event *event)
{
	enum work work = work_of(NULL, event);
	uint64_t correlation = 0;
	bool is_joined = work != WORK_NONE && work_correlation(NULL, event, &correlation);
	const int64_t values[COLUMNS] = { event->start_ns,
		                          event->duration_ns,
		                          event->name_number,
		                          event->track->track,
		                          event->lane,
		                          event->depth,
		                          (int64_t)event->id,
		                          (int64_t)event->parent,
		                          event->run,
		                          event->kind,
		                          event->category,
		                          event->placement,
		                          event->start_error_ns,
		                          event->end_error_ns,
		                          event->flags,
		                          work,
		                          (int64_t)correlation };

	return sqlite_tree_add(&sqlite->events, values, COLUMNS,
	                       (event->parent ? 0 : 1u << PARENT) | (work == WORK_NONE ? 1u << WORK : 0) |
	                           (is_joined ? 0 : 1u << CORRELATION));
}

static epp_status *insert_name(struct sqlite *sqlite, const epp_event *event)
{
	sqlite3_bind_int64(sqlite->name, 1, event->name_number);
	EPP_TRY(sqlite_bind_text(&sqlite->file, sqlite->name, 2, event->name, event->name_bytes));
	return sqlite_step(&sqlite->file, sqlite->name);
}

static epp_status *bind_value(struct sqlite *sqlite, const epp_trace_arg *arg)
{
	struct sqlite_value value;

	sqlite_value_of(arg, &value);
	if (value.type == SQLITE_TEXT)
		return sqlite_bind_text(&sqlite->file, sqlite->arg, 4, value.text, value.bytes);
	if (value.type == SQLITE_FLOAT)
		sqlite3_bind_double(sqlite->arg, 4, value.real);
	else
		sqlite3_bind_int64(sqlite->arg, 4, value.integer);
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
	sqlite3_bind_int64(sqlite->start, 2, sqlite->events.rows_count + 1);
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
		EPP_TRY(insert_args(sqlite, sqlite->events.rows_count + 1, event));
	if (event->kind == EPP_EVENT_FLOW)
		EPP_TRY(insert_flow(sqlite, "drawn", event));
	else if (event->track->kind == EPP_TRACK_DEVICE && event->parent)
		EPP_TRY(insert_flow(sqlite, "launch", event));
	if (sqlite->events.rows_count % START_STEP == 0)
		EPP_TRY(insert_start(sqlite, event));
	return add_event(sqlite, event);
}

static epp_status *sqlite_begin(struct export_run *run)
{
	struct sqlite *sqlite = run->state;
	struct sqlite_file *file = &sqlite->file;

	EPP_TRY(sqlite_tree_init(&sqlite->events));
	EPP_TRY(sqlite_file_open(file));
	EPP_TRY(sqlite_tables_begin(run, file));
	EPP_TRY(sqlite_prepare(file, "INSERT INTO names VALUES(?,?)", &sqlite->name));
	EPP_TRY(sqlite_prepare(file, "INSERT INTO args VALUES(?,?,?,?)", &sqlite->arg));
	EPP_TRY(sqlite_prepare(file, "INSERT INTO start_index VALUES(?,?)", &sqlite->start));
	return sqlite_prepare(file, "INSERT INTO flows(source, kind, from_id, to_id, time_ns) VALUES(?,?,?,?,?)",
	                      &sqlite->flow);
}

static void finalize(struct sqlite *sqlite)
{
	sqlite3_stmt **const statements[] = { &sqlite->name, &sqlite->arg, &sqlite->flow, &sqlite->start };

	for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
		sqlite3_finalize(*statements[i]);
		*statements[i] = NULL;
	}
}

/* Between two transactions, when SQLite keeps nothing of the file in mind. */
static epp_status *append_events(struct sqlite *sqlite)
{
	sqlite3_stmt *statement;
	epp_status *status = NULL;

	EPP_TRY(sqlite_run(&sqlite->file, "COMMIT"));
	EPP_TRY(sqlite_prepare(&sqlite->file, "SELECT rootpage FROM sqlite_schema WHERE name = 'events'", &statement));
	uint32_t root = 0;
	if (sqlite3_step(statement) == SQLITE_ROW)
		root = (uint32_t)sqlite3_column_int64(statement, 0);
	else
		status = sqlite_status(&sqlite->file);
	sqlite3_finalize(statement);
	return status ? status : sqlite_tree_append(&sqlite->events, sqlite->file.fd, root);
}

static epp_status *sqlite_end(struct export_run *run)
{
	struct sqlite *sqlite = run->state;

	finalize(sqlite);
	EPP_TRY(append_events(sqlite));
	EPP_TRY(sqlite_tables_end(run, &sqlite->file));
	return sqlite_file_send(&sqlite->file, run->sink);
}

static void sqlite_deinit(struct export_run *run)
{
	struct sqlite *sqlite = run->state;

	finalize(sqlite);
	sqlite_tree_deinit(&sqlite->events);
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
