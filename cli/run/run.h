/* epprof run, and what its files share: one model, in a library of ONNX Runtime that is found when the command runs.
 *
 * Below, a status that an entry of ONNX Runtime returned becomes an epp_status: ort_check(ort, entry(...)). */
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

#define RUN_LIST_MAX 64 /* of EP libraries, of inputs, of shapes */

/* The command line. */
struct run_options {
	const char *model;
	const char *library; /* NULL: looked for */
	const char *output;
	const char *eps[RUN_LIST_MAX];    /* LIBRARY[:NAME] */
	const char *inputs[RUN_LIST_MAX]; /* [NAME=]FILE.npy, or random */
	const char *shapes[RUN_LIST_MAX]; /* NAME=8,64 */
	size_t eps_count, inputs_count, shapes_count;
	size_t runs_count, warmup_count, threads_count;
	uint64_t max_bytes; /* of the trace, which is a ring; 0: no limit */
	bool parallel, run_level, lossless, force;
};

/* ---- run_ort.c: the library ---- */

#define ORT_LOGS_MAX 16

/* What ONNX Runtime logs of profilers that return errors: of each provider the first. */
struct ort_failure {
	char *ep;
	char *message; /* "EndProfiling: ..." */
	size_t count;
	size_t ends_count; /* how many were of EndProfiling, for which ONNX Runtime drops all events of the profiler */
	bool is_recorded;  /* the recording has them from the provider itself */
};

struct ort {
	char *path;
	char version[32];
	const OrtApi *api;
	OrtEnv *env;
	pthread_mutex_t logs_lock; /* guards what is below */
	char *logs[ORT_LOGS_MAX];  /* the first of what it logs */
	size_t logs_count;
	struct ort_failure failures[RUN_LIST_MAX];
	size_t failures_count;
};

/* Opens ONNX Runtime: the library that is asked for, or the first that will do of EPPROF_ORT, the loader's path, the
 * Python package and build/deps.
 * Errors: EPP_NOT_FOUND, EPP_INCOMPATIBLE (not ONNX Runtime, or one without profilers). */
epp_status *ort_open(struct ort *ort, const char *library) EPP_MUST_CHECK;
/* Prints what it logged: what it returned as a status too stands there again. */
void ort_print_logs(struct ort *ort);
/* Ends its environment.  The library stays: threads of it may still be at their end. */
void ort_close(struct ort *ort);
/* NULL for NULL.  Ownership: takes the status. */
epp_status *ort_check(const struct ort *ort, OrtStatus *status) EPP_MUST_CHECK;
/* A text that was copied from one of the default allocator's, which is freed; NULL without memory. */
char *ort_text(const struct ort *ort, char *text);

/* ---- run_eps.c: EP libraries ---- */

struct run_ep {
	char *library; /* an absolute path */
	char *registered_name;
	char *name; /* of the provider; NULL: the only one that the library has */
	bool registered;
	size_t nodes_count; /* that it took */
};

struct run_eps {
	struct run_ep eps[RUN_LIST_MAX + 1]; /* the collector first */
	size_t count;
	size_t other_nodes_count; /* that ONNX Runtime's own CPU provider took */
	bool nodes_known;
};

/* Registers the collector, and the libraries that were asked for.  Their providers are added to the session's options in
 * this order. */
epp_status *run_eps_register(struct run_eps *eps, const struct ort *ort, const struct run_options *options,
                             OrtSessionOptions *session_options) EPP_MUST_CHECK;
/* What the tracks of their events are called; NULL: there are none, or all give their events to the recording themselves. */
const char *run_eps_label(const struct run_eps *eps);
/* Counts the nodes of each, and warns of those without any. */
epp_status *run_eps_count_nodes(struct run_eps *eps, const struct ort *ort, const OrtSession *session) EPP_MUST_CHECK;
/* When no session is left. */
void run_eps_unregister(struct run_eps *eps, const struct ort *ort);

/* ---- run_inputs.c: what the model is given ---- */

#define RUN_RANK_MAX 32

struct run_input {
	char *name;
	ONNXTensorElementDataType type;
	size_t rank;
	int64_t dims[RUN_RANK_MAX];    /* -1: not known yet */
	char *dim_names[RUN_RANK_MAX]; /* NULL: none */
	bool is_guessed[RUN_RANK_MAX]; /* taken as 1, because nothing gives the dimension */
	const char *source;            /* a .npy file; NULL: random */
	OrtValue *value;
};

struct run_inputs {
	struct run_input *inputs;
	size_t count;
	const char **names; /* as Run wants them */
	const OrtValue **values;
	char **output_names;
	size_t outputs_count;
};

/* Makes a value for each input of the model.
 * Errors: EPP_INVALID_ARGUMENT (what was asked for does not fit the model), EPP_NOT_FOUND, EPP_IO, EPP_CORRUPT (files). */
epp_status *run_inputs_create(struct run_inputs *inputs, const struct ort *ort, const OrtSession *session,
                              const struct run_options *options) EPP_MUST_CHECK;
void run_inputs_destroy(struct run_inputs *inputs, const struct ort *ort);
/* The value of an input whose dimensions are all known. */
epp_status *run_inputs_make_value(struct run_input *input, const struct ort *ort, uint64_t seed) EPP_MUST_CHECK;

/* ---- run_shapes.c: which shape to try ---- */

/* After a failed run: tries sizes for the dimensions that were taken as 1, and prints those with which the model runs. */
void run_shapes_suggest(struct run_inputs *inputs, const struct ort *ort, OrtSession *session);

/* ---- run_types.c: types of elements ---- */

/* "float16"; "type 23" for one that is not known here. */
const char *run_type_name(ONNXTensorElementDataType type);
/* 0: no value of this type can be made here. */
size_t run_type_bytes(ONNXTensorElementDataType type);
/* Floats from 0 to 1, integers and booleans 0 or 1: indices that are valid nearly everywhere.  The same in each run. */
void run_fill_random(ONNXTensorElementDataType type, void *data, size_t count, uint64_t seed);

/* ---- run_folder.c: where ONNX Runtime writes its own profiles ---- */

/* Zeroed at first. */
struct run_folder {
	char path[512];
	int fd;
};

/* Makes it, and removes those that runs left that were killed.  Errors: EPP_IO, EPP_NOT_FOUND. */
epp_status *run_folder_make(struct run_folder *folder) EPP_MUST_CHECK;
void run_folder_remove(struct run_folder *folder);

/* ---- run_loop.c: the runs ---- */

struct run_latencies {
	int64_t *ns; /* sorted */
	size_t count;
};

struct run_results {
	struct run_latencies warmup, runs;
	int64_t wall_ns; /* of the runs without warm-up */
};

/* Runs the model until all is done, one fails, or cli_signal says to stop.  `profiles` is the folder for the profiles of
 * single runs, or NULL for none.  What was measured is there on failure too. */
epp_status *run_loop(struct run_results *results, const struct ort *ort, OrtSession *session,
                     const struct run_inputs *inputs, const struct run_options *options, const char *profiles)
    EPP_MUST_CHECK;
void run_results_deinit(struct run_results *results);

/* ---- run_twins.c: what is there twice ---- */

/* Numbers, and how often each is to be met again.  Zeroed at first; `twins` is freed by who has it. */
struct run_twins {
	struct run_twin {
		uint64_t number;
		uint64_t count;
	} * twins;
	size_t count, room;
};

epp_status *run_twins_add(struct run_twins *twins, uint64_t number) EPP_MUST_CHECK;
/* Between the last that is added and the first that is taken. */
void run_twins_settle(struct run_twins *twins);
/* Whether it is there, once for each time that it was added. */
bool run_twins_take(struct run_twins *twins, uint64_t number);

/* ---- run_causes.c: host events of the recording ---- */

struct run_cause {
	int64_t start_us; /* ONNX Runtime's, unix time */
	int64_t duration_us;
	int64_t profile_us; /* when the profile that it is in began */
	uint64_t id;
	epp_name name; /* of the recording */
	uint32_t thread;
	uint32_t provider; /* of the node: a number of run_causes.providers, from 1 on; 0: it names none */
	uint64_t start_ticks;
};

/* What is known of an event's cause, and when the event was. */
struct run_effect {
	int64_t cause_start_us;    /* unix time */
	int64_t cause_duration_us; /* -1: not told, as below */
	int64_t cause_thread;
	const epp_trace_arg *cause_name; /* NULL: not told */
	int64_t profile_us;              /* when its profile began; 0: not known */
	int64_t start_us, end_us;        /* since then */
};

#define RUN_PROVIDERS_MAX 64

/* Zeroed at first. */
struct run_causes {
	epp_trace *recorded;      /* lent; names are its */
	struct run_cause *causes; /* by start_us */
	size_t count, room;
	int64_t only_us;    /* when the only profile began; 0: there are several, or none */
	int64_t bracket_us; /* how long the start of the providers took, at most */
	bool has_device_events;
	char *providers[RUN_PROVIDERS_MAX];
	uint32_t providers_count;
	struct run_twins ids; /* of all events that are no causes */
};

/* Takes all events of a recording. */
epp_status *run_causes_take(struct run_causes *causes, epp_trace *recorded) EPP_MUST_CHECK;
void run_causes_deinit(struct run_causes *causes);
/* How many may be an effect's cause: of what is told all holds for them, but for the profile and the thread, which only go
 * before others, and of those of a thread that began together it is the innermost.  `*cause`: the only one; of several the
 * only one that the effect can have been in, so far as its provider's clock is known, which is likely and no more; or NULL. */
size_t run_causes_find(const struct run_causes *causes, const struct run_effect *effect, const struct run_cause **cause);

/* ---- run_clocks.c: the clocks of providers ---- */

#define RUN_CLOCKS_MAX 64 /* an EpprofClock's id is below it */

/* Zeroed at first. */
struct run_clocks {
	bool is_one; /* a single provider is profiled */
	struct run_clock {
		int32_t device;
		int64_t stream;
		uint32_t provider; /* of its causes; 0: not known yet */
	} clocks[RUN_CLOCKS_MAX];
	uint32_t count;
};

/* The number of an event's clock; `provider` is that of its cause, 0: not known.  `*is_new`: it is the clock's first event. */
uint32_t run_clocks_find(struct run_clocks *clocks, int32_t device, int64_t stream, uint32_t provider, bool *is_new);

/* ---- run_told.c: the args of an event ---- */

#define RUN_ARGS_MAX 256

/* What the args of an event say. */
struct run_told {
	EpprofArg args[RUN_ARGS_MAX];
	uint32_t count;
	bool is_carried;
	int64_t recorded; /* by which id the recording got it; 0: it counted it as lost; -1: it did not get it */
	bool is_correlated;
	int64_t correlation;
	int64_t thread;           /* of the cause; -1: it is not told */
	epp_trace_arg cause_name; /* no key: it is not told */
};

void run_told_read(const epp_timeline *timeline, const epp_event *event, struct run_told *told);

/* ---- run_limit.c: a recording with a limit is a ring ---- */

/* All kernels come at its end, so they would replace the host events that caused them.  Zeroed at first, but for
 * `max_bytes` and `from_us`, which is INT64_MIN. */
struct run_limit {
	uint64_t max_bytes;   /* 0: none; then nothing below is done */
	uint64_t event_bytes; /* of an event in a trace, as far as is known */
	int64_t from_us;      /* unix time: from then on host events and kernels fit, as far as can be estimated */
	struct run_kernel_bytes {
		int64_t time_us;
		uint64_t bytes;
	} * kernels;
	size_t count, room;
};

/* A kernel begins at this time. */
epp_status *run_limit_add(struct run_limit *limit, int64_t time_us) EPP_MUST_CHECK;
/* When all are added: sets `from_us`.  `causes` is not empty. */
void run_limit_settle(struct run_limit *limit, const struct run_causes *causes);
/* The same with profiles of single runs, whose kernels take as many bytes as they have, at the time that they were written. */
epp_status *run_limit_take_profiles(struct run_limit *limit, const struct run_causes *causes, const char *folder,
                                    struct dirent *const *profiles, int count) EPP_MUST_CHECK;

/* ---- run_stand_in.c ---- */

extern OrtEpProfilerImpl run_stand_in;

/* ---- run_kernels.c: events of providers ---- */

/* Where they are from: of these, any. */
enum run_kernels { RUN_KERNELS_NONE = 0, RUN_KERNELS_PUSHED = 1, RUN_KERNELS_IMPORTED = 2, RUN_KERNELS_TOO_OLD = 4 };

/* Opens the account that their events will have, and notes in it that they are still to come: so the trace of a run that is
 * killed says that they are missing.  `label` is what their tracks are called. */
epp_status *run_kernels_expect(epp_session *recording, const char *label, epp_member **account) EPP_MUST_CHECK;
/* Adds the events that providers have in the profiles that ONNX Runtime wrote into a folder to the recording, but for those
 * that they gave it themselves; what is lost of them is counted in the account.  `account` is NULL if none was expected.
 * `max_bytes` is the limit of the recording; 0: none.  `has_one_clock`: at most one provider was profiled. */
epp_status *run_kernels_append(epp_session *recording, struct ort *ort, epp_member *account, const char *folder,
                               uint64_t max_bytes, bool has_one_clock, unsigned *kernels) EPP_MUST_CHECK;

/* ---- run_failures.c: profilers that return errors ---- */

/* Notes which of the providers that failed have given their events to the recording; before events of a profile are added. */
void run_failures_find_recorded(struct ort *ort, const epp_trace *recorded);
/* Puts what profilers returned as errors into accounts of their names. */
epp_status *run_failures_count(epp_session *recording, struct ort *ort) EPP_MUST_CHECK;

/* ---- run_report.c ---- */

/* Prints what came out. */
int run_report(const struct run_options *options, const struct ort *ort, const struct run_eps *eps,
               const struct run_results *results, unsigned kernels);

#endif
