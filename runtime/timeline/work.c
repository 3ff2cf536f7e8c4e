#include "timeline/work.h"

#include <stdbool.h>
#include <string.h>

const char *const work_names[WORK_COUNT] = { "kernel", "memcpy", "memset", "runtime", "driver" };

static bool is_text(const char *text, size_t bytes, const char *word)
{
	return bytes == strlen(word) && memcmp(text, word, bytes) == 0;
}

static bool begins_with(const epp_event *event, const char *word)
{
	return event->name_bytes >= strlen(word) && memcmp(event->name, word, strlen(word)) == 0;
}

/* Sets `kind` if the arg states one. */
static bool take_kind(const epp_trace_arg *arg, enum work *kind)
{
	if (arg->type != EPP_ARG_TEXT || !is_text(arg->key, arg->key_bytes, "kind"))
		return false;
	for (unsigned i = 0; i < WORK_COUNT; i++) {
		if (!is_text(arg->value.text, arg->text_bytes, work_names[i]))
			continue;
		*kind = (enum work)i;
		return true;
	}
	return false;
}

static bool find_kind(const epp_timeline *timeline, const epp_event *event, enum work *kind)
{
	const epp_trace_arg *args = event->args;
	epp_trace_arg arg;

	for (uint32_t i = 0; !timeline && i < event->args_count; i++) {
		if (take_kind(&args[i], kind))
			return true;
	}
	for (size_t cursor = 0; timeline && epp_event_args(timeline, event, &cursor, &arg);) {
		if (take_kind(&arg, kind))
			return true;
	}
	return false;
}

enum work work_of(const epp_timeline *timeline, const epp_event *event)
{
	bool is_call = event->track->kind == EPP_TRACK_CALLS;
	enum work kind;

	if (event->args_count && find_kind(timeline, event, &kind) && is_call == (kind >= WORK_RUNTIME))
		return kind;
	if (is_call)
		return WORK_RUNTIME;
	return begins_with(event, "Memcpy") ? WORK_MEMCPY : begins_with(event, "Memset") ? WORK_MEMSET : WORK_KERNEL;
}
