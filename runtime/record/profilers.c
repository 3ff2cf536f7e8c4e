/* Attaches profilers to a session, or adds hosted profilers (epp_hosted_profiler). A hosted profiler is valid until its
 * session is released or the hosted profiler is destroyed. Two threads may do these two at the same time, for example
 * at exit. A hosted profiler therefore has no pointer to its session; it finds the session through the registry. The
 * release of a session first removes it from the registry, and then waits for the threads that still use it. */
#include "record/profilers.h"

#include <bsd/string.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "ort_abi/ort_event.h"
#include "ort_abi/ort_status.h"
#include "ort_abi/profiler_registry.h"
#include "record/profiler_steps.h"
#include "record/submit.h"

#include "epprof/profiler.h"

#define API_VERSION_MIN 25u

struct epp_hosted_profiler {
	OrtProfilingEventsContainer container; /* must be the first member */
	bool is_hung;                          /* a call of the profiler has not returned in time */
	OrtEpProfilerImpl *profiler;
	struct worker *worker;
	uintptr_t session_handle;
};

static epp_status *check(const struct session *session, const OrtEpProfilerImpl *profiler, const char *call,
                         const char *label)
{
	if (!session || !profiler)
		return epp_status_create(EPP_INVALID_ARGUMENT, "%s: the session does not exist, or profiler is NULL", call);
	if (profiler->ort_version_supported < API_VERSION_MIN)
		return epp_status_create(EPP_INCOMPATIBLE, "%s: the profiler has API version %u, %u is needed", label,
		                         profiler->ort_version_supported, API_VERSION_MIN);
	const char *missing = !profiler->Release          ? "Release"
	                      : !profiler->StartProfiling ? "StartProfiling"
	                      : !profiler->EndProfiling   ? "EndProfiling"
	                                                  : NULL;
	return missing ? epp_status_create(EPP_INCOMPATIBLE, "%s: the profiler has no %s", label, missing) : NULL;
}

/* Finds a free entry for one more profiler. If a hosted profiler with the same label was destroyed, its entry and its
 * ledger are used again. The session's lock is held. */
static epp_status *find_entry(struct session *session, const char *label, bool joined, struct session_profiler **placed)
{
	uint32_t index = session->profilers_count;
	for (uint32_t i = 0; joined && i < session->profilers_count; i++) {
		struct session_profiler *left = &session->profilers[i];
		if (left->joined && !left->profiler && !strncmp(left->label, label, sizeof(left->label) - 1)) {
			*placed = left;
			return NULL;
		}
	}
	if (index == CALLS_PROFILERS_MAX)
		return epp_status_create(EPP_LIMIT, "%s: a session has at most %u profilers", label, CALLS_PROFILERS_MAX);
	struct session_profiler *of = &session->profilers[index];
	of->submission = calloc(1, sizeof(*of->submission));
	if (!of->submission)
		return epp_status_no_memory();
	of->session = session;
	of->producer = index;
	of->joined = joined;
	strlcpy(of->label, label, sizeof(of->label));
	*placed = of;
	return NULL;
}

/* If the entry is new, counts it, so that readers see its ledger. The session's lock is held. */
static void count_entry(struct session *session, const struct session_profiler *of)
{
	memcpy(session->storage.window.producers[of->producer].label, of->label, sizeof(of->label));
	STORE_RELEASE(&session->profilers_count, session->profilers_count + 1);
}

/* Registers the profiler, and counts its entry if that is new. The session's lock is held. */
static epp_status *register_profiler(struct session *session, OrtEpProfilerImpl *profiler, struct session_profiler *of)
{
	bool is_new = of == &session->profilers[session->profilers_count];
	if (!profiler_registry_attach(profiler, session, submission_push, of)) {
		epp_status *status = epp_status_create(EPP_BUSY, "%s: the profiler is already attached", of->label);
		if (is_new) {
			free(of->submission);
			memset(of, 0, sizeof(*of));
		}
		return status;
	}
	profiler_registry_take_late(profiler, session_push_late, session->grace_ns);
	of->profiler = profiler;
	if (is_new)
		count_entry(session, of);
	return NULL;
}

static const char *label_of(const OrtEpProfilerImpl *profiler, const char *label)
{
	const char *name = label || !profiler ? label : profiler_registry_name(profiler);
	return name ? name : "ep";
}

epp_status *epp_session_attach(epp_session *handle, OrtEpProfilerImpl *profiler, const char *label)
{
	struct session *session = session_of((uintptr_t)handle);
	label = label_of(profiler, label);
	EPP_TRY(check(session, profiler, "attach", label));
	epp_status *status = NULL;
	struct session_profiler *of;
	struct worker *worker = profiler_registry_worker(profiler);
	if (!worker)
		return epp_status_no_memory();
	pthread_mutex_lock(&session->storage.lock);
	session_await_late(session);
	if (session->state != SESSION_IDLE)
		status = epp_status_create(EPP_WRONG_STATE, "%s: profilers cannot be attached during a run", label);
	if (!status)
		status = find_entry(session, label, false, &of);
	if (!status)
		status = register_profiler(session, profiler, of);
	if (!status)
		of->worker = worker;
	pthread_mutex_unlock(&session->storage.lock);
	if (status)
		worker_release(worker);
	return status;
}

bool profilers_any_driven(const struct session *session)
{
	bool any = false;
	for (uint32_t i = 0; i < LOAD_ACQUIRE(&session->profilers_count); i++)
		any |= profilers_drives(&session->profilers[i]);
	return any;
}

void profilers_detach(struct session *session)
{
	for (uint32_t i = 0; i < session->profilers_count; i++) {
		struct session_profiler *of = &session->profilers[i];
		pthread_mutex_lock(&session->storage.lock);
		OrtEpProfilerImpl *profiler = of->profiler;
		if (of->joined)
			of->profiler = NULL;
		pthread_mutex_unlock(&session->storage.lock);
		if (profiler)
			profiler_registry_detach(profiler);
		submission_free(of->submission);
		of->submission = NULL;
	}
}

void profilers_release(struct session *session, bool waits)
{
	struct worker_call *calls[CALLS_PROFILERS_MAX];
	struct timespec deadline = thread_deadline(session->plugin_timeout_ns);
	for (uint32_t i = 0; i < session->profilers_count; i++) {
		struct session_profiler *of = &session->profilers[i];
		/* A profiler is not released if a thread is inside its callback, because that thread uses the
		 * profiler's code and memory. */
		calls[i] = of->profiler && !of->is_inside ? profiler_release_on(of->profiler, of->worker) : NULL;
		of->profiler = NULL;
	}
	for (uint32_t i = 0; i < session->profilers_count; i++) {
		if (calls[i] && !waits)
			worker_abandon(calls[i]);
		else if (calls[i] && worker_await(calls[i], &deadline) == WORKER_DONE)
			free(calls[i]);
		worker_release(session->profilers[i].worker);
		session->profilers[i].worker = NULL;
	}
}

/* ---- hosted profilers ---- */

static OrtStatus *container_add(OrtProfilingEventsContainer *self, const OrtProfilingEvent *const *events, size_t count)
{
	return profiler_steps_add(((const struct epp_hosted_profiler *)self)->profiler, events, count);
}

epp_status *epp_hosted_profiler_create(epp_session *handle, OrtEpProfilerImpl *profiler, const char *label,
                                       epp_hosted_profiler **hosted)
{
	*hosted = NULL;
	uintptr_t of_session = handle ? (uintptr_t)handle : LOAD_RELAXED(&session_default_handle);
	struct session *session = session_of(of_session);
	label = label_of(profiler, label);
	EPP_TRY(check(session, profiler, "join", label));
	struct epp_hosted_profiler *made = calloc(1, sizeof(*made));
	if (!made)
		return epp_status_no_memory();
	made->container.add = container_add;
	made->profiler = profiler;
	made->session_handle = of_session;
	made->worker = profiler_registry_worker(profiler);
	if (!made->worker) {
		free(made);
		return epp_status_no_memory();
	}
	struct session_profiler *of = NULL;
	/* The session may have been released since it was found. */
	session = session_lock(of_session);
	epp_status *status = session ? find_entry(session, label, true, &of)
	                             : epp_status_create(EPP_INVALID_ARGUMENT, "%s: no such session", label);
	if (!status)
		status = register_profiler(session, profiler, of);
	if (!status)
		of->shift_us = of->shift_rest_ns = 0;
	if (session)
		pthread_mutex_unlock(&session->storage.lock);
	/* The counts of the hosted profiler begin at zero, as for a profiler whose run begins. */
	if (!status)
		submission_begin_run(of);
	if (status) {
		worker_release(made->worker);
		free(made);
	} else {
		*hosted = made;
	}
	return status;
}

void epp_session_count_refused(epp_session *session, uint64_t count)
{
	session_lose((uintptr_t)session, EPP_LOSS_REFUSED, count);
}

/* ---- hosted profilers: start and end ---- */

static void fail_hosted(epp_hosted_profiler_call *call, const struct profiler_step *step, const char *name)
{
	call->failure = worker_status(step->result, name);
	epp_hosted_profiler_report_hang(call->hosted, epp_status_message(call->failure));
}

/* Calls StartProfiling of all hosted profilers or, if `is_end` is set, EndProfiling of those that were not given up.
 * `count` is at most the number of profilers of a session. */
static void call_hosted(epp_hosted_profiler_call *calls, size_t count, bool is_end, int64_t offset_ns, uint64_t since_ticks)
{
	struct profiler_step steps[CALLS_PROFILERS_MAX];
	epp_hosted_profiler_call *of[CALLS_PROFILERS_MAX];
	struct timespec deadline = worker_deadline();
	size_t steps_count = 0;
	for (size_t i = 0; i < count; i++) {
		const epp_hosted_profiler *hosted = calls[i].hosted;
		calls[i].status = NULL;
		calls[i].failure = NULL;
		if (is_end && hosted->is_hung)
			continue;
		of[steps_count] = &calls[i];
		steps[steps_count++] = (struct profiler_step){ .profiler = hosted->profiler,
			                                       .worker = hosted->worker,
			                                       .container = calls[i].container };
	}
	if (is_end)
		profiler_steps_end(steps, steps_count, &deadline);
	else
		profiler_steps_start(steps, steps_count, offset_ns, since_ticks, worker_timeout_ns());
	for (size_t i = 0; i < steps_count; i++) {
		epp_hosted_profiler *hosted = of[i]->hosted;
		of[i]->status = steps[i].result == WORKER_DONE ? steps[i].status : NULL;
		if (steps[i].result != WORKER_DONE) {
			fail_hosted(of[i], &steps[i], is_end ? "EndProfiling" : "StartProfiling");
			continue;
		}
		struct session_profiler *known = is_end ? NULL : profiler_registry_enter(hosted->profiler);
		if (known) {
			submission_bracket(known, steps[i].before_ticks, steps[i].after_ticks, steps[i].offset_ns);
			profiler_registry_leave(hosted->profiler);
		}
	}
}

void epp_hosted_profilers_start(epp_hosted_profiler_call *calls, size_t count, int64_t offset_ns, uint64_t since_ticks)
{
	for (size_t i = 0; i < count; i++) {
		epp_hosted_profiler *hosted = calls[i].hosted;
		struct session_profiler *of = profiler_registry_enter(hosted->profiler);
		hosted->is_hung = false;
		if (!of)
			continue;
		submission_begin_run(of);
		profiler_registry_leave(hosted->profiler);
	}
	for (size_t i = 0; i < count; i += CALLS_PROFILERS_MAX)
		call_hosted(&calls[i], count - i < CALLS_PROFILERS_MAX ? count - i : CALLS_PROFILERS_MAX, false,
		            offset_ns, since_ticks);
}

void epp_hosted_profilers_end(epp_hosted_profiler_call *calls, size_t count)
{
	for (size_t i = 0; i < count; i += CALLS_PROFILERS_MAX)
		call_hosted(&calls[i], count - i < CALLS_PROFILERS_MAX ? count - i : CALLS_PROFILERS_MAX, true, 0, 0);
}

void epp_hosted_profiler_report_hang(epp_hosted_profiler *hosted, const char *note)
{
	struct session_profiler *of = profiler_registry_enter(hosted->profiler);
	hosted->is_hung = true;
	if (!of)
		return;
	submission_abandon(of, note);
	profiler_registry_leave(hosted->profiler);
}

/* ---- hosted profilers: their ledgers ---- */

void epp_hosted_profiler_add_start_delay(epp_hosted_profiler *hosted, int64_t delay_ns)
{
	struct session_profiler *of = profiler_registry_enter(hosted->profiler);
	if (!of)
		return;
	if (delay_ns > 0)
		submission_bracket_began(of, (uint64_t)delay_ns);
	profiler_registry_leave(hosted->profiler);
}

OrtProfilingEventsContainer *epp_hosted_profiler_container(epp_hosted_profiler *hosted)
{
	return &hosted->container;
}

uint64_t epp_hosted_profiler_producers(const epp_hosted_profiler *hosted)
{
	struct session_profiler *of = profiler_registry_enter(hosted->profiler);
	uint64_t producers = 0;
	if (!of)
		return 0;
	const struct session *session = of->session;
	for (uint32_t i = 0; i < LOAD_ACQUIRE(&session->profilers_count); i++) {
		const struct session_profiler *other = &session->profilers[i];
		if (other->joined && !strcmp(other->label, of->label))
			producers |= UINT64_C(1) << other->producer;
	}
	profiler_registry_leave(hosted->profiler);
	return producers;
}

void epp_hosted_profiler_set_note(epp_hosted_profiler *hosted, const char *text)
{
	struct session_profiler *of = profiler_registry_enter(hosted->profiler);
	if (!of)
		return;
	struct epf_producer *producer = &of->session->storage.window.producers[of->producer];
	strlcpy(producer->note, text, sizeof(producer->note));
	profiler_registry_leave(hosted->profiler);
}

void epp_hosted_profiler_count_error(epp_hosted_profiler *hosted)
{
	struct session_profiler *of = profiler_registry_enter(hosted->profiler);
	if (!of)
		return;
	ADD_RELAXED(&of->session->storage.window.producers[of->producer].errors, 1);
	profiler_registry_leave(hosted->profiler);
}

void epp_hosted_profiler_count_lost(epp_hosted_profiler *hosted, epp_loss reason, uint64_t count)
{
	struct session_profiler *of = profiler_registry_enter(hosted->profiler);
	if (!of)
		return;
	if ((unsigned)reason < EPP_LOSS_ENTRY_COUNT) {
		if (EPF_LOSS_IS_OF_EVENTS(reason))
			ADD_RELAXED(&of->session->storage.window.producers[of->producer].emitted, count);
		submission_lose(of, reason, count);
	}
	profiler_registry_leave(hosted->profiler);
}

/* Sets whether the ledger of the hosted profiler counts an expected event as emitted. Returns the previous value. */
static bool set_expects(struct session_profiler *of, bool expects)
{
	bool before = __atomic_exchange_n(&of->expects, expects, __ATOMIC_RELAXED);
	if (before != expects)
		ADD_RELAXED(&of->session->storage.window.producers[of->producer].emitted, expects ? 1 : UINT64_MAX);
	return before;
}

void epp_hosted_profiler_set_expected(epp_hosted_profiler *hosted, int expected)
{
	struct session_profiler *of = profiler_registry_enter(hosted->profiler);
	if (!of)
		return;
	set_expects(of, expected != 0);
	profiler_registry_leave(hosted->profiler);
}

void epp_session_expect_none(epp_session *handle, const char *label)
{
	struct session *session = session_lock((uintptr_t)handle);
	if (!session)
		return;
	for (uint32_t i = 0; i < session->profilers_count; i++) {
		struct session_profiler *of = &session->profilers[i];
		if (of->joined && !strncmp(of->label, label, sizeof(of->label) - 1) && set_expects(of, false))
			session->storage.window.producers[of->producer].note[0] = 0;
	}
	pthread_mutex_unlock(&session->storage.lock);
}

void epp_session_report_hang(epp_session *handle, const char *label, const char *note)
{
	struct session *session = session_lock((uintptr_t)handle);
	struct session_profiler *of;
	if (!session)
		return;
	epp_status *status = find_entry(session, label, true, &of);
	if (!status && of == &session->profilers[session->profilers_count])
		count_entry(session, of);
	pthread_mutex_unlock(&session->storage.lock);
	if (status)
		session_lose((uintptr_t)handle, EPP_LOSS_HUNG, 1);
	else
		submission_abandon(of, note);
	epp_status_destroy(status);
}

/* Counts an expected event that did not arrive as lost. It was counted as emitted before. */
static void lose_expected(const epp_hosted_profiler *hosted)
{
	struct session_profiler *of = profiler_registry_enter(hosted->profiler);
	if (!of)
		return;
	if (__atomic_exchange_n(&of->expects, false, __ATOMIC_RELAXED))
		submission_lose(of, EPP_LOSS_PLUGIN, 1);
	profiler_registry_leave(hosted->profiler);
}

void epp_hosted_profiler_destroy(epp_hosted_profiler *hosted)
{
	if (!hosted)
		return;
	struct session *session = session_of(hosted->session_handle);
	lose_expected(hosted);
	profiler_registry_detach(hosted->profiler);
	if (session) {
		pthread_mutex_lock(&session->storage.lock);
		for (uint32_t i = 0; i < session->profilers_count; i++)
			if (session->profilers[i].joined && session->profilers[i].profiler == hosted->profiler)
				session->profilers[i].profiler = NULL;
		pthread_mutex_unlock(&session->storage.lock);
	}
	worker_release(hosted->worker);
	free(hosted);
}
