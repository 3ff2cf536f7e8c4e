/* Reads XSpace, the profile of TensorFlow, JAX and XProf (xplane.proto).
 *
 * Planes are read in this order: data about the session, hosts, devices; so a kernel's call is known before the kernel.
 * Of a plane, the tables and the heads of its lines are read first, then the events, line by line.
 *
 * Times of lines are relative to the session's start, whose Unix time is in the plane `Task Environment`, or to 1970:
 * profilers write the former, their plugins the latter.  In epprof's own files they are relative to `epoch_unix_ns` of
 * the host's plane. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "containers/array.h"
#include "encoding/xspace.h"
#include "import/xspace/xplane_reader.h"

#define YEAR_2001_NS INT64_C(1000000000000000000)
#define BYTES_A_CHECK (4u << 20) /* read between two checks for cancellation */

static bool is_absolute(int64_t timestamp_ns)
{
	return timestamp_ns >= YEAR_2001_NS && import_time_fits(timestamp_ns);
}

/* ---- the first bytes ---- */

/* Checks the first field of a plane, including the first byte of its content if it is a message. */
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

/* Zeros after the last plane are no damage: some hosts parse a whole buffer that was filled partially. */
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

static epp_status *take_message(struct xplane_reader *reader, const struct xplane_field *field)
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
			EPP_TRY(take_message(reader, &field));
	}
}

/* ---- facts about a plane ---- */

static bool stat_is(const struct xplane_reader *reader, const epp_arg *arg, const char *key)
{
	return arg->key == epp_trace_writer_name(reader->import->writer, key, strlen(key));
}

/* A framework's profile may contain facts that epprof's bridge wrote for its own part; the framework's start of the
 * session comes first and takes precedence. */
static void take_fact(struct xplane_reader *reader, const epp_arg *arg)
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

/* Keeps the prepared record for the end of the import. */
static epp_status *keep_properties(struct xplane_reader *reader)
{
	struct prepared *prepared = &reader->import->prepared;
	const struct xplane *plane = reader->plane;
	const char *name = plane->kind == XPLANE_DEVICE ? "epprof.device" : plane->name;
	size_t bytes;

	prepared->record.name = epp_trace_writer_name(reader->import->writer, name, strlen(name));
	EPP_TRY(xplane_about_track(reader, plane, &prepared->record.track));
	EPP_TRY(record_pack(prepared, &bytes));
	return temp_file_put(&reader->import->providers, prepared->packed, bytes);
}

/* Copies a text of a stat, because the next stat moves the window. */
static bool keep_text(struct xplane_reader *reader, epp_arg *arg)
{
	if (arg->type != EPP_ARG_TEXT)
		return true;
	arg->value.text = xplane_names_keep(&reader->names, arg->value.text, arg->text_bytes);
	return arg->value.text != NULL;
}

/* The plane's stats become the args of an instant, which is written at the end: its time is known only after the
 * events. */
static epp_status *take_plane_stats(struct xplane_reader *reader)
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
			take_fact(reader, &prepared->args[before]);
			prepared->args_count -= !keep_text(reader, &prepared->args[before]);
		}
	}
	return prepared->args_count ? keep_properties(reader) : NULL;
}

/* ---- one plane ---- */

/* The line's name may come after its events. */
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

/* Finds lines that can be recognized as derived only by comparison with the other lines. */
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

/* If the file has no start time, the first line with a Unix time defines it. */
static int64_t base_of(struct xplane_reader *reader, const struct xplane_line *line)
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
	reader->base_ns = base_of(reader, reader->line);
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
	EPP_TRY(take_plane_stats(reader));
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
		reader->keys[i] = epp_trace_writer_name(reader->import->writer, texts[i], strlen(texts[i]));
	reader->name_key = epp_trace_writer_name(reader->import->writer, "name", 4);
}

/* Time 0 of the trace is the session's start, or the first event if that is far from it. */
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

/* Writes the facts about planes as instants at time 0. */
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

	import_note_count(import, reader->damaged, "message%s cut off: taken as far as they go");
	import_note_count(import, reader->nameless, "event%s without a name: the plane does not explain its number");
	import_note_count(import, reader->aggregated, "sum%s of events left out: they have no time");
	import_note_count(import, reader->stats_lost + reader->names.too_large,
	                  "stat%s left out: too large, too many, or not explained by their plane");
	import_note_count(import, reader->planes_left_out, "plane%s left out: more than 1024");
	import_note_count(import, reader->lines_left_out, "line%s left out: more than 16384");
	import_note_count(import, reader->arrows_alone, "end%s of arrows left out: they have no beginning");
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
	.format = { "xspace", "XSpace: the profile of TensorFlow, JAX and XProf (.xplane.pb)" },
	.ns_per_tick = 1,
	.is_binary = true,
	.probe = xplane_probe,
	.read = xplane_read,
};
