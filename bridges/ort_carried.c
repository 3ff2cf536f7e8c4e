/* Carrying: libraries are opened as ONNX Runtime opens them, with copies of its tables (ort_copies.c); their EPs run no node
 * here, but make profilers (ort_profilers.c).  One that is no library of EPs is opened as the plugin of another framework's.
 */
#include "ort_carried.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "carried.h"
#include "ort_copies.h"

#define FACTORIES_MAX 4u
#define DEVICES_MAX 8u

struct library {
	STAILQ_ENTRY(library) link;
	char *place;      /* where it was named */
	const char *file; /* the last part of its path */
	char *path;
	epp_plugin *plugin; /* of another framework's; then it has none of the following */
	void *handle;
	ReleaseEpApiFactoryFn release_factory;
	OrtEpFactory *factories[FACTORIES_MAX];
	size_t factories_count;
	OrtEpFactory *factory; /* that serves the devices */
	OrtEpDevice *ep_devices[DEVICES_MAX];
	const OrtHardwareDevice *devices[DEVICES_MAX];
	const OrtKeyValuePairs *metadata[DEVICES_MAX];
	size_t devices_count;
};

struct ort_libraries {
	const struct ort_host *host;
	STAILQ_HEAD(, library) all;
	size_t count;
};

struct ort_eps {
	const struct ort_libraries *libraries;
	const OrtLogger *logger;
	size_t count;
	struct {
		const struct library *library;
		OrtEp *ep; /* NULL: a plugin's */
	} all[];
};

static OrtStatus *fail(const struct ort_host *host, const struct library *library, const char *reason)
{
	return ort_status_of(host, epp_status_create(EPP_PLUGIN, "%s: %s: %s", library->place, library->file, reason));
}

/* ---- libraries ---- */

static OrtStatus *factory_check(const struct ort_host *host, const struct library *library, const OrtEpFactory *factory)
{
	bool whole = factory && factory->ort_version_supported >= EPPROF_ORT_API_VERSION_MIN && factory->GetName &&
	             factory->GetSupportedDevices && factory->CreateEp && factory->ReleaseEp;
	return whole ? NULL
	             : fail(host, library, "a factory that is none, lacks an entry, or is older than API version 25");
}

/* A profiler plugin of another framework's: what is none of these either is told of here. */
static OrtStatus *plugin_open(const struct ort_host *host, struct library *library)
{
	dlclose(library->handle);
	library->handle = NULL;
	epp_status *status = epp_plugin_load(library->path, &library->plugin);
	if (status)
		return ort_status_of(host, epp_status_prefix(status, "%s", library->place));
	return epp_plugin_symbol(library->plugin, CARRIES_SYMBOL) ? fail(host, library, "is a bridge itself") : NULL;
}

static OrtStatus *library_open(const struct ort_host *host, const OrtApiBase *base, const OrtLogger *logger,
                               struct library *library)
{
	CreateEpApiFactoriesFn create;
	library->handle = dlopen(library->path, RTLD_NOW | RTLD_LOCAL);
	if (!library->handle)
		return fail(host, library, dlerror());
	*(void **)&create = dlsym(library->handle, "CreateEpFactories");
	*(void **)&library->release_factory = dlsym(library->handle, "ReleaseEpFactory");
	if (!create)
		return plugin_open(host, library);
	if (!library->release_factory)
		return fail(host, library, "no symbol 'ReleaseEpFactory'");
	if (dlsym(library->handle, CARRIES_SYMBOL))
		return fail(host, library, "is a bridge itself");
	size_t count = 0;
	OrtStatus *status = create(library->file, base, logger, library->factories, FACTORIES_MAX, &count);
	if (status)
		return status;
	if (!count || count > FACTORIES_MAX)
		return fail(host, library, "CreateEpFactories: it made none, or more than have room");
	library->factories_count = count;
	for (size_t i = 0; i < count && !status; i++)
		status = factory_check(host, library, library->factories[i]);
	return status;
}

static void library_close(const struct ort_host *host, struct library *library)
{
	for (size_t i = 0; i < library->devices_count; i++)
		host->ep->ReleaseEpDevice(library->ep_devices[i]);
	for (size_t i = 0; i < library->factories_count && library->factories[i]; i++) {
		OrtStatus *status = library->release_factory(library->factories[i]);
		if (status)
			host->api->ReleaseStatus(status);
	}
	if (library->handle)
		dlclose(library->handle);
	epp_status_release(epp_plugin_unload(library->plugin));
	free(library->place);
	free(library->path);
	free(library);
}

static OrtStatus *library_add(struct ort_libraries *libraries, const OrtApiBase *base, const OrtLogger *logger,
                              const char *place, const char *path)
{
	struct library *library = calloc(1, sizeof(*library));
	if (!library)
		return ort_status_of(libraries->host, epp_status_no_memory());
	library->place = strdup(place);
	library->path = strdup(path);
	OrtStatus *status = NULL;
	if (!library->place || !library->path) {
		status = ort_status_of(libraries->host, epp_status_no_memory());
	} else {
		const char *slash = strrchr(library->path, '/');
		library->file = slash ? slash + 1 : library->path;
		status = library_open(libraries->host, base, logger, library);
	}
	if (status) {
		library_close(libraries->host, library);
		return status;
	}
	STAILQ_INSERT_TAIL(&libraries->all, library, link);
	libraries->count++;
	return NULL;
}

struct loading {
	struct ort_libraries *libraries;
	const OrtLogger *logger;
	OrtStatus *status;
};

static void load(void *user, const char *place, const char *path)
{
	struct loading *loading = user;
	const struct ort_host *host = loading->libraries->host;
	const OrtApiBase *base = ort_copies_base(host);
	if (loading->status)
		return;
	OrtStatus *status = base ? library_add(loading->libraries, base, loading->logger, place, path)
	                         : host->api->CreateStatus(ORT_FAIL,
	                                                   "epprof: there is a second ONNX Runtime in this process");
	if (strcmp(place, "EPPROF_PROFILERS") != 0)
		ort_log(host, loading->logger, ORT_LOGGING_LEVEL_WARNING, status);
	else
		loading->status = status;
}

OrtStatus *ort_libraries_load(const struct ort_host *host, const OrtLogger *logger, struct ort_libraries **libraries)
{
	*libraries = NULL;
	struct ort_libraries *made = calloc(1, sizeof(*made));
	if (!made)
		return ort_status_of(host, epp_status_no_memory());
	made->host = host;
	STAILQ_INIT(&made->all);
	struct loading loading = { made, logger, NULL };
	epp_plugin_find_carried(load, &loading);
	if (loading.status || !made->count)
		ort_libraries_unload(made);
	else
		*libraries = made;
	return loading.status;
}

static OrtStatus *find_devices(const struct ort_host *host, struct library *library,
                               const OrtHardwareDevice *const *devices, size_t count)
{
	for (size_t i = 0; i < library->factories_count && !library->devices_count; i++) {
		OrtEpFactory *factory = library->factories[i];
		size_t found = 0;
		OrtStatus *status = factory->GetSupportedDevices(factory, devices, count, library->ep_devices,
		                                                 DEVICES_MAX, &found);
		if (status)
			return status;
		if (found > DEVICES_MAX)
			return fail(host, library, "GetSupportedDevices: more than have room");
		library->factory = factory;
		library->devices_count = found;
	}
	if (!library->devices_count)
		return fail(host, library, "GetSupportedDevices: it serves none of the devices");
	for (size_t i = 0; i < library->devices_count; i++) {
		library->devices[i] = host->api->EpDevice_Device(library->ep_devices[i]);
		library->metadata[i] = host->api->EpDevice_EpMetadata(library->ep_devices[i]);
	}
	return NULL;
}

OrtStatus *ort_libraries_find_devices(struct ort_libraries *libraries, const OrtHardwareDevice *const *devices, size_t count)
{
	OrtStatus *status = NULL;
	struct library *library;
	if (!libraries)
		return NULL;
	STAILQ_FOREACH(library, &libraries->all, link)
		if (!status && !library->plugin && !library->devices_count)
			status = find_devices(libraries->host, library, devices, count);
	return status;
}

void ort_libraries_unload(struct ort_libraries *libraries)
{
	while (libraries && !STAILQ_EMPTY(&libraries->all)) {
		struct library *library = STAILQ_FIRST(&libraries->all);
		STAILQ_REMOVE_HEAD(&libraries->all, link);
		library_close(libraries->host, library);
	}
	free(libraries);
}

/* ---- EPs ---- */

OrtStatus *ort_eps_create(const struct ort_libraries *libraries, const OrtSessionOptions *options,
                          const OrtLogger *logger, struct ort_eps **eps)
{
	*eps = NULL;
	if (!libraries)
		return NULL;
	const struct ort_host *host = libraries->host;
	struct ort_eps *made = calloc(1, sizeof(*made) + libraries->count * sizeof(made->all[0]));
	if (!made)
		return ort_status_of(host, epp_status_no_memory());
	made->libraries = libraries;
	made->logger = logger;
	OrtStatus *status = NULL;
	struct library *library;
	STAILQ_FOREACH(library, &libraries->all, link) {
		OrtEp *ep = NULL;
		if (library->plugin)
			made->all[made->count++].library = library;
		if (status || !library->factory)
			continue;
		status = library->factory->CreateEp(library->factory, library->devices, library->metadata,
		                                    library->devices_count, options, logger, &ep);
		if (!status && !ep)
			status = fail(host, library, "CreateEp: it made no EP");
		if (!status) {
			made->all[made->count].library = library;
			made->all[made->count++].ep = ep;
		}
	}
	if (status)
		ort_eps_release(made);
	else
		*eps = made;
	return status;
}

void ort_eps_release(struct ort_eps *eps)
{
	for (size_t i = 0; eps && i < eps->count; i++)
		if (eps->all[i].ep)
			eps->all[i].library->factory->ReleaseEp(eps->all[i].library->factory, eps->all[i].ep);
	free(eps);
}

/* ---- their profilers ---- */

static bool is_whole(const OrtEpProfilerImpl *profiler)
{
	return profiler->ort_version_supported >= EPPROF_ORT_API_VERSION_MIN && profiler->Release &&
	       profiler->StartProfiling && profiler->EndProfiling;
}

static OrtStatus *make_of_ep(const struct ort_host *host, const struct library *library, OrtEp *ep,
                             OrtEpProfilerImpl **profiler)
{
	if (ep->ort_version_supported < EPPROF_ORT_API_VERSION_MIN || !ep->CreateProfiler)
		return fail(host, library, "it does not profile");
	OrtStatus *status = ep->CreateProfiler(ep, profiler);
	if (!status && *profiler && !is_whole(*profiler))
		status = fail(host, library,
		              "CreateProfiler: a profiler that lacks an entry, or is older than API version 25");
	return status;
}

size_t ort_eps_count(const struct ort_eps *eps)
{
	return eps->count;
}

const struct ort_host *ort_eps_host(const struct ort_eps *eps)
{
	return eps->libraries->host;
}

const OrtLogger *ort_eps_logger(const struct ort_eps *eps)
{
	return eps->logger;
}

OrtStatus *ort_eps_profiler(const struct ort_eps *eps, size_t index, struct ort_eps_profiler *made)
{
	const struct ort_host *host = eps->libraries->host;
	const struct library *library = eps->all[index].library;
	*made = (struct ort_eps_profiler){ .is_foreign = library->plugin != NULL };
	if (library->plugin) {
		made->label = epp_plugin_name(library->plugin);
		return ort_status_of(host, epp_plugin_profiler_create(library->plugin, &made->profiler));
	}
	made->label = library->factory->GetName(library->factory);
	return make_of_ep(host, library, eps->all[index].ep, &made->profiler);
}

void ort_eps_profiler_release(const struct ort_eps_profiler *made)
{
	if (made->is_foreign)
		epp_plugin_profiler_release(made->profiler);
	else
		made->profiler->Release(made->profiler);
}
