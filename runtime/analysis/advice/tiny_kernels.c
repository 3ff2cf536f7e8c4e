/* The rule tiny-kernels: many short kernels, between which the device is idle. */
#include "analysis/advice/advice.h"

static epp_status *process_event(const struct advice_pass *pass, void *state, const struct advice_event *event)
{
	(void)pass;
	advice_places_add_gap(state, event, GAP_TINY);
	return NULL;
}

static epp_status *end(struct advice_pass *pass, void *state)
{
	const struct advice_places *gaps = state;
	char gain[ADVICE_TIME_BYTES];

	return advice_report(pass, &advice_tiny_kernels.rule, gaps, EPP_CONFIDENCE_MEDIUM,
	                     "Devices were idle %llu times, %s in total, between two kernels that took less than 10 us.",
	                     (unsigned long long)gaps->count, advice_time(gaps->gain_ns, gain));
}

const struct advice_rule advice_tiny_kernels = {
	.rule = { .name = "tiny-kernels",
	          .title = "kernels are so short that starting them costs too much",
	          .documentation = "Adds up the times of at most 50 us in which a device is idle between two kernels that take less than\n"
	                           "10 us each.  Kernels that are joined have one start: the gain is all of these times.\n",
	          .remedy = "Fuse the kernels, use larger batches, or capture them in a graph that is launched at once.",
	          .sql = ADVICE_SQL_GAPS
	          "SELECT sum(start_ns - busy_until_ns) AS gain_ns, count(*) AS places FROM g\n"
	          "WHERE work = 'kernel' AND duration_ns < 10000 AND last_ns < 10000 AND start_ns - busy_until_ns <= 50000\n" },
	.state_bytes = sizeof(struct advice_places),
	.process_event = process_event,
	.end = end
};
