/* Adds up the events of a timeline by op, kernel, stream, thread and phase.  Memory grows with the number of names and
 * tracks, not with the number of events.  The caller, which is a summary or an exporter, passes each event. */
#ifndef EPPROF_RUNTIME_ANALYSIS_ACCUMULATOR_H
#define EPPROF_RUNTIME_ANALYSIS_ACCUMULATOR_H

#include "analysis/histogram.h"
#include "analysis/spans.h"
#include "containers/hash_map.h"
#include "epprof/summary.h"
#include "timeline/events/work_kind.h"

/* Attributes the idle time of a stream to reasons.  A gap is the time between the end of a stream's events so far and
 * the start of its next event; before its first event, the gap begins with the trace.  The time of a gap is divided:
 *
 *   unlaunched   until the earliest possible launch of the next event (launch_ns): the device had no work.  The rest of
 *                the trace after a stream's last event counts as unlaunched too
 *   copy         after that, while a copy ran on another stream of the device
 *   late         the rest until the start: the event was launched, and no copy ran
 *   unknown      the next event has no known launch */

/* If there are more names, further ones are added up under "(other names)". */
#define ACCUMULATOR_LINES_MAX 65536u

/* The phases of work on an accelerator: the calls that launch it, the time until it starts, and each kind of device
 * work, kernels first. */
enum phase { PHASE_SUBMIT, PHASE_QUEUE, PHASE_WORK, PHASE_COUNT = PHASE_WORK + WORK_FILL + 1 };

struct accumulator_line {
	epp_summary_line line; /* the public part of the line */
	char *name;
	/* second text, which distinguishes lines with the same name: for a kernel the operator type, for an operator
	 * type the provider; NULL: none */
	char *detail;
	int64_t busy_until_ns;
	double weights_squared;            /* sum of the squares of the events' weights */
	enum work work;                    /* only for kernels */
	struct accumulator_line *type;     /* only for nodes: the line of the operator type */
	uint32_t index;                    /* index of the line in its table */
	struct accumulator_device *device; /* only for streams */
	struct epp_histogram durations, launches, *gaps, *errors;
};

/* State that the streams of a device share. */
struct accumulator_device {
	struct accumulator_device *next;
	const epp_trace_track *track; /* one of the device's tracks */
	struct spans copies;          /* the times when a copy ran on the device */
};

struct accumulator_table {
	struct hash_map index; /* finds lines by key: name number and category, or track */
	/* tsearch tree of the lines by text, because a trace may have the same text under several name numbers */
	void *by_text;
	struct accumulator_line **lines;
	size_t lines_count, lines_room;
};

/* A host event that causes device events, in a cache.  Device events with this parent are added to its lines. */
struct accumulator_cause {
	uint64_t id;
	struct accumulator_line *named, *type; /* the line of its name, and the line of its operator type or NULL */
	uint32_t source;
};
#define ACCUMULATOR_CAUSES 65536u
/* Number of entries in a set of the cache.  The set is chosen by a hash of the id; a new entry replaces the oldest of
 * its set. */
#define ACCUMULATOR_WAYS 8u

/* The values that a device event adds to the lines of its cause. */
struct accumulator_caused {
	int64_t duration_ns;
	int64_t launch_ns; /* from the launch to the start; INT64_MIN: unknown */
	uint64_t weight;
};

/* A device event that came before its cause, because its start is not exact.  It is added when its cause comes. */
struct accumulator_early {
	uint64_t parent; /* 0: an unused entry */
	struct accumulator_caused caused;
	uint32_t source;
};
#define ACCUMULATOR_EARLY 4096u

/* Zero-initialised by the caller. */
struct accumulator {
	struct accumulator_table tables[EPP_BY_COUNT];
	struct hash_map stacks; /* finds struct accumulator_stack by track and lane */
	/* Of each thread: the duration of the last run, by class of weight; 1 if there was a run, by class and name; and the
	 * last run's weight.  A class is the logarithm of the weight. */
	struct hash_map runs;
	struct accumulator_device *devices;
	/* cache of ACCUMULATOR_CAUSES host events that caused device events; NULL: no event was added yet */
	struct accumulator_cause *causes;
	/* cache of ACCUMULATOR_EARLY device events, in sets of ACCUMULATOR_WAYS; NULL: no event was added yet */
	struct accumulator_early *early;
	struct accumulator_line *phases[PHASE_COUNT];
	epp_summary_totals totals;
	bool has_inner_runs;   /* some run is inside another event, so it is unknown which events are runs */
	uint64_t warmup_count; /* as in epp_summary_options; set by the caller before the first event */
};

/* Adds the next event, in order of start.  The event's args are read from `timeline`.  If `timeline` is NULL,
 * event->args is an array of the args, as export writers get it.  Errors: EPP_OUT_OF_MEMORY. */
epp_status *accumulator_event(struct accumulator *accumulator, const epp_timeline *timeline, const epp_event *event)
    EPP_MUST_CHECK;
/* Adds the idle time after the last event of each stream.  Must be called after the last event. */
void accumulator_end(struct accumulator *accumulator);
void accumulator_deinit(struct accumulator *accumulator);

#endif
