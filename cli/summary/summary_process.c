/* Selects the processes of a trace by a pattern, and prints a summary with one line for each process.  The trace is
 * read once for each process; in a merged trace, only the blocks of this process are read. */
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "summary.h"

bool summary_match(epp_trace *trace, const char *pattern, uint8_t **sources, size_t *count)
{
	epp_trace_source source = { .struct_size = sizeof(source) };
	bool any = false;
	char pid[16];

	*count = epp_trace_get_info(trace)->sources_count;
	*sources = calloc(*count + 1, 1);
	for (size_t i = 0; *sources && epp_trace_source_at(trace, i, &source); i++) {
		snprintf(pid, sizeof pid, "%u", source.pid);
		(*sources)[i] = !fnmatch(pattern, pid, 0) || !fnmatch(pattern, source.program, 0) ||
		                !fnmatch(pattern, source.label, 0) || !fnmatch(pattern, source.hostname, 0);
		any = any || (*sources)[i];
	}
	return any;
}

struct process {
	epp_trace_source source;
	epp_summary_totals totals;
	int64_t host_busy_ns, device_busy_ns;
	uint64_t lost;
};

static int64_t busy_of(const epp_summary *summary, epp_summary_by by)
{
	int64_t busy_ns = 0;

	for (size_t i = 0; i < epp_summary_lines_count(summary, by); i++)
		busy_ns += epp_summary_line_at(summary, by, i)->busy_ns;
	return busy_ns;
}

static epp_status *sum_up(epp_trace *trace, size_t index, struct process *process)
{
	size_t count = epp_trace_get_info(trace)->sources_count;
	uint8_t *wanted = calloc(count, 1);
	epp_timeline_options window = { .struct_size = sizeof window, .sources = wanted, .sources_count = count };
	const epp_summary_options options = { .struct_size = sizeof options, .timeline = &window };
	epp_summary *summary = NULL;

	if (!wanted)
		return epp_status_no_memory();
	wanted[index] = 1;
	epp_status *status = epp_summary_create(trace, &options, &summary);
	if (!status) {
		process->totals = *epp_summary_get_totals(summary);
		process->host_busy_ns = busy_of(summary, EPP_BY_THREAD);
		process->device_busy_ns = busy_of(summary, EPP_BY_STREAM);
	}
	epp_summary_destroy(summary);
	free(wanted);
	return status;
}

/* Adds up the losses of each process.  As in accounts_add_up, an event of a profiler that could not be stored counts
 * once, although two entries of the ledger count it. */
static epp_status *add_losses(epp_trace *trace, struct process *processes, size_t count)
{
	size_t accounts_count = epp_trace_ledger_count(trace);

	for (size_t i = 0; i < accounts_count; i++) {
		epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
		epp_status *status = epp_trace_ledger_at(trace, i, &account);
		if (status)
			return status;
		if (account.source >= count)
			continue;
		processes[account.source].lost += account.lost_total;
		if (account.is_plugin)
			processes[account.source].lost -= account.lost[EPP_LOSS_DISK] + account.lost[EPP_LOSS_POLICY];
	}
	return NULL;
}

/* ---- printing ---- */

static void print_text(const struct process *processes, const uint8_t *shown, size_t count)
{
	struct cli_table *table = cli_table_create(
	    "process|pid|?began|wall|host events|?busy|device events|?busy|lost|?<host|<label");
	char text[CLI_NUMBER_BYTES];

	for (size_t i = 0; i < count; i++) {
		const struct process *process = &processes[i];
		if (!shown[i])
			continue;
		cli_table_count(table, process->source.source);
		snprintf(text, sizeof text, "%u", process->source.pid);
		cli_table_cell(table, text);
		cli_table_duration(table, (double)process->totals.first_ns);
		cli_table_duration(table, (double)(process->totals.last_ns - process->totals.first_ns));
		cli_table_count(table, process->totals.host_events);
		cli_table_duration(table, (double)process->host_busy_ns);
		cli_table_count(table, process->totals.device_events);
		cli_table_duration(table, (double)process->device_busy_ns);
		cli_table_count(table, process->lost);
		cli_table_cell(table, process->source.hostname);
		cli_table_cell(table, process->source.label);
	}
	printf("By process\n");
	cli_table_print(table);
}

static void print_text_field(const char *key, const char *text, bool json)
{
	if (json)
		printf("\"%s\": ", key);
	if (json)
		cli_json_string(text, strlen(text));
	else
		cli_csv_string(text, strlen(text));
	printf(json ? ", " : ",");
}

static void print_number(const char *key, int64_t number, const char *behind, bool json)
{
	if (json)
		printf("\"%s\": %" PRId64 "%s", key, number, behind);
	else
		printf("%" PRId64 "%s", number, *behind == ',' ? "," : "\r\n");
}

static void print_data(const struct process *processes, const uint8_t *shown, size_t count, bool json)
{
	bool any = false;

	printf(json ? "{\"processes\": ["
	            : "process,pid,host,program,label,first_ns,last_ns,host_events,host_busy_ns,device_events,"
	              "device_busy_ns,lost\r\n");
	for (size_t i = 0; i < count; i++) {
		const struct process *process = &processes[i];
		if (!shown[i])
			continue;
		if (json)
			printf(any ? ",\n  {" : "\n  {");
		any = true;
		print_number("process", process->source.source, ", ", json);
		print_number("pid", process->source.pid, ", ", json);
		print_text_field("host", process->source.hostname, json);
		print_text_field("program", process->source.program, json);
		print_text_field("label", process->source.label, json);
		print_number("first_ns", process->totals.first_ns, ", ", json);
		print_number("last_ns", process->totals.last_ns, ", ", json);
		print_number("host_events", (int64_t)process->totals.host_events, ", ", json);
		print_number("host_busy_ns", process->host_busy_ns, ", ", json);
		print_number("device_events", (int64_t)process->totals.device_events, ", ", json);
		print_number("device_busy_ns", process->device_busy_ns, ", ", json);
		print_number("lost", (int64_t)process->lost, "}", json);
	}
	if (json)
		printf("\n]}\n");
}

/* ---- the summary ---- */

static epp_status *fill(epp_trace *trace, struct process *processes, const uint8_t *shown, size_t count)
{
	epp_status *status = add_losses(trace, processes, count);

	for (size_t i = 0; i < count && !status; i++) {
		processes[i].source.struct_size = sizeof(processes[i].source);
		epp_trace_source_at(trace, i, &processes[i].source);
		if (shown[i])
			status = sum_up(trace, i, &processes[i]);
	}
	return status;
}

int summary_by_process(const char *path, const char *pattern, enum summary_format format, bool strict)
{
	struct accounts accounts;
	struct process *processes = NULL;
	uint8_t *shown = NULL;
	epp_trace *trace;
	size_t count;

	int code = cli_open(path, &trace);
	if (code != CLI_OK)
		return code;
	bool any = summary_match(trace, pattern ? pattern : "*", &shown, &count);
	processes = calloc(count, sizeof *processes);
	if (!shown || !processes) {
		code = cli_failure(epp_status_no_memory());
	} else if (!any) {
		code = summary_no_process(pattern);
	} else {
		epp_status *status = fill(trace, processes, shown, count);
		if (!status)
			status = accounts_add_up(&accounts, trace);
		cli_progress_end();
		if (status)
			code = cli_unreadable(epp_status_prefix(status, "%s", path));
		else if (format == SUMMARY_TEXT)
			print_text(processes, shown, count);
		else
			print_data(processes, shown, count, format == SUMMARY_JSON);
		if (code == CLI_OK && strict)
			code = accounts_strict(&accounts);
	}
	free(processes);
	free(shown);
	epp_trace_close(trace);
	return code;
}

int summary_no_process(const char *pattern)
{
	cli_progress_end();
	fprintf(stderr, "epprof: no process matches '%s'\n", pattern);
	return CLI_FAILURE;
}
