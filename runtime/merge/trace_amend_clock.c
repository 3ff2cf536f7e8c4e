/* How times of late traces become times of the amended one: by CLOCK_MONOTONIC, by CLOCK_REALTIME, or not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/same_clock.h"
#include "merge/trace_amend.h"
#include "merge/trace_merge.h"
#include "timeline/clock/host_clock.h"

/* Returns by how many ns the wall clock was changed while the trace was recorded, at most ERROR_NS_MAX. */
static int64_t wall_clock_change(const struct reader *reader, const struct epf_host_pair *zero)
{
	int64_t most_ns = 0;

	for (size_t i = 0; i < reader->pairs_count; i++) {
		const struct epf_host_pair *pair = &reader->pairs[i];
		int64_t real_ns, monotonic_ns, ns;
		if (__builtin_sub_overflow(pair->realtime_ns, zero->realtime_ns, &real_ns) ||
		    __builtin_sub_overflow(pair->monotonic_ns, zero->monotonic_ns, &monotonic_ns) ||
		    __builtin_sub_overflow(real_ns, monotonic_ns, &ns) || ns == INT64_MIN)
			return ERROR_NS_MAX;
		most_ns = llabs(ns) > most_ns ? llabs(ns) : most_ns;
	}
	return most_ns < ERROR_NS_MAX ? most_ns : ERROR_NS_MAX;
}

/* Returns true if both traces, which are of one boot, read the same counter of the processor. */
static bool is_same_counter(const struct reader *a, const struct reader *b)
{
	uint32_t clock = a->header.source.clock;

	return clock == b->header.source.clock && (clock == EPF_CLOCK_TSC || clock == EPF_CLOCK_CNTVCT);
}

/* CLOCK_MONOTONIC of the two traces, which are of one boot, seems to have different zeros: one of them is of a time
 * namespace, or the wall clock was set between them.  A counter that both read shows which.  Otherwise the error of
 * the wall clock includes the difference. */
static epp_status *relate_zeros(const struct amend *amend, struct late *late, const struct epf_host_pair *zero,
                                const struct epf_host_pair *ours)
{
	int64_t off_ns = distance(realtime_offset(zero), realtime_offset(ours));

	if (is_same_counter(amend->reader, late->trace->reader)) {
		struct host_clock clock;
		size_t hint = 0;
		EPP_TRY(host_clock_init(&clock, amend->reader));
		int64_t since_ns = host_clock_ns(&clock, &hint, zero->ticks);
		host_clock_deinit(&clock);
		if (distance(trace_merge_difference(zero->monotonic_ns, ours->monotonic_ns), since_ns) <= SAME_ZERO_NS) {
			late->relation = BY_MONOTONIC;
			return NULL;
		}
		off_ns = distance(trace_merge_difference(zero->realtime_ns, ours->realtime_ns), since_ns);
	}
	if (off_ns < ERROR_NS_MAX)
		late->zero_error_ns += off_ns;
	else
		late->relation = UNRELATED;
	return NULL;
}

epp_status *amend_relate(const struct amend *amend, struct late *late)
{
	const struct reader *theirs = late->trace->reader;
	const struct epf_host_pair zero = host_clock_zero(theirs), ours = host_clock_zero(amend->reader);
	uint64_t per_second = theirs->header.source.ticks_per_second;
	double half_ns = per_second ? (double)zero.half_width_ticks * 1e9 / (double)per_second : 0;
	bool has_same_zero = distance(realtime_offset(&zero), realtime_offset(&ours)) <= SAME_ZERO_NS;
	bool has_realtime = zero.realtime_ns >= UNIX_NS_LEAST && ours.realtime_ns >= UNIX_NS_LEAST;

	late->relation = has_realtime ? BY_REALTIME : UNRELATED;
	late->zero_error_ns = half_ns < ERROR_NS_MAX ? (int64_t)half_ns + 1 : ERROR_NS_MAX;
	/* Without the time of day, zeros cannot be compared. */
	if (same_boot(amend->reader, theirs) && (has_same_zero || !has_realtime))
		late->relation = BY_MONOTONIC;
	else if (same_boot(amend->reader, theirs))
		EPP_TRY(relate_zeros(amend, late, &zero, &ours));
	late->zero_ns = late->relation == BY_MONOTONIC ? zero.monotonic_ns : zero.realtime_ns;
	if (late->relation == BY_REALTIME)
		late->zero_error_ns += wall_clock_change(theirs, &zero);
	return NULL;
}

void amend_report(const struct amend *amend, epp_receipt_fn receipt, void *user)
{
	char text[1280];

	for (size_t i = 0; i < amend->late_count && receipt; i++) {
		const struct late *late = &amend->late[i];
		const char *host = late->trace->reader->header.source.hostname;
		const char *how = late->relation == UNRELATED ? "no common clock: its events keep their duration only"
		                  : late->relation == BY_MONOTONIC ? "by the monotonic clock of the same machine"
		                  : strcmp(host, amend->reader->header.source.hostname) == 0
		                      ? "by wall-clock time"
		                      : "by wall-clock time: plus the unknown difference between the machines' wall clocks";
		snprintf(text, sizeof(text), "%.900s: %s", amend_path_of(late->trace), how);
		receipt(user, text);
	}
}

static epp_status *put_pair(struct amend *amend, const struct late *late, uint32_t track,
                            const struct epf_host_pair *pair, uint64_t error_ticks)
{
	int64_t ns = late->relation == BY_MONOTONIC ? pair->monotonic_ns : pair->realtime_ns;

	if (ns <= 0)
		return NULL;
	return amend_put(amend, track,
	                 &(struct epf_record){ .start_ticks = (uint64_t)ns,
	                                       .duration_ticks = pair->ticks,
	                                       .id = pair->half_width_ticks + error_ticks,
	                                       .name = EPF_NAME_CLOCK_PAIR,
	                                       .bits = EPF_BITS(0, EPF_CLOCK_PAIR, 0, 0) });
}

epp_status *amend_put_pairs(struct amend *amend, struct late *late, uint32_t track)
{
	const struct reader *ours = amend->reader, *theirs = late->trace->reader;
	const struct epf_source *a = &ours->header.source, *b = &theirs->header.source;
	bool is_same = late->relation == BY_MONOTONIC && a->clock == b->clock && a->clock != EPF_CLOCK_MERGED;
	size_t theirs_count = is_same ? theirs->pairs_count : 0;
	double error_ns = (double)late->error_ns + (double)late->zero_error_ns;
	uint64_t error_ticks = (uint64_t)((error_ns < ERROR_NS_MAX ? error_ns : ERROR_NS_MAX) *
	                                  ((double)a->ticks_per_second / 1e9)) +
	                       1;

	late->has_pairs = true;
	for (size_t i = 0, k = 0; i < ours->pairs_count || k < theirs_count;) {
		bool is_ours = k == theirs_count ||
		               (i < ours->pairs_count && ours->pairs[i].ticks <= theirs->pairs[k].ticks);
		const struct epf_host_pair *pair = is_ours ? &ours->pairs[i++] : &theirs->pairs[k++];
		EPP_TRY(put_pair(amend, late, track, pair, error_ticks));
	}
	return NULL;
}
