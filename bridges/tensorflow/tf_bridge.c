/* libepprof_tf.so: makes profiler plugins of any kind available in TensorFlow's profiler.
 *
 *   TF_PLUGGABLE_DEVICE_LIBRARY_PATH=libepprof_tf.so EPPROF_PROFILERS=./libone.so:./libtwo.so python ...
 *   tf.profiler.experimental.start(logs), stop()
 *
 * TensorFlow loads it as the library of a pluggable device that has only a profiler.  The plugins run from start to
 * stop (xspace_plugin_run.c); collecting returns the events that they recorded, once.  With EPPROF_OUTPUT the events
 * are also in the trace that it names.
 *
 * If the library is loaded twice, TensorFlow registers it twice.  It ends the process if registering fails, and calls
 * destroy_* immediately after registration and never again.  Registering therefore does almost nothing, and destroying
 * does nothing.  All registrations share one state.  A second start or stop does nothing, and a second collect returns
 * no data.  If start failed, TensorFlow would lose the profile, so problems are reported by the last call of a collect,
 * and TensorFlow logs them. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bridges/shared/xspace_plugin_run.h"
#include "epprof/abi/tf.h"

/* TensorFlow defines this function; a host that is not TensorFlow may lack it, and it is then NULL. */
#pragma weak TF_SetStatus

static struct {
	pthread_mutex_t lock;
	bool is_on;
	struct hosted_run *run;        /* NULL: nothing is profiled, or the profile was created already */
	struct xspace_profile profile; /* the profile, until TensorFlow has collected it or starts the next run */
	struct hosted_problems problems;
} bridge = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void status_set(TF_Status *status, TF_Code code, const char *message)
{
	if (TF_SetStatus && status)
		TF_SetStatus(status, code, message);
}

/* ---- the caller holds the lock ---- */

/* Releases a run and its profile, even if TensorFlow has not collected them. */
static void release_run(void)
{
	hosted_run_release(bridge.run);
	free(bridge.profile.bytes);
	bridge.run = NULL;
	bridge.profile = (struct xspace_profile){ 0 };
}

static void report_problems(TF_Status *status)
{
	if (bridge.problems.used)
		status_set(status, TF_INTERNAL, bridge.problems.text);
	bridge.problems = (struct hosted_problems){ 0 };
}

/* Called twice by TensorFlow.  The first call asks for the size, which TensorFlow does not initialise.  The second call
 * provides a buffer of this size; if it fails, TensorFlow still has the profile. */
static void collect_locked(uint8_t *buffer, size_t *size_in_bytes, TF_Status *status)
{
	if (bridge.run && !bridge.is_on) {
		hosted_run_profile(bridge.run, &bridge.profile, &bridge.problems);
		hosted_run_release(bridge.run);
		bridge.run = NULL;
	}
	size_t count = bridge.profile.count;
	if (buffer && *size_in_bytes < count) {
		status_set(status, TF_OUT_OF_RANGE, "epprof: the buffer is too small");
		return;
	}
	*size_in_bytes = count;
	if (count && !buffer)
		return;
	if (count)
		memcpy(buffer, bridge.profile.bytes, count);
	if (!bridge.is_on) {
		release_run();
		report_problems(status);
	}
}

/* ---- TP_ProfilerFns ---- */

static void start(const TP_Profiler *profiler, TF_Status *status)
{
	(void)profiler, (void)status;
	pthread_mutex_lock(&bridge.lock);
	if (!bridge.is_on) {
		release_run();
		bridge.is_on = true;
		bridge.run = hosted_run_start("TensorFlow", &bridge.problems);
	}
	pthread_mutex_unlock(&bridge.lock);
}

static void stop(const TP_Profiler *profiler, TF_Status *status)
{
	(void)profiler, (void)status;
	pthread_mutex_lock(&bridge.lock);
	if (bridge.is_on)
		hosted_run_end(bridge.run, &bridge.problems);
	bridge.is_on = false;
	pthread_mutex_unlock(&bridge.lock);
}

static void collect(const TP_Profiler *profiler, uint8_t *buffer, size_t *size_in_bytes, TF_Status *status)
{
	(void)profiler;
	if (!size_in_bytes)
		return;
	pthread_mutex_lock(&bridge.lock);
	collect_locked(buffer, size_in_bytes, status);
	pthread_mutex_unlock(&bridge.lock);
}

static void destroy_profiler(TP_Profiler *profiler)
{
	(void)profiler;
}

static void destroy_profiler_fns(TP_ProfilerFns *fns)
{
	(void)fns;
}

/* ---- registration ---- */

/* Returns true if no struct is smaller than in the only version of the ABI. */
static bool has_known_sizes(const TF_ProfilerRegistrationParams *params)
{
	return params && params->struct_size >= TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE && params->profiler &&
	       params->profiler->struct_size >= TP_PROFILER_STRUCT_SIZE && params->profiler_fns &&
	       params->profiler_fns->struct_size >= TP_PROFILER_FNS_STRUCT_SIZE;
}

void TF_InitProfiler(TF_ProfilerRegistrationParams *params, TF_Status *status)
{
	if (!has_known_sizes(params)) {
		status_set(status, TF_FAILED_PRECONDITION,
		           "epprof: TensorFlow's pluggable profiler 0.0.1 or later is needed");
		return;
	}
	params->struct_size = TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE;
	params->profiler->struct_size = TP_PROFILER_STRUCT_SIZE;
	params->profiler->device_type = "EPPROF";
	params->profiler_fns->struct_size = TP_PROFILER_FNS_STRUCT_SIZE;
	params->profiler_fns->start = start;
	params->profiler_fns->stop = stop;
	params->profiler_fns->collect_data_xspace = collect;
	params->destroy_profiler = destroy_profiler;
	params->destroy_profiler_fns = destroy_profiler_fns;
}
