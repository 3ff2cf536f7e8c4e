/* The args of a Chrome trace event: first the data that epprof has about the event (id, parent, placement, error
 * bounds, stream, flags), then the event's own args.  A repeated key gets a number as suffix; integers that a double
 * cannot represent are quoted.
 *
 * epprof's own data is short and written with one reservation; the event's own args may have any length. */
#include "encoding/json.h"
#include "export/chrome/chrome.h"

/* Room for all of epprof's own data: fewer than 13 keys of at most 20 bytes, each with a number or a word. */
#define KNOWN_BYTES 1024u

#define PUT(at, literal) put(at, literal, sizeof(literal) - 1)

static inline char *put(char *at, const char *text, size_t bytes)
{
	memcpy(at, text, bytes);
	return at + bytes;
}

/* ---- epprof's own data ---- */

struct known {
	char *start, *at;
	struct json_keys *json_keys; /* NULL: no other keys follow */
};

static inline void begin_known(struct known *known, const char *key, size_t bytes)
{
	if (known->at == known->start)
		known->at = PUT(known->at, ",\"args\":{\"");
	else
		known->at = PUT(known->at, ",\"");
	known->at = put(known->at, key, bytes);
	known->at = PUT(known->at, "\":");
	if (known->json_keys)
		json_keys_note(known->json_keys, key, bytes);
}
#define BEGIN_KNOWN(known, literal) begin_known(known, literal, sizeof(literal) - 1)

static void put_flags(struct known *known, unsigned flags)
{
	for (; flags; flags &= flags - 1) {
		const char *flag = export_flags[__builtin_ctz(flags)];
		begin_known(known, flag, strlen(flag));
		known->at = PUT(known->at, "true");
	}
}

/* Depending on the dialect, writes the plugin's device number, or the device's number in the file (its process id). */
static void put_device(const struct chrome *chrome, struct known *known, const epp_event *event)
{
	const struct row *row = rows_recent(&chrome->rows, event->track, event->lane);
	const struct rows_process *process = row ? &chrome->rows.processes[row->process] : NULL;
	int64_t own = event->track->device, number = own;

	if (chrome->dialect->numbers_devices && process && process->group)
		number = process->pid;
	if (number >= 0) {
		BEGIN_KNOWN(known, "device");
		known->at = json_i64(known->at, number);
	}
	if (own >= 0 && own != number) {
		BEGIN_KNOWN(known, "plugin device");
		known->at = json_i64(known->at, own);
	}
}

static void put_known(const struct chrome *chrome, struct known *known, const epp_event *event)
{
	bool device = chrome_on_device(event);

	if (event->flags & EXPORT_FLAGS_NAMED) {
		BEGIN_KNOWN(known, "id");
		known->at = json_u64_exact(known->at, event->id);
	}
	if (event->parent && (device || event->placement != EPP_PLACED_MEASURED)) {
		BEGIN_KNOWN(known, "parent");
		known->at = json_u64_exact(known->at, event->parent);
	}
	if (export_tells_place(event)) {
		const char *placement = epp_placement_name(event->placement);
		BEGIN_KNOWN(known, "placement");
		*known->at++ = '"';
		known->at = put(known->at, placement, strlen(placement));
		*known->at++ = '"';
		BEGIN_KNOWN(known, "start_error_ns");
		known->at = json_i64_exact(known->at, event->start_error_ns);
		BEGIN_KNOWN(known, "end_error_ns");
		known->at = json_i64_exact(known->at, event->end_error_ns);
	}
	if (device) {
		put_device(chrome, known, event);
		BEGIN_KNOWN(known, "stream");
		known->at = json_i64_exact(known->at, event->track->stream);
	}
	put_flags(known, event->flags & ~EXPORT_FLAGS_NAMED);
}

/* ---- the event's own args ---- */

static void write_arg(struct json_keys *json_keys, const epp_trace_arg *arg)
{
	sink_text(json_keys->sink, json_keys->count ? "," : ",\"args\":{");
	json_keys_arg(json_keys, arg);
}

/* The dialect's ids end with a comma, but begin_known writes one itself. */
static void put_ids(struct chrome *chrome, struct known *known, const epp_event *event)
{
	char *at;

	if (!chrome->dialect->put_ids)
		return;
	at = PUT(known->at, ",\"args\":{");
	char *end = chrome->dialect->put_ids(chrome, at, event, known->json_keys);
	if (end != at)
		known->at = end - 1;
}

void chrome_args(struct export_run *run, const epp_event *event)
{
	struct json_keys *json_keys = &((struct chrome *)run->state)->json_keys;
	const epp_trace_arg *args = export_args(event);
	struct known known;

	json_keys->sink = run->sink;
	json_keys->count = 0;
	known.start = known.at = sink_reserve(run->sink, KNOWN_BYTES);
	known.json_keys = event->args_count ? json_keys : NULL;
	put_ids(run->state, &known, event);
	put_known(run->state, &known, event);
	bool any = known.at != known.start || event->args_count;
	sink_commit(run->sink, known.at);
	for (uint32_t i = 0; i < event->args_count; i++)
		write_arg(json_keys, &args[i]);
	if (any)
		sink_bytes(run->sink, "}", 1);
}
