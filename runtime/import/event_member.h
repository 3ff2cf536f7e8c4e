/* The members of an event's JSON object: which key is which member of struct event, and how a value is stored in it. */
#ifndef EPPROF_RUNTIME_IMPORT_EVENT_MEMBER_H
#define EPPROF_RUNTIME_IMPORT_EVENT_MEMBER_H

#include "import/event.h"

/* Beside EVENT_*. */
enum {
	MEMBER_NONE = 0,
	MEMBER_ARGS = 1 << 16,
	MEMBER_ID2 = 1 << 17,
	MEMBER_OTHER = 1 << 18,
};

/* EVENT_* or MEMBER_*. */
unsigned event_member_of(const char *key, size_t bytes);

/* A string or a number, as it stands in the file, as that member of the event. */
void event_take_member(struct event *event, unsigned member, const char *text, size_t bytes);
/* The same for the id within `id2`. */
void event_take_id(struct event *event, const char *text, size_t bytes);

/* As the arg of a key that was stored; NULL: no room. */
struct event_arg *event_take_arg_text(struct event *event, struct event_text key, const char *text, size_t bytes);
void event_take_arg_number(struct event *event, struct event_text key, const char *text, size_t bytes);

#endif
