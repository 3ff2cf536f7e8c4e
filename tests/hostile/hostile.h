/* What the hostile plugins have in common.  The environment variable HOSTILE names a case of `epprof conform`: then the
 * plugin has the fault that this case finds, and no other. */
#ifndef EPPROF_TESTS_HOSTILE_HOSTILE_H
#define EPPROF_TESTS_HOSTILE_HOSTILE_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static inline bool has(const char *fault)
{
	const char *wanted = getenv("HOSTILE");
	return wanted && strcmp(wanted, fault) == 0;
}

/* By a signal that no sanitizer catches. */
static inline void crash_if(bool is_true)
{
	if (is_true)
		raise(SIGKILL);
}

static inline void hang_if(bool is_true)
{
	while (is_true)
		pause();
}

/* Numbers the threads, from 0, in the order of their first calls. */
static inline unsigned thread_number(void)
{
	static atomic_uint count;
	static __thread unsigned number;

	if (!number)
		number = ++count;
	return number - 1;
}

/* As a plugin that has room for 8 threads: the cases of all other faults have fewer. */
#define THREADS_WITH_ROOM 8

static inline int64_t clock_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#endif
