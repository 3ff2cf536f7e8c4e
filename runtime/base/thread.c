/* Starts threads, and computes deadlines for timed waits. */
#include "base/thread.h"

#include <stddef.h>

#include "base/os/os.h"

#define NS_PER_SECOND 1000000000u

static int start(const char *name, void *(*run)(void *argument), void *argument, int detach_state, pthread_t *started)
{
	struct os_signals before;
	pthread_attr_t attributes;
	/* The new thread must not handle the process's signals.  In particular the signal of a file-size limit must
	 * stay blocked. */
	os_signals_block(&before);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, detach_state);
	int error = pthread_create(started, &attributes, run, argument);
	pthread_attr_destroy(&attributes);
	os_signals_restore(&before);
	if (!error && name)
		pthread_setname_np(*started, name);
	return error;
}

int thread_start(const char *name, void *(*run)(void *argument), void *argument, pthread_t *started)
{
	return start(name, run, argument, PTHREAD_CREATE_DETACHED, started);
}

int thread_start_joinable(const char *name, void *(*run)(void *argument), void *argument, pthread_t *started)
{
	return start(name, run, argument, PTHREAD_CREATE_JOINABLE, started);
}

void thread_cond_init(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, os_wait_clock());
	pthread_cond_init(condition, &attributes);
	pthread_condattr_destroy(&attributes);
}

struct timespec thread_deadline(uint64_t ns)
{
	struct timespec deadline;
	clock_gettime(os_wait_clock(), &deadline);
	uint64_t sum = (uint64_t)deadline.tv_nsec + ns % NS_PER_SECOND;
	deadline.tv_sec += (time_t)(ns / NS_PER_SECOND + sum / NS_PER_SECOND);
	deadline.tv_nsec = (long)(sum % NS_PER_SECOND);
	return deadline;
}

int64_t thread_now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * (int64_t)NS_PER_SECOND + now.tv_nsec;
}

int64_t thread_cpu_ns(void)
{
	struct timespec used;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (int64_t)used.tv_sec * (int64_t)NS_PER_SECOND + used.tv_nsec;
}
