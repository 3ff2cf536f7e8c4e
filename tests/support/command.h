/* Runs the epprof command and captures its output. */
#ifndef EPPROF_TESTS_SUPPORT_COMMAND_H
#define EPPROF_TESTS_SUPPORT_COMMAND_H

#include <stddef.h>
#include <sys/types.h>

struct command {
	int code;  /* exit status, or -signal */
	char *out; /* standard output, NUL-terminated */
	size_t out_bytes;
	char *err;
};

/* Runs the command with the arguments up to NULL; the result is freed by command_free.  Standard output goes to
 * `stdout_path` if that is not NULL. */
struct command command_run(const char *stdout_path, ...) __attribute__((sentinel));
void command_free(struct command *command);

/* Starts the command and does not wait; standard output and error go to files.  command_wait returns the exit status,
 * or -signal. */
pid_t command_start(const char *stdout_path, const char *stderr_path, ...) __attribute__((sentinel));
int command_wait(pid_t pid);

/* Returns a file's contents, NUL-terminated; an empty text if there is no file.  Ownership: malloc. */
char *command_file(const char *path, size_t *bytes);

#endif
