/* An EP library written against ONNX Runtime's own headers, without the kit, as a vendor could write it today.
 * plain_ep.c compiles the same text against epprof's header alone, which shows that both declare the same things.
 *
 * Before it makes a profiler it does what real EPs do: reads the devices, describes memory, gets config entries, logs.
 * Its profiler stores the results of the accessors in StopEvent and adds one event for each in EndProfiling.  Tests
 * read `ep_live` (objects not released) and `ep_notes`.
 */
#ifndef PLAIN_EP
#include <onnxruntime_c_api.h>
#define EP_VERSION ORT_API_VERSION
#endif

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hanging.h"
#include "official_ep.h"

#define EXPORT __attribute__((visibility("default")))
#define MAX_EVENTS 64

EXPORT int ep_live;
EXPORT struct ep_notes ep_notes;

static const OrtApi *api;
static const OrtEpApi *ep_api;

struct profiler {
	OrtEpProfilerImpl impl;
	int64_t offset_ns;
	size_t stopped_count;
	struct stopped {
		uint64_t id;
		int64_t timestamp_us;
		int64_t duration_us;
		char name[64];
	} stopped[MAX_EVENTS];
};

struct ep {
	OrtEp impl;
};

struct factory {
	OrtEpFactory impl;
	OrtMemoryInfo *memory;
	char name[32];
};

/* ---- the profiler ---- */

static void profiler_release(OrtEpProfilerImpl *this_ptr)
{
	hang_at("ort:Release");
	free(this_ptr);
	__atomic_sub_fetch(&ep_live, 1, __ATOMIC_RELAXED);
}

static OrtStatus *profiler_start(OrtEpProfilerImpl *this_ptr, int64_t ep_profiling_start_offset_ns)
{
	hang_at("ort:StartProfiling");
	struct profiler *profiler = (struct profiler *)this_ptr;
	profiler->offset_ns = ep_profiling_start_offset_ns;
	profiler->stopped_count = 0;
	ep_notes.starts++;
	return NULL;
}

static OrtStatus *profiler_start_event(OrtEpProfilerImpl *this_ptr, uint64_t ort_event_correlation_id)
{
	hang_at("ort:StartEvent");
	(void)this_ptr;
	ep_notes.last_id = ort_event_correlation_id;
	ep_notes.start_events++;
	return NULL;
}

static OrtStatus *profiler_stop_event(OrtEpProfilerImpl *this_ptr, uint64_t ort_event_correlation_id,
                                      const OrtProfilingEvent *ort_event)
{
	hang_at("ort:StopEvent");
	struct profiler *profiler = (struct profiler *)this_ptr;
	OrtProfilingEventCategory category;
	const char *name = NULL;
	const char *op = NULL;
	const char *index = NULL;
	const char *missing = "not asked";
	int64_t timestamp_us = 0;
	int64_t duration_us = 0;
	OrtStatus *status;

	ep_notes.stop_events++;
	if (profiler->stopped_count == MAX_EVENTS)
		return api->CreateStatus(ORT_EP_FAIL, "too many events");
	if ((status = ep_api->ProfilingEvent_GetCategory(ort_event, &category)) ||
	    (status = ep_api->ProfilingEvent_GetName(ort_event, &name)) ||
	    (status = ep_api->ProfilingEvent_GetTimestampUs(ort_event, &timestamp_us)) ||
	    (status = ep_api->ProfilingEvent_GetDurationUs(ort_event, &duration_us)) ||
	    (status = ep_api->ProfilingEvent_GetArgValue(ort_event, "op_name", &op)) ||
	    (status = ep_api->ProfilingEvent_GetArgValue(ort_event, "node_index", &index)) ||
	    (status = ep_api->ProfilingEvent_GetArgValue(ort_event, "no_such_key", &missing)))
		return status;
	/* The texts are used only here, after all calls: each must live as long as the event. */
	snprintf(ep_notes.last_stop, sizeof(ep_notes.last_stop), "%d %s %s %s %s", (int)category, name, op ? op : "-",
	         index ? index : "-", missing ? missing : "-");
	struct stopped *stopped = &profiler->stopped[profiler->stopped_count++];
	stopped->id = ort_event_correlation_id;
	stopped->timestamp_us = timestamp_us;
	stopped->duration_us = duration_us;
	snprintf(stopped->name, sizeof(stopped->name), "kernel of %s", name);
	return NULL;
}

static OrtStatus *profiler_end(OrtEpProfilerImpl *this_ptr, OrtProfilingEventsContainer *events_container)
{
	hang_at("ort:EndProfiling");
	struct profiler *profiler = (struct profiler *)this_ptr;
	static const char *const keys[] = { "ort_correlation_id", "stream", "of" };
	OrtProfilingEvent *events[MAX_EVENTS] = { NULL };
	OrtStatus *status = NULL;
	size_t count = 0;
	while (!status && count < profiler->stopped_count) {
		char id[32];
		const struct stopped *stopped = &profiler->stopped[count];
		const char *const values[] = { id, "1", stopped->name };
		snprintf(id, sizeof(id), "%" PRIu64, stopped->id);
		status = ep_api->CreateProfilingEvent(OrtProfilingEventCategory_KERNEL, -1, -1, stopped->name,
		                                      stopped->timestamp_us, stopped->duration_us, keys, values, 3,
		                                      &events[count]);
		count += !status;
	}
	if (!status && count)
		status = ep_api->ProfilingEventsContainer_AddEvents(events_container,
		                                                    (const OrtProfilingEvent *const *)events, count);
	for (size_t i = 0; i < count; i++)
		ep_api->ReleaseProfilingEvent(events[i]);
	return status;
}

static OrtStatus *ep_create_profiler(OrtEp *this_ptr, OrtEpProfilerImpl **profiler)
{
	hang_at("ort:CreateProfiler");
	struct profiler *made = calloc(1, sizeof(*made));
	(void)this_ptr;
	if (!made)
		return api->CreateStatus(ORT_EP_FAIL, "out of memory");
	made->impl.ort_version_supported = EP_VERSION;
	made->impl.Release = profiler_release;
	made->impl.StartProfiling = profiler_start;
	made->impl.StartEvent = profiler_start_event;
	made->impl.StopEvent = profiler_stop_event;
	made->impl.EndProfiling = profiler_end;
	__atomic_add_fetch(&ep_live, 1, __ATOMIC_RELAXED);
	*profiler = &made->impl;
	return NULL;
}

/* ---- EP and factory ---- */

static const char *ep_get_name(const OrtEp *this_ptr)
{
	(void)this_ptr;
	return "official";
}

/* It claims no node; ONNX Runtime reports every event to its profiler nevertheless. */
static OrtStatus *ep_get_capability(OrtEp *this_ptr, const OrtGraph *graph, OrtEpGraphSupportInfo *support)
{
	(void)this_ptr, (void)graph, (void)support;
	return NULL;
}

static const char *factory_get_name(const OrtEpFactory *this_ptr)
{
	hang_at("ort:GetName");
	return ((const struct factory *)this_ptr)->name;
}

static const char *factory_get_vendor(const OrtEpFactory *this_ptr)
{
	(void)this_ptr;
	return "vendor";
}

static uint32_t factory_get_vendor_id(const OrtEpFactory *this_ptr)
{
	(void)this_ptr;
	return 0xBE57;
}

static const char *factory_get_version(const OrtEpFactory *this_ptr)
{
	(void)this_ptr;
	return "0.1.0";
}

static OrtStatus *factory_get_devices(OrtEpFactory *this_ptr, const OrtHardwareDevice *const *devices, size_t num_devices,
                                      OrtEpDevice **ep_devices, size_t max_ep_devices, size_t *num_ep_devices)
{
	hang_at("ort:GetSupportedDevices");
	const OrtMemoryInfo *memory = ((struct factory *)this_ptr)->memory;
	/* It is not added to the devices, because then the factory would have to make allocators. */
	if (ep_api->MemoryDevice_GetVendorId(ep_api->MemoryInfo_GetMemoryDevice(memory)) != 0xBE57)
		return api->CreateStatus(ORT_INVALID_ARGUMENT, "the memory is lost");
	for (size_t i = 0; i < num_devices && *num_ep_devices < max_ep_devices; i++) {
		OrtKeyValuePairs *metadata = NULL;
		if (api->HardwareDevice_Type(devices[i]) != OrtHardwareDeviceType_CPU)
			continue;
		api->CreateKeyValuePairs(&metadata);
		api->AddKeyValuePair(metadata, "lanes", "2");
		OrtEpDevice *device = NULL;
		OrtStatus *status = ep_api->CreateEpDevice(this_ptr, devices[i], metadata, NULL, &device);
		api->ReleaseKeyValuePairs(metadata);
		if (status)
			return status;
		ep_devices[(*num_ep_devices)++] = device;
	}
	return NULL;
}

static OrtStatus *factory_create_ep(OrtEpFactory *this_ptr, const OrtHardwareDevice *const *devices,
                                    const OrtKeyValuePairs *const *ep_metadata_pairs, size_t num_devices,
                                    const OrtSessionOptions *session_options, const OrtLogger *logger, OrtEp **ep)
{
	int has_entry = -1;
	OrtStatus *status;
	(void)this_ptr;
	*ep = NULL;
	if (num_devices != 1 || !devices[0])
		return api->CreateStatus(ORT_INVALID_ARGUMENT, "one device, please");
	const char *lanes = api->GetKeyValue(ep_metadata_pairs[0], "lanes");
	if (!lanes || strcmp(lanes, "2"))
		return api->CreateStatus(ORT_INVALID_ARGUMENT, "the metadata is lost");
	if ((status = api->HasSessionConfigEntry(session_options, "ep.context_enable", &has_entry)) ||
	    (status = api->Logger_LogMessage(logger, ORT_LOGGING_LEVEL_WARNING, "an EP is made", __FILE__, __LINE__,
	                                     __func__)))
		return status;
	/* Afterwards the host may have released what it passed (docs/onnxruntime.md). */
	hang_at("ort:CreateEp");
	struct ep *made = calloc(1, sizeof(*made));
	if (!made || has_entry) {
		free(made);
		return api->CreateStatus(ORT_EP_FAIL, "no memory, or an entry that nobody set");
	}
	made->impl.ort_version_supported = EP_VERSION;
	made->impl.GetName = ep_get_name;
	made->impl.GetCapability = ep_get_capability;
	made->impl.CreateProfiler = ep_create_profiler;
	__atomic_add_fetch(&ep_live, 1, __ATOMIC_RELAXED);
	*ep = &made->impl;
	return NULL;
}

static void factory_release_ep(OrtEpFactory *this_ptr, OrtEp *ep)
{
	hang_at("ort:ReleaseEp");
	(void)this_ptr;
	free(ep);
	__atomic_sub_fetch(&ep_live, 1, __ATOMIC_RELAXED);
}

static OrtStatus *factory_create_data_transfer(OrtEpFactory *this_ptr, OrtDataTransferImpl **data_transfer)
{
	(void)this_ptr;
	*data_transfer = NULL;
	return NULL;
}

EXPORT OrtStatus *CreateEpFactories(const char *registered_name, const OrtApiBase *ort_api_base,
                                    const OrtLogger *default_logger, OrtEpFactory **factories, size_t max_factories,
                                    size_t *num_factories);
EXPORT OrtStatus *ReleaseEpFactory(OrtEpFactory *factory);

OrtStatus *CreateEpFactories(const char *registered_name, const OrtApiBase *ort_api_base, const OrtLogger *default_logger,
                             OrtEpFactory **factories, size_t max_factories, size_t *num_factories)
{
	hang_at("ort:CreateEpFactories");
	OrtLoggingLevel level;
	OrtStatus *status;
	api = ort_api_base->GetApi(EP_VERSION);
	/* An older host that is still supported lacks the newest slots. */
	bool is_older = !api;
	if (is_older)
		api = ort_api_base->GetApi(25);
	if (!api || !(ep_api = api->GetEpApi()) || max_factories < 1)
		abort();
	if ((status = api->Logger_GetLoggingSeverityLevel(default_logger, &level)))
		return status;
	if (!is_older)
		ep_notes.push_function = api->GetExperimentalFunction("EpprofApi_PushEvents_SinceV1");
	struct factory *factory = calloc(1, sizeof(*factory));
	if (!factory)
		return api->CreateStatus(ORT_EP_FAIL, "out of memory");
	status = api->CreateMemoryInfo_V2("official", OrtMemoryInfoDeviceType_GPU, 0xBE57, 0,
	                                  OrtDeviceMemoryType_DEFAULT, 0, OrtDeviceAllocator, &factory->memory);
	if (status) {
		free(factory);
		return status;
	}
	snprintf(factory->name, sizeof(factory->name), "%s", registered_name);
	factory->impl.ort_version_supported = EP_VERSION;
	factory->impl.GetName = factory_get_name;
	factory->impl.GetVendor = factory_get_vendor;
	factory->impl.GetVendorId = factory_get_vendor_id;
	factory->impl.GetVersion = factory_get_version;
	factory->impl.GetSupportedDevices = factory_get_devices;
	factory->impl.CreateEp = factory_create_ep;
	factory->impl.ReleaseEp = factory_release_ep;
	factory->impl.CreateDataTransfer = factory_create_data_transfer;
	__atomic_add_fetch(&ep_live, 1, __ATOMIC_RELAXED);
	factories[0] = &factory->impl;
	*num_factories = 1;
	return NULL;
}

OrtStatus *ReleaseEpFactory(OrtEpFactory *factory)
{
	hang_at("ort:ReleaseEpFactory");
	api->ReleaseMemoryInfo(((struct factory *)factory)->memory);
	free(factory);
	__atomic_sub_fetch(&ep_live, 1, __ATOMIC_RELAXED);
	return NULL;
}
