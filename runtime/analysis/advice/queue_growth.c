/* The rule queue-growth: work is launched faster than the device completes it, so that each run waits longer. */
#include <math.h>

#include "analysis/advice/advice.h"

#define RUNS_LEAST 16u
/* The minimum coefficient of determination (r^2) of the straight line through the waits over time. */
#define EXPLAINED_LEAST 0.8
/* Only the last RUNS_KEPT runs are kept. */
#define RUNS_KEPT 4096u

struct queue_growth {
	int64_t runs[RUNS_KEPT]; /* the starts of the last outermost host events; a ring in order of start */
	uint64_t runs_count;
	int64_t last_run_ns; /* start of the run of the last device event */
	/* Sums over the first device event of each run. x is its launch and y its wait, in seconds since the first
	 * launch. */
	double x, y, xx, xy, yy;
	int64_t first_ns, last_ns; /* launches of the first and the last of these events */
	struct advice_places waits;
};

/* Returns the start of the last run that began before a launch; INT64_MIN: it is not known any more, or there was
 * none. */
static int64_t run_at(const struct queue_growth *found, int64_t launch_ns)
{
	const uint64_t oldest = found->runs_count > RUNS_KEPT ? found->runs_count - RUNS_KEPT : 0;
	uint64_t low = oldest, high = found->runs_count;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (found->runs[middle % RUNS_KEPT] <= launch_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low == oldest ? INT64_MIN : found->runs[(low - 1) % RUNS_KEPT];
}

static epp_status *process_event(const struct advice_pass *pass, void *state, const struct advice_event *event)
{
	struct queue_growth *found = state;
	const epp_event *now = event->event;

	(void)pass;
	if (!event->device) {
		if (now->track->kind == EPP_TRACK_THREAD && now->kind == EPP_EVENT_SLICE && !now->depth)
			found->runs[found->runs_count++ % RUNS_KEPT] = now->start_ns;
		return NULL;
	}
	if (now->launch_ns == INT64_MIN || now->launch_ns > now->start_ns)
		return NULL;
	int64_t run_ns = run_at(found, now->launch_ns);
	if (run_ns == INT64_MIN || (found->waits.count && run_ns <= found->last_run_ns))
		return NULL;
	found->last_run_ns = run_ns;
	if (!found->waits.count)
		found->first_ns = now->launch_ns;
	found->last_ns = now->launch_ns;
	epp_advice_place place = advice_place_of(event, now->start_ns - now->launch_ns);
	place.start_ns = now->launch_ns;
	place.end_ns = now->start_ns;
	advice_places_add(&found->waits, &place, now->start_error_ns);
	double x = (double)(now->launch_ns - found->first_ns) / 1e9, y = (double)place.gain_ns / 1e9;
	found->x += x;
	found->y += y;
	found->xx += x * x;
	found->xy += x * y;
	found->yy += y * y;
	return NULL;
}

static epp_status *end(struct advice_pass *pass, void *state)
{
	struct queue_growth *found = state;
	double count = (double)found->waits.count;
	char growth[ADVICE_TIME_BYTES];

	if (found->waits.count < RUNS_LEAST)
		return NULL;
	double xx = found->xx - found->x * found->x / count, yy = found->yy - found->y * found->y / count;
	double xy = found->xy - found->x * found->y / count;
	if (xx <= 0 || yy <= 0 || xy <= 0 || xy * xy < EXPLAINED_LEAST * xx * yy)
		return NULL;
	double deviation_ns = sqrt(fmax(yy - xy * xy / xx, 0) / count) * 1e9;
	found->waits.gain_ns = (int64_t)(xy / xx * (double)(found->last_ns - found->first_ns));
	found->waits.error_ns = (int64_t)(2 * deviation_ns) + 2 * found->waits.error_ns / (int64_t)found->waits.count + 1;
	return advice_report(pass, &advice_queue_growth.rule, &found->waits, EPP_CONFIDENCE_HIGH,
	                     "From the first to the last of %llu runs, the time that work waited for the device grew by %s.",
	                     (unsigned long long)found->waits.count, advice_time(found->waits.gain_ns, growth));
}

const struct advice_rule advice_queue_growth = {
	.rule = { .name = "queue-growth",
	          .title = "work waits longer and longer for the device",
	          .documentation = "Looks at the first device event that each run launched, a run being an outermost host event: the\n"
	                           "time from its launch to its start.  A line is fitted to these times, of at least 16 runs.  If it rises\n"
	                           "and explains at least 80 % of their variance, the gain is its rise from the first to the last run:\n"
	                           "the latency of the last runs, not the time of all, would be shorter by that much.\n",
	          .remedy = "Launch no faster than the device works: limit the requests in flight, reject or batch them, or "
	                    "add a device.",
	          .sql = "WITH r AS (SELECT source, start_ns FROM timeline WHERE thread_id IS NOT NULL AND depth = 0 AND kind = 'slice'),\n"
	                 "w AS (SELECT min(d.event) AS event, h.start_ns AS launch_ns, d.start_ns - h.start_ns AS wait_ns,\n"
	                 "    (SELECT max(r.start_ns) FROM r WHERE r.source = d.source AND r.start_ns <= h.start_ns) AS run_ns\n"
	                 "  FROM timeline d JOIN timeline h ON h.id = d.parent AND h.source = d.source AND h.kind = 'slice'\n"
	                 "  WHERE d.stream IS NOT NULL GROUP BY run_ns),\n"
	                 "m AS (SELECT count(*) AS n, avg(launch_ns) AS x, avg(wait_ns) AS y FROM w),\n"
	                 "s AS (SELECT n, sum((launch_ns - x) * (launch_ns - x)) AS xx, sum((launch_ns - x) * (wait_ns - y)) AS xy,\n"
	                 "    sum((wait_ns - y) * (wait_ns - y)) AS yy, max(launch_ns) - min(launch_ns) AS time_ns FROM w, m)\n"
	                 "SELECT cast(xy / xx * time_ns AS INTEGER) AS gain_ns, n AS places FROM s\n"
	                 "WHERE n >= 16 AND xy > 0 AND xy * xy >= 0.8 * xx * yy\n" },
	.state_bytes = sizeof(struct queue_growth),
	.process_event = process_event,
	.end = end
};
