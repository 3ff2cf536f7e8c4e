/* Writes one JSON object a line: one for each event, then one for each line of the ledger, then one for the trace.
 * docs/formats.md describes the members.  Integers beyond 2^53 are strings; members that do not apply are omitted.
 *
 * Text that depends only on the name, and text that depends only on the track, is cached as pieces. */
#include "base/status.h"
#include "encoding/json.h"
#include "export/facts.h"
#include "export/json_object_keys.h"
#include "export/ledger.h"
#include "export/text_cache.h"

/* Room for the numbers of one line and their keys. */
#define NUMBERS_BYTES 512u

#define PUT(at, literal) put(at, literal, sizeof(literal) - 1)

struct ndjson {
	struct text_cache names, tracks;
	struct json_keys json_keys;
};

static inline char *put(char *at, const char *text, size_t bytes)
{
	memcpy(at, text, bytes);
	return at + bytes;
}

static void write_name(struct sink *sink, const epp_event *event)
{
	sink_text(sink, "{\"kind\":\"");
	sink_text(sink, export_kind(event->kind));
	sink_text(sink, "\",\"name\":\"");
	sink_json_text(sink, event->name, event->name_bytes);
	sink_text(sink, "\",\"category\":\"");
	sink_text(sink, export_category(event->category));
	sink_text(sink, "\",\"start_ns\":");
}

static void write_number(struct sink *sink, const char *key, int64_t number)
{
	sink_text(sink, key);
	sink_commit(sink, json_i64_exact(sink_reserve(sink, JSON_NUMBER_BYTES), number));
}

static void write_track(struct sink *sink, const epp_event *event)
{
	const epp_trace_track *track = event->track;

	write_number(sink, ",\"source\":", track->source);
	if (track->pid)
		write_number(sink, ",\"pid\":", track->pid);
	sink_text(sink, ",\"group\":");
	sink_json_string(sink, track->group);
	if (export_has_thread(track))
		write_number(sink, ",\"tid\":", track->thread_id);
	write_number(sink, ",\"track\":", track->track);
	sink_text(sink, ",\"track_name\":");
	sink_json_string(sink, track->name);
	if (track->device >= 0)
		write_number(sink, ",\"device\":", track->device);
	if (track->kind == EPP_TRACK_DEVICE)
		write_number(sink, ",\"stream\":", track->stream);
	write_number(sink, ",\"lane\":", event->lane);
}

static char *put_own_members(char *at, const epp_event *event)
{
	const char *placement = epp_placement_name(event->placement);
	bool any = false;

	at = PUT(at, ",\"placement\":\"");
	at = put(at, placement, strlen(placement));
	at = PUT(at, "\",\"start_error_ns\":");
	at = json_i64_exact(at, event->start_error_ns);
	at = PUT(at, ",\"end_error_ns\":");
	at = json_i64_exact(at, event->end_error_ns);
	for (unsigned bit = 0; bit < EXPORT_FLAGS_COUNT; bit++) {
		if (!(event->flags & 1u << bit))
			continue;
		at = any ? PUT(at, ",\"") : PUT(at, ",\"flags\":[\"");
		at = put(at, export_flags[bit], strlen(export_flags[bit]));
		*at++ = '"';
		any = true;
	}
	if (any)
		*at++ = ']';
	return at;
}

static epp_status *ndjson_event(struct export_run *run, const epp_event *event)
{
	struct ndjson *ndjson = run->state;

	text_cache_write(&ndjson->names, run->sink, event, text_cache_name_key(event), write_name);
	char *at = json_i64_exact(sink_reserve(run->sink, NUMBERS_BYTES), event->start_ns);
	at = PUT(at, ",\"duration_ns\":");
	sink_commit(run->sink, json_i64_exact(at, event->duration_ns));
	text_cache_write(&ndjson->tracks, run->sink, event, text_cache_track_key(event), write_track);
	at = PUT(sink_reserve(run->sink, NUMBERS_BYTES), ",\"depth\":");
	at = json_u64(at, event->depth);
	at = PUT(at, ",\"id\":");
	at = json_u64_exact(at, event->id);
	if (event->parent) {
		at = PUT(at, ",\"parent\":");
		at = json_u64_exact(at, event->parent);
	}
	at = PUT(at, ",\"run\":");
	at = json_u64(at, event->run);
	at = put_own_members(at, event);
	sink_commit(run->sink, at);
	if (event->args_count) {
		sink_text(run->sink, ",\"args\":");
		json_keys_args(&ndjson->json_keys, run->sink, export_args(event), event->args_count);
	}
	sink_bytes(run->sink, "}\n", 2);
	return NULL;
}

static epp_status *ndjson_begin(struct export_run *run)
{
	(void)run;
	return NULL;
}

static epp_status *ndjson_end(struct export_run *run)
{
	size_t count = ledger_count(run);

	for (size_t i = 0; i < count; i++) {
		epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
		EPP_TRY(ledger_at(run, i, &account));
		sink_text(run->sink, "{\"kind\":\"ledger\",\"ledger\":");
		ledger_write_account(run->sink, &account);
		sink_text(run->sink, "}\n");
	}
	sink_text(run->sink, "{\"kind\":\"trace\",\"trace\":{");
	facts_write_json(run, run->sink);
	sink_text(run->sink, "}}\n");
	return NULL;
}

static void ndjson_deinit(struct export_run *run)
{
	(void)run;
}

const struct export_writer export_ndjson = {
	.format = { "ndjson", ".ndjson", "one JSON object per line and event, in integer nanoseconds" },
	.state_bytes = sizeof(struct ndjson),
	.begin = ndjson_begin,
	.event = ndjson_event,
	.end = ndjson_end,
	.deinit = ndjson_deinit,
};
