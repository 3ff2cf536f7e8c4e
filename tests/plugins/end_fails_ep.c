/* Wraps the sample EP, libsample_ort_ep.so in the directory END_FAILS_DIRECTORY, with another profiler: after all its
 * work EndProfiling returns an error, for which ONNX Runtime drops the profiler's events. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "epprof/abi/ort_ep_profiler.h"
#include "epprof/status.h"

EPP_EXPORT OrtStatus *CreateEpFactories(const char *registered_name, const OrtApiBase *ort_api_base,
                                        const OrtLogger *default_logger, OrtEpFactory **factories, size_t max_factories,
                                        size_t *num_factories);
EPP_EXPORT OrtStatus *ReleaseEpFactory(OrtEpFactory *factory);

typedef OrtStatus *create_factories_fn(const char *, const OrtApiBase *, const OrtLogger *, OrtEpFactory **, size_t,
                                       size_t *);
typedef OrtStatus *release_factory_fn(OrtEpFactory *);

/* Shared by all objects of each kind. */
static const OrtApi *ort;
static void *sample;
static OrtStatus *(*create_ep)(OrtEpFactory *, const OrtHardwareDevice *const *, const OrtKeyValuePairs *const *,
                               size_t, const OrtSessionOptions *, const OrtLogger *, OrtEp **);
static OrtStatus *(*create_profiler)(OrtEp *, OrtEpProfilerImpl **);
static OrtStatus *(*end_profiling)(OrtEpProfilerImpl *, OrtProfilingEventsContainer *);

static OrtStatus *end_and_fail(OrtEpProfilerImpl *profiler, OrtProfilingEventsContainer *container)
{
	OrtStatus *status = end_profiling(profiler, container);
	if (status)
		ort->ReleaseStatus(status);
	return ort->CreateStatus(ORT_FAIL, "the device is gone");
}

static OrtStatus *create_profiler_that_fails(OrtEp *ep, OrtEpProfilerImpl **profiler)
{
	OrtStatus *status = create_profiler(ep, profiler);
	if (!status && *profiler) {
		end_profiling = (*profiler)->EndProfiling;
		(*profiler)->EndProfiling = end_and_fail;
	}
	return status;
}

static OrtStatus *create_ep_that_fails(OrtEpFactory *factory, const OrtHardwareDevice *const *devices,
                                       const OrtKeyValuePairs *const *metadata, size_t count,
                                       const OrtSessionOptions *options, const OrtLogger *logger, OrtEp **ep)
{
	OrtStatus *status = create_ep(factory, devices, metadata, count, options, logger, ep);
	if (!status) {
		create_profiler = (*ep)->CreateProfiler;
		(*ep)->CreateProfiler = create_profiler_that_fails;
	}
	return status;
}

OrtStatus *CreateEpFactories(const char *registered_name, const OrtApiBase *ort_api_base, const OrtLogger *default_logger,
                             OrtEpFactory **factories, size_t max_factories, size_t *num_factories)
{
	char path[4096];
	const char *directory = getenv("END_FAILS_DIRECTORY");
	create_factories_fn *create = NULL;
	ort = ort_api_base->GetApi(EPPROF_ORT_API_VERSION_MIN);
	snprintf(path, sizeof(path), "%s/libsample_ort_ep.so", directory ? directory : "");
	sample = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (sample)
		*(void **)&create = dlsym(sample, "CreateEpFactories");
	if (!create)
		return ort->CreateStatus(ORT_FAIL, "END_FAILS_DIRECTORY has no libsample_ort_ep.so");
	OrtStatus *status = create(registered_name, ort_api_base, default_logger, factories, max_factories, num_factories);
	if (!status) {
		create_ep = factories[0]->CreateEp;
		factories[0]->CreateEp = create_ep_that_fails;
	}
	return status;
}

OrtStatus *ReleaseEpFactory(OrtEpFactory *factory)
{
	release_factory_fn *release = NULL;
	*(void **)&release = dlsym(sample, "ReleaseEpFactory");
	return release(factory);
}
