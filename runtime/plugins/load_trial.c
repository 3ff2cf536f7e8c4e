/* Loads libraries in another process first, see epp_plugin_trial_begin in epprof/plugin.h: a constructor that does not
 * return would hold the loader's lock of this process for ever, and no thread could load a library or exit.
 *
 * The process runs the program `true` with the library in LD_PRELOAD.  Only one result counts: it did not end.
 * Whatever else happens there may have a cause that this process lacks, such as a symbol that only this process has.
 *
 * The process is a child of the host's, which may ignore or handle the end of its children, and may wait for any of
 * them: if it cannot be waited for here, it has ended. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os/os.h"
#include "base/status.h"
#include "base/thread.h"
#include "base/worker.h"
#include "epprof/plugin.h"

#define AT_ONCE_MAX 16u
#define STACK_BYTES 65536u
/* A library that computes or reads is loading, and has more time than one that waits. */
#define BUSY_LIMITS 4

struct trial {
	SLIST_ENTRY(trial) link;
	char *path; /* real path */
	enum { TRIAL_NEW, TRIAL_RUNNING, TRIAL_ENDED, TRIAL_HUNG } state;
	pid_t pid;
	int64_t begin_ns;
};

/* The trials of this process.  They are never freed: a library has one. */
static SLIST_HEAD(, trial) trials = SLIST_HEAD_INITIALIZER(trials);
static unsigned running_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ---- fork ---- */

static void fork_prepare(void)
{
	pthread_mutex_lock(&lock);
}

static void fork_parent(void)
{
	pthread_mutex_unlock(&lock);
}

/* The processes of running trials are not children of the forked child, which begins them again. */
static void fork_child(void)
{
	struct trial *trial;
	pthread_mutex_init(&lock, NULL);
	SLIST_FOREACH(trial, &trials, link)
		if (trial->state == TRIAL_RUNNING)
			trial->state = TRIAL_NEW;
	running_count = 0;
}

static void set_up(void)
{
	os_at_fork(fork_prepare, fork_parent, fork_child);
}

/* ---- the process ---- */

struct spawn {
	const char *folder;
	char **environment;
};

/* Runs in memory that it shares with the thread that waits in clone, on a stack of its own, until execve.  The system
 * is called without functions that a sanitizer wraps, because these keep their notes in that memory. */
static __attribute__((no_sanitize("address", "thread"))) int run_child(void *argument)
{
	const struct spawn *spawn = argument;
	char name[] = "true", *const arguments[] = { name, NULL };
	static const uint64_t default_action[4], no_signal;
	/* A handler of the host must not run here. */
	for (int number = 1; number < NSIG; number++)
		syscall(SYS_rt_sigaction, number, default_action, NULL, sizeof(no_signal));
	syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	syscall(SYS_setsid);
	long null = syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (syscall(SYS_dup3, null, fd, 0) < 0 && null != fd)
			return 127;
	if (syscall(SYS_chdir, spawn->folder))
		return 127;
#ifdef SYS_close_range
	syscall(SYS_close_range, STDERR_FILENO + 1, UINT_MAX, 0);
#endif
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &no_signal, NULL, sizeof(no_signal));
	syscall(SYS_execve, "/bin/true", arguments, spawn->environment);
	syscall(SYS_execve, "/usr/bin/true", arguments, spawn->environment);
	return 127;
}

/* The C library's name for clone that the thread sanitizer does not wrap, with notes for a copy of the memory. */
int __clone(int (*run)(void *argument), void *stack, int flags, void *argument, ...);

/* Returns the number of the process, or -1. */
static pid_t start_process(struct spawn *spawn)
{
	struct os_signals before;
	int cancel, saved_errno = errno;
	char *stack = malloc(STACK_BYTES);
	if (!stack)
		return -1;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	os_signals_block(&before);
	pid_t pid = __clone(run_child, (void *)((uintptr_t)(stack + STACK_BYTES) & ~(uintptr_t)63),
	                    CLONE_VM | CLONE_VFORK | SIGCHLD, spawn);
	os_signals_restore(&before);
	pthread_setcancelstate(cancel, NULL);
	free(stack);
	errno = saved_errno;
	return pid;
}

static bool is_left_out(const char *variable)
{
	return !strncmp(variable, "EPPROF_", 7) || !strncmp(variable, "LD_PRELOAD=", 11);
}

/* LD_PRELOAD has the file without its folder, which becomes the working directory, because blanks and colons separate
 * paths there. */
static pid_t start(const char *path)
{
	extern char **environ;
	char folder[PATH_MAX], preload[PATH_MAX + 16];
	size_t count = 0, taken = 0;
	const char *file = strrchr(path, '/') + 1;
	snprintf(folder, sizeof(folder), "%.*s", (int)(file - path), path);
	snprintf(preload, sizeof(preload), "LD_PRELOAD=./%s", file);
	while (environ && environ[count])
		count++;
	char **environment = calloc(count + 2, sizeof(*environment));
	if (!environment)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (!is_left_out(environ[i]))
			environment[taken++] = environ[i];
	environment[taken] = preload;
	pid_t pid = start_process(&(struct spawn){ folder, environment });
	free(environment);
	return pid;
}

/* Returns true if the process waits for something, but not for a disk. */
static bool is_waiting(pid_t pid)
{
	char name[32], text[256];
	snprintf(name, sizeof(name), "/proc/%d/stat", pid);
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t bytes = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[bytes > 0 ? bytes : 0] = '\0';
	/* The state follows the name of the program, which is in brackets. */
	const char *end = strrchr(text, ')');
	return !end || !end[1] || (end[2] != 'R' && end[2] != 'D');
}

/* Ends a process, and waits shortly for its end. */
static void kill_process(pid_t pid)
{
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
	for (unsigned i = 0; i < 100 && waitpid(pid, NULL, WNOHANG) == 0; i++)
		os_thread_pause(1000000);
}

/* ---- trials ---- */

/* Returns false if no trial of the file is possible or needed. */
static bool is_for_trial(const char *path)
{
	struct stat st;
	const char *file = strrchr(path, '/') + 1;
	const char *variable = os_variable("EPPROF_PLUGIN_TRIAL");
	if ((variable && !strcmp(variable, "0")) || strpbrk(file, " :") || stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	void *library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
	if (library)
		dlclose(library);
	return !library;
}

/* Returns the trial of a real path, which it creates; NULL without memory.  The lock is held. */
static struct trial *find(const char *path)
{
	struct trial *trial;
	SLIST_FOREACH(trial, &trials, link)
		if (!strcmp(trial->path, path))
			return trial;
	trial = calloc(1, sizeof(*trial));
	if (!trial || !(trial->path = strdup(path))) {
		free(trial);
		return NULL;
	}
	SLIST_INSERT_HEAD(&trials, trial, link);
	return trial;
}

/* Starts a trial that was not started.  The lock is held. */
static void begin(struct trial *trial)
{
	if (trial->state != TRIAL_NEW || running_count >= AT_ONCE_MAX)
		return;
	trial->begin_ns = thread_now_ns();
	trial->pid = start(trial->path);
	trial->state = trial->pid > 0 ? TRIAL_RUNNING : TRIAL_ENDED;
	running_count += trial->pid > 0;
}

/* Updates the state.  The lock is held. */
static void look(struct trial *trial)
{
	int64_t limit_ns = (int64_t)worker_timeout_ns(), took_ns = thread_now_ns() - trial->begin_ns;
	if (trial->state != TRIAL_RUNNING)
		return;
	/* It fails if the host ignores the end of its children, or has waited for any child. */
	if (waitpid(trial->pid, NULL, WNOHANG)) {
		trial->state = TRIAL_ENDED;
	} else if (took_ns >= limit_ns && (is_waiting(trial->pid) || took_ns / BUSY_LIMITS >= limit_ns)) {
		kill_process(trial->pid);
		trial->state = TRIAL_HUNG;
	}
	running_count -= trial->state != TRIAL_RUNNING;
}

/* Returns the trial of a library, begun if there may be one more at once; NULL if it has none. */
static struct trial *trial_for(const char *path)
{
	char *real_path = path && strchr(path, '/') ? realpath(path, NULL) : NULL;
	struct trial *trial = NULL;
	pthread_once(&once, set_up);
	if (real_path && is_for_trial(real_path)) {
		pthread_mutex_lock(&lock);
		trial = find(real_path);
		if (trial)
			begin(trial);
		pthread_mutex_unlock(&lock);
	}
	free(real_path);
	return trial;
}

void epp_plugin_trial_begin(const char *path)
{
	trial_for(path);
}

epp_status *epp_plugin_trial_await(const char *path)
{
	struct trial *trial = trial_for(path);
	bool is_over = !trial, is_hung = false;
	uint32_t pause_ns = 100000;
	while (!is_over) {
		pthread_mutex_lock(&lock);
		begin(trial);
		look(trial);
		is_hung = trial->state == TRIAL_HUNG;
		is_over = is_hung || trial->state == TRIAL_ENDED;
		pthread_mutex_unlock(&lock);
		if (!is_over)
			os_thread_pause(pause_ns);
		pause_ns = pause_ns < 5000000 ? pause_ns * 2 : pause_ns;
	}
	return is_hung ? worker_status(WORKER_HUNG, "dlopen") : NULL;
}
