/* Writes the beginning of the sequence (clock, interned categories and keys, clock snapshots), and at its end the
 * ledger and the facts, as annotations of instants on a track of their own. */
#include "export/facts.h"
#include "export/ledger.h"
#include "export/perfetto/perfetto.h"
#include "timeline/clock_samples.h"

enum { SNAPSHOT_CLOCK = 1, SNAPSHOT_PRIMARY = 2 };
enum { CLOCK_ID = 1, CLOCK_TIME = 2 };
#define CATEGORIES 5u

static char *put_clock(char *at, uint32_t id, uint64_t time)
{
	char *clock = protobuf_begin(at, SNAPSHOT_CLOCK);

	at = protobuf_u64(clock, CLOCK_ID, id);
	at = protobuf_u64(at, CLOCK_TIME, time);
	protobuf_end(clock, at);
	return at;
}

static epp_status *write_snapshot(struct export_run *run, int64_t monotonic_ns, int64_t realtime_ns)
{
	char *at, *snapshot;

	EPP_TRY(perfetto_packet_begin(run, 128, &at));
	at = protobuf_u64(at, PACKET_TIMESTAMP, (uint64_t)monotonic_ns);
	at = snapshot = protobuf_begin(at, PACKET_CLOCK_SNAPSHOT);
	at = put_clock(at, CLOCK_ID_MONOTONIC, (uint64_t)monotonic_ns);
	at = put_clock(at, CLOCK_ID_REALTIME, (uint64_t)realtime_ns);
	at = protobuf_u64(at, SNAPSHOT_PRIMARY, CLOCK_ID_MONOTONIC);
	protobuf_end(snapshot, at);
	perfetto_packet_end(run, at);
	return NULL;
}

static epp_status *write_snapshots(struct export_run *run)
{
	struct perfetto *perfetto = run->state;
	struct timeline_pair pair;
	bool any = false;

	for (size_t i = 0; timeline_pair_at(run->timeline, i, &pair); i++) {
		if (pair.is_device || pair.monotonic_ns < 0 || pair.realtime_ns < 0)
			continue;
		if (!any)
			perfetto->zero_ns = pair.monotonic_ns - pair.time_ns;
		any = true;
		EPP_TRY(write_snapshot(run, pair.monotonic_ns, pair.realtime_ns));
	}
	/* Readers need at least one snapshot. */
	return any ? NULL : write_snapshot(run, 0, run->info->epoch_unix_ns);
}

epp_status *perfetto_begin_sequence(struct export_run *run)
{
	char *at, *inner, *category;

	((struct perfetto *)run->state)->time.upper = UINT64_MAX;
	perfetto_make_placements(run->state);
	EPP_TRY(perfetto_packet_begin(run, PERFETTO_KNOWN_KEYS_BYTES, &at));
	at = protobuf_u64(at, PACKET_SEQUENCE_FLAGS, SEQUENCE_BEGINS | SEQUENCE_GOES_ON);
	at = inner = protobuf_begin(at, PACKET_DEFAULTS);
	at = protobuf_u64(at, DEFAULTS_CLOCK, CLOCK_ID_MONOTONIC);
	protobuf_end(inner, at);
	at = inner = protobuf_begin(at, PACKET_INTERNED_DATA);
	for (uint32_t i = 0; i < CATEGORIES; i++) {
		const char *text = export_category(i);
		at = category = protobuf_begin(at, INTERNED_CATEGORY);
		at = protobuf_u64(at, INTERNED_IID, i + 1);
		at = protobuf_text(at, INTERNED_TEXT, text, strlen(text));
		protobuf_end(category, at);
	}
	at = perfetto_put_known_keys(at);
	protobuf_end(inner, at);
	perfetto_packet_end(run, at);
	return write_snapshots(run);
}

/* ---- ledger and facts ---- */

static char *put_number(char *at, const char *key, uint64_t value)
{
	char *annotation = protobuf_begin(at, EVENT_ANNOTATION);

	at = protobuf_text(annotation, ANNOTATION_NAME, key, strlen(key));
	at = protobuf_u64(at, ANNOTATION_U64, value);
	protobuf_end(annotation, at);
	return at;
}

static char *begin_instant(struct export_run *run, char *at, const char *name, char **event)
{
	struct perfetto *perfetto = run->state;

	at = protobuf_u64(at, PACKET_TIMESTAMP, perfetto_time(perfetto, perfetto->last_ns));
	at = *event = protobuf_begin(at, PACKET_TRACK_EVENT);
	at = protobuf_u64(at, EVENT_TYPE, TYPE_INSTANT);
	at = protobuf_u64(at, EVENT_TRACK, PERFETTO_UUID_FACTS);
	return protobuf_text(at, EVENT_NAME, name, strlen(name));
}

static epp_status *write_account(struct export_run *run, const epp_trace_account *account)
{
	char *at, *event;

	EPP_TRY(perfetto_packet_begin(run, 4096 + message_text_bytes(strlen(account->producer)), &at));
	at = begin_instant(run, at, account->producer, &event);
	at = put_number(at, "emitted", account->emitted);
	at = put_number(at, "written", account->written);
	at = put_number(at, "open", account->open);
	for (unsigned reason = 0; reason < EPP_LOSS_ENTRY_COUNT && epp_loss_name(reason); reason++) {
		if (account->lost[reason])
			at = put_number(at, epp_loss_name(reason), account->lost[reason]);
	}
	at = put_number(at, "errors", account->errors);
	at = put_number(at, "balanced", account->balanced);
	if (account->source != LEDGER_NO_SOURCE)
		at = put_number(at, "source", account->source);
	protobuf_end(event, at);
	perfetto_packet_end(run, at);
	return NULL;
}

epp_status *perfetto_write_facts(struct export_run *run)
{
	static const char track[] = "epprof: ledger and facts";
	struct fact facts[FACTS_MAX];
	size_t facts_count = facts_collect(run, facts), count = ledger_count(run), bytes = 4096;
	char *at, *event;

	EPP_TRY(perfetto_describe(run, PERFETTO_UUID_FACTS, 0, track, strlen(track), false));
	for (size_t i = 0; i < count; i++) {
		epp_trace_account account;
		EPP_TRY(ledger_at(run, i, &account));
		EPP_TRY(write_account(run, &account));
	}
	for (size_t i = 0; i < facts_count; i++)
		bytes += facts[i].kind == FACT_TEXT ? message_text_bytes(strlen(facts[i].value.text)) : 0;
	EPP_TRY(perfetto_packet_begin(run, bytes, &at));
	at = begin_instant(run, at, "trace", &event);
	for (size_t i = 0; i < facts_count; i++) {
		char *annotation = protobuf_begin(at, EVENT_ANNOTATION);
		at = protobuf_text(annotation, ANNOTATION_NAME, facts[i].key, strlen(facts[i].key));
		if (facts[i].kind == FACT_TEXT)
			at = protobuf_text(at, ANNOTATION_TEXT, facts[i].value.text, strlen(facts[i].value.text));
		else
			at = protobuf_i64(at, ANNOTATION_I64, facts[i].value.i64);
		protobuf_end(annotation, at);
	}
	protobuf_end(event, at);
	perfetto_packet_end(run, at);
	return NULL;
}
