/* Carrying: libraries are opened as ONNX Runtime opens them, with copies of its tables (ort_copies.c); their EPs run no node
 * here, but their profilers are driven as ONNX Runtime drives its own, beside the collector.
 *
 * StartEvent tells them the trace's id of the event, since ONNX Runtime's repeat; which of ONNX Runtime's it was is noted,
 * in at most NOTES_MAX notes, for the events that they add to its profile in the end.
 */
#include "ort_carried.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "ort_copies.h"

#define FACTORIES_MAX 4u
#define DEVICES_MAX 8u
#define NOTES_MAX (4u << 20) /* 64 MiB */

struct library {
	STAILQ_ENTRY(library) link;
	const char *file; /* the last part of its path */
	char *path;
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
	size_t count;
	struct {
		const struct library *library;
		OrtEp *ep;
	} all[];
};

struct ort_profilers {
	const struct ort_host *host;
	pthread_mutex_t lock; /* of the notes */
	struct note {
		uint64_t id, ort_id;
	} * notes;
	size_t notes_count, notes_room;
	size_t count;
	struct {
		OrtEpProfilerImpl *profiler;
		epp_member *member;
	} all[];
};

static OrtStatus *fail(const struct ort_host *host, const struct library *library, const char *reason)
{
	return ort_status_of(host, epp_status_create(EPP_PLUGIN, "EPPROF_PROFILERS: %s: %s", library->file, reason));
}

/* Keeps the first of two statuses. */
static OrtStatus *first_of(const struct ort_host *host, OrtStatus *first, OrtStatus *second)
{
	if (first && second)
		host->api->ReleaseStatus(second);
	return first ? first : second;
}

/* ---- libraries ---- */

static OrtStatus *factory_check(const struct ort_host *host, const struct library *library, const OrtEpFactory *factory)
{
	bool whole = factory && factory->ort_version_supported >= EPPROF_ORT_API_VERSION_MIN && factory->GetName &&
	             factory->GetSupportedDevices && factory->CreateEp && factory->ReleaseEp;
	return whole ? NULL
	             : fail(host, library, "a factory that is none, lacks an entry, or is older than API version 25");
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
	if (!create || !library->release_factory)
		return fail(host, library, create ? "no symbol 'ReleaseEpFactory'" : "no symbol 'CreateEpFactories'");
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
	free(library->path);
	free(library);
}

static OrtStatus *library_add(struct ort_libraries *libraries, const OrtApiBase *base, const OrtLogger *logger,
                              const char *path, size_t bytes)
{
	struct library *library = calloc(1, sizeof(*library));
	if (library)
		library->path = strndup(path, bytes);
	if (!library || !library->path) {
		free(library);
		return ort_status_of(libraries->host, epp_status_no_memory());
	}
	const char *slash = strrchr(library->path, '/');
	library->file = slash ? slash + 1 : library->path;
	STAILQ_INSERT_TAIL(&libraries->all, library, link);
	libraries->count++;
	return library_open(libraries->host, base, logger, library);
}

OrtStatus *ort_libraries_load(const struct ort_host *host, const char *list, const OrtLogger *logger,
                              struct ort_libraries **libraries)
{
	*libraries = NULL;
	if (!list || !list[strspn(list, ":")])
		return NULL;
	const OrtApiBase *base = ort_copies_base(host);
	struct ort_libraries *made = calloc(1, sizeof(*made));
	if (!made)
		return ort_status_of(host, epp_status_no_memory());
	made->host = host;
	STAILQ_INIT(&made->all);
	OrtStatus *status = NULL;
	if (!base)
		status = host->api->CreateStatus(ORT_FAIL,
		                                 "EPPROF_PROFILERS: there is a second ONNX Runtime in this process");
	for (size_t bytes; *list && !status; list += bytes) {
		list += strspn(list, ":");
		bytes = strcspn(list, ":");
		if (bytes)
			status = library_add(made, base, logger, list, bytes);
	}
	if (status)
		ort_libraries_unload(made);
	else
		*libraries = made;
	return status;
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
		if (!status && !library->devices_count)
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
	OrtStatus *status = NULL;
	struct library *library;
	STAILQ_FOREACH(library, &libraries->all, link) {
		OrtEp *ep = NULL;
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
		eps->all[i].library->factory->ReleaseEp(eps->all[i].library->factory, eps->all[i].ep);
	free(eps);
}

/* ---- profilers ---- */

static bool is_whole(const OrtEpProfilerImpl *profiler)
{
	return profiler->ort_version_supported >= EPPROF_ORT_API_VERSION_MIN && profiler->Release &&
	       profiler->StartProfiling && profiler->EndProfiling;
}

static int64_t since_ns(uint64_t ticks)
{
	return (int64_t)((double)(epp_host_ticks() - ticks) * 1e9 / (double)epp_host_ticks_per_second());
}

static OrtStatus *profiler_start(struct ort_profilers *profilers, const struct library *library, OrtEp *ep,
                                 epp_session *session, int64_t offset_ns, uint64_t told_ticks)
{
	const struct ort_host *host = profilers->host;
	OrtEpProfilerImpl *profiler = NULL;
	if (ep->ort_version_supported < EPPROF_ORT_API_VERSION_MIN || !ep->CreateProfiler)
		return fail(host, library, "it does not profile");
	OrtStatus *status = ep->CreateProfiler(ep, &profiler);
	if (status || !profiler)
		return status;
	if (!is_whole(profiler))
		return fail(host, library,
		            "CreateProfiler: a profiler that lacks an entry, or is older than API version 25");
	epp_member *member;
	status = ort_status_of(host,
	                       epp_session_join(session, profiler, library->factory->GetName(library->factory), &member));
	if (status) {
		profiler->Release(profiler);
		return status;
	}
	profilers->all[profilers->count].profiler = profiler;
	profilers->all[profilers->count++].member = member;
	status = epp_member_start(member, offset_ns + since_ns(told_ticks));
	if (status)
		epp_member_count_error(member);
	return status;
}

OrtStatus *ort_profilers_start(const struct ort_eps *eps, epp_session *session, int64_t offset_ns, uint64_t told_ticks,
                               struct ort_profilers **profilers)
{
	*profilers = NULL;
	if (!eps)
		return NULL;
	const struct ort_host *host = eps->libraries->host;
	struct ort_profilers *made = calloc(1, sizeof(*made) + eps->count * sizeof(made->all[0]));
	if (!made)
		return ort_status_of(host, epp_status_no_memory());
	made->host = host;
	pthread_mutex_init(&made->lock, NULL);
	OrtStatus *status = NULL;
	for (size_t i = 0; i < eps->count; i++)
		status = first_of(
		    host, status,
		    profiler_start(made, eps->all[i].library, eps->all[i].ep, session, offset_ns, told_ticks));
	*profilers = made;
	return status;
}

static void note(struct ort_profilers *profilers, uint64_t id, uint64_t ort_id)
{
	pthread_mutex_lock(&profilers->lock);
	if (profilers->notes_count == profilers->notes_room && profilers->notes_room < NOTES_MAX) {
		size_t room = profilers->notes_room ? profilers->notes_room * 2 : 1024;
		struct note *larger = reallocarray(profilers->notes, room, sizeof(*larger));
		if (larger) {
			profilers->notes = larger;
			profilers->notes_room = room;
		}
	}
	/* Without a note an event of theirs has no correlation id in ONNX Runtime's profile; the trace needs none. */
	if (profilers->notes_count < profilers->notes_room)
		profilers->notes[profilers->notes_count++] = (struct note){ id, ort_id };
	pthread_mutex_unlock(&profilers->lock);
}

OrtStatus *ort_profilers_start_event(struct ort_profilers *profilers, uint64_t id, uint64_t ort_id)
{
	OrtStatus *status = NULL;
	if (!profilers)
		return NULL;
	note(profilers, id, ort_id);
	for (size_t i = 0; i < profilers->count; i++) {
		OrtEpProfilerImpl *profiler = profilers->all[i].profiler;
		OrtStatus *given = profiler->StartEvent ? profiler->StartEvent(profiler, id) : NULL;
		if (given)
			epp_member_count_error(profilers->all[i].member);
		status = first_of(profilers->host, status, given);
	}
	return status;
}

OrtStatus *ort_profilers_stop_event(struct ort_profilers *profilers, uint64_t id, const OrtProfilingEvent *event)
{
	OrtStatus *status = NULL;
	for (size_t i = 0; profilers && i < profilers->count; i++) {
		OrtEpProfilerImpl *profiler = profilers->all[i].profiler;
		OrtStatus *given = profiler->StopEvent ? profiler->StopEvent(profiler, id, event) : NULL;
		if (given)
			epp_member_count_error(profilers->all[i].member);
		status = first_of(profilers->host, status, given);
	}
	return status;
}

static int by_id(const void *a, const void *b)
{
	const struct note *left = a, *right = b;
	return (left->id > right->id) - (left->id < right->id);
}

static uint64_t ort_id_of(const void *user, uint64_t id)
{
	const struct ort_profilers *profilers = user;
	const struct note key = { .id = id }, *found = NULL;
	if (profilers->notes_count)
		found = bsearch(&key, profilers->notes, profilers->notes_count, sizeof(key), by_id);
	return found ? found->ort_id : 0;
}

OrtStatus *ort_profilers_end(struct ort_profilers *profilers, OrtProfilingEventsContainer *real)
{
	OrtStatus *status = NULL;
	if (!profilers)
		return NULL;
	if (profilers->notes_count)
		qsort(profilers->notes, profilers->notes_count, sizeof(*profilers->notes), by_id);
	for (size_t i = 0; i < profilers->count; i++) {
		OrtEpProfilerImpl *profiler = profilers->all[i].profiler;
		epp_member *member = profilers->all[i].member;
		struct ort_container container = { member, real, ort_id_of, profilers };
		OrtStatus *given = real ? ort_container_fill(&container, profiler) : NULL;
		if (given)
			epp_member_count_error(member);
		status = first_of(profilers->host, status, given);
		epp_member_leave(member);
		profiler->Release(profiler);
	}
	pthread_mutex_destroy(&profilers->lock);
	free(profilers->notes);
	free(profilers);
	return status;
}
