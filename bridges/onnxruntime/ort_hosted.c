/* Hosts plugin libraries.  Libraries of EPs are opened as ONNX Runtime opens them, with copies of its tables
 * (ort_copies.c); the EPs only create profilers here (ort_profilers.c) and run no nodes.  Other libraries are opened as
 * profiler plugins of another framework.
 *
 * An EP library may be registered with ONNX Runtime as well, which then runs and profiles an EP of its own.  A library may
 * keep ONNX Runtime's tables and the open events in global variables, so a second EP with the copied tables would mix up
 * the events of the first.  A registered library is therefore not hosted.  It may be registered after the collector, so its
 * functions are not called before the first session is created.
 *
 * Each library has a thread on which its functions are called.  A step is one call or a few calls into the library; it
 * has a copy of all data that it uses.  If a function does not return in time, this is logged, and the library is not
 * used any more; it stays loaded, and its data is not freed. */
#include "ort_hosted.h"

#include <bsd/string.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "bridges/shared/hosted_plugins.h"
#include "epprof/profiler.h"
#include "ort_copies.h"

#define FACTORIES_MAX 4u
#define DEVICES_MAX 8u
#define NOTE_BYTES 80u

struct library {
	STAILQ_ENTRY(library) link;
	char *place;      /* the environment variable or file that names the library */
	const char *file; /* last component of the library's path */
	char *path;
	/* plugin of another framework; NULL: the library has EPs.  If it is set, the members below are unused. */
	epp_plugin *plugin;
	epp_plugin_thread *thread;
	bool is_hung;
	char hang[80];       /* name of the step that has not returned */
	bool is_skip_logged; /* it was logged that ONNX Runtime has registered the library */
	char *refusal;       /* why its factories cannot be used; NULL: they were not created yet, or can be used */
	char *name;          /* name from the factory */
	void *handle;
	ReleaseEpApiFactoryFn release_factory;
	OrtEpFactory *factories[FACTORIES_MAX];
	size_t factories_count;
	OrtEpFactory *factory; /* the first factory that supports any of the devices */
	OrtEpDevice *ep_devices[DEVICES_MAX];
	const OrtHardwareDevice *devices[DEVICES_MAX];
	const OrtKeyValuePairs *metadata[DEVICES_MAX];
	size_t devices_count;
};

struct ort_libraries {
	const struct ort_host *host;
	const OrtLogger *logger;
	STAILQ_HEAD(, library) all;
	size_t count;
	const OrtHardwareDevice **devices;
	size_t devices_count;
	pthread_mutex_t lock; /* held while a library is prepared for a session */
};

struct ort_eps {
	const struct ort_libraries *libraries;
	const OrtLogger *logger;
	char note[NOTE_BYTES]; /* text that names the libraries that are not hosted; "": none */
	/* the time budget (epp_plugin_budget_begin) of the session's creation, which the start of its first profile
	 * uses too; 0: already used */
	uint64_t budget;
	size_t count;
	struct {
		struct library *library;
		OrtEp *ep; /* NULL: the library is a plugin of another framework */
	} all[];
};

static OrtStatus *fail(const struct ort_host *host, const struct library *library, const char *reason)
{
	return ort_status_of(host, epp_status_create(EPP_PLUGIN, "%s: %s: %s", library->place, library->file, reason));
}

/* ---- steps ---- */

/* Arguments and results of one call into a library. */
struct step {
	struct library *library;
	const OrtApiBase *base;
	const OrtLogger *logger;
	const OrtHardwareDevice *const *devices;
	size_t devices_count;
	const OrtSessionOptions *options;
	OrtEp *ep;
	OrtEpProfilerImpl *profiler;
	OrtStatus *status;
};

/* Adds the names of the library and the step to the message of a status. */
static OrtStatus *name_step(const struct ort_host *host, const struct library *library, const char *name, OrtStatus *status)
{
	if (!status)
		return NULL;
	epp_status *named = epp_status_create(EPP_PLUGIN, "%s: %s: %s: %s", library->place, library->file, name,
	                                      host->api->GetErrorMessage(status));
	host->api->ReleaseStatus(status);
	return ort_status_of(host, named);
}

/* Stops to use a library in which a call has not returned, and logs this. */
static void give_up(const struct ort_host *host, const OrtLogger *logger, struct library *library, epp_status *failure)
{
	library->is_hung = true;
	strlcpy(library->hang, epp_status_message(failure), sizeof(library->hang));
	failure = epp_status_prefix(failure, "epprof: %s: %s", library->place, library->file);
	ort_log(host, logger, ORT_LOGGING_LEVEL_ERROR, ort_status_of(host, failure));
}

/* Runs a step on the library's thread and copies its results to `step`.  If the step does not return in time, this is
 * logged. */
static OrtStatus *call_step(const struct ort_host *host, const OrtLogger *logger, const char *name,
                            void (*run)(void *step), struct step *step)
{
	struct library *library = step->library;
	struct step *called = library->is_hung ? NULL : malloc(sizeof(*called));
	if (library->is_hung)
		return NULL;
	if (!called)
		return ort_status_of(host, epp_status_no_memory());
	*called = *step;
	epp_status *failure = epp_plugin_thread_call(library->thread, name, run, free, called);
	if (!failure) {
		*step = *called;
		free(called);
		return name_step(host, library, name, step->status);
	}
	give_up(host, logger, library, failure);
	return NULL;
}

static void create_factories(void *argument)
{
	struct step *step = argument;
	struct library *library = step->library;
	CreateEpApiFactoriesFn create;
	*(void **)&create = dlsym(library->handle, "CreateEpFactories");
	step->status = create(library->file, step->base, step->logger, library->factories, FACTORIES_MAX,
	                      &library->factories_count);
}

static void get_name(void *argument)
{
	struct step *step = argument;
	const char *name = step->library->factory->GetName(step->library->factory);
	step->library->name = strdup(name ? name : step->library->file);
}

/* Selects the first factory that supports any of the devices. */
static void get_devices(void *argument)
{
	struct step *step = argument;
	struct library *library = step->library;
	for (size_t i = 0; i < library->factories_count && !library->devices_count && !step->status; i++) {
		library->factory = library->factories[i];
		step->status = library->factory->GetSupportedDevices(library->factory, step->devices,
		                                                     step->devices_count, library->ep_devices,
		                                                     DEVICES_MAX, &library->devices_count);
	}
	if (!step->status && library->devices_count)
		get_name(step);
}

static void create_ep(void *argument)
{
	struct step *step = argument;
	const struct library *library = step->library;
	step->status = library->factory->CreateEp(library->factory, library->devices, library->metadata,
	                                          library->devices_count, step->options, step->logger, &step->ep);
}

static void release_ep(void *argument)
{
	const struct step *step = argument;
	step->library->factory->ReleaseEp(step->library->factory, step->ep);
}

static void create_profiler(void *argument)
{
	struct step *step = argument;
	step->status = step->ep->CreateProfiler(step->ep, &step->profiler);
}

/* Releases all factories.  The step's status is that of the last release. */
static void release_factories(void *argument)
{
	struct step *step = argument;
	const struct library *library = step->library;
	for (size_t i = 0; i < library->factories_count && library->factories[i]; i++) {
		OrtStatus *status = library->release_factory(library->factories[i]);
		if (status)
			step->status = status;
	}
}

/* ---- libraries ---- */

static OrtStatus *factory_check(const struct ort_host *host, const struct library *library, const OrtEpFactory *factory)
{
	bool whole = factory && factory->ort_version_supported >= EPPROF_ORT_API_VERSION_MIN && factory->GetName &&
	             factory->GetSupportedDevices && factory->CreateEp && factory->ReleaseEp;
	return whole ? NULL : fail(host, library, "a factory is NULL, lacks a function, or has an API version below 25");
}

/* Opens a profiler plugin of another framework.  Fails if the library is of no known kind. */
static OrtStatus *plugin_open(const struct ort_host *host, const OrtLogger *logger, struct library *library)
{
	dlclose(library->handle);
	library->handle = NULL;
	epp_status *status = epp_plugin_load(library->path, &library->plugin);
	library->is_hung = epp_status_code(status) == EPP_TIMEOUT;
	strlcpy(library->hang, library->is_hung ? epp_status_message(status) : "", sizeof(library->hang));
	status = epp_status_prefix(status, "%s", library->place);
	if (!library->is_hung && status)
		return ort_status_of(host, status);
	ort_log(host, logger, ORT_LOGGING_LEVEL_ERROR, ort_status_of(host, status));
	return library->plugin && epp_plugin_symbol(library->plugin, BRIDGE_SYMBOL)
	           ? fail(host, library, "is a bridge itself")
	           : NULL;
}

static OrtStatus *library_open(const struct ort_host *host, const OrtLogger *logger, struct library *library)
{
	epp_status *hang = epp_plugin_trial_await(library->path);
	if (hang) {
		give_up(host, logger, library, hang);
		return NULL;
	}
	library->handle = dlopen(library->path, RTLD_NOW | RTLD_LOCAL);
	if (!library->handle)
		return fail(host, library, dlerror());
	*(void **)&library->release_factory = dlsym(library->handle, "ReleaseEpFactory");
	if (!dlsym(library->handle, "CreateEpFactories"))
		return plugin_open(host, logger, library);
	if (!library->release_factory)
		return fail(host, library, "no symbol 'ReleaseEpFactory'");
	if (dlsym(library->handle, BRIDGE_SYMBOL))
		return fail(host, library, "is a bridge itself");
	return ort_status_of(host, epp_plugin_thread_create(&library->thread));
}

/* Closes a library.  If a call into it has not returned, nothing is freed, because the call may still use it. */
static void library_close(const struct ort_host *host, struct library *library)
{
	struct step step = { .library = library };
	OrtStatus *status = NULL;
	for (size_t i = 0; !library->is_hung && i < library->devices_count; i++)
		host->ep->ReleaseEpDevice(library->ep_devices[i]);
	if (!library->is_hung && library->factories_count)
		status = call_step(host, NULL, "ReleaseEpFactory", release_factories, &step);
	if (status)
		host->api->ReleaseStatus(status);
	epp_status_destroy(epp_plugin_unload(library->plugin));
	if (library->is_hung)
		return;
	if (library->handle)
		dlclose(library->handle);
	epp_plugin_thread_destroy(library->thread);
	free(library->name);
	free(library->refusal);
	free(library->place);
	free(library->path);
	free(library);
}

static OrtStatus *library_add(struct ort_libraries *libraries, const OrtLogger *logger, const char *place, const char *path)
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
		ort_log(libraries->host, logger, ORT_LOGGING_LEVEL_WARNING,
		        ort_status_of(libraries->host, epp_path_check(path)));
		status = slash ? library_open(libraries->host, logger, library)
		               : fail(libraries->host, library, "not a path: './' in front means the working directory");
	}
	if (status) {
		library_close(libraries->host, library);
		return status;
	}
	STAILQ_INSERT_TAIL(&libraries->all, library, link);
	libraries->count++;
	return NULL;
}

/* Returns true if a failure of a library that is named at `place` is an error.  A library that is named elsewhere may
 * be meant for another framework, and is skipped if it fails. */
static bool is_required(const char *place)
{
	return strcmp(place, "EPPROF_PROFILERS") == 0;
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
	if (loading->status)
		return;
	OrtStatus *status = ort_copies_base(host)
	                        ? library_add(loading->libraries, loading->logger, place, path)
	                        : host->api->CreateStatus(ORT_FAIL,
	                                                  "epprof: there is a second ONNX Runtime in this process");
	if (!is_required(place))
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
	made->logger = logger;
	pthread_mutex_init(&made->lock, NULL);
	STAILQ_INIT(&made->all);
	struct loading loading = { made, logger, NULL };
	epp_plugin_find_hosted(hosted_plugin_begin_trial, NULL);
	epp_plugin_find_hosted(load, &loading);
	if (loading.status || !made->count)
		ort_libraries_unload(made);
	else
		*libraries = made;
	return loading.status;
}

OrtStatus *ort_libraries_set_devices(struct ort_libraries *libraries, const OrtHardwareDevice *const *devices, size_t count)
{
	if (!libraries || libraries->devices)
		return NULL;
	libraries->devices = calloc(count, sizeof(libraries->devices[0]));
	if (!libraries->devices)
		return ort_status_of(libraries->host, epp_status_no_memory());
	memcpy(libraries->devices, devices, count * sizeof(devices[0]));
	libraries->devices_count = count;
	return NULL;
}

void ort_libraries_unload(struct ort_libraries *libraries)
{
	bool any_hung = false;
	if (!libraries)
		return;
	while (!STAILQ_EMPTY(&libraries->all)) {
		struct library *library = STAILQ_FIRST(&libraries->all);
		STAILQ_REMOVE_HEAD(&libraries->all, link);
		any_hung |= library->is_hung;
		library_close(libraries->host, library);
	}
	/* A call that has not returned may use the devices. */
	if (!any_hung)
		free(libraries->devices);
	pthread_mutex_destroy(&libraries->lock);
	free(libraries);
}

/* ---- preparing a library for a session ---- */

/* Returns true if ONNX Runtime has registered the library.  The loader compares the files, so that a link to the
 * library is the same library.  If ONNX Runtime cannot return its list of devices, returns false. */
static bool is_registered(const struct ort_host *host, const struct library *library)
{
	const OrtApi *api = host->api;
	const OrtEpDevice *const *devices = NULL;
	size_t count = 0;
	bool found = false;
	OrtEnv *env = NULL;
	/* CreateEnv returns the environment that the process already has, and increments its reference count. */
	OrtStatus *status = api->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "epprof", &env);
	if (!status)
		status = api->GetEpDevices(env, &devices, &count);
	for (size_t i = 0; !status && i < count && !found; i++) {
		const char *path = api->GetKeyValue(api->EpDevice_EpMetadata(devices[i]), "library_path");
		void *handle = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
		found = handle == library->handle;
		if (handle)
			dlclose(handle);
	}
	if (env)
		api->ReleaseEnv(env);
	if (status)
		api->ReleaseStatus(status);
	return found;
}

static OrtStatus *make_factories(const struct ort_libraries *libraries, struct library *library)
{
	const struct ort_host *host = libraries->host;
	struct step step = { .library = library, .base = ort_copies_base(host), .logger = libraries->logger };
	OrtStatus *status = call_step(host, libraries->logger, "CreateEpFactories", create_factories, &step);
	if (library->is_hung)
		return status;
	size_t count = library->factories_count;
	library->factories_count = status || count > FACTORIES_MAX ? 0 : count;
	if (status)
		return status;
	if (!count || count > FACTORIES_MAX)
		return fail(host, library, "CreateEpFactories: it created no factory, or more than the array holds");
	for (size_t i = 0; i < count && !status; i++)
		status = factory_check(host, library, library->factories[i]);
	return status;
}

static OrtStatus *find_devices(const struct ort_libraries *libraries, struct library *library)
{
	const struct ort_host *host = libraries->host;
	struct step step = { .library = library, .devices = libraries->devices, .devices_count = libraries->devices_count };
	OrtStatus *status = call_step(host, libraries->logger, "GetSupportedDevices", get_devices, &step);
	/* The call that has not returned may still use the library's data. */
	if (library->is_hung)
		return status;
	size_t found = library->devices_count;
	if (status || found > DEVICES_MAX)
		library->devices_count = 0;
	if (status)
		return status;
	if (found > DEVICES_MAX)
		return fail(host, library, "GetSupportedDevices: it returned more devices than the array holds");
	if (!found)
		return fail(host, library, "GetSupportedDevices: it supports none of the devices");
	if (!library->name)
		return ort_status_of(host, epp_status_no_memory());
	for (size_t i = 0; i < library->devices_count; i++) {
		library->devices[i] = host->api->EpDevice_Device(library->ep_devices[i]);
		library->metadata[i] = host->api->EpDevice_EpMetadata(library->ep_devices[i]);
	}
	return NULL;
}

/* Makes the library's factories and selects the one that supports the devices, once per library. */
static OrtStatus *prepare(const struct ort_libraries *libraries, struct library *library)
{
	OrtStatus *status = make_factories(libraries, library);
	if (!status && !library->is_hung)
		status = find_devices(libraries, library);
	if (status)
		library->refusal = strdup(libraries->host->api->GetErrorMessage(status));
	return status;
}

/* Adds to the note that the library is not hosted because ONNX Runtime has registered it, and logs this once per
 * library. */
static void note_registered(struct ort_eps *eps, struct library *library)
{
	const struct ort_host *host = eps->libraries->host;
	strlcat(eps->note, eps->note[0] ? ", " : "registered with ONNX Runtime, so not hosted: ", sizeof(eps->note));
	strlcat(eps->note, library->file, sizeof(eps->note));
	if (library->is_skip_logged)
		return;
	library->is_skip_logged = true;
	ort_log(host, eps->logger, ORT_LOGGING_LEVEL_WARNING,
	        ort_status_of(host, epp_status_create(EPP_PLUGIN,
	                                              "epprof: %s: %s: not hosted, because it is registered with ONNX "
	                                              "Runtime; its events are those of the sessions that use it",
	                                              library->place, library->file)));
}

/* Prepares a library of EPs for a session.  *is_usable is set if the session can create an EP of it.
 * Errors: a library in EPPROF_PROFILERS failed, now or for an earlier session. */
static OrtStatus *prepare_for(struct ort_eps *eps, struct library *library, bool *is_usable)
{
	const struct ort_host *host = eps->libraries->host;
	OrtStatus *status = NULL;
	*is_usable = false;
	if (library->is_hung)
		return NULL;
	if (is_registered(host, library)) {
		note_registered(eps, library);
		return NULL;
	}
	if (library->refusal)
		return is_required(library->place) ? host->api->CreateStatus(ORT_FAIL, library->refusal) : NULL;
	if (!library->devices_count)
		status = prepare(eps->libraries, library);
	*is_usable = !status && !library->is_hung;
	if (is_required(library->place))
		return status;
	ort_log(host, eps->logger, ORT_LOGGING_LEVEL_WARNING, status);
	return NULL;
}

/* ---- EPs ---- */

static OrtStatus *add_ep(struct ort_eps *eps, struct library *library, const OrtSessionOptions *options)
{
	const struct ort_host *host = eps->libraries->host;
	struct step step = { .library = library, .options = options, .logger = eps->logger };
	bool is_usable = false;
	if (library->plugin) {
		eps->all[eps->count++].library = library;
		return NULL;
	}
	OrtStatus *status = prepare_for(eps, library, &is_usable);
	if (!is_usable)
		return status;
	status = call_step(host, eps->logger, "CreateEp", create_ep, &step);
	if (!status && !library->is_hung && !step.ep)
		status = fail(host, library, "CreateEp: it created no EP");
	if (!status && step.ep) {
		eps->all[eps->count].library = library;
		eps->all[eps->count++].ep = step.ep;
	}
	return status;
}

OrtStatus *ort_eps_create(struct ort_libraries *libraries, const OrtSessionOptions *options, const OrtLogger *logger,
                          struct ort_eps **eps)
{
	*eps = NULL;
	if (!libraries)
		return NULL;
	struct ort_eps *made = calloc(1, sizeof(*made) + libraries->count * sizeof(made->all[0]));
	if (!made)
		return ort_status_of(libraries->host, epp_status_no_memory());
	made->libraries = libraries;
	made->logger = logger;
	OrtStatus *status = NULL;
	struct library *library;
	/* Sessions may be created on several threads. */
	pthread_mutex_lock(&libraries->lock);
	made->budget = epp_plugin_budget_begin(0);
	STAILQ_FOREACH(library, &libraries->all, link)
		status = status ? status : add_ep(made, library, options);
	epp_plugin_budget_end();
	pthread_mutex_unlock(&libraries->lock);
	if (status)
		ort_eps_release(made);
	else
		*eps = made;
	return status;
}

void ort_eps_release(struct ort_eps *eps)
{
	for (size_t i = 0; eps && i < eps->count; i++) {
		struct step step = { .library = eps->all[i].library, .ep = eps->all[i].ep };
		OrtStatus *status = step.ep ? call_step(eps->libraries->host, eps->logger, "ReleaseEp", release_ep, &step)
		                            : NULL;
		if (status)
			eps->libraries->host->api->ReleaseStatus(status);
	}
	free(eps);
}

/* ---- the profilers of hosted EPs ---- */

static bool has_required_functions(const OrtEpProfilerImpl *profiler)
{
	return profiler->ort_version_supported >= EPPROF_ORT_API_VERSION_MIN && profiler->Release &&
	       profiler->StartProfiling && profiler->EndProfiling;
}

static OrtStatus *create_ep_profiler(const struct ort_eps *eps, size_t index, OrtEpProfilerImpl **profiler)
{
	const struct ort_host *host = eps->libraries->host;
	struct step step = { .library = eps->all[index].library, .ep = eps->all[index].ep };
	if (step.ep->ort_version_supported < EPPROF_ORT_API_VERSION_MIN || !step.ep->CreateProfiler)
		return fail(host, step.library, "it does not profile");
	OrtStatus *status = call_step(host, eps->logger, "CreateProfiler", create_profiler, &step);
	if (status || !step.profiler)
		return status;
	if (!has_required_functions(step.profiler))
		return fail(host, step.library,
		            "CreateProfiler: the profiler lacks a function, or has an API version below 25");
	status = ort_status_of(host, epp_plugin_thread_assign(step.library->thread, step.profiler));
	if (!status)
		*profiler = step.profiler;
	return status;
}

void ort_eps_report_hung(const struct ort_eps *eps, epp_session *session)
{
	const struct library *library;
	STAILQ_FOREACH(library, &eps->libraries->all, link)
		if (library->is_hung)
			epp_session_report_hang(session, library->name ? library->name : library->file, library->hang);
}

uint64_t ort_eps_take_budget(struct ort_eps *eps)
{
	return __atomic_exchange_n(&eps->budget, 0, __ATOMIC_RELAXED);
}

size_t ort_eps_count(const struct ort_eps *eps)
{
	return eps ? eps->count : 0;
}

const char *ort_eps_note(const struct ort_eps *eps)
{
	return eps ? eps->note : "";
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
	const struct library *library = eps->all[index].library;
	*made = (struct ort_eps_profiler){ .is_hosted = library->plugin != NULL };
	if (library->plugin) {
		made->label = epp_plugin_name(library->plugin);
		return ort_status_of(eps->libraries->host, epp_plugin_profiler_create(library->plugin, &made->profiler));
	}
	made->label = library->name;
	return create_ep_profiler(eps, index, &made->profiler);
}
