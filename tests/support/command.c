/* Runs the epprof command: see command.h. */
#include "tests/support/command.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGS_MAX 32

/* Starts the command as a shell would.  Signals stay blocked until the default actions are set: the child begins with
 * Check's signal handlers, which would kill the test with all its processes. */
static pid_t start(int out, int err, char **argv)
{
	static const int defaults[] = { SIGPIPE, SIGINT, SIGTERM, SIGHUP };
	sigset_t all, before;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid_t pid = fork();

	if (pid == 0) {
		for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
			signal(defaults[i], SIG_DFL);
		sigprocmask(SIG_SETMASK, &before, NULL);
		if (dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
			_exit(126);
		close(out);
		close(err);
		execv(argv[0], argv);
		_exit(127);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return pid;
}

static int create(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	ck_assert_msg(fd >= 0, "%s: %s", path, strerror(errno));
	return fd;
}

static void collect(char **argv, va_list args)
{
	static char path[] = CHECK_BUILD "/epprof";
	size_t count = 0;

	argv[count++] = path;
	while (count < ARGS_MAX && (argv[count] = va_arg(args, char *)) != NULL)
		count++;
	ck_assert_uint_lt(count, ARGS_MAX);
}

static char *read_all(int fd, size_t *bytes)
{
	char *text = NULL;
	size_t room = 0;
	ssize_t got = 0;

	*bytes = 0;
	do {
		*bytes += (size_t)got;
		if (*bytes == room) {
			room = room ? room * 2 : 65536;
			text = realloc(text, room + 1);
		}
		got = pread(fd, text + *bytes, room - *bytes, (off_t)*bytes);
	} while (got > 0);
	text[*bytes] = 0;
	return text;
}

char *command_file(const char *path, size_t *bytes)
{
	int fd = open(path, O_RDONLY);
	char *text = read_all(fd, bytes);

	if (fd >= 0)
		close(fd);
	return text;
}

int command_wait(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

pid_t command_start(const char *stdout_path, const char *stderr_path, ...)
{
	int out = create(stdout_path), err = create(stderr_path);
	char *argv[ARGS_MAX];
	va_list args;

	va_start(args, stderr_path);
	collect(argv, args);
	va_end(args);
	pid_t pid = start(out, err, argv);
	close(out);
	close(err);
	return pid;
}

struct command command_run(const char *stdout_path, ...)
{
	int out = stdout_path ? create(stdout_path) : memfd_create("out", 0), err = memfd_create("err", 0);
	struct command command = { 0 };
	char *argv[ARGS_MAX];
	size_t err_bytes;
	va_list args;

	va_start(args, stdout_path);
	collect(argv, args);
	va_end(args);
	command.code = command_wait(start(out, err, argv));
	if (!stdout_path)
		command.out = read_all(out, &command.out_bytes);
	command.err = read_all(err, &err_bytes);
	close(out);
	close(err);
	return command;
}

void command_free(struct command *command)
{
	free(command->out);
	free(command->err);
	memset(command, 0, sizeof *command);
}
