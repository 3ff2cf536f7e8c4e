/* A host of execution providers that is ONNX Runtime itself: it runs the model of the command line, with parts of
 * `epprof run`, and counts the events of the provider in the profiles that ONNX Runtime writes. */
#ifndef EPPROF_CLI_CONFORM_CASES_MODEL_MODEL_HOST_H
#define EPPROF_CLI_CONFORM_CASES_MODEL_MODEL_HOST_H

#include "cli/conform/conform.h"
#include "cli/run/run.h"

#define MODEL_PROFILES_MAX 256

struct model_host {
	const struct conform *conform;
	struct ort ort;
	struct run_folder folder;
};

struct model_profiles {
	size_t count;
	uint64_t events_counts[MODEL_PROFILES_MAX]; /* of the provider in each profile */
};

/* Opens ONNX Runtime, or skips the case: without --model, or if the library cannot be used. */
void model_open(const struct conform *conform, struct model_host *host);
void model_close(struct model_host *host);

/* Registers the library, makes a session with its provider, profiles the session or each of its runs, and unregisters the
 * library.  Fails the case if an entry of the profiler returned an error, and skips it if the model does not run.
 * Session level: there is one profile; run level: one for each run, at most MODEL_PROFILES_MAX. */
void model_run(struct model_host *host, bool run_level, size_t threads_count, size_t runs_count,
               struct model_profiles *profiles);

#endif
