/* Checks whether a library is loaded. */
#ifndef EPPROF_TESTS_SUPPORT_MAPPED_H
#define EPPROF_TESTS_SUPPORT_MAPPED_H

#include "check.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* `part` is a part of its path. */
static inline bool is_mapped(const char *part)
{
	char line[1024];
	bool found = false;
	FILE *maps = fopen("/proc/self/maps", "r");
	ck_assert_ptr_nonnull(maps);
	while (!found && fgets(line, sizeof(line), maps))
		found = strstr(line, part) != NULL;
	fclose(maps);
	return found;
}

#endif
