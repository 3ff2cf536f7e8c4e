/* Writes everything in a merged trace except its records: processes, names, tracks, runs, clock pairs, accounts.
 *
 * All of these get new numbers.  Runs are numbered in order of their start, so time 0 of the merged trace is the start
 * of the first run.  The clock samples of runs and of the trace are those of the reference machine.  They are computed
 * from merged ticks, so that merged ticks and the CLOCK_MONOTONIC of the reference advance exactly alike. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "merge/trace_merge.h"

/* ---- sources ---- */

/* Returns the less precise of two clock relations (enum epf_relation). */
static uint32_t less_precise(uint32_t a, uint32_t b)
{
	static const uint8_t rank[] = {
		[EPF_RELATED_SELF] = 0,   [EPF_RELATED_COUNTER] = 1,  [EPF_RELATED_MONOTONIC] = 2,
		[EPF_RELATED_EVENTS] = 3, [EPF_RELATED_REALTIME] = 4, [EPF_RELATED_NOT] = 5
	};
	if (a >= sizeof(rank) || b >= sizeof(rank))
		return EPF_RELATED_NOT;
	return rank[a] > rank[b] ? a : b;
}

static uint64_t origin_of(const struct reader *reader, const struct epf_source *source)
{
	uint64_t origin = source->origin;
	if (!origin)
		memcpy(&origin, reader->header.file_id, sizeof(origin));
	return origin;
}

/* Returns the largest doubt_ns of the segments of a host clock.  In the merged trace, it is part of the error of all
 * times of the source. */
static uint64_t largest_doubt(const struct host_clock *clock)
{
	int64_t most_ns = 0;
	for (size_t i = 0; i < clock->count && clock->is_doubted; i++)
		most_ns = clock->segments[i].doubt_ns > most_ns ? clock->segments[i].doubt_ns : most_ns;
	return (uint64_t)most_ns;
}

static void relate_source(const struct trace_merge *merge, const struct merge_input *input, struct epf_source *source)
{
	const struct merge_machine *machine = &merge->machines[input->machine];
	uint64_t error_ns = source->clock_error_ns;

	source->relation = less_precise(less_precise(source->relation, input->relation), machine->relation);
	if (__builtin_add_overflow(error_ns, (uint64_t)input->error_ns, &error_ns) ||
	    __builtin_add_overflow(error_ns, machine->error_ns, &error_ns) ||
	    __builtin_add_overflow(error_ns, largest_doubt(input->clock), &error_ns) || source->relation == EPF_RELATED_NOT)
		error_ns = UINT64_MAX;
	source->clock_error_ns = error_ns;
}

static epp_status *number_sources(struct trace_merge *merge, struct merge_input *input)
{
	struct epp_trace_writer *writer = merge->writer;
	bool first = input == merge->inputs;

	input->first_source = first ? 0 : writer->sources_count;
	for (size_t i = 0; i < input->reader->sources_count; i++) {
		uint32_t number = 0;
		if (!first || i)
			EPP_TRY(epp_trace_writer_add_source(writer, &number));
		struct epf_source *source = trace_writer_source(writer, number);
		if (!source)
			return epp_status_no_memory();
		*source = input->reader->sources[i];
		source->origin = origin_of(input->reader, source);
		relate_source(merge, input, source);
	}
	if (first) {
		writer->header.source.clock = EPF_CLOCK_MERGED;
		writer->header.source.ticks_per_second = 1000000000;
	}
	return NULL;
}

/* ---- names ---- */

static epp_status *number_names(struct trace_merge *merge, struct merge_input *input)
{
	const struct reader *reader = input->reader;

	input->names = calloc(reader->names_count + 1, sizeof(*input->names));
	if (!input->names)
		return epp_status_no_memory();
	for (uint32_t i = 0; i < reader->names_count; i++) {
		const struct reader_name *name = &reader->names[i];
		input->names[i] = i && i < EPF_NAME_FIRST_FREE ? i : EPF_NAME_LOST;
		if (i < EPF_NAME_FIRST_FREE || !name->text)
			continue;
		input->names[i] = epp_trace_writer_intern_name(merge->writer, name->text, name->bytes);
		merge->counts.names_lost += input->names[i] == EPF_NAME_LOST;
	}
	return NULL;
}

/* ---- runs ---- */

/* Returns a clock sample of the reference at a merged time. */
static struct epf_host_pair reference_pair_at(const struct trace_merge *merge, uint64_t ticks, uint64_t half_width_ns)
{
	const struct merge_machine *reference = &merge->machines[0];
	uint64_t ns = ticks - (uint64_t)merge->base_ns;

	return (struct epf_host_pair){
		.ticks = ticks,
		.half_width_ticks = half_width_ns,
		.monotonic_ns = (int64_t)((uint64_t)reference->monotonic_zero_ns + ns),
		.realtime_ns = (int64_t)((reference->has_realtime ? (uint64_t)reference->realtime_ns : 0) + ns)
	};
}

static struct epf_host_pair convert_pair(const struct trace_merge *merge, const struct merge_input *input,
                                         uint64_t ticks, uint64_t half_width_ticks)
{
	size_t hint = 0;
	uint64_t half_ns = half_width_ticks ? (uint64_t)host_clock_span_ns(input->clock, half_width_ticks) : 0;

	return reference_pair_at(merge, trace_merge_ticks(merge, input, &hint, ticks), half_ns);
}

static struct epf_run run_of(const struct trace_merge *merge, const struct merge_input *input, const struct epf_run *run)
{
	/* The end of a run without an end is the latest host time. */
	uint64_t last = run->end.ticks                         ? run->end.ticks
	                : input->last_ticks > run->start.ticks ? input->last_ticks
	                                                       : run->start.ticks;
	return (struct epf_run){ .run = run->run,
		                 .source = input->first_source + run->source,
		                 .first_id = run->first_id,
		                 .start = convert_pair(merge, input, run->start.ticks, run->start.half_width_ticks),
		                 .end = convert_pair(merge, input, last, run->end.half_width_ticks),
		                 .faults = run->faults,
		                 .event_cost_ps = run->event_cost_ps,
		                 .write_cpu_ns = run->write_cpu_ns };
}

struct numbered_run {
	struct epf_run run;
	uint32_t *number; /* receives the number of the run in the merged trace */
};

static int by_start(const void *a, const void *b)
{
	const struct numbered_run *x = a, *y = b;
	if (x->run.start.ticks != y->run.start.ticks)
		return x->run.start.ticks < y->run.start.ticks ? -1 : 1;
	return x->run.source != y->run.source ? (x->run.source < y->run.source ? -1 : 1)
	       : x->run.run < y->run.run      ? -1
	                                      : 1;
}

/* Lists the runs of all inputs.  For an input without a run, a run is added that begins with the first event. */
static epp_status *list_runs(struct trace_merge *merge, struct numbered_run **list, size_t *count)
{
	size_t room = 0;

	for (size_t i = 0; i < merge->inputs_count; i++)
		room += merge->inputs[i].reader->runs_count + 1;
	*list = calloc(room, sizeof(**list));
	if (!*list)
		return epp_status_no_memory();
	for (size_t i = 0; i < merge->inputs_count; i++) {
		struct merge_input *input = &merge->inputs[i];
		const struct reader *reader = input->reader;
		struct epf_run only = { .start = host_clock_zero(reader) };
		input->runs = calloc(reader->runs_count + 1, sizeof(*input->runs));
		if (!input->runs)
			return epp_status_no_memory();
		for (size_t r = 0; r < reader->runs_count; r++)
			(*list)[(*count)++] = (struct numbered_run){ run_of(merge, input, &reader->runs[r]),
				                                     &input->runs[r] };
		if (!reader->runs_count)
			(*list)[(*count)++] = (struct numbered_run){ run_of(merge, input, &only), &input->only_run };
	}
	return NULL;
}

static epp_status *number_runs(struct trace_merge *merge)
{
	struct numbered_run *list = NULL;
	size_t count = 0;
	epp_status *status = list_runs(merge, &list, &count);

	if (!status) {
		merge->runs = reallocarray(NULL, count + 1, sizeof(*merge->runs));
		status = merge->runs ? NULL : epp_status_no_memory();
	}
	if (!status) {
		qsort(list, count, sizeof(*list), by_start);
		for (size_t i = 0; i < count; i++) {
			*list[i].number = (uint32_t)i + 1;
			merge->runs[i] = list[i].run;
			merge->runs[i].run = (uint32_t)i + 1;
		}
		merge->runs_count = count;
		for (size_t i = 0; i < merge->inputs_count; i++)
			if (merge->inputs[i].reader->runs_count)
				merge->inputs[i].only_run = merge->inputs[i].runs[0];
	}
	free(list);
	return status;
}

uint32_t trace_merge_run(const struct merge_input *input, uint32_t run)
{
	for (size_t i = 0; i < input->reader->runs_count; i++)
		if (input->reader->runs[i].run == run)
			return input->runs[i];
	return input->only_run;
}

/* ---- tracks ---- */

static epp_status *number_tracks(struct trace_merge *merge, struct merge_input *input)
{
	const struct reader *reader = input->reader;

	input->first_track = merge->writer->tracks_count + 1;
	for (size_t i = 0; i < reader->tracks_count; i++) {
		struct epf_track track = reader->track_definitions[i];
		uint32_t number;
		track.source = input->first_source + (track.source < reader->sources_count ? track.source : 0);
		track.producer = track.producer >= 0 && (size_t)track.producer < reader->producers_count
		                     ? (int32_t)input->first_producer + track.producer
		                     : -1;
		if (track.clock_kind == EPF_TRACK_CLOCK_HOST)
			track.run = 0;
		else
			track.run = trace_merge_run(input, track.run);
		if (track.clock_kind == EPF_TRACK_CLOCK_OFFSET_US && track.bracket_ticks)
			track.bracket_ticks = (uint64_t)host_clock_span_ns(input->clock, track.bracket_ticks);
		EPP_TRY(trace_writer_add_track(merge->writer, &track, reader->tracks[i].name, reader->tracks[i].group,
		                               &number));
	}
	return NULL;
}

/* Adds a track for which the input has no definition, with a name like "(track 7)", as the timeline would name it.  If
 * there are more than 1024, further ones share the last track. */
static epp_status *add_unknown(struct trace_merge *merge, struct merge_input *input, uint32_t source, uint32_t track,
                               uint32_t *merged)
{
	const uint32_t most = 1024;
	char name[32];

	for (uint32_t i = 0; i < input->unknown_count; i++) {
		if (input->unknown[i].from == track || i + 1 == most) {
			*merged = input->unknown[i].to;
			return NULL;
		}
	}
	struct merge_unknown *unknown = reallocarray(input->unknown, input->unknown_count + 1, sizeof(*unknown));
	if (!unknown)
		return epp_status_no_memory();
	input->unknown = unknown;
	snprintf(name, sizeof(name), "(track %u)", track);
	struct epf_track definition = {
		.kind = EPF_TRACK_THREAD, .source = input->first_source + source, .device = -1, .producer = -1
	};
	EPP_TRY(trace_writer_add_track(merge->writer, &definition, name, "", merged));
	unknown[input->unknown_count++] = (struct merge_unknown){ track, *merged };
	return NULL;
}

epp_status *trace_merge_track(struct trace_merge *merge, struct merge_input *input, uint32_t source, uint32_t track,
                              uint32_t *merged)
{
	const epp_trace_track *known = reader_track(input->reader, track);

	if (!known)
		return add_unknown(merge, input, source < input->reader->sources_count ? source : 0, track, merged);
	*merged = input->first_track + (uint32_t)(known - input->reader->tracks);
	return NULL;
}

epp_status *trace_merge_number(struct trace_merge *merge)
{
	uint32_t producers_count = 0;

	merge->writer->names.count_max = TRACE_WRITER_MERGED_NAMES_MAX;
	merge->writer->names.text_bytes_max = TRACE_WRITER_MERGED_TEXT_BYTES_MAX;
	for (size_t i = 0; i < merge->inputs_count; i++) {
		struct merge_input *input = &merge->inputs[i];
		input->first_producer = producers_count;
		producers_count += (uint32_t)input->reader->producers_count;
		EPP_TRY(number_sources(merge, input));
		EPP_TRY(number_names(merge, input));
	}
	EPP_TRY(number_runs(merge));
	for (size_t i = 0; i < merge->inputs_count; i++)
		EPP_TRY(number_tracks(merge, &merge->inputs[i]));
	return NULL;
}

/* ---- written after the records ---- */

/* Writes those clock samples of the reference that are exactly on its clock (merge_machine.clock).  Other samples would
 * change the clock when the merged trace is read. */
static epp_status *write_pairs(struct trace_merge *merge)
{
	const struct merge_machine *reference = &merge->machines[0];
	const struct reader *reader = merge->inputs[reference->leader].reader;
	struct epf_host_pair *pairs = reallocarray(NULL, reader->pairs_count + 1, sizeof(*pairs));
	size_t count = 0, hint = 0;

	if (!pairs)
		return epp_status_no_memory();
	for (size_t i = 0; i < reader->pairs_count; i++) {
		const struct epf_host_pair *pair = &reader->pairs[i];
		if (host_clock_ns(&reference->clock, &hint, pair->ticks) !=
		    trace_merge_difference(pair->monotonic_ns, reference->monotonic_zero_ns))
			continue;
		pairs[count] = convert_pair(merge, &merge->inputs[reference->leader], pair->ticks, pair->half_width_ticks);
		pairs[count++].realtime_ns = pair->realtime_ns;
	}
	epp_status *status = trace_writer_append_payload(merge->writer, EPF_BLOCK_HOST_PAIRS, pairs,
	                                                 count * sizeof(*pairs), sizeof(*pairs));
	free(pairs);
	return status;
}

/* Writes the ledger of one input.  Events that a ring overwrote are losses.  Open events are counted as written,
 * because they were written as `unended`. */
static epp_status *write_accounts(struct trace_merge *merge, struct merge_input *input, struct epf_producer *producers)
{
	const struct reader *reader = input->reader;
	size_t count = epp_trace_ledger_count(input->trace), producer = 0;

	for (size_t i = 0; i < count; i++) {
		epp_trace_ledger_entry line = { .struct_size = sizeof(line) };
		EPP_TRY(epp_trace_ledger_at(input->trace, i, &line));
		if (line.is_plugin) {
			while (!reader->producers[producer].label[0])
				producer++;
			producers[producer] = reader->producers[producer];
			producers[producer].emitted = line.emitted;
			memcpy(producers[producer++].lost, line.lost, sizeof(line.lost));
			continue;
		}
		struct epf_ledger_entry entry = { .run = input->only_run, .ids_taken = line.emitted };
		memcpy(entry.lost, line.lost, sizeof(entry.lost));
		if (line.track) {
			EPP_TRY(trace_merge_track(merge, input, line.source, line.track, &entry.track));
		} else {
			uint64_t total = line.lost_total + line.lost[EPP_LOSS_TOO_LARGE];
			if (!total)
				continue;
			for (size_t r = 0; r < reader->runs_count; r++)
				if (reader->runs[r].source == line.source)
					entry.run = input->runs[r];
			entry.ids_taken = 0;
			entry.lost_idless = line.lost_total;
		}
		EPP_TRY(trace_writer_append_payload(merge->writer, EPF_BLOCK_LEDGER, &entry, sizeof(entry), sizeof(entry)));
	}
	return NULL;
}

static epp_status *write_all_accounts(struct trace_merge *merge)
{
	const struct merge_input *last = &merge->inputs[merge->inputs_count - 1];
	size_t count = last->first_producer + last->reader->producers_count;
	struct epf_producer *producers = calloc(count < EPF_PRODUCER_COUNT ? EPF_PRODUCER_COUNT : count,
	                                        sizeof(*producers));
	epp_status *status = producers ? NULL : epp_status_no_memory();

	for (size_t i = 0; i < merge->inputs_count && !status; i++)
		status = write_accounts(merge, &merge->inputs[i], producers + merge->inputs[i].first_producer);
	if (!status)
		status = trace_writer_append_producers(merge->writer, producers, count);
	free(producers);
	return status;
}

epp_status *trace_merge_definitions(struct trace_merge *merge)
{
	/* The definitions come after the accounts, because accounts may name tracks that no record names. */
	EPP_TRY(write_all_accounts(merge));
	EPP_TRY(trace_writer_definitions_write(merge->writer));
	EPP_TRY(write_pairs(merge));
	for (size_t i = 0; i < merge->runs_count; i++)
		EPP_TRY(trace_writer_append_payload(merge->writer, EPF_BLOCK_RUN, &merge->runs[i], sizeof(*merge->runs),
		                                    sizeof(*merge->runs)));
	return NULL;
}
