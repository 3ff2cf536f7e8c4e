/* Functions for all cases: load the plugin, record host events while it profiles, and read its events. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "conform.h"
#include "epprof/profiler.h"
#include "epprof/session.h"

#define NEEDS_WORK "nothing gives the device work: --work SYMBOL names a function that does"

const char *const conform_kinds[] = { "ort", "tf", "pu1", "pjrt", NULL };

uint64_t conform_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void conform_sleep_us(unsigned us)
{
	struct timespec pause = { us / 1000000, us % 1000000 * 1000 };

	while (nanosleep(&pause, &pause) != 0)
		continue;
}

/* ---- random numbers ---- */

struct conform_random conform_random_begin(const struct conform *conform)
{
	return (struct conform_random){
		.state = conform->seed,
		.left_count = conform->is_quick ? 2000 : 1000000,
		.until_ns = conform_now_ns() + conform->limit_ns / 3,
	};
}

bool conform_random_continues(struct conform_random *random)
{
	return random->left_count-- > 0 && conform_now_ns() < random->until_ns;
}

uint64_t conform_random_next(struct conform_random *random)
{
	random->state = random->state * 6364136223846793005u + 1442695040888963407u;
	return random->state >> 33;
}

/* ---- the plugin ---- */

epp_plugin *conform_load(const struct conform *conform)
{
	epp_plugin *plugin;
	epp_status *status = epp_plugin_load(conform->library, &plugin);

	if (status)
		conform_skip(conform, "the plugin cannot be loaded: %s", epp_status_message(status));
	for (unsigned i = 0; conform_kinds[i]; i++) {
		if (strcmp(epp_plugin_kind(plugin), conform_kinds[i]) == 0 && conform->about->kinds & 1u << i)
			return plugin;
	}
	conform_skip(conform, "not for plugins of kind %s", epp_plugin_kind(plugin));
}

OrtEpProfilerImpl *conform_profiler(const struct conform *conform, epp_plugin **plugin)
{
	*plugin = conform_load(conform);
	return conform_profiler_create(conform, *plugin);
}

OrtEpProfilerImpl *conform_profiler_create(const struct conform *conform, epp_plugin *plugin)
{
	OrtEpProfilerImpl *profiler;
	epp_status *status = epp_plugin_profiler_create(plugin, &profiler);

	if (status)
		conform_skip(conform, "there is no profiler: %s", epp_status_message(status));
	conform_trace_profiler(profiler);
	return profiler;
}

int (*conform_work(const struct conform *conform, epp_plugin *plugin))(int)
{
	int (*work)(int) = NULL;
	void *symbol = conform->work_name ? epp_plugin_symbol(plugin, conform->work_name) : NULL;

	if (conform->work_name && !symbol)
		conform_skip(conform, "the library has no function %s", conform->work_name);
	memcpy(&work, &symbol, sizeof(symbol));
	return work;
}

int (*conform_work_needed(const struct conform *conform, epp_plugin *plugin))(int)
{
	if (!conform->work_name)
		conform_skip(conform, NEEDS_WORK);
	return conform_work(conform, plugin);
}

void *conform_open(const struct conform *conform, const char *symbol)
{
	void *library = dlopen(conform->library, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		conform_skip(conform, "the library cannot be loaded: %s", dlerror());
	if (!dlsym(library, symbol))
		conform_skip(conform, "the library has no %s", symbol);
	return library;
}

int (*conform_open_work(const struct conform *conform, void *library))(int)
{
	int (*work)(int) = NULL;

	if (!conform->work_name)
		conform_skip(conform, NEEDS_WORK);
	*(void **)&work = dlsym(library, conform->work_name);
	if (!work)
		conform_skip(conform, "the library has no function %s", conform->work_name);
	return work;
}

void conform_check(const struct conform *conform, const char *step, epp_status *status)
{
	if (status)
		conform_fail(conform, "%s: %s", step, epp_status_message(status));
}

void conform_ignore_ort(OrtStatus *status)
{
	epp_ort_api_base()->GetApi(EPPROF_ORT_API_VERSION)->ReleaseStatus(status);
}

void conform_check_ort(const struct conform *conform, const char *step, OrtStatus *status)
{
	if (status)
		conform_fail(conform, "%s returned an error: %s", step,
		             epp_ort_api_base()->GetApi(EPPROF_ORT_API_VERSION)->GetErrorMessage(status));
}

/* ---- recording ---- */

epp_session *conform_session(const struct conform *conform, OrtEpProfilerImpl *profiler)
{
	return conform_session_with_grace(conform, profiler, conform->limit_ns / 3);
}

epp_session *conform_session_with_grace(const struct conform *conform, OrtEpProfilerImpl *profiler, uint64_t grace_ns)
{
	const epp_session_options options = {
		.struct_size = sizeof(options), .lossless = 1, .buffer_bytes = 2 << 20, .grace_ns = grace_ns
	};
	epp_session *session;
	epp_status *status = epp_session_create(&options, &session);

	if (!status)
		status = epp_session_attach(session, profiler, NULL);
	if (status)
		conform_skip(conform, "no session: %s", epp_status_message(status));
	return session;
}

struct recorder {
	epp_session *session;
	const struct conform_nodes *nodes;
	pthread_barrier_t *begin;
	unsigned recorded_count;
	bool is_work_refused;
};

static void *record_thread(void *argument)
{
	struct recorder *recorder = argument;
	const struct conform_nodes *nodes = recorder->nodes;
	epp_name model = epp_name_intern("model_run"), node = epp_name_intern("node");
	pthread_barrier_wait(recorder->begin);
	uint64_t run = epp_event_begin(recorder->session, EPP_SESSION, model);

	while (recorder->recorded_count < nodes->nodes_count && (!nodes->until_ns || conform_now_ns() < nodes->until_ns)) {
		uint64_t id = epp_event_begin(recorder->session, EPP_NODE, node);
		if (nodes->pause_us)
			conform_sleep_us(nodes->pause_us);
		if (nodes->work && nodes->work(nodes->work_count) != 0)
			recorder->is_work_refused = true;
		if (nodes->pause_us)
			conform_sleep_us(nodes->pause_us);
		epp_event_end(recorder->session, id, NULL, 0);
		recorder->recorded_count++;
	}
	epp_event_end(recorder->session, run, NULL, 0);
	return NULL;
}

uint64_t conform_record_nodes(const struct conform *conform, epp_session *session, const struct conform_nodes *nodes)
{
	struct recorder recorders[64] = { { 0 } };
	pthread_t threads[64];
	pthread_barrier_t begin;
	uint64_t count = 0;

	if (!nodes->threads_count)
		return 0;
	if (pthread_barrier_init(&begin, NULL, nodes->threads_count) != 0)
		conform_skip(conform, "no barrier could be made");
	for (unsigned i = 0; i < nodes->threads_count; i++) {
		recorders[i] = (struct recorder){ .session = session, .nodes = nodes, .begin = &begin };
		if (i > 0 && pthread_create(&threads[i], NULL, record_thread, &recorders[i]) != 0)
			conform_skip(conform, "no thread could be made");
	}
	record_thread(&recorders[0]);
	for (unsigned i = 0; i < nodes->threads_count; i++) {
		if (i > 0)
			pthread_join(threads[i], NULL);
		if (recorders[i].is_work_refused)
			conform_skip(conform, "%s failed", conform->work_name);
		count += recorders[i].recorded_count;
	}
	pthread_barrier_destroy(&begin);
	return count;
}

void conform_end(const struct conform *conform, epp_session *session)
{
	conform_check(conform, "the end of the session", epp_session_end(session));
	conform_check(conform, "the end of the session", epp_session_wait(session, UINT64_MAX));
}

uint64_t conform_record(const struct conform *conform, epp_session *session, const struct conform_nodes *nodes)
{
	conform_check(conform, "the start of the session", epp_session_start(session));
	uint64_t count = conform_record_nodes(conform, session, nodes);
	conform_end(conform, session);
	return count;
}

void conform_use_and_unload(const struct conform *conform)
{
	const struct conform_nodes nodes = { .threads_count = 1, .nodes_count = 1 };
	epp_plugin *plugin;
	epp_session *session = conform_session(conform, conform_profiler(conform, &plugin));

	conform_record(conform, session, &nodes);
	epp_session_destroy(session);
	conform_check(conform, "the unload", epp_plugin_unload(plugin));
}

/* ---- reading ---- */

static bool is_outside_run(const epp_trace *trace, const epp_event *event)
{
	epp_trace_run run = { .struct_size = sizeof(run) };

	for (size_t i = 0; epp_trace_run_at(trace, i, &run); i++) {
		if (run.run == event->run)
			return event->start_ns + event->start_error_ns < run.start_ns ||
			       event->start_ns - event->start_error_ns > run.end_ns;
	}
	return true;
}

/* Returns the value of an event's arg as a number; -1: the event has no such arg.  With ONNX Runtime's ABI, args are
 * texts of digits. */
static int64_t arg_of(const epp_timeline *timeline, const epp_event *event, const char *key)
{
	epp_trace_arg arg;
	size_t cursor = 0;

	while (epp_event_args(timeline, event, &cursor, &arg)) {
		char text[24];
		if (strcmp(arg.key, key) != 0)
			continue;
		if (arg.type != EPP_ARG_TEXT)
			return arg.value.i64;
		snprintf(text, sizeof(text), "%.*s", (int)arg.text_bytes, arg.value.text);
		return strtoll(text, NULL, 10);
	}
	return -1;
}

static void events_add(const struct conform *conform, const epp_trace *trace, const epp_timeline *timeline,
                       struct conform_events *events, const epp_event *event)
{
	/* The array is full whenever the count is 0 or a power of two; its size is then doubled. */
	if ((events->count & (events->count - 1)) == 0) {
		size_t room = events->count ? events->count * 2 : 1;
		events->at = reallocarray(events->at, room, sizeof(*events->at));
		if (!events->at)
			conform_skip(conform, "out of memory");
	}
	events->at[events->count++] = (struct conform_event){
		.start_ns = event->start_ns,
		.end_ns = event->start_ns + event->duration_ns,
		.error_ns = event->start_error_ns > event->end_error_ns ? event->start_error_ns : event->end_error_ns,
		.parent_start_ns = event->parent_start_ns,
		.parent_end_ns = event->parent_end_ns,
		.parent = event->parent_start_ns == INT64_MIN ? 0 : event->parent,
		.run = event->run,
		.track = event->track->track,
		.stream = event->track->stream,
		.category = event->category,
		.is_inferred = event->placement == EPP_PLACED_INFERRED,
		.is_outside = is_outside_run(trace, event),
		.has_start = event->placement != EPP_PLACED_DURATION,
		.graph = arg_of(timeline, event, "graph"),
		.graph_node = arg_of(timeline, event, "graph_node"),
	};
}

void conform_read(const struct conform *conform, epp_session *session, struct conform_events *events)
{
	/* Device events get the times that the plugin's clock gives; causes and waits do not change them. */
	const epp_timeline_options options = { .struct_size = sizeof(options), .as_claimed = 1 };
	epp_timeline *timeline;
	epp_trace *trace;
	const epp_event *event;

	*events = (struct conform_events){ .account.struct_size = sizeof(events->account) };
	conform_check(conform, "the trace", epp_trace_open_session(session, &trace));
	conform_check(conform, "the trace", epp_timeline_create(trace, &options, &timeline));
	while (epp_timeline_next(timeline, &event)) {
		bool is_slice = event->kind == EPP_EVENT_SLICE || event->kind == EPP_EVENT_ASYNC;
		if (is_slice && event->track->kind == EPP_TRACK_DEVICE && epp_trace_track_plugin(trace, event->track))
			events_add(conform, trace, timeline, events, event);
	}
	conform_check(conform, "the trace", epp_timeline_status(timeline));
	epp_timeline_destroy(timeline);
	size_t accounts_count = epp_trace_ledger_count(trace);
	for (size_t i = 0; i < accounts_count && !events->account.is_plugin; i++)
		conform_check(conform, "the ledger", epp_trace_ledger_at(trace, i, &events->account));
	epp_trace_close(trace);
}
