/* The loop that drives the writer of a format over a timeline. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/options.h"
#include "base/weight.h"
#include "encoding/json.h"
#include "export/filter.h"
#include "export/sink/sink.h"
#include "export/writer.h"
#include "timeline/timeline.h"

const epp_export_format *epp_export_format_at(size_t index)
{
	return index < export_writers_count ? &export_writers[index]->format : NULL;
}

const char *export_category(unsigned category)
{
	static const char *const names[] = { "Session", "Node", "Kernel", "Api" };

	return category < sizeof names / sizeof *names ? names[category] : "Other";
}

const char *export_kind(unsigned kind)
{
	static const char *const names[] = { "unknown", "slice", "instant", "counter", "flow", "async" };

	return names[kind < sizeof names / sizeof *names ? kind : 0];
}

const char *const export_flags[EXPORT_FLAGS_COUNT] = { "unended",  "open",         "args_cut",       "ended_elsewhere",
	                                               "referred", "uncorrelated", "outside_parent", "after_wait",
	                                               "flow",     "own_request" };

char *export_put_flags(char *at, unsigned flags)
{
	bool any = false;

	for (unsigned bit = 0; bit < EXPORT_FLAGS_COUNT; bit++) {
		if (!(flags & 1u << bit))
			continue;
		if (any)
			*at++ = ' ';
		at = mempcpy(at, export_flags[bit], strlen(export_flags[bit]));
		any = true;
	}
	return at;
}

void export_receipt(const struct export_run *run, uint64_t count, const char *format)
{
	char number[JSON_NUMBER_BYTES], text[256];

	if (!count)
		return;
	*run->left_out = true;
	if (!run->receipt)
		return;
	*json_u64(number, count) = '\0';
	snprintf(text, sizeof text, format, number, count == 1 ? "" : "s");
	run->receipt(run->receipt_user, text);
}

static epp_status *find_writer(const char *format, const struct export_writer **writer)
{
	for (size_t i = 0; i < export_writers_count; i++) {
		if (strcmp(export_writers[i]->format.name, format) == 0) {
			*writer = export_writers[i];
			return NULL;
		}
	}
	return epp_status_create(EPP_NOT_FOUND, "%s: no such format", format);
}

static epp_status *write_event(const struct export_writer *writer, struct export_run *run, struct filter *filter,
                               epp_event *event)
{
	bool passes = true;

	if (filter)
		EPP_TRY(filter_judge(filter, event, &passes));
	if (!passes) {
		run->filtered += run->pass == 0;
		return NULL;
	}
	run->any = true;
	return writer->event(run, event);
}

epp_trace_arg export_weight(const epp_event *event)
{
	return (epp_trace_arg){
		.key = WEIGHT_SET, .key_bytes = sizeof(WEIGHT_SET) - 1, .type = EPP_ARG_U64, .value.u64 = event->weight
	};
}

/* Passes all events of the timeline to the writer.  event->args is an array of the event's args. */
static epp_status *run_pass(const struct export_writer *writer, struct export_run *run, struct filter *filter,
                            epp_timeline *timeline)
{
	epp_trace_arg args[UINT8_MAX];
	epp_event event;

	while (timeline_next(timeline, &event)) {
		uint8_t count = 0;
		for (size_t cursor = 0;
		     count < event.args_count && epp_event_args(timeline, &event, &cursor, &args[count]);)
			count++;
		if (event.weight > 1 && count < UINT8_MAX)
			args[count++] = export_weight(&event);
		event.args = args;
		event.args_count = count;
		if (export_is_cancelled(run))
			return epp_status_create(EPP_CANCELLED, "cancelled");
		EPP_TRY(write_event(writer, run, filter, &event));
		if (run->sink->failed)
			return sink_flush(run->sink);
	}
	return epp_timeline_status(timeline);
}

static epp_status *run_passes(const struct export_writer *writer, struct export_run *run, struct filter *filter)
{
	const epp_timeline_options all = { .struct_size = sizeof all };
	const epp_timeline_options *options = run->options->timeline ? run->options->timeline : &all;
	struct inherited inherited;
	epp_status *status = inherited_init(&inherited, run->trace->reader, options);

	while (!status) {
		epp_timeline *timeline;
		status = timeline_create_with(run->trace->reader, options, &inherited, &timeline);
		if (status)
			break;
		run->timeline = timeline;
		run->again = false;
		if (!run->pass)
			status = writer->begin(run);
		if (!status)
			status = run_pass(writer, run, filter, timeline);
		if (!status && !run->again)
			status = writer->end(run);
		epp_timeline_destroy(timeline);
		run->pass++;
		if (!run->again)
			break;
	}
	inherited_deinit(&inherited);
	return status;
}

epp_status *export_next_part(struct export_run *run)
{
	EPP_TRY(sink_flush(run->sink));
	return sink_parts_next(run->parts);
}

/* Exports into run->sink, which calls `write`.  The members trace, sink, parts and receipt of `run` must be set. */
static epp_status *export_into(const struct export_writer *writer, const epp_export_options *given,
                               struct export_run *run, epp_sink_fn write, void *write_user)
{
	epp_export_options options;
	struct filter filter;
	struct sink sink;
	bool left_out = false;

	epp_timeline_options timeline = { .struct_size = sizeof timeline };

	EPP_TRY(options_take(&options, sizeof options, given, "epp_export_options"));
	if (writer->requests) {
		EPP_TRY(options_take(&timeline, sizeof timeline, options.timeline, "timeline options"));
		timeline.struct_size = sizeof timeline;
		timeline.requests = 1;
		options.timeline = &timeline;
	}
	EPP_TRY(sink_init(&sink, write, write_user));
	run->info = epp_trace_get_info(run->trace);
	run->sink = &sink;
	run->options = &options;
	run->left_out = &left_out;
	run->from_ns = INT64_MIN;
	run->to_ns = INT64_MAX;
	if (options.timeline && (options.timeline->from_ns || options.timeline->to_ns)) {
		run->from_ns = options.timeline->from_ns;
		run->to_ns = options.timeline->to_ns;
	}

	epp_status *status = NULL;
	run->state = calloc(1, writer->state_bytes);
	if (run->state) {
		struct filter *some = filter_init(&filter, &options, run->trace) ? &filter : NULL;
		bool is_part = run->from_ns != INT64_MIN;
		status = writer->write ? writer->write(run, some) : run_passes(writer, run, some);
		if (!status)
			status = sink_flush(&sink);
		if (!status && !writer->write && !run->any && run->receipt && (some || is_part))
			run->receipt(run->receipt_user,
			             some ? "no event matches the filters" : "no event is in the time window");
		writer->deinit(run);
		filter_deinit(&filter);
	} else {
		status = epp_status_no_memory();
	}
	free(run->state);
	sink_deinit(&sink);
	if (!status && options.lossless && left_out)
		return epp_status_create(EPP_INVALID_ARGUMENT, "%s cannot represent all of the trace", writer->format.name);
	return status;
}

epp_status *epp_export(epp_trace *trace, const char *format, const epp_export_options *options, epp_sink_fn write,
                       void *write_user, epp_receipt_fn receipt, void *receipt_user)
{
	const struct export_writer *writer = NULL;
	struct export_run run = { .trace = trace, .receipt = receipt, .receipt_user = receipt_user };

	if (!trace || !format || !write)
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_export: trace, format or sink is NULL");
	EPP_TRY(find_writer(format, &writer));
	return export_into(writer, options, &run, write, write_user);
}

epp_status *export_file(epp_trace *trace, const char *format, const epp_export_options *options, const char *path,
                        int overwrite, epp_receipt_fn receipt, void *receipt_user, uint64_t *filtered)
{
	const struct export_writer *writer = NULL;
	struct sink_parts parts;
	struct export_run run = { .trace = trace, .parts = &parts, .receipt = receipt, .receipt_user = receipt_user };

	EPP_TRY(find_writer(format, &writer));
	EPP_TRY(sink_parts_open(&parts, path, writer->divides ? writer->format.extension : NULL, overwrite));
	epp_status *status = export_into(writer, options, &run, sink_parts_write, &parts);
	*filtered = run.filtered;
	if (!status)
		return sink_parts_commit(&parts);
	status = epp_status_prefix(status, "%s", parts.files[0].file.path);
	sink_parts_discard(&parts);
	return status;
}

epp_status *epp_export_file(epp_trace *trace, const char *format, const epp_export_options *options, const char *path,
                            int overwrite, epp_receipt_fn receipt, void *receipt_user)
{
	uint64_t filtered;

	if (!trace || !format || !path)
		return epp_status_create(EPP_INVALID_ARGUMENT, "epp_export_file: trace, format or path is NULL");
	return export_file(trace, format, options, path, overwrite, receipt, receipt_user, &filtered);
}
