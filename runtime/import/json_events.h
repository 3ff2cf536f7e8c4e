/* Reads JSON piece by piece with yajl and calls back with each object that is an event.
 *
 * Three shapes: a bare object (one line of ONNX Runtime's), an array of events, an object whose member `traceEvents` is
 * that array.  Strings may hold bytes that are not UTF-8.  Everything is read as it comes: memory is one event, and one text
 * or number, which yajl gathers whole: beyond JSON_TEXT_BYTES_MAX it is not read any further. */
#ifndef EPPROF_RUNTIME_IMPORT_JSON_EVENTS_H
#define EPPROF_RUNTIME_IMPORT_JSON_EVENTS_H

#include <yajl/yajl_parse.h>

#include "base/status.h"
#include "import/event.h"
#include "import/yajl_memory.h"

#define JSON_TEXT_BYTES_MAX (2u << 20)

enum json_shape { JSON_SHAPE_UNKNOWN = 0, JSON_SHAPE_LINE, JSON_SHAPE_ARRAY, JSON_SHAPE_OBJECT, JSON_SHAPE_OTHER };

struct json_events {
	yajl_handle yajl; /* NULL: begun by the next piece */
	struct yajl_memory memory;
	enum json_shape shape;
	unsigned depth;       /* open objects and arrays */
	unsigned event_depth; /* of the objects that are events */
	bool in_array;        /* of events */
	bool array_ended;
	bool in_event;
	unsigned member;    /* EVENT_*, or what json_events.c adds to them */
	unsigned raw_depth; /* open containers of an arg that is kept as its text; 0: none */
	bool raw_first;     /* nothing stands in the innermost of them yet */
	struct event_arg *raw;
	struct event_text key; /* of the next arg */
	bool has_base;
	int64_t base_ns; /* baseTimeNanoseconds */
	struct event event;
	uint64_t events_count;
	uint64_t bytes; /* given to yajl so far */
	bool heard;     /* yajl has said something of what it was given last */
	uint64_t unheard_bytes;

	/* Called at the end of each event but those of JSON_SHAPE_LINE, which are left in `event`. */
	epp_status *(*found)(void *user, struct event *event);
	void *user;
	epp_status *status; /* what `found` returned, or EPP_OUT_OF_MEMORY */
};

/* `shape` LINE, or UNKNOWN for the others.  The struct must not move from here on. */
void json_events_init(struct json_events *json, enum json_shape shape);
void json_events_deinit(struct json_events *json);

/* Reads one line that should be an object; true: `event` is what it says.  False: it is not JSON, or json->status. */
bool json_events_line(struct json_events *json, const char *line, size_t bytes);

enum json_read { JSON_READ_ON, JSON_READ_INVALID, JSON_READ_FAILED };
/* Reads on.  INVALID: `*message` says where and why (malloc, the caller's).  FAILED: json->status. */
enum json_read json_events_read(struct json_events *json, const char *bytes, size_t count, char **message);
/* True: what was read is whole.  False: it is not, or json->status. */
bool json_events_end(struct json_events *json);
/* json->status, from now on the caller's. */
static inline epp_status *json_events_status(struct json_events *json)
{
	epp_status *status = json->status;

	json->status = NULL;
	return status;
}

#endif
