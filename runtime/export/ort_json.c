/* The JSON that ONNX Runtime's own profiler writes, key for key and space for space, but valid: what must be escaped is.
 *
 * One record a line, integer microseconds, rounded down.  Host events come in order of their end, so a record waits until
 * no event can end before it: what waits is what is open.  Events of execution providers follow; meanwhile they lie in a
 * temporary file.  What ONNX Runtime's collector recorded has the profile's own times as args: these events get them back, to the
 * digit, and all others their place on the same clock.  An arg that is a JSON array or object stands as it is, every other
 * is a string, numbers too.  The last record, of no duration, is the ledger.  Instants, counters and arrows have no place in
 * this format and are counted. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/status.h"
#include "epprof/epprof.h"
#include "export/ledger.h"
#include "export/members.h"
#include "export/pending.h"
#include "export/rows.h"
#include "export/sink_spool.h"
#include "export/writer.h"
#include "wire/json.h"

struct ort {
	struct rows rows;
	struct pending pending;
	struct sink_memory memory; /* one long record, before it waits */
	struct sink record;
	struct sink_spool providers; /* records of execution providers, each with its separator in front */
	struct members members;
	int64_t last_end_ns;
	int64_t origin_us; /* what `ts` counts from, since the epoch, if the first event has times of its own */
	uint64_t instants, counters, flows, rounded;
	bool any, any_of_providers, settled, has_origin;
	bool providers_again; /* one of them came before the origin was settled: all are written in a second pass */
};

/* The args that bridges/ort_event_args.c puts first: the event's times in ONNX Runtime's own profile.  A fourth may follow,
 * which is not ONNX Runtime's either. */
struct own_times {
	int64_t start_us, duration_us;
	int64_t profile_us; /* when that profile began, since the epoch */
};
#define OWN_TIMES 3u

/* Room for a record up to its name: a row's text, two numbers, words. */
#define HEAD_BYTES 256u

static bool of_provider(const epp_event *event)
{
	return event->track->kind == EPP_TRACK_DEVICE || event->track->producer >= 0;
}

static int64_t microseconds(int64_t ns)
{
	int64_t us = ns / 1000;

	return us * 1000 > ns ? us - 1 : us;
}

static bool is_number(const epp_trace_arg *arg, const char *key, int64_t *value)
{
	if (arg->type != EPP_ARG_I64 || arg->key_bytes != strlen(key) || memcmp(arg->key, key, arg->key_bytes) != 0)
		return false;
	*value = arg->value.i64;
	return true;
}

static bool own_times(const epp_event *event, struct own_times *times)
{
	const epp_trace_arg *args = export_args(event);

	return event->args_count >= OWN_TIMES && is_number(&args[0], "ort_ts_us", &times->start_us) &&
	       is_number(&args[1], "ort_dur_us", &times->duration_us) &&
	       is_number(&args[2], "ort_profile_us", &times->profile_us);
}

/* Since the epoch to since the origin; any number may stand in a file. */
static int64_t since_origin(const struct ort *ort, int64_t us)
{
	return (int64_t)((uint64_t)us - (uint64_t)ort->origin_us);
}

/* A time on the clock that `ts` counts on. */
static int64_t timestamp_us(const struct export_run *run, int64_t ns)
{
	const struct ort *ort = run->state;

	return ort->has_origin ? since_origin(ort, microseconds(run->info->epoch_unix_ns + ns)) : microseconds(ns);
}

/* ---- args ---- */

static void begin_arg(struct members *members, const char *key, size_t bytes)
{
	if (members->count)
		sink_bytes(members->sink, ",", 1);
	members_key(members, key, bytes);
	sink_text(members->sink, " : ");
}

static void arg_i64(struct members *members, const char *key, int64_t value)
{
	begin_arg(members, key, strlen(key));
	char *at = sink_reserve(members->sink, 2 + JSON_NUMBER_BYTES);
	*at++ = '"';
	at = json_i64(at, value);
	*at++ = '"';
	sink_commit(members->sink, at);
}

static void arg_text(struct members *members, const char *key, const char *text)
{
	begin_arg(members, key, strlen(key));
	sink_json_string(members->sink, text);
}

static void write_value(struct sink *sink, const epp_trace_arg *arg)
{
	char number[JSON_NUMBER_BYTES], *end = number;
	const char *text = arg->value.text;

	switch (arg->type) {
	case EPP_ARG_TEXT:
		if (arg->text_bytes && (text[0] == '{' || text[0] == '[') && json_valid(text, arg->text_bytes)) {
			sink_bytes(sink, text, arg->text_bytes);
			return;
		}
		sink_bytes(sink, "\"", 1);
		sink_json_text(sink, text, arg->text_bytes);
		sink_bytes(sink, "\"", 1);
		return;
	case EPP_ARG_F64:
		end = json_f64(number, arg->value.f64);
		break;
	case EPP_ARG_U64:
		end = json_u64(number, arg->value.u64);
		break;
	default:
		end = json_i64(number, arg->value.i64);
	}
	/* Words for what is no number come in quotes already. */
	if (number[0] != '"')
		sink_bytes(sink, "\"", 1);
	sink_bytes(sink, number, (size_t)(end - number));
	if (number[0] != '"')
		sink_bytes(sink, "\"", 1);
}

/* The event's own args, then what epprof knows of it. */
static void write_args(struct export_run *run, struct sink *sink, const epp_event *event, bool own)
{
	struct members *members = &((struct ort *)run->state)->members;
	const epp_trace_arg *args = export_args(event);

	members->sink = sink;
	members->count = 0;
	uint32_t first = own ? OWN_TIMES : 0;
	int64_t ignored;
	if (own && event->args_count > first && is_number(&args[first], "ort_started_us", &ignored))
		first++;
	for (uint32_t i = first; i < event->args_count; i++) {
		begin_arg(members, args[i].key, args[i].key_bytes);
		write_value(sink, &args[i]);
	}
	if (event->flags & EPP_FLAG_UNENDED)
		arg_text(members, "unended", "true");
	if (event->flags & EPP_FLAG_OPEN)
		arg_text(members, "open", "true");
	/* ONNX Runtime's id of a host event is the microsecond of its start. */
	if (of_provider(event) && event->parent && event->parent_start_ns != INT64_MIN &&
	    !members_has(members, "ort_correlation_id"))
		arg_i64(members, "ort_correlation_id", microseconds(run->info->epoch_unix_ns + event->parent_start_ns));
	if (of_provider(event) && !members_has(members, "stream"))
		arg_i64(members, "stream", event->track->stream);
	if (!of_provider(event) && !export_tells_place(event))
		return;
	arg_text(members, "placement", epp_placement_name(event->placement));
	arg_i64(members, "start_error_ns", event->start_error_ns);
	arg_i64(members, "end_error_ns", event->end_error_ns);
}

/* ---- records ---- */

static inline char *put_text(char *at, const char *text)
{
	return mempcpy(at, text, strlen(text));
}

/* Up to the name.  The numbers of a row are the same each time, so their text is kept with it. */
static void write_head(struct sink *sink, const epp_event *event, struct row *row, int64_t duration_us, int64_t start_us)
{
	if (!row->text_bytes)
		row->text_bytes = (uint8_t)snprintf(row->text, sizeof row->text,
		                                    "\",\"pid\" :%u,\"tid\" :%u,\"dur\" :", row->pid, row->tid);
	char *at = sink_reserve(sink, HEAD_BYTES);
	at = put_text(at, "{\"cat\" : \"");
	at = put_text(at, export_category(event->category));
	memcpy(at, row->text, sizeof row->text);
	at = json_i64(at + row->text_bytes, duration_us);
	at = put_text(at, ",\"ts\" :");
	at = json_i64(at, start_us);
	at = put_text(at, ",\"ph\" : \"X\",\"name\" :\"");
	sink_commit(sink, at);
}

static epp_status *write_record(struct export_run *run, struct sink *sink, const epp_event *event)
{
	struct ort *ort = run->state;
	struct own_times times = { 0 };
	bool own = own_times(event, &times);
	struct row *row;

	if (!ort->settled) {
		ort->settled = true;
		ort->has_origin = own;
		ort->origin_us = own ? times.profile_us : microseconds(run->info->epoch_unix_ns);
	}
	ort->rounded += !own && (event->start_ns % 1000 || event->duration_ns % 1000);
	EPP_TRY(rows_find(&ort->rows, run->info, event->track, event->lane, &row));
	write_head(sink, event, row, own ? times.duration_us : microseconds(event->duration_ns),
	           own ? since_origin(ort, (int64_t)((uint64_t)times.profile_us + (uint64_t)times.start_us))
	               : timestamp_us(run, event->start_ns));
	sink_json_text(sink, event->name, event->name_bytes);
	sink_text(sink, "\",\"args\" : {");
	write_args(run, sink, event, own);
	sink_text(sink, "}}");
	return NULL;
}

static void begin_record(struct export_run *run)
{
	struct ort *ort = run->state;

	sink_text(run->sink, ort->any ? ",\n" : "\n");
	ort->any = true;
}

/* Writes the records of events that ended before `before_ns`. */
static epp_status *write_ended(struct export_run *run, int64_t before_ns)
{
	struct ort *ort = run->state;
	const char *text;
	size_t bytes;

	EPP_TRY(pending_select(&ort->pending, before_ns));
	while (pending_next(&ort->pending, &text, &bytes)) {
		begin_record(run);
		sink_bytes(run->sink, text, bytes);
	}
	return NULL;
}

/* A record that fits into its sink's buffer, as nearly all do, is taken from there. */
static epp_status *host_event(struct export_run *run, const epp_event *event)
{
	struct ort *ort = run->state;
	struct sink *record = &ort->record;
	uint64_t pushes_count = record->pushes_count;
	int64_t end_ns = event->start_ns + event->duration_ns;

	if (end_ns == INT64_MAX)
		end_ns--; /* the end of all is before INT64_MAX */
	if (pending_is_due(&ort->pending))
		EPP_TRY(write_ended(run, event->start_ns));
	EPP_TRY(write_record(run, record, event));
	if (record->pushes_count == pushes_count) {
		size_t bytes = (size_t)(record->at - record->buffer);
		sink_commit(record, record->buffer);
		return pending_push(&ort->pending, end_ns, record->buffer, bytes);
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
		if (!run->pass) {
			ort->instants += event->kind == EPP_EVENT_INSTANT;
			ort->counters += event->kind == EPP_EVENT_COUNTER;
			ort->flows += event->kind == EPP_EVENT_FLOW;
		}
		return NULL;
	}
	if (end_ns > ort->last_end_ns)
		ort->last_end_ns = end_ns;
	if (!of_provider(event))
		return run->pass ? NULL : host_event(run, event);
	if (!run->pass && !ort->settled)
		ort->providers_again = run->again = true;
	if (!run->pass && ort->providers_again)
		return NULL;
	ort->any_of_providers = true;
	sink_text(&ort->providers.sink, ",\n");
	return write_record(run, &ort->providers.sink, event);
}

/* ---- the document ---- */

static epp_status *ort_begin(struct export_run *run)
{
	struct ort *ort = run->state;

	sink_text(run->sink, "[");
	EPP_TRY(sink_init(&ort->record, sink_memory_write, &ort->memory));
	return sink_spool_init(&ort->providers);
}

static epp_status *write_ledger(struct export_run *run)
{
	struct ort *ort = run->state;
	const epp_timeline_counts *counts = epp_timeline_get_counts(run->timeline);
	struct ledger_total total;

	EPP_TRY(ledger_add_up(run, &total));
	begin_record(run);
	sink_format(run->sink, "{\"cat\" : \"Session\",\"pid\" :%u,\"tid\" :%u,\"dur\" :0,\"ts\" :%" PRId64,
	            run->info->pid, run->info->pid, timestamp_us(run, ort->last_end_ns));
	sink_text(run->sink, ",\"ph\" : \"X\",\"name\" :\"epprof.ledger\",\"args\" : {");
	ort->members.sink = run->sink;
	ort->members.count = 0;
	arg_text(&ort->members, "writer", "epprof " EPPROF_VERSION);
	arg_text(&ort->members, "program", run->info->program ? run->info->program : "");
	arg_text(&ort->members, "clock", run->info->clock);
	arg_i64(&ort->members, "epoch_unix_ns", run->info->epoch_unix_ns);
	arg_i64(&ort->members, "lost", (int64_t)total.lost);
	arg_text(&ort->members, "balanced", total.balanced ? "true" : "false");
	arg_i64(&ort->members, "correlated", (int64_t)counts->correlated);
	arg_i64(&ort->members, "inferred", (int64_t)counts->inferred);
	arg_i64(&ort->members, "uncorrelated", (int64_t)counts->uncorrelated);
	arg_i64(&ort->members, "largest_error_ns", counts->largest_error_ns);
	begin_arg(&ort->members, "ledger", strlen("ledger"));
	EPP_TRY(ledger_write(run, run->sink));
	sink_text(run->sink, "}}");
	return NULL;
}

static epp_status *ort_end(struct export_run *run)
{
	struct ort *ort = run->state;

	EPP_TRY(write_ended(run, INT64_MAX));
	if (ort->any_of_providers) {
		/* The first record of all has no comma. */
		EPP_TRY(sink_spool_move(&ort->providers, run->sink, !ort->any));
		ort->any = true;
	}
	EPP_TRY(write_ledger(run));
	sink_text(run->sink, "\n]\n");
	export_receipt(run, ort->instants, "%s instants left out: the format has none");
	export_receipt(run, ort->counters, "%s counter values left out: the format has none");
	export_receipt(run, ort->flows, "%s arrows left out: the format has none");
	export_receipt(run, ort->rounded, "%s events rounded down to microseconds: the format has nothing finer");
	return NULL;
}

static void ort_deinit(struct export_run *run)
{
	struct ort *ort = run->state;

	rows_deinit(&ort->rows);
	pending_deinit(&ort->pending);
	sink_deinit(&ort->record);
	sink_spool_deinit(&ort->providers);
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
