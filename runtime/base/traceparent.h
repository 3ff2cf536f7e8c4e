/* The grammar of the W3C header traceparent (https://www.w3.org/TR/trace-context/):
 *   VERSION-TRACE_ID-PARENT_ID-FLAGS, lower-case hex of 2, 32, 16 and 2 digits.
 * A later version than 00 may have more fields after another '-'. */
#ifndef EPPROF_RUNTIME_BASE_TRACEPARENT_H
#define EPPROF_RUNTIME_BASE_TRACEPARENT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define TRACEPARENT_BYTES 55u /* the size of a version 00 header; later versions may have further fields */
#define TRACEPARENT_TRACE_ID 3u
#define TRACEPARENT_TRACE_ID_BYTES 32u
#define TRACEPARENT_PARENT_ID 36u
#define TRACEPARENT_PARENT_ID_BYTES 16u
#define TRACEPARENT_FLAGS 53u

static inline bool traceparent_is_hex(const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		if (!((text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f')))
			return false;
	}
	return true;
}

static inline bool traceparent_is_zero(const char *text, size_t bytes)
{
	while (bytes && text[bytes - 1] == '0')
		bytes--;
	return !bytes;
}

/* Returns a description of the first error in a traceparent, or NULL if it is valid. */
static inline const char *traceparent_fault(const char *text, size_t bytes)
{
	if (bytes < TRACEPARENT_BYTES)
		return "it has fewer than 55 characters";
	if (text[2] != '-' || text[TRACEPARENT_PARENT_ID - 1] != '-' || text[TRACEPARENT_FLAGS - 1] != '-')
		return "it is not of the form VERSION-TRACE_ID-PARENT_ID-FLAGS";
	if (!traceparent_is_hex(text, 2) || !traceparent_is_hex(text + TRACEPARENT_TRACE_ID, TRACEPARENT_TRACE_ID_BYTES) ||
	    !traceparent_is_hex(text + TRACEPARENT_PARENT_ID, TRACEPARENT_PARENT_ID_BYTES) ||
	    !traceparent_is_hex(text + TRACEPARENT_FLAGS, 2))
		return "a character is not one of 0-9 and a-f (capital letters are not allowed)";
	if (memcmp(text, "ff", 2) == 0)
		return "version ff is invalid";
	if (traceparent_is_zero(text + TRACEPARENT_TRACE_ID, TRACEPARENT_TRACE_ID_BYTES))
		return "the trace id is all zeros";
	if (traceparent_is_zero(text + TRACEPARENT_PARENT_ID, TRACEPARENT_PARENT_ID_BYTES))
		return "the parent id is all zeros";
	if (bytes > TRACEPARENT_BYTES && memcmp(text, "00", 2) == 0)
		return "version 00 has exactly 55 characters";
	if (bytes > TRACEPARENT_BYTES && text[TRACEPARENT_BYTES] != '-')
		return "the flags are not followed by '-'";
	return NULL;
}

/* libepprof records requests as instants with these names and args, and the reader finds the requests by them.
 * REQUEST_SET assigns requests to an event.  Its args are `event`, then any number of contexts and traceparents; or
 * `event` and `of`.
 * REQUEST_BEGIN defines a request.  Its args are `context`, `traceparent`, and perhaps `tracestate`. */
#define REQUEST_SET "epprof.context"
#define REQUEST_BEGIN "epprof.request"
#define REQUEST_EVENT "request"       /* the name of a request's asynchronous event */
#define REQUEST_KEY_EVENT "event"     /* u64: the id of the event; without it, the event is the instant's parent */
#define REQUEST_KEY_OF "of"           /* u64: the id of the event from which the requests are inherited */
#define REQUEST_KEY_CONTEXT "context" /* u64: the id of a request's asynchronous event */
#define REQUEST_KEY_PARENT "traceparent"
#define REQUEST_KEY_STATE "tracestate" /* text: the tracestate of the traceparent before it */

#endif
