/* Prints a summary for programs: CSV and JSON, times in nanoseconds. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "summary.h"

static const char *const kind_names[EPP_BY_COUNT] = { "op", "kernel", "stream", "thread", "phase", "op_type" };

static size_t shown_count(const struct summary *summary, unsigned kind)
{
	size_t count = summary->tables[kind].count;

	return !summary->shown[kind] ? 0 : count < summary->top ? count : summary->top;
}

static int64_t mean_ns(const epp_summary_line *line)
{
	return line->count ? line->total_ns / (int64_t)line->count : 0;
}

/* ---- CSV ---- */

/* Prints the error bounds of a stream's events (median, 99.9th percentile, maximum; in ns), and the number of events
 * for each way in which their times were placed on the host's clock: "fitted:700 formula:11". */
static void print_csv_placing(const epp_summary_line *line)
{
	bool any = false;

	printf(",%" PRId64 ",%" PRId64 ",%" PRId64 ",", epp_histogram_quantile(line->errors, 0.5),
	       epp_histogram_quantile(line->errors, 0.999), line->max_error_ns);
	for (unsigned placement = 0; placement < EPP_PLACEMENT_COUNT; placement++) {
		if (!line->placed_count[placement])
			continue;
		printf("%s%s:%" PRIu64, any ? " " : "", epp_placement_name(placement), line->placed_count[placement]);
		any = true;
	}
}

static void print_csv_line(unsigned kind, const epp_summary_line *line)
{
	const char *where = kind == EPP_BY_OP ? cli_category(line->category) : line->group ? line->group : "";

	if (line->provider)
		where = line->provider;

	printf("%s,", kind_names[kind]);
	cli_csv_string(line->name, line->name_bytes);
	printf(",");
	cli_csv_string(where, strlen(where));
	printf(",%" PRIu64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",", line->count,
	       line->total_ns, line->self_ns, mean_ns(line), epp_histogram_quantile(line->durations, 0.5),
	       epp_histogram_quantile(line->durations, 0.99), line->max_ns);
	if (kind == EPP_BY_STREAM || kind == EPP_BY_THREAD)
		printf("%" PRId64, line->busy_ns);
	printf(",");
	if (epp_histogram_count(line->launches))
		printf("%" PRId64, epp_histogram_quantile(line->launches, 0.5));
	printf(",%" PRIu64 ",%" PRId64, line->warmup_count, line->warmup_ns);
	printf(",");
	cli_csv_string(line->op_type ? line->op_type : "", line->op_type ? strlen(line->op_type) : 0);
	if (kind == EPP_BY_OP_TYPE || kind == EPP_BY_OP)
		printf(",%" PRIu64 ",%" PRId64, line->device_count, line->device_ns);
	else
		printf(",,");
	for (unsigned cause = 0; cause < EPP_IDLE_COUNT; cause++) {
		printf(",");
		if (kind == EPP_BY_STREAM)
			printf("%" PRId64, line->idle_ns[cause]);
	}
	if (kind == EPP_BY_STREAM)
		print_csv_placing(line);
	else
		printf(",,,,");
	printf(",%s", line->work ? line->work : "");
	if (line->bytes_count)
		printf(",%" PRIu64 ",%" PRIu64 ",%" PRId64, line->bytes, line->bytes_count, line->bytes_ns);
	else
		printf(",,,");
	if (epp_histogram_count(line->launches))
		printf(",%" PRId64 ",%" PRId64 "\n", epp_histogram_quantile(line->launches, 0.99),
		       epp_histogram_quantile(line->launches, 1));
	else
		printf(",,\n");
}

/* Prints a row for each way in which device events can be joined to a host event: its name and the number of events.
 * The other columns are empty. */
static void print_csv_joins(const epp_timeline_counts *counts)
{
	const struct {
		const char *name;
		uint64_t count;
	} joins[] = { { "correlated", counts->correlated },
		      { "inferred", counts->inferred },
		      { "ambiguous", counts->ambiguous },
		      { "uncorrelated", counts->uncorrelated } };

	for (size_t i = 0; i < sizeof joins / sizeof *joins; i++)
		printf("join,%s,,%" PRIu64 ",,,,,,,,,,,,,,,,,,,,,,,,,,,\n", joins[i].name, joins[i].count);
}

void summary_print_csv(const struct summary *summary)
{
	printf(
	    "kind,name,of,count,total_ns,self_ns,mean_ns,p50_ns,p99_ns,max_ns,busy_ns,launch_p50_ns,"
	    "warmup_count,warmup_ns,op_type,device_count,device_ns,idle_unlaunched_ns,idle_copy_ns,idle_late_ns,idle_unknown_ns,"
	    "error_p50_ns,error_p999_ns,error_max_ns,placed,work,bytes,bytes_count,bytes_ns,launch_p99_ns,launch_max_ns\n");
	for (unsigned kind = 0; kind < EPP_BY_COUNT; kind++) {
		for (size_t i = 0; i < shown_count(summary, kind); i++)
			print_csv_line(kind, summary->tables[kind].lines[i]);
	}
	if (summary->shown[EPP_BY_STREAM] && summary->totals->device_events)
		print_csv_joins(summary->totals->counts);
}

/* ---- JSON ---- */

static void print_json_text(const char *key, const char *text)
{
	printf("\"%s\": ", key);
	cli_json_string(text ? text : "", text ? strlen(text) : 0);
	printf(", ");
}

static void print_json_idle(const epp_summary_line *line)
{
	printf(", \"idle_unlaunched_ns\": %" PRId64 ", \"idle_copy_ns\": %" PRId64 ", \"idle_late_ns\": %" PRId64
	       ", \"idle_unknown_ns\": %" PRId64 ", \"gaps\": %" PRIu64 ", \"gap_p50_ns\": %" PRId64
	       ", \"gap_p99_ns\": %" PRId64,
	       line->idle_ns[EPP_IDLE_UNLAUNCHED], line->idle_ns[EPP_IDLE_COPY], line->idle_ns[EPP_IDLE_LATE],
	       line->idle_ns[EPP_IDLE_UNKNOWN], epp_histogram_count(line->gaps),
	       epp_histogram_quantile(line->gaps, 0.5), epp_histogram_quantile(line->gaps, 0.99));
}

static void print_json_placing(const epp_summary_line *line)
{
	bool any = false;

	printf(", \"error_p50_ns\": %" PRId64 ", \"error_p999_ns\": %" PRId64 ", \"error_max_ns\": %" PRId64
	       ", \"placed\": {",
	       epp_histogram_quantile(line->errors, 0.5), epp_histogram_quantile(line->errors, 0.999), line->max_error_ns);
	for (unsigned placement = 0; placement < EPP_PLACEMENT_COUNT; placement++) {
		if (!line->placed_count[placement])
			continue;
		printf("%s\"%s\": %" PRIu64, any ? ", " : "", epp_placement_name(placement),
		       line->placed_count[placement]);
		any = true;
	}
	printf("}");
}

static void print_json_line(unsigned kind, const epp_summary_line *line)
{
	printf("    {\"name\": ");
	cli_json_string(line->name, line->name_bytes);
	printf(", ");
	if (kind == EPP_BY_OP)
		print_json_text("category", cli_category(line->category));
	else if (kind == EPP_BY_STREAM || kind == EPP_BY_THREAD)
		print_json_text(kind == EPP_BY_STREAM ? "device" : "process", line->group);
	if (line->op_type)
		print_json_text("op_type", line->op_type);
	if (line->work)
		print_json_text("work", line->work);
	if (line->bytes_count)
		printf("\"bytes\": %" PRIu64 ", \"bytes_count\": %" PRIu64 ", \"bytes_ns\": %" PRId64 ", ", line->bytes,
		       line->bytes_count, line->bytes_ns);
	if (kind == EPP_BY_OP_TYPE)
		print_json_text("provider", line->provider);
	if (kind == EPP_BY_OP_TYPE || line->device_count) {
		printf("\"device_count\": %" PRIu64 ", \"device_ns\": %" PRId64 ", ", line->device_count, line->device_ns);
	}
	printf("\"count\": %" PRIu64 ", \"total_ns\": %" PRId64 ", \"self_ns\": %" PRId64 ", \"mean_ns\": %" PRId64
	       ", \"p50_ns\": %" PRId64 ", \"p99_ns\": %" PRId64 ", \"max_ns\": %" PRId64,
	       line->count, line->total_ns, line->self_ns, mean_ns(line), epp_histogram_quantile(line->durations, 0.5),
	       epp_histogram_quantile(line->durations, 0.99), line->max_ns);
	if (kind == EPP_BY_STREAM || kind == EPP_BY_THREAD)
		printf(", \"busy_ns\": %" PRId64, line->busy_ns);
	if (epp_histogram_count(line->launches))
		printf(", \"launch_p50_ns\": %" PRId64 ", \"launch_p99_ns\": %" PRId64 ", \"launch_max_ns\": %" PRId64,
		       epp_histogram_quantile(line->launches, 0.5), epp_histogram_quantile(line->launches, 0.99),
		       epp_histogram_quantile(line->launches, 1));
	if (line->warmup_count)
		printf(", \"warmup_count\": %" PRIu64 ", \"warmup_ns\": %" PRId64, line->warmup_count, line->warmup_ns);
	if (kind == EPP_BY_STREAM) {
		print_json_idle(line);
		print_json_placing(line);
	}
	printf("}");
}

void summary_print_json(const struct summary *summary)
{
	const epp_trace_info *info = epp_trace_get_info(summary->trace);
	const epp_summary_totals *totals = summary->totals;

	printf("{\n  ");
	print_json_text("trace", summary->path);
	print_json_text("program", info->program);
	print_json_text("hostname", info->hostname);
	print_json_text("state", cli_state(info->state));
	accounts_print_missing_json(&summary->accounts);
	printf("\"pid\": %u,\n  \"wall_ns\": %" PRId64 ", \"host_events\": %" PRIu64 ", \"device_events\": %" PRIu64
	       ", \"instants\": %" PRIu64 ", \"counters\": %" PRIu64 ", \"unended\": %" PRIu64 ",\n",
	       info->pid, totals->last_ns - totals->first_ns, totals->host_events, totals->device_events,
	       totals->instants, totals->counters, totals->unended);
	if (totals->runs_kept && totals->weighted)
		printf("  \"runs_kept\": %" PRIu64 ", \"runs_count\": %" PRIu64
		       ", \"runs_count_error\": %.0f, \"runs_ns\": %" PRId64 ", \"runs_ns_error\": %.0f,\n",
		       totals->runs_kept, totals->runs_count, sqrt(totals->runs_count_variance), totals->runs_ns,
		       sqrt(totals->runs_ns_variance));
	if (totals->kernels_only_count)
		printf("  \"kernels_only_count\": %" PRIu64 ",\n", totals->kernels_only_count);
	printf("  \"correlated\": %" PRIu64 ", \"inferred\": %" PRIu64 ", \"ambiguous\": %" PRIu64
	       ", \"uncorrelated\": %" PRIu64 ", \"outside_parent\": %" PRIu64 ", \"largest_error_ns\": %" PRId64 ",\n",
	       totals->counts->correlated, totals->counts->inferred, totals->counts->ambiguous,
	       totals->counts->uncorrelated, totals->counts->outside_parent, totals->counts->largest_error_ns);
	printf("  \"lost\": %" PRIu64 ", \"balanced\": %s, \"damage\": %u", summary->accounts.lost_total,
	       summary->accounts.balanced ? "true" : "false", summary->accounts.damage_count);
	for (unsigned kind = 0; kind < EPP_BY_COUNT; kind++) {
		if (!summary->shown[kind])
			continue;
		printf(",\n  \"%ss\": [", kind_names[kind]);
		for (size_t i = 0; i < shown_count(summary, kind); i++) {
			printf(i ? ",\n" : "\n");
			print_json_line(kind, summary->tables[kind].lines[i]);
		}
		printf("\n  ]");
	}
	printf("\n}\n");
}
