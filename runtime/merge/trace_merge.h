/* The state of a merge of traces, and its steps:
 *
 *   trace_merge_clock.c  which traces share a machine's clock; how each machine's is brought onto the merged trace's
 *   trace_merge_align.c  the same by events that the machines have in common
 *   trace_merge_definitions.c    what the merged trace says besides its records
 *   trace_merge_copy.c   the records, block by block
 *   trace_merge.c        the order of things
 *
 * A block becomes a block: its records keep their order, and get the numbers and times of the merged trace.  Ticks of
 * devices stay as they are, with their clock pairs brought on.
 */
#ifndef EPPROF_RUNTIME_MERGE_TRACE_MERGE_H
#define EPPROF_RUNTIME_MERGE_TRACE_MERGE_H

#include "epprof/merge.h"
#include "timeline/clock/host_clock.h"
#include "trace/reader.h"
#include "trace/writer/trace_writer_private.h"

#define MERGE_NONE UINT32_MAX

/* Traces of one boot of a machine, or one trace whose machine is not known. */
struct merge_machine {
	uint32_t leader; /* the input whose clock is the machine's */
	uint32_t inputs_count;
	struct host_clock clock; /* of the leader's counter, out of the pairs of all that read it; 0 at the leader's zero */
	int64_t clock_error_ns;
	int64_t monotonic_zero_ns;
	bool has_realtime;
	int64_t realtime_ns; /* at the zero */
	int64_t realtime_error_ns;
	/* How it is brought on: merged time = base + offset + ns + (ns - pivot) * slope. */
	enum epf_relation relation;
	uint64_t error_ns; /* UINT64_MAX: not known */
	int64_t offset_ns;
	int64_t pivot_ns;
	double slope;
};

/* A track that records name and nothing defines. */
struct merge_unknown {
	uint32_t from, to;
};

struct merge_input {
	struct epp_trace *trace;
	const struct reader *reader;
	uint32_t machine;
	enum epf_relation relation; /* to the machine's clock */
	int64_t error_ns;
	struct host_clock own; /* if it does not read the machine's counter */
	const struct host_clock *clock;
	int64_t offset_ns;   /* of its clock's zero on the machine's clock */
	uint64_t last_ticks; /* of the host's clock */

	uint32_t first_source, first_producer, first_track; /* in the merged trace; of tracks the first in reader->tracks */
	uint32_t *names;                                    /* by the input's number */
	uint32_t *runs;                                     /* beside reader->runs */
	uint32_t only_run; /* of an input without any, and for records that name none */
	struct merge_unknown *unknown;
	uint32_t unknown_count;
};

struct trace_merge {
	struct merge_input *inputs; /* the reference's first */
	size_t inputs_count;
	struct merge_machine *machines; /* likewise */
	size_t machines_count;
	int64_t base_ns; /* the merged time of the reference's zero */
	const epp_merge_options *options;
	epp_receipt_fn receipt;
	void *receipt_user;
	epp_merge_counts counts;
	struct epp_trace_writer *writer;
	struct epf_run *runs;
	size_t runs_count;
};

/* Finds the machines and brings their clocks on; orders the inputs. */
epp_status *trace_merge_relate(struct trace_merge *merge) EPP_MUST_CHECK;

/* Brings on by events what clocks tell less well.  Machine 0 is the reference. */
epp_status *trace_merge_align(struct trace_merge *merge) EPP_MUST_CHECK;

/* Sources, names, tracks, runs and producers get their numbers. */
epp_status *trace_merge_number(struct trace_merge *merge) EPP_MUST_CHECK;
/* All that is known only when the records are written. */
epp_status *trace_merge_say(struct trace_merge *merge) EPP_MUST_CHECK;

epp_status *trace_merge_copy(struct trace_merge *merge, struct merge_input *input) EPP_MUST_CHECK;

/* The merged number of a track, of a run. */
epp_status *trace_merge_track(struct trace_merge *merge, struct merge_input *input, uint32_t source, uint32_t track,
                              uint32_t *merged) EPP_MUST_CHECK;
uint32_t trace_merge_run(const struct merge_input *input, uint32_t run);

void trace_merge_tell(const struct trace_merge *merge, const char *format, ...) EPP_FORMAT(2, 3);

/* Of numbers that a file may have made up: wraps. */
static inline int64_t trace_merge_difference(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* A time of a machine's clock as merged ticks, which are nanoseconds: never 0, never beyond 2^63. */
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

/* Host ticks of an input as time of its machine's clock, within +-ITEM_NS_MAX. */
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
