/* The rule warm-up: the first runs of the measurement are slower than the others. */
#include "analysis/advice/advice.h"
#include "analysis/advice/name_statistics.h"

#define RUNS_LEAST 10u
/* A warm-up run takes more than SLOW_LEAST times the median.  At most a quarter of the runs, and at most FIRST_RUNS,
 * are warm-up. */
#define SLOW_LEAST 1.5
#define FIRST_RUNS 32u

/* Runs with the same name: outermost events of a thread, or events of category session. */
struct runs {
	struct advice_name named;
	epp_advice_place first[FIRST_RUNS]; /* the gain is the duration */
	int64_t errors_ns[FIRST_RUNS];
};

static epp_status *process_event(const struct advice_pass *pass, void *state, const struct advice_event *event)
{
	struct advice_name *named;

	(void)pass;
	if (event->event->track->kind != EPP_TRACK_THREAD || event->event->kind != EPP_EVENT_SLICE ||
	    (event->event->depth && event->event->category != EPP_SESSION))
		return NULL;
	EPP_TRY(advice_names_of(state, event->event, event->event->track->source, sizeof(struct runs), &named));
	if (!named)
		return NULL;
	struct runs *runs = (struct runs *)named;
	if (named->durations.count < FIRST_RUNS) {
		runs->first[named->durations.count] = advice_place_of(event, event->event->duration_ns);
		runs->errors_ns[named->durations.count] = event->error_ns;
	}
	return histogram_add(&named->durations, event->event->duration_ns) ? NULL : epp_status_no_memory();
}

/* Returns how much the durations of the other runs vary: the largest distance from the median of all runs, without the
 * shortest and the longest 5 % of these runs.  Assumes that the `slow_count` slow runs are the longest ones. */
static int64_t variation_of(const struct runs *runs, unsigned slow_count, int64_t median_ns)
{
	const epp_histogram *durations = &runs->named.durations;
	double others = 1 - slow_count / (double)durations->count;
	int64_t below_ns = median_ns - epp_histogram_quantile(durations, 0.05 * others);
	int64_t above_ns = epp_histogram_quantile(durations, 0.95 * others) - median_ns;
	int64_t most_ns = below_ns > above_ns ? below_ns : above_ns;

	return most_ns > median_ns / 100 ? most_ns : median_ns / 100; /* the histogram's resolution */
}

/* Adds up the slow runs at the beginning, and returns the median of all runs. */
static int64_t add_slow_runs(const struct runs *runs, struct advice_places *slow)
{
	int64_t median_ns = epp_histogram_quantile(&runs->named.durations, 0.5);
	unsigned count = 0;

	while (count < FIRST_RUNS && count < runs->named.durations.count / 4 &&
	       (double)runs->first[count].gain_ns > SLOW_LEAST * (double)median_ns)
		count++;
	for (unsigned i = 0; i < count; i++) {
		epp_advice_place place = runs->first[i];
		place.gain_ns -= median_ns;
		advice_places_add(slow, &place, runs->errors_ns[i] + variation_of(runs, count, median_ns));
	}
	return median_ns;
}

/* Reports only the name with the largest gain, because runs of different names may enclose each other. */
static epp_status *end(struct advice_pass *pass, void *state)
{
	struct advice_places most = { 0 };
	const struct runs *runs, *slowest = NULL;
	int64_t median_ns = 0;
	char median[ADVICE_TIME_BYTES], first[ADVICE_TIME_BYTES];

	for (size_t i = 0; (runs = advice_names_at(state, i)); i++) {
		struct advice_places slow = { 0 };
		if (runs->named.durations.count < RUNS_LEAST)
			continue;
		int64_t ns = add_slow_runs(runs, &slow);
		if (slow.gain_ns > most.gain_ns) {
			most = slow;
			slowest = runs;
			median_ns = ns;
		}
	}
	if (!slowest)
		return NULL;
	return advice_report(pass, &advice_warm_up.rule, &most, EPP_CONFIDENCE_HIGH,
	                     "%s: the first %llu of %llu took up to %s, the median is %s.", slowest->named.name,
	                     (unsigned long long)most.count, (unsigned long long)slowest->named.durations.count,
	                     advice_time(most.top[0].end_ns - most.top[0].start_ns, first),
	                     advice_time(median_ns, median));
}

static void deinit(void *state)
{
	advice_names_deinit(state);
}

const struct advice_rule advice_warm_up = {
	.rule = { .name = "warm-up",
	          .title = "the measurement includes a warm-up",
	          .documentation =
	              "Looks at runs: host events of one name that are the outermost of their thread, or of category\n"
	              "session, at least 10.  The first ones are a warm-up while they take more than 1.5 times the median,\n"
	              "at most a quarter of them and at most 32.  The gain is what they take beyond the median: it is the\n"
	              "time that is in the measurement and does not come again.  Its error includes, for each of them, how\n"
	              "far the other runs are from their median, but for one in 20 at each end.  Only the name with the\n"
	              "largest gain is reported.\n",
	          .remedy = "Run the model a few times before the measurement, or leave the first runs out: epprof summary "
	                    "--warmup N.",
	          .sql = "WITH r AS (SELECT source, name, category, duration_ns,\n"
	                 "    row_number() OVER (PARTITION BY source, name, category ORDER BY duration_ns) AS place,\n"
	                 "    row_number() OVER (PARTITION BY source, name, category ORDER BY event) AS turn,\n"
	                 "    count(*) OVER (PARTITION BY source, name, category) AS number\n"
	                 "  FROM timeline WHERE thread_id IS NOT NULL AND kind = 'slice' AND (depth = 0 OR category = 'Session')),\n"
	                 "m AS (SELECT source, name, category, duration_ns AS median_ns FROM r\n"
	                 "  WHERE place = (number + 1) / 2 AND number >= 10),\n"
	                 "s AS (SELECT r.*, median_ns, min(r.duration_ns > 1.5 * median_ns) OVER (\n"
	                 "    PARTITION BY r.source, r.name, r.category ORDER BY turn) AS slow\n"
	                 "  FROM r JOIN m ON m.source = r.source AND m.name = r.name AND m.category = r.category)\n"
	                 "SELECT sum(duration_ns - median_ns) AS gain_ns, count(*) AS places, name FROM s\n"
	                 "WHERE slow AND turn <= number / 4 AND turn <= 32\n"
	                 "GROUP BY source, name, category ORDER BY 1 DESC LIMIT 1\n" },
	.state_bytes = sizeof(struct advice_names),
	.process_event = process_event,
	.end = end,
	.deinit = deinit
};
