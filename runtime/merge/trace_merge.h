/* The state of a merge of traces, and its steps:
 *
 *   trace_merge_clock.c        finds traces that share a machine's clock; maps machine clocks to the merged trace's
 *   trace_merge_definitions.c  writes everything except records
 *   trace_merge.c              runs the steps
 *
 * Each block is copied as a block: its records keep their order, and get the numbers and times of the merged trace.
 * Device ticks are unchanged; only the host times of their clock pairs are mapped.
 */
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
	/* of the leader's counter, from the clock samples of all inputs that read it; 0 at the leader's zero */
	struct host_clock clock;
	int64_t clock_error_ns;
	int64_t monotonic_zero_ns;
	bool has_realtime;
	int64_t realtime_ns; /* wall-clock time at the zero */
	int64_t realtime_error_ns;
	/* The mapping: merged time = base + offset + ns + (ns - pivot) * slope. */
	enum epf_relation relation;
	uint64_t error_ns; /* UINT64_MAX: unknown */
	int64_t offset_ns;
	int64_t pivot_ns;
	double slope;
};

/* A track that records reference and no definition describes. */
struct merge_unknown {
	uint32_t from, to;
};

struct merge_input {
	struct epp_trace *trace;
	const struct reader *reader;
	uint32_t machine;
	enum epf_relation relation; /* to the machine's clock */
	int64_t error_ns;
	struct host_clock own; /* only if it does not read the machine's counter */
	const struct host_clock *clock;
	int64_t offset_ns;   /* of the zero of its clock, on the machine's clock */
	uint64_t last_ticks; /* latest tick of the host clock */

	/* in the merged trace; first_track is that of reader->tracks[0] */
	uint32_t first_source, first_producer, first_track;
	uint32_t *names;   /* indexed by the input's name number */
	uint32_t *runs;    /* parallel to reader->runs */
	uint32_t only_run; /* for inputs without a run, and for records without a run */
	struct merge_unknown *unknown;
	uint32_t unknown_count;
};

struct trace_merge {
	struct merge_input *inputs; /* the reference's leader comes first */
	size_t inputs_count;
	struct merge_machine *machines; /* the reference comes first */
	size_t machines_count;
	int64_t base_ns; /* merged time of the reference's zero */
	const epp_merge_options *options;
	epp_receipt_fn receipt;
	void *receipt_user;
	epp_merge_counts counts;
	struct epp_trace_writer *writer;
	struct epf_run *runs;
	size_t runs_count;
};

/* Finds the machines, maps their clocks, and orders the inputs. */
epp_status *trace_merge_relate(struct trace_merge *merge) EPP_MUST_CHECK;

/* Maps clocks by common events, which is more exact than wall-clock time.  Machine 0 is the reference. */
epp_status *trace_merge_align(struct trace_merge *merge) EPP_MUST_CHECK;

/* Assigns the merged numbers of sources, names, tracks, runs and producers. */
epp_status *trace_merge_number(struct trace_merge *merge) EPP_MUST_CHECK;
/* Writes everything that is known only after the records are written. */
epp_status *trace_merge_definitions(struct trace_merge *merge) EPP_MUST_CHECK;

/* Return the merged number of a track, and of a run. */
epp_status *trace_merge_track(struct trace_merge *merge, struct merge_input *input, uint32_t source, uint32_t track,
                              uint32_t *merged) EPP_MUST_CHECK;
uint32_t trace_merge_run(const struct merge_input *input, uint32_t run);

void trace_merge_report(const struct trace_merge *merge, const char *format, ...) EPP_FORMAT(2, 3);

/* Wraps on overflow, because the numbers come from an untrusted file. */
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
