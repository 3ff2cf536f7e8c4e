/* The frame that the rules of advice share.  A rule is a file with one struct advice_rule and a row in the table of
 * advice.c.  Each event is passed to all rules once, in order of start.  At the end, each rule reports its findings.
 *
 *   advice.c               the table of rules, the pass over the timeline, the public functions
 *   name_statistics.c      events by name
 *   host_bound.c, ...      one rule each */
#ifndef EPPROF_RUNTIME_ANALYSIS_ADVICE_ADVICE_H
#define EPPROF_RUNTIME_ANALYSIS_ADVICE_ADVICE_H

#include <stdbool.h>

#include "analysis/spans.h"
#include "base/status.h"
#include "epprof/advice.h"
#include "timeline/events/work_kind.h"

/* A device: all streams of one group of one process. */
struct advice_device {
	struct advice_device *next;
	const epp_trace_track *track; /* one of the device's tracks */
	uint32_t index;               /* 0, 1, ... */
	int64_t busy_until_ns;        /* the latest end of the device's events so far; busy_until_error_ns is its error
	                                 bound */
	int64_t busy_until_error_ns;
	bool is_tiny_last; /* the event with the latest end was a short kernel */
};

/* Causes of the time before a device event in which its device did nothing.  If several apply, the first in this order
 * is used. */
enum gap_cause {
	GAP_NONE,       /* there was no gap, because the device was busy */
	GAP_OTHER,      /* no known cause; includes gaps in which the host was idle too */
	GAP_TINY,       /* a gap of at most 50 us between two kernels of less than 10 us */
	GAP_FALLBACK,   /* the host was in a node on the processor: of the same run, or for at least half of the gap */
	GAP_ALLOCATION, /* the host allocated memory for at least half of the gap */
	GAP_WAIT,       /* the host launched the event after it had waited for the device */
	GAP_HOST        /* a host event ran, and the host launched the device event only after the device was idle */
};

struct advice_gap {
	enum gap_cause cause;
	int64_t from_ns; /* start of the gap, which ends with the start of the event */
	int64_t gain_ns; /* the part of the gap that the cause explains */
	int64_t error_ns;
	bool is_in_run; /* the gap is within a run of the model: no run began in the gap, and all nodes so far are of
	                   one thread */
};

/* A slice or an asynchronous event, with the data that rules need. */
struct advice_event {
	const epp_event *event;
	enum work work;               /* kind of work; only for device events */
	struct advice_device *device; /* NULL: a host event */
	int64_t end_ns;
	int64_t error_ns; /* error bound of the duration: the sum of the bounds of both times */
	struct advice_gap gap;
};

/* State of one pass over a timeline. */
struct advice_pass {
	const epp_timeline *timeline; /* the timeline from which args are read; NULL: event->args is an array of them,
	                                 as exporters get it */
	struct advice_device *devices;
	uint32_t devices_count;
	/* the times when any thread was: in an event (host), in a node that runs on the processor (fallbacks), in an
	 * allocation, in a wait for the device */
	struct spans host, fallbacks, allocations, waits;
	int64_t first_ns, last_ns;
	int64_t run_start_ns, run_end_ns;  /* of the last outermost event of category session */
	const epp_trace_track *node_track; /* the track of the last node; NULL: there was none */
	bool has_node_threads;             /* nodes were recorded on more than one track */
	/* the last rule that was not reported because its gain was not larger than its error; NULL: none */
	const epp_advice_rule *unclear;
	epp_advice *advice;
	void **states;    /* states of the rules */
	uint8_t *classes; /* classes of host events, by the number of their name; 0: not classified yet */
	size_t classes_room;
};

/* A pass is used directly by callers that also need the events for other purposes.  Errors of all functions:
 * EPP_OUT_OF_MEMORY. */
epp_status *advice_pass_create(const epp_timeline *timeline, struct advice_pass **pass) EPP_MUST_CHECK;
/* Takes the next event, in order of start. */
epp_status *advice_pass_process(struct advice_pass *pass, const epp_event *event) EPP_MUST_CHECK;
/* Ends the rules.  Must be called after the last event.  Ownership: the advice belongs to the pass. */
epp_status *advice_pass_end(struct advice_pass *pass, const epp_advice **advice) EPP_MUST_CHECK;
/* NULL does nothing. */
void advice_pass_destroy(struct advice_pass *pass);

/* ---- sums of a rule ---- */

#define ADVICE_PLACES 8u

/* Sums over the places of a finding, and the places with the largest gain, the largest first.  Zero-initialised:
 * empty. */
struct advice_places {
	epp_advice_place top[ADVICE_PLACES];
	uint64_t count;
	int64_t gain_ns, error_ns;
};

void advice_places_add(struct advice_places *places, const epp_advice_place *place, int64_t error_ns);
/* Returns the place from the start of an event to its end, with a gain. */
static inline epp_advice_place advice_place_of(const struct advice_event *event, int64_t gain_ns)
{
	return (epp_advice_place){ .start_ns = event->event->start_ns,
		                   .end_ns = event->end_ns,
		                   .gain_ns = gain_ns,
		                   .id = event->event->id,
		                   .track = event->event->track };
}
/* Returns the place of the gap before an event. */
static inline epp_advice_place advice_place_before(const struct advice_event *event)
{
	return (epp_advice_place){ .start_ns = event->gap.from_ns,
		                   .end_ns = event->event->start_ns,
		                   .gain_ns = event->gap.gain_ns,
		                   .id = event->event->id,
		                   .track = event->event->track };
}

/* Adds the gap before an event, if the gap has the given cause. */
static inline void advice_places_add_gap(struct advice_places *places, const struct advice_event *event,
                                         enum gap_cause cause)
{
	const epp_advice_place place = advice_place_before(event);

	if (event->gap.cause == cause)
		advice_places_add(places, &place, event->gap.error_ns);
}

/* Adds a finding with the sums, places and count of `places`.  Does nothing if the gain is too small or too uncertain.
 * If the gain is less than three times its error, the confidence is one step lower.  Errors: EPP_OUT_OF_MEMORY. */
epp_status *advice_report(struct advice_pass *pass, const epp_advice_rule *rule, const struct advice_places *places,
                          epp_confidence confidence, const char *format, ...) EPP_FORMAT(5, 6) EPP_MUST_CHECK;
/* Adds a finding without a gain, with the places and the count of `places`.  Errors: EPP_OUT_OF_MEMORY. */
epp_status *advice_report_doubt(struct advice_pass *pass, const epp_advice_rule *rule, const struct advice_places *places,
                                const char *format, ...) EPP_FORMAT(4, 5) EPP_MUST_CHECK;

#define ADVICE_TIME_BYTES 32
/* Formats a time, for example "1.25 ms".  Returns `text`. */
const char *advice_time(int64_t ns, char text[ADVICE_TIME_BYTES]);

/* ---- rules ---- */

struct advice_rule {
	epp_advice_rule rule; /* the part of the rule that is public */
	size_t state_bytes;   /* size of the state that the functions below get; it is zeroed at first */
	epp_status *(*process_event)(const struct advice_pass *pass, void *state, const struct advice_event *event);
	epp_status *(*end)(struct advice_pass *pass, void *state);
	void (*deinit)(void *state); /* frees members of the state; NULL: there are none to free */
};

extern const struct advice_rule advice_host_bound;
extern const struct advice_rule advice_tiny_kernels;
extern const struct advice_rule advice_cpu_fallback;
extern const struct advice_rule advice_allocation;
extern const struct advice_rule advice_sync_waits;
extern const struct advice_rule advice_copies_alone;
extern const struct advice_rule advice_repeated_copies;
extern const struct advice_rule advice_serialised_streams;
extern const struct advice_rule advice_queue_growth;
extern const struct advice_rule advice_slow_outlier;
extern const struct advice_rule advice_warm_up;
extern const struct advice_rule advice_imbalance;
extern const struct advice_rule advice_clock_quality;

/* SQL that the rules about gaps share: each event of a device with its launch, and the time until which the device was
 * busy before. */
#define ADVICE_SQL_GAPS \
	"WITH g AS (SELECT * FROM (\n" \
	"  SELECT d.source, d.group_name, d.start_ns, d.duration_ns, d.work, h.start_ns AS launch_ns, max(d.start_ns + d.duration_ns) OVER (\n" \
	"    PARTITION BY d.source, d.group_name ORDER BY d.event ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING\n" \
	"  ) AS busy_until_ns, lag(d.duration_ns) OVER (PARTITION BY d.source, d.group_name ORDER BY d.event) AS last_ns\n" \
	"  FROM timeline d LEFT JOIN timeline h ON h.id = d.parent AND h.source = d.source AND h.kind = 'slice'\n" \
	"  WHERE d.stream IS NOT NULL AND d.kind = 'slice') WHERE start_ns > busy_until_ns)\n"

#endif
