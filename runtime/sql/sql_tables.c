/* The columns of all tables, in SQL over a trace and in an SQLite export, and the functions that fill the small tables.
 * Only the columns of `timeline` are in other files: this table is virtual in SQL over a trace (sql_events.c) and a
 * view in an SQLite export (sqlite.c).
 *
 * The row number of an event is its position in the order of start.  Words have their own tables.  Args are clustered
 * by event. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/status.h"
#include "encoding/utf8.h"
#include "export/facts.h"
#include "export/ledger.h"
#include "sql/sql.h"
#include "timeline/clock_samples.h"
#include "timeline/events/work_kind.h"

const struct sqlite_table sqlite_tables[] = {
	{ "events",
	  "(event INTEGER PRIMARY KEY, start_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL,"
	  " name INTEGER NOT NULL REFERENCES names, track INTEGER NOT NULL REFERENCES tracks, lane INTEGER NOT NULL,"
	  " depth INTEGER NOT NULL, id INTEGER NOT NULL, parent INTEGER, run INTEGER NOT NULL,"
	  " kind INTEGER NOT NULL REFERENCES kinds, category INTEGER NOT NULL REFERENCES categories,"
	  " placement INTEGER NOT NULL REFERENCES placements, start_error_ns INTEGER NOT NULL, end_error_ns INTEGER NOT NULL,"
	  " flags INTEGER NOT NULL, work INTEGER REFERENCES works, correlation INTEGER,"
	  " trace_id TEXT, weight INTEGER NOT NULL)" },
	{ "start_index", "(start_ns INTEGER NOT NULL, event INTEGER PRIMARY KEY)" },
	{ "names", "(name INTEGER PRIMARY KEY, text TEXT NOT NULL)" },
	{ "args", "(event INTEGER NOT NULL REFERENCES events, number INTEGER NOT NULL, key TEXT NOT NULL, value,"
	          " PRIMARY KEY(event, number)) WITHOUT ROWID" },
	{ "tracks",
	  "(track INTEGER PRIMARY KEY, source INTEGER NOT NULL, kind TEXT NOT NULL, pid INTEGER, thread_id INTEGER,"
	  " device INTEGER, stream INTEGER, ticks_per_second INTEGER, name TEXT NOT NULL, group_name TEXT NOT NULL)" },
	{ "flows", "(flow INTEGER PRIMARY KEY, source INTEGER NOT NULL, kind TEXT NOT NULL, from_id INTEGER NOT NULL,"
	           " to_id INTEGER NOT NULL, time_ns INTEGER NOT NULL)" },
	{ "runs", "(run INTEGER NOT NULL, start_ns INTEGER NOT NULL, end_ns INTEGER, start_unix_ns INTEGER NOT NULL)" },
	{ "clock_pairs", "(source INTEGER NOT NULL, device_clock INTEGER, ticks INTEGER NOT NULL, time_ns INTEGER NOT NULL,"
	                 " half_width_ns INTEGER NOT NULL, monotonic_ns INTEGER, realtime_ns INTEGER)" },
	{ "ledger", "(source INTEGER, producer TEXT NOT NULL, entry TEXT NOT NULL, reason TEXT, events INTEGER NOT NULL)" },
	{ "facts", "(key TEXT PRIMARY KEY, value) WITHOUT ROWID" },
	{ "kinds", "(kind INTEGER PRIMARY KEY, text TEXT NOT NULL)" },
	{ "categories", "(category INTEGER PRIMARY KEY, text TEXT NOT NULL)" },
	{ "placements", "(placement INTEGER PRIMARY KEY, text TEXT NOT NULL)" },
	{ "flag_names", "(flag INTEGER PRIMARY KEY, text TEXT NOT NULL)" },
	{ "works", "(work INTEGER PRIMARY KEY, text TEXT NOT NULL)" },
	{ NULL, NULL },
};

/* ---- statements ---- */

static epp_status *status_of(sqlite3 *db)
{
	int code = db ? sqlite3_errcode(db) : SQLITE_NOMEM;

	if (code == SQLITE_NOMEM)
		return epp_status_no_memory();
	return epp_status_create(EPP_IO, "the temporary database: %s", sqlite3_errmsg(db));
}

epp_status *sqlite_run(sqlite3 *db, const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? NULL : status_of(db);
}

epp_status *sqlite_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **statement)
{
	if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL) == SQLITE_OK)
		return NULL;
	return status_of(db);
}

epp_status *sqlite_bind_text(sqlite3 *db, sqlite3_stmt *statement, int index, const char *text, size_t bytes)
{
	char *mended = malloc(bytes * 3 + 1);

	if (!mended)
		return epp_status_no_memory();
	size_t mended_bytes = (size_t)(utf8_repair(mended, text, bytes) - mended);
	if (sqlite3_bind_text64(statement, index, mended, mended_bytes, free, SQLITE_UTF8) == SQLITE_OK)
		return NULL;
	return status_of(db);
}

void sqlite_value_of(const epp_trace_arg *arg, struct sqlite_value *value)
{
	value->type = SQLITE_TEXT;
	value->text = value->number;
	if (arg->type == EPP_ARG_TEXT) {
		value->text = arg->text_bytes ? arg->value.text : "";
		value->bytes = arg->text_bytes;
	} else if (arg->type == EPP_ARG_F64 && isfinite(arg->value.f64)) {
		value->type = SQLITE_FLOAT;
		value->real = arg->value.f64;
	} else if (arg->type == EPP_ARG_F64) {
		/* json_f64 writes NaN and infinity in quotes, which are removed here. */
		value->text = value->number + 1;
		value->bytes = (size_t)(json_f64(value->number, arg->value.f64) - value->number) - 2;
	} else if (arg->type == EPP_ARG_U64 && arg->value.u64 > INT64_MAX) {
		value->bytes = (size_t)(json_u64(value->number, arg->value.u64) - value->number);
	} else {
		value->type = SQLITE_INTEGER;
		value->integer = arg->value.i64;
	}
}

epp_status *sqlite_step(sqlite3 *db, sqlite3_stmt *statement)
{
	epp_status *status = sqlite3_step(statement) == SQLITE_DONE ? NULL : status_of(db);

	sqlite3_reset(statement);
	return status;
}

/* ---- rows ---- */

epp_status *sqlite_table_create(sqlite3 *db, const struct sqlite_table *table)
{
	char *sql = sqlite3_mprintf("CREATE TABLE %s%s", table->name, table->columns);
	epp_status *status = sql ? sqlite_run(db, sql) : epp_status_no_memory();

	sqlite3_free(sql);
	return status;
}

static epp_status *insert_words(sqlite3 *db, const char *table, unsigned first, unsigned count,
                                const char *(*word)(unsigned))
{
	char sql[128];

	for (unsigned i = first; i < first + count; i++) {
		snprintf(sql, sizeof sql, "INSERT INTO %s VALUES(%u, '%s')", table, i, word(i));
		EPP_TRY(sqlite_run(db, sql));
	}
	return NULL;
}

static const char *flag_word(unsigned flag)
{
	return export_flags[__builtin_ctz(flag)];
}

static const char *work_word(unsigned work)
{
	return work_names[work];
}

static void bind_known(sqlite3_stmt *statement, int index, bool known, int64_t value)
{
	if (known)
		sqlite3_bind_int64(statement, index, value);
	else
		sqlite3_bind_null(statement, index);
}

static epp_status *insert_track(sqlite3 *db, sqlite3_stmt *statement, const epp_trace_track *track)
{
	sqlite3_bind_int64(statement, 1, track->track);
	sqlite3_bind_int64(statement, 2, track->source);
	sqlite3_bind_text(statement, 3, epp_track_kind_name(track->kind), -1, SQLITE_STATIC);
	bind_known(statement, 4, track->pid, track->pid);
	bind_known(statement, 5, export_has_thread(track), track->thread_id);
	bind_known(statement, 6, track->device >= 0, track->device);
	bind_known(statement, 7, track->kind == EPP_TRACK_DEVICE, track->stream);
	sqlite3_bind_int64(statement, 8, (int64_t)track->ticks_per_second);
	EPP_TRY(sqlite_bind_text(db, statement, 9, track->name, strlen(track->name)));
	EPP_TRY(sqlite_bind_text(db, statement, 10, track->group, strlen(track->group)));
	return sqlite_step(db, statement);
}

epp_status *sqlite_insert_tracks(struct export_run *run, sqlite3 *db)
{
	epp_status *status = NULL;
	const epp_trace_track *track;
	sqlite3_stmt *statement;

	EPP_TRY(sqlite_prepare(db, "INSERT INTO tracks VALUES(?,?,?,?,?,?,?,?,?,?)", &statement));
	for (size_t i = 0; !status && (track = epp_trace_track_at(run->trace, i)) != NULL; i++)
		status = insert_track(db, statement, track);
	sqlite3_finalize(statement);
	return status;
}

epp_status *sqlite_insert_words(sqlite3 *db)
{
	EPP_TRY(insert_words(db, "kinds", EPP_EVENT_SLICE, EPP_EVENT_ASYNC, export_kind));
	EPP_TRY(insert_words(db, "categories", EPP_SESSION, EPP_API + 1, export_category));
	EPP_TRY(insert_words(db, "placements", EPP_PLACED_MEASURED, EPP_PLACEMENT_COUNT, epp_placement_name));
	for (unsigned bit = 0; bit < EXPORT_FLAGS_COUNT; bit++)
		EPP_TRY(insert_words(db, "flag_names", 1u << bit, 1, flag_word));
	return insert_words(db, "works", WORK_KERNEL, WORK_COUNT, work_word);
}

epp_status *sqlite_insert_runs(struct export_run *run, sqlite3 *db)
{
	epp_status *status = NULL;
	sqlite3_stmt *statement;
	epp_trace_run of_trace = { .struct_size = sizeof(of_trace) };

	EPP_TRY(sqlite_prepare(db, "INSERT INTO runs VALUES(?,?,?,?)", &statement));
	for (size_t i = 0; !status && epp_trace_run_at(run->trace, i, &of_trace); i++) {
		sqlite3_bind_int64(statement, 1, of_trace.run);
		sqlite3_bind_int64(statement, 2, of_trace.start_ns);
		bind_known(statement, 3, of_trace.ended, of_trace.end_ns);
		sqlite3_bind_int64(statement, 4, of_trace.start_unix_ns);
		status = sqlite_step(db, statement);
	}
	sqlite3_finalize(statement);
	return status;
}

epp_status *sqlite_insert_pairs(struct export_run *run, sqlite3 *db)
{
	epp_status *status = NULL;
	struct timeline_pair pair;
	sqlite3_stmt *statement;

	EPP_TRY(sqlite_prepare(db, "INSERT INTO clock_pairs VALUES(?,?,?,?,?,?,?)", &statement));
	for (size_t i = 0; !status && timeline_pair_at(run->timeline, i, &pair); i++) {
		sqlite3_bind_int64(statement, 1, pair.source);
		bind_known(statement, 2, pair.is_device, pair.clock);
		sqlite3_bind_int64(statement, 3, (int64_t)pair.ticks);
		sqlite3_bind_int64(statement, 4, pair.time_ns);
		sqlite3_bind_int64(statement, 5, pair.half_width_ns);
		bind_known(statement, 6, !pair.is_device, pair.monotonic_ns);
		bind_known(statement, 7, !pair.is_device, pair.realtime_ns);
		status = sqlite_step(db, statement);
	}
	sqlite3_finalize(statement);
	return status;
}

static epp_status *insert_account(sqlite3 *db, sqlite3_stmt *statement, const epp_trace_ledger_entry *account)
{
	struct ledger_entry entries[LEDGER_ENTRIES_MAX];
	size_t count = ledger_entries(account, entries);

	bind_known(statement, 1, account->source != LEDGER_NO_SOURCE, account->source);
	EPP_TRY(sqlite_bind_text(db, statement, 2, account->producer, strlen(account->producer)));
	for (size_t i = 0; i < count; i++) {
		sqlite3_bind_text(statement, 3, entries[i].entry, -1, SQLITE_STATIC);
		sqlite3_bind_text(statement, 4, entries[i].reason, -1, SQLITE_STATIC);
		sqlite3_bind_int64(statement, 5, (int64_t)entries[i].events);
		EPP_TRY(sqlite_step(db, statement));
	}
	return NULL;
}

epp_status *sqlite_insert_ledger(struct export_run *run, sqlite3 *db)
{
	size_t count = ledger_count(run);
	epp_status *status = NULL;
	sqlite3_stmt *statement;

	EPP_TRY(sqlite_prepare(db, "INSERT INTO ledger VALUES(?,?,?,?,?)", &statement));
	for (size_t i = 0; !status && i < count; i++) {
		epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
		status = ledger_at(run, i, &account);
		if (!status)
			status = insert_account(db, statement, &account);
	}
	sqlite3_finalize(statement);
	return status;
}

static epp_status *insert_fact(sqlite3 *db, sqlite3_stmt *statement, const struct fact *fact)
{
	sqlite3_bind_text(statement, 1, fact->key, -1, SQLITE_STATIC);
	if (fact->kind == FACT_TEXT)
		EPP_TRY(sqlite_bind_text(db, statement, 2, fact->value.text, strlen(fact->value.text)));
	else
		sqlite3_bind_int64(statement, 2, fact->value.i64);
	return sqlite_step(db, statement);
}

epp_status *sqlite_insert_facts(struct export_run *run, sqlite3 *db)
{
	struct fact facts[FACTS_MAX];
	size_t count = facts_collect(run, facts);
	epp_status *status = NULL;
	sqlite3_stmt *statement;

	EPP_TRY(sqlite_prepare(db, "INSERT INTO facts VALUES(?,?)", &statement));
	for (size_t i = 0; !status && i < count; i++)
		status = insert_fact(db, statement, &facts[i]);
	sqlite3_finalize(statement);
	return status;
}
