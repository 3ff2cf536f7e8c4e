/* libepprof_cupti_ort.so: the plugin for NVIDIA's GPUs as an execution provider of ONNX Runtime, which writes the GPU's
 * work into ONNX Runtime's own profile, without a host of epprof.
 *
 * The provider takes no node of a model: it is added to a session beside the provider that computes, and ONNX Runtime
 * then reports all events to its profiler.  The functions of pu1_cupti.c, which this library does not export, get the
 * records; the kit (epprof/ep.h) finds the event of each and delivers it.  While an event is open on a thread, its
 * token is the external id of what the thread launches.
 * CUPTI has one receiver in a process, so one session at a time can be profiled. */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "epprof/abi/pu1.h"
#include "epprof/ep.h"
#include "epprof/status.h"

EPP_EXPORT OrtStatus *CreateEpFactories(const char *registered_name, const OrtApiBase *ort_api_base,
                                        const OrtLogger *default_logger, OrtEpFactory **factories, size_t max_factories,
                                        size_t *num_factories);
EPP_EXPORT OrtStatus *ReleaseEpFactory(OrtEpFactory *factory);

#define EP_NAME "EpprofCupti"
#define BUFFER_BYTES ((size_t)1 << 20)

static const pu1ActivityKind kinds[] = { PU1_KIND_CONCURRENT_KERNEL, PU1_KIND_GPU_MEMCPY, PU1_KIND_GPU_MEMSET };
#define KINDS_COUNT (sizeof(kinds) / sizeof(kinds[0]))

struct factory {
	OrtEpFactory factory;
	const OrtApiBase *ort_api_base;
	const OrtApi *api;
};

struct ep {
	OrtEp ep;
	const struct factory *factory;
};

struct profiler {
	epp_ep_profiler kit;     /* first: this is the OrtEpProfilerImpl that ONNX Runtime sees */
	OrtEpProfilerImpl calls; /* the kit's own functions */
	const OrtApi *api;
	pu1Result failure; /* of the end of recording */
};

static struct {
	pthread_mutex_t lock;
	struct profiler *profiler; /* NULL: none records */
} recording = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The profiler whose events are open on this thread, and how many external ids it has pushed. */
static _Thread_local struct {
	const struct profiler *owner;
	unsigned count;
} pushed;

/* ---- records ---- */

static uint32_t copy_of(const pu1ActivityRecord *record)
{
	static const struct {
		const char *name;
		uint32_t copy;
	} directions[] = { { "memcpy HtoD", EPP_EP_HOST_TO_DEVICE }, { "memcpy DtoH", EPP_EP_DEVICE_TO_HOST } };
	if (record->kind == PU1_KIND_GPU_MEMSET)
		return EPP_EP_FILL;
	if (record->kind != PU1_KIND_GPU_MEMCPY)
		return EPP_EP_NO_COPY;
	for (size_t i = 0; i < sizeof(directions) / sizeof(directions[0]); i++)
		if (strcmp(record->name, directions[i].name) == 0)
			return directions[i].copy;
	return EPP_EP_DEVICE_TO_DEVICE;
}

static void emit(struct profiler *profiler, const pu1ActivityRecord *record)
{
	const epp_ep_arg metadata = { .key = "metadata", .text = record->metadata };
	const epp_ep_event event = {
		.parent = record->flags & PU1_FLAG_EXTERNAL_ID ? record->external_id : 0,
		.name = record->name ? record->name : "(unnamed)",
		.start_ticks = record->start_time,
		.end_ticks = record->end_time,
		.device = record->device_id,
		.stream = record->stream_id,
		.copy = copy_of(record),
		.bytes = record->bytes,
		.args = &metadata,
		.args_count = record->metadata ? 1 : 0,
	};
	epp_ep_emit(&profiler->kit, &event);
}

static void buffer_request(uint8_t **buffer, size_t *bytes, size_t *max_records)
{
	*buffer = malloc(BUFFER_BYTES);
	*bytes = *buffer ? BUFFER_BYTES : 0;
	*max_records = 0;
}

static void buffer_complete(uint8_t *buffer, size_t bytes, size_t valid_bytes)
{
	pu1ActivityRecord *record = NULL;
	(void)bytes;
	pthread_mutex_lock(&recording.lock);
	while (recording.profiler && pu1GetNextRecord(buffer, valid_bytes, &record) == PU1_SUCCESS)
		if (record->kind == kinds[0] || record->kind == kinds[1] || record->kind == kinds[2])
			emit(recording.profiler, record);
	pthread_mutex_unlock(&recording.lock);
	free(buffer);
}

/* ---- the profiler ---- */

/* CUPTI's clock counts nanoseconds.  Its conversion from the GPU's clock has an error of its own. */
static int read_clocks(void *clock, uint64_t (*host_ticks)(void), uint64_t host_ticks_per_second, uint64_t pair[3])
{
	uint64_t error_ns = 0, before_ticks = host_ticks();
	(void)clock;
	pu1Result result = pu1GetTimestamp(&pair[0]);
	uint64_t after_ticks = host_ticks();
	pu1GetClockError(&error_ns);
	pair[1] = before_ticks + (after_ticks - before_ticks) / 2;
	pair[2] = (after_ticks - before_ticks) / 2 + 1 +
	          (uint64_t)((double)error_ns * (double)host_ticks_per_second / 1e9);
	return result == PU1_SUCCESS ? 0 : -1;
}

static bool begin(struct profiler *profiler)
{
	pthread_mutex_lock(&recording.lock);
	bool is_free = !recording.profiler;
	if (is_free)
		recording.profiler = profiler;
	pthread_mutex_unlock(&recording.lock);
	return is_free;
}

static bool is_recording(const struct profiler *profiler)
{
	pthread_mutex_lock(&recording.lock);
	bool is_own = recording.profiler == profiler;
	pthread_mutex_unlock(&recording.lock);
	return is_own;
}

static void end(void)
{
	pthread_mutex_lock(&recording.lock);
	recording.profiler = NULL;
	pthread_mutex_unlock(&recording.lock);
}

static void disable(size_t count)
{
	while (count-- > 0)
		pu1TracingDisable(kinds[count]);
}

static pu1Result enable(void)
{
	pu1Result result = pu1TracingSetCallbacks(buffer_request, buffer_complete);
	for (size_t i = 0; i < KINDS_COUNT && result == PU1_SUCCESS; i++) {
		result = pu1TracingEnable(kinds[i]);
		if (result != PU1_SUCCESS)
			disable(i);
	}
	return result;
}

static OrtStatus *status_of(const struct profiler *profiler, pu1Result result)
{
	return result == PU1_SUCCESS ? NULL : profiler->api->CreateStatus(ORT_EP_FAIL, pu1GetResultString(result));
}

static OrtStatus *start_profiling(OrtEpProfilerImpl *impl, int64_t offset_ns)
{
	struct profiler *profiler = (struct profiler *)impl;
	if (!begin(profiler))
		return profiler->api->CreateStatus(ORT_EP_FAIL, EP_NAME ": another session is being profiled");
	OrtStatus *status = status_of(profiler, enable());
	if (!status) {
		status = profiler->calls.StartProfiling(impl, offset_ns);
		if (status)
			disable(KINDS_COUNT);
	}
	if (status)
		end();
	return status;
}

static OrtStatus *start_event(OrtEpProfilerImpl *impl, uint64_t id)
{
	struct profiler *profiler = (struct profiler *)impl;
	OrtStatus *status = profiler->calls.StartEvent(impl, id);
	if (pushed.count && pushed.owner != profiler)
		return status;
	pushed.owner = profiler;
	pushed.count += pu1PushExternalCorrelationId(epp_ep_current(&profiler->kit)) == PU1_SUCCESS;
	return status;
}

static OrtStatus *stop_event(OrtEpProfilerImpl *impl, uint64_t id, const OrtProfilingEvent *event)
{
	struct profiler *profiler = (struct profiler *)impl;
	if (pushed.owner == profiler && pushed.count) {
		pushed.count--;
		pu1PopExternalCorrelationId(NULL);
	}
	return profiler->calls.StopEvent(impl, id, event);
}

/* Called by the kit: emits what CUPTI still holds.  What CUPTI has dropped stays pending, and so is counted as lost.
 * Calls of the driver are recorded for a moment, because pu1_cupti.c then finds out whether another profiler in the
 * process has taken CUPTI's records. */
static void flush(void *user)
{
	struct profiler *profiler = user;
	size_t dropped_count = 0;
	if (!is_recording(profiler))
		return;
	if (pu1TracingEnable(PU1_KIND_PRIVATEUSE1_DRIVER) == PU1_SUCCESS)
		pu1TracingDisable(PU1_KIND_PRIVATEUSE1_DRIVER);
	disable(KINDS_COUNT);
	profiler->failure = pu1FlushAll();
	if (pu1GetNumDroppedRecords(&dropped_count) == PU1_SUCCESS)
		epp_ep_pending_add(&profiler->kit, (int64_t)dropped_count);
	end();
}

static OrtStatus *end_profiling(OrtEpProfilerImpl *impl, OrtProfilingEventsContainer *container)
{
	struct profiler *profiler = (struct profiler *)impl;
	profiler->failure = PU1_SUCCESS;
	OrtStatus *status = profiler->calls.EndProfiling(impl, container);
	return status ? status : status_of(profiler, profiler->failure);
}

static void profiler_release(OrtEpProfilerImpl *impl)
{
	struct profiler *profiler = (struct profiler *)impl;
	if (is_recording(profiler)) {
		disable(KINDS_COUNT);
		end();
	}
	profiler->calls.Release(impl);
}

static void profiler_free(epp_ep_profiler *kit, void *user)
{
	(void)user;
	free(kit);
}

static OrtStatus *ep_create_profiler(OrtEp *ep, OrtEpProfilerImpl **impl)
{
	const struct factory *factory = ((struct ep *)ep)->factory;
	struct profiler *profiler = calloc(1, sizeof(*profiler));
	*impl = NULL;
	if (!profiler)
		return factory->api->CreateStatus(ORT_EP_FAIL, EP_NAME ": out of memory");
	const epp_ep_options options = {
		.struct_size = sizeof(options),
		.ort_api_base = factory->ort_api_base,
		.ep_name = "CUDA",
		.ticks_per_second = 1000000000,
		.read_clocks = read_clocks,
		.end_profiling = flush,
		.release = profiler_free,
		.user = profiler,
	};
	OrtStatus *status = epp_ep_profiler_init(&profiler->kit, &options);
	if (status) {
		free(profiler);
		return status;
	}
	profiler->api = factory->api;
	profiler->calls = profiler->kit.impl;
	profiler->kit.impl.StartProfiling = start_profiling;
	profiler->kit.impl.StartEvent = start_event;
	profiler->kit.impl.StopEvent = stop_event;
	profiler->kit.impl.EndProfiling = end_profiling;
	profiler->kit.impl.Release = profiler_release;
	*impl = &profiler->kit.impl;
	return NULL;
}

/* ---- the provider ---- */

static const char *ep_name(const OrtEp *ep)
{
	(void)ep;
	return EP_NAME;
}

static OrtStatus *ep_get_capability(OrtEp *ep, const OrtGraph *graph, OrtEpGraphSupportInfo *support)
{
	(void)ep, (void)graph, (void)support;
	return NULL;
}

static const char *factory_name(const OrtEpFactory *factory)
{
	(void)factory;
	return EP_NAME;
}

static const char *factory_vendor(const OrtEpFactory *factory)
{
	(void)factory;
	return "epprof";
}

static const char *factory_version(const OrtEpFactory *factory)
{
	(void)factory;
	return "1.0.0";
}

/* The provider computes nothing, so the CPU will do, which every machine has. */
static OrtStatus *factory_supported_devices(OrtEpFactory *ort_factory, const OrtHardwareDevice *const *devices,
                                            size_t devices_count, OrtEpDevice **ep_devices, size_t max_count,
                                            size_t *count)
{
	const struct factory *factory = (struct factory *)ort_factory;
	*count = 0;
	for (size_t i = 0; i < devices_count && *count < max_count; i++) {
		if (factory->api->HardwareDevice_Type(devices[i]) != OrtHardwareDeviceType_CPU)
			continue;
		OrtStatus *status = factory->api->GetEpApi()->CreateEpDevice(ort_factory, devices[i], NULL, NULL,
		                                                             &ep_devices[*count]);
		if (status)
			return status;
		++*count;
	}
	return NULL;
}

static OrtStatus *factory_create_ep(OrtEpFactory *ort_factory, const OrtHardwareDevice *const *devices,
                                    const OrtKeyValuePairs *const *metadata, size_t devices_count,
                                    const OrtSessionOptions *options, const OrtLogger *logger, OrtEp **ep)
{
	(void)devices, (void)metadata, (void)devices_count, (void)options, (void)logger;
	const struct factory *factory = (struct factory *)ort_factory;
	struct ep *made = calloc(1, sizeof(*made));
	*ep = NULL;
	if (!made)
		return factory->api->CreateStatus(ORT_EP_FAIL, EP_NAME ": out of memory");
	made->factory = factory;
	made->ep.ort_version_supported = EPPROF_ORT_API_VERSION_MIN;
	made->ep.GetName = ep_name;
	made->ep.GetCapability = ep_get_capability;
	made->ep.CreateProfiler = ep_create_profiler;
	*ep = &made->ep;
	return NULL;
}

static void factory_release_ep(OrtEpFactory *factory, OrtEp *ep)
{
	(void)factory;
	free(ep);
}

static OrtStatus *factory_create_data_transfer(OrtEpFactory *factory, OrtDataTransferImpl **data_transfer)
{
	(void)factory;
	*data_transfer = NULL;
	return NULL;
}

OrtStatus *CreateEpFactories(const char *registered_name, const OrtApiBase *ort_api_base, const OrtLogger *default_logger,
                             OrtEpFactory **factories, size_t max_factories, size_t *num_factories)
{
	(void)registered_name, (void)default_logger;
	*num_factories = 0;
	const OrtApi *api = ort_api_base->GetApi(EPPROF_ORT_API_VERSION_MIN);
	if (!api)
		return ort_api_base->GetApi(1)->CreateStatus(ORT_FAIL, EP_NAME ": needs API version 25 or later");
	if (max_factories < 1)
		return api->CreateStatus(ORT_INVALID_ARGUMENT, EP_NAME ": no room for a factory");
	if (kineto_register_privateuse1_plugin() != 0)
		return api->CreateStatus(ORT_EP_FAIL, pu1GetResultString(PU1_NOT_IMPLEMENTED));
	struct factory *made = calloc(1, sizeof(*made));
	if (!made)
		return api->CreateStatus(ORT_EP_FAIL, EP_NAME ": out of memory");
	made->ort_api_base = ort_api_base;
	made->api = api;
	made->factory = (OrtEpFactory){
		.ort_version_supported = EPPROF_ORT_API_VERSION_MIN,
		.GetName = factory_name,
		.GetVendor = factory_vendor,
		.GetVersion = factory_version,
		.GetSupportedDevices = factory_supported_devices,
		.CreateEp = factory_create_ep,
		.ReleaseEp = factory_release_ep,
		.CreateDataTransfer = factory_create_data_transfer,
	};
	factories[0] = &made->factory;
	*num_factories = 1;
	return NULL;
}

OrtStatus *ReleaseEpFactory(OrtEpFactory *factory)
{
	free(factory);
	return NULL;
}
