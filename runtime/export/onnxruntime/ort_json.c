/* Writes the JSON of ONNX Runtime's own profiler with the same keys and spaces, but always valid: characters that need
 * an escape get one.
 *
 * One record a line, times in integer microseconds, rounded down.  Host events are written in order of their end, so a
 * record waits until no later event can end before it; the number of waiting records is about that of open events.
 * Events of execution providers follow after the host events; meanwhile they are in a temporary file.  Events that ONNX
 * Runtime's collector recorded have the profile's own times as args, and events that were imported from a provider's
 * profile have its rows too: these are written back with their original values, independent of their placement on the
 * timeline; all other events get their place on the same clock.  The last record, with duration 0, is the ledger.  The
 * format has no instants, counters or arrows; these are counted. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/status.h"
#include "encoding/json.h"
#include "epprof/epprof.h"
#include "export/ledger.h"
#include "export/onnxruntime/event_spool.h"
#include "export/onnxruntime/ort_args.h"
#include "export/onnxruntime/pending.h"
#include "export/pieces.h"
#include "export/rows.h"
#include "export/writer.h"

/* The categories with a name, and one for all others. */
#define CATEGORIES_COUNT 5u

struct ort {
	struct rows rows;
	struct pieces names;
	struct {
		uint8_t bytes;
		char text[31]; /* the separator before a record, and the record up to its category */
	} beginnings[CATEGORIES_COUNT];
	struct pending pending;
	struct sink_memory memory;    /* a record that is too long for the buffer */
	struct sink record;           /* its buffer is reserved in `pending` */
	struct event_spool providers; /* events of execution providers */
	struct ort_args args;
	int64_t last_end_ns;
	int64_t origin_us; /* the origin of `ts`, since the epoch, if the first event has its own times */
	uint64_t instants, counters, flows, rounded;
	bool any, settled, has_origin;
};

/* Room for a record up to its name (the row's text, two numbers, words), and for a complete record of usual size. */
#define HEAD_BYTES 256u
#define RECORD_BYTES (2 * SINK_RESERVE_MAX)

/* Converts a time since the epoch to one since the origin.  The sum may wrap, because a file can contain any number. */
static int64_t since_origin(const struct ort *ort, int64_t us)
{
	return (int64_t)((uint64_t)us - (uint64_t)ort->origin_us);
}

/* Converts a time to the clock of `ts`. */
static int64_t timestamp_us(const struct export_run *run, int64_t ns)
{
	const struct ort *ort = run->state;

	return ort->has_origin ? since_origin(ort, ort_microseconds(run->info->epoch_unix_ns + ns)) : ort_microseconds(ns);
}

/* ---- records ---- */

#define PUT(at, literal) ((char *)mempcpy(at, literal, sizeof(literal) - 1))

/* Writes the record up to the row. */
static inline char *put_category(const struct ort *ort, char *at, const epp_event *event, size_t skipped)
{
	unsigned category = event->category < CATEGORIES_COUNT ? event->category : CATEGORIES_COUNT - 1;

	memcpy(at, ort->beginnings[category].text + skipped, sizeof ort->beginnings[category].text - 1);
	return at + ort->beginnings[category].bytes - skipped;
}

/* The text with a row's numbers is constant, so it is cached in the row. */
static inline char *put_row(char *at, struct row *row)
{
	if (!row->text_bytes)
		row->text_bytes = (uint8_t)snprintf(row->text, sizeof row->text,
		                                    "\",\"pid\" :%u,\"tid\" :%u,\"dur\" :", row->pid, row->tid);
	memcpy(at, row->text, sizeof row->text);
	return at + row->text_bytes;
}

static char *put_own_row(char *at, const struct ort_own *own)
{
	at = json_i64(PUT(at, "\",\"pid\" :"), own->pid);
	at = json_i64(PUT(at, ",\"tid\" :"), own->tid);
	return PUT(at, ",\"dur\" :");
}

static inline char *put_times(char *at, int64_t duration_us, int64_t start_us)
{
	at = json_i64(at, duration_us);
	return json_i64(PUT(at, ",\"ts\" :"), start_us);
}

/* Writes the part between the time and the args. */
static void write_name(struct sink *sink, const epp_event *event)
{
	sink_text(sink, ",\"ph\" : \"X\",\"name\" :\"");
	sink_json_text(sink, event->name, event->name_bytes);
	sink_text(sink, "\",\"args\" : {");
}

/* Returns the args from ONNX Runtime's own profile.  A provider's profile without a start time is used only if the
 * trace has no wall-clock time either; otherwise its times have no common origin. */
static struct ort_own own_of(const struct export_run *run, const epp_event *event)
{
	struct ort_own own = ort_own_of(event);

	if (own.has_row && !own.profile_us && run->info->epoch_unix_ns)
		own = (struct ort_own){ .args_count = own.args_count };
	return own;
}

/* Writes a record with the separator before it, without the first `skipped` bytes of the separator. */
static epp_status *write_record(struct export_run *run, struct sink *sink, const epp_event *event, size_t skipped)
{
	struct ort *ort = run->state;
	const struct ort_own own = own_of(run, event);
	struct row *row;

	if (!ort->settled) {
		ort->settled = true;
		ort->has_origin = own.has_times;
		ort->origin_us = own.has_times ? own.profile_us : ort_microseconds(run->info->epoch_unix_ns);
	}
	ort->rounded += !own.has_times && (event->start_ns % 1000 || event->duration_ns % 1000);
	char *at = put_category(ort, sink_reserve(sink, HEAD_BYTES), event, skipped);
	if (own.has_row) {
		at = put_own_row(at, &own);
	} else {
		/* Slices in ONNX Runtime's microseconds may overlap, so all lanes of a thread keep its number. */
		bool on_thread = event->track->kind == EPP_TRACK_THREAD && event->kind == EPP_EVENT_SLICE;
		uint32_t lane = on_thread ? 0 : event->lane;
		row = rows_recent(&ort->rows, event->track, lane);
		if (!row)
			EPP_TRY(rows_find(&ort->rows, run->info, event->track, lane, &row));
		at = put_row(at, row);
	}
	if (own.has_times)
		at = put_times(at, own.duration_us,
		               since_origin(ort, (int64_t)((uint64_t)own.profile_us + (uint64_t)own.start_us)));
	else
		at = put_times(at, ort_microseconds(event->duration_ns), timestamp_us(run, event->start_ns));
	sink_commit(sink, at);
	pieces_write(&ort->names, sink, event, (uint64_t)event->name_number << 32, write_name);
	ort_write_args(run, &ort->args, sink, event, &own);
	return NULL;
}

/* Writes the records of events that ended before `before_ns`. The first record of the file has no comma. */
static epp_status *write_ended(struct export_run *run, int64_t before_ns)
{
	struct ort *ort = run->state;
	const char *text;
	size_t bytes;

	EPP_TRY(pending_select(&ort->pending, before_ns));
	while (pending_next(&ort->pending, &text, &bytes)) {
		bool comma = ort->any;
		ort->any = true;
		sink_bytes(run->sink, text + !comma, bytes - !comma);
	}
	return NULL;
}

/* Writes the record directly into the pending buffer; a record that is too long is copied there afterwards. */
static epp_status *host_event(struct export_run *run, const epp_event *event)
{
	struct ort *ort = run->state;
	struct sink *record = &ort->record;
	uint64_t pushes_count = record->pushes_count;
	int64_t end_ns = event->start_ns + event->duration_ns;

	if (end_ns == INT64_MAX)
		end_ns--; /* write_ended at the end selects times before INT64_MAX */
	if (pending_is_due(&ort->pending))
		EPP_TRY(write_ended(run, event->start_ns));
	EPP_TRY(pending_reserve(&ort->pending, RECORD_BYTES, &record->buffer));
	record->at = record->buffer;
	record->limit = record->buffer + RECORD_BYTES;
	EPP_TRY(write_record(run, record, event, 0));
	if (record->pushes_count == pushes_count) {
		pending_commit(&ort->pending, end_ns, (size_t)(record->at - record->buffer));
		return NULL;
	}
	epp_status *status = sink_flush(record);
	if (!status)
		status = pending_push(&ort->pending, end_ns, ort->memory.bytes, ort->memory.count);
	ort->memory.count = 0;
	return status;
}

static epp_status *ort_event(struct export_run *run, const epp_event *event)
{
	struct ort *ort = run->state;
	int64_t end_ns = event->start_ns + event->duration_ns;

	if (event->kind != EPP_EVENT_SLICE && event->kind != EPP_EVENT_ASYNC) {
		ort->instants += event->kind == EPP_EVENT_INSTANT;
		ort->counters += event->kind == EPP_EVENT_COUNTER;
		ort->flows += event->kind == EPP_EVENT_FLOW;
		return NULL;
	}
	if (end_ns > ort->last_end_ns)
		ort->last_end_ns = end_ns;
	if (!ort_of_provider(event))
		return host_event(run, event);
	event_spool_put(&ort->providers, event);
	return NULL;
}

/* ---- the document ---- */

static epp_status *ort_begin(struct export_run *run)
{
	struct ort *ort = run->state;

	sink_text(run->sink, "[");
	for (unsigned i = 0; i < CATEGORIES_COUNT; i++)
		ort->beginnings[i].bytes = (uint8_t)snprintf(ort->beginnings[i].text, sizeof ort->beginnings[i].text,
		                                             ",\n{\"cat\" : \"%s", export_category(i));
	ort->record = (struct sink){ .write = sink_memory_write, .user = &ort->memory };
	return event_spool_init(&ort->providers);
}

/* The first record of the file has no comma. */
static epp_status *write_providers(struct export_run *run)
{
	struct ort *ort = run->state;
	const epp_event *event;

	for (;;) {
		EPP_TRY(event_spool_take(&ort->providers, &event));
		if (!event)
			return NULL;
		EPP_TRY(write_record(run, run->sink, event, !ort->any));
		ort->any = true;
	}
}

static epp_status *write_ledger(struct export_run *run)
{
	struct ort *ort = run->state;
	const epp_timeline_counts *counts = epp_timeline_get_counts(run->timeline);
	struct ledger_total total;

	EPP_TRY(ledger_add_up(run, &total));
	sink_text(run->sink, ort->any ? ",\n" : "\n");
	sink_format(run->sink, "{\"cat\" : \"Session\",\"pid\" :%u,\"tid\" :%u,\"dur\" :0,\"ts\" :%" PRId64,
	            run->info->pid, run->info->pid, timestamp_us(run, ort->last_end_ns));
	sink_text(run->sink, ",\"ph\" : \"X\",\"name\" :\"epprof.ledger\",\"args\" : {");
	ort->args.json_keys.sink = run->sink;
	ort->args.json_keys.count = 0;
	ort_arg_text(&ort->args.json_keys, "writer", "epprof " EPPROF_VERSION);
	ort_arg_text(&ort->args.json_keys, "program", run->info->program ? run->info->program : "");
	ort_arg_text(&ort->args.json_keys, "clock", run->info->clock);
	ort_arg_i64(&ort->args.json_keys, "epoch_unix_ns", run->info->epoch_unix_ns);
	ort_arg_i64(&ort->args.json_keys, "lost", (int64_t)total.lost);
	ort_arg_text(&ort->args.json_keys, "balanced", total.balanced ? "true" : "false");
	ort_arg_i64(&ort->args.json_keys, "correlated", (int64_t)counts->correlated);
	ort_arg_i64(&ort->args.json_keys, "inferred", (int64_t)counts->inferred);
	ort_arg_i64(&ort->args.json_keys, "ambiguous", (int64_t)counts->ambiguous);
	ort_arg_i64(&ort->args.json_keys, "uncorrelated", (int64_t)counts->uncorrelated);
	ort_arg_i64(&ort->args.json_keys, "largest_error_ns", counts->largest_error_ns);
	ort_begin_arg(&ort->args.json_keys, "ledger", strlen("ledger"));
	EPP_TRY(ledger_write(run, run->sink));
	sink_text(run->sink, "}}");
	return NULL;
}

static epp_status *ort_end(struct export_run *run)
{
	struct ort *ort = run->state;

	EPP_TRY(write_ended(run, INT64_MAX));
	EPP_TRY(write_providers(run));
	EPP_TRY(write_ledger(run));
	sink_text(run->sink, "\n]\n");
	export_receipt(run, ort->instants, "%s instant%s left out: the format has none");
	export_receipt(run, ort->counters, "%s counter value%s left out: the format has none");
	export_receipt(run, ort->flows, "%s arrow%s left out: the format has none");
	export_receipt(run, ort->rounded, "%s event%s rounded down to microseconds: the format has nothing finer");
	return NULL;
}

static void ort_deinit(struct export_run *run)
{
	struct ort *ort = run->state;

	rows_deinit(&ort->rows);
	pending_deinit(&ort->pending);
	event_spool_deinit(&ort->providers);
	free(ort->memory.bytes);
}

const struct export_writer export_ort = {
	.format = { "ort", ".json", "ONNX Runtime's profile JSON: integer microseconds, for tools made for it" },
	.state_bytes = sizeof(struct ort),
	.begin = ort_begin,
	.event = ort_event,
	.end = ort_end,
	.deinit = ort_deinit,
};
