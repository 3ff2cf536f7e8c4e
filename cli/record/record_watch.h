/* Watches the traces of a program while it runs, and takes snapshots of them. */
#ifndef EPPROF_CLI_RECORD_RECORD_WATCH_H
#define EPPROF_CLI_RECORD_RECORD_WATCH_H

#include <signal.h>
#include <sys/types.h>

#include "cli/cli.h"

#define RECORD_TRIGGERS_MAX 16

/* A condition for a snapshot: a host event with this name lasts longer than this time. */
struct record_trigger {
	const char *pattern; /* name of the event, or a shell pattern */
	int64_t limit_ns;
};

struct record_watched; /* state of a trace, see record_watch.c */

/* Must be zeroed by the caller, who then sets the options.  Released by record_watch_finish. */
struct record_watch {
	/* Options. */
	struct record_trigger triggers[RECORD_TRIGGERS_MAX];
	size_t triggers_count;
	int64_t every_ns; /* shortest time between two snapshots that triggers cause */
	bool on_signal;   /* SIGUSR2 causes a snapshot of each trace that is being recorded */

	const char *folder, *output;
	sigset_t signals;              /* signals that are blocked, and received with sigtimedwait */
	struct record_watched *traces; /* traces that were found in the folder so far */
	size_t traces_count;
	int64_t last_ns; /* time of the last snapshot that a trigger caused, of CLOCK_MONOTONIC; 0: there was none */
	uint64_t more;   /* number of long events without a snapshot, because one was taken shortly before */
	unsigned number; /* number in the name of the last snapshot */
	bool any_missed; /* a ring was overwritten between two polls, so long events may have been missed */
	bool any_failed; /* a snapshot could not be written, or does not have the event that caused it */
};

#define RECORD_EVERY_NS INT64_C(10000000000)

/* Adds a trigger from a text 'NAME > TIME'.  Returns false if an error was reported.  Ownership: the text is borrowed
 * until record_watch_finish; the character after NAME is overwritten by a NUL. */
bool record_watch_add(struct record_watch *watch, char *text);

/* Prepares the watch of the traces in `folder`, with snapshots beside `output`.  Sets watch->signals, which the caller
 * must block before it starts the program: SIGCHLD, and with `on_signal` SIGUSR2.
 * Ownership: the paths are borrowed until record_watch_finish. */
void record_watch_begin(struct record_watch *watch, const char *folder, const char *output);
/* Watches until the child process `pid` has ended.  The caller then waits for it with waitpid. */
void record_watch_until_end(struct record_watch *watch, pid_t pid);
/* Prints how many long events have no snapshot of their own, unblocks the signals, and releases the watch.  If
 * `on_signal` is set, SIGUSR2 is ignored from here on. */
void record_watch_finish(struct record_watch *watch);

#endif
