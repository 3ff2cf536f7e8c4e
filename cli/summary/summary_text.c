/* Prints a summary for people. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "summary.h"

static void print_more(size_t shown, size_t count)
{
	if (shown < count)
		cli_print("  ... and %zu more (--top 0 shows all)\n", count - shown);
}

static int64_t mean_ns(const epp_summary_line *line)
{
	return line->count ? line->total_ns / (int64_t)line->count : 0;
}

static void print_number(uint64_t count, const char *one)
{
	char text[CLI_COUNTED_BYTES];

	cli_print("%s", cli_counted(count, one, text));
}

static int64_t busy_of(const struct summary *summary, unsigned kind)
{
	int64_t busy_ns = 0;

	for (size_t i = 0; i < summary->tables[kind].count; i++)
		busy_ns += summary->tables[kind].lines[i]->busy_ns;
	return busy_ns;
}

/* Prints the largest error bound of device times.  It does not apply to events that have a duration only; their number
 * is printed. */
static void print_clocks(const struct summary *summary)
{
	char number[CLI_NUMBER_BYTES];
	uint64_t durations_count = 0;

	for (size_t i = 0; i < summary->tables[EPP_BY_STREAM].count; i++)
		durations_count += summary->tables[EPP_BY_STREAM].lines[i]->placed_count[EPP_PLACED_DURATION];
	cli_print("\n  clocks  ");
	if (durations_count < summary->totals->device_events)
		cli_print("device times are within %s of the host's clock%s",
		          cli_duration((double)summary->totals->counts->largest_error_ns, number),
		          durations_count ? "; " : "");
	if (durations_count) {
		print_number(durations_count, "device event");
		cli_print(" without a start, somewhere in %s host event", durations_count == 1 ? "its" : "their");
	}
	cli_print("\n");
}

static void print_device(const struct summary *summary, double wall_ns)
{
	const epp_summary_totals *totals = summary->totals;
	size_t streams_count = summary->tables[EPP_BY_STREAM].count;
	char number[CLI_NUMBER_BYTES];

	if (!streams_count)
		return;
	cli_print("  device  ");
	print_number(streams_count, "stream");
	cli_print(", ");
	print_number(totals->device_events, "event");
	cli_print(", busy %s", cli_duration((double)busy_of(summary, EPP_BY_STREAM), number));
	if (wall_ns > 0)
		cli_print(" (%.1f %% of wall time a stream)",
		          100 * (double)busy_of(summary, EPP_BY_STREAM) / wall_ns / (double)streams_count);
	cli_print("\n  joined  ");
	print_number(totals->counts->correlated + totals->counts->inferred, "device event");
	cli_print(" to the host event that caused %s",
	          totals->counts->correlated + totals->counts->inferred == 1 ? "it" : "them");
	if (totals->counts->inferred)
		cli_print(" (%s by containment)", cli_count(totals->counts->inferred, number));
	if (totals->counts->ambiguous)
		cli_print("; %s ambiguous", cli_count(totals->counts->ambiguous, number));
	if (totals->counts->uncorrelated)
		cli_print("; %s without one", cli_count(totals->counts->uncorrelated, number));
	if (totals->counts->outside_parent)
		cli_print("; %s outside of it", cli_count(totals->counts->outside_parent, number));
	print_clocks(summary);
}

/* Prints the notes of the ledger's entries that have losses; such a note explains them. */
static void print_loss_notes(epp_trace *trace)
{
	for (size_t i = 0; i < epp_trace_ledger_count(trace); i++) {
		epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
		epp_status *status = epp_trace_ledger_at(trace, i, &account);
		if (!status && account.lost_total && account.note[0]) {
			cli_print("          ");
			cli_print_bytes(account.producer, strlen(account.producer));
			cli_print(": ");
			cli_print_bytes(account.note, strlen(account.note));
			cli_print("\n");
		}
		epp_status_destroy(status);
	}
}

/* Prints the length of each run that has ended.  Used for a truncated file, in which only a part of it is left. */
static void print_run_length(const epp_trace *trace)
{
	char number[CLI_NUMBER_BYTES];
	epp_trace_run run = { .struct_size = sizeof(run) };

	for (size_t i = 0; epp_trace_run_at(trace, i, &run); i++) {
		if (run.ended)
			cli_print(" of a run of %s", cli_duration((double)(run.end_ns - run.start_ns), number));
	}
}

/* If an overhead budget has left out the host events inside some runs, prints how often.  The tables lack these
 * events. */
static void print_kernels_only(const epp_summary_totals *totals)
{
	if (!totals->kernels_only_count)
		return;
	cli_print("          a budget has left out host events inside runs, ");
	print_number(totals->kernels_only_count, "time");
	cli_print(": their rows lack these\n");
}

/* If an overhead budget has left out whole runs, prints how many were kept.  The counts and sums in the tables are then
 * estimates. */
static void print_runs(const epp_summary_totals *totals)
{
	char kept[CLI_NUMBER_BYTES], all[CLI_NUMBER_BYTES], error[CLI_NUMBER_BYTES], time[CLI_NUMBER_BYTES],
	    time_error[CLI_NUMBER_BYTES];

	if (!totals->weighted)
		return;
	if (!totals->runs_kept) {
		cli_print("  runs    kept in part, weighted: the tables are estimates for all\n");
		return;
	}
	cli_print("  runs    %s of %s +- %s runs kept, weighted: they take %s +- %s; the tables are estimates for all\n",
	          cli_count(totals->runs_kept, kept), cli_count(totals->runs_count, all),
	          cli_count((uint64_t)llround(sqrt(totals->runs_count_variance)), error),
	          cli_duration((double)totals->runs_ns, time), cli_duration(sqrt(totals->runs_ns_variance), time_error));
}

static void print_head(const struct summary *summary)
{
	const epp_trace_info *info = epp_trace_get_info(summary->trace);
	const epp_summary_totals *totals = summary->totals;
	size_t threads_count = summary->tables[EPP_BY_THREAD].count;
	double wall_ns = (double)totals->last_ns - (double)totals->first_ns;
	char number[CLI_NUMBER_BYTES], reasons[256];

	cli_print("%s: ", summary->path);
	cli_print_process(info);
	cli_print(", %s\n\n", cli_state(info->state));
	cli_print("  wall    %s", cli_duration(wall_ns, number));
	if (summary->accounts.truncated)
		print_run_length(summary->trace);
	cli_print("\n  host    ");
	print_number(threads_count, "thread");
	cli_print(", ");
	print_number(totals->host_events, "event");
	cli_print(", busy %s", cli_duration((double)busy_of(summary, EPP_BY_THREAD), number));
	if (totals->unended)
		cli_print("; %s never ended", cli_count(totals->unended, number));
	if (totals->instants) {
		cli_print("; ");
		print_number(totals->instants, "instant");
	}
	if (totals->counters) {
		cli_print("; ");
		print_number(totals->counters, "counter value");
	}
	cli_print("\n");
	print_runs(totals);
	print_kernels_only(totals);
	print_device(summary, wall_ns);
	accounts_reasons(summary->accounts.lost, reasons, sizeof reasons);
	if (summary->accounts.lost_total) {
		cli_print("  lost    ");
		print_number(summary->accounts.lost_total, "event");
		cli_print(": %s\n", reasons);
		print_loss_notes(summary->trace);
	} else if (!summary->accounts.truncated) {
		cli_print("  lost    none\n");
	}
	accounts_print_warnings(&summary->accounts, "  ");
}

static void add_mean_and_quantiles(struct cli_table *table, const epp_summary_line *line)
{
	cli_table_duration(table, (double)mean_ns(line));
	cli_table_duration(table, (double)epp_histogram_quantile(line->durations, 0.5));
	cli_table_duration(table, (double)epp_histogram_quantile(line->durations, 0.99));
}

static void add_times(struct cli_table *table, const epp_summary_line *line)
{
	cli_table_duration(table, (double)line->total_ns);
	cli_table_duration(table, (double)line->self_ns);
	add_mean_and_quantiles(table, line);
	cli_table_duration(table, (double)line->max_ns);
}

/* Adds a cell with a time as a percentage of the time of all runs of the model (events "model_run"), or, if the trace
 * has none, of the own time of all operator types. */
static void add_share(struct cli_table *table, const struct summary *summary, int64_t ns)
{
	int64_t all_ns = 0;
	char text[CLI_NUMBER_BYTES];

	for (size_t i = 0; i < summary->tables[EPP_BY_OP].count && !all_ns; i++) {
		const epp_summary_line *line = summary->tables[EPP_BY_OP].lines[i];
		if (line->category == EPP_SESSION && strcmp(line->name, "model_run") == 0)
			all_ns = line->total_ns;
	}
	for (size_t i = 0, nodes = !all_ns; nodes && i < summary->tables[EPP_BY_OP_TYPE].count; i++)
		all_ns += summary->tables[EPP_BY_OP_TYPE].lines[i]->self_ns;
	snprintf(text, sizeof text, "%.1f %%", all_ns > 0 ? 100 * (double)ns / (double)all_ns : 0);
	cli_table_cell(table, text);
}

/* Adds three cells: p50, p99 and maximum of the times between the launch of device events and their start. */
static void add_launches(struct cli_table *table, const epp_summary_line *line)
{
	static const double parts[] = { 0.5, 0.99, 1 };

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (epp_histogram_count(line->launches))
			cli_table_duration(table, (double)epp_histogram_quantile(line->launches, parts[i]));
		else
			cli_table_cell(table, "-");
	}
}

static void add_names(struct cli_table *table, epp_summary_by kind, const epp_summary_line *line, double wall_ns,
                      bool op_types)
{
	char text[CLI_NUMBER_BYTES];

	if (kind == EPP_BY_OP) {
		cli_table_cell(table, cli_category(line->category));
	} else if (kind == EPP_BY_KERNEL) {
		add_launches(table, line);
		if (op_types)
			cli_table_cell(table, line->op_type ? line->op_type : "-");
	} else if (kind != EPP_BY_PHASE) {
		cli_table_duration(table, (double)line->busy_ns);
		snprintf(text, sizeof text, "%.1f %%", wall_ns > 0 ? 100 * (double)line->busy_ns / wall_ns : 0);
		cli_table_cell(table, text);
		cli_table_cell(table, line->group);
	}
	cli_table_text(table, line->name, line->name_bytes);
}

/* Adds a cell with the mean duration of the warm-up events. */
static void add_warmup(struct cli_table *table, const epp_summary_line *line)
{
	if (line->warmup_count)
		cli_table_duration(table, (double)line->warmup_ns / (double)line->warmup_count);
	else
		cli_table_cell(table, "-");
}

static void print_op_types(const struct summary *summary)
{
	size_t count = summary->tables[EPP_BY_OP_TYPE].count, shown = count < summary->top ? count : summary->top;
	bool has_device = false;

	if (!count)
		return;
	for (size_t i = 0; i < count; i++)
		has_device |= summary->tables[EPP_BY_OP_TYPE].lines[i]->device_count != 0;
	cli_print_heading("By operator type");
	struct cli_table *table = cli_table_create(
	    has_device ? "count|total|of run|?mean|?p50|?p99|?kernels|on devices|?<provider|<type"
		       : "count|total|of run|?mean|?p50|?p99|?<provider|<type");
	for (size_t i = 0; i < shown; i++) {
		const epp_summary_line *line = summary->tables[EPP_BY_OP_TYPE].lines[i];
		cli_table_count(table, line->count);
		cli_table_duration(table, (double)line->total_ns);
		add_share(table, summary, line->self_ns);
		add_mean_and_quantiles(table, line);
		if (has_device) {
			cli_table_count(table, line->device_count);
			cli_table_duration(table, (double)line->device_ns);
		}
		cli_table_cell(table, line->provider ? line->provider : "-");
		cli_table_text(table, line->name, line->name_bytes);
	}
	cli_table_print(table);
	print_more(shown, count);
}

static void add_copy(struct cli_table *table, const epp_summary_line *line)
{
	char text[CLI_NUMBER_BYTES], rate[CLI_NUMBER_BYTES + 2] = "-";

	cli_table_count(table, line->count);
	cli_table_duration(table, (double)line->total_ns);
	add_mean_and_quantiles(table, line);
	cli_table_duration(table, (double)line->max_ns);
	cli_table_cell(table, line->bytes_count ? cli_bytes(line->bytes, text) : "-");
	if (line->bytes_ns > 0)
		snprintf(rate, sizeof rate, "%s/s",
		         cli_bytes((uint64_t)((double)line->bytes * 1e9 / (double)line->bytes_ns), text));
	cli_table_cell(table, rate);
	cli_table_text(table, line->name, line->name_bytes);
}

static void print_copies(const struct summary *summary)
{
	bool any = false;

	for (size_t i = 0; i < summary->tables[EPP_BY_PHASE].count; i++)
		any |= summary->tables[EPP_BY_PHASE].lines[i]->is_copy;
	if (!any)
		return;
	cli_print_heading("Copies and fills, by kind");
	struct cli_table *table = cli_table_create("count|total|?mean|?p50|?p99|?max|bytes|rate|<kind");
	for (size_t i = 0; i < summary->tables[EPP_BY_PHASE].count; i++) {
		if (summary->tables[EPP_BY_PHASE].lines[i]->is_copy)
			add_copy(table, summary->tables[EPP_BY_PHASE].lines[i]);
	}
	cli_table_print(table);
}

static bool has_op_types(const struct summary *summary, epp_summary_by kind)
{
	for (size_t i = 0; i < summary->tables[kind].count; i++) {
		if (summary->tables[kind].lines[i]->op_type)
			return true;
	}
	return false;
}

static void print_table(const struct summary *summary, epp_summary_by kind)
{
	static const struct {
		const char *title, *warmup, *columns;
	} tables[EPP_BY_COUNT] = {
		{ "By op, on the host", "warm-up|", "count|total|?self|?mean|p50|p99|max|<category|<op" },
		{ "By kernel, on devices", "warm-up|",
		  "count|total|?self|?mean|p50|p99|max|launch p50|?launch p99|?launch max|<kernel" },
		{ "By stream", "", "count|total|?self|?mean|p50|p99|?max|busy|of wall|<device|<stream" },
		{ "By thread", "", "count|total|?self|?mean|p50|p99|?max|busy|of wall|<process|<thread" },
		{ "By phase of the devices' work", "", "count|total|?self|?mean|p50|p99|max|<phase" },
		{ NULL, "", NULL },
	};
	double wall_ns = (double)summary->totals->last_ns - (double)summary->totals->first_ns;
	size_t count = summary->tables[kind].count, shown = count < summary->top ? count : summary->top;
	bool warmup = summary->warmup_count && *tables[kind].warmup;
	bool op_types = kind == EPP_BY_KERNEL && has_op_types(summary, kind);
	const char *columns = tables[kind].columns;
	char all_columns[160];

	if (!count)
		return;
	cli_print_heading(tables[kind].title);
	if (op_types)
		columns = "count|total|?self|?mean|p50|p99|?max|launch p50|?launch p99|?launch max|<operator|<kernel";
	snprintf(all_columns, sizeof all_columns, "%s%s", warmup ? tables[kind].warmup : "", columns);
	struct cli_table *table = cli_table_create(all_columns);
	for (size_t i = 0; i < shown; i++) {
		const epp_summary_line *line = summary->tables[kind].lines[i];
		if (warmup)
			add_warmup(table, line);
		cli_table_count(table, line->count);
		add_times(table, line);
		add_names(table, kind, line, wall_ns, op_types);
	}
	cli_table_print(table);
	print_more(shown, count);
}

/* Prints the table of calls: host events of the category Api, and others that caused device events. */
static void print_calls(const struct summary *summary)
{
	size_t shown = 0, count = 0;
	struct cli_table *table = NULL;

	for (size_t i = 0; i < summary->tables[EPP_BY_OP].count; i++) {
		const epp_summary_line *line = summary->tables[EPP_BY_OP].lines[i];
		if (!summary_is_call(line) || count++ >= summary->top)
			continue;
		if (!shown++) {
			cli_print_heading("By call, and the device events that it launched");
			table = cli_table_create(
			    "count|total|?mean|?p50|?p99|?max|launched|on devices|launch p50|?launch p99|?launch max|<call");
		}
		cli_table_count(table, line->count);
		cli_table_duration(table, (double)line->total_ns);
		add_mean_and_quantiles(table, line);
		cli_table_duration(table, (double)line->max_ns);
		cli_table_count(table, line->device_count);
		cli_table_duration(table, (double)line->device_ns);
		add_launches(table, line);
		cli_table_text(table, line->name, line->name_bytes);
	}
	if (!shown)
		return;
	cli_table_print(table);
	print_more(shown, count);
}

static void print_idle(const struct summary *summary)
{
	size_t count = summary->tables[EPP_BY_STREAM].count, shown = count < summary->top ? count : summary->top;

	if (!count)
		return;
	cli_print_heading("Idle streams, by cause");
	struct cli_table *table = cli_table_create("idle|unlaunched|copy|late|unknown|?gaps|?p50|?p99|<device|<stream");
	for (size_t i = 0; i < shown; i++) {
		const epp_summary_line *line = summary->tables[EPP_BY_STREAM].lines[i];
		int64_t idle_ns = 0;
		for (unsigned cause = 0; cause < EPP_IDLE_COUNT; cause++)
			idle_ns += line->idle_ns[cause];
		cli_table_duration(table, (double)idle_ns);
		for (unsigned cause = 0; cause < EPP_IDLE_COUNT; cause++)
			cli_table_duration(table, (double)line->idle_ns[cause]);
		cli_table_count(table, epp_histogram_count(line->gaps));
		cli_table_duration(table, (double)epp_histogram_quantile(line->gaps, 0.5));
		cli_table_duration(table, (double)epp_histogram_quantile(line->gaps, 0.99));
		cli_table_cell(table, line->group);
		cli_table_cell(table, line->name);
	}
	cli_table_print(table);
	cli_print_legend(
	    "unlaunched: the host had not launched work; copy: a copy ran on the device; late: work was launched, but "
	    "not started; unknown: the host event that launched the work is unknown");
}

/* Writes how the times of a stream's events were placed on the host's clock: "fitted" if all in the same way, or with
 * the numbers of events: "fitted 700, formula 11". */
static void describe_placing(const epp_summary_line *line, char *text, size_t bytes)
{
	size_t at = 0;

	*text = '\0';
	for (unsigned placement = 0; placement < EPP_PLACEMENT_COUNT && at < bytes; placement++) {
		uint64_t count = line->placed_count[placement];
		char number[CLI_NUMBER_BYTES];
		if (!count)
			continue;
		at += (size_t)snprintf(text + at, bytes - at, "%s%s%s%s", at ? ", " : "", epp_placement_name(placement),
		                       count < line->count ? " " : "",
		                       count < line->count ? cli_count(count, number) : "");
	}
}

/* Explains the names of the placements that occur in the table. */
static void print_placing_legend(const struct summary *summary)
{
	static const char *const meanings[EPP_PLACEMENT_COUNT] = {
		[EPP_PLACED_MEASURED] = "read from the host's clock",
		[EPP_PLACED_FITTED] = "converted by a fit over many comparisons of the two clocks",
		[EPP_PLACED_FORMULA] = "converted by one comparison of the two clocks",
		[EPP_PLACED_INFERRED] = "as formula, and the parent is the host event that contains it in time",
		[EPP_PLACED_DURATION] = "no common clock, moved inside its host event, whose duration is the error bound",
		[EPP_PLACED_CLAMPED] = "moved into its host event",
		[EPP_PLACED_AMBIGUOUS] = "as formula, and several host events could be the parent, so it has none",
	};
	char text[640];
	size_t at = 0;

	for (unsigned placement = 0; placement < EPP_PLACEMENT_COUNT; placement++) {
		uint64_t events = 0;
		for (size_t i = 0; i < summary->tables[EPP_BY_STREAM].count; i++)
			events += summary->tables[EPP_BY_STREAM].lines[i]->placed_count[placement];
		if (events && at < sizeof text)
			at += (size_t)snprintf(text + at, sizeof text - at, "%s%s: %s", at ? "; " : "",
			                       epp_placement_name(placement), meanings[placement]);
	}
	if (at)
		cli_print_legend(text);
}

static void print_placing(const struct summary *summary)
{
	size_t count = summary->tables[EPP_BY_STREAM].count, shown = count < summary->top ? count : summary->top;
	char text[160];

	if (!count)
		return;
	cli_print_heading("Placement of device events on the host's clock, with error bounds");
	struct cli_table *table = cli_table_create("p50|p99.9|max|<placed|<device|<stream");
	for (size_t i = 0; i < shown; i++) {
		const epp_summary_line *line = summary->tables[EPP_BY_STREAM].lines[i];
		cli_table_duration(table, (double)epp_histogram_quantile(line->errors, 0.5));
		cli_table_duration(table, (double)epp_histogram_quantile(line->errors, 0.999));
		cli_table_duration(table, (double)line->max_error_ns);
		describe_placing(line, text, sizeof text);
		cli_table_cell(table, text);
		cli_table_cell(table, line->group);
		cli_table_cell(table, line->name);
	}
	cli_table_print(table);
	print_placing_legend(summary);
}

void summary_print_text(const struct summary *summary)
{
	print_head(summary);
	/* The table by operator type is the first, because users with a model need it most. */
	if (summary->shown[EPP_BY_OP_TYPE])
		print_op_types(summary);
	for (unsigned kind = 0; kind < EPP_BY_COUNT; kind++) {
		if (!summary->shown[kind] || kind == EPP_BY_OP_TYPE)
			continue;
		print_table(summary, kind);
		if (kind == EPP_BY_KERNEL && summary->calls)
			print_calls(summary);
		if (kind == EPP_BY_KERNEL || (kind == EPP_BY_PHASE && !summary->shown[EPP_BY_KERNEL]))
			print_copies(summary);
		if (kind == EPP_BY_STREAM) {
			print_idle(summary);
			print_placing(summary);
		}
	}
	if (summary->calls && !summary->shown[EPP_BY_KERNEL])
		print_calls(summary);
}
