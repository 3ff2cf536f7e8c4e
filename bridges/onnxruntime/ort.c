/* The collector in ONNX Runtime: an execution provider library that computes nothing.
 *
 * ONNX Runtime passes every event of a session to the profilers of its execution providers.  This provider claims no
 * node; its profiler (ort_collector.c) records the events into the .epp file that EPPROF_OUTPUT names.  A user adds it
 * to a session like any execution provider and enables profiling.  Events of hosted plugins are also added to ONNX
 * Runtime's own profile; without EPPROF_OUTPUT they are added only there.  Without EPPROF_OUTPUT and without plugins,
 * the provider has no profiler, and logs this once. */
#include <stdlib.h>
#include <string.h>

#include "bridges/onnxruntime/requests/ort_runs.h"
#include "epprof/ep_push.h"
#include "epprof/plugin.h"
#include "ort.h"
#include "ort_hosted.h"

#ifndef EP_NAME
#define EP_NAME "epprof"
#endif

EPP_EXPORT OrtStatus *CreateEpFactories(const char *registered_name, const OrtApiBase *ort_api_base,
                                        const OrtLogger *default_logger, OrtEpFactory **factories, size_t max_factories,
                                        size_t *num_factories);
EPP_EXPORT OrtStatus *ReleaseEpFactory(OrtEpFactory *factory);

struct bridge_factory {
	OrtEpFactory factory;
	struct ort_host host;
	const OrtLogger *logger; /* exists longer than all sessions */
	struct ort_libraries *libraries;
};

struct bridge_ep {
	OrtEp ep;
	struct ort_eps *hosted;
	struct ort_runs runs;
	const struct bridge_factory *factory;
};

static bool host_reads_profile; /* set when the library is registered, which is before any session */

bool ort_host_reads_profile(void)
{
	return host_reads_profile;
}

OrtStatus *ort_status_of(const struct ort_host *host, epp_status *status)
{
	if (!status)
		return NULL;
	OrtStatus *given = host->api->CreateStatus(ORT_FAIL, epp_status_message(status));
	epp_status_destroy(status);
	return given;
}

OrtStatus *ort_status_from_epprof(const struct ort_host *host, OrtStatus *status)
{
	const OrtApi *own = epp_ort_api_base()->GetApi(EPPROF_ORT_API_VERSION);
	if (!status)
		return NULL;
	OrtStatus *given = host->api->CreateStatus(ORT_FAIL, own->GetErrorMessage(status));
	own->ReleaseStatus(status);
	return given;
}

void ort_log(const struct ort_host *host, const OrtLogger *logger, OrtLoggingLevel level, OrtStatus *status)
{
	OrtStatus *failed = NULL;
	if (!status)
		return;
	if (logger)
		failed = host->api->Logger_LogMessage(logger, level, host->api->GetErrorMessage(status), __FILE__,
		                                      __LINE__, __func__);
	if (failed)
		host->api->ReleaseStatus(failed);
	host->api->ReleaseStatus(status);
}

int64_t ort_ns_since(uint64_t ticks)
{
	return (int64_t)((double)(epp_host_ticks() - ticks) * 1e9 / (double)epp_host_ticks_per_second());
}

static OrtStatus *no_memory(const struct ort_host *host)
{
	return host->api->CreateStatus(ORT_FAIL, "epprof: out of memory");
}

/* ---- the EP ---- */

static const char *ep_name(const OrtEp *ep)
{
	(void)ep;
	return EP_NAME;
}

static OrtStatus *ep_claim_nothing(OrtEp *ep, const OrtGraph *graph, OrtEpGraphSupportInfo *support)
{
	(void)ep, (void)graph, (void)support;
	return NULL;
}

/* ONNX Runtime does not call this, because the provider has no nodes to compile. */
static OrtStatus *ep_compile(OrtEp *ep, const OrtGraph **graphs, const OrtNode **fused_nodes, size_t count,
                             OrtNodeComputeInfo **infos, OrtNode **ep_context_nodes)
{
	(void)graphs, (void)fused_nodes, (void)infos, (void)ep_context_nodes;
	const struct ort_host *host = &((struct bridge_ep *)ep)->factory->host;
	return count ? host->api->CreateStatus(ORT_NOT_IMPLEMENTED, "epprof: computes nothing") : NULL;
}

static void ep_release_node_compute_infos(OrtEp *ep, OrtNodeComputeInfo **infos, size_t count)
{
	(void)ep, (void)infos, (void)count;
}

/* Concurrent runs are supported, so the provider does not change how the session runs. */
static OrtStatus *ep_is_concurrent_run_supported(OrtEp *ep, bool *is_supported)
{
	(void)ep;
	*is_supported = true;
	return NULL;
}

static OrtStatus *ep_create_profiler(OrtEp *ep, OrtEpProfilerImpl **profiler)
{
	const struct ort_host *host = &((struct bridge_ep *)ep)->factory->host;
	*profiler = NULL;
	struct ort_eps *hosted = ((struct bridge_ep *)ep)->hosted;
	if (!ort_output_wanted() && !ort_eps_count(hosted))
		return NULL;
	*profiler = ort_collector_create(host, ((struct bridge_ep *)ep)->factory->logger, hosted,
	                                 &((struct bridge_ep *)ep)->runs);
	return *profiler ? NULL : no_memory(host);
}

/* ONNX Runtime calls this within the event of the run, before the first node.  It does not call it if it replays a
 * captured graph. */
static OrtStatus *ep_on_run_start(OrtEp *ep, const OrtRunOptions *options)
{
	const struct bridge_factory *factory = ((struct bridge_ep *)ep)->factory;
	ort_collector_run_starts(&factory->host, factory->logger, options, &((struct bridge_ep *)ep)->runs);
	return NULL;
}

/* ONNX Runtime calls this after the run's last node, before the event of the run ends. */
static OrtStatus *ep_on_run_end(OrtEp *ep, const OrtRunOptions *options, bool sync_stream)
{
	(void)options, (void)sync_stream;
	ort_collector_run_ends(&((struct bridge_ep *)ep)->runs);
	return NULL;
}

/* ---- the factory ---- */

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
	return EPPROF_VERSION;
}

/* Offers the provider for the first CPU device only, whatever other devices there are. */
static OrtStatus *factory_supported_devices(OrtEpFactory *ort_factory, const OrtHardwareDevice *const *devices,
                                            size_t devices_count, OrtEpDevice **ep_devices, size_t max_count,
                                            size_t *count)
{
	const struct ort_host *host = &((struct bridge_factory *)ort_factory)->host;
	struct ort_libraries *libraries = ((struct bridge_factory *)ort_factory)->libraries;
	*count = 0;
	for (size_t i = 0; i < devices_count && *count < max_count; i++) {
		if (host->api->HardwareDevice_Type(devices[i]) != OrtHardwareDeviceType_CPU)
			continue;
		OrtStatus *status = host->ep->CreateEpDevice(ort_factory, devices[i], NULL, NULL, &ep_devices[0]);
		*count = !status;
		return status ? status : ort_libraries_set_devices(libraries, devices, devices_count);
	}
	return NULL;
}

/* Logs once per process that nothing is recorded. */
static void log_nothing_recorded(const struct bridge_factory *factory, const OrtLogger *logger)
{
	static bool is_reported;
	const struct ort_host *host = &factory->host;
	if (ort_output_wanted() || factory->libraries || __atomic_exchange_n(&is_reported, true, __ATOMIC_RELAXED) ||
	    !logger)
		return;
	ort_log(host, logger, ORT_LOGGING_LEVEL_WARNING,
	        host->api->CreateStatus(ORT_FAIL, "epprof: EPPROF_OUTPUT is not set, nothing is recorded"));
}

static OrtStatus *factory_create_ep(OrtEpFactory *ort_factory, const OrtHardwareDevice *const *devices,
                                    const OrtKeyValuePairs *const *metadata, size_t devices_count,
                                    const OrtSessionOptions *options, const OrtLogger *logger, OrtEp **ep)
{
	(void)devices, (void)metadata, (void)devices_count;
	struct bridge_factory *factory = (struct bridge_factory *)ort_factory;
	*ep = NULL;
	struct bridge_ep *made = calloc(1, sizeof(*made));
	if (!made)
		return no_memory(&factory->host);
	log_nothing_recorded(factory, logger);
	OrtStatus *status = ort_eps_create(factory->libraries, options, logger, &made->hosted);
	if (status) {
		free(made);
		return status;
	}
	made->factory = factory;
	ort_runs_init(&made->runs);
	made->ep.ort_version_supported = EPPROF_ORT_API_VERSION_MIN;
	made->ep.GetName = ep_name;
	made->ep.GetCapability = ep_claim_nothing;
	made->ep.Compile = ep_compile;
	made->ep.ReleaseNodeComputeInfos = ep_release_node_compute_infos;
	made->ep.OnRunStart = ep_on_run_start;
	made->ep.OnRunEnd = ep_on_run_end;
	made->ep.IsConcurrentRunSupported = ep_is_concurrent_run_supported;
	made->ep.CreateProfiler = ep_create_profiler;
	*ep = &made->ep;
	return NULL;
}

static void factory_release_ep(OrtEpFactory *factory, OrtEp *ep)
{
	(void)factory;
	ort_eps_release(((struct bridge_ep *)ep)->hosted);
	ort_runs_deinit(&((struct bridge_ep *)ep)->runs);
	free(ep);
}

/* The provider has no data transfer, but ONNX Runtime requires the function. */
static OrtStatus *factory_create_data_transfer(OrtEpFactory *factory, OrtDataTransferImpl **data_transfer)
{
	(void)factory;
	*data_transfer = NULL;
	return NULL;
}

/* ---- the library ---- */

/* Returns ONNX Runtime's tables in the newest version that both sides support.  `ep` is NULL if ONNX Runtime is too
 * old. */
static struct ort_host host_of(const OrtApiBase *base)
{
	struct ort_host host = { .base = base };
	const char *version = base->GetVersionString();
	if (version && version[0] == '1' && version[1] == '.')
		host.version = (uint32_t)strtoul(version + 2, NULL, 10);
	uint32_t known = host.version < EPPROF_ORT_API_VERSION ? host.version : EPPROF_ORT_API_VERSION;
	if (known >= EPPROF_ORT_API_VERSION_MIN && (host.api = base->GetApi(known)))
		host.ep = host.api->GetEpApi();
	return host;
}

OrtStatus *CreateEpFactories(const char *registered_name, const OrtApiBase *ort_api_base, const OrtLogger *default_logger,
                             OrtEpFactory **factories, size_t max_factories, size_t *num_factories)
{
	*num_factories = 0;
	host_reads_profile = registered_name && strcmp(registered_name, EPPROF_COLLECTOR_NAME_OF_READER) == 0;
	struct ort_host host = host_of(ort_api_base);
	/* CreateStatus is the first slot in every version, so it can be used also if ONNX Runtime is too old. */
	if (!host.ep)
		return ort_api_base->GetApi(1)->CreateStatus(ORT_FAIL, "epprof: needs ONNX Runtime 1.25 or later");
	if (max_factories < 1)
		return host.api->CreateStatus(ORT_INVALID_ARGUMENT, "epprof: the array of factories is too small");
	struct bridge_factory *made = calloc(1, sizeof(*made));
	if (!made)
		return no_memory(&host);
	made->host = host;
	made->logger = default_logger;
	OrtStatus *status = ort_libraries_load(&made->host, default_logger, &made->libraries);
	if (status) {
		free(made);
		return status;
	}
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
	ort_libraries_unload(((struct bridge_factory *)factory)->libraries);
	free(factory);
	return NULL;
}
