/* epprof: the events of a trace, merged from all threads and devices onto one clock, in order of their start.
 *
 *   epp_timeline *timeline;
 *   epp_timeline_create(trace, NULL, &timeline);
 *   const epp_event *event;
 *   while (epp_timeline_next(timeline, &event)) ...
 *   epp_status *status = epp_timeline_status(timeline);
 *   epp_timeline_destroy(timeline);
 *
 * Placement.  The time of a device event is converted to the host's clock: by the piecewise fit over clock pairs, by
 * ONNX Runtime's formula if there is one sample, or, without a common clock, by moving the event inside its parent.
 * Each event has its placement (how its time was found) and an error bound.  A device event is linked to the host event
 * that caused it by token or id, else by containment (marked inferred).  An event without a host event is marked
 * uncorrelated; if several host events could be its parent it is marked ambiguous.
 * Cause and effect narrow the bound.  A device event begins no earlier than its parent, if the parent was recorded
 * with it.  It ends no later than the host event that waited for it: an event of category API that is the target of a
 * flow from the device event or from its parent (epp_flow_record(session, launch, wait)).  Cause, effect and the
 * clock's own bound together leave a time range.  For an event placed inside this range, the bound is the distance to
 * the farther end of the range.  An event placed outside of it keeps the clock's bound.
 *
 * These limits do not move an event whose clock has clock pairs.  A clock that was compared with the host's only once
 * may be off by 500 ppm of the time since the comparison, and may have jumped; it is measured by all its events
 * together.  Each event begins after its parent began.  It ends before the end of the event that waited for it, or
 * before the end of the outermost event of category session around its parent; the second limit is not used if
 * durations show that the host leaves work running.  If these limits show that the clock is off, its events are moved,
 * and the bound is the range that the limits leave.  If the limits contradict each other everywhere, the bound is the
 * widest range that any of them allows.
 *
 * A wait for a parent covers the work that was launched under the parent before the wait began.  A thread that waits
 * launches nothing, so this is the work that began before the wait ended: if there are several waits, an event belongs
 * to the first one that ended after the latest time at which the event can have begun.  An event that can have begun
 * before and after the end of the last wait belongs to that wait if it is placed before the wait's end; if it is placed
 * after the end, it was launched later and no wait covers it.
 *
 * Memory: 80 bytes a block, 2 bits an id in id ranges that are referenced, 32 bytes a referenced event, 40 bytes a flow
 * until the merge begins and 16 after that, 48 bytes an end that was recorded apart from its event, the decoded blocks
 * (at most 64 MiB) and the events that are open at one instant; nothing else grows with the trace.  Blocks that overlap
 * too much are sorted through a temporary file.  If a clock has to be measured by cause and effect, the trace is read
 * once more in advance, and each such clock takes at most 8 MiB.  So is a trace with weights, which take some 40 bytes for
 * each run that has one, and for each event in it that others refer to.
 *
 * Thread, unless a function says otherwise: one at a time for one trace and all timelines of it.
 */
#ifndef EPPROF_TIMELINE_H
#define EPPROF_TIMELINE_H

#include "epprof/trace_reader.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct epp_timeline epp_timeline;

typedef enum epp_event_kind {
	EPP_EVENT_SLICE = 1, /* start and duration, nested in its track */
	EPP_EVENT_INSTANT = 2,
	EPP_EVENT_COUNTER = 3, /* the value is the first arg */
	EPP_EVENT_FLOW = 4,    /* a link from event `parent` to event `id`, at start_ns */
	EPP_EVENT_ASYNC = 5    /* a slice that need not nest in other slices */
} epp_event_kind;

typedef enum epp_placement {
	EPP_PLACED_MEASURED = 0,
	EPP_PLACED_FITTED = 1,
	EPP_PLACED_FORMULA = 2,
	EPP_PLACED_INFERRED = 3,  /* the parent was found by containment */
	EPP_PLACED_DURATION = 4,  /* no common clock: moved inside its parent */
	EPP_PLACED_CLAMPED = 5,   /* moved into its parent, on request */
	EPP_PLACED_AMBIGUOUS = 6, /* several host events could be the parent: it has none */
	EPP_PLACEMENT_COUNT
} epp_placement;

/* "measured", "fitted", ...; "unknown" beyond the last.
 * Thread: [any-thread].  Ownership: valid for the life of the process. */
EPP_EXPORT const char *epp_placement_name(unsigned placement);

enum epp_event_flags {
	EPP_FLAG_UNENDED = 1, /* no end was recorded, the event was closed with its parent or its run; the duration
	                         is a lower bound */
	EPP_FLAG_OPEN = 2,    /* still open when the trace was read or cut off */
	EPP_FLAG_ARGS_CUT = 4,
	EPP_FLAG_ENDED_ON_OTHER_THREAD = 8, /* ended on another thread */
	EPP_FLAG_REFERENCED = 16,           /* the parent of a device event or an async event */
	EPP_FLAG_UNCORRELATED = 32,         /* a device event without a host event */
	EPP_FLAG_OUTSIDE_PARENT = 64, /* begins before its parent began, or ends after the event that waited for it
	                                 ended, or, without such a wait, after the outermost event around its parent
	                                 ended; by more than its error bound: reported, not moved */
	EPP_FLAG_AFTER_WAIT = 128,    /* OUTSIDE_PARENT, and an event waited for it: one of the two times is wrong */
	EPP_FLAG_FLOW = 256,          /* the source or the target of an EPP_EVENT_FLOW */
	EPP_FLAG_OWN_REQUEST = 512    /* the event was itself given to its requests; other events with requests
	                                 have those of their parent.  Only with epp_timeline_options.requests */
};

typedef struct epp_event {
	int64_t start_ns; /* since epp_trace_info.epoch_unix_ns */
	int64_t duration_ns;
	int64_t start_error_ns; /* the true start is within start_ns +- this; 0: read from the host's clock, whose
	                           samples agree */
	int64_t end_error_ns;
	uint64_t start_ticks; /* as recorded, of the track's clock */
	uint64_t end_ticks;
	uint64_t id;
	uint64_t parent;  /* the enclosing event's id on a thread, the causing event's on a device; 0: none */
	const char *name; /* any bytes, NUL-terminated */
	size_t name_bytes;
	const epp_trace_track *track;
	const epp_trace_track *parent_track; /* of a device event's parent; NULL: unknown, or not yet known */
	int64_t parent_start_ns;             /* of a device event's parent; INT64_MIN: unknown */
	int64_t parent_end_ns;
	int64_t launch_ns; /* when a device event was submitted, if its profiler measured that; else the earliest time
	                         at which it can have been launched: parent_start_ns, or the end of the last wait under
	                         its parent that ended before its start; INT64_MIN: unknown */
	int64_t queue_ns;  /* when it entered the device's queue, as its profiler measured; INT64_MIN: unknown */
	uint32_t name_number; /* the number of `name` in the file, for epp_trace_name */
	uint32_t run;
	uint32_t depth;    /* 0: the outermost event of its lane */
	uint32_t lane;     /* 0: the track itself; events that overlap without nesting take 1, 2, ... */
	uint8_t kind;      /* epp_event_kind */
	uint8_t category;  /* epp_category */
	uint8_t placement; /* epp_placement */
	uint8_t args_count;
	uint32_t flags;    /* epp_event_flags */
	const void *args;  /* for epp_event_args */
	uint32_t requests; /* not 0: it belongs to requests, for epp_timeline_request_at; events with the same number
	                      have the same requests.  0 without epp_timeline_options.requests */
	uint32_t weight;   /* how many events of the program it stands for: 1, or more if a budget for overhead left out
	                      others.  An event has the weight of its parent, a flow that of the event at its beginning */
} epp_event;

typedef struct epp_timeline_options {
	size_t struct_size;
	int64_t from_ns; /* only events that overlap [from, to); 0 and 0: all */
	int64_t to_ns;
	uint32_t clamp_to_parent; /* 1: device events are moved into their parent and marked clamped */
	uint32_t run;             /* only this run; 0: all */
	/* For a merged trace: only processes whose byte is not 0, `sources_count` bytes; NULL: all.  Blocks of the
	 * other processes are not read.
	 * Ownership: borrowed until the timeline is destroyed. */
	const uint8_t *sources;
	size_t sources_count;
	uint32_t as_claimed; /* 1: device events keep the time and the bound that their clock gives; causes and waits
	                        are ignored */
	uint32_t requests;   /* 1: finds the requests that events belong to.  The trace is then read once more in
	                        advance, if it has requests; takes some 40 bytes for each event that was given to
	                        requests or is referenced by others, and 4 bytes for each request in a set */
	/* Only events that belong to a request with this trace id, 32 hex digits; NULL: all.  Implies `requests`.
	 * Ownership: borrowed for the call. */
	const char *trace_id;
	uint32_t unweighted; /* 1: all events have the weight 1, and a trace with weights is not read in advance */
	uint32_t reserved;
} epp_timeline_options;

/* Prepares the merge: reads the index of blocks, and the blocks of devices once.
 * `options` may be NULL.  Errors: EPP_INVALID_ARGUMENT (an option), EPP_NOT_FOUND (no request has the trace id), EPP_IO,
 * EPP_CORRUPT, EPP_OUT_OF_MEMORY.
 * Ownership: the caller destroys it, before the trace is closed. */
EPP_EXPORT epp_status *epp_timeline_create(epp_trace *trace, const epp_timeline_options *options, epp_timeline **timeline)
    EPP_MUST_CHECK;

/* Gets the next event in order of start_ns (at equal starts on one track the outer one first).  At the end and after an
 * error it returns 0 and sets `*event` to NULL.
 * Ownership: valid until the next call. */
EPP_EXPORT int epp_timeline_next(epp_timeline *timeline, const epp_event **event);

/* Iterates over the args of an event: set `*cursor` to 0 before the first call.  Returns 0 after the last arg.
 * A measured launch_ns or queue_ns is an arg of that name: the time from there to start_ns.
 * Ownership: valid until the next epp_timeline_next. */
EPP_EXPORT int epp_event_args(const epp_timeline *timeline, const epp_event *event, size_t *cursor, epp_trace_arg *arg);

/* Why epp_timeline_next returned 0: NULL at the end, else the error.  The error is returned once.
 * Ownership: the caller destroys it.  Errors: EPP_IO, EPP_CORRUPT, EPP_OUT_OF_MEMORY. */
EPP_EXPORT epp_status *epp_timeline_status(epp_timeline *timeline) EPP_MUST_CHECK;

/* A request, of epp_context_set or epp_context_begin. */
typedef struct epp_request {
	size_t struct_size;  /* set by the caller */
	uint64_t id;         /* of its asynchronous event, with `source`; 0: it has none */
	char trace_id[33];   /* lower-case hex, NUL-terminated, as the next one */
	char parent_id[17];  /* the span in which it was sent */
	uint8_t trace_flags; /* of its traceparent; bit 0: sampled */
	uint8_t reserved[5];
	const char *tracestate; /* "" if there is none.  Ownership: valid until the timeline is destroyed */
	uint32_t source;
	uint32_t events_count; /* how many events were given to it */
	int64_t begin_ns;      /* when it began; INT64_MIN without an asynchronous event */
	int64_t first_ns;      /* when the first event was given to it; INT64_MAX: none was */
} epp_request;

/* Gets the request number `index` of an event of this timeline, or, with `event` NULL, of the trace; 0 beyond the last.
 * Several requests of a trace may have the same trace id. */
EPP_EXPORT int epp_timeline_request_at(const epp_timeline *timeline, const epp_event *event, size_t index,
                                       epp_request *request);

/* Statistics of the merge so far.
 * Ownership: valid until the timeline is destroyed. */
typedef struct epp_timeline_counts {
	uint64_t events;
	uint64_t correlated;   /* device events with a parent by token or id */
	uint64_t inferred;     /* device events whose parent was found by containment */
	uint64_t uncorrelated; /* device events without a parent */
	uint64_t outside_parent;
	int64_t largest_error_ns;
	uint64_t ambiguous; /* device events that several host events could have caused; they have no parent */
	/* Clocks that were compared with the host's only once, counted by what cause and effect show; known when the
	 * timeline is created.  Jumped: the clock jumps.  Contradicted: the limits contradict each other so often that
	 * the bound is the widest range that any of them allows. */
	uint64_t jumped_clocks;
	uint64_t contradicted_clocks;
	/* Clocks that were compared only once and have no causes: those with events outside all runs of a model, or
	 * with runs without events.  All that is known about the time of their events is the run of the recording. */
	uint64_t adrift_clocks;
} epp_timeline_counts;
EPP_EXPORT const epp_timeline_counts *epp_timeline_get_counts(const epp_timeline *timeline);

/* Destroys a timeline; NULL does nothing. */
EPP_EXPORT void epp_timeline_destroy(epp_timeline *timeline);

#ifdef __cplusplus
}
#endif
#endif
