/* How often tests kill what they test. */
#ifndef EPPROF_TESTS_SUPPORT_KILLS_H
#define EPPROF_TESTS_SUPPORT_KILLS_H

#include <stdlib.h>

#include "recording.h"

/* `usual`, or `in_ci` where the environment says that it is CI; fewer with a sanitizer; what CHECK_KILLS says in any case. */
static inline unsigned kills_count(unsigned usual, unsigned in_ci)
{
	const char *wanted = getenv("CHECK_KILLS");
	unsigned kills = getenv("CI") ? in_ci : usual;
	return wanted ? (unsigned)strtoul(wanted, NULL, 10) : (kills + RECORDING_SLOW - 1) / RECORDING_SLOW;
}

#endif
