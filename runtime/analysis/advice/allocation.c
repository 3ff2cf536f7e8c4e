/* The rule allocation: a device is idle while the host allocates memory. */
#include "analysis/advice/advice.h"

static epp_status *process_event(const struct advice_pass *pass, void *state, const struct advice_event *event)
{
	(void)pass;
	advice_places_add_gap(state, event, GAP_ALLOCATION);
	return NULL;
}

static epp_status *end(struct advice_pass *pass, void *state)
{
	const struct advice_places *gaps = state;
	char gain[ADVICE_TIME_BYTES];

	return advice_report(pass, &advice_allocation.rule, gaps, EPP_CONFIDENCE_HIGH,
	                     "Devices were idle %llu times while the host allocated memory, which took %s of that time.",
	                     (unsigned long long)gaps->count, advice_time(gaps->gain_ns, gain));
}

const struct advice_rule advice_allocation = {
	.rule = { .name = "allocation",
	          .title = "a device waits for the host to allocate memory",
	          .documentation = "Looks at gaps before events that are launched after the device became idle, of which at least half\n"
	                           "is covered by host events whose name contains alloc, first touch or page fault.  The gain is the time\n"
	                           "of these events in the gap.  Allocations before the first device event are not counted.\n",
	          .remedy = "Allocate once and reuse the memory: an arena, a memory pool, buffers that are bound to the model; "
	                    "touch new memory before the measurement.",
	          .sql = ADVICE_SQL_GAPS
	          "SELECT sum(min(n.start_ns + n.duration_ns, launch_ns) - max(n.start_ns, busy_until_ns)) AS gain_ns,\n"
	          "  count(DISTINCT g.start_ns) AS places\n"
	          "FROM g JOIN timeline n ON n.source = g.source AND n.start_ns < launch_ns AND n.start_ns + n.duration_ns > busy_until_ns\n"
	          "WHERE n.stream IS NULL AND n.kind = 'slice'\n"
	          "  AND (n.name LIKE '%alloc%' OR n.name LIKE '%first touch%' OR n.name LIKE '%page fault%')\n" },
	.state_bytes = sizeof(struct advice_places),
	.process_event = process_event,
	.end = end
};
