/* Forks while other threads allocate memory.  The address sanitizers of some compilers do not keep their allocator
 * consistent in the child.  With them, no thread may allocate at the moment of a fork; without them, it may be any
 * moment. */
#ifndef EPPROF_TESTS_SUPPORT_FORKING_H
#define EPPROF_TESTS_SUPPORT_FORKING_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "base/helper.h"

#if defined(__SANITIZE_ADDRESS__)
#define FORKING_ALLOCATOR_IS_WHOLE false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FORKING_ALLOCATOR_IS_WHOLE false
#endif
#endif
#ifndef FORKING_ALLOCATOR_IS_WHOLE
#define FORKING_ALLOCATOR_IS_WHOLE true
#endif

#define FORKING_FREE PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP

static pthread_rwlock_t forking_lock = FORKING_FREE;
static pid_t forking_process;

/* Call it before (true) and after (false) code that may allocate on a thread other than the one that forks; leave such
 * sections often. */
__attribute__((unused)) static void forking_may_allocate(bool begins)
{
	if (FORKING_ALLOCATOR_IS_WHOLE)
		return;
	if (begins)
		pthread_rwlock_rdlock(&forking_lock);
	else
		pthread_rwlock_unlock(&forking_lock);
}

/* Keeps other threads from allocating until forking_end.  The child also calls forking_end, but need not if it makes no
 * such threads.  `helper_runs`: a session records, or ended a short time ago; then this waits for two visits of the
 * helper: the first one handles what was recorded before the lock was taken, after that the helper has nothing to
 * do. */
__attribute__((unused)) static void forking_begin(bool helper_runs)
{
	if (FORKING_ALLOCATOR_IS_WHOLE)
		return;
	pthread_rwlock_wrlock(&forking_lock);
	forking_process = getpid();
	for (uint64_t until = helper_visits() + 2; helper_runs && helper_visits() < until;) {
		helper_wake();
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
}

__attribute__((unused)) static void forking_end(void)
{
	if (FORKING_ALLOCATOR_IS_WHOLE)
		return;
	if (getpid() == forking_process)
		pthread_rwlock_unlock(&forking_lock);
	else
		/* In the child the lock is still held by the parent's thread. */
		forking_lock = (pthread_rwlock_t)FORKING_FREE;
}

__attribute__((unused)) static pid_t forking_fork(bool helper_runs)
{
	forking_begin(helper_runs);
	pid_t child = fork();
	forking_end();
	return child;
}

#endif
