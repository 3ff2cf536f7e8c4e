/* The rule cpu-fallback: nodes of a model run on the processor between nodes on a device. */
#include "analysis/advice/advice.h"

static epp_status *take(const struct advice_pass *pass, void *state, const struct advice_event *event)
{
	(void)pass;
	advice_places_add_gap(state, event, GAP_FALLBACK);
	return NULL;
}

static epp_status *end(struct advice_pass *pass, void *state)
{
	const struct advice_places *gaps = state;
	char gain[ADVICE_TIME_BYTES];

	return advice_report(pass, &advice_cpu_fallback.rule, gaps, EPP_CONFIDENCE_MEDIUM,
	                     "Devices were idle %llu times, for %s of it while a node ran on the processor.",
	                     (unsigned long long)gaps->count, advice_time(gaps->gain_ns, gain));
}

const struct advice_rule advice_cpu_fallback = {
	.rule = { .name = "cpu-fallback",
	          .title = "nodes run on the processor between nodes on a device",
	          .documentation = "Looks at gaps before events that are launched after the device became idle, of which at least half\n"
	                           "is covered by nodes whose execution provider is the processor: their arg provider begins with CPU.\n"
	                           "The gain is the time of these nodes in the gap; on the device they take some of it.\n",
	          .remedy = "Use an operator or a data type that the execution provider supports, or move the node to the "
	                    "begin or the end of the model.",
	          .sql = ADVICE_SQL_GAPS
	          "SELECT sum(min(n.start_ns + n.duration_ns, launch_ns) - max(n.start_ns, busy_until_ns)) AS gain_ns,\n"
	          "  count(DISTINCT g.start_ns) AS places\n"
	          "FROM g JOIN timeline n ON n.source = g.source AND n.start_ns < launch_ns AND n.start_ns + n.duration_ns > busy_until_ns\n"
	          "JOIN args a ON a.event = n.event AND a.key = 'provider' AND a.value LIKE 'CPU%'\n"
	          "WHERE n.category = 'Node'\n" },
	.state_bytes = sizeof(struct advice_places),
	.take = take,
	.end = end
};
