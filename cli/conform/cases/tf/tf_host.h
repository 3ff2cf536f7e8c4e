/* Acts as TensorFlow for a pluggable profiler: calls the library's functions directly, without libepprof, and checks
 * what they write. */
#ifndef EPPROF_CLI_CONFORM_CASES_TF_TF_HOST_H
#define EPPROF_CLI_CONFORM_CASES_TF_TF_HOST_H

#include "cli/conform/conform.h"
#include "epprof/abi/tf.h"

#define TF_GUARD_BYTES 64
/* Units of work in a run.  Cases that use a session of libepprof pass other numbers to the work function, so a test
 * plugin can find out which kind of case runs. */
#define TF_WORK_COUNT 3

struct tf_host {
	const struct conform *conform;
	int (*work)(int count); /* gives the device `count` units of work; NULL: the command line names no function */
	void (*init)(TF_ProfilerRegistrationParams *params, TF_Status *status);
	TF_Status *status;
	/* TensorFlow's functions for statuses; all NULL if one is missing */
	struct {
		TF_Status *(*create)(void);
		void (*set)(TF_Status *status, TF_Code code, const char *message);
		TF_Code (*code)(const TF_Status *status);
		const char *(*message)(const TF_Status *status);
	} statuses;
	char message[128]; /* message of the last error */

	/* The structs that the plugin fills.  The plugin must not change the guard bytes behind each. */
	TF_ProfilerRegistrationParams params;
	uint8_t params_guard[TF_GUARD_BYTES];
	TP_Profiler profiler;
	uint8_t profiler_guard[TF_GUARD_BYTES];
	TP_ProfilerFns fns;
	uint8_t fns_guard[TF_GUARD_BYTES];
};

/* Opens the library and prepares the structs as TensorFlow does, or skips the case. */
void tf_open(const struct conform *conform, struct tf_host *host);
/* Calls TF_InitProfiler.  Returns false after an error. */
bool tf_init(struct tf_host *host);
/* Calls the plugin's functions that destroy the two structs, if it has registered any. */
void tf_destroy(const struct tf_host *host, TP_Profiler *profiler, TP_ProfilerFns *fns);
/* Opens the library and has it register its profiler, or skips the case. */
void tf_register(const struct conform *conform, struct tf_host *host);
/* Returns the number of guard bytes that were changed. */
size_t tf_guard_check(const uint8_t guard[TF_GUARD_BYTES]);

/* Each calls one function of the plugin.  Returns false if it returned an error, whose text is stored in `host`. */
bool tf_start(struct tf_host *host);
bool tf_stop(struct tf_host *host);
/* Collects the data into `buffer`, whose size is *bytes.  If `buffer` is NULL, *bytes is set to the size of the
 * data. */
bool tf_collect(struct tf_host *host, uint8_t *buffer, size_t *bytes);

/* Fails the case if the call returned an error. */
void tf_expect(const struct tf_host *host, const char *step, bool is_done);

/* Starts the profiler, gives the device work if the command line names a function for it, and stops the profiler.
 * Fails the case after an error. */
void tf_run(struct tf_host *host);
/* Does tf_run and collects the data.  Returns the size of the data in bytes.  Fails the case after an error. */
size_t tf_run_as_usual(struct tf_host *host);

#endif
