/* A plugin of PJRT's profiler extension (epprof/pjrt.h) around the software accelerator: for JAX and for every epprof host.
 * It is no device of PJRT's: of the API's table only the way to the extension is filled, which is all that profiling needs.
 *
 * The table says 80 bytes, which hosts of before July 2026 demand exactly.  Creating never fails, because a host of that
 * time uses what it did not get; starting says what is wrong.  The profile is handed out in memory of our own.
 */
#include <stdlib.h>
#include <string.h>

#include "accelerator_profile.h"
#include "epprof/pjrt.h"
#include "work.h"

struct PLUGIN_Profiler {
	uint8_t *bytes; /* what was collected */
};

struct PLUGIN_Profiler_Error {
	const char *message; /* static */
};

#define CODE_FAILED_PRECONDITION 9

int epp_sample_work(int count)
{
	return accelerator_profile_work(count);
}

/* ---- errors ---- */

static PLUGIN_Profiler_Error no_memory = { "out of memory" };

static PLUGIN_Profiler_Error *error_make(const char *message)
{
	if (!message)
		return NULL;
	PLUGIN_Profiler_Error *error = malloc(sizeof(*error));
	if (!error)
		return &no_memory;
	error->message = message;
	return error;
}

static void error_destroy(PLUGIN_Profiler_Error_Destroy_Args *args)
{
	if (args->error != &no_memory)
		free(args->error);
}

static void error_message(PLUGIN_Profiler_Error_Message_Args *args)
{
	args->message = args->error->message;
	args->message_size = strlen(args->message);
}

static PLUGIN_Profiler_Error *error_get_code(PLUGIN_Profiler_Error_GetCode_Args *args)
{
	args->code = CODE_FAILED_PRECONDITION;
	return NULL;
}

/* ---- the profiler ---- */

static PLUGIN_Profiler_Error *create(PLUGIN_Profiler_Create_Args *args)
{
	args->profiler = calloc(1, sizeof(*args->profiler));
	return args->profiler ? NULL : &no_memory;
}

static PLUGIN_Profiler_Error *destroy(PLUGIN_Profiler_Destroy_Args *args)
{
	if (args->profiler)
		free(args->profiler->bytes);
	free(args->profiler);
	return NULL;
}

static PLUGIN_Profiler_Error *start(PLUGIN_Profiler_Start_Args *args)
{
	(void)args;
	return error_make(accelerator_profile_start());
}

static PLUGIN_Profiler_Error *stop(PLUGIN_Profiler_Stop_Args *args)
{
	(void)args;
	return error_make(accelerator_profile_stop());
}

/* Hosts leave garbage in the size; a buffer that they bring is theirs to size by an earlier call. */
static PLUGIN_Profiler_Error *collect_data(PLUGIN_Profiler_CollectData_Args *args)
{
	size_t bytes = accelerator_profile_xspace(NULL, 0);
	if (args->buffer) {
		accelerator_profile_xspace(args->buffer, bytes);
		args->buffer_size_in_bytes = bytes;
		return NULL;
	}
	free(args->profiler->bytes);
	args->profiler->bytes = malloc(bytes ? bytes : 1);
	args->buffer_size_in_bytes = args->profiler->bytes ? bytes : 0;
	args->buffer = args->profiler->bytes;
	if (!args->buffer)
		return &no_memory;
	accelerator_profile_xspace(args->buffer, bytes);
	return NULL;
}

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
	return &api.api;
}
