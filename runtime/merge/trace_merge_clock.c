/* Finds the traces that share a clock, and maps the clocks of machines to each other.
 *
 * Traces of one boot that read the same counter use one map of that counter, made from the clock samples of all of
 * them, so the order of their events is exact.  Another clock of the same boot is mapped by CLOCK_MONOTONIC, another
 * boot by CLOCK_REALTIME: at the most precise sample, and any change of CLOCK_REALTIME in between is part of the
 * error.
 */
#include <bsd/stdlib.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "merge/trace_merge.h"

/* A unix time before this (2001) is not one: imported traces count from 0. */
#define UNIX_NS_LEAST 1000000000000000000
/* Offsets are limited so far below 2^62 that sums of a few do not overflow. */
#define OFFSET_NS_MAX (ITEM_NS_MAX / 4)
/* If the difference to CLOCK_REALTIME differs by more than this, two CLOCK_MONOTONIC do not have the same zero: for
 * example a container with a time namespace. */
#define SAME_ZERO_NS 1000000000

void trace_merge_tell(const struct trace_merge *merge, const char *format, ...)
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

static int64_t distance(int64_t a, int64_t b)
{
	int64_t difference;
	if (__builtin_sub_overflow(a, b, &difference) || difference == INT64_MIN)
		return INT64_MAX;
	return difference < 0 ? -difference : difference;
}

static int64_t realtime_offset(const struct epf_host_pair *pair)
{
	int64_t offset;
	return __builtin_sub_overflow(pair->realtime_ns, pair->monotonic_ns, &offset) ? INT64_MAX : offset;
}

/* Returns the input's clock samples, or its zero if it has none. */
static const struct epf_host_pair *pairs_of(const struct reader *reader, const struct epf_host_pair *zero, size_t *count)
{
	*count = reader->pairs_count ? reader->pairs_count : 1;
	return reader->pairs_count ? reader->pairs : zero;
}

/* Returns the error of a map against CLOCK_MONOTONIC: at the samples that it passes through, or at all if it uses
 * the nominal rate. */
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

/* Computes the unix time at the machine's zero from the most precise sample. */
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

static bool same_boot(const struct reader *a, const struct reader *b)
{
	static const uint8_t unknown[sizeof(a->header.source.boot_id)];
	return memcmp(a->header.source.boot_id, unknown, sizeof(unknown)) != 0 &&
	       memcmp(a->header.source.boot_id, b->header.source.boot_id, sizeof(unknown)) == 0;
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

/* Collects the samples of the machine's counter from all traces that read it and have the same zero. */
static epp_status *pool_pairs(const struct trace_merge *merge, uint32_t number, const struct epf_host_pair *zero,
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

	epp_status *status = pool_pairs(merge, number, &zero, &pool, &count);
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

/* Maps a trace of the machine that does not read the machine's counter. */
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

/* Moves the reference machine and its leader to the front: the first machine with wall-clock time. */
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
