/* PJRT plugins, as JAX uses: GetPjrtApi -> the profiler extension -> OrtEpProfilerImpl.
 *
 * The function table is copied up to the size that the plugin reports; only functions in the copy are called.  A run
 * has a PLUGIN_Profiler, created with options at its start; stopped, read and destroyed at its end.  JAX has one
 * session per process, so a plugin may support only one active profiler; sessions share it (shared_run.h).  Data in the
 * plugin's memory is read in place.  A plugin that needs a buffer from the caller gets one with spare room.  If
 * collect_data returns no data and the plugin has the consume functions, the data comes from them. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "epprof/abi/pjrt.h"
#include "plugins/plugin_kinds.h"
#include "plugins/plugin_probe.h"
#include "plugins/profile/shared_run.h"

#define EXTENSIONS_MAX 64
#define OPTIONS_BYTES 64
#define SPARE_BYTES 65536

struct pjrt_plugin {
	struct shared_run run; /* must be first */
	PLUGIN_Profiler_Api api;
	size_t reported_bytes; /* size of the function table, as reported by the plugin */
	int version[2];        /* version of PJRT; zeros: unknown */
	char *name;
	PLUGIN_Profiler *profiler;               /* NULL: no run */
	PLUGIN_Profiler_ConsumeResult *consumed; /* NULL: none */
};

/* Converts a plugin's error to an epp_status and frees the error; NULL stays NULL. */
static epp_status *convert_error(const struct pjrt_plugin *pjrt, const char *step, PLUGIN_Profiler_Error *error)
{
	if (!error)
		return NULL;
	PLUGIN_Profiler_Error_Message_Args message = { .struct_size = sizeof(message), .error = error };
	/* XLA compares sizes for equality; its sizes exclude the padding at the end of the struct. */
	PLUGIN_Profiler_Error_GetCode_Args code = { .struct_size = offsetof(PLUGIN_Profiler_Error_GetCode_Args, code) +
		                                                   sizeof(code.code),
		                                    .error = error,
		                                    .code = -1 };
	PLUGIN_Profiler_Error_Destroy_Args destroy = { .struct_size = sizeof(destroy), .error = error };
	pjrt->api.error_message(&message);
	PLUGIN_Profiler_Error *second = pjrt->api.error_get_code(&code);
	int bytes = message.message_size < 1024 ? (int)message.message_size : 1024;
	epp_status *status = epp_status_create(EPP_PLUGIN, "%s: code %d: %.*s", step, code.code,
	                                       message.message ? bytes : 0, message.message ? message.message : "");
	if (second)
		pjrt->api.error_destroy(
		    &(PLUGIN_Profiler_Error_Destroy_Args){ .struct_size = sizeof(destroy), .error = second });
	pjrt->api.error_destroy(&destroy);
	return status;
}

/* ---- a run ---- */

/* Writes ProfileOptions in protobuf: version (field 5), host level (2), device level (3), start (8).  The host level is
 * 0, because epprof records the host's events itself. */
static size_t options_write(char *options, int64_t start_ns)
{
	char *at = protobuf_u64(options, 5, 1);
	at = protobuf_u64(at, 2, 0);
	at = protobuf_u64(at, 3, 1);
	at = protobuf_i64(at, 8, start_ns);
	return (size_t)(at - options);
}

static epp_status *profiler_destroy(struct pjrt_plugin *pjrt)
{
	PLUGIN_Profiler_Destroy_Args args = { .struct_size = sizeof(args), .profiler = pjrt->profiler };
	pjrt->profiler = NULL;
	return convert_error(pjrt, "destroy", pjrt->api.destroy(&args));
}

static epp_status *start(struct shared_run *run)
{
	struct pjrt_plugin *pjrt = (struct pjrt_plugin *)run;
	char options[OPTIONS_BYTES];
	struct epf_host_pair now;
	clock_pair_read(&now);
	PLUGIN_Profiler_Create_Args create = { .struct_size = sizeof(create),
		                               .options = options,
		                               .options_size = options_write(options, now.realtime_ns) };
	EPP_TRY(convert_error(pjrt, "create", pjrt->api.create(&create)));
	if (!create.profiler)
		return epp_status_create(EPP_PLUGIN, "create: it created no profiler");
	pjrt->profiler = create.profiler;
	PLUGIN_Profiler_Start_Args args = { .struct_size = sizeof(args), .profiler = pjrt->profiler };
	epp_status *status = convert_error(pjrt, "start", pjrt->api.start(&args));
	if (status)
		epp_status_destroy(profiler_destroy(pjrt));
	return status;
}

static epp_status *stop(struct shared_run *run)
{
	struct pjrt_plugin *pjrt = (struct pjrt_plugin *)run;
	PLUGIN_Profiler_Stop_Args args = { .struct_size = sizeof(args), .profiler = pjrt->profiler };
	return convert_error(pjrt, "stop", pjrt->api.stop(&args));
}

static epp_status *size_check(const char *step, size_t bytes)
{
	/* A protobuf message is at most 2 GiB - 1, so a larger count is wrong. */
	if (bytes <= (size_t)INT32_MAX)
		return NULL;
	return epp_status_create(EPP_PLUGIN, "%s: it reported %zu bytes, more than a protobuf message can have", step,
	                         bytes);
}

static epp_status *collect_into(struct pjrt_plugin *pjrt, size_t asked, struct profile_data *data)
{
	data->mapped_bytes = asked + SPARE_BYTES;
	data->bytes = os_memory_map(data->mapped_bytes);
	if (!data->bytes) {
		*data = (struct profile_data){ 0 };
		return epp_status_no_memory();
	}
	PLUGIN_Profiler_CollectData_Args args = { .struct_size = sizeof(args),
		                                  .profiler = pjrt->profiler,
		                                  .buffer = data->bytes,
		                                  .buffer_size_in_bytes = asked };
	epp_status *status = convert_error(pjrt, "collect_data", pjrt->api.collect_data(&args));
	data->count = args.buffer_size_in_bytes < asked ? args.buffer_size_in_bytes : asked;
	if (!status && args.buffer_size_in_bytes > asked)
		status = epp_status_create(EPP_PLUGIN,
		                           "collect_data: its data grew from %zu to %zu bytes between the two calls",
		                           asked, args.buffer_size_in_bytes);
	return status;
}

static epp_status *collect_data(struct pjrt_plugin *pjrt, struct profile_data *data)
{
	PLUGIN_Profiler_CollectData_Args args = { .struct_size = sizeof(args), .profiler = pjrt->profiler };
	EPP_TRY(convert_error(pjrt, "collect_data", pjrt->api.collect_data(&args)));
	EPP_TRY(size_check("collect_data", args.buffer_size_in_bytes));
	if (!args.buffer_size_in_bytes)
		return NULL;
	if (!args.buffer)
		return collect_into(pjrt, args.buffer_size_in_bytes, data);
	data->bytes = args.buffer;
	data->count = args.buffer_size_in_bytes;
	return NULL;
}

static epp_status *consume(struct pjrt_plugin *pjrt, struct profile_data *data)
{
	PLUGIN_Profiler_Consume_Args consumed = { .struct_size = sizeof(consumed), .profiler = pjrt->profiler };
	EPP_TRY(convert_error(pjrt, "consume", pjrt->api.consume(&consumed)));
	pjrt->consumed = consumed.result;
	if (!consumed.result)
		return NULL;
	PLUGIN_Profiler_Serialize_Args serialized = { .struct_size = sizeof(serialized),
		                                      .profiler = pjrt->profiler,
		                                      .consume_result = consumed.result };
	EPP_TRY(convert_error(pjrt, "serialize", pjrt->api.serialize(&serialized)));
	EPP_TRY(size_check("serialize", serialized.serialized_size));
	if (serialized.serialized_bytes)
		*data = (struct profile_data){ .bytes = (uint8_t *)(uintptr_t)serialized.serialized_bytes,
			                       .count = serialized.serialized_size };
	return NULL;
}

static epp_status *collect(struct shared_run *run, struct shared_data *data)
{
	struct pjrt_plugin *pjrt = (struct pjrt_plugin *)run;
	EPP_TRY(collect_data(pjrt, &data->xspace));
	/* Without all three functions, none is used. */
	bool consumes = pjrt->api.consume && pjrt->api.consume_result_destroy && pjrt->api.serialize;
	return data->xspace.count || !consumes ? NULL : consume(pjrt, &data->xspace);
}

static epp_status *discard(struct shared_run *run, struct shared_data *data)
{
	struct pjrt_plugin *pjrt = (struct pjrt_plugin *)run;
	if (pjrt->consumed)
		pjrt->api.consume_result_destroy(&(PLUGIN_Profiler_ConsumeResult_Destroy_Args){
		    .struct_size = sizeof(PLUGIN_Profiler_ConsumeResult_Destroy_Args), .consume_result = pjrt->consumed });
	pjrt->consumed = NULL;
	if (data->xspace.mapped_bytes)
		os_memory_unmap(data->xspace.bytes, data->xspace.mapped_bytes);
	return profiler_destroy(pjrt);
}

static void destroy(struct shared_run *run)
{
	free(((struct pjrt_plugin *)run)->name);
	free(run);
}

static const struct shared_run_calls calls = { start, stop, collect, discard, destroy };

/* ---- the adapter ---- */

static const PLUGIN_Profiler_Api *extension_find(const PJRT_Api *api)
{
	const PJRT_Extension_Base *at = api->struct_size >= sizeof(PJRT_Api) ? api->extension_start : NULL;
	/* Limited, because the list of a faulty plugin may be circular. */
	for (int i = 0; at && i < EXTENSIONS_MAX; i++, at = at->next) {
		if (at->type == PJRT_Extension_Type_Profiler &&
		    at->struct_size >= offsetof(PJRT_Profiler_Extension, traceme_context_id))
			return ((const PJRT_Profiler_Extension *)at)->profiler_api;
	}
	return NULL;
}

static const struct {
	const char *name;
	size_t offset;
	bool is_required;
} entries[] = {
#define ENTRY(name, is_required) \
	{ \
#name, offsetof(PLUGIN_Profiler_Api, name), is_required \
	}
	ENTRY(error_destroy, true),  ENTRY(error_message, true),
	ENTRY(error_get_code, true), ENTRY(create, true),
	ENTRY(destroy, true),        ENTRY(start, true),
	ENTRY(stop, true),           ENTRY(collect_data, true),
	ENTRY(consume, false),       ENTRY(consume_result_destroy, false),
	ENTRY(serialize, false),
#undef ENTRY
};
#define ENTRIES_COUNT (sizeof(entries) / sizeof(entries[0]))

static bool has_entry(const PLUGIN_Profiler_Api *api, size_t index)
{
	void *entry;
	memcpy(&entry, (const char *)api + entries[index].offset, sizeof(entry));
	return entry != NULL;
}

static epp_status *table_check(const PLUGIN_Profiler_Api *api)
{
	for (size_t i = 0; i < ENTRIES_COUNT; i++) {
		if (entries[i].is_required && !has_entry(api, i))
			return epp_status_create(EPP_INCOMPATIBLE, "GetPjrtApi: its profiler's %s is NULL",
			                         entries[i].name);
	}
	return NULL;
}

/* The offset and the size, in bytes, of PJRT's version in the function table, where it follows the members used here.
 * The version is a struct that begins with its size; a size of 0 means that the table has none. */
#define VERSION_OFFSET 16
#define VERSION_BYTES 24
static void version_take(struct pjrt_plugin *pjrt, const PJRT_Api *api)
{
	size_t bytes;
	if (api->struct_size < VERSION_OFFSET + VERSION_BYTES)
		return;
	memcpy(&bytes, (const char *)api + VERSION_OFFSET, sizeof(bytes));
	if (bytes >= VERSION_BYTES)
		memcpy(pjrt->version, (const char *)api + VERSION_OFFSET + VERSION_BYTES - sizeof(pjrt->version),
		       sizeof(pjrt->version));
}

static epp_status *table_take(struct pjrt_plugin *pjrt, void *library)
{
	const PJRT_Api *(*get)(void);
	*(void **)&get = dlsym(library, "GetPjrtApi");
	plugin_entry("GetPjrtApi");
	const PJRT_Api *api = get();
	if (!api)
		return epp_status_create(EPP_PLUGIN, "GetPjrtApi: it returned no table");
	const PLUGIN_Profiler_Api *table = extension_find(api);
	if (!table)
		return epp_status_create(EPP_INCOMPATIBLE, "GetPjrtApi: it has no profiler extension");
	version_take(pjrt, api);
	pjrt->reported_bytes = table->struct_size;
	if (table->struct_size < EPPROF_PJRT_TABLE_BYTES)
		return epp_status_create(EPP_INCOMPATIBLE,
		                         "GetPjrtApi: the profiler's table has a size of %zu bytes, %zu are needed",
		                         table->struct_size, EPPROF_PJRT_TABLE_BYTES);
	memcpy(&pjrt->api, table, table->struct_size < sizeof(pjrt->api) ? table->struct_size : sizeof(pjrt->api));
	return table_check(&pjrt->api);
}

static epp_status *make(const epp_plugin *plugin, struct shared_run **run)
{
	struct pjrt_plugin *pjrt = calloc(1, sizeof(*pjrt));
	if (!pjrt)
		return epp_status_no_memory();
	epp_status *status = table_take(pjrt, plugin->library);
	/* The ABI has no name of the plugin, so the file's name is used. */
	if (!status && !(pjrt->name = strdup(plugin->file)))
		status = epp_status_no_memory();
	if (status) {
		free(pjrt);
		return status;
	}
	pjrt->run.name = pjrt->name;
	*run = &pjrt->run;
	return NULL;
}

static epp_status *open_plugin(epp_plugin *plugin)
{
	return shared_run_open(plugin, &calls, make);
}

static void describe(epp_plugin *plugin, const struct plugin_probe *probe)
{
	const struct pjrt_plugin *pjrt = plugin->state;
	if (pjrt->version[0] || pjrt->version[1])
		plugin_probe_version(probe, "PJRT", "%d.%d", pjrt->version[0], pjrt->version[1]);
	else
		plugin_probe_version(probe, "PJRT", "unknown");
	plugin_probe_size(probe, "PLUGIN_Profiler_Api", pjrt->reported_bytes, sizeof(pjrt->api));
	for (size_t i = 0; i < ENTRIES_COUNT; i++)
		plugin_probe_entry(probe, entries[i].name, has_entry(&pjrt->api, i), entries[i].is_required);
}

const struct plugin_adapter plugin_adapter_pjrt = {
	.open_plugin = open_plugin,
	.profiler_step = "registering a session",
	.profiler_create = shared_run_profiler_create,
	.close_plugin = shared_run_close,
	.describe = describe,
};
