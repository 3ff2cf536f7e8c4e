/* The lines of a timeline: the state of each track of the trace, with its clock, its nesting, and its lookups of
 * references.
 *
 * A line has the index of its track in the reader.  Tracks that records reference but no definition describes (for
 * example because the end of the file is lost) get additional lines, at most LINES_UNKNOWN_MAX.  All further such
 * tracks share the last of these lines. */
#ifndef EPPROF_RUNTIME_TIMELINE_TRACKS_TRACK_STATE_H
#define EPPROF_RUNTIME_TIMELINE_TRACKS_TRACK_STATE_H

#include "timeline/clock/causal_clock.h"
#include "timeline/clock/device_clock.h"
#include "timeline/events/nesting.h"
#include "timeline/events/references.h"

/* The method by which the times of a line's complete events are computed. */
enum line_placing {
	LINE_BY_HOST = 1,
	LINE_BY_PAIRS = 2,
	LINE_BY_OFFSET = 3,   /* microseconds, converted by ONNX Runtime's formula */
	LINE_BY_DURATION = 4, /* durations without times */
};

#define LINES_UNKNOWN_MAX 1024u
#define LINE_NONE UINT32_MAX

struct line {
	/* These members are read for every event: one cache line. */
	const epp_trace_track *track;
	uint32_t key; /* index of the line, with LINE_OTHER if it is no thread */
	uint32_t source;
	struct nest nest;
	bool is_thread;
	bool is_device;
	int64_t error_ns;                                                 /* the clock error, in ns, that all events of
	                                                                     the source have in common */
	struct references_lookup own_lookup __attribute__((aligned(64))); /* cache of references_find, for ids of the
                                                                           * line's own events */
	struct references_lookup parent_lookup;                           /* cache of references_find, for ids that the
                                                                           * events reference */
	enum line_placing placement;
	struct device_clock *clock;  /* NULL: none */
	struct causal_clock *causal; /* set by measure_clocks for a device clock with a single sample; else NULL */
	size_t host_hint;            /* segment of the host clock that contains the last converted time of the line */
	uint64_t ticks_per_second;
	int64_t offset_base_ns; /* LINE_BY_OFFSET: host time of 0 microseconds */
	int64_t offset_error_ns;
	int64_t run_start_ns;
	int64_t run_end_ns;     /* end of the run; INT64_MAX: not known */
	int64_t session_end_ns; /* only in the timeline of measure_clocks.c: the latest end of a session event so far */
	struct line *thread; /* only for call tracks in host time: the thread whose row shows the events; NULL: none */
	/* for a device: the first line of the launching thread; for a thread: the next line with the same thread id;
	 * LINE_NONE: none */
	uint32_t first_thread;
};

struct lines {
	struct line *lines; /* the array has room for LINES_UNKNOWN_MAX more */
	uint32_t count, known_count;
	epp_trace_track *unknown[LINES_UNKNOWN_MAX]; /* the tracks that have no definition */
	const struct reader *reader;
};

/* Makes a line for each track, and a device clock for each clock that a track names. */
epp_status *lines_init(struct lines *lines, const struct reader *reader, struct device_clocks *clocks) EPP_MUST_CHECK;
void lines_deinit(struct lines *lines);

/* Sets how the events of each line are placed.  Called after the fit of the clocks. */
void lines_settle(struct lines *lines, const struct host_clock *host);

/* Finds the index of a track's line; adds a line for an unknown track. */
epp_status *lines_find(struct lines *lines, uint32_t track, uint32_t *index) EPP_MUST_CHECK;

static inline struct line *lines_of_key(const struct lines *lines, uint32_t key)
{
	return &lines->lines[key & ~LINE_OTHER];
}

#endif
