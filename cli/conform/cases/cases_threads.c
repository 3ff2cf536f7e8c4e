/* Level 3: threads, ids, and several sessions. */
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include "cases.h"
#include "direct.h"
#include "epprof/session.h"

void case_threads_events(const struct conform *conform)
{
	epp_plugin *plugin;
	epp_session *session = conform_session(conform, conform_profiler(conform, &plugin));
	const struct conform_nodes nodes = { .work = conform_work_needed(conform, plugin),
		                             .work_count = 4,
		                             .threads_count = conform->is_quick ? 4 : 64,
		                             .nodes_count = 4 };
	uint64_t units_count = (uint64_t)nodes.threads_count * nodes.nodes_count * 4;
	struct conform_events events;

	conform_record(conform, session, &nodes);
	conform_read(conform, session, &events);
	if (events.account.emitted < units_count)
		conform_fail(conform, "%" PRIu64 " units of work of %u threads, %" PRIu64 " events", units_count,
		             nodes.threads_count, events.account.emitted);
}

/* ---- 1, 2, 4, ... 64 threads ---- */

#define THREADS_MAX 64
#define THREAD_NODES 3
#define NODE_UNITS 2

/* Records nodes with work on `threads_count` threads at once, in a new session with a new profiler, and reads the
 * events. */
static void run_threads(const struct conform *conform, epp_plugin *plugin, unsigned threads_count,
                        struct conform_events *events)
{
	const struct conform_nodes nodes = { .work = conform_work_needed(conform, plugin),
		                             .work_count = NODE_UNITS,
		                             .threads_count = threads_count,
		                             .nodes_count = THREAD_NODES };
	epp_session *session = conform_session(conform, conform_profiler_create(conform, plugin));

	conform_record(conform, session, &nodes);
	conform_read(conform, session, events);
	epp_session_destroy(session);
}

void case_threads_complete(const struct conform *conform)
{
	epp_plugin *plugin = conform_load(conform);
	uint64_t alone_count = 0; /* events of one thread */

	for (unsigned threads_count = 1; threads_count <= THREADS_MAX; threads_count *= 2) {
		struct conform_events events;
		run_threads(conform, plugin, threads_count, &events);
		free(events.at);
		if (threads_count == 1)
			alone_count = events.account.emitted;
		if (events.account.emitted < threads_count * alone_count)
			conform_fail(conform,
			             "%u threads with the work of one, which has %" PRIu64 " events, have %" PRIu64,
			             threads_count, alone_count, events.account.emitted);
	}
	if (!alone_count)
		conform_skip(conform, "the work of one thread has no events");
}

static int compare_parents(const void *a, const void *b)
{
	const struct conform_event *first = a, *second = b;

	return (first->parent > second->parent) - (first->parent < second->parent);
}

/* The host events that have device events with their id. */
struct parents {
	size_t count;        /* number of these host events */
	size_t least_count;  /* number of device events of the host event that has the fewest */
	size_t linked_count; /* number of device events of all of them */
};

static struct parents count_parents(struct conform_events *events)
{
	struct parents parents = { .least_count = SIZE_MAX };

	for (size_t i = 0; i < events->count; i++) {
		if (events->at[i].is_inferred)
			events->at[i].parent = 0;
	}
	qsort(events->at, events->count, sizeof(*events->at), compare_parents);
	for (size_t i = 0, end; i < events->count; i = end) {
		for (end = i; end < events->count && events->at[end].parent == events->at[i].parent; end++)
			continue;
		if (!events->at[i].parent)
			continue;
		parents.count++;
		parents.linked_count += end - i;
		parents.least_count = end - i < parents.least_count ? end - i : parents.least_count;
	}
	return parents;
}

void case_threads_ids(const struct conform *conform)
{
	epp_plugin *plugin = conform_load(conform);
	struct parents alone = { 0 };

	for (unsigned threads_count = 1; threads_count <= THREADS_MAX; threads_count *= 2) {
		struct conform_events events;
		run_threads(conform, plugin, threads_count, &events);
		struct parents parents = count_parents(&events);
		size_t events_count = events.count;
		free(events.at);
		if (events_count < events.account.emitted)
			conform_skip(conform, "%zu of %" PRIu64 " events can be stored, see 4.clock.refused",
			             events_count, events.account.emitted);
		if (threads_count == 1)
			alone = parents;
		if (threads_count == 1 && (parents.linked_count < events_count || events_count < THREAD_NODES * NODE_UNITS))
			conform_skip(conform, "%zu of %zu events have the id of a host event, see 3.ids.unknown",
			             parents.linked_count, events_count);
		if (parents.count < threads_count * alone.count)
			conform_fail(conform, "%zu host events of %u threads have events, not all %zu", parents.count,
			             threads_count, threads_count * alone.count);
		if (parents.least_count < alone.least_count)
			conform_fail(conform, "with %u threads a host event has %zu events, alone at least %zu",
			             threads_count, parents.least_count, alone.least_count);
	}
}

/* ---- ids ---- */

void case_ids_parent(const struct conform *conform)
{
	epp_plugin *plugin;
	epp_session *session = conform_session(conform, conform_profiler(conform, &plugin));
	int (*work)(int) = conform_work_needed(conform, plugin);
	epp_name name = epp_name_intern("node");
	struct conform_events events;
	size_t linked_count = 0;

	conform_check(conform, "the start of the session", epp_session_start(session));
	uint64_t outer = epp_event_begin(session, EPP_NODE, name), inner = epp_event_begin(session, EPP_NODE, name);
	if (work(4) != 0)
		conform_skip(conform, "%s failed", conform->work_name);
	epp_event_end(session, inner, NULL, 0);
	epp_event_end(session, outer, NULL, 0);
	conform_end(conform, session);
	conform_read(conform, session, &events);
	for (size_t i = 0; i < events.count; i++) {
		if (!events.at[i].parent || events.at[i].is_inferred)
			continue;
		linked_count++;
		if (events.at[i].parent != inner)
			conform_fail(conform, "event %zu of %zu belongs to %s", i + 1, events.count,
			             events.at[i].parent == outer ? "the outer event" : "an event that ended before");
	}
	if (!linked_count)
		conform_skip(conform, "no event has the id of a host event");
}

void case_ids_unknown(const struct conform *conform)
{
	epp_plugin *plugin;
	epp_session *session = conform_session(conform, conform_profiler(conform, &plugin));
	const struct conform_nodes nodes = {
		.work = conform_work_needed(conform, plugin), .work_count = 8, .threads_count = 1, .nodes_count = 1
	};
	struct conform_events events;
	size_t linked_count = 0;

	conform_record(conform, session, &nodes);
	conform_read(conform, session, &events);
	for (size_t i = 0; i < events.count; i++)
		linked_count += events.at[i].parent && !events.at[i].is_inferred;
	if (!linked_count)
		conform_skip(conform, "no event has the id of a host event");
	if (linked_count < events.count)
		conform_fail(conform, "%zu of %zu events have the id of a host event, the others belong to none",
		             linked_count, events.count);
}

struct event_thread {
	const struct direct *direct;
	pthread_barrier_t *barrier;
	OrtStatus *started, *stopped;
};

/* Calls StartEvent, waits until the other thread has called it too, and calls StopEvent; both threads use the same
 * id. */
static void *run_event(void *argument)
{
	struct event_thread *thread = argument;

	thread->started = direct_start_event(thread->direct, 7);
	pthread_barrier_wait(thread->barrier);
	thread->stopped = direct_stop_event(thread->direct, 7);
	return NULL;
}

void case_ids_threads(const struct conform *conform)
{
	struct direct direct = direct_open(conform);
	pthread_barrier_t barrier;
	struct event_thread first = { .direct = &direct, .barrier = &barrier }, second = first;
	pthread_t thread;

	conform_check_ort(conform, "StartProfiling", direct_start(&direct));
	if (pthread_barrier_init(&barrier, NULL, 2) != 0 || pthread_create(&thread, NULL, run_event, &second) != 0)
		conform_skip(conform, "no thread could be made");
	run_event(&first);
	pthread_join(thread, NULL);
	conform_check_ort(conform, "StartEvent", first.started);
	conform_check_ort(conform, "StartEvent on the second thread", second.started);
	conform_check_ort(conform, "StopEvent", first.stopped);
	conform_check_ort(conform, "StopEvent on the second thread", second.stopped);
	conform_check_ort(conform, "EndProfiling", direct_end(&direct));
}

void case_ids_nested(const struct conform *conform)
{
	struct direct direct = direct_open(conform);

	conform_check_ort(conform, "StartProfiling", direct_start(&direct));
	conform_check_ort(conform, "StartEvent", direct_start_event(&direct, 7));
	conform_check_ort(conform, "StartEvent of the inner event", direct_start_event(&direct, 7));
	conform_check_ort(conform, "StopEvent of the inner event", direct_stop_event(&direct, 7));
	conform_check_ort(conform, "StopEvent", direct_stop_event(&direct, 7));
	conform_check_ort(conform, "EndProfiling", direct_end(&direct));
}

void case_ids_interleaved(const struct conform *conform)
{
	struct direct direct = direct_open(conform);

	conform_check_ort(conform, "StartProfiling", direct_start(&direct));
	conform_check_ort(conform, "StartEvent", direct_start_event(&direct, 7));
	conform_check_ort(conform, "StartEvent of a second event", direct_start_event(&direct, 8));
	conform_check_ort(conform, "StopEvent of the first event", direct_stop_event(&direct, 7));
	conform_check_ort(conform, "StopEvent of the second event", direct_stop_event(&direct, 8));
	conform_check_ort(conform, "EndProfiling", direct_end(&direct));
}

/* ---- sessions ---- */

void case_sessions_two(const struct conform *conform)
{
	epp_plugin *plugin;
	OrtEpProfilerImpl *second = NULL;
	epp_session *sessions[2] = { conform_session(conform, conform_profiler(conform, &plugin)) };
	const struct conform_nodes nodes = {
		.work = conform_work_needed(conform, plugin), .work_count = 4, .threads_count = 1, .nodes_count = 1
	};
	struct conform_events events;

	conform_check(conform, "the second profiler", epp_plugin_profiler_create(plugin, &second));
	conform_trace_profiler(second);
	sessions[1] = conform_session(conform, second);
	for (int i = 0; i < 2; i++)
		conform_check(conform, "the start of a session", epp_session_start(sessions[i]));
	for (int i = 0; i < 2; i++)
		conform_record_nodes(conform, sessions[i], &nodes);
	for (int i = 0; i < 2; i++)
		conform_end(conform, sessions[i]);
	for (int i = 0; i < 2; i++) {
		conform_read(conform, sessions[i], &events);
		if (events.account.emitted < 4)
			conform_fail(conform, "4 units of work in session %d, %" PRIu64 " events", i + 1,
			             events.account.emitted);
	}
}

void case_events_late(const struct conform *conform)
{
	epp_plugin *plugin;
	epp_session *session = conform_session(conform, conform_profiler(conform, &plugin));
	const struct conform_nodes nodes = {
		.work = conform_work_needed(conform, plugin), .work_count = 4, .threads_count = 1, .nodes_count = 1
	};
	const struct conform_nodes none = { 0 };
	/* all events of the session after each of three runs: with work, without work, and without work but with work
	 * before the run */
	struct conform_events events[3];

	conform_record(conform, session, &nodes);
	conform_read(conform, session, &events[0]);
	conform_record(conform, session, &none);
	conform_read(conform, session, &events[1]);
	if (nodes.work(4) != 0)
		conform_skip(conform, "%s failed", conform->work_name);
	conform_record(conform, session, &none);
	conform_read(conform, session, &events[2]);
	/* Events of the work before the run are not in the trace if the session has dropped them as too early. */
	if (events[2].count - events[1].count > events[1].count - events[0].count)
		conform_fail(conform, "a run without work has %zu events, after 4 units of work before it",
		             events[2].count - events[1].count);
}

/* ---- costs ---- */

#define COST_NS 20000
#define COST_TRIES 200

void case_events_cost(const struct conform *conform)
{
	struct direct direct = direct_open(conform);
	uint64_t least_ns = UINT64_MAX;

	conform_check_ort(conform, "StartProfiling", direct_start(&direct));
	/* The smallest of many times is used, because other processes only make some of them longer. */
	for (uint64_t id = 1; id <= COST_TRIES; id++) {
		uint64_t begin_ns = conform_now_ns();
		conform_check_ort(conform, "StartEvent", direct_start_event(&direct, id));
		conform_check_ort(conform, "StopEvent", direct_stop_event(&direct, id));
		uint64_t ns = conform_now_ns() - begin_ns;
		least_ns = ns < least_ns ? ns : least_ns;
	}
	if (least_ns > COST_NS)
		conform_warn(conform, "they take %" PRIu64 " ns, the least of %d times", least_ns, COST_TRIES);
}
