/* Classifies host events by words in their names.  The name is NUL-terminated; case is ignored. */
#ifndef EPPROF_RUNTIME_TIMELINE_EVENTS_NAME_WORDS_H
#define EPPROF_RUNTIME_TIMELINE_EVENTS_NAME_WORDS_H

#include <stdbool.h>
#include <string.h>

static inline bool name_has_word(const char *name, const char *const *words)
{
	for (; *words; words++)
		if (strcasestr(name, *words))
			return true;
	return false;
}

/* Returns true for events that allocate memory, or touch it for the first time. */
static inline bool name_is_allocation(const char *name)
{
	static const char *const words[] = { "alloc", "first touch", "page fault", NULL };

	return name_has_word(name, words);
}

/* Returns true for calls that wait for a device. */
static inline bool name_is_wait(const char *name)
{
	static const char *const words[] = { "sync", "wait", NULL };

	return name_has_word(name, words);
}

#endif
