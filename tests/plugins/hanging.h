/* Makes entries of test plugins hang: those that HANG_AT names, for example "tf:stop,pu1:pu1FlushAll". */
#ifndef EPPROF_TESTS_PLUGINS_HANGING_H
#define EPPROF_TESTS_PLUGINS_HANGING_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
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
	while (hangs_at(entry))
		pause();
}

#endif
