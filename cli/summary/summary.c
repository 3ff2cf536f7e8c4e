/* epprof summary: adds up time by op, kernel, stream and thread. */
#include "summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: epprof summary [OPTION]... TRACE\n"
    "\n"
    "Sums up the events of a trace: by operator type (Conv, MatMul) and execution provider, by op (host events,\n"
    "by name and category), by kernel (device events, by name and by the operator type of the node that caused\n"
    "them), by stream, by thread and by phase: submit (calls that launch), queue (from the launch to the start),\n"
    "compute, and copies and fills by kind.  The kind of a device event is read from its arg kind (kernel,\n"
    "memset, memcpy, and with a direction memcpy_htod, memcpy_dtoh, memcpy_dtod) or cat (kernel, gpu_memcpy,\n"
    "gpu_memset); otherwise from its name: a fill contains \"memset\";\n"
    "a copy contains \"copy\", \"memcpy\" or \"transfer\"; a copy to the device contains \"copy in\", \"upload\", \"h2d\",\n"
    "\"htod\" or \"host to device\"; a copy from the device contains \"copy out\", \"download\", \"d2h\", \"dtoh\" or\n"
    "\"device to host\".\n"
    "\n"
    "  total    sum of the durations\n"
    "  self     total without the time of nested events on the same thread or stream\n"
    "  of run   operator types: self time relative to the time of all runs of the model\n"
    "  busy     streams and threads: time that is covered by events\n"
    "  launch   kernels: time from the submission to the start of the kernel, if its profiler measures the\n"
    "           submission; otherwise from the start of the host event, or from the end of the last wait inside\n"
    "           the host event, if that ended before the kernel started; calls: the same times of the kernels\n"
    "           that the call launched\n"
    "  launched, on devices  for calls: number of the device events that they caused, and sum of their durations\n"
    "  idle     streams: time without work, by cause.  unlaunched: until the host launched work; copy: while a\n"
    "           copy ran on the device; late: from then to the start of the work; unknown: the event that ended\n"
    "           the gap has no host event\n"
    "  bytes    copies and fills: sum of the arg bytes; rate: bytes divided by the time of the events with it\n"
    "  placed   streams: how device times were converted to host time, with the error bounds\n"
    "\n"
    "p50 and p99 are within 1 % of the true value; all other numbers are exact.  Events without an end count up\n"
    "to the end of the trace.\n"
    "\n"
    "Options:\n"
    "  --by WHAT        only one table: op-type, op, kernel, call, stream, thread, phase, or process (one row\n"
    "                   per process); call: ops of category Api, and ops that launched device events\n"
    "  --process PATTERN  only events of processes whose number, program, label or host matches; losses are\n"
    "                   those of all processes\n"
    "  --trace-id ID    only events of requests with this W3C trace id\n"
    "  --sort COLUMN    total (the default), self, count, mean, p50, p99, max or name\n"
    "  --top N          at most N rows per table; the default is 20 for text, 0 (all) for csv and json\n"
    "  --histogram PATTERN  instead of tables, a histogram of the durations of matching ops and kernels: 'gemm*'\n"
    "  --format FORMAT  text (a narrow terminal shows fewer columns), csv or json (times in ns)\n"
    "  --warmup N       count the first N events of each op and kernel as warm-up, in a column of their own\n"
    "  --strict         exit with status 3 if events were lost or the counts do not add up\n"
    "  --help           print this text\n";

enum sort { SORT_TOTAL, SORT_SELF, SORT_COUNT, SORT_MEAN, SORT_P50, SORT_P99, SORT_MAX, SORT_NAME };

static int64_t sort_value(const epp_summary_line *line, enum sort sort)
{
	switch (sort) {
	case SORT_SELF:
		return line->self_ns;
	case SORT_COUNT:
		return (int64_t)line->count;
	case SORT_MEAN:
		return line->count ? line->total_ns / (int64_t)line->count : 0;
	case SORT_P50:
		return epp_histogram_quantile(line->durations, 0.5);
	case SORT_P99:
		return epp_histogram_quantile(line->durations, 0.99);
	case SORT_MAX:
		return line->max_ns;
	default:
		return line->total_ns;
	}
}

static int compare_lines(const void *a, const void *b, void *context)
{
	const epp_summary_line *left = *(const epp_summary_line *const *)a;
	const epp_summary_line *right = *(const epp_summary_line *const *)b;
	enum sort sort = *(enum sort *)context;

	if (sort != SORT_NAME) {
		int64_t left_value = sort_value(left, sort), right_value = sort_value(right, sort);
		if (left_value != right_value)
			return left_value < right_value ? 1 : -1;
	}
	return strcmp(left->name, right->name);
}

/* ---- adding up a trace ---- */

static bool take_lines(struct summary *summary, unsigned kind, int sort)
{
	size_t count = epp_summary_lines_count(summary->all, kind);
	const epp_summary_line **lines = calloc(count + 1, sizeof(const epp_summary_line *));

	if (!lines)
		return false;
	for (size_t i = 0; i < count; i++)
		lines[i] = epp_summary_line_at(summary->all, kind, i);
	qsort_r(lines, count, sizeof(const epp_summary_line *), compare_lines, &(enum sort){ (enum sort)sort });
	summary->tables[kind].lines = lines;
	summary->tables[kind].count = count;
	return true;
}

int summary_open(struct summary *summary, const char *path, int sort, uint64_t warmup_count, const char *process,
                 const char *trace_id)
{
	epp_timeline_options window = { .struct_size = sizeof window };

	memset(summary, 0, sizeof *summary);
	int code = cli_open(path, &summary->trace);
	if (code != CLI_OK)
		return code;
	if (process && !summary_match(summary->trace, process, &summary->sources, &window.sources_count)) {
		bool no_memory = !summary->sources;
		summary_close(summary);
		return no_memory ? cli_failure(epp_status_no_memory()) : summary_no_process(process);
	}
	window.sources = summary->sources;
	window.trace_id = trace_id;
	const epp_summary_options options = { .struct_size = sizeof options,
		                              .timeline = &window,
		                              .warmup_count = warmup_count };
	epp_status *status = epp_summary_create(summary->trace, &options, &summary->all);
	if (!status)
		status = accounts_add_up(&summary->accounts, summary->trace);
	if (status) {
		summary_close(summary);
		return cli_unreadable(epp_status_prefix(status, "%s", path));
	}
	for (unsigned kind = 0; kind < EPP_BY_COUNT; kind++) {
		if (!take_lines(summary, kind, sort)) {
			summary_close(summary);
			return cli_failure(epp_status_no_memory());
		}
	}
	cli_progress_end();
	summary->totals = epp_summary_get_totals(summary->all);
	summary->path = path;
	summary->warmup_count = warmup_count;
	return CLI_OK;
}

bool summary_is_call(const epp_summary_line *line)
{
	return line->category == EPP_API || line->device_count;
}

void summary_close(struct summary *summary)
{
	for (unsigned kind = 0; kind < EPP_BY_COUNT; kind++)
		free(summary->tables[kind].lines);
	epp_summary_destroy(summary->all);
	epp_trace_close(summary->trace);
	free(summary->sources);
}

/* Removes all lines except calls from the table of ops. */
static void keep_calls(struct summary *summary)
{
	const epp_summary_line **lines = summary->tables[EPP_BY_OP].lines;
	size_t kept = 0;

	for (size_t i = 0; i < summary->tables[EPP_BY_OP].count; i++)
		if (summary_is_call(lines[i]))
			lines[kept++] = lines[i];
	summary->tables[EPP_BY_OP].count = kept;
}

/* Values of --by in addition to those of epp_summary_by. */
enum { BY_PROCESS = EPP_BY_COUNT, BY_CALL };

static int run(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "by", required_argument, NULL, 'b' },      { "sort", required_argument, NULL, 's' },
		{ "top", required_argument, NULL, 'n' },     { "format", required_argument, NULL, 'f' },
		{ "warmup", required_argument, NULL, 'w' },  { "histogram", required_argument, NULL, 'H' },
		{ "process", required_argument, NULL, 'P' }, { "trace-id", required_argument, NULL, 'Q' },
		{ "strict", no_argument, NULL, 'S' },        { 0 }
	};
	static const char *const bys[] = { "op",      "kernel",  "stream", "thread", "phase",
		                           "op-type", "process", "call",   NULL };
	static const char *const sorts[] = { "total", "self", "count", "mean", "p50", "p99", "max", "name", NULL };
	static const char *const formats[] = { "text", "csv", "json", NULL };
	struct cli_options options = { &cli_summary, argc, argv, "", long_options, CLI_OK };
	int option, by = -1, format = 0, sort = 0;
	struct summary summary;
	const char *histogram = NULL;
	bool strict = false;
	long long top = -1, warmup_count = 0;
	const char *process = NULL, *trace_id = NULL;

	while ((option = cli_options_next(&options)) != CLI_END) {
		if (option == CLI_STOP)
			return options.exit;
		if (option == 'b' && (by = cli_choice(&cli_summary, "--by", bys)) < 0)
			return CLI_USAGE;
		if (option == 's' && (sort = cli_choice(&cli_summary, "--sort", sorts)) < 0)
			return CLI_USAGE;
		if (option == 'f' && (format = cli_choice(&cli_summary, "--format", formats)) < 0)
			return CLI_USAGE;
		if (option == 'n' && !cli_number(&cli_summary, "--top", 0, INT64_MAX, &top))
			return CLI_USAGE;
		if (option == 'w' && !cli_number(&cli_summary, "--warmup", 0, INT64_MAX, &warmup_count))
			return CLI_USAGE;
		if (option == 'H')
			histogram = optarg;
		if (option == 'P')
			process = optarg;
		if (option == 'Q')
			trace_id = optarg;
		strict = strict || option == 'S';
	}
	const char *path = cli_options_trace(&options);
	if (!path)
		return options.exit;
	if (by == BY_PROCESS && trace_id)
		return cli_misuse(&cli_summary, "--trace-id does not apply to --by process");
	if (by == BY_PROCESS)
		return summary_by_process(path, process, (enum summary_format)format, strict);
	int code = summary_open(&summary, path, sort, (uint64_t)warmup_count, process, trace_id);
	if (code != CLI_OK)
		return code;
	for (unsigned kind = 0; kind < EPP_BY_COUNT; kind++)
		summary.shown[kind] = by < 0 || by == (int)kind;
	summary.calls = by < 0 || by == BY_CALL;
	if (by == BY_CALL) {
		keep_calls(&summary);
		summary.shown[EPP_BY_OP] = format != SUMMARY_TEXT;
	}
	summary.top = top > 0 ? (size_t)top : top < 0 && format == SUMMARY_TEXT ? 20 : SIZE_MAX;
	if (histogram && !summary_print_histograms(&summary, histogram)) {
		fprintf(stderr, "epprof: %s: no op or kernel '%s'\n", path, histogram);
		code = CLI_FAILURE;
	} else if (histogram) {
		/* The histograms were printed above, and nothing else is printed. */
	} else if (format == SUMMARY_TEXT)
		summary_print_text(&summary);
	else if (format == SUMMARY_CSV)
		summary_print_csv(&summary);
	else
		summary_print_json(&summary);
	if (strict && code == CLI_OK)
		code = accounts_strict(&summary.accounts);
	summary_close(&summary);
	return code;
}

const struct cli_command cli_summary = {
	.name = "summary", .summary = "sums up time by op, kernel, stream, thread and phase", .help = help, .run = run
};
