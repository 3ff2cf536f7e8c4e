/* Creates and finishes a trace writer.  Everything except records is kept in memory and written at the end, because the
 * caller may set it late: names of threads, the process, the start of the run.
 *
 * Every record is counted for its track, so that the ledger balances.  Used by import/ and by programs that call the
 * library. */
#include <bsd/string.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/name.h"
#include "base/options.h"
#include "base/os/os.h"
#include "codec/codec.h"
#include "codec/file_header.h"
#include "containers/array.h"
#include "trace/writer/trace_writer_private.h"

/* ---- names ---- */

/* The names of a trace writer are collected in a string table and written at the end. */

static void trace_writer_names_deinit(struct trace_writer_names *names)
{
	string_table_deinit(&names->table);
}

epp_name epp_trace_writer_intern_name(epp_trace_writer *writer, const char *text, size_t bytes)
{
	struct trace_writer_names *names = &writer->names;

	if (!bytes)
		return EPF_NAME_NONE;
	if (bytes > EPF_NAME_BYTES_MAX) {
		char *cut = malloc(EPF_NAME_BYTES_MAX);
		if (!cut) {
			writer->no_memory = true;
			return EPF_NAME_LOST;
		}
		epp_name name = epp_trace_writer_intern_name(writer, cut, name_cut(cut, text));
		free(cut);
		return name;
	}
	uint32_t number;
	if (names->table.count >= names->count_max || names->table.bytes_count + bytes > names->text_bytes_max) {
		number = string_table_find(&names->table, text, bytes);
		return number == STRING_TABLE_NONE ? EPF_NAME_LOST : EPF_NAME_FIRST_FREE + number;
	}
	if (!string_table_add(&names->table, text, bytes, &number)) {
		writer->no_memory = true;
		return EPF_NAME_LOST;
	}
	return EPF_NAME_FIRST_FREE + number;
}

/* Writes the names as definitions. */
static epp_status *trace_writer_names_write(struct epp_trace_writer *writer)
{
	const struct string_table *names = &writer->names.table;
	uint8_t *payload = calloc(1, TRACE_WRITER_PAYLOAD_MAX);
	epp_status *status = payload ? NULL : epp_status_no_memory();
	size_t used = 0;

	for (uint32_t i = 0; i < names->count && !status; i++) {
		size_t bytes;
		const char *text = string_table_bytes(names, i, &bytes);
		struct epf_definition head = { .bytes = (uint32_t)bytes + 4, .type = EPF_DEFINE_NAME };
		uint32_t number = EPF_NAME_FIRST_FREE + i;
		size_t step = sizeof(head) + (((size_t)head.bytes + 7) & ~(size_t)7);
		if (used + step > TRACE_WRITER_PAYLOAD_MAX) {
			status = trace_writer_append_payload(writer, EPF_BLOCK_DEFINITIONS, payload, used, SIZE_MAX);
			memset(payload, 0, used);
			used = 0;
		}
		memcpy(payload + used, &head, sizeof(head));
		memcpy(payload + used + sizeof(head), &number, sizeof(number));
		memcpy(payload + used + sizeof(head) + sizeof(number), text, bytes);
		used += step;
	}
	if (!status && used)
		status = trace_writer_append_payload(writer, EPF_BLOCK_DEFINITIONS, payload, used, SIZE_MAX);
	free(payload);
	return status;
}

/* ---- sources ---- */

/* The processes of a trace writer.  The first one is in the header.  There may be tens of thousands of others, most of
 * which have few fields: in memory each takes a tenth of its size in the file. */

/* The maximum number of sources in one block. */
#define WRITTEN_AT_ONCE 256u

struct trace_writer_source {
	struct epf_source *full;  /* the source with all its members; NULL: it has only the members below */
	char *program, *hostname; /* NULL: not given */
	uint32_t pid;
};

epp_status *epp_trace_writer_add_source(epp_trace_writer *writer, uint32_t *source)
{
	uint32_t others = writer->sources_count - 1;

	if (writer->sources_count == UINT16_MAX)
		return epp_status_create(EPP_LIMIT, "%s: more than %u processes", writer->path, writer->sources_count);
	if (!array_reserve(&writer->sources, &writer->sources_room, writer->sources_count, sizeof(*writer->sources)))
		return epp_status_no_memory();
	writer->sources[others] = (struct trace_writer_source){ .full = NULL };
	*source = writer->sources_count++;
	return NULL;
}

static struct epf_source fill(const struct epp_trace_writer *writer, const struct trace_writer_source *from)
{
	struct epf_source source = { .pid = from->pid,
		                     .clock = EPF_CLOCK_MONOTONIC,
		                     .ticks_per_second = writer->header.source.ticks_per_second };

	if (from->full)
		return *from->full;
	strlcpy(source.program, from->program ? from->program : "", sizeof(source.program));
	strlcpy(source.hostname, from->hostname ? from->hostname : "", sizeof(source.hostname));
	return source;
}

struct epf_source *trace_writer_source(struct epp_trace_writer *writer, uint32_t number)
{
	if (!number)
		return &writer->header.source;
	struct trace_writer_source *source = &writer->sources[number - 1];
	if (!source->full) {
		struct epf_source *full = malloc(sizeof(*full));
		if (!full)
			return NULL;
		*full = fill(writer, source);
		source->full = full;
	}
	return source->full;
}

static void describe(struct epf_source *source, uint32_t pid, const char *program, const char *hostname)
{
	source->pid = pid;
	if (program)
		strlcpy(source->program, program, sizeof(source->program));
	if (hostname)
		strlcpy(source->hostname, hostname, sizeof(source->hostname));
}

/* Replaces a text by a copy of `with`, cut to the size of the field in the file.  On failure, marks the writer as out
 * of memory. */
static void replace_or_fail(struct epp_trace_writer *writer, char **text, const char *with)
{
	char *copy = with ? strndup(with, sizeof(((struct epf_source *)0)->program) - 1) : NULL;

	_Static_assert(sizeof(((struct epf_source *)0)->program) == sizeof(((struct epf_source *)0)->hostname),
	               "both are cut alike");
	if (copy) {
		free(*text);
		*text = copy;
	}
	writer->no_memory = writer->no_memory || (with && !copy);
}

void epp_trace_writer_describe_source(epp_trace_writer *writer, uint32_t number, uint32_t pid, const char *program,
                                      const char *hostname)
{
	if (number >= writer->sources_count)
		return;
	struct trace_writer_source *source = number ? &writer->sources[number - 1] : NULL;
	if (!source || source->full) {
		describe(source ? source->full : &writer->header.source, pid, program, hostname);
		return;
	}
	source->pid = pid;
	replace_or_fail(writer, &source->program, program);
	replace_or_fail(writer, &source->hostname, hostname);
}

static epp_status *trace_writer_sources_write(struct epp_trace_writer *writer)
{
	uint32_t others = writer->sources_count - 1, most = others < WRITTEN_AT_ONCE ? others : WRITTEN_AT_ONCE;
	epp_status *status = NULL;

	if (!others)
		return NULL;
	writer->header.features |= EPF_FEATURE_MERGED;
	struct epf_source *sources = reallocarray(NULL, most, sizeof(*sources));
	if (!sources)
		return epp_status_no_memory();
	for (uint32_t i = 0, count = 0; i < others && !status; i++) {
		sources[count++] = fill(writer, &writer->sources[i]);
		if (count < most && i + 1 < others)
			continue;
		status = trace_writer_append_payload(writer, EPF_BLOCK_SOURCES, sources, count * sizeof(*sources),
		                                     sizeof(*sources));
		count = 0;
	}
	free(sources);
	return status;
}

static void trace_writer_sources_deinit(struct epp_trace_writer *writer)
{
	for (uint32_t i = 0; i + 1 < writer->sources_count; i++) {
		free(writer->sources[i].full);
		free(writer->sources[i].program);
		free(writer->sources[i].hostname);
	}
	free(writer->sources);
}

/* ---- the writer ---- */

static epp_status *take_options(const epp_trace_writer_options *given, epp_trace_writer_options *options)
{
	EPP_TRY(options_take(options, sizeof(*options), given, "epp_trace_writer_options"));
	if (!options->path || !*options->path)
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_trace_writer_create: no path");
	return NULL;
}

static void fill_header(struct epp_trace_writer *writer, const epp_trace_writer_options *options)
{
	struct epf_header *header = &writer->header;
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	*header = (struct epf_header){
		.magic = EPF_MAGIC,
		.version = EPF_VERSION,
		.byte_order = EPF_BYTE_ORDER,
		.header_bytes = EPF_PAGE_BYTES,
		.slot_bytes = EPF_SLOT_BYTES,
		.chunk_bytes = EPF_CHUNK_BYTES,
		.segment_bytes = EPF_SEGMENT_BYTES,
		.created_unix_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
	};
	header_without_window(header);
	if (!os_random(header->file_id)) {
		uint64_t words[2] = { header->created_unix_ns, (uint64_t)(uintptr_t)writer };
		memcpy(header->file_id, words, sizeof(words));
	}
	header->source = (struct epf_source){
		.clock = EPF_CLOCK_MONOTONIC,
		.ticks_per_second = options->ticks_per_second ? options->ticks_per_second : 1000000000,
	};
	if (options->label)
		strlcpy(header->source.label, options->label, sizeof(header->source.label));
}

static bool allocate(struct epp_trace_writer *writer, const char *path)
{
	writer->path = strdup(path);
	writer->segment = malloc(EPF_SEGMENT_BYTES);
	writer->block = malloc(sizeof(struct epf_block) + TRACE_WRITER_PAYLOAD_MAX);
	writer->producers = calloc(EPF_PRODUCER_COUNT, sizeof(*writer->producers));
	writer->entries = reallocarray(NULL, TRACE_WRITER_ENTRIES, sizeof(*writer->entries));
	writer->order = reallocarray(NULL, TRACE_WRITER_ENTRIES, 2 * sizeof(*writer->order));
	writer->keys = reallocarray(NULL, TRACE_WRITER_ENTRIES, sizeof(*writer->keys));
	writer->slots = reallocarray(NULL, TRACE_WRITER_SLOTS, sizeof(*writer->slots));
	return writer->path && writer->segment && writer->block && writer->producers && writer->entries &&
	       writer->order && writer->keys && writer->slots;
}

epp_status *epp_trace_writer_create(const epp_trace_writer_options *given, epp_trace_writer **writer)
{
	epp_trace_writer_options options;

	*writer = NULL;
	EPP_TRY(take_options(given, &options));
	struct epp_trace_writer *made = calloc(1, sizeof(*made));
	if (!made)
		return epp_status_no_memory();
	made->file.fd = -1;
	made->overwrite = options.overwrite;
	made->first_ticks = made->first_id = UINT64_MAX;
	made->sources_count = 1;
	made->names.count_max = TRACE_WRITER_NAMES_MAX;
	made->names.text_bytes_max = TRACE_WRITER_TEXT_BYTES_MAX;
	epp_status *status = allocate(made, options.path) ? NULL : epp_status_no_memory();
	if (!status) {
		fill_header(made, &options);
		status = trace_writer_open(made);
	}
	if (status) {
		epp_trace_writer_destroy(made);
		return status;
	}
	*writer = made;
	return NULL;
}

void epp_trace_writer_destroy(epp_trace_writer *writer)
{
	if (!writer)
		return;
	atomic_file_discard(&writer->file);
	for (uint32_t i = 0; i < writer->tracks_count; i++) {
		free(writer->tracks[i].name);
		free(writer->tracks[i].group);
		free(writer->tracks[i].lost);
	}
	trace_writer_names_deinit(&writer->names);
	free(writer->tracks);
	trace_writer_sources_deinit(writer);
	free(writer->producers);
	free(writer->path);
	free(writer->segment);
	free(writer->block);
	free(writer->entries);
	free(writer->order);
	free(writer->keys);
	free(writer->slots);
	free(writer);
}

/* ---- tracks, producers ---- */

/* Replaces a text.  An empty text is stored as NULL, because many tracks have no text. */
static epp_status *replace(char **text, const char *with)
{
	char *copy = with && *with ? strdup(with) : NULL;

	if (!with)
		return NULL;
	if (*with && !copy)
		return epp_status_no_memory();
	free(*text);
	*text = copy;
	return NULL;
}

epp_status *trace_writer_add_track(struct epp_trace_writer *writer, const struct epf_track *definition,
                                   const char *name, const char *group, uint32_t *track)
{
	if (!array_reserve(&writer->tracks, &writer->tracks_room, writer->tracks_count + (size_t)1,
	                   sizeof(*writer->tracks)))
		return epp_status_no_memory();
	struct trace_writer_track *made = &writer->tracks[writer->tracks_count];
	*made = (struct trace_writer_track){ .definition = *definition };
	made->definition.track = writer->tracks_count + 1;
	EPP_TRY(replace(&made->name, name));
	epp_status *status = replace(&made->group, group);
	if (status) {
		free(made->name);
		return status;
	}
	*track = ++writer->tracks_count;
	return NULL;
}

epp_status *epp_trace_writer_add_track(epp_trace_writer *writer, const epp_trace_track *definition, uint32_t *track)
{
	*track = 0;
	/* Tracks of calls are written in the same form as by a recording (reader_definitions.c). */
	bool is_calls = definition->kind == EPP_TRACK_CALLS && definition->producer >= 0;
	if (definition->kind < EPF_TRACK_THREAD || (definition->kind > EPF_TRACK_CUSTOM && !is_calls) ||
	    definition->clock_kind > EPF_TRACK_CLOCK_DURATION || definition->source >= writer->sources_count ||
	    definition->producer >= (int32_t)writer->producers_count)
		return epp_status_create(
		    EPP_INVALID_ARGUMENT, "a track has an invalid kind %u, clock kind %u, source %u or producer %d",
		    definition->kind, definition->clock_kind, definition->source, definition->producer);
	return trace_writer_add_track(
	    writer,
	    &(struct epf_track){ .kind = is_calls ? EPF_TRACK_DEVICE : definition->kind,
	                         .source = definition->source,
	                         .clock_kind = definition->clock_kind,
	                         .clock = definition->clock,
	                         .clock_bits = definition->clock_bits,
	                         .ticks_per_second = definition->ticks_per_second,
	                         .thread_id = definition->thread_id,
	                         .device = is_calls ? -1 : definition->device,
	                         .stream = is_calls ? definition->thread_id : definition->stream,
	                         .producer = definition->producer < 0 ? -1 : definition->producer },
	    definition->name ? definition->name : "", definition->group ? definition->group : "", track);
}

epp_status *epp_trace_writer_rename_track(epp_trace_writer *writer, uint32_t track, const char *name, const char *group)
{
	if (!track || track > writer->tracks_count)
		return epp_status_create(EPP_INVALID_ARGUMENT, "track %u does not exist", track);
	EPP_TRY(replace(&writer->tracks[track - 1].name, name));
	return replace(&writer->tracks[track - 1].group, group);
}

epp_status *epp_trace_writer_add_producer(epp_trace_writer *writer, const char *label, int32_t *producer)
{
	*producer = -1;
	if (writer->producers_count == EPF_PRODUCER_COUNT)
		return epp_status_create(EPP_LIMIT, "%s: more than %u producers", writer->path, EPF_PRODUCER_COUNT);
	strlcpy(writer->producers[writer->producers_count].label, label && *label ? label : "ep",
	        sizeof(writer->producers[0].label));
	*producer = (int32_t)writer->producers_count++;
	return NULL;
}

uint64_t *trace_writer_lost(struct epp_trace_writer *writer, struct trace_writer_track *track)
{
	if (!track->lost)
		track->lost = calloc(EPP_LOSS_ENTRY_COUNT, sizeof(*track->lost));
	writer->no_memory = writer->no_memory || !track->lost;
	return track->lost ? track->lost : writer->lost;
}

void epp_trace_writer_count_lost(epp_trace_writer *writer, uint32_t track, epp_loss reason, uint64_t count)
{
	if ((unsigned)reason >= EPP_LOSS_ENTRY_COUNT || track > writer->tracks_count)
		return;
	if (track)
		trace_writer_lost(writer, &writer->tracks[track - 1])[reason] += count;
	else
		writer->lost[reason] += count;
}

void epp_trace_writer_count_producer_lost(epp_trace_writer *writer, int32_t producer, epp_loss reason, uint64_t count)
{
	if ((unsigned)reason >= EPP_LOSS_ENTRY_COUNT || producer < 0 || (uint32_t)producer >= writer->producers_count)
		return;
	writer->producers[producer].lost[reason] += count;
	if (EPF_LOSS_IS_OF_EVENTS(reason))
		writer->producers[producer].emitted += count;
}

void epp_trace_writer_set_producer_note(epp_trace_writer *writer, int32_t producer, const char *text)
{
	if (producer >= 0 && (uint32_t)producer < writer->producers_count)
		strlcpy(writer->producers[producer].note, text, sizeof(writer->producers[producer].note));
}

int epp_trace_writer_time_range(const epp_trace_writer *writer, uint64_t *first_ticks, uint64_t *last_ticks)
{
	*first_ticks = writer->first_ticks;
	*last_ticks = writer->last_ticks;
	return writer->first_ticks <= writer->last_ticks;
}

/* ---- the end ---- */

static epp_status *write_tracks(struct epp_trace_writer *writer)
{
	epp_status *status = NULL;

	for (uint32_t i = 0; i < writer->tracks_count && !status; i++) {
		struct trace_writer_track *track = &writer->tracks[i];
		const char *name = track->name ? track->name : "", *group = track->group ? track->group : "";
		size_t name_bytes = strnlen(name, EPF_NAME_BYTES_MAX), group_bytes = strnlen(group, EPF_NAME_BYTES_MAX);
		struct epf_definition head = { .bytes = (uint32_t)(sizeof(track->definition) + name_bytes + group_bytes),
			                       .type = EPF_DEFINE_TRACK };
		size_t bytes = sizeof(head) + (((size_t)head.bytes + 7) & ~(size_t)7);
		uint8_t *definition = calloc(1, bytes), *at = definition;
		if (!definition)
			return epp_status_no_memory();
		track->definition.name_bytes = (uint32_t)name_bytes;
		track->definition.group_bytes = (uint32_t)group_bytes;
		at = mempcpy(at, &head, sizeof(head));
		at = mempcpy(at, &track->definition, sizeof(track->definition));
		at = mempcpy(at, name, name_bytes);
		memcpy(at, group, group_bytes);
		status = trace_writer_append_payload(writer, EPF_BLOCK_DEFINITIONS, definition, bytes, SIZE_MAX);
		free(definition);
	}
	return status;
}

static uint64_t sum(const uint64_t *lost)
{
	uint64_t total = 0;
	for (unsigned reason = 0; lost && reason < EPP_LOSS_ENTRY_COUNT; reason++)
		total += EPF_LOSS_IS_OF_EVENTS(reason) ? lost[reason] : 0;
	return total;
}

/* The maximum number of ledger entries that are passed to one call of append_ledger. */
#define LEDGER_ENTRIES 1024u

static epp_status *append_ledger(struct epp_trace_writer *writer, const struct epf_ledger_entry *entries, size_t count)
{
	return trace_writer_append_payload(writer, EPF_BLOCK_LEDGER, entries, count * sizeof(*entries), sizeof(*entries));
}

/* Threads and custom tracks have their own ledger entries.  Losses of a device are counted for its producer; if it has
 * none, they are not written. */
static epp_status *write_ledger(struct epp_trace_writer *writer)
{
	const size_t room = writer->tracks_count < LEDGER_ENTRIES ? writer->tracks_count + 1u : LEDGER_ENTRIES;
	struct epf_ledger_entry *entries = calloc(room, sizeof(*entries));
	epp_status *status = NULL;
	size_t count = 0;

	if (!entries)
		return epp_status_no_memory();
	_Static_assert(sizeof(entries->lost) == sizeof(writer->lost), "losses are counted alike");
	memcpy(entries[0].lost, writer->lost, sizeof(writer->lost));
	entries[0].run = 1;
	entries[0].lost_idless = sum(writer->lost);
	count++;
	for (uint32_t i = 0; i < writer->tracks_count && !status; i++) {
		const struct trace_writer_track *track = &writer->tracks[i];
		int32_t producer = track->definition.producer;
		if (track->definition.kind == EPF_TRACK_DEVICE) {
			struct epf_producer *account = producer >= 0 ? &writer->producers[producer] : NULL;
			for (unsigned reason = 0; account && track->lost && reason < EPP_LOSS_ENTRY_COUNT; reason++)
				account->lost[reason] += track->lost[reason];
			if (account)
				account->emitted += sum(track->lost);
			continue;
		}
		if (count == room) {
			status = append_ledger(writer, entries, count);
			count = 0;
		}
		struct epf_ledger_entry *entry = &entries[count++];
		*entry = (struct epf_ledger_entry){
			.track = i + 1, .run = 1, .ids_taken = track->ids_taken, .lost_idless = sum(track->lost)
		};
		if (track->lost)
			memcpy(entry->lost, track->lost, sizeof(entry->lost));
	}
	if (!status)
		status = append_ledger(writer, entries, count);
	free(entries);
	if (status || !writer->producers_count)
		return status;
	return trace_writer_append_producers(writer, writer->producers, EPF_PRODUCER_COUNT);
}

static struct epf_host_pair pair_of(const epp_trace_pair *pair)
{
	return (struct epf_host_pair){ pair->ticks, pair->half_width_ticks, pair->monotonic_ns, pair->realtime_ns };
}

epp_status *trace_writer_definitions_write(struct epp_trace_writer *writer)
{
	EPP_TRY(trace_writer_names_write(writer));
	EPP_TRY(write_tracks(writer));
	return trace_writer_sources_write(writer);
}

epp_status *epp_trace_writer_finish(epp_trace_writer *writer, const epp_trace_pair *start, const epp_trace_pair *end)
{
	if (!start->ticks || !end->ticks || end->ticks < start->ticks)
		return epp_status_create(EPP_INVALID_ARGUMENT,
		                         "a run from tick %llu to %llu: neither may be 0, nor the end before the start",
		                         (unsigned long long)start->ticks, (unsigned long long)end->ticks);
	if (writer->failed || writer->finished)
		return epp_status_create(EPP_WRONG_STATE, "%s: the trace is finished, or failed earlier", writer->path);
	struct epf_run run = { .run = 1, .first_id = writer->first_id, .start = pair_of(start), .end = pair_of(end) };

	writer->finished = true;
	EPP_TRY(trace_writer_flush(writer));
	EPP_TRY(trace_writer_definitions_write(writer));
	EPP_TRY(write_ledger(writer));
	EPP_TRY(trace_writer_append_payload(writer, EPF_BLOCK_RUN, &run, sizeof(run), sizeof(run)));
	return trace_writer_commit(writer);
}
