/* Writes the args of a record.  A text arg that is a JSON array or object is written unquoted; every other arg is a
 * string, including numbers.  epprof's own data is short: for an event without args it is written with one reservation,
 * and mostly copied from the previous event. */
#include "export/onnxruntime/ort_args.h"

#include "encoding/json.h"

/* Room for one item of epprof's own data and the end of the record; room for all items. */
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

struct ort_own ort_own_of(const epp_event *event)
{
	const epp_trace_arg *args = export_args(event);
	struct ort_own own = { 0 };
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
	return own;
}

void ort_begin_arg(struct json_keys *json_keys, const char *key, size_t bytes)
{
	if (json_keys->count)
		sink_bytes(json_keys->sink, ",", 1);
	json_keys_key(json_keys, key, bytes);
	sink_text(json_keys->sink, " : ");
}

void ort_arg_i64(struct json_keys *json_keys, const char *key, int64_t value)
{
	ort_begin_arg(json_keys, key, strlen(key));
	char *at = sink_reserve(json_keys->sink, 2 + JSON_NUMBER_BYTES);
	*at++ = '"';
	at = json_i64(at, value);
	*at++ = '"';
	sink_commit(json_keys->sink, at);
}

void ort_arg_text(struct json_keys *json_keys, const char *key, const char *text)
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
	/* NaN and infinity are already quoted words. */
	if (number[0] != '"')
		sink_bytes(sink, "\"", 1);
	sink_bytes(sink, number, (size_t)(end - number));
	if (number[0] != '"')
		sink_bytes(sink, "\"", 1);
}

/* ---- epprof's own data ---- */

struct known {
	struct sink *sink;
	char *at;
	struct json_keys *json_keys; /* NULL: the event has no args, so no key can repeat */
	bool any;
};

static inline void begin_known(struct known *known, const char *key, size_t bytes)
{
	if (known->json_keys) {
		sink_commit(known->sink, known->at);
		ort_begin_arg(known->json_keys, key, bytes);
		known->at = sink_reserve(known->sink, KNOWN_BYTES);
		return;
	}
	if (known->any)
		*known->at++ = ',';
	known->any = true;
	*known->at++ = '"';
	known->at = put(known->at, key, bytes);
	known->at = PUT(known->at, "\" : ");
}

static inline void put_word(struct known *known, const char *key, const char *word)
{
	begin_known(known, key, strlen(key));
	*known->at++ = '"';
	known->at = put(known->at, word, strlen(word));
	*known->at++ = '"';
}

static inline void put_i64(struct known *known, const char *key, int64_t value)
{
	begin_known(known, key, strlen(key));
	*known->at++ = '"';
	known->at = json_i64(known->at, value);
	*known->at++ = '"';
}

/* ONNX Runtime's id of a host event is its start in microseconds. */
static inline void put_correlation(struct known *known, int64_t start_us, struct json_recent *recent)
{
	begin_known(known, "ort_correlation_id", strlen("ort_correlation_id"));
	*known->at++ = '"';
	known->at = start_us < 0 ? json_i64(known->at, start_us) : json_u64_recent(known->at, (uint64_t)start_us, recent);
	*known->at++ = '"';
}

static inline void put_place(struct known *known, const epp_event *event)
{
	put_word(known, "placement", epp_placement_name(event->placement));
	put_i64(known, "start_error_ns", event->start_error_ns);
	put_i64(known, "end_error_ns", event->end_error_ns);
}

/* Consecutive events often have the same placement and errors, so the text of the last event is reused. */
static inline void put_place_as_before(struct known *known, const epp_event *event, struct ort_args *args)
{
	if (args->place.bytes && args->place.placement == event->placement &&
	    args->place.start_error_ns == event->start_error_ns && args->place.end_error_ns == event->end_error_ns) {
		if (known->any)
			*known->at++ = ',';
		known->any = true;
		memcpy(known->at, args->place.text, sizeof args->place.text);
		known->at += args->place.bytes;
		return;
	}
	const char *from = known->at + known->any;
	put_place(known, event);
	args->place.placement = event->placement;
	args->place.start_error_ns = event->start_error_ns;
	args->place.end_error_ns = event->end_error_ns;
	args->place.bytes = (uint8_t)(known->at - from);
	memcpy(args->place.text, from, args->place.bytes);
}

static inline bool is_there(const struct known *known, const char *key)
{
	return known->json_keys && json_keys_has(known->json_keys, key);
}

static inline void put_known(struct known *known, const struct export_run *run, const epp_event *event,
                             struct ort_args *args)
{
	bool of_provider = ort_of_provider(event);

	if (event->flags & EPP_FLAG_UNENDED)
		put_word(known, "unended", "true");
	if (event->flags & EPP_FLAG_OPEN)
		put_word(known, "open", "true");
	if (of_provider && event->parent && event->parent_start_ns != INT64_MIN && !is_there(known, "ort_correlation_id"))
		put_correlation(known, ort_microseconds(run->info->epoch_unix_ns + event->parent_start_ns),
		                &args->correlation);
	if (of_provider && !is_there(known, "stream"))
		put_i64(known, "stream", event->track->stream);
	if (!of_provider && !export_tells_place(event))
		return;
	if (known->json_keys)
		put_place(known, event);
	else
		put_place_as_before(known, event, args);
}

void ort_write_args(const struct export_run *run, struct ort_args *memory, struct sink *sink, const epp_event *event,
                    const struct ort_own *own)
{
	const epp_trace_arg *args = export_args(event);
	struct json_keys *json_keys = &memory->json_keys;

	json_keys->sink = sink;
	json_keys->count = 0;
	for (uint32_t i = own->args_count; i < event->args_count; i++) {
		ort_begin_arg(json_keys, args[i].key, args[i].key_bytes);
		write_value(sink, &args[i]);
	}
	struct known known = { .sink = sink,
		               .at = sink_reserve(sink, ALL_KNOWN_BYTES),
		               .json_keys = json_keys->count ? json_keys : NULL };
	if (!own->has_row)
		put_known(&known, run, event, memory);
	sink_commit(sink, PUT(known.at, "}}"));
}
