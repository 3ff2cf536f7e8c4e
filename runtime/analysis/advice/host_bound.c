/* The rule host-bound: a device is idle because the host launches its next work too late. */
#include "analysis/advice/advice.h"

static epp_status *process_event(const struct advice_pass *pass, void *state, const struct advice_event *event)
{
	(void)pass;
	advice_places_add_gap(state, event, GAP_HOST);
	return NULL;
}

static epp_status *end(struct advice_pass *pass, void *state)
{
	const struct advice_places *gaps = state;
	char gain[ADVICE_TIME_BYTES];

	return advice_report(pass, &advice_host_bound.rule, gaps, EPP_CONFIDENCE_HIGH,
	                     "Devices were idle %llu times, %s in total, before work that the host launched too late.",
	                     (unsigned long long)gaps->count, advice_time(gaps->gain_ns, gain));
}

const struct advice_rule advice_host_bound = {
	.rule = { .name = "host-bound",
	          .title = "a device waits for the host to launch work",
	          .documentation = "Adds up the launch gaps of each device: the times in which none of its streams has an event, and\n"
	                           "the next event is launched only after the device became idle.  The gain of a gap is the part in\n"
	                           "which a host thread is in an event, and the time from the launch to the start.  Time in which the\n"
	                           "host does nothing either does not count.  Gaps that the rules tiny-kernels, cpu-fallback, allocation\n"
	                           "or sync-waits explain are left out; the SQL includes those.\n",
	          .remedy = "Launch work ahead of the device: more asynchronous launches before the next wait, a captured "
	                    "graph, larger batches, or less host work between launches.",
	          .sql = ADVICE_SQL_GAPS
	          "SELECT sum(start_ns - busy_until_ns) AS gain_ns, count(*) AS places FROM g WHERE launch_ns > busy_until_ns\n" },
	.state_bytes = sizeof(struct advice_places),
	.process_event = process_event,
	.end = end
};
