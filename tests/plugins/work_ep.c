/* An execution provider of ONNX Runtime whose nodes give work to other libraries: while a node named "pu1" runs, which
 * computes a tensor of one float from another, libsample_pu1_ep.so in the directory WORK_DIRECTORY gets WORK_COUNT
 * units of work.  So a test has known events of any plugin inside an event of ONNX Runtime.  It claims each Neg node
 * and profiles nothing.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "epprof/abi/ort_ep_profiler.h"
#include "epprof/status.h"

#define NODES_MAX 16

#define TRY(expression) \
	do { \
		OrtStatus *status_ = (expression); \
		if (status_) \
			return status_; \
	} while (0)

struct work {
	OrtNodeComputeInfo info; /* first */
	int (*give)(int count);
};

EPP_EXPORT OrtStatus *CreateEpFactories(const char *registered_name, const OrtApiBase *ort_api_base,
                                        const OrtLogger *default_logger, OrtEpFactory **factories, size_t max_factories,
                                        size_t *num_factories);
EPP_EXPORT OrtStatus *ReleaseEpFactory(OrtEpFactory *factory);

static const OrtApi *ort;
static const OrtEpApi *ort_ep;

/* ---- nodes ---- */

static OrtStatus *node_create_state(OrtNodeComputeInfo *info, OrtNodeComputeContext *context, void **state)
{
	(void)info, (void)context;
	*state = NULL;
	return NULL;
}

static OrtStatus *node_compute(OrtNodeComputeInfo *info, void *state, OrtKernelContext *context)
{
	const int64_t one = 1;
	OrtValue *y;
	(void)state;
	TRY(ort->KernelContext_GetOutput(context, 0, &one, 1, &y));
	const char *count = getenv("WORK_COUNT");
	int failed = ((struct work *)info)->give(count ? (int)strtol(count, NULL, 10) : 1);
	return failed ? ort->CreateStatus(ORT_EP_FAIL, "work EP: the device did not take it") : NULL;
}

static void node_release_state(OrtNodeComputeInfo *info, void *state)
{
	(void)info, (void)state;
}

/* The libraries are loaded already, by the code that profiles them. */
static OrtStatus *node_compile(const OrtGraph *graph, OrtNodeComputeInfo **info)
{
	const OrtNode *node;
	const char *name, *directory = getenv("WORK_DIRECTORY");
	char path[4096];
	TRY(ort->Graph_GetNodes(graph, &node, 1));
	TRY(ort->Node_GetName(node, &name));
	snprintf(path, sizeof(path), "%s/libsample_%s_ep.so", directory ? directory : ".", name);
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	struct work *made = calloc(1, sizeof(*made));
	if (library)
		*(void **)&made->give = dlsym(library, "epp_sample_work");
	if (!made->give) {
		free(made);
		return ort->CreateStatus(ORT_EP_FAIL, "work EP: no library with epp_sample_work");
	}
	made->info = (OrtNodeComputeInfo){ .ort_version_supported = EPPROF_ORT_API_VERSION_MIN,
		                           .CreateState = node_create_state,
		                           .Compute = node_compute,
		                           .ReleaseState = node_release_state };
	*info = &made->info;
	return NULL;
}

/* ---- the EP ---- */

static const char *ep_name(const OrtEp *ep)
{
	(void)ep;
	return "WorkEP";
}

static OrtStatus *ep_get_capability(OrtEp *ep, const OrtGraph *graph, OrtEpGraphSupportInfo *support)
{
	const OrtNodeFusionOptions options = { .ort_version_supported = EPPROF_ORT_API_VERSION_MIN };
	const OrtNode *nodes[NODES_MAX];
	size_t count;
	(void)ep;
	TRY(ort->Graph_GetNumNodes(graph, &count));
	if (count > NODES_MAX)
		return ort->CreateStatus(ORT_EP_FAIL, "work EP: too many nodes");
	TRY(ort->Graph_GetNodes(graph, nodes, count));
	for (size_t i = 0; i < count; i++)
		TRY(ort_ep->EpGraphSupportInfo_AddNodesToFuse(support, &nodes[i], 1, &options));
	return NULL;
}

static OrtStatus *ep_compile(OrtEp *ep, const OrtGraph **graphs, const OrtNode **fused_nodes, size_t count,
                             OrtNodeComputeInfo **infos, OrtNode **ep_context_nodes)
{
	(void)ep, (void)fused_nodes, (void)ep_context_nodes;
	for (size_t i = 0; i < count; i++)
		TRY(node_compile(graphs[i], &infos[i]));
	return NULL;
}

static void ep_release_node_compute_infos(OrtEp *ep, OrtNodeComputeInfo **infos, size_t count)
{
	(void)ep;
	for (size_t i = 0; i < count; i++)
		free(infos[i]);
}

/* ---- the factory ---- */

static const char *factory_text(const OrtEpFactory *factory)
{
	(void)factory;
	return "WorkEP";
}

static const char *factory_version(const OrtEpFactory *factory)
{
	(void)factory;
	return "1.0.0";
}

static OrtStatus *factory_supported_devices(OrtEpFactory *factory, const OrtHardwareDevice *const *devices,
                                            size_t devices_count, OrtEpDevice **ep_devices, size_t max_count,
                                            size_t *count)
{
	(void)max_count;
	*count = 0;
	for (size_t i = 0; i < devices_count && !*count; i++) {
		if (ort->HardwareDevice_Type(devices[i]) != OrtHardwareDeviceType_CPU)
			continue;
		TRY(ort_ep->CreateEpDevice(factory, devices[i], NULL, NULL, &ep_devices[0]));
		*count = 1;
	}
	return NULL;
}

static OrtStatus *factory_create_ep(OrtEpFactory *factory, const OrtHardwareDevice *const *devices,
                                    const OrtKeyValuePairs *const *metadata, size_t devices_count,
                                    const OrtSessionOptions *options, const OrtLogger *logger, OrtEp **ep)
{
	static OrtEp made;
	(void)factory, (void)devices, (void)metadata, (void)devices_count, (void)options, (void)logger;
	made = (OrtEp){ .ort_version_supported = EPPROF_ORT_API_VERSION_MIN,
		        .GetName = ep_name,
		        .GetCapability = ep_get_capability,
		        .Compile = ep_compile,
		        .ReleaseNodeComputeInfos = ep_release_node_compute_infos };
	*ep = &made;
	return NULL;
}

static void factory_release_ep(OrtEpFactory *factory, OrtEp *ep)
{
	(void)factory, (void)ep;
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
	static OrtEpFactory factory;
	(void)registered_name, (void)default_logger, (void)max_factories;
	ort = ort_api_base->GetApi(EPPROF_ORT_API_VERSION_MIN);
	ort_ep = ort->GetEpApi();
	factory = (OrtEpFactory){ .ort_version_supported = EPPROF_ORT_API_VERSION_MIN,
		                  .GetName = factory_text,
		                  .GetVendor = factory_text,
		                  .GetVersion = factory_version,
		                  .GetSupportedDevices = factory_supported_devices,
		                  .CreateEp = factory_create_ep,
		                  .ReleaseEp = factory_release_ep,
		                  .CreateDataTransfer = factory_create_data_transfer };
	factories[0] = &factory;
	*num_factories = 1;
	return NULL;
}

OrtStatus *ReleaseEpFactory(OrtEpFactory *factory)
{
	(void)factory;
	return NULL;
}
