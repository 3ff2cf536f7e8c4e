/* Declarations shared by the files of epprof record.
 *
 * The command runs a program with EPPROF_OUTPUT set to a name in a folder of its own, beside the output.  Each process
 * of the program writes a trace there.  When the program has ended, the traces become the output. */
#ifndef EPPROF_CLI_RECORD_RECORD_H
#define EPPROF_CLI_RECORD_RECORD_H

#include <dirent.h>
#include <sys/types.h>

#include "cli/cli.h"
#include "record_watch.h"

/* Selects the steps of the program that are recorded: after `skip` steps, `warmup` steps are left out and `active`
 * steps are recorded; these two are done `repeat` times, or, if it is 0, until the end of the program. */
struct record_schedule {
	bool is_given; /* the command line has a schedule */
	int64_t skip, warmup, active, repeat;
	const char *step; /* name of the events that are steps; NULL: the default */
};

/* The command line. */
struct record_options {
	char **program;                /* the program and its arguments, up to NULL */
	const char *output;            /* may have placeholders, see record_name.c */
	const char *policy;            /* value of EPPROF_POLICY; NULL: none */
	const char *profilers;         /* value of EPPROF_PROFILERS; NULL: none */
	uint64_t ring_bytes;           /* value of --max-bytes; 0: not given */
	const char *ranks;             /* value of EPPROF_RANKS; NULL: all processes */
	bool no_follow;                /* only the program itself is recorded, not its child processes */
	int64_t delay_ns, duration_ns; /* values of --delay and --duration; 0: not given */
	bool start_paused;             /* the recording begins when `epprof ctl resume` is called */
	struct record_schedule schedule;
	const char *max_overhead; /* value of EPPROF_MAX_OVERHEAD; NULL: none */
	/* time at which the recording begins if there is a delay, of CLOCK_MONOTONIC; 0: no delay */
	int64_t from_ns;
	bool report, force;
	struct record_watch watch;
};

/* ---- record_name.c: names with placeholders ---- */

/* Replaces the placeholders %pid% (of this command), %hostname%, %rank% and %% (a percent sign).  The rank is read from
 * the environment variables of PMI, PMIx, Open MPI, torchrun and SLURM.
 * Ownership: the caller frees *name, which is NULL on failure.  Errors: EPP_NOT_FOUND (no variable has a rank),
 * EPP_OUT_OF_MEMORY. */
epp_status *record_expand_name(const char *pattern, char **name) EPP_MUST_CHECK;
/* Returns the rank of this command; NULL: it has none.  Ownership: the text belongs to the environment. */
const char *record_find_rank(void);

/* ---- record_environment.c: environment variables of the program ---- */

/* Returns the time of CLOCK_MONOTONIC. */
int64_t record_now_ns(void);
/* Sets the environment variables that make the program record into the folder.  The delay (--delay) is counted from
 * this call.  If parts of epprof are not installed, a message names the programs that cannot be recorded. */
epp_status *record_set_environment(struct record_options *options, const char *folder) EPP_MUST_CHECK;

/* ---- record_hooks.c: hooks in frameworks ---- */

/* Sets the environment variables that load epprof's hooks into the program. */
epp_status *record_set_hooks(void) EPP_MUST_CHECK;

/* ---- record_program.c: the program's process ---- */

struct record_estimate; /* defined in record_estimate.h */

/* The exit statuses that shells use: the program cannot be executed; it is not found; RECORD_SIGNAL + n: it was ended
 * by signal n. */
enum { RECORD_NOT_EXECUTABLE = 126, RECORD_NOT_FOUND = 127, RECORD_SIGNAL = 128 };

/* Checks if this system can record the program with these options.  Returns CLI_OK, or an exit status after an error
 * was reported: RECORD_NOT_EXECUTABLE if the program would run with more rights than its user (for example setuid),
 * because the dynamic linker and libepprof then ignore the environment. */
int record_check(const struct record_options *options);
/* Starts the program and waits for its end.  SIGINT, SIGTERM, SIGHUP and SIGQUIT are passed on to the program, except
 * those from a terminal, which the program gets from the terminal itself.  With `no_follow`, EPPROF_ONLY_PID is set to
 * the program's pid.  While the program runs, `watch` takes snapshots of its traces (record_watch.h), and `estimate`
 * estimates how much it will write (record_estimate.h); both may be NULL.
 * Returns the program's exit status: 128 + n after signal n; 126 or 127 if it cannot be started, which a message
 * reports. */
int record_run_program(char **program, bool no_follow, struct record_watch *watch, struct record_estimate *estimate);

/* ---- record_traces.c: the folder of traces ---- */

/* Creates the folder beside `output`.  Ownership: the caller frees *folder, which is NULL on failure.  Errors: EPP_IO,
 * EPP_NOT_FOUND, EPP_OUT_OF_MEMORY. */
epp_status *record_make_folder(const char *output, char **folder) EPP_MUST_CHECK;
/* Returns true if a file of the folder is a trace.  For scandir. */
int record_is_trace(const struct dirent *entry);
/* Prints the messages in the file `notes` of the folder, each different line once.  epprof's hooks in the program's
 * processes write them. */
void record_print_notes(const char *folder);
/* Makes the output from the traces in the folder and removes the folder.  Files that cannot be read or that another
 * process still writes stay in the folder, and a message names them.  `*count` is set to the number of traces in the
 * output.  Returns an enum cli_exit: also CLI_FAILURE if there is an output but some trace could not be read. */
int record_join_traces(const char *folder, const char *output, bool overwrite, size_t *count);

#endif
