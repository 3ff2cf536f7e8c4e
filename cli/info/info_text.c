/* Prints the properties of a trace as text, for people. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "epprof/track.h"
#include "info.h"

#define LINES_MAX 20u

/* Prints a date as "2026-11-21 11:46:03.123 UTC". */
static void print_date(int64_t unix_ns)
{
	time_t seconds = (time_t)(unix_ns / 1000000000);
	char text[64];
	struct tm tm;

	if (gmtime_r(&seconds, &tm) && strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm))
		cli_print("%s.%03d UTC", text, (int)(unix_ns / 1000000 % 1000));
}

static void print_text(const char *text)
{
	if (text)
		cli_print_bytes(text, strlen(text));
}

static void print_clock(const struct info *info)
{
	const epp_trace_info *trace = epp_trace_get_info(info->trace);
	char number[CLI_NUMBER_BYTES], counted[CLI_COUNTED_BYTES];
	epp_trace_clock clock = { .struct_size = sizeof(clock) };

	epp_trace_get_clock(info->trace, &clock);
	cli_print("clock     %s, %.6g MHz; ", trace->clock, (double)trace->ticks_per_second / 1e6);
	cli_print("read %s, +-%s at worst", cli_counted(clock.pairs_count, "time", counted),
	          cli_duration((double)clock.largest_half_width_ns, (char[CLI_NUMBER_BYTES]){ 0 }));
	if (clock.rate_error_ppb)
		cli_print("; its rate is %.3f ppm %s", (double)llabs(clock.rate_error_ppb) / 1000,
		          clock.rate_error_ppb > 0 ? "higher" : "lower");
	if (clock.largest_step_ns > 1000000)
		cli_print("; wall-clock time was set, by at most %s", cli_duration((double)clock.largest_step_ns, number));
	cli_print("\n");
}

/* Returns the measured time that recording one event took in the process `source`, in ps; 0: not measured. */
static uint64_t event_cost_ps(const struct info *info, uint32_t source)
{
	epp_trace_run run = { .struct_size = sizeof(run) };

	for (size_t i = 0; epp_trace_run_at(info->trace, i, &run); i++)
		if (run.source == source && run.event_cost_ps)
			return run.event_cost_ps;
	return 0;
}

/* Threads for which recording took most of the time, the first the most. */
#define COSTLY_MAX 3u

struct costly {
	struct {
		char name[CLI_NUMBER_BYTES * 2];
		double ns;
	} threads[COSTLY_MAX];
	double rest_ns;
	size_t rest_count;
};

static void add_costly(struct costly *costly, const char *name, double ns)
{
	double last_ns = costly->threads[COSTLY_MAX - 1].ns;
	size_t place = 0;

	while (place < COSTLY_MAX && costly->threads[place].ns >= ns)
		place++;
	if (place < COSTLY_MAX) {
		memmove(&costly->threads[place + 1], &costly->threads[place],
		        (COSTLY_MAX - 1 - place) * sizeof(costly->threads[0]));
		costly->threads[place].ns = ns;
		snprintf(costly->threads[place].name, sizeof(costly->threads[place].name), "%s", name);
		ns = last_ns;
	}
	costly->rest_ns += ns;
	costly->rest_count += ns > 0;
}

/* Prints what recording cost each of several threads. */
static void print_costly(const struct costly *costly)
{
	char number[CLI_NUMBER_BYTES];

	if (!(costly->threads[1].ns > 0))
		return;
	cli_print("          ");
	for (size_t i = 0; i < COSTLY_MAX && costly->threads[i].ns > 0; i++) {
		cli_print("%s", i ? ", " : "");
		print_text(costly->threads[i].name);
		cli_print(" %s", cli_duration(costly->threads[i].ns, number));
	}
	if (costly->rest_count)
		cli_print(", %zu more %s", costly->rest_count, cli_duration(costly->rest_ns, number));
	cli_print("\n");
}

/* Prints the cost of recording, if it was measured.  Events that were left out on request or by a budget took a small
 * part of the time of an event, so they are not counted. */
static epp_status *print_cost(const struct info *info)
{
	char events_text[CLI_COUNTED_BYTES], sum[CLI_NUMBER_BYTES], each[CLI_NUMBER_BYTES], writing[CLI_NUMBER_BYTES];
	epp_trace_run run = { .struct_size = sizeof(run) };
	uint64_t write_ns = 0, events = 0, left_out_sum = 0, count = epp_trace_ledger_count(info->trace);
	struct costly costly = { .rest_count = 0 };
	double cost_ns = 0;

	for (size_t i = 0; i < count; i++) {
		epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
		epp_status *status = epp_trace_ledger_at(info->trace, i, &account);
		if (status)
			return status;
		uint64_t each_ps = account.track ? event_cost_ps(info, account.source) : 0;
		uint64_t left_out = account.lost[EPP_LOSS_THROTTLED] + account.lost[EPP_LOSS_FILTER];
		uint64_t recorded = account.emitted > left_out ? account.emitted - left_out : 0;
		events += each_ps ? recorded : 0;
		left_out_sum += each_ps ? left_out : 0;
		cost_ns += (double)recorded * (double)each_ps / 1000;
		if (recorded && each_ps)
			add_costly(&costly, account.producer, (double)recorded * (double)each_ps / 1000);
	}
	for (size_t i = 0; epp_trace_run_at(info->trace, i, &run); i++)
		write_ns += run.write_cpu_ns;
	if (!events)
		return NULL;
	cli_print("cost      about %s for %s of threads, %s each without args; %s of CPU time to write",
	          cli_duration(cost_ns, sum), cli_counted(events, "event", events_text),
	          cli_duration(cost_ns / (double)events, each), cli_duration((double)write_ns, writing));
	if (left_out_sum)
		cli_print("; a few ns for each of %s left out", cli_counted(left_out_sum, "event", events_text));
	cli_print("\n");
	print_costly(&costly);
	return NULL;
}

static epp_status *print_head(const struct info *info)
{
	const epp_trace_info *trace = epp_trace_get_info(info->trace);
	char number[CLI_NUMBER_BYTES], counted[CLI_COUNTED_BYTES];
	struct stat st;

	cli_print("trace     %s, %s; format %u, id %s\n", info->path, cli_state(trace->state), trace->version,
	          trace->file_id);
	cli_print("program   ");
	cli_print_process(trace);
	if (trace->label && trace->label[0] && trace->program && strcmp(trace->label, trace->program) != 0) {
		cli_print(", session ");
		print_text(trace->label);
	}
	if (trace->sources_count > 1)
		cli_print(", and %u more process%s", trace->sources_count - 1, trace->sources_count == 2 ? "" : "es");
	cli_print("\nbegan     ");
	print_date(trace->epoch_unix_ns);
	cli_print("\n");
	print_clock(info);
	cli_print("records   %s under %s", cli_count(trace->records_count, number),
	          cli_counted(trace->names_count, "name", counted));
	cli_print(" in %s", cli_bytes(trace->file_bytes, number));
	/* The size on the disk does not include holes.  A finished file has a hole where its window was. */
	if (stat(info->path, &st) == 0) {
		uint64_t bytes = (uint64_t)st.st_blocks * 512;
		cli_print(", %s on disk", cli_bytes(bytes, number));
		if (trace->records_count)
			cli_print(" (%.1f bytes each)", (double)bytes / (double)trace->records_count);
	}
	cli_print("\n");
	epp_status *status = print_cost(info);
	if (status)
		return status;
	if (trace->recovered_records_count)
		cli_print("recovered %s of them from the window of the ended process\n",
		          cli_count(trace->recovered_records_count, number));
	if (trace->open_count)
		cli_print("open      %s\n", cli_counted(trace->open_count, "event", counted));
	if (!trace->survives)
		cli_print(
		    "note      recorded without a shared window: a kill would have lost events that were not yet written\n");
	accounts_print_warnings(&info->accounts, "");
	return NULL;
}

static void print_more(const struct info *info, size_t count)
{
	if (count > LINES_MAX && !info->all)
		cli_print("  ... and %zu more (--all shows them)\n", count - LINES_MAX);
}

/* Prints the processes (sources) of a merged trace.  Other traces have one, and nothing is printed. */
static void print_sources(const struct info *info)
{
	uint32_t count = epp_trace_get_info(info->trace)->sources_count;
	char text[CLI_NUMBER_BYTES];
	epp_trace_source source = { .struct_size = sizeof(source) };

	if (count < 2)
		return;
	struct cli_table *table = cli_table_create("process|pid|<host|<program|<label|<clock|off by");
	for (size_t i = 0; (i < LINES_MAX || info->all) && epp_trace_source_at(info->trace, i, &source); i++) {
		const char *relation = epp_relation_name(source.relation);
		cli_table_count(table, source.source);
		snprintf(text, sizeof text, "%u", source.pid);
		cli_table_cell(table, text);
		cli_table_cell(table, source.hostname);
		cli_table_cell(table, source.program);
		cli_table_cell(table, source.label);
		cli_table_cell(table, relation ? relation : "?");
		if (source.clock_error_ns == INT64_MAX)
			cli_table_cell(table, "unknown");
		else
			cli_table_duration(table, (double)source.clock_error_ns);
	}
	cli_print_heading("Processes");
	cli_table_print(table);
	print_more(info, count);
}

static void print_runs(const struct info *info)
{
	struct cli_table *table = cli_table_create("run|start|length|page faults");
	epp_trace_run run = { .struct_size = sizeof(run) };

	for (size_t i = 0; epp_trace_run_at(info->trace, i, &run); i++) {
		if (i == LINES_MAX && !info->all)
			break;
		cli_table_count(table, run.run);
		cli_table_duration(table, (double)run.start_ns);
		if (run.ended)
			cli_table_duration(table, (double)(run.end_ns - run.start_ns));
		else
			cli_table_cell(table, "not ended");
		cli_table_count(table, run.page_faults);
	}
	cli_print_heading("Runs");
	cli_table_print(table);
}

static const char *clock_text(const epp_trace_track *track, char text[CLI_NUMBER_BYTES])
{
	if (track->clock_kind == EPP_CLOCK_HOST)
		return "host";
	if (track->clock_kind == EPP_CLOCK_DURATION_ONLY)
		return "none (durations only)";
	if (track->clock_kind == 3)
		return "microseconds since start";
	snprintf(text, CLI_NUMBER_BYTES, "own, %.6g MHz", (double)track->ticks_per_second / 1e6);
	return text;
}

static bool is_host(const epp_trace_track *track)
{
	return track->kind == EPP_TRACK_THREAD || track->kind == EPP_TRACK_CALLS;
}

/* Compares tracks for sorting: first threads, with the tracks of calls that plugins report on them, then the others.
 * Within these two, tracks are sorted by group, then by thread id or stream. */
static int by_group(const void *a, const void *b)
{
	const epp_trace_track *left = *(const epp_trace_track *const *)a, *right = *(const epp_trace_track *const *)b;
	int order = is_host(right) - is_host(left);

	if (!order)
		order = strcmp(left->group, right->group);
	if (!order && is_host(left))
		order = (left->thread_id > right->thread_id) - (left->thread_id < right->thread_id);
	if (!order && !is_host(left))
		order = (left->stream > right->stream) - (left->stream < right->stream);
	return order ? order : (left->track > right->track) - (left->track < right->track);
}

static void print_track(struct cli_table *table, const epp_trace_track *track)
{
	char text[CLI_NUMBER_BYTES];

	cli_table_cell(table, track->group);
	cli_table_cell(table, epp_track_kind_name(track->kind));
	snprintf(text, sizeof text, "%" PRId64, is_host(track) ? (int64_t)track->thread_id : track->stream);
	cli_table_cell(table, text);
	cli_table_cell(table, track->name);
	cli_table_cell(table, clock_text(track, text));
}

static void print_tracks(const struct info *info)
{
	const epp_trace_track **tracks = calloc(epp_trace_get_info(info->trace)->tracks_count + 1, sizeof *tracks);
	const epp_trace_track *track;
	size_t count = 0;

	if (!tracks) {
		cli_no_memory();
		return;
	}
	for (size_t i = 0; (track = epp_trace_track_at(info->trace, i)) != NULL; i++) {
		if (info_lists_track(track))
			tracks[count++] = track;
	}
	qsort(tracks, count, sizeof *tracks, by_group);
	struct cli_table *table = cli_table_create("<group|<kind|number|<name|?<clock");
	for (size_t i = 0; i < count && (i < LINES_MAX || info->all); i++)
		print_track(table, tracks[i]);
	free(tracks);
	cli_print_heading("Tracks");
	cli_table_print(table);
	print_more(info, count);
}

static epp_status *print_ledger(const struct info *info)
{
	/* Producers of different processes may have the same name. */
	bool many = epp_trace_get_info(info->trace)->sources_count > 1;
	struct cli_table *table = cli_table_create(many ? "?emitted|written|?open|lost|process|<producer|<why lost"
	                                                : "?emitted|written|?open|lost|<producer|<why lost");
	size_t count = epp_trace_ledger_count(info->trace);
	char why[512];

	for (size_t i = 0; i < count && (i < LINES_MAX || info->all); i++) {
		epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
		epp_status *status = epp_trace_ledger_at(info->trace, i, &account);
		if (status)
			return status;
		/* Skips empty accounts, because a thread may have several tracks and use only one. */
		if (account.track && !account.emitted && !account.lost_total)
			continue;
		cli_table_count(table, account.emitted);
		cli_table_count(table, account.written);
		cli_table_count(table, account.open);
		cli_table_count(table, account.lost_total);
		if (many)
			cli_table_count(table, account.source);
		cli_table_cell(table, account.producer);
		accounts_reasons(account.lost, why, sizeof why);
		size_t used = strlen(why);
		if (account.errors)
			used += (size_t)snprintf(why + used, sizeof why - used, "%s%" PRIu64 " error%s returned",
			                         used ? "; " : "", account.errors, account.errors == 1 ? "" : "s");
		if (!account.balanced && used < sizeof why)
			snprintf(why + used, sizeof why - used, "%sDOES NOT BALANCE", used ? "; " : "");
		used = strlen(why);
		if (account.note[0] && used < sizeof why)
			snprintf(why + used, sizeof why - used, "%s%s", used ? "; " : "", account.note);
		cli_table_cell(table, why);
	}
	cli_print_heading("Ledger: emitted = written + open + lost");
	cli_table_print(table);
	print_more(info, count);
	return NULL;
}

epp_status *info_print_text(const struct info *info)
{
	epp_status *status = print_head(info);
	if (status)
		return status;
	print_sources(info);
	print_runs(info);
	print_tracks(info);
	return print_ledger(info);
}
