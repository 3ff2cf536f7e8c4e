/* Reads JSON incrementally with yajl and calls a function for each object that is an event.
 *
 * The input has one of three shapes: an object (one line of ONNX Runtime's file), an array of events, an object whose
 * member `traceEvents` is an array of events.  Strings may contain bytes that are not UTF-8.  Memory is limited to one
 * event and one text or number, which yajl keeps in memory until it is complete; reading stops at a text or number that
 * is longer than JSON_TEXT_BYTES_MAX. */
#ifndef EPPROF_RUNTIME_IMPORT_JSON_EVENTS_H
#define EPPROF_RUNTIME_IMPORT_JSON_EVENTS_H

#include <setjmp.h>
#include <sys/queue.h>
#include <yajl/yajl_common.h>
#include <yajl/yajl_parse.h>

#include "base/status.h"
#include "import/json_event.h"

/* Memory for yajl.  yajl does not check the result of malloc, so a failed allocation does not return to yajl: it jumps
 * to memory->no_memory with longjmp.
 *
 *   if (setjmp(memory->no_memory) == 0)
 *           yajl_parse(...);
 *   else
 *           yajl_memory_release(memory);
 *
 * Thread: one at a time. */

struct yajl_memory {
	yajl_alloc_funcs functions; /* passed to yajl_alloc */
	LIST_HEAD(, yajl_memory_block) blocks;
	jmp_buf no_memory;
};

#define JSON_TEXT_BYTES_MAX (2u << 20)

enum json_shape { JSON_SHAPE_UNKNOWN = 0, JSON_SHAPE_LINE, JSON_SHAPE_ARRAY, JSON_SHAPE_OBJECT, JSON_SHAPE_OTHER };

struct json_events {
	yajl_handle yajl; /* NULL: created when the next bytes are parsed */
	struct yajl_memory memory;
	enum json_shape shape;
	unsigned depth;       /* number of open objects and arrays */
	unsigned event_depth; /* depth of the objects that are events */
	bool in_array;        /* inside the array of events */
	bool array_ended;
	bool in_event;
	unsigned member;    /* the current member: EVENT_*, or one of those that json_events.c adds */
	unsigned raw_depth; /* number of open containers of an arg that is stored as text; 0: there is no such arg */
	bool raw_first;     /* the innermost container has no value yet */
	struct event_arg *raw;
	struct event_text key; /* key of the arg that is being read */
	bool has_base;
	int64_t base_ns; /* value of the member baseTimeNanoseconds */
	struct event event;
	uint64_t events_count;
	uint64_t bytes;  /* number of bytes passed to yajl so far */
	bool was_called; /* true if yajl has called a function for the last bytes passed */
	uint64_t bytes_without_call;

	/* Called at the end of each event.  With JSON_SHAPE_LINE it is not called; the event is then in `event`. */
	epp_status *(*found)(void *user, struct event *event);
	void *user;
	epp_status *status; /* the error of `found`, or EPP_OUT_OF_MEMORY */
};

/* `shape` is JSON_SHAPE_LINE, or JSON_SHAPE_UNKNOWN for the other shapes.  The struct must not be moved after this
 * call. */
void json_events_init(struct json_events *json, enum json_shape shape);
void json_events_deinit(struct json_events *json);

/* Reads one line that should be an object, and stores it in `event`.  Returns false if the line is no JSON, or if
 * json->status is set. */
bool json_events_line(struct json_events *json, const char *line, size_t bytes);

enum json_read { JSON_READ_ON, JSON_READ_INVALID, JSON_READ_FAILED };
/* Reads the next bytes of the file.  INVALID: *message has the position and the reason (malloc, owned by the caller).
 * FAILED: json->status is set. */
enum json_read json_events_read(struct json_events *json, const char *bytes, size_t count, char **message);
/* Returns true if the JSON was complete.  Returns false if it was not, or if json->status is set. */
bool json_events_end(struct json_events *json);
/* Returns json->status.  Ownership: the caller. */
static inline epp_status *json_events_status(struct json_events *json)
{
	epp_status *status = json->status;

	json->status = NULL;
	return status;
}

#endif
