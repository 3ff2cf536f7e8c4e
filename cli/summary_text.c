/* A summary for people. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "summary.h"

static int64_t mean_ns(const struct tally_line *line)
{
	return line->count ? line->total_ns / (int64_t)line->count : 0;
}

/* "64 events" */
static void print_number(uint64_t count, const char *one, const char *many)
{
	char number[CLI_NUMBER_BYTES];

	printf("%s %s", cli_count(count, number), count == 1 ? one : many);
}

static int64_t busy_of(const struct tally_table *table)
{
	int64_t busy_ns = 0;

	for (size_t i = 0; i < table->lines_count; i++)
		busy_ns += table->lines[i]->busy_ns;
	return busy_ns;
}

static void print_device(const struct summary *summary, double wall_ns)
{
	const struct tally *tally = &summary->tally;
	const struct tally_table *streams = &tally->tables[TALLY_STREAM];
	char number[CLI_NUMBER_BYTES];

	if (!streams->lines_count)
		return;
	printf("  device  ");
	print_number(streams->lines_count, "stream", "streams");
	printf(", ");
	print_number(tally->device_events, "event", "events");
	printf(", busy %s", cli_duration((double)busy_of(streams), number));
	if (wall_ns > 0)
		printf(" (%.1f %% of wall time a stream)",
		       100 * (double)busy_of(streams) / wall_ns / (double)streams->lines_count);
	printf("\n  joined  %s device events to the host event that caused them",
	       cli_count(tally->counts.correlated + tally->counts.inferred, number));
	if (tally->counts.inferred)
		printf(" (%s by containment)", cli_count(tally->counts.inferred, number));
	if (tally->counts.uncorrelated)
		printf("; %s without one", cli_count(tally->counts.uncorrelated, number));
	if (tally->counts.outside_parent)
		printf("; %s lie outside of it", cli_count(tally->counts.outside_parent, number));
	printf("\n  clocks  device times are within %s of the host's clock\n",
	       cli_duration((double)tally->counts.largest_error_ns, number));
}

static void print_head(const struct summary *summary)
{
	const epp_trace_info *info = epp_trace_get_info(summary->trace);
	const struct tally *tally = &summary->tally;
	const struct tally_table *threads = &tally->tables[TALLY_THREAD];
	double wall_ns = (double)tally->last_ns - (double)tally->first_ns;
	char number[CLI_NUMBER_BYTES], reasons[256];
	char *program = cli_clean(info->program ? info->program : "", info->program ? strlen(info->program) : 0);
	char *hostname = cli_clean(info->hostname ? info->hostname : "", info->hostname ? strlen(info->hostname) : 0);

	printf("%s: %s (pid %u) on %s, %s\n\n", summary->path, program ? program : "", info->pid,
	       hostname ? hostname : "", cli_state(info->state));
	free(program);
	free(hostname);
	printf("  wall    %s\n  host    ", cli_duration(wall_ns, number));
	print_number(threads->lines_count, "thread", "threads");
	printf(", ");
	print_number(tally->host_events, "event", "events");
	printf(", busy %s", cli_duration((double)busy_of(threads), number));
	if (tally->unended)
		printf("; %s never ended", cli_count(tally->unended, number));
	if (tally->instants) {
		printf("; ");
		print_number(tally->instants, "instant", "instants");
	}
	if (tally->counters) {
		printf("; ");
		print_number(tally->counters, "counter value", "counter values");
	}
	printf("\n");
	print_device(summary, wall_ns);
	accounts_reasons(summary->accounts.lost, reasons, sizeof reasons);
	if (summary->accounts.lost_total) {
		printf("  lost    ");
		print_number(summary->accounts.lost_total, "event", "events");
		printf(": %s\n", reasons);
	} else {
		printf("  lost    none\n");
	}
	if (!summary->accounts.balanced)
		printf("  WARNING: the accounts do not balance; see 'epprof info' and 'epprof validate'\n");
}

static void add_times(struct cli_table *table, const struct tally_line *line)
{
	cli_table_duration(table, (double)line->total_ns);
	cli_table_duration(table, (double)line->self_ns);
	cli_table_duration(table, (double)mean_ns(line));
	cli_table_duration(table, (double)histogram_quantile(&line->durations, 0.5));
	cli_table_duration(table, (double)histogram_quantile(&line->durations, 0.99));
	cli_table_duration(table, (double)line->durations.largest);
}

static void add_names(struct cli_table *table, enum tally_kind kind, const struct tally_line *line, double wall_ns)
{
	char text[CLI_NUMBER_BYTES];

	if (kind == TALLY_OP) {
		cli_table_cell(table, cli_category(line->category));
	} else if (kind == TALLY_KERNEL) {
		cli_table_cell(table, line->latencies.count
		                          ? cli_duration((double)histogram_quantile(&line->latencies, 0.5), text)
		                          : "-");
	} else {
		cli_table_duration(table, (double)line->busy_ns);
		snprintf(text, sizeof text, "%.1f %%", wall_ns > 0 ? 100 * (double)line->busy_ns / wall_ns : 0);
		cli_table_cell(table, text);
		cli_table_cell(table, line->group);
	}
	cli_table_cell(table, line->name);
}

static void print_table(const struct summary *summary, enum tally_kind kind)
{
	static const struct {
		const char *title, *columns;
	} tables[TALLY_KINDS] = {
		{ "By op, on the host", "count|total|self|mean|p50|p99|max|<category|<op" },
		{ "By kernel, on devices", "count|total|self|mean|p50|p99|max|launch|<kernel" },
		{ "By stream", "count|total|self|mean|p50|p99|max|busy|of wall|<device|<stream" },
		{ "By thread", "count|total|self|mean|p50|p99|max|busy|of wall|<process|<thread" },
	};
	const struct tally_table *lines = &summary->tally.tables[kind];
	double wall_ns = (double)summary->tally.last_ns - (double)summary->tally.first_ns;
	size_t shown = lines->lines_count < summary->top ? lines->lines_count : summary->top;
	struct cli_table *table;

	if (!lines->lines_count)
		return;
	printf("\n%s\n", tables[kind].title);
	table = cli_table_create(tables[kind].columns);
	for (size_t i = 0; i < shown; i++) {
		cli_table_count(table, lines->lines[i]->count);
		add_times(table, lines->lines[i]);
		add_names(table, kind, lines->lines[i], wall_ns);
	}
	cli_table_print(table);
	if (shown < lines->lines_count)
		printf("  ... and %zu more (--top 0 shows all)\n", lines->lines_count - shown);
}

void summary_print_text(const struct summary *summary)
{
	print_head(summary);
	for (unsigned kind = 0; kind < TALLY_KINDS; kind++) {
		if (summary->shown[kind])
			print_table(summary, kind);
	}
}
