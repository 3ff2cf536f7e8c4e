/* A child process that records until it is killed, and memory that it shares with the test. Windows has its own of this file, in
 * tests/windows/include/, because it has no fork: there main of the same program calls the child's function, so that the child
 * has only what that function makes.
 *
 *   static void child(void) { ... shared->... for (;;) ... }
 *   shared = killed_share(sizeof(*shared));
 *   killed_start(child);
 *   ck_assert(killed_end());
 *   KILLED_MAIN(suite, child, &shared) */
#ifndef EPPROF_TESTS_SUPPORT_KILLED_H
#define EPPROF_TESTS_SUPPORT_KILLED_H

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/support/check.h"

static pid_t killed_child;

/* Memory that is zero, until the program ends. */
static inline void *killed_share(size_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static inline void killed_start(void (*child)(void))
{
	killed_child = fork();
	if (killed_child)
		return;
	child();
	_exit(1);
}

/* Kills the child. False: it had ended by itself. */
static inline bool killed_end(void)
{
	int status;
	kill(killed_child, SIGKILL);
	waitpid(killed_child, &status, 0);
	return WIFSIGNALED(status);
}

#define KILLED_MAIN(suite, child, shared) CHECK_MAIN(suite)

#endif
