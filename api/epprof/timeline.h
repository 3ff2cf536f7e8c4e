/* epprof: the events of a trace, merged from all threads and devices onto one clock, in order of their start.
 *
 *   epp_timeline *timeline;
 *   epp_timeline_create(trace, NULL, &timeline);
 *   const epp_event *event;
 *   while (epp_timeline_next(timeline, &event)) ...
 *   epp_status *status = epp_timeline_status(timeline);
 *   epp_timeline_destroy(timeline);
 *
 * Placement.  The time of a device event is converted to the host's clock: by the piecewise fit over clock pairs; by
 * ONNX Runtime's formula if there is only one pair; or, without a common clock, by moving the event inside its parent.
 * The placement of an event is the method by which its time was found; each event also has an error bound.  The parent
 * of a device event is the host event that caused it.  It is found by token or id, else by containment (then the event
 * is marked inferred).  A device event without a parent is marked uncorrelated or, if several host events could be its
 * parent, ambiguous.
 * Cause and effect narrow the bound.  A device event begins no earlier than its parent, if the parent was recorded with
 * it.  It ends no later than the host event that waited for it: an event of category API that is the target of a flow
 * from the device event or from its parent (epp_flow_record(session, launch, wait)).  Cause, effect and the clock's own
 * bound together limit the time of the event to a range.  If the event is placed inside this range, its bound is the
 * distance to the farther end of the range.  If it is placed outside, it keeps the clock's bound.
 *
 * An event whose clock has clock pairs is not moved by these limits.  A clock that was compared with the host's only
 * once may be wrong by 500 ppm of the time since the comparison, and may have jumped.  Its offset is therefore measured
 * from the limits of all its events together.  Each event begins after its parent began.  It ends before the end of the
 * event that waited for it, or before the end of the outermost event of category session around its parent; the second
 * limit is not used if durations show that the host does not wait for all work.  If these limits show that the clock is
 * wrong, its events are moved, and the bound is the range that the limits allow.  If the limits contradict each other
 * everywhere, the bound is the widest range that any of them allows.
 *
 * A wait for a parent covers the work that was launched under the parent before the wait began.  A thread that waits
 * launches nothing, so this is also the work that began before the wait ended.  If there are several waits, an event
 * belongs to the first wait that ended after the latest time at which the event can have begun.  If the range of the
 * event's start contains the end of the last wait, the placement decides: an event that is placed before the end of the
 * wait belongs to the wait; one that is placed after the end was launched later, and no wait covers it.
 *
 * Memory: 80 bytes a block; 2 bits an id in id ranges that are referenced; 32 bytes a referenced event; 40 bytes a flow
 * until the merge begins, and 16 after that; 48 bytes an end that was recorded apart from its event; the decoded blocks
 * (at most 64 MiB); and the events that are open at one instant.  Nothing else grows with the trace.  Blocks that
 * overlap too much are sorted through a temporary file.  If a clock has to be measured by cause and effect, the trace
 * is read once more in advance, and each such clock takes at most 8 MiB.  A trace with weights is also read once or
 * twice more in advance; it takes some 40 bytes for each run with a weight, and for each event in such a run that
 * others refer to.
 *
 * Thread, unless a function says otherwise: one at a time for one trace and all timelines of it. */
#ifndef EPPROF_TIMELINE_H
#define EPPROF_TIMELINE_H

#include "epprof/trace_reader.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct epp_timeline epp_timeline;

typedef enum epp_event_kind {
	EPP_EVENT_SLICE = 1, /* an event with start and duration, nested in its track */
	EPP_EVENT_INSTANT = 2,
	EPP_EVENT_COUNTER = 3, /* a value of a counter; the value is the first arg */
	EPP_EVENT_FLOW = 4,    /* a link from event `parent` to event `id`; its time is start_ns */
	EPP_EVENT_ASYNC = 5    /* an event with start and duration that need not nest in other events */
} epp_event_kind;

typedef enum epp_placement {
	EPP_PLACED_MEASURED = 0,
	EPP_PLACED_FITTED = 1,
	EPP_PLACED_FORMULA = 2,
	EPP_PLACED_INFERRED = 3,  /* the parent was found because its time contains the event's; or it ended on another
	                             thread, and the event may have been launched after that */
	EPP_PLACED_DURATION = 4,  /* no common clock: moved inside its parent */
	EPP_PLACED_CLAMPED = 5,   /* moved into its parent, as options.clamp_to_parent requests */
	EPP_PLACED_AMBIGUOUS = 6, /* several host events could be the parent, so the event has none */
	EPP_PLACEMENT_COUNT
} epp_placement;

/* Returns the name of an epp_placement: "measured", "fitted", ...; "unknown" beyond the last.
 * Thread: [any-thread].  Ownership: valid for the life of the process. */
EPP_EXPORT const char *epp_placement_name(unsigned placement);

enum epp_event_flags {
	EPP_FLAG_UNENDED = 1, /* no end was recorded: the event was closed with its parent or its run, and its duration
	                         is a lower bound */
	EPP_FLAG_OPEN = 2,    /* the event was still open when the trace was read or when its process was killed */
	EPP_FLAG_ARGS_CUT = 4,
	EPP_FLAG_ENDED_ON_OTHER_THREAD = 8, /* ended on another thread */
	EPP_FLAG_REFERENCED = 16,           /* the event is the parent of a device event or of an async event */
	EPP_FLAG_UNCORRELATED = 32,         /* a device event for which no host event was found */
	EPP_FLAG_OUTSIDE_PARENT = 64, /* the event begins before its parent began; or it ends after the end of the event
	                                 that waited for it or, if none waited, of the outermost event around its
	                                 parent; by more than its error bound.  The event is not moved */
	EPP_FLAG_AFTER_WAIT = 128,    /* EPP_FLAG_OUTSIDE_PARENT because of an event that waited: the time of the event
	                                 or of the wait is wrong */
	EPP_FLAG_FLOW = 256,          /* the event is the source or the target of an EPP_EVENT_FLOW */
	EPP_FLAG_OWN_REQUEST = 512    /* the requests were assigned to this event itself; other events with requests
	                                 have those of their parent.  Only with epp_timeline_options.requests */
};

typedef struct epp_event {
	int64_t start_ns; /* the time since epp_trace_info.epoch_unix_ns */
	int64_t duration_ns;
	int64_t start_error_ns; /* the true start is within start_ns +- start_error_ns; 0: the time was read from the
	                           host's clock, and the samples of this clock agree */
	int64_t end_error_ns;
	uint64_t start_ticks; /* as recorded, in ticks of the track's clock */
	uint64_t end_ticks;
	uint64_t id;
	uint64_t parent;  /* on a thread the id of the enclosing event, on a device that of the causing event; 0:
	                     none */
	const char *name; /* any bytes, NUL-terminated */
	size_t name_bytes;
	const epp_trace_track *track;
	const epp_trace_track *parent_track; /* the track of a device event's parent; NULL: unknown, or not yet known */
	int64_t parent_start_ns;             /* the start of a device event's parent; INT64_MIN: unknown */
	int64_t parent_end_ns;
	int64_t launch_ns; /* when a device event was submitted, if its profiler measured it.  Else the earliest time at
	                      which it can have been launched: parent_start_ns, or the end of the last wait under its
	                      parent that ended before its start.  INT64_MIN: unknown, as for an event that has a
	                      duration only */
	int64_t queue_ns;  /* when a device event entered the device's queue, if its profiler measured it; INT64_MIN:
	                      unknown */
	uint32_t name_number; /* the number of `name` in the file, for epp_trace_name */
	uint32_t run;
	uint32_t depth;    /* 0: the outermost event of its lane */
	uint32_t lane;     /* 0: the track itself; events that overlap without nesting are in lanes 1, 2, ... */
	uint8_t kind;      /* epp_event_kind */
	uint8_t category;  /* epp_category */
	uint8_t placement; /* epp_placement */
	uint8_t args_count;
	uint32_t flags;    /* epp_event_flags */
	const void *args;  /* the args; read them with epp_event_args */
	uint32_t requests; /* not 0: the event belongs to requests, which epp_timeline_request_at returns; events with
	                      the same number have the same requests.  0 without epp_timeline_options.requests */
	uint32_t weight;   /* the number of events of the program for which this one stands: 1, or more if a budget for
	                      overhead left out others.  An event has the weight of its parent; a flow has the weight of
	                      its source */
} epp_event;

typedef struct epp_timeline_options {
	size_t struct_size;
	int64_t from_ns; /* only events that overlap [from_ns, to_ns); both 0: all */
	int64_t to_ns;
	uint32_t clamp_to_parent; /* 1: device events are moved into their parent and marked clamped */
	uint32_t run;             /* only events of this run; 0: all */
	/* For a merged trace: `sources_count` bytes, one for each process.  Only events of processes whose byte is not
	 * 0 are included; NULL: all.  Blocks of the other processes are not read.
	 * Ownership: borrowed until the timeline is destroyed. */
	const uint8_t *sources;
	size_t sources_count;
	uint32_t as_claimed; /* 1: device events have the time and the bound that their clock gives; causes and waits
	                        are ignored */
	uint32_t requests;   /* 1: the requests of events are found.  A trace with requests is then read once more in
	                        advance.  Memory: some 40 bytes for each event to which requests were assigned or which
	                        others refer to, and 4 bytes for each request in a set */
	/* Only events that belong to a request with this trace id, 32 hex digits; NULL: all.  Implies `requests`.
	 * Ownership: borrowed for the call. */
	const char *trace_id;
	uint32_t unweighted; /* 1: all events have the weight 1, and a trace with weights is not read in advance */
	uint32_t reserved;
} epp_timeline_options;

/* Prepares the merge: reads the index of blocks, and the blocks of devices once.
 * `options` may be NULL.  Errors: EPP_INVALID_ARGUMENT (an option), EPP_NOT_FOUND (no request has the trace id), EPP_IO,
 * EPP_CORRUPT, EPP_OUT_OF_MEMORY.
 * Ownership: the caller destroys the timeline before the trace is closed. */
EPP_EXPORT epp_status *epp_timeline_create(epp_trace *trace, const epp_timeline_options *options, epp_timeline **timeline)
    EPP_MUST_CHECK;

/* Gets the next event in order of start_ns.  If two events of one track have the same start, the outer one is first.
 * At the end and after an error it returns 0 and sets `*event` to NULL.
 * Ownership: valid until the next call. */
EPP_EXPORT int epp_timeline_next(epp_timeline *timeline, const epp_event **event);

/* Iterates over the args of an event: set `*cursor` to 0 before the first call.  Returns 0 after the last arg.
 * If launch_ns or queue_ns was measured, it also appears as an arg with this name, whose value is the time from it to
 * start_ns; the text "unknown" if the event has no start.
 * Ownership: valid until the next epp_timeline_next. */
EPP_EXPORT int epp_event_args(const epp_timeline *timeline, const epp_event *event, size_t *cursor, epp_trace_arg *arg);

/* Returns NULL if epp_timeline_next returned 0 at the end, else the error for which it returned 0.  The error is
 * returned once.
 * Ownership: the caller destroys the status.  Errors: EPP_IO, EPP_CORRUPT, EPP_OUT_OF_MEMORY. */
EPP_EXPORT epp_status *epp_timeline_status(epp_timeline *timeline) EPP_MUST_CHECK;

/* A request that was begun by epp_context_set or epp_context_begin. */
typedef struct epp_request {
	size_t struct_size;  /* sizeof(epp_request), set by the caller */
	uint64_t id;         /* the id of the request's asynchronous event, unique with `source`; 0: the request has no
	                        such event */
	char trace_id[33];   /* lower-case hexadecimal, NUL-terminated; parent_id, too */
	char parent_id[17];  /* the span in which the request was sent */
	uint8_t trace_flags; /* the flags of the request's traceparent; bit 0: sampled */
	uint8_t reserved[5];
	const char *tracestate; /* "" if the request has none.  Ownership: valid until the timeline is destroyed */
	uint32_t source;
	uint32_t events_count; /* the number of events to which the request was assigned */
	int64_t begin_ns;      /* the begin of the asynchronous event; INT64_MIN if the request has none */
	int64_t first_ns;      /* the time at which the request was assigned to an event for the first time; INT64_MAX:
	                          never */
} epp_request;

/* Gets the request number `index` of an event of this timeline or, if `event` is NULL, of the trace.  Returns 0 beyond
 * the last.  Several requests of a trace may have the same trace id. */
EPP_EXPORT int epp_timeline_request_at(const epp_timeline *timeline, const epp_event *event, size_t index,
                                       epp_request *request);

/* Statistics of the merge so far.
 * Ownership: valid until the timeline is destroyed. */
typedef struct epp_timeline_counts {
	uint64_t events;
	uint64_t correlated;   /* device events whose parent was found by token or id */
	uint64_t inferred;     /* device events whose parent was found by containment */
	uint64_t uncorrelated; /* device events for which no parent was found */
	uint64_t outside_parent;
	int64_t largest_error_ns;
	uint64_t ambiguous; /* device events that several host events could have caused; they have no parent */
	/* Clocks that were compared with the host's only once, as measured by cause and effect when the timeline is
	 * created.  jumped_clocks: clocks with a jump.  contradicted_clocks: clocks whose limits contradict each other
	 * so often that the bound is the widest range that any limit allows. */
	uint64_t jumped_clocks;
	uint64_t contradicted_clocks;
	/* Clocks that were compared only once, have no causes, and are proven wrong: events lie outside all runs of a
	 * model, or runs of a model have no events.  The only known limit of their events' times is the run of the
	 * recording. */
	uint64_t adrift_clocks;
} epp_timeline_counts;
EPP_EXPORT const epp_timeline_counts *epp_timeline_get_counts(const epp_timeline *timeline);

/* Destroys a timeline; NULL does nothing. */
EPP_EXPORT void epp_timeline_destroy(epp_timeline *timeline);

#ifdef __cplusplus
}
#endif
#endif
