/* The requests of a trace, and which events belong to them.
 *
 * If an event is given to requests, the recorder writes an instant that names the event and the requests
 * (base/traceparent.h).  Every other event has the requests of its parent.  A device event may come before its parent
 * in the order of starts, and a time range may begin after the instants, so all events are read once in advance: this
 * collects the requests, the events that were given to them (grants), and the grant of each event to which others refer
 * by id.  An instant may also give an event the requests of an event on another thread.  Afterwards a timeline only has
 * to keep, in addition, the grants of the host events that are open. */
#ifndef EPPROF_RUNTIME_TIMELINE_REQUESTS_H
#define EPPROF_RUNTIME_TIMELINE_REQUESTS_H

#include "containers/string_table.h"
#include "timeline/events/event_grants.h"

struct reader;

struct request {
	uint32_t parent; /* index in `texts`: the traceparent, and after a NUL the tracestate */
	uint32_t source;
	uint64_t id; /* id of the request's asynchronous event; 0: none */
	int64_t begin_ns, first_ns;
	uint32_t events_count;
};

/* An event that was given to requests. */
struct grant {
	uint64_t id;
	uint32_t source;
	uint32_t set;   /* index in `sets` */
	uint32_t *more; /* during the pass: numbers of requests that will be added to the set, in any order; else
                         * NULL */
	size_t more_count, more_room;
};

struct requests {
	struct request *requests;
	size_t requests_count, requests_room;
	struct event_grants started; /* asynchronous events that stand for a request, by id; `grant` is the number of
	                                the request */
	struct string_table texts;
	uint32_t *of_text; /* by the index of a text: the number + 1 of the request without an event that has this text;
                            * 0: none */
	size_t of_text_room;
	struct string_table sets; /* each string is a set: the numbers of its requests, ascending */
	struct grant *grants;
	size_t grants_count, grants_room;
	struct event_grants persistent; /* events that were given to requests, or to which others refer */
};

/* Reads all events of a trace, of the processes that the options select.  *requests is NULL if the trace has no
 * requests.  Ownership: destroyed by the caller. */
epp_status *requests_create(struct reader *reader, const epp_timeline_options *options, struct requests **requests)
    EPP_MUST_CHECK;
void requests_destroy(struct requests *requests);

/* Sets event->requests and EPP_FLAG_OWN_REQUEST.  Must be called for all events, in order of start. */
epp_status *requests_of(const struct requests *requests, struct open_grants *open, epp_event *event) EPP_MUST_CHECK;

/* Returns the number + 1 of an event's grant; 0: it has none, or it has ended and no other event refers to it. */
uint32_t requests_of_id(const struct requests *requests, const struct open_grants *open, uint32_t source, uint64_t id);

/* Returns the id of the event on another thread whose requests an event without a parent has; 0: none. */
uint64_t requests_source_of(const struct requests *requests, uint32_t source, uint64_t id);

/* Returns the numbers of an event's requests.  *count is 0 if event->requests is 0. */
const uint32_t *requests_numbers(const struct requests *requests, const epp_event *event, size_t *count);
bool requests_fill(const struct requests *requests, uint32_t number, epp_request *request);

/* Makes an array with a byte for each grant: 1 if one of its requests has this trace id.  Errors: EPP_INVALID_ARGUMENT
 * (trace_id is malformed), EPP_NOT_FOUND.  `requests` may be NULL.  Ownership: free. */
epp_status *requests_select(const struct requests *requests, const char *trace_id, uint8_t **selected) EPP_MUST_CHECK;

#endif
