/* Watches the traces of a program while it runs, and takes snapshots of them. */
#ifndef EPPROF_CLI_RECORD_RECORD_WATCH_H
#define EPPROF_CLI_RECORD_RECORD_WATCH_H

#include <signal.h>
#include <sys/types.h>

#include "cli/cli.h"

#define RECORD_TRIGGERS_MAX 16

/* A snapshot is taken when a host event of this name lasts longer than this. */
struct record_trigger {
	const char *pattern; /* the name, or a shell pattern */
	int64_t limit_ns;
};

struct record_watched; /* a trace: record_watch.c */

/* Zeroed by the caller, except for the options; released by record_watch_finish. */
struct record_watch {
	/* Options. */
	struct record_trigger triggers[RECORD_TRIGGERS_MAX];
	size_t triggers_count;
	int64_t every_ns; /* the least time between two snapshots of triggers */
	bool on_signal;   /* SIGUSR2 takes snapshots */

	const char *folder, *output;
	sigset_t signals;              /* that are blocked and waited for */
	struct record_watched *traces; /* those seen in the folder so far */
	size_t traces_count;
	int64_t last_ns; /* CLOCK_MONOTONIC, of the last snapshot of a trigger; 0: none yet */
	uint64_t more;   /* events that were too long, but too soon after a snapshot */
	unsigned number; /* of the last snapshot */
	bool any_missed; /* a ring was overwritten between two looks */
	bool any_failed; /* a snapshot could not be written, or does not have its event */
};

#define RECORD_EVERY_NS INT64_C(10000000000)

/* Adds a trigger, 'NAME > TIME'.  False: an error was reported.
 * Ownership: the text is borrowed, and cut after the name. */
bool record_watch_add(struct record_watch *watch, char *text);

/* Prepares the watch of the traces in `folder`, with snapshots beside `output`.  Sets the signals that the caller blocks
 * before it starts the program: SIGCHLD, and SIGUSR2 if it takes snapshots.
 * Ownership: the paths are borrowed until record_watch_finish. */
void record_watch_begin(struct record_watch *watch, const char *folder, const char *output);
/* Watches until process `pid`, a child, has ended and can be waited for. */
void record_watch_until_end(struct record_watch *watch, pid_t pid);
/* Prints how many long events have no snapshot, unblocks the signals, and releases the watch.  From here on SIGUSR2 is
 * ignored, if it took snapshots. */
void record_watch_finish(struct record_watch *watch);

#endif
