/* Reads everything in a trace except its records: names, tracks, runs, clock pairs, ledger entries, producers.
 *
 * An item may be defined several times (in the log and in a block, or in several blocks).  For a name or a track the
 * first definition is valid, for a ledger entry the last.  All items are collected in file order and sorted once, at
 * the end. */
#include <bsd/stdlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "containers/array.h"
#include "trace/reader_private.h"

/* ---- file offsets of definitions ---- */

bool reader_note_offset(struct reader_impl *impl, enum reader_item kind, uint64_t of, uint64_t offset)
{
	uint64_t *noted = hash_map_find(&impl->item_offsets[kind], of);

	if (!noted)
		return hash_map_add(&impl->item_offsets[kind], of, offset);
	*noted = offset;
	return true;
}

static bool reader_note_pair_offsets(struct reader_impl *impl, const uint8_t *payload, size_t bytes, uint64_t offset)
{
	struct epf_host_pair pair;

	for (size_t at = 0; bytes - at >= sizeof(pair); at += sizeof(pair)) {
		memcpy(&pair, payload + at, sizeof(pair));
		if (!reader_note_offset(impl, READER_ITEM_PAIR, pair.ticks, offset + at))
			return false;
	}
	return true;
}

static bool reader_note_account_offsets(struct reader_impl *impl, const uint8_t *payload, size_t bytes, uint64_t offset)
{
	struct epf_ledger_entry entry;

	for (size_t at = 0; bytes - at >= sizeof(entry); at += sizeof(entry)) {
		memcpy(&entry, payload + at, sizeof(entry));
		if (!reader_note_offset(impl, READER_ITEM_ACCOUNT, entry.track, offset + at))
			return false;
	}
	return true;
}

bool reader_note_producer_offsets(struct reader_impl *impl, uint32_t first, size_t count, uint64_t offset)
{
	for (size_t i = 0; i < count; i++)
		if (!reader_note_offset(impl, READER_ITEM_PRODUCER, first + i, offset + i * sizeof(struct epf_producer)))
			return false;
	return true;
}

uint64_t reader_find_offset(const struct reader_impl *impl, enum reader_item kind, uint64_t of)
{
	const uint64_t *noted = hash_map_find(&impl->item_offsets[kind], of);

	return noted ? *noted : UINT64_MAX;
}

/* ---- shared args ---- */

/* Args that several records of the window share.  Such records contain only the number of the args; the args are
 * defined earlier, in the log or in blocks.  Records in blocks contain the args themselves, so this is needed only for
 * unfinished files. */

/* Reads a definition of shared args (EPF_DEFINE_ARGS). */
static epp_status *reader_define_args(struct reader_impl *impl, const uint8_t *body, size_t bytes, uint64_t offset)
{
	uint32_t number = 0;
	size_t slots_bytes = bytes - sizeof(number);

	if (bytes >= sizeof(number))
		memcpy(&number, body, sizeof(number));
	if (!number || slots_bytes % sizeof(struct epf_arg) ||
	    slots_bytes > EPF_DEFINED_SLOTS_MAX * sizeof(struct epf_arg)) {
		reader_find(impl, EPP_ERROR, offset, "args %u: invalid size of %zu bytes", number, bytes);
		return NULL;
	}
	struct epf_arg *slots = malloc(slots_bytes + 1);
	if (!slots || !array_reserve_zeroed(&impl->args, &impl->args_capacity, impl->args_count + 1, sizeof(*impl->args))) {
		free(slots);
		return epp_status_no_memory();
	}
	memcpy(slots, body + sizeof(number), slots_bytes);
	impl->args[impl->args_count++] = (struct reader_args){ number, (uint32_t)(slots_bytes / sizeof(*slots)), slots };
	return NULL;
}

static int by_number(const void *a, const void *b)
{
	const struct reader_args *x = a, *y = b;
	return (x->number > y->number) - (x->number < y->number);
}

epp_status *reader_order_args(struct reader_impl *impl)
{
	/* mergesort is stable: it keeps the file order of equal numbers. */
	if (impl->args_count && mergesort(impl->args, impl->args_count, sizeof(*impl->args), by_number))
		return epp_status_no_memory();
	return NULL;
}

/* Returns the index of the first definition of the shared args with this number, or the index at which it would be
 * inserted. */
static size_t place_of(const struct reader_impl *impl, uint32_t number)
{
	size_t low = 0, high = impl->args_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (impl->args[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct epf_arg *reader_defined_args(const void *user, uint32_t number, uint32_t *slots)
{
	const struct reader_impl *impl = user;
	size_t place = place_of(impl, number);

	if (place == impl->args_count || impl->args[place].number != number)
		return NULL;
	*slots = impl->args[place].slots_count;
	return impl->args[place].slots;
}

/* ---- kinds of tracks ---- */

/* Classifies tracks: a thread, a device's stream, or the calls of a thread that a plugin reports.
 *
 * Only this file determines the kind; all other code compares epp_trace_track.kind.  In the file, a plugin's host calls
 * are on a device track without a device, or on a custom track with a producer:
 *
 *   device, with a clock of the plugin's, device -1   the plugin's calls; `stream` is the thread
 *   device, ONNX Runtime's microseconds, device -1-n  a stream of device n (ONNX Runtime's process number of a device)
 *   custom, with a producer                           the plugin's calls; `stream` is the thread, unless a device is set.
 *                                                     ONNX Runtime's process -1 means device 0 or no device: `stream`
 *                                                     is a thread only if a thread with this number has recorded
 *
 * A thread has one track for each run and each way of recording.  Each of them stores the number of the thread's first
 * track; viewers show all their events in the row of the first track.  If two plugins have devices with the same name,
 * the groups of these devices include the plugin's name. */

/* The room for a track's name with a producer's label; the format limits both. */
#define TEXT_BYTES_MAX 384u

static bool is_calls_track(const struct reader *reader, const epp_trace_track *track)
{
	if (track->producer < 0 || (uint32_t)track->producer >= reader->producers_count)
		return false;
	if (track->kind == EPP_TRACK_CUSTOM)
		return track->stream != EPF_STREAM_PROPERTIES;
	return track->kind == EPP_TRACK_DEVICE && track->device < 0 && track->stream >= 0 &&
	       track->clock_kind != EPF_TRACK_CLOCK_OFFSET_US;
}

static void classify(const struct reader *reader, epp_trace_track *track)
{
	if (is_calls_track(reader, track)) {
		track->kind = EPP_TRACK_CALLS;
		bool names_thread = track->device < 0 && track->stream > 0 && track->stream <= UINT32_MAX;
		track->thread_id = names_thread ? (uint32_t)track->stream : 0;
	} else if (track->kind == EPP_TRACK_DEVICE && track->clock_kind == EPF_TRACK_CLOCK_OFFSET_US && track->device < 0) {
		track->device = -1 - track->device;
	}
}

/* ---- threads ---- */

static int by_thread(const void *a, const void *b)
{
	const epp_trace_track *left = *(const epp_trace_track *const *)a, *right = *(const epp_trace_track *const *)b;
	if (left->source != right->source)
		return left->source < right->source ? -1 : 1;
	if (left->thread_id != right->thread_id)
		return left->thread_id < right->thread_id ? -1 : 1;
	if ((left->kind != EPP_TRACK_THREAD) != (right->kind != EPP_TRACK_THREAD))
		return left->kind == EPP_TRACK_THREAD ? -1 : 1;
	int order = left->kind == EPP_TRACK_THREAD ? strcmp(left->name, right->name) : 0;
	return order ? order : (left->track > right->track) - (left->track < right->track);
}

static bool is_same_thread(const epp_trace_track *track, const epp_trace_track *thread)
{
	return thread && track->thread_id && track->source == thread->source && track->thread_id == thread->thread_id &&
	       (track->kind == EPP_TRACK_CALLS || strcmp(track->name, thread->name) == 0);
}

/* Sets epp_trace_track.thread.  `tracks` has the tracks of threads and of calls, sorted by thread. */
static void find_threads(epp_trace_track **tracks, size_t count)
{
	epp_trace_track *thread = NULL;

	for (size_t i = 0; i < count; i++) {
		epp_trace_track *track = tracks[i];
		if (!is_same_thread(track, thread) && track->kind == EPP_TRACK_THREAD)
			thread = track;
		track->thread = is_same_thread(track, thread) ? thread : track->kind == EPP_TRACK_THREAD ? track : NULL;
		if (!track->thread && track->clock_kind == EPF_TRACK_CLOCK_OFFSET_US)
			track->thread_id = 0;
	}
}

/* ---- names ---- */

/* Gives a thread without a name the name "thread 7", with its thread id. */
static epp_status *name_thread(struct reader_impl *impl, epp_trace_track *track)
{
	char text[24];

	if (track->kind != EPP_TRACK_THREAD || *track->name || !track->thread_id)
		return NULL;
	track->name = reader_text(impl, text, (size_t)snprintf(text, sizeof(text), "thread %u", track->thread_id));
	return track->name ? NULL : epp_status_no_memory();
}

static epp_status *name_calls(struct reader_impl *impl, epp_trace_track *track)
{
	static const char calls[] = ": calls of ";
	const char *plugin = impl->reader.producers[track->producer].label;
	char text[TEXT_BYTES_MAX];

	track->group = track->thread ? track->thread->group : "";
	/* If the trace was made from another trace, the name already has this text. */
	if (strstr(track->name, calls))
		return NULL;
	int bytes = snprintf(text, sizeof(text), "%s%s%s", track->thread ? track->thread->name : track->name, calls,
	                     plugin);
	track->name = reader_text(impl, text, (size_t)bytes < sizeof(text) ? (size_t)bytes : sizeof(text) - 1);
	return track->name ? NULL : epp_status_no_memory();
}

static int by_group(const void *a, const void *b)
{
	const epp_trace_track *left = *(const epp_trace_track *const *)a, *right = *(const epp_trace_track *const *)b;
	if (left->source != right->source)
		return left->source < right->source ? -1 : 1;
	int order = strcmp(left->group, right->group);
	return order ? order : (left->producer > right->producer) - (left->producer < right->producer);
}

static epp_status *make_labels_unique(struct reader_impl *impl, epp_trace_track **tracks, size_t count)
{
	const char *group = tracks[0]->group;
	char text[TEXT_BYTES_MAX];

	for (size_t i = 0; i < count; i++) {
		const char *label = impl->reader.producers[tracks[i]->producer].label;
		if (strstr(group, label))
			continue;
		if (i && tracks[i]->producer == tracks[i - 1]->producer) {
			tracks[i]->group = tracks[i - 1]->group;
			continue;
		}
		int bytes = snprintf(text, sizeof(text), "%s (%s)", group, label);
		tracks[i]->group = reader_text(impl, text, (size_t)bytes < sizeof(text) ? (size_t)bytes : sizeof(text) - 1);
		if (!tracks[i]->group)
			return epp_status_no_memory();
	}
	return NULL;
}

/* If different plugins have devices with the same name, appends the plugin's name to the group of each. */
static epp_status *name_devices(struct reader_impl *impl, epp_trace_track **tracks)
{
	struct reader *reader = &impl->reader;
	size_t count = 0, end;
	epp_status *status = NULL;

	for (size_t i = 0; i < reader->tracks_count; i++) {
		epp_trace_track *track = &reader->tracks[i];
		if (track->kind == EPP_TRACK_DEVICE && *track->group && track->producer >= 0 &&
		    (size_t)track->producer < reader->producers_count)
			tracks[count++] = track;
	}
	qsort(tracks, count, sizeof(*tracks), by_group);
	for (size_t i = 0; i < count && !status; i = end) {
		bool several = false;
		for (end = i + 1; end < count && tracks[end]->source == tracks[i]->source &&
		                  !strcmp(tracks[end]->group, tracks[i]->group);
		     end++)
			several |= strcmp(reader->producers[tracks[end]->producer].label,
			                  reader->producers[tracks[i]->producer].label) != 0;
		if (several)
			status = make_labels_unique(impl, tracks + i, end - i);
	}
	return status;
}

static epp_status *set_group(struct reader_impl *impl, epp_trace_track *track)
{
	const struct reader *reader = &impl->reader;
	const struct epf_source *source = track->source < reader->sources_count ? &reader->sources[track->source] : NULL;

	track->pid = source ? source->pid : 0;
	/* The group of a thread is its program. */
	if (!source || *track->group || (track->kind != EPP_TRACK_THREAD && track->kind != EPP_TRACK_CALLS))
		return NULL;
	track->group = reader_text(impl, source->program, strnlen(source->program, sizeof(source->program)));
	return track->group ? NULL : epp_status_no_memory();
}

/* Classifies the sorted tracks, names those of devices and threads, and sets their groups. */
static epp_status *reader_tracks_end(struct reader_impl *impl)
{
	struct reader *reader = &impl->reader;
	epp_trace_track **threads = reallocarray(NULL, reader->tracks_count + 1, sizeof(epp_trace_track *));
	epp_status *status = NULL;
	size_t count = 0;

	if (!threads)
		return epp_status_no_memory();
	for (size_t i = 0; i < reader->tracks_count; i++) {
		epp_trace_track *track = &reader->tracks[i];
		classify(reader, track);
		if (track->kind == EPP_TRACK_THREAD || track->kind == EPP_TRACK_CALLS)
			threads[count++] = track;
	}
	qsort(threads, count, sizeof(*threads), by_thread);
	find_threads(threads, count);
	status = name_devices(impl, threads);
	free(threads);
	for (size_t i = 0; i < reader->tracks_count && !status; i++) {
		status = name_thread(impl, &reader->tracks[i]);
		if (!status && reader->tracks[i].kind != EPP_TRACK_CALLS)
			status = set_group(impl, &reader->tracks[i]);
	}
	for (size_t i = 0; i < reader->tracks_count && !status; i++) {
		epp_trace_track *track = &reader->tracks[i];
		if (track->kind != EPP_TRACK_CALLS)
			continue;
		status = name_calls(impl, track);
		if (!status)
			status = set_group(impl, track);
	}
	return status;
}

/* ---- definitions ---- */

/* ---- names and tracks ---- */

static epp_status *define_name(struct reader_impl *impl, const uint8_t *body, size_t bytes, uint64_t offset)
{
	struct reader *reader = &impl->reader;
	uint32_t number;

	if (bytes < sizeof(number) || bytes - sizeof(number) > EPF_NAME_BYTES_MAX) {
		reader_find(impl, EPP_ERROR, offset, "a name has an invalid size of %zu bytes", bytes);
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

static bool has_kind(const struct epf_track *definition)
{
	return definition->kind >= EPF_TRACK_THREAD && definition->kind <= EPF_TRACK_CUSTOM;
}

/* Returns the index of the track's producer; -1 if there is none, or if the index is out of range. */
static int32_t producer_of(const struct epf_track *definition)
{
	return definition->producer >= 0 && definition->producer < (int32_t)READER_PRODUCERS_MAX ? definition->producer
	                                                                                         : -1;
}

/* Adds a track unless it is defined already. */
static epp_status *add_track(struct reader_impl *impl, const struct epf_track *definition, const char *name,
                             const char *group)
{
	struct reader *reader = &impl->reader;
	size_t count = reader->tracks_count;
	bool added;

	/* A track may be defined twice: in the log and in a block, or because the file was read while it was written.
	 * The first definition is used. */
	if (!id_set_add(&impl->tracks, 0, definition->track, &added))
		return epp_status_no_memory();
	if (!added)
		return NULL;

	epp_trace_track track = {
		.track = definition->track,
		.kind = has_kind(definition) ? definition->kind : EPF_TRACK_CUSTOM,
		.source = definition->source,
		.thread_id = definition->thread_id,
		.device = definition->device,
		.stream = definition->stream,
		.producer = producer_of(definition),
		.clock_kind = definition->clock_kind,
		.clock = definition->clock,
		.clock_bits = definition->clock_bits,
		.ticks_per_second = definition->ticks_per_second,
		.name = reader_text(impl, name, definition->name_bytes),
		.group = reader_text(impl, group, definition->group_bytes),
	};
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
		reader_find(impl, EPP_ERROR, offset, "a track has an invalid size of %zu bytes", bytes);
		return NULL;
	}
	memcpy(&definition, body, sizeof(definition));
	if (!definition.track || definition.name_bytes > bytes - sizeof(definition) ||
	    definition.group_bytes > bytes - sizeof(definition) - definition.name_bytes) {
		reader_find(impl, EPP_ERROR, offset, "track %u: its name or group extends beyond the definition",
		            definition.track);
		return NULL;
	}
	if (!has_kind(&definition) || definition.clock_kind > EPF_TRACK_CLOCK_OFFSET_US)
		reader_find(impl, EPP_ERROR, offset, "track %u: invalid kind %u or clock kind %u", definition.track,
		            definition.kind, definition.clock_kind);
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
			reader_find(impl, EPP_WARNING, offset + at, "a definition extends beyond its block or the log");
			return NULL;
		}
		if (head.type == EPF_DEFINE_NAME)
			EPP_TRY(define_name(impl, body, head.bytes, offset + at));
		else if (head.type == EPF_DEFINE_TRACK)
			EPP_TRY(define_track(impl, body, head.bytes, offset + at));
		else if (head.type == EPF_DEFINE_ARGS)
			EPP_TRY(reader_define_args(impl, body, head.bytes, offset + at));
		else
			reader_find(impl, EPP_WARNING, offset + at, "a definition has the unknown type %u", head.type);
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
	bool is_new = reader_find_offset(impl, READER_ITEM_RUN, run->run) == UINT64_MAX;
	if (!reader_note_offset(impl, READER_ITEM_RUN, run->run, offset))
		return epp_status_no_memory();
	for (size_t i = 0; i < reader->runs_count && !is_new; i++) {
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

	/* Producers are written in ascending order without gaps, so a damaged number cannot cause a large
	 * allocation. */
	if (first > impl->producers_end || count > READER_PRODUCERS_MAX - first) {
		reader_find(impl, EPP_ERROR, offset, "producers %u to %zu", first, first + count);
		return NULL;
	}
	if (!array_reserve_zeroed(&reader->producers, &impl->producers_capacity, first + count, sizeof(*reader->producers)) ||
	    !reader_note_producer_offsets(impl, first, count, offset + sizeof(struct epf_block)))
		return epp_status_no_memory();
	if (count)
		memcpy(&reader->producers[first], payload, count * sizeof(*reader->producers));
	if (first + count > impl->producers_end)
		impl->producers_end = first + count;
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
			         reader_note_pair_offsets(impl, payload, bytes, offset + sizeof(*block));
		break;
	case EPF_BLOCK_LEDGER:
		memory = append(&reader->ledger, &reader->ledger_count, &impl->ledger_capacity, payload, bytes,
		                sizeof(*reader->ledger)) &&
		         reader_note_account_offsets(impl, payload, bytes, offset + sizeof(*block));
		if (memory)
			return reader_ring_entries(impl, bytes / sizeof(*reader->ledger));
		break;
	case EPF_BLOCK_PRODUCERS:
		/* The segments of a ring are in no order in the file.  A block of an older segment than the last block
		 * of producers is ignored, because its counts are older. */
		if (reader_ring_number(impl) < impl->producers_number)
			break;
		impl->producers_number = reader_ring_number(impl);
		return define_producers(impl, block->slot, payload, bytes / sizeof(*reader->producers), offset);
	case EPF_BLOCK_RUN:
		if (bytes >= EPF_RUN_BYTES_MIN) {
			struct epf_run run = { 0 };
			memcpy(&run, payload, bytes < sizeof(run) ? bytes : sizeof(run));
			return define_run(impl, &run, offset);
		}
		reader_find(impl, EPP_ERROR, offset, "a run has an invalid size of %zu bytes", bytes);
		break;
	case EPF_BLOCK_OVERWRITTEN:
		return reader_ring_define(impl, payload, bytes, offset);
	case EPF_BLOCK_RETAINED:
		return reader_ring_retained(impl, payload, bytes, offset);
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
		reader_find(impl, EPP_WARNING, offset, "a block has the unknown type %u", block->type);
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

/* Sorts the ledger and removes duplicates.  Of several entries of one track and run, the last one is valid.  For track
 * 0, a session's own losses, the largest counts are valid. */
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

/* Defines the reserved names.  They have the same text in every file, even if the file does not define them. */
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
