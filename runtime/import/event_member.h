/* Maps each key of an event's JSON object to a member of struct event, and stores the value there. */
#ifndef EPPROF_RUNTIME_IMPORT_EVENT_MEMBER_H
#define EPPROF_RUNTIME_IMPORT_EVENT_MEMBER_H

#include "import/event.h"

/* Further members, in addition to EVENT_*. */
enum {
	MEMBER_NONE = 0,
	MEMBER_ARGS = 1 << 16,
	MEMBER_ID2 = 1 << 17,
	MEMBER_OTHER = 1 << 18,
};

/* Returns EVENT_* or MEMBER_*. */
unsigned event_member_of(const char *key, size_t bytes);

/* Stores a string or a number, as written in the file, in that member of the event. */
void event_take_member(struct event *event, unsigned member, const char *text, size_t bytes);
/* Stores the id inside `id2`. */
void event_take_id(struct event *event, const char *text, size_t bytes);

/* Stores a text as the arg with a stored key; NULL: no room. */
struct event_arg *event_take_arg_text(struct event *event, struct event_text key, const char *text, size_t bytes);
void event_take_arg_number(struct event *event, struct event_text key, const char *text, size_t bytes);

#endif
