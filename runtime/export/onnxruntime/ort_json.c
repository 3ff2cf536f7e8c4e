/* Writes the JSON of ONNX Runtime's own profiler with the same keys and spaces.  Unlike ONNX Runtime's, the JSON is
 * always valid: characters are escaped where needed.
 *
 * One record a line, times in integer microseconds, rounded down.  Host events are written in order of their end, so a
 * record waits until no later event can end before it; the number of waiting records is about that of open events.
 * Events of execution providers follow after the host events; until then they are stored in a temporary file.
 *
 * epprof's collector stores the profile's start and duration as args of each event.  The importer stores pid and tid
 * too.  If an event has these args, their values are written; otherwise its time on the timeline is written.  The last
 * record, with duration 0, is the ledger.  The format has no instants, counters or arrows; these are counted. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "containers/array.h"
#include "encoding/json.h"
#include "epprof/epprof.h"
#include "epprof/timeline.h"
#include "export/json_object_keys.h"
#include "export/ledger.h"
#include "export/onnxruntime/pending.h"
#include "export/rows.h"
#include "export/sink/sink.h"
#include "export/text_cache.h"
#include "export/writer.h"

/* The values of an event in ONNX Runtime's own profile.  They are the event's first args in the trace: ort_ts_us,
 * ort_dur_us and ort_profile_us.  For a host event, ONNX Runtime's collector records them
 * (bridges/onnxruntime/ort_event_record.c), and adds ort_started_us to the first event of a run.  For a provider's
 * event, the importer adds them (import/make_record.h), with ort_pid and ort_tid. */
struct ort_original {
	uint32_t args_count; /* number of these args */
	bool has_times;
	bool has_row; /* pid and tid are set */
	int64_t start_us, duration_us;
	int64_t profile_us; /* start of ONNX Runtime's profile, since the epoch; 0: unknown */
	int64_t pid, tid;
};

/* State for writing args, which is reused from record to record. */
struct ort_args {
	struct json_keys json_keys;
	struct json_recent correlation;
	struct {
		int64_t start_error_ns, end_error_ns;
		uint8_t placement;
		uint8_t bytes; /* 0: `text` is empty */
		char text[160];
	} place; /* text for the placement and errors of the last event */
};

static inline bool ort_is_of_provider(const epp_event *event)
{
	return event->track->kind == EPP_TRACK_DEVICE || event->track->producer >= 0;
}

static inline int64_t ort_microseconds(int64_t ns)
{
	int64_t us = ns / 1000;

	return us * 1000 > ns ? us - 1 : us;
}

/* Events in a temporary file, for a format that writes some events after all others.  They are put and later taken in
 * the order of arrival.  Tracks and names are not copied; they belong to the timeline and the trace.  Args are
 * copied. */

struct event_spool {
	struct sink_spool spool;
	uint64_t bytes_count, bytes_taken;
	char *piece; /* the part of the file that is in memory */
	size_t piece_room, piece_bytes, piece_at;
	epp_event event; /* the event that event_spool_take returns */
};

/* ---- event spool ---- */

/* Stores an event as a head, its array of args, and the texts of the args one after the other. */

#define PIECE_BYTES (256u << 10)

/* The fields of an event that a format may read, in half the size of epp_event. */
struct head {
	const char *name;
	const epp_trace_track *track;
	int64_t start_ns, duration_ns, start_error_ns, end_error_ns;
	int64_t parent_start_ns; /* INT64_MIN: not known */
	uint32_t name_bytes, name_number, lane, flags;
	uint32_t args_bytes; /* size of the args and their texts, rounded up so that the next head is aligned */
	uint8_t kind, category, placement, args_count;
};

/* Errors: EPP_OUT_OF_MEMORY. */
static epp_status *event_spool_init(struct event_spool *spool)
{
	*spool = (struct event_spool){ 0 };
	return sink_spool_init(&spool->spool);
}

/* Must also be called for a zeroed spool, and for one whose init failed. */
static void event_spool_deinit(struct event_spool *spool)
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

static void event_spool_put(struct event_spool *spool, const epp_event *event)
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

/* Makes the next `bytes` bytes of the file available at piece_at, and reads more to fill the buffer. */
static epp_status *read_ahead(struct event_spool *spool, size_t bytes)
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

static void set_text_pointers(epp_trace_arg *args, size_t count)
{
	const char *text = (const char *)(args + count);

	for (size_t i = 0; i < count; i++)
		if (args[i].type == EPP_ARG_TEXT) {
			args[i].value.text = text;
			text += args[i].text_bytes;
		}
}

/* Gets the next event; *event is NULL after the last one.  The event has no ids, ticks or depth, and only the start of
 * its parent.  No event may be put after the first call.  Ownership: valid until the next call.  Errors: those of the
 * temporary file, EPP_OUT_OF_MEMORY. */
static epp_status *event_spool_take(struct event_spool *spool, const epp_event **event)
{
	struct head head;

	*event = NULL;
	if (spool->bytes_taken == spool->bytes_count && spool->piece_at == spool->piece_bytes)
		return NULL;
	EPP_TRY(read_ahead(spool, sizeof head));
	memcpy(&head, spool->piece + spool->piece_at, sizeof head);
	spool->piece_at += sizeof head;
	EPP_TRY(read_ahead(spool, head.args_bytes));
	epp_trace_arg *args = (void *)(spool->piece + spool->piece_at);
	set_text_pointers(args, head.args_count);
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
		                    .queue_ns = INT64_MIN,
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

/* ---- args ---- */

/* Writes the args of a record.  A text arg that is a JSON array or object is written unquoted; every other arg is a
 * string, including numbers.  epprof's own data (placement, errors, correlation) is short: for an event without args,
 * one sink_reserve is enough, and most of the text is copied from the previous event's. */

/* Room for one value of epprof's own data and the end of the record; room for all values. */
#define KNOWN_BYTES 128u
#define ALL_KNOWN_BYTES (8 * KNOWN_BYTES)

#define PUT(at, literal) put(at, literal, sizeof(literal) - 1)

static inline char *put(char *at, const char *text, size_t bytes)
{
	memcpy(at, text, bytes);
	return at + bytes;
}

static bool is_number(const epp_trace_arg *arg, const char *key, int64_t *value)
{
	if (arg->type != EPP_ARG_I64 || arg->key_bytes != strlen(key) || memcmp(arg->key, key, arg->key_bytes) != 0)
		return false;
	*value = arg->value.i64;
	return true;
}

static struct ort_original ort_original_of(const epp_event *event)
{
	const epp_trace_arg *args = export_args(event);
	struct ort_original own = { 0 };
	int64_t started_us;

	if (event->args_count < 3 || !is_number(&args[0], "ort_ts_us", &own.start_us) ||
	    !is_number(&args[1], "ort_dur_us", &own.duration_us) ||
	    !is_number(&args[2], "ort_profile_us", &own.profile_us))
		return own;
	own.args_count = 3;
	own.has_times = true;
	own.has_row = event->args_count >= 5 && is_number(&args[3], "ort_pid", &own.pid) &&
	              is_number(&args[4], "ort_tid", &own.tid);
	if (own.has_row)
		own.args_count = 5;
	else if (event->args_count > 3 && is_number(&args[3], "ort_started_us", &started_us))
		own.args_count = 4;
	/* ONNX Runtime's own profile does not have this arg, which the collector adds after these values. */
	if (event->args_count > own.args_count && strcmp(args[own.args_count].key, "ort_run_tag") == 0)
		own.args_count++;
	return own;
}

/* Writes a key, with a comma before it if it is not the first key. */
static void ort_begin_arg(struct json_keys *json_keys, const char *key, size_t bytes)
{
	if (json_keys->count)
		sink_bytes(json_keys->sink, ",", 1);
	json_keys_key(json_keys, key, bytes);
	sink_text(json_keys->sink, " : ");
}

static void ort_arg_i64(struct json_keys *json_keys, const char *key, int64_t value)
{
	ort_begin_arg(json_keys, key, strlen(key));
	char *at = sink_reserve(json_keys->sink, 2 + JSON_NUMBER_BYTES);
	*at++ = '"';
	at = json_i64(at, value);
	*at++ = '"';
	sink_commit(json_keys->sink, at);
}

static void ort_arg_text(struct json_keys *json_keys, const char *key, const char *text)
{
	ort_begin_arg(json_keys, key, strlen(key));
	sink_json_string(json_keys->sink, text);
}

static void write_value(struct sink *sink, const epp_trace_arg *arg)
{
	char number[JSON_NUMBER_BYTES], *end = number;
	const char *text = arg->value.text;

	switch (arg->type) {
	case EPP_ARG_TEXT:
		if (arg->text_bytes && (text[0] == '{' || text[0] == '[') && json_valid(text, arg->text_bytes)) {
			sink_bytes(sink, text, arg->text_bytes);
			return;
		}
		sink_bytes(sink, "\"", 1);
		sink_json_text(sink, text, arg->text_bytes);
		sink_bytes(sink, "\"", 1);
		return;
	case EPP_ARG_F64:
		end = json_f64(number, arg->value.f64);
		break;
	case EPP_ARG_U64:
		end = json_u64(number, arg->value.u64);
		break;
	default:
		end = json_i64(number, arg->value.i64);
	}
	/* NaN and infinity are written as quoted words already. */
	if (number[0] != '"')
		sink_bytes(sink, "\"", 1);
	sink_bytes(sink, number, (size_t)(end - number));
	if (number[0] != '"')
		sink_bytes(sink, "\"", 1);
}

/* ---- epprof's own data ---- */

struct own_args {
	struct sink *sink;
	char *at;
	struct json_keys *json_keys; /* NULL: the event has no args, so no key can repeat */
	bool any;
};

static inline void begin_own_arg(struct own_args *own_args, const char *key, size_t bytes)
{
	if (own_args->json_keys) {
		sink_commit(own_args->sink, own_args->at);
		ort_begin_arg(own_args->json_keys, key, bytes);
		own_args->at = sink_reserve(own_args->sink, KNOWN_BYTES);
		return;
	}
	if (own_args->any)
		*own_args->at++ = ',';
	own_args->any = true;
	*own_args->at++ = '"';
	own_args->at = put(own_args->at, key, bytes);
	own_args->at = PUT(own_args->at, "\" : ");
}

static inline void put_word(struct own_args *own_args, const char *key, const char *word)
{
	begin_own_arg(own_args, key, strlen(key));
	*own_args->at++ = '"';
	own_args->at = put(own_args->at, word, strlen(word));
	*own_args->at++ = '"';
}

static inline void put_i64(struct own_args *own_args, const char *key, int64_t value)
{
	begin_own_arg(own_args, key, strlen(key));
	*own_args->at++ = '"';
	own_args->at = json_i64(own_args->at, value);
	*own_args->at++ = '"';
}

/* The correlation of an event is the start of its host event in microseconds, as in ONNX Runtime. */
static inline void put_correlation(struct own_args *own_args, int64_t start_us, struct json_recent *recent)
{
	begin_own_arg(own_args, "ort_correlation_id", strlen("ort_correlation_id"));
	*own_args->at++ = '"';
	own_args->at = start_us < 0 ? json_i64(own_args->at, start_us)
	                            : json_u64_recent(own_args->at, (uint64_t)start_us, recent);
	*own_args->at++ = '"';
}

static inline void put_placement(struct own_args *own_args, const epp_event *event)
{
	put_word(own_args, "placement", epp_placement_name(event->placement));
	put_i64(own_args, "start_error_ns", event->start_error_ns);
	put_i64(own_args, "end_error_ns", event->end_error_ns);
}

/* Writes the placement and errors.  Consecutive events often have the same, so the text of the last event is reused. */
static inline void put_cached_placement(struct own_args *own_args, const epp_event *event, struct ort_args *args)
{
	if (args->place.bytes && args->place.placement == event->placement &&
	    args->place.start_error_ns == event->start_error_ns && args->place.end_error_ns == event->end_error_ns) {
		if (own_args->any)
			*own_args->at++ = ',';
		own_args->any = true;
		memcpy(own_args->at, args->place.text, sizeof args->place.text);
		own_args->at += args->place.bytes;
		return;
	}
	const char *from = own_args->at + own_args->any;
	put_placement(own_args, event);
	args->place.placement = event->placement;
	args->place.start_error_ns = event->start_error_ns;
	args->place.end_error_ns = event->end_error_ns;
	args->place.bytes = (uint8_t)(own_args->at - from);
	memcpy(args->place.text, from, args->place.bytes);
}

static inline bool has_key(const struct own_args *own_args, const char *key)
{
	return own_args->json_keys && json_keys_has(own_args->json_keys, key);
}

static inline void put_own_args(struct own_args *own_args, const struct export_run *run, const epp_event *event,
                                struct ort_args *args)
{
	bool of_provider = ort_is_of_provider(event);

	if (event->flags & EPP_FLAG_UNENDED)
		put_word(own_args, "unended", "true");
	if (event->flags & EPP_FLAG_OPEN)
		put_word(own_args, "open", "true");
	if (of_provider && event->parent && event->parent_start_ns != INT64_MIN && !has_key(own_args, "ort_correlation_id"))
		put_correlation(own_args, ort_microseconds(run->info->epoch_unix_ns + event->parent_start_ns),
		                &args->correlation);
	if (of_provider && !has_key(own_args, "stream"))
		put_i64(own_args, "stream", event->track->stream);
	if (!of_provider && !export_has_placement(event))
		return;
	if (own_args->json_keys)
		put_placement(own_args, event);
	else
		put_cached_placement(own_args, event, args);
}

/* Writes the event's args except those in `own`, then epprof's own data and the end of the record.  For a provider's
 * event that was imported from ONNX Runtime's profile (own->has_row), epprof's data is left out, so that its record is
 * as in that profile. */
static void ort_write_args(const struct export_run *run, struct ort_args *memory, struct sink *sink,
                           const epp_event *event, const struct ort_original *own)
{
	const epp_trace_arg *args = export_args(event);
	struct json_keys *json_keys = &memory->json_keys;

	json_keys->sink = sink;
	json_keys->count = 0;
	for (uint32_t i = own->args_count; i < event->args_count; i++) {
		ort_begin_arg(json_keys, args[i].key, args[i].key_bytes);
		write_value(sink, &args[i]);
	}
	struct own_args own_args = { .sink = sink,
		                     .at = sink_reserve(sink, ALL_KNOWN_BYTES),
		                     .json_keys = json_keys->count ? json_keys : NULL };
	if (!own->has_row)
		put_own_args(&own_args, run, event, memory);
	sink_commit(sink, PUT(own_args.at, "}}"));
}

/* ---- the format ---- */

/* The categories that have a name, and one for all others. */
#define CATEGORIES_COUNT 5u

struct ort {
	struct rows rows;
	struct text_cache names;
	struct {
		uint8_t bytes;
		char text[31]; /* the separator between two records, then the record up to its category */
	} beginnings[CATEGORIES_COUNT];
	struct pending pending;
	struct sink_memory memory;    /* receives a record that is too long for RECORD_BYTES */
	struct sink record;           /* writes into the room that is reserved in `pending` */
	struct event_spool providers; /* events of execution providers */
	struct ort_args args;
	int64_t last_end_ns;
	/* the Unix time, in us, to which `ts` is relative: if the first event has times of ONNX Runtime's profile
	 * (has_origin), the start of this profile, else time 0 of the timeline */
	int64_t origin_us;
	uint64_t instants, counters, flows, rounded;
	bool any, settled, has_origin;
};

/* Room for a record up to its name (the row's text, two numbers, words), and for a record of usual size. */
#define HEAD_BYTES 256u
#define RECORD_BYTES (2 * SINK_RESERVE_MAX)

/* Makes a time since the epoch relative to the origin.  The difference is computed modulo 2^64, because a trace can
 * contain any number as a time. */
static int64_t since_origin(const struct ort *ort, int64_t us)
{
	return (int64_t)((uint64_t)us - (uint64_t)ort->origin_us);
}

/* Converts a time of the timeline to the value of `ts`, in us: relative to origin_us if has_origin, else to time 0 of
 * the timeline. */
static int64_t timestamp_us(const struct export_run *run, int64_t ns)
{
	const struct ort *ort = run->state;

	return ort->has_origin ? since_origin(ort, ort_microseconds(run->info->epoch_unix_ns + ns)) : ort_microseconds(ns);
}

/* ---- records ---- */

/* Writes the record up to the category, without the first `skipped` bytes of the separator. */
static inline char *put_category(const struct ort *ort, char *at, const epp_event *event, size_t skipped)
{
	unsigned category = event->category < CATEGORIES_COUNT ? event->category : CATEGORIES_COUNT - 1;

	memcpy(at, ort->beginnings[category].text + skipped, sizeof ort->beginnings[category].text - 1);
	return at + ort->beginnings[category].bytes - skipped;
}

/* Writes the numbers of a row.  Their text never changes, so it is cached in the row. */
static inline char *put_row(char *at, struct row *row)
{
	if (!row->text_bytes)
		row->text_bytes = (uint8_t)snprintf(row->text, sizeof row->text,
		                                    "\",\"pid\" :%u,\"tid\" :%u,\"dur\" :", row->pid, row->tid);
	memcpy(at, row->text, sizeof row->text);
	return at + row->text_bytes;
}

static char *put_original_row(char *at, const struct ort_original *own)
{
	at = json_i64(PUT(at, "\",\"pid\" :"), own->pid);
	at = json_i64(PUT(at, ",\"tid\" :"), own->tid);
	return PUT(at, ",\"dur\" :");
}

static inline char *put_times(char *at, int64_t duration_us, int64_t start_us)
{
	at = json_i64(at, duration_us);
	return json_i64(PUT(at, ",\"ts\" :"), start_us);
}

/* Writes the part of the record between the time and the args. */
static void write_name(struct sink *sink, const epp_event *event)
{
	sink_text(sink, ",\"ph\" : \"X\",\"name\" :\"");
	sink_json_text(sink, event->name, event->name_bytes);
	sink_text(sink, "\",\"args\" : {");
}

/* Returns an event's values in ONNX Runtime's own profile.  If the profile's start is unknown, they are used only if
 * the trace has no wall-clock time either, because otherwise the times would not be relative to the same origin. */
static struct ort_original usable_original_of(const struct export_run *run, const epp_event *event)
{
	struct ort_original own = ort_original_of(event);

	if (own.has_row && !own.profile_us && run->info->epoch_unix_ns)
		own = (struct ort_original){ .args_count = own.args_count };
	return own;
}

/* Writes the separator and a record, without the first `skipped` bytes of the separator. */
static epp_status *write_record(struct export_run *run, struct sink *sink, const epp_event *event, size_t skipped)
{
	struct ort *ort = run->state;
	const struct ort_original own = usable_original_of(run, event);
	struct row *row;

	if (!ort->settled) {
		ort->settled = true;
		ort->has_origin = own.has_times;
		ort->origin_us = own.has_times ? own.profile_us : ort_microseconds(run->info->epoch_unix_ns);
	}
	ort->rounded += !own.has_times && (event->start_ns % 1000 || event->duration_ns % 1000);
	char *at = put_category(ort, sink_reserve(sink, HEAD_BYTES), event, skipped);
	if (own.has_row) {
		at = put_original_row(at, &own);
	} else {
		/* Slices in ONNX Runtime's microseconds may overlap and then have several lanes.  All lanes of a thread
		 * get the thread's number. */
		bool on_thread = event->track->kind == EPP_TRACK_THREAD && event->kind == EPP_EVENT_SLICE;
		uint32_t lane = on_thread ? 0 : event->lane;
		row = rows_recent(&ort->rows, event->track, lane);
		if (!row)
			EPP_TRY(rows_find(&ort->rows, run->info, event->track, lane, &row));
		at = put_row(at, row);
	}
	if (own.has_times)
		at = put_times(at, own.duration_us,
		               since_origin(ort, (int64_t)((uint64_t)own.profile_us + (uint64_t)own.start_us)));
	else
		at = put_times(at, ort_microseconds(event->duration_ns), timestamp_us(run, event->start_ns));
	sink_commit(sink, at);
	text_cache_write(&ort->names, sink, event, (uint64_t)event->name_number << 32, write_name);
	ort_write_args(run, &ort->args, sink, event, &own);
	return NULL;
}

/* Writes the records of the events that ended before `before_ns`.  The first record of the file has no comma before
 * it. */
static epp_status *write_ended(struct export_run *run, int64_t before_ns)
{
	struct ort *ort = run->state;
	const char *text;
	size_t bytes;

	EPP_TRY(pending_select(&ort->pending, before_ns));
	while (pending_next(&ort->pending, &text, &bytes)) {
		bool comma = ort->any;
		ort->any = true;
		sink_bytes(run->sink, text + !comma, bytes - !comma);
	}
	return NULL;
}

/* Writes the record directly into `pending`.  If the record is too long, it is written to a separate buffer and
 * copied. */
static epp_status *host_event(struct export_run *run, const epp_event *event)
{
	struct ort *ort = run->state;
	struct sink *record = &ort->record;
	uint64_t pushes_count = record->pushes_count;
	int64_t end_ns = event->start_ns + event->duration_ns;

	if (end_ns == INT64_MAX)
		end_ns--; /* at the end, write_ended is called with INT64_MAX and selects earlier times only */
	if (pending_is_due(&ort->pending))
		EPP_TRY(write_ended(run, event->start_ns));
	EPP_TRY(pending_reserve(&ort->pending, RECORD_BYTES, &record->buffer));
	record->at = record->buffer;
	record->limit = record->buffer + RECORD_BYTES;
	EPP_TRY(write_record(run, record, event, 0));
	if (record->pushes_count == pushes_count) {
		pending_commit(&ort->pending, end_ns, (size_t)(record->at - record->buffer));
		return NULL;
	}
	epp_status *status = sink_flush(record);
	if (!status)
		status = pending_push(&ort->pending, end_ns, ort->memory.bytes, ort->memory.count);
	ort->memory.count = 0;
	return status;
}

static epp_status *ort_event(struct export_run *run, const epp_event *event)
{
	struct ort *ort = run->state;
	int64_t end_ns = event->start_ns + event->duration_ns;

	if (event->kind != EPP_EVENT_SLICE && event->kind != EPP_EVENT_ASYNC) {
		ort->instants += event->kind == EPP_EVENT_INSTANT;
		ort->counters += event->kind == EPP_EVENT_COUNTER;
		ort->flows += event->kind == EPP_EVENT_FLOW;
		return NULL;
	}
	if (end_ns > ort->last_end_ns)
		ort->last_end_ns = end_ns;
	if (!ort_is_of_provider(event))
		return host_event(run, event);
	event_spool_put(&ort->providers, event);
	return NULL;
}

/* ---- the document ---- */

static epp_status *ort_begin(struct export_run *run)
{
	struct ort *ort = run->state;

	sink_text(run->sink, "[");
	for (unsigned i = 0; i < CATEGORIES_COUNT; i++)
		ort->beginnings[i].bytes = (uint8_t)snprintf(ort->beginnings[i].text, sizeof ort->beginnings[i].text,
		                                             ",\n{\"cat\" : \"%s", export_category(i));
	ort->record = (struct sink){ .write = sink_memory_write, .user = &ort->memory };
	return event_spool_init(&ort->providers);
}

/* Writes the events of execution providers.  The first record of the file has no comma before it. */
static epp_status *write_providers(struct export_run *run)
{
	struct ort *ort = run->state;
	const epp_event *event;

	for (;;) {
		EPP_TRY(event_spool_take(&ort->providers, &event));
		if (!event)
			return NULL;
		EPP_TRY(write_record(run, run->sink, event, !ort->any));
		ort->any = true;
	}
}

static epp_status *write_ledger(struct export_run *run)
{
	struct ort *ort = run->state;
	const epp_timeline_counts *counts = epp_timeline_get_counts(run->timeline);
	struct ledger_total total;

	EPP_TRY(ledger_add_up(run, &total));
	sink_text(run->sink, ort->any ? ",\n" : "\n");
	sink_format(run->sink, "{\"cat\" : \"Session\",\"pid\" :%u,\"tid\" :%u,\"dur\" :0,\"ts\" :%" PRId64,
	            run->info->pid, run->info->pid, timestamp_us(run, ort->last_end_ns));
	sink_text(run->sink, ",\"ph\" : \"X\",\"name\" :\"epprof.ledger\",\"args\" : {");
	ort->args.json_keys.sink = run->sink;
	ort->args.json_keys.count = 0;
	ort_arg_text(&ort->args.json_keys, "writer", "epprof " EPPROF_VERSION);
	ort_arg_text(&ort->args.json_keys, "program", run->info->program ? run->info->program : "");
	ort_arg_text(&ort->args.json_keys, "clock", run->info->clock);
	ort_arg_i64(&ort->args.json_keys, "epoch_unix_ns", run->info->epoch_unix_ns);
	ort_arg_i64(&ort->args.json_keys, "lost", (int64_t)total.lost);
	ort_arg_text(&ort->args.json_keys, "balanced", total.balanced ? "true" : "false");
	ort_arg_i64(&ort->args.json_keys, "correlated", (int64_t)counts->correlated);
	ort_arg_i64(&ort->args.json_keys, "inferred", (int64_t)counts->inferred);
	ort_arg_i64(&ort->args.json_keys, "ambiguous", (int64_t)counts->ambiguous);
	ort_arg_i64(&ort->args.json_keys, "uncorrelated", (int64_t)counts->uncorrelated);
	ort_arg_i64(&ort->args.json_keys, "largest_error_ns", counts->largest_error_ns);
	ort_begin_arg(&ort->args.json_keys, "ledger", strlen("ledger"));
	EPP_TRY(ledger_write(run, run->sink));
	sink_text(run->sink, "}}");
	return NULL;
}

static epp_status *ort_end(struct export_run *run)
{
	struct ort *ort = run->state;

	EPP_TRY(write_ended(run, INT64_MAX));
	EPP_TRY(write_providers(run));
	EPP_TRY(write_ledger(run));
	sink_text(run->sink, "\n]\n");
	export_receipt(run, ort->instants, "%s instant%s left out: the format does not support them");
	export_receipt(run, ort->counters, "%s counter value%s left out: the format does not support them");
	export_receipt(run, ort->flows, "%s arrow%s left out: the format does not support them");
	export_receipt(run, ort->rounded, "%s event%s rounded down to microseconds, the format's unit");
	return NULL;
}

static void ort_deinit(struct export_run *run)
{
	struct ort *ort = run->state;

	rows_deinit(&ort->rows);
	pending_deinit(&ort->pending);
	event_spool_deinit(&ort->providers);
	free(ort->memory.bytes);
}

const struct export_writer export_ort = {
	.format = { "ort", ".json", "ONNX Runtime's profile JSON, in integer microseconds, for tools that read it" },
	.state_bytes = sizeof(struct ort),
	.begin = ort_begin,
	.event = ort_event,
	.end = ort_end,
	.deinit = ort_deinit,
};
