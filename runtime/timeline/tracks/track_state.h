/* The lines of a timeline: the state of each track of the trace, with its clock, its nesting, and its lookups of
 * references.
 *
 * A line has the index of its track in the reader.  Tracks that records reference but no definition describes (for
 * example because the end of the file is lost) get additional lines, at most LINES_UNKNOWN_MAX; further ones share
 * the last.
 */
#ifndef EPPROF_RUNTIME_TIMELINE_TRACKS_TRACK_STATE_H
#define EPPROF_RUNTIME_TIMELINE_TRACKS_TRACK_STATE_H

#include "timeline/clock/causal_clock.h"
#include "timeline/clock/device_clock.h"
#include "timeline/events/nesting.h"
#include "timeline/events/references.h"

/* How complete events of a line are placed. */
enum line_placing {
	LINE_BY_HOST = 1,
	LINE_BY_PAIRS = 2,
	LINE_BY_OFFSET = 3,   /* microseconds, by ONNX Runtime's formula */
	LINE_BY_DURATION = 4, /* no common clock */
};

#define LINES_UNKNOWN_MAX 1024u
#define LINE_NONE UINT32_MAX

struct line {
	/* Used for every event: one cache line. */
	const epp_trace_track *track;
	uint32_t key; /* index and LINE_OTHER */
	uint32_t source;
	struct nest nest;
	bool is_thread;
	bool is_device;
	int64_t error_ns;                                                 /* shared by all events of its source */
	struct references_lookup own_lookup __attribute__((aligned(64))); /* for ids of the line's own events */
	struct references_lookup parent_lookup;                           /* for ids that they reference */
	enum line_placing placement;
	struct device_clock *clock;  /* NULL: none */
	struct causal_clock *causal; /* set by measure_clocks for a device clock with a single sample; else NULL */
	size_t host_hint;            /* segment of its last query of the host clock */
	uint64_t ticks_per_second;
	int64_t offset_base_ns; /* LINE_BY_OFFSET: added to the microseconds */
	int64_t offset_error_ns;
	int64_t run_start_ns;
	int64_t run_end_ns;     /* INT64_MAX: not known */
	int64_t session_end_ns; /* in the pass of measure.c: the latest end of the session events so far */
	struct line *thread; /* only for call tracks in host time: the thread whose row shows the events; NULL: none */
	/* of a device: the first line of the launching thread, LINE_NONE: none; of a thread: the next line with that
	 * thread id */
	uint32_t first_thread;
};

struct lines {
	struct line *lines; /* with room for LINES_UNKNOWN_MAX more */
	uint32_t count, known_count;
	epp_trace_track *unknown[LINES_UNKNOWN_MAX]; /* tracks without a definition */
	const struct reader *reader;
};

/* Makes a line for each track, and the device clocks that tracks name. */
epp_status *lines_init(struct lines *lines, const struct reader *reader, struct device_clocks *clocks) EPP_MUST_CHECK;
void lines_deinit(struct lines *lines);

/* Sets how each line's events are placed; called once the clocks are fitted. */
void lines_settle(struct lines *lines, const struct host_clock *host);

/* Finds the index of a track's line; adds a line for an unknown track. */
epp_status *lines_find(struct lines *lines, uint32_t track, uint32_t *index) EPP_MUST_CHECK;

static inline struct line *lines_of_key(const struct lines *lines, uint32_t key)
{
	return &lines->lines[key & ~LINE_OTHER];
}

#endif
