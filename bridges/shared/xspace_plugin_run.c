/* Runs hosted plugins for frameworks that take an XSpace.  A run has a session in memory, or uses the session that
 * EPPROF_OUTPUT creates.  The session of EPPROF_OUTPUT may already record and may continue after the run.  So the
 * profilers join the session and are started and ended here, and the profile is a time window of the session.  A
 * session in memory is used in the same way.  These frameworks pass no events to the bridge, so plugins that record
 * only within host events, as those for ONNX Runtime may do, record nothing here.
 *
 * If EPPROF_OUTPUT is set and a hook has announced the host's operations (xspace_host_events.h), a run that the bridge
 * has released waits for these operations.
 *
 * Times of lines are relative to the Unix time of the run's start.  The framework subtracts the start of its own
 * session, which is earlier. */
#include "xspace_plugin_run.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "epprof/epprof.h"
#include "hosted_plugins.h"
#include "xspace_host_events.h"
#include "xspace_threads.h"

#define PLUGINS_MAX 32u /* maximum number of profilers in a session */
#define WAIT_NS 20000000000u

struct hosted_run {
	epp_session *session;
	bool is_shared;
	bool is_over;
	struct host_moment start;
	size_t count;
	struct {
		const char *label;
		OrtEpProfilerImpl *profiler;
		epp_hosted_profiler *registration;
	} all[PLUGINS_MAX];
};

/* Exists until the process ends; plugins are never unloaded, because no framework reports that it does not need them
 * any more. */
static struct {
	bool is_loaded;
	size_t count;
	epp_plugin *all[PLUGINS_MAX];
} plugins;

/* libepprof looks for this symbol.  It means that the session must not end with a run, because the host's operations
 * are recorded after the run. */
extern __attribute__((visibility("default"))) const char epprof_bridge_ends_runs[];
const char epprof_bridge_ends_runs[] = "";

void hosted_problems_add(struct hosted_problems *problems, epp_status *status)
{
	size_t room = sizeof(problems->text) - problems->used;
	if (!status)
		return;
	int bytes = snprintf(problems->text + problems->used, room, "%s%s", problems->used ? "; " : "",
	                     epp_status_message(status));
	if (bytes > 0)
		problems->used += (size_t)bytes < room ? (size_t)bytes : room - 1;
	epp_status_destroy(status);
}

/* ---- plugins ---- */

static void add_found_plugin(void *user, const char *path, epp_plugin *plugin, const epp_status *failure)
{
	struct hosted_problems *problems = user;
	if (failure) {
		hosted_problems_add(problems,
		                    epp_status_create(epp_status_code(failure), "%s", epp_status_message(failure)));
	} else if (plugins.count == PLUGINS_MAX) {
		epp_status_destroy(epp_plugin_unload(plugin));
		hosted_problems_add(
		    problems, epp_status_create(EPP_INVALID_ARGUMENT, "%s: more than %u plugins", path, PLUGINS_MAX));
	} else {
		hosted_problems_add(problems, epp_path_check(path));
		plugins.all[plugins.count++] = plugin;
	}
}

static void load_all(struct hosted_problems *problems)
{
	plugins.is_loaded = true;
	hosted_plugins_load(add_found_plugin, problems);
	if (!plugins.count)
		hosted_problems_add(problems, epp_status_create(EPP_NOT_FOUND, HOSTED_NOTHING));
}

/* ---- a run ---- */

/* The run that waits for the host's operations. */
static struct {
	pthread_mutex_t lock;
	bool is_expected;
	struct hosted_run *run;
} waiting = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void run_free(struct hosted_run *run)
{
	if (run)
		epp_session_destroy(run->session);
	free(run);
}

static struct hosted_run *take_waiting(void)
{
	pthread_mutex_lock(&waiting.lock);
	struct hosted_run *run = waiting.run;
	waiting.run = NULL;
	pthread_mutex_unlock(&waiting.lock);
	return run;
}

/* Adds the failures of one profiler's call, StartProfiling or EndProfiling (`step`), to the problems. */
static void note_failure(struct hosted_problems *problems, const char *label, const char *step,
                         const epp_hosted_profiler_call *call)
{
	const OrtApi *ort = epp_ort_api_base()->GetApi(EPPROF_ORT_API_VERSION_MIN);
	hosted_problems_add(problems, call->failure ? epp_status_prefix(call->failure, "%s", label) : NULL);
	if (!call->status)
		return;
	epp_hosted_profiler_count_error(call->hosted);
	hosted_problems_add(problems,
	                    epp_status_create(EPP_PLUGIN, "%s: %s: %s", label, step, ort->GetErrorMessage(call->status)));
	ort->ReleaseStatus(call->status);
}

/* Starts or ends all profilers in parallel. */
static void call_all(const struct hosted_run *run, bool is_end, struct hosted_problems *problems)
{
	epp_hosted_profiler_call calls[PLUGINS_MAX] = { 0 };
	for (size_t i = 0; i < run->count; i++)
		calls[i].hosted = run->all[i].registration;
	if (is_end)
		epp_hosted_profilers_end(calls, run->count);
	else
		epp_hosted_profilers_start(calls, run->count, 0, 0);
	for (size_t i = 0; i < run->count; i++)
		note_failure(problems, run->all[i].label, is_end ? "EndProfiling" : "StartProfiling", &calls[i]);
}

static epp_status *open_session(struct hosted_run *run, const char *framework, struct hosted_problems *problems)
{
	hosted_problems_add(problems, epp_session_share_output(&run->session));
	run->is_shared = run->session != NULL;
	if (run->session)
		return NULL;
	epp_session_options options = { .struct_size = sizeof(options), .label = framework };
	EPP_TRY(epp_session_create(&options, &run->session));
	return epp_session_start(run->session);
}

static epp_status *add_plugin(struct hosted_run *run, epp_plugin *plugin)
{
	OrtEpProfilerImpl *profiler;
	epp_hosted_profiler *registration;
	const char *label = epp_plugin_name(plugin);
	epp_status *status = epp_plugin_profiler_create(plugin, &profiler);
	if (epp_status_code(status) == EPP_TIMEOUT)
		epp_session_report_hang(run->session, label, epp_status_message(status));
	EPP_TRY(status);
	status = epp_hosted_profiler_create(run->session, profiler, label, &registration);
	if (status) {
		epp_plugin_profiler_destroy(profiler);
		return epp_status_prefix(status, "%s", label);
	}
	run->all[run->count].label = label;
	run->all[run->count].profiler = profiler;
	run->all[run->count++].registration = registration;
	return NULL;
}

static struct hosted_run *start(const char *framework, struct hosted_problems *problems)
{
	if (!plugins.is_loaded)
		load_all(problems);
	if (!plugins.count)
		return NULL;
	struct hosted_run *run = calloc(1, sizeof(*run));
	if (!run) {
		hosted_problems_add(problems, epp_status_no_memory());
		return NULL;
	}
	run_free(take_waiting());
	run->start = host_now();
	epp_status *status = open_session(run, framework, problems);
	if (status) {
		hosted_problems_add(problems, status);
		hosted_run_release(run);
		return NULL;
	}
	hosted_plugins_report_hung(run->session);
	for (size_t i = 0; i < plugins.count; i++)
		hosted_problems_add(problems, add_plugin(run, plugins.all[i]));
	/* A profiler whose start failed is used nevertheless, as in ONNX Runtime. */
	call_all(run, false, problems);
	return run;
}

struct hosted_run *hosted_run_start(const char *framework, struct hosted_problems *problems)
{
	epp_plugin_budget_begin(0);
	struct hosted_run *run = start(framework, problems);
	epp_plugin_budget_end();
	return run;
}

void hosted_run_end(struct hosted_run *run, struct hosted_problems *problems)
{
	if (!run)
		return;
	run->is_over = true;
	call_all(run, true, problems);
	for (size_t i = 0; i < run->count; i++) {
		epp_hosted_profiler_destroy(run->all[i].registration);
		epp_plugin_profiler_destroy(run->all[i].profiler);
	}
	if (run->is_shared)
		return;
	hosted_problems_add(problems, epp_session_end(run->session));
	hosted_problems_add(problems, epp_session_wait(run->session, WAIT_NS));
}

void hosted_run_release(struct hosted_run *run)
{
	struct hosted_run *replaced = run;
	pthread_mutex_lock(&waiting.lock);
	if (run && run->is_shared && run->is_over && waiting.is_expected) {
		replaced = waiting.run;
		waiting.run = run;
	}
	pthread_mutex_unlock(&waiting.lock);
	run_free(replaced);
}

/* ---- the host's operations ---- */

void epprof_host_expect(void)
{
	pthread_mutex_lock(&waiting.lock);
	waiting.is_expected = true;
	pthread_mutex_unlock(&waiting.lock);
}

void epprof_host_thread(uint64_t handle, uint32_t thread)
{
	xspace_thread_note(handle, thread);
}

int epprof_host_profile(const void *bytes, size_t count, char *text, size_t text_bytes)
{
	struct hosted_run *run = take_waiting();
	struct host_counts counts;
	snprintf(text, text_bytes, "%s", "");
	if (!run)
		return HOST_NOT_WANTED;
	epp_status *status = bytes ? host_record(run->session, &run->start, bytes, count, &counts) : NULL;
	if (status)
		snprintf(text, text_bytes, "%s", epp_status_message(status));
	else if (bytes)
		snprintf(text, text_bytes,
		         "%" PRIu64 " operations of the host, %" PRIu64 " lost; %" PRIu64
		         " device events joined to their calls, "
		         "%" PRIu64 " without a call",
		         counts.operations, counts.lost, counts.joined, counts.alone);
	run_free(run);
	int result = status ? HOST_FAILED : HOST_RECORDED;
	epp_status_destroy(status);
	return result;
}

/* ---- the run's profile ---- */

/* Returns the value of EPPROF_PROFILE_BYTES, but not more than frameworks accept. */
static size_t bytes_max(struct hosted_problems *problems)
{
	const char *text = secure_getenv("EPPROF_PROFILE_BYTES");
	char *end;
	if (!text || !*text)
		return XSPACE_PROFILE_BYTES_MAX;
	unsigned long long bytes = strtoull(text, &end, 10);
	if (*end || *text == '-') {
		hosted_problems_add(problems, epp_status_create(EPP_INVALID_ARGUMENT,
		                                                "EPPROF_PROFILE_BYTES: '%s' is not a number", text));
		return XSPACE_PROFILE_BYTES_MAX;
	}
	return bytes < XSPACE_PROFILE_BYTES_MAX ? (size_t)bytes : XSPACE_PROFILE_BYTES_MAX;
}

/* Returns true if EPPROF_DEVICE_PLANES asks for GPU planes. */
static bool wants_gpu_planes(struct hosted_problems *problems)
{
	const char *text = secure_getenv("EPPROF_DEVICE_PLANES");
	if (!text || !*text || !strcmp(text, "custom"))
		return false;
	if (!strcmp(text, "gpu"))
		return true;
	hosted_problems_add(problems, epp_status_create(EPP_INVALID_ARGUMENT,
	                                                "EPPROF_DEVICE_PLANES: '%s' is not one of custom, gpu", text));
	return false;
}

/* Reports the losses of a session in memory, which no trace would show. */
static epp_status *report_losses(const struct hosted_run *run, epp_trace *trace)
{
	epp_trace_ledger_entry entry = { .struct_size = sizeof(entry) };
	uint64_t lost = 0;
	for (size_t i = 0; !run->is_shared && i < epp_trace_ledger_count(trace); i++) {
		EPP_TRY(epp_trace_ledger_at(trace, i, &entry));
		lost += entry.lost_total;
	}
	return lost ? epp_status_create(EPP_LOSSY,
	                                "%" PRIu64 " events were lost; EPPROF_OUTPUT=FILE writes a trace with the reasons",
	                                lost)
	            : NULL;
}

void hosted_run_profile(struct hosted_run *run, struct xspace_profile *profile, struct hosted_problems *problems)
{
	epp_trace *trace;
	*profile = (struct xspace_profile){ 0 };
	epp_status *status = epp_trace_open_session(run->session, &trace);
	if (!status) {
		int64_t from_ns = run->start.unix_ns - epp_trace_get_info(trace)->epoch_unix_ns;
		size_t most = bytes_max(problems);
		status = xspace_profile_make(trace, from_ns, most, wants_gpu_planes(problems), profile);
		if (!status && profile->left_out_count)
			status = epp_status_create(EPP_LOSSY,
			                           "%" PRIu64 " of %" PRIu64 " events do not fit into %zu bytes",
			                           profile->left_out_count, profile->events_count, most);
		hosted_problems_add(problems, report_losses(run, trace));
		epp_trace_close(trace);
	}
	if (status)
		hosted_problems_add(problems, epp_status_prefix(status, "the profile"));
}
