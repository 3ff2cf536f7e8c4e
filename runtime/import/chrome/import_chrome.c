/* Reads the trace event format of Chrome, Perfetto, Kineto and others: an array of events, or an object that has it as
 * `traceEvents`.  Times are decimal microseconds, which are converted to nanoseconds without a rounding error.
 *
 * Phases: X and B/E are slices, b/n/e and S/T/F asynchronous events, i/I/R instants, C counters (one for each series),
 * s/t/f arrows, M names.  A slice on a device's stream is recognized by its category.  A file may end without the end
 * of the array, which the format allows.  A truncated file is read up to its end. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/format.h"
#include "import/import.h"
#include "import/json_events.h"
#include "import/onnxruntime/device_events.h"

/* Arrows of the trace event format (s, t, f): points on threads at a time, joined by an id.  A point can be matched to
 * its slice only when all slices have been read, so points are kept in a temporary file. */

struct arrow_point {
	uint64_t key;
	uint64_t ticks;
	uint32_t lane, device_lane; /* lanes of the thread, and of the device stream with the same numbers; LANE_NONE:
                                     * there are too many */
	uint16_t phase;             /* 's', 't', 'f' */
	uint16_t to_next;           /* 1: the point belongs to the next slice that begins on its lane; 0: to the slice
	                               around it */
};

struct chrome_arrows {
	struct temp_file points;
	uint64_t without_slice, without_other, between_processes;
};

/* ---- arrows ---- */

/* Joins arrows: finds the slice of each point, sorts the points by id and time, and draws an arrow from each point to
 * the next one with the same id, unless that one is a start. */

#define TO_NEXT 0x100u /* flag in a stored phase: arrow_point.to_next is set */

static epp_status *chrome_arrows_add(struct chrome_arrows *arrows, const struct arrow_point *point)
{
	return temp_file_put(&arrows->points, point, sizeof(*point));
}

static void chrome_arrows_deinit(struct chrome_arrows *arrows)
{
	temp_file_deinit(&arrows->points);
}

/* Makes the sorter entry of one point of an arrow.  The points are sorted twice: by lane and time, to find their slices
 * in the order of these, then by id and time, to join them. */
static struct sorter_entry entry_of(const struct arrow_point *point)
{
	return (struct sorter_entry){ .key = point->lane + 1ull,
		                      .start = point->ticks,
		                      .end = point->key,
		                      .track = point->lane,
		                      .name = point->phase | (point->to_next ? TO_NEXT : 0) };
}

static epp_status *sort_by_lane(struct chrome_arrows *arrows, struct import *import, struct sorter *points)
{
	const struct lanes *lanes = &import->lanes;

	EPP_TRY(temp_file_rewind(&arrows->points));
	for (;;) {
		struct arrow_point point;
		const void *piece;
		size_t bytes;
		EPP_TRY(import_check_cancel(import));
		EPP_TRY(temp_file_get(&arrows->points, &piece, &bytes));
		if (!piece)
			return sorter_seal(points);
		memcpy(&point, piece, sizeof(point));
		if (point.device_lane != LANE_NONE && lanes->lanes[point.device_lane].track)
			point.lane = point.device_lane;
		if (point.lane == LANE_NONE || !lanes->lanes[point.lane].track) {
			arrows->without_slice++;
			continue;
		}
		struct sorter_entry entry = entry_of(&point);
		EPP_TRY(sorter_add(points, &entry));
	}
}

/* The key of both slices and points is the lane + 1. */
static epp_status *find_slice(struct import *import, const struct sorter_entry *point, uint64_t *id)
{
	struct sorter_entry entry;
	bool found;

	*id = 0;
	if (point->name & TO_NEXT) {
		uint64_t place;
		EPP_TRY(sorter_find(&import->slices, point->key, point->start, &place));
		if (place < import->slices.count) {
			EPP_TRY(sorter_at(&import->slices, place, &entry));
			if (entry.key == point->key) {
				*id = entry.id;
				return NULL;
			}
		}
	}
	EPP_TRY(sorter_containing(&import->slices, point->key, point->start, 0, &entry, &found));
	if (found)
		*id = entry.id;
	return NULL;
}

static epp_status *resolve(struct chrome_arrows *arrows, struct import *import, struct sorter *points, struct sorter *ends)
{
	for (uint64_t place = 0; place < points->count; place++) {
		struct sorter_entry point;
		uint64_t id;
		EPP_TRY(import_check_cancel(import));
		EPP_TRY(sorter_at(points, place, &point));
		EPP_TRY(find_slice(import, &point, &id));
		if (!id) {
			arrows->without_slice++;
			continue;
		}
		/* At equal times the start of an arrow must come first.  The sorter puts the longer entry first, so
		 * `end` is larger for a start. */
		uint32_t phase = point.name & ~TO_NEXT;
		uint64_t order = phase == 's' ? 3 : phase == 't' ? 2 : 1;
		EPP_TRY(sorter_add(ends, &(struct sorter_entry){ .key = point.end,
		                                                 .start = point.start,
		                                                 .end = order,
		                                                 .id = id,
		                                                 .track = point.track,
		                                                 .name = phase }));
	}
	return sorter_seal(ends);
}

static epp_status *write_arrow(struct chrome_arrows *arrows, struct import *import, const struct sorter_entry *from,
                               const struct sorter_entry *to)
{
	epp_trace_record record = {
		.kind = EPP_RECORD_FLOW, .start_ticks = from->start, .id = to->id, .parent = from->id, .name = EPF_NAME_FLOW
	};

	if (lanes_source(&import->lanes, from->track) != lanes_source(&import->lanes, to->track)) {
		arrows->between_processes++;
		return NULL;
	}
	import->counts.events++;
	EPP_TRY(lanes_track(import, from->track, &record.track));
	return epp_trace_writer_add_record(import->writer, &record);
}

static epp_status *join(struct chrome_arrows *arrows, struct import *import, struct sorter *ends)
{
	struct sorter_entry before = { 0 }, entry;
	bool has_before = false;

	for (uint64_t place = 0; place < ends->count; place++) {
		EPP_TRY(sorter_at(ends, place, &entry));
		bool joined = has_before && before.key == entry.key && entry.name != 's';
		if (joined)
			EPP_TRY(write_arrow(arrows, import, &before, &entry));
		else if (entry.name != 's')
			arrows->without_other++;
		has_before = entry.name != 'f';
		before = entry;
	}
	return NULL;
}

/* Finds the slice of each arrow_point, joins points with the same id to arrows, and writes these.  Seals import->slices
 * (sorter_seal), after which no slice can be added; its key is the lane + 1. */
static epp_status *chrome_arrows_write(struct chrome_arrows *arrows, struct import *import)
{
	struct sorter points = { 0 }, ends = { 0 };

	if (!arrows->points.count)
		return NULL;
	EPP_TRY(sorter_seal(&import->slices));
	epp_status *status = sort_by_lane(arrows, import, &points);
	if (!status)
		status = resolve(arrows, import, &points, &ends);
	sorter_deinit(&points);
	if (!status)
		status = join(arrows, import, &ends);
	sorter_deinit(&ends);
	import_note_count(import, arrows->without_slice, "arrow end%s left out: no slice at that time");
	import_note_count(import, arrows->without_other, "arrow end%s left out: the arrow has no start");
	import_note_count(import, arrows->between_processes,
	                  "arrow%s between processes left out: a trace does not support them");
	return status;
}

/* ---- events ---- */

struct chrome_reader {
	struct import *import;
	struct json_events json;
	struct chrome_arrows arrows;
	struct sorter causes; /* host slices by their correlation */
	int64_t first_ns;
	uint64_t last_ticks;
	uint64_t in_order_of_start, in_order_of_end; /* how many slices start (end) no earlier than the slice before
	                                                them on their lane */
	uint64_t ends_alone, phases, keys, metadata, series;
};

static bool chrome_probe(const char *bytes, size_t count)
{
	return count && (bytes[0] == '{' || bytes[0] == '[');
}

static bool is_of_device(const struct event *event)
{
	static const char *const cats[] = { "kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation" };

	for (size_t i = 0; i < sizeof(cats) / sizeof(*cats); i++) {
		if (event_text_is(event, event->cat, cats[i]))
			return true;
	}
	return event->pid < 0 && event_text_is(event, event->cat, "Kernel");
}

static uint64_t key_of(const struct event *event, const char *kind)
{
	uint64_t key = UINT64_C(0xCBF29CE484222325) + (unsigned char)*kind;
	const struct event_text parts[] = { event->cat, event->id, event->scope };

	for (size_t part = 0; part < sizeof(parts) / sizeof(*parts); part++) {
		for (uint32_t i = 0; i < parts[part].bytes; i++)
			key = (key ^ (unsigned char)event_chars(event, parts[part])[i]) * UINT64_C(0x100000001B3);
		key = (key ^ 0xFF) * UINT64_C(0x100000001B3);
	}
	return event->id_is_local ? key ^ (uint64_t)event->pid * UINT64_C(0x9E3779B97F4A7C15) : key;
}

/* ---- slices ---- */

/* Returns an id for a slice, so that an outer slice has a smaller id than an inner one.  If the file is in order of
 * start, an outer slice comes before its inner ones, and ids count up.  If the file is in order of end, inner slices
 * come first, and ids count down. */
static uint64_t id_of_slice(struct chrome_reader *reader, struct lane *lane, uint64_t start, uint64_t end)
{
	struct import *import = reader->import;

	if (lane->last_end) {
		reader->in_order_of_start += start >= lane->last_start;
		reader->in_order_of_end += end >= lane->last_end;
	}
	lane->last_start = start;
	lane->last_end = end;
	return reader->in_order_of_end > reader->in_order_of_start ? import->next_id_down-- : import->next_id++;
}

/* Adds the prepared record as a slice of its lane. */
static epp_status *put_slice(struct chrome_reader *reader, bool is_device)
{
	struct import *import = reader->import;
	struct prepared *prepared = &import->prepared;
	epp_trace_record *record = &prepared->record;
	uint64_t end = record->start_ticks + record->duration_ticks;

	import->counts.events++;
	EPP_TRY(sorter_add(&import->slices, &(struct sorter_entry){ .key = prepared->lane + 1ull,
	                                                            .start = record->start_ticks,
	                                                            .end = end,
	                                                            .id = record->id,
	                                                            .track = prepared->lane }));
	record->kind = is_device ? EPP_RECORD_COMPLETE : EPP_RECORD_EVENT;
	if (is_device) {
		record->placement = EPP_PLACED_FORMULA;
		return providers_store(import);
	}
	EPP_TRY(record_write(import, prepared));
	if (!prepared->has_correlation || lanes_source(&import->lanes, prepared->lane))
		return NULL;
	return sorter_add(&reader->causes, &(struct sorter_entry){ .key = (uint64_t)prepared->correlation,
	                                                           .start = record->start_ticks,
	                                                           .end = end,
	                                                           .id = record->id });
}

static epp_status *handle_slice(struct chrome_reader *reader, const struct event *event, uint64_t end)
{
	struct prepared *prepared = &reader->import->prepared;
	struct lane *lane = &reader->import->lanes.lanes[prepared->lane];
	const struct event_arg *correlation = event_find_arg(event, "correlation");

	prepared->record.duration_ticks = end - prepared->record.start_ticks;
	prepared->record.id = id_of_slice(reader, lane, prepared->record.start_ticks, end);
	prepared->has_correlation = correlation && event_arg_i64(event, correlation, &prepared->correlation);
	return put_slice(reader, lane->is_device);
}

/* ---- begin and end events ---- */

static epp_status *handle_begin(struct chrome_reader *reader, uint64_t key, bool is_async)
{
	struct import *import = reader->import;
	size_t bytes;
	bool fits;

	import->prepared.record.id = import->next_id++;
	EPP_TRY(record_pack(&import->prepared, &bytes));
	EPP_TRY(open_events_add(&import->open_events, key, is_async, import->prepared.packed, bytes, &fits));
	if (!fits)
		import_count_lost(import, EPP_LOSS_TOO_DEEP);
	return NULL;
}

static epp_status *put_async(struct chrome_reader *reader, uint64_t end)
{
	struct import *import = reader->import;
	struct prepared *prepared = &import->prepared;

	import->counts.events++;
	prepared->record.kind = EPP_RECORD_ASYNC_BEGIN;
	EPP_TRY(record_write(import, prepared));
	if (!end)
		return NULL;
	epp_trace_record ended = { .kind = EPP_RECORD_ASYNC_END,
		                   .start_ticks = end,
		                   .id = prepared->record.id,
		                   .name = prepared->record.name,
		                   .track = prepared->record.track,
		                   .category = prepared->record.category };
	return epp_trace_writer_add_record(import->writer, &ended);
}

/* Ends the open event and appends the args of the end event. */
static epp_status *handle_end(struct chrome_reader *reader, uint64_t key, bool is_async)
{
	struct import *import = reader->import;
	struct prepared *prepared = &import->prepared;
	struct open_event *open_events = open_events_take(&import->open_events, key, is_async);
	uint64_t end = prepared->record.start_ticks;
	epp_status *status = NULL;

	if (!open_events) {
		reader->ends_alone++;
		return NULL;
	}
	record_unpack_before(prepared, open_events->packed);
	if (end < prepared->record.start_ticks)
		import_count_lost(import, EPP_LOSS_REFUSED);
	else if (is_async)
		status = put_async(reader, end);
	else {
		prepared->record.duration_ticks = end - prepared->record.start_ticks;
		status = put_slice(reader, import->lanes.lanes[prepared->lane].is_device);
	}
	open_events_free(open_events);
	return status;
}

/* Ends the events that have no end in the file.  Slices end at the last time in the file and are marked; asynchronous
 * events stay open. */
static epp_status *end_open_events(struct chrome_reader *reader)
{
	struct import *import = reader->import;
	struct prepared *prepared = &import->prepared;
	struct open_event *open_events;
	epp_status *status = NULL;

	while (!status && (open_events = open_events_take_any(&import->open_events)) != NULL) {
		record_unpack(prepared, open_events->packed);
		if (open_events->is_async) {
			status = put_async(reader, 0);
		} else {
			uint64_t last = reader->last_ticks, start = prepared->record.start_ticks;
			prepared->record.duration_ticks = last > start ? last - start : 0;
			prepared->record.unended = 1;
			status = put_slice(reader, import->lanes.lanes[prepared->lane].is_device);
		}
		open_events_free(open_events);
	}
	return status;
}

/* ---- the other phases ---- */

static epp_status *handle_instant(struct chrome_reader *reader)
{
	struct import *import = reader->import;

	import->counts.events++;
	import->prepared.record.kind = EPP_RECORD_INSTANT;
	import->prepared.record.id = import->next_id++;
	return record_write(import, &import->prepared);
}

/* Adds a counter event.  Each series becomes a counter.  A counter has the name of the event, followed by the name of
 * the series if there are several. */
static epp_status *handle_counter(struct chrome_reader *reader, const struct event *event)
{
	struct import *import = reader->import;
	struct prepared *prepared = &import->prepared;
	char name[512];

	for (uint32_t i = 0; i < event->args_count; i++) {
		const struct event_arg *arg = &event->args[i];
		if (arg->type == EPP_ARG_TEXT) {
			reader->series++;
			continue;
		}
		int bytes = event->args_count == 1 ? snprintf(name, sizeof(name), "%.*s", (int)event->name.bytes,
		                                              event_chars(event, event->name))
		                                   : snprintf(name, sizeof(name), "%.*s: %.*s", (int)event->name.bytes,
		                                              event_chars(event, event->name), (int)arg->key.bytes,
		                                              event_chars(event, arg->key));
		size_t count = bytes < (int)sizeof(name) ? (size_t)bytes : sizeof(name) - 1;
		prepared->record.kind = EPP_RECORD_COUNTER;
		prepared->record.id = import->next_id++;
		prepared->record.name = epp_trace_writer_intern_name(import->writer, name, count);
		prepared->args[0] = (epp_arg){ .key = prepared->record.name, .type = arg->type };
		prepared->args[0].value.u64 = arg->number.u64;
		prepared->args_count = 1;
		import->counts.events++;
		EPP_TRY(record_write(import, prepared));
	}
	return NULL;
}

static epp_status *handle_metadata(struct chrome_reader *reader, const struct event *event)
{
	struct import *import = reader->import;
	const struct event_arg *name = event_find_arg(event, "name");
	uint32_t lane;
	bool fits;

	if (!name || name->type != EPP_ARG_TEXT) {
		reader->metadata++;
		return NULL;
	}
	const char *text = event_chars(event, name->text);
	if (event_text_is(event, event->name, "process_name")) {
		EPP_TRY(lanes_name_process(import, event, text, name->text.bytes, &fits));
		reader->metadata += !fits;
		return NULL;
	}
	if (!event_text_is(event, event->name, "thread_name")) {
		reader->metadata++;
		return NULL;
	}
	/* Only the first event of a lane shows whether the lane is a thread or a device stream, so both get the
	 * name. */
	for (int is_device = 0; is_device < 2; is_device++) {
		EPP_TRY(lanes_find(import, event, is_device, &lane));
		if (lane != LANE_NONE)
			EPP_TRY(lanes_name_thread(import, lane, text, name->text.bytes));
	}
	return NULL;
}

static epp_status *handle_arrow(struct chrome_reader *reader, const struct event *event, uint64_t ticks)
{
	struct arrow_point point = { .key = key_of(event, "arrow"),
		                     .ticks = ticks,
		                     .phase = (unsigned char)event->phase,
		                     .to_next = event->phase == 'f' && !event->binds_enclosing };

	/* The slice may be on a thread or on a device.  This is not known before all slices have been read, so both
	 * lanes are stored. */
	EPP_TRY(lanes_find(reader->import, event, true, &point.device_lane));
	EPP_TRY(lanes_find(reader->import, event, false, &point.lane));
	return chrome_arrows_add(&reader->arrows, &point);
}

static epp_status *handle_phase(struct chrome_reader *reader, const struct event *event, uint64_t end)
{
	switch (event->phase) {
	case 'X':
		return handle_slice(reader, event, end);
	case 'B':
		return handle_begin(reader, reader->import->prepared.lane, false);
	case 'E':
		return handle_end(reader, reader->import->prepared.lane, false);
	case 'b':
	case 'S':
		return handle_begin(reader, key_of(event, "async"), true);
	case 'e':
	case 'F':
		return handle_end(reader, key_of(event, "async"), true);
	case 'i':
	case 'I':
	case 'R':
	case 'n':
	case 'T':
		return handle_instant(reader);
	default:
		return handle_counter(reader, event);
	}
}

/* ---- any event ---- */

static void note_time(struct chrome_reader *reader, const struct event *event, uint64_t end)
{
	if (event->ts_ns < reader->first_ns)
		reader->first_ns = event->ts_ns;
	if (end > reader->last_ticks)
		reader->last_ticks = end;
	if (event->ts_ns % 1000 || event->dur_ns % 1000)
		reader->import->has_fractions = true;
}

static epp_status *handle_timed(struct chrome_reader *reader, struct event *event)
{
	struct import *import = reader->import;
	struct prepared *prepared = &import->prepared;
	int64_t end_ns;

	if (!(event->keys & EVENT_TS) || event->dur_ns < 0 ||
	    __builtin_add_overflow(event->ts_ns, event->dur_ns, &end_ns) || !import_time_fits(event->ts_ns) ||
	    !import_time_fits(end_ns)) {
		import_count_lost(import, EPP_LOSS_REFUSED);
		return NULL;
	}
	uint64_t start = import_ticks(import, event->ts_ns), end = import_ticks(import, end_ns);
	note_time(reader, event, end);
	if (strchr("stf", event->phase))
		return handle_arrow(reader, event, start);
	/* An end event has the category of its begin event. */
	record_prepare(import, event, !strchr("EeF", event->phase));
	EPP_TRY(lanes_find(import, event, is_of_device(event), &prepared->lane));
	if (prepared->lane == LANE_NONE) {
		import_count_lost(import, EPP_LOSS_NO_SLOT);
		return NULL;
	}
	prepared->record.start_ticks = start;
	return handle_phase(reader, event, end);
}

static epp_status *handle_event(void *user, struct event *event)
{
	struct chrome_reader *reader = user;

	if (event->no_memory)
		return epp_status_no_memory();
	reader->keys += event->left_out;
	if (event->phase == 'M')
		return handle_metadata(reader, event);
	if (!event->phase || !strchr("XBEbeSFnTiIRCstf", event->phase)) {
		reader->phases++;
		return NULL;
	}
	return handle_timed(reader, event);
}

/* ---- the file ---- */

static epp_status *read_all(struct chrome_reader *reader)
{
	struct import *import = reader->import;

	for (;;) {
		const char *bytes;
		char *message;
		size_t count;
		EPP_TRY(import_check_cancel(import));
		EPP_TRY(input_peek(&import->input, &bytes, &count));
		if (!count)
			return NULL;
		enum json_read read = json_events_read(&reader->json, bytes, count, &message);
		input_take(&import->input, count);
		if (read == JSON_READ_FAILED)
			return json_events_status(&reader->json);
		if (read == JSON_READ_INVALID) {
			epp_status *status = epp_status_create(EPP_CORRUPT, "%s: not JSON: %s", import->input.path,
			                                       message);
			free(message);
			return status;
		}
	}
}

/* Finds the Unix time of the trace: from the file's base time, or from event times that are themselves Unix times of
 * this century. */
static void find_epoch(struct chrome_reader *reader)
{
	struct import *import = reader->import;
	const int64_t year_2001_ns = 1000000000000000000ll, day_ns = 86400000000000ll;

	if (reader->first_ns == INT64_MAX)
		return;
	if (!import->epoch_ns && reader->json.has_base)
		import->epoch_ns = reader->json.base_ns;
	/* If times are far from 0, they become relative to the first one. */
	if (reader->first_ns > day_ns || reader->first_ns < 0)
		import->zero_ns = reader->first_ns;
	if (!import->epoch_ns && reader->first_ns >= year_2001_ns) {
		import->epoch_ns = reader->first_ns;
		return;
	}
	if (import->epoch_ns)
		import->epoch_ns += import->zero_ns;
}

static epp_status *finish_file(struct chrome_reader *reader)
{
	struct import *import = reader->import;

	bool is_whole = json_events_end(&reader->json);
	EPP_TRY(json_events_status(&reader->json));
	if (!is_whole && !(reader->json.shape == JSON_SHAPE_ARRAY && reader->json.depth == 1))
		import_note(import, "the file is truncated; its complete events were imported");
	EPP_TRY(end_open_events(reader));
	EPP_TRY(providers_place_by_key(import, &reader->causes));
	EPP_TRY(chrome_arrows_write(&reader->arrows, import));
	find_epoch(reader);
	import_note_count(import, reader->ends_alone, "end%s left out: no matching begin");
	import_note_count(import, reader->phases, "event%s left out: a trace does not support their phase");
	import_note_count(import, reader->series, "counter value%s left out: not a number");
	import_note_count(import, reader->metadata,
	                  "metadata record%s left out: they name no process or thread, or there are too many");
	import_note_count(import, reader->keys, "field%s of events left out: not part of args");
	return NULL;
}

static epp_status *chrome_read(struct import *import)
{
	struct chrome_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return epp_status_no_memory();
	reader->import = import;
	reader->first_ns = INT64_MAX;
	json_events_init(&reader->json, JSON_SHAPE_UNKNOWN);
	reader->json.found = handle_event;
	reader->json.user = reader;
	epp_status *status = read_all(reader);
	if (!status)
		status = finish_file(reader);
	json_events_deinit(&reader->json);
	chrome_arrows_deinit(&reader->arrows);
	sorter_deinit(&reader->causes);
	free(reader);
	return status;
}

const struct import_format import_chrome = {
	.format = { "chrome", "trace events of Chrome, Perfetto and PyTorch (torch.profiler, Kineto)" },
	.ns_per_tick = 1,
	.probe = chrome_probe,
	.read = chrome_read,
};
