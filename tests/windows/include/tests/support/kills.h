/* See tests/support/kills.h. */
#ifndef EPPROF_TESTS_WINDOWS_INCLUDE_TESTS_SUPPORT_KILLS_H
#define EPPROF_TESTS_WINDOWS_INCLUDE_TESTS_SUPPORT_KILLS_H

#include "tests/support/killed.h"
#include "tests/support/recording.h"

/* Wine takes half a second to start a process. */
static inline unsigned kills_count(unsigned usual, unsigned in_ci)
{
	const char *wanted = getenv("CHECK_KILLS");
	return wanted ? (unsigned)strtoul(wanted, NULL, 10) : (getenv("CI") ? in_ci : usual) / 2;
}

static void *kills_watch(void *processor_us)
{
	struct timespec used = { 0 };
	while (used.tv_sec * 1000000 + used.tv_nsec / 1000 < (int64_t)(intptr_t)processor_us) {
		recording_sleep_ms(1);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	}
	TerminateProcess(GetCurrentProcess(), KILLED_STATUS);
	return NULL;
}

static inline void kills_limit(long processor_us)
{
	struct timespec used = { 0 };
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	recording_thread(kills_watch, (void *)(intptr_t)(processor_us + used.tv_sec * 1000000 + used.tv_nsec / 1000));
}

#endif
