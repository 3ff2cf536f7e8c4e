/* Reads JSON incrementally with yajl and calls a function for each object that is an event.
 *
 * Three shapes: a bare object (one line of ONNX Runtime's file), an array of events, an object whose member
 * `traceEvents` is that array.  Strings may contain bytes that are not UTF-8.  Memory is limited to one event and one
 * text or number, which yajl collects as a whole; reading stops at one longer than JSON_TEXT_BYTES_MAX. */
#ifndef EPPROF_RUNTIME_IMPORT_JSON_EVENTS_H
#define EPPROF_RUNTIME_IMPORT_JSON_EVENTS_H

#include <setjmp.h>
#include <sys/queue.h>
#include <yajl/yajl_common.h>
#include <yajl/yajl_parse.h>

#include "base/status.h"
#include "import/event.h"

/* Memory for yajl, which does not check the result of malloc: a failed allocation jumps out of yajl instead.
 *
 *   if (setjmp(memory->no_memory) == 0)
 *           yajl_parse(...);
 *   else
 *           yajl_memory_release(memory);
 *
 * Thread: one at a time. */

struct yajl_memory {
	yajl_alloc_funcs functions; /* for yajl_alloc */
	LIST_HEAD(, yajl_memory_block) blocks;
	jmp_buf no_memory;
};

#define JSON_TEXT_BYTES_MAX (2u << 20)

enum json_shape { JSON_SHAPE_UNKNOWN = 0, JSON_SHAPE_LINE, JSON_SHAPE_ARRAY, JSON_SHAPE_OBJECT, JSON_SHAPE_OTHER };

struct json_events {
	yajl_handle yajl; /* NULL: created for the next piece */
	struct yajl_memory memory;
	enum json_shape shape;
	unsigned depth;       /* open objects and arrays */
	unsigned event_depth; /* depth of the objects that are events */
	bool in_array;        /* inside the array of events */
	bool array_ended;
	bool in_event;
	unsigned member;    /* EVENT_*, or a member that json_events.c adds */
	unsigned raw_depth; /* open containers of an arg that is kept as text; 0: none */
	bool raw_first;     /* the innermost of them is still empty */
	struct event_arg *raw;
	struct event_text key; /* of the next arg */
	bool has_base;
	int64_t base_ns; /* baseTimeNanoseconds */
	struct event event;
	uint64_t events_count;
	uint64_t bytes; /* passed to yajl so far */
	bool heard;     /* whether yajl has made a callback for the last piece */
	uint64_t unheard_bytes;

	/* Called at the end of each event, except for JSON_SHAPE_LINE, where the event stays in `event`. */
	epp_status *(*found)(void *user, struct event *event);
	void *user;
	epp_status *status; /* the error of `found`, or EPP_OUT_OF_MEMORY */
};

/* `shape` is LINE, or UNKNOWN for the others.  The struct must not move after this call. */
void json_events_init(struct json_events *json, enum json_shape shape);
void json_events_deinit(struct json_events *json);

/* Reads one line that should be an object.  True: the object is in `event`. False: it is not JSON, or json->status is
 * set. */
bool json_events_line(struct json_events *json, const char *line, size_t bytes);

enum json_read { JSON_READ_ON, JSON_READ_INVALID, JSON_READ_FAILED };
/* Reads the next piece.  INVALID: `*message` has the position and the reason (malloc, owned by the caller).  FAILED:
 * json->status is set. */
enum json_read json_events_read(struct json_events *json, const char *bytes, size_t count, char **message);
/* Returns true if the JSON was complete; false if it was not, or if json->status is set. */
bool json_events_end(struct json_events *json);
/* Returns json->status; the caller owns it. */
static inline epp_status *json_events_status(struct json_events *json)
{
	epp_status *status = json->status;

	json->status = NULL;
	return status;
}

#endif
