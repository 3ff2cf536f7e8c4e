/* Makes entries of test plugins hang: those that HANG_AT names, for example "tf:stop,pu1:pu1FlushAll".  If HANG_MS is set,
 * they return after so many milliseconds. */
#ifndef EPPROF_TESTS_PLUGINS_HANGING_H
#define EPPROF_TESTS_PLUGINS_HANGING_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static inline bool hangs_at(const char *entry)
{
	const char *at = getenv("HANG_AT");
	size_t bytes = strlen(entry);
	for (; at && *at; at += strcspn(at, ","), at += *at == ',')
		if (!strncmp(at, entry, bytes) && (!at[bytes] || at[bytes] == ','))
			return true;
	return false;
}

static inline void hang_at(const char *entry)
{
	const char *ms_text = getenv("HANG_MS");
	long ms = ms_text ? strtol(ms_text, NULL, 10) : 0;
	struct timespec left = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
	if (ms && hangs_at(entry)) {
		while (nanosleep(&left, &left))
			continue;
		return;
	}
	while (hangs_at(entry))
		pause();
}

#endif
