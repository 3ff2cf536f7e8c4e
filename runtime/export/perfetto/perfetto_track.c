/* Describes tracks: processes and threads with the numbers of the operating system; devices, and lanes that are not
 * threads, as plain tracks.  A row's track has the uuid 2 * row + 2, a process or device 2 * process + 1. */
#include <stdio.h>

#include "encoding/utf8.h"
#include "export/perfetto/perfetto.h"

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
/* Room for the fields of a description other than texts. */
#define NUMBERS_BYTES 256u

static uint64_t process_uuid(uint32_t index)
{
	return index * UINT64_C(2) + 1;
}

static epp_status *describe_process(struct export_run *run, const struct rows_process *process, uint32_t index)
{
	epp_trace_source source;
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
	if (row->tid == row->track->thread_id && row->track->kind == EPP_TRACK_THREAD) {
		at = inner = protobuf_begin(at, TRACK_THREAD);
		at = protobuf_u64(at, THREAD_PID, row->pid);
		at = protobuf_u64(at, THREAD_TID, row->tid);
		at = protobuf_text(at, THREAD_NAME, name, name_bytes);
		protobuf_end(inner, at);
	} else {
		at = inner = protobuf_begin(at, TRACK_NAME);
		at = utf8_mend(at, name, name_bytes);
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

epp_status *perfetto_row(struct export_run *run, const epp_trace_track *track, uint32_t lane, struct row **row)
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
	}
	return NULL;
}

epp_status *perfetto_describe(struct export_run *run, uint64_t uuid, uint64_t parent, const char *name, size_t bytes,
                              bool counter)
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

epp_status *perfetto_intern_name(struct export_run *run, const epp_event *event)
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
