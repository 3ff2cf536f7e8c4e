/* PJRT plugins, those of JAX: GetPjrtApi -> the profiler extension -> OrtEpProfilerImpl.
 *
 * The table is copied as far as the plugin says that it goes, and only the copy is called.  Each run of a session has a
 * PLUGIN_Profiler of its own: created with options at its start; stopped, asked and destroyed at its end; so any number
 * may be there at once, as far as the plugin can.  Data that the plugin owns is read in place; a plugin that wants a
 * buffer gets one with room to spare; one that can be consumed is, if it collects nothing.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/ort_status.h"
#include "epprof/pjrt.h"
#include "plugins/plugin_kinds.h"
#include "plugins/plugin_probe.h"
#include "plugins/profile_delivery.h"

#define EXTENSIONS_MAX 64
#define OPTIONS_BYTES 64
#define SPARE_BYTES 65536

struct pjrt_plugin {
	PLUGIN_Profiler_Api api;
	size_t said_bytes; /* of its table */
	char *name;
};

struct pjrt_profiler {
	OrtEpProfilerImpl impl; /* first: this is what sessions see */
	const struct pjrt_plugin *plugin;
	struct profile_target target;
	PLUGIN_Profiler *running; /* NULL: no run */
	struct epf_host_pair start;
};

/* Takes a plugin's error: NULL stays NULL. */
static epp_status *take(const struct pjrt_plugin *pjrt, const char *step, PLUGIN_Profiler_Error *error)
{
	if (!error)
		return NULL;
	PLUGIN_Profiler_Error_Message_Args message = { .struct_size = sizeof(message), .error = error };
	PLUGIN_Profiler_Error_GetCode_Args code = { .struct_size = sizeof(code), .error = error, .code = -1 };
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

/* ProfileOptions { version = 5, host level = 2, device level = 3, start = 8 }, the host's events being ours. */
static size_t options_write(char *options, int64_t start_ns)
{
	char *at = protobuf_u64(options, 5, 1);
	at = protobuf_u64(at, 2, 0);
	at = protobuf_u64(at, 3, 1);
	at = protobuf_i64(at, 8, start_ns);
	return (size_t)(at - options);
}

static epp_status *destroy(const struct pjrt_plugin *pjrt, PLUGIN_Profiler *profiler)
{
	PLUGIN_Profiler_Destroy_Args args = { .struct_size = sizeof(args), .profiler = profiler };
	return take(pjrt, "destroy", pjrt->api.destroy(&args));
}

static epp_status *start_run(struct pjrt_profiler *self)
{
	const struct pjrt_plugin *pjrt = self->plugin;
	char options[OPTIONS_BYTES];
	clock_pair_read(&self->start);
	PLUGIN_Profiler_Create_Args create = { .struct_size = sizeof(create),
		                               .options = options,
		                               .options_size = options_write(options, self->start.realtime_ns) };
	EPP_TRY(take(pjrt, "create", pjrt->api.create(&create)));
	if (!create.profiler)
		return epp_status_create(EPP_PLUGIN, "create: it made no profiler");
	PLUGIN_Profiler_Start_Args start = { .struct_size = sizeof(start), .profiler = create.profiler };
	epp_status *status = take(pjrt, "start", pjrt->api.start(&start));
	if (status) {
		epp_status_release(destroy(pjrt, create.profiler));
		return status;
	}
	self->running = create.profiler;
	self->target.ledger = (EpprofLedger){ 0 };
	profile_deliver_clock_start(&self->target, &self->start);
	return NULL;
}

static epp_status *size_check(const char *step, size_t bytes)
{
	/* No protobuf message is larger. */
	if (bytes <= (size_t)INT32_MAX)
		return NULL;
	return epp_status_create(EPP_PLUGIN, "%s: it says that it has %zu bytes, more than any message of protobuf's",
	                         step, bytes);
}

static epp_status *collect_into(struct pjrt_profiler *self, size_t asked, struct profile_data *data)
{
	data->mapped_bytes = asked + SPARE_BYTES;
	data->bytes = mmap(NULL, data->mapped_bytes, PROT_READ | PROT_WRITE,
	                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (data->bytes == MAP_FAILED) {
		*data = (struct profile_data){ 0 };
		return epp_status_no_memory();
	}
	PLUGIN_Profiler_CollectData_Args args = { .struct_size = sizeof(args),
		                                  .profiler = self->running,
		                                  .buffer = data->bytes,
		                                  .buffer_size_in_bytes = asked };
	epp_status *status = take(self->plugin, "collect_data", self->plugin->api.collect_data(&args));
	data->count = args.buffer_size_in_bytes < asked ? args.buffer_size_in_bytes : asked;
	if (!status && args.buffer_size_in_bytes > asked)
		status = epp_status_create(EPP_PLUGIN,
		                           "collect_data: its data grew from %zu to %zu bytes between the two calls",
		                           asked, args.buffer_size_in_bytes);
	return status;
}

static epp_status *collect(struct pjrt_profiler *self, struct profile_data *data)
{
	PLUGIN_Profiler_CollectData_Args args = { .struct_size = sizeof(args), .profiler = self->running };
	EPP_TRY(take(self->plugin, "collect_data", self->plugin->api.collect_data(&args)));
	EPP_TRY(size_check("collect_data", args.buffer_size_in_bytes));
	if (!args.buffer_size_in_bytes)
		return NULL;
	if (!args.buffer)
		return collect_into(self, args.buffer_size_in_bytes, data);
	data->bytes = args.buffer;
	data->count = args.buffer_size_in_bytes;
	return NULL;
}

static epp_status *deliver(struct pjrt_profiler *self, const struct profile_data *data, const struct epf_host_pair *end)
{
	const struct profile_window window = { .from_ns = self->start.realtime_ns - PROFILE_SLACK_NS,
		                               .until_ns = end->realtime_ns + PROFILE_SLACK_NS,
		                               .now_ns = end->realtime_ns,
		                               .answers = true };
	uint64_t events_count;
	epp_status *status = profile_deliver_xspace(&self->target, data, &window, &events_count);
	profile_deliver_ledger(&self->target);
	return status;
}

static epp_status *consume(struct pjrt_profiler *self, const struct epf_host_pair *end)
{
	const struct pjrt_plugin *pjrt = self->plugin;
	PLUGIN_Profiler_Consume_Args consumed = { .struct_size = sizeof(consumed), .profiler = self->running };
	EPP_TRY(take(pjrt, "consume", pjrt->api.consume(&consumed)));
	if (!consumed.result)
		return NULL;
	PLUGIN_Profiler_Serialize_Args serialized = { .struct_size = sizeof(serialized),
		                                      .profiler = self->running,
		                                      .consume_result = consumed.result };
	epp_status *status = take(pjrt, "serialize", pjrt->api.serialize(&serialized));
	if (!status)
		status = size_check("serialize", serialized.serialized_size);
	if (!status && serialized.serialized_bytes) {
		const struct profile_data data = { .bytes = (uint8_t *)(uintptr_t)serialized.serialized_bytes,
			                           .count = serialized.serialized_size };
		status = deliver(self, &data, end);
	}
	pjrt->api.consume_result_destroy(&(PLUGIN_Profiler_ConsumeResult_Destroy_Args){
	    .struct_size = sizeof(PLUGIN_Profiler_ConsumeResult_Destroy_Args), .consume_result = consumed.result });
	return status;
}

static epp_status *end_run(struct pjrt_profiler *self)
{
	const struct pjrt_plugin *pjrt = self->plugin;
	struct profile_data data = { 0 };
	struct epf_host_pair end;
	PLUGIN_Profiler_Stop_Args stop = { .struct_size = sizeof(stop), .profiler = self->running };
	epp_status *status = take(pjrt, "stop", pjrt->api.stop(&stop));
	clock_pair_read(&end);
	profile_deliver_clock_end(&self->target, &self->start, &end);
	if (!status) {
		status = collect(self, &data);
		if (data.count)
			status_keep(&status, deliver(self, &data, &end));
		else if (!status && pjrt->api.consume)
			status = consume(self, &end);
	}
	if (data.mapped_bytes)
		munmap(data.bytes, data.mapped_bytes);
	status_keep(&status, destroy(pjrt, self->running));
	self->running = NULL;
	return status;
}

/* ---- OrtEpProfilerImpl ---- */

static OrtStatus *start_profiling(OrtEpProfilerImpl *impl, int64_t offset_ns)
{
	struct pjrt_profiler *self = (struct pjrt_profiler *)impl;
	(void)offset_ns;
	if (self->running)
		return ort_status_create(1, "StartProfiling without EndProfiling in between");
	return ort_status_take(start_run(self));
}

static OrtStatus *end_profiling(OrtEpProfilerImpl *impl, OrtProfilingEventsContainer *container)
{
	struct pjrt_profiler *self = (struct pjrt_profiler *)impl;
	(void)container;
	return self->running ? ort_status_take(end_run(self)) : NULL;
}

static void release(OrtEpProfilerImpl *impl)
{
	struct pjrt_profiler *self = (struct pjrt_profiler *)impl;
	if (self->running)
		epp_status_release(end_run(self));
	free(self);
}

/* ---- the adapter ---- */

static const PLUGIN_Profiler_Api *extension_find(const PJRT_Api *api)
{
	const PJRT_Extension_Base *at = api->struct_size >= sizeof(PJRT_Api) ? api->extension_start : NULL;
	/* A chain may lead in a circle. */
	for (int i = 0; at && i < EXTENSIONS_MAX; i++, at = at->next) {
		if (at->type == PJRT_Extension_Type_Profiler &&
		    at->struct_size >= offsetof(PJRT_Profiler_Extension, traceme_context_id))
			return ((const PJRT_Profiler_Extension *)at)->profiler_api;
	}
	return NULL;
}

static epp_status *table_check(const PLUGIN_Profiler_Api *api)
{
	const struct {
		const char *name;
		bool is_there;
	} entries[] = { { "error_destroy", api->error_destroy },
		        { "error_message", api->error_message },
		        { "error_get_code", api->error_get_code },
		        { "create", api->create },
		        { "destroy", api->destroy },
		        { "start", api->start },
		        { "stop", api->stop },
		        { "collect_data", api->collect_data } };
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		if (!entries[i].is_there)
			return epp_status_create(EPP_INCOMPATIBLE, "GetPjrtApi: its profiler's %s is NULL",
			                         entries[i].name);
	}
	return NULL;
}

static epp_status *table_take(struct pjrt_plugin *pjrt, void *library)
{
	const PJRT_Api *(*get)(void);
	*(void **)&get = dlsym(library, "GetPjrtApi");
	const PJRT_Api *api = get();
	if (!api)
		return epp_status_create(EPP_PLUGIN, "GetPjrtApi: it gave no table");
	const PLUGIN_Profiler_Api *table = extension_find(api);
	if (!table)
		return epp_status_create(EPP_INCOMPATIBLE, "GetPjrtApi: it has no profiler extension");
	pjrt->said_bytes = table->struct_size;
	if (table->struct_size < EPPROF_PJRT_TABLE_BYTES)
		return epp_status_create(EPP_INCOMPATIBLE,
		                         "GetPjrtApi: its profiler's table says %zu bytes, %zu are needed",
		                         table->struct_size, EPPROF_PJRT_TABLE_BYTES);
	memcpy(&pjrt->api, table, table->struct_size < sizeof(pjrt->api) ? table->struct_size : sizeof(pjrt->api));
	/* They go together. */
	if (!pjrt->api.consume_result_destroy || !pjrt->api.serialize)
		pjrt->api.consume = NULL;
	return table_check(&pjrt->api);
}

static void close_plugin(epp_plugin *plugin)
{
	free(plugin->state);
	plugin->state = NULL;
}

static epp_status *open_plugin(epp_plugin *plugin)
{
	struct pjrt_plugin *pjrt = calloc(1, sizeof(*pjrt));
	if (!pjrt)
		return epp_status_no_memory();
	plugin->state = pjrt;
	epp_status *status = table_take(pjrt, plugin->library);
	/* The ABI has no name for a plugin. */
	if (!status && !(plugin->name = strdup(plugin->file)))
		status = epp_status_no_memory();
	if (status)
		close_plugin(plugin);
	else
		pjrt->name = plugin->name;
	return status;
}

static epp_status *create_profiler(epp_plugin *plugin, OrtEpProfilerImpl **profiler)
{
	struct pjrt_profiler *made = calloc(1, sizeof(*made));
	if (!made)
		return epp_status_no_memory();
	/* StartEvent and StopEvent stay NULL: the ABI has no such calls, so the host's events cost nothing more. */
	made->impl.ort_version_supported = EPPROF_ORT_API_VERSION_MIN;
	made->impl.Release = release;
	made->impl.StartProfiling = start_profiling;
	made->impl.EndProfiling = end_profiling;
	made->plugin = plugin->state;
	made->target.profiler = &made->impl;
	made->target.name = made->plugin->name;
	*profiler = &made->impl;
	return NULL;
}

static void describe(epp_plugin *plugin, const struct plugin_probe *probe)
{
	const struct pjrt_plugin *pjrt = plugin->state;
	plugin_probe_size(probe, "PLUGIN_Profiler_Api", pjrt->said_bytes, sizeof(pjrt->api));
	plugin_probe_entry(probe, "consume", pjrt->api.consume != NULL, false);
}

const struct plugin_adapter plugin_adapter_pjrt = {
	.open = open_plugin,
	.profiler_step = "registering a session",
	.profiler_create = create_profiler,
	.close = close_plugin,
	.describe = describe,
};
