/* Prints the properties of a trace as JSON, for programs. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "info.h"

static void print_text(const char *key, const char *text, const char *behind)
{
	printf("\"%s\": ", key);
	cli_json_string(text ? text : "", text ? strlen(text) : 0);
	fputs(behind, stdout);
}

static void print_head(const struct info *info)
{
	const epp_trace_info *trace = epp_trace_get_info(info->trace);
	epp_trace_clock clock = { .struct_size = sizeof(clock) };

	epp_trace_get_clock(info->trace, &clock);
	printf("{\n  ");
	print_text("trace", info->path, ", ");
	print_text("state", cli_state(trace->state), ", ");
	accounts_print_missing_json(&info->accounts);
	printf("\"damage\": %u, ", trace->damage_count);
	printf("\"version\": %u, \"file_id\": \"%s\",\n  ", trace->version, trace->file_id);
	print_text("program", trace->program, ", ");
	print_text("label", trace->label, ", ");
	print_text("hostname", trace->hostname, ", ");
	printf("\"pid\": %u, \"sources\": %u,\n  ", trace->pid, trace->sources_count);
	print_text("clock", trace->clock, ", ");
	printf("\"ticks_per_second\": %" PRIu64 ", \"epoch_unix_ns\": \"%" PRId64 "\", \"clock_readings\": %" PRIu64
	       ", \"largest_half_width_ns\": %" PRId64 ", \"rate_error_ppb\": %" PRId64
	       ", \"largest_step_ns\": %" PRId64 ",\n  ",
	       trace->ticks_per_second, trace->epoch_unix_ns, clock.pairs_count, clock.largest_half_width_ns,
	       clock.rate_error_ppb, clock.largest_step_ns);
	printf("\"records\": %" PRIu64 ", \"names\": %" PRIu64 ", \"file_bytes\": %" PRIu64 ", \"open\": %" PRIu64
	       ", \"recovered\": %" PRIu64 ", \"survives\": %s,\n",
	       trace->records_count, trace->names_count, trace->file_bytes, trace->open_count,
	       trace->recovered_records_count, trace->survives ? "true" : "false");
}

static void print_sources(const struct info *info)
{
	epp_trace_source source = { .struct_size = sizeof(source) };

	printf("  \"processes\": [");
	for (size_t i = 0; epp_trace_source_at(info->trace, i, &source); i++) {
		const char *relation = epp_relation_name(source.relation);
		printf("%s    {\"source\": %u, \"pid\": %u, ", i ? ",\n" : "\n", source.source, source.pid);
		print_text("hostname", source.hostname, ", ");
		print_text("program", source.program, ", ");
		print_text("label", source.label, ", ");
		print_text("clock", relation ? relation : "unknown", ", \"clock_error_ns\": ");
		if (source.clock_error_ns == INT64_MAX)
			printf("null}");
		else
			printf("%" PRId64 "}", source.clock_error_ns);
	}
	printf("\n  ],\n");
}

static void print_runs(const struct info *info)
{
	epp_trace_run run = { .struct_size = sizeof(run) };

	printf("  \"runs\": [");
	for (size_t i = 0; epp_trace_run_at(info->trace, i, &run); i++) {
		printf("%s    {\"run\": %u, \"start_ns\": %" PRId64 ", \"start_unix_ns\": \"%" PRId64
		       "\", \"source\": %u, \"faults\": %" PRIu64,
		       i ? ",\n" : "\n", run.run, run.start_ns, run.start_unix_ns, run.source, run.page_faults);
		if (run.event_cost_ps)
			printf(", \"event_cost_ps\": %" PRIu64 ", \"write_cpu_ns\": %" PRIu64, run.event_cost_ps,
			       run.write_cpu_ns);
		if (run.ended)
			printf(", \"end_ns\": %" PRId64, run.end_ns);
		printf("}");
	}
	printf("\n  ],\n");
}

static void print_tracks(const struct info *info)
{
	const epp_trace_track *track;
	bool any = false;

	printf("  \"tracks\": [");
	for (size_t i = 0; (track = epp_trace_track_at(info->trace, i)) != NULL; i++) {
		if (!info_lists_track(track))
			continue;
		printf("%s    {\"track\": %u, \"kind\": \"%s\", ", any ? ",\n" : "\n", track->track,
		       epp_track_kind_name(track->kind));
		any = true;
		print_text("name", track->name, ", ");
		print_text("group", track->group, ", ");
		if (track->kind == EPP_TRACK_THREAD || track->kind == EPP_TRACK_CALLS)
			printf("\"thread_id\": %u, ", track->thread_id);
		else
			printf("\"device\": %d, \"stream\": %" PRId64 ", ", track->device, track->stream);
		printf("\"source\": %u, \"pid\": %u, \"producer\": %d, \"ticks_per_second\": %" PRIu64 "}",
		       track->source, track->pid, track->producer, track->ticks_per_second);
	}
	printf("\n  ],\n");
}

static epp_status *print_ledger(const struct info *info)
{
	size_t count = epp_trace_ledger_count(info->trace);

	printf("  \"ledger\": [");
	for (size_t i = 0; i < count; i++) {
		epp_trace_ledger_entry account = { .struct_size = sizeof(account) };
		epp_status *status = epp_trace_ledger_at(info->trace, i, &account);
		bool any = false;
		if (status)
			return status;
		printf(i ? ",\n    {" : "\n    {");
		print_text("producer", account.producer, ", ");
		printf("\"emitted\": %" PRIu64 ", \"written\": %" PRIu64 ", \"open\": %" PRIu64 ", \"lost\": {",
		       account.emitted, account.written, account.open);
		for (unsigned reason = 0; reason < EPP_LOSS_ENTRY_COUNT && epp_loss_name(reason); reason++) {
			if (!account.lost[reason])
				continue;
			printf("%s\"%s\": %" PRIu64, any ? ", " : "", epp_loss_name(reason), account.lost[reason]);
			any = true;
		}
		printf("}, ");
		print_text("note", account.note, ", ");
		printf("\"errors\": %" PRIu64 ", \"balanced\": %s, \"source\": %u}", account.errors,
		       account.balanced ? "true" : "false", account.source);
	}
	printf("\n  ]\n}\n");
	return NULL;
}

epp_status *info_print_json(const struct info *info)
{
	print_head(info);
	print_sources(info);
	print_runs(info);
	print_tracks(info);
	return print_ledger(info);
}
