/* Compares two traces.
 *
 * It compares the median durations of ops, kernels and operator types, by name and category.  Each median has a
 * confidence interval, which is computed from the n durations in its own trace: with a probability of 95 % (binomial),
 * the true median is between their quantiles 0.5 - 0.98/sqrt(n) and 0.5 + 0.98/sqrt(n).  The interval is widened by the
 * width of a histogram's bucket.  If the intervals before and after overlap, the change is marked as uncertain.
 * Variation from one run to another is not included, because one trace does not show it; diff_sets.c measures it with
 * several traces. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diff.h"

/* A median and its confidence interval. */
struct median {
	uint64_t count;
	int64_t ns, least_ns, most_ns;
};

struct change {
	const epp_summary_line *before, *after; /* one of the two may be NULL */
	struct median from, to;                 /* the medians in `before` and in `after` */
	double part; /* relative change of the median: 0.1 is 10 % slower; 0: `before` or `after` is missing */
	double least_part, most_part; /* bounds of `part`, from the confidence intervals of the two medians */
	bool is_certain;              /* the two confidence intervals do not overlap */
	double cost_ns;               /* change of the median times the number of events; negative: faster */
};

/* Width of a histogram's bucket, relative to its values. */
#define RESOLUTION 0.008
/* With fewer events than this (of equal weight), the probability that all are on the same side of the true median is
 * above 1/20, so there is no confidence interval. */
#define EVENTS_LEAST 6u

static struct median median_of(const epp_summary_line *line)
{
	struct median median = { .count = line ? epp_histogram_count(line->durations) : 0 };

	if (!median.count)
		return median;
	double reach = 0.98 / sqrt(line->samples);
	median.ns = epp_histogram_quantile(line->durations, 0.5);
	median.most_ns = INT64_MAX;
	if (line->samples < EVENTS_LEAST)
		return median;
	median.least_ns = epp_histogram_quantile(line->durations, reach < 0.5 ? 0.5 - reach : 0);
	median.most_ns = epp_histogram_quantile(line->durations, reach < 0.5 ? 0.5 + reach : 1);
	median.least_ns -= (int64_t)((double)median.least_ns * RESOLUTION);
	median.most_ns += (int64_t)((double)median.most_ns * RESOLUTION) + 1;
	return median;
}

static struct change compare(const epp_summary_line *before, const epp_summary_line *after)
{
	struct change change = { .before = before, .after = after, .from = median_of(before), .to = median_of(after) };
	uint64_t events = change.to.count ? change.to.count : change.from.count;

	change.cost_ns = ((double)change.to.ns - (double)change.from.ns) * (double)events;
	if (!change.from.count || !change.to.count || change.from.ns <= 0)
		return change;
	change.most_part = INFINITY;
	change.part = (double)change.to.ns / (double)change.from.ns - 1;
	change.least_part = (double)change.to.least_ns / (double)change.from.most_ns - 1;
	if (change.from.least_ns > 0 && change.to.most_ns < INT64_MAX)
		change.most_part = (double)change.to.most_ns / (double)change.from.least_ns - 1;
	change.is_certain = change.least_part > 0 || change.most_part < 0;
	return change;
}

/* ---- joining the lines of two summaries; a line has the events with one name ---- */

/* Returns the text that distinguishes lines with the same name: for a kernel its operator type, for an operator type
 * its provider. */
static const char *owner_of(const epp_summary_line *line)
{
	return line->provider ? line->provider : line->op_type ? line->op_type : "";
}

static int by_name(const void *a, const void *b)
{
	const epp_summary_line *left = *(const epp_summary_line *const *)a, *right = *(const epp_summary_line *const *)b;
	size_t bytes = left->name_bytes < right->name_bytes ? left->name_bytes : right->name_bytes;
	int order = memcmp(left->name, right->name, bytes);

	if (!order)
		order = (left->name_bytes > right->name_bytes) - (left->name_bytes < right->name_bytes);
	if (!order)
		order = (left->category > right->category) - (left->category < right->category);
	return order ? order : strcmp(owner_of(left), owner_of(right));
}

static int by_cost(const void *a, const void *b)
{
	double left = fabs(((const struct change *)a)->cost_ns), right = fabs(((const struct change *)b)->cost_ns);
	return (left < right) - (left > right);
}

static const epp_summary_line **sorted_lines(const epp_summary *summary, epp_summary_by by, size_t *count)
{
	*count = epp_summary_lines_count(summary, by);
	const epp_summary_line **lines = calloc(*count + 1, sizeof(const epp_summary_line *));

	for (size_t i = 0; lines && i < *count; i++)
		lines[i] = epp_summary_line_at(summary, by, i);
	if (lines)
		qsort(lines, *count, sizeof(const epp_summary_line *), by_name);
	return lines;
}

static struct change *join(epp_summary *const summaries[2], epp_summary_by by, size_t *count)
{
	size_t before_count, after_count, b = 0, a = 0;
	const epp_summary_line **before = sorted_lines(summaries[0], by, &before_count);
	const epp_summary_line **after = sorted_lines(summaries[1], by, &after_count);
	struct change *changes = before && after ? calloc(before_count + after_count + 1, sizeof *changes) : NULL;

	*count = 0;
	while (changes && (b < before_count || a < after_count)) {
		int order = b == before_count ? 1 : a == after_count ? -1 : by_name(&before[b], &after[a]);
		const epp_summary_line *old = order <= 0 ? before[b++] : NULL, *new = order >= 0 ? after[a++] : NULL;
		changes[(*count)++] = compare(old, new);
	}
	free(before);
	free(after);
	if (changes)
		qsort(changes, *count, sizeof *changes, by_cost);
	return changes;
}

/* ---- printing ---- */

static int64_t p99_of(const epp_summary_line *line)
{
	return line ? epp_histogram_quantile(line->durations, 0.99) : 0;
}

static int64_t total_of(const epp_summary_line *line)
{
	return line ? line->total_ns : 0;
}

static void percent_cell(struct cli_table *table, bool known, bool certain, double part)
{
	char text[CLI_NUMBER_BYTES];

	if (!known || !isfinite(part))
		snprintf(text, sizeof text, known ? "?" : "-");
	else
		snprintf(text, sizeof text, "%s%+.1f %%", certain ? "" : "~", part * 100);
	cli_table_cell(table, text);
}

static void print_text(const struct change *changes, size_t count, size_t top, epp_summary_by by)
{
	static const struct {
		const char *title, *columns;
	} tables[] = { [EPP_BY_OP] = { "By op, medians", "<category|<op" },
		       [EPP_BY_KERNEL] = { "By kernel, medians", "<operator|<kernel" },
		       [EPP_BY_OP_TYPE] = { "By operator type, medians", "<provider|<type" } };
	char columns[128];

	snprintf(columns, sizeof columns,
	         "change|?within|?to|before|after|?p99|?p99 after|?total|?total after|?count|?count after|%s",
	         tables[by].columns);
	struct cli_table *table = cli_table_create(columns);

	for (size_t i = 0; i < count && i < top; i++) {
		const struct change *change = &changes[i];
		const epp_summary_line *line = change->after ? change->after : change->before;
		bool both = change->from.count && change->to.count && change->from.ns > 0;
		if (both)
			percent_cell(table, true, change->is_certain, change->part);
		else
			cli_table_cell(table, !change->from.count ? "new" : !change->to.count ? "gone" : "-");
		percent_cell(table, both, true, change->least_part);
		percent_cell(table, both, true, change->most_part);
		cli_table_duration(table, (double)change->from.ns);
		cli_table_duration(table, (double)change->to.ns);
		cli_table_duration(table, (double)p99_of(change->before));
		cli_table_duration(table, (double)p99_of(change->after));
		cli_table_duration(table, (double)total_of(change->before));
		cli_table_duration(table, (double)total_of(change->after));
		cli_table_count(table, change->from.count);
		cli_table_count(table, change->to.count);
		cli_table_cell(table, by == EPP_BY_OP   ? cli_category(line->category)
		                      : *owner_of(line) ? owner_of(line)
		                                        : "-");
		cli_table_text(table, line->name, line->name_bytes);
	}
	printf("%s\n", tables[by].title);
	cli_table_print(table);
	if (count > top)
		printf("  ... and %zu more\n", count - top);
}

static void print_csv(const struct change *changes, size_t count, size_t top, epp_summary_by by)
{
	static const char *const names[] = { [EPP_BY_OP] = "op", [EPP_BY_KERNEL] = "kernel", [EPP_BY_OP_TYPE] = "op_type" };

	for (size_t i = 0; i < count && i < top; i++) {
		const struct change *change = &changes[i];
		const epp_summary_line *line = change->after ? change->after : change->before;
		printf("%s,", names[by]);
		cli_csv_string(line->name, line->name_bytes);
		printf(",%s,", by == EPP_BY_OP ? cli_category(line->category) : "");
		cli_csv_string(owner_of(line), strlen(owner_of(line)));
		printf(",%" PRIu64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRIu64 ",%" PRId64 ",%" PRId64 ",%" PRId64
		       ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%s\r\n",
		       change->from.count, change->from.ns, change->from.least_ns, change->from.most_ns,
		       change->to.count, change->to.ns, change->to.least_ns, change->to.most_ns, p99_of(change->before),
		       p99_of(change->after), total_of(change->before), total_of(change->after),
		       !change->from.count   ? "new"
		       : !change->to.count   ? "gone"
		       : !change->is_certain ? "unknown"
		       : change->part > 0    ? "slower"
		                             : "faster");
	}
}

/* ---- the command ---- */

static int print(epp_summary *const summaries[2], const struct diff_options *diff)
{
	bool csv = diff->format == DIFF_CSV, any = false;
	int code = CLI_OK;

	if (csv)
		printf("by,name,category,of,count_before,before_ns,before_least_ns,before_most_ns,count_after,after_ns,after_least_ns,"
		       "after_most_ns,before_p99_ns,after_p99_ns,before_total_ns,after_total_ns,change\r\n");
	static const epp_summary_by all[] = { EPP_BY_OP_TYPE, EPP_BY_OP, EPP_BY_KERNEL };
	for (size_t which = 0; which < sizeof all / sizeof *all; which++) {
		epp_summary_by by = all[which];
		size_t count;
		struct change *changes = join(summaries, by, &count);
		if (!changes)
			return cli_failure(epp_status_no_memory());
		if (csv)
			print_csv(changes, count, diff->top, by);
		else if (count)
			print_text(changes, count, diff->top, by), printf("\n");
		any = any || count;
		for (size_t i = 0; i < count && diff->has_limit; i++)
			if (changes[i].is_certain && changes[i].least_part > diff->limit)
				code = CLI_INVALID;
		free(changes);
	}
	if (any && !csv)
		cli_print_legend(
		    "within .. to: range of the change with 95 % confidence, from the variation inside each trace, not "
		    "between runs; ~: not significant, the ranges of the two medians overlap");
	if (code == CLI_INVALID)
		fprintf(stderr, "epprof: at least one entry is slower by more than %g %%\n", diff->limit * 100);
	return code;
}

int diff_pair(char *const *paths, const struct diff_options *diff)
{
	epp_summary *summaries[2] = { NULL };
	epp_trace *traces[2] = { NULL };
	int code = CLI_OK;

	for (int i = 0; i < 2 && code == CLI_OK; i++) {
		const epp_timeline_options window = { .struct_size = sizeof window, .trace_id = diff->trace_ids[i] };
		const epp_summary_options options = { .struct_size = sizeof options,
			                              .timeline = &window,
			                              .warmup_count = diff->warmup_count };
		epp_status *status = NULL;
		code = cli_open(paths[i], &traces[i]);
		if (code == CLI_OK && (status = epp_summary_create(traces[i], &options, &summaries[i])) != NULL)
			code = cli_unreadable(epp_status_prefix(status, "%s", paths[i]));
	}
	cli_progress_end();
	if (code == CLI_OK)
		code = print(summaries, diff);
	for (int i = 0; i < 2; i++) {
		epp_summary_destroy(summaries[i]);
		epp_trace_close(traces[i]);
	}
	return code;
}
