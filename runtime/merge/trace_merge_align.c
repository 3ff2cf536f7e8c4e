/* Aligns the clocks of machines by an event that occurs in all of them, usually a barrier.
 *
 * The first event of that name in one process corresponds to the first one in all others, and so on.  A barrier ends
 * for each process after all processes entered it.  So the k-th barrier ended on a machine between the latest start
 * and the earliest end among the machine's processes.  The earliest ends of two machines are matched by a constant
 * offset, and by a drift if that explains the rest.
 * The error is the sum of the residual at the worst event, the uncertainty of the best event on either side, and the
 * possible drift of the clocks outside of the events.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "codec/codec.h"
#include "containers/array.h"
#include "merge/trace_merge.h"

#define OCCURRENCES_MAX (1u << 20)
/* Assumed drift of clocks that were never compared, and the limit for a measured drift. */
#define DRIFT_ASSUMED 500e-6
#define DRIFT_MOST 1000e-6

/* An event in one process, or joined for a machine: the latest possible end (or start), and its uncertainty. */
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
	/* With ends, the event's length bounds its end time; a start has no such bound. */
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
		/* Blocks that cannot be decoded are reported when they are copied. */
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

/* Joins the same event of another process of the machine: keeps what is certain for both. */
static void join(struct occurrence *machine, const struct occurrence *process, bool starts)
{
	if (starts) {
		/* A common start is at the earliest of the processes' starts. */
		int64_t apart_ns = llabs(process->at_ns - machine->at_ns);
		machine->at_ns = process->at_ns < machine->at_ns ? process->at_ns : machine->at_ns;
		machine->open_ns = apart_ns > machine->open_ns ? apart_ns : machine->open_ns;
		return;
	}
	int64_t start_ns = machine->at_ns - machine->open_ns, other_ns = process->at_ns - process->open_ns;
	start_ns = other_ns > start_ns ? other_ns : start_ns;
	machine->at_ns = process->at_ns < machine->at_ns ? process->at_ns : machine->at_ns;
	/* If it ended here before it began there, it is no barrier, and the uncertainty is that large. */
	machine->open_ns = llabs(machine->at_ns - start_ns);
}

static void say_counts(const struct trace_merge *merge, const struct merge_input *input, size_t count, size_t least)
{
	if (count != least)
		trace_merge_tell(merge, "%s: %zu events %s; the first %zu are taken", input->reader->info.path, count,
		                 merge->options->align, least);
}

/* Joins the events of all processes of a machine that have any; sets `*uneven` if their numbers differ. */
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
			say_counts(merge, input, found.count, least);
			machine->count = least;
			for (size_t k = 0; k < least; k++)
				join(&machine->list[k], &found.list[k], merge->options->align_starts);
		}
		free(found.list);
	}
	return status;
}

/* ---- two machines ---- */

struct fit {
	double offset_ns, slope; /* offset_ns is valid at the pivot */
	double left_ns;          /* the residual at the worst event */
	int64_t pivot_ns;
};

static double left_over(const struct fit *fit, const struct occurrence *from, const struct occurrence *to, size_t count)
{
	double worst_ns = 0;
	for (size_t k = 0; k < count; k++) {
		double off_ns = (double)(to[k].at_ns - from[k].at_ns) - fit->offset_ns -
		                fit->slope * (double)(from[k].at_ns - fit->pivot_ns);
		worst_ns = fabs(off_ns) > worst_ns ? fabs(off_ns) : worst_ns;
	}
	return worst_ns;
}

/* Fits the middle of the offsets, and a drift if that halves the residual: a smaller gain would be noise. */
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
	fit.left_ns = left_over(&fit, from, to, count);
	for (size_t k = 0; k < count; k++) {
		double time = (double)(from[k].at_ns - fit.pivot_ns) - time_ns;
		products += time * ((double)(to[k].at_ns - from[k].at_ns) - mean_ns);
		squares += time * time;
	}
	if (count < 3 || squares <= 0 || fabs(products / squares) > DRIFT_MOST)
		return fit;
	struct fit drift = { .slope = products / squares, .pivot_ns = fit.pivot_ns };
	drift.offset_ns = mean_ns - drift.slope * time_ns;
	drift.left_ns = left_over(&drift, from, to, count);
	return drift.left_ns < fit.left_ns / 2 ? drift : fit;
}

static int64_t least_open(const struct occurrence *list, size_t count)
{
	int64_t least_ns = INT64_MAX;
	for (size_t k = 0; k < count; k++)
		least_ns = list[k].open_ns < least_ns ? list[k].open_ns : least_ns;
	return least_ns;
}

/* Returns how far the machine's traces extend beyond the events, in host time of the machine. */
static double reach_outside(const struct trace_merge *merge, uint32_t number, const struct occurrence *list, size_t count)
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
	                               ceil(drift * reach_outside(merge, number, found->list, count)));
	trace_merge_tell(merge, "%s: %zu events %s, %.0f ns apart at worst, a drift of %.3f ppm",
	                 merge->inputs[machine->leader].reader->info.path, count, merge->options->align, fit.left_ns,
	                 fit.slope * 1e6);
}

epp_status *trace_merge_align(struct trace_merge *merge)
{
	struct occurrences reference = { 0 };
	bool uneven = false;

	if (merge->machines_count == 1) {
		trace_merge_tell(merge, "all have one machine's clock: no event %s was looked for", merge->options->align);
		return NULL;
	}
	epp_status *status = find_on_machine(merge, 0, &reference, &uneven);

	for (uint32_t i = 1; i < merge->machines_count && !status; i++) {
		struct occurrences found = { 0 };
		bool missing;
		status = find_on_machine(merge, i, &found, &uneven);
		missing = !found.count || !reference.count;
		uneven = uneven || found.count != reference.count;
		if (!status && missing)
			trace_merge_tell(merge, "%s: no event %s: brought on by clocks",
			                 merge->inputs[merge->machines[i].leader].reader->info.path,
			                 merge->options->align);
		if (!status && !missing)
			align_machine(merge, i, &reference, &found);
		if (!status && (missing || uneven) && merge->options->strict)
			status = epp_status_create(EPP_INCOMPATIBLE, "%s: not as many events %s as the others have",
			                           merge->inputs[merge->machines[i].leader].reader->info.path,
			                           merge->options->align);
		free(found.list);
	}
	free(reference.list);
	return status;
}
