/* Runs the epprof command and keeps what it printed. */
#ifndef EPPROF_TESTS_SUPPORT_COMMAND_H
#define EPPROF_TESTS_SUPPORT_COMMAND_H

#include <stddef.h>
#include <sys/types.h>

struct command {
	int code;  /* exit status, or -signal */
	char *out; /* standard output, a zero behind it */
	size_t out_bytes;
	char *err;
};

/* Arguments up to NULL; freed by command_free.  Standard output goes to `stdout_path` if that is not NULL. */
struct command command_run(const char *stdout_path, ...) __attribute__((sentinel));
void command_free(struct command *command);

/* Starts it and goes on; standard output and error go to files.  command_wait gives the exit status, or -signal. */
pid_t command_start(const char *stdout_path, const char *stderr_path, ...) __attribute__((sentinel));
int command_wait(pid_t pid);

/* What a file holds, a zero behind it; an empty text if there is none.  Ownership: malloc. */
char *command_file(const char *path, size_t *bytes);

#endif
