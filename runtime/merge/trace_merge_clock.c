/* Finds the traces that share a clock, and maps the clocks of machines to each other.
 *
 * Traces of one boot that read the same counter share one map of this counter, which is made from the clock samples of
 * all these traces.  So the order of their events is exact.  Another clock of the same boot is mapped by
 * CLOCK_MONOTONIC, the clock of another boot by CLOCK_REALTIME in the most precise clock sample.  Any change of
 * CLOCK_REALTIME between the samples is part of the error. */
#include <bsd/stdlib.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "codec/codec.h"
#include "containers/array.h"
#include "merge/same_clock.h"
#include "merge/trace_merge.h"

/* ---- alignment ---- */

/* Aligns the clocks of machines by an event that occurs in all of them, usually a barrier.
 *
 * The first event with the given name in one process corresponds to the first one in all others, the second to the
 * second, and so on.  A barrier ends for each process after all processes entered it.  So the k-th barrier ended on a
 * machine between the latest start and the earliest end among the machine's processes.  The earliest ends of two
 * machines are matched by a constant offset.  If a drift explains most of the remaining differences, it is used too.
 * The error is the sum of the largest residual of an event, the larger of the two machines' smallest uncertainties of
 * an event, the errors of the two clocks, and the possible drift of the clocks before the first and after the last
 * event. */

#define OCCURRENCES_MAX (1u << 20)
/* Assumed drift of clocks that were never compared, and the limit for a measured drift. */
#define DRIFT_ASSUMED 500e-6
#define DRIFT_MOST 1000e-6

/* An event in one process, or the same event in all processes of a machine: its end (if the option align_starts is set,
 * its start), and the uncertainty of this time. */
struct occurrence {
	int64_t at_ns;
	int64_t open_ns;
};

struct occurrences {
	struct occurrence *list;
	size_t count, room;
};

static bool add(struct occurrences *found, int64_t start_ns, int64_t end_ns, bool starts)
{
	if (!array_reserve(&found->list, &found->room, found->count + 1, sizeof(*found->list)))
		return false;
	/* A barrier is complete between the start and the end of each process's event, so an end is uncertain by the
	 * event's length.  For a start, one process gives no such limit; 0 is stored. */
	found->list[found->count++] = starts ? (struct occurrence){ start_ns, 0 }
	                                     : (struct occurrence){ end_ns, end_ns - start_ns };
	return true;
}

/* ---- one process ---- */

static bool is_candidate(const struct codec_record *record, epp_name name)
{
	unsigned kind = EPF_BITS_KIND(record->bits);
	return record->name == name && (kind == EPF_EVENT || kind == EPF_INSTANT) &&
	       !(EPF_BITS_FLAGS(record->bits) & EPF_FLAG_UNENDED);
}

static epp_status *find_in_block(const struct trace_merge *merge, const struct merge_input *input,
                                 const struct codec_record *records, uint32_t count, epp_name name,
                                 struct occurrences *found)
{
	size_t hint = 0;

	for (uint32_t i = 0; i < count && found->count < OCCURRENCES_MAX; i++) {
		if (!is_candidate(&records[i], name))
			continue;
		int64_t start_ns = trace_merge_machine_ns(input, &hint, records[i].start_ticks);
		int64_t end_ns = trace_merge_machine_ns(input, &hint, records[i].start_ticks + records[i].duration_ticks);
		if (start_ns < -ITEM_NS_MAX / 2 || end_ns > ITEM_NS_MAX / 2 || end_ns < start_ns)
			continue;
		if (!add(found, start_ns, end_ns, merge->options->align_starts))
			return epp_status_no_memory();
	}
	return NULL;
}

static int by_time(const void *a, const void *b)
{
	const struct occurrence *x = a, *y = b;
	return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

static epp_name name_of(const struct reader *reader, const char *text)
{
	size_t bytes = strlen(text);
	for (uint32_t i = 1; i < reader->names_count; i++) {
		const struct reader_name *name = &reader->names[i];
		if (name->text && name->bytes == bytes && memcmp(name->text, text, bytes) == 0)
			return i;
	}
	return 0;
}

static epp_status *find_in_input(const struct trace_merge *merge, const struct merge_input *input, struct occurrences *found)
{
	struct reader *reader = input->trace->reader;
	epp_name name = name_of(reader, merge->options->align);
	struct reader_decoded decoded = { 0 };
	epp_status *status = NULL;

	for (size_t i = 0; i < reader->blocks_count && name && !status; i++) {
		if (!(reader->blocks[i].kinds & (1u << EPF_EVENT | 1u << EPF_INSTANT)))
			continue;
		/* Of a block that cannot be decoded completely, only the readable records are used; copy_block reports
		 * it. */
		status = reader_block_decode(reader, &reader->blocks[i], &decoded);
		if (!status)
			status = find_in_block(merge, input, decoded.records, decoded.count, name, found);
	}
	free(decoded.bytes);
	free(decoded.records);
	if (!status && found->count)
		qsort(found->list, found->count, sizeof(*found->list), by_time);
	return status;
}

/* ---- one machine ---- */

/* Joins the same event of another process into that of the machine.  `machine` becomes the time range that is possible
 * for both. */
static void join_occurrences(struct occurrence *machine, const struct occurrence *process, bool starts)
{
	if (starts) {
		/* The common start is the earliest of the processes' starts. */
		int64_t apart_ns = llabs(process->at_ns - machine->at_ns);
		machine->at_ns = process->at_ns < machine->at_ns ? process->at_ns : machine->at_ns;
		machine->open_ns = apart_ns > machine->open_ns ? apart_ns : machine->open_ns;
		return;
	}
	int64_t start_ns = machine->at_ns - machine->open_ns, other_ns = process->at_ns - process->open_ns;
	start_ns = other_ns > start_ns ? other_ns : start_ns;
	machine->at_ns = process->at_ns < machine->at_ns ? process->at_ns : machine->at_ns;
	/* If the event ended in one process before it began in another, it is no barrier, and the uncertainty is the
	 * time between the two. */
	machine->open_ns = llabs(machine->at_ns - start_ns);
}

static void report_counts(const struct trace_merge *merge, const struct merge_input *input, size_t count, size_t least)
{
	if (count != least)
		trace_merge_report(merge, "%s: %zu events %s; the first %zu are taken", input->reader->info.path, count,
		                   merge->options->align, least);
}

/* Joins the events of all processes of a machine that have the event.  Sets *uneven if the processes have different
 * numbers of events. */
static epp_status *find_on_machine(const struct trace_merge *merge, uint32_t number, struct occurrences *machine,
                                   bool *uneven)
{
	epp_status *status = NULL;
	bool first = true;

	for (size_t i = 0; i < merge->inputs_count && !status; i++) {
		const struct merge_input *input = &merge->inputs[i];
		struct occurrences found = { 0 };
		if (input->machine != number)
			continue;
		status = find_in_input(merge, input, &found);
		if (status || (first && found.count)) {
			*machine = found;
			first = false;
			continue;
		}
		*uneven = *uneven || found.count != machine->count;
		if (found.count) {
			size_t least = found.count < machine->count ? found.count : machine->count;
			report_counts(merge, input, found.count, least);
			machine->count = least;
			for (size_t k = 0; k < least; k++)
				join_occurrences(&machine->list[k], &found.list[k], merge->options->align_starts);
		}
		free(found.list);
	}
	return status;
}

/* ---- two machines ---- */

struct fit {
	double offset_ns, slope; /* the offset at pivot_ns, and its change per ns */
	double left_ns;          /* the largest residual of an event */
	int64_t pivot_ns;
};

static double largest_residual(const struct fit *fit, const struct occurrence *from, const struct occurrence *to,
                               size_t count)
{
	double worst_ns = 0;
	for (size_t k = 0; k < count; k++) {
		double off_ns = (double)(to[k].at_ns - from[k].at_ns) - fit->offset_ns -
		                fit->slope * (double)(from[k].at_ns - fit->pivot_ns);
		worst_ns = fabs(off_ns) > worst_ns ? fabs(off_ns) : worst_ns;
	}
	return worst_ns;
}

/* Fits a constant offset, and also a drift if the drift halves the residual.  A smaller gain would be noise. */
static struct fit fit_offsets(const struct occurrence *from, const struct occurrence *to, size_t count)
{
	double least_ns = INFINITY, most_ns = -INFINITY, mean_ns = 0, time_ns = 0, products = 0, squares = 0;
	struct fit fit = { .pivot_ns = from[0].at_ns };

	for (size_t k = 0; k < count; k++) {
		double offset_ns = (double)(to[k].at_ns - from[k].at_ns);
		least_ns = offset_ns < least_ns ? offset_ns : least_ns;
		most_ns = offset_ns > most_ns ? offset_ns : most_ns;
		mean_ns += offset_ns / (double)count;
		time_ns += (double)(from[k].at_ns - fit.pivot_ns) / (double)count;
	}
	fit.offset_ns = least_ns + (most_ns - least_ns) / 2;
	fit.left_ns = largest_residual(&fit, from, to, count);
	for (size_t k = 0; k < count; k++) {
		double time = (double)(from[k].at_ns - fit.pivot_ns) - time_ns;
		products += time * ((double)(to[k].at_ns - from[k].at_ns) - mean_ns);
		squares += time * time;
	}
	if (count < 3 || squares <= 0 || fabs(products / squares) > DRIFT_MOST)
		return fit;
	struct fit drift = { .slope = products / squares, .pivot_ns = fit.pivot_ns };
	drift.offset_ns = mean_ns - drift.slope * time_ns;
	drift.left_ns = largest_residual(&drift, from, to, count);
	return drift.left_ns < fit.left_ns / 2 ? drift : fit;
}

static int64_t least_open(const struct occurrence *list, size_t count)
{
	int64_t least_ns = INT64_MAX;
	for (size_t k = 0; k < count; k++)
		least_ns = list[k].open_ns < least_ns ? list[k].open_ns : least_ns;
	return least_ns;
}

/* Returns how many ns the machine's traces extend before the first or after the last of the events, whichever is
 * more. */
static double extent_outside(const struct trace_merge *merge, uint32_t number, const struct occurrence *list, size_t count)
{
	int64_t before_ns = 0, behind_ns = 0;

	for (size_t i = 0; i < merge->inputs_count; i++) {
		const struct merge_input *input = &merge->inputs[i];
		size_t hint = 0;
		if (input->machine != number)
			continue;
		int64_t first_ns = trace_merge_machine_ns(input, &hint, host_clock_zero(input->reader).ticks);
		int64_t last_ns = trace_merge_machine_ns(input, &hint, input->last_ticks);
		before_ns = list[0].at_ns - first_ns > before_ns ? list[0].at_ns - first_ns : before_ns;
		behind_ns = last_ns - list[count - 1].at_ns > behind_ns ? last_ns - list[count - 1].at_ns : behind_ns;
	}
	return (double)(before_ns > behind_ns ? before_ns : behind_ns);
}

static void align_machine(struct trace_merge *merge, uint32_t number, const struct occurrences *reference,
                          const struct occurrences *found)
{
	struct merge_machine *machine = &merge->machines[number];
	size_t count = found->count < reference->count ? found->count : reference->count;
	struct fit fit = fit_offsets(found->list, reference->list, count);
	double span_ns = (double)(found->list[count - 1].at_ns - found->list[0].at_ns);
	double drift = span_ns > 0 && 2 * fit.left_ns / span_ns < DRIFT_ASSUMED && count > 2 ? 2 * fit.left_ns / span_ns
	                                                                                     : DRIFT_ASSUMED;
	int64_t open_ns = least_open(found->list, count), other_ns = least_open(reference->list, count);

	machine->relation = EPF_RELATED_EVENTS;
	machine->offset_ns = (int64_t)llrint(fit.offset_ns);
	machine->slope = fit.slope;
	machine->pivot_ns = fit.pivot_ns;
	machine->error_ns = (uint64_t)(ceil(fit.left_ns) + (double)(open_ns > other_ns ? open_ns : other_ns) + 1 +
	                               (double)(machine->clock_error_ns + merge->machines[0].clock_error_ns) +
	                               ceil(drift * extent_outside(merge, number, found->list, count)));
	trace_merge_report(merge, "%s: %zu events %s, %.0f ns apart at worst, a drift of %.3f ppm",
	                   merge->inputs[machine->leader].reader->info.path, count, merge->options->align, fit.left_ns,
	                   fit.slope * 1e6);
}

static epp_status *uneven_status(const struct trace_merge *merge, uint32_t machine)
{
	return epp_status_create(EPP_INCOMPATIBLE, "%s: the number of events %s differs from that of other traces",
	                         merge->inputs[merge->machines[machine].leader].reader->info.path, merge->options->align);
}

epp_status *trace_merge_align(struct trace_merge *merge)
{
	struct occurrences reference = { 0 };
	bool uneven = false;

	if (merge->machines_count == 1) {
		trace_merge_report(merge, "all traces are of one machine: event %s is not used for alignment",
		                   merge->options->align);
		return NULL;
	}
	epp_status *status = find_on_machine(merge, 0, &reference, &uneven);
	if (!status && uneven && merge->options->strict)
		status = uneven_status(merge, 0);
	for (uint32_t i = 1; i < merge->machines_count && !status; i++) {
		struct occurrences found = { 0 };
		bool missing;
		uneven = false;
		status = find_on_machine(merge, i, &found, &uneven);
		missing = !found.count || !reference.count;
		uneven = uneven || found.count != reference.count;
		if (!status && missing)
			trace_merge_report(merge, "%s: no event %s: aligned by its clock",
			                   merge->inputs[merge->machines[i].leader].reader->info.path,
			                   merge->options->align);
		if (!status && !missing)
			align_machine(merge, i, &reference, &found);
		if (!status && (missing || uneven) && merge->options->strict)
			status = uneven_status(merge, i);
		free(found.list);
	}
	free(reference.list);
	return status;
}

/* ---- clocks ---- */

/* Limit for offsets, so that the sum of a few offsets and times does not overflow. */
#define OFFSET_NS_MAX ((int64_t)1 << 60)
void trace_merge_report(const struct trace_merge *merge, const char *format, ...)
{
	char text[1024];
	va_list args;

	if (!merge->receipt)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	merge->receipt(merge->receipt_user, text);
}

/* ---- clock samples ---- */

/* Returns the clock samples of an input.  If it has none, `zero`, the sample of its time 0, is the only one. */
static const struct epf_host_pair *pairs_of(const struct reader *reader, const struct epf_host_pair *zero, size_t *count)
{
	*count = reader->pairs_count ? reader->pairs_count : 1;
	return reader->pairs_count ? reader->pairs : zero;
}

/* Returns the error of a map relative to CLOCK_MONOTONIC.  With several segments, only the samples through which the
 * map passes are used.  With the nominal rate, all samples are used. */
static int64_t map_error(const struct host_clock *clock, const struct epf_host_pair *pairs, size_t count, int64_t zero_ns)
{
	int64_t error_ns = 0;
	size_t hint = 0;

	for (size_t i = 0; i < count; i++) {
		int64_t off_ns = distance(host_clock_ns(clock, &hint, pairs[i].ticks),
		                          trace_merge_difference(pairs[i].monotonic_ns, zero_ns));
		int64_t half_ns = pairs[i].half_width_ticks ? host_clock_span_ns(clock, pairs[i].half_width_ticks) : 0;
		if (off_ns > 1 && clock->count > 1)
			continue;
		off_ns = off_ns > 1 ? off_ns : 0;
		if (off_ns < OFFSET_NS_MAX && half_ns < OFFSET_NS_MAX && off_ns + half_ns > error_ns)
			error_ns = off_ns + half_ns;
	}
	return error_ns;
}

/* Computes the Unix time at the machine's time 0 from the most precise sample. */
static void find_realtime(struct merge_machine *machine, const struct epf_host_pair *pairs, size_t count)
{
	const struct epf_host_pair *best = NULL;
	int64_t set_by_ns = 0;

	for (size_t i = 0; i < count; i++) {
		if (pairs[i].realtime_ns >= UNIX_NS_LEAST && (!best || pairs[i].half_width_ticks < best->half_width_ticks))
			best = &pairs[i];
	}
	if (!best || distance(realtime_offset(best), 0) > OFFSET_NS_MAX * 2 ||
	    distance(machine->monotonic_zero_ns, 0) > OFFSET_NS_MAX)
		return;
	for (size_t i = 0; i < count; i++) {
		int64_t half_ns = host_clock_span_ns(&machine->clock, pairs[i].half_width_ticks);
		int64_t off_ns = distance(realtime_offset(&pairs[i]), realtime_offset(best));
		if (off_ns > half_ns && off_ns - half_ns > set_by_ns)
			set_by_ns = off_ns - half_ns;
	}
	machine->has_realtime = true;
	machine->realtime_ns = machine->monotonic_zero_ns + realtime_offset(best);
	machine->realtime_error_ns = host_clock_span_ns(&machine->clock, best->half_width_ticks) + machine->clock_error_ns;
	if (set_by_ns < OFFSET_NS_MAX)
		machine->realtime_error_ns += set_by_ns;
}

/* ---- machines ---- */

static bool is_counter(const struct reader *reader)
{
	return reader->header.source.clock == EPF_CLOCK_TSC || reader->header.source.clock == EPF_CLOCK_CNTVCT;
}

static epp_status *find_machines(struct trace_merge *merge)
{
	merge->machines = calloc(merge->inputs_count, sizeof(*merge->machines));
	if (!merge->machines)
		return epp_status_no_memory();
	for (uint32_t i = 0; i < merge->inputs_count; i++) {
		struct merge_input *input = &merge->inputs[i];
		uint32_t found = 0;
		while (found < merge->machines_count &&
		       !same_boot(merge->inputs[merge->machines[found].leader].reader, input->reader))
			found++;
		input->machine = found;
		if (found == merge->machines_count)
			merge->machines[merge->machines_count++] = (struct merge_machine){ .leader = i };
		merge->machines[found].inputs_count++;
	}
	return NULL;
}

static int by_ticks(const void *a, const void *b)
{
	const struct epf_host_pair *x = a, *y = b;
	return (x->ticks > y->ticks) - (x->ticks < y->ticks);
}

/* Collects the clock samples of the machine's counter from all traces that read this counter and whose CLOCK_MONOTONIC
 * has the same zero. */
static epp_status *collect_pairs(const struct trace_merge *merge, uint32_t number, const struct epf_host_pair *zero,
                                 struct epf_host_pair **pool, size_t *count)
{
	const struct reader *leader = merge->inputs[merge->machines[number].leader].reader;
	size_t room = 1;

	*count = 0;
	for (size_t i = 0; i < merge->inputs_count; i++)
		room += merge->inputs[i].machine == number ? merge->inputs[i].reader->pairs_count : 0;
	*pool = reallocarray(NULL, room, sizeof(**pool));
	if (!*pool)
		return epp_status_no_memory();
	for (size_t i = 0; i < merge->inputs_count; i++) {
		const struct reader *reader = merge->inputs[i].reader;
		if (merge->inputs[i].machine != number || !reader->pairs_count ||
		    (reader != leader && merge->inputs[i].relation != EPF_RELATED_COUNTER) ||
		    distance(realtime_offset(&reader->pairs[0]), realtime_offset(zero)) > SAME_ZERO_NS)
			continue;
		memcpy(*pool + *count, reader->pairs, reader->pairs_count * sizeof(**pool));
		*count += reader->pairs_count;
	}
	if (*count && mergesort(*pool, *count, sizeof(**pool), by_ticks))
		return epp_status_no_memory();
	if (!*count)
		(*pool)[(*count)++] = *zero;
	return NULL;
}

static epp_status *make_clock(struct trace_merge *merge, uint32_t number)
{
	struct merge_machine *machine = &merge->machines[number];
	const struct reader *leader = merge->inputs[machine->leader].reader;
	struct epf_host_pair zero = host_clock_zero(leader), *pool = NULL;
	size_t count;

	epp_status *status = collect_pairs(merge, number, &zero, &pool, &count);
	if (!status)
		status = host_clock_build(&machine->clock, pool, count, &zero, leader->header.source.ticks_per_second);
	if (!status) {
		machine->monotonic_zero_ns = zero.monotonic_ns;
		machine->clock_error_ns = map_error(&machine->clock, pool, count, zero.monotonic_ns);
		find_realtime(machine, pool, count);
	}
	free(pool);
	return status;
}

/* Maps the clock of a trace that does not read the machine's counter, by CLOCK_MONOTONIC. */
static epp_status *relate_by_monotonic(struct merge_input *input, const struct merge_machine *machine)
{
	struct epf_host_pair zero = host_clock_zero(input->reader);
	size_t count;
	const struct epf_host_pair *pairs = pairs_of(input->reader, &zero, &count);

	EPP_TRY(host_clock_init(&input->own, input->reader));
	input->clock = &input->own;
	input->offset_ns = trace_merge_difference(zero.monotonic_ns, machine->monotonic_zero_ns);
	input->error_ns = map_error(&input->own, pairs, count, zero.monotonic_ns) + machine->clock_error_ns;
	if (distance(zero.monotonic_ns, machine->monotonic_zero_ns) > OFFSET_NS_MAX)
		return epp_status_create(EPP_CORRUPT, "%s: its CLOCK_MONOTONIC was %lld ns", input->reader->info.path,
		                         (long long)zero.monotonic_ns);
	return NULL;
}

static epp_status *relate_inputs(struct trace_merge *merge)
{
	for (uint32_t i = 0; i < merge->inputs_count; i++) {
		struct merge_input *input = &merge->inputs[i];
		const struct reader *leader = merge->inputs[merge->machines[input->machine].leader].reader;
		if (input->reader == leader)
			input->relation = EPF_RELATED_SELF;
		else if (is_counter(leader) && input->reader->header.source.clock == leader->header.source.clock)
			input->relation = EPF_RELATED_COUNTER;
		else
			input->relation = EPF_RELATED_MONOTONIC;
	}
	for (uint32_t i = 0; i < merge->machines_count; i++)
		EPP_TRY(make_clock(merge, i));
	for (uint32_t i = 0; i < merge->inputs_count; i++) {
		struct merge_input *input = &merge->inputs[i];
		input->clock = &merge->machines[input->machine].clock;
		if (input->relation == EPF_RELATED_MONOTONIC)
			EPP_TRY(relate_by_monotonic(input, &merge->machines[input->machine]));
	}
	return NULL;
}

static void relate_machine(const struct merge_machine *reference, struct merge_machine *machine)
{
	if (!reference->has_realtime || !machine->has_realtime) {
		machine->relation = EPF_RELATED_NOT;
		machine->error_ns = UINT64_MAX;
		return;
	}
	machine->relation = EPF_RELATED_REALTIME;
	machine->offset_ns = machine->realtime_ns - reference->realtime_ns;
	machine->error_ns = (uint64_t)(machine->realtime_error_ns + reference->realtime_error_ns);
}

/* Moves the reference machine and its leader to the front.  The reference is the first machine with wall-clock time. */
static void put_reference_first(struct trace_merge *merge)
{
	uint32_t reference = 0;

	while (reference < merge->machines_count && !merge->machines[reference].has_realtime)
		reference++;
	if (!reference || reference == merge->machines_count)
		return;
	struct merge_machine machine = merge->machines[reference];
	struct merge_input leader = merge->inputs[machine.leader];
	memmove(merge->machines + 1, merge->machines, reference * sizeof(machine));
	merge->machines[0] = machine;
	memmove(merge->inputs + 1, merge->inputs, machine.leader * sizeof(leader));
	merge->inputs[0] = leader;
	for (uint32_t i = 0; i < merge->machines_count; i++)
		merge->machines[i].leader += merge->machines[i].leader < machine.leader;
	merge->machines[0].leader = 0;
	for (uint32_t i = 0; i < merge->inputs_count; i++) {
		struct merge_input *input = &merge->inputs[i];
		input->machine = input->machine == reference ? 0 : input->machine + (input->machine < reference);
		input->clock = input->relation == EPF_RELATED_MONOTONIC ? &input->own
		                                                        : &merge->machines[input->machine].clock;
	}
}

epp_status *trace_merge_relate(struct trace_merge *merge)
{
	EPP_TRY(find_machines(merge));
	EPP_TRY(relate_inputs(merge));
	put_reference_first(merge);
	const struct merge_machine *reference = &merge->machines[0];
	merge->base_ns = reference->has_realtime ? reference->realtime_ns : UNIX_NS_LEAST;
	if (merge->base_ns > OFFSET_NS_MAX * 2 || merge->base_ns < 0)
		merge->base_ns = UNIX_NS_LEAST;
	for (size_t i = 1; i < merge->machines_count; i++)
		relate_machine(reference, &merge->machines[i]);
	return NULL;
}
