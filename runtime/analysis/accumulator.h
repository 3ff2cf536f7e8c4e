/* Adds up the events of a timeline by op, kernel, stream, thread and phase, one by one.  Memory grows with the number of names and
 * tracks, not with the number of events.  Whoever has the events, a summary or an exporter, passes them on. */
#ifndef EPPROF_RUNTIME_ANALYSIS_ACCUMULATOR_H
#define EPPROF_RUNTIME_ANALYSIS_ACCUMULATOR_H

#include "analysis/histogram.h"
#include "analysis/idle.h"
#include "containers/hash_map.h"
#include "timeline/events/work.h"

/* Names beyond these are added up under "(other names)". */
#define TALLY_LINES_MAX 65536u

/* Parts of an accelerator's work: calls that launch, the time until the start, and each kind of work of a device, the
 * kernels first. */
enum phase { PHASE_SUBMIT, PHASE_QUEUE, PHASE_WORK, PHASE_COUNT = PHASE_WORK + WORK_FILL + 1 };

struct accumulator_line {
	epp_summary_line line; /* what is told of it */
	char *name;
	char *detail; /* that tells apart lines of one name: of a kernel its operator type, of an operator type its provider */
	int64_t busy_until_ns;
	enum work work;                    /* of a kernel */
	struct accumulator_line *type;     /* of a node: the line of its operator type */
	uint32_t index;                    /* in its table */
	struct accumulator_device *device; /* of a stream */
	struct epp_histogram durations, launches, *gaps, *errors;
};

/* What the streams of a device share. */
struct accumulator_device {
	struct accumulator_device *next;
	const epp_trace_track *track; /* one of its tracks */
	struct idle_copies copies;
};

struct accumulator_table {
	struct hash_map index; /* by the name's number and the category, or by the track */
	void *by_text;         /* tsearch tree: a file may have a text under several numbers */
	struct accumulator_line **lines;
	size_t lines_count, lines_room;
};

/* A node that caused events of devices: those that follow are of its operator type. */
struct accumulator_cause {
	uint64_t id;
	struct accumulator_line *type;
	uint32_t source;
};
#define TALLY_CAUSES 8192u

/* Zero at first. */
struct accumulator {
	struct accumulator_table tables[EPP_BY_COUNT];
	struct hash_map stacks; /* struct accumulator_stack by track and lane */
	struct accumulator_device *devices;
	struct accumulator_cause *causes; /* TALLY_CAUSES by id, the last ones; NULL: no node told its operator */
	struct accumulator_line *phases[PHASE_COUNT];
	epp_summary_totals totals;
	uint64_t warmup_count; /* set at first, as in epp_summary_options */
};

/* The next event, in order of the start; its args are the timeline's, or as a writer is given them (NULL).
 * Errors: EPP_OUT_OF_MEMORY. */
epp_status *accumulator_event(struct accumulator *accumulator, const epp_timeline *timeline, const epp_event *event)
    EPP_MUST_CHECK;
/* After the last one: the time behind each stream's last event. */
void accumulator_end(struct accumulator *accumulator);
void accumulator_deinit(struct accumulator *accumulator);

#endif
