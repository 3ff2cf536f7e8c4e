// A complete execution provider in C++ that embeds the kit: it claims every Relu of a model and profiles its device.
// [profiling] marks the code for profiling: an object that begins with the kit, a token where work is launched, an event
// where it is done.
//
// The device is this process: it computes on the calling thread, and std::chrono::steady_clock is its counter.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <iterator>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "epprof/ep.hpp"
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

// [profiling] All profilers that exist; a host may have several sessions.
struct Profiler;
std::mutex profilers_lock;
std::vector<Profiler *> profilers;

// Deleted by the kit's Release.
struct Profiler : epprof::ep::profiler {
	~Profiler()
	{
		std::lock_guard<std::mutex> guard(profilers_lock);
		profilers.erase(std::remove(profilers.begin(), profilers.end(), this), profilers.end());
	}
};

OrtStatus *create_profiler(OrtEp *, OrtEpProfilerImpl **impl) noexcept
{
	epprof::ep::options options(ort_base, "CppEP", std::chrono::steady_clock::period::den);
	options.now_ticks = device_ticks;
	*impl = nullptr;
	Profiler *profiler;
	TRY(epprof::ep::create(options, profiler));
	// [profiling] The name under which viewers show the device's streams.
	profiler->set_device_name(0, "C++ device");
	profiler->set_stream_name(0, 0, "queue of ReLUs");
	try {
		std::lock_guard<std::mutex> guard(profilers_lock);
		profilers.push_back(profiler);
	} catch (const std::bad_alloc &) {
		profiler->impl.Release(&profiler->impl);
		return ort->CreateStatus(ORT_FAIL, "CppEP: out of memory");
	}
	*impl = &profiler->impl;
	return nullptr;
}

// [profiling] Emits an event.  The work was done on the thread that launched it, so the token is taken here.  An EP for
// a device with a queue would take the token at the launch and store it with the work.
void emit(Profiler *profiler, epp_ep_event event)
{
	event.parent = profiler->current();
	// Without a parent, the host runs this work for another session than that of the profiler.
	if (event.parent != 0)
		profiler->emit(event);
}

// [profiling] Records how much memory of the device is in use.
void record_memory(Profiler *profiler, uint64_t bytes)
{
	if (profiler->current() != 0)
		profiler->record_counter(0, "memory in use", bytes);
}

// [profiling] Reads the host's clock, which all profilers of the process share; 0: there is no profiler.
uint64_t host_ticks()
{
	std::lock_guard<std::mutex> guard(profilers_lock);
	return profilers.empty() ? 0 : profilers.front()->host_ticks();
}

void relu(const float *from, float *to, size_t count, int64_t stream)
{
	static std::atomic<uint64_t> copies{ 0 };
	const uint64_t bytes = count * sizeof(*to), submit = host_ticks(), queue = device_ticks(nullptr);
	const uint64_t copy_start = device_ticks(nullptr);
	std::memmove(to, from, bytes);
	const uint64_t start = device_ticks(nullptr);
	for (size_t i = 0; i < count; i++)
		to[i] = std::max(to[i], 0.0f);
	const uint64_t end = device_ticks(nullptr);

	// [profiling] The copy and the computation, with an arrow from one to the other.
	epprof::ep::event copy("copy_in", copy_start, start);
	copy.stream = stream;
	copy.copy = EPP_EP_HOST_TO_DEVICE;
	copy.bytes = bytes;
	copy.submit_host_ticks = submit;
	copy.queue_ticks = queue;
	copy.flow_begin = ++copies;
	const epp_ep_arg args[] = {
		epprof::ep::arg("elements", static_cast<int64_t>(count)),
		epprof::ep::arg("gigabytes_per_second", static_cast<double>(bytes) / static_cast<double>(end - start + 1)),
	};
	epprof::ep::event event("relu", start, end);
	event.stream = stream;
	event.args = args;
	event.args_count = std::size(args);
	event.submit_host_ticks = submit;
	event.queue_ticks = queue;
	event.flow_end = copy.flow_begin;
	std::lock_guard<std::mutex> guard(profilers_lock);
	for (Profiler *profiler : profilers) {
		record_memory(profiler, bytes);
		emit(profiler, copy);
		emit(profiler, event);
		record_memory(profiler, 0);
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
