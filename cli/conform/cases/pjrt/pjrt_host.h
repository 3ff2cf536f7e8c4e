/* A host of PJRT's profiler extension that calls a library's functions itself, without libepprof. */
#ifndef EPPROF_CLI_CONFORM_CASES_PJRT_PJRT_HOST_H
#define EPPROF_CLI_CONFORM_CASES_PJRT_PJRT_HOST_H

#include "cli/conform/conform.h"
#include "epprof/abi/pjrt.h"

/* Units of work in a run.  The cases that use a session give the device other numbers. */
#define PJRT_WORK_COUNT 3

struct pjrt_host {
	const struct conform *conform;
	int (*work)(int count); /* NULL: none */
	const PJRT_Api *(*get)(void);
	const PJRT_Api *api;
	const PLUGIN_Profiler_Api *table;
	bool is_old; /* leaves the sizes of arguments 0, as hosts before July 2026 */
	PLUGIN_Profiler *profiler;
	char message[128]; /* of the last error */
	int code;
	const uint8_t *data; /* of the last pjrt_collect */
	size_t data_bytes;
};

/* Opens the library and finds its table, or skips the case. */
void pjrt_open(const struct conform *conform, struct pjrt_host *host);

/* ---- pjrt_trace.c ---- */

/* Returns a copy of the table whose entries record their calls in the trace.  There is one copy for the process. */
const PLUGIN_Profiler_Api *pjrt_trace(const PLUGIN_Profiler_Api *table);

/* ---- pjrt_host.c ---- */

/* Each returns false after an error of the plugin. */
bool pjrt_create(struct pjrt_host *host);
bool pjrt_start(struct pjrt_host *host);
bool pjrt_stop(struct pjrt_host *host);
/* Collects the data into memory of the plugin.  pjrt_collect_into collects it into a buffer of the host. */
bool pjrt_collect(struct pjrt_host *host);
bool pjrt_collect_into(struct pjrt_host *host, uint8_t *buffer, size_t *bytes);
bool pjrt_destroy(struct pjrt_host *host);

/* Fails the case if the call returned an error. */
void pjrt_expect(const struct pjrt_host *host, const char *step, bool is_done);
/* Opens the library and makes a profiler. */
void pjrt_begin(const struct conform *conform, struct pjrt_host *host);
/* Starts, gives the device work if there is any, and stops. */
void pjrt_run(struct pjrt_host *host);
/* As pjrt_begin, then pjrt_run and pjrt_collect.  Skips the case if there are no data. */
void pjrt_run_with_data(const struct conform *conform, struct pjrt_host *host);
/* With a profiler of its own, a run in the usual order. */
void pjrt_run_as_usual(struct pjrt_host *host);

#endif
