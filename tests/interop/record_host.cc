/* A program that uses ONNX Runtime's C API and does not mention epprof; check_record_preload.py builds it, linked to ONNX
 * Runtime or with OPENED, which opens the library that this names, and runs it under `epprof record`.
 *
 * record_host SESSIONS MODEL [EP_LIBRARY]     runs the digits model ten times in each of so many sessions, which threads
 *                                             create at once, and prints the results
 *
 * HOST_PROFILE  it turns profiling on itself, with this prefix
 * HOST_STATUS   its exit status */
#if __has_include(<onnxruntime_c_api.h>)
#include <onnxruntime_c_api.h>
#endif
#include "epprof/abi/ort_ep_profiler.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <thread>
#include <vector>

static constexpr int RUNS = 10;
static constexpr int PIXELS = 64, DIGITS = 10;

#ifdef OPENED
static const OrtApiBase *get_api_base()
{
	void *library = dlopen(OPENED, RTLD_NOW | RTLD_LOCAL);
	auto get_base = reinterpret_cast<const OrtApiBase *(*)()>(library ? dlsym(library, "OrtGetApiBase") : nullptr);

	return get_base ? get_base() : nullptr;
}
#else
extern "C" const OrtApiBase *OrtGetApiBase() noexcept;
static const OrtApiBase *get_api_base()
{
	return OrtGetApiBase();
}
#endif

static const OrtApi *api;
static OrtEnv *env;

static void must(OrtStatus *status)
{
	if (!status)
		return;
	std::printf("%s\n", api->GetErrorMessage(status));
	std::fflush(stdout);
	std::_Exit(3);
}

static void append_sample(OrtSessionOptions *options)
{
	const OrtEpDevice *const *devices;
	size_t count;

	must(api->GetEpDevices(env, &devices, &count));
	for (size_t i = 0; i < count; i++)
		if (std::strcmp(api->EpDevice_EpName(devices[i]), "SampleEP") == 0)
			must(api->SessionOptionsAppendExecutionProvider_V2(options, env, &devices[i], 1, nullptr,
			                                                   nullptr, 0));
}

static void run(OrtSession *session, float *result)
{
	static const char *const inputs[] = { "x" }, *const outputs[] = { "p" };
	const int64_t shape[] = { 1, PIXELS };
	OrtAllocator *allocator;
	OrtValue *input, *output = nullptr;
	float *data;

	must(api->GetAllocatorWithDefaultOptions(&allocator));
	must(api->CreateTensorAsOrtValue(allocator, shape, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &input));
	must(api->GetTensorMutableData(input, reinterpret_cast<void **>(&data)));
	for (int i = 0; i < PIXELS; i++)
		data[i] = static_cast<float>(i % 16) / 16;
	must(api->Run(session, nullptr, inputs, &input, 1, outputs, 1, &output));
	must(api->GetTensorMutableData(output, reinterpret_cast<void **>(&data)));
	std::memcpy(result, data, DIGITS * sizeof(float));
	api->ReleaseValue(output);
	api->ReleaseValue(input);
}

static void use(const char *model, const OrtSessionOptions *options, float *result)
{
	OrtSession *session;

	must(api->CreateSession(env, model, options, &session));
	for (int i = 0; i < RUNS; i++)
		run(session, result);
	api->ReleaseSession(session);
}

int main(int argc, char **argv)
{
	const OrtApiBase *base = get_api_base();
	OrtSessionOptions *options;

	if (argc < 3 || !base || !(api = base->GetApi(26)))
		return 4;
	must(api->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "host", &env));
	must(api->CreateSessionOptions(&options));
	if (argc > 3) {
		must(api->RegisterExecutionProviderLibrary(env, "sample", argv[3]));
		append_sample(options);
	}
	if (const char *prefix = std::getenv("HOST_PROFILE"))
		must(api->EnableProfiling(options, prefix));
	std::vector<std::thread> threads;
	std::vector<float> results(std::strtoul(argv[1], nullptr, 10) * DIGITS);
	for (size_t i = 0; i < results.size(); i += DIGITS)
		threads.emplace_back(use, argv[2], options, &results[i]);
	for (std::thread &thread : threads)
		thread.join();
	for (size_t i = 0; i < results.size(); i++)
		std::printf("%.4f%c", results[i], i % DIGITS == DIGITS - 1 ? '\n' : ' ');
	api->ReleaseSessionOptions(options);
	api->ReleaseEnv(env);
	const char *status = std::getenv("HOST_STATUS");
	return status ? static_cast<int>(std::strtol(status, nullptr, 10)) : 0;
}
