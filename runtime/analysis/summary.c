/* Implements epprof/summary.h: accumulates a whole timeline. */
#include "epprof/summary.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/accumulator.h"
#include "base/options.h"

struct epp_summary {
	struct accumulator accumulator;
};

static epp_status *add_up(struct accumulator *accumulator, epp_timeline *timeline)
{
	const epp_event *event;

	while (epp_timeline_next(timeline, &event))
		EPP_TRY(accumulator_event(accumulator, timeline, event));
	accumulator_end(accumulator);
	accumulator->totals.counts = *epp_timeline_get_counts(timeline);
	return epp_timeline_status(timeline);
}

epp_status *epp_summary_create(epp_trace *trace, const epp_summary_options *given, epp_summary **summary)
{
	epp_summary_options options;
	epp_timeline *timeline = NULL;

	*summary = NULL;
	EPP_TRY(options_take(&options, sizeof options, given, "epp_summary_options"));
	*summary = calloc(1, sizeof **summary);
	if (!*summary)
		return epp_status_no_memory();
	(*summary)->accumulator.warmup_count = options.warmup_count;
	epp_status *status = epp_timeline_create(trace, options.timeline, &timeline);
	if (!status)
		status = add_up(&(*summary)->accumulator, timeline);
	epp_timeline_release(timeline);
	if (status) {
		epp_summary_release(*summary);
		*summary = NULL;
	}
	return status;
}

const epp_summary_totals *epp_summary_get_totals(const epp_summary *summary)
{
	return &summary->accumulator.totals;
}

size_t epp_summary_lines_count(const epp_summary *summary, epp_summary_by by)
{
	return by < EPP_BY_COUNT ? summary->accumulator.tables[by].lines_count : 0;
}

const epp_summary_line *epp_summary_line_at(const epp_summary *summary, epp_summary_by by, size_t index)
{
	return index < epp_summary_lines_count(summary, by) ? &summary->accumulator.tables[by].lines[index]->line : NULL;
}

void epp_summary_release(epp_summary *summary)
{
	if (!summary)
		return;
	accumulator_deinit(&summary->accumulator);
	free(summary);
}
