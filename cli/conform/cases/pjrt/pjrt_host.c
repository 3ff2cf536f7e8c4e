/* Calls the functions of PJRT's profiler extension for the cases, as a framework does; see pjrt_host.h. */
#include "pjrt_host.h"

#include <dlfcn.h>

#define EXTENSIONS_MAX 1000

void pjrt_open(const struct conform *conform, struct pjrt_host *host)
{
	void *library = conform_open(conform, "GetPjrtApi");

	*host = (struct pjrt_host){ .conform = conform };
	*(void **)&host->get = dlsym(library, "GetPjrtApi");
	if (conform->work_name)
		host->work = conform_open_work(conform, library);
	host->api = host->get();
	const PJRT_Extension_Base *at = host->api ? host->api->extension_start : NULL;
	for (int i = 0; at && i < EXTENSIONS_MAX && !host->table; i++, at = at->next) {
		if (at->type == PJRT_Extension_Type_Profiler)
			host->table = ((const PJRT_Profiler_Extension *)at)->profiler_api;
	}
	const PLUGIN_Profiler_Api *table = host->table;
	if (!table || table->struct_size < EPPROF_PJRT_TABLE_BYTES || !table->error_destroy || !table->error_message ||
	    !table->error_get_code || !table->create || !table->destroy || !table->start || !table->stop ||
	    !table->collect_data)
		conform_skip(conform, "the library has no profiler, see 1.load.library");
	if (conform->trace_path)
		host->table = pjrt_trace(table);
}

/* ---- calls ---- */

/* Copies the message and the code of an error to `host`, and destroys the error.  Returns true if `error` is NULL. */
static bool store_error(struct pjrt_host *host, PLUGIN_Profiler_Error *error)
{
	if (!error)
		return true;
	PLUGIN_Profiler_Error_Message_Args message = { .struct_size = sizeof(message), .error = error };
	/* XLA's size excludes the padding at the end of the struct. */
	PLUGIN_Profiler_Error_GetCode_Args code = {
		.struct_size = offsetof(PLUGIN_Profiler_Error_GetCode_Args, code) + sizeof(code.code), .error = error
	};
	PLUGIN_Profiler_Error_Destroy_Args destroy = { .struct_size = sizeof(destroy), .error = error };
	host->table->error_message(&message);
	host->table->error_get_code(&code);
	snprintf(host->message, sizeof(host->message), "%.*s", message.message ? (int)message.message_size : 0,
	         message.message ? message.message : "");
	host->code = code.code;
	host->table->error_destroy(&destroy);
	return false;
}

static size_t size(const struct pjrt_host *host, size_t bytes)
{
	return host->is_old ? 0 : bytes;
}

bool pjrt_create(struct pjrt_host *host)
{
	PLUGIN_Profiler_Create_Args args = { .struct_size = size(host, sizeof(args)), .options = "" };
	bool is_done = store_error(host, host->table->create(&args));

	host->profiler = args.profiler;
	if (is_done && !args.profiler)
		conform_skip(host->conform, "create made no profiler, see 1.load.profiler");
	return is_done;
}

bool pjrt_start(struct pjrt_host *host)
{
	return store_error(
	    host, host->table->start(&(PLUGIN_Profiler_Start_Args){
		      .struct_size = size(host, sizeof(PLUGIN_Profiler_Start_Args)), .profiler = host->profiler }));
}

bool pjrt_stop(struct pjrt_host *host)
{
	return store_error(
	    host, host->table->stop(&(PLUGIN_Profiler_Stop_Args){
		      .struct_size = size(host, sizeof(PLUGIN_Profiler_Stop_Args)), .profiler = host->profiler }));
}

bool pjrt_collect(struct pjrt_host *host)
{
	PLUGIN_Profiler_CollectData_Args args = { .struct_size = size(host, sizeof(args)), .profiler = host->profiler };
	bool is_done = store_error(host, host->table->collect_data(&args));

	host->data = is_done ? args.buffer : NULL;
	host->data_bytes = is_done ? args.buffer_size_in_bytes : 0;
	return is_done;
}

bool pjrt_collect_into(struct pjrt_host *host, uint8_t *buffer, size_t *bytes)
{
	PLUGIN_Profiler_CollectData_Args args = { .struct_size = size(host, sizeof(args)),
		                                  .profiler = host->profiler,
		                                  .buffer = buffer,
		                                  .buffer_size_in_bytes = *bytes };
	bool is_done = store_error(host, host->table->collect_data(&args));

	*bytes = args.buffer_size_in_bytes;
	return is_done;
}

bool pjrt_destroy(struct pjrt_host *host)
{
	PLUGIN_Profiler_Destroy_Args args = { .struct_size = size(host, sizeof(args)), .profiler = host->profiler };

	host->profiler = NULL;
	return store_error(host, host->table->destroy(&args));
}

void pjrt_expect(const struct pjrt_host *host, const char *step, bool is_done)
{
	if (!is_done)
		conform_fail(host->conform, "%s returned an error: code %d: %s", step, host->code, host->message);
}

/* ---- runs ---- */

void pjrt_begin(const struct conform *conform, struct pjrt_host *host)
{
	pjrt_open(conform, host);
	pjrt_expect(host, "create", pjrt_create(host));
}

void pjrt_run(struct pjrt_host *host)
{
	pjrt_expect(host, "start of a usual run", pjrt_start(host));
	if (host->work && host->work(PJRT_WORK_COUNT) != 0)
		conform_skip(host->conform, "%s failed", host->conform->work_name);
	pjrt_expect(host, "stop of a usual run", pjrt_stop(host));
}

void pjrt_run_with_data(const struct conform *conform, struct pjrt_host *host)
{
	pjrt_begin(conform, host);
	pjrt_run(host);
	pjrt_expect(host, "collect_data", pjrt_collect(host));
	if (!host->data_bytes)
		conform_skip(conform, "the run has no data");
}

void pjrt_run_as_usual(struct pjrt_host *host)
{
	pjrt_expect(host, "create", pjrt_create(host));
	pjrt_run(host);
	pjrt_expect(host, "collect_data", pjrt_collect(host));
	pjrt_expect(host, "destroy", pjrt_destroy(host));
}
