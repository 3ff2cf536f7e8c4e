/* Prints the comparison of two sets of traces: as text, as Markdown for a pull request, or as JSON. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diff.h"

static const char *verdict_of(const struct diff_row *row)
{
	static const char *const words[EPP_VERDICT_COUNT] = { "-", "faster", "slower" };

	return row->change ? words[row->change->verdict] : !row->runs[0] ? "new" : !row->runs[1] ? "gone" : "in some";
}

static const char *kind_of(const struct diff_row *row)
{
	static const char *const kinds[EPP_BY_COUNT] = {
		[EPP_BY_OP] = "op", [EPP_BY_KERNEL] = "kernel", [EPP_BY_OP_TYPE] = "op_type"
	};

	return kinds[row->measure->by];
}

/* Returns the geometric mean of the medians of a set; 0: no trace of the set has the name. */
static double mean_of(const struct diff_row *row, unsigned set)
{
	double sum = 0;

	if (row->change)
		return set ? row->change->after : row->change->before;
	for (size_t i = 0; i < row->runs[set]; i++)
		sum += log(row->values[set][i]);
	return row->runs[set] ? exp(sum / (double)row->runs[set]) : 0;
}

#define PERCENT_BYTES 32

static const char *percent(double part, char text[PERCENT_BYTES])
{
	if (isfinite(part))
		snprintf(text, PERCENT_BYTES, "%+.1f %%", part * 100);
	else
		snprintf(text, PERCENT_BYTES, "?");
	return text;
}

static size_t shown_count(const struct diff_report *report)
{
	return report->rows_count < report->options->top ? report->rows_count : report->options->top;
}

/* ---- sentences ---- */

/* Prints the verdict: "Slower: the time of a run changed by +3.1 % (95 % interval +2.3 % to +4.0 %)." */
static void put_verdict(FILE *to, const struct diff_report *report)
{
	static const char *const words[EPP_VERDICT_COUNT] = { "No change found", "Faster", "Slower" };
	const epp_change *change = report->run.change;
	char part[PERCENT_BYTES], least[PERCENT_BYTES], most[PERCENT_BYTES];

	fprintf(to, "%s: the time of a run changed by %s (95 %% interval %s to %s).", words[change->verdict],
	        percent(change->part, part), percent(change->least_part, least), percent(change->most_part, most));
}

/* Prints the mean time of a run, and the number of traces, before and after. */
static void put_times(FILE *to, const struct diff_report *report)
{
	char before[CLI_NUMBER_BYTES], after[CLI_NUMBER_BYTES], traces[2][CLI_COUNTED_BYTES];

	fprintf(to, "%s before, %s after; %s before, %s after", cli_duration(report->run.change->before, before),
	        cli_duration(report->run.change->after, after), cli_counted(report->sets[0].count, "trace", traces[0]),
	        cli_counted(report->sets[1].count, "trace", traces[1]));
}

static void put_names(FILE *to, const struct diff_report *report)
{
	char names[CLI_COUNTED_BYTES], slower[CLI_NUMBER_BYTES], faster[CLI_NUMBER_BYTES];

	fprintf(to, "Of %s, %s slower, %s faster.", cli_counted(report->rows_count, "name", names),
	        cli_count(report->slower_count, slower), cli_count(report->faster_count, faster));
	if (report->options->has_limit)
		fprintf(to, "  The limit of %g %% is %s.", report->options->limit * 100,
		        report->is_beyond ? "exceeded" : "not exceeded");
}

/* ---- text ---- */

static void print_table(const struct diff_report *report)
{
	struct cli_table *table = cli_table_create(
	    "change|?within|?to|before|after|?events|?events after|<verdict|?<kind|?<of|<name");
	char text[PERCENT_BYTES + 1];

	for (size_t i = 0; i < shown_count(report); i++) {
		const struct diff_row *row = &report->rows[i];
		const epp_change *change = row->change;
		text[0] = '~';
		if (change)
			percent(change->part, text + 1);
		cli_table_cell(table, !change ? "-" : change->verdict == EPP_VERDICT_NONE ? text : text + 1);
		cli_table_cell(table, change ? percent(change->least_part, text) : "-");
		cli_table_cell(table, change ? percent(change->most_part, text) : "-");
		cli_table_duration(table, mean_of(row, 0));
		cli_table_duration(table, mean_of(row, 1));
		cli_table_count(table, row->events[0]);
		cli_table_count(table, row->events[1]);
		cli_table_cell(table, verdict_of(row));
		cli_table_cell(table, kind_of(row));
		cli_table_cell(table, *row->measure->of ? row->measure->of : "-");
		cli_table_text(table, row->measure->name, row->measure->name_bytes);
	}
	cli_table_print(table);
	if (report->rows_count > shown_count(report))
		printf("  ... and %zu more\n", report->rows_count - shown_count(report));
}

static void print_text(const struct diff_report *report)
{
	put_verdict(stdout, report);
	printf("\n");
	put_times(stdout, report);
	printf(report->run_name ? "; median of " : "; from the first to the last event of each trace");
	if (report->run_name)
		cli_print_clean(stdout, report->run_name, strlen(report->run_name));
	printf("\n");
	put_names(stdout, report);
	printf("\n");
	if (!report->rows_count)
		return;
	printf("\nBy name, mean over the traces of the medians, slower first\n");
	print_table(report);
	printf("\n");
	cli_print_legend(
	    "within .. to: 95 % bootstrap interval of the change, from the noise between the traces of a set; ~: no "
	    "change was found; in some: not all traces have the name");
}

/* ---- Markdown ---- */

/* Prints a name as code.  Characters that could be markup, a link or a user's name are written as entities. */
static void print_markdown_name(const char *name, size_t bytes)
{
	static const char plain[] = " ,./()+-";
	char *clean = cli_clean(name, bytes);

	printf("<code>");
	for (const unsigned char *at = (const unsigned char *)clean; at && *at; at++) {
		unsigned letter = *at | 32u, digit = *at;
		bool is_word = letter - 'a' < 26 || digit - '0' < 10 || *at >= 128;
		bool is_address = *at == '.' && at != (const unsigned char *)clean && (at[-1] | 32) == 'w';
		if (is_word || (strchr(plain, *at) && !is_address))
			putchar(*at);
		else
			printf("&#%u;", *at);
	}
	printf("</code>");
	free(clean);
}

static void print_markdown_row(const struct diff_row *row)
{
	char text[CLI_NUMBER_BYTES], least[PERCENT_BYTES], most[PERCENT_BYTES];

	if (row->change)
		printf("| %s | %s to %s ", percent(row->change->part, text), percent(row->change->least_part, least),
		       percent(row->change->most_part, most));
	else
		printf("| - | - ");
	printf("| %s ", row->runs[0] ? cli_duration(mean_of(row, 0), text) : "-");
	printf("| %s ", row->runs[1] ? cli_duration(mean_of(row, 1), text) : "-");
	printf("| %s | %s | ", verdict_of(row), kind_of(row));
	if (*row->measure->of)
		print_markdown_name(row->measure->of, strlen(row->measure->of));
	printf(" | ");
	print_markdown_name(row->measure->name, row->measure->name_bytes);
	printf(" |\n");
}

static void print_markdown(const struct diff_report *report)
{
	printf("**");
	put_verdict(stdout, report);
	printf("**\n\n");
	put_times(stdout, report);
	printf(report->run_name ? "; median of " : "; from the first to the last event of each trace");
	if (report->run_name)
		print_markdown_name(report->run_name, strlen(report->run_name));
	printf(".\n");
	put_names(stdout, report);
	printf("\n");
	for (size_t i = 0; i < report->notes.count; i++) {
		printf(i ? "- " : "\n- ");
		print_markdown_name(report->notes.texts[i], strlen(report->notes.texts[i]));
		printf("\n");
	}
	if (!report->rows_count)
		return;
	printf("\n| change | 95 %% interval | before | after | verdict | kind | of | name |\n"
	       "|---:|---|---:|---:|---|---|---|---|\n");
	for (size_t i = 0; i < shown_count(report); i++)
		print_markdown_row(&report->rows[i]);
	if (report->rows_count > shown_count(report))
		printf("\n... and %zu more\n", report->rows_count - shown_count(report));
}

/* ---- JSON ---- */

static void print_number(const char *key, double number)
{
	if (isfinite(number))
		printf(", \"%s\": %.6g", key, number);
	else
		printf(", \"%s\": null", key);
}

static void print_paths(const char *key, const struct diff_set *set)
{
	printf("\"%s\": [", key);
	for (size_t i = 0; i < set->count; i++) {
		printf(i ? ", " : "");
		cli_json_string(set->paths[i], strlen(set->paths[i]));
	}
	printf("]");
}

static void print_values(const char *key, const struct diff_row *row, unsigned set)
{
	printf(", \"%s\": [", key);
	for (size_t i = 0; i < row->runs[set]; i++)
		printf("%s%.1f", i ? ", " : "", row->values[set][i]);
	printf("]");
}

/* Prints the JSON members that the row of a name and the row of the time of a run have in common. */
static void print_json_change(const struct diff_row *row)
{
	printf("\"verdict\": \"%s\"", row->change && row->change->verdict == EPP_VERDICT_NONE ? "none" : verdict_of(row));
	if (row->change) {
		print_number("change", row->change->part);
		print_number("least", row->change->least_part);
		print_number("most", row->change->most_part);
		print_number("p", row->change->p);
	}
	print_values("before_ns", row, 0);
	print_values("after_ns", row, 1);
}

static void print_json_row(const struct diff_report *report, const struct diff_row *row)
{
	const struct diff_measure *measure = row->measure;

	printf("    {\"kind\": \"%s\", \"name\": ", kind_of(row));
	cli_json_string(measure->name, measure->name_bytes);
	if (measure->by == EPP_BY_OP)
		printf(", \"category\": \"%s\"", cli_category(measure->category));
	printf(", \"of\": ");
	cli_json_string(measure->of, strlen(measure->of));
	printf(", ");
	print_json_change(row);
	printf(", \"before_events\": %" PRIu64 ", \"after_events\": %" PRIu64, row->events[0], row->events[1]);
	if (report->options->has_limit)
		printf(", \"is_beyond\": %s", row->change && row->change->is_beyond ? "true" : "false");
	printf("}");
}

static void print_json(const struct diff_report *report)
{
	printf("{\n  ");
	print_paths("before", &report->sets[0]);
	printf(", ");
	print_paths("after", &report->sets[1]);
	printf(",\n  \"run\": {\"name\": ");
	if (report->run_name)
		cli_json_string(report->run_name, strlen(report->run_name));
	else
		printf("null");
	printf(", ");
	print_json_change(&report->run);
	printf("},\n  \"slower\": %zu, \"faster\": %zu", report->slower_count, report->faster_count);
	if (report->options->has_limit)
		printf(", \"limit\": %g, \"is_beyond\": %s", report->options->limit, report->is_beyond ? "true" : "false");
	printf(",\n  \"notes\": [");
	for (size_t i = 0; i < report->notes.count; i++) {
		printf(i ? ", " : "");
		cli_json_string(report->notes.texts[i], strlen(report->notes.texts[i]));
	}
	printf("],\n  \"names\": [");
	for (size_t i = 0; i < shown_count(report); i++) {
		printf(i ? ",\n" : "\n");
		print_json_row(report, &report->rows[i]);
	}
	printf("\n  ]\n}\n");
}

void diff_print(const struct diff_report *report)
{
	if (report->options->format == DIFF_MARKDOWN)
		print_markdown(report);
	else if (report->options->format == DIFF_JSON)
		print_json(report);
	else
		print_text(report);
}
