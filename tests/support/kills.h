/* The number of kills in tests that kill the tested process. */
#ifndef EPPROF_TESTS_SUPPORT_KILLS_H
#define EPPROF_TESTS_SUPPORT_KILLS_H

#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"
#include "recording.h"

/* Returns `usual`, or `in_ci` if the environment variable CI is set; fewer with a sanitizer; CHECK_KILLS overrides
 * both. */
static inline unsigned kills_count(unsigned usual, unsigned in_ci)
{
	const char *wanted = getenv("CHECK_KILLS");
	unsigned kills = getenv("CI") ? in_ci : usual;
	return wanted ? (unsigned)strtoul(wanted, NULL, 10) : (kills + RECORDING_SLOW - 1) / RECORDING_SLOW;
}

/* Kills the calling process after this much of its processor time, if nobody does before. A kill from outside comes
 * late on a busy machine, and what is recorded until then takes long to check. */
static inline void kills_limit(long processor_us)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
	struct itimerspec after = { .it_value = { processor_us / 1000000, processor_us % 1000000 * 1000 + 1 } };
	timer_t timer;
	ck_assert_int_eq(timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer), 0);
	ck_assert_int_eq(timer_settime(timer, 0, &after, NULL), 0);
}

#endif
