/* A host program for Windows: runs the digits model on an execution provider in ONNX Runtime, profiled.
 *
 *   host.exe ONNXRUNTIME_DLL EP_DLL EP_NAME MODEL TEST_DATA PROFILE_PREFIX RUNS [COLLECTOR_DLL]
 *
 * Each run has 16 images.  Prints the number of right answers of all runs, and the name of the profile.  ONNX Runtime's
 * paths are wide strings on Windows, which epprof/abi/ort_tables.h declares as char. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <windows.h>

#include "epprof/abi/ort_ep_profiler.h"

#define BATCH 16
#define DIGITS 10

static const OrtApi *ort;

static void check(OrtStatus *status, const char *what)
{
	if (!status)
		return;
	printf("%s: %s\n", what, ort->GetErrorMessage(status));
	exit(1);
}

static const char *path(const wchar_t *wide)
{
	return (const char *)wide;
}

static const OrtApi *api_load(const wchar_t *library)
{
	HMODULE loaded = LoadLibraryW(library);
	FARPROC address = loaded ? GetProcAddress(loaded, "OrtGetApiBase") : NULL;
	const OrtApiBase *(*get)(void);
	if (!address) {
		printf("onnxruntime.dll cannot be loaded: error %lu\n", GetLastError());
		exit(1);
	}
	memcpy(&get, &address, sizeof(get));
	printf("ONNX Runtime %s\n", get()->GetVersionString());
	return get()->GetApi(EPPROF_ORT_API_VERSION_MIN);
}

/* The images and the answers of digits_test.bin: two counts, pixels as floats, answers of 64 bits. */
static float *data_read(const wchar_t *file_name, uint32_t counts[2], int64_t **answers)
{
	FILE *file = _wfopen(file_name, L"rb");
	if (!file || fread(counts, sizeof(counts[0]), 2, file) != 2)
		exit(1);
	size_t pixels_count = (size_t)counts[0] * counts[1];
	float *pixels = malloc(pixels_count * sizeof(*pixels));
	*answers = malloc(counts[0] * sizeof(**answers));
	if (!pixels || !*answers || fread(pixels, sizeof(*pixels), pixels_count, file) != pixels_count ||
	    fread(*answers, sizeof(**answers), counts[0], file) != counts[0])
		exit(1);
	fclose(file);
	return pixels;
}

/* Returns the number of right answers of one run. */
static int run(OrtSession *session, OrtAllocator *allocator, const float *pixels, uint32_t pixels_count,
               const int64_t *answers)
{
	const int64_t shape[2] = { BATCH, pixels_count };
	const char *const inputs[] = { "x" };
	OrtValue *input = NULL, *output = NULL;
	void *data;
	char *name;
	check(ort->CreateTensorAsOrtValue(allocator, shape, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &input), "tensor");
	check(ort->GetTensorMutableData(input, &data), "data");
	memcpy(data, pixels, BATCH * pixels_count * sizeof(*pixels));
	check(ort->SessionGetOutputName(session, 0, allocator, &name), "output");
	check(ort->Run(session, NULL, inputs, (const OrtValue *const *)&input, 1, (const char *const *)&name, 1, &output),
	      "run");
	check(ort->GetTensorMutableData(output, &data), "result");
	int right = 0;
	for (int image = 0; image < BATCH; image++) {
		const float *scores = (const float *)data + image * DIGITS;
		int best = 0;
		for (int digit = 1; digit < DIGITS; digit++)
			best = scores[digit] > scores[best] ? digit : best;
		right += best == answers[image];
	}
	check(ort->AllocatorFree(allocator, name), "free");
	ort->ReleaseValue(input);
	ort->ReleaseValue(output);
	return right;
}

/* Registers the library and adds its provider to the session. */
static void provider_add(OrtEnv *env, OrtSessionOptions *options, const char *name, const wchar_t *library,
                         const char *ep_name)
{
	const OrtEpDevice *const *devices;
	size_t devices_count, own = 0;
	check(ort->RegisterExecutionProviderLibrary(env, name, path(library)), "register");
	check(ort->GetEpDevices(env, &devices, &devices_count), "devices");
	while (own < devices_count && strcmp(ort->EpDevice_EpName(devices[own]), ep_name) != 0)
		own++;
	if (own == devices_count) {
		printf("no device of %s\n", ep_name);
		exit(1);
	}
	check(ort->SessionOptionsAppendExecutionProvider_V2(options, env, &devices[own], 1, NULL, NULL, 0), "provider");
}

int wmain(int count, wchar_t **arguments)
{
	OrtEnv *env;
	OrtSessionOptions *options;
	OrtSession *session;
	OrtAllocator *allocator;
	uint32_t counts[2];
	int64_t *answers;
	char ep_name[64], *profile;
	if (count != 8 && count != 9)
		return 2;
	ort = api_load(arguments[1]);
	if (!ort)
		return 1;
	float *pixels = data_read(arguments[5], counts, &answers);
	snprintf(ep_name, sizeof(ep_name), "%ls", arguments[3]);
	check(ort->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "host", &env), "environment");
	check(ort->CreateSessionOptions(&options), "options");
	provider_add(env, options, "ep", arguments[2], ep_name);
	if (count == 9)
		provider_add(env, options, "epprof", arguments[8], "epprof");
	check(ort->EnableProfiling(options, path(arguments[6])), "profiling");
	check(ort->CreateSession(env, path(arguments[4]), options, &session), "session");
	check(ort->GetAllocatorWithDefaultOptions(&allocator), "allocator");
	int right = 0;
	long runs = wcstol(arguments[7], NULL, 10);
	for (long i = 0; i < runs; i++) {
		uint32_t first = (uint32_t)i * BATCH % (counts[0] / BATCH * BATCH);
		right += run(session, allocator, pixels + (size_t)first * counts[1], counts[1], answers + first);
	}
	check(ort->SessionEndProfiling(session, allocator, &profile), "end of profiling");
	printf("right %d\nprofile %s\n", right, profile);
	check(ort->AllocatorFree(allocator, profile), "free");
	ort->ReleaseSession(session);
	ort->ReleaseSessionOptions(options);
	check(ort->UnregisterExecutionProviderLibrary(env, "ep"), "unregister");
	if (count == 9)
		check(ort->UnregisterExecutionProviderLibrary(env, "epprof"), "unregister the collector");
	ort->ReleaseEnv(env);
	free(pixels);
	free(answers);
	return 0;
}
