/* A plugin of PJRT's profiler extension (epprof/abi/pjrt.h) around the software accelerator, for JAX and for every
 * epprof host. It is no PJRT device: its API table has only the pointer to the extension, which is all that profiling
 * needs.
 *
 * The extension's table has a size of 80 bytes, which hosts of before July 2026 require exactly.  Create never fails,
 * because these hosts use the profiler even after a failure; Start reports the error instead.  The host gets the
 * profile in memory of the plugin. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "accelerator_profile.h"
#include "epprof/abi/pjrt.h"
#include "work.h"

struct PLUGIN_Profiler {
	bool is_running;
	uint8_t *bytes; /* the collected profile of the last run; NULL: none yet */
};

struct PLUGIN_Profiler_Error {
	const char *message; /* a static text */
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
	if (args->profiler && args->profiler->is_running)
		accelerator_profile_stop();
	if (args->profiler)
		free(args->profiler->bytes);
	free(args->profiler);
	return NULL;
}

static PLUGIN_Profiler_Error *start(PLUGIN_Profiler_Start_Args *args)
{
	const char *error = accelerator_profile_start();
	if (error)
		return error_make(error);
	args->profiler->is_running = true;
	free(args->profiler->bytes);
	args->profiler->bytes = NULL;
	return NULL;
}

static PLUGIN_Profiler_Error *stop(PLUGIN_Profiler_Stop_Args *args)
{
	const char *error = args->profiler->is_running ? accelerator_profile_stop() : "the profiler does not run";
	args->profiler->is_running = false;
	return error_make(error);
}

/* Returns the profile.  The host need not initialise the size.  If the host passes a buffer, its size is the one that
 * an earlier call returned.  Memory of the plugin stays valid until the profiler is destroyed or started again. */
static PLUGIN_Profiler_Error *collect_data(PLUGIN_Profiler_CollectData_Args *args)
{
	static uint8_t nothing[1];
	size_t bytes = accelerator_profile_xspace(NULL, 0);
	if (args->buffer) {
		accelerator_profile_xspace(args->buffer, bytes);
		args->buffer_size_in_bytes = bytes;
		return NULL;
	}
	bool is_collected = args->profiler->bytes != NULL;
	if (bytes && !is_collected)
		args->profiler->bytes = malloc(bytes);
	args->buffer_size_in_bytes = bytes && !args->profiler->bytes ? 0 : bytes;
	args->buffer = args->profiler->bytes ? args->profiler->bytes : nothing;
	if (bytes && !args->profiler->bytes)
		return &no_memory;
	if (bytes && !is_collected)
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
