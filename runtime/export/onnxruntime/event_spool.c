/* Stores each event as a head, its array of args, and the texts of the args one after the other. */
#include "export/onnxruntime/event_spool.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "containers/array.h"
#include "export/writer.h"

#define PIECE_BYTES (256u << 10)

/* The fields of an event that a format may read, in half the size of epp_event. */
struct head {
	const char *name;
	const epp_trace_track *track;
	int64_t start_ns, duration_ns, start_error_ns, end_error_ns;
	int64_t parent_start_ns; /* INT64_MIN: unknown */
	uint32_t name_bytes, name_number, lane, flags;
	uint32_t args_bytes; /* with their texts, rounded up so that the next head is aligned */
	uint8_t kind, category, placement, args_count;
};

epp_status *event_spool_init(struct event_spool *spool)
{
	*spool = (struct event_spool){ 0 };
	return sink_spool_init(&spool->spool);
}

void event_spool_deinit(struct event_spool *spool)
{
	sink_spool_deinit(&spool->spool);
	free(spool->piece);
	*spool = (struct event_spool){ 0 };
}

/* ---- put ---- */

static size_t texts_bytes(const epp_trace_arg *args, size_t count)
{
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += args[i].type == EPP_ARG_TEXT ? args[i].text_bytes : 0;
	return bytes;
}

static void put_args(struct sink *sink, const epp_event *event, size_t unused)
{
	static const char zeros[8];
	const epp_trace_arg *args = export_args(event);

	sink_bytes(sink, args, event->args_count * sizeof *args);
	for (size_t i = 0; i < event->args_count; i++)
		if (args[i].type == EPP_ARG_TEXT)
			sink_bytes(sink, args[i].value.text, args[i].text_bytes);
	sink_bytes(sink, zeros, unused);
}

void event_spool_put(struct event_spool *spool, const epp_event *event)
{
	struct sink *sink = &spool->spool.sink;
	size_t bytes = event->args_count * sizeof(epp_trace_arg) + texts_bytes(export_args(event), event->args_count);
	size_t unused = -bytes % 8;
	const struct head head = { .name = event->name,
		                   .track = event->track,
		                   .start_ns = event->start_ns,
		                   .duration_ns = event->duration_ns,
		                   .start_error_ns = event->start_error_ns,
		                   .end_error_ns = event->end_error_ns,
		                   .parent_start_ns = event->parent ? event->parent_start_ns : INT64_MIN,
		                   .name_bytes = (uint32_t)event->name_bytes,
		                   .name_number = event->name_number,
		                   .lane = event->lane,
		                   .flags = event->flags,
		                   .args_bytes = (uint32_t)(bytes + unused),
		                   .kind = event->kind,
		                   .category = event->category,
		                   .placement = event->placement,
		                   .args_count = event->args_count };

	sink_bytes(sink, &head, sizeof head);
	if (event->args_count)
		put_args(sink, event, unused);
	spool->bytes_count += sizeof head + head.args_bytes;
}

/* ---- take ---- */

/* Makes the next `bytes` bytes available at piece_at, and fills the rest of the buffer from the file. */
static epp_status *need(struct event_spool *spool, size_t bytes)
{
	size_t rest = spool->piece_bytes - spool->piece_at;

	if (rest >= bytes)
		return NULL;
	if (!array_reserve(&spool->piece, &spool->piece_room, bytes > PIECE_BYTES ? bytes : PIECE_BYTES, 1))
		return epp_status_no_memory();
	memmove(spool->piece, spool->piece + spool->piece_at, rest);
	uint64_t left = spool->bytes_count - spool->bytes_taken;
	size_t more = left < spool->piece_room - rest ? (size_t)left : spool->piece_room - rest;
	spool->piece_at = 0;
	spool->piece_bytes = rest + more;
	EPP_TRY(sink_spool_read(&spool->spool, spool->bytes_taken, spool->piece + rest, more));
	spool->bytes_taken += more;
	return NULL;
}

static void point_to_texts(epp_trace_arg *args, size_t count)
{
	const char *text = (const char *)(args + count);

	for (size_t i = 0; i < count; i++)
		if (args[i].type == EPP_ARG_TEXT) {
			args[i].value.text = text;
			text += args[i].text_bytes;
		}
}

epp_status *event_spool_take(struct event_spool *spool, const epp_event **event)
{
	struct head head;

	*event = NULL;
	if (spool->bytes_taken == spool->bytes_count && spool->piece_at == spool->piece_bytes)
		return NULL;
	EPP_TRY(need(spool, sizeof head));
	memcpy(&head, spool->piece + spool->piece_at, sizeof head);
	spool->piece_at += sizeof head;
	EPP_TRY(need(spool, head.args_bytes));
	epp_trace_arg *args = (void *)(spool->piece + spool->piece_at);
	point_to_texts(args, head.args_count);
	spool->piece_at += head.args_bytes;
	spool->event = (epp_event){ .start_ns = head.start_ns,
		                    .duration_ns = head.duration_ns,
		                    .start_error_ns = head.start_error_ns,
		                    .end_error_ns = head.end_error_ns,
		                    .parent = head.parent_start_ns != INT64_MIN,
		                    .name = head.name,
		                    .name_bytes = head.name_bytes,
		                    .track = head.track,
		                    .parent_start_ns = head.parent_start_ns,
		                    .parent_end_ns = INT64_MIN,
		                    .launch_ns = INT64_MIN,
		                    .name_number = head.name_number,
		                    .lane = head.lane,
		                    .kind = head.kind,
		                    .category = head.category,
		                    .placement = head.placement,
		                    .args_count = head.args_count,
		                    .flags = head.flags,
		                    .args = args };
	*event = &spool->event;
	return NULL;
}
