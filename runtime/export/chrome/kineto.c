/* Writes the JSON of PyTorch's Kineto: Chrome trace events with the words and args that tools for PyTorch read
 * (Holistic Trace Analysis, TensorBoard's plugin).
 *
 * Sessions become user annotations, nodes become operators, Api events become calls of the runtime or driver, and
 * device events become kernels, copies or fills (timeline/events/work_kind.h).  An `External id` names the host event
 * that caused a device event or a call.  A `correlation` joins a call to the device event that it launched, by the
 * plugin's number; if the plugin gives no number, it joins a host event to the device events that it caused.  The
 * numbers are relative to the first one of each source and plugin, because readers store them as doubles.  Different
 * sources and plugins have different numbers.  A device is written as a process and a stream as a thread, with their
 * own numbers.  A device without a number, or with a number that a device of another plugin has, gets the next number
 * above the largest device or stream. */
#include <stdlib.h>

#include "base/status.h"
#include "encoding/json.h"
#include "export/chrome/chrome.h"
#include "export/facts.h"
#include "export/ledger.h"
#include "timeline/events/work_kind.h"

/* The ids of a process come from one counter, which starts at the Unix time in ns.  The first id in the trace need not
 * be the smallest one, but it is assumed that none is smaller than it by more than IDS_BEFORE. */
#define IDS_BEFORE (UINT64_C(1) << 32)

struct kineto {
	struct chrome chrome; /* must be first: the functions of the Chrome writer use it as their state */
	/* smallest id of each source, then smallest number of each producer; 0: there was none yet */
	uint64_t *bases;
	uint32_t bases_count;
	uint32_t sources_count;
	bool *has_calls; /* by producer: true if it reports calls */
	uint64_t ids_without_number;
};

#define CATEGORY(word) "\",\"cat\":\"" word "\","
enum { GPU_USER_ANNOTATION = WORK_COUNT, USER_ANNOTATION, CPU_OP };
static const char *const category_ends[] = {
	[WORK_KERNEL] = CATEGORY("kernel"),
	[WORK_COPY_IN] = CATEGORY("gpu_memcpy"),
	[WORK_COPY_OUT] = CATEGORY("gpu_memcpy"),
	[WORK_COPY] = CATEGORY("gpu_memcpy"),
	[WORK_FILL] = CATEGORY("gpu_memset"),
	[WORK_RUNTIME] = CATEGORY("privateuse1_runtime"),
	[WORK_DRIVER] = CATEGORY("privateuse1_driver"),
	[GPU_USER_ANNOTATION] = CATEGORY("gpu_user_annotation"),
	[USER_ANNOTATION] = CATEGORY("user_annotation"),
	[CPU_OP] = CATEGORY("cpu_op"),
};

static bool is_call(const epp_event *event)
{
	return event->track->kind == EPP_TRACK_CALLS;
}

static unsigned category(const epp_event *event)
{
	bool is_device = chrome_on_device(event);

	if (event->category == EPP_SESSION)
		return is_device ? GPU_USER_ANNOTATION : USER_ANNOTATION;
	if (!work_is_classified(event))
		return is_device ? (unsigned)WORK_KERNEL : event->category == EPP_API ? (unsigned)WORK_RUNTIME : CPU_OP;
	return work_of(NULL, event);
}

/* Returns a small number for an id, which no id of another source or producer has; 0: there is no id. */
static uint64_t number_of(struct kineto *kineto, uint32_t owner, uint64_t id)
{
	uint64_t *base = &kineto->bases[owner < kineto->bases_count ? owner : 0];
	uint64_t number;

	if (!id)
		return 0;

	if (!*base)
		*base = id > IDS_BEFORE ? id - IDS_BEFORE : 1;
	if (id >= *base && !__builtin_mul_overflow(id - *base + 1, (uint64_t)kineto->bases_count, &number) &&
	    number <= JSON_EXACT_MAX - kineto->bases_count)
		return number + owner;
	kineto->ids_without_number++;
	return 0;
}

#define EXTERNAL_ID "External id"
#define CORRELATION "correlation"

static char *put_number(char *at, const char *key, uint64_t number, struct json_keys *json_keys)
{
	if (!number)
		return at;
	*at++ = '"';
	at = mempcpy(at, key, strlen(key));
	at = mempcpy(at, "\":", 2);
	at = json_u64(at, number);
	*at++ = ',';
	if (json_keys)
		json_keys_note(json_keys, key, strlen(key));
	return at;
}

/* Returns true if `correlation` is the plugin's own number: for a call or a device event of a plugin that reports
 * calls, unless the call is the device event's parent in the trace, which joins the two already. */
static bool has_plugin_number(const struct kineto *kineto, const epp_event *event, uint64_t *number)
{
	bool is_joined = is_call(event) ? event->flags & EPP_FLAG_REFERENCED
	                                : event->parent_track && event->parent_track->kind == EPP_TRACK_CALLS;

	return (is_call(event) || chrome_on_device(event)) && !is_joined && event->track->producer >= 0 &&
	       kineto->has_calls[event->track->producer] && work_correlation(NULL, event, number);
}

static char *put_ids(struct chrome *chrome, char *at, const epp_event *event, struct json_keys *json_keys)
{
	struct kineto *kineto = (struct kineto *)chrome;
	uint32_t source = event->track->source;
	uint64_t own_id = !chrome_on_device(event) && event->flags & EPP_FLAG_REFERENCED ? event->id : 0;
	uint64_t cause_id = chrome_on_device(event) || (is_call(event) && !own_id) ? event->parent : own_id;
	uint64_t cause = number_of(kineto, source, cause_id), plugin_number;

	at = put_number(at, EXTERNAL_ID, cause, json_keys);
	if (has_plugin_number(kineto, event, &plugin_number))
		cause = number_of(kineto, kineto->sources_count + (uint32_t)event->track->producer, plugin_number);
	else if (is_call(event) && !own_id)
		cause = 0;
	return put_number(at, CORRELATION, cause, json_keys);
}

static const struct chrome_dialect dialect = { category, category_ends, put_ids, true,
	                                       ",\"name\":\"ac2g\",\"cat\":\"ac2g\"," };

/* ---- the document ---- */

/* Raises rows->next_device, the number of the next device without one, above the numbers of a track's device and
 * stream.  If a stream (a thread in the file) had the number of another device (a process in the file), Perfetto would
 * show it as the main thread of that process. */
static void skip_used_numbers(struct rows *rows, const epp_trace_track *track)
{
	const int64_t numbers[] = { track->device, track->stream < ROWS_FIRST_SYNTHETIC ? track->stream : -1 };

	for (size_t i = 0; i < 2; i++) {
		if (numbers[i] >= (int64_t)rows->next_device)
			rows->next_device = (uint32_t)numbers[i] + 1;
	}
}

/* Assigns a number in the file to each device, and writes the list of devices.  First it assigns the numbers of all
 * processes, so that devices get others. */
static epp_status *write_devices(struct export_run *run)
{
	struct rows *rows = &((struct kineto *)run->state)->chrome.rows;
	const epp_trace_track *track;
	size_t listed = 0;
	struct row *row;

	for (size_t i = 0; (track = epp_trace_track_at(run->trace, i)) != NULL; i++) {
		if (track->kind != EPP_TRACK_DEVICE)
			EPP_TRY(rows_find(rows, run->info, track, 0, &row));
		else
			skip_used_numbers(rows, track);
	}
	for (size_t i = 0; (track = epp_trace_track_at(run->trace, i)) != NULL; i++) {
		size_t known = rows->processes_count;
		/* A device track without device and stream numbers has only clock readings. */
		if (track->kind != EPP_TRACK_DEVICE || (track->device < 0 && track->stream < 0))
			continue;
		EPP_TRY(rows_find(rows, run->info, track, 0, &row));
		if (row->process < known || !rows->processes[row->process].group)
			continue;
		sink_format(run->sink, "%s\n{\"id\": %u, \"name\": ", listed++ ? "," : "", row->pid);
		chrome_write_device_name(run, track);
		sink_text(run->sink, "}");
	}
	/* Clears the cache of recent rows, so that the first event of each row still announces the row. */
	memset(rows->recent, 0xff, sizeof rows->recent);
	return NULL;
}

static uint32_t producers_count(const epp_trace *trace)
{
	const epp_trace_track *track;
	int32_t last = -1;

	for (size_t i = 0; (track = epp_trace_track_at(trace, i)) != NULL; i++)
		last = track->producer > last ? track->producer : last;
	return (uint32_t)(last + 1);
}

static epp_status *kineto_begin(struct export_run *run)
{
	struct kineto *kineto = run->state;
	const epp_export_options *options = run->options;
	const epp_trace_track *track;
	char number[JSON_NUMBER_BYTES];

	chrome_start(run, &dialect);
	kineto->chrome.rows.number_devices = kineto->chrome.rows.number_streams = true;
	kineto->sources_count = run->info->sources_count ? run->info->sources_count : 1;
	kineto->bases_count = kineto->sources_count + producers_count(run->trace);
	kineto->bases = calloc(kineto->bases_count, sizeof *kineto->bases);
	kineto->has_calls = calloc(kineto->bases_count, sizeof *kineto->has_calls);
	if (!kineto->bases || !kineto->has_calls)
		return epp_status_no_memory();
	for (size_t i = 0; (track = epp_trace_track_at(run->trace, i)) != NULL; i++) {
		if (track->kind == EPP_TRACK_CALLS)
			kineto->has_calls[track->producer] = true;
	}

	sink_text(run->sink, "{\n\"schemaVersion\": 1,\n\"deviceProperties\": [");
	EPP_TRY(write_devices(run));
	/* Tools search for this text, including the spaces. */
	sink_format(run->sink, "],\n\"distributedInfo\": {\"backend\": \"epprof\", \"rank\": %u, \"world_size\": %u},\n",
	            options->rank, options->world_size ? options->world_size : options->rank + 1);
	*json_i64(number, run->info->epoch_unix_ns) = '\0';
	sink_format(run->sink, "\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": %s,\n\"traceEvents\": [\n", number);
	sink_format(run->sink,
	            "{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":%u,\"tid\":0,\"args\":{\"labels\":\"CPU\"}}",
	            run->info->pid);
	return NULL;
}

static epp_status *kineto_end(struct export_run *run)
{
	const struct kineto *kineto = run->state;

	chrome_write_user_flows(run);
	sink_text(run->sink, "\n],\n\"traceName\": ");
	sink_json_string(run->sink, run->info->label ? run->info->label : "");
	sink_text(run->sink, ",\n\"otherData\": {");
	facts_write_json(run, run->sink);
	sink_text(run->sink, ",\"ledger\":");
	EPP_TRY(ledger_write(run, run->sink));
	sink_text(run->sink, "}\n}\n");
	chrome_write_receipts(run);
	export_receipt(run, kineto->ids_without_number, "%s correlation%s left out: the range of ids is too large");
	return NULL;
}

static void kineto_deinit(struct export_run *run)
{
	struct kineto *kineto = run->state;

	free(kineto->bases);
	free(kineto->has_calls);
	chrome_deinit(run);
}

const struct export_writer export_kineto = {
	.format = { "kineto", ".pt.trace.json",
	            "JSON as PyTorch's Kineto writes it, for Holistic Trace Analysis and TensorBoard" },
	.state_bytes = sizeof(struct kineto),
	.begin = kineto_begin,
	.event = chrome_event,
	.end = kineto_end,
	.deinit = kineto_deinit,
};
