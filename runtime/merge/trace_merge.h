/* The state of a merge of traces, and its steps:
 *
 *   trace_merge_clock.c        finds traces that share a machine's clock; maps machine clocks to the merged clock
 *   trace_merge_definitions.c  writes everything except records
 *   trace_merge.c              runs the steps
 *
 * Each block is copied as a block: its records keep their order, and get the numbers and times of the merged trace.
 * Device ticks are unchanged; only the host times of their clock pairs are mapped. */
#ifndef EPPROF_RUNTIME_MERGE_TRACE_MERGE_H
#define EPPROF_RUNTIME_MERGE_TRACE_MERGE_H

#include "epprof/merge.h"
#include "timeline/clock/host_clock.h"
#include "trace/reader.h"
#include "trace/writer/trace_writer_private.h"

/* Traces of one boot of a machine, or a single trace whose machine is not known. */
struct merge_machine {
	uint32_t leader; /* index of the input whose clock is the machine's clock */
	uint32_t inputs_count;
	/* clock of the leader's counter, from the clock samples of all inputs that read this counter; it is 0 at the
	 * leader's time 0 */
	struct host_clock clock;
	int64_t clock_error_ns;
	int64_t monotonic_zero_ns;
	bool has_realtime;
	int64_t realtime_ns; /* wall-clock time at the machine's time 0 */
	int64_t realtime_error_ns;
	/* How the clock is mapped: merged time = base + offset + ns + (ns - pivot) * slope. */
	enum epf_relation relation;
	uint64_t error_ns; /* UINT64_MAX: unknown */
	int64_t offset_ns;
	int64_t pivot_ns;
	double slope;
};

/* A track that records reference but no definition describes: its number in the input and in the merged trace. */
struct merge_unknown {
	uint32_t from, to;
};

struct merge_input {
	struct epp_trace *trace;
	const struct reader *reader;
	uint32_t machine;
	enum epf_relation relation; /* relation of the input's clock to the machine's clock */
	int64_t error_ns;
	struct host_clock own; /* only if the input does not read the machine's counter */
	const struct host_clock *clock;
	int64_t offset_ns;   /* time of the input's zero on the machine's clock */
	uint64_t last_ticks; /* latest tick of the host clock in the input */

	/* the numbers in the merged trace of the input's source 0, producer 0 and reader->tracks[0]; the others
	 * follow */
	uint32_t first_source, first_producer, first_track;
	uint32_t *names;   /* number in the merged trace, by number in the input */
	uint32_t *runs;    /* number in the merged trace of each of reader->runs */
	uint32_t only_run; /* the run of records that are in no run of the input */
	struct merge_unknown *unknown;
	uint32_t unknown_count;
};

struct trace_merge {
	struct merge_input *inputs; /* the leader of the reference machine is first */
	size_t inputs_count;
	struct merge_machine *machines; /* the reference machine is first */
	size_t machines_count;
	int64_t base_ns; /* the reference machine's time 0, in merged ticks */
	const epp_merge_options *options;
	epp_receipt_fn receipt;
	void *receipt_user;
	epp_merge_counts counts;
	struct epp_trace_writer *writer;
	struct epf_run *runs;
	size_t runs_count;
};

/* Finds the machines, maps their clocks to the merged clock, and orders the inputs. */
epp_status *trace_merge_relate(struct trace_merge *merge) EPP_MUST_CHECK;

/* Maps the clocks of machines by common events, which is more exact than by wall-clock time.  Machine 0 is the
 * reference. */
epp_status *trace_merge_align(struct trace_merge *merge) EPP_MUST_CHECK;

/* Assigns numbers in the merged trace to sources, names, tracks, runs and producers. */
epp_status *trace_merge_number(struct trace_merge *merge) EPP_MUST_CHECK;
/* Writes the definitions, which are known only after all records were written. */
epp_status *trace_merge_definitions(struct trace_merge *merge) EPP_MUST_CHECK;

/* Return the number in the merged trace of a track, and of a run. */
epp_status *trace_merge_track(struct trace_merge *merge, struct merge_input *input, uint32_t source, uint32_t track,
                              uint32_t *merged) EPP_MUST_CHECK;
uint32_t trace_merge_run(const struct merge_input *input, uint32_t run);

void trace_merge_report(const struct trace_merge *merge, const char *format, ...) EPP_FORMAT(2, 3);

/* Subtracts.  An overflow wraps, because the numbers come from a file that is not trusted. */
static inline int64_t trace_merge_difference(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* Converts a time of a machine's clock to merged ticks, which are nanoseconds; the result is in [1, 2^63). */
static inline uint64_t trace_merge_ticks_at(const struct trace_merge *merge, const struct merge_machine *machine,
                                            int64_t ns)
{
	int64_t ticks;

	if (machine->slope != 0)
		ns += (int64_t)((double)(ns - machine->pivot_ns) * machine->slope);
	if (__builtin_add_overflow(ns, merge->base_ns + machine->offset_ns, &ticks))
		return ns < 0 ? 1 : INT64_MAX;
	return ticks > 0 ? (uint64_t)ticks : 1;
}

/* Converts host ticks of an input to time on its machine's clock, within +-ITEM_NS_MAX. */
static inline int64_t trace_merge_machine_ns(const struct merge_input *input, size_t *hint, uint64_t ticks)
{
	int64_t ns = host_clock_ns(input->clock, hint, ticks) + input->offset_ns;
	return ns > ITEM_NS_MAX ? ITEM_NS_MAX : ns < -ITEM_NS_MAX ? -ITEM_NS_MAX : ns;
}

static inline uint64_t trace_merge_ticks(const struct trace_merge *merge, const struct merge_input *input, size_t *hint,
                                         uint64_t ticks)
{
	return trace_merge_ticks_at(merge, &merge->machines[input->machine], trace_merge_machine_ns(input, hint, ticks));
}

#endif
