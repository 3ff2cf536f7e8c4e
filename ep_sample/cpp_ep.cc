// A whole execution provider in C++ that embeds the kit: it claims every Relu of a model and says when its device worked.
// [profiling] marks what profiling adds: an object with the kit in front, a token where work is launched, an event where
// it is done.
//
// The device is this process: it computes on the calling thread and has std::chrono::steady_clock for a counter.
#include <algorithm>
#include <chrono>
#include <iterator>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "epprof/ep.h"
#include "epprof/status.h"
#include "work.h"

extern "C" {
EPP_EXPORT OrtStatus *CreateEpFactories(const char *registered_name, const OrtApiBase *base, const OrtLogger *logger,
                                        OrtEpFactory **factories, size_t max_factories, size_t *num_factories);
EPP_EXPORT OrtStatus *ReleaseEpFactory(OrtEpFactory *factory);
}

namespace
{

const OrtApiBase *ort_base;
const OrtApi *ort;
const OrtEpApi *ort_ep;

#define TRY(expression) \
	do { \
		if (OrtStatus *try_status = (expression)) \
			return try_status; \
	} while (0)

uint64_t device_ticks(void *)
{
	return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

// [profiling] The profilers that live: a host may have several sessions.
struct Profiler : epp_ep_profiler {
};
std::mutex profilers_lock;
std::vector<Profiler *> profilers;

void profiler_release(epp_ep_profiler *self, void *)
{
	auto *profiler = static_cast<Profiler *>(self);
	{
		std::lock_guard<std::mutex> guard(profilers_lock);
		profilers.erase(std::remove(profilers.begin(), profilers.end(), profiler), profilers.end());
	}
	delete profiler;
}

OrtStatus *create_profiler(OrtEp *, OrtEpProfilerImpl **impl) noexcept
{
	epp_ep_options options = {};
	options.struct_size = sizeof(options);
	options.ort_api_base = ort_base;
	options.ep_name = "CppEP";
	options.now_ticks = device_ticks;
	options.ticks_per_second = std::chrono::steady_clock::period::den;
	options.release = profiler_release;
	*impl = nullptr;
	auto *profiler = new (std::nothrow) Profiler;
	if (!profiler)
		return ort->CreateStatus(ORT_FAIL, "CppEP: out of memory");
	if (OrtStatus *status = epp_ep_profiler_init(profiler, &options)) {
		delete profiler;
		return status;
	}
	std::lock_guard<std::mutex> guard(profilers_lock);
	profilers.push_back(profiler);
	*impl = &profiler->impl;
	return nullptr;
}

void relu(const float *from, float *to, size_t count, int64_t stream)
{
	const uint64_t start = device_ticks(nullptr);
	for (size_t i = 0; i < count; i++)
		to[i] = std::max(from[i], 0.0f);
	const uint64_t end = device_ticks(nullptr);

	// [profiling] The work is done on the thread that launched it, so its token is taken here; elsewhere it would be taken
	// at the launch and travel with the work.
	epp_ep_arg args[1] = {};
	args[0].key = "elements";
	args[0].i64 = static_cast<int64_t>(count);
	epp_ep_event event = {};
	event.name = "relu";
	event.stream = stream;
	event.start_ticks = start;
	event.end_ticks = end;
	event.args = args;
	event.args_count = 1;
	std::lock_guard<std::mutex> guard(profilers_lock);
	for (Profiler *profiler : profilers) {
		event.parent = epp_ep_current(profiler);
		// No parent: the host runs this for another session than this profiler's.
		if (event.parent != 0)
			epp_ep_emit(profiler, &event);
	}
}

// ---- a node ----

struct Node : OrtNodeComputeInfo {
};

OrtStatus *node_create_state(OrtNodeComputeInfo *, OrtNodeComputeContext *, void **state)
{
	*state = nullptr;
	return nullptr;
}

OrtStatus *node_compute(OrtNodeComputeInfo *, void *, OrtKernelContext *context)
{
	const OrtValue *from = nullptr;
	OrtValue *to = nullptr;
	OrtTensorTypeAndShapeInfo *shape = nullptr;
	size_t dimensions_count = 0;
	size_t count = 0;
	const void *from_data = nullptr;
	void *to_data = nullptr;
	TRY(ort->KernelContext_GetInput(context, 0, &from));
	TRY(ort->GetTensorTypeAndShape(from, &shape));
	OrtStatus *status = ort->GetDimensionsCount(shape, &dimensions_count);
	std::vector<int64_t> dimensions(dimensions_count);
	if (!status)
		status = ort->GetDimensions(shape, dimensions.data(), dimensions_count);
	if (!status)
		status = ort->GetTensorShapeElementCount(shape, &count);
	ort->ReleaseTensorTypeAndShapeInfo(shape);
	TRY(status);
	TRY(ort->KernelContext_GetOutput(context, 0, dimensions.data(), dimensions_count, &to));
	TRY(ort->GetTensorData(from, &from_data));
	TRY(ort->GetTensorMutableData(to, &to_data));
	relu(static_cast<const float *>(from_data), static_cast<float *>(to_data), count, 0);
	return nullptr;
}

void node_release_state(OrtNodeComputeInfo *, void *)
{
}

// ---- the EP ----

struct Ep : OrtEp {
};

const char *ep_name(const OrtEp *) noexcept
{
	return "CppEP";
}

OrtStatus *node_is_relu(const OrtNode *node, bool *is_relu)
{
	const char *type = nullptr;
	const OrtValueInfo *input = nullptr;
	const OrtTypeInfo *input_type = nullptr;
	const OrtTensorTypeAndShapeInfo *tensor = nullptr;
	ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
	*is_relu = false;
	TRY(ort->Node_GetOperatorType(node, &type));
	if (std::string(type) != "Relu")
		return nullptr;
	TRY(ort->Node_GetInputs(node, &input, 1));
	TRY(ort->GetValueInfoTypeInfo(input, &input_type));
	TRY(ort->CastTypeInfoToTensorInfo(input_type, &tensor));
	TRY(ort->GetTensorElementType(tensor, &element));
	*is_relu = element == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
	return nullptr;
}

OrtStatus *ep_get_capability(OrtEp *, const OrtGraph *graph, OrtEpGraphSupportInfo *support) noexcept
{
	size_t count = 0;
	TRY(ort->Graph_GetNumNodes(graph, &count));
	std::vector<const OrtNode *> nodes(count);
	TRY(ort->Graph_GetNodes(graph, nodes.data(), count));
	for (const OrtNode *node : nodes) {
		bool is_relu = false;
		TRY(node_is_relu(node, &is_relu));
		OrtNodeFusionOptions options = {};
		options.ort_version_supported = EPPROF_ORT_API_VERSION_MIN;
		if (is_relu)
			TRY(ort_ep->EpGraphSupportInfo_AddNodesToFuse(support, &node, 1, &options));
	}
	return nullptr;
}

OrtStatus *ep_compile(OrtEp *, const OrtGraph **, const OrtNode **, size_t count, OrtNodeComputeInfo **infos,
                      OrtNode **) noexcept
{
	for (size_t i = 0; i < count; i++) {
		auto *node = new (std::nothrow) Node();
		if (!node)
			return ort->CreateStatus(ORT_FAIL, "CppEP: out of memory");
		node->ort_version_supported = EPPROF_ORT_API_VERSION_MIN;
		node->CreateState = node_create_state;
		node->Compute = node_compute;
		node->ReleaseState = node_release_state;
		infos[i] = node;
	}
	return nullptr;
}

void ep_release_nodes(OrtEp *, OrtNodeComputeInfo **infos, size_t count) noexcept
{
	for (size_t i = 0; i < count; i++)
		delete static_cast<Node *>(infos[i]);
}

// ---- the factory ----

struct Factory : OrtEpFactory {
};

const char *factory_name(const OrtEpFactory *) noexcept
{
	return "CppEP";
}

const char *factory_vendor(const OrtEpFactory *) noexcept
{
	return "epprof";
}

const char *factory_version(const OrtEpFactory *) noexcept
{
	return "1.0.0";
}

OrtStatus *factory_devices(OrtEpFactory *factory, const OrtHardwareDevice *const *devices, size_t count,
                           OrtEpDevice **ep_devices, size_t max_count, size_t *ep_devices_count) noexcept
{
	*ep_devices_count = 0;
	for (size_t i = 0; i < count && *ep_devices_count < max_count; i++) {
		if (ort->HardwareDevice_Type(devices[i]) != OrtHardwareDeviceType_CPU)
			continue;
		TRY(ort_ep->CreateEpDevice(factory, devices[i], nullptr, nullptr, &ep_devices[*ep_devices_count]));
		++*ep_devices_count;
	}
	return nullptr;
}

OrtStatus *factory_create_ep(OrtEpFactory *, const OrtHardwareDevice *const *, const OrtKeyValuePairs *const *, size_t,
                             const OrtSessionOptions *, const OrtLogger *, OrtEp **ep) noexcept
{
	auto *made = new (std::nothrow) Ep();
	*ep = made;
	if (!made)
		return ort->CreateStatus(ORT_FAIL, "CppEP: out of memory");
	made->ort_version_supported = EPPROF_ORT_API_VERSION_MIN;
	made->GetName = ep_name;
	made->GetCapability = ep_get_capability;
	made->Compile = ep_compile;
	made->ReleaseNodeComputeInfos = ep_release_nodes;
	made->CreateProfiler = create_profiler; // [profiling]
	return nullptr;
}

void factory_release_ep(OrtEpFactory *, OrtEp *ep) noexcept
{
	delete static_cast<Ep *>(ep);
}

OrtStatus *factory_create_data_transfer(OrtEpFactory *, OrtDataTransferImpl **data_transfer) noexcept
{
	*data_transfer = nullptr;
	return nullptr;
}

} // namespace

OrtStatus *CreateEpFactories(const char *, const OrtApiBase *base, const OrtLogger *, OrtEpFactory **factories,
                             size_t max_factories, size_t *num_factories)
{
	*num_factories = 0;
	ort_base = base;
	ort = base->GetApi(EPPROF_ORT_API_VERSION_MIN);
	if (!ort)
		return base->GetApi(1)->CreateStatus(ORT_FAIL, "CppEP: needs ONNX Runtime 1.25 or later");
	ort_ep = ort->GetEpApi();
	auto *factory = max_factories > 0 ? new (std::nothrow) Factory() : nullptr;
	if (!factory)
		return ort->CreateStatus(ORT_FAIL, "CppEP: no room for a factory");
	factory->ort_version_supported = EPPROF_ORT_API_VERSION_MIN;
	factory->GetName = factory_name;
	factory->GetVendor = factory_vendor;
	factory->GetVersion = factory_version;
	factory->GetSupportedDevices = factory_devices;
	factory->CreateEp = factory_create_ep;
	factory->ReleaseEp = factory_release_ep;
	factory->CreateDataTransfer = factory_create_data_transfer;
	factories[0] = factory;
	*num_factories = 1;
	return nullptr;
}

OrtStatus *ReleaseEpFactory(OrtEpFactory *factory)
{
	delete static_cast<Factory *>(factory);
	return nullptr;
}

int epp_sample_work(int count)
{
	float values[4096] = {};
	for (int i = 0; i < count; i++)
		relu(values, values, std::size(values), i % 2);
	return 0;
}
