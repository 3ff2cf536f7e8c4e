/* Records the calls of a case in a trace: a host event for each call of an entry, with the returned status.  The
 * entries in an OrtEpProfilerImpl are replaced in place, because a plugin may find its own data by the object's
 * address.  In the other ABIs, the code in cases/tf, cases/pu1 and cases/pjrt records its own calls.  If a call ends
 * the process, its event in the trace is open.  The trace lacks this call if a session made it while it began or ended
 * an event. */
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "conform.h"
#include "epprof/profiler.h"
#include "epprof/record.h"
#include "epprof/session.h"
#include "epprof/track.h"

#define PROFILERS_MAX 64

static epp_session *trace;
/* The profilers whose entries were replaced.  A profiler is added here before another thread can call it. */
static struct traced {
	OrtEpProfilerImpl *profiler;
	OrtEpProfilerImpl own; /* copy of *profiler with the plugin's own function pointers */
} traced[PROFILERS_MAX];
static size_t traced_count;

/* Returns the plugin's entries of a profiler.  The newest element is searched first, because a new profiler can have
 * the address of a released one. */
static const OrtEpProfilerImpl *own_entries(const OrtEpProfilerImpl *profiler)
{
	size_t i = traced_count;

	while (traced[--i].profiler != profiler)
		continue;
	return &traced[i].own;
}

struct conform_call conform_trace_call(const char *entry)
{
	if (!trace)
		return (struct conform_call){ 0 };
	/* The id is 0 if the session calls the entry while it begins or ends an event, because no event can begin
	 * then. */
	return (struct conform_call){ entry, epp_event_begin_text(trace, EPP_API, entry), epp_host_ticks() };
}

/* Returns the track of the calling thread for calls whose event has no id; 0: it could not be created. */
static epp_track own_track(void)
{
	static __thread epp_track track;

	if (!track)
		epp_status_destroy(epp_track_create_thread(trace, (uint32_t)syscall(SYS_gettid), "", &track));
	return track;
}

void conform_trace_return(struct conform_call call, const char *status)
{
	epp_arg arg = { .type = EPP_ARG_TEXT, .value.text = status, .text_bytes = strlen(status) };

	if (!call.entry)
		return;
	arg.key = epp_name_intern("status");
	if (call.event)
		epp_event_end(trace, call.event, &arg, 1);
	else
		epp_event_record(trace, own_track(), EPP_API, epp_name_intern(call.entry), call.start_ticks,
		                 epp_host_ticks(), 0, &arg, 1);
}

static OrtStatus *end(struct conform_call call, OrtStatus *status)
{
	const OrtApi *api = epp_ort_api_base()->GetApi(EPPROF_ORT_API_VERSION);

	conform_trace_return(call, status ? api->GetErrorMessage(status) : "OK");
	return status;
}

static OrtStatus *start_profiling(OrtEpProfilerImpl *profiler, int64_t offset_ns)
{
	struct conform_call call = conform_trace_call("StartProfiling");
	return end(call, own_entries(profiler)->StartProfiling(profiler, offset_ns));
}

static OrtStatus *end_profiling(OrtEpProfilerImpl *profiler, OrtProfilingEventsContainer *container)
{
	struct conform_call call = conform_trace_call("EndProfiling");
	return end(call, own_entries(profiler)->EndProfiling(profiler, container));
}

static OrtStatus *start_event(OrtEpProfilerImpl *profiler, uint64_t id)
{
	struct conform_call call = conform_trace_call("StartEvent");
	return end(call, own_entries(profiler)->StartEvent(profiler, id));
}

static OrtStatus *stop_event(OrtEpProfilerImpl *profiler, uint64_t id, const OrtProfilingEvent *event)
{
	struct conform_call call = conform_trace_call("StopEvent");
	return end(call, own_entries(profiler)->StopEvent(profiler, id, event));
}

static void release(OrtEpProfilerImpl *profiler)
{
	struct conform_call call = conform_trace_call("Release");
	own_entries(profiler)->Release(profiler);
	end(call, NULL);
}

void conform_trace_begin(const struct conform *conform)
{
	const epp_session_options options = { .struct_size = sizeof(options),
		                              .path = conform->trace_path,
		                              .label = conform->about->name,
		                              .lossless = 1,
		                              .overwrite = 1 };

	if (!conform->trace_path)
		return;
	epp_status *status = epp_session_create(&options, &trace);
	if (!status)
		status = epp_session_start(trace);
	if (status)
		conform_skip(conform, "no trace: %s", epp_status_message(status));
}

void conform_trace_end(void)
{
	if (trace)
		epp_session_destroy(trace);
	trace = NULL;
}

void conform_trace_profiler(OrtEpProfilerImpl *profiler)
{
	if (!trace || traced_count == PROFILERS_MAX)
		return;
	traced[traced_count++] = (struct traced){ profiler, *profiler };
	profiler->Release = release;
	profiler->StartProfiling = start_profiling;
	profiler->EndProfiling = end_profiling;
	if (profiler->StartEvent)
		profiler->StartEvent = start_event;
	if (profiler->StopEvent)
		profiler->StopEvent = stop_event;
}
