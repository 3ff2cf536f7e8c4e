/* Declarations shared by the files of epprof run.
 *
 * The command runs one model with ONNX Runtime, whose library it finds and loads at run time.  ort_check converts a
 * status that a function of ONNX Runtime has returned to an epp_status. */
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

#define RUN_LIST_MAX 64 /* most options --ep, --input and --shape, each */

/* The command line. */
struct run_options {
	const char *model;
	const char *library; /* path of ONNX Runtime's library; NULL: it is searched, as ort_open describes */
	const char *output;
	const char *eps[RUN_LIST_MAX];    /* each is LIBRARY[:NAME] */
	const char *inputs[RUN_LIST_MAX]; /* each is [NAME=]FILE.npy or [NAME=]random */
	const char *shapes[RUN_LIST_MAX]; /* each is NAME=8,64 */
	size_t eps_count, inputs_count, shapes_count;
	size_t runs_count, warmup_count, threads_count;
	uint64_t max_bytes; /* size limit of the trace, which is then a ring; 0: no limit */
	/* parallel: ONNX Runtime executes independent nodes at the same time.  run_level: each run is profiled on its
	 * own, by its run options; false: the session is profiled as a whole. */
	bool parallel, run_level, lossless, force;
};

/* ---- run_ort.c: the library ---- */

#define ORT_LOGS_MAX 16

/* The errors that the profiler of one provider returned, from the messages that ONNX Runtime logged about them. */
struct ort_failure {
	char *ep;      /* name of the provider */
	char *message; /* text of the first error, for example "EndProfiling: ..." */
	size_t count;  /* number of errors */
	/* number of errors from EndProfiling; after such an error, ONNX Runtime drops all events of the profiler */
	size_t ends_count;
	bool is_recorded; /* the recording has the provider's events nevertheless: the profiler has pushed them to it */
};

struct ort {
	char *path;
	char version[32];
	const OrtApi *api;
	OrtEnv *env;
	pthread_mutex_t logs_lock; /* guards the members below */
	char *logs[ORT_LOGS_MAX];  /* the first error messages that ONNX Runtime logged */
	size_t logs_count;
	struct ort_failure failures[RUN_LIST_MAX];
	size_t failures_count;
};

/* Opens ONNX Runtime: `library`, or, if it is NULL, the first suitable library that is found by EPPROF_ORT or by
 * ort_search.
 * Errors: EPP_NOT_FOUND, EPP_INCOMPATIBLE (not ONNX Runtime, or one without profilers). */
epp_status *ort_open(struct ort *ort, const char *library) EPP_MUST_CHECK;
/* Prints the messages in `logs` on standard error. */
void ort_print_logs(struct ort *ort);
/* Releases the environment.  The library stays loaded, because some of its threads may still be ending. */
void ort_close(struct ort *ort);
/* Converts a status of ONNX Runtime.  NULL stays NULL.  Ownership: takes the status. */
epp_status *ort_check(const struct ort *ort, OrtStatus *status) EPP_MUST_CHECK;
/* Copies a text that ONNX Runtime's default allocator has allocated, and frees the original.  NULL: no memory. */
char *ort_text(const struct ort *ort, char *text);

#define ORT_REASONS_BYTES 1024

/* Tries a library that was found by search.  Returns true if it was opened.  Otherwise adds the reason to `reasons`. */
bool ort_try_library(struct ort *ort, const char *path, char reasons[ORT_REASONS_BYTES]);

/* ---- run_search.c: what differs between systems ---- */

/* Opens the first suitable library in the search path of the dynamic linker, in the Python package and in build/deps,
 * in this order.  Returns false if there is none; `reasons` lists what was tried. */
bool ort_search(struct ort *ort, char reasons[ORT_REASONS_BYTES]);
/* Returns a path in the form that functions of ONNX Runtime take: on Windows in UTF-16, elsewhere unchanged.
 * Ownership: the caller frees it.  NULL: no memory. */
void *ort_path(const char *path);

/* ---- run_eps.c: EP libraries ---- */

struct run_ep {
	char *library;         /* absolute path */
	char *registered_name; /* name under which the library is registered in ONNX Runtime */
	char *name;            /* name of the provider; NULL until registration: the library's only one */
	bool registered;
	size_t nodes_count; /* number of nodes of the model that are assigned to the provider */
	/* the provider's entry in the recording's ledger; NULL: it needs none, because the provider is the collector,
	 * or the collector hosts its profiler */
	epp_provider_events *events;
};

struct run_eps {
	struct run_ep eps[RUN_LIST_MAX + 1]; /* the first one is the collector */
	size_t count;
	size_t other_nodes_count; /* number of nodes that are assigned to ONNX Runtime's own CPU provider */
	bool nodes_known;         /* run_eps_count_nodes has set the numbers of nodes */
};

/* Registers the collector and the libraries of the command line.  Their providers are added to the session's options in
 * this order. */
epp_status *run_eps_register(struct run_eps *eps, const struct ort *ort, const struct run_options *options,
                             OrtSessionOptions *session_options) EPP_MUST_CHECK;
/* Registers one more library, LIBRARY[:NAME], and adds its provider to the session's options. */
epp_status *run_eps_add(struct run_eps *eps, const struct ort *ort, const char *text, OrtSessionOptions *session_options)
    EPP_MUST_CHECK;
/* Adds an entry to the recording's ledger for each provider whose profiler the collector does not host, and marks the
 * provider's events as expected.  If the command is killed, the trace then reports that these events are missing. */
epp_status *run_eps_expect_events(struct run_eps *eps, epp_session *recording) EPP_MUST_CHECK;
/* Closes these ledger entries.  Events that are still expected are counted as lost. */
void run_eps_close_accounts(struct run_eps *eps);
/* Sets the number of nodes that are assigned to each provider.  Prints a warning for each provider without nodes,
 * except the collector. */
epp_status *run_eps_count_nodes(struct run_eps *eps, const struct ort *ort, const OrtSession *session) EPP_MUST_CHECK;
/* Unregisters the libraries.  Must be called after the last session was released. */
void run_eps_unregister(struct run_eps *eps, const struct ort *ort);

/* ---- run_inputs.c: inputs of the model ---- */

#define RUN_RANK_MAX 32

struct run_input {
	char *name;
	ONNXTensorElementDataType type;
	size_t rank;
	int64_t dims[RUN_RANK_MAX];    /* -1: the dimension is not known yet */
	char *dim_names[RUN_RANK_MAX]; /* NULL: the dimension has no name */
	bool is_guessed[RUN_RANK_MAX]; /* model and command line do not give the dimension, so it was set to 1 */
	const char *source;            /* a .npy file; NULL: random values */
	OrtValue *value;
};

struct run_inputs {
	struct run_input *inputs;
	size_t count;
	const char **names; /* arrays in the form that Run needs */
	const OrtValue **values;
	char **output_names;
	size_t outputs_count;
};

/* Makes a value for each input of the model.
 * Errors: EPP_INVALID_ARGUMENT (the command line contradicts the model); EPP_NOT_FOUND, EPP_IO, EPP_CORRUPT (of a
 * file). */
epp_status *run_inputs_create(struct run_inputs *inputs, const struct ort *ort, const OrtSession *session,
                              const struct run_options *options) EPP_MUST_CHECK;
void run_inputs_destroy(struct run_inputs *inputs, const struct ort *ort);
/* Makes the value of an input.  All its dimensions must be known. */
epp_status *run_inputs_make_value(struct run_input *input, const struct ort *ort, uint64_t seed) EPP_MUST_CHECK;

/* ---- run_shapes.c: suggests shapes ---- */

/* Called after a failed run: tries sizes for the dimensions that were set to 1 (is_guessed), and prints the first sizes
 * with which the model runs. */
void run_shapes_suggest(struct run_inputs *inputs, const struct ort *ort, OrtSession *session);

/* ---- run_types.c: types of elements ---- */

/* Returns the name of a type, such as "float16", or "type 23" for an unknown type. */
const char *run_type_name(ONNXTensorElementDataType type);
/* Returns the size of an element; 0: values of this type are not supported. */
size_t run_type_bytes(ONNXTensorElementDataType type);
/* Fills `data` with `count` random values: floats from 0 to 1, and integers and booleans that are 0 or 1, so that
 * integers are valid as indices in nearly every model.  The same `seed` gives the same values. */
void run_fill_random(ONNXTensorElementDataType type, void *data, size_t count, uint64_t seed);

/* ---- run_folder.c: the folder for ONNX Runtime's own profiles ---- */

/* Must be zeroed before the first use. */
struct run_folder {
	char path[512];
	int fd;
};

/* Creates the folder, and removes folders that killed runs have left.  Errors: EPP_IO, EPP_NOT_FOUND. */
epp_status *run_folder_make(struct run_folder *folder) EPP_MUST_CHECK;
void run_folder_remove(struct run_folder *folder);

/* ---- run_loop.c: the runs ---- */

struct run_latencies {
	int64_t *ns;  /* sorted durations of the runs */
	size_t count; /* number of completed runs */
};

struct run_results {
	struct run_latencies warmup, runs;
	int64_t wall_ns; /* time from the end of the warm-up to the end of the last run */
};

/* Runs the model until all runs are done, one fails, or a signal stops them (cli_signal).  `profiles` is the folder for
 * ONNX Runtime's profiles of single runs; NULL: runs are not profiled on their own.  After a failure, `results` has the
 * runs so far. */
epp_status *run_loop(struct run_results *results, const struct ort *ort, OrtSession *session,
                     const struct run_inputs *inputs, const struct run_options *options, const char *profiles)
    EPP_MUST_CHECK;
void run_results_deinit(struct run_results *results);

/* ---- run_stand_in.c: a profiler that does nothing ---- */

/* Represents a provider's profiler in the recording's ledger, if ONNX Runtime calls the real profiler. */
extern OrtEpProfilerImpl run_stand_in;

/* ---- run_kernels.c: the events of providers ---- */

/* Bits for the ways in which kernel events came into the trace: pushed to the recording by the providers, or imported
 * from ONNX Runtime's profiles.  RUN_KERNELS_TOO_OLD: events in the profiles were left out, because a ring of
 * `max_bytes` keeps only the newest. */
enum run_kernels { RUN_KERNELS_NONE = 0, RUN_KERNELS_PUSHED = 1, RUN_KERNELS_IMPORTED = 2, RUN_KERNELS_TOO_OLD = 4 };

/* Adds the providers' events to the recording, from the profiles that ONNX Runtime wrote into a folder.  They are
 * counted in the ledger entry of the provider if there is only one, otherwise in a common entry of all providers.
 * `max_bytes` is the size limit of the recording; 0: none.  *kernels is set to bits of enum run_kernels. */
epp_status *run_kernels_append(struct run_eps *eps, epp_session *recording, const char *folder, uint64_t max_bytes,
                               unsigned *kernels) EPP_MUST_CHECK;

/* ---- run_failures.c: profilers that return errors ---- */

/* Sets is_recorded of each ort_failure.  Must be called before run_kernels_append, which adds events of profiles. */
epp_status *run_failures_find_recorded(struct ort *ort, epp_session *recording) EPP_MUST_CHECK;
/* Counts the errors of profilers in the recording's ledger, in entries with the names of their providers. */
epp_status *run_failures_count(epp_session *recording, struct ort *ort) EPP_MUST_CHECK;

/* ---- run_report.c ---- */

/* Prints the results of the runs, and the summary of the trace.  `kernels` has bits of enum run_kernels.  Returns an
 * enum cli_exit. */
int run_report(const struct run_options *options, const struct ort *ort, const struct run_eps *eps,
               const struct run_results *results, unsigned kernels);

#endif
