/* Reads everything in a trace except its records: names, tracks, runs, clock pairs, ledger entries, producers.
 *
 * Each may be defined several times (in the log and in a block, or in several blocks).  For a name or a track the
 * first definition is valid, for an account the last.  Everything is collected in file order and sorted once, at the
 * end.
 */
#include <bsd/stdlib.h>
#include <stdlib.h>
#include <string.h>

#include "containers/array.h"
#include "trace/reader_private.h"

/* ---- names and tracks ---- */

static epp_status *define_name(struct reader_impl *impl, const uint8_t *body, size_t bytes, uint64_t offset)
{
	struct reader *reader = &impl->reader;
	uint32_t number;

	if (bytes < sizeof(number) || bytes - sizeof(number) > EPF_NAME_BYTES_MAX) {
		reader_find(impl, EPP_ERROR, offset, "a name of %zu bytes", bytes);
		return NULL;
	}
	memcpy(&number, body, sizeof(number));
	if (!number || number >= READER_NAMES_MAX) {
		reader_find(impl, EPP_ERROR, offset, "name number %u", number);
		return NULL;
	}
	if (number >= reader->names_count) {
		if (!array_reserve_zeroed(&reader->names, &impl->names_capacity, number + 1, sizeof(*reader->names)))
			return epp_status_no_memory();
		reader->names_count = number + 1;
	}
	struct reader_name *name = &reader->names[number];
	if (name->text)
		return NULL;
	name->bytes = (uint32_t)(bytes - sizeof(number));
	name->text = reader_text(impl, (const char *)body + sizeof(number), name->bytes);
	return name->text ? NULL : epp_status_no_memory();
}

static epp_status *add_track(struct reader_impl *impl, const struct epf_track *definition, const char *name,
                             const char *group)
{
	struct reader *reader = &impl->reader;
	epp_trace_track track = {
		.track = definition->track,
		.kind = definition->kind,
		.source = definition->source,
		.thread_id = definition->thread_id,
		.device = definition->device,
		.stream = definition->stream,
		.producer = definition->producer,
		.clock_kind = definition->clock_kind,
		.clock = definition->clock,
		.clock_bits = definition->clock_bits,
		.ticks_per_second = definition->ticks_per_second,
		.name = reader_text(impl, name, definition->name_bytes),
		.group = reader_text(impl, group, definition->group_bytes),
	};
	size_t count = reader->tracks_count;

	if (!track.name || !track.group ||
	    !array_reserve_zeroed(&reader->tracks, &impl->tracks_capacity, count + 1, sizeof(*reader->tracks)) ||
	    !array_reserve_zeroed(&reader->track_definitions, &impl->definitions_capacity, count + 1,
	                          sizeof(*reader->track_definitions)))
		return epp_status_no_memory();
	reader->tracks[count] = track;
	reader->track_definitions[count] = *definition;
	reader->tracks_count++;
	return NULL;
}

static epp_status *define_track(struct reader_impl *impl, const uint8_t *body, size_t bytes, uint64_t offset)
{
	struct epf_track definition;

	if (bytes < sizeof(definition)) {
		reader_find(impl, EPP_ERROR, offset, "a track of %zu bytes", bytes);
		return NULL;
	}
	memcpy(&definition, body, sizeof(definition));
	if (!definition.track || definition.name_bytes > bytes - sizeof(definition) ||
	    definition.group_bytes > bytes - sizeof(definition) - definition.name_bytes) {
		reader_find(impl, EPP_ERROR, offset, "track %u: its name or group does not fit", definition.track);
		return NULL;
	}
	if (definition.kind < EPF_TRACK_THREAD || definition.kind > EPF_TRACK_CUSTOM ||
	    definition.clock_kind > EPF_TRACK_CLOCK_OFFSET_US)
		reader_find(impl, EPP_ERROR, offset, "track %u: kind %u, clock kind %u", definition.track,
		            definition.kind, definition.clock_kind);
	/* A track may be defined again: by the log and a block made from it, or in a file read while it is written. */
	for (size_t i = impl->reader.tracks_count; i-- > 0;)
		if (impl->reader.tracks[i].track == definition.track)
			return NULL;
	return add_track(impl, &definition, (const char *)body + sizeof(definition),
	                 (const char *)body + sizeof(definition) + definition.name_bytes);
}

epp_status *reader_define_thread(struct reader_impl *impl, const struct epf_slot *slot)
{
	size_t bytes = strnlen(slot->thread_name, sizeof(slot->thread_name));
	struct epf_track definition = {
		.track = slot->track,
		.kind = EPF_TRACK_THREAD,
		.thread_id = slot->thread_id,
		.device = -1,
		.producer = -1,
		.name_bytes = (uint32_t)bytes,
	};
	return add_track(impl, &definition, slot->thread_name, "");
}

epp_status *reader_define(struct reader_impl *impl, const uint8_t *definitions, size_t bytes, uint64_t offset)
{
	for (size_t at = 0; bytes - at >= sizeof(struct epf_definition);) {
		struct epf_definition head;
		memcpy(&head, definitions + at, sizeof(head));
		const uint8_t *body = definitions + at + sizeof(head);
		if (head.bytes > bytes - at - sizeof(head)) {
			reader_find(impl, EPP_WARNING, offset + at, "a definition reaches beyond its block or the log");
			return NULL;
		}
		if (head.type == EPF_DEFINE_NAME)
			EPP_TRY(define_name(impl, body, head.bytes, offset + at));
		else if (head.type == EPF_DEFINE_TRACK)
			EPP_TRY(define_track(impl, body, head.bytes, offset + at));
		else if (head.type == EPF_DEFINE_ARGS)
			EPP_TRY(reader_define_args(impl, body, head.bytes, offset + at));
		else
			reader_find(impl, EPP_WARNING, offset + at, "a definition of type %u, which is unknown", head.type);
		size_t step = sizeof(head) + (((size_t)head.bytes + 7) & ~(size_t)7);
		if (step > bytes - at)
			break;
		at += step;
	}
	return NULL;
}

/* ---- the other blocks ---- */

/* Appends `bytes` / `size` elements to an array. */
static bool append(void *array_pointer, size_t *count, size_t *capacity, const uint8_t *payload, size_t bytes, size_t size)
{
	size_t added = bytes / size;

	if (!array_reserve_zeroed(array_pointer, capacity, *count + added, size))
		return false;
	if (added)
		memcpy(*(uint8_t **)array_pointer + *count * size, payload, added * size);
	*count += added;
	return true;
}

static epp_status *define_run(struct reader_impl *impl, const struct epf_run *run, uint64_t offset)
{
	struct reader *reader = &impl->reader;

	impl->never_started |= !run->run;
	if (!run->run)
		return NULL;
	if (!reader_said(impl, READER_SAID_RUN, run->run, offset))
		return epp_status_no_memory();
	for (size_t i = 0; i < reader->runs_count; i++) {
		if (reader->runs[i].run == run->run) {
			if (!reader->runs[i].end.ticks)
				reader->runs[i] = *run;
			return NULL;
		}
	}
	return append(&reader->runs, &reader->runs_count, &impl->runs_capacity, (const uint8_t *)run, sizeof(*run),
	              sizeof(*run))
	           ? NULL
	           : epp_status_no_memory();
}

/* Reads `count` producers, beginning with number `first`. */
static epp_status *define_producers(struct reader_impl *impl, uint32_t first, const uint8_t *payload, size_t count,
                                    uint64_t offset)
{
	struct reader *reader = &impl->reader;

	if (first > READER_PRODUCERS_MAX || count > READER_PRODUCERS_MAX - first) {
		reader_find(impl, EPP_ERROR, offset, "producers %u to %zu", first, first + count);
		return NULL;
	}
	if (!array_reserve_zeroed(&reader->producers, &impl->producers_capacity, first + count, sizeof(*reader->producers)) ||
	    !reader_said_producers(impl, first, count, offset + sizeof(struct epf_block)))
		return epp_status_no_memory();
	if (count)
		memcpy(&reader->producers[first], payload, count * sizeof(*reader->producers));
	return NULL;
}

epp_status *reader_define_block(struct reader_impl *impl, const struct epf_block *block, const uint8_t *payload,
                                uint64_t offset)
{
	struct reader *reader = &impl->reader;
	size_t bytes = block->payload_bytes;
	bool memory = true;

	switch (block->type) {
	case EPF_BLOCK_DEFINITIONS:
		return reader_define(impl, payload, bytes, offset + sizeof(*block));
	case EPF_BLOCK_HOST_PAIRS:
		if (!block->source)
			memory = append(&reader->pairs, &reader->pairs_count, &impl->pairs_capacity, payload, bytes,
			                sizeof(*reader->pairs)) &&
			         reader_said_pairs(impl, payload, bytes, offset + sizeof(*block));
		break;
	case EPF_BLOCK_LEDGER:
		memory = append(&reader->ledger, &reader->ledger_count, &impl->ledger_capacity, payload, bytes,
		                sizeof(*reader->ledger)) &&
		         reader_said_accounts(impl, payload, bytes, offset + sizeof(*block));
		if (memory)
			return reader_ring_entries(impl, bytes / sizeof(*reader->ledger));
		break;
	case EPF_BLOCK_PRODUCERS:
		/* Places of a ring are in no order: only the latest segment counts. */
		if (reader_ring_number(impl) < impl->producers_number)
			break;
		impl->producers_number = reader_ring_number(impl);
		return define_producers(impl, block->slot, payload, bytes / sizeof(*reader->producers), offset);
	case EPF_BLOCK_RUN:
		if (bytes >= sizeof(struct epf_run)) {
			struct epf_run run;
			memcpy(&run, payload, sizeof(run));
			return define_run(impl, &run, offset);
		}
		reader_find(impl, EPP_ERROR, offset, "a run of %zu bytes", bytes);
		break;
	case EPF_BLOCK_OVERWRITTEN:
		return reader_ring_define(impl, payload, bytes, offset);
	case EPF_BLOCK_KEPT:
		return reader_ring_keep(impl, payload, bytes, offset);
	case EPF_BLOCK_SOURCES:
		for (size_t at = 0; bytes - at >= sizeof(struct epf_source) && reader->sources_count < UINT16_MAX;
		     at += sizeof(struct epf_source)) {
			struct epf_source *sources = reallocarray(reader->sources, reader->sources_count + 1,
			                                          sizeof(*reader->sources));
			if (!sources)
				return epp_status_no_memory();
			reader->sources = sources;
			memcpy(&sources[reader->sources_count++], payload + at, sizeof(struct epf_source));
		}
		break;
	default:
		reader_find(impl, EPP_WARNING, offset, "a block of type %u, which is unknown", block->type);
		break;
	}
	return memory ? NULL : epp_status_no_memory();
}

/* ---- sorting ---- */

static int by_run(const void *a, const void *b)
{
	const struct epf_run *x = a, *y = b;
	return (x->run > y->run) - (x->run < y->run);
}

static int by_ticks(const void *a, const void *b)
{
	const struct epf_host_pair *x = a, *y = b;
	return (x->ticks > y->ticks) - (x->ticks < y->ticks);
}

static int by_account(const void *a, const void *b)
{
	const struct epf_ledger_entry *x = a, *y = b;
	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	return (x->run > y->run) - (x->run < y->run);
}

static int by_track(const void *a, const void *b)
{
	const epp_trace_track *x = a, *y = b;
	return (x->track > y->track) - (x->track < y->track);
}

static int by_definition(const void *a, const void *b)
{
	const struct epf_track *x = a, *y = b;
	return (x->track > y->track) - (x->track < y->track);
}

static epp_status *order_pairs(struct reader_impl *impl)
{
	struct reader *reader = &impl->reader;
	size_t kept = 0;

	if (!array_reserve_zeroed(&reader->pairs, &impl->pairs_capacity, reader->pairs_count + 2 * reader->runs_count,
	                          sizeof(*reader->pairs)))
		return epp_status_no_memory();
	for (size_t i = 0; i < reader->runs_count; i++) {
		if (reader->runs[i].start.ticks)
			reader->pairs[reader->pairs_count++] = reader->runs[i].start;
		if (reader->runs[i].end.ticks)
			reader->pairs[reader->pairs_count++] = reader->runs[i].end;
	}
	if (reader->pairs_count && mergesort(reader->pairs, reader->pairs_count, sizeof(*reader->pairs), by_ticks))
		return epp_status_no_memory();
	for (size_t i = 0; i < reader->pairs_count; i++)
		if (!kept || reader->pairs[kept - 1].ticks != reader->pairs[i].ticks)
			reader->pairs[kept++] = reader->pairs[i];
	reader->pairs_count = kept;
	return NULL;
}

/* Of several entries of one track and run, the last one is valid; for track 0, a session's own losses, the largest
 * counts are. */
static epp_status *order_ledger(struct reader *reader)
{
	size_t kept = 0;

	if (reader->ledger_count && mergesort(reader->ledger, reader->ledger_count, sizeof(*reader->ledger), by_account))
		return epp_status_no_memory();
	for (size_t i = 0; i < reader->ledger_count; i++) {
		struct epf_ledger_entry entry = reader->ledger[i];
		const struct epf_ledger_entry *last = kept ? &reader->ledger[kept - 1] : NULL;
		if (last && last->track == entry.track && last->run == entry.run) {
			for (unsigned reason = 0; reason < EPF_LOSS_COUNT && !entry.track; reason++)
				if (last->lost[reason] > entry.lost[reason])
					entry.lost[reason] = last->lost[reason];
			kept--;
		}
		reader->ledger[kept++] = entry;
	}
	reader->ledger_count = kept;
	return NULL;
}

/* Reserved names have the same text in every file, even if the file does not define them. */
static epp_status *define_reserved(struct reader_impl *impl)
{
	static const char *const texts[] = EPF_NAME_TEXTS;
	struct reader *reader = &impl->reader;
	size_t count = sizeof(texts) / sizeof(*texts);

	if (!array_reserve_zeroed(&reader->names, &impl->names_capacity, count, sizeof(*reader->names)))
		return epp_status_no_memory();
	if (reader->names_count < count)
		reader->names_count = count;
	for (size_t i = 1; i < count; i++)
		if (!reader->names[i].text)
			reader->names[i] = (struct reader_name){ texts[i], (uint32_t)strlen(texts[i]) };
	return NULL;
}

epp_status *reader_define_end(struct reader_impl *impl)
{
	struct reader *reader = &impl->reader;

	EPP_TRY(define_reserved(impl));
	if (reader->runs_count)
		qsort(reader->runs, reader->runs_count, sizeof(*reader->runs), by_run);
	EPP_TRY(order_pairs(impl));
	EPP_TRY(order_ledger(reader));
	if (reader->tracks_count) {
		qsort(reader->tracks, reader->tracks_count, sizeof(*reader->tracks), by_track);
		qsort(reader->track_definitions, reader->tracks_count, sizeof(*reader->track_definitions), by_definition);
	}
	for (size_t i = 0; i < impl->producers_capacity; i++) {
		reader->producers[i].label[sizeof(reader->producers[i].label) - 1] = 0;
		reader->producers[i].note[sizeof(reader->producers[i].note) - 1] = 0;
		if (reader->producers[i].label[0])
			reader->producers_count = i + 1;
	}
	return reader_tracks_end(impl);
}
