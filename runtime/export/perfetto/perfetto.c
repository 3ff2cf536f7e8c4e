/* Writes Perfetto's own format: a sequence of protobuf packets, written as the events come, of any size.
 *
 * A slice is a begin packet directly followed by its end packet.  Readers sort packets by time, and those with equal
 * times by the order in the file.  Slices nest correctly, because outer slices are written first.  Names, categories
 * and keys are interned.  Times are those of CLOCK_MONOTONIC; clock snapshots relate this clock to CLOCK_REALTIME.
 *
 * A host event that others refer to begins a flow with its id; a plugin's call begins a flow with the call's number.  A
 * device event ends the flow of the call that launched it, or else of the host event that caused it.  The end is
 * written in the legacy form of Chrome events, because only in that form a flow can have several ends.  An arrow that
 * the program drew is a pair of such legacy events, written at the end, when both slices are known.
 *
 * Most host events are plain: two short packets with fixed parts.  An event with args is built in a separate buffer. */
#include "export/perfetto/perfetto.h"

#include <math.h>
#include <stdio.h>

#include "base/status.h"
#include "encoding/utf8.h"
#include "export/facts.h"
#include "export/ledger.h"
#include "timeline/clock_samples.h"

/* ---- tracks ---- */

/* Describes Perfetto's tracks.  Processes and threads have the numbers of the operating system; devices, and lanes
 * without a thread's number, are plain tracks.  The track of rows.rows[i] has the uuid 2 * i + 2, that of
 * rows.processes[i] has 2 * i + 1. */

/* Fields of TrackDescriptor, ProcessDescriptor and ThreadDescriptor. */
enum {
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8,
	TRACK_CHILD_ORDERING = 11,
	TRACK_RANK = 12
};
enum { PROCESS_PID = 1, PROCESS_NAME = 6, PROCESS_LABELS = 8 };
enum { THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };
enum { ORDERING_EXPLICIT = 3 };
/* Room for a track description, without its texts. */
#define NUMBERS_BYTES 256u

static uint64_t process_uuid(uint32_t index)
{
	return index * UINT64_C(2) + 1;
}

static epp_status *describe_process(struct export_run *run, const struct rows_process *process, uint32_t index)
{
	epp_trace_source source = { .struct_size = sizeof(source) };
	bool several = run->info->sources_count > 1;

	epp_trace_source_at(run->trace, process->source, &source);
	size_t name_bytes = strlen(process->name), label_bytes = strlen(source.label),
	       host_bytes = strlen(source.hostname);
	char *at, *descriptor, *inner;

	EPP_TRY(perfetto_packet_begin(run,
	                              NUMBERS_BYTES + message_text_bytes(name_bytes) + message_text_bytes(label_bytes) +
	                                  message_text_bytes(host_bytes),
	                              &at));
	at = descriptor = protobuf_begin(at, PACKET_TRACK_DESCRIPTOR);
	at = protobuf_u64(at, TRACK_UUID, process_uuid(index));
	if (process->group) {
		at = protobuf_text(at, TRACK_NAME, process->name, name_bytes);
	} else {
		at = inner = protobuf_begin(at, TRACK_PROCESS);
		at = protobuf_u64(at, PROCESS_PID, process->pid);
		at = protobuf_text(at, PROCESS_NAME, process->name, name_bytes);
		if (label_bytes)
			at = protobuf_text(at, PROCESS_LABELS, source.label, label_bytes);
		if (several && host_bytes)
			at = protobuf_text(at, PROCESS_LABELS, source.hostname, host_bytes);
		protobuf_end(inner, at);
	}
	at = protobuf_u64(at, TRACK_CHILD_ORDERING, ORDERING_EXPLICIT);
	at = protobuf_u64(at, TRACK_RANK, index);
	protobuf_end(descriptor, at);
	perfetto_packet_end(run, at);
	return NULL;
}

/* Returns true for the first lane of a thread.  Perfetto shows arrows of the program only between such lanes. */
static bool is_thread_row(const struct row *row)
{
	return row->tid == row->track->thread_id && row->track->kind == EPP_TRACK_THREAD;
}

static epp_status *describe_row(struct export_run *run, const struct row *row)
{
	const struct perfetto *perfetto = run->state;
	const char *name = row->track->name;
	size_t name_bytes = strlen(name);
	char *at, *descriptor, *inner, lane[ROWS_LANE_BYTES];

	EPP_TRY(perfetto_packet_begin(run, NUMBERS_BYTES + message_text_bytes(name_bytes + ROWS_LANE_BYTES), &at));
	at = descriptor = protobuf_begin(at, PACKET_TRACK_DESCRIPTOR);
	at = protobuf_u64(at, TRACK_UUID, perfetto_row_uuid(&perfetto->rows, row));
	at = protobuf_u64(at, TRACK_PARENT, process_uuid(row->process));
	if (is_thread_row(row)) {
		at = inner = protobuf_begin(at, TRACK_THREAD);
		at = protobuf_u64(at, THREAD_PID, row->pid);
		at = protobuf_u64(at, THREAD_TID, row->tid);
		at = protobuf_text(at, THREAD_NAME, name, name_bytes);
		protobuf_end(inner, at);
	} else {
		at = inner = protobuf_begin(at, TRACK_NAME);
		at = utf8_repair(at, name, name_bytes);
		rows_lane_text(row->lane, lane);
		at = mempcpy(at, lane, strlen(lane));
		protobuf_end(inner, at);
	}
	at = protobuf_u64(at, TRACK_RANK, (uint64_t)rows_sort_index(row));
	protobuf_end(descriptor, at);
	perfetto_packet_end(run, at);
	return NULL;
}

static void make_text(struct row *row, uint64_t uuid)
{
	char *at = mempcpy(row->text, PERFETTO_COMMON, sizeof PERFETTO_COMMON - 1);
	char *track_event = protobuf_begin_short(at, PACKET_TRACK_EVENT);

	at = protobuf_u64(track_event, EVENT_TYPE, TYPE_END);
	at = protobuf_u64(at, EVENT_TRACK, uuid);
	protobuf_end_short(track_event, at);
	row->text_bytes = (uint8_t)(at - row->text);
}

/* Returns the row of a lane.  The first call for a row writes the description of its track. */
static epp_status *perfetto_row(struct export_run *run, const epp_trace_track *track, uint32_t lane, struct row **row)
{
	struct perfetto *perfetto = run->state;

	*row = rows_recent(&perfetto->rows, track, lane);
	if (*row)
		return NULL;
	EPP_TRY(rows_find(&perfetto->rows, run->info, track, lane, row));
	if (!(*row)->announced) {
		struct rows_process *process = &perfetto->rows.processes[(*row)->process];
		if (!process->announced)
			EPP_TRY(describe_process(run, process, (*row)->process));
		process->announced = true;
		EPP_TRY(describe_row(run, *row));
		make_text(*row, perfetto_row_uuid(&perfetto->rows, *row));
		perfetto_make_device(*row);
		(*row)->announced = true;
		if (perfetto->gpu_stages && track->kind == EPP_TRACK_DEVICE) {
			EPP_TRY(perfetto_describe_queue(run, *row));
			/* perfetto_describe_queue may add rows and so move the array. */
			EPP_TRY(rows_find(&perfetto->rows, run->info, track, lane, row));
		}
	}
	return NULL;
}

/* Writes the description of a track. */
static epp_status *perfetto_describe(struct export_run *run, uint64_t uuid, uint64_t parent, const char *name,
                                     size_t bytes, bool counter)
{
	char *at, *descriptor;

	EPP_TRY(perfetto_packet_begin(run, NUMBERS_BYTES + message_text_bytes(bytes), &at));
	at = descriptor = protobuf_begin(at, PACKET_TRACK_DESCRIPTOR);
	at = protobuf_u64(at, TRACK_UUID, uuid);
	at = protobuf_text(at, TRACK_NAME, name, bytes);
	if (parent)
		at = protobuf_u64(at, TRACK_PARENT, parent);
	if (counter)
		at = protobuf_bytes(at, TRACK_COUNTER, "", 0);
	protobuf_end(descriptor, at);
	perfetto_packet_end(run, at);
	return NULL;
}

/* Interns the event's name at its first use. */
static epp_status *perfetto_intern_name(struct export_run *run, const epp_event *event)
{
	struct perfetto *perfetto = run->state;
	char *at, *interned, *name;
	bool added;

	if (!id_set_add(&perfetto->names, 0, event->name_number, &added))
		return epp_status_no_memory();
	if (!added)
		return NULL;
	EPP_TRY(perfetto_packet_begin(run, NUMBERS_BYTES + message_text_bytes(event->name_bytes), &at));
	at = interned = protobuf_begin(at, PACKET_INTERNED_DATA);
	at = name = protobuf_begin(at, INTERNED_EVENT_NAME);
	at = protobuf_u64(at, INTERNED_IID, perfetto_name_iid(event));
	at = protobuf_text(at, INTERNED_TEXT, event->name, event->name_bytes);
	protobuf_end(name, at);
	protobuf_end(interned, at);
	perfetto_packet_end(run, at);
	return NULL;
}

/* ---- facts of the trace ---- */

/* Writes the beginning of the sequence (clock, interned categories and keys, clock snapshots), and at its end the
 * ledger and the facts, as annotations of instants on a track of their own. */

enum { SNAPSHOT_CLOCK = 1, SNAPSHOT_PRIMARY = 2 };
enum { CLOCK_ID = 1, CLOCK_TIME = 2 };
#define CATEGORIES 5u

static char *put_clock(char *at, uint32_t id, uint64_t time)
{
	char *clock = protobuf_begin(at, SNAPSHOT_CLOCK);

	at = protobuf_u64(clock, CLOCK_ID, id);
	at = protobuf_u64(at, CLOCK_TIME, time);
	protobuf_end(clock, at);
	return at;
}

static epp_status *write_snapshot(struct export_run *run, int64_t monotonic_ns, int64_t realtime_ns)
{
	char *at, *snapshot;

	EPP_TRY(perfetto_packet_begin(run, 128, &at));
	at = protobuf_u64(at, PACKET_TIMESTAMP, (uint64_t)monotonic_ns);
	at = snapshot = protobuf_begin(at, PACKET_CLOCK_SNAPSHOT);
	at = put_clock(at, CLOCK_ID_MONOTONIC, (uint64_t)monotonic_ns);
	at = put_clock(at, CLOCK_ID_REALTIME, (uint64_t)realtime_ns);
	at = protobuf_u64(at, SNAPSHOT_PRIMARY, CLOCK_ID_MONOTONIC);
	protobuf_end(snapshot, at);
	perfetto_packet_end(run, at);
	return NULL;
}

static epp_status *write_snapshots(struct export_run *run)
{
	struct perfetto *perfetto = run->state;
	struct timeline_pair pair;
	bool any = false;

	for (size_t i = 0; timeline_pair_at(run->timeline, i, &pair); i++) {
		if (pair.is_device || pair.monotonic_ns < 0 || pair.realtime_ns < 0)
			continue;
		/* In a damaged file the difference may be beyond 64 bits. */
		if (!any && __builtin_sub_overflow(pair.monotonic_ns, pair.time_ns, &perfetto->zero_ns))
			continue;
		any = true;
		EPP_TRY(write_snapshot(run, pair.monotonic_ns, pair.realtime_ns));
	}
	/* Readers need at least one clock snapshot. */
	return any ? NULL : write_snapshot(run, 0, run->info->epoch_unix_ns);
}

static epp_status *perfetto_begin_sequence(struct export_run *run)
{
	struct perfetto *perfetto = run->state;
	char *at, *inner, *category;

	perfetto->time.upper = UINT64_MAX;
	perfetto->gpu_stages = run->options && run->options->gpu_stages;
	perfetto_make_placements(perfetto);
	EPP_TRY(perfetto_packet_begin(run, PERFETTO_KNOWN_KEYS_BYTES, &at));
	at = protobuf_u64(at, PACKET_SEQUENCE_FLAGS, SEQUENCE_BEGINS | SEQUENCE_GOES_ON);
	at = inner = protobuf_begin(at, PACKET_DEFAULTS);
	at = protobuf_u64(at, DEFAULTS_CLOCK, CLOCK_ID_MONOTONIC);
	protobuf_end(inner, at);
	at = inner = protobuf_begin(at, PACKET_INTERNED_DATA);
	for (uint32_t i = 0; i < CATEGORIES; i++) {
		const char *text = export_category(i);
		at = category = protobuf_begin(at, INTERNED_CATEGORY);
		at = protobuf_u64(at, INTERNED_IID, i + 1);
		at = protobuf_text(at, INTERNED_TEXT, text, strlen(text));
		protobuf_end(category, at);
	}
	at = perfetto_put_known_keys(at, perfetto->gpu_stages);
	protobuf_end(inner, at);
	perfetto_packet_end(run, at);
	return write_snapshots(run);
}

/* ---- ledger and facts ---- */

static char *put_number(char *at, const char *key, uint64_t value)
{
	char *annotation = protobuf_begin(at, EVENT_ANNOTATION);

	at = protobuf_text(annotation, ANNOTATION_NAME, key, strlen(key));
	at = protobuf_u64(at, ANNOTATION_U64, value);
	protobuf_end(annotation, at);
	return at;
}

static char *begin_instant(struct export_run *run, char *at, const char *name, char **event)
{
	struct perfetto *perfetto = run->state;

	at = protobuf_u64(at, PACKET_TIMESTAMP, perfetto_time(perfetto, perfetto->last_ns));
	at = *event = protobuf_begin(at, PACKET_TRACK_EVENT);
	at = protobuf_u64(at, EVENT_TYPE, TYPE_INSTANT);
	at = protobuf_u64(at, EVENT_TRACK, PERFETTO_UUID_FACTS);
	return protobuf_text(at, EVENT_NAME, name, strlen(name));
}

static epp_status *write_account(struct export_run *run, const epp_trace_ledger_entry *account)
{
	char *at, *event;

	EPP_TRY(perfetto_packet_begin(run, 4096 + message_text_bytes(strlen(account->producer)), &at));
	at = begin_instant(run, at, account->producer, &event);
	at = put_number(at, "emitted", account->emitted);
	at = put_number(at, "written", account->written);
	at = put_number(at, "open", account->open);
	for (unsigned reason = 0; reason < EPP_LOSS_ENTRY_COUNT && epp_loss_name(reason); reason++) {
		if (account->lost[reason])
			at = put_number(at, epp_loss_name(reason), account->lost[reason]);
	}
	at = put_number(at, "errors", account->errors);
	at = put_number(at, "balanced", account->balanced);
	if (account->source != LEDGER_NO_SOURCE)
		at = put_number(at, "source", account->source);
	protobuf_end(event, at);
	perfetto_packet_end(run, at);
	return NULL;
}

/* Writes the ledger and the facts as instants on a track of their own. */
static epp_status *perfetto_write_facts(struct export_run *run)
{
	static const char track[] = "epprof: ledger and facts";
	struct fact facts[FACTS_MAX];
	size_t facts_count = facts_collect(run, facts), count = ledger_count(run), bytes = 4096;
	char *at, *event;

	EPP_TRY(perfetto_describe(run, PERFETTO_UUID_FACTS, 0, track, strlen(track), false));
	for (size_t i = 0; i < count; i++) {
		epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
		EPP_TRY(ledger_at(run, i, &account));
		EPP_TRY(write_account(run, &account));
	}
	for (size_t i = 0; i < facts_count; i++)
		bytes += facts[i].kind == FACT_TEXT ? message_text_bytes(strlen(facts[i].value.text)) : 0;
	EPP_TRY(perfetto_packet_begin(run, bytes, &at));
	at = begin_instant(run, at, "trace", &event);
	for (size_t i = 0; i < facts_count; i++) {
		char *annotation = protobuf_begin(at, EVENT_ANNOTATION);
		at = protobuf_text(annotation, ANNOTATION_NAME, facts[i].key, strlen(facts[i].key));
		if (facts[i].kind == FACT_TEXT)
			at = protobuf_text(at, ANNOTATION_TEXT, facts[i].value.text, strlen(facts[i].value.text));
		else
			at = protobuf_i64(at, ANNOTATION_I64, facts[i].value.i64);
		protobuf_end(annotation, at);
	}
	protobuf_end(event, at);
	perfetto_packet_end(run, at);
	return NULL;
}

/* ---- the format ---- */

#define unlikely(condition) __builtin_expect(!!(condition), 0)

/* Room for the two packets of an event on the fast path. */
#define PLAIN_BYTES 256u
/* PACKET_BYTES: the maximum size of a packet that is built in the sink's buffer; larger ones are built in
 * perfetto->message.  HEAD_BYTES: the size of the head (tag and length) of a packet that is shorter than 128 bytes. */
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

/* Writes the event field with the uuid of a row's track: copies it from the row's text, with a constant length, which
 * is fast. */
static inline char *put_track(char *at, const struct row *row)
{
	memcpy(at, row->text + PERFETTO_ROW_TRACK, PERFETTO_ROW_BYTES - PERFETTO_ROW_TRACK);
	return at + row->text_bytes - PERFETTO_ROW_TRACK;
}

/* Writes a time whose upper bits differ from those of the previous time, and caches the new upper bits. */
__attribute__((noinline)) static char *put_time_slow(struct perfetto *perfetto, char *at, uint64_t time)
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

/* Writes a time as a varint; may write up to PROTOBUF_VARINT_BYTES. */
static inline char *put_time(struct perfetto *perfetto, char *at, uint64_t time)
{
	uint32_t lower = (uint32_t)time;

	if (unlikely(time >> PERFETTO_LOWER_BITS != perfetto->time.upper))
		return put_time_slow(perfetto, at, time);
	/* Distribute 28 bits over four bytes, seven bits in each: first separate the halves, then the quarters. */
	lower = (lower & 0x00003fff) | (lower & 0x0fffc000) << 2;
	lower = (lower & 0x007f007f) | (lower & 0x3f803f80) << 1;
	uint64_t text = perfetto->time.text | lower;
	memcpy(at, &text, sizeof(text));
	return at + perfetto->time.bytes;
}

/* Writes a packet shorter than 128 bytes, up to and including its time.  Returns the position after the time, where the
 * row's text is to be written. */
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

/* Most names have an iid below 2^14.  The one or two bytes of such an iid are written without a branch, which the
 * processor could not predict well. */
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

/* Returns the end of a slice in the packets' clock.  It is the written start plus the duration, so it is never before
 * the start, even if the start was moved to the clock's first time. */
static uint64_t end_time(struct perfetto *perfetto, const epp_event *event, uint64_t start)
{
	uint64_t duration = event->duration_ns > 0 ? (uint64_t)event->duration_ns : 0;

	if (perfetto->last_ns < event->start_ns)
		perfetto->last_ns = event->start_ns;
	return start + duration;
}

static bool is_plain(const epp_event *event)
{
	return !(event->flags & ~EXPORT_FLAGS_NAMED) && !event->args_count && !export_has_placement(event);
}

static inline void write_plain(struct export_run *run, const epp_event *event, const struct row *row)
{
	struct perfetto *perfetto = run->state;
	uint64_t start = perfetto_time(perfetto, event->start_ns);
	char *packet = protobuf_begin_short(sink_reserve(run->sink, PLAIN_BYTES), TRACE_PACKET);
	char *text = put_plain(perfetto, packet, start, row), *track_event = text + PERFETTO_ROW_EVENT;
	char *at = put_name(text + row->text_bytes, event);

	track_event[1] = TYPE_BEGIN;
	/* The flow is always written, and overwritten if the event has none, because the processor could not predict a
	 * branch well. */
	char *flow_end = protobuf_fixed64(at, EVENT_FLOW, perfetto_flow(event->track->source, event->id));
	at = event->flags & EPP_FLAG_REFERENCED ? flow_end : at;
	protobuf_end_short(track_event, at);
	protobuf_end_short(packet, at);
	sink_commit(run->sink, put_end_packet(perfetto, at, end_time(perfetto, event, start), row));
}

/* Finds the flow that ends at a device event, from the call that launched it, or else from the host event that caused
 * it.  Returns false if there is none, or if its start is not in the output or is later than the event; such flows are
 * counted. */
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

/* Writes the flows that begin at an event: one with the id of the event, and one with its number as a call. */
static char *put_flows(const struct perfetto *perfetto, char *at, const epp_event *event, const struct launch_call *call)
{
	uint64_t flow = perfetto_flow(event->track->source, event->id);
	bool is_referenced = event->flags & EPP_FLAG_REFERENCED;
	char *correlation;

	if (perfetto->gpu_stages && (is_referenced || call)) {
		correlation = protobuf_begin(at, EVENT_GPU_CORRELATION);
		at = is_referenced ? protobuf_u64(correlation, CORRELATION_SUBMITTED, flow) : correlation;
		at = call ? protobuf_u64(at, CORRELATION_SUBMITTED, call->flow) : at;
		protobuf_end(correlation, at);
		return at;
	}
	if (is_referenced)
		at = protobuf_fixed64(at, EVENT_FLOW, flow);
	return call ? protobuf_fixed64(at, EVENT_FLOW, call->flow) : at;
}

/* Begins the packet of an event and writes it up to the args.  The packet is built in a separate buffer if it may be
 * too long for the sink's. */
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
	at = put_flows(perfetto, at, event, call);
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

/* Returns the counter track with the name of an event.  Counters of threads belong to the process, others to their row.
 * If another counter has replaced the track in the cache of described tracks, its description is written again, which
 * readers allow. */
static epp_status *counter_track(struct export_run *run, const epp_event *event, const struct row *row, uint64_t *uuid)
{
	struct perfetto *perfetto = run->state;
	uint64_t process = process_uuid(row->process);
	uint64_t owner = row->track->kind == EPP_TRACK_THREAD ? process : perfetto_row_uuid(&perfetto->rows, row);

	*uuid = PERFETTO_UUID_OTHERS | owner << 32 | event->name_number;
	size_t slot = (*uuid * UINT64_C(0x9E3779B97F4A7C15) >> 32) % PERFETTO_CACHE_COUNT;
	if (perfetto->counters[slot] == *uuid)
		return NULL;
	perfetto->counters[slot] = *uuid;
	return perfetto_describe(run, *uuid, process, event->name, event->name_bytes, true);
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

/* Asynchronous events do not nest, so each has a track of its own under its process. */
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

static epp_status *set_flow_ends(struct export_run *run, const epp_event *event)
{
	struct perfetto *perfetto = run->state;
	struct row *row;

	if (!perfetto->user_flows.ends)
		EPP_TRY(flows_prepare(&perfetto->user_flows));
	if (event->kind != EPP_EVENT_SLICE || !(event->flags & EPP_FLAG_FLOW))
		return NULL;
	EPP_TRY(perfetto_row(run, event->track, event->lane, &row));
	flows_set_end(&perfetto->user_flows, event, (uint32_t)(row - perfetto->rows.rows));
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

static epp_status *write_user_flows(struct export_run *run)
{
	struct perfetto *perfetto = run->state;

	for (size_t i = 0; i < perfetto->user_flows.flows_count; i++) {
		const struct flow *flow = &perfetto->user_flows.flows[i];
		const struct flow_end *from = flows_end(&perfetto->user_flows, flow->source, flow->from);
		const struct flow_end *to = flows_end(&perfetto->user_flows, flow->source, flow->to);
		if (!from || !to) {
			perfetto->flows_without_end++;
		} else if (!is_thread_row(&perfetto->rows.rows[from->row]) ||
		           !is_thread_row(&perfetto->rows.rows[to->row])) {
			perfetto->flows_off_threads++;
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
		return set_flow_ends(run, event);
	run->again = true;
	return flows_add(&((struct perfetto *)run->state)->user_flows, event);
}

/* Writes a device event with a duration as a GPU stage (perfetto_stages.c). */
static epp_status *write_stage(struct export_run *run, const epp_event *event, const struct row *row)
{
	uint64_t id;

	if (!find_launch(run, event, &id))
		id = perfetto_flow(event->track->source, event->id);
	return perfetto_write_stage(run, event, row, id);
}

/* Writes an event that is not on the fast path.  Not inlined, so that the fast path needs few registers. */
__attribute__((noinline)) static epp_status *write_uncommon(struct export_run *run, const epp_event *event,
                                                            const struct row *row)
{
	const struct perfetto *perfetto = run->state;
	bool has_duration = event->kind == EPP_EVENT_SLICE || event->kind == EPP_EVENT_ASYNC;

	if (perfetto->gpu_stages && has_duration && row->track->kind == EPP_TRACK_DEVICE)
		return write_stage(run, event, row);
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
	/* The fast path does not write args, flags, placements, and the GpuCorrelation of GPU stages. */
	if (event->kind != EPP_EVENT_SLICE || !is_plain(event) || unlikely(perfetto->gpu_stages))
		return write_uncommon(run, event, row);
	write_plain(run, event, row);
	return NULL;
}

static epp_status *perfetto_end(struct export_run *run)
{
	struct perfetto *perfetto = run->state;

	EPP_TRY(write_user_flows(run));
	EPP_TRY(perfetto_write_gpus(run));
	EPP_TRY(perfetto_write_facts(run));
	flows_write_receipts(&perfetto->user_flows, run, perfetto->flows_without_end);
	export_receipt(run, perfetto->flows_back_in_time, "%s arrow%s left out: they end before they start");
	export_receipt(run, perfetto->flows_off_threads,
	               "%s arrow%s left out: the format has them only between the own rows of threads");
	export_receipt(run, perfetto->counters_without_number, "%s counter value%s left out: not a number");
	export_receipt(run, perfetto->counters_rounded, "%s counter value%s rounded: beyond 2^63");
	export_receipt(run, perfetto->outside_clock, "%s time%s moved: outside the range of the format's clock");
	return NULL;
}

static void perfetto_deinit(struct export_run *run)
{
	struct perfetto *perfetto = run->state;

	rows_deinit(&perfetto->rows);
	id_set_deinit(&perfetto->names);
	id_set_deinit(&perfetto->stages);
	flows_deinit(&perfetto->user_flows);
	launches_deinit(&perfetto->launches);
	message_deinit(&perfetto->message);
}

const struct export_writer export_perfetto = {
	.format = { "perfetto", ".pftrace", "Perfetto's protobuf trace: smaller than JSON and faster to open" },
	.state_bytes = sizeof(struct perfetto),
	.begin = perfetto_begin_sequence,
	.event = perfetto_event,
	.end = perfetto_end,
	.deinit = perfetto_deinit,
};
