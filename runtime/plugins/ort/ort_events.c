/* The entries of ONNX Runtime's table for profiling events and their container.  They check the arguments in ONNX
 * Runtime's order and with its results, and then call ort_abi/ort_event.h. */
#include "ort_abi/ort_event.h"

#include <stdio.h>

#include "ort_abi/ort_status.h"
#include "plugins/ort/ort_served.h"

#define CATEGORIES 4

static OrtStatus *invalid_argument(const char *message)
{
	return ort_status_create(ORT_INVALID_ARGUMENT, message);
}

OrtStatus *ort_ep_api_CreateProfilingEvent(OrtProfilingEventCategory category, int32_t process_id, int32_t thread_id,
                                           const char *event_name, int64_t timestamp_us, int64_t duration_us,
                                           const char *const *arg_keys, const char *const *arg_values, size_t num_args,
                                           OrtProfilingEvent **out)
{
	char message[96];
	if (!out)
		return ort_null_argument("CreateProfilingEvent", "out");
	*out = NULL;
	if ((uint32_t)category >= CATEGORIES) {
		snprintf(message, sizeof(message), "CreateProfilingEvent: unknown category %lld",
		         (long long)(int32_t)category);
		return invalid_argument(message);
	}
	if (!event_name)
		return ort_null_argument("CreateProfilingEvent", "event_name");
	if (num_args && !arg_keys)
		return ort_null_argument("CreateProfilingEvent", "arg_keys");
	if (num_args && !arg_values)
		return ort_null_argument("CreateProfilingEvent", "arg_values");
	for (size_t i = 0; i < num_args; i++) {
		if (arg_keys[i] && arg_values[i])
			continue;
		snprintf(message, sizeof(message), "CreateProfilingEvent: %s of arg %zu is NULL",
		         arg_keys[i] ? "the value" : "the key", i);
		return invalid_argument(message);
	}
	*out = ort_event_create((int32_t)category, process_id, thread_id, event_name, timestamp_us, duration_us,
	                        arg_keys, arg_values, num_args);
	return *out ? NULL : ort_status_create(ORT_FAIL, "CreateProfilingEvent: out of memory");
}

void ort_ep_api_ReleaseProfilingEvent(OrtProfilingEvent *event)
{
	ort_event_destroy(event);
}

OrtStatus *ort_ep_api_ProfilingEvent_GetCategory(const OrtProfilingEvent *event, OrtProfilingEventCategory *out)
{
	if (!event || !out)
		return ort_null_argument("ProfilingEvent_GetCategory", event ? "out" : "event");
	*out = (OrtProfilingEventCategory)event->category;
	return NULL;
}

OrtStatus *ort_ep_api_ProfilingEvent_GetName(const OrtProfilingEvent *event, const char **out)
{
	if (!event || !out)
		return ort_null_argument("ProfilingEvent_GetName", event ? "out" : "event");
	*out = ort_event_name(event);
	return NULL;
}

OrtStatus *ort_ep_api_ProfilingEvent_GetTimestampUs(const OrtProfilingEvent *event, int64_t *out)
{
	if (!event || !out)
		return ort_null_argument("ProfilingEvent_GetTimestampUs", event ? "out" : "event");
	*out = ort_event_timestamp_us(event);
	return NULL;
}

OrtStatus *ort_ep_api_ProfilingEvent_GetDurationUs(const OrtProfilingEvent *event, int64_t *out)
{
	if (!event || !out)
		return ort_null_argument("ProfilingEvent_GetDurationUs", event ? "out" : "event");
	*out = ort_event_duration_us(event);
	return NULL;
}

OrtStatus *ort_ep_api_ProfilingEvent_GetArgValue(const OrtProfilingEvent *event, const char *key, const char **out)
{
	if (!out)
		return ort_null_argument("ProfilingEvent_GetArgValue", "out");
	*out = NULL;
	if (!event || !key)
		return ort_null_argument("ProfilingEvent_GetArgValue", event ? "key" : "event");
	/* The cast is safe: ort_event_arg only modifies borrowed events, which are on the recorder's stack and not
	 * const. */
	*out = ort_event_arg((OrtProfilingEvent *)(uintptr_t)event, key);
	return NULL;
}

OrtStatus *ort_ep_api_ProfilingEventsContainer_AddEvents(OrtProfilingEventsContainer *events_container,
                                                         const OrtProfilingEvent *const *events, size_t num_events)
{
	char message[96];
	if (!events_container || !events)
		return ort_null_argument("ProfilingEventsContainer_AddEvents",
		                         events_container ? "events" : "events_container");
	if (!num_events)
		return invalid_argument("ProfilingEventsContainer_AddEvents: num_events is 0");
	for (size_t i = 0; i < num_events; i++) {
		if (events[i])
			continue;
		snprintf(message, sizeof(message), "ProfilingEventsContainer_AddEvents: event %zu is NULL", i);
		return invalid_argument(message);
	}
	return events_container->add(events_container, events, num_events);
}
