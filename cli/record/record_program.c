/* Runs the program: starts it, passes signals on, waits for its end. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record.h"
#include "record_estimate.h"

static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
#define SIGNALS_COUNT (sizeof signals / sizeof *signals)

/* ---- programs with more rights than their user ---- */

/* Returns true if a file can be executed and would run as another user or group. */
static bool is_setuid(const char *path)
{
	struct stat about;

	if (stat(path, &about) != 0 || !S_ISREG(about.st_mode) || access(path, X_OK) != 0)
		return false;
	return ((about.st_mode & S_ISUID) && about.st_uid != geteuid()) ||
	       ((about.st_mode & S_ISGID) && (about.st_mode & S_IXGRP) && about.st_gid != getegid());
}

/* Finds the program in PATH, as execvp does.  Returns false if it is not found. */
static bool find_program(const char *program, char path[PATH_MAX])
{
	const char *folder = secure_getenv("PATH");

	if (strchr(program, '/') || !folder) {
		snprintf(path, PATH_MAX, "%s", program);
		return true;
	}
	for (;; folder++) {
		int bytes = (int)strcspn(folder, ":");
		snprintf(path, PATH_MAX, "%.*s%s%s", bytes, folder, bytes ? "/" : "", program);
		if (access(path, X_OK) == 0)
			return true;
		folder += bytes;
		if (!*folder)
			return false;
	}
}

int record_check(const struct record_options *options)
{
	char path[PATH_MAX];

	if (!find_program(options->program[0], path) || !is_setuid(path))
		return CLI_OK;
	fprintf(stderr,
	        "epprof: %s: a setuid or setgid program cannot be recorded: it ignores the variables that make it record\n",
	        path);
	return RECORD_NOT_EXECUTABLE;
}

/* ---- the process ---- */

static volatile pid_t program_pid;

/* Passes a signal on to the program, if another process sent it (si_code is 0 or below).  A signal with another code
 * comes from a terminal, which sends it to the program as well. */
static void forward_signal(int number, siginfo_t *about, void *context)
{
	int error = errno;

	(void)context;
	if (about->si_code <= 0 && program_pid > 0)
		kill(program_pid, number);
	errno = error;
}

/* Installs forward_signal for SIGINT and the like.  Signals that this process ignores stay ignored; the program has
 * inherited this. */
static void pass_signals_on(void)
{
	struct sigaction action = { .sa_sigaction = forward_signal, .sa_flags = SA_SIGINFO | SA_RESTART }, before;

	for (size_t i = 0; i < SIGNALS_COUNT; i++) {
		if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
}

static _Noreturn void start(char **program, bool no_follow, const sigset_t *mask)
{
	char pid[24];

	sigprocmask(SIG_SETMASK, mask, NULL);
	snprintf(pid, sizeof pid, "%ld", (long)getpid());
	/* If the variable cannot be set, child processes would be recorded, so the program is not started. */
	if (!no_follow || setenv("EPPROF_ONLY_PID", pid, 1) == 0)
		execvp(program[0], program);
	int code = errno == ENOENT || errno == ENOTDIR ? RECORD_NOT_FOUND : RECORD_NOT_EXECUTABLE;
	fprintf(stderr, "epprof: %s: %s\n", program[0], strerror(errno));
	_exit(code);
}

int record_run_program(char **program, bool no_follow, struct record_watch *watch, struct record_estimate *estimate)
{
	sigset_t all, mask, own;
	int status;

	/* The signals to pass on are blocked until the program is started and the handlers are installed. */
	sigemptyset(&all);
	for (size_t i = 0; i < SIGNALS_COUNT; i++)
		sigaddset(&all, signals[i]);
	if (watch)
		sigorset(&all, &all, &watch->signals);
	sigprocmask(SIG_BLOCK, &all, &mask);
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0)
		start(program, no_follow, &mask);
	program_pid = pid;
	if (pid > 0)
		pass_signals_on();
	own = mask;
	if (watch)
		sigorset(&own, &mask, &watch->signals);
	sigprocmask(SIG_SETMASK, &own, NULL);
	if (pid < 0) {
		fprintf(stderr, "epprof: %s: %s\n", program[0], strerror(errno));
		return RECORD_NOT_EXECUTABLE;
	}
	record_estimate_start(estimate);
	if (watch)
		record_watch_until_end(watch, pid);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	program_pid = 0;
	return WIFSIGNALED(status) ? RECORD_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}
