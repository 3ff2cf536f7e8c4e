/* One event of a JSON file on its way into a trace, whatever the format: the members that formats share, and the args.
 *
 * All texts lie in one growing buffer and are named by their place in it, so that nothing is allocated per event; an
 * event is used again for the next one.  What is beyond the limits of a record is cut here already, and marked. */
#ifndef EPPROF_RUNTIME_IMPORT_EVENT_H
#define EPPROF_RUNTIME_IMPORT_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "epprof/session.h"

#define EVENT_ARGS_MAX 256u               /* one more than a record holds, so that the writer sees that some are cut */
#define EVENT_TEXT_BYTES_MAX (128u << 10) /* of one event, names and keys included */

struct event_text {
	uint32_t at;
	uint32_t bytes;
};

struct event_arg {
	struct event_text key;
	uint32_t type; /* epp_arg_type */
	struct event_text text;
	union {
		int64_t i64;
		uint64_t u64;
		double f64;
	} number;
};

enum event_member {
	EVENT_NAME = 1 << 0,
	EVENT_CAT = 1 << 1,
	EVENT_PHASE = 1 << 2,
	EVENT_PID = 1 << 3,
	EVENT_TID = 1 << 4,
	EVENT_TS = 1 << 5,
	EVENT_DUR = 1 << 6,
	EVENT_ID = 1 << 7,
	EVENT_SCOPE = 1 << 8,
	EVENT_BIND = 1 << 9,
};

struct event {
	unsigned members; /* EVENT_*: which are there */
	char phase;
	bool cut;         /* texts or args beyond the limits were left out */
	bool id_is_local; /* id2.local: counts within its process */
	bool binds_enclosing;
	unsigned left_out; /* members that have no place in a trace */
	struct event_text name, cat, id, scope;
	struct event_text pid_text, tid_text; /* of pids and tids that are no 64-bit integers; bytes 0: they are */
	int64_t pid, tid;
	int64_t ts_ns, dur_ns;
	struct event_arg args[EVENT_ARGS_MAX];
	uint32_t args_count;
	char *text;
	size_t text_bytes, text_room;
	bool no_memory;
};

void event_reset(struct event *event);
void event_deinit(struct event *event);

/* Stores a text; one without room is cut and marked. */
struct event_text event_keep_text(struct event *event, const char *text, size_t bytes);
/* Appends to the text stored last. */
void event_extend_text(struct event *event, struct event_text *text, const char *more, size_t bytes);

/* A new arg whose key was stored; NULL: no room. */
struct event_arg *event_add_arg(struct event *event, struct event_text key);

static inline const char *event_chars(const struct event *event, struct event_text text)
{
	/* No text was stored yet: NULL + 0 is undefined in C. */
	return event->text ? event->text + text.at : "";
}
/* Most texts that are not it differ in their first byte. */
static inline bool event_text_is(const struct event *event, struct event_text text, const char *what)
{
	if (!text.bytes)
		return !*what;
	const char *chars = event->text + text.at;
	if (*chars != *what)
		return false;
	return strlen(what) == text.bytes && !memcmp(chars, what, text.bytes);
}
/* The arg of that key, or NULL. */
const struct event_arg *event_find_arg(const struct event *event, const char *key);
/* An arg as an integer: a number, or a text that is one.  False: it is none. */
bool event_arg_i64(const struct event *event, const struct event_arg *arg, int64_t *value);

/* A JSON number as an i64, u64 or f64 arg, whichever holds it. */
void event_number(struct event_arg *arg, const char *text, size_t bytes);
/* Decimal microseconds as ns, without a detour over double; false: not a number, or beyond +-126 years. */
bool event_time(const char *text, size_t bytes, int64_t *ns);
bool event_integer(const char *text, size_t bytes, int64_t *value);

#endif
