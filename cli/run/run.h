/* Declarations shared by the files of epprof run.
 *
 * The command runs one model, in a library of ONNX Runtime that is found when the command runs.
 * Below, ort_check(ort, entry(...)) converts a status that an entry of ONNX Runtime returned to an epp_status. */
#ifndef EPPROF_CLI_RUN_RUN_H
#define EPPROF_CLI_RUN_RUN_H

#include <dirent.h>
#include <pthread.h>

#include "cli/cli.h"
#include "epprof/ep_push.h"
#include "epprof/ort_tables.h"
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
	size_t nodes_count; /* the nodes assigned to it */
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
/* The label for the tracks of the providers' events; NULL: there are no providers, or all of them push their events to
 * the recording themselves. */
const char *run_eps_label(const struct run_eps *eps);
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

/* ---- run_twins.c: a multiset of numbers ---- */

/* A multiset of numbers.  Zero it before use; the owner frees `twins`. */
struct run_twins {
	struct run_twin {
		uint64_t number;
		uint64_t count;
	} * twins;
	size_t count, room;
};

epp_status *run_twins_add(struct run_twins *twins, uint64_t number) EPP_MUST_CHECK;
/* Sorts the numbers; call it after the last add and before the first take. */
void run_twins_settle(struct run_twins *twins);
/* Removes one occurrence of a number; false if none is left. */
bool run_twins_take(struct run_twins *twins, uint64_t number);

/* ---- run_causes.c: host events of the recording ---- */

struct run_cause {
	int64_t start_us; /* by ONNX Runtime, unix time */
	int64_t duration_us;
	int64_t profile_us; /* when its profile began */
	uint64_t id;
	epp_name name; /* a name of the recording */
	uint32_t thread;
	uint32_t provider; /* the node's provider: an index into run_causes.providers, plus 1; 0: not recorded */
	uint64_t start_ticks;
};

/* What is known about an event's cause, and the times of the event. */
struct run_effect {
	int64_t cause_start_us;    /* unix time */
	int64_t cause_duration_us; /* -1: not recorded, as below */
	int64_t cause_thread;
	const epp_trace_arg *cause_name; /* NULL: not recorded */
	int64_t profile_us;              /* when its profile began; 0: not known */
	int64_t start_us, end_us;        /* relative to profile_us */
};

#define RUN_PROVIDERS_MAX 64

/* Zero it before use. */
struct run_causes {
	epp_trace *recorded;      /* borrowed; names are those of this trace */
	struct run_cause *causes; /* by start_us */
	size_t count, room;
	int64_t only_us;    /* when the only profile began; 0: there are several profiles, or none */
	int64_t bracket_us; /* an upper bound of the time that the start of the providers took */
	bool has_device_events;
	char *providers[RUN_PROVIDERS_MAX];
	uint32_t providers_count;
	struct run_twins ids; /* the ids of all events that cannot be causes */
};

/* Adds all events of a recording. */
epp_status *run_causes_take(struct run_causes *causes, epp_trace *recorded) EPP_MUST_CHECK;
void run_causes_deinit(struct run_causes *causes);
/* Finds the possible causes of an effect and returns their number.  All recorded facts must match, except the profile
 * and the thread: causes that match those are only preferred.  Of causes of one thread that began together the
 * innermost counts.  `*cause` is set to the only one; if there are several, to the only one that can have contained the
 * effect, as far as its provider's clock is known (likely, not certain); else to NULL. */
size_t run_causes_find(const struct run_causes *causes, const struct run_effect *effect, const struct run_cause **cause);

/* ---- run_clocks.c: the clocks of providers ---- */

#define RUN_CLOCKS_MAX 64 /* ids of EpprofClock are below 64 */

/* Zero it before use. */
struct run_clocks {
	bool is_one; /* only one provider is profiled */
	struct run_clock {
		int32_t device;
		int64_t stream;
		uint32_t provider; /* the provider of its events' causes; 0: not known yet */
	} clocks[RUN_CLOCKS_MAX];
	uint32_t count;
};

/* Returns the number of an event's clock; `provider` is that of its cause, 0: not known.  `*is_new`: it is the clock's
 * first event. */
uint32_t run_clocks_find(struct run_clocks *clocks, int32_t device, int64_t stream, uint32_t provider, bool *is_new);

/* ---- run_told.c: the args of an event ---- */

#define RUN_ARGS_MAX 256

/* The contents of an event's args. */
struct run_told {
	EpprofArg args[RUN_ARGS_MAX];
	uint32_t count;
	bool is_carried;
	int64_t recorded; /* the event's id in the recording; 0: counted as lost there; -1: not pushed to the
	                     recording */
	bool is_correlated;
	int64_t correlation;
	int64_t thread;           /* the cause's thread; -1: not recorded */
	epp_trace_arg cause_name; /* key NULL: not recorded */
};

void run_told_read(const epp_timeline *timeline, const epp_event *event, struct run_told *told);

/* ---- run_limit.c: a recording with a limit is a ring ---- */

/* All kernels are added at the end of the recording, so they would overwrite the host events that caused them.  Zero it
 * before use, except `max_bytes` and `from_us`, which is INT64_MIN. */
struct run_limit {
	uint64_t max_bytes;   /* 0: no limit; then the functions below do nothing */
	uint64_t event_bytes; /* estimated size of an event in a trace */
	int64_t from_us;      /* unix time: from then on host events and kernels fit, by estimate */
	struct run_kernel_bytes {
		int64_t time_us;
		uint64_t bytes;
	} * kernels;
	size_t count, room;
};

/* Adds the start of a kernel. */
epp_status *run_limit_add(struct run_limit *limit, int64_t time_us) EPP_MUST_CHECK;
/* Sets `from_us`; call it after all kernels were added.  `causes` must not be empty. */
void run_limit_settle(struct run_limit *limit, const struct run_causes *causes);
/* The same for profiles of single runs: the kernels of a profile count as many bytes as its file has, at the time when
 * it was written. */
epp_status *run_limit_take_profiles(struct run_limit *limit, const struct run_causes *causes, const char *folder,
                                    struct dirent *const *profiles, int count) EPP_MUST_CHECK;

/* ---- run_stand_in.c: a profiler that does nothing ---- */

extern OrtEpProfilerImpl run_stand_in;

/* ---- run_kernels.c: events of providers ---- */

/* The sources of kernel events, as bits. */
enum run_kernels { RUN_KERNELS_NONE = 0, RUN_KERNELS_PUSHED = 1, RUN_KERNELS_IMPORTED = 2, RUN_KERNELS_TOO_OLD = 4 };

/* Opens the account for the providers' events, and marks them as still expected, so that the trace of a killed run
 * reports that they are missing.  `label` is the label of their tracks. */
epp_status *run_kernels_expect(epp_session *recording, const char *label, epp_member **account) EPP_MUST_CHECK;
/* Adds to the recording the providers' events from the profiles that ONNX Runtime wrote into a folder, except those
 * that providers pushed themselves; losses are counted in the account.  `account` is NULL if no events were expected.
 * `max_bytes` is the limit of the recording; 0: none.  `has_one_clock`: at most one provider was profiled. */
epp_status *run_kernels_append(epp_session *recording, struct ort *ort, epp_member *account, const char *folder,
                               uint64_t max_bytes, bool has_one_clock, unsigned *kernels) EPP_MUST_CHECK;

/* ---- run_failures.c: profilers that return errors ---- */

/* Finds which of the failed providers have pushed their events to the recording; call it before events of a profile are
 * added. */
void run_failures_find_recorded(struct ort *ort, const epp_trace *recorded);
/* Counts the errors of profilers in accounts with their names. */
epp_status *run_failures_count(epp_session *recording, struct ort *ort) EPP_MUST_CHECK;

/* ---- run_report.c ---- */

/* Prints the results of the runs. */
int run_report(const struct run_options *options, const struct ort *ort, const struct run_eps *eps,
               const struct run_results *results, unsigned kernels);

#endif
