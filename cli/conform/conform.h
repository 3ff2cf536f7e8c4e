/* epprof conform: tests a profiler plugin, one case after the other, each in a process of its own.
 *
 *   conform.c          the command: reads the options, selects and runs the cases
 *   conform_process.c  runs a case in a process: its time limit, how it ended, what it printed
 *   conform_output.c   results as text, TAP, JUnit and JSON
 *   conform_fuzz.c     repeats a case of random calls with one seed after the other
 *   conform_waivers.c  reads the results of an earlier run, and waivers (known failures with their reasons)
 *   conform_trace.c    records the calls of a case in a trace
 *   conform_drive.c    what the cases have in common: they load the plugin, record with it and read its events
 *
 * In cases/:
 *   cases.c            the table of cases; the functions of each level are in a file of their own, cases_*.c
 *   direct.c           calls the entries of a profiler directly, without a session in between
 *   alloc_faults.c     makes allocations of the plugin fail
 *   model/             the cases that run a model in ONNX Runtime
 *   tf/, pu1/, pjrt/   the cases of these ABIs, which call the library's functions directly, as the framework does
 *
 * A new case is a row of the table, a function, and a plugin in tests/hostile/ that fails this case and no other. */
#ifndef EPPROF_CLI_CONFORM_CONFORM_H
#define EPPROF_CLI_CONFORM_CONFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "epprof/plugin.h"
#include "epprof/timeline.h"

enum conform_verdict {
	CONFORM_PASS,
	CONFORM_FAIL,
	CONFORM_CRASH,
	CONFORM_HANG,
	CONFORM_SKIP,    /* could not be checked, for example because the plugin lacks an optional entry */
	CONFORM_WARNING, /* keeps the contract, but has a fault that hosts tolerate, for example a high cost */
	CONFORM_VERDICTS_COUNT
};
/* "pass", "fail", ... */
extern const char *const conform_verdict_names[];

/* The ABIs that a case is for. */
enum { CONFORM_ORT = 1, CONFORM_TF = 2, CONFORM_PU1 = 4, CONFORM_PJRT = 8, CONFORM_ALL = 15 };
/* The names of the ABIs, "ort", "tf", ..., in the order of the bits above.  Ends with NULL. */
extern const char *const conform_kinds[];

#define CONFORM_TEXT_BYTES 512

struct conform;

struct conform_case {
	const char *name;     /* level.subject.what: "2.restart.repeats" */
	unsigned kinds;       /* the ABIs for which the case applies: CONFORM_ORT, ... */
	const char *contract; /* header and declaration that require the behaviour */
	const char *expected; /* the required behaviour */
	const char *hosts;    /* the consequence in the frameworks if a plugin fails the case */
	/* Checks the plugin.  Returns if it passes; with every other verdict, it ends the process instead. */
	void (*run)(const struct conform *conform);
};

extern const struct conform_case conform_cases[];
extern const size_t conform_cases_count;

struct conform_result {
	const struct conform_case *about;
	enum conform_verdict verdict;
	char reason[CONFORM_TEXT_BYTES];  /* why the verdict is not CONFORM_PASS; "" for a pass */
	char printed[CONFORM_TEXT_BYTES]; /* the last bytes that the process of the case printed */
	uint64_t duration_ns;
	const char *waiver; /* the reason in the file of waivers, if it names this case; NULL: it does not */
};

/* The environment in which a case runs. */
struct conform {
	const char *library;
	const char *work_name;   /* name of a function in the library that gives the device work; NULL: none */
	const char *model;       /* file of the model for the cases in ONNX Runtime; NULL: none, they are skipped */
	const char *ort_library; /* ONNX Runtime's library; NULL: it is searched */
	const char *trace_path;  /* output of --trace: the calls of the case; NULL: none */
	uint64_t seed;           /* of random calls */
	uint64_t limit_ns;       /* time limit of a case */
	bool is_quick;           /* fewer repetitions, threads and random calls, as with --quick */
	const struct conform_case *about;
	int result_fd; /* pipe through which the process of the case sends its verdict; -1: none, it is printed */
};

/* ---- conform_process.c ---- */

/* Runs a case in a process of its own, for at most conform->limit_ns, and fills `result`. */
void conform_run_case(const struct conform *conform, struct conform_result *result);
/* Runs a case in this process, for a debugger, and prints its verdict.  Does not return. */
_Noreturn void conform_run_here(const struct conform *conform);

/* For cases: end the process with a verdict and the reason. */
_Noreturn void conform_fail(const struct conform *conform, const char *format, ...) EPP_FORMAT(2, 3);
_Noreturn void conform_skip(const struct conform *conform, const char *format, ...) EPP_FORMAT(2, 3);
_Noreturn void conform_warn(const struct conform *conform, const char *format, ...) EPP_FORMAT(2, 3);

/* ---- conform_trace.c: in the process of a case ---- */

/* Begins the trace if conform->trace_path is not NULL.  Skips the case if this fails. */
void conform_trace_begin(const struct conform *conform);
/* Finishes the file; without a trace it does nothing. */
void conform_trace_end(void);
/* Records the calls of this profiler's entries from now on. */
void conform_trace_profiler(OrtEpProfilerImpl *profiler);

/* A call of a plugin's function that is recorded in the trace. */
struct conform_call {
	const char *entry;    /* name of the function; NULL: there is no trace */
	uint64_t event;       /* id of the open event in the trace; 0: none, the call is recorded when it returns */
	uint64_t start_ticks; /* start of the call, of epp_host_ticks */
};
/* Begins the event of a call, before the call.  `entry` is the name of the function, a string literal. */
struct conform_call conform_trace_call(const char *entry);
/* Ends the event of a call, after the call.  `status` is "OK" or the text of the error that the function returned. */
void conform_trace_return(struct conform_call call, const char *status);

/* ---- conform_fuzz.c ---- */

/* Runs the plugin's case of random calls with one seed after the other, from conform.seed on, for `time_ns`, and prints
 * the seeds that fail.  Returns an enum cli_exit. */
int conform_fuzz(struct conform conform, uint64_t time_ns);
/* Returns true for cases of random calls. */
bool conform_is_random(const struct conform_case *about);

/* ---- conform_output.c ---- */

struct conform_report {
	const char *library;
	const char *library_hash; /* SHA-256 in hexadecimal digits, or "" */
	const struct conform_result *results;
	size_t results_count;
	uint64_t seed;
};

struct conform_format {
	const char *name;
	void (*print_begin)(FILE *to, const struct conform_report *report); /* called before the first case has run */
	void (*print_result)(FILE *to, const struct conform_report *report, size_t index);
	void (*print_end)(FILE *to, const struct conform_report *report);
};
extern const struct conform_format conform_formats[];
enum { CONFORM_TEXT, CONFORM_TAP, CONFORM_JUNIT, CONFORM_JSON, CONFORM_FORMATS_COUNT };

/* Returns true for the verdicts fail, crash and hang. */
bool conform_is_failure(const struct conform_result *result);

/* ---- conform_waivers.c ---- */

/* Names of cases, each with a text, which is the reason of a waiver. */
struct conform_names {
	size_t count;
	struct conform_name {
		char *name;
		char *text;
	} * at;
};

/* Reads a file of waivers: a line has the name of a case and the reason; '#' begins a comment.
 * Returns false after an error was reported.  Ownership: the caller frees the names, also after an error. */
bool conform_waivers_read(const char *path, struct conform_names *waivers);
/* Reads the cases that did not pass (fail, crash, hang, warning) from a conform.json; the texts are NULL.  Otherwise as
 * conform_waivers_read. */
bool conform_failed_read(const char *path, struct conform_names *failed);
/* Returns the entry of a case; NULL: `names` does not contain it. */
const struct conform_name *conform_names_find(const struct conform_names *names, const char *name);
void conform_names_free(struct conform_names *names);

/* ---- conform_drive.c: in the process of a case ---- */

/* Loads the plugin.  Skips the case if that fails, or if the case is not for this kind of plugin. */
epp_plugin *conform_load(const struct conform *conform);
/* Loads the plugin and makes a profiler, or skips the case. */
OrtEpProfilerImpl *conform_profiler(const struct conform *conform, epp_plugin **plugin);
/* Makes a further profiler, or skips the case. */
OrtEpProfilerImpl *conform_profiler_create(const struct conform *conform, epp_plugin *plugin);
/* Returns the function that gives the device work (conform->work_name); NULL: the command line names none.  Skips the
 * case if the library lacks the function. */
int (*conform_work(const struct conform *conform, epp_plugin *plugin))(int);
/* As conform_work, but skips the case if the command line names none. */
int (*conform_work_needed(const struct conform *conform, epp_plugin *plugin))(int);

/* Opens the library with dlopen, for cases that call it directly, without libepprof.  Skips the case if this fails, or
 * if the library does not export `symbol`, which all plugins of the case's ABI export. */
void *conform_open(const struct conform *conform, const char *symbol);
/* As conform_work_needed, for a library that conform_open opened. */
int (*conform_open_work(const struct conform *conform, void *library))(int);

/* Fails the case if a status of libepprof is an error (not NULL).  `step` names the call in the message. */
void conform_check(const struct conform *conform, const char *step, epp_status *status);
/* As conform_check, for a status that a function of the profiler, such as StopEvent, has returned. */
void conform_check_ort(const struct conform *conform, const char *step, OrtStatus *status);
/* Ignores and releases a status that a function of the profiler has returned. */
void conform_ignore_ort(OrtStatus *status);

/* Creates a session in memory and attaches the profiler, or skips the case.  The end of a run waits for work that the
 * profiler reports as unfinished, at most a third of the case's time limit. */
epp_session *conform_session(const struct conform *conform, OrtEpProfilerImpl *profiler);
/* As conform_session, but the end of a run waits at most `grace_ns`; with 1 it practically does not wait. */
epp_session *conform_session_with_grace(const struct conform *conform, OrtEpProfilerImpl *profiler, uint64_t grace_ns);

/* The host events to record: each thread records an event for a run of a model, and in it events for nodes. */
struct conform_nodes {
	int (*work)(int count); /* called in each node with work_count; NULL: the nodes have no work */
	int work_count;         /* units of work that each node gives to the device */
	/* number of threads, at most 64, which begin at the same time (0: nothing is recorded); nodes of each thread */
	unsigned threads_count, nodes_count;
	unsigned pause_us; /* pause in each node before the work, and again after it */
	uint64_t until_ns; /* no node begins after this time, of conform_now_ns; 0: no limit */
};
/* Records nodes.  Returns the number of nodes that all threads together have recorded.  Skips the case if the work
 * function failed. */
uint64_t conform_record_nodes(const struct conform *conform, epp_session *session, const struct conform_nodes *nodes);
/* Ends the session and waits until all events are stored. */
void conform_end(const struct conform *conform, epp_session *session);
/* Starts the session, records nodes, and ends it.  Returns the number of nodes. */
uint64_t conform_record(const struct conform *conform, epp_session *session, const struct conform_nodes *nodes);

/* Loads the plugin, records a node without work, releases the profiler and unloads the library. */
void conform_use_and_unload(const struct conform *conform);

/* A device event of the plugin. */
struct conform_event {
	int64_t start_ns, end_ns, error_ns; /* error_ns is the larger of the error bounds of start and end */
	int64_t parent_start_ns, parent_end_ns;
	uint64_t parent; /* id of the host event that caused it; 0: it has none, or the trace lacks the host event */
	uint32_t run, track;
	int64_t stream; /* -1: not known */
	uint8_t category;
	bool is_inferred;          /* the parent is a host event that contains the event in time: no id named it */
	bool is_outside;           /* start_ns is before or after the run by more than its error bound */
	bool has_start;            /* false: the plugin reported a duration without a start */
	int64_t graph, graph_node; /* values of the args "graph" and "graph_node"; -1: the event lacks the arg */
};

/* The plugin's device events in a session, in order of their start, and the plugin's entry in the ledger, with the
 * numbers of events that were emitted and lost. */
struct conform_events {
	struct conform_event *at;
	size_t count;
	epp_trace_ledger_entry account;
};
/* Reads the events of all runs of the session so far.  Ownership: the caller frees events->at. */
void conform_read(const struct conform *conform, epp_session *session, struct conform_events *events);

/* A generator of random numbers for random calls, which begins with conform->seed.  conform_random_continues returns
 * true until it was called 1,000,000 times (if conform->is_quick is set, 2,000 times), or a third of the case's time
 * limit has passed. */
struct conform_random {
	uint64_t state, left_count, until_ns;
};
struct conform_random conform_random_begin(const struct conform *conform);
bool conform_random_continues(struct conform_random *random);
uint64_t conform_random_next(struct conform_random *random);

void conform_sleep_us(unsigned us);
uint64_t conform_now_ns(void);

#endif
