/* Computes runs and clock quality from a trace's host clock samples. */
#include "epprof/trace_reader.h"
#include "trace/reader.h"

/* Over shorter spans the uncertainty of two readings is larger than the rate error. */
#define RATE_SPAN_NS 1000000000

static const struct epf_host_pair *first_start(const struct reader *reader)
{
	for (size_t i = 0; i < reader->runs_count; i++) {
		if (reader->runs[i].start.ticks)
			return &reader->runs[i].start;
	}
	return NULL;
}

int epp_trace_run_at(const epp_trace *trace, size_t index, epp_trace_run *run)
{
	const struct reader *reader = trace->reader;
	const struct epf_host_pair *zero = first_start(reader);

	*run = (epp_trace_run){ 0 };
	if (index >= reader->runs_count)
		return 0;
	const struct epf_run *found = &reader->runs[index];
	run->run = found->run;
	run->source = found->source;
	run->start_unix_ns = found->start.realtime_ns;
	run->faults = found->faults;
	if (zero && found->start.ticks)
		run->start_ns = (int64_t)((uint64_t)found->start.monotonic_ns - (uint64_t)zero->monotonic_ns);
	if (zero && found->end.ticks) {
		run->ended = 1;
		run->end_ns = (int64_t)((uint64_t)found->end.monotonic_ns - (uint64_t)zero->monotonic_ns);
	}
	return 1;
}

static int64_t rate_error_ppb(const struct reader *reader, uint64_t per_second)
{
	const struct epf_host_pair *first = &reader->pairs[0], *last = &reader->pairs[reader->pairs_count - 1];
	double ns = (double)last->monotonic_ns - (double)first->monotonic_ns;
	double ticks = (double)(last->ticks - first->ticks);

	if (ns < RATE_SPAN_NS || ticks <= 0)
		return 0;
	double error = (ticks * 1e9 / ns / (double)per_second - 1) * 1e9;
	return error > 1e18 ? (int64_t)1e18 : error < -1e18 ? (int64_t)-1e18 : (int64_t)error;
}

void epp_trace_get_clock(const epp_trace *trace, epp_trace_clock *clock)
{
	const struct reader *reader = trace->reader;
	uint64_t per_second = reader->info.ticks_per_second ? reader->info.ticks_per_second : 1000000000;

	*clock = (epp_trace_clock){ .pairs_count = reader->pairs_count };
	for (size_t i = 0; i < reader->pairs_count; i++) {
		const struct epf_host_pair *pair = &reader->pairs[i];
		double half_width = (double)pair->half_width_ticks * 1e9 / (double)per_second;
		if (half_width < 9e18 && (int64_t)half_width > clock->largest_half_width_ns)
			clock->largest_half_width_ns = (int64_t)half_width;
		if (!i)
			continue;
		uint64_t realtime = (uint64_t)pair->realtime_ns - (uint64_t)pair[-1].realtime_ns;
		uint64_t monotonic = (uint64_t)pair->monotonic_ns - (uint64_t)pair[-1].monotonic_ns;
		uint64_t step = realtime - monotonic;
		step = step > INT64_MAX ? 0 - step : step;
		if (step <= INT64_MAX && (int64_t)step > clock->largest_step_ns)
			clock->largest_step_ns = (int64_t)step;
	}
	if (reader->pairs_count > 1)
		clock->rate_error_ppb = rate_error_ppb(reader, per_second);
}
