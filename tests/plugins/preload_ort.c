/* A library in the place of libonnxruntime.so; preload_ort.h describes it. */
#include "preload_ort.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define ENTRIES_MAX 4
#define DEVICES_MAX 4
#define EDITOR_CREATE_SLOT 14
#define REGISTRATION_US 20000 /* opening a library takes time, in which other threads find no device */

struct OrtStatus {
	char message[FAKE_TEXT_BYTES];
};

struct OrtSessionOptions {
	char prefix[FAKE_TEXT_BYTES];
	unsigned collectors_count, entries_count;
	struct {
		char key[32], value[8];
	} entries[ENTRIES_MAX];
};

struct OrtEpDevice {
	char name[FAKE_TEXT_BYTES]; /* of the registration */
};

EXPORT struct fake_state fake_state = { .version = "1.29.0" };
EXPORT const OrtApiBase *OrtGetApiBase(void);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct OrtEpDevice devices[DEVICES_MAX];
static const OrtEpDevice *device_list[DEVICES_MAX];
static unsigned devices_count;
static union {
	epp_ort_slot slots[FAKE_NEWER_SLOT + 1];
	OrtApi table;
} api;
static epp_ort_slot editor[EPPROF_ORT_MODEL_EDITOR_API_SLOTS];

/* ---- statuses ---- */

static OrtStatus *create_status(OrtErrorCode code, const char *message)
{
	OrtStatus *status = malloc(sizeof *status);

	(void)code;
	if (!status)
		abort();
	snprintf(status->message, sizeof status->message, "%s", message);
	return status;
}

static const char *error_message(const OrtStatus *status)
{
	return status->message;
}

static void release_status(OrtStatus *status)
{
	free(status);
}

static OrtStatus *failure_of(const char *function)
{
	char message[FAKE_TEXT_BYTES];

	if (!fake_state.failing || strcmp(fake_state.failing, function) != 0)
		return NULL;
	snprintf(message, sizeof message, "%s\nfails", function);
	return create_status(ORT_FAIL, message);
}

/* ---- session options ---- */

static void count_options(int change)
{
	pthread_mutex_lock(&lock);
	fake_state.options_count += (unsigned)change;
	pthread_mutex_unlock(&lock);
}

static OrtStatus *create_options(OrtSessionOptions **out)
{
	*out = calloc(1, sizeof **out);
	count_options(1);
	return *out ? NULL : create_status(ORT_FAIL, "no memory");
}

static OrtStatus *clone_options(const OrtSessionOptions *options, OrtSessionOptions **out)
{
	OrtStatus *status = failure_of("CloneSessionOptions");

	if (!status)
		status = create_options(out);
	if (!status)
		**out = *options;
	return status;
}

static void release_options(OrtSessionOptions *options)
{
	free(options);
	count_options(-1);
}

static OrtStatus *enable_profiling(OrtSessionOptions *options, const char *prefix)
{
	snprintf(options->prefix, sizeof options->prefix, "%s", prefix);
	return NULL;
}

static OrtStatus *disable_profiling(OrtSessionOptions *options)
{
	options->prefix[0] = '\0';
	return NULL;
}

static unsigned entry_index(const OrtSessionOptions *options, const char *key)
{
	unsigned i = 0;

	while (i < options->entries_count && strcmp(options->entries[i].key, key) != 0)
		i++;
	return i;
}

static OrtStatus *add_entry(OrtSessionOptions *options, const char *key, const char *value)
{
	unsigned i = entry_index(options, key);

	if (i == ENTRIES_MAX)
		abort();
	options->entries_count += i == options->entries_count;
	snprintf(options->entries[i].key, sizeof options->entries[i].key, "%s", key);
	snprintf(options->entries[i].value, sizeof options->entries[i].value, "%s", value);
	return NULL;
}

static OrtStatus *has_entry(const OrtSessionOptions *options, const char *key, int *out)
{
	*out = entry_index(options, key) < options->entries_count;
	return NULL;
}

static OrtStatus *get_entry(const OrtSessionOptions *options, const char *key, char *value, size_t *size)
{
	snprintf(value, *size, "%s", options->entries[entry_index(options, key)].value);
	return NULL;
}

static OrtStatus *set_policy(OrtSessionOptions *options, OrtExecutionProviderDevicePolicy policy)
{
	(void)options, (void)policy;
	return failure_of("SessionOptionsSetEpSelectionPolicy");
}

static OrtStatus *set_delegate(OrtSessionOptions *options, EpSelectionDelegate delegate, void *state)
{
	(void)options, (void)delegate, (void)state;
	return NULL;
}

/* ---- execution providers ---- */

static OrtStatus *register_library(OrtEnv *env, const char *name, const char *path)
{
	(void)env;
	OrtStatus *status = failure_of("RegisterExecutionProviderLibrary");
	if (status)
		return status;
	usleep(REGISTRATION_US);
	pthread_mutex_lock(&lock);
	snprintf(fake_state.registered, sizeof fake_state.registered, "%s", path);
	snprintf(devices[devices_count].name, sizeof devices[0].name, "%s", name);
	device_list[devices_count] = &devices[devices_count];
	devices_count++;
	fake_state.registrations_count++;
	pthread_mutex_unlock(&lock);
	return NULL;
}

static OrtStatus *get_devices(const OrtEnv *env, const OrtEpDevice *const **out, size_t *count)
{
	(void)env;
	pthread_mutex_lock(&lock);
	*count = devices_count;
	*out = device_list;
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* Every library is the collector, except "other". */
static const char *device_name(const OrtEpDevice *device)
{
	return strcmp(device->name, "other") == 0 ? "other" : "epprof";
}

static OrtStatus *append_provider(OrtSessionOptions *options, OrtEnv *env, const OrtEpDevice *const *appended,
                                  size_t count, const char *const *keys, const char *const *values, size_t options_count)
{
	(void)env, (void)keys, (void)values, (void)options_count;
	OrtStatus *status = failure_of("SessionOptionsAppendExecutionProvider_V2");
	for (size_t i = 0; !status && i < count; i++)
		options->collectors_count += strcmp(device_name(appended[i]), "epprof") == 0;
	return status;
}

/* ---- sessions ---- */

static OrtStatus *create(const char *function, const OrtSessionOptions *options, OrtSession **out)
{
	bool has_collector = options && options->collectors_count;
	OrtStatus *status = has_collector || !fake_state.only_collector_fails ? failure_of("CreateSession") : NULL;

	*out = NULL;
	if (status)
		return status;
	*out = calloc(1, sizeof **out);
	if (!*out)
		abort();
	(*out)->function = function;
	if (options) {
		memcpy((*out)->prefix, options->prefix, sizeof options->prefix);
		(*out)->collectors_count = options->collectors_count;
	}
	return NULL;
}

static OrtStatus *create_session(const OrtEnv *env, const char *path, const OrtSessionOptions *options, OrtSession **out)
{
	(void)env, (void)path;
	return create("path", options, out);
}

static OrtStatus *create_from_array(const OrtEnv *env, const void *model, size_t bytes,
                                    const OrtSessionOptions *options, OrtSession **out)
{
	(void)env, (void)model, (void)bytes;
	return create("array", options, out);
}

static OrtStatus *create_with_weights(const OrtEnv *env, const char *path, const OrtSessionOptions *options,
                                      OrtPrepackedWeightsContainer *weights, OrtSession **out)
{
	(void)env, (void)path, (void)weights;
	return create("path and weights", options, out);
}

static OrtStatus *create_from_array_with_weights(const OrtEnv *env, const void *model, size_t bytes,
                                                 const OrtSessionOptions *options,
                                                 OrtPrepackedWeightsContainer *weights, OrtSession **out)
{
	(void)env, (void)model, (void)bytes, (void)weights;
	return create("array and weights", options, out);
}

static OrtStatus *create_from_model(const OrtEnv *env, const void *model, const OrtSessionOptions *options,
                                    OrtSession **out)
{
	(void)env, (void)model;
	return create("model", options, out);
}

static void release_session(OrtSession *session)
{
	free(session);
}

/* ---- the tables ---- */

static const OrtModelEditorApi *get_model_editor_api(void)
{
	return (const OrtModelEditorApi *)(const void *)editor;
}

static int newer_function(void)
{
	return FAKE_NEWER_RESULT;
}

static void fill_tables(void)
{
	api.table.CreateStatus = create_status;
	api.table.GetErrorMessage = error_message;
	api.table.ReleaseStatus = release_status;
	api.table.CreateSessionOptions = create_options;
	api.table.CloneSessionOptions = clone_options;
	api.table.ReleaseSessionOptions = release_options;
	api.table.EnableProfiling = enable_profiling;
	api.table.DisableProfiling = disable_profiling;
	api.table.AddSessionConfigEntry = add_entry;
	api.table.HasSessionConfigEntry = has_entry;
	api.table.GetSessionConfigEntry = get_entry;
	api.table.SessionOptionsSetEpSelectionPolicy = set_policy;
	api.table.SessionOptionsSetEpSelectionPolicyDelegate = set_delegate;
	api.table.RegisterExecutionProviderLibrary = register_library;
	api.table.GetEpDevices = get_devices;
	api.table.EpDevice_EpName = device_name;
	api.table.SessionOptionsAppendExecutionProvider_V2 = append_provider;
	api.table.CreateSession = create_session;
	api.table.CreateSessionFromArray = create_from_array;
	api.table.CreateSessionWithPrepackedWeightsContainer = create_with_weights;
	api.table.CreateSessionFromArrayWithPrepackedWeightsContainer = create_from_array_with_weights;
	api.table.ReleaseSession = release_session;
	api.table.GetModelEditorApi = get_model_editor_api;
	api.slots[FAKE_NEWER_SLOT] = (epp_ort_slot)newer_function;
	editor[EDITOR_CREATE_SLOT] = (epp_ort_slot)create_from_model;
}

static const OrtApi *get_api(uint32_t version)
{
	return version <= strtoul(fake_state.version + 2, NULL, 10) ? &api.table : NULL;
}

static const char *get_version_string(void)
{
	return fake_state.version;
}

const OrtApiBase *OrtGetApiBase(void)
{
	static const OrtApiBase base = { get_api, get_version_string };
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, fill_tables);
	return &base;
}
