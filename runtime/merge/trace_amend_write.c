/* Writes late events into the amended trace: names, accounts, tracks and blocks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "containers/array.h"
#include "merge/trace_amend.h"
#include "trace/reader_private.h"

/* The size of a block's records in memory. */
#define BLOCK_BYTES (96u << 10)

_Static_assert(CODEC_BOUND(BLOCK_BYTES + (AMEND_SLOTS_MAX + 4) * 16u) <= TRACE_WRITER_PAYLOAD_MAX, "an encoded block fits");

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

epp_status *amend_list_names(struct amend *amend)
{
	const struct reader *reader = amend->reader;
	epp_name name;

	for (uint32_t i = EPF_NAME_FIRST_FREE; i < reader->names_count; i++)
		if (reader->names[i].text)
			EPP_TRY(add_text(amend, reader->names[i].text, reader->names[i].bytes, i, &name));
	amend->next_name = reader->names_count > EPF_NAME_FIRST_FREE ? (uint32_t)reader->names_count : EPF_NAME_FIRST_FREE;
	return NULL;
}

epp_status *amend_name_of(struct amend *amend, const char *text, size_t bytes, epp_name *name)
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

size_t amend_accounts_count(const struct reader *reader)
{
	return reader->producers_count < EPF_PRODUCER_COUNT ? EPF_PRODUCER_COUNT : reader->producers_count;
}

int32_t amend_find_account(const struct reader *reader, const char *label)
{
	for (size_t i = 0; i < amend_accounts_count(reader); i++)
		if (*label && strncmp(reader->producers[i].label, label, sizeof(reader->producers[i].label) - 1) == 0)
			return (int32_t)i;
	return -1;
}

/* Returns the account with events that were lost after the end (EPP_LOSS_AFTER_END); -1 if no account or several have
 * such losses. */
static int32_t find_waiting_account(const struct reader *reader)
{
	int32_t found = -1;

	for (size_t i = 0; i < amend_accounts_count(reader); i++) {
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

	*account = amend_find_account(reader, amend->options.profiler ? amend->options.profiler : label ? label : "");
	if (*account < 0)
		*account = find_waiting_account(reader);
	for (size_t i = 0; i < amend_accounts_count(reader) && *account < 0; i++) {
		if (!is_unused(reader, i))
			continue;
		snprintf(reader->producers[i].label, sizeof(reader->producers[i].label), "%s",
		         label && *label ? label : "late");
		*account = (int32_t)i;
	}
	return *account < 0 ? epp_status_create(EPP_LIMIT, "%s: no room for another profiler", amend->path) : NULL;
}

void amend_settle(struct amend *amend)
{
	struct reader_impl *impl = reader_impl(amend->reader);
	struct epf_producer *producers = amend->reader->producers;

	for (size_t i = 0; i < amend_accounts_count(amend->reader); i++) {
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

epp_status *amend_end_block(struct amend *amend)
{
	if (!amend->own_track || !amend->codec.state.record_count)
		return NULL;
	*amend->block = (struct epf_block){ .type = EPF_BLOCK_RECORDS, .run = amend->run, .track = amend->own_track };
	codec_finish(&amend->codec, amend->block);
	amend->own_track = 0;
	return trace_writer_append(amend->writer, amend->block);
}

epp_status *amend_put(struct amend *amend, uint32_t track, const struct epf_record *record)
{
	if (amend->own_track && amend->bytes > BLOCK_BYTES)
		EPP_TRY(amend_end_block(amend));
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

epp_status *amend_track_of(struct amend *amend, struct late *late, const epp_event *event, uint32_t *number,
                           int32_t *account)
{
	bool duration = amend_is_duration(late, event);
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
	return duration || late->has_pairs ? NULL : amend_put_pairs(amend, late, *number);
}
