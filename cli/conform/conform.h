/* epprof conform: tests a profiler plugin, one case after the other, each in a process of its own.
 *
 *   conform.c          the command: reads the options, selects and runs the cases
 *   conform_process.c  the process of a case: its limit, how it ended, what it printed
 *   conform_output.c   results as text, TAP, JUnit and JSON
 *   conform_fuzz.c     random calls with one seed after the other
 *   conform_waivers.c  the results of an earlier run, and waivers
 *   conform_trace.c    the calls of a case as a trace
 *   conform_drive.c    what the cases have in common: they load the plugin, record with it and read its events
 *
 * In cases/:
 *   cases.c            the table of cases; the functions of each level are in a file of their own, cases_*.c
 *   direct.c           calls of a profiler's entries without a session in between
 *   model/             the cases with a model in ONNX Runtime itself
 *   tf/, pu1/, pjrt/   the cases of these ABIs, which call the library's functions as its framework does
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
	CONFORM_SKIP,    /* could not be checked, for example because the plugin has no such entry */
	CONFORM_WARNING, /* works, but costs the host too much */
	CONFORM_VERDICTS_COUNT
};
/* "pass", "fail", ... */
extern const char *const conform_verdict_names[];

/* The ABIs that a case is for. */
enum { CONFORM_ORT = 1, CONFORM_TF = 2, CONFORM_PU1 = 4, CONFORM_PJRT = 8, CONFORM_ALL = 15 };
/* "ort", "tf", ...: bit i is name i.  Ends with NULL. */
extern const char *const conform_kinds[];

#define CONFORM_TEXT_BYTES 512

struct conform;

struct conform_case {
	const char *name; /* level.subject.what: "2.restart.repeats" */
	unsigned kinds;
	const char *contract; /* header and function that promise it */
	const char *expected;
	const char *hosts; /* what the frameworks do with a plugin that fails */
	/* Returns if the plugin passes; every other verdict ends the process. */
	void (*run)(const struct conform *conform);
};

extern const struct conform_case conform_cases[];
extern const size_t conform_cases_count;

struct conform_result {
	const struct conform_case *about;
	enum conform_verdict verdict;
	char reason[CONFORM_TEXT_BYTES];  /* why it is not a pass */
	char printed[CONFORM_TEXT_BYTES]; /* the end of what the plugin printed */
	uint64_t duration_ns;
	const char *waiver; /* the reason of a known failure; NULL: none */
};

/* The environment in which a case runs. */
struct conform {
	const char *library;
	const char *work_name;   /* a function of the library that gives its device work; NULL: none */
	const char *model;       /* for cases in ONNX Runtime itself; NULL: none */
	const char *ort_library; /* ONNX Runtime's library; NULL: search for it */
	const char *trace_path;  /* the trace of the calls; NULL: none */
	uint64_t seed;
	uint64_t limit_ns; /* of a case */
	bool is_quick;
	const struct conform_case *about;
	int result_fd;
};

/* ---- conform_process.c ---- */

/* Runs a case in a process of its own, for at most its limit. */
void conform_run_case(const struct conform *conform, struct conform_result *result);
/* Runs a case in this process, for a debugger, and prints its verdict.  Does not return. */
_Noreturn void conform_run_here(const struct conform *conform);

/* For cases: end the process with a verdict and the reason. */
_Noreturn void conform_fail(const struct conform *conform, const char *format, ...) EPP_FORMAT(2, 3);
_Noreturn void conform_skip(const struct conform *conform, const char *format, ...) EPP_FORMAT(2, 3);
_Noreturn void conform_warn(const struct conform *conform, const char *format, ...) EPP_FORMAT(2, 3);

/* ---- conform_trace.c: in the process of a case ---- */

/* Begins the trace, if the command line names one, or skips the case. */
void conform_trace_begin(const struct conform *conform);
/* Finishes the file; without a trace it does nothing. */
void conform_trace_end(void);
/* Records the calls of this profiler's entries from now on. */
void conform_trace_profiler(OrtEpProfilerImpl *profiler);

/* A call that the host of an ABI makes itself. */
struct conform_call {
	const char *entry; /* NULL: there is no trace */
	uint64_t event;
	uint64_t start_ticks;
};
/* Begins the event of a call.  `entry` is a literal. */
struct conform_call conform_trace_call(const char *entry);
/* Ends it, with the status that was returned: "OK", or the error. */
void conform_trace_return(struct conform_call call, const char *status);

/* ---- conform_fuzz.c ---- */

/* Runs the case of random calls with one seed after the other, from conform.seed on, and prints those that fail.
 * Returns the exit status. */
int conform_fuzz(struct conform conform, uint64_t time_ns);
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
	void (*print_begin)(FILE *to, const struct conform_report *report); /* results_count results will follow */
	void (*print_result)(FILE *to, const struct conform_report *report, size_t index);
	void (*print_end)(FILE *to, const struct conform_report *report);
};
extern const struct conform_format conform_formats[];
enum { CONFORM_TEXT, CONFORM_TAP, CONFORM_JUNIT, CONFORM_JSON, CONFORM_FORMATS_COUNT };

bool conform_is_failure(const struct conform_result *result);

/* ---- conform_waivers.c ---- */

/* Names of cases, each with a text. */
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
/* NULL: not among them. */
const struct conform_name *conform_names_find(const struct conform_names *names, const char *name);
void conform_names_free(struct conform_names *names);

/* ---- conform_drive.c: in the process of a case ---- */

/* Loads the plugin.  Skips the case if that fails, or if the case is not for this kind of plugin. */
epp_plugin *conform_load(const struct conform *conform);
/* Loads the plugin and makes a profiler, or skips the case. */
OrtEpProfilerImpl *conform_profiler(const struct conform *conform, epp_plugin **plugin);
/* Makes a further profiler, or skips the case. */
OrtEpProfilerImpl *conform_profiler_create(const struct conform *conform, epp_plugin *plugin);
/* The function that gives the device work; NULL: the command line names none.  Skips the case if the library lacks it.
 */
int (*conform_work(const struct conform *conform, epp_plugin *plugin))(int);
/* As conform_work, but skips the case if the command line names none. */
int (*conform_work_needed(const struct conform *conform, epp_plugin *plugin))(int);

/* For cases that call the library themselves, without libepprof: opens it, and skips the case if that fails, or if it
 * does not export `symbol`, by which its ABI is recognized. */
void *conform_open(const struct conform *conform, const char *symbol);
/* The function of an opened library that gives the device work.  Skips the case if there is none. */
int (*conform_open_work(const struct conform *conform, void *library))(int);

/* Reports a status of libepprof as a failure of the plugin; NULL does nothing. */
void conform_check(const struct conform *conform, const char *step, epp_status *status);
/* As conform_check, for a status that a function of the profiler, such as StopEvent, has returned. */
void conform_check_ort(const struct conform *conform, const char *step, OrtStatus *status);
/* Ignores and releases a status that a function of the profiler has returned. */
void conform_ignore_ort(OrtStatus *status);

/* A session in memory that has the profiler attached.  The end of its runs waits for work that the profiler reports as
 * unfinished. */
epp_session *conform_session(const struct conform *conform, OrtEpProfilerImpl *profiler);
/* The same with a grace time of its own; 1: it does not wait. */
epp_session *conform_session_with_grace(const struct conform *conform, OrtEpProfilerImpl *profiler, uint64_t grace_ns);

/* How host events are recorded: each thread records nodes in a run of a model. */
struct conform_nodes {
	int (*work)(int count);
	int work_count;                      /* what each node gives to the device */
	unsigned threads_count, nodes_count; /* at most 64 threads, which begin together; nodes of each thread */
	unsigned pause_us;                   /* before and after the work, inside the node */
	uint64_t until_ns;                   /* later than this time of conform_now_ns no node begins; 0: no limit */
};
/* Returns the number of nodes recorded, by all threads. */
uint64_t conform_record_nodes(const struct conform *conform, epp_session *session, const struct conform_nodes *nodes);
/* Ends the session and waits until all events are stored. */
void conform_end(const struct conform *conform, epp_session *session);
/* Starts the session, records nodes, and ends it.  Returns the number of nodes. */
uint64_t conform_record(const struct conform *conform, epp_session *session, const struct conform_nodes *nodes);

/* Loads the plugin, records a node without work, releases the profiler and unloads the library. */
void conform_use_and_unload(const struct conform *conform);

struct conform_event {
	int64_t start_ns, end_ns, error_ns;
	int64_t parent_start_ns, parent_end_ns;
	uint64_t parent; /* a host event of the session; 0: none */
	uint32_t run, track;
	int64_t stream; /* -1: not known */
	uint8_t category;
	bool is_inferred;          /* the parent was found by containment */
	bool is_outside;           /* of its run, by more than its error */
	bool has_start;            /* false: a duration only */
	int64_t graph, graph_node; /* args of these names; -1: none */
};

/* The plugin's device events in a session, in order of their start, and its account. */
struct conform_events {
	struct conform_event *at;
	size_t count;
	epp_trace_ledger_entry account;
};
void conform_read(const struct conform *conform, epp_session *session, struct conform_events *events);

/* Random numbers for random calls, from the seed.  A case makes calls until the number of them is reached, or a third
 * of its limit. */
struct conform_random {
	uint64_t state, left_count, until_ns;
};
struct conform_random conform_random_begin(const struct conform *conform);
bool conform_random_continues(struct conform_random *random);
uint64_t conform_random_next(struct conform_random *random);

void conform_sleep_us(unsigned us);
uint64_t conform_now_ns(void);

#endif
