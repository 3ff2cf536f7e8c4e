/* Acts as the framework for PJRT's profiler extension: calls the plugin's functions directly, without libepprof. */
#ifndef EPPROF_CLI_CONFORM_CASES_PJRT_PJRT_HOST_H
#define EPPROF_CLI_CONFORM_CASES_PJRT_PJRT_HOST_H

#include "cli/conform/conform.h"
#include "epprof/abi/pjrt.h"

/* Units of work in a run.  Cases that use a session of libepprof pass other numbers to the work function, so a test
 * plugin can find out which kind of case runs. */
#define PJRT_WORK_COUNT 3

struct pjrt_host {
	const struct conform *conform;
	int (*work)(int count); /* gives the device `count` units of work; NULL: the command line names no function */
	const PJRT_Api *(*get)(void);
	const PJRT_Api *api;
	const PLUGIN_Profiler_Api *table;
	bool is_old; /* struct_size of all arguments is 0, as in hosts before July 2026 */
	PLUGIN_Profiler *profiler;
	char message[128];   /* message of the last error */
	int code;            /* code of the last error */
	const uint8_t *data; /* data of the last pjrt_collect, in memory of the plugin */
	size_t data_bytes;
};

/* Opens the library and finds the table of the profiler extension, or skips the case. */
void pjrt_open(const struct conform *conform, struct pjrt_host *host);

/* ---- pjrt_trace.c ---- */

/* Returns a copy of a table whose entries record each call in the trace and then call the plugin's entries.  A process
 * has only one such copy. */
const PLUGIN_Profiler_Api *pjrt_trace(const PLUGIN_Profiler_Api *table);

/* ---- pjrt_host.c ---- */

/* Each calls one function of the plugin.  Returns false if it returned an error, which is stored in `host`. */
bool pjrt_create(struct pjrt_host *host);
bool pjrt_start(struct pjrt_host *host);
bool pjrt_stop(struct pjrt_host *host);
/* pjrt_collect has the plugin put the data into its own memory, pjrt_collect_into into a buffer of the host.  *bytes is
 * the size of this buffer, and is set to the size that the plugin returned. */
bool pjrt_collect(struct pjrt_host *host);
bool pjrt_collect_into(struct pjrt_host *host, uint8_t *buffer, size_t *bytes);
bool pjrt_destroy(struct pjrt_host *host);

/* Fails the case if the call returned an error. */
void pjrt_expect(const struct pjrt_host *host, const char *step, bool is_done);
/* Opens the library and makes a profiler. */
void pjrt_begin(const struct conform *conform, struct pjrt_host *host);
/* Starts the profiler, gives the device work if the command line names a function for it, and stops the profiler.
 * Fails the case after an error. */
void pjrt_run(struct pjrt_host *host);
/* Calls pjrt_begin, pjrt_run and pjrt_collect.  Skips the case if the run has no data. */
void pjrt_run_with_data(const struct conform *conform, struct pjrt_host *host);
/* Makes a new profiler, does pjrt_run, collects the data and destroys the profiler.  Fails the case after an error. */
void pjrt_run_as_usual(struct pjrt_host *host);

#endif
