/* Level 4: clocks and units.  The host starts the work and waits for its end, so the true times of the device events
 * are between these two host times.  On a busy machine the two are farther apart, but still correct bounds. */
#include <inttypes.h>
#include <stdlib.h>

#include "cases.h"
#include "epprof/session.h"

#define PAUSE_US 1000
/* Tolerance for plugins whose times are whole microseconds. */
#define ROUNDING_NS 2000

/* Records a node with `work_count` units of work, a pause before and after the work, and reads the events. */
static void record_node(const struct conform *conform, int work_count, struct conform_events *events)
{
	epp_plugin *plugin;
	epp_session *session = conform_session(conform, conform_profiler(conform, &plugin));
	const struct conform_nodes nodes = { .work = conform_work_needed(conform, plugin),
		                             .work_count = work_count,
		                             .threads_count = 1,
		                             .nodes_count = 1,
		                             .pause_us = PAUSE_US };

	conform_check(conform, "the start of the session", epp_session_start(session));
	/* Events whose times are up to 10 ms too early are still inside the run. */
	conform_sleep_us(10000);
	conform_record_nodes(conform, session, &nodes);
	conform_end(conform, session);
	conform_read(conform, session, events);
	if (!events->account.emitted)
		conform_skip(conform, "the work has no events");
}

/* Returns the number of events that are outside of their run, including those that were lost for this reason. */
static uint64_t count_outside(const struct conform_events *events)
{
	uint64_t count = events->account.lost[EPP_LOSS_BEFORE_START] + events->account.lost[EPP_LOSS_AFTER_END];

	for (size_t i = 0; i < events->count; i++)
		count += events->at[i].is_outside;
	return count;
}

void case_clock_window(const struct conform *conform)
{
	struct conform_events events;

	record_node(conform, 4, &events);
	uint64_t outside_count = count_outside(&events);
	if (outside_count)
		conform_fail(conform, "%" PRIu64 " of %" PRIu64 " events are before or after the run", outside_count,
		             events.account.emitted);
	if (!events.count)
		conform_skip(conform, "all events were refused, see 4.clock.refused");
}

void case_clock_refused(const struct conform *conform)
{
	struct conform_events events;

	record_node(conform, 4, &events);
	const uint64_t *lost = events.account.lost;
	if (lost[EPP_LOSS_REFUSED] || lost[EPP_LOSS_NEGATIVE])
		conform_fail(conform, "%" PRIu64 " of %" PRIu64 " events were refused, %" PRIu64 " end before they begin",
		             lost[EPP_LOSS_REFUSED] + lost[EPP_LOSS_NEGATIVE], events.account.emitted,
		             lost[EPP_LOSS_NEGATIVE]);
}

/* ---- one node ---- */

/* Returns true if two times are equal within the error bound of an event. */
static bool is_near(int64_t a_ns, int64_t b_ns, const struct conform_event *event)
{
	return llabs(a_ns - b_ns) <= event->error_ns + ROUNDING_NS;
}

/* Skips the case if no event has a parent, or if the error bound of an event is too large to detect the pauses in the
 * node. */
static void check_parents(const struct conform *conform, const struct conform_events *events)
{
	size_t parents_count = 0;

	for (size_t i = 0; i < events->count; i++) {
		parents_count += events->at[i].parent != 0;
		if (events->at[i].error_ns > PAUSE_US * 1000 / 4)
			conform_skip(conform, "the clock's error is %" PRId64 " ns", events->at[i].error_ns);
	}
	if (!parents_count)
		conform_skip(conform, "no event belongs to a host event");
}

void case_clock_parents(const struct conform *conform)
{
	struct conform_events events;

	record_node(conform, 4, &events);
	check_parents(conform, &events);
	for (size_t i = 0; i < events.count; i++) {
		const struct conform_event *event = &events.at[i];
		if (!event->parent || event->is_inferred)
			continue;
		int64_t slack_ns = event->error_ns + ROUNDING_NS;
		if (event->start_ns < event->parent_start_ns - slack_ns)
			conform_fail(conform, "an event begins %" PRId64 " ns before the host event that launched it",
			             event->parent_start_ns - event->start_ns);
		if (event->end_ns > event->parent_end_ns + slack_ns)
			conform_fail(conform, "an event ends %" PRId64 " ns after the host event that waited for it",
			             event->end_ns - event->parent_end_ns);
	}
}

/* Returns true if a device event begins at the same time as its parent.  A measured event cannot, because the parent
 * pauses before and after the work. */
static bool begins_with_parent(const struct conform_event *event)
{
	return event->parent && is_near(event->start_ns, event->parent_start_ns, event);
}

static bool ends_with_parent(const struct conform_event *event)
{
	return event->parent && is_near(event->end_ns, event->parent_end_ns, event);
}

void case_clock_clamped(const struct conform *conform)
{
	struct conform_events events;

	record_node(conform, 4, &events);
	check_parents(conform, &events);
	for (size_t i = 0; i < events.count; i++) {
		if (begins_with_parent(&events.at[i]) != ends_with_parent(&events.at[i]))
			conform_fail(conform,
			             "an event %s at the same time as the host event, in which the work had a pause of "
			             "%d us before and after it",
			             begins_with_parent(&events.at[i]) ? "begins" : "ends", PAUSE_US);
	}
}

void case_clock_host_time(const struct conform *conform)
{
	struct conform_events events;

	record_node(conform, 4, &events);
	check_parents(conform, &events);
	for (size_t i = 0; i < events.count; i++) {
		if (begins_with_parent(&events.at[i]) && ends_with_parent(&events.at[i]))
			conform_fail(conform,
			             "an event has the times of the host event, in which the work had a pause of %d us "
			             "before and after it",
			             PAUSE_US);
	}
}

void case_clock_overlap(const struct conform *conform)
{
	struct conform_events events;

	record_node(conform, 8, &events);
	for (size_t i = 0; i < events.count; i++) {
		int64_t start_ns = INT64_MAX, end_ns = INT64_MIN, busy_ns = 0, slack_ns = 0;
		if (events.at[i].stream < 0)
			conform_skip(conform, "events do not name their stream");
		for (size_t j = 0; j < events.count; j++) {
			const struct conform_event *event = &events.at[j];
			if (event->track != events.at[i].track)
				continue;
			start_ns = event->start_ns < start_ns ? event->start_ns : start_ns;
			end_ns = event->end_ns > end_ns ? event->end_ns : end_ns;
			busy_ns += event->end_ns - event->start_ns;
			slack_ns += ROUNDING_NS;
		}
		if (busy_ns > end_ns - start_ns + slack_ns)
			conform_fail(conform, "a stream is busy for %" PRId64 " ns within %" PRId64 " ns", busy_ns,
			             end_ns - start_ns);
	}
}

void case_clock_zero(const struct conform *conform)
{
	struct conform_events events;

	record_node(conform, 4, &events);
	for (size_t i = 0; i < events.count; i++) {
		if (events.at[i].end_ns > events.at[i].start_ns)
			return;
	}
	if (events.count)
		conform_warn(conform, "the durations of all %zu events are 0", events.count);
	conform_skip(conform, "no event is within the run");
}

/* ---- two nodes, 20 ms apart ---- */

struct two_nodes {
	struct conform_events events;
	uint64_t nodes[2];
	/* host's bounds for the time from the start of the first device event to the end of the last one */
	int64_t least_ns, most_ns;
};

static void record_two_nodes(const struct conform *conform, struct two_nodes *two)
{
	epp_plugin *plugin;
	epp_session *session = conform_session(conform, conform_profiler(conform, &plugin));
	int (*work)(int) = conform_work_needed(conform, plugin);
	epp_name name = epp_name_intern("node");
	uint64_t begin_ns[2], end_ns[2];

	conform_check(conform, "the start of the session", epp_session_start(session));
	for (int i = 0; i < 2; i++) {
		if (i > 0)
			conform_sleep_us(20000);
		two->nodes[i] = epp_event_begin(session, EPP_NODE, name);
		begin_ns[i] = conform_now_ns();
		if (work(2) != 0)
			conform_skip(conform, "%s failed", conform->work_name);
		end_ns[i] = conform_now_ns();
		epp_event_end(session, two->nodes[i], NULL, 0);
	}
	conform_end(conform, session);
	conform_read(conform, session, &two->events);
	two->least_ns = (int64_t)(begin_ns[1] - end_ns[0]);
	two->most_ns = (int64_t)(end_ns[1] - begin_ns[0]);
}

/* Returns the time from the start of the first event to the end of the last one; skips the case if an event is
 * missing. */
static int64_t span_of(const struct conform *conform, const struct two_nodes *two)
{
	int64_t end_ns = INT64_MIN;

	if (two->events.account.lost_total || count_outside(&two->events))
		conform_skip(conform, "events are outside of the run, see 4.clock.window and 4.clock.order");
	if (two->events.count < 2)
		conform_skip(conform, "the work has %zu events", two->events.count);
	for (size_t i = 0; i < two->events.count; i++)
		end_ns = two->events.at[i].end_ns > end_ns ? two->events.at[i].end_ns : end_ns;
	return end_ns - two->events.at[0].start_ns;
}

static bool has_wrong_unit(const struct two_nodes *two, int64_t span_ns)
{
	return span_ns < two->least_ns / 100 || span_ns > two->most_ns * 100;
}

void case_clock_units(const struct conform *conform)
{
	struct two_nodes two;

	record_two_nodes(conform, &two);
	int64_t span_ns = span_of(conform, &two);
	if (has_wrong_unit(&two, span_ns))
		conform_fail(conform,
		             "work that took between %" PRId64 " and %" PRId64 " ns took %" PRId64 " ns by its events",
		             two.least_ns, two.most_ns, span_ns);
}

void case_clock_rate(const struct conform *conform)
{
	struct two_nodes two;

	record_two_nodes(conform, &two);
	int64_t span_ns = span_of(conform, &two), slack_ns = two.least_ns / 100 + 2 * two.events.at[0].error_ns;
	if (has_wrong_unit(&two, span_ns))
		conform_skip(conform, "the unit is wrong, see 4.clock.units");
	if (span_ns < two.least_ns - slack_ns || span_ns > two.most_ns + slack_ns)
		conform_fail(conform,
		             "work that took between %" PRId64 " and %" PRId64 " ns took %" PRId64 " ns by its events",
		             two.least_ns, two.most_ns, span_ns);
}

void case_clock_order(const struct conform *conform)
{
	struct two_nodes two;
	int64_t first_end_ns = INT64_MIN;

	record_two_nodes(conform, &two);
	for (size_t i = 0; i < two.events.count; i++) {
		const struct conform_event *event = &two.events.at[i];
		if (event->parent == two.nodes[0] && !event->is_inferred && event->end_ns > first_end_ns)
			first_end_ns = event->end_ns;
	}
	for (size_t i = 0; i < two.events.count; i++) {
		const struct conform_event *event = &two.events.at[i];
		if (event->parent == two.nodes[1] && !event->is_inferred && event->start_ns < first_end_ns)
			conform_fail(conform,
			             "an event of the later work begins %" PRId64 " ns before one of the earlier work "
			             "ends",
			             first_end_ns - event->start_ns);
	}
}
