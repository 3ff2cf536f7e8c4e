/* Writes comma-separated values, RFC 4180: a header, a row for each event, then rows for the ledger and the trace,
 * whose facts are JSON in the last column.  docs/formats.md describes the columns.
 *
 * Text that depends only on the name, and text that depends only on the track, is cached as pieces; most rows are two
 * pieces and a few numbers. */
#include "base/status.h"
#include "encoding/csv.h"
#include "encoding/json.h"
#include "encoding/utf8.h"
#include "export/args_text.h"
#include "export/facts.h"
#include "export/ledger.h"
#include "export/text_cache.h"

/* Text is escaped in pieces of this many bytes, so that each piece fits into one reservation. */
#define TEXT_PIECE_BYTES 4096u
/* Room for the numbers of one row. */
#define NUMBERS_BYTES (8 * JSON_NUMBER_BYTES)

struct csv {
	struct text_cache names, tracks;
	struct json_recent id, parent;
	struct args_text args;
};

static const char head[] = "kind,name,category,start_ns,duration_ns,source,pid,group,tid,track,track_name,device,stream,"
			   "lane,depth,id,parent,run,placement,start_error_ns,end_error_ns,flags,args\r\n";
/* The columns between name and args of a row that is not an event. */
static const char no_event[] = ",,,,,,,,,,,,,,,,,,,,,";

static void write_field(struct sink *sink, const char *text, size_t bytes)
{
	bool quotes = csv_needs_quotes(text, bytes);

	sink_bytes(sink, "\"", quotes);
	sink_bytes(sink, "'", csv_is_formula(text, bytes));
	while (bytes) {
		size_t piece = utf8_cut(text, bytes, TEXT_PIECE_BYTES);
		sink_commit(sink, csv_escape(sink_reserve(sink, CSV_ESCAPED_BYTES(piece)), text, piece));
		text += piece;
		bytes -= piece;
	}
	sink_bytes(sink, "\"", quotes);
}

static void write_name(struct sink *sink, const epp_event *event)
{
	sink_text(sink, export_kind(event->kind));
	sink_bytes(sink, ",", 1);
	write_field(sink, event->name, event->name_bytes);
	sink_bytes(sink, ",", 1);
	sink_text(sink, export_category(event->category));
	sink_bytes(sink, ",", 1);
}

static char *put_number(char *at, int64_t number)
{
	at = json_i64(at, number);
	*at++ = ',';
	return at;
}

static void write_number(struct sink *sink, bool known, int64_t number)
{
	if (known)
		sink_commit(sink, put_number(sink_reserve(sink, JSON_NUMBER_BYTES), number));
	else
		sink_bytes(sink, ",", 1);
}

static void write_track(struct sink *sink, const epp_event *event)
{
	const epp_trace_track *track = event->track;

	write_number(sink, true, track->source);
	write_number(sink, track->pid, track->pid);
	write_field(sink, track->group, strlen(track->group));
	sink_bytes(sink, ",", 1);
	write_number(sink, export_has_thread(track), track->thread_id);
	write_number(sink, true, track->track);
	write_field(sink, track->name, strlen(track->name));
	sink_bytes(sink, ",", 1);
	write_number(sink, track->device >= 0, track->device);
	write_number(sink, track->kind == EPP_TRACK_DEVICE, track->stream);
	write_number(sink, true, event->lane);
}

static char *put_text(char *at, const char *text)
{
	return mempcpy(at, text, strlen(text));
}

/* Writes the columns for placement, errors and flags, without a comma at the end. */
static char *put_own_fields(char *at, const epp_event *event)
{
	if (event->placement == EPP_PLACED_MEASURED && !event->start_error_ns && !event->end_error_ns && !event->flags)
		return put_text(at, "measured,0,0,");
	at = put_text(at, epp_placement_name(event->placement));
	*at++ = ',';
	at = put_number(at, event->start_error_ns);
	at = put_number(at, event->end_error_ns);
	return export_put_flags(at, event->flags);
}

/* Writes the last column: the JSON in csv->args. */
static epp_status *write_args(struct export_run *run)
{
	struct csv *csv = run->state;

	EPP_TRY(args_text_take(&csv->args));
	write_field(run->sink, csv->args.memory.bytes, csv->args.memory.count);
	return NULL;
}

static epp_status *csv_event(struct export_run *run, const epp_event *event)
{
	struct csv *csv = run->state;

	text_cache_write(&csv->names, run->sink, event, text_cache_name_key(event), write_name);
	char *at = sink_reserve(run->sink, NUMBERS_BYTES);
	at = put_number(at, event->start_ns);
	at = put_number(at, event->duration_ns);
	sink_commit(run->sink, at);
	text_cache_write(&csv->tracks, run->sink, event, text_cache_track_key(event), write_track);
	at = sink_reserve(run->sink, NUMBERS_BYTES);
	at = put_number(at, event->depth);
	at = json_u64_recent(at, event->id, &csv->id);
	*at++ = ',';
	if (event->parent)
		at = json_u64_recent(at, event->parent, &csv->parent);
	*at++ = ',';
	at = put_number(at, event->run);
	at = put_own_fields(at, event);
	*at++ = ',';
	sink_commit(run->sink, at);
	if (event->args_count) {
		args_text_put(&csv->args, event);
		EPP_TRY(write_args(run));
	}
	sink_bytes(run->sink, "\r\n", 2);
	return NULL;
}

static epp_status *csv_begin(struct export_run *run)
{
	struct csv *csv = run->state;

	sink_text(run->sink, head);
	return args_text_init(&csv->args);
}

static void begin_row(struct export_run *run, const char *kind, const char *name)
{
	sink_text(run->sink, kind);
	write_field(run->sink, name, strlen(name));
	sink_text(run->sink, no_event);
}

static epp_status *csv_end(struct export_run *run)
{
	struct csv *csv = run->state;
	size_t count = ledger_count(run);

	for (size_t i = 0; i < count; i++) {
		epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
		EPP_TRY(ledger_at(run, i, &account));
		begin_row(run, "ledger,", account.producer);
		ledger_write_account(&csv->args.sink, &account);
		EPP_TRY(write_args(run));
		sink_bytes(run->sink, "\r\n", 2);
	}
	begin_row(run, "trace,", run->info->program ? run->info->program : "");
	sink_text(&csv->args.sink, "{");
	facts_write_json(run, &csv->args.sink);
	sink_text(&csv->args.sink, "}");
	EPP_TRY(write_args(run));
	sink_bytes(run->sink, "\r\n", 2);
	return NULL;
}

static void csv_deinit(struct export_run *run)
{
	args_text_deinit(&((struct csv *)run->state)->args);
}

const struct export_writer export_csv = {
	.format = { "csv", ".csv", "comma-separated values (RFC 4180): one row per event, in integer nanoseconds" },
	.state_bytes = sizeof(struct csv),
	.begin = csv_begin,
	.event = csv_event,
	.end = csv_end,
	.deinit = csv_deinit,
};
