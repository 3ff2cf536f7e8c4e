/* The lines of a timeline: the trace's tracks, each with its clock, its nesting, and what its events are joined to.
 *
 * A line's index is its track's in the reader; tracks that records name but nothing defines (the definition was lost with
 * the end of a file) get lines behind those, at most LINES_UNKNOWN_MAX, then they share the last.
 */
#ifndef EPPROF_RUNTIME_TIMELINE_TRACKS_TRACK_STATE_H
#define EPPROF_RUNTIME_TIMELINE_TRACKS_TRACK_STATE_H

#include "timeline/clock/causal_clock.h"
#include "timeline/clock/device_clock.h"
#include "timeline/events/nesting.h"
#include "timeline/events/references.h"

/* Where the times of complete events on a line come from. */
enum line_placing {
	LINE_BY_HOST = 1,
	LINE_BY_PAIRS = 2,
	LINE_BY_OFFSET = 3,   /* microseconds by ONNX Runtime's formula */
	LINE_BY_DURATION = 4, /* no common clock */
};

#define LINES_UNKNOWN_MAX 1024u
#define LINE_NONE UINT32_MAX

struct line {
	/* What every event touches: one cache line. */
	const epp_trace_track *track;
	uint32_t key; /* index, LINE_OTHER */
	uint32_t source;
	struct nest nest;
	bool is_thread;
	bool is_device;
	int64_t error_ns;                                                 /* that all events of its source share */
	struct references_lookup own_lookup __attribute__((aligned(64))); /* ids of the line's events */
	struct references_lookup parent_lookup;                           /* ids they name */
	enum line_placing placement;
	struct device_clock *clock;  /* NULL: none */
	struct causal_clock *causal; /* NULL: its clock was measured, or has no causes */
	size_t host_hint;            /* of its complete events */
	uint64_t ticks_per_second;
	int64_t offset_base_ns; /* LINE_BY_OFFSET: added to the microseconds */
	int64_t offset_error_ns;
	int64_t run_start_ns;
	int64_t run_end_ns;     /* INT64_MAX: not known */
	int64_t session_end_ns; /* while clocks are measured: the latest end of the session's events so far */
	struct line *thread; /* of calls by the host's clock, the waits: the thread whose row they are on; NULL: none */
	uint32_t first_thread; /* devices: a thread's line that the EP named; LINE_NONE: none.  Threads: the next of that id */
};

struct lines {
	struct line *lines; /* with room for all that may be added */
	uint32_t count, known_count;
	epp_trace_track *unknown[LINES_UNKNOWN_MAX]; /* what the trace does not say */
	const struct reader *reader;
};

/* Makes a line for each track, and the clocks they name. */
epp_status *lines_init(struct lines *lines, const struct reader *reader, struct device_clocks *clocks) EPP_MUST_CHECK;
void lines_deinit(struct lines *lines);

/* Once the clocks are fitted: how each line's events are placed. */
void lines_settle(struct lines *lines, const struct host_clock *host);

/* The index of a track's line. */
epp_status *lines_find(struct lines *lines, uint32_t track, uint32_t *index) EPP_MUST_CHECK;

static inline struct line *lines_of_key(const struct lines *lines, uint32_t key)
{
	return &lines->lines[key & ~LINE_OTHER];
}

#endif
