/* Writes Chrome's trace event format, for Perfetto and chrome://tracing.  The output is strict JSON for any name or
 * arg.
 *
 * Times are microseconds with three decimals, so no nanosecond is lost.  Each lane of each track has its own row, on
 * which slices nest and never overlap partially.  Each device event is the target of one arrow, from the plugin's call
 * that launched it, or else from the host event that caused it.  Each arrow has a unique id and both ends; an arrow
 * that would lead back in time is left out and counted.  The clock, the counts and the ledger are written into
 * otherData, after the events. */
#include <inttypes.h>
#include <math.h>
#include <search.h>
#include <stdlib.h>

#include "base/status.h"
#include "encoding/json.h"
#include "export/chrome/chrome.h"
#include "export/facts.h"
#include "export/ledger.h"

/* A host event that other events refer to and that is not on the first lane of its track.  Such events are rare. */
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

/* Writes one end of an arrow: `head` is the text up to its number. */
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

void chrome_write_drawn(struct export_run *run)
{
	struct chrome *chrome = run->state;
	const struct flows *drawn = &chrome->drawn;

	for (size_t i = 0; i < drawn->flows_count; i++) {
		const struct flow *flow = &drawn->flows[i];
		const struct flow_end *from = flows_end(drawn, flow->source, flow->from);
		const struct flow_end *to = flows_end(drawn, flow->source, flow->to);
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
	/* Viewers take a counter as a double; they would ignore a number in quotes. */
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

/* Second pass, if the program drew arrows: notes the rows of their ends. */
static epp_status *meet_ends(struct export_run *run, const epp_event *event)
{
	struct chrome *chrome = run->state;
	struct row *row;

	if (!chrome->drawn.ends)
		EPP_TRY(flows_prepare(&chrome->drawn));
	if (event->kind != EPP_EVENT_SLICE || !(event->flags & EPP_FLAG_FLOW))
		return NULL;
	EPP_TRY(chrome_row(run, event->track, event->lane, &row));
	flows_meet(&chrome->drawn, event, (uint32_t)(row - chrome->rows.rows));
	return NULL;
}

epp_status *chrome_event(struct export_run *run, const epp_event *event)
{
	struct chrome *chrome = run->state;
	struct row *row;

	if (run->pass)
		return meet_ends(run, event);
	if (event->kind == EPP_EVENT_FLOW) {
		run->again = true;
		return flows_add(&chrome->drawn, event);
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
		if (event->flags & EPP_FLAG_REFERRED && event->lane)
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
	/* This first record is always written, so that every later record can begin with a comma. */
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

	flows_write_receipts(&chrome->drawn, run, chrome->flows_without_end);
	export_receipt(run, chrome->flows_back_in_time, "%s arrow%s left out: they would lead back in time");
	export_receipt(run, chrome->counters_without_number, "%s counter value%s left out: they are not numbers");
	export_receipt(run, chrome->before_zero, "%s event%s before the trace's time 0; some viewers drop such");
}

static epp_status *chrome_end(struct export_run *run)
{
	chrome_write_drawn(run);
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
	flows_deinit(&chrome->drawn);
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
