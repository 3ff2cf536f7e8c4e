/* Adds up the events of a timeline by op, kernel, stream, thread and phase.  Memory grows with the number of names
 * and tracks, not with the number of events.  The caller, a summary or an exporter, passes each event. */
#ifndef EPPROF_RUNTIME_ANALYSIS_ACCUMULATOR_H
#define EPPROF_RUNTIME_ANALYSIS_ACCUMULATOR_H

#include "analysis/histogram.h"
#include "analysis/spans.h"
#include "containers/hash_map.h"
#include "epprof/summary.h"
#include "timeline/events/work_kind.h"

/* Attributes the idle time of a stream to reasons.  A gap is the time between the end of a stream's events so far
 * and the start of its next event; before its first event, the gap begins with the trace.  Its time is divided:
 *
 *   unlaunched   until the earliest possible launch of the next event (launch_ns): the device had no work.  The rest of
 *                the trace after a stream's last event counts as unlaunched too
 *   copy         after that, while a copy ran on another stream of the device
 *   late         the rest until the start: the event was launched, and no copy ran
 *   unknown      the next event has no known launch */

/* Further names are added up under "(other names)". */
#define ACCUMULATOR_LINES_MAX 65536u

/* The phases of an accelerator's work: calls that launch it, the time until its start, and each kind of device work,
 * kernels first. */
enum phase { PHASE_SUBMIT, PHASE_QUEUE, PHASE_WORK, PHASE_COUNT = PHASE_WORK + WORK_FILL + 1 };

struct accumulator_line {
	epp_summary_line line; /* the public part of the line */
	char *name;
	/* distinguishes lines of one name: the operator type of a kernel, the provider of an operator type */
	char *detail;
	int64_t busy_until_ns;
	double weights_squared;            /* the sum of the squares of the events' weights */
	enum work work;                    /* only for kernels */
	struct accumulator_line *type;     /* only for nodes: the line of the operator type */
	uint32_t index;                    /* in its table */
	struct accumulator_device *device; /* only for streams */
	struct epp_histogram durations, launches, *gaps, *errors;
};

/* State shared by the streams of a device. */
struct accumulator_device {
	struct accumulator_device *next;
	const epp_trace_track *track; /* one of its tracks */
	struct spans copies;          /* when any copy ran on it */
};

struct accumulator_table {
	struct hash_map index; /* key: name number and category, or track */
	void *by_text;         /* tsearch tree by text, because a file may have the same text under several numbers */
	struct accumulator_line **lines;
	size_t lines_count, lines_room;
};

/* A host event that causes device events: later device events with this parent count for its lines. */
struct accumulator_cause {
	uint64_t id;
	struct accumulator_line *named, *type; /* its op, and its operator type or NULL */
	uint32_t source;
};
#define ACCUMULATOR_CAUSES 65536u
/* The cache is divided into sets of this many entries, by a hash of the id; a new entry replaces the oldest of its
 * set. */
#define ACCUMULATOR_WAYS 8u

/* Zero-initialised by the caller. */
struct accumulator {
	struct accumulator_table tables[EPP_BY_COUNT];
	struct hash_map stacks; /* key: track and lane; values: struct accumulator_stack */
	struct accumulator_device *devices;
	/* a cache of host events that caused device events, ACCUMULATOR_CAUSES entries; NULL: none was added yet */
	struct accumulator_cause *causes;
	struct accumulator_line *phases[PHASE_COUNT];
	epp_summary_totals totals;
	bool has_inner_runs;   /* so which events are runs is unknown */
	uint64_t warmup_count; /* set by the caller at first, as in epp_summary_options */
};

/* Adds the next event, in order of start.  Its args belong to the timeline; with timeline NULL, they are an array as
 * writers get it.  Errors: EPP_OUT_OF_MEMORY. */
epp_status *accumulator_event(struct accumulator *accumulator, const epp_timeline *timeline, const epp_event *event)
    EPP_MUST_CHECK;
/* Called after the last event: adds the idle time after each stream's last event. */
void accumulator_end(struct accumulator *accumulator);
void accumulator_deinit(struct accumulator *accumulator);

#endif
