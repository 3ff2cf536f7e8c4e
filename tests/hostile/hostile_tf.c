/* A plugin of TensorFlow's pluggable profiler for `epprof conform`.  The environment variable HOSTILE names a case: then
 * the plugin has the fault that this case finds, and no other.  Without it, it keeps the contract. */
#include "epprof/abi/tf.h"
#include "epprof/status.h"
#include "hostile_xspace.h"

/* These are NULL if the process has no TensorFlow. */
#pragma weak TF_SetStatus

EPP_EXPORT int epp_sample_work(int count);

static const TP_Profiler *registered;
static bool is_destroyed, was_stopped_alone;
static unsigned runs_count, starts_in_a_row, sizes_count, collected_count;
static pid_t started_by;

int epp_sample_work(int count)
{
	device_work(count);
	return 0;
}

static void fail_if(bool is_true, TF_Status *status, const char *message)
{
	if (is_true && TF_SetStatus)
		TF_SetStatus(status, TF_FAILED_PRECONDITION, message);
}

static void start(const TP_Profiler *profiler, TF_Status *status)
{
	hang_if(has("2.tf.start_twice") && device.is_running);
	crash_if(has("2.tf.destroyed") && is_destroyed);
	crash_if(has("5.tf.random") && ++starts_in_a_row == 3);
	fail_if(has("2.tf.copies") && profiler != registered, status, "unknown profiler");
	fail_if(has("2.tf.stop_alone") && was_stopped_alone, status, "broken by a stop");
	fail_if(!device_start(), status, "it runs already");
	started_by = gettid();
	runs_count++;
	sizes_count = collected_count = 0;
}

static void stop(const TP_Profiler *profiler, TF_Status *status)
{
	(void)profiler;
	crash_if(has("2.tf.stop_twice") && runs_count && !device.is_running);
	fail_if(has("3.tf.threads") && gettid() != started_by, status, "started by another thread");
	was_stopped_alone |= !runs_count;
	starts_in_a_row = 0;
	fail_if(!device_stop(), status, has("2.tf.message") ? "" : "it does not run");
}

static void collect(const TP_Profiler *profiler, uint8_t *buffer, size_t *size_in_bytes, TF_Status *status)
{
	(void)profiler, (void)status;
	crash_if(has("2.tf.collect_early") && !runs_count);
	crash_if(has("2.tf.collect_running") && device.is_running);
	crash_if(has("2.tf.collect_twice") && collected_count);
	if (!buffer && has("2.tf.size_input") && *size_in_bytes == SIZE_MAX)
		return;
	size_t bytes = device.is_running || (!buffer && has("2.tf.size_twice") && sizes_count++) ? 0
	                                                                                         : device_serialise(NULL);
	if (buffer && bytes && bytes <= *size_in_bytes) {
		device_serialise(buffer);
		collected_count++;
		if (has("2.tf.overrun") && device.events_count == 3)
			memset(buffer + bytes, 0, 8);
	}
	*size_in_bytes = bytes;
}

static void destroy_profiler(TP_Profiler *profiler)
{
	(void)profiler;
	is_destroyed = true;
}

static void destroy_profiler_fns(TP_ProfilerFns *fns)
{
	(void)fns;
}

void TF_InitProfiler(TF_ProfilerRegistrationParams *params, TF_Status *status)
{
	(void)status;
	crash_if(has("1.tf.newer_host") && params->minor_version != 0);
	params->struct_size = TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE;
	params->profiler->struct_size = TP_PROFILER_STRUCT_SIZE;
	params->profiler->device_type = "HOSTILE";
	if (has("1.tf.room"))
		memset((char *)params->profiler + TP_PROFILER_STRUCT_SIZE, 0, sizeof(void *));
	params->profiler_fns->struct_size = TP_PROFILER_FNS_STRUCT_SIZE;
	params->profiler_fns->start = start;
	params->profiler_fns->stop = stop;
	params->profiler_fns->collect_data_xspace = collect;
	params->destroy_profiler = destroy_profiler;
	params->destroy_profiler_fns = destroy_profiler_fns;
	registered = params->profiler;
}
