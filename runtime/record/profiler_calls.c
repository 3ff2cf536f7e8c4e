/* Calls into profilers, and the handling of their statuses and timeouts. */
#include "record/profiler_calls.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/gate.h"
#include "base/thread.h"
#include "format/format_slot.h"
#include "ort_abi/ort_event.h"
#include "ort_abi/ort_status.h"
#include "record/profiler_steps.h"
#include "record/profilers.h"
#include "record/session.h"
#include "record/submit.h"

#define CALLBACK_POLL_NS 100000
#define GRACE_NS \
	5000000 /* the wait in place of a barrier, if the system has no membarrier: a thread may be between two
                            callbacks */

/* Counts a profiler's error status. The first one of each profiler in a run is passed to run_error_set. */
static void take_status(struct session *session, uint32_t producer, const char *step, OrtStatus *status)
{
	struct session_profiler *of = &session->profilers[producer];
	ADD_RELAXED(&session->storage.window.producers[producer].errors, 1);
	if (!__atomic_exchange_n(&of->reported, true, __ATOMIC_RELAXED))
		run_error_set(&session->storage.error, EPP_BLAME_PLUGIN,
		              epp_status_create(EPP_PLUGIN, "%s: %s: %s", of->label, step, ort_status_message(status)));
	ort_status_release(status);
}

/* StartEvent of `silent`, which replaces a profiler that was given up. */
static OrtStatus *silent_start(OrtEpProfilerImpl *profiler, uint64_t id)
{
	(void)profiler, (void)id;
	return NULL;
}

static OrtStatus *silent_stop(OrtEpProfilerImpl *profiler, uint64_t id, const OrtProfilingEvent *event)
{
	(void)profiler, (void)id, (void)event;
	return NULL;
}

static OrtEpProfilerImpl silent = { .StartEvent = silent_start, .StopEvent = silent_stop };

/* Handles the status of a profiler's callback. If the profiler was given up during the call, the status is not counted,
 * because the session may not exist any more. */
static void take_callback_status(struct recorder *recorder, const struct profiler_call *call,
                                 const OrtEpProfilerImpl *called, const char *step, OrtStatus *status)
{
	if (LOAD_ACQUIRE(&call->profiler) == called)
		take_status(recorder->session, call->producer, step, status);
	else
		ort_status_release(status);
}

uint64_t calls_start_event(struct recorder *recorder, uint64_t id)
{
	const struct profiler_calls *calls = recorder_hot.calls;
	uintptr_t handle = recorder_enter_callback(recorder);
	OrtEpProfilerImpl *profiler;
	for (const struct profiler_call *call = calls->start;; call++) {
		recorder_begin_callback(recorder, recorder_callback(call->producer, false));
		if (!(profiler = LOAD_RELAXED(&call->profiler)))
			break;
		OrtStatus *status = profiler->StartEvent(profiler, id);
		if (__builtin_expect(status != NULL, 0))
			take_callback_status(recorder, call, profiler, "StartEvent", status);
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
	OrtEpProfilerImpl *profiler;
	for (const struct profiler_call *call = calls->stop;; call++) {
		recorder_begin_callback(recorder, recorder_callback(call->producer, true));
		if (!(profiler = LOAD_RELAXED(&call->profiler)))
			break;
		OrtStatus *status = profiler->StopEvent(profiler, id, &event);
		if (__builtin_expect(status != NULL, 0))
			take_callback_status(recorder, call, profiler, "StopEvent", status);
	}
	recorder_leave_callback(recorder, handle);
}

bool calls_prepare(struct session *session, uint64_t base_ticks)
{
	if (!session->calls_stay)
		free(session->calls);
	session->calls = NULL;
	session->calls_stay = false;
	struct profiler_calls *calls = calloc(1, sizeof(*calls));
	if (!calls)
		return false;
	calls->base_ticks = base_ticks;
	uint32_t start_count = 0, stop_count = 0;
	for (uint32_t i = 0; i < LOAD_ACQUIRE(&session->profilers_count); i++) {
		OrtEpProfilerImpl *profiler = session->profilers[i].profiler;
		if (!profilers_drives(&session->profilers[i]) || session->profilers[i].is_inside)
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

/* ---- calls that do not return ---- */

#define ALL_PRODUCERS UINT32_MAX

/* Replaces a profiler in this run's call tables by `silent`. A thread may still be inside its callback. */
static void replace_by_silent(struct session *session, uint32_t producer)
{
	struct profiler_calls *calls = session->calls;
	for (uint32_t i = 0; calls && i < CALLS_PROFILERS_MAX; i++) {
		if (LOAD_RELAXED(&calls->start[i].profiler) &&
		    (producer == ALL_PRODUCERS || calls->start[i].producer == producer))
			STORE_RELEASE(&calls->start[i].profiler, &silent);
		if (LOAD_RELAXED(&calls->stop[i].profiler) &&
		    (producer == ALL_PRODUCERS || calls->stop[i].producer == producer))
			STORE_RELEASE(&calls->stop[i].profiler, &silent);
	}
}

static void abandon(struct session *session, uint32_t producer, epp_status *why)
{
	struct session_profiler *of = &session->profilers[producer];
	submission_abandon(of, epp_status_message(why));
	replace_by_silent(session, producer);
	run_error_set(&session->storage.error, EPP_BLAME_PLUGIN, epp_status_prefix(why, "%s", of->label));
}

/* Gives up each profiler in whose StartEvent or StopEvent a thread has been for `limit_ticks`. Returns true if a thread
 * is in the callback of another profiler. The helper and the end of the run may call this function at the same time:
 * the one that sets `is_inside` under the lock gives the profiler up. */
static bool abandon_callbacks(struct session *session, uint64_t limit_ticks)
{
	struct recorder *recorder;
	uint64_t late = 0;
	bool any = false;
	pthread_mutex_lock(&session->storage.lock);
	/* This reading is not earlier than any watched_ticks, because those were stored under the lock. */
	uint64_t now_ticks = clock_ticks();
	LIST_FOREACH(recorder, &session->recorders, session_link) {
		uint32_t callback = LOAD_ACQUIRE(&recorder->in_callback);
		uint64_t number = LOAD_RELAXED(&recorder->callbacks);
		if (!callback || number != recorder->watched)
			recorder->watched_ticks = now_ticks;
		recorder->watched = number;
		if (!callback)
			continue;
		if (callback == RECORDER_CALLBACK_NONE) {
			any = true;
			continue;
		}
		uint32_t place = callback - recorder_callback(0, false);
		struct session_profiler *of = &session->profilers[place / 2];
		if (of->is_inside)
			continue;
		if (now_ticks - recorder->watched_ticks < limit_ticks) {
			any = true;
			continue;
		}
		of->is_inside = session->calls_stay = true;
		late |= UINT64_C(1) << place;
	}
	pthread_mutex_unlock(&session->storage.lock);
	for (uint32_t i = 0; i < 2 * CALLS_PROFILERS_MAX; i++) {
		if (!(late >> i & 1))
			continue;
		abandon(session, i / 2,
		        epp_status_create(EPP_TIMEOUT, "%s: it has not returned after %llu ms",
		                          i % 2 ? "StopEvent" : "StartEvent",
		                          (unsigned long long)(session->plugin_timeout_ns / 1000000)));
	}
	return any;
}

static uint64_t ticks_of(uint64_t ns)
{
	return (uint64_t)((double)ns * (double)clock_ticks_per_second() / 1e9);
}

void calls_watch(struct session *session)
{
	if (session->calls)
		abandon_callbacks(session, ticks_of(session->plugin_timeout_ns));
}

/* Waits for callbacks that were running when the run ended and may still use the profiler. */
static void wait_for_callbacks(struct session *session, uint64_t timeout_ns)
{
	uint64_t begin_ticks = clock_ticks(), limit_ticks = ticks_of(timeout_ns);
	while (abandon_callbacks(session, clock_ticks() - begin_ticks < limit_ticks ? UINT64_MAX : 0))
		nanosleep(&(struct timespec){ .tv_nsec = CALLBACK_POLL_NS }, NULL);
}

/* ---- start and end ---- */

/* Fills in one step for each profiler that takes part. Returns their number. */
static size_t make_steps(struct session *session, struct profiler_step steps[CALLS_PROFILERS_MAX],
                         struct session_profiler *of[CALLS_PROFILERS_MAX])
{
	size_t count = 0;
	for (uint32_t i = 0; i < LOAD_ACQUIRE(&session->profilers_count); i++) {
		struct session_profiler *profiler = &session->profilers[i];
		if (!profilers_drives(profiler) || profiler->is_inside || LOAD_RELAXED(&profiler->is_hung))
			continue;
		of[count] = profiler;
		steps[count++] = (struct profiler_step){ .profiler = profiler->profiler, .worker = profiler->worker };
	}
	return count;
}

static void take_step(struct session *session, const struct session_profiler *of, const char *name,
                      const struct profiler_step *step)
{
	if (step->result != WORKER_DONE)
		abandon(session, of->producer, worker_status(step->result, name));
	else if (step->status)
		take_status(session, of->producer, name, step->status);
}

/* Returns the number of the profiler's events with impossible data: those lost as EPP_LOSS_REFUSED or
 * EPP_LOSS_NEGATIVE. */
static uint64_t count_invalid(const struct session_profiler *of)
{
	const struct epf_producer *producer = &of->session->storage.window.producers[of->producer];
	return LOAD_RELAXED(&producer->lost[EPP_LOSS_REFUSED]) + LOAD_RELAXED(&producer->lost[EPP_LOSS_NEGATIVE]);
}

static void warn_of_invalid(struct session *session, const struct session_profiler *of)
{
	uint64_t count = count_invalid(of) - of->invalid_before;
	char text[160];
	if (!count || LOAD_RELAXED(&of->reported))
		return;
	snprintf(text, sizeof(text),
	         "%s: invalid events are lost: %llu without a name, or with an impossible time or category", of->label,
	         (unsigned long long)count);
	run_error_warn(&session->storage.error, text);
}

void calls_start_profiling(struct session *session)
{
	struct profiler_step steps[CALLS_PROFILERS_MAX];
	struct session_profiler *of[CALLS_PROFILERS_MAX];
	for (uint32_t i = 0; i < LOAD_ACQUIRE(&session->profilers_count); i++) {
		struct session_profiler *profiler = &session->profilers[i];
		if (!profilers_drives(profiler))
			continue;
		profiler->reported = false;
		profiler->invalid_before = count_invalid(profiler);
		submission_begin_run(profiler);
	}
	size_t count = make_steps(session, steps, of);
	profiler_steps_start(steps, count, 0, session->storage.window.live->run_start.ticks, session->plugin_timeout_ns);
	for (size_t i = 0; i < count; i++) {
		of[i]->before_ticks = steps[i].before_ticks;
		of[i]->after_ticks = steps[i].after_ticks;
		of[i]->offset_ns = steps[i].offset_ns;
		take_step(session, of[i], "StartProfiling", &steps[i]);
	}
}

void calls_end_profiling(struct session *session)
{
	struct profiler_step steps[CALLS_PROFILERS_MAX];
	struct session_profiler *of[CALLS_PROFILERS_MAX];
	struct timespec deadline = thread_deadline(session->plugin_timeout_ns + session->grace_ns);
	/* Waits for half of the time at most, so that EndProfiling of the other profilers has the other half if one
	 * hangs. */
	wait_for_callbacks(session, session->plugin_timeout_ns / 2);
	if (session->calls_stay) {
		/* When a thread returns from a hung callback, it must call no other profiler, because the others may be
		 * released by then. */
		replace_by_silent(session, ALL_PRODUCERS);
		if (!gate_barrier())
			nanosleep(&(struct timespec){ .tv_nsec = GRACE_NS }, NULL);
		wait_for_callbacks(session, session->plugin_timeout_ns / 4);
	}
	size_t count = make_steps(session, steps, of);
	profiler_steps_end(steps, count, &deadline);
	for (size_t i = 0; i < count; i++) {
		take_step(session, of[i], "EndProfiling", &steps[i]);
		warn_of_invalid(session, of[i]);
	}
}
