/* An EP library that misbehaves as the environment variable HOSTILE specifies, and behaves correctly without it.  When
 * it is unloaded it sets the environment variables HOSTILE_LIVE (the number of objects that were made and not released)
 * and HOSTILE_CALLS (the calls in order), so that a test can check the unload and the calls. */
#include "epprof/abi/ort_ep_profiler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static const OrtApi *api;
static int live;
static char calls[512];
static OrtEpProfilerImpl one_profiler;

static bool is(const char *behaviour)
{
	const char *wanted = getenv("HOSTILE");
	return wanted && !strcmp(wanted, behaviour);
}

static void note(const char *call)
{
	size_t used = strlen(calls);
	snprintf(calls + used, sizeof(calls) - used, "%s%s", used ? " " : "", call);
}

static OrtStatus *refuse(const char *message)
{
	return api->CreateStatus(ORT_EP_FAIL, message);
}

__attribute__((destructor)) static void leave(void)
{
	char number[16];
	snprintf(number, sizeof(number), "%d", live);
	setenv("HOSTILE_LIVE", number, 1);
	setenv("HOSTILE_CALLS", calls, 1);
}

/* ---- the profiler ---- */

static void profiler_release(OrtEpProfilerImpl *this_ptr)
{
	if (this_ptr != &one_profiler)
		free(this_ptr);
	live--;
	note("Release");
}

static OrtStatus *profiler_start(OrtEpProfilerImpl *this_ptr, int64_t offset_ns)
{
	(void)this_ptr, (void)offset_ns;
	return refuse("no start");
}

static OrtStatus *profiler_end(OrtEpProfilerImpl *this_ptr, OrtProfilingEventsContainer *container)
{
	(void)this_ptr, (void)container;
	return refuse("no end");
}

static OrtStatus *create_profiler(OrtEp *this_ptr, OrtEpProfilerImpl **profiler)
{
	(void)this_ptr;
	note("CreateProfiler");
	if (is("profiler: status"))
		return refuse("no counters");
	if (is("profiler: NULL"))
		return NULL;
	bool is_static = is("profiler: the same") || is("profiler: no Release");
	OrtEpProfilerImpl *made = is_static ? &one_profiler : calloc(1, sizeof(*made));
	if (!made)
		return refuse("out of memory");
	made->ort_version_supported = is("profiler: version 24") ? 24 : 25;
	made->Release = is("profiler: no Release") ? NULL : profiler_release;
	made->StartProfiling = is("profiler: no StartProfiling") ? NULL : profiler_start;
	made->EndProfiling = is("profiler: no EndProfiling") ? NULL : profiler_end;
	if (made->Release)
		live++;
	*profiler = made;
	return NULL;
}

/* ---- EP and factory ---- */

static const char *get_name(const OrtEpFactory *this_ptr)
{
	(void)this_ptr;
	return is("factory: NULL name") ? NULL : "hostile";
}

static OrtStatus *get_devices(OrtEpFactory *this_ptr, const OrtHardwareDevice *const *devices, size_t num_devices,
                              OrtEpDevice **ep_devices, size_t max_ep_devices, size_t *num_ep_devices)
{
	(void)num_devices;
	note("GetSupportedDevices");
	if (is("devices: status"))
		return refuse("no driver");
	if (is("devices: none"))
		return NULL;
	/* Like vendors' EPs it accepts only its own devices, of which this is one. */
	if (is("vendor") &&
	    (api->HardwareDevice_Type(devices[0]) != OrtHardwareDeviceType_GPU ||
	     api->HardwareDevice_VendorId(devices[0]) != 0x8086 || api->HardwareDevice_DeviceId(devices[0]) != 0x56a0))
		return NULL;
	*num_ep_devices = 1;
	if (is("devices: NULL"))
		return NULL;
	size_t count = is("devices: past the end") ? max_ep_devices + 1 : 1;
	for (size_t i = 0; i < count; i++) {
		OrtStatus *status = api->GetEpApi()->CreateEpDevice(this_ptr, devices[0], NULL, NULL, &ep_devices[i]);
		if (status)
			return status;
	}
	if (is("devices: past the end")) {
		/* The host does not get the device beyond the end; release it here, so that it does not look like a
		 * leak of the host. */
		api->GetEpApi()->ReleaseEpDevice(ep_devices[max_ep_devices]);
		*num_ep_devices = max_ep_devices;
	}
	if (is("devices: too many"))
		*num_ep_devices = max_ep_devices + 1;
	return NULL;
}

static OrtStatus *create_ep(OrtEpFactory *this_ptr, const OrtHardwareDevice *const *devices,
                            const OrtKeyValuePairs *const *ep_metadata_pairs, size_t num_devices,
                            const OrtSessionOptions *session_options, const OrtLogger *logger, OrtEp **ep)
{
	(void)this_ptr, (void)devices, (void)ep_metadata_pairs, (void)num_devices, (void)session_options, (void)logger;
	note("CreateEp");
	if (is("ep: status"))
		return refuse("licence has expired");
	if (is("ep: foreign status")) {
		static char not_a_status[64] = "something else";
		return (OrtStatus *)(void *)not_a_status;
	}
	if (is("ep: NULL"))
		return NULL;
	if (is("vendor")) {
		const void *model;
		size_t bytes;
		OrtStatus *status = api->GetEpApi()->SessionOptionsGetWeightlessSourceModelBuffer(session_options,
		                                                                                  &model, &bytes);
		if (status)
			return status;
	}
	OrtEp *made = calloc(1, sizeof(*made));
	if (!made)
		return refuse("out of memory");
	made->ort_version_supported = is("ep: version 24") ? 24 : 25;
	made->CreateProfiler = is("ep: no CreateProfiler") ? NULL : create_profiler;
	live++;
	*ep = made;
	return NULL;
}

static void release_ep(OrtEpFactory *this_ptr, OrtEp *ep)
{
	(void)this_ptr;
	free(ep);
	live--;
	note("ReleaseEp");
}

static OrtStatus *create_data_transfer(OrtEpFactory *this_ptr, OrtDataTransferImpl **data_transfer)
{
	(void)this_ptr;
	*data_transfer = NULL;
	return NULL;
}

static OrtEpFactory *make_factory(void)
{
	OrtEpFactory *factory = calloc(1, sizeof(*factory));
	if (!factory)
		abort();
	factory->ort_version_supported = is("factory: version 24") ? 24 : 25;
	factory->GetName = is("factory: no GetName") ? NULL : get_name;
	factory->GetVendor = is("factory: no GetVendor") ? NULL : get_name;
	factory->GetSupportedDevices = is("factory: no GetSupportedDevices") ? NULL : get_devices;
	factory->CreateEp = is("factory: no CreateEp") ? NULL : create_ep;
	factory->ReleaseEp = is("factory: no ReleaseEp") ? NULL : release_ep;
	factory->GetVersion = is("factory: no GetVersion") ? NULL : get_name;
	factory->CreateDataTransfer = is("factory: no CreateDataTransfer") ? NULL : create_data_transfer;
	live++;
	return factory;
}

EXPORT OrtStatus *CreateEpFactories(const char *registered_name, const OrtApiBase *ort_api_base,
                                    const OrtLogger *default_logger, OrtEpFactory **factories, size_t max_factories,
                                    size_t *num_factories);
EXPORT OrtStatus *ReleaseEpFactory(OrtEpFactory *factory);

OrtStatus *CreateEpFactories(const char *registered_name, const OrtApiBase *ort_api_base, const OrtLogger *default_logger,
                             OrtEpFactory **factories, size_t max_factories, size_t *num_factories)
{
	(void)registered_name, (void)default_logger;
	api = ort_api_base->GetApi(25);
	note("CreateEpFactories");
	if (is("factories: status"))
		return refuse("no device found");
	if (is("factories: none"))
		return NULL;
	/* Like EPs compiled with ONNX Runtime's C++ headers. */
	if (is("vendor") && (!api->GetEpApi() || !api->GetModelEditorApi()))
		return refuse("GetEpApi or GetModelEditorApi returned null");
	*num_factories = is("factories: too many") ? max_factories + 1 : 1;
	if (is("factories: NULL"))
		return NULL;
	factories[0] = make_factory();
	if (is("factories: two, one NULL"))
		*num_factories = 2;
	if (is("factories: past the end"))
		factories[max_factories] = factories[0];
	return NULL;
}

OrtStatus *ReleaseEpFactory(OrtEpFactory *factory)
{
	free(factory);
	live--;
	note("ReleaseEpFactory");
	return is("release: status") ? refuse("will not go") : NULL;
}
