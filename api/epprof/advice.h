/* epprof: advice about a trace.  A finding names what costs time, where, how much time could be gained, and what to
 * try.
 *
 *   epp_advice *advice;
 *   epp_advice_create(trace, NULL, &advice);
 *   for (size_t i = 0; i < epp_advice_findings_count(advice); i++)
 *       ... epp_advice_finding_at(advice, i)->gain_ns ...
 *   epp_advice_destroy(advice);
 *
 * Each rule looks for one cause of lost time.  A finding has a gain and the bound of its error, which includes the
 * error bounds of the clocks.  A gain that is not larger than its error, or is below EPP_ADVICE_LEAST_PERCENT of the
 * trace's time, is not reported.  docs/advise.md describes the rules.
 *
 * Memory grows with the number of names and tracks, not with the number of events.
 *
 * Thread, unless a function says otherwise: [any-thread]; advice does not change after epp_advice_create. */
#ifndef EPPROF_ADVICE_H
#define EPPROF_ADVICE_H

#include "epprof/timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

#define EPP_ADVICE_LEAST_PERCENT 1

typedef struct epp_advice epp_advice;

/* How likely it is that the rule names the true cause, and that the whole gain is possible. */
typedef enum epp_confidence {
	EPP_CONFIDENCE_LOW = 0,
	EPP_CONFIDENCE_MEDIUM = 1,
	EPP_CONFIDENCE_HIGH = 2,
	EPP_CONFIDENCE_COUNT
} epp_confidence;

/* Returns "low", "medium" or "high"; "unknown" for any other value.
 * Thread: [any-thread].  Ownership: valid for the life of the process. */
EPP_EXPORT const char *epp_confidence_name(unsigned confidence);

typedef struct epp_advice_rule {
	const char *name;          /* for example "host-bound" */
	const char *title;         /* one line, for example "the device waits for the host to launch work" */
	const char *documentation; /* what the rule looks for and how it computes the gain; lines end with '\n' */
	const char *remedy;        /* what to try */
	const char *sql;           /* a query for epprof/sql.h that finds the same places; NULL: none */
} epp_advice_rule;

/* Returns a rule; NULL beyond the last.
 * Thread: [any-thread].  Ownership: valid for the life of the process. */
EPP_EXPORT const epp_advice_rule *epp_advice_rule_at(size_t index);

/* A place in the trace to which a finding applies. */
typedef struct epp_advice_place {
	int64_t start_ns; /* the start of the lost time, or of the event */
	int64_t end_ns;
	int64_t gain_ns;
	uint64_t id; /* the id of the event; for a gap, of the event after the gap */
	const epp_trace_track *track;
} epp_advice_place;

typedef struct epp_advice_finding {
	const epp_advice_rule *rule;
	const char *text; /* the finding in words, one or more sentences; names in the text can contain any bytes except
	                     NUL */
	int64_t gain_ns;  /* the largest possible gain; 0: the finding is about the trace itself */
	int64_t gain_error_ns;
	uint32_t confidence; /* epp_confidence */
	uint32_t reserved;
	uint64_t count; /* the number of all places; `places` has those with the largest gain, the largest first */
	const epp_advice_place *places;
	size_t places_count;
} epp_advice_finding;

/* Reads the events once and applies all rules.  `options` may be NULL.  Errors: EPP_IO, EPP_CORRUPT, EPP_OUT_OF_MEMORY,
 * EPP_INVALID_ARGUMENT (an option that this version does not have).
 * Thread: one at a time for one trace.  Ownership: the caller destroys it, before the trace is closed. */
EPP_EXPORT epp_status *epp_advice_create(epp_trace *trace, const epp_timeline_options *options, epp_advice **advice)
    EPP_MUST_CHECK;

/* The time from the first start to the last end of all events; gains are compared with it.
 * Units: nanoseconds. */
EPP_EXPORT int64_t epp_advice_total_ns(const epp_advice *advice);
EPP_EXPORT size_t epp_advice_findings_count(const epp_advice *advice);
/* The findings, the largest gain first; NULL beyond the last.
 * Ownership: valid until the advice is destroyed. */
EPP_EXPORT const epp_advice_finding *epp_advice_finding_at(const epp_advice *advice, size_t index);

/* Destroys advice; NULL does nothing. */
EPP_EXPORT void epp_advice_destroy(epp_advice *advice);

#ifdef __cplusplus
}
#endif
#endif
