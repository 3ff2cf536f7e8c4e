/* A plugin of TensorFlow's pluggable profiler (epprof/abi/tf.h) around the software accelerator: one library for
 * TensorFlow and for every epprof host.  It links neither of them.  If the process has TF_SetStatus, it is called to
 * report errors.
 *
 * TensorFlow calls destroy_* twice at registration and never at exit, so destroy_* do nothing.  A failure in
 * TF_InitProfiler would end the process, so it never fails. */
#include "accelerator_profile.h"
#include "epprof/abi/tf.h"
#include "work.h"

/* These are NULL if the process has no TensorFlow. */
#pragma weak TF_SetStatus

static void status_set(TF_Status *status, TF_Code code, const char *message)
{
	if (TF_SetStatus && message)
		TF_SetStatus(status, code, message);
}

int epp_sample_work(int count)
{
	return accelerator_profile_work(count);
}

static void start(const TP_Profiler *profiler, TF_Status *status)
{
	(void)profiler;
	status_set(status, TF_FAILED_PRECONDITION, accelerator_profile_start());
}

static void stop(const TP_Profiler *profiler, TF_Status *status)
{
	(void)profiler;
	status_set(status, TF_FAILED_PRECONDITION, accelerator_profile_stop());
}

/* Called twice.  The first call has no buffer and returns the size, which TensorFlow does not initialise; the second
 * has a buffer of this size. */
static void collect(size_t (*serialise)(uint8_t *, size_t), uint8_t *buffer, size_t *size_in_bytes, TF_Status *status)
{
	size_t room = buffer ? *size_in_bytes : 0;
	size_t bytes = serialise(buffer, room);
	if (buffer && bytes > room)
		status_set(status, TF_OUT_OF_RANGE, "the buffer is too small");
	else
		*size_in_bytes = bytes;
}

static void collect_xspace(const TP_Profiler *profiler, uint8_t *buffer, size_t *size_in_bytes, TF_Status *status)
{
	(void)profiler;
	collect(accelerator_profile_xspace, buffer, size_in_bytes, status);
}

static void destroy_profiler(TP_Profiler *profiler)
{
	(void)profiler;
}

static void destroy_profiler_fns(TP_ProfilerFns *fns)
{
	(void)fns;
}

#ifdef TF_EP_FIRST_REVISION

static void collect_run_metadata(const TP_Profiler *profiler, uint8_t *buffer, size_t *size_in_bytes, TF_Status *status)
{
	(void)profiler;
	collect(accelerator_profile_run_metadata, buffer, size_in_bytes, status);
}

static void fns_fill(TP_ProfilerFns *accepted)
{
	EpprofTfFirstFns *fns = (EpprofTfFirstFns *)accepted;
	fns->struct_size = sizeof(*fns);
	fns->start = start;
	fns->stop = stop;
	fns->collect_data_run_metadata = collect_run_metadata;
	fns->collect_data_xspace = collect_xspace;
}

#else

static void fns_fill(TP_ProfilerFns *fns)
{
	fns->struct_size = TP_PROFILER_FNS_STRUCT_SIZE;
	fns->start = start;
	fns->stop = stop;
	fns->collect_data_xspace = collect_xspace;
}

#endif

void TF_InitProfiler(TF_ProfilerRegistrationParams *params, TF_Status *status)
{
	(void)status;
	params->struct_size = TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE;
	params->profiler->struct_size = TP_PROFILER_STRUCT_SIZE;
	params->profiler->device_type = "ACCELERATOR";
	fns_fill(params->profiler_fns);
	params->destroy_profiler = destroy_profiler;
	params->destroy_profiler_fns = destroy_profiler_fns;
}
