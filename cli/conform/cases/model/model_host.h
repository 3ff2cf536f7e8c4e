/* Runs the model of the command line in ONNX Runtime, with the library as an execution provider, and counts the
 * provider's events in the profiles that ONNX Runtime writes.  It uses parts of `epprof run`. */
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
	uint64_t events_counts[MODEL_PROFILES_MAX]; /* number of the provider's events in each profile */
};

/* Opens ONNX Runtime.  Skips the case without --model, and if ONNX Runtime cannot be used. */
void model_open(const struct conform *conform, struct model_host *host);
void model_close(struct model_host *host);

/* Registers the library, makes a session of ONNX Runtime with its provider, does the runs, and unregisters the library.
 * Without `run_level`, the session is profiled and there is one profile.  With `run_level`, each run is profiled, after
 * a warm-up run, and there is one profile for each run, at most MODEL_PROFILES_MAX.  Fails the case if an entry of the
 * profiler returned an error.  Skips it if the model does not run, or if the provider claims none of its nodes. */
void model_run(struct model_host *host, bool run_level, size_t threads_count, size_t runs_count,
               struct model_profiles *profiles);

#endif
