/* Runs a case in a process.  The command itself does not load the plugin (except with --in-process): it forks, and the
 * child process runs the case and sends its verdict through a pipe.  The verdict is CONFORM_CRASH if the child ends
 * without sending one, and CONFORM_HANG if the time limit is reached and the child is killed. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "conform.h"

const char *const conform_verdict_names[] = { "pass", "fail", "crash", "hang", "skip", "warning" };

/* The message through the pipe. */
struct message {
	enum conform_verdict verdict;
	char reason[CONFORM_TEXT_BYTES];
};

static _Noreturn void send_verdict(const struct conform *conform, enum conform_verdict verdict, const char *format,
                                   va_list args)
{
	struct message message = { .verdict = verdict };

	vsnprintf(message.reason, sizeof(message.reason), format, args);
	conform_trace_end();
	if (conform->result_fd < 0) {
		fprintf(stderr, "%s: %s %s\n", conform->about->name, conform_verdict_names[verdict], message.reason);
		_exit(verdict == CONFORM_PASS || verdict == CONFORM_SKIP ? CLI_OK : CLI_FAILURE);
	}
	for (size_t sent = 0; sent < sizeof(message);) {
		ssize_t bytes = write(conform->result_fd, (const char *)&message + sent, sizeof(message) - sent);
		if (bytes <= 0)
			_exit(1);
		sent += (size_t)bytes;
	}
	_exit(0);
}

#define SEND(verdict) \
	do { \
		va_list args; \
		va_start(args, format); \
		send_verdict(conform, verdict, format, args); \
		va_end(args); \
	} while (0)

static _Noreturn void pass(const struct conform *conform, const char *format, ...)
{
	SEND(CONFORM_PASS);
}

void conform_fail(const struct conform *conform, const char *format, ...)
{
	SEND(CONFORM_FAIL);
}

void conform_skip(const struct conform *conform, const char *format, ...)
{
	SEND(CONFORM_SKIP);
}

void conform_warn(const struct conform *conform, const char *format, ...)
{
	SEND(CONFORM_WARNING);
}

void conform_run_here(const struct conform *conform)
{
	/* An error is ignored.  Loading a plugin that links TensorFlow then fails, and names the missing symbols. */
	epp_status_destroy(epp_tf_shim_load(NULL));
	conform_trace_begin(conform);
	conform->about->run(conform);
	pass(conform, "%s", "");
}

/* ---- the command's side ---- */

static _Noreturn void run_child(struct conform conform, int result_fd, int output_fd)
{
	char timeout_ms[32];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	/* libepprof's own time limit for calls of a plugin is set above the case's time limit, so that a call that does
	 * not return is ended by the latter. */
	snprintf(timeout_ms, sizeof(timeout_ms), "%llu", (unsigned long long)conform.limit_ns / 1000000 + 60000);
	conform.result_fd = result_fd;
	/* The case is in a process of its own already. */
	if (setenv("EPPROF_PLUGIN_TIMEOUT_MS", timeout_ms, 1) != 0 || setenv("EPPROF_PLUGIN_TRIAL", "0", 1) != 0 ||
	    dup2(output_fd, STDOUT_FILENO) < 0 || dup2(output_fd, STDERR_FILENO) < 0)
		conform_skip(&conform, "no process for the case: %s", strerror(errno));
	conform_run_here(&conform);
}

/* Waits for the child's verdict.  Returns false if the time limit is reached, or a signal was sent to the command.
 * Returns true after the whole message, the end of the pipe or an error; *received is then the number of bytes that
 * were read, or -errno. */
static bool wait_for_verdict(int fd, uint64_t limit_ns, struct message *message, ssize_t *received)
{
	uint64_t end_ns = conform_now_ns() + limit_ns;
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	for (;;) {
		uint64_t now_ns = conform_now_ns();
		int left_ms = now_ns >= end_ns ? 0 : (int)((end_ns - now_ns) / 1000000) + 1;
		int ready = poll(&poll_fd, 1, left_ms);
		if (ready == 0 || cli_signal)
			return false;
		if (ready < 0)
			continue;
		ssize_t bytes = read(fd, (char *)message + *received, sizeof(*message) - (size_t)*received);
		*received = bytes < 0 ? -errno : *received + bytes;
		if (bytes <= 0 || *received == sizeof(*message))
			return true;
	}
}

static void explain_end(int status, struct conform_result *result)
{
	result->verdict = CONFORM_CRASH;
	if (WIFSIGNALED(status))
		snprintf(result->reason, sizeof(result->reason), "the process was killed by signal %d (%s)",
		         WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(result->reason, sizeof(result->reason),
		         "the process ended with status %d before the case was over", WEXITSTATUS(status));
}

static void read_output(int fd, struct conform_result *result)
{
	off_t end = lseek(fd, 0, SEEK_END), room = sizeof(result->printed) - 1;
	ssize_t bytes = end > 0 ? pread(fd, result->printed, (size_t)room, end > room ? end - room : 0) : 0;

	result->printed[bytes > 0 ? bytes : 0] = '\0';
}

void conform_run_case(const struct conform *conform, struct conform_result *result)
{
	struct message message = { 0 };
	int fds[2] = { -1, -1 }, output_fd = memfd_create("output", MFD_CLOEXEC), status = 0;
	uint64_t begin_ns = conform_now_ns();
	ssize_t received = 0;

	*result = (struct conform_result){ .about = conform->about, .verdict = CONFORM_SKIP };
	fflush(NULL);
	pid_t pid = output_fd < 0 || pipe(fds) != 0 ? -1 : fork();
	if (pid == 0)
		run_child(*conform, fds[1], output_fd);
	close(fds[1]);
	if (pid < 0) {
		snprintf(result->reason, sizeof(result->reason), "no process for the case: %s", strerror(errno));
	} else {
		bool is_over = wait_for_verdict(fds[0], conform->limit_ns, &message, &received);
		if (!is_over)
			kill(-pid, SIGKILL);
		/* This kills processes that the plugin has started.  The child has ended, but is only reaped below, so
		 * the number of its process group is still in use. */
		waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT);
		kill(-pid, SIGKILL);
		waitpid(pid, &status, 0);
		if (!is_over) {
			result->verdict = CONFORM_HANG;
			snprintf(result->reason, sizeof(result->reason), "the case did not end within %.3g s",
			         (double)conform->limit_ns / 1e9);
		} else if (received == sizeof(message)) {
			result->verdict = message.verdict;
			memcpy(result->reason, message.reason, sizeof(result->reason));
		} else if (received < 0) {
			snprintf(result->reason, sizeof(result->reason), "the verdict cannot be read: %s",
			         strerror((int)-received));
		} else {
			explain_end(status, result);
		}
		read_output(output_fd, result);
	}
	close(fds[0]);
	close(output_fd);
	result->duration_ns = conform_now_ns() - begin_ns;
}
