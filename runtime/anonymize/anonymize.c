/* Implements epp_trace_anonymize: the sequence of steps, and the replacement of all data in a trace except records. */
#include "anonymize/anonymize.h"

#include <bsd/string.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "containers/array.h"

/* The output's clock is at this time when the first run begins, so that slightly earlier events also have a time. */
#define START_SECONDS 60u
/* Numbers of streams up to STREAM_MAX, and of devices up to DEVICE_MAX, are kept: they are counts.  Larger numbers may
 * be addresses or process ids, and are replaced. */
#define STREAM_MAX 65535
#define DEVICE_MAX 255

/* ---- words ---- */

epp_status *anonymize_keep(struct anonymize *a, const char *text, size_t bytes)
{
	uint32_t number;

	return string_table_add(&a->kept, text, bytes, &number) ? NULL : epp_status_no_memory();
}

epp_status *anonymize_word(struct anonymize *a, const char *prefix, const char *text, size_t bytes, const char *suffix,
                           struct anonymize_value *word)
{
	char letters[WORD_LETTERS_MAX + 1], made[256];
	uint32_t known = a->words.texts.count;

	if (!words_find_or_add(&a->words, text, bytes, letters))
		return epp_status_no_memory();
	a->counts.names_replaced += a->words.texts.count - known;
	int count = snprintf(made, sizeof(made), "%s_%s%s", prefix, letters, suffix);
	word->bytes = (uint32_t)count;
	word->text = reader_text(reader_impl(a->reader), made, word->bytes);
	if (!word->text)
		return epp_status_no_memory();
	EPP_TRY(anonymize_keep(a, made, strlen(prefix) + 1));
	return anonymize_keep(a, suffix, strlen(suffix));
}

epp_status *anonymize_provider(struct anonymize *a, const char *text, size_t bytes, struct anonymize_value *word)
{
	const struct allowed *allowed = allowed_find(ALLOWED_PROVIDER_NAME, text, bytes);

	if (allowed) {
		*word = (struct anonymize_value){ allowed->text, (uint32_t)bytes };
		return anonymize_keep(a, allowed->text, bytes);
	}
	/* The word of a provider whose name begins with "CPU" does so too, because `epprof advise` takes it for a
	 * fallback. */
	bool is_cpu = bytes >= 3 && memcmp(text, "CPU", 3) == 0;
	return anonymize_word(a, is_cpu ? "CPUprovider" : "provider", text, bytes, "", word);
}

/* Replaces a text in a field of fixed size.  An empty text stays empty. */
static epp_status *replace_field(struct anonymize *a, const char *prefix, const char *from, char *to, size_t to_bytes)
{
	struct anonymize_value word;

	memset(to, 0, to_bytes);
	if (!*from)
		return NULL;
	EPP_TRY(anonymize_word(a, prefix, from, strlen(from), "", &word));
	strlcpy(to, word.text, to_bytes);
	return NULL;
}

/* ---- numbers of processes, threads and streams ---- */

static int by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

static epp_status *ranks_add(struct anonymize_ranks *ranks, int64_t number)
{
	if (!array_reserve(&ranks->numbers, &ranks->room, ranks->count + 1, sizeof(*ranks->numbers)))
		return epp_status_no_memory();
	ranks->numbers[ranks->count++] = number;
	return NULL;
}

static void ranks_sort(struct anonymize_ranks *ranks)
{
	size_t kept = 0;

	if (ranks->count)
		qsort(ranks->numbers, ranks->count, sizeof(*ranks->numbers), by_number);
	for (size_t i = 0; i < ranks->count; i++)
		if (!kept || ranks->numbers[kept - 1] != ranks->numbers[i])
			ranks->numbers[kept++] = ranks->numbers[i];
	ranks->count = kept;
}

/* Returns the rank of a number in the sorted list, from 1 on; 0 for the number 0, or if the list does not have the
 * number. */
static uint32_t rank_of(const struct anonymize_ranks *ranks, int64_t number)
{
	const int64_t *found = number && ranks->count
	                           ? bsearch(&number, ranks->numbers, ranks->count, sizeof(*ranks->numbers), by_number)
	                           : NULL;
	return found ? (uint32_t)(found - ranks->numbers) + 1 : 0;
}

/* Returns true if the stream of a plugin's calls is a thread: see reader_definitions.c. */
static bool stream_is_thread(const epp_trace_track *track, const struct epf_track *definition)
{
	return track->kind == EPP_TRACK_CALLS && definition->device < 0 && definition->stream > 0 &&
	       definition->stream <= UINT32_MAX;
}

static bool stream_is_handle(int64_t stream)
{
	return stream != EPF_STREAM_PROPERTIES && (stream > STREAM_MAX || stream < -1);
}

/* Returns true for a device number that is too large for a count; it may be a process id (record/submit.c). */
static bool device_is_process(int32_t device)
{
	return device > DEVICE_MAX || device < -1 - DEVICE_MAX;
}

static epp_status *collect_numbers(struct anonymize *a)
{
	const struct reader *reader = a->reader;

	for (size_t i = 0; i < reader->sources_count; i++)
		if (reader->sources[i].pid)
			EPP_TRY(ranks_add(&a->ids, reader->sources[i].pid));
	for (size_t i = 0; i < reader->tracks_count; i++) {
		const struct epf_track *definition = &reader->track_definitions[i];
		if (definition->thread_id)
			EPP_TRY(ranks_add(&a->ids, definition->thread_id));
		if (stream_is_thread(&reader->tracks[i], definition))
			EPP_TRY(ranks_add(&a->ids, definition->stream));
		else if (stream_is_handle(definition->stream))
			EPP_TRY(ranks_add(&a->streams, definition->stream));
		if (device_is_process(definition->device))
			EPP_TRY(ranks_add(&a->devices, definition->device));
	}
	ranks_sort(&a->ids);
	ranks_sort(&a->streams);
	ranks_sort(&a->devices);
	a->counts.numbers_replaced = a->ids.count + a->streams.count + a->devices.count;
	return NULL;
}

/* ---- the clock ---- */

/* Determines the times that are subtracted from the host's clocks.  The output then reveals neither the time of day nor
 * the time since the machine was started. */
static void choose_base(struct anonymize *a)
{
	const struct reader *reader = a->reader;
	uint64_t per_second = reader->header.source.ticks_per_second, first = UINT64_MAX;
	const struct epf_host_pair *start = reader->pairs_count ? &reader->pairs[0] : NULL;

	for (size_t i = 0; i < reader->runs_count; i++)
		if (reader->runs[i].start.ticks && reader->runs[i].start.ticks < first)
			start = &reader->runs[i].start, first = start->ticks;
	for (size_t i = 0; i < reader->blocks_count && !start; i++)
		if (reader->blocks[i].first_ticks < first)
			first = reader->blocks[i].first_ticks;
	if (start) {
		first = start->ticks;
		a->base_monotonic_ns = start->monotonic_ns;
		a->base_realtime_ns = start->realtime_ns;
	}
	uint64_t margin = START_SECONDS * (per_second ? per_second : 1000000000);
	a->base_ticks = first != UINT64_MAX && first > margin ? first - margin : 0;
}

static int64_t difference(int64_t ns, int64_t base_ns)
{
	return (int64_t)((uint64_t)ns - (uint64_t)base_ns);
}

static void replace_pair(const struct anonymize *a, struct epf_host_pair *pair)
{
	if (!pair->ticks)
		return;
	pair->ticks = anonymize_ticks(a, pair->ticks);
	pair->monotonic_ns = difference(pair->monotonic_ns, a->base_monotonic_ns);
	pair->realtime_ns = difference(pair->realtime_ns, a->base_realtime_ns);
}

static epp_status *replace_clocks(struct anonymize *a)
{
	struct reader *reader = a->reader;

	for (size_t i = 0; i < reader->pairs_count; i++)
		replace_pair(a, &reader->pairs[i]);
	for (size_t i = 0; i < reader->runs_count; i++) {
		struct epf_run *run = &reader->runs[i], old = *run;
		EPP_TRY(anonymize_id(a, old.source, &old.first_id));
		replace_pair(a, &old.start);
		replace_pair(a, &old.end);
		*run = (struct epf_run){ .run = old.run,
			                 .source = old.source,
			                 .first_id = old.first_id,
			                 .start = old.start,
			                 .end = old.end,
			                 .faults = old.faults,
			                 .event_cost_ps = old.event_cost_ps,
			                 .write_cpu_ns = old.write_cpu_ns };
	}
	return NULL;
}

/* ---- processes and plugins ---- */

static epp_status *replace_source(struct anonymize *a, struct epf_source *source)
{
	struct epf_source old = *source;

	/* The boot id is set to 0.  Two anonymised traces of one boot would otherwise be taken to share a clock, but
	 * the clock of each is moved to near 0. */
	*source = (struct epf_source){ .pid = rank_of(&a->ids, old.pid),
		                       .clock = old.clock,
		                       .ticks_per_second = old.ticks_per_second,
		                       .clock_error_ns = old.clock_error_ns,
		                       .relation = old.relation };
	if (old.origin)
		words_hash_id(&a->words, &old.origin, sizeof(old.origin), (uint8_t *)&source->origin,
		              sizeof(source->origin));
	EPP_TRY(replace_field(a, "host", old.hostname, source->hostname, sizeof(source->hostname)));
	EPP_TRY(replace_field(a, "program", old.program, source->program, sizeof(source->program)));
	return replace_field(a, "label", old.label, source->label, sizeof(source->label));
}

static epp_status *replace_header(struct anonymize *a)
{
	struct epf_header *header = &a->reader->header;
	uint8_t id[sizeof(header->file_id)];

	/* In a merged trace, the first half of the file id is the origin of a source.  So its replacement must depend
	 * only on this half. */
	const size_t half = sizeof(header->source.origin);
	words_hash_id(&a->words, header->file_id, half, id, half);
	words_hash_id(&a->words, header->file_id, sizeof(header->file_id), id + half, sizeof(id) - half);
	*header = (struct epf_header){ .version = header->version,
		                       .byte_order = header->byte_order,
		                       .header_bytes = header->header_bytes,
		                       .features = header->features & (EPF_FEATURE_MERGED | EPF_FEATURE_NO_SURVIVAL),
		                       .slot_bytes = header->slot_bytes,
		                       .chunk_bytes = header->chunk_bytes,
		                       .segment_bytes = header->segment_bytes,
		                       .source = header->source,
		                       .policy = header->policy };
	memcpy(header->magic, EPF_MAGIC, sizeof(header->magic));
	memcpy(header->file_id, id, sizeof(id));
	return replace_source(a, &header->source);
}

static epp_status *replace_producers(struct anonymize *a)
{
	/* trace_writer_copy.c writes at least EPF_PRODUCER_COUNT producers, so as many are processed, even if they
	 * have no label. */
	size_t count = a->reader->producers_count < EPF_PRODUCER_COUNT ? EPF_PRODUCER_COUNT : a->reader->producers_count;

	for (size_t i = 0; i < count; i++) {
		struct epf_producer *producer = &a->reader->producers[i], old = *producer;
		struct anonymize_value word;
		uint32_t number;
		a->counts.notes_dropped += old.note[0] != 0;
		if (!string_table_add(&a->dropped, old.note, strlen(old.note), &number))
			return epp_status_no_memory();
		*producer = (struct epf_producer){ .emitted = old.emitted, .errors = old.errors };
		memcpy(producer->lost, old.lost, sizeof(old.lost));
		if (!old.label[0])
			continue;
		EPP_TRY(anonymize_provider(a, old.label, strlen(old.label), &word));
		strlcpy(producer->label, word.text, sizeof(producer->label));
	}
	return NULL;
}

/* ---- tracks ---- */

static epp_status *keep_format(struct anonymize *a, const char **text, const char *format, ...) EPP_FORMAT(3, 4);
static epp_status *keep_format(struct anonymize *a, const char **text, const char *format, ...)
{
	char made[128];
	va_list args;

	va_start(args, format);
	int bytes = vsnprintf(made, sizeof(made), format, args);
	va_end(args);
	*text = reader_text(reader_impl(a->reader), made, (size_t)bytes);
	return *text ? anonymize_keep(a, made, (size_t)bytes) : epp_status_no_memory();
}

/* Replaces the name of a track.  A name that contains a number of the thread or stream gets the new number.  *text is
 * "" if the reader makes the name.  `stream` and `thread` are the old numbers, `track` has the new ones. */
static epp_status *replace_track_name(struct anonymize *a, const struct epf_track *track, uint32_t thread,
                                      int64_t stream, const char *name, const char **text)
{
	static const char *const prefixes[] = { "track", "thread", "stream", "track" };
	struct anonymize_value word;
	char made[48];

	snprintf(made, sizeof(made), "thread %u", thread);
	if (track->kind == EPF_TRACK_THREAD && strcmp(name, made) == 0) {
		EPP_TRY(keep_format(a, text, "thread %u", track->thread_id));
		*text = "";
		return NULL;
	}
	snprintf(made, sizeof(made), "thread %" PRId64, stream);
	if (strcmp(name, made) == 0)
		return keep_format(a, text, "thread %" PRId64, track->stream);
	snprintf(made, sizeof(made), "stream %" PRId64, stream);
	if (strcmp(name, made) == 0)
		return keep_format(a, text, "stream %" PRId64, track->stream);
	if (allowed_find(ALLOWED_TRACK, name, strlen(name)))
		return keep_format(a, text, "%s", name);
	EPP_TRY(anonymize_word(a, prefixes[track->kind <= EPF_TRACK_CUSTOM ? track->kind : 0], name, strlen(name), "",
	                       &word));
	*text = word.text;
	return NULL;
}

/* Returns the position of ": calls of " in a name that the reader made ("NAME: calls of PLUGIN"); NULL: the name is of
 * another form. */
static const char *find_calls_of(const epp_trace_track *track)
{
	return track->kind == EPP_TRACK_CALLS ? strstr(track->name, ": calls of ") : NULL;
}

static epp_status *replace_track(struct anonymize *a, size_t index)
{
	struct reader *reader = a->reader;
	epp_trace_track *track = &reader->tracks[index];
	struct epf_track *definition = &reader->track_definitions[index];
	const struct epf_source *source = track->source < reader->sources_count ? &reader->sources[track->source] : NULL;
	const struct epf_track old = *definition;
	uint32_t thread = old.thread_id;
	int64_t stream = old.stream;
	const char *calls = find_calls_of(track);
	const char *name, *group;

	*definition = (struct epf_track){ .track = old.track,
		                          .kind = old.kind,
		                          .source = old.source,
		                          .clock_kind = old.clock_kind,
		                          .clock = old.clock,
		                          .clock_bits = old.clock_bits,
		                          .ticks_per_second = old.ticks_per_second,
		                          .thread_id = old.thread_id,
		                          .device = old.device,
		                          .stream = old.stream,
		                          .producer = old.producer,
		                          .run = old.run,
		                          .bracket_ticks = old.bracket_ticks };

	definition->thread_id = rank_of(&a->ids, thread);
	if (stream_is_thread(track, definition))
		definition->stream = rank_of(&a->ids, stream);
	else if (stream_is_handle(stream))
		definition->stream = STREAM_MAX + (int64_t)rank_of(&a->streams, stream);
	if (device_is_process(old.device)) {
		int32_t number = DEVICE_MAX + (int32_t)rank_of(&a->devices, old.device);
		definition->device = old.device < 0 ? -1 - number : number;
	}
	if (calls) {
		char *caller = strndup(track->name, (size_t)(calls - track->name));
		if (!caller)
			return epp_status_no_memory();
		struct epf_track thread_track = *definition;
		thread_track.kind = EPF_TRACK_THREAD;
		epp_status *status = replace_track_name(a, &thread_track, thread ? thread : (uint32_t)stream, stream,
		                                        caller, &name);
		free(caller);
		/* If the reader makes the name of the thread, the name of its calls contains this name. */
		if (!status && !*name)
			status = keep_format(a, &name, "thread %u",
			                     thread ? definition->thread_id : (uint32_t)definition->stream);
		const char *plugin = epp_trace_track_plugin(&(epp_trace){ reader }, track);
		struct anonymize_value word = { "", 0 };
		if (!status && plugin)
			status = anonymize_provider(a, plugin, strlen(plugin), &word);
		if (!status)
			status = keep_format(a, &name, "%s: calls of %s", name, word.text);
		if (status)
			return status;
	} else {
		EPP_TRY(replace_track_name(a, definition, thread, stream, track->name, &name));
	}
	/* If a thread has no group, the reader uses its program as the group. */
	bool is_program = source && definition->kind != EPF_TRACK_DEVICE &&
	                  strncmp(track->group, source->program, sizeof(source->program)) == 0;
	if (!*track->group || is_program) {
		EPP_TRY(keep_format(a, &group, "%s", ""));
	} else {
		struct anonymize_value word;
		EPP_TRY(anonymize_word(a, definition->kind == EPF_TRACK_THREAD ? "group" : "device", track->group,
		                       strlen(track->group), "", &word));
		group = word.text;
	}
	track->name = name;
	track->group = group;
	return NULL;
}

/* ---- the steps of epp_trace_anonymize ---- */

/* Replaces the table of names by the names of the output, which its records use. */
static epp_status *replace_names(struct anonymize *a)
{
	static const char *const texts[] = EPF_NAME_TEXTS;
	struct reader_impl *impl = reader_impl(a->reader);
	size_t count = EPF_NAME_FIRST_FREE + a->new_names.count;
	struct reader_name *names = calloc(count, sizeof(*names));

	if (!names)
		return epp_status_no_memory();
	/* The reader frees the new names.  The old ones are needed for the search, and are freed by this file. */
	a->reader->names = names;
	a->reader->names_count = count;
	impl->names_capacity = count;
	for (size_t i = 1; i < sizeof(texts) / sizeof(*texts); i++) {
		names[i] = (struct reader_name){ texts[i], (uint32_t)strlen(texts[i]) };
		EPP_TRY(anonymize_keep(a, texts[i], names[i].bytes));
	}
	for (uint32_t i = 0; i < a->new_names.count; i++) {
		size_t bytes;
		const char *text = string_table_bytes(&a->new_names, i, &bytes);
		text = reader_text(impl, text, bytes);
		if (!text)
			return epp_status_no_memory();
		names[EPF_NAME_FIRST_FREE + i] = (struct reader_name){ text, (uint32_t)bytes };
	}
	return NULL;
}

static epp_status *replace_definitions(void *user, struct epp_trace_writer *writer)
{
	struct anonymize *a = user;

	(void)writer;
	EPP_TRY(anonymize_open_events(a));
	EPP_TRY(replace_names(a));
	for (size_t i = 0; i < a->reader->tracks_count; i++)
		EPP_TRY(replace_track(a, i));
	EPP_TRY(replace_producers(a));
	EPP_TRY(replace_header(a));
	a->reader->sources[0] = a->reader->header.source;
	for (size_t i = 1; i < a->reader->sources_count; i++)
		EPP_TRY(replace_source(a, &a->reader->sources[i]));
	return replace_clocks(a);
}

static epp_status *write_trace(struct anonymize *a, const char *path)
{
	struct trace_rewrite rewrite = {
		.user = a, .block = anonymize_block, .definitions = replace_definitions, .check = anonymize_check
	};

	EPP_TRY(anonymize_records_init(a));
	EPP_TRY(collect_numbers(a));
	choose_base(a);
	rewrite.base_ticks = a->base_ticks;
	return trace_writer_rewrite(a->reader, path, (int)a->options.overwrite, &rewrite);
}

static void report(epp_receipt_fn receipt, void *user, const char *format, ...) EPP_FORMAT(3, 4);
static void report(epp_receipt_fn receipt, void *user, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	receipt(user, text);
}

static void print_receipt(const struct anonymize *a, epp_receipt_fn receipt, void *user)
{
	report(receipt, user,
	       "kept: times, durations, counts, losses, kinds, categories and nesting of %" PRIu64 " records",
	       a->counts.records);
	for (size_t i = 0; i < allowed_count; i++) {
		const struct allowed *allowed = &allowed_texts[i];
		if (*allowed->text && string_table_find(&a->kept, allowed->text, strlen(allowed->text)) != STRING_TABLE_NONE)
			report(receipt, user, "kept: '%s'%s: %s", allowed->text,
			       ALLOWED_IS_KEY(allowed->use) ? " of args" : "", allowed->reason);
	}
	for (uint32_t i = 0; i < a->kept.count; i++) {
		size_t bytes;
		const char *text = string_table_bytes(&a->kept, i, &bytes);
		if (allowed_operator(text, bytes))
			report(receipt, user, "kept: the operator '%.*s': a name of the ONNX standard", (int)bytes, text);
	}
}

epp_status *epp_trace_anonymize(epp_trace *trace, const char *path, const epp_anonymize_options *options,
                                epp_receipt_fn receipt, void *receipt_user, epp_anonymize_counts *counts)
{
	struct anonymize a = { 0 };

	if (counts && !options_fill(counts, &a.counts, sizeof(*counts)))
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_anonymize_counts: struct_size is not set");
	EPP_TRY(options_take(&a.options, sizeof(a.options), options, "epp_anonymize_options"));
	if (!a.options.key || a.options.key_bytes < EPP_ANONYMIZE_KEY_BYTES_LEAST)
		return epp_status_create(EPP_INVALID_ARGUMENT, "a key of %zu bytes; it needs %u", a.options.key_bytes,
		                         EPP_ANONYMIZE_KEY_BYTES_LEAST);
	if (trace->reader->info.state == EPP_TRACE_RECORDING)
		return epp_status_create(EPP_BUSY, "process %u is still recording it", trace->reader->info.pid);
	EPP_TRY(reader_open_again(trace->reader, &a.reader));
	words_init(&a.words, a.options.key, a.options.key_bytes);
	epp_status *status = write_trace(&a, path);
	if (!status && receipt)
		print_receipt(&a, receipt, receipt_user);
	if (!status && counts)
		options_fill(counts, &a.counts, sizeof(*counts));
	anonymize_records_deinit(&a);
	words_deinit(&a.words);
	string_table_deinit(&a.kept);
	free(a.ids.numbers);
	free(a.streams.numbers);
	free(a.devices.numbers);
	/* If the names were not replaced yet, the old names still belong to the reader. */
	if (a.reader->names != a.old_names)
		free(a.old_names);
	reader_close(a.reader);
	return status;
}
