/* A host for libepprof_ort.so: ONNX Runtime's tables as libepprof serves them, in the version that a test wants, and
 * calls in ONNX Runtime's order.  All assert. */
#ifndef EPPROF_TESTS_BRIDGES_ORT_BRIDGE_HOST_H
#define EPPROF_TESTS_BRIDGES_ORT_BRIDGE_HOST_H

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "epprof/plugin.h"
#include "ort_abi/ort_event.h"
#include "tests/support/recording.h"

#define SLOTS_OF_26 422u /* at most: what stands there is not OrtApi's any more */

struct host {
	OrtEpFactory *factory;
	OrtEp *ep;
	ReleaseEpApiFactoryFn release_factory;
	const char *error; /* of CreateEpFactories or CreateEp */
};

static const char *version_text = "1.29.0";
static uint32_t version_asked;
static unsigned logged_count;
static char logged_text[1024]; /* of the last */
static union {
	epp_ort_slot slots[EPPROF_ORT_API_SLOTS];
	OrtApi table;
} api;
static const OrtEpApi *ep_api;
static const char *(*own_arg_value)(const char *key); /* of every event, if a test has some of its own */
static bool own_arg_fails;                            /* instead, this once */
static OrtStatus *(*own_name)(const OrtProfilingEvent *event, const char **name); /* likewise */
static const char *registered_library; /* path of an EP library that ONNX Runtime has registered; NULL: none */
static unsigned envs_count;            /* references to ONNX Runtime's environment */

/* ---- the host ---- */

static const char *get_version_string(void)
{
	return version_text;
}

static const OrtApi *get_api(uint32_t version)
{
	uint32_t own = (uint32_t)strtoul(version_text + 2, NULL, 10);
	if (version > own)
		return NULL;
	version_asked = version;
	return &api.table;
}

static void a_slot_that_is_none(void)
{
	_exit(99);
}

static OrtStatus *log_message(const OrtLogger *logger, OrtLoggingLevel level, const char *message, const char *file,
                              int line, const char *function)
{
	/* Plugins log on their own threads. */
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	(void)logger, (void)level, (void)file, (void)line, (void)function;
	pthread_mutex_lock(&lock);
	snprintf(logged_text, sizeof(logged_text), "%s", message);
	logged_count += strstr(message, "EPPROF_OUTPUT is not set") != NULL;
	pthread_mutex_unlock(&lock);
	return NULL;
}

static OrtStatus *give_own_arg_value(const OrtProfilingEvent *event, const char *key, const char **value)
{
	(void)event;
	*value = own_arg_value(key);
	bool fails = own_arg_fails;
	own_arg_fails = false;
	return fails ? api.table.CreateStatus(ORT_FAIL, "no value today") : NULL;
}

static const OrtEpApi *get_own_ep_api(void)
{
	static OrtEpApi table;
	table = *ep_api;
	table.ProfilingEvent_GetArgValue = give_own_arg_value;
	if (own_name)
		table.ProfilingEvent_GetName = own_name;
	return &table;
}

static OrtStatus *create_env(OrtLoggingLevel level, const char *id, OrtEnv **env)
{
	(void)level, (void)id;
	envs_count++;
	*env = (OrtEnv *)&envs_count;
	return NULL;
}

static void release_env(OrtEnv *env)
{
	(void)env;
	envs_count--;
}

/* The devices of the registered library. */
static OrtStatus *get_ep_devices(const OrtEnv *env, const OrtEpDevice *const **devices, size_t *count)
{
	static const OrtEpDevice *const all[] = { NULL };
	(void)env;
	*devices = all;
	*count = registered_library != NULL;
	return NULL;
}

static const OrtKeyValuePairs *ep_metadata(const OrtEpDevice *device)
{
	static OrtKeyValuePairs *metadata;
	if (device)
		return epp_ort_api_base()->GetApi(EPPROF_ORT_API_VERSION)->EpDevice_EpMetadata(device);
	if (!metadata)
		api.table.CreateKeyValuePairs(&metadata);
	api.table.AddKeyValuePair(metadata, "library_path", registered_library);
	return metadata;
}

static void make_tables(void)
{
	memcpy(&api, epp_ort_api_base()->GetApi(EPPROF_ORT_API_VERSION), sizeof(api));
	ep_api = api.table.GetEpApi();
	if (own_arg_value)
		api.table.GetEpApi = get_own_ep_api;
	api.table.Logger_LogMessage = log_message;
	api.table.CreateEnv = create_env;
	api.table.ReleaseEnv = release_env;
	api.table.GetEpDevices = get_ep_devices;
	api.table.EpDevice_EpMetadata = ep_metadata;
	for (uint32_t slot = SLOTS_OF_26; slot < EPPROF_ORT_API_SLOTS && !strcmp(version_text, "1.26.0"); slot++)
		api.slots[slot] = a_slot_that_is_none;
}

/* Stores the message of a status and releases the status.  Returns true if there is one. */
static bool host_failed(struct host *host, OrtStatus *status)
{
	static char error[512];
	if (!status)
		return false;
	snprintf(error, sizeof(error), "%s", api.table.GetErrorMessage(status));
	api.table.ReleaseStatus(status);
	host->error = error;
	return true;
}

/* Creates the EP of a session. */
static OrtEp *host_ep(struct host *host, const OrtHardwareDevice *device)
{
	OrtSessionOptions *options;
	OrtEp *ep = NULL;
	const OrtLogger *logger = (const OrtLogger *)&api;
	ck_assert_ptr_null(api.table.CreateSessionOptions(&options));
	OrtStatus *status = host->factory->CreateEp(host->factory, &device, NULL, 1, options, logger, &ep);
	api.table.ReleaseSessionOptions(options);
	ck_assert_uint_eq(envs_count, 0);
	return host_failed(host, status) ? NULL : ep;
}

/* As ONNX Runtime does it. */
static struct host host_open(void)
{
	static const OrtApiBase base = { get_api, get_version_string };
	CreateEpApiFactoriesFn create;
	struct host host = { 0 };
	make_tables();
	void *library = dlopen(CHECK_BUILD "/libepprof_ort.so", RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(library != NULL, "%s", dlerror());
	*(void **)&create = dlsym(library, "CreateEpFactories");
	*(void **)&host.release_factory = dlsym(library, "ReleaseEpFactory");
	size_t count = 7;
	if (host_failed(&host, create("epprof", &base, (const OrtLogger *)&base, &host.factory, 1, &count))) {
		ck_assert_uint_eq(count, 0);
		return host;
	}
	ck_assert_uint_eq(count, 1);
	OrtEpDevice *ep_device;
	/* As long as the process: a call that hangs may still use it. */
	static OrtHardwareDevice *cpu;
	if (!cpu)
		ck_assert_ptr_null(ep_api->CreateHardwareDevice(OrtHardwareDeviceType_CPU, 0, 0, "cpu", NULL, &cpu));
	const OrtHardwareDevice *device = cpu;
	OrtStatus *status = host.factory->GetSupportedDevices(host.factory, &device, 1, &ep_device, 1, &count);
	ck_assert_msg(!status, "%s", api.table.GetErrorMessage(status));
	ck_assert_uint_eq(count, 1);
	ep_api->ReleaseEpDevice(ep_device);
	host.ep = host_ep(&host, cpu);
	return host;
}

static void host_close(struct host *host)
{
	host->factory->ReleaseEp(host->factory, host->ep);
	ck_assert_ptr_null(host->release_factory(host->factory));
}

static OrtEpProfilerImpl *profiler_of(struct host *host)
{
	OrtEpProfilerImpl *profiler;
	ck_assert_ptr_null(host->ep->CreateProfiler(host->ep, &profiler));
	return profiler;
}

static inline OrtEpProfilerImpl *started(struct host *host)
{
	OrtEpProfilerImpl *profiler = profiler_of(host);
	ck_assert_ptr_null(profiler->StartProfiling(profiler, 440000));
	return profiler;
}

static uint64_t added_count;
static char added_names[4096];

static OrtStatus *container_add(OrtProfilingEventsContainer *self, const OrtProfilingEvent *const *events, size_t count)
{
	ck_assert_ptr_nonnull(self);
	added_count += count;
	for (size_t i = 0; i < count; i++) {
		char *id = (char *)(uintptr_t)ort_event_arg((OrtProfilingEvent *)(uintptr_t)events[i],
		                                            "ort_correlation_id");
		size_t used = strlen(added_names);
		snprintf(added_names + used, sizeof(added_names) - used, "%s@%s;", ort_event_name(events[i]),
		         id ? id : "none");
	}
	return NULL;
}

static inline void ended(OrtEpProfilerImpl *profiler)
{
	struct OrtProfilingEventsContainer container = { container_add, NULL };
	ck_assert_ptr_null(profiler->EndProfiling(profiler, &container));
	profiler->Release(profiler);
}

static void begin(OrtEpProfilerImpl *profiler, uint64_t id)
{
	ck_assert_ptr_null(profiler->StartEvent(profiler, id));
}

/* An event that took 7 us. */
static inline void end_at(OrtEpProfilerImpl *profiler, uint64_t id, int64_t start_us, const char *name)
{
	OrtProfilingEvent *event;
	ck_assert_ptr_null(ep_api->CreateProfilingEvent(OrtProfilingEventCategory_NODE, 1, 2, name, start_us, 7, NULL,
	                                                NULL, 0, &event));
	ck_assert_ptr_null(profiler->StopEvent(profiler, id, event));
	ep_api->ReleaseProfilingEvent(event);
}

/* Another, with these args. */
static void end_with(OrtEpProfilerImpl *profiler, uint64_t id, const char *name, const char *const *keys,
                     const char *const *values, size_t count)
{
	OrtProfilingEvent *event;
	ck_assert_ptr_null(ep_api->CreateProfilingEvent(OrtProfilingEventCategory_NODE, 1, 2, name, (int64_t)id - 1000,
	                                                7, keys, values, count, &event));
	ck_assert_ptr_null(profiler->StopEvent(profiler, id, event));
	ep_api->ReleaseProfilingEvent(event);
}

static void end(OrtEpProfilerImpl *profiler, uint64_t id, const char *name)
{
	end_with(profiler, id, name, NULL, NULL, 0);
}

/* ---- a process that records ---- */

static char *trace_path;

static inline void record_apart(void (*record)(void), const char *hosted)
{
	static unsigned number;
	/* Several processes may do this at the same time. */
	trace_path = check_path("bridge-%d-%u.epp", (int)getpid(), number++);
	unlink(trace_path);
	pid_t pid = fork();
	if (!pid) {
		setenv("EPPROF_OUTPUT", trace_path, 1);
		setenv("EPPROF_PROFILERS", hosted ? hosted : "", 1);
		record();
		exit(0);
	}
	int result;
	waitpid(pid, &result, 0);
	ck_assert_int_eq(result, 0);
}

static struct trace_scan *recorded(void (*record)(void), const char *hosted)
{
	record_apart(record, hosted);
	struct trace_scan *scan = trace_scan_file(trace_path);
	const char *wrong = scan_balance(scan);
	ck_assert_msg(!wrong, "%s", wrong);
	ck_assert_uint_eq(scan->header.state, EPF_FINISHED);
	return scan;
}

static inline const struct scan_record *named(const struct trace_scan *scan, const char *name)
{
	for (size_t i = 0; i < scan->records_count; i++)
		if (scan_name_is(scan, scan->records[i].name, name))
			return &scan->records[i];
	ck_abort_msg("no event %s", name);
	return NULL;
}

#endif
