/* Implements epp_trace_merge: maps the clocks, assigns numbers, then copies the records of one trace after the
 * other.  The timeline merges them by time when the trace is read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/status.h"
#include "merge/trace_merge.h"

static const char *path_of(const struct trace_merge *merge, size_t input)
{
	const char *path = merge->inputs[input].reader->info.path;
	return path ? path : "a session";
}

/* ---- duplicate recordings ---- */

struct origin {
	uint64_t origin;
	size_t input;
};

static int by_origin(const void *a, const void *b)
{
	const struct origin *x = a, *y = b;
	return (x->origin > y->origin) - (x->origin < y->origin);
}

static uint64_t first_half(const uint8_t *file_id)
{
	uint64_t half;
	memcpy(&half, file_id, sizeof(half));
	return half;
}

/* Compares the file ids, which a merged trace has for each process.  Several processes of one trace are one
 * recording. */
static epp_status *refuse_doubles(const struct trace_merge *merge)
{
	size_t count = 0, room = 0;

	for (size_t i = 0; i < merge->inputs_count; i++)
		room += merge->inputs[i].reader->sources_count;
	struct origin *origins = reallocarray(NULL, room, sizeof(*origins));
	if (!origins)
		return epp_status_no_memory();
	for (size_t i = 0; i < merge->inputs_count; i++) {
		const struct reader *reader = merge->inputs[i].reader;
		for (size_t s = 0; s < reader->sources_count; s++) {
			uint64_t origin = reader->sources[s].origin;
			origins[count++] = (struct origin){ origin ? origin : first_half(reader->header.file_id), i };
		}
	}
	qsort(origins, count, sizeof(*origins), by_origin);
	epp_status *status = NULL;
	for (size_t i = 1; i < count && !status; i++) {
		if (origins[i].origin == origins[i - 1].origin && origins[i].input != origins[i - 1].input)
			status = epp_status_create(EPP_INVALID_ARGUMENT, "%s and %s hold the same recording",
			                           path_of(merge, origins[i - 1].input), path_of(merge, origins[i].input));
	}
	free(origins);
	return status;
}

/* ---- inputs ---- */

static uint64_t last_ticks(const struct reader *reader)
{
	uint64_t last = reader->pairs_count ? reader->pairs[reader->pairs_count - 1].ticks : 0;

	for (size_t i = 0; i < reader->blocks_count; i++)
		last = reader->blocks[i].last_ticks > last ? reader->blocks[i].last_ticks : last;
	for (size_t i = 0; i < reader->open_count; i++)
		last = reader->open[i].open.start_ticks > last ? reader->open[i].open.start_ticks : last;
	return last;
}

static epp_status *take_inputs(struct trace_merge *merge, epp_trace *const *traces, size_t count)
{
	if (!count)
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_trace_merge: no trace");
	merge->inputs = calloc(count, sizeof(*merge->inputs));
	if (!merge->inputs)
		return epp_status_no_memory();
	for (size_t i = 0; i < count; i++) {
		struct merge_input *input = &merge->inputs[i];
		const struct reader *reader = traces[i]->reader;
		*input = (struct merge_input){ .trace = traces[i], .reader = reader, .last_ticks = last_ticks(reader) };
		merge->inputs_count = i + 1;
		if (reader->info.state == EPP_TRACE_RECORDING)
			return epp_status_create(EPP_BUSY, "%s: process %u is still recording it", path_of(merge, i),
			                         reader->info.pid);
	}
	return refuse_doubles(merge);
}

/* ---- reporting how the clocks were mapped ---- */

static void tell_machine(const struct trace_merge *merge, const struct merge_machine *machine)
{
	static const char *const how[] = { [EPF_RELATED_SELF] = "its clock is the merged trace's",
		                           [EPF_RELATED_REALTIME] = "by the time of day",
		                           [EPF_RELATED_EVENTS] = "by common events",
		                           [EPF_RELATED_NOT] = "cannot be related: it begins with the first one" };
	const struct reader *leader = merge->inputs[machine->leader].reader;
	const char *host = leader->header.source.hostname;
	char others[64] = "", error[160] = "";

	if (machine->inputs_count > 1)
		snprintf(others, sizeof(others), " and %u more of its machine", machine->inputs_count - 1);
	if (machine->relation == EPF_RELATED_REALTIME || machine->relation == EPF_RELATED_EVENTS)
		snprintf(error, sizeof(error), ", within %llu ns%s", (unsigned long long)machine->error_ns,
		         machine->relation == EPF_RELATED_REALTIME
		             ? " and by what the two machines' times of day differed, which no trace tells"
		             : "");
	trace_merge_tell(merge, "%s%s (%s): %s%s", path_of(merge, machine->leader), others,
	                 *host ? host : "unknown host", how[machine->relation], error);
}

static epp_status *tell_clocks(struct trace_merge *merge)
{
	for (size_t i = 0; i < merge->machines_count; i++) {
		const struct merge_machine *machine = &merge->machines[i];
		if (merge->machines_count > 1)
			tell_machine(merge, machine);
		merge->counts.unrelated += machine->relation == EPF_RELATED_NOT;
		if (machine->relation == EPF_RELATED_NOT && merge->options->strict)
			return epp_status_create(EPP_INCOMPATIBLE, "%s: its clock cannot be related to the others",
			                         path_of(merge, machine->leader));
	}
	return NULL;
}

/* ---- the merge ---- */

static epp_status *write_all(struct trace_merge *merge, const char *path)
{
	EPP_TRY(trace_merge_relate(merge));
	merge->counts.machines = (uint32_t)merge->machines_count;
	if (merge->options->align)
		EPP_TRY(trace_merge_align(merge));
	EPP_TRY(tell_clocks(merge));
	EPP_TRY(epp_trace_writer_create(&(epp_trace_writer_options){ .struct_size = sizeof(epp_trace_writer_options),
	                                                             .path = path,
	                                                             .overwrite = merge->options->overwrite },
	                                &merge->writer));
	EPP_TRY(trace_merge_number(merge));
	merge->counts.sources = merge->writer->sources_count;
	if (merge->counts.names_lost) {
		trace_merge_tell(merge, "%llu names do not fit: their events are called (name lost)",
		                 (unsigned long long)merge->counts.names_lost);
		if (merge->options->strict)
			return epp_status_create(EPP_INCOMPATIBLE, "%s: the names do not fit", path);
	}
	for (size_t i = 0; i < merge->inputs_count; i++)
		EPP_TRY(trace_merge_copy(merge, &merge->inputs[i]));
	EPP_TRY(trace_merge_say(merge));
	return trace_writer_commit(merge->writer);
}

static void deinit(struct trace_merge *merge)
{
	epp_trace_writer_destroy(merge->writer);
	for (size_t i = 0; i < merge->inputs_count; i++) {
		host_clock_deinit(&merge->inputs[i].own);
		free(merge->inputs[i].names);
		free(merge->inputs[i].runs);
		free(merge->inputs[i].unknown);
	}
	for (size_t i = 0; i < merge->machines_count; i++)
		host_clock_deinit(&merge->machines[i].clock);
	free(merge->inputs);
	free(merge->machines);
	free(merge->runs);
}

epp_status *epp_trace_merge(epp_trace *const *traces, size_t count, const char *path, const epp_merge_options *given,
                            epp_receipt_fn receipt, void *receipt_user, epp_merge_counts *counts)
{
	epp_merge_options options;
	struct trace_merge merge = { .options = &options, .receipt = receipt, .receipt_user = receipt_user };

	if (counts)
		*counts = (epp_merge_counts){ 0 };
	epp_status *status = options_take(&options, sizeof(options), given, "epp_merge_options");
	if (!status)
		status = take_inputs(&merge, traces, count);
	if (!status)
		status = write_all(&merge, path);
	if (counts && !status)
		*counts = merge.counts;
	deinit(&merge);
	return status;
}
