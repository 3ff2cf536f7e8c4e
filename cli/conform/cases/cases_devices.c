/* Levels 3 and 4: unusual devices, which report their work late, count cycles only, or replay captured graphs. */
#include <inttypes.h>
#include <stdlib.h>

#include "cases.h"
#include "epprof/session.h"

#define UNITS 4
#define PAUSE_US 20000
/* Tolerance for plugins whose times are whole microseconds. */
#define ROUNDING_NS 2000

/* ---- late events ---- */

struct late_run {
	epp_session *session;
	uint64_t nodes[2];      /* ids of the host events in the first and the second run */
	uint64_t missing_count; /* number of events of the last run that were announced and did not come */
	struct conform_events events;
};

/* Waits until the events of work that was unfinished at the end of the run have come, for at most a tenth of the case's
 * time limit.  Returns the number of events that are still missing. */
static uint64_t await_missing(const struct conform *conform, epp_session *session)
{
	uint64_t until_ns = conform_now_ns() + conform->limit_ns / 10, missing_count;

	while ((missing_count = epp_session_lost(session, EPP_LOSS_AFTER_END)) > 0 && conform_now_ns() < until_ns)
		conform_sleep_us(1000);
	return missing_count;
}

/* Records two runs with one node each, in a session whose end does not wait for late events, and reads the events. */
static void record_late(const struct conform *conform, struct late_run *late_run)
{
	epp_plugin *plugin;
	OrtEpProfilerImpl *profiler = conform_profiler(conform, &plugin);
	int (*work)(int) = conform_work_needed(conform, plugin);
	epp_name name = epp_name_intern("node");

	*late_run = (struct late_run){ .session = conform_session_with_grace(conform, profiler, 1) };
	for (int i = 0; i < 2; i++) {
		conform_check(conform, "the start of the session", epp_session_start(late_run->session));
		late_run->nodes[i] = epp_event_begin(late_run->session, EPP_NODE, name);
		if (work(UNITS) != 0)
			conform_skip(conform, "%s failed", conform->work_name);
		epp_event_end(late_run->session, late_run->nodes[i], NULL, 0);
		conform_sleep_us(PAUSE_US);
		conform_end(conform, late_run->session);
		late_run->missing_count = await_missing(conform, late_run->session);
		conform_check(conform, "the end of the session", epp_session_wait(late_run->session, UINT64_MAX));
	}
	conform_read(conform, late_run->session, &late_run->events);
}

void case_late_run(const struct conform *conform)
{
	struct late_run late_run;
	size_t counts[2] = { 0 };

	record_late(conform, &late_run);
	for (size_t i = 0; i < late_run.events.count; i++) {
		for (int run = 0; run < 2; run++)
			counts[run] += late_run.events.at[i].parent == late_run.nodes[run] &&
			               !late_run.events.at[i].is_inferred;
	}
	if (late_run.missing_count)
		conform_fail(conform, "%" PRIu64 " events were announced at the end of a run and did not come",
		             late_run.missing_count);
	if (!counts[0] && !counts[1])
		conform_skip(conform, "no event has the id of a host event");
	/* Fewer events in the second run, and repeated events, are checked by 2.restart.silent and
	 * 2.restart.repeats. */
	if (counts[0] < counts[1])
		conform_fail(conform, "the host event of the first run has %zu events, that of the second %zu",
		             counts[0], counts[1]);
}

void case_late_times(const struct conform *conform)
{
	struct late_run late_run;

	record_late(conform, &late_run);
	for (size_t i = 0; i < late_run.events.count; i++) {
		const struct conform_event *event = &late_run.events.at[i];
		/* The case 4.clock.window reports events outside the run. */
		if (!event->parent || event->is_inferred || !event->has_start || event->is_outside)
			continue;
		int64_t late_ns = event->start_ns - event->parent_end_ns;
		if (late_ns > event->error_ns + ROUNDING_NS)
			conform_fail(conform,
			             "an event begins %" PRId64 " ns after the host event that waited for its work",
			             late_ns);
	}
	if (!late_run.events.count)
		conform_skip(conform, "the work has no events");
}

/* ---- durations ---- */

static int compare_starts(const void *a, const void *b)
{
	const struct conform_event *first = a, *second = b;

	return (first->start_ns > second->start_ns) - (first->start_ns < second->start_ns);
}

/* Checks that starts were measured.  Two pieces of work in one node have a pause between them; if the plugin invents
 * the starts, their events do not.  Events that have a duration only are allowed: the host places them one after the
 * other and marks them. */
void case_clock_invented(const struct conform *conform)
{
	epp_plugin *plugin;
	epp_session *session = conform_session(conform, conform_profiler(conform, &plugin));
	int (*work)(int) = conform_work_needed(conform, plugin);
	epp_name name = epp_name_intern("node");
	struct conform_events events;

	conform_check(conform, "the start of the session", epp_session_start(session));
	uint64_t node = epp_event_begin(session, EPP_NODE, name);
	conform_sleep_us(1000);
	bool is_done = work(UNITS) == 0;
	conform_sleep_us(PAUSE_US);
	is_done = work(UNITS) == 0 && is_done;
	epp_event_end(session, node, NULL, 0);
	if (!is_done)
		conform_skip(conform, "%s failed", conform->work_name);
	conform_end(conform, session);
	conform_read(conform, session, &events);
	if (events.account.lost_total || events.count < 2)
		conform_skip(conform, "the work has %zu events, and %" PRIu64 " are lost", events.count,
		             events.account.lost_total);
	qsort(events.at, events.count, sizeof(*events.at), compare_starts);
	for (size_t i = 1; i < events.count; i++) {
		if (!events.at[i].has_start || llabs(events.at[i].start_ns - events.at[i - 1].end_ns) > ROUNDING_NS)
			return;
	}
	conform_fail(conform,
	             "each event begins where the one before it ends, but the work had a pause of %d us: the starts were "
	             "not measured",
	             PAUSE_US);
}

/* ---- graphs ---- */

#define REPLAYS 3
/* No other case gives this number to the work function, so a test plugin can find out that this case runs. */
#define GRAPH_UNITS 6

void case_graph_node(const struct conform *conform)
{
	epp_plugin *plugin;
	epp_session *session = conform_session(conform, conform_profiler(conform, &plugin));
	const struct conform_nodes nodes = { .work = conform_work_needed(conform, plugin),
		                             .work_count = GRAPH_UNITS,
		                             .threads_count = 1,
		                             .nodes_count = REPLAYS };
	struct conform_events events;
	uint64_t parents[REPLAYS];
	size_t parents_count = 0, graphs_count = 0;

	conform_record(conform, session, &nodes);
	conform_read(conform, session, &events);
	for (size_t i = 0; i < events.count; i++) {
		const struct conform_event *event = &events.at[i];
		size_t at = 0;
		if (event->graph < 0)
			continue;
		graphs_count++;
		if (!event->parent || event->is_inferred)
			conform_fail(conform, "an event of graph %" PRId64 " belongs to no host event", event->graph);
		while (at < parents_count && parents[at] != event->parent)
			at++;
		if (at == parents_count && parents_count < REPLAYS)
			parents[parents_count++] = event->parent;
	}
	if (!graphs_count)
		conform_skip(conform, "no event belongs to a graph");
	if (parents_count < REPLAYS)
		conform_fail(conform, "the events of %d replays belong to %zu host events", REPLAYS, parents_count);
	/* Each kernel of a graph must have as many events in every replay as in the first one. */
	for (size_t i = 0; i < events.count; i++) {
		size_t counts[REPLAYS] = { 0 };
		for (size_t j = 0; j < events.count; j++) {
			for (int k = 0; k < REPLAYS; k++)
				counts[k] += events.at[j].parent == parents[k] &&
				             events.at[j].graph == events.at[i].graph &&
				             events.at[j].graph_node == events.at[i].graph_node;
		}
		for (int k = 1; k < REPLAYS && events.at[i].graph >= 0; k++) {
			if (counts[k] != counts[0])
				conform_fail(conform,
				             "kernel %" PRId64 " of graph %" PRId64 " has %zu events in the first replay, "
				             "%zu in replay %d",
				             events.at[i].graph_node, events.at[i].graph, counts[0], counts[k], k + 1);
		}
	}
}
