/* Maps keys of an event's JSON object to members of struct event, and stores their values. */
#include "import/event_member.h"

#include <string.h>

#define IS(word) (!memcmp(key, word, sizeof(word) - 1))

unsigned event_member_of(const char *key, size_t bytes)
{
	switch (bytes) {
	case 2:
		return IS("ts")   ? EVENT_TS
		       : IS("ph") ? EVENT_PHASE
		       : IS("id") ? EVENT_ID
		       : IS("bp") ? EVENT_BIND
		                  : MEMBER_OTHER;
	case 3:
		return IS("pid")   ? EVENT_PID
		       : IS("tid") ? EVENT_TID
		       : IS("dur") ? EVENT_DUR
		       : IS("cat") ? EVENT_CAT
		       : IS("id2") ? MEMBER_ID2
		                   : MEMBER_OTHER;
	case 4:
		return IS("name") ? EVENT_NAME : IS("args") ? MEMBER_ARGS : MEMBER_OTHER;
	case 5:
		return IS("scope") ? EVENT_SCOPE : MEMBER_OTHER;
	default:
		return MEMBER_OTHER;
	}
}

void event_take_id(struct event *event, const char *text, size_t bytes)
{
	event->id = event_keep_text(event, text, bytes);
	event->members |= EVENT_ID;
}

static void take_time(struct event *event, unsigned member, const char *text, size_t bytes)
{
	if (event_time(text, bytes, member == EVENT_TS ? &event->ts_ns : &event->dur_ns))
		event->members |= member;
}

/* An id that is not a 64-bit integer is stored as text. */
static void take_thread(struct event *event, unsigned member, const char *text, size_t bytes)
{
	bool is_pid = member == EVENT_PID;
	struct event_text *stored = is_pid ? &event->pid_text : &event->tid_text;

	*stored = (struct event_text){ 0 };
	if (!event_integer(text, bytes, is_pid ? &event->pid : &event->tid))
		*stored = event_keep_text(event, text, bytes);
	event->members |= member;
}

static void take_text(struct event *event, unsigned member, struct event_text *stored, const char *text, size_t bytes)
{
	*stored = event_keep_text(event, text, bytes);
	event->members |= member;
}

void event_take_member(struct event *event, unsigned member, const char *text, size_t bytes)
{
	switch (member) {
	case EVENT_NAME:
		take_text(event, member, &event->name, text, bytes);
		break;
	case EVENT_CAT:
		take_text(event, member, &event->cat, text, bytes);
		break;
	case EVENT_SCOPE:
		take_text(event, member, &event->scope, text, bytes);
		break;
	case EVENT_PHASE:
		event->phase = bytes == 1 ? text[0] : '?';
		event->members |= EVENT_PHASE;
		break;
	case EVENT_BIND:
		event->binds_enclosing = bytes == 1 && text[0] == 'e';
		break;
	case EVENT_TS:
	case EVENT_DUR:
		take_time(event, member, text, bytes);
		break;
	case EVENT_PID:
	case EVENT_TID:
		take_thread(event, member, text, bytes);
		break;
	case EVENT_ID:
		event_take_id(event, text, bytes);
		break;
	default:
		event->left_out++;
	}
}

struct event_arg *event_take_arg_text(struct event *event, struct event_text key, const char *text, size_t bytes)
{
	struct event_arg *arg = event_add_arg(event, key);

	if (!arg)
		return NULL;
	arg->type = EPP_ARG_TEXT;
	arg->text = event_keep_text(event, text, bytes);
	return arg;
}

void event_take_arg_number(struct event *event, struct event_text key, const char *text, size_t bytes)
{
	struct event_arg *arg = event_add_arg(event, key);

	if (arg)
		event_number(arg, text, bytes);
}
