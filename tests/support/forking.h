/* Forks among threads that allocate.  The address sanitizers of some compilers do not see to it that their allocator is whole
 * in the child; with them nothing is allocated at the moment of a fork, which is any moment otherwise. */
#ifndef EPPROF_TESTS_SUPPORT_FORKING_H
#define EPPROF_TESTS_SUPPORT_FORKING_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "storage/helper.h"

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

/* Around whatever may allocate on another thread than the one that forks; to be let go often. */
__attribute__((unused)) static void forking_may_allocate(bool begins)
{
	if (FORKING_ALLOCATOR_IS_WHOLE)
		return;
	if (begins)
		pthread_rwlock_rdlock(&forking_lock);
	else
		pthread_rwlock_unlock(&forking_lock);
}

/* Until forking_end, which the child calls too, or may go without if it makes no such threads.  `helper_runs`: a session
 * records, or one has and is not long gone; a visit of the helper's that begins behind the lock has what was recorded before
 * to look after, then it has nothing to do. */
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
		/* It is the parent's thread that has it. */
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
