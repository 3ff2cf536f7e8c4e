/* One event that was read from a JSON file, before it becomes a record of the trace: the members that all JSON formats
 * share, and the args.
 *
 * All texts are in one growing buffer and are referred to by their offset, so that nothing is allocated per event; the
 * struct is reused for the next event.  Data beyond the limits of a record is cut here, and the event is marked. */
#ifndef EPPROF_RUNTIME_IMPORT_JSON_EVENT_H
#define EPPROF_RUNTIME_IMPORT_JSON_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "epprof/session.h"

#define EVENT_ARGS_MAX \
	256u                              /* one more than a record can have, so that the writer marks the record as
                                           * cut */
#define EVENT_TEXT_BYTES_MAX (128u << 10) /* limit for the sum of all texts of an event, including names and keys */

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
	unsigned keys; /* set of EVENT_* bits: the members that are present */
	char phase;
	bool cut;         /* texts or args were left out because of the limits */
	bool id_is_local; /* the id comes from id2.local: it is unique only within its process */
	bool binds_enclosing;
	unsigned left_out; /* number of members that a trace cannot store */
	struct event_text name, cat, id, scope;
	struct event_text pid_text, tid_text; /* the pid or tid as text if it is no 64-bit integer; else `bytes` is 0 */
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

/* Stores a text.  If there is too little room, the text is cut and the event marked. */
struct event_text event_store_text(struct event *event, const char *text, size_t bytes);
/* Appends to the last stored text. */
void event_extend_text(struct event *event, struct event_text *text, const char *more, size_t bytes);

/* Adds an arg whose key is stored already.  Returns NULL if there is no room. */
struct event_arg *event_add_arg(struct event *event, struct event_text key);

static inline const char *event_chars(const struct event *event, struct event_text text)
{
	/* If no text was stored yet, event->text is NULL, and NULL + 0 is undefined in C. */
	return event->text ? event->text + text.at : "";
}
/* Compares the first byte before the call of memcmp, because most unequal texts differ in it. */
static inline bool event_text_is(const struct event *event, struct event_text text, const char *what)
{
	if (!text.bytes)
		return !*what;
	const char *chars = event->text + text.at;
	if (*chars != *what)
		return false;
	return strlen(what) == text.bytes && !memcmp(chars, what, text.bytes);
}
/* Returns the arg with this key, or NULL. */
const struct event_arg *event_find_arg(const struct event *event, const char *key);
/* Gets the value of an arg that is an integer, or a text that is one.  Returns false for other args. */
bool event_arg_i64(const struct event *event, const struct event_arg *arg, int64_t *value);

/* Stores a JSON number as an i64, u64 or f64 arg: the first of these types that can represent the number. */
void event_parse_number(struct event_arg *arg, const char *text, size_t bytes);
bool event_parse_integer(const char *text, size_t bytes, int64_t *value);

/* Keys of an event's JSON object for which struct event has no member with a single value; they have bits after those
 * of EVENT_*. */
enum {
	MEMBER_NONE = 0,
	MEMBER_ARGS = 1 << 16,
	MEMBER_ID2 = 1 << 17,
	MEMBER_OTHER = 1 << 18,
};

/* Returns EVENT_* or MEMBER_* for a key of an event's JSON object. */
unsigned event_member_of(const char *key, size_t bytes);

/* Stores the value of a member.  The text is a string or a number, as written in the file. */
void event_take_member(struct event *event, unsigned member, const char *text, size_t bytes);
/* Stores the id that is inside the member `id2`. */
void event_take_id(struct event *event, const char *text, size_t bytes);

/* Adds an arg with a text.  The key is stored already.  Returns NULL if there is no room. */
struct event_arg *event_take_arg_text(struct event *event, struct event_text key, const char *text, size_t bytes);
void event_take_arg_number(struct event *event, struct event_text key, const char *text, size_t bytes);

#endif
