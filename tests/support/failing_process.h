/* Runs programs with plugins/failing_malloc.so or plugins/failing_calls.so preloaded, which make selected calls fail.
 * The paths `shared`, `stdout` and `stderr` are in the working directory. */
#ifndef EPPROF_TESTS_SUPPORT_FAILING_PROCESS_H
#define EPPROF_TESTS_SUPPORT_FAILING_PROCESS_H

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/plugins/failing.h"
#include "tests/support/check.h"

#define FAILING_INLINE __attribute__((unused)) static inline

static struct failing *failing;
static const char *failing_library; /* is preloaded */

/* Maps the file `shared`, which the parent and the program use. */
FAILING_INLINE struct failing *failing_map(int flags)
{
	int fd = open("shared", O_RDWR | O_CLOEXEC | flags, 0600);

	if (fd < 0 || ftruncate(fd, sizeof *failing) != 0)
		return NULL;
	struct failing *map = mmap(NULL, sizeof *map, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return map == MAP_FAILED ? NULL : map;
}

/* Runs a program whose calls `first` to `last` fail.  Returns its exit status, or -signal; a program that does not end
 * gets SIGALRM. */
FAILING_INLINE int failing_run(char **argv, uint64_t first, uint64_t last)
{
	int status;

	failing->first = first;
	failing->last = last;
	failing->count = 0;
	pid_t pid = fork();
	if (pid == 0) {
		setenv("FAILING", "shared", 1);
		setenv("LD_PRELOAD", failing_library, 1);
		signal(SIGALRM, SIG_DFL);
		alarm(60);
		if (dup2(open("/dev/null", O_RDONLY), 0) < 0 ||
		    dup2(open("stdout", O_WRONLY | O_CREAT | O_TRUNC, 0600), 1) < 0 ||
		    dup2(open("stderr", O_WRONLY | O_CREAT | O_TRUNC, 0600), 2) < 0)
			_exit(126);
		execv(argv[0], argv);
		_exit(127);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

/* After a run with failing->observe: whether no earlier call has the callers of this one, counted from 1. */
FAILING_INLINE bool failing_is_first_of_stack(uint64_t number)
{
	for (uint64_t i = 0; i + 1 < number; i++) {
		if (failing->stacks[i] == failing->stacks[number - 1])
			return false;
	}
	return true;
}

/* Returns, for calls 1 to failing->count of an observed run, which are to fail in turn: with CHECK_FAULTS_ALL each, else
 * one for each of one in `one_in` stacks of callers.  Ownership: free. */
FAILING_INLINE bool *failing_choose(unsigned one_in)
{
	bool all = getenv("CHECK_FAULTS_ALL") != NULL;
	unsigned stacks = 0;
	bool *chosen = calloc(failing->count + 1, sizeof *chosen);

	ck_assert_ptr_nonnull(chosen);
	ck_assert_uint_le(failing->count, FAILING_STACKS);
	for (uint64_t i = 1; i <= failing->count; i++)
		chosen[i] = all || (failing_is_first_of_stack(i) && stacks++ % one_in == 0);
	return chosen;
}

#endif
