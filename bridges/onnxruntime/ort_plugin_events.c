/* Adds the events of plugins of other frameworks to ONNX Runtime's profile.  Such a plugin uses neither ONNX Runtime's
 * container nor its clock.  A timeline of the trace has its events on the host's clock and joined to the host's events.
 * So the events are read from a timeline, when all of them have been recorded.
 *
 * In ONNX Runtime's profile they look like events of EPs that use the kit (ep_kit/batch.h): the device is the process
 * and the stream the thread, and both are args too; a call on the host has its own process and thread.  If two plugins
 * have a device with the same number, one of the devices gets another process number; the arg `device` is still the
 * plugin's own number.  Texts are prepared as in the kit (ep_kit/json_text.h). */
#include "ort_plugin_events.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ep_kit/json_text.h"
#include "epprof/timeline.h"
#include "ort_copies.h"

#define ARGS_MAX 64u
#define NUMBER_BYTES 32u

/* State of ort_plugin_events_fill: the args of the event that is being created (keys, values, count), and all events
 * created so far. */
struct filling {
	const struct ort_plugin_events *of;
	const epp_trace *trace;
	int64_t epoch_ns; /* time 0 of the timeline, since the start of ONNX Runtime's profile */
	struct json_text text;
	size_t count;
	const char *keys[ARGS_MAX], *values[ARGS_MAX];
	char numbers[ARGS_MAX][NUMBER_BYTES];
	OrtProfilingEvent **events;
	size_t events_count, events_room;
};

static epp_status *failed(const struct filling *filling, OrtStatus *status)
{
	const OrtApi *api = filling->of->host->api;
	if (!status)
		return NULL;
	epp_status *given = epp_status_create(EPP_PLUGIN, "%s", api->GetErrorMessage(status));
	api->ReleaseStatus(status);
	return given;
}

/* ---- args ---- */

static void arg_number(struct filling *filling, const char *key, int64_t value)
{
	if (filling->count == ARGS_MAX)
		return;
	snprintf(filling->numbers[filling->count], NUMBER_BYTES, "%" PRId64, value);
	filling->keys[filling->count] = key;
	filling->values[filling->count] = filling->numbers[filling->count];
	filling->count++;
}

/* Prepares a text of any bytes for ONNX Runtime. */
static const char *prepare_text(struct filling *filling, const char *bytes, size_t count, bool is_value)
{
	/* The raw text is copied to the end of the buffer; the prepared text is written at the first free position. */
	struct json_text *text = &filling->text;
	char *raw = text->bytes + text->room - count - 1;
	for (size_t i = 0; i < count; i++)
		raw[i] = bytes[i] ? bytes[i] : '?';
	raw[count] = 0;
	return json_text_add(text, raw, is_value);
}

static void arg_of_event(struct filling *filling, const epp_trace_arg *arg)
{
	char *number = filling->numbers[filling->count];
	const char *value = number;
	if (arg->type == EPP_ARG_TEXT)
		value = prepare_text(filling, arg->value.text, arg->text_bytes, true);
	else if (arg->type == EPP_ARG_U64)
		snprintf(number, NUMBER_BYTES, "%" PRIu64, arg->value.u64);
	else if (arg->type == EPP_ARG_F64)
		snprintf(number, NUMBER_BYTES, "%.17g", arg->value.f64);
	else
		snprintf(number, NUMBER_BYTES, "%" PRId64, arg->value.i64);
	filling->keys[filling->count] = prepare_text(filling, arg->key, arg->key_bytes, false);
	filling->values[filling->count++] = value;
}

/* Makes room for all prepared texts of an event, and for its longest raw text. */
static epp_status *reserve_texts(struct filling *filling, const epp_timeline *timeline, const epp_event *event)
{
	const char *plugin = epp_trace_track_plugin(filling->trace, event->track);
	size_t plugin_bytes = plugin ? strlen(plugin) + 1 : 0;
	size_t bytes = event->name_bytes + 1 + plugin_bytes;
	size_t longest = event->name_bytes + 1 > plugin_bytes ? event->name_bytes + 1 : plugin_bytes;
	epp_trace_arg arg;
	for (size_t cursor = 0; epp_event_args(timeline, event, &cursor, &arg);) {
		size_t text_bytes = arg.type == EPP_ARG_TEXT ? arg.text_bytes : 0;
		bytes += arg.key_bytes + text_bytes + 2;
		longest = arg.key_bytes >= longest ? arg.key_bytes + 1 : longest;
		longest = text_bytes >= longest ? text_bytes + 1 : longest;
	}
	return json_text_reset(&filling->text, bytes * JSON_ESCAPE_BYTES_MAX + longest) ? NULL : epp_status_no_memory();
}

/* ---- events ---- */

static int64_t microseconds(int64_t ns)
{
	return ns / 1000 - (ns % 1000 < 0);
}

static int32_t fold_to_32_bits(int64_t stream)
{
	return stream == (int32_t)stream ? (int32_t)stream : (int32_t)(stream ^ stream >> 32);
}

static void fill_args(struct filling *filling, const epp_timeline *timeline, const epp_event *event)
{
	uint64_t ort_id = event->parent ? filling->of->ort_id_of(filling->of->user, event->parent) : 0;
	epp_trace_arg arg;
	filling->count = 0;
	if (ort_id)
		arg_number(filling, "ort_correlation_id", (int64_t)ort_id);
	if (event->track->device >= 0) {
		arg_number(filling, "device", event->track->device);
		arg_number(filling, "stream", event->track->stream);
	}
	arg_number(filling, "error_ns", event->start_error_ns);
	filling->keys[filling->count] = ORT_HOSTED_KEY;
	filling->values[filling->count++] = ORT_HOSTED_VALUE;
	const char *plugin = epp_trace_track_plugin(filling->trace, event->track);
	if (plugin) {
		filling->keys[filling->count] = ORT_PLUGIN_KEY;
		filling->values[filling->count++] = prepare_text(filling, plugin, strlen(plugin), true);
	}
	for (size_t cursor = 0; filling->count < ARGS_MAX && epp_event_args(timeline, event, &cursor, &arg);)
		arg_of_event(filling, &arg);
}

static epp_status *event_make(struct filling *filling, const epp_timeline *timeline, const epp_event *event)
{
	int64_t start_ns = filling->epoch_ns + event->start_ns;
	int64_t start_us = microseconds(start_ns);
	bool is_call = event->track->device < 0;
	if (filling->events_count == filling->events_room) {
		size_t room = filling->events_room ? filling->events_room * 2 : 1024;
		OrtProfilingEvent **larger = reallocarray(filling->events, room, sizeof(OrtProfilingEvent *));
		if (!larger)
			return epp_status_no_memory();
		filling->events = larger;
		filling->events_room = room;
	}
	epp_status *status = reserve_texts(filling, timeline, event);
	if (status)
		return status;
	const char *name = prepare_text(filling, event->name, event->name_bytes, false);
	fill_args(filling, timeline, event);
	const char *plugin = epp_trace_track_plugin(filling->trace, event->track);
	/* In a trace that sessions share, a plugin may be hosted once per session, always with the same label.  So the
	 * number of the label identifies the plugin. */
	epp_name owner = plugin ? epp_name_intern(plugin) : 0;
	int32_t process_id = is_call ? (int32_t)event->track->pid
	                             : ort_devices_number(filling->of->devices, owner, -1 - event->track->device);
	OrtProfilingEventCategory category = is_call ? OrtProfilingEventCategory_API : OrtProfilingEventCategory_KERNEL;
	status = failed(filling, filling->of->host->ep->CreateProfilingEvent(
				     category, process_id, fold_to_32_bits(event->track->stream), name, start_us,
				     microseconds(start_ns + event->duration_ns) - start_us, filling->keys,
				     filling->values, filling->count, &filling->events[filling->events_count]));
	filling->events_count += !status;
	return status;
}

static bool is_wanted(const struct filling *filling, const epp_event *event)
{
	int32_t producer = event->track->producer;
	int64_t start_ns = event->start_ns + filling->epoch_ns;
	return event->kind == EPP_EVENT_SLICE && producer >= 0 && producer < 64 &&
	       filling->of->producers >> producer & 1 && start_ns >= 0 &&
	       start_ns - event->start_error_ns <= filling->of->duration_ns;
}

static epp_status *read_events(struct filling *filling, epp_trace *trace)
{
	const epp_timeline_options window = { .struct_size = sizeof(window),
		                              .from_ns = -filling->epoch_ns,
		                              .to_ns = INT64_MAX };
	epp_timeline *timeline;
	const epp_event *event;
	epp_status *status = epp_timeline_create(trace, &window, &timeline);
	if (status)
		return status;
	while (!status && epp_timeline_next(timeline, &event))
		if (is_wanted(filling, event))
			status = event_make(filling, timeline, event);
	if (!status)
		status = epp_timeline_status(timeline);
	epp_timeline_destroy(timeline);
	return status;
}

OrtStatus *ort_plugin_events_fill(const struct ort_plugin_events *plugins, OrtProfilingEventsContainer *container)
{
	const OrtEpApi *ep = plugins->host->ep;
	struct filling filling = { .of = plugins };
	filling.text.is_escaped_later = plugins->host->version >= JSON_ESCAPING_ORT_VERSION;
	epp_trace *trace;
	epp_status *status = epp_trace_open_session(plugins->session, &trace);
	if (!status) {
		filling.trace = trace;
		filling.epoch_ns = epp_trace_get_info(trace)->epoch_unix_ns - plugins->profile_unix_ns;
		status = read_events(&filling, trace);
		epp_trace_close(trace);
	}
	/* All events are added at once, because ONNX Runtime copies its existing events at each call.  If reading
	 * failed, the events read so far are added. */
	OrtStatus *added = NULL;
	if (filling.events_count)
		added = ep->ProfilingEventsContainer_AddEvents(
		    container, (const OrtProfilingEvent *const *)filling.events, filling.events_count);
	for (size_t i = 0; i < filling.events_count; i++)
		ep->ReleaseProfilingEvent(filling.events[i]);
	free(filling.events);
	free(filling.text.bytes);
	OrtStatus *given = ort_status_of(plugins->host, epp_status_prefix(status, "epprof: events of plugins"));
	if (added && given)
		plugins->host->api->ReleaseStatus(added);
	return given ? given : added;
}
