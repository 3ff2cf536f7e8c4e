/* Compares two sets of traces: collects the medians of each trace, and joins them by name. */
#include <stdlib.h>
#include <string.h>

#include "diff.h"

static const char default_run[] = "model_run";

/* The data of all traces of both sets. */
struct collection {
	const struct diff_set *sets;
	struct diff_facts *facts;
	struct diff_measure *measures;
	size_t measures_count, measures_room;
	double *walls_ns; /* time from the first to the last event of each trace: first the traces before, then after */
	double *values;   /* median_ns of all measures, in their order */
	epp_comparison *comparison;
};

/* ---- one trace ---- */

static epp_status *add_measure(struct collection *all, const epp_summary_line *line, epp_summary_by by, unsigned set)
{
	const char *of = line->provider ? line->provider : line->op_type ? line->op_type : "";
	double median_ns = epp_histogram_interpolate(line->durations, 0.5);

	/* A name is ignored if all its events are warm-up, or if the median is 0 because the clock is too coarse. */
	if (!line->count || !(median_ns > 0))
		return NULL;
	if (all->measures_count == all->measures_room) {
		size_t room = all->measures_room ? 2 * all->measures_room : 256;
		struct diff_measure *grown = realloc(all->measures, room * sizeof *grown);
		if (!grown)
			return epp_status_no_memory();
		all->measures = grown;
		all->measures_room = room;
	}
	struct diff_measure *measure = &all->measures[all->measures_count];
	*measure = (struct diff_measure){ .name = malloc(line->name_bytes + 1),
		                          .name_bytes = line->name_bytes,
		                          .of = strdup(of),
		                          .by = by,
		                          .category = by == EPP_BY_OP ? line->category : 0,
		                          .set = set,
		                          .count = line->count,
		                          .median_ns = median_ns };
	all->measures_count++;
	if (!measure->name || !measure->of)
		return epp_status_no_memory();
	memcpy(measure->name, line->name, line->name_bytes + 1);
	return NULL;
}

static epp_status *take_summary(struct collection *all, epp_trace *trace, unsigned set, size_t index,
                                const struct diff_options *diff)
{
	const epp_timeline_options window = { .struct_size = sizeof window, .trace_id = diff->trace_ids[set] };
	const epp_summary_options options = { .struct_size = sizeof options,
		                              .timeline = &window,
		                              .warmup_count = diff->warmup_count };
	static const epp_summary_by tables[] = { EPP_BY_OP_TYPE, EPP_BY_OP, EPP_BY_KERNEL };
	const epp_summary_line *line;
	epp_summary *summary;

	epp_status *status = epp_summary_create(trace, &options, &summary);
	if (status)
		return status;
	const epp_summary_totals *totals = epp_summary_get_totals(summary);
	all->walls_ns[index] = (double)(totals->last_ns - totals->first_ns);
	for (size_t table = 0; table < sizeof tables / sizeof *tables; table++)
		for (size_t i = 0; !status && (line = epp_summary_line_at(summary, tables[table], i)); i++)
			status = add_measure(all, line, tables[table], set);
	epp_summary_destroy(summary);
	return status;
}

static int take_trace(struct collection *all, const char *path, unsigned set, size_t index,
                      const struct diff_options *options)
{
	epp_trace *trace;
	int code = cli_open(path, &trace);

	if (code != CLI_OK)
		return code;
	epp_status *status = take_summary(all, trace, set, index, options);
	if (!status)
		diff_facts_take(all->facts, path, set, trace);
	epp_trace_close(trace);
	if (status)
		return cli_unreadable(epp_status_prefix(status, "%s", path));
	if (all->walls_ns[index] > 0)
		return CLI_OK;
	cli_progress_end();
	cli_message(path, ": it has no events to compare");
	return CLI_FAILURE;
}

/* ---- rows ---- */

static int by_key(const struct diff_measure *left, const struct diff_measure *right)
{
	size_t bytes = left->name_bytes < right->name_bytes ? left->name_bytes : right->name_bytes;
	int order = (left->by > right->by) - (left->by < right->by);

	if (!order)
		order = memcmp(left->name, right->name, bytes);
	if (!order)
		order = (left->name_bytes > right->name_bytes) - (left->name_bytes < right->name_bytes);
	if (!order)
		order = (left->category > right->category) - (left->category < right->category);
	return order ? order : strcmp(left->of, right->of);
}

static int by_key_and_set(const void *a, const void *b)
{
	const struct diff_measure *left = a, *right = b;
	int order = by_key(left, right);

	return order ? order : (left->set > right->set) - (left->set < right->set);
}

static void add_to_row(struct diff_row *row, const struct diff_measure *measure, const double *value)
{
	if (!row->runs[measure->set])
		row->values[measure->set] = value;
	row->runs[measure->set]++;
	row->events[measure->set] += measure->count;
	row->measure = measure;
}

static bool join(struct collection *all, struct diff_report *report)
{
	report->rows = calloc(all->measures_count + 1, sizeof *report->rows);
	all->values = calloc(all->measures_count + 1, sizeof *all->values);
	if (!report->rows || !all->values)
		return false;
	if (all->measures_count)
		qsort(all->measures, all->measures_count, sizeof *all->measures, by_key_and_set);
	for (size_t i = 0; i < all->measures_count; i++) {
		if (!i || by_key(&all->measures[i - 1], &all->measures[i]) != 0)
			report->rows_count++;
		all->values[i] = all->measures[i].median_ns;
		add_to_row(&report->rows[report->rows_count - 1], &all->measures[i], &all->values[i]);
	}
	return true;
}

static bool is_in_all(const struct diff_row *row, const struct diff_set *sets)
{
	return row->runs[0] == sets[0].count && row->runs[1] == sets[1].count;
}

/* Sets report->run to the row of the events that are runs: those with the name in --run, by default "model_run".  The
 * row is removed from report->rows.  If some trace lacks such events, the time of a run is the time from the first to
 * the last event of a trace; with --run this is an error. */
static int find_run(struct collection *all, struct diff_report *report)
{
	const char *wanted = report->options->run;
	const char *name = wanted ? wanted : default_run;

	for (size_t i = 0; i < report->rows_count; i++) {
		const struct diff_measure *measure = report->rows[i].measure;
		if (measure->by != EPP_BY_OP || strcmp(measure->name, name) != 0 ||
		    !is_in_all(&report->rows[i], all->sets) || (!wanted && measure->category != EPP_SESSION))
			continue;
		report->run = report->rows[i];
		report->run_name = name;
		report->rows_count--;
		memmove(&report->rows[i], &report->rows[i + 1], (report->rows_count - i) * sizeof *report->rows);
		return CLI_OK;
	}
	if (wanted) {
		cli_message(wanted, ": no event has this name in every trace");
		return CLI_FAILURE;
	}
	report->run = (struct diff_row){ .values = { all->walls_ns, all->walls_ns + all->sets[0].count },
		                         .runs = { all->sets[0].count, all->sets[1].count } };
	return CLI_OK;
}

/* ---- the comparison ---- */

static epp_quantity quantity_of(const struct diff_row *row)
{
	return (epp_quantity){ row->values[0], row->runs[0], row->values[1], row->runs[1] };
}

static void count_change(struct diff_report *report, struct diff_row *row, const epp_change *change)
{
	row->change = change;
	if (row->events[1])
		row->cost_ns = (change->after - change->before) * (double)row->events[1] / (double)row->runs[1];
	report->is_beyond = report->is_beyond || (report->options->has_limit && change->is_beyond);
}

static epp_status *compare(struct collection *all, struct diff_report *report)
{
	const epp_comparison_options options = { .struct_size = sizeof options, .limit = report->options->limit };
	epp_quantity *quantities = calloc(report->rows_count + 1, sizeof *quantities);
	size_t count = 0;

	if (!quantities)
		return epp_status_no_memory();
	quantities[count++] = quantity_of(&report->run);
	for (size_t i = 0; i < report->rows_count; i++)
		if (is_in_all(&report->rows[i], all->sets))
			quantities[count++] = quantity_of(&report->rows[i]);
	epp_status *status = epp_comparison_create(quantities, count, report->options->has_limit ? &options : NULL,
	                                           &all->comparison);
	free(quantities);
	if (status)
		return status;
	count = 0;
	count_change(report, &report->run, epp_comparison_change_at(all->comparison, count++));
	for (size_t i = 0; i < report->rows_count; i++) {
		struct diff_row *row = &report->rows[i];
		if (!is_in_all(row, all->sets))
			continue;
		count_change(report, row, epp_comparison_change_at(all->comparison, count++));
		report->slower_count += row->change->verdict == EPP_VERDICT_MORE;
		report->faster_count += row->change->verdict == EPP_VERDICT_LESS;
	}
	return NULL;
}

/* Returns the rank of a row in the output: slower, faster, not in all traces, no change found. */
static unsigned row_order(const struct diff_row *row)
{
	if (!row->change)
		return 2;
	return row->change->verdict == EPP_VERDICT_MORE ? 0 : row->change->verdict == EPP_VERDICT_LESS ? 1 : 3;
}

static int worst_first(const void *a, const void *b)
{
	const struct diff_row *left = a, *right = b;
	double left_ns = left->cost_ns < 0 ? -left->cost_ns : left->cost_ns;
	double right_ns = right->cost_ns < 0 ? -right->cost_ns : right->cost_ns;

	if (row_order(left) != row_order(right))
		return row_order(left) < row_order(right) ? -1 : 1;
	if (left_ns != right_ns)
		return left_ns > right_ns ? -1 : 1;
	return by_key(left->measure, right->measure);
}

static int report_all(struct collection *all, struct diff_report *report)
{
	epp_status *status = NULL;

	if (!join(all, report))
		return cli_failure(epp_status_no_memory());
	int code = find_run(all, report);
	if (code != CLI_OK)
		return code;
	status = compare(all, report);
	if (status)
		return cli_failure(status);
	if (report->rows_count)
		qsort(report->rows, report->rows_count, sizeof *report->rows, worst_first);
	diff_facts_note(all->facts, &report->notes);
	diff_print(report);
	for (size_t i = 0; i < report->notes.count; i++)
		free(report->notes.texts[i]);
	free(report->notes.texts);
	if (!report->is_beyond)
		return CLI_OK;
	fprintf(stderr, "epprof: at least one entry is slower by more than %g %%\n", report->options->limit * 100);
	return CLI_INVALID;
}

static void collection_destroy(struct collection *all)
{
	for (size_t i = 0; i < all->measures_count; i++) {
		free(all->measures[i].name);
		free(all->measures[i].of);
	}
	free(all->measures);
	free(all->walls_ns);
	free(all->values);
	epp_comparison_destroy(all->comparison);
	diff_facts_destroy(all->facts);
}

int diff_sets(const struct diff_set sets[2], const struct diff_options *options)
{
	struct collection all = { .sets = sets };
	struct diff_report report = { .sets = sets, .options = options };
	size_t count = sets[0].count + sets[1].count;
	int code = CLI_OK;

	all.walls_ns = calloc(count, sizeof *all.walls_ns);
	all.facts = diff_facts_create(count);
	if (!all.walls_ns || !all.facts)
		code = cli_failure(epp_status_no_memory());
	for (size_t i = 0; code == CLI_OK && i < count; i++) {
		unsigned set = i >= sets[0].count;
		code = take_trace(&all, sets[set].paths[set ? i - sets[0].count : i], set, i, options);
	}
	cli_progress_end();
	if (code == CLI_OK)
		code = report_all(&all, &report);
	free(report.rows);
	collection_destroy(&all);
	return code;
}
