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
#include "merge/trace_amend.h"
#include "timeline/events/work_kind.h"
#include "trace/reader_private.h"

static epp_status *check_cancelled(const struct amend *amend)
{
	const volatile int *cancel = amend->options.cancel;

	return cancel && *cancel ? epp_status_create(EPP_CANCELLED, "cancelled") : NULL;
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

/* Returns the start of a late event in ticks of its clock in the trace. */
static uint64_t start_of(const struct late *late, const epp_event *event)
{
	int64_t ns;

	if (amend_is_duration(late, event))
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
	if (!amend_is_duration(late, event)) {
		if (event->start_error_ns > late->error_ns)
			late->error_ns = event->start_error_ns;
		if (event->end_error_ns > late->error_ns)
			late->error_ns = event->end_error_ns;
	}
	return want_causes(amend, timeline, event);
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
		EPP_TRY(amend_name_of(amend, arg.key, arg.key_bytes, &key));
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
	EPP_TRY(amend_track_of(amend, late, event, &track, &account));
	struct epf_record record = { .start_ticks = start, .duration_ticks = duration, .id = amend->next_id++ };
	EPP_TRY(amend_name_of(amend, event->name, event->name_bytes, &record.name));
	EPP_TRY(put_args(amend, timeline, event, parent, &record.arg_slots, &cut));
	record.bits = EPF_BITS(event->category, EPF_COMPLETE, 0,
	                       (event->flags & EPP_FLAG_UNENDED ? EPF_FLAG_UNENDED : 0) | (cut ? EPF_FLAG_CUT : 0));
	EPP_TRY(amend_put(amend, track, &record));
	amend->added[account]++;
	amend->counts.added++;
	amend->counts.joined += parent != 0;
	amend->counts.ambiguous += is_ambiguous;
	amend->counts.durations += amend_is_duration(late, event);
	return NULL;
}

/* Writes the late events.  A callback of trace_rewrite. */
static epp_status *add_all(void *user, struct epp_trace_writer *writer)
{
	struct amend *amend = user;

	amend->writer = writer;
	for (size_t i = 0; i < amend->late_count; i++)
		EPP_TRY(for_each(amend, &amend->late[i], add));
	EPP_TRY(amend_end_block(amend));
	amend_settle(amend);
	return NULL;
}

/* ---- the steps ---- */

static epp_status *check_input(const epp_trace *trace)
{
	const epp_trace_info *info = &trace->reader->info;

	if (info->state == EPP_TRACE_RECORDING)
		return epp_status_create(EPP_BUSY, "%s: process %u is still recording it", amend_path_of(trace), info->pid);
	if (trace->reader->sources_count > 1)
		return epp_status_create(EPP_INCOMPATIBLE, "%s: it has %zu processes; amend their traces before the merge",
		                         amend_path_of(trace), trace->reader->sources_count);
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
			                         amend->path, amend_path_of(late[i]));
		EPP_TRY(amend_relate(amend, &amend->late[i]));
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

	amend->added = calloc(amend_accounts_count(reader), sizeof(*amend->added));
	amend->block = malloc(sizeof(*amend->block) + TRACE_WRITER_PAYLOAD_MAX);
	amend->slots = reallocarray(NULL, AMEND_SLOTS_MAX + 4, sizeof(*amend->slots));
	amend->causes = calloc(amend->numbers.count + 1, sizeof(*amend->causes));
	if (!amend->added || !amend->block || !amend->slots || !amend->causes)
		return epp_status_no_memory();
	amend->run = reader->runs[reader->runs_count - 1].run;
	amend->next_id = 1;
	EPP_TRY(number_tracks(amend));
	return amend_list_names(amend);
}

static epp_status *run(struct amend *amend, epp_trace *const *late, size_t count, const char *path)
{
	const struct trace_rewrite rewrite = { .user = amend, .definitions = add_all };
	const char *profiler = amend->options.profiler;

	EPP_TRY(take_late(amend, late, count));
	if (profiler && amend_find_account(amend->reader, profiler) < 0)
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
	struct amend amend = { .path = amend_path_of(trace) };

	if (counts && !options_fill(counts, &amend.counts, sizeof(*counts)))
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_amend_counts: struct_size is not set");
	EPP_TRY(options_take(&amend.options, sizeof(amend.options), options, "epp_amend_options"));
	EPP_TRY(check_input(trace));
	if (!trace->reader->runs_count)
		return epp_status_create(EPP_INVALID_ARGUMENT, "%s: it has no run", amend_path_of(trace));
	if (trace->reader->info.state != EPP_TRACE_FINISHED)
		return epp_status_create(EPP_WRONG_STATE, "%s: it is not finished", amend_path_of(trace));
	/* Another reader is opened, because amending changes the reader's producers and ledger. */
	EPP_TRY(reader_open_again(trace->reader, &amend.reader));
	epp_status *status = run(&amend, late, count, path);
	if (!status)
		amend_report(&amend, receipt, receipt_user);
	if (!status && counts)
		options_fill(counts, &amend.counts, sizeof(*counts));
	deinit(&amend);
	return status;
}
