/* The rule sync-waits: a device is idle after the host waited for it. */
#include "analysis/advice/advice.h"

static epp_status *process_event(const struct advice_pass *pass, void *state, const struct advice_event *event)
{
	(void)pass;
	advice_places_add_gap(state, event, GAP_WAIT);
	return NULL;
}

static epp_status *end(struct advice_pass *pass, void *state)
{
	const struct advice_places *gaps = state;
	char gain[ADVICE_TIME_BYTES];

	return advice_report(pass, &advice_sync_waits.rule, gaps, EPP_CONFIDENCE_HIGH,
	                     "Devices were idle %llu times, %s in total, after the host had waited for them.",
	                     (unsigned long long)gaps->count, advice_time(gaps->gain_ns, gain));
}

const struct advice_rule advice_sync_waits = {
	.rule = { .name = "sync-waits",
	          .title = "the host waits for the device before it launches more",
	          .documentation = "Looks at gaps before events that are launched after the device became idle, and in which a wait of\n"
	                           "the host ended: an event of category API whose name contains sync or wait.  While it waited, the host\n"
	                           "could not launch.  The gain of a gap is the same as in host-bound.\n",
	          .remedy = "Wait later, and for less: launch the next work before the wait, wait for one event instead of the "
	                    "whole device, or let the device order the work by events.",
	          .sql = ADVICE_SQL_GAPS
	          "SELECT sum(start_ns - busy_until_ns) AS gain_ns, count(*) AS places FROM g\n"
	          "WHERE launch_ns > busy_until_ns AND EXISTS (SELECT 1 FROM timeline w\n"
	          "  WHERE w.source = g.source AND w.category = 'Api' AND (w.name LIKE '%sync%' OR w.name LIKE '%wait%')\n"
	          "    AND w.start_ns < launch_ns AND w.start_ns + w.duration_ns > busy_until_ns)\n" },
	.state_bytes = sizeof(struct advice_places),
	.process_event = process_event,
	.end = end
};
