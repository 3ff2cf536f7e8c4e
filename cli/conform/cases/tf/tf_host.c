/* Calls the functions of TensorFlow's pluggable profilers for the cases, as TensorFlow does; see tf_host.h. */
#include "tf_host.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define GUARD 0xA5

/* Finds a function as the dynamic linker resolves the plugin's own references: first in the process, then in the
 * library and its dependencies. */
static void *status_function(void *library, const char *name)
{
	void *function = dlsym(RTLD_DEFAULT, name);

	return function ? function : dlsym(library, name);
}

static void statuses_find(struct tf_host *host, void *library)
{
	/* Memory in the place of a TF_Status.  It is used if the process lacks these functions, so that no code can
	 * read or write a real status. */
	static uint64_t nothing[8];

	*(void **)&host->statuses.create = status_function(library, "TF_NewStatus");
	*(void **)&host->statuses.set = status_function(library, "TF_SetStatus");
	*(void **)&host->statuses.code = status_function(library, "TF_GetCode");
	*(void **)&host->statuses.message = status_function(library, "TF_Message");
	if (!host->statuses.create || !host->statuses.set || !host->statuses.code || !host->statuses.message)
		memset(&host->statuses, 0, sizeof(host->statuses));
	host->status = host->statuses.create ? host->statuses.create() : (TF_Status *)(void *)nothing;
}

void tf_open(const struct conform *conform, struct tf_host *host)
{
	void *library = conform_open(conform, "TF_InitProfiler");

	*host = (struct tf_host){ .conform = conform };
	*(void **)&host->init = dlsym(library, "TF_InitProfiler");
	statuses_find(host, library);
	if (conform->work_name)
		host->work = conform_open_work(conform, library);
	memset(host->params_guard, GUARD, sizeof(host->params_guard));
	memset(host->profiler_guard, GUARD, sizeof(host->profiler_guard));
	memset(host->fns_guard, GUARD, sizeof(host->fns_guard));
	host->profiler.struct_size = TP_PROFILER_STRUCT_SIZE;
	host->fns.struct_size = TP_PROFILER_FNS_STRUCT_SIZE;
	host->params = (TF_ProfilerRegistrationParams){
		.struct_size = TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE,
		.major_version = TP_MAJOR,
		.minor_version = TP_MINOR,
		.patch_version = TP_PATCH,
		.profiler = &host->profiler,
		.profiler_fns = &host->fns,
	};
}

size_t tf_guard_check(const uint8_t guard[TF_GUARD_BYTES])
{
	size_t count = 0;

	for (size_t i = 0; i < TF_GUARD_BYTES; i++)
		count += guard[i] != GUARD;
	return count;
}

/* ---- calls ---- */

static struct conform_call begin(struct tf_host *host, const char *entry)
{
	if (host->statuses.set)
		host->statuses.set(host->status, TF_OK, "");
	return conform_trace_call(entry);
}

static bool end(struct tf_host *host, struct conform_call call)
{
	TF_Code code = host->statuses.code ? host->statuses.code(host->status) : TF_OK;
	const char *message = code == TF_OK ? NULL : host->statuses.message(host->status);

	conform_trace_return(call, code == TF_OK ? "OK" : message && *message ? message : "error");
	if (code == TF_OK)
		return true;
	snprintf(host->message, sizeof(host->message), "%s", message ? message : "");
	return false;
}

bool tf_init(struct tf_host *host)
{
	struct conform_call call = begin(host, "TF_InitProfiler");

	host->init(&host->params, host->status);
	return end(host, call);
}

void tf_destroy(const struct tf_host *host, TP_Profiler *profiler, TP_ProfilerFns *fns)
{
	if (host->params.destroy_profiler) {
		struct conform_call call = conform_trace_call("destroy_profiler");
		host->params.destroy_profiler(profiler);
		conform_trace_return(call, "OK");
	}
	if (host->params.destroy_profiler_fns) {
		struct conform_call call = conform_trace_call("destroy_profiler_fns");
		host->params.destroy_profiler_fns(fns);
		conform_trace_return(call, "OK");
	}
}

void tf_register(const struct conform *conform, struct tf_host *host)
{
	tf_open(conform, host);
	if (!tf_init(host))
		conform_skip(conform, "TF_InitProfiler failed, see 1.load.library: %s", host->message);
	if (host->fns.struct_size > TP_PROFILER_FNS_STRUCT_SIZE)
		conform_skip(conform, "its TP_ProfilerFns is of another revision, with %zu bytes", host->fns.struct_size);
	if (!host->fns.start || !host->fns.stop || !host->fns.collect_data_xspace)
		conform_skip(conform, "an entry is NULL, see 1.load.library");
}

bool tf_start(struct tf_host *host)
{
	struct conform_call call = begin(host, "start");

	host->fns.start(&host->profiler, host->status);
	return end(host, call);
}

bool tf_stop(struct tf_host *host)
{
	struct conform_call call = begin(host, "stop");

	host->fns.stop(&host->profiler, host->status);
	return end(host, call);
}

bool tf_collect(struct tf_host *host, uint8_t *buffer, size_t *bytes)
{
	struct conform_call call = begin(host, "collect_data_xspace");

	host->fns.collect_data_xspace(&host->profiler, buffer, bytes, host->status);
	return end(host, call);
}

void tf_expect(const struct tf_host *host, const char *step, bool is_done)
{
	if (!is_done)
		conform_fail(host->conform, "%s returned an error: %s", step, host->message);
}

/* ---- runs ---- */

void tf_run(struct tf_host *host)
{
	tf_expect(host, "start of a usual run", tf_start(host));
	if (host->work && host->work(TF_WORK_COUNT) != 0)
		conform_skip(host->conform, "%s failed", host->conform->work_name);
	tf_expect(host, "stop of a usual run", tf_stop(host));
}

size_t tf_run_as_usual(struct tf_host *host)
{
	size_t bytes = 0;

	tf_run(host);
	tf_expect(host, "collect_data_xspace for the size", tf_collect(host, NULL, &bytes));
	/* The buffer is zeroed and larger than requested, as the one that libepprof provides. */
	uint8_t *buffer = calloc(1, bytes + 65536);
	if (!buffer)
		conform_skip(host->conform, "no memory for %zu bytes of data", bytes);
	if (bytes)
		tf_expect(host, "collect_data_xspace for the data", tf_collect(host, buffer, &bytes));
	free(buffer);
	return bytes;
}
