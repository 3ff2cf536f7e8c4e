/* The environment: EP libraries and their devices, and which of them the session has. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_ort.h"

#define LIST_MAX FAKE_LIST_MAX

struct fake_ep fake_eps[FAKE_LIST_MAX];
size_t fake_eps_count;
OrtHardwareDevice *cpu;

static struct library {
	char name[512];
	void *library;
	OrtEpFactory *factories[4];
	size_t factories_count;
	OrtEpDevice *devices[LIST_MAX];
	size_t devices_count;
} libraries[LIST_MAX];
static size_t libraries_count;
static const OrtEpDevice *all_devices[LIST_MAX * LIST_MAX];

static OrtLoggingFunction log_function;
static void *log_param;

void fake_log(const char *message)
{
	if (log_function)
		log_function(log_param, ORT_LOGGING_LEVEL_ERROR, "", "", "", message);
}

static OrtStatus *create_env(OrtLoggingFunction function, void *param, OrtLoggingLevel level, const char *id, OrtEnv **out)
{
	(void)level, (void)id;
	log_function = function;
	log_param = param;
	if (word("log="))
		fake_log(word("log="));
	*out = (OrtEnv *)&api;
	return ep_api.CreateHardwareDevice(OrtHardwareDeviceType_CPU, 0, 0, "", NULL, &cpu);
}

static void release_env(OrtEnv *env)
{
	(void)env;
	ep_api.ReleaseHardwareDevice(cpu);
	tell("released\n");
}

static OrtStatus *register_library(OrtEnv *env, const char *name, const char *path)
{
	struct library *made = &libraries[libraries_count];
	CreateEpApiFactoriesFn create;

	(void)env;
	tell("register %s as %s\n", path, name);
	for (size_t i = 0; i < libraries_count; i++)
		if (strcmp(libraries[i].name, name) == 0)
			return api.CreateStatus(ORT_INVALID_ARGUMENT, "the name is taken");
	made->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!made->library)
		return api.CreateStatus(ORT_FAIL, dlerror());
	*(void **)&create = dlsym(made->library, "CreateEpFactories");
	if (!create)
		return api.CreateStatus(ORT_FAIL, "no symbol CreateEpFactories");
	snprintf(made->name, sizeof made->name, "%s", name);
	OrtStatus *status = create(name, OrtGetApiBase(), NULL, made->factories, 4, &made->factories_count);
	made->devices_count = 0;
	for (size_t i = 0; !status && i < made->factories_count; i++) {
		size_t count = 0;
		status = made->factories[i]->GetSupportedDevices(made->factories[i],
		                                                 (const OrtHardwareDevice *const *)&cpu, 1,
		                                                 made->devices + made->devices_count, 1, &count);
		made->devices_count += count;
	}
	libraries_count += !status;
	return status;
}

static OrtStatus *unregister_library(OrtEnv *env, const char *name)
{
	(void)env;
	for (size_t i = 0; i < libraries_count; i++) {
		struct library *library = &libraries[i];
		ReleaseEpApiFactoryFn release;
		if (strcmp(library->name, name) != 0)
			continue;
		for (size_t j = 0; j < library->devices_count; j++)
			ep_api.ReleaseEpDevice(library->devices[j]);
		*(void **)&release = dlsym(library->library, "ReleaseEpFactory");
		for (size_t j = 0; j < library->factories_count; j++)
			api.ReleaseStatus(release(library->factories[j]));
		dlclose(library->library);
		*library = libraries[--libraries_count];
		tell("unregister\n");
		break;
	}
	return NULL;
}

static OrtStatus *get_devices(const OrtEnv *env, const OrtEpDevice *const **devices, size_t *count)
{
	(void)env;
	*count = 0;
	for (size_t i = 0; i < libraries_count; i++)
		for (size_t j = 0; j < libraries[i].devices_count; j++)
			all_devices[(*count)++] = libraries[i].devices[j];
	*devices = all_devices;
	return NULL;
}

static OrtStatus *append_provider(OrtSessionOptions *options, OrtEnv *env, const OrtEpDevice *const *devices,
                                  size_t count, const char *const *keys, const char *const *values, size_t options_count)
{
	(void)options, (void)env, (void)keys, (void)values, (void)options_count;
	for (size_t i = 0; i < libraries_count; i++) {
		for (size_t j = 0; j < libraries[i].devices_count; j++) {
			if (!count || libraries[i].devices[j] != devices[0])
				continue;
			fake_eps[fake_eps_count].factory = libraries[i].factories[j];
			fake_eps[fake_eps_count++].device = libraries[i].devices[j];
		}
	}
	return NULL;
}

OrtStatus *fake_eps_create(const OrtSessionOptions *options)
{
	OrtStatus *status = NULL;

	for (size_t i = 0; !status && i < fake_eps_count; i++) {
		const OrtKeyValuePairs *metadata = api.EpDevice_EpMetadata(fake_eps[i].device);
		status = fake_eps[i].factory->CreateEp(fake_eps[i].factory, (const OrtHardwareDevice *const *)&cpu,
		                                       &metadata, 1, options, NULL, &fake_eps[i].ep);
	}
	return status;
}

void fake_eps_release(void)
{
	for (size_t i = 0; i < fake_eps_count; i++)
		fake_eps[i].factory->ReleaseEp(fake_eps[i].factory, fake_eps[i].ep);
	fake_eps_count = 0;
}

static OrtStatus *logger_severity(const OrtLogger *logger, OrtLoggingLevel *severity)
{
	(void)logger;
	*severity = ORT_LOGGING_LEVEL_FATAL;
	return NULL;
}

static OrtStatus *logger_log(const OrtLogger *logger, OrtLoggingLevel severity, const char *message, const char *file,
                             int line, const char *function)
{
	(void)logger, (void)severity, (void)message, (void)file, (void)line, (void)function;
	return NULL;
}

void fake_libraries_fill(void)
{
	api.Logger_GetLoggingSeverityLevel = logger_severity;
	api.Logger_LogMessage = logger_log;
	api.CreateEnvWithCustomLogger = create_env;
	api.ReleaseEnv = release_env;
	api.RegisterExecutionProviderLibrary = register_library;
	api.UnregisterExecutionProviderLibrary = unregister_library;
	api.GetEpDevices = get_devices;
	api.SessionOptionsAppendExecutionProvider_V2 = append_provider;
}
