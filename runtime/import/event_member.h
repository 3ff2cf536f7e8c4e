/* What the members of an event's object mean, whoever reads the JSON. */
#ifndef EPPROF_IMPORT_EVENT_MEMBER_H
#define EPPROF_IMPORT_EVENT_MEMBER_H

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
/* The same where it was a number: EVENT_TS or EVENT_DUR, EVENT_PID or EVENT_TID. */
void event_take_ns(struct event *event, unsigned member, int64_t ns);
void event_take_thread_number(struct event *event, unsigned member, int64_t number);
/* The same for the id within `id2`. */
void event_take_id(struct event *event, const char *text, size_t bytes);

/* As the arg of a key that was stored; NULL: no room. */
struct event_arg *event_take_arg_text(struct event *event, struct event_text key, const char *text, size_t bytes);
void event_take_arg_number(struct event *event, struct event_text key, const char *text, size_t bytes);

#endif
