/* Declarations shared by the files of epprof run.
 *
 * The command runs one model, in a library of ONNX Runtime that is found when the command runs.
 * Below, ort_check(ort, entry(...)) converts a status that an entry of ONNX Runtime returned to an epp_status. */
#ifndef EPPROF_CLI_RUN_RUN_H
#define EPPROF_CLI_RUN_RUN_H

#include <dirent.h>
#include <pthread.h>

#include "cli/cli.h"
#include "epprof/abi/ort_tables.h"
#include "epprof/ep_push.h"
#include "epprof/import.h"
#include "epprof/timeline.h"

#define TRY(expr) \
	do { \
		epp_status *status_ = (expr); \
		if (status_) \
			return status_; \
	} while (0)

#define RUN_LIST_MAX 64 /* the maximum number of EP libraries, of inputs and of shapes */

/* The command line. */
struct run_options {
	const char *model;
	const char *library; /* NULL: search for it */
	const char *output;
	const char *eps[RUN_LIST_MAX];    /* LIBRARY[:NAME] */
	const char *inputs[RUN_LIST_MAX]; /* [NAME=]FILE.npy, or random */
	const char *shapes[RUN_LIST_MAX]; /* NAME=8,64 */
	size_t eps_count, inputs_count, shapes_count;
	size_t runs_count, warmup_count, threads_count;
	uint64_t max_bytes; /* the limit of the trace, which is then a ring; 0: no limit */
	bool parallel, run_level, lossless, force;
};

/* ---- run_ort.c: the library ---- */

#define ORT_LOGS_MAX 16

/* A message that ONNX Runtime logged about a profiler that returned an error: the first one of each provider. */
struct ort_failure {
	char *ep;
	char *message; /* "EndProfiling: ..." */
	size_t count;
	size_t ends_count; /* the number of errors from EndProfiling, for which ONNX Runtime drops all events of the
	                      profiler */
	bool is_recorded;  /* the provider has pushed its events to the recording itself */
};

struct ort {
	char *path;
	char version[32];
	const OrtApi *api;
	OrtEnv *env;
	pthread_mutex_t logs_lock; /* guards the members below */
	char *logs[ORT_LOGS_MAX];  /* the first messages that it logs */
	size_t logs_count;
	struct ort_failure failures[RUN_LIST_MAX];
	size_t failures_count;
};

/* Opens ONNX Runtime: the given library, or the first suitable one of EPPROF_ORT, the loader's path, the Python package
 * and build/deps.
 * Errors: EPP_NOT_FOUND, EPP_INCOMPATIBLE (not ONNX Runtime, or one without profilers). */
epp_status *ort_open(struct ort *ort, const char *library) EPP_MUST_CHECK;
/* Prints the logged messages, except those that were also returned as a status. */
void ort_print_logs(struct ort *ort);
/* Releases the environment.  The library stays loaded: threads of it may still be ending. */
void ort_close(struct ort *ort);
/* Converts a status; NULL for NULL.  Ownership: takes the status. */
epp_status *ort_check(const struct ort *ort, OrtStatus *status) EPP_MUST_CHECK;
/* Copies a text from the default allocator and frees the original; NULL without memory. */
char *ort_text(const struct ort *ort, char *text);

/* ---- run_eps.c: EP libraries ---- */

struct run_ep {
	char *library; /* an absolute path */
	char *registered_name;
	char *name; /* the provider's name; NULL: the library's only provider */
	bool registered;
	size_t nodes_count;          /* the nodes assigned to it */
	epp_provider_events *events; /* its account; NULL: the collector hosts it, or it is the collector */
};

struct run_eps {
	struct run_ep eps[RUN_LIST_MAX + 1]; /* the collector first */
	size_t count;
	size_t other_nodes_count; /* the nodes assigned to ONNX Runtime's own CPU provider */
	bool nodes_known;
};

/* Registers the collector and the libraries of the command line.  Their providers are added to the session's options in
 * this order. */
epp_status *run_eps_register(struct run_eps *eps, const struct ort *ort, const struct run_options *options,
                             OrtSessionOptions *session_options) EPP_MUST_CHECK;
/* Registers one more library, LIBRARY[:NAME], and adds its provider to the session's options. */
epp_status *run_eps_add(struct run_eps *eps, const struct ort *ort, const char *text, OrtSessionOptions *session_options)
    EPP_MUST_CHECK;
/* Opens an account for each provider that the collector does not host, and marks its events as expected, so that the
 * trace of a killed run reports that they are missing. */
epp_status *run_eps_expect_events(struct run_eps *eps, epp_session *recording) EPP_MUST_CHECK;
/* Closes the accounts; events that are still expected are lost. */
void run_eps_close_accounts(struct run_eps *eps);
/* Counts the nodes of each provider, and warns about providers without nodes. */
epp_status *run_eps_count_nodes(struct run_eps *eps, const struct ort *ort, const OrtSession *session) EPP_MUST_CHECK;
/* Unregisters the libraries; call it after the last session was released. */
void run_eps_unregister(struct run_eps *eps, const struct ort *ort);

/* ---- run_inputs.c: inputs of the model ---- */

#define RUN_RANK_MAX 32

struct run_input {
	char *name;
	ONNXTensorElementDataType type;
	size_t rank;
	int64_t dims[RUN_RANK_MAX];    /* -1: not known yet */
	char *dim_names[RUN_RANK_MAX]; /* NULL: none */
	bool is_guessed[RUN_RANK_MAX]; /* set to 1, because nothing determines the dimension */
	const char *source;            /* a .npy file; NULL: random */
	OrtValue *value;
};

struct run_inputs {
	struct run_input *inputs;
	size_t count;
	const char **names; /* in the form that Run needs */
	const OrtValue **values;
	char **output_names;
	size_t outputs_count;
};

/* Makes a value for each input of the model.
 * Errors: EPP_INVALID_ARGUMENT (the command line does not fit the model), EPP_NOT_FOUND, EPP_IO, EPP_CORRUPT
 * (files). */
epp_status *run_inputs_create(struct run_inputs *inputs, const struct ort *ort, const OrtSession *session,
                              const struct run_options *options) EPP_MUST_CHECK;
void run_inputs_destroy(struct run_inputs *inputs, const struct ort *ort);
/* Makes the value of an input whose dimensions are all known. */
epp_status *run_inputs_make_value(struct run_input *input, const struct ort *ort, uint64_t seed) EPP_MUST_CHECK;

/* ---- run_shapes.c: suggests shapes ---- */

/* After a failed run: tries sizes for the dimensions that were set to 1, and prints those with which the model runs. */
void run_shapes_suggest(struct run_inputs *inputs, const struct ort *ort, OrtSession *session);

/* ---- run_types.c: types of elements ---- */

/* "float16"; "type 23" for an unknown type. */
const char *run_type_name(ONNXTensorElementDataType type);
/* The size of an element; 0: values of this type are not supported. */
size_t run_type_bytes(ONNXTensorElementDataType type);
/* Fills with random floats from 0 to 1, and integers and booleans 0 or 1, which are valid as indices nearly everywhere.
 * The values are the same in each run. */
void run_fill_random(ONNXTensorElementDataType type, void *data, size_t count, uint64_t seed);

/* ---- run_folder.c: where ONNX Runtime writes its own profiles ---- */

/* Zero it before use. */
struct run_folder {
	char path[512];
	int fd;
};

/* Makes the folder, and removes those left behind by killed runs.  Errors: EPP_IO, EPP_NOT_FOUND. */
epp_status *run_folder_make(struct run_folder *folder) EPP_MUST_CHECK;
void run_folder_remove(struct run_folder *folder);

/* ---- run_loop.c: the runs ---- */

struct run_latencies {
	int64_t *ns; /* sorted */
	size_t count;
};

struct run_results {
	struct run_latencies warmup, runs;
	int64_t wall_ns; /* wall time of the runs without warm-up */
};

/* Runs the model until all runs are done, one fails, or cli_signal requests a stop.  `profiles` is the folder for the
 * profiles of single runs, or NULL for none.  `results` is also set on failure, for the runs so far. */
epp_status *run_loop(struct run_results *results, const struct ort *ort, OrtSession *session,
                     const struct run_inputs *inputs, const struct run_options *options, const char *profiles)
    EPP_MUST_CHECK;
void run_results_deinit(struct run_results *results);

/* ---- run_stand_in.c: a profiler that does nothing ---- */

extern OrtEpProfilerImpl run_stand_in;

/* ---- run_kernels.c: events of providers ---- */

/* The sources of kernel events, as bits. */
enum run_kernels { RUN_KERNELS_NONE = 0, RUN_KERNELS_PUSHED = 1, RUN_KERNELS_IMPORTED = 2, RUN_KERNELS_TOO_OLD = 4 };

/* Adds to the recording the providers' events from the profiles that ONNX Runtime wrote into a folder, to the account
 * of the only provider, or to one of all.  `max_bytes` is the limit of the recording; 0: none. */
epp_status *run_kernels_append(struct run_eps *eps, epp_session *recording, const char *folder, uint64_t max_bytes,
                               unsigned *kernels) EPP_MUST_CHECK;

/* ---- run_failures.c: profilers that return errors ---- */

/* Finds which of the failed providers have pushed their events to the recording; call it before events of a profile are
 * added. */
epp_status *run_failures_find_recorded(struct ort *ort, epp_session *recording) EPP_MUST_CHECK;
/* Counts the errors of profilers in accounts with their names. */
epp_status *run_failures_count(epp_session *recording, struct ort *ort) EPP_MUST_CHECK;

/* ---- run_report.c ---- */

/* Prints the results of the runs. */
int run_report(const struct run_options *options, const struct ort *ort, const struct run_eps *eps,
               const struct run_results *results, unsigned kernels);

#endif
