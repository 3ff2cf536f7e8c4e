/* Level 2: runs of a session: empty, repeated, long. */
#include <inttypes.h>

#include "cases.h"
#include "epprof/session.h"

void case_session_empty(const struct conform *conform)
{
	epp_plugin *plugin;
	epp_session *session = conform_session(conform, conform_profiler(conform, &plugin));
	const struct conform_nodes nodes = { 0 };

	conform_record(conform, session, &nodes);
}

void case_session_no_host_events(const struct conform *conform)
{
	epp_plugin *plugin;
	epp_session *session = conform_session(conform, conform_profiler(conform, &plugin));
	int (*work)(int) = conform_work_needed(conform, plugin);

	conform_check(conform, "the start of the session", epp_session_start(session));
	if (work(4) != 0)
		conform_skip(conform, "%s failed", conform->work_name);
	conform_end(conform, session);
}

void case_session_run_level(const struct conform *conform)
{
	epp_plugin *plugin;
	OrtEpProfilerImpl *inner_profiler = NULL;
	epp_session *outer = conform_session(conform, conform_profiler(conform, &plugin));
	const struct conform_nodes nodes = {
		.work = conform_work_needed(conform, plugin), .work_count = 4, .threads_count = 1, .nodes_count = 1
	};
	struct conform_events events;

	conform_check(conform, "the start of the session", epp_session_start(outer));
	conform_check(conform, "the second profiler", epp_plugin_profiler_create(plugin, &inner_profiler));
	epp_session *inner = conform_session(conform, inner_profiler);
	conform_record(conform, inner, &nodes);
	epp_session_destroy(inner);
	conform_record_nodes(conform, outer, &nodes);
	conform_end(conform, outer);
	conform_read(conform, outer, &events);
	if (events.account.emitted < 4)
		conform_fail(conform, "4 units of work after the run within the run, %" PRIu64 " events",
		             events.account.emitted);
}

void case_restart_many(const struct conform *conform)
{
	epp_plugin *plugin;
	epp_session *session = conform_session(conform, conform_profiler(conform, &plugin));
	const struct conform_nodes nodes = { .threads_count = 1, .nodes_count = 1 };

	for (unsigned i = 0; i < (conform->is_quick ? 20u : 1000u); i++)
		conform_record(conform, session, &nodes);
}

/* Records one run after the other.  counts[i] is set to the number of events of run i. */
static void record_runs(const struct conform *conform, unsigned runs_count, uint64_t counts[])
{
	epp_plugin *plugin;
	epp_session *session = conform_session(conform, conform_profiler(conform, &plugin));
	const struct conform_nodes nodes = {
		.work = conform_work_needed(conform, plugin), .work_count = 4, .threads_count = 1, .nodes_count = 1
	};
	struct conform_events events;
	uint64_t before = 0;

	for (unsigned i = 0; i < runs_count; i++) {
		conform_record(conform, session, &nodes);
		conform_read(conform, session, &events);
		counts[i] = events.account.emitted - before;
		before = events.account.emitted;
	}
	if (!counts[0])
		conform_skip(conform, "the first run has no events");
}

/* Fails if a later run has more events than the first one (`more` is true), or fewer (it is false). */
static void compare_runs(const struct conform *conform, bool more)
{
	uint64_t counts[3];

	record_runs(conform, 3, counts);
	for (int i = 1; i < 3; i++) {
		if (more ? counts[i] > counts[0] : counts[i] < counts[0])
			conform_fail(conform,
			             "the same work has %" PRIu64 " events in the first run, %" PRIu64 " in run %d",
			             counts[0], counts[i], i + 1);
	}
}

void case_restart_repeats(const struct conform *conform)
{
	compare_runs(conform, true);
}

void case_restart_silent(const struct conform *conform)
{
	compare_runs(conform, false);
}

void case_events_many(const struct conform *conform)
{
	epp_plugin *plugin;
	epp_session *session = conform_session(conform, conform_profiler(conform, &plugin));
	const struct conform_nodes nodes = { .work = conform_work_needed(conform, plugin),
		                             .work_count = 1000,
		                             .threads_count = 1,
		                             .nodes_count = conform->is_quick ? 1 : 1000,
		                             .until_ns = conform_now_ns() + conform->limit_ns / 3 };
	struct conform_events events;

	uint64_t units_count = conform_record(conform, session, &nodes) * 1000;
	conform_read(conform, session, &events);
	if (events.account.emitted < units_count)
		conform_fail(conform, "%" PRIu64 " units of work, %" PRIu64 " events", units_count, events.account.emitted);
	if (events.account.lost[EPP_LOSS_PLUGIN])
		conform_fail(conform, "the plugin reports %" PRIu64 " lost events", events.account.lost[EPP_LOSS_PLUGIN]);
}

void case_data_parses(const struct conform *conform)
{
	epp_plugin *plugin;
	epp_session *session = conform_session(conform, conform_profiler(conform, &plugin));
	const struct conform_nodes nodes = {
		.work = conform_work_needed(conform, plugin), .work_count = 5, .threads_count = 1, .nodes_count = 1
	};

	/* libepprof parses the plugin's data at the end of the session; data that it cannot parse are an error. */
	conform_record(conform, session, &nodes);
}
