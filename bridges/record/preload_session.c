/* The options of a profiled session: a clone of the program's options, with the collector as an additional execution
 * provider.  The calls are those that docs/onnxruntime.md shows in Python. */
#include "preload.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COLLECTOR "epprof" /* name of the collector's execution provider */

/* The name under which the collector is registered here.  A program that registers it itself uses another name. */
static const char registration_name[] = "epprof record";

/* ---- marks ---- */

static bool is_marked(const OrtApi *api, const OrtSessionOptions *options, const char *key)
{
	char value[2] = "";
	size_t size = sizeof value;
	int has = 0;

	api->ReleaseStatus(api->HasSessionConfigEntry(options, key, &has));
	if (has)
		api->ReleaseStatus(api->GetSessionConfigEntry(options, key, value, &size));
	return value[0] == '1';
}

void preload_mark(const OrtApi *api, OrtSessionOptions *options, const char *key, bool value)
{
	/* Not set again, because ONNX Runtime logs a warning if an entry exists already. */
	if (is_marked(api, options, key) != value)
		api->ReleaseStatus(api->AddSessionConfigEntry(options, key, value ? "1" : "0"));
}

/* ---- the collector ---- */

/* Returns the path of the collector, allocated by malloc.  NULL: no memory, or the path of this library is unknown. */
static char *find_library(void)
{
	const char *slash;
	Dl_info own;
	char *path;

	if (!dladdr(registration_name, &own) || !(slash = strrchr(own.dli_fname, '/')))
		return NULL;
	int bytes = asprintf(&path, "%.*s/libepprof_ort.so", (int)(slash - own.dli_fname), own.dli_fname);
	return bytes < 0 ? NULL : path;
}

/* Finds the devices of collectors.  Sets *device to the last one, and counts them. */
static OrtStatus *find_devices(const OrtApi *api, const OrtEnv *env, const OrtEpDevice **device, size_t *count)
{
	const OrtEpDevice *const *devices = NULL;
	size_t devices_count = 0;
	OrtStatus *status = api->GetEpDevices(env, &devices, &devices_count);

	*count = 0;
	for (size_t i = 0; !status && i < devices_count; i++) {
		if (strcmp(api->EpDevice_EpName(devices[i]), COLLECTOR) == 0) {
			*device = devices[i];
			++*count;
		}
	}
	return status;
}

static OrtStatus *register_collector(const OrtApi *api, OrtEnv *env)
{
	char *path = find_library();
	OrtStatus *status = path ? api->RegisterExecutionProviderLibrary(env, registration_name, path)
	                         : api->CreateStatus(ORT_FAIL, "epprof: no path of libepprof_ort.so");

	free(path);
	return status;
}

/* Sets *device to the collector's device.  The first session registers the collector.  *device is NULL if the program
 * has registered the collector itself. */
static OrtStatus *find_collector(const OrtApi *api, OrtEnv *env, const OrtEpDevice **device)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static bool is_registered;
	const OrtEpDevice *found = NULL;
	size_t count;

	*device = NULL;
	pthread_mutex_lock(&lock);
	OrtStatus *status = find_devices(api, env, &found, &count);
	/* A new environment does not have the libraries that were registered with an earlier one. */
	if (!status && count == 0) {
		status = register_collector(api, env);
		is_registered = !status;
		if (!status)
			status = find_devices(api, env, &found, &count);
		if (!status && count == 0)
			status = api->CreateStatus(ORT_FAIL, "epprof: the collector has no device");
	}
	if (!status && is_registered && count == 1)
		*device = found;
	pthread_mutex_unlock(&lock);
	return status;
}

/* ---- options ---- */

/* Enables ONNX Runtime's own profile, which the collector needs.  It is written into the folder of the recording. */
static OrtStatus *enable_profiling(const OrtApi *api, OrtSessionOptions *options)
{
	static unsigned sessions_count;
	char *prefix;
	const char *folder = secure_getenv("EPPROF_RECORD");
	unsigned number = __atomic_add_fetch(&sessions_count, 1, __ATOMIC_RELAXED);

	if (asprintf(&prefix, "%s/onnxruntime_c_%ld_%u", folder ? folder : ".", (long)getpid(), number) < 0)
		return api->CreateStatus(ORT_FAIL, "epprof: out of memory");
	OrtStatus *status = api->EnableProfiling(options, prefix);
	free(prefix);
	return status;
}

/* Sets *profiled to the options for a profiled session; NULL: the program attaches the collector itself. */
static OrtStatus *make_options(const OrtApi *api, OrtEnv *env, const OrtSessionOptions *options,
                               OrtSessionOptions **profiled)
{
	const OrtEpDevice *device;

	/* Appending a provider would disable the selection of providers. */
	if (options && is_marked(api, options, PRELOAD_SELECTS))
		return api->CreateStatus(ORT_FAIL, "its options have a policy that selects execution providers");
	OrtStatus *status = find_collector(api, env, &device);
	if (status || !device)
		return status;
	status = options ? api->CloneSessionOptions(options, profiled) : api->CreateSessionOptions(profiled);
	if (!status)
		status = api->SessionOptionsAppendExecutionProvider_V2(*profiled, env, &device, 1, NULL, NULL, 0);
	if (!status && !is_marked(api, *profiled, PRELOAD_PROFILED))
		status = enable_profiling(api, *profiled);
	return status;
}

static void release_options(struct preload_session *session)
{
	if (session->profiled)
		session->api->ReleaseSessionOptions(session->profiled);
	session->profiled = NULL;
}

static void note_unprofiled(const OrtApi *api, OrtStatus *status)
{
	preload_note("a session of ONNX Runtime runs unprofiled: %s", api->GetErrorMessage(status));
	api->ReleaseStatus(status);
}

/* ---- a session ---- */

void preload_session_begin(struct preload_session *session, const OrtApi *api, const OrtEnv *env,
                           const OrtSessionOptions *options)
{
	*session = (struct preload_session){ .api = api, .options = options };
	OrtStatus *status = env ? make_options(api, (OrtEnv *)env, options, &session->profiled) : NULL;
	if (status) {
		release_options(session);
		note_unprofiled(api, status);
	}
	if (session->profiled)
		session->options = session->profiled;
}

bool preload_session_failed(struct preload_session *session, OrtStatus *status)
{
	bool is_profiled = session->profiled != NULL;

	release_options(session);
	session->failure = is_profiled ? status : NULL;
	return session->failure != NULL;
}

OrtStatus *preload_session_end(struct preload_session *session, OrtStatus *status)
{
	if (status)
		session->api->ReleaseStatus(session->failure);
	else
		note_unprofiled(session->api, session->failure);
	return status;
}
