/* Reads XSpace, the profile of TensorFlow, JAX and XProf (xplane.proto).
 *
 * Planes are read in this order: data about the session, hosts, devices.  So a call is read before the kernels that it
 * launched.  In each plane, the tables and the heads of the lines are read first, then the events, line by line.
 *
 * Times of lines are relative either to the session's start, whose Unix time is in the plane `Task Environment`, or to
 * 1970.  TensorFlow's and JAX's own profilers write the former, plugins the latter.  In epprof's own files they are
 * relative to `epoch_unix_ns` of the host's plane. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "containers/array.h"
#include "encoding/xspace.h"
#include "format/format.h"
#include "import/xspace/xplane_reader.h"

/* ---- tracks ---- */

/* Classifies planes and lines by the names that TensorFlow, JAX and XProf give them.  Threads of all planes of a host
 * are one process, because each profiler writes its own plane; planes of devices with equal names are one device.
 *
 * Some lines of a device are computed from its other lines (steps, modules, ops around kernels): They become separate
 * tracks that are not streams of a device, so that no work is counted twice.  On a TPU, the line of the ops is not
 * computed from others. */

/* The first id that XProf gives to a line that it has computed. */
#define DERIVED_ID_FIRST INT64_C(0xdeadbeef)
#define DERIVED_IDS 390

static bool starts_with(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Returns the number after the last colon of a name; 0 if there is none. */
static int32_t device_number(const char *name)
{
	const char *colon = strrchr(name, ':');
	long number = colon ? strtol(colon + 1, NULL, 10) : 0;

	return number >= 0 && number < INT32_MAX ? (int32_t)number : 0;
}

/* Determines the kind of a plane from its name. */
static void xplane_classify(struct xplane_reader *reader, struct xplane *plane)
{
	const char *name = plane->name;
	bool is_device = starts_with(name, "/device:") || starts_with(name, "#Chip") || starts_with(name, "/custom:");

	if (is_device && !starts_with(name, "/device:CPU"))
		plane->kind = XPLANE_DEVICE;
	else if (!strcmp(name, "Task Environment") || !strcmp(name, "/host:metadata"))
		plane->kind = XPLANE_ABOUT;
	else
		plane->kind = XPLANE_HOST;
	plane->is_tpu = starts_with(name, "/device:TPU:") || starts_with(name, "#Chip");
	plane->device = plane->kind == XPLANE_DEVICE ? device_number(name) : -1;
	plane->group = (uint32_t)(plane - reader->planes);
	for (uint32_t i = 0; i < plane->group; i++) {
		const struct xplane *other = &reader->planes[i];
		if (other->kind != plane->kind)
			continue;
		if (plane->kind == XPLANE_HOST || !strcmp(other->name, name)) {
			plane->group = other->group;
			plane->device = other->device;
			return;
		}
		/* Different devices get different numbers, even if the numbers in their names are equal. */
		if (plane->kind == XPLANE_DEVICE && other->device >= plane->device && other->device < INT32_MAX)
			plane->device = other->device + 1;
	}
}

/* Returns true if a line of the current plane is computed from other lines.  `alone`: all lines of the plane are of the
 * kinds that may be computed, so the lines of ops are not. */
static bool xplane_is_derived(const struct xplane *plane, const char *name, int64_t id, bool alone)
{
	static const char *const always[] = { "Steps",       "Framework Name Scope",  "Framework Ops",
		                              "XLA Modules", "TensorFlow Name Scope", "TensorFlow Ops",
		                              "Source code", "XLA TraceMe",           "Launch Stats" };
	static const char *const beside_streams[] = { "XLA Ops", "Async XLA Ops", "Host Offload Ops" };

	if (plane->kind != XPLANE_DEVICE)
		return false;
	for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++) {
		if (!strcmp(name, always[i]))
			return true;
	}
	if (plane->is_tpu || alone)
		return false;
	for (size_t i = 0; i < sizeof(beside_streams) / sizeof(*beside_streams); i++) {
		if (!strcmp(name, beside_streams[i]))
			return true;
	}
	return id >= DERIVED_ID_FIRST && id < DERIVED_ID_FIRST + DERIVED_IDS;
}

/* ---- tracks ---- */

static epp_trace_track definition_of(struct xplane_reader *reader, const struct xplane *plane, const char *name)
{
	bool is_device = plane->kind == XPLANE_DEVICE;

	return (epp_trace_track){ .kind = is_device ? EPP_TRACK_DEVICE : EPP_TRACK_THREAD,
		                  .device = plane->device,
		                  .producer = is_device ? import_producer(reader->import) : -1,
		                  .name = name,
		                  .group = is_device ? plane->name : "" };
}

static epp_status *make_track(struct xplane_reader *reader, uint32_t *track)
{
	const struct xplane_line *line = reader->line;
	bool is_host = reader->plane->kind == XPLANE_HOST;
	char own[48];

	snprintf(own, sizeof(own), is_host ? "thread %" PRId64 : "stream %" PRId64, line->id);
	epp_trace_track definition = definition_of(reader, reader->plane, *line->name ? line->name : own);
	if (is_host)
		definition.thread_id = line->id > 0 && line->id <= UINT32_MAX ? (uint32_t)line->id : 0;
	else
		definition.stream = line->id;
	if (line->is_derived) {
		definition.kind = EPP_TRACK_CUSTOM;
		definition.producer = -1;
	}
	return epp_trace_writer_add_track(reader->import->writer, &definition, track);
}

/* Sets reader->track to that of the current line and creates it if needed; NULL: there is no room. */
static epp_status *xplane_find_track(struct xplane_reader *reader)
{
	struct xplane_track *track;
	uint32_t number;

	reader->track = NULL;
	for (uint32_t i = 0; i < reader->tracks_count; i++) {
		track = &reader->tracks[i];
		if (track->line_id == reader->line->id && track->group == reader->plane->group) {
			reader->track = track;
			return NULL;
		}
	}
	if (reader->tracks_count == XPLANE_LINES_MAX)
		return NULL;
	if (!array_reserve(&reader->tracks, &reader->tracks_room, reader->tracks_count + (size_t)1,
	                   sizeof(*reader->tracks)))
		return epp_status_no_memory();
	EPP_TRY(make_track(reader, &number));
	track = &reader->tracks[reader->tracks_count++];
	*track = (struct xplane_track){ .track = number, .group = reader->plane->group, .line_id = reader->line->id };
	reader->track = track;
	return NULL;
}

/* Returns a track for the properties of a plane. */
static epp_status *xplane_about_track(struct xplane_reader *reader, const struct xplane *plane, uint32_t *track)
{
	epp_trace_track definition = definition_of(reader, plane, "properties");

	definition.kind = EPP_TRACK_CUSTOM;
	definition.producer = -1;
	return epp_trace_writer_add_track(reader->import->writer, &definition, track);
}

/* ---- links ---- */

/* Joins related events.  A call and its kernels have the same correlation id; of several calls with one id the last is
 * used, as in XProf.  An event that is a producer with a context type and id has an arrow to the consumers with the
 * same type and id.  All calls are known before the first kernel, because planes of hosts are read first. */

enum { PRODUCER = 1, CONSUMER = 2 };

static uint64_t number_of(const epp_arg *arg)
{
	return arg->type == EPP_ARG_TEXT ? 0 : arg->value.u64;
}

static epp_status *add_flow_end(struct xplane_reader *reader, enum xplane_key type_key, enum xplane_key id_key,
                                uint32_t role)
{
	const epp_trace_record *record = &reader->import->prepared.record;
	const epp_arg *type = xplane_find_arg(reader, type_key), *id = xplane_find_arg(reader, id_key);

	if (!type || !id)
		return NULL;
	uint64_t key = (number_of(id) * UINT64_C(0x9E3779B97F4A7C15)) ^ (number_of(type) * UINT64_C(0xC2B2AE3D27D4EB4F));
	/* At equal times the producer must come first.  The sorter puts the longer entry first, so `end` is larger for
	 * producers. */
	return sorter_add(&reader->flow_ends, &(struct sorter_entry){ .key = key,
	                                                              .start = record->start_ticks,
	                                                              .end = role == PRODUCER,
	                                                              .id = record->id,
	                                                              .track = record->track,
	                                                              .name = role });
}

epp_status *xplane_links_add(struct xplane_reader *reader)
{
	const epp_trace_record *record = &reader->import->prepared.record;
	const epp_arg *correlation = xplane_find_arg(reader, XKEY_CORRELATION);

	if (correlation && number_of(correlation) && reader->plane->kind == XPLANE_HOST)
		EPP_TRY(sorter_add(&reader->causes, &(struct sorter_entry){ .key = number_of(correlation),
		                                                            .start = record->start_ticks,
		                                                            .id = record->id }));
	EPP_TRY(add_flow_end(reader, XKEY_PRODUCER_TYPE, XKEY_PRODUCER, PRODUCER));
	return add_flow_end(reader, XKEY_CONSUMER_TYPE, XKEY_CONSUMER, CONSUMER);
}

epp_status *xplane_links_find_parent(struct xplane_reader *reader)
{
	epp_trace_record *record = &reader->import->prepared.record;
	const epp_arg *correlation = xplane_find_arg(reader, XKEY_CORRELATION);
	struct sorter_entry entry = { 0 };
	uint64_t place = 0;

	if (correlation && number_of(correlation))
		EPP_TRY(sorter_find(&reader->causes, number_of(correlation), UINT64_MAX, &place));
	if (place)
		EPP_TRY(sorter_at(&reader->causes, place - 1, &entry));
	if (place && entry.key == number_of(correlation)) {
		record->parent = entry.id;
		reader->import->counts.correlated++;
	} else {
		reader->import->counts.uncorrelated++;
	}
	return NULL;
}

static epp_status *write_arrow(struct xplane_reader *reader, const struct sorter_entry *from, const struct sorter_entry *to)
{
	struct import *import = reader->import;
	const epp_trace_record record = { .kind = EPP_RECORD_FLOW,
		                          .start_ticks = from->start,
		                          .id = to->id,
		                          .parent = from->id,
		                          .track = from->track,
		                          .name = EPF_NAME_FLOW };

	import->counts.events++;
	return epp_trace_writer_add_record(import->writer, &record);
}

/* Writes the arrows from producers to consumers. */
static epp_status *xplane_links_write(struct xplane_reader *reader)
{
	struct sorter_entry producer = { 0 }, entry;

	EPP_TRY(sorter_seal(&reader->flow_ends));
	for (uint64_t place = 0; place < reader->flow_ends.count; place++) {
		EPP_TRY(import_check_cancel(reader->import));
		EPP_TRY(sorter_at(&reader->flow_ends, place, &entry));
		if (entry.name == PRODUCER)
			producer = entry;
		else if (producer.name && producer.key == entry.key)
			EPP_TRY(write_arrow(reader, &producer, &entry));
		else
			reader->arrows_alone++;
	}
	return NULL;
}

/* ---- planes ---- */

#define YEAR_2001_NS INT64_C(1000000000000000000)
#define BYTES_A_CHECK (4u << 20) /* number of bytes that are read between two checks for cancellation */

static bool is_absolute(int64_t timestamp_ns)
{
	return timestamp_ns >= YEAR_2001_NS && import_time_fits(timestamp_ns);
}

/* ---- the first bytes ---- */

/* Returns true if the first field is one of a plane.  If the field is a message, the first byte of its content is
 * checked too. */
static bool is_plane(struct protobuf_reader bytes)
{
	uint64_t tag, count;

	if (bytes.at == bytes.end)
		return true;
	if (!protobuf_next_varint(&bytes, &tag))
		return false;
	if (tag == (XPLANE_ID << 3 | PROTOBUF_VARINT) || tag == (XPLANE_NAME << 3 | PROTOBUF_BYTES) ||
	    tag == (XPLANE_LINES << 3 | PROTOBUF_BYTES))
		return true;
	bool is_entry = (tag & 7) == PROTOBUF_BYTES && tag >> 3 >= XPLANE_EVENT_METADATA && tag >> 3 <= XPLANE_STATS;
	return is_entry && protobuf_next_varint(&bytes, &count) && bytes.at < bytes.end &&
	       (*bytes.at == (1 << 3 | PROTOBUF_VARINT) || *bytes.at == (2 << 3 | PROTOBUF_BYTES));
}

static bool xplane_probe(const char *bytes, size_t count)
{
	struct protobuf_reader space = protobuf_reader_of(bytes, count);
	uint64_t tag, length;
	bool any = false;

	while (space.at < space.end && protobuf_next_varint(&space, &tag) && protobuf_next_varint(&space, &length)) {
		if ((tag & 7) != PROTOBUF_BYTES || tag >> 3 < XSPACE_PLANES || tag >> 3 > XSPACE_HOSTNAMES)
			return any && !tag;
		bool is_cut = length > (uint64_t)(space.end - space.at);
		struct protobuf_reader inside = protobuf_reader_of(space.at, is_cut ? (size_t)(space.end - space.at)
		                                                                    : (size_t)length);
		if (tag >> 3 == XSPACE_PLANES && !is_plane(inside))
			return false;
		any |= tag >> 3 == XSPACE_PLANES;
		if (is_cut)
			break;
		space.at += length;
	}
	return any;
}

/* ---- planes ---- */

static epp_status *read_text(struct xplane_reader *reader, const struct xplane_message *message, char *text, size_t room)
{
	uint64_t all = xplane_message_bytes(message);
	size_t bytes = all < room - 1 ? (size_t)all : room - 1;
	const uint8_t *from;

	EPP_TRY(xplane_view(&reader->window, message->at, bytes, &from));
	memcpy(text, from, bytes);
	text[bytes] = 0;
	return NULL;
}

static epp_status *find_plane(struct xplane_reader *reader, struct xplane_message message)
{
	struct xplane *plane = &reader->planes[reader->planes_count];
	struct xplane_field field;
	bool found;

	if (reader->planes_count == XPLANE_PLANES_MAX) {
		reader->planes_left_out++;
		return NULL;
	}
	*plane = (struct xplane){ .message = message };
	for (;;) {
		EPP_TRY(xplane_next(&reader->window, &message, &field, &found));
		if (!found)
			break;
		if (xplane_is(&field, XPLANE_NAME, PROTOBUF_BYTES))
			EPP_TRY(read_text(reader, &field.message, plane->name, sizeof(plane->name)));
	}
	reader->damaged += message.damaged;
	xplane_classify(reader, plane);
	reader->planes_count++;
	return NULL;
}

/* Returns true for zeros after the last plane.  They are no damage, because some hosts write a whole buffer although it
 * is not full. */
static epp_status *is_padding(struct xplane_reader *reader, const struct xplane_message *space, bool *padding)
{
	const uint8_t *bytes;

	*padding = space->at == space->end;
	if (*padding)
		return NULL;
	EPP_TRY(xplane_view(&reader->window, space->at, 1, &bytes));
	*padding = !*bytes;
	return NULL;
}

static epp_status *read_message(struct xplane_reader *reader, const struct xplane_field *field)
{
	char text[XPLANE_NAME_BYTES];

	EPP_TRY(read_text(reader, &field->message, text, sizeof(text)));
	if (field->number == XSPACE_HOSTNAMES && *text)
		epp_trace_writer_describe_source(reader->import->writer, 0, 0, NULL, text);
	else if (field->number != XSPACE_HOSTNAMES)
		import_note(reader->import, "%s in the profile: %s",
		            field->number == XSPACE_ERRORS ? "error" : "warning", text);
	return NULL;
}

static epp_status *find_planes(struct xplane_reader *reader)
{
	struct xplane_message space = { .end = reader->file.bytes };
	struct xplane_field field;
	bool found, padding;

	for (;;) {
		EPP_TRY(import_check_cancel(reader->import));
		EPP_TRY(is_padding(reader, &space, &padding));
		if (padding)
			return NULL;
		EPP_TRY(xplane_next(&reader->window, &space, &field, &found));
		if (!found) {
			reader->damaged += space.damaged;
			return NULL;
		}
		if (xplane_is(&field, XSPACE_PLANES, PROTOBUF_BYTES))
			EPP_TRY(find_plane(reader, field.message));
		else if (field.type == PROTOBUF_BYTES && field.number <= XSPACE_HOSTNAMES)
			EPP_TRY(read_message(reader, &field));
	}
}

/* ---- properties of a plane ---- */

static bool stat_is(const struct xplane_reader *reader, const epp_arg *arg, const char *key)
{
	return arg->key == epp_trace_writer_intern_name(reader->import->writer, key, strlen(key));
}

/* Stores a property of the session: its start time, or the id of its process.  A framework's profile may contain two
 * start times, that of the framework and that of epprof's bridge.  The framework's one comes first and is used. */
static void read_fact(struct xplane_reader *reader, const epp_arg *arg)
{
	bool is_number = arg->type == EPP_ARG_I64 || arg->type == EPP_ARG_U64;
	bool is_start = is_number && (stat_is(reader, arg, "profile_start_time") || stat_is(reader, arg, "epoch_unix_ns"));

	if (is_start && !reader->has_start && is_absolute(arg->value.i64)) {
		reader->has_start = true;
		reader->start_ns = arg->value.i64;
		reader->is_own = stat_is(reader, arg, "epoch_unix_ns");
	}
	if (is_number && (stat_is(reader, arg, "process_id") || stat_is(reader, arg, "pid")) && arg->value.u64 <= UINT32_MAX)
		epp_trace_writer_describe_source(reader->import->writer, 0, (uint32_t)arg->value.u64, NULL, NULL);
}

/* Stores the prepared record until the end of the import. */
static epp_status *keep_properties(struct xplane_reader *reader)
{
	struct prepared *prepared = &reader->import->prepared;
	const struct xplane *plane = reader->plane;
	const char *name = plane->kind == XPLANE_DEVICE ? "epprof.device" : plane->name;
	size_t bytes;

	prepared->record.name = epp_trace_writer_intern_name(reader->import->writer, name, strlen(name));
	EPP_TRY(xplane_about_track(reader, plane, &prepared->record.track));
	EPP_TRY(record_pack(prepared, &bytes));
	return temp_file_put(&reader->import->providers, prepared->packed, bytes);
}

/* Copies the text of a stat, which is in the window's buffer, because reading the next stat may overwrite this
 * buffer. */
static bool keep_text(struct xplane_reader *reader, epp_arg *arg)
{
	if (arg->type != EPP_ARG_TEXT)
		return true;
	arg->value.text = xplane_names_keep(&reader->names, arg->value.text, arg->text_bytes);
	return arg->value.text != NULL;
}

/* The plane's stats become the args of an instant.  It is written at the end of the import, because its time is only
 * known after all events. */
static epp_status *read_plane_stats(struct xplane_reader *reader)
{
	struct prepared *prepared = &reader->import->prepared;
	struct xplane_message walk = reader->plane->message;
	struct xplane_field field;
	const uint8_t *bytes;
	bool found;

	xplane_names_next_event(&reader->names);
	prepared->record = (epp_trace_record){ .kind = EPP_RECORD_INSTANT, .category = EPP_NODE };
	prepared->args_count = reader->sizes_count = 0;
	for (;;) {
		EPP_TRY(xplane_next(&reader->names.window, &walk, &field, &found));
		if (!found)
			break;
		uint64_t count = xplane_is(&field, XPLANE_STATS, PROTOBUF_BYTES) ? xplane_message_bytes(&field.message)
		                                                                 : 0;
		if (!count || field.message.damaged || count > XPLANE_TEXT_BYTES_MAX)
			continue;
		uint32_t before = prepared->args_count;
		EPP_TRY(xplane_view(&reader->window, field.message.at, (size_t)count, &bytes));
		EPP_TRY(xplane_take_stat(reader, protobuf_reader_of(bytes, (size_t)count)));
		if (prepared->args_count > before) {
			read_fact(reader, &prepared->args[before]);
			prepared->args_count -= !keep_text(reader, &prepared->args[before]);
		}
	}
	return prepared->args_count ? keep_properties(reader) : NULL;
}

/* ---- one plane ---- */

/* The name of the line may come after the events of the line. */
static epp_status *read_line_head(struct xplane_reader *reader, struct xplane_message message)
{
	struct xplane_line line = { .message = message };
	struct xplane_field field;
	bool found, any = false, has_display_name = false;

	for (;;) {
		EPP_TRY(xplane_next(&reader->window, &message, &field, &found));
		if (!found)
			break;
		any |= xplane_is(&field, XLINE_EVENTS, PROTOBUF_BYTES);
		if (xplane_is(&field, XLINE_ID, PROTOBUF_VARINT))
			line.id = (int64_t)field.value;
		else if (xplane_is(&field, XLINE_TIMESTAMP_NS, PROTOBUF_VARINT))
			line.timestamp_ns = (int64_t)field.value;
		bool is_display_name = xplane_is(&field, XLINE_DISPLAY_NAME, PROTOBUF_BYTES) &&
		                       xplane_message_bytes(&field.message);
		if (is_display_name || (xplane_is(&field, XLINE_NAME, PROTOBUF_BYTES) && !has_display_name))
			EPP_TRY(read_text(reader, &field.message, line.name, sizeof(line.name)));
		has_display_name |= is_display_name;
	}
	reader->damaged += message.damaged;
	if (!any)
		return NULL;
	if (reader->lines_count == XPLANE_LINES_MAX) {
		reader->lines_left_out++;
		return NULL;
	}
	if (!array_reserve(&reader->lines, &reader->lines_room, reader->lines_count + (size_t)1, sizeof(*reader->lines)))
		return epp_status_no_memory();
	line.is_counters = !strcmp(line.name, "_counters_");
	reader->lines[reader->lines_count++] = line;
	return NULL;
}

static epp_status *read_tables(struct xplane_reader *reader)
{
	struct xplane_message walk = reader->plane->message;
	struct xplane_field field;
	bool found, damaged;

	reader->lines_count = 0;
	xplane_names_clear(&reader->names);
	for (;;) {
		struct xplane_table *table = NULL;
		EPP_TRY(xplane_next(&reader->window, &walk, &field, &found));
		if (!found)
			return xplane_names_seal(&reader->names);
		if (xplane_is(&field, XPLANE_LINES, PROTOBUF_BYTES) && reader->plane->kind != XPLANE_ABOUT)
			EPP_TRY(read_line_head(reader, field.message));
		else if (xplane_is(&field, XPLANE_EVENT_METADATA, PROTOBUF_BYTES))
			table = &reader->names.events;
		else if (xplane_is(&field, XPLANE_STAT_METADATA, PROTOBUF_BYTES))
			table = &reader->names.stats;
		if (!table)
			continue;
		EPP_TRY(xplane_names_add(&reader->names, table, field.message, &damaged));
		reader->damaged += damaged;
	}
}

/* Sets is_derived of all lines of the plane.  For some kinds of lines it depends on whether the plane has lines of
 * other kinds. */
static void find_derived(struct xplane_reader *reader)
{
	bool alone = true;

	for (uint32_t i = 0; i < reader->lines_count; i++)
		alone &= xplane_is_derived(reader->plane, reader->lines[i].name, reader->lines[i].id, false);
	for (uint32_t i = 0; i < reader->lines_count; i++) {
		struct xplane_line *line = &reader->lines[i];
		line->is_derived = xplane_is_derived(reader->plane, line->name, line->id, alone);
	}
}

/* Returns the time to which a line's times are relative.  If the file has no start time, the first line with a Unix
 * time defines it. */
static int64_t find_line_base(struct xplane_reader *reader, const struct xplane_line *line)
{
	if (!is_absolute(line->timestamp_ns))
		return reader->start_ns + (import_time_fits(line->timestamp_ns) ? line->timestamp_ns : IMPORT_NS_MIN);
	if (!reader->has_start) {
		reader->has_start = true;
		reader->start_ns = line->timestamp_ns;
	}
	return line->timestamp_ns;
}

static epp_status *read_line(struct xplane_reader *reader)
{
	struct xplane_message walk = reader->line->message;
	uint64_t checked_at = walk.at;
	struct xplane_field field;
	bool found;

	EPP_TRY(xplane_find_track(reader));
	if (!reader->track) {
		reader->lines_left_out++;
		return NULL;
	}
	reader->base_ns = find_line_base(reader, reader->line);
	for (;;) {
		EPP_TRY(xplane_next(&reader->window, &walk, &field, &found));
		if (!found)
			return NULL;
		if (xplane_is(&field, XLINE_EVENTS, PROTOBUF_BYTES))
			EPP_TRY(xplane_take_event(reader, &field.message));
		if (walk.at - checked_at > BYTES_A_CHECK) {
			EPP_TRY(import_check_cancel(reader->import));
			checked_at = walk.at;
		}
	}
}

static epp_status *read_plane(struct xplane_reader *reader)
{
	EPP_TRY(import_check_cancel(reader->import));
	EPP_TRY(read_tables(reader));
	EPP_TRY(read_plane_stats(reader));
	find_derived(reader);
	for (uint32_t i = 0; i < reader->lines_count; i++) {
		reader->line = &reader->lines[i];
		EPP_TRY(read_line(reader));
	}
	return NULL;
}

static epp_status *read_planes(struct xplane_reader *reader, enum xplane_kind kind)
{
	for (uint32_t i = 0; i < reader->planes_count; i++) {
		reader->plane = &reader->planes[i];
		if (reader->plane->kind == kind)
			EPP_TRY(read_plane(reader));
	}
	return NULL;
}

/* ---- the file ---- */

static void find_keys(struct xplane_reader *reader)
{
	static const char *const texts[XKEY_COUNT] = {
		[XKEY_CORRELATION] = "correlation_id", [XKEY_PRODUCER_TYPE] = "_pt", [XKEY_PRODUCER] = "_p",
		[XKEY_CONSUMER_TYPE] = "_ct",          [XKEY_CONSUMER] = "_c",       [XKEY_ROOT] = "_r",
		[XKEY_CATEGORY] = "category",
	};

	for (size_t i = 0; i < XKEY_COUNT; i++)
		reader->keys[i] = epp_trace_writer_intern_name(reader->import->writer, texts[i], strlen(texts[i]));
	reader->name_key = epp_trace_writer_intern_name(reader->import->writer, "name", 4);
}

/* Sets time 0 of the trace: the session's start, or the first event if it is far from the session's start. */
static void find_epoch(struct xplane_reader *reader)
{
	const int64_t day_ns = INT64_C(86400000000000);
	struct import *import = reader->import;

	import->has_fractions = true;
	if (reader->has_start)
		import->zero_ns = reader->start_ns;
	else if (reader->first_ns > day_ns || reader->first_ns < 0)
		import->zero_ns = reader->first_ns;
	if (is_absolute(import->zero_ns))
		import->epoch_ns = import->zero_ns;
	else if (import->epoch_ns)
		import->epoch_ns += import->zero_ns;
}

/* Writes the properties of planes as instants at time 0. */
static epp_status *write_properties(struct xplane_reader *reader)
{
	struct import *import = reader->import;
	const void *piece;
	size_t bytes;

	if (!import->providers.count)
		return NULL;
	EPP_TRY(temp_file_rewind(&import->providers));
	for (;;) {
		EPP_TRY(temp_file_get(&import->providers, &piece, &bytes));
		if (!piece)
			return NULL;
		record_unpack(&import->prepared, piece);
		import->prepared.record.start_ticks = import_ticks(import, import->zero_ns);
		import->prepared.record.id = import->next_id++;
		EPP_TRY(record_write(import, &import->prepared));
	}
}

static void write_notes(const struct xplane_reader *reader)
{
	struct import *import = reader->import;

	import_note_count(import, reader->damaged, "message%s truncated: their complete parts were imported");
	import_note_count(import, reader->nameless, "event%s without a name: the plane does not define the metadata id");
	import_note_count(import, reader->aggregated, "aggregated event%s left out: they have no start time");
	import_note_count(import, reader->stats_lost + reader->names.too_large,
	                  "stat%s left out: too large, too many, or not defined by their plane");
	import_note_count(import, reader->planes_left_out, "plane%s left out: more than 1024");
	import_note_count(import, reader->lines_left_out, "line%s left out: more than 16384");
	import_note_count(import, reader->arrows_alone, "arrow end%s left out: the arrow has no start");
}

static epp_status *read_all(struct xplane_reader *reader)
{
	EPP_TRY(xplane_file_open(&reader->file, reader->import));
	EPP_TRY(xplane_names_init(&reader->names, reader->import, &reader->file));
	find_keys(reader);
	EPP_TRY(find_planes(reader));
	EPP_TRY(read_planes(reader, XPLANE_ABOUT));
	EPP_TRY(read_planes(reader, XPLANE_HOST));
	EPP_TRY(sorter_seal(&reader->causes));
	EPP_TRY(read_planes(reader, XPLANE_DEVICE));
	if (!reader->import->counts.events)
		return NULL;
	EPP_TRY(xplane_links_write(reader));
	find_epoch(reader);
	return write_properties(reader);
}

static epp_status *xplane_read(struct import *import)
{
	struct xplane_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return epp_status_no_memory();
	reader->import = import;
	reader->window.file = &reader->file;
	reader->first_ns = INT64_MAX;
	epp_status *status = read_all(reader);
	write_notes(reader);
	xplane_names_deinit(&reader->names);
	xplane_window_deinit(&reader->window);
	xplane_file_close(&reader->file);
	sorter_deinit(&reader->causes);
	sorter_deinit(&reader->flow_ends);
	free(reader->tracks);
	free(reader->lines);
	free(reader);
	return status;
}

const struct import_format import_xspace = {
	.format = { "xspace", "XSpace, the profile of TensorFlow, JAX and XProf (.xplane.pb)" },
	.ns_per_tick = 1,
	.is_binary = true,
	.probe = xplane_probe,
	.read = xplane_read,
};
