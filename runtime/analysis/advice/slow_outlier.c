/* The rule slow-outlier: among many equal kernels, few take much longer than the others. */
#include "analysis/advice/advice.h"
#include "analysis/advice/name_statistics.h"

/* The minimum number of kernels.  The median of fewer is too uncertain. */
#define KERNELS_LEAST 20u
/* Kernels with the same name are taken as equal work if 9 of 10 take less than EQUAL_MOST times their median.  An
 * outlier takes more than OUTLIER_LEAST times the median. */
#define EQUAL_MOST 1.5
#define OUTLIER_LEAST 3
/* At most 1 of OUTLIERS_MOST kernels may be an outlier. */
#define OUTLIERS_MOST 20u

struct kernel {
	struct advice_name named;
	/* the slowest kernels except the first, which may be a warm-up; the gain is the duration */
	struct advice_places slowest;
};

static epp_status *process_event(const struct advice_pass *pass, void *state, const struct advice_event *event)
{
	struct advice_name *named;

	(void)pass;
	if (!event->device || event->work != WORK_KERNEL)
		return NULL;
	EPP_TRY(advice_names_of(state, event->event, event->event->track->source, sizeof(struct kernel), &named));
	if (!named)
		return NULL;
	const epp_advice_place place = advice_place_of(event, event->event->duration_ns);
	if (named->durations.count)
		advice_places_add(&((struct kernel *)named)->slowest, &place, event->error_ns);
	return histogram_add(&named->durations, event->event->duration_ns) ? NULL : epp_status_no_memory();
}

static epp_status *report(struct advice_pass *pass, const struct kernel *kernel)
{
	const epp_histogram *durations = &kernel->named.durations;
	int64_t median_ns = epp_histogram_quantile(durations, 0.5);
	uint64_t count = durations->count;
	struct advice_places outliers = { 0 };
	char median[ADVICE_TIME_BYTES], slowest[ADVICE_TIME_BYTES];

	if (count < KERNELS_LEAST || (double)epp_histogram_quantile(durations, 0.9) > EQUAL_MOST * (double)median_ns)
		return NULL;
	for (unsigned i = 0; i < ADVICE_PLACES && i < kernel->slowest.count; i++) {
		epp_advice_place place = kernel->slowest.top[i];
		if (place.gain_ns <= median_ns * OUTLIER_LEAST)
			break;
		place.gain_ns -= median_ns;
		outliers.gain_ns += place.gain_ns;
		outliers.error_ns += median_ns / 100 + kernel->slowest.error_ns / (int64_t)kernel->slowest.count;
		outliers.top[outliers.count++] = place;
	}
	if (!outliers.count || outliers.count * OUTLIERS_MOST > count)
		return NULL;
	return advice_report(pass, &advice_slow_outlier.rule, &outliers, EPP_CONFIDENCE_HIGH,
	                     "%s: %llu of %llu took up to %s, the median is %s.", kernel->named.name,
	                     (unsigned long long)outliers.count, (unsigned long long)count,
	                     advice_time(outliers.top[0].end_ns - outliers.top[0].start_ns, slowest),
	                     advice_time(median_ns, median));
}

static epp_status *end(struct advice_pass *pass, void *state)
{
	const struct kernel *kernel;

	for (size_t i = 0; (kernel = advice_names_at(state, i)); i++)
		EPP_TRY(report(pass, kernel));
	return NULL;
}

static void deinit(void *state)
{
	advice_names_deinit(state);
}

const struct advice_rule advice_slow_outlier = {
	.rule = { .name = "slow-outlier",
	          .title = "few of many equal kernels are much slower",
	          .documentation = "Looks at kernels of one name with at least 20 events, of which 9 of 10 take less than 1.5 times the\n"
	                           "median.  Outliers take more than 3 times the median; at most 8 of them, and at most 1 of 20 events.\n"
	                           "The gain is what they take beyond the median.  The first event of each name is left out: it may be\n"
	                           "a warm-up.\n",
	          .remedy = "Look at what else happened at that time: other work on the device, a change of its clock "
	                    "frequency, paging, a preempted thread that the kernel waited for.",
	          .sql = "WITH k AS (SELECT source, name, duration_ns, event,\n"
	                 "    row_number() OVER (PARTITION BY source, name ORDER BY duration_ns) AS place,\n"
	                 "    count(*) OVER (PARTITION BY source, name) AS number,\n"
	                 "    row_number() OVER (PARTITION BY source, name ORDER BY event) AS turn\n"
	                 "  FROM timeline WHERE stream IS NOT NULL AND work = 'kernel'),\n"
	                 "m AS (SELECT source, name, duration_ns AS median_ns FROM k WHERE place = (number + 1) / 2\n"
	                 "  AND number >= 20)\n"
	                 "SELECT sum(duration_ns - median_ns) AS gain_ns, count(*) AS places, k.name AS name\n"
	                 "FROM k JOIN m ON m.source = k.source AND m.name = k.name\n"
	                 "WHERE turn > 1 AND duration_ns > 3 * median_ns GROUP BY k.source, k.name\n" },
	.state_bytes = sizeof(struct advice_names),
	.process_event = process_event,
	.end = end,
	.deinit = deinit
};
