/* Converts an event to a record.  The event's name and the stats that it shares with other events are in the tables of
 * its plane; its times are picoseconds relative to its line. */
#include <stdio.h>
#include <string.h>

#include "encoding/xspace.h"
#include "import/xspace/xplane_reader.h"

/* The decoded fields of an XEvent. */
struct parts {
	int64_t metadata_id, offset_ps, duration_ps;
	bool is_aggregated;
};

/* ---- stats ---- */

static void add_bytes(struct xplane_reader *reader, epp_arg *arg, size_t bytes)
{
	struct prepared *prepared = &reader->import->prepared;
	char *text = reader->sizes[reader->sizes_count];

	if (reader->sizes_count == XPLANE_SIZES_MAX) {
		reader->stats_lost++;
		return;
	}
	/* A binary value is usually a whole compiled program, so only its size is kept. */
	arg->text_bytes = (size_t)snprintf(text, sizeof(*reader->sizes), "(%zu bytes)", bytes);
	arg->type = EPP_ARG_TEXT;
	arg->value.text = text;
	reader->sizes_count++;
	prepared->args_count++;
}

static epp_status *add_reference(struct xplane_reader *reader, epp_arg *arg, uint64_t id)
{
	const struct xplane_entry *value;

	EPP_TRY(xplane_names_find(&reader->names, &reader->names.stats, (int64_t)id, &value));
	if (!value || !value->is_known) {
		reader->stats_lost++;
		return NULL;
	}
	arg->type = EPP_ARG_TEXT;
	arg->value.text = value->text.bytes ? value->text.text : "";
	arg->text_bytes = value->text.bytes;
	reader->import->prepared.args_count++;
	return NULL;
}

static epp_status *add_value(struct xplane_reader *reader, epp_arg *arg, const struct protobuf_field *value)
{
	switch (value->number) {
	case XSTAT_BYTES:
		add_bytes(reader, arg, value->count);
		return NULL;
	case XSTAT_REF:
		return add_reference(reader, arg, value->value);
	case XSTAT_TEXT:
		arg->type = EPP_ARG_TEXT;
		arg->value.text = value->count ? (const char *)value->bytes : "";
		arg->text_bytes = value->count;
		break;
	default:
		arg->type = value->number == XSTAT_F64   ? EPP_ARG_F64
		            : value->number == XSTAT_U64 ? EPP_ARG_U64
		                                         : EPP_ARG_I64;
		arg->value.u64 = value->value;
	}
	reader->import->prepared.args_count++;
	return NULL;
}

static bool is_value(const struct protobuf_field *field)
{
	return protobuf_is(field, XSTAT_F64, PROTOBUF_FIXED64) || protobuf_is(field, XSTAT_U64, PROTOBUF_VARINT) ||
	       protobuf_is(field, XSTAT_I64, PROTOBUF_VARINT) || protobuf_is(field, XSTAT_REF, PROTOBUF_VARINT) ||
	       protobuf_is(field, XSTAT_TEXT, PROTOBUF_BYTES) || protobuf_is(field, XSTAT_BYTES, PROTOBUF_BYTES);
}

epp_status *xplane_take_stat(struct xplane_reader *reader, struct protobuf_reader stat)
{
	struct prepared *prepared = &reader->import->prepared;
	struct protobuf_field field, value = { 0 };
	const struct xplane_entry *key;
	int64_t metadata_id = 0;

	while (protobuf_next(&stat, &field)) {
		if (protobuf_is(&field, XSTAT_METADATA_ID, PROTOBUF_VARINT))
			metadata_id = (int64_t)field.value;
		else if (is_value(&field))
			value = field;
	}
	EPP_TRY(xplane_names_find(&reader->names, &reader->names.stats, metadata_id, &key));
	/* A stat is left out if the plane does not define the number of its name. */
	if (stat.damaged || !value.number || !key || !key->is_known || prepared->args_count == PREPARED_ARGS_MAX) {
		reader->stats_lost++;
		return NULL;
	}
	epp_arg *arg = &prepared->args[prepared->args_count];
	*arg = (epp_arg){ .key = key->name };
	return add_value(reader, arg, &value);
}

static epp_status *read_metadata_stats(struct xplane_reader *reader, const struct xplane_entry *entry)
{
	struct protobuf_reader stats = protobuf_reader_of(entry->stats, entry->stats_bytes);
	struct protobuf_field field;

	while (protobuf_next(&stats, &field))
		EPP_TRY(xplane_take_stat(reader, protobuf_reader_in(&field)));
	return NULL;
}

/* ---- the record ---- */

static epp_status *parse_event(struct xplane_reader *reader, struct protobuf_reader message, struct parts *parts,
                               bool *is_whole)
{
	struct protobuf_field field;

	while (protobuf_next(&message, &field)) {
		if (protobuf_is(&field, XEVENT_METADATA_ID, PROTOBUF_VARINT)) {
			parts->metadata_id = (int64_t)field.value;
		} else if (protobuf_is(&field, XEVENT_OFFSET_PS, PROTOBUF_VARINT)) {
			parts->offset_ps = (int64_t)field.value;
			parts->is_aggregated = false;
		} else if (protobuf_is(&field, XEVENT_DURATION_PS, PROTOBUF_VARINT)) {
			parts->duration_ps = (int64_t)field.value;
		} else if (protobuf_is(&field, XEVENT_OCCURRENCES, PROTOBUF_VARINT)) {
			parts->is_aggregated = true;
		} else if (protobuf_is(&field, XEVENT_STATS, PROTOBUF_BYTES)) {
			EPP_TRY(xplane_take_stat(reader, protobuf_reader_in(&field)));
		}
	}
	*is_whole = !message.damaged;
	return NULL;
}

/* Sets the times.  Returns false if they are outside the range of a timeline. */
static bool read_times(struct xplane_reader *reader, const struct parts *parts)
{
	epp_trace_record *record = &reader->import->prepared.record;
	int64_t end_ps, start_ns, end_ns;

	if (parts->duration_ps < 0 || __builtin_add_overflow(parts->offset_ps, parts->duration_ps, &end_ps) ||
	    __builtin_add_overflow(reader->base_ns, parts->offset_ps / 1000 - (parts->offset_ps % 1000 < 0), &start_ns) ||
	    __builtin_add_overflow(reader->base_ns, end_ps / 1000 - (end_ps % 1000 < 0), &end_ns) ||
	    !import_time_fits(start_ns) || !import_time_fits(end_ns))
		return false;
	record->start_ticks = import_ticks(reader->import, start_ns);
	record->duration_ticks = (uint64_t)(end_ns - start_ns);
	if (start_ns < reader->first_ns)
		reader->first_ns = start_ns;
	return true;
}

/* Of events that begin at the same time, the outer one must have the smaller id.  The outer event comes first in lines
 * that are ordered by start, and last in other lines; ids therefore count up or down. */
static uint64_t assign_id(struct xplane_reader *reader)
{
	const epp_trace_record *record = &reader->import->prepared.record;
	uint64_t start = record->start_ticks, end = start + record->duration_ticks;
	struct xplane_track *track = reader->track;

	if (track->last_end) {
		track->in_order_of_start += start >= track->last_start;
		track->in_order_of_end += end >= track->last_end;
	}
	track->last_start = start;
	track->last_end = end;
	return track->in_order_of_end > track->in_order_of_start ? reader->import->next_id_down--
	                                                         : reader->import->next_id++;
}

static void remove_arg(struct prepared *prepared, const epp_arg *arg)
{
	size_t at = (size_t)(arg - prepared->args);

	memmove(&prepared->args[at], &prepared->args[at + 1], (--prepared->args_count - at) * sizeof(*prepared->args));
}

/* epprof's own files contain the category.  In other files, an event with a correlation is a call, and a root event is
 * a user annotation. */
static uint8_t read_category(struct xplane_reader *reader)
{
	static const char *const names[] = { "Session", "Node", "Kernel", "Api" };
	struct prepared *prepared = &reader->import->prepared;
	const epp_arg *category = reader->is_own ? xplane_find_arg(reader, XKEY_CATEGORY) : NULL;
	bool on_device = reader->plane->kind == XPLANE_DEVICE && !reader->line->is_derived;

	for (uint8_t i = 0; category && category->type == EPP_ARG_TEXT && i < 4; i++) {
		if (category->text_bytes == strlen(names[i]) &&
		    !memcmp(category->value.text, names[i], category->text_bytes)) {
			remove_arg(prepared, category);
			return i;
		}
	}
	if (on_device)
		return EPP_KERNEL;
	if (reader->plane->kind == XPLANE_DEVICE || reader->is_own)
		return EPP_NODE;
	if (xplane_find_arg(reader, XKEY_ROOT))
		return EPP_SESSION;
	return xplane_find_arg(reader, XKEY_CORRELATION) ? EPP_API : EPP_NODE;
}

static uint8_t kind_of(const struct xplane_reader *reader, const struct parts *parts)
{
	if (reader->line->is_counters)
		return EPP_RECORD_COUNTER;
	if (reader->plane->kind == XPLANE_DEVICE)
		return EPP_RECORD_COMPLETE;
	bool is_referred = xplane_find_arg(reader, XKEY_CORRELATION) || xplane_find_arg(reader, XKEY_PRODUCER) ||
	                   xplane_find_arg(reader, XKEY_CONSUMER);
	return parts->duration_ps || is_referred ? EPP_RECORD_EVENT : EPP_RECORD_INSTANT;
}

/* The value of a counter is the first number among its args. */
static bool read_value(struct prepared *prepared)
{
	for (uint32_t i = 0; i < prepared->args_count; i++) {
		if (prepared->args[i].type == EPP_ARG_TEXT)
			continue;
		prepared->args[0] = prepared->args[i];
		prepared->args_count = 1;
		prepared->record.duration_ticks = 0;
		return true;
	}
	return false;
}

static epp_status *put(struct xplane_reader *reader, const struct parts *parts)
{
	struct import *import = reader->import;
	epp_trace_record *record = &import->prepared.record;

	record->track = reader->track->track;
	record->kind = kind_of(reader, parts);
	if (record->kind == EPP_RECORD_COUNTER && !read_value(&import->prepared)) {
		import_count_lost(import, EPP_LOSS_REFUSED);
		return NULL;
	}
	record->id = assign_id(reader);
	if (record->kind == EPP_RECORD_COMPLETE)
		record->placement = EPP_PLACED_FORMULA;
	if (record->kind == EPP_RECORD_COMPLETE && !reader->line->is_derived)
		EPP_TRY(xplane_links_find_parent(reader));
	if (record->kind == EPP_RECORD_COMPLETE || record->kind == EPP_RECORD_EVENT)
		EPP_TRY(xplane_links_add(reader));
	record->category = read_category(reader);
	import->counts.events++;
	return record_write(import, &import->prepared);
}

/* Sets the record's name, and adds the stats that all events with the same metadata number share. */
static epp_status *read_entry(struct xplane_reader *reader, const struct xplane_entry *entry)
{
	struct prepared *prepared = &reader->import->prepared;

	reader->nameless += !entry->is_known;
	prepared->record.name = entry->name;
	EPP_TRY(read_metadata_stats(reader, entry));
	if (entry->display.bytes || entry->name == EPP_RECORD_NAME_LOST)
		record_add_arg(prepared, reader->name_key, entry->text.bytes ? entry->text.text : "", entry->text.bytes);
	return NULL;
}

epp_status *xplane_take_event(struct xplane_reader *reader, const struct xplane_message *message)
{
	struct prepared *prepared = &reader->import->prepared;
	const struct xplane_entry *entry;
	struct parts parts = { 0 };
	const uint8_t *bytes;
	bool is_whole;

	if (message->damaged) {
		reader->damaged++;
		return NULL;
	}
	if (xplane_message_bytes(message) > XPLANE_VIEW_BYTES_MAX) {
		import_count_lost(reader->import, EPP_LOSS_REFUSED);
		return NULL;
	}
	size_t count = (size_t)xplane_message_bytes(message);
	EPP_TRY(xplane_view(&reader->window, message->at, count, &bytes));
	xplane_names_next_event(&reader->names);
	prepared->record = (epp_trace_record){ 0 };
	prepared->args_count = reader->sizes_count = 0;
	EPP_TRY(parse_event(reader, protobuf_reader_of(bytes, count), &parts, &is_whole));
	if (!is_whole) {
		reader->damaged++;
		return NULL;
	}
	if (parts.is_aggregated) {
		reader->aggregated++;
		return NULL;
	}
	EPP_TRY(xplane_names_find(&reader->names, &reader->names.events, parts.metadata_id, &entry));
	if (!entry || !read_times(reader, &parts)) {
		import_count_lost(reader->import, EPP_LOSS_REFUSED);
		return NULL;
	}
	EPP_TRY(read_entry(reader, entry));
	return put(reader, &parts);
}
