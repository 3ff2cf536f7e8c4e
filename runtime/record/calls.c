/* Calls into profilers, and what becomes of their statuses. */
#include "record/calls.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/ort_event.h"
#include "base/ort_status.h"
#include "file/format_slot.h"
#include "record/handover.h"
#include "record/profilers.h"
#include "record/session.h"

#define CALLBACK_POLL_NS 100000

/* Counts a status; the first of a profiler in a run is kept as the run's error. */
static void take_status(struct session *session, uint32_t producer, const char *step, OrtStatus *status)
{
	struct session_profiler *of = &session->profilers[producer];
	ADD_RELAXED(&session->window.producers[producer].errors, 1);
	if (!__atomic_exchange_n(&of->reported, true, __ATOMIC_RELAXED))
		session_fail(session, EPP_BLAME_PLUGIN,
		             epp_status_create(EPP_PLUGIN, "%s: %s: %s", of->label, step, ort_status_message(status)));
	ort_status_release(status);
}

uint64_t calls_start_event(struct recorder *recorder, uint64_t id)
{
	const struct profiler_calls *calls = recorder_hot.calls;
	uintptr_t handle = recorder_enter_callback(recorder);
	for (const struct profiler_call *call = calls->start; call->profiler; call++) {
		OrtStatus *status = call->profiler->StartEvent(call->profiler, id);
		if (__builtin_expect(status != NULL, 0))
			take_status(recorder->session, call->producer, "StartEvent", status);
	}
	recorder_leave_callback(recorder, handle);
	return id;
}

void calls_stop_event(struct recorder *recorder, const struct epf_open *open, uint64_t end_ticks, uint64_t tail,
                      const epp_arg *args, size_t args_count)
{
	const struct profiler_calls *calls = recorder_hot.calls;
	uint64_t id = open->id;
	OrtProfilingEvent event;
	event.category = (int32_t)EPF_BITS_CATEGORY(EPF_TAIL_BITS(tail));
	event.args_count = (uint32_t)args_count;
	event.name = NULL;
	event.name_number = epf_tail_name(tail);
	event.host_args = args;
	event.start_ticks = open->start_ticks;
	event.end_ticks = end_ticks;
	event.base_ticks = calls->base_ticks;
	event.borrowed = 1;
	uintptr_t handle = recorder_enter_callback(recorder);
	for (const struct profiler_call *call = calls->stop; call->profiler; call++) {
		OrtStatus *status = call->profiler->StopEvent(call->profiler, id, &event);
		if (__builtin_expect(status != NULL, 0))
			take_status(recorder->session, call->producer, "StopEvent", status);
	}
	recorder_leave_callback(recorder, handle);
}

bool calls_prepare(struct session *session, uint64_t base_ticks)
{
	free(session->calls);
	session->calls = NULL;
	struct profiler_calls *calls = calloc(1, sizeof(*calls));
	if (!calls)
		return false;
	calls->base_ticks = base_ticks;
	uint32_t start_count = 0, stop_count = 0;
	for (uint32_t i = 0; i < LOAD_ACQUIRE(&session->profilers_count); i++) {
		OrtEpProfilerImpl *profiler = session->profilers[i].profiler;
		if (!profilers_drives(&session->profilers[i]))
			continue;
		if (profiler->StartEvent)
			calls->start[start_count++] = (struct profiler_call){ profiler, i };
		if (profiler->StopEvent)
			calls->stop[stop_count++] = (struct profiler_call){ profiler, i };
	}
	if (start_count || stop_count)
		session->calls = calls;
	else
		free(calls);
	return true;
}

void calls_start_profiling(struct session *session)
{
	for (uint32_t i = 0; i < LOAD_ACQUIRE(&session->profilers_count); i++) {
		struct session_profiler *of = &session->profilers[i];
		if (!profilers_drives(of))
			continue;
		of->reported = false;
		handover_begin_run(of);
		of->before_ticks = clock_ticks();
		of->offset_ns = (int64_t)clock_ticks_to_ns(of->before_ticks - session->window.live->run_start.ticks);
		OrtStatus *status = of->profiler->StartProfiling(of->profiler, of->offset_ns);
		of->after_ticks = clock_ticks();
		if (status)
			take_status(session, i, "StartProfiling", status);
	}
}

/* A callback that was running when the run ended may still use the profiler. */
static void wait_for_callbacks(struct session *session)
{
	for (;;) {
		bool inside = false;
		struct recorder *recorder;
		pthread_mutex_lock(&session->lock);
		LIST_FOREACH(recorder, &session->recorders, session_link)
			inside |= !recorder->owner_gone && LOAD_ACQUIRE(&recorder->in_callback);
		pthread_mutex_unlock(&session->lock);
		if (!inside)
			return;
		nanosleep(&(struct timespec){ .tv_nsec = CALLBACK_POLL_NS }, NULL);
	}
}

struct container {
	OrtProfilingEventsContainer base;
	struct session_profiler *of;
	uint64_t run_us;
};

static OrtStatus *container_add(OrtProfilingEventsContainer *self, const OrtProfilingEvent *const *events, size_t count)
{
	const struct container *container = self->user;
	if (!events && count)
		return ort_status_create(ORT_INVALID_ARGUMENT, "ProfilingEventsContainer_AddEvents: events is NULL");
	for (size_t i = 0; i < count; i++)
		handover_add(container->of, events[i], container->run_us);
	return NULL;
}

void calls_end_profiling(struct session *session)
{
	wait_for_callbacks(session);
	if (profilers_any_driven(session))
		handover_allow_waiting(session);
	for (uint32_t i = 0; i < LOAD_ACQUIRE(&session->profilers_count); i++) {
		struct session_profiler *of = &session->profilers[i];
		if (!profilers_drives(of))
			continue;
		STORE_RELAXED(&session->asking, i);
		uint64_t run_ticks = clock_ticks() - session->window.live->run_start.ticks;
		struct container container = { .base.add = container_add,
			                       .of = of,
			                       .run_us = clock_ticks_to_ns(run_ticks) / 1000 + 1 };
		container.base.user = &container;
		OrtStatus *status = of->profiler->EndProfiling(of->profiler, &container.base);
		if (status)
			take_status(session, i, "EndProfiling", status);
	}
}

void calls_blame_hanging(struct session *session)
{
	uint32_t producer = LOAD_RELAXED(&session->asking);
	struct session_profiler *of = &session->profilers[producer];
	ADD_RELAXED(&session->window.producers[producer].errors, 1);
	session_fail(session, EPP_BLAME_PLUGIN,
	             epp_status_create(EPP_TIMEOUT, "%s: EndProfiling has not returned after %llu ms", of->label,
	                               (unsigned long long)(session->release_timeout_ns / 1000000)));
}
