/* Implements epp_trace_amend: adds device events of late traces to a finished trace.
 *
 * Three passes: over the late traces, to collect the ids and correlation numbers that their events name; over the
 * trace, to find the host events with these, and the events that were added before; and over the late traces again,
 * while the trace is written (trace_writer_rewrite).  The blocks of the trace are copied, and blocks with the late
 * events follow them.
 *
 * Late events are on tracks of their own.  The ticks of their clock are nanoseconds of CLOCK_MONOTONIC or
 * CLOCK_REALTIME, and its clock samples are host clock samples, which contain both.  So the timeline
 * places them as those of any device, with its error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/status.h"
#include "codec/checksum.h"
#include "codec/codec.h"
#include "containers/array.h"
#include "containers/hash_map.h"
#include "containers/string_table.h"
#include "epprof/merge.h"
#include "epprof/timeline.h"
#include "timeline/clock/host_clock.h"
#include "timeline/events/work_kind.h"
#include "trace/reader_private.h"
#include "trace/writer/trace_writer_private.h"

/* A smaller time is no wall-clock time: an importer or another program counted from 0. */
#define UNIX_NS_LEAST 1000000000000000000
/* The maximum error of a clock sample, in ns; larger errors are cut to it. */
#define ERROR_NS_MAX 1000000000000
/* The size of a block's records in memory, and the maximum number of slots of one record. */
#define BLOCK_BYTES (96u << 10)
#define SLOTS_MAX (2 * EPF_ARG_SLOTS_MAX + EPF_ARG_TEXT_MAX / 16)

_Static_assert(CODEC_BOUND(BLOCK_BYTES + (SLOTS_MAX + 4) * 16u) <= TRACE_WRITER_PAYLOAD_MAX, "an encoded block fits");

/* The host event of the trace that has a correlation number which late events name.  If several have it, it is the
 * innermost one, or is_ambiguous is set. */
struct cause {
	uint64_t id; /* 0: none was found */
	uint64_t start_ticks, end_ticks;
	bool is_ambiguous;
};

/* How times of a late trace are converted to the clock of the amended trace. */
enum relation { BY_MONOTONIC, BY_REALTIME, UNRELATED };

struct late {
	epp_trace *trace;
	enum relation relation;
	int64_t zero_ns; /* time 0 of its timeline, on CLOCK_MONOTONIC or CLOCK_REALTIME (by `relation`) */
	int64_t zero_error_ns;
	int64_t error_ns;          /* the largest error of its events' times */
	uint32_t clock;            /* the number of its clock in the trace; the next number is the clock of its
	                              duration-only tracks */
	bool has_pairs;            /* the clock's samples were written already */
	struct hash_map tracks[2]; /* key: number of a track in the late trace; value: its number in the trace, and in
	                              the high half its account. [0]: tracks with times, [1]: duration-only tracks */
};

struct amend {
	struct reader *reader;
	const char *path; /* of the trace, for messages */
	struct epp_trace_writer *writer;
	epp_amend_options options;
	epp_amend_counts counts;
	struct late *late;
	size_t late_count;

	struct hash_map tokens;  /* ids that late events name; the value is 1 if the trace has the event */
	struct hash_map numbers; /* correlation numbers that late events have; the value is the index of a cause */
	struct cause *causes;
	struct hash_map known; /* key: hash_event of an event; value: the number of equal events that were added before,
	                          minus those that were found in the late traces so far */

	struct string_table texts; /* the texts of the names of the trace, and of new ones */
	epp_name *names;           /* the numbers of these names, by the index of the text */
	size_t names_room;
	uint32_t next_name, next_track;
	uint64_t next_id, last_ticks;
	uint32_t run;
	uint64_t *added; /* for each account, the number of late events that were added to it */

	struct epf_block *block;
	struct epf_arg *slots;
	struct codec_writer codec;
	uint32_t bytes;
	uint32_t own_track, track; /* tracks in the trace: that of the block (0: no block is begun), and that of the
	                              last record */
};

static epp_status *check_cancelled(const struct amend *amend)
{
	const volatile int *cancel = amend->options.cancel;

	return cancel && *cancel ? epp_status_create(EPP_CANCELLED, "cancelled") : NULL;
}

static const char *path_of(const epp_trace *trace)
{
	return trace->reader->info.path ? trace->reader->info.path : "a session";
}

/* ---- the events of late traces ---- */

/* What a late event names as its cause; 0: nothing.  A number is valid if has_number is set. */
struct named {
	uint64_t parent, token, number;
	bool has_number;
};

static bool is_key(const epp_trace_arg *arg, const char *key)
{
	return arg->type != EPP_ARG_TEXT && arg->type != EPP_ARG_F64 && strcmp(arg->key, key) == 0;
}

static struct named what_is_named(const epp_timeline *timeline, const epp_event *event)
{
	struct named named = { 0 };
	epp_trace_arg arg;

	for (size_t cursor = 0; epp_event_args(timeline, event, &cursor, &arg);)
		if (is_key(&arg, "token") || is_key(&arg, "external_id"))
			named.token = arg.value.u64;
	named.has_number = work_correlation(timeline, event, &named.number);
	/* A parent that was found in the late trace is not an event of the amended trace, even if their ids are
	 * equal. */
	if (event->parent_start_ns == INT64_MIN)
		named.parent = event->parent;
	return named;
}

static bool is_duration(const struct late *late, const epp_event *event)
{
	return late->relation == UNRELATED || event->placement == EPP_PLACED_DURATION;
}

/* Returns the start of a late event in ticks of its clock in the trace. */
static uint64_t start_of(const struct late *late, const epp_event *event)
{
	int64_t ns;

	if (is_duration(late, event))
		return event->start_ticks;
	return __builtin_add_overflow(late->zero_ns, event->start_ns, &ns) || ns < 0 ? 0 : (uint64_t)ns;
}

static uint64_t hash_event(uint64_t start_ticks, uint64_t duration_ticks, uint64_t parent, const char *name,
                           size_t name_bytes)
{
	return hash_pair(hash_pair(start_ticks, duration_ticks), hash_pair(parent, checksum_crc32c(0, name, name_bytes)));
}

static bool want(struct hash_map *map, uint64_t key, uint64_t value)
{
	return hash_map_find(map, key) || hash_map_add(map, key, value);
}

static epp_status *want_causes(struct amend *amend, const epp_timeline *timeline, const epp_event *event)
{
	const struct named named = what_is_named(timeline, event);
	bool memory = true;

	if (named.parent)
		memory = want(&amend->tokens, named.parent, 0);
	if (named.token)
		memory = memory && want(&amend->tokens, named.token, 0);
	if (named.has_number)
		memory = memory && want(&amend->numbers, named.number, amend->numbers.count);
	return memory ? NULL : epp_status_no_memory();
}

static bool is_taken(const epp_event *event)
{
	return event->track->kind == EPP_TRACK_DEVICE &&
	       (event->kind == EPP_EVENT_SLICE || event->kind == EPP_EVENT_ASYNC) && event->duration_ns >= 0;
}

typedef epp_status *(*take_fn)(struct amend *amend, struct late *late, const epp_timeline *timeline,
                               const epp_event *event);

static epp_status *for_each(struct amend *amend, struct late *late, take_fn take)
{
	epp_timeline *timeline;
	const epp_event *event;
	epp_status *status;

	EPP_TRY(epp_timeline_create(late->trace, NULL, &timeline));
	for (status = NULL; !status && epp_timeline_next(timeline, &event);)
		if (!(status = check_cancelled(amend)))
			status = take(amend, late, timeline, event);
	if (!status)
		status = epp_timeline_status(timeline);
	epp_timeline_destroy(timeline);
	return status;
}

static epp_status *look_at(struct amend *amend, struct late *late, const epp_timeline *timeline, const epp_event *event)
{
	if (!is_taken(event)) {
		amend->counts.left_out++;
		return NULL;
	}
	if (!is_duration(late, event)) {
		if (event->start_error_ns > late->error_ns)
			late->error_ns = event->start_error_ns;
		if (event->end_error_ns > late->error_ns)
			late->error_ns = event->end_error_ns;
	}
	return want_causes(amend, timeline, event);
}

/* ---- clocks ---- */

static bool is_same_boot(const struct reader *a, const struct reader *b)
{
	static const uint8_t unknown[sizeof(a->header.source.boot_id)];

	return memcmp(a->header.source.boot_id, unknown, sizeof(unknown)) != 0 &&
	       memcmp(a->header.source.boot_id, b->header.source.boot_id, sizeof(unknown)) == 0;
}

/* Returns by how many ns the wall clock was changed while the trace was recorded, at most ERROR_NS_MAX. */
static int64_t wall_clock_change(const struct reader *reader, const struct epf_host_pair *zero)
{
	int64_t most_ns = 0;

	for (size_t i = 0; i < reader->pairs_count; i++) {
		const struct epf_host_pair *pair = &reader->pairs[i];
		int64_t real_ns, monotonic_ns, ns;
		if (__builtin_sub_overflow(pair->realtime_ns, zero->realtime_ns, &real_ns) ||
		    __builtin_sub_overflow(pair->monotonic_ns, zero->monotonic_ns, &monotonic_ns) ||
		    __builtin_sub_overflow(real_ns, monotonic_ns, &ns) || ns == INT64_MIN)
			return ERROR_NS_MAX;
		most_ns = llabs(ns) > most_ns ? llabs(ns) : most_ns;
	}
	return most_ns < ERROR_NS_MAX ? most_ns : ERROR_NS_MAX;
}

static void relate(const struct amend *amend, struct late *late)
{
	const struct reader *theirs = late->trace->reader;
	const struct epf_host_pair zero = host_clock_zero(theirs), ours = host_clock_zero(amend->reader);
	uint64_t per_second = theirs->header.source.ticks_per_second;
	double half_ns = per_second ? (double)zero.half_width_ticks * 1e9 / (double)per_second : 0;

	late->relation = UNRELATED;
	late->zero_error_ns = half_ns < ERROR_NS_MAX ? (int64_t)half_ns + 1 : ERROR_NS_MAX;
	if (is_same_boot(amend->reader, late->trace->reader)) {
		late->relation = BY_MONOTONIC;
		late->zero_ns = zero.monotonic_ns;
	} else if (zero.realtime_ns >= UNIX_NS_LEAST && ours.realtime_ns >= UNIX_NS_LEAST) {
		late->relation = BY_REALTIME;
		late->zero_ns = zero.realtime_ns;
		late->zero_error_ns += wall_clock_change(theirs, &zero);
	}
}

static void report(const struct amend *amend, epp_receipt_fn receipt, void *user)
{
	char text[1280];

	for (size_t i = 0; i < amend->late_count && receipt; i++) {
		const struct late *late = &amend->late[i];
		const char *host = late->trace->reader->header.source.hostname;
		const char *how = late->relation == UNRELATED ? "no common clock: its events keep their duration only"
		                  : late->relation == BY_MONOTONIC ? "by the monotonic clock of the same machine"
		                  : strcmp(host, amend->reader->header.source.hostname) == 0
		                      ? "by wall-clock time"
		                      : "by wall-clock time: plus the unknown difference between the machines' wall clocks";
		snprintf(text, sizeof(text), "%.900s: %s", path_of(late->trace), how);
		receipt(user, text);
	}
}

/* ---- the trace's own records ---- */

static void find_cause(struct amend *amend, uint64_t number, const struct codec_record *record)
{
	const uint64_t *index = hash_map_find(&amend->numbers, number);
	uint64_t end = codec_end(record->start_ticks, record->duration_ticks);

	if (!index)
		return;
	struct cause *cause = &amend->causes[*index];
	bool is_inside = record->start_ticks >= cause->start_ticks && end <= cause->end_ticks;
	bool is_around = record->start_ticks <= cause->start_ticks && end >= cause->end_ticks;
	if (!cause->id || is_inside)
		*cause = (struct cause){ record->id, record->start_ticks, end, cause->is_ambiguous };
	else if (!is_around)
		cause->is_ambiguous = true;
}

static bool is_correlation(const struct reader *reader, epp_name key)
{
	const struct reader_name *name = key < reader->names_count ? &reader->names[key] : NULL;

	return name && name->text && (strcmp(name->text, "correlation") == 0 || strcmp(name->text, "correlation_id") == 0);
}

static void look_for_number(struct amend *amend, const struct reader_decoded *decoded, const struct codec_record *record)
{
	uint32_t at = record->args_offset;
	struct codec_arg arg;

	for (uint32_t i = 0; i < record->args_count; i++) {
		at = codec_arg(decoded->args, decoded->args_bytes, at, &arg);
		if (!at)
			return;
		if ((arg.type == EPP_ARG_I64 || arg.type == EPP_ARG_U64) && is_correlation(amend->reader, arg.key))
			find_cause(amend, arg.value, record);
	}
}

/* Counts an event that was added before, in amend->known. */
static epp_status *look_at_added(struct amend *amend, const struct reader_decoded *decoded,
                                 const struct codec_record *record)
{
	const struct reader *reader = amend->reader;
	const struct reader_name *name = record->name < reader->names_count ? &reader->names[record->name] : NULL;
	uint32_t after;

	if (!name || !name->text)
		return NULL;
	uint64_t parent = codec_parent(decoded->args, decoded->args_bytes, record, &after);
	uint64_t hash = hash_event(record->start_ticks, record->duration_ticks, parent, name->text, name->bytes);
	if (!want(&amend->known, hash, 0))
		return epp_status_no_memory();
	++*hash_map_find(&amend->known, hash);
	return NULL;
}

static bool is_amended(const struct reader *reader, const epp_trace_track *track)
{
	const struct epf_track *definition = reader_track_definition(reader, track->track);

	return definition && definition->clock_kind != EPF_TRACK_CLOCK_OFFSET_US &&
	       definition->offset_ns == EPF_TRACK_AMENDED;
}

static epp_status *look_at_record(struct amend *amend, const struct reader_decoded *decoded,
                                  const struct codec_record *record, const epp_trace_track *track)
{
	unsigned kind = EPF_BITS_KIND(record->bits);
	bool is_device = track && track->kind == EPP_TRACK_DEVICE;

	if (READER_OWN_ID_KINDS >> kind & 1 && record->id >= amend->next_id)
		amend->next_id = record->id + 1;
	if (kind == EPF_COMPLETE && is_device)
		return is_amended(amend->reader, track) ? look_at_added(amend, decoded, record) : NULL;
	if (kind != EPF_EVENT && kind != EPF_COMPLETE && kind != EPF_ASYNC_BEGIN)
		return NULL;
	uint64_t *is_there = hash_map_find(&amend->tokens, record->id);
	if (is_there)
		*is_there = 1;
	if (amend->numbers.count && record->args_count)
		look_for_number(amend, decoded, record);
	return NULL;
}

static epp_status *look_at_trace(struct amend *amend)
{
	struct reader *reader = amend->reader;
	struct reader_decoded decoded = { 0 };
	epp_status *status = NULL;

	for (size_t i = 0; i < reader->blocks_count && !status; i++) {
		const struct reader_block *block = &reader->blocks[i];
		const epp_trace_track *track = reader_track(reader, block->track);
		if (block->last_ticks > amend->last_ticks)
			amend->last_ticks = block->last_ticks;
		if (!(status = check_cancelled(amend)))
			status = reader_block_decode(reader, block, &decoded);
		for (uint32_t k = 0; k < decoded.count && !status; k++) {
			const struct codec_record *record = &decoded.records[k];
			if (EPF_BITS_KIND(record->bits) == EPF_TRACK_SWITCH)
				track = reader_track(reader, record->id ? (uint32_t)record->id : block->track);
			else
				status = look_at_record(amend, &decoded, record, track);
		}
	}
	reader_decoded_deinit(&decoded);
	return status;
}

/* ---- names ---- */

static epp_status *write_definition(struct amend *amend, enum epf_definition_type type, const void *fixed,
                                    size_t fixed_bytes, const char *text, size_t text_bytes, const char *more,
                                    size_t more_bytes)
{
	struct epf_definition head = { .bytes = (uint32_t)(fixed_bytes + text_bytes + more_bytes), .type = type };
	size_t bytes = sizeof(head) + (((size_t)head.bytes + 7) & ~(size_t)7);
	uint8_t *payload = calloc(1, bytes);

	if (!payload)
		return epp_status_no_memory();
	uint8_t *at = mempcpy(payload, &head, sizeof(head));
	at = mempcpy(at, fixed, fixed_bytes);
	at = mempcpy(at, text, text_bytes);
	memcpy(at, more, more_bytes);
	epp_status *status = trace_writer_append_payload(amend->writer, EPF_BLOCK_DEFINITIONS, payload, bytes, SIZE_MAX);
	free(payload);
	return status;
}

/* Finds or adds a text.  `number` is the number of a new one. */
static epp_status *add_text(struct amend *amend, const char *text, size_t bytes, epp_name number, epp_name *name)
{
	uint32_t count = amend->texts.count, index;

	if (!string_table_add(&amend->texts, text, bytes, &index) ||
	    !array_reserve(&amend->names, &amend->names_room, amend->texts.count, sizeof(*amend->names)))
		return epp_status_no_memory();
	if (index == count)
		amend->names[index] = number;
	*name = amend->names[index];
	return NULL;
}

/* Lists the names of the trace, except the reserved ones: as the key of an arg, these would have their own meaning. */
static epp_status *list_names(struct amend *amend)
{
	const struct reader *reader = amend->reader;
	epp_name name;

	for (uint32_t i = EPF_NAME_FIRST_FREE; i < reader->names_count; i++)
		if (reader->names[i].text)
			EPP_TRY(add_text(amend, reader->names[i].text, reader->names[i].bytes, i, &name));
	amend->next_name = reader->names_count > EPF_NAME_FIRST_FREE ? (uint32_t)reader->names_count : EPF_NAME_FIRST_FREE;
	return NULL;
}

static epp_status *name_of(struct amend *amend, const char *text, size_t bytes, epp_name *name)
{
	bytes = bytes < EPF_NAME_BYTES_MAX ? bytes : EPF_NAME_BYTES_MAX;
	if (!bytes) {
		*name = EPF_NAME_NONE;
		return NULL;
	}
	EPP_TRY(add_text(amend, text, bytes, amend->next_name, name));
	if (*name != amend->next_name)
		return NULL;
	if (amend->next_name == TRACE_WRITER_MERGED_NAMES_MAX)
		return epp_status_create(EPP_LIMIT, "%s: more than %u names", amend->path, TRACE_WRITER_MERGED_NAMES_MAX);
	amend->next_name++;
	return write_definition(amend, EPF_DEFINE_NAME, name, sizeof(*name), text, bytes, "", 0);
}

/* ---- accounts ---- */

/* Returns the number of elements of reader->producers, including unused ones. */
static size_t accounts_count(const struct reader *reader)
{
	return reader->producers_count < EPF_PRODUCER_COUNT ? EPF_PRODUCER_COUNT : reader->producers_count;
}

static int32_t find_account(const struct reader *reader, const char *label)
{
	for (size_t i = 0; i < accounts_count(reader); i++)
		if (*label && strncmp(reader->producers[i].label, label, sizeof(reader->producers[i].label) - 1) == 0)
			return (int32_t)i;
	return -1;
}

/* Returns the account with events that were lost after the end (EPP_LOSS_AFTER_END); -1 if no account or several have
 * such losses. */
static int32_t find_waiting_account(const struct reader *reader)
{
	int32_t found = -1;

	for (size_t i = 0; i < accounts_count(reader); i++) {
		if (!reader->producers[i].label[0] || !reader->producers[i].lost[EPP_LOSS_AFTER_END])
			continue;
		if (found >= 0)
			return -1;
		found = (int32_t)i;
	}
	return found;
}

/* Returns true if an account has no label and no track.  A damaged trace may have tracks of an account without a
 * label. */
static bool is_unused(const struct reader *reader, size_t account)
{
	for (size_t i = 0; i < reader->tracks_count; i++)
		if (reader->tracks[i].producer == (int32_t)account)
			return false;
	return !reader->producers[account].label[0];
}

static epp_status *account_of(struct amend *amend, const struct late *late, const epp_trace_track *track, int32_t *account)
{
	struct reader *reader = amend->reader;
	const char *label = epp_trace_track_plugin(late->trace, track);

	*account = find_account(reader, amend->options.profiler ? amend->options.profiler : label ? label : "");
	if (*account < 0)
		*account = find_waiting_account(reader);
	for (size_t i = 0; i < accounts_count(reader) && *account < 0; i++) {
		if (!is_unused(reader, i))
			continue;
		snprintf(reader->producers[i].label, sizeof(reader->producers[i].label), "%s",
		         label && *label ? label : "late");
		*account = (int32_t)i;
	}
	return *account < 0 ? epp_status_create(EPP_LIMIT, "%s: no room for another profiler", amend->path) : NULL;
}

/* Counts the added events: as many of them as possible are subtracted from the losses after the end, the others are
 * added to the emitted events.  An account that has a line in the ledger is changed there, because the ledger was read
 * before. */
static void settle(struct amend *amend)
{
	struct reader_impl *impl = reader_impl(amend->reader);
	struct epf_producer *producers = amend->reader->producers;

	for (size_t i = 0; i < accounts_count(amend->reader); i++) {
		epp_trace_ledger_entry *line = NULL;
		for (size_t k = impl->accounts_threads; k < impl->accounts_count; k++)
			if (impl->accounts[k].producer_index == (int32_t)i)
				line = &impl->accounts[k].account;
		uint64_t *lost = line ? line->lost : producers[i].lost;
		uint64_t *emitted = line ? &line->emitted : &producers[i].emitted;
		uint64_t recovered = amend->added[i] < lost[EPP_LOSS_AFTER_END] ? amend->added[i]
		                                                                : lost[EPP_LOSS_AFTER_END];
		lost[EPP_LOSS_AFTER_END] -= recovered;
		*emitted += amend->added[i] - recovered;
		amend->counts.recovered += recovered;
	}
}

/* ---- tracks and blocks ---- */

static void begin_block(struct amend *amend, uint32_t track)
{
	codec_begin(&amend->codec, (uint8_t *)(amend->block + 1), NULL, 0);
	amend->own_track = amend->track = track;
	amend->bytes = 0;
}

static epp_status *end_block(struct amend *amend)
{
	if (!amend->own_track || !amend->codec.state.record_count)
		return NULL;
	*amend->block = (struct epf_block){ .type = EPF_BLOCK_RECORDS, .run = amend->run, .track = amend->own_track };
	codec_finish(&amend->codec, amend->block);
	amend->own_track = 0;
	return trace_writer_append(amend->writer, amend->block);
}

/* Appends a record with the slots in amend->slots. */
static epp_status *put(struct amend *amend, uint32_t track, const struct epf_record *record)
{
	if (amend->own_track && amend->bytes > BLOCK_BYTES)
		EPP_TRY(end_block(amend));
	if (!amend->own_track)
		begin_block(amend, track);
	if (amend->track != track) {
		amend->track = track;
		codec_append(&amend->codec,
		             &(struct epf_record){ .start_ticks = amend->last_ticks,
		                                   .id = track == amend->own_track ? 0 : track,
		                                   .name = EPF_NAME_TRACK_SWITCH,
		                                   .bits = EPF_BITS(0, EPF_TRACK_SWITCH, 0, 0) },
		             NULL);
		amend->bytes += EPF_RECORD_BYTES;
	}
	codec_append(&amend->codec, record, amend->slots);
	amend->bytes += EPF_RECORD_BYTES + record->arg_slots * 16u;
	return NULL;
}

static epp_status *put_pair(struct amend *amend, const struct late *late, uint32_t track,
                            const struct epf_host_pair *pair, uint64_t error_ticks)
{
	int64_t ns = late->relation == BY_MONOTONIC ? pair->monotonic_ns : pair->realtime_ns;

	if (ns <= 0)
		return NULL;
	return put(amend, track,
	           &(struct epf_record){ .start_ticks = (uint64_t)ns,
	                                 .duration_ticks = pair->ticks,
	                                 .id = pair->half_width_ticks + error_ticks,
	                                 .name = EPF_NAME_CLOCK_PAIR,
	                                 .bits = EPF_BITS(0, EPF_CLOCK_PAIR, 0, 0) });
}

/* Writes the host clock samples of the trace as samples of the late trace's clock.  If both traces read the same
 * counter, those of the late trace are samples, too, and are closer to its events. */
static epp_status *put_pairs(struct amend *amend, struct late *late, uint32_t track)
{
	const struct reader *ours = amend->reader, *theirs = late->trace->reader;
	const struct epf_source *a = &ours->header.source, *b = &theirs->header.source;
	bool is_same = late->relation == BY_MONOTONIC && a->clock == b->clock && a->clock != EPF_CLOCK_MERGED;
	size_t theirs_count = is_same ? theirs->pairs_count : 0;
	double error_ns = (double)late->error_ns + (double)late->zero_error_ns;
	uint64_t error_ticks = (uint64_t)((error_ns < ERROR_NS_MAX ? error_ns : ERROR_NS_MAX) *
	                                  ((double)a->ticks_per_second / 1e9)) +
	                       1;

	late->has_pairs = true;
	for (size_t i = 0, k = 0; i < ours->pairs_count || k < theirs_count;) {
		bool is_ours = k == theirs_count ||
		               (i < ours->pairs_count && ours->pairs[i].ticks <= theirs->pairs[k].ticks);
		const struct epf_host_pair *pair = is_ours ? &ours->pairs[i++] : &theirs->pairs[k++];
		EPP_TRY(put_pair(amend, late, track, pair, error_ticks));
	}
	return NULL;
}

static epp_status *track_of(struct amend *amend, struct late *late, const epp_event *event, uint32_t *number,
                            int32_t *account)
{
	bool duration = is_duration(late, event);
	const epp_trace_track *track = event->track;
	const uint64_t *found = hash_map_find(&late->tracks[duration], track->track);

	if (found) {
		*number = (uint32_t)*found;
		*account = (int32_t)(*found >> 32);
		return NULL;
	}
	EPP_TRY(account_of(amend, late, track, account));
	size_t name_bytes = strnlen(track->name, EPF_NAME_BYTES_MAX),
	       group_bytes = strnlen(track->group, EPF_NAME_BYTES_MAX);
	const struct epf_track definition = { .track = amend->next_track,
		                              .kind = EPF_TRACK_DEVICE,
		                              .clock_kind = duration ? EPF_TRACK_CLOCK_DURATION : EPF_TRACK_CLOCK_DEVICE,
		                              .clock = late->clock + duration,
		                              .clock_bits = 64,
		                              .ticks_per_second = 1000000000,
		                              .device = track->device < 0 ? 0 : track->device,
		                              .stream = track->stream,
		                              .producer = *account,
		                              .name_bytes = (uint32_t)name_bytes,
		                              .group_bytes = (uint32_t)group_bytes,
		                              .offset_ns = EPF_TRACK_AMENDED };
	EPP_TRY(write_definition(amend, EPF_DEFINE_TRACK, &definition, sizeof(definition), track->name, name_bytes,
	                         track->group, group_bytes));
	*number = amend->next_track++;
	if (!hash_map_add(&late->tracks[duration], track->track, *number | (uint64_t)(uint32_t)*account << 32))
		return epp_status_no_memory();
	return duration || late->has_pairs ? NULL : put_pairs(amend, late, *number);
}

/* ---- writing ---- */

/* Returns the id of the host event that a late event names, or 0. */
static uint64_t parent_of(const struct amend *amend, const struct named *named, bool *is_ambiguous)
{
	*is_ambiguous = false;
	const uint64_t *is_there = named->parent ? hash_map_find(&amend->tokens, named->parent) : NULL;

	if (is_there && *is_there)
		return named->parent;
	is_there = named->token ? hash_map_find(&amend->tokens, named->token) : NULL;
	if (is_there && *is_there)
		return named->token;
	const uint64_t *index = named->has_number ? hash_map_find(&amend->numbers, named->number) : NULL;
	if (!index)
		return 0;
	*is_ambiguous = amend->causes[*index].is_ambiguous;
	return *is_ambiguous ? 0 : amend->causes[*index].id;
}

/* Writes the args into amend->slots.  The time of submission is left out, because it is a time of the late trace's host
 * clock. */
static epp_status *put_args(struct amend *amend, const epp_timeline *timeline, const epp_event *event, uint64_t parent,
                            uint16_t *slots, bool *cut)
{
	struct epf_arg *at = amend->slots;
	uint32_t text_left = EPF_ARG_TEXT_MAX;
	unsigned args_left = EPF_ARG_SLOTS_MAX;
	epp_trace_arg arg;

	if (parent) {
		*at++ = (struct epf_arg){ EPF_NAME_PARENT, EPP_ARG_U64, parent };
		args_left--;
	}
	if (event->queue_ns != INT64_MIN && event->queue_ns <= event->start_ns) {
		*at++ = (struct epf_arg){ EPF_NAME_QUEUE, EPP_ARG_U64, (uint64_t)(event->start_ns - event->queue_ns) };
		args_left--;
	}
	for (size_t cursor = 0; epp_event_args(timeline, event, &cursor, &arg);) {
		epp_name key;
		if (strcmp(arg.key, "launch_ns") == 0 || strcmp(arg.key, "queue_ns") == 0)
			continue;
		if (!args_left--) {
			*cut = true;
			break;
		}
		EPP_TRY(name_of(amend, arg.key, arg.key_bytes, &key));
		uint32_t bytes = arg.type != EPP_ARG_TEXT ? 0 : arg.text_bytes < text_left ? arg.text_bytes : text_left;
		*cut = *cut || (arg.type == EPP_ARG_TEXT && bytes < arg.text_bytes);
		*at++ = (struct epf_arg){ key, arg.type | bytes << 8, arg.type == EPP_ARG_TEXT ? 0 : arg.value.u64 };
		if (bytes) {
			at[(bytes - 1) / 16] = (struct epf_arg){ 0 };
			memcpy(at, arg.value.text, bytes);
		}
		at += (bytes + 15) / 16;
		text_left -= bytes;
	}
	*slots = (uint16_t)(at - amend->slots);
	return NULL;
}

static epp_status *add(struct amend *amend, struct late *late, const epp_timeline *timeline, const epp_event *event)
{
	const uint64_t start = start_of(late, event), duration = (uint64_t)event->duration_ns;
	bool cut = event->flags & EPP_FLAG_ARGS_CUT, is_ambiguous;
	uint32_t track;
	int32_t account;

	if (!is_taken(event))
		return NULL;
	const struct named named = what_is_named(timeline, event);
	uint64_t parent = parent_of(amend, &named, &is_ambiguous);
	uint64_t *known = hash_map_find(&amend->known,
	                                hash_event(start, duration, parent, event->name, event->name_bytes));
	if (known && *known) {
		--*known;
		amend->counts.known++;
		return NULL;
	}
	EPP_TRY(track_of(amend, late, event, &track, &account));
	struct epf_record record = { .start_ticks = start, .duration_ticks = duration, .id = amend->next_id++ };
	EPP_TRY(name_of(amend, event->name, event->name_bytes, &record.name));
	EPP_TRY(put_args(amend, timeline, event, parent, &record.arg_slots, &cut));
	record.bits = EPF_BITS(event->category, EPF_COMPLETE, 0,
	                       (event->flags & EPP_FLAG_UNENDED ? EPF_FLAG_UNENDED : 0) | (cut ? EPF_FLAG_CUT : 0));
	EPP_TRY(put(amend, track, &record));
	amend->added[account]++;
	amend->counts.added++;
	amend->counts.joined += parent != 0;
	amend->counts.ambiguous += is_ambiguous;
	amend->counts.durations += is_duration(late, event);
	return NULL;
}

/* Writes the late events.  A callback of trace_rewrite. */
static epp_status *add_all(void *user, struct epp_trace_writer *writer)
{
	struct amend *amend = user;

	amend->writer = writer;
	for (size_t i = 0; i < amend->late_count; i++)
		EPP_TRY(for_each(amend, &amend->late[i], add));
	EPP_TRY(end_block(amend));
	settle(amend);
	return NULL;
}

/* ---- the steps ---- */

static epp_status *check_input(const epp_trace *trace)
{
	const epp_trace_info *info = &trace->reader->info;

	if (info->state == EPP_TRACE_RECORDING)
		return epp_status_create(EPP_BUSY, "%s: process %u is still recording it", path_of(trace), info->pid);
	if (trace->reader->sources_count > 1)
		return epp_status_create(EPP_INCOMPATIBLE, "%s: it has %zu processes; amend their traces before the merge",
		                         path_of(trace), trace->reader->sources_count);
	return NULL;
}

static epp_status *take_late(struct amend *amend, epp_trace *const *late, size_t count)
{
	if (!count)
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_trace_amend: no late trace");
	amend->late = calloc(count, sizeof(*amend->late));
	if (!amend->late)
		return epp_status_no_memory();
	amend->late_count = count;
	for (size_t i = 0; i < count; i++) {
		amend->late[i].trace = late[i];
		EPP_TRY(check_input(late[i]));
		if (memcmp(late[i]->reader->header.file_id, amend->reader->header.file_id,
		           sizeof(amend->reader->header.file_id)) == 0)
			return epp_status_create(EPP_INVALID_ARGUMENT, "%s and %s contain the same recording",
			                         amend->path, path_of(late[i]));
		relate(amend, &amend->late[i]);
	}
	return NULL;
}

/* Finds numbers that no track and no clock of the trace has. */
static epp_status *number_tracks(struct amend *amend)
{
	const struct reader *reader = amend->reader;
	uint32_t track = 0, clock = 0;

	for (size_t i = 0; i < reader->tracks_count; i++) {
		track = reader->tracks[i].track > track ? reader->tracks[i].track : track;
		clock = reader->tracks[i].clock > clock ? reader->tracks[i].clock : clock;
	}
	/* Only a damaged trace has numbers of this size. */
	if (track > UINT32_MAX / 2 || clock > UINT32_MAX / 2)
		return epp_status_create(EPP_LIMIT, "%s: no room for another track", amend->path);
	for (size_t i = 0; i < amend->late_count; i++)
		amend->late[i].clock = clock + 1 + 2 * (uint32_t)i;
	amend->next_track = track + 1;
	return NULL;
}

static epp_status *number_all(struct amend *amend)
{
	const struct reader *reader = amend->reader;

	amend->added = calloc(accounts_count(reader), sizeof(*amend->added));
	amend->block = malloc(sizeof(*amend->block) + TRACE_WRITER_PAYLOAD_MAX);
	amend->slots = reallocarray(NULL, SLOTS_MAX + 4, sizeof(*amend->slots));
	amend->causes = calloc(amend->numbers.count + 1, sizeof(*amend->causes));
	if (!amend->added || !amend->block || !amend->slots || !amend->causes)
		return epp_status_no_memory();
	amend->run = reader->runs[reader->runs_count - 1].run;
	amend->next_id = 1;
	EPP_TRY(number_tracks(amend));
	return list_names(amend);
}

static epp_status *run(struct amend *amend, epp_trace *const *late, size_t count, const char *path)
{
	const struct trace_rewrite rewrite = { .user = amend, .definitions = add_all };
	const char *profiler = amend->options.profiler;

	EPP_TRY(take_late(amend, late, count));
	if (profiler && find_account(amend->reader, profiler) < 0)
		return epp_status_create(EPP_NOT_FOUND, "%s: no profiler '%s'", amend->path, profiler);
	for (size_t i = 0; i < count; i++)
		EPP_TRY(for_each(amend, &amend->late[i], look_at));
	EPP_TRY(number_all(amend));
	EPP_TRY(look_at_trace(amend));
	return trace_writer_rewrite(amend->reader, path, (int)amend->options.overwrite, &rewrite);
}

static void deinit(struct amend *amend)
{
	for (size_t i = 0; i < amend->late_count; i++) {
		hash_map_deinit(&amend->late[i].tracks[0]);
		hash_map_deinit(&amend->late[i].tracks[1]);
	}
	free(amend->late);
	hash_map_deinit(&amend->tokens);
	hash_map_deinit(&amend->numbers);
	hash_map_deinit(&amend->known);
	string_table_deinit(&amend->texts);
	free(amend->names);
	free(amend->causes);
	free(amend->added);
	free(amend->block);
	free(amend->slots);
	reader_close(amend->reader);
}

epp_status *epp_trace_amend(epp_trace *trace, epp_trace *const *late, size_t count, const char *path,
                            const epp_amend_options *options, epp_receipt_fn receipt, void *receipt_user,
                            epp_amend_counts *counts)
{
	struct amend amend = { .path = path_of(trace) };

	if (counts && !options_fill(counts, &amend.counts, sizeof(*counts)))
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_amend_counts: struct_size is not set");
	EPP_TRY(options_take(&amend.options, sizeof(amend.options), options, "epp_amend_options"));
	EPP_TRY(check_input(trace));
	if (!trace->reader->runs_count)
		return epp_status_create(EPP_INVALID_ARGUMENT, "%s: it has no run", path_of(trace));
	if (trace->reader->info.state != EPP_TRACE_FINISHED)
		return epp_status_create(EPP_WRONG_STATE, "%s: it is not finished", path_of(trace));
	/* Another reader is opened, because amending changes the reader's producers and ledger. */
	EPP_TRY(reader_open_again(trace->reader, &amend.reader));
	epp_status *status = run(&amend, late, count, path);
	if (!status)
		report(&amend, receipt, receipt_user);
	if (!status && counts)
		options_fill(counts, &amend.counts, sizeof(*counts));
	deinit(&amend);
	return status;
}
