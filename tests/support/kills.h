/* The number of kills in tests that kill the tested process. */
#ifndef EPPROF_TESTS_SUPPORT_KILLS_H
#define EPPROF_TESTS_SUPPORT_KILLS_H

#include <stdlib.h>

#include "recording.h"

/* Returns `usual`, or `in_ci` if the environment variable CI is set; fewer with a sanitizer; CHECK_KILLS overrides
 * both. */
static inline unsigned kills_count(unsigned usual, unsigned in_ci)
{
	const char *wanted = getenv("CHECK_KILLS");
	unsigned kills = getenv("CI") ? in_ci : usual;
	return wanted ? (unsigned)strtoul(wanted, NULL, 10) : (kills + RECORDING_SLOW - 1) / RECORDING_SLOW;
}

#endif
