/* A library whose constructor does what SLOW_LOAD names: by default it does not return.  It is compiled without a
 * sanitizer, because a program that has none loads it, too. */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* Appends a line to the file SLOW_LOAD_FILE: the process's number and, if a variable of epprof is set, "set". */
static void count_load(void)
{
	char text[64];
	bool is_set = false;
	for (char **at = environ; *at; at++)
		is_set |= !strncmp(*at, "EPPROF_", 7);
	int bytes = snprintf(text, sizeof(text), "%d%s\n", (int)getpid(), is_set ? " set" : "");
	int fd = open(getenv("SLOW_LOAD_FILE"), O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (write(fd, text, (size_t)bytes) != bytes)
		abort();
	close(fd);
}

__attribute__((constructor)) static void load(void)
{
	const char *does = getenv("SLOW_LOAD");
	bool is_trial = getenv("LD_PRELOAD") != NULL;
	if (getenv("SLOW_LOAD_FILE"))
		count_load();
	if (does && !strcmp(does, "return"))
		return;
	if (does && !strcmp(does, "crash in the trial")) {
		if (is_trial)
			raise(SIGSEGV);
		return;
	}
	for (;;)
		if (!does || strcmp(does, "compute") != 0)
			pause();
}
