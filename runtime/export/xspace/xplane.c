/* Writes XSpace, for XProf and TensorBoard: a plane for the host and one for each device, a line for each thread and
 * stream.
 *
 * Times are relative to time 0 of the trace, because readers compute in picoseconds, in which Unix times overflow.
 * Only if TensorFlow collects the profile (options.unix_times), the lines begin at a Unix time, because TensorFlow
 * subtracts the start of its session.  A host event and the device events that it caused share the uint64 stat
 * `correlation_id`, which viewers show as flows; ids include the source. If a plugin's events have no host event, the
 * plugin's own ids join its calls, which are on the host's plane, to its device events.  Such an id includes the
 * plugin's number in the trace.  Events are stored by line until the end.
 *
 * If the events exceed the size of one file, they continue in another one, which viewers show as another host.  Each
 * file has the events of a time range; planes have the same names and numbers in all files, and times the same origin.
 * All files are written at the end, because the ledger is complete only then. */
#include "export/xspace/xplane.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/status.h"
#include "containers/array.h"
#include "export/ledger.h"
#include "export/links/launches.h"
#include "files/temp_file.h"
#include "timeline/events/work_kind.h"

/* ---- keys of stats ---- */

/* The keys of stats: those that every plane defines, and those of args, which get the next number at their first
 * use. */

const char *xplane_stat(uint32_t stat)
{
	/* Tools recognise a kernel by its details.  This text is used if a device provides none. */
	static const char *const texts[] = {
		"correlation_id",
		"placement",
		"start_error_ns",
		"end_error_ns",
		"stream",
		"kernel_details",
		"flags",
		"category",
		"regs:0 static_shared:0 dynamic_shared:0 grid:1,1,1 block:1,1,1 occ_pct:0",
	};

	if (stat >= KNOWN_PLACEMENTS)
		return epp_placement_name(stat - KNOWN_PLACEMENTS);
	return stat < KNOWN_CATEGORIES ? texts[stat - 1] : export_category(stat - KNOWN_CATEGORIES);
}

static int compare_keys(const void *a, const void *b)
{
	const struct xplane_key *left = a, *right = b;

	if (left->bytes != right->bytes)
		return left->bytes < right->bytes ? -1 : 1;
	return memcmp(left->text, right->text, left->bytes);
}

/* Returns the number of the stat that has the same key as an arg.  The document repairs keys to UTF-8, so they may have
 * any bytes here. */
static uint32_t number_of_stat(const epp_trace_arg *arg)
{
	for (uint32_t stat = KNOWN_CORRELATION; stat < KNOWN_OWN; stat++) {
		const char *text = xplane_stat(stat);
		if (strlen(text) == arg->key_bytes && memcmp(text, arg->key, arg->key_bytes) == 0)
			return stat;
	}
	return 0;
}

static epp_status *find_key(struct xplanes *xplanes, const epp_trace_arg *arg, uint32_t *number)
{
	struct xplane_key *key = malloc(sizeof *key + arg->key_bytes);
	void *found = NULL;

	*number = number_of_stat(arg);
	if (key) {
		key->bytes = arg->key_bytes;
		memcpy(key->text, arg->key, arg->key_bytes);
		found = *number ? NULL : tsearch(key, &xplanes->keys, compare_keys);
	}
	if (!found || *(struct xplane_key **)found != key) {
		free(key);
		if (found)
			*number = (*(struct xplane_key **)found)->number;
		return *number ? NULL : epp_status_no_memory();
	}
	key->number = *number = KNOWN_OWN + xplanes->keys_count++;
	SLIST_INSERT_HEAD(&xplanes->keys_list, key, link);
	xplanes->keys_bytes += XPLANE_ENTRY_BYTES + key->bytes;
	return NULL;
}

/* Returns the number of an arg's key.  Errors: EPP_OUT_OF_MEMORY. */
static epp_status *xplane_number_of_key(struct xplanes *xplanes, const epp_trace_arg *arg, uint32_t *number)
{
	size_t slot = (size_t)(((uintptr_t)arg->key * UINT64_C(0x9E3779B97F4A7C15)) >> 32) % XPLANE_CACHE_COUNT;

	if (xplanes->recent[slot].text != arg->key) {
		EPP_TRY(find_key(xplanes, arg, &xplanes->recent[slot].number));
		xplanes->recent[slot].text = arg->key;
	}
	*number = xplanes->recent[slot].number;
	return NULL;
}

/* ---- lines ---- */

/* Stores events by line until the end, because they arrive by time and are written by line.  Bytes that exceed a chunk
 * go to a temporary file, from which the line is assembled at the end.  A trace that fits into the first chunks of its
 * lines needs no file. */

#define CHUNK_BYTES (64u << 10)

/* Moves a line's bytes to the temporary file. */
static epp_status *spill_line(struct xplane_lines *lines, struct xplane_line *line)
{
	if (!lines->has_file)
		EPP_TRY(temp_file_open(&lines->fd));
	lines->has_file = true;
	if (!array_reserve(&lines->chunks, &lines->chunks_room, lines->chunks_count + 1, sizeof *lines->chunks))
		return epp_status_no_memory();
	EPP_TRY(temp_file_write(lines->fd, lines->file_bytes, line->bytes, line->count));
	lines->chunks[lines->chunks_count++] = (struct xplane_chunk){ .offset = lines->file_bytes,
		                                                      .bytes = (uint32_t)line->count };
	if (line->last_chunk)
		lines->chunks[line->last_chunk - 1].next = (uint32_t)lines->chunks_count;
	else
		line->first_chunk = (uint32_t)lines->chunks_count;
	line->last_chunk = (uint32_t)lines->chunks_count;
	lines->file_bytes += line->count;
	line->in_file_bytes += line->count;
	line->count = 0;
	return NULL;
}

/* Reserves room for an event of at most `bytes` bytes, behind the events of a row's line. xplane_line_commit then sets
 * the actual size.  Errors: EPP_OUT_OF_MEMORY, EPP_IO (the temporary file). */
static epp_status *xplane_line_reserve(struct xplane_lines *lines, size_t row, size_t bytes, char **at)
{
	if (!array_reserve_zeroed(&lines->lines, &lines->lines_room, row + 1, sizeof *lines->lines))
		return epp_status_no_memory();
	struct xplane_line *line = &lines->lines[row];
	if (line->count && line->count + bytes > CHUNK_BYTES)
		EPP_TRY(spill_line(lines, line));
	if (!array_reserve(&line->bytes, &line->room, line->count + bytes, 1))
		return epp_status_no_memory();
	*at = line->bytes + line->count;
	return NULL;
}

/* Writes the rest of the lines to the file.  Must be called after the last event.  Errors: as xplane_line_reserve. */
static epp_status *xplane_lines_close(struct xplane_lines *lines)
{
	for (size_t i = 0; i < lines->lines_room; i++) {
		struct xplane_line *line = &lines->lines[i];
		if (line->count)
			EPP_TRY(spill_line(lines, line));
		free(line->bytes);
		line->bytes = NULL;
		line->room = 0;
	}
	return NULL;
}

epp_status *xplane_line_send(struct xplane_lines *lines, size_t row, struct sink *sink)
{
	const struct xplane_line *line = &lines->lines[row];

	for (uint32_t next = line->first_chunk; next && !sink->failed; next = lines->chunks[next - 1].next) {
		uint64_t offset = lines->chunks[next - 1].offset;
		for (uint32_t left = lines->chunks[next - 1].bytes; left;) {
			uint32_t piece = left < SINK_RESERVE_MAX ? left : SINK_RESERVE_MAX;
			char *at = sink_reserve(sink, piece);
			EPP_TRY(temp_file_read(lines->fd, offset, at, piece));
			sink_commit(sink, at + piece);
			offset += piece;
			left -= piece;
		}
	}
	sink_bytes(sink, line->bytes, line->count);
	return NULL;
}

static void xplane_lines_deinit(struct xplane_lines *lines)
{
	for (size_t i = 0; i < lines->lines_room; i++)
		free(lines->lines[i].bytes);
	free(lines->lines);
	free(lines->chunks);
	if (lines->has_file)
		close(lines->fd);
	*lines = (struct xplane_lines){ 0 };
}

/* ---- planes ---- */

/* The maximum size of an event without its args, and of an arg without its text. */
#define EVENT_BYTES 1024u
#define ARG_BYTES 48u
/* Usual maximum sizes of the facts, of an account of the ledger, and of the head of a line. */
#define FACTS_BYTES 4096u
#define ACCOUNT_BYTES 512u
#define ROW_BYTES 256u
/* The largest time in ns that fits into picoseconds. */
#define TIME_MOST_NS (INT64_MAX / 1000)

/* ---- events ---- */

/* Writes a number with protobuf_varint_roomy, which may write more bytes than it needs.  EVENT_BYTES includes them. */
static inline char *put_number(char *at, uint32_t field, uint64_t value)
{
	return protobuf_varint_roomy(protobuf_tag(at, field, PROTOBUF_VARINT), value);
}

static inline char *put_number_stat(char *at, uint32_t key, uint32_t field, uint64_t value)
{
	char *stat = protobuf_begin_short(at, XEVENT_STATS);

	at = protobuf_u64(protobuf_u64(stat, XSTAT_METADATA_ID, key), field, value);
	protobuf_end_short(stat, at);
	return at;
}

static char *put_u64_stat(char *at, uint32_t key, uint64_t value)
{
	return put_number_stat(at, key, XSTAT_U64, value);
}

static char *put_reference(char *at, uint32_t key, uint64_t stat)
{
	return put_number_stat(at, key, XSTAT_REF, stat);
}

static char *put_i64_stat(char *at, uint32_t key, int64_t value)
{
	return put_number_stat(at, key, XSTAT_I64, (uint64_t)value);
}

static char *put_text_stat(char *at, uint32_t key, const char *text, size_t bytes)
{
	at = protobuf_head(at, XEVENT_STATS,
	                   protobuf_u64_bytes(XSTAT_METADATA_ID, key) + protobuf_text_bytes(XSTAT_TEXT, text, bytes));
	return protobuf_text(protobuf_u64(at, XSTAT_METADATA_ID, key), XSTAT_TEXT, text, bytes);
}

static char *put_arg(char *at, uint32_t key, const epp_trace_arg *arg)
{
	if (arg->type == EPP_ARG_TEXT)
		return put_text_stat(at, key, arg->value.text, arg->text_bytes);
	if (arg->type == EPP_ARG_U64)
		return put_u64_stat(at, key, arg->value.u64);
	if (arg->type != EPP_ARG_F64)
		return put_i64_stat(at, key, arg->value.i64);
	at = protobuf_head(at, XEVENT_STATS,
	                   protobuf_u64_bytes(XSTAT_METADATA_ID, key) + protobuf_fixed64_bytes(XSTAT_F64));
	return protobuf_f64(protobuf_u64(at, XSTAT_METADATA_ID, key), XSTAT_F64, arg->value.f64);
}

static uint64_t correlation(uint32_t source, uint64_t id)
{
	return id + source * UINT64_C(0x9E3779B97F4A7C15);
}

/* Gets the number that a plugin gave to an event.  Other plugins mostly use the same small numbers, so the producer is
 * added to the number. */
static bool plugin_correlation(const epp_event *event, uint64_t *id)
{
	uint64_t producer = event->track->producer < 0 ? 0 : (uint64_t)event->track->producer, number;

	if (!work_correlation(NULL, event, &number))
		return false;
	*id = correlation(event->track->source, number) + producer * UINT64_C(0xC2B2AE3D27D4EB4F);
	return true;
}

static char *put_flags(char *at, unsigned flags)
{
	char words[EXPORT_FLAGS_BYTES];

	return put_text_stat(at, KNOWN_FLAGS, words, (size_t)(export_put_flags(words, flags) - words));
}

static bool is_plugin_event(const epp_event *event)
{
	return event->track->kind == EPP_TRACK_DEVICE || event->track->kind == EPP_TRACK_CALLS;
}

/* Gets the id that a call and its device events share.  Returns false if the event has no such id. */
static bool has_correlation(const epp_event *event, uint64_t *id)
{
	uint64_t host_id = event->track->kind == EPP_TRACK_DEVICE ? event->parent
	                   : event->flags & EPP_FLAG_REFERENCED   ? event->id
	                                                          : 0;

	*id = correlation(event->track->source, host_id);
	/* If the trace has no cause for the event, the plugin's own number joins its calls to its device events. */
	return host_id || (is_plugin_event(event) && !event->parent && plugin_correlation(event, id));
}

static char *put_own_stats(char *at, const epp_event *event)
{
	unsigned flags = event->flags & ~EXPORT_FLAGS_NAMED;
	uint64_t id;

	if (has_correlation(event, &id))
		at = put_u64_stat(at, KNOWN_CORRELATION, id);
	if (event->track->kind == EPP_TRACK_DEVICE)
		at = put_i64_stat(at, KNOWN_STREAM, event->track->stream);
	else if (event->category != EPP_NODE && !is_plugin_event(event))
		at = put_reference(at, KNOWN_CATEGORY, KNOWN_CATEGORIES + event->category);
	if (export_has_placement(event)) {
		at = put_reference(at, KNOWN_PLACEMENT, KNOWN_PLACEMENTS + event->placement);
		at = put_i64_stat(at, KNOWN_START_ERROR, event->start_error_ns);
		at = put_i64_stat(at, KNOWN_END_ERROR, event->end_error_ns);
	}
	return flags ? put_flags(at, flags) : at;
}

/* Returns true if put_own_stats writes this stat.  An arg with the same key is then left out. */
static bool is_own_stat(const epp_event *event, uint32_t key)
{
	uint64_t id;

	switch (key) {
	case KNOWN_CORRELATION:
		return is_plugin_event(event) || has_correlation(event, &id);
	case KNOWN_PLACEMENT:
	case KNOWN_START_ERROR:
	case KNOWN_END_ERROR:
		return export_has_placement(event);
	case KNOWN_STREAM:
		return event->track->kind == EPP_TRACK_DEVICE;
	default:
		return false;
	}
}

/* Converts nanoseconds to picoseconds.  A time out of range is counted and set to the nearest possible one. */
static int64_t picoseconds(struct xplanes *xplanes, int64_t ns)
{
	if (ns >= 0 && ns <= TIME_MOST_NS)
		return ns * 1000;
	xplanes->outside++;
	return ns < 0 ? 0 : TIME_MOST_NS * 1000;
}

/* Writes the times of an event, relative to xplanes->base_ns.  An event that began before base_ns gets it as its start;
 * if base_ns is not 0, the event is shortened by the difference. */
static char *put_times(struct xplanes *xplanes, char *at, const epp_event *event)
{
	int64_t offset_ns, duration_ns = event->duration_ns;

	if (__builtin_sub_overflow(event->start_ns, xplanes->base_ns, &offset_ns))
		offset_ns = event->start_ns < 0 ? -INT64_MAX : INT64_MAX;
	if (xplanes->base_ns && offset_ns < 0)
		duration_ns = duration_ns > -offset_ns ? duration_ns + offset_ns : 0;
	at = put_number(at, XEVENT_OFFSET_PS, (uint64_t)picoseconds(xplanes, offset_ns));
	return put_number(at, XEVENT_DURATION_PS, (uint64_t)picoseconds(xplanes, duration_ns));
}

static epp_status *put_event(struct export_run *run, const epp_event *event, char *at, char **end)
{
	struct xplanes *xplanes = run->state;
	const epp_trace_arg *args = export_args(event);
	bool on_gpu = run->options->gpu_planes && event->track->kind == EPP_TRACK_DEVICE &&
	              !xplane_is_gpu(event->track->group);
	bool has_details = false;
	char *events_start = at = protobuf_begin(at, XLINE_EVENTS);

	at = put_number(at, XEVENT_METADATA_ID, event->name_number + UINT64_C(1));
	at = put_times(xplanes, at, event);
	at = put_own_stats(at, event);
	for (uint32_t i = 0; i < event->args_count; i++) {
		uint32_t key = 0;
		EPP_TRY(xplane_number_of_key(xplanes, &args[i], &key));
		if (is_own_stat(event, key))
			continue;
		at = put_arg(at, key, &args[i]);
		has_details |= key == KNOWN_KERNEL_DETAILS;
	}
	/* Without details, tools do not treat an event as a kernel. */
	if (on_gpu && !has_details)
		at = put_reference(at, KNOWN_KERNEL_DETAILS, KNOWN_NO_DETAILS);
	protobuf_end(events_start, at);
	*end = at;
	return NULL;
}

/* ---- properties of devices ---- */

static bool is_property(const epp_event *event)
{
	return event->track->kind != EPP_TRACK_THREAD && event->track->group[0] &&
	       strcmp(event->name, "epprof.device") == 0;
}

static epp_status *take_properties(struct xplanes *xplanes, const struct row *row, const epp_event *event)
{
	const epp_trace_arg *args = export_args(event);
	size_t count = xplanes->properties_count;

	if (row->process >= count) {
		struct xplane_properties *larger = reallocarray(xplanes->properties, row->process + 1, sizeof *larger);
		if (!larger)
			return epp_status_no_memory();
		memset(larger + count, 0, (row->process + 1 - count) * sizeof *larger);
		xplanes->properties = larger;
		xplanes->properties_count = row->process + 1;
	}
	/* If a device is described several times, the last description is used. */
	struct xplane_properties *properties = &xplanes->properties[row->process];
	free(properties->bytes);
	char *at = properties->bytes = malloc(EVENT_BYTES + message_args_bytes(event, ARG_BYTES));
	properties->count = 0;
	if (!at)
		return epp_status_no_memory();
	for (uint32_t i = 0; i < event->args_count; i++) {
		uint32_t key = 0;
		char *stat = at;
		EPP_TRY(xplane_number_of_key(xplanes, &args[i], &key));
		at = put_arg(at, key, &args[i]);
		/* The args were written as stats of an event.  For a plane only the field number differs, and its tag
		 * also has one byte. */
		protobuf_tag(stat, XPLANE_STATS, PROTOBUF_BYTES);
	}
	properties->count = (size_t)(at - properties->bytes);
	return NULL;
}

/* ---- parts ---- */

static epp_status *add_part(struct xplanes *xplanes)
{
	struct xplane_part *larger = reallocarray(xplanes->parts, xplanes->parts_count + 1, sizeof *larger);

	if (!larger)
		return epp_status_no_memory();
	xplanes->parts = larger;
	xplanes->parts[xplanes->parts_count++] = (struct xplane_part){ 0 };
	return NULL;
}

static struct xplane_part *last_part(struct xplanes *xplanes)
{
	return &xplanes->parts[xplanes->parts_count - 1];
}

/* Returns an estimate of the size of a file without its events and names: facts, accounts of the ledger, heads of
 * lines. */
static uint64_t fixed_bytes(const struct export_run *run, const struct xplanes *xplanes)
{
	return FACTS_BYTES + ACCOUNT_BYTES * ledger_count(run) + ROW_BYTES * xplanes->rows.rows_count +
	       xplanes->keys_bytes * (xplanes->rows.processes_count + 1);
}

/* Returns true if an event of `bytes` bytes would exceed the limit of the last part. */
static bool is_full(const struct export_run *run, size_t bytes)
{
	struct xplanes *xplanes = run->state;
	const struct xplane_part *part = last_part(xplanes);
	uint64_t most = run->options->part_bytes ? run->options->part_bytes : XPLANE_PART_BYTES;

	uint64_t used = part->lines.total_bytes + part->names_bytes + bytes;

	/* At least half of the limit is used for events, even if the rest of the file is large. */
	return used > most / 2 && used + fixed_bytes(run, xplanes) > most;
}

static epp_status *begin_next_part(struct export_run *run)
{
	if (!run->parts || !sink_parts_divide(run->parts))
		return epp_status_create(EPP_INVALID_ARGUMENT,
		                         "xspace: more than readers take in one file; -o FILE makes several, or a part "
		                         "of the time fits (from, to)");
	EPP_TRY(xplane_lines_close(&last_part(run->state)->lines));
	return add_part(run->state);
}

/* Begins a new part for an event that would exceed the limit of the last part, and moves the event into it. */
static epp_status *move_to_next_part(struct export_run *run, size_t row, size_t bytes, char *at)
{
	struct xplanes *xplanes = run->state;

	EPP_TRY(message_begin(&xplanes->message, bytes));
	memcpy(xplanes->message.bytes, at, bytes);
	EPP_TRY(begin_next_part(run));
	EPP_TRY(xplane_line_reserve(&last_part(xplanes)->lines, row, bytes, &at));
	memcpy(at, xplanes->message.bytes, bytes);
	return NULL;
}

/* Adds the event's name to those that the plane of the row's process must define. */
static epp_status *add_plane_name(struct xplane_part *part, const struct row *row, const epp_event *event)
{
	bool added;

	if (!id_set_add(&part->names, row->process, event->name_number, &added))
		return epp_status_no_memory();
	if (added)
		part->names_bytes += XPLANE_ENTRY_BYTES + event->name_bytes;
	return NULL;
}

static epp_status *xplane_event(struct export_run *run, const epp_event *event)
{
	struct xplanes *xplanes = run->state;
	struct row *row;
	char *at = NULL, *end = NULL;

	xplanes->counters += event->kind == EPP_EVENT_COUNTER;
	xplanes->flows += event->kind == EPP_EVENT_FLOW;
	xplanes->asyncs += event->kind == EPP_EVENT_ASYNC;
	if (event->kind != EPP_EVENT_SLICE && event->kind != EPP_EVENT_INSTANT)
		return NULL;
	row = rows_recent(&xplanes->rows, event->track, event->lane);
	if (!row)
		EPP_TRY(rows_find(&xplanes->rows, run->info, event->track, event->lane, &row));
	if (is_property(event))
		return take_properties(xplanes, row, event);
	size_t index = (size_t)(row - xplanes->rows.rows);
	EPP_TRY(xplane_line_reserve(&last_part(xplanes)->lines, index,
	                            EVENT_BYTES + message_args_bytes(event, ARG_BYTES), &at));
	EPP_TRY(put_event(run, event, at, &end));
	size_t bytes = (size_t)(end - at);
	if (is_full(run, bytes) && last_part(xplanes)->lines.total_bytes)
		EPP_TRY(move_to_next_part(run, index, bytes, at));
	xplane_line_commit(&last_part(xplanes)->lines, index, bytes);
	return add_plane_name(last_part(xplanes), row, event);
}

static epp_status *xplane_begin(struct export_run *run)
{
	struct xplanes *xplanes = run->state;

	/* XProf uses the first line numbers of a device for its own lines, from 1.  Lines get higher numbers here, and
	 * events have their stream as a stat. */
	xplanes->rows.number_devices = true;
	if (run->options->unix_times) {
		xplanes->base_ns = run->from_ns == INT64_MIN ? 0 : run->from_ns;
		xplanes->base_unix_ns = (int64_t)((uint64_t)run->info->epoch_unix_ns + (uint64_t)xplanes->base_ns);
	}
	return add_part(xplanes);
}

/* Adds the host's plane to a trace without events, because this plane has the ledger. */
static epp_status *add_host_plane(struct export_run *run)
{
	static const epp_trace_track nobody = { .track = UINT32_MAX, .kind = EPP_TRACK_THREAD, .name = "", .group = "" };
	struct xplanes *xplanes = run->state;
	struct row *row;

	for (size_t i = 0; i < xplanes->rows.processes_count; i++) {
		if (!xplanes->rows.processes[i].group)
			return NULL;
	}
	return rows_find(&xplanes->rows, run->info, &nobody, 0, &row);
}

static epp_status *xplane_end(struct export_run *run)
{
	struct xplanes *xplanes = run->state;

	EPP_TRY(add_host_plane(run));
	for (size_t i = 0; i < xplanes->parts_count; i++) {
		if (i)
			EPP_TRY(export_next_part(run));
		EPP_TRY(xplane_write_document(run, &xplanes->parts[i]));
	}
	export_receipt(run, xplanes->parts_count > 1 ? xplanes->parts_count : 0,
	               "%s file%s written (NAME_part2 and so on): readers reject a larger file, but show all files of one "
	               "folder together");
	export_receipt(run, xplanes->counters, "%s counter value%s left out: the format's tools do not show them");
	export_receipt(run, xplanes->flows, "%s arrow%s left out: the format supports only arrows from launch to kernel");
	export_receipt(run, xplanes->asyncs, "%s asynchronous event%s left out: the format supports only nested events");
	export_receipt(run, xplanes->outside, "%s time%s moved: before the trace's time 0, or beyond 106 days");
	return NULL;
}

static void xplane_deinit(struct export_run *run)
{
	struct xplanes *xplanes = run->state;

	rows_deinit(&xplanes->rows);
	message_deinit(&xplanes->message);
	for (size_t i = 0; i < xplanes->parts_count; i++) {
		struct xplane_part *part = &xplanes->parts[i];
		xplane_lines_deinit(&part->lines);
		id_set_deinit(&part->names);
	}
	for (size_t i = 0; i < xplanes->properties_count; i++)
		free(xplanes->properties[i].bytes);
	free(xplanes->properties);
	free(xplanes->parts);
	tdestroy(xplanes->keys, free);
}

const struct export_writer export_xspace = {
	.format = { "xspace", ".xplane.pb", "XSpace, for XProf and TensorBoard" },
	.state_bytes = sizeof(struct xplanes),
	.divides = true,
	.begin = xplane_begin,
	.event = xplane_event,
	.end = xplane_end,
	.deinit = xplane_deinit,
};
