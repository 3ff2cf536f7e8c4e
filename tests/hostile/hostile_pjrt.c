/* A plugin of PJRT's profiler extension for `epprof conform`.  The environment variable HOSTILE names a case: then the
 * plugin has the fault that this case finds, and no other.  Without it, it keeps the contract. */
#include "epprof/abi/pjrt.h"
#include "epprof/status.h"
#include "hostile_xspace.h"

struct PLUGIN_Profiler {
	uint8_t *bytes; /* the data of the last run */
	bool was_started, was_stopped;
	bool is_untouched; /* it has usual options, and no call yet */
	unsigned collected_count;
	pid_t started_by;
};

struct PLUGIN_Profiler_Error {
	const char *message;
};

EPP_EXPORT int epp_sample_work(int count);

static PLUGIN_Profiler *running; /* NULL: none */
static bool was_stopped_alone;
static unsigned starts_count;

int epp_sample_work(int count)
{
	device_work(count);
	return 0;
}

/* ---- errors ---- */

static PLUGIN_Profiler_Error *error_if(bool is_true, const char *message)
{
	PLUGIN_Profiler_Error *error = is_true ? malloc(sizeof(*error)) : NULL;

	if (error)
		error->message = message;
	return error;
}

static void error_destroy(PLUGIN_Profiler_Error_Destroy_Args *args)
{
	crash_if(has("2.pjrt.destroy_null") && !args->error);
	free(args->error);
}

static void error_message(PLUGIN_Profiler_Error_Message_Args *args)
{
	args->message = has("2.pjrt.message") ? NULL : args->error->message;
	args->message_size = args->message ? strlen(args->message) : 0;
}

static PLUGIN_Profiler_Error *error_get_code(PLUGIN_Profiler_Error_GetCode_Args *args)
{
	args->code = has("2.pjrt.code") ? 0 : 9;
	return NULL;
}

/* ---- the profiler ---- */

static PLUGIN_Profiler_Error *create(PLUGIN_Profiler_Create_Args *args)
{
	crash_if(has("2.pjrt.options") && !args->options);
	crash_if(has("3.pjrt.two") && running);
	if (has("2.pjrt.old_host") && args->struct_size == 0)
		return error_if(true, "no size");
	args->profiler = calloc(1, sizeof(*args->profiler));
	if (args->profiler)
		args->profiler->is_untouched = args->options && args->options_size == 0;
	return error_if(!args->profiler, "no memory");
}

static PLUGIN_Profiler_Error *destroy(PLUGIN_Profiler_Destroy_Args *args)
{
	PLUGIN_Profiler *profiler = args->profiler;

	crash_if(has("2.pjrt.never_started") && profiler->is_untouched);
	crash_if(has("2.pjrt.destroy_running") && running == profiler);
	if (running == profiler) {
		running = NULL;
		device_stop();
	}
	free(profiler->bytes);
	free(profiler);
	return NULL;
}

static PLUGIN_Profiler_Error *start(PLUGIN_Profiler_Start_Args *args)
{
	PLUGIN_Profiler *profiler = args->profiler;

	profiler->is_untouched = false;
	hang_if(has("2.pjrt.start_twice") && running == profiler);
	crash_if(has("5.pjrt.random") && ++starts_count >= 20);
	if (running || (has("2.pjrt.stop_alone") && was_stopped_alone))
		return error_if(true, "it runs already");
	running = profiler;
	profiler->was_started = true;
	profiler->collected_count = 0;
	profiler->was_stopped = false;
	profiler->started_by = gettid();
	starts_count++;
	free(profiler->bytes);
	profiler->bytes = NULL;
	device_start();
	return NULL;
}

static PLUGIN_Profiler_Error *stop(PLUGIN_Profiler_Stop_Args *args)
{
	PLUGIN_Profiler *profiler = args->profiler;

	profiler->is_untouched = false;
	crash_if(has("2.pjrt.stop_twice") && profiler->was_stopped);
	was_stopped_alone |= !profiler->was_started;
	if (running != profiler)
		return error_if(true, "it does not run");
	if (has("3.pjrt.threads") && gettid() != profiler->started_by)
		return error_if(true, "started by another thread");
	running = NULL;
	profiler->was_stopped = true;
	device_stop();
	profiler->bytes = malloc(device_serialise(NULL) + 1);
	if (!profiler->bytes)
		return error_if(true, "no memory");
	device_serialise(profiler->bytes);
	return NULL;
}

static PLUGIN_Profiler_Error *collect_data(PLUGIN_Profiler_CollectData_Args *args)
{
	PLUGIN_Profiler *profiler = args->profiler;

	profiler->is_untouched = false;
	crash_if(has("2.pjrt.collect_early") && !profiler->was_started);
	crash_if(has("2.pjrt.collect_running") && running == profiler);
	args->buffer_size_in_bytes = profiler->bytes ? device_serialise(NULL) : 0;
	if (args->buffer && profiler->bytes) {
		memcpy(args->buffer, profiler->bytes, args->buffer_size_in_bytes);
		if (has("2.pjrt.overrun") && device.events_count == 3)
			memset(args->buffer + args->buffer_size_in_bytes, 0, 8);
		return NULL;
	}
	if (has("2.pjrt.own_memory"))
		return NULL;
	crash_if(has("2.pjrt.collect_twice") && args->buffer_size_in_bytes && profiler->collected_count++);
	args->buffer = profiler->bytes;
	return NULL;
}

static PLUGIN_Profiler_Error *consume(PLUGIN_Profiler_Consume_Args *args)
{
	args->result = NULL;
	return NULL;
}

/* ---- the table ---- */

static PLUGIN_Profiler_Api profiler_api = {
	.struct_size = EPPROF_PJRT_TABLE_BYTES,
	.error_destroy = error_destroy,
	.error_message = error_message,
	.error_get_code = error_get_code,
	.create = create,
	.destroy = destroy,
	.start = start,
	.stop = stop,
	.collect_data = collect_data,
};

static PJRT_Profiler_Extension extension = {
	.base = { .struct_size = sizeof(PJRT_Profiler_Extension), .type = PJRT_Extension_Type_Profiler },
	.profiler_api = &profiler_api,
};

static EpprofPjrtApi api = { .api = { .struct_size = sizeof(api), .extension_start = &extension.base } };

const PJRT_Api *GetPjrtApi(void)
{
	static EpprofPjrtApi other;
	static unsigned calls_count;

	if (has("1.pjrt.chain"))
		extension.base.next = &extension.base;
	if (has("1.pjrt.table_size"))
		profiler_api.struct_size = EPPROF_PJRT_TABLE_BYTES + sizeof(void *);
	if (has("1.pjrt.consume")) {
		profiler_api.struct_size = EPPROF_PJRT_CONSUME_TABLE_BYTES;
		profiler_api.consume = consume;
	}
	if (has("1.pjrt.same") && ++calls_count == 2) {
		other = api;
		return &other.api;
	}
	return &api.api;
}
