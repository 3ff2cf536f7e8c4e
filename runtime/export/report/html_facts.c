/* Writes all data of the page except the events, as JSON for the scripts.  Times are in nanoseconds. */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/histogram.h"
#include "base/status.h"
#include "export/facts.h"
#include "export/ledger.h"
#include "export/report/html.h"

/* The maximum number of lines of a table.  The lines with the longest total time are kept. */
#define LINES_MAX 5000u

static const double quantiles[] = { 0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1 };
#define QUANTILES_COUNT (sizeof quantiles / sizeof *quantiles)

static void put_text(struct sink *sink, const char *key, const char *text, size_t bytes)
{
	sink_format(sink, "\"%s\":\"", key);
	sink_json_text(sink, text, bytes);
	sink_text(sink, "\"");
}

/* ---- rows ---- */

static void put_processes(struct sink *sink, const struct rows *rows)
{
	sink_text(sink, ",\"processes\":[");
	for (size_t i = 0; i < rows->processes_count; i++) {
		const struct rows_process *process = &rows->processes[i];
		sink_text(sink, i ? ",{" : "{");
		put_text(sink, "name", process->name, strlen(process->name));
		sink_format(sink, ",\"device\":%s", process->group ? "true" : "false");
		if (!process->group)
			sink_format(sink, ",\"pid\":%u", process->pid);
		sink_text(sink, "}");
	}
	sink_text(sink, "]");
}

static const char *clock_text(const epp_trace_track *track)
{
	static const char *const words[] = { "host", "own", "none", "formula" };

	return track->clock_kind < sizeof words / sizeof *words ? words[track->clock_kind] : "unknown";
}

static void put_rows(struct sink *sink, const struct rows *rows)
{
	char lane[ROWS_LANE_BYTES];

	sink_text(sink, ",\"rows\":[");
	for (size_t i = 0; i < rows->rows_count; i++) {
		const struct row *row = &rows->rows[i];
		const epp_trace_track *track = row->track;
		sink_text(sink, i ? ",{" : "{");
		put_text(sink, "name", track->name, strlen(track->name));
		sink_format(sink, ",\"process\":%u,\"track\":%u,\"lane\":\"%s\",\"sort\":%" PRId64 ",\"clock\":\"%s\"",
		            row->process, track->track, rows_lane_text(row->lane, lane), rows_sort_index(row),
		            clock_text(track));
		if (export_has_thread(track))
			sink_format(sink, ",\"tid\":%u", track->thread_id);
		if (track->kind == EPP_TRACK_DEVICE)
			sink_format(sink, ",\"device\":%" PRId32 ",\"stream\":\"%" PRId64 "\"", track->device,
			            track->stream);
		sink_text(sink, "}");
	}
	sink_text(sink, "]");
}

/* ---- tables ---- */

static void put_histogram(struct sink *sink, const char *key, const epp_histogram *histogram)
{
	if (!histogram || !epp_histogram_count(histogram))
		return;
	sink_format(sink, ",\"%s\":{\"count\":%" PRIu64 ",\"q\":[", key, epp_histogram_count(histogram));
	for (size_t i = 0; i < QUANTILES_COUNT; i++)
		sink_format(sink, "%s%" PRId64, i ? "," : "", epp_histogram_quantile(histogram, quantiles[i]));
	sink_text(sink, "]}");
}

static void put_line(struct sink *sink, epp_summary_by by, const epp_summary_line *line)
{
	sink_text(sink, "{");
	put_text(sink, "name", line->name, line->name_bytes);
	if (line->group) {
		sink_text(sink, ",");
		put_text(sink, "group", line->group, strlen(line->group));
	}
	if (line->op_type) {
		sink_text(sink, ",");
		put_text(sink, "type", line->op_type, strlen(line->op_type));
	}
	if (line->provider) {
		sink_text(sink, ",");
		put_text(sink, "provider", line->provider, strlen(line->provider));
	}
	if (line->work)
		sink_format(sink, ",\"work\":\"%s\"", line->work);
	if (line->is_copy)
		sink_text(sink, ",\"copy\":true");
	if (line->bytes_count)
		sink_format(sink, ",\"bytes\":%" PRIu64 ",\"bytes_ns\":%" PRId64, line->bytes, line->bytes_ns);
	if (by == EPP_BY_OP_TYPE)
		sink_format(sink, ",\"kernels\":%" PRIu64 ",\"device\":%" PRId64, line->device_count, line->device_ns);
	if (by == EPP_BY_OP)
		sink_format(sink, ",\"category\":\"%s\"", export_category(line->category));
	sink_format(sink, ",\"total\":%" PRId64 ",\"self\":%" PRId64 ",\"busy\":%" PRId64, line->total_ns,
	            line->self_ns, line->busy_ns);
	put_histogram(sink, "durations", line->durations);
	/* The page has no column for the times from launch to start of the kernels that an op launched. */
	put_histogram(sink, "launches", by == EPP_BY_OP || by == EPP_BY_OP_TYPE ? NULL : line->launches);
	put_histogram(sink, "gaps", line->gaps);
	if (by == EPP_BY_STREAM) {
		sink_text(sink, ",\"idle\":[");
		for (unsigned cause = 0; cause < EPP_IDLE_COUNT; cause++)
			sink_format(sink, "%s%" PRId64, cause ? "," : "", line->idle_ns[cause]);
		sink_text(sink, "]");
	}
	sink_text(sink, "}");
}

static int longest_first(const void *a, const void *b)
{
	const epp_summary_line *left = &(*(struct accumulator_line *const *)a)->line;
	const epp_summary_line *right = &(*(struct accumulator_line *const *)b)->line;

	if (left->total_ns != right->total_ns)
		return left->total_ns < right->total_ns ? 1 : -1;
	return strcmp(left->name, right->name);
}

static void put_tables(struct sink *sink, struct accumulator *accumulator)
{
	static const char *const names[EPP_BY_COUNT] = { "ops", "kernels", "streams", "threads", "phases", "types" };

	sink_text(sink, ",\"tables\":{");
	for (unsigned by = 0; by < EPP_BY_COUNT; by++) {
		struct accumulator_table *table = &accumulator->tables[by];
		size_t shown = table->lines_count < LINES_MAX ? table->lines_count : LINES_MAX;
		if (table->lines_count)
			qsort(table->lines, table->lines_count, sizeof *table->lines, longest_first);
		sink_format(sink, "%s\"%s\":{\"all\":%zu,\"lines\":[", by ? "," : "", names[by], table->lines_count);
		for (size_t i = 0; i < shown; i++) {
			sink_text(sink, i ? "," : "");
			put_line(sink, by, &table->lines[i]->line);
		}
		sink_text(sink, "]}");
	}
	sink_text(sink, "}");
}

/* ---- losses ---- */

static epp_status *put_losses(struct export_run *run, struct sink *sink)
{
	size_t count = ledger_count(run);
	struct ledger_total total;
	bool any = false;

	EPP_TRY(ledger_add_up(run, &total));
	sink_format(sink, ",\"lost\":%" PRIu64 ",\"balanced\":%s,\"losses\":[", total.lost,
	            total.balanced ? "true" : "false");
	for (size_t i = 0; i < count; i++) {
		epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
		EPP_TRY(ledger_at(run, i, &account));
		if (!account.track || !account.lost_total)
			continue;
		sink_format(sink, "%s{\"track\":%u,\"lost\":%" PRIu64 ",\"policy\":%" PRIu64 "}", any ? "," : "",
		            account.track, account.lost_total, account.lost[EPP_LOSS_POLICY]);
		any = true;
	}
	sink_text(sink, "],\"ledger\":");
	return ledger_write(run, sink);
}

static void put_runs(const struct export_run *run, struct sink *sink)
{
	epp_trace_run one = { .struct_size = sizeof(one) };

	sink_text(sink, ",\"runs\":[");
	for (size_t i = 0; epp_trace_run_at(run->trace, i, &one); i++) {
		sink_format(sink, "%s{\"run\":%u,\"start\":%" PRId64, i ? "," : "", one.run, one.start_ns);
		if (one.ended)
			sink_format(sink, ",\"end\":%" PRId64, one.end_ns);
		sink_text(sink, "}");
	}
	sink_text(sink, "]");
}

/* The maximum number of values for the strip that shows the whole trace. */
#define STRIP_VALUES 512u

/* Writes the busy time of each piece of the trace's time, in thousandths of that of the busiest piece. */
static void put_busy(struct sink *sink, const char *key, const int64_t *busy_ns, size_t count, size_t width)
{
	int64_t sums[STRIP_VALUES] = { 0 }, most = 1;

	for (size_t i = 0; i < count; i++)
		sums[i / width] += busy_ns[i];
	for (size_t i = 0; i < STRIP_VALUES; i++)
		most = sums[i] > most ? sums[i] : most;
	sink_format(sink, ",\"%s\":[", key);
	for (size_t i = 0; i * width < count; i++)
		sink_format(sink, "%s%.0f", i ? "," : "", (double)sums[i] / (double)most * 1000);
	sink_text(sink, "]");
}

/* Writes the data for the strip with the whole trace, if the page shows only a part. */
static void put_overview(struct sink *sink, const struct html_part *part, int64_t last_ns)
{
	if (!part->any)
		return;
	uint64_t piece_ns = (uint64_t)part->piece_ns, length_ns = (uint64_t)last_ns - (uint64_t)part->first_ns;
	size_t count = length_ns / piece_ns < HTML_PIECES_COUNT ? (size_t)(length_ns / piece_ns) + 1 : HTML_PIECES_COUNT;
	size_t width = (count + STRIP_VALUES - 1) / STRIP_VALUES;
	sink_format(sink, ",\"whole\":{\"from\":%" PRId64 ",\"to\":%" PRId64, part->first_ns,
	            (int64_t)((uint64_t)part->first_ns + count * piece_ns));
	put_busy(sink, "threads", part->thread_ns, count, width);
	put_busy(sink, "devices", part->device_ns, count, width);
	sink_text(sink, "}");
}

static void put_head(const struct export_run *run, struct sink *sink, const struct html *html)
{
	static const char *const policies[] = { "stream", "ring", "stop" };
	const epp_summary_totals *totals = &html->accumulator.totals;

	sink_text(sink, "{\"trace\":{");
	facts_write_json(run, sink);
	sink_format(sink, "},\"policy\":\"%s\",\"base_ns\":%" PRId64 ",\"shown\":%" PRIu64 ",\"events\":%" PRIu64,
	            policies[run->info->policy < 3 ? run->info->policy : 0], html->columns.base_ns,
	            html->columns.events_count, html->events_count);
	if (html->partial) {
		sink_format(sink, ",\"part\":{\"from\":%" PRId64 ",\"to\":%" PRId64 ",\"cut\":%" PRIu64 ",\"chosen\":%s}",
		            html->from_ns, html->to_ns < totals->last_ns ? html->to_ns : totals->last_ns, html->cut,
		            html->chosen ? "true" : "false");
		put_overview(sink, &html->part, totals->last_ns);
	}
	sink_format(sink, ",\"args_left_out\":%" PRIu64 ",\"filtered\":%" PRIu64, html->columns.args.left_out,
	            run->filtered);
	sink_format(sink, ",\"first\":%" PRId64 ",\"last\":%" PRId64, totals->first_ns, totals->last_ns);
	sink_format(sink, ",\"host_events\":%" PRIu64 ",\"device_events\":%" PRIu64 ",\"instants\":%" PRIu64,
	            totals->host_events, totals->device_events, totals->instants);
	sink_format(sink, ",\"counters\":%" PRIu64 ",\"unended\":%" PRIu64, totals->counters, totals->unended);
}

epp_status *html_facts_put(struct export_run *run, struct html *html)
{
	struct sink *sink = &html->text.sink;

	put_head(run, sink, html);
	put_runs(run, sink);
	put_processes(sink, &html->rows);
	put_rows(sink, &html->rows);
	put_tables(sink, &html->accumulator);
	EPP_TRY(html_requests_put(&html->requests, run->timeline, sink));
	EPP_TRY(put_losses(run, sink));
	EPP_TRY(html_advice_put(run, html));
	sink_text(sink, "}");
	return args_text_take(&html->text);
}
