/* libepprof_pjrt.so: makes profiler plugins of any kind available in JAX's profiler.
 *
 *   PYTHONPATH=/usr/local/lib/epprof/python EPPROF_PROFILERS=./libone.so:./libtwo.so python ...
 *   jax.profiler.start_trace(logs), stop_trace()
 *
 * JAX loads it as a PJRT plugin that has only the profiler extension; jax_plugins/epprof registers it.  The plugins run
 * from start to stop (xspace_plugin_run.c).  Collecting returns the events that they recorded, in memory that the
 * profiler owns.  With EPPROF_OUTPUT the events are also in the trace that it names.
 *
 * JAX creates a profiler for each session and each registration, and starts and stops all of them.  If creating one
 * fails, it continues with uninitialized results.  Creating therefore never fails.  If several profilers are started at
 * the same time, the run belongs to the first one.  If start, stop or collect returned an error, JAX would lose the
 * profile, so problems are reported when the profiler is destroyed: JAX logs them. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bridges/shared/xspace_plugin_run.h"
#include "epprof/abi/pjrt.h"

#define CODE_RESOURCE_EXHAUSTED 8
#define CODE_FAILED_PRECONDITION 9
#define CODE_INTERNAL 13

struct PLUGIN_Profiler {
	bool is_on;             /* was started and not stopped yet */
	bool was_asked;         /* JAX has asked for the profile's size, so it may now pass a buffer */
	struct hosted_run *run; /* NULL: nothing is profiled, or the profile was created already */
	struct xspace_profile profile;
	struct hosted_problems problems;
};

struct PLUGIN_Profiler_Error {
	int code;
	char message[sizeof(((struct hosted_problems *)NULL)->text)];
};

/* Guards all static variables and profilers of this file; also held during all calls of hosted_* functions, which are
 * not thread-safe. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const PLUGIN_Profiler *first; /* the profiler to which the run belongs; NULL: none is started */

/* ---- errors ---- */

static PLUGIN_Profiler_Error no_memory = { CODE_RESOURCE_EXHAUSTED, "epprof: out of memory" };

static PLUGIN_Profiler_Error *error_make(int code, const char *message)
{
	PLUGIN_Profiler_Error *error = malloc(sizeof(*error));
	if (!error)
		return &no_memory;
	error->code = code;
	snprintf(error->message, sizeof(error->message), "%s", message);
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
	args->code = args->error->code;
	return NULL;
}

/* ---- the caller holds the lock ---- */

static void end(PLUGIN_Profiler *profiler)
{
	if (profiler->is_on)
		hosted_run_end(profiler->run, &profiler->problems);
	profiler->is_on = false;
	if (first == profiler)
		first = NULL;
}

static void make_profile(PLUGIN_Profiler *profiler)
{
	if (profiler->is_on || !profiler->run)
		return;
	hosted_run_profile(profiler->run, &profiler->profile, &profiler->problems);
	hosted_run_release(profiler->run);
	profiler->run = NULL;
}

/* ---- a profiler ---- */

static PLUGIN_Profiler no_room;

static PLUGIN_Profiler_Error *create(PLUGIN_Profiler_Create_Args *args)
{
	PLUGIN_Profiler *profiler = calloc(1, sizeof(*profiler));
	args->profiler = profiler ? profiler : &no_room;
	return NULL;
}

static PLUGIN_Profiler_Error *start(PLUGIN_Profiler_Start_Args *args)
{
	PLUGIN_Profiler *profiler = args->profiler;
	if (profiler == &no_room)
		return &no_memory;
	pthread_mutex_lock(&lock);
	if (!first) {
		hosted_run_release(profiler->run);
		free(profiler->profile.bytes);
		profiler->profile = (struct xspace_profile){ 0 };
		profiler->was_asked = false;
		profiler->is_on = true;
		first = profiler;
		profiler->run = hosted_run_start("JAX", &profiler->problems);
	} else if (first != profiler) {
		hosted_problems_add(
		    &profiler->problems,
		    epp_status_create(EPP_BUSY, "another profile of this process is active and receives all events"));
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

static PLUGIN_Profiler_Error *stop(PLUGIN_Profiler_Stop_Args *args)
{
	pthread_mutex_lock(&lock);
	end(args->profiler);
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* JAX does not initialise the size.  If the host passes a buffer, it must have got the size from an earlier call. */
static PLUGIN_Profiler_Error *collect_data(PLUGIN_Profiler_CollectData_Args *args)
{
	static uint8_t nothing;
	PLUGIN_Profiler *profiler = args->profiler;
	PLUGIN_Profiler_Error *error = NULL;
	pthread_mutex_lock(&lock);
	make_profile(profiler);
	size_t count = profiler->profile.count;
	if (!args->buffer)
		args->buffer = count ? profiler->profile.bytes : &nothing;
	else if (!profiler->was_asked)
		error = error_make(CODE_FAILED_PRECONDITION, "epprof: a buffer was passed before its size was requested");
	else if (count)
		memcpy(args->buffer, profiler->profile.bytes, count);
	args->buffer_size_in_bytes = error ? 0 : count;
	profiler->was_asked = true;
	pthread_mutex_unlock(&lock);
	return error;
}

static PLUGIN_Profiler_Error *destroy(PLUGIN_Profiler_Destroy_Args *args)
{
	PLUGIN_Profiler *profiler = args->profiler;
	if (!profiler || profiler == &no_room)
		return NULL;
	pthread_mutex_lock(&lock);
	end(profiler);
	hosted_run_release(profiler->run);
	pthread_mutex_unlock(&lock);
	PLUGIN_Profiler_Error *error = profiler->problems.used ? error_make(CODE_INTERNAL, profiler->problems.text) : NULL;
	free(profiler->profile.bytes);
	free(profiler);
	return error;
}

/* ---- the tables ---- */

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
