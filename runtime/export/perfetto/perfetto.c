/* Writes Perfetto's own format: a sequence of protobuf packets, written as the events come, of any size.
 *
 * A slice is a begin packet directly followed by its end packet.  The reader sorts by time, and equal times by the
 * order in the file; nesting is correct because outer slices come first.  Names, categories and keys are interned.
 * Times are those of CLOCK_MONOTONIC; clock snapshots relate it to CLOCK_REALTIME.
 *
 * A host event that others refer to begins a flow with its id; a plugin's call begins one with its own number.  A
 * device event ends the flow of the call that launched it, or else of the host event that caused it.  The end is
 * written in the legacy form of Chrome events, because only in that form a flow can have several ends.  An arrow that
 * the program drew is a pair of such events, written at the end, when both slices are known.
 *
 * Most host events are plain: two short packets with fixed parts.  An event with args is built in a separate buffer. */
#include <math.h>

#include "base/status.h"
#include "export/perfetto/perfetto.h"

#define unlikely(condition) __builtin_expect(!!(condition), 0)

/* Room for two plain packets. */
#define PLAIN_BYTES 256u
/* The largest packet that is built directly in the sink's buffer, and the size of the head of a packet below 128
 * bytes. */
#define PACKET_BYTES 4096u
#define HEAD_BYTES 2u

/* ---- packets ---- */

uint64_t perfetto_time_outside(struct perfetto *perfetto, int64_t time_ns)
{
	perfetto->outside_clock++;
	return time_ns > 0 ? INT64_MAX : 0;
}

epp_status *perfetto_packet_begin(struct export_run *run, size_t bytes, char **at)
{
	struct perfetto *perfetto = run->state;

	bytes += PROTOBUF_FIELD_BYTES + sizeof PERFETTO_COMMON;
	if (bytes <= PACKET_BYTES) {
		perfetto->packet = sink_reserve(run->sink, bytes) + HEAD_BYTES;
	} else {
		EPP_TRY(message_begin(&perfetto->message, bytes));
		perfetto->packet = perfetto->message.bytes;
	}
	*at = mempcpy(perfetto->packet, PERFETTO_COMMON, sizeof PERFETTO_COMMON - 1);
	return NULL;
}

void perfetto_packet_end(struct export_run *run, char *end)
{
	const struct perfetto *perfetto = run->state;
	char *packet = perfetto->packet;
	size_t count = (size_t)(end - packet);

	if (packet == perfetto->message.bytes) {
		sink_commit(run->sink, protobuf_head(sink_reserve(run->sink, PROTOBUF_FIELD_BYTES), TRACE_PACKET, count));
		sink_bytes(run->sink, packet, count);
		return;
	}
	size_t longer = protobuf_varint_bytes(count) + 1 - HEAD_BYTES;
	if (longer)
		memmove(packet + longer, packet, count);
	protobuf_head(packet - HEAD_BYTES, TRACE_PACKET, count);
	sink_commit(run->sink, end + longer);
}

/* Writes the track field of a row: copies a fixed length. */
static inline char *put_track(char *at, const struct row *row)
{
	memcpy(at, row->text + PERFETTO_ROW_TRACK, PERFETTO_ROW_BYTES - PERFETTO_ROW_TRACK);
	return at + row->text_bytes - PERFETTO_ROW_TRACK;
}

/* Writes a time whose upper bits differ from the previous time's, and caches the new upper bits. */
__attribute__((noinline)) static char *put_far_time(struct perfetto *perfetto, char *at, uint64_t time)
{
	uint64_t upper = time >> PERFETTO_LOWER_BITS, text = 0;

	perfetto->time.upper = UINT64_MAX;
	if (upper && !(upper >> PERFETTO_LOWER_BITS)) {
		perfetto->time.upper = upper;
		perfetto->time.bytes = (uint32_t)(protobuf_varint((char *)&text, upper << PERFETTO_LOWER_BITS) -
		                                  (char *)&text);
		perfetto->time.text = text;
	}
	return protobuf_varint(at, time);
}

/* Writes the varint of a time; may write up to PROTOBUF_VARINT_BYTES. */
static inline char *put_time(struct perfetto *perfetto, char *at, uint64_t time)
{
	uint32_t lower = (uint32_t)time;

	if (unlikely(time >> PERFETTO_LOWER_BITS != perfetto->time.upper))
		return put_far_time(perfetto, at, time);
	/* Spread the bits to seven in each byte: first separate the halves, then the quarters. */
	lower = (lower & 0x00003fff) | (lower & 0x0fffc000) << 2;
	lower = (lower & 0x007f007f) | (lower & 0x3f803f80) << 1;
	uint64_t text = perfetto->time.text | lower;
	memcpy(at, &text, sizeof(text));
	return at + perfetto->time.bytes;
}

/* Writes a packet below 128 bytes, up to and including its time.  Returns the position of the row's text, after the
 * time. */
static inline char *put_plain(struct perfetto *perfetto, char *packet, uint64_t time, const struct row *row)
{
	char *at = put_time(perfetto, protobuf_tag(packet, PACKET_TIMESTAMP, PROTOBUF_VARINT), time);

	memcpy(at, row->text, PERFETTO_ROW_BYTES);
	return at;
}

static inline char *put_end_packet(struct perfetto *perfetto, char *at, uint64_t time, const struct row *row)
{
	char *packet = protobuf_begin_short(at, TRACE_PACKET);

	at = put_plain(perfetto, packet, time, row) + row->text_bytes;
	protobuf_end_short(packet, at);
	return at;
}

/* ---- events ---- */

/* Most names have an iid below 2^14.  One or two bytes are written without a branch, which would be hard to predict. */
static inline char *put_name(char *at, const epp_event *event)
{
	uint32_t iid = perfetto_name_iid(event), two = iid > 127;

	at[0] = EVENT_CATEGORY_IID << 3;
	at[1] = (char)((event->category < 4 ? event->category : 4) + 1);
	at[2] = EVENT_NAME_IID << 3;
	if (unlikely(iid >> 14))
		return protobuf_varint(at + 3, iid);
	at[3] = (char)(iid | two << 7);
	at[4] = (char)(iid >> 7);
	return at + 4 + two;
}

/* The end is computed from the written start, so that it never precedes the start, even if the clock begins between
 * them. */
static uint64_t end_time(struct perfetto *perfetto, const epp_event *event, uint64_t start)
{
	uint64_t duration = event->duration_ns > 0 ? (uint64_t)event->duration_ns : 0;

	if (perfetto->last_ns < event->start_ns)
		perfetto->last_ns = event->start_ns;
	return start + duration;
}

static bool is_plain(const epp_event *event)
{
	return !(event->flags & ~EXPORT_FLAGS_NAMED) && !event->args_count && !export_tells_place(event);
}

static inline void write_plain(struct export_run *run, const epp_event *event, const struct row *row)
{
	struct perfetto *perfetto = run->state;
	uint64_t start = perfetto_time(perfetto, event->start_ns);
	char *packet = protobuf_begin_short(sink_reserve(run->sink, PLAIN_BYTES), TRACE_PACKET);
	char *text = put_plain(perfetto, packet, start, row), *track_event = text + PERFETTO_ROW_EVENT;
	char *at = put_name(text + row->text_bytes, event);

	track_event[1] = TYPE_BEGIN;
	/* Always written, kept only if needed: a branch would be hard to predict. */
	char *flow_end = protobuf_fixed64(at, EVENT_FLOW, perfetto_flow(event->track->source, event->id));
	at = event->flags & EPP_FLAG_REFERRED ? flow_end : at;
	protobuf_end_short(track_event, at);
	protobuf_end_short(packet, at);
	sink_commit(run->sink, put_end_packet(perfetto, at, end_time(perfetto, event, start), row));
}

/* Finds the flow of the arrow to a device event; returns false if there is none.  Counts arrows that cannot be
 * drawn. */
static bool find_launch(struct export_run *run, const epp_event *event, uint64_t *flow)
{
	struct perfetto *perfetto = run->state;
	const struct launch_call *call;

	if (event->track->kind != EPP_TRACK_DEVICE)
		return false;
	call = launches_find(&perfetto->launches, event);
	if (call) {
		*flow = call->flow;
		return true;
	}
	if (!event->parent)
		return false;
	if (!event->parent_track || event->parent_start_ns == INT64_MIN || event->parent_end_ns <= run->from_ns ||
	    event->parent_start_ns >= run->to_ns) {
		perfetto->flows_without_end++;
		return false;
	}
	if (event->parent_start_ns > event->start_ns) {
		perfetto->flows_back_in_time++;
		return false;
	}
	*flow = perfetto_flow(event->parent_track->source, event->parent);
	return true;
}

static char *put_launch(char *at, uint64_t flow)
{
	char *legacy = protobuf_begin(at, EVENT_LEGACY);

	at = protobuf_u64_roomy(legacy, LEGACY_BIND_ID, flow);
	at = protobuf_u64(at, LEGACY_FLOW, FLOW_IN);
	protobuf_end(legacy, at);
	return at;
}

/* Begins an event's packet in a separate buffer if needed, up to its args. */
static epp_status *begin_event(struct export_run *run, const epp_event *event, uint64_t start, unsigned type, char **at,
                               char **track_event)
{
	if (event->args_count)
		EPP_TRY(perfetto_intern_keys(run, event));
	EPP_TRY(perfetto_packet_begin(run, PLAIN_BYTES + perfetto_args_bytes(event), at));
	*at = put_time(run->state, protobuf_tag(*at, PACKET_TIMESTAMP, PROTOBUF_VARINT), start);
	*at = *track_event = protobuf_begin(*at, PACKET_TRACK_EVENT);
	*at = protobuf_u64(*at, EVENT_TYPE, type);
	return NULL;
}

static epp_status *write_slice(struct export_run *run, const epp_event *event, const struct row *row)
{
	struct perfetto *perfetto = run->state;
	uint64_t start = perfetto_time(perfetto, event->start_ns), flow;
	const struct launch_call *call = NULL;
	char *at, *track_event;

	if (event->track->kind == EPP_TRACK_CALLS)
		EPP_TRY(launches_add(&perfetto->launches, event, 0, &call));
	EPP_TRY(begin_event(run, event, start, TYPE_BEGIN, &at, &track_event));
	at = put_name(put_track(at, row), event);
	at = perfetto_put_args(perfetto, at, event, row);
	if (event->flags & EPP_FLAG_REFERRED)
		at = protobuf_fixed64(at, EVENT_FLOW, perfetto_flow(event->track->source, event->id));
	if (call)
		at = protobuf_fixed64(at, EVENT_FLOW, call->flow);
	if (find_launch(run, event, &flow))
		at = put_launch(at, flow);
	protobuf_end(track_event, at);
	perfetto_packet_end(run, at);
	at = sink_reserve(run->sink, PLAIN_BYTES);
	sink_commit(run->sink, put_end_packet(perfetto, at, end_time(perfetto, event, start), row));
	return NULL;
}

static epp_status *write_instant(struct export_run *run, const epp_event *event, const struct row *row)
{
	char *at, *track_event;

	EPP_TRY(begin_event(run, event, perfetto_time(run->state, event->start_ns), TYPE_INSTANT, &at, &track_event));
	at = put_name(put_track(at, row), event);
	at = perfetto_put_args(run->state, at, event, row);
	protobuf_end(track_event, at);
	perfetto_packet_end(run, at);
	return NULL;
}

/* Returns the counter track of a name and row.  A track that was evicted from the cache is described again, which is
 * harmless. */
static epp_status *counter_track(struct export_run *run, const epp_event *event, const struct row *row, uint64_t *uuid)
{
	struct perfetto *perfetto = run->state;
	uint64_t row_uuid = perfetto_row_uuid(&perfetto->rows, row);

	*uuid = PERFETTO_UUID_OTHERS | row_uuid << 32 | event->name_number;
	size_t slot = (*uuid * UINT64_C(0x9E3779B97F4A7C15) >> 32) % PERFETTO_CACHE_COUNT;
	if (perfetto->counters[slot] == *uuid)
		return NULL;
	perfetto->counters[slot] = *uuid;
	return perfetto_describe(run, *uuid, row->process * UINT64_C(2) + 1, event->name, event->name_bytes, true);
}

static epp_status *write_counter(struct export_run *run, const epp_event *event, const struct row *row)
{
	struct perfetto *perfetto = run->state;
	const epp_trace_arg *arg = export_args(event);
	char *at, *track_event;
	uint64_t uuid = 0;

	if (!event->args_count || arg->type == EPP_ARG_TEXT || (arg->type == EPP_ARG_F64 && !isfinite(arg->value.f64))) {
		perfetto->counters_without_number++;
		return NULL;
	}
	EPP_TRY(counter_track(run, event, row, &uuid));
	EPP_TRY(perfetto_packet_begin(run, PLAIN_BYTES, &at));
	at = protobuf_u64(at, PACKET_TIMESTAMP, perfetto_time(perfetto, event->start_ns));
	at = track_event = protobuf_begin(at, PACKET_TRACK_EVENT);
	at = protobuf_u64(at, EVENT_TYPE, TYPE_COUNTER);
	at = protobuf_u64(at, EVENT_TRACK, uuid);
	if (arg->type == EPP_ARG_F64) {
		at = protobuf_f64(at, EVENT_COUNTER_F64, arg->value.f64);
	} else if (arg->type == EPP_ARG_U64 && arg->value.u64 > INT64_MAX) {
		perfetto->counters_rounded++;
		at = protobuf_f64(at, EVENT_COUNTER_F64, (double)arg->value.u64);
	} else {
		at = protobuf_i64(at, EVENT_COUNTER, arg->value.i64);
	}
	protobuf_end(track_event, at);
	perfetto_packet_end(run, at);
	return NULL;
}

/* Asynchronous events do not nest, so each has its own track under its process. */
static epp_status *write_async(struct export_run *run, const epp_event *event, const struct row *row)
{
	struct perfetto *perfetto = run->state;
	uint64_t uuid = PERFETTO_UUID_OTHERS << 1 |
	                (perfetto_flow(event->track->source, event->id) & (PERFETTO_UUID_OTHERS - 1));
	uint64_t start = perfetto_time(perfetto, event->start_ns);
	char *at, *track_event;

	EPP_TRY(perfetto_describe(run, uuid, row->process * UINT64_C(2) + 1, event->name, event->name_bytes, false));
	EPP_TRY(begin_event(run, event, start, TYPE_BEGIN, &at, &track_event));
	at = put_name(protobuf_u64(at, EVENT_TRACK, uuid), event);
	at = perfetto_put_args(perfetto, at, event, row);
	protobuf_end(track_event, at);
	perfetto_packet_end(run, at);
	EPP_TRY(perfetto_packet_begin(run, PLAIN_BYTES, &at));
	at = protobuf_u64(at, PACKET_TIMESTAMP, end_time(perfetto, event, start));
	at = track_event = protobuf_begin(at, PACKET_TRACK_EVENT);
	at = protobuf_u64(at, EVENT_TYPE, TYPE_END);
	at = protobuf_u64(at, EVENT_TRACK, uuid);
	protobuf_end(track_event, at);
	perfetto_packet_end(run, at);
	return NULL;
}

/* ---- arrows that the program drew ---- */

static epp_status *meet_ends(struct export_run *run, const epp_event *event)
{
	struct perfetto *perfetto = run->state;
	struct row *row;

	if (!perfetto->drawn.ends)
		EPP_TRY(flows_prepare(&perfetto->drawn));
	if (event->kind != EPP_EVENT_SLICE || !(event->flags & EPP_FLAG_FLOW))
		return NULL;
	EPP_TRY(perfetto_row(run, event->track, event->lane, &row));
	flows_meet(&perfetto->drawn, event, (uint32_t)(row - perfetto->rows.rows));
	return NULL;
}

static epp_status *write_arrow_end(struct export_run *run, const struct flow_end *end, char phase, uint64_t number)
{
	struct perfetto *perfetto = run->state;
	char *at, *track_event, *legacy;

	EPP_TRY(perfetto_packet_begin(run, PLAIN_BYTES, &at));
	at = protobuf_u64(at, PACKET_TIMESTAMP, perfetto_time(perfetto, end->start_ns));
	at = track_event = protobuf_begin(at, PACKET_TRACK_EVENT);
	at = put_track(at, &perfetto->rows.rows[end->row]);
	at = protobuf_u64(at, EVENT_CATEGORY_IID, EPP_API + 1);
	at = legacy = protobuf_begin(at, EVENT_LEGACY);
	at = protobuf_u64(at, LEGACY_PHASE, (uint64_t)phase);
	at = protobuf_u64(at, LEGACY_ID, number);
	at = protobuf_u64(at, LEGACY_BIND_ENCLOSING, 1);
	protobuf_end(legacy, at);
	protobuf_end(track_event, at);
	perfetto_packet_end(run, at);
	return NULL;
}

static epp_status *write_drawn(struct export_run *run)
{
	struct perfetto *perfetto = run->state;

	for (size_t i = 0; i < perfetto->drawn.flows_count; i++) {
		const struct flow *flow = &perfetto->drawn.flows[i];
		const struct flow_end *from = flows_end(&perfetto->drawn, flow->source, flow->from);
		const struct flow_end *to = flows_end(&perfetto->drawn, flow->source, flow->to);
		if (!from || !to) {
			perfetto->flows_without_end++;
		} else if (from->start_ns > to->start_ns) {
			perfetto->flows_back_in_time++;
		} else {
			EPP_TRY(write_arrow_end(run, from, 's', i + 1));
			EPP_TRY(write_arrow_end(run, to, 'f', i + 1));
		}
	}
	return NULL;
}

/* ---- the trace ---- */

static epp_status *write_arrow(struct export_run *run, const epp_event *event)
{
	if (run->pass)
		return meet_ends(run, event);
	run->again = true;
	return flows_add(&((struct perfetto *)run->state)->drawn, event);
}

/* Not inlined, so that the path for plain events needs few registers. */
__attribute__((noinline)) static epp_status *write_other(struct export_run *run, const epp_event *event,
                                                         const struct row *row)
{
	switch (event->kind) {
	case EPP_EVENT_SLICE:
		return write_slice(run, event, row);
	case EPP_EVENT_INSTANT:
		return write_instant(run, event, row);
	case EPP_EVENT_COUNTER:
		return write_counter(run, event, row);
	case EPP_EVENT_ASYNC:
		return write_async(run, event, row);
	}
	return NULL;
}

static epp_status *perfetto_event(struct export_run *run, const epp_event *event)
{
	struct perfetto *perfetto = run->state;
	struct row *row;

	if (run->pass || event->kind == EPP_EVENT_FLOW)
		return write_arrow(run, event);
	row = rows_recent(&perfetto->rows, event->track, event->lane);
	if (!row)
		EPP_TRY(perfetto_row(run, event->track, event->lane, &row));
	if (!id_set_has(&perfetto->names, 0, event->name_number))
		EPP_TRY(perfetto_intern_name(run, event));
	if (event->kind != EPP_EVENT_SLICE || !is_plain(event))
		return write_other(run, event, row);
	write_plain(run, event, row);
	return NULL;
}

static epp_status *perfetto_end(struct export_run *run)
{
	struct perfetto *perfetto = run->state;

	EPP_TRY(write_drawn(run));
	EPP_TRY(perfetto_write_facts(run));
	flows_write_receipts(&perfetto->drawn, run, perfetto->flows_without_end);
	export_receipt(run, perfetto->flows_back_in_time, "%s arrow%s left out: they would lead back in time");
	export_receipt(run, perfetto->counters_without_number, "%s counter value%s left out: they are not numbers");
	export_receipt(run, perfetto->counters_rounded, "%s counter value%s rounded: beyond 2^63");
	export_receipt(run, perfetto->outside_clock,
	               "%s time%s moved: they lie outside of what the format's clock can tell");
	return NULL;
}

static void perfetto_deinit(struct export_run *run)
{
	struct perfetto *perfetto = run->state;

	rows_deinit(&perfetto->rows);
	id_set_deinit(&perfetto->names);
	flows_deinit(&perfetto->drawn);
	launches_deinit(&perfetto->launches);
	message_deinit(&perfetto->message);
}

const struct export_writer export_perfetto = {
	.format = { "perfetto", ".pftrace", "Perfetto's own protobuf trace: smaller and faster to open than JSON" },
	.state_bytes = sizeof(struct perfetto),
	.begin = perfetto_begin_sequence,
	.event = perfetto_event,
	.end = perfetto_end,
	.deinit = perfetto_deinit,
};
