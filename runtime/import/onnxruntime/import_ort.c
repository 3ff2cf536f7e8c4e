/* Reads ONNX Runtime's profile: "[", one record a line with a comma after it, "]".
 *
 * A record is read as JSON.  If it is no valid JSON, it is repaired and counted.  A newline in a name splits a record
 * into several lines.  The end of a record is therefore found by the beginning of the next one.  Host events come in
 * order of their end, so ids count down: of two events that start in the same microsecond, the one that ended later is
 * the outer one.  Events of providers follow the host events; they are recognized by their category, their pid, or the
 * args that the kit and ONNX Runtime's own providers add. */
#include <stdio.h>
#include <string.h>

#include "epprof/ep_push.h"
#include "import/json_events.h"
#include "import/onnxruntime/device_events.h"
#include "import/onnxruntime/repair.h"

#define RECORD_BEGINS "{\"cat\" : \""
#define RECORD_BEGINS_BYTES (sizeof(RECORD_BEGINS) - 1)

struct ort_reader {
	struct import *import;
	struct json_events json;
	uint64_t first_start; /* the earliest start, in ticks, of a host event for which ONNX Runtime calls the
	                         providers' StartEvent */
	uint64_t no_slices, ledgers;
};

static bool ort_probe(const char *bytes, size_t count)
{
	size_t at = 1;

	if (!count || bytes[0] != '[')
		return false;
	while (at < count && (bytes[at] == ' ' || bytes[at] == '\n' || bytes[at] == '\r' || bytes[at] == '\t'))
		at++;
	return count - at >= RECORD_BEGINS_BYTES && !memcmp(bytes + at, RECORD_BEGINS, RECORD_BEGINS_BYTES);
}

/* ---- events ---- */

static bool is_of_provider(const struct event *event)
{
	return event_text_is(event, event->cat, "Kernel") || event_text_is(event, event->cat, "Api") ||
	       event->pid < 0 || event_find_arg(event, "ort_correlation_id") || event_find_arg(event, "ort_event_name");
}

/* Takes an event of a provider.  `tid` is the thread id in the file. */
static epp_status *provider_event(struct import *import, struct event *event, int64_t tid)
{
	const int64_t claim[CLAIM_COUNT] = {
		[CLAIM_START_US] = event->ts_ns / 1000, [CLAIM_DURATION_US] = event->dur_ns / 1000, [CLAIM_PID] = event->pid, [CLAIM_TID] = tid
	};
	struct prepared *prepared = &import->prepared;
	const struct event_arg *correlation = event_find_arg(event, "ort_correlation_id");
	const struct event_arg *parent = event_find_arg(event, "ort_event_name");
	const struct event_arg *thread = event_find_arg(event, "ort_thread_id");

	prepared->record.kind = EPP_RECORD_COMPLETE;
	prepared->record.id = import->next_id++;
	prepared->has_correlation = correlation && event_arg_i64(event, correlation, &prepared->correlation);
	prepared->has_cause_thread = thread && event_arg_i64(event, thread, &prepared->cause_thread);
	if (parent && parent->type == EPP_ARG_TEXT && parent->text.bytes) {
		prepared->parent_name = epp_trace_writer_intern_name(import->writer, event_chars(event, parent->text),
		                                                     parent->text.bytes);
		if (prepared->parent_name == EPP_RECORD_NAME_LOST)
			prepared->parent_name = 0;
	}
	import->counts.events++;
	record_claim(import, claim);
	return providers_store(import);
}

/* Returns true if an execution provider other than ONNX Runtime's own runs the node. */
static bool is_provider_node(struct import *import, const struct event *event)
{
	const struct event_arg *arg = event_find_arg(event, "provider");

	if (!arg || arg->type != EPP_ARG_TEXT || !arg->text.bytes ||
	    event_text_is(event, arg->text, "CPUExecutionProvider"))
		return false;
	if (!import->provider[0])
		snprintf(import->provider, sizeof(import->provider), "%.*s",
		         (int)(arg->text.bytes < 63 ? arg->text.bytes : 63), event_chars(event, arg->text));
	import->has_more_providers |= !event_text_is(event, arg->text, import->provider);
	return true;
}

static epp_status *host_event(struct ort_reader *reader, const struct event *event)
{
	struct import *import = reader->import;
	epp_trace_record *record = &import->prepared.record;

	record->kind = EPP_RECORD_EVENT;
	record->id = import->next_id_down--;
	if (record->start_ticks < import->host_first_ticks)
		import->host_first_ticks = record->start_ticks;
	if (record->start_ticks < reader->first_start && !event_text_is(event, event->name, "model_loading_uri"))
		reader->first_start = record->start_ticks;
	EPP_TRY(record_write(import, &import->prepared));
	import->counts.events++;
	if (lanes_source(&import->lanes, import->prepared.lane))
		return NULL;
	struct lane *lane = &import->lanes.lanes[import->prepared.lane];
	import->slices_lanes_count += !lane->has_slices;
	lane->has_slices = true;
	uint32_t node = is_provider_node(import, event) ? PROVIDERS_NODE : 0;
	return sorter_add(&import->slices, &(struct sorter_entry){ .start = record->start_ticks,
	                                                           .end = record->start_ticks + record->duration_ticks,
	                                                           .id = record->id,
	                                                           .track = import->prepared.lane | node,
	                                                           .name = record->name });
}

/* Takes the event by which the kit reports lost events, and adds its count to the ledger.  Returns false for other
 * events. */
static bool read_lost_event(struct import *import, const struct event *event)
{
	static const char *const keys[] = { "lost_no_buffer", "lost_refused", "lost_outside_run",
		                            "lost_other",     "parents_lost", "texts_cut" };
	const unsigned of_events = 4;
	const struct event_arg *ep = event_find_arg(event, "ep");
	char note[512];
	uint64_t lost = 0;
	size_t used;

	if (!event_text_is(event, event->name, "epprof.lost") || !event_find_arg(event, "emitted"))
		return false;
	if (import->options.beside_recording && event_find_arg(event, EPPROF_RECORDED_KEY))
		return true;
	used = (size_t)snprintf(note, sizeof note, "%.*s:", ep ? (int)(ep->text.bytes < 32 ? ep->text.bytes : 32) : 2,
	                        ep ? event_chars(event, ep->text) : "ep");
	for (unsigned i = 0; i < sizeof keys / sizeof *keys; i++) {
		const struct event_arg *arg = event_find_arg(event, keys[i]);
		int64_t count;
		if (!arg || !event_arg_i64(event, arg, &count) || count <= 0)
			continue;
		used += (size_t)snprintf(note + used, sizeof note - used, " %s %lld", keys[i], (long long)count);
		lost += i < of_events ? (uint64_t)count : 0;
	}
	import_count_provider_lost(import, EPP_LOSS_PLUGIN, lost);
	epp_trace_writer_set_producer_note(import->writer, import_producer(import), note);
	import_note(import, "lost by an execution provider: %s", note);
	return true;
}

/* Counts as lost an event that cannot be kept, or a record that cannot be read. */
static void count_omitted(struct import *import, bool of_provider, epp_loss reason)
{
	if (!of_provider) {
		import_count_lost(import, reason);
		return;
	}
	import->counts.left_out++;
	import_count_provider_lost(import, reason, 1);
}

static epp_status *read_event(struct ort_reader *reader, struct event *event)
{
	const unsigned needed = EVENT_NAME | EVENT_TS | EVENT_DUR | EVENT_PID | EVENT_TID;
	struct import *import = reader->import;
	const struct event_arg *stream;
	int64_t end_ns;

	if (event->no_memory)
		return epp_status_no_memory();
	if (event->phase != 'X') {
		reader->no_slices++;
		return NULL;
	}
	if (event_text_is(event, event->name, "epprof.ledger") && event_find_arg(event, "writer")) {
		reader->ledgers++;
		return NULL;
	}
	if ((event->keys & needed) != needed || event->dur_ns < 0 ||
	    __builtin_add_overflow(event->ts_ns, event->dur_ns, &end_ns) || !import_time_fits(event->ts_ns) ||
	    !import_time_fits(end_ns)) {
		count_omitted(import, is_of_provider(event), EPP_LOSS_REFUSED);
		return NULL;
	}
	if (read_lost_event(import, event))
		return NULL;
	bool of_provider = is_of_provider(event);
	int64_t tid = event->tid;
	if (of_provider && event->tid < 0 && (stream = event_find_arg(event, "stream")) != NULL)
		(void)event_arg_i64(event, stream, &event->tid);
	record_prepare(import, event, true);
	EPP_TRY(lanes_find(import, event, of_provider, &import->prepared.lane));
	if (import->prepared.lane == LANE_NONE) {
		count_omitted(import, of_provider, EPP_LOSS_NO_SLOT);
		return NULL;
	}
	import->prepared.record.start_ticks = import_ticks(import, event->ts_ns);
	import->prepared.record.duration_ticks = import_ticks(import, end_ns) - import->prepared.record.start_ticks;
	return of_provider ? provider_event(import, event, tid) : host_event(reader, event);
}

/* ---- lines ---- */

/* Returns true if a record that cannot be read seems to be from a provider. */
static bool looks_like_provider_event(const char *record, size_t bytes)
{
	static const char *const marks[] = { RECORD_BEGINS "Kernel\"", RECORD_BEGINS "Api\"", "\",\"pid\" :-",
		                             "\"ort_correlation_id\"", "\"ort_event_name\"" };

	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
		if (memmem(record, bytes, marks[i], strlen(marks[i])))
			return true;
	}
	return false;
}

static epp_status *read_record(struct ort_reader *reader, const char *record, size_t bytes)
{
	struct import *import = reader->import;

	while (bytes && strchr("\r\n \t", record[bytes - 1]))
		bytes--;
	if (bytes && record[bytes - 1] == ',')
		bytes--;
	if (json_events_line(&reader->json, record, bytes))
		return read_event(reader, &reader->json.event);
	EPP_TRY(json_events_status(&reader->json));
	if (repair_record(record, bytes, &reader->json.event)) {
		import->counts.repaired_lines++;
		return read_event(reader, &reader->json.event);
	}
	count_omitted(import, looks_like_provider_event(record, bytes), EPP_LOSS_REFUSED);
	return NULL;
}

/* Returns true if the "]" at `at` is the end of the array of records.  It must be on a line of its own after a record,
 * because arrays in args may have several lines too. */
static bool is_array_end(const char *here, size_t count, size_t at)
{
	size_t last = at - 1;

	if (here[at] != ']' || (at + 1 < count && here[at + 1] != '\n' && here[at + 1] != '\r'))
		return false;
	while (last > 0 && strchr("\r\n \t", here[last - 1]))
		last--;
	return last >= 2 && here[last - 1] == '}' && here[last - 2] == '}';
}

/* Returns true if a record begins at `at`.  At the end of the input, only the bytes that exist are compared. */
static bool begins_record(const struct input *input, size_t at)
{
	size_t count, bytes = RECORD_BEGINS_BYTES;
	const char *here = input_bytes(input, &count);

	if (count - at < bytes)
		bytes = count - at;
	return is_array_end(here, count, at) || !memcmp(here + at, RECORD_BEGINS, bytes);
}

/* Finds the end of the record at the current position: the beginning of the next record, or the end of the array. */
static epp_status *find_end(struct input *input, size_t *end)
{
	size_t count;

	*end = 0;
	do {
		EPP_TRY(input_line(input, *end, end));
		EPP_TRY(input_need(input, *end + 1 + RECORD_BEGINS_BYTES));
		input_bytes(input, &count);
		if (*end >= count || *end >= INPUT_LINE_BYTES_MAX)
			return NULL;
		(*end)++;
	} while (*end < count && !begins_record(input, *end));
	return NULL;
}

static epp_status *read_records(struct ort_reader *reader)
{
	struct input *input = &reader->import->input;

	for (;;) {
		size_t count, end;
		EPP_TRY(import_check_cancel(reader->import));
		EPP_TRY(input_need(input, RECORD_BEGINS_BYTES));
		const char *here = input_bytes(input, &count);
		if (!count)
			return NULL;
		if (strchr("[], \t\r\n", *here) && *here) {
			input_take(input, 1);
			continue;
		}
		EPP_TRY(find_end(input, &end));
		EPP_TRY(read_record(reader, input_bytes(input, &count), end));
		input_take(input, end);
	}
}

static epp_status *ort_read(struct import *import)
{
	struct ort_reader reader = { .import = import, .first_start = UINT64_MAX };

	json_events_init(&reader.json, JSON_SHAPE_LINE);
	epp_status *status = read_records(&reader);
	json_events_deinit(&reader.json);
	EPP_TRY(status);
	EPP_TRY(providers_place_by_start(import, reader.first_start));
	import_note_count(import, reader.no_slices, "record%s left out: not slices");
	import_note_count(import, reader.ledgers, "the ledger of epprof left out: not an event");
	return NULL;
}

const struct import_format import_ort = {
	.format = { "ort", "ONNX Runtime's profile JSON; invalid JSON is repaired" },
	.ns_per_tick = 1000,
	.probe = ort_probe,
	.read = ort_read,
};
