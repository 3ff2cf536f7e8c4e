/* Writes Chrome's trace event format, for Perfetto and chrome://tracing.  The output is strict JSON for any name or
 * arg.
 *
 * Times are microseconds with three decimals, so no nanosecond is lost.  Each lane of each track has its own row, on
 * which slices nest and never overlap partially.  Each device event is the target of one arrow, from the plugin's call
 * that launched it, or else from the host event that caused it.  Each arrow has a unique id and both ends; an arrow
 * whose end is before its start is left out and counted.  The clock, the counts and the ledger are written into
 * otherData, after the events. */
#include "export/chrome/chrome.h"

#include <inttypes.h>
#include <math.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/status.h"
#include "encoding/json.h"
#include "export/facts.h"
#include "export/ledger.h"

/* ---- args ---- */

/* The args of a Chrome trace event: first the data that epprof has about the event (id, parent, placement, error
 * bounds, stream, flags), then the event's own args.  A repeated key gets a number as suffix; integers that a double
 * cannot represent are quoted.
 *
 * epprof's own data is short, so one sink_reserve is enough for it; the event's own args may have any length. */

/* Room for all of epprof's own data: fewer than 13 keys of at most 20 bytes, each with a number or a word. */
#define KNOWN_BYTES 1024u

#define PUT(at, literal) put(at, literal, sizeof(literal) - 1)

static inline char *put(char *at, const char *text, size_t bytes)
{
	memcpy(at, text, bytes);
	return at + bytes;
}

/* ---- epprof's own data ---- */

struct own_args {
	char *start, *at;
	struct json_keys *json_keys; /* NULL: the event has no args, so no key can repeat */
};

static inline void begin_own_arg(struct own_args *own_args, const char *key, size_t bytes)
{
	if (own_args->at == own_args->start)
		own_args->at = PUT(own_args->at, ",\"args\":{\"");
	else
		own_args->at = PUT(own_args->at, ",\"");
	own_args->at = put(own_args->at, key, bytes);
	own_args->at = PUT(own_args->at, "\":");
	if (own_args->json_keys)
		json_keys_note(own_args->json_keys, key, bytes);
}
#define BEGIN_OWN_ARG(own_args, literal) begin_own_arg(own_args, literal, sizeof(literal) - 1)

static void put_flags(struct own_args *own_args, unsigned flags)
{
	for (; flags; flags &= flags - 1) {
		const char *flag = export_flags[__builtin_ctz(flags)];
		begin_own_arg(own_args, flag, strlen(flag));
		own_args->at = PUT(own_args->at, "true");
	}
}

/* Writes the arg `device`: the plugin's number of the device.  If the dialect has numbers_devices, it is the device's
 * number in the file, which is its process id, and the plugin's number is the arg `plugin device` if it differs. */
static void put_device(const struct chrome *chrome, struct own_args *own_args, const epp_event *event)
{
	const struct row *row = rows_recent(&chrome->rows, event->track, event->lane);
	const struct rows_process *process = row ? &chrome->rows.processes[row->process] : NULL;
	int64_t own = event->track->device, number = own;

	if (chrome->dialect->numbers_devices && process && process->group)
		number = process->pid;
	if (number >= 0) {
		BEGIN_OWN_ARG(own_args, "device");
		own_args->at = json_i64(own_args->at, number);
	}
	if (own >= 0 && own != number) {
		BEGIN_OWN_ARG(own_args, "plugin device");
		own_args->at = json_i64(own_args->at, own);
	}
}

static void put_own_args(const struct chrome *chrome, struct own_args *own_args, const epp_event *event)
{
	bool device = chrome_on_device(event);

	if (event->flags & EXPORT_FLAGS_NAMED) {
		BEGIN_OWN_ARG(own_args, "id");
		own_args->at = json_u64_exact(own_args->at, event->id);
	}
	if (event->parent && (device || event->placement != EPP_PLACED_MEASURED)) {
		BEGIN_OWN_ARG(own_args, "parent");
		own_args->at = json_u64_exact(own_args->at, event->parent);
	}
	if (export_has_placement(event)) {
		const char *placement = epp_placement_name(event->placement);
		BEGIN_OWN_ARG(own_args, "placement");
		*own_args->at++ = '"';
		own_args->at = put(own_args->at, placement, strlen(placement));
		*own_args->at++ = '"';
		BEGIN_OWN_ARG(own_args, "start_error_ns");
		own_args->at = json_i64_exact(own_args->at, event->start_error_ns);
		BEGIN_OWN_ARG(own_args, "end_error_ns");
		own_args->at = json_i64_exact(own_args->at, event->end_error_ns);
	}
	if (device) {
		put_device(chrome, own_args, event);
		BEGIN_OWN_ARG(own_args, "stream");
		own_args->at = json_i64_exact(own_args->at, event->track->stream);
	}
	put_flags(own_args, event->flags & ~EXPORT_FLAGS_NAMED);
}

/* ---- the event's own args ---- */

static void write_arg(struct json_keys *json_keys, const epp_trace_arg *arg)
{
	sink_text(json_keys->sink, json_keys->count ? "," : ",\"args\":{");
	json_keys_arg(json_keys, arg);
}

/* Writes the args of the dialect.  The comma after the last one is removed, because begin_own_arg writes a comma
 * itself. */
static void put_ids(struct chrome *chrome, struct own_args *own_args, const epp_event *event)
{
	char *at;

	if (!chrome->dialect->put_ids)
		return;
	at = PUT(own_args->at, ",\"args\":{");
	char *end = chrome->dialect->put_ids(chrome, at, event, own_args->json_keys);
	if (end != at)
		own_args->at = end - 1;
}

/* Writes the data that epprof has about an event, then the event's own args, but not the end of the record. */
static void chrome_args(struct export_run *run, const epp_event *event)
{
	struct json_keys *json_keys = &((struct chrome *)run->state)->json_keys;
	const epp_trace_arg *args = export_args(event);
	struct own_args own_args;

	json_keys->sink = run->sink;
	json_keys->count = 0;
	own_args.start = own_args.at = sink_reserve(run->sink, KNOWN_BYTES);
	own_args.json_keys = event->args_count ? json_keys : NULL;
	put_ids(run->state, &own_args, event);
	put_own_args(run->state, &own_args, event);
	bool any = own_args.at != own_args.start || event->args_count;
	sink_commit(run->sink, own_args.at);
	for (uint32_t i = 0; i < event->args_count; i++)
		write_arg(json_keys, &args[i]);
	if (any)
		sink_bytes(run->sink, "}", 1);
}

/* ---- names of processes and threads ---- */

/* The head of a Chrome trace event: phase, name, category, row, time.
 *
 * Most of this text is the same for many events.  The piece with the name is cached by name, the piece with the numbers
 * by row.  Both are copied with a constant length, which is faster. */

#define PIECE_START ",\n{\"ph\":\"?\",\"name\":\""
#define PIECE_PHASE (sizeof ",\n{\"ph\":\"" - 1)

static void write_metadata(struct sink *sink, const struct row *row, const char *what)
{
	sink_format(sink, ",\n{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"args\":{", what, row->pid, row->tid);
}

/* Writes the label of a process.  A trace with a single process has the label in its header instead. */
static void announce_labels(const struct export_run *run, const struct rows_process *process)
{
	struct sink *sink = run->sink;
	epp_trace_source source = { .struct_size = sizeof(source) };

	if (process->group || run->info->sources_count < 2 || !epp_trace_source_at(run->trace, process->source, &source))
		return;
	sink_format(sink, ",\n{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":%u,\"args\":{\"labels\":\"", process->pid);
	sink_json_text(sink, source.label, strlen(source.label));
	if (source.hostname[0]) {
		sink_text(sink, source.label[0] ? " on " : "on ");
		sink_json_text(sink, source.hostname, strlen(source.hostname));
	}
	sink_text(sink, "\"}}");
}

void chrome_write_device_name(const struct export_run *run, const epp_trace_track *track)
{
	const char *plugin = epp_trace_track_plugin(run->trace, track);

	sink_text(run->sink, "\"");
	sink_json_text(run->sink, track->group, strlen(track->group));
	/* Most device names already contain the plugin's name. */
	if (plugin && !strstr(track->group, plugin)) {
		sink_text(run->sink, " (");
		sink_json_text(run->sink, plugin, strlen(plugin));
		sink_text(run->sink, ")");
	}
	sink_text(run->sink, "\"");
}

static void announce_process(const struct export_run *run, const struct rows_process *process, uint32_t index,
                             const epp_trace_track *track)
{
	struct sink *sink = run->sink;

	sink_format(sink, ",\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"args\":{\"name\":", process->pid);
	if (process->group)
		chrome_write_device_name(run, track);
	else
		sink_json_string(sink, process->name);
	/* Processes are sorted before devices. */
	sink_format(sink, "}},\n{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%u,\"args\":{\"sort_index\":%u}}",
	            process->pid, index + (process->group ? 100000 : 0));
	announce_labels(run, process);
}

static void announce_row(struct sink *sink, struct row *row)
{
	char lane[ROWS_LANE_BYTES];

	write_metadata(sink, row, "thread_name");
	sink_text(sink, "\"name\":\"");
	sink_json_text(sink, row->track->name, strlen(row->track->name));
	sink_text(sink, rows_lane_text(row->lane, lane));
	sink_text(sink, "\"}}");
	write_metadata(sink, row, "thread_sort_index");
	sink_format(sink, "\"sort_index\":%" PRId64 "}}", rows_sort_index(row));
	row->text_bytes = (uint8_t)snprintf(row->text, sizeof row->text, "\"pid\":%u,\"tid\":%u,\"ts\":", row->pid,
	                                    row->tid);
	row->announced = true;
}

epp_status *chrome_find_row(struct export_run *run, const epp_trace_track *track, uint32_t lane, struct row **row)
{
	struct chrome *chrome = run->state;

	EPP_TRY(rows_find(&chrome->rows, run->info, track, lane, row));
	if (!(*row)->announced) {
		struct rows_process *process = &chrome->rows.processes[(*row)->process];
		if (!process->announced)
			announce_process(run, process, (*row)->process, track);
		process->announced = true;
		announce_row(run->sink, *row);
	}
	return NULL;
}

/* Makes the piece of an event's name: the beginning of its records up to the category.  Returns NULL if the piece is
 * too long for the cache. */
static const struct chrome_piece *make_piece(const struct chrome *chrome, struct chrome_piece *piece,
                                             const epp_event *event, unsigned category)
{
	char escaped[JSON_ESCAPED_BYTES(sizeof piece->text)];
	const char *end = chrome->dialect->category_ends[category];

	if (!event->name_number || event->name_bytes > sizeof piece->text)
		return NULL;
	size_t escaped_bytes = (size_t)(json_escape(escaped, event->name, event->name_bytes) - escaped);
	if (strlen(PIECE_START) + escaped_bytes + strlen(end) > sizeof piece->text)
		return NULL;
	char *at = mempcpy(piece->text, PIECE_START, strlen(PIECE_START));
	at = mempcpy(at, escaped, escaped_bytes);
	at = mempcpy(at, end, strlen(end));
	piece->bytes = (uint8_t)(at - piece->text);
	piece->name = event->name_number;
	piece->category = (uint8_t)category;
	return piece;
}

static inline const struct chrome_piece *find_piece(struct chrome *chrome, const epp_event *event, unsigned category)
{
	struct chrome_piece *piece = &chrome->pieces[(event->name_number * 4 + category) % CHROME_PIECES_COUNT];

	if (piece->name == event->name_number && piece->category == category && piece->name)
		return piece;
	return make_piece(chrome, piece, event, category);
}

/* Writes the beginning of a record, up to and including its time.  Returns the position after this text, where there is
 * room for a duration and a few words.  The caller must call sink_commit. */
static char *chrome_head(struct export_run *run, const epp_event *event, const struct row *row, char phase, int64_t time_ns)
{
	const struct chrome_dialect *dialect = ((const struct chrome *)run->state)->dialect;
	unsigned category = dialect->category(event);
	const struct chrome_piece *piece = find_piece(run->state, event, category);
	char *at;

	if (piece) {
		at = sink_reserve(run->sink, CHROME_HEAD_BYTES);
		memcpy(at, piece->text, sizeof piece->text);
		at[PIECE_PHASE] = phase;
		at += piece->bytes;
	} else {
		sink_format(run->sink, ",\n{\"ph\":\"%c\",\"name\":\"", phase);
		sink_json_text(run->sink, event->name, event->name_bytes);
		sink_text(run->sink, dialect->category_ends[category]);
		at = sink_reserve(run->sink, CHROME_HEAD_BYTES);
	}
	memcpy(at, row->text, sizeof row->text);
	return json_us(at + row->text_bytes, time_ns);
}

/* ---- events ---- */

/* The lane of a host event that other events refer to.  Only events that are not on the first lane of their track are
 * stored, which are few. */
struct moved {
	uint64_t id;
	uint32_t source;
	uint32_t lane;
};

/* ---- flows ---- */

static int compare_moved(const void *a, const void *b)
{
	const struct moved *left = a, *right = b;

	if (left->source != right->source)
		return left->source < right->source ? -1 : 1;
	return (left->id > right->id) - (left->id < right->id);
}

static epp_status *remember_moved(struct chrome *chrome, const epp_event *event)
{
	struct moved *moved = malloc(sizeof *moved);
	void *found;

	if (!moved)
		return epp_status_no_memory();
	*moved = (struct moved){ event->id, event->track->source, event->lane };
	found = tsearch(moved, &chrome->moved, compare_moved);
	if (!found || *(struct moved **)found != moved)
		free(moved);
	return found ? NULL : epp_status_no_memory();
}

static uint32_t lane_of_parent(struct chrome *chrome, const epp_event *event)
{
	const struct moved key = { .id = event->parent, .source = event->parent_track->source };
	void *found = tfind(&key, &chrome->moved, compare_moved);

	return found ? (*(struct moved **)found)->lane : 0;
}

/* Writes one end of an arrow.  `head` is the text up to the number of the arrow. */
static inline char *put_flow_end(const struct chrome *chrome, char *at, const char *head, uint64_t flow,
                                 const struct row *row, int64_t time_ns)
{
	const char *arrow = chrome->dialect->arrow;

	at = mempcpy(at, head, strlen(head));
	at = json_u64(at, flow);
	at = mempcpy(at, arrow, strlen(arrow));
	memcpy(at, row->text, sizeof row->text);
	at = json_us(at + row->text_bytes, time_ns);
	*at++ = '}';
	return at;
}

static void write_flow(struct export_run *run, const struct row *from, int64_t from_ns, const struct row *to, int64_t to_ns)
{
	struct chrome *chrome = run->state;

	if (from_ns > to_ns) {
		chrome->flows_back_in_time++;
		return;
	}
	chrome->next_flow++;
	char *at = sink_reserve(run->sink, 2 * CHROME_HEAD_BYTES);
	at = put_flow_end(chrome, at, ",\n{\"ph\":\"s\",\"id\":", chrome->next_flow, from, from_ns);
	at = put_flow_end(chrome, at, ",\n{\"ph\":\"f\",\"bp\":\"e\",\"id\":", chrome->next_flow, to, to_ns);
	sink_commit(run->sink, at);
}

/* Writes the arrow to a device event that was just written on a row.  The arrow starts at the plugin's call that
 * launched the event, else at the host event that caused it. */
static epp_status *write_launch(struct export_run *run, const epp_event *event, uint32_t row_index)
{
	struct chrome *chrome = run->state;
	const struct launch_call *call = launches_find(&chrome->launches, event);
	struct row *from;

	if (call) {
		const struct row *rows = chrome->rows.rows;
		write_flow(run, &rows[call->row], call->start_ns, &rows[row_index], event->start_ns);
		return NULL;
	}
	if (!event->parent)
		return NULL;
	if (!event->parent_track || event->parent_start_ns == INT64_MIN || event->parent_end_ns <= run->from_ns ||
	    event->parent_start_ns >= run->to_ns) {
		chrome->flows_without_end++;
		return NULL;
	}
	EPP_TRY(chrome_row(run, event->parent_track, lane_of_parent(chrome, event), &from));
	write_flow(run, from, event->parent_start_ns, &chrome->rows.rows[row_index], event->start_ns);
	return NULL;
}

void chrome_write_user_flows(struct export_run *run)
{
	struct chrome *chrome = run->state;
	const struct flows *user_flows = &chrome->user_flows;

	for (size_t i = 0; i < user_flows->flows_count; i++) {
		const struct flow *flow = &user_flows->flows[i];
		const struct flow_end *from = flows_end(user_flows, flow->source, flow->from);
		const struct flow_end *to = flows_end(user_flows, flow->source, flow->to);
		if (from && to)
			write_flow(run, &chrome->rows.rows[from->row], from->start_ns, &chrome->rows.rows[to->row],
			           to->start_ns);
		else
			chrome->flows_without_end++;
	}
}

/* ---- events ---- */

static void write_slice(struct export_run *run, const epp_event *event, const struct row *row)
{
	char *at = chrome_head(run, event, row, 'X', event->start_ns);

	memcpy(at, ",\"dur\":", 7);
	at = json_us(at + 7, event->duration_ns);
	if (chrome_is_plain(event)) {
		*at++ = '}';
		sink_commit(run->sink, at);
		return;
	}
	sink_commit(run->sink, at);
	chrome_args(run, event);
	sink_bytes(run->sink, "}", 1);
}

static void write_instant(struct export_run *run, const epp_event *event, const struct row *row)
{
	sink_commit(run->sink, chrome_head(run, event, row, 'i', event->start_ns));
	sink_text(run->sink, ",\"s\":\"t\"");
	chrome_args(run, event);
	sink_bytes(run->sink, "}", 1);
}

static void write_counter(struct export_run *run, const epp_event *event, const struct row *row)
{
	struct chrome *chrome = run->state;
	const epp_trace_arg *arg = export_args(event);

	if (!event->args_count || arg->type == EPP_ARG_TEXT || (arg->type == EPP_ARG_F64 && !isfinite(arg->value.f64))) {
		chrome->counters_without_number++;
		return;
	}
	char *at = chrome_head(run, event, row, 'C', event->start_ns);
	at = mempcpy(at, ",\"args\":{\"value\":", strlen(",\"args\":{\"value\":"));
	/* Viewers read a counter as a double and ignore a number in quotes. */
	if (arg->type == EPP_ARG_F64)
		at = json_f64(at, arg->value.f64);
	else if (arg->type == EPP_ARG_U64)
		at = json_u64(at, arg->value.u64);
	else
		at = json_i64(at, arg->value.i64);
	at = mempcpy(at, "}}", 2);
	sink_commit(run->sink, at);
}

/* An event id is unique only within its process, so the text contains the source too. */
static void write_async_id(const struct export_run *run, const epp_event *event)
{
	sink_format(run->sink,
	            run->info->sources_count > 1 ? ",\"id2\":{\"local\":\"0x%" PRIx64 "\"}" : ",\"id\":\"0x%" PRIx64 "\"",
	            event->id);
}

static void write_async(struct export_run *run, const epp_event *event, const struct row *row)
{
	sink_commit(run->sink, chrome_head(run, event, row, 'b', event->start_ns));
	write_async_id(run, event);
	chrome_args(run, event);
	sink_bytes(run->sink, "}", 1);
	sink_commit(run->sink, chrome_head(run, event, row, 'e', event->start_ns + event->duration_ns));
	write_async_id(run, event);
	sink_bytes(run->sink, "}", 1);
}

/* Second pass, only if the program drew arrows: stores the rows of the arrows' ends. */
static epp_status *set_flow_ends(struct export_run *run, const epp_event *event)
{
	struct chrome *chrome = run->state;
	struct row *row;

	if (!chrome->user_flows.ends)
		EPP_TRY(flows_prepare(&chrome->user_flows));
	if (event->kind != EPP_EVENT_SLICE || !(event->flags & EPP_FLAG_FLOW))
		return NULL;
	EPP_TRY(chrome_row(run, event->track, event->lane, &row));
	flows_set_end(&chrome->user_flows, event, (uint32_t)(row - chrome->rows.rows));
	return NULL;
}

epp_status *chrome_event(struct export_run *run, const epp_event *event)
{
	struct chrome *chrome = run->state;
	struct row *row;

	if (run->pass)
		return set_flow_ends(run, event);
	if (event->kind == EPP_EVENT_FLOW) {
		run->again = true;
		return flows_add(&chrome->user_flows, event);
	}
	EPP_TRY(chrome_row(run, event->track, event->lane, &row));
	uint32_t row_index = (uint32_t)(row - chrome->rows.rows);
	chrome->before_zero += event->start_ns < 0;
	switch (event->kind) {
	case EPP_EVENT_SLICE:
		write_slice(run, event, row);
		if (chrome_on_device(event))
			return write_launch(run, event, row_index);
		if (event->track->kind == EPP_TRACK_CALLS)
			EPP_TRY(launches_add(&chrome->launches, event, row_index, &(const struct launch_call *){ NULL }));
		if (event->flags & EPP_FLAG_REFERENCED && event->lane)
			return remember_moved(chrome, event);
		break;
	case EPP_EVENT_INSTANT:
		write_instant(run, event, row);
		break;
	case EPP_EVENT_COUNTER:
		write_counter(run, event, row);
		break;
	case EPP_EVENT_ASYNC:
		write_async(run, event, row);
		break;
	}
	return NULL;
}

/* ---- the document ---- */

#define OTHER_CATEGORY 4u
static const char *const category_ends[] = { "\",\"cat\":\"Session\",", "\",\"cat\":\"Node\",",
	                                     "\",\"cat\":\"Kernel\",", "\",\"cat\":\"Api\",", "\",\"cat\":\"Other\"," };

static unsigned category(const epp_event *event)
{
	return event->category < OTHER_CATEGORY ? event->category : OTHER_CATEGORY;
}

static const struct chrome_dialect dialect = { category, category_ends, NULL, false,
	                                       ",\"name\":\"launch\",\"cat\":\"flow\"," };

void chrome_start(struct export_run *run, const struct chrome_dialect *spoken)
{
	((struct chrome *)run->state)->dialect = spoken;
}

static epp_status *chrome_begin(struct export_run *run)
{
	chrome_start(run, &dialect);
	/* This record is written even in an empty trace, so that every other record can begin with a comma. */
	sink_text(run->sink, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
	sink_format(run->sink,
	            "{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":%u,\"args\":{\"labels\":", run->info->pid);
	sink_json_string(run->sink, run->info->label ? run->info->label : "");
	sink_text(run->sink, "}}");
	return NULL;
}

void chrome_write_receipts(const struct export_run *run)
{
	const struct chrome *chrome = run->state;

	flows_write_receipts(&chrome->user_flows, run, chrome->flows_without_end);
	export_receipt(run, chrome->flows_back_in_time, "%s arrow%s left out: they end before they start");
	export_receipt(run, chrome->counters_without_number, "%s counter value%s left out: not a number");
	export_receipt(run, chrome->before_zero, "%s event%s before the trace's time 0; some viewers drop them");
}

static epp_status *chrome_end(struct export_run *run)
{
	chrome_write_user_flows(run);
	sink_text(run->sink, "\n],\"otherData\":{");
	facts_write_json(run, run->sink);
	sink_text(run->sink, ",\"ledger\":");
	EPP_TRY(ledger_write(run, run->sink));
	sink_text(run->sink, "}}\n");
	chrome_write_receipts(run);
	return NULL;
}

void chrome_deinit(struct export_run *run)
{
	struct chrome *chrome = run->state;

	rows_deinit(&chrome->rows);
	flows_deinit(&chrome->user_flows);
	launches_deinit(&chrome->launches);
	tdestroy(chrome->moved, free);
}

const struct export_writer export_chrome = {
	.format = { "chrome", ".json", "Chrome trace events: JSON for Perfetto (ui.perfetto.dev) and chrome://tracing" },
	.state_bytes = sizeof(struct chrome),
	.begin = chrome_begin,
	.event = chrome_event,
	.end = chrome_end,
	.deinit = chrome_deinit,
};
