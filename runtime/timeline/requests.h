/* The requests of a trace, and which events belong to them.
 *
 * The recorder marks an event that is given to requests with an instant that names it (base/traceparent.h).  Every other
 * event has the requests of its parent.  A device event may come before its parent
 * in the order of starts, and a time range may begin after the instants, so all events are read once in advance:
 * this collects the requests, the events that were given to them (grants), and the grant of each event that others
 * refer to by id.  An event on another thread may also have the requests of a given event.  Afterwards each timeline needs, in addition, only the grants of the host events that are open. */
#ifndef EPPROF_RUNTIME_TIMELINE_REQUESTS_H
#define EPPROF_RUNTIME_TIMELINE_REQUESTS_H

#include "containers/string_table.h"
#include "timeline/events/granted.h"

struct reader;

struct request {
	uint32_t parent; /* in `texts`: traceparent, and tracestate after a NUL */
	uint32_t source;
	uint64_t id; /* of its asynchronous event; 0: none */
	int64_t begin_ns, first_ns;
	uint32_t events_count;
};

/* An event that was given to requests. */
struct grant {
	uint64_t id;
	uint32_t source;
	uint32_t set;   /* in `sets` */
	uint32_t *more; /* while reading: numbers of requests that are not in the set yet, in any order; else NULL */
	size_t more_count, more_room;
};

struct requests {
	struct request *requests;
	size_t requests_count, requests_room;
	struct granted begun; /* requests by the id of their event: `grant` is the number of the request */
	struct string_table texts;
	uint32_t *of_text; /* the request without an event of a text; 0: none, else number + 1 */
	size_t of_text_room;
	struct string_table sets; /* each: the numbers of its requests, ascending */
	struct grant *grants;
	size_t grants_count, grants_room;
	struct granted lasting; /* events that were given to requests, or that others refer to */
};

/* Reads all events of a trace, in the processes that the options choose.  NULL: the trace has no requests.
 * Ownership: destroyed by the caller. */
epp_status *requests_create(struct reader *reader, const epp_timeline_options *options, struct requests **requests)
    EPP_MUST_CHECK;
void requests_destroy(struct requests *requests);

/* Sets event->requests and its flag.  Called for all events in order of start. */
epp_status *requests_of(const struct requests *requests, struct open_grants *open, epp_event *event) EPP_MUST_CHECK;

/* Returns the number of the grant of an event that has begun, plus 1; 0: none, or the event has ended and no other event
 * refers to it. */
uint32_t requests_of_id(const struct requests *requests, const struct open_grants *open, uint32_t source, uint64_t id);

/* Returns the event on another thread from which an event without a parent has its requests; 0: none. */
uint64_t requests_source_of(const struct requests *requests, uint32_t source, uint64_t id);

/* The numbers of the requests of an event; none if event->requests is 0. */
const uint32_t *requests_numbers(const struct requests *requests, const epp_event *event, size_t *count);
bool requests_fill(const struct requests *requests, uint32_t number, epp_request *request);

/* Makes an array with a byte for each grant: 1 if one of its requests has this trace id.
 * Errors: EPP_INVALID_ARGUMENT (it is no trace id), EPP_NOT_FOUND.  `requests` may be NULL.  Ownership: free. */
epp_status *requests_select(const struct requests *requests, const char *trace_id, uint8_t **selected) EPP_MUST_CHECK;

#endif
