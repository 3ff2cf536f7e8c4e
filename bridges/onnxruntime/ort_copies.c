/* Copies of ONNX Runtime's tables for hosted EP libraries.
 *
 * The copies replace OrtEpApi's slots 65 to 72 and OrtApi's GetEpApi and GetExperimentalFunction; all other slots are
 * ONNX Runtime's.  An event that a hosted library creates is an object of this file.  The object stores the event's
 * args, because the args of an event of ONNX Runtime cannot be listed.  When the object is added to a container, an
 * event of the trace and one of ONNX Runtime's profile are made from it.  A registry contains the addresses of all
 * objects of this file, by which they are recognised; calls with other objects are forwarded to ONNX Runtime.
 *
 * The length of a table depends on ONNX Runtime's version.  Copying the table of an older version reads a little beyond
 * its end.  A newer version may have slots that are unknown here, so the copy then continues beyond the known end as
 * far as the same library is mapped.  A slot that a version lacks is never called. */
#include "ort_copies.h"

#include "bridges/shared/ort_slots.h"
#include "epprof/profiler.h"

#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API_SLOTS_MAX 1024u
#define EP_API_SLOTS_MAX 256u
#define CORRELATION_KEY "ort_correlation_id"

/* An event created by a hosted library. */
struct hosted_event {
	OrtProfilingEventCategory category;
	int32_t process_id, thread_id;
	int64_t timestamp_us, duration_us;
	char *name;
	size_t count;
	char **keys, **values; /* one allocation for both arrays; each text is a separate allocation */
};

static struct ort_host host;
static union {
	epp_ort_slot slots[API_SLOTS_MAX];
	OrtApi table;
} api_copy;
static union {
	epp_ort_slot slots[EP_API_SLOTS_MAX];
	OrtEpApi table;
} ep_api_copy;
static epp_ort_slot real_experimental;

/* ---- the registry ---- */

static pthread_mutex_t objects_lock = PTHREAD_MUTEX_INITIALIZER;
static void *objects; /* a tsearch tree of addresses */

static int by_address(const void *a, const void *b)
{
	return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

static bool object_add(void *object)
{
	pthread_mutex_lock(&objects_lock);
	bool added = tsearch(object, &objects, by_address) != NULL;
	pthread_mutex_unlock(&objects_lock);
	return added;
}

/* Returns false if the object is not in the registry. */
static bool object_remove(const void *object)
{
	pthread_mutex_lock(&objects_lock);
	bool removed = tdelete(object, &objects, by_address) != NULL;
	pthread_mutex_unlock(&objects_lock);
	return removed;
}

static bool is_ours(const void *object)
{
	pthread_mutex_lock(&objects_lock);
	bool is_own = object && tfind(object, &objects, by_address);
	pthread_mutex_unlock(&objects_lock);
	return is_own;
}

static const struct hosted_event *own_event_of(const OrtProfilingEvent *event)
{
	return is_ours(event) ? (const struct hosted_event *)(const void *)event : NULL;
}

/* ---- slots 65 to 71: events ---- */

static OrtStatus *make_refusal(const char *reason)
{
	return host.api->CreateStatus(ORT_INVALID_ARGUMENT, reason);
}

static void event_free(struct hosted_event *event)
{
	if (!event)
		return;
	free(event->name);
	for (size_t i = 0; event->keys && i < event->count; i++) {
		free(event->keys[i]);
		free(event->values[i]);
	}
	free(event->keys);
	free(event);
}

/* Returns NULL if there is no memory. */
static struct hosted_event *event_make(const char *name, const char *const *keys, const char *const *values, size_t count)
{
	struct hosted_event *event = calloc(1, sizeof(*event));
	if (!event)
		return NULL;
	event->name = strdup(name);
	event->keys = calloc(count + 1, 2 * sizeof(char *));
	event->values = event->keys ? event->keys + count : NULL;
	bool made = event->name && event->keys;
	for (size_t i = 0; made && i < count; i++) {
		/* A key without a value is left out. */
		if (!keys[i] || !values[i])
			continue;
		event->keys[event->count] = strdup(keys[i]);
		event->values[event->count] = strdup(values[i]);
		made = event->keys[event->count] && event->values[event->count];
		event->count++;
	}
	if (made)
		return event;
	event_free(event);
	return NULL;
}

static OrtStatus *create_event(OrtProfilingEventCategory category, int32_t process_id, int32_t thread_id,
                               const char *name, int64_t timestamp_us, int64_t duration_us, const char *const *keys,
                               const char *const *values, size_t count, OrtProfilingEvent **out)
{
	if (!out)
		return make_refusal("CreateProfilingEvent: out is NULL");
	*out = NULL;
	if (!name || (count && (!keys || !values)))
		return make_refusal("CreateProfilingEvent: the name or the args are NULL");
	if ((unsigned)category > OrtProfilingEventCategory_API)
		return make_refusal("CreateProfilingEvent: the category is unknown");
	struct hosted_event *event = event_make(name, keys, values, count);
	if (!event || !object_add(event)) {
		event_free(event);
		return host.api->CreateStatus(ORT_FAIL, "CreateProfilingEvent: out of memory");
	}
	event->category = category;
	event->process_id = process_id;
	event->thread_id = thread_id;
	event->timestamp_us = timestamp_us;
	event->duration_us = duration_us;
	*out = (OrtProfilingEvent *)event;
	return NULL;
}

static void release_event(OrtProfilingEvent *event)
{
	if (object_remove(event))
		event_free((struct hosted_event *)event);
	else if (event)
		host.ep->ReleaseProfilingEvent(event);
}

static OrtStatus *event_category(const OrtProfilingEvent *event, OrtProfilingEventCategory *out)
{
	const struct hosted_event *own = own_event_of(event);
	if (!own)
		return host.ep->ProfilingEvent_GetCategory(event, out);
	*out = own->category;
	return NULL;
}

static OrtStatus *event_name(const OrtProfilingEvent *event, const char **out)
{
	const struct hosted_event *own = own_event_of(event);
	if (!own)
		return host.ep->ProfilingEvent_GetName(event, out);
	*out = own->name;
	return NULL;
}

static OrtStatus *event_timestamp_us(const OrtProfilingEvent *event, int64_t *out)
{
	const struct hosted_event *own = own_event_of(event);
	if (!own)
		return host.ep->ProfilingEvent_GetTimestampUs(event, out);
	*out = own->timestamp_us;
	return NULL;
}

static OrtStatus *event_duration_us(const OrtProfilingEvent *event, int64_t *out)
{
	const struct hosted_event *own = own_event_of(event);
	if (!own)
		return host.ep->ProfilingEvent_GetDurationUs(event, out);
	*out = own->duration_us;
	return NULL;
}

static OrtStatus *event_arg_value(const OrtProfilingEvent *event, const char *key, const char **out)
{
	const struct hosted_event *own = own_event_of(event);
	if (!own)
		return host.ep->ProfilingEvent_GetArgValue(event, key, out);
	*out = NULL;
	for (size_t i = 0; key && i < own->count && !*out; i++)
		if (!strcmp(own->keys[i], key))
			*out = own->values[i];
	return NULL;
}

/* ---- slot 72: adding ---- */

/* Several profilers add events at the same time, each on its own thread, to the same ONNX Runtime container. */
static pthread_mutex_t adding_lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_number_used(const struct ort_devices *devices, int32_t number)
{
	for (size_t i = 0; i < devices->count; i++)
		if (devices->all[i].given == number)
			return true;
	return false;
}

int32_t ort_devices_number(struct ort_devices *devices, uint64_t owner, int32_t own)
{
	int32_t given = own;
	for (size_t i = 0; i < devices->count; i++)
		if (devices->all[i].owner == owner && devices->all[i].own == own)
			return devices->all[i].given;
	/* If another plugin uses the number, takes the next free number from -1 downwards, because ONNX Runtime's
	 * profile has negative numbers for devices. */
	if (is_number_used(devices, own)) {
		given = -1;
		while (is_number_used(devices, given))
			given--;
	}
	if (devices->count < ORT_DEVICES_MAX) {
		devices->all[devices->count].owner = owner;
		devices->all[devices->count].own = own;
		devices->all[devices->count++].given = given;
	}
	return given;
}

static OrtStatus *create_with_api(const OrtEpApi *api, const struct hosted_event *event, int32_t process_id,
                                  const char *const *keys, const char *const *values, size_t count,
                                  OrtProfilingEvent **made)
{
	return api->CreateProfilingEvent(event->category, process_id, event->thread_id, event->name,
	                                 event->timestamp_us, event->duration_us, keys, values, count, made);
}

/* Creates the event for ONNX Runtime's profile.  The value of its arg ort_correlation_id, an id of the trace, is
 * replaced by ONNX Runtime's id of the same event; if this is unknown, the arg is left out. */
static OrtStatus *create_profile_event(const struct ort_container *container, const struct hosted_event *event,
                                       OrtProfilingEvent **made)
{
	char id_text[24];
	const char **keys = calloc(event->count + 2, 2 * sizeof(char *));
	if (!keys)
		return host.api->CreateStatus(ORT_FAIL, "ProfilingEventsContainer_AddEvents: out of memory");
	const char **values = keys + event->count + 2;
	size_t count = 0;
	for (size_t i = 0; i < event->count; i++) {
		keys[count] = event->keys[i];
		values[count] = event->values[i];
		if (!strcmp(keys[count], CORRELATION_KEY)) {
			uint64_t id = container->ort_id_of(container->user, strtoull(values[count], NULL, 10));
			snprintf(id_text, sizeof(id_text), "%llu", (unsigned long long)id);
			values[count] = id_text;
			count += id != 0;
		} else {
			count++;
		}
	}
	keys[count] = ORT_HOSTED_KEY;
	values[count++] = ORT_HOSTED_VALUE;
	keys[count] = ORT_PLUGIN_KEY;
	values[count++] = container->label;
	/* A negative process number is that of a device, except for a call, which has the process number -1 if its
	 * process is unknown. */
	bool has_device = event->process_id < 0 && event->category != OrtProfilingEventCategory_API;
	int32_t process_id = has_device ? ort_devices_number(container->devices, (uintptr_t)container, event->process_id)
	                                : event->process_id;
	OrtStatus *status = create_with_api(host.ep, event, process_id, keys, values, count, made);
	free(keys);
	return status;
}

/* Adds the event to the trace, with the tables of libepprof.  Their statuses are not ONNX Runtime's, so they are
 * converted. */
static OrtStatus *add_to_trace(const struct ort_container *container, const struct hosted_event *event)
{
	const OrtEpApi *own = epp_ort_api_base()->GetApi(EPPROF_ORT_API_VERSION)->GetEpApi();
	OrtProfilingEvent *made = NULL;
	OrtStatus *status = create_with_api(own, event, event->process_id, (const char *const *)event->keys,
	                                    (const char *const *)event->values, event->count, &made);
	if (!status) {
		const OrtProfilingEvent *const events[] = { made };
		status = own->ProfilingEventsContainer_AddEvents(epp_hosted_profiler_container(container->registration),
		                                                 events, 1);
	}
	own->ReleaseProfilingEvent(made);
	return ort_status_from_epprof(&host, status);
}

static OrtStatus *add_to_profile_and_trace(struct ort_container *container, const OrtProfilingEvent *const *events,
                                           size_t count)
{
	container->added_count += count;
	/* All events are added at once, because ONNX Runtime copies its existing events at each call. */
	OrtProfilingEvent **real = calloc(count, sizeof(*real));
	OrtStatus *status = real ? NULL
	                         : host.api->CreateStatus(ORT_FAIL, "ProfilingEventsContainer_AddEvents: out of memory");
	for (size_t i = 0; i < count && !status; i++) {
		const struct hosted_event *event = own_event_of(events[i]);
		status = event ? create_profile_event(container, event, &real[i])
		               : make_refusal(
				     "ProfilingEventsContainer_AddEvents: an event was not created by this library");
		if (!status)
			status = add_to_trace(container, event);
	}
	if (!status)
		status = host.ep->ProfilingEventsContainer_AddEvents(container->real,
		                                                     (const OrtProfilingEvent *const *)real, count);
	for (size_t i = 0; real && i < count && real[i]; i++)
		host.ep->ReleaseProfilingEvent(real[i]);
	free(real);
	return status;
}

static OrtStatus *add_events(OrtProfilingEventsContainer *to, const OrtProfilingEvent *const *events, size_t count)
{
	if (!is_ours(to))
		return host.ep->ProfilingEventsContainer_AddEvents(to, events, count);
	struct ort_container *container = (struct ort_container *)(void *)to;
	if (!events || !count)
		return make_refusal("ProfilingEventsContainer_AddEvents: no events");
	pthread_mutex_lock(&adding_lock);
	OrtStatus *status = container->is_closed
	                        ? make_refusal("ProfilingEventsContainer_AddEvents: the profile is already complete")
	                        : add_to_profile_and_trace(container, events, count);
	pthread_mutex_unlock(&adding_lock);
	return status;
}

struct ort_container *ort_container_create(epp_hosted_profiler *registration, const char *label,
                                           struct ort_devices *devices,
                                           uint64_t (*ort_id_of)(const void *user, uint64_t id), const void *user)
{
	struct ort_container *made = malloc(sizeof(*made));
	if (!made)
		return NULL;
	*made = (struct ort_container){
		.registration = registration, .label = label, .devices = devices, .ort_id_of = ort_id_of, .user = user
	};
	if (object_add(made))
		return made;
	free(made);
	return NULL;
}

void ort_container_destroy(struct ort_container *container)
{
	object_remove(container);
	free(container);
}

void ort_container_close(struct ort_container *container)
{
	pthread_mutex_lock(&adding_lock);
	container->is_closed = true;
	pthread_mutex_unlock(&adding_lock);
}

/* ---- the tables ---- */

static const OrtEpApi *get_ep_api(void)
{
	return &ep_api_copy.table;
}

/* Hides the functions for pushing events, so that EPs with the kit add their events in one batch at the end, which ONNX
 * Runtime's profile needs. */
static OrtExperimentalFnPtr get_experimental_function(const char *name)
{
	if (!real_experimental || (name && !strncmp(name, "Epprof", 6)))
		return NULL;
	return ((EpprofGetExperimentalFunction_Fn)real_experimental)(name);
}

static const OrtApi *get_api(uint32_t version)
{
	return host.base->GetApi(version) ? &api_copy.table : NULL;
}

static const char *get_version_string(void)
{
	return host.base->GetVersionString();
}

/* Copies the `known` slots of a table.  If ONNX Runtime is newer, more slots are copied, up to `most`. */
static void copy_slots(epp_ort_slot *copy, const void *table, size_t known, size_t most)
{
	ort_slots_copy(copy, table, host.version > EPPROF_ORT_API_VERSION ? most : known);
}

const OrtApiBase *ort_copies_base(const struct ort_host *of)
{
	static const OrtApiBase base = { get_api, get_version_string };
	if (host.base)
		return host.base == of->base ? &base : NULL;
	host = *of;
	copy_slots(api_copy.slots, host.api, EPPROF_ORT_API_SLOTS, API_SLOTS_MAX);
	copy_slots(ep_api_copy.slots, host.ep, EPPROF_ORT_EP_API_SLOTS, EP_API_SLOTS_MAX);
	api_copy.table.GetEpApi = get_ep_api;
	if (host.version >= EPPROF_ORT_EXPERIMENTAL_VERSION) {
		real_experimental = api_copy.slots[EPPROF_ORT_EXPERIMENTAL_SLOT];
		api_copy.table.GetExperimentalFunction = get_experimental_function;
	}
	ep_api_copy.table.CreateProfilingEvent = create_event;
	ep_api_copy.table.ReleaseProfilingEvent = release_event;
	ep_api_copy.table.ProfilingEvent_GetCategory = event_category;
	ep_api_copy.table.ProfilingEvent_GetName = event_name;
	ep_api_copy.table.ProfilingEvent_GetTimestampUs = event_timestamp_us;
	ep_api_copy.table.ProfilingEvent_GetDurationUs = event_duration_us;
	ep_api_copy.table.ProfilingEvent_GetArgValue = event_arg_value;
	ep_api_copy.table.ProfilingEventsContainer_AddEvents = add_events;
	return &base;
}
