/* Start, end and wait of a run, and the release of a session, which ends its run. States:
 *
 *   IDLE -start-> RECORDING -end-> ASKING (profilers, on a worker) -> DRAINING (the helper, or end itself) -> IDLE */
#include <errno.h>
#include <sched.h>
#include <time.h>

#include "base/gate.h"
#include "base/thread.h"
#include "record/profilers/profilers.h"
#include "record/session.h"
#include "record/share.h"
#include "record/tracks.h"
#include "storage/drain.h"
#include "storage/helper.h"

/* Without membarrier, a recorder that may not have seen `closed` yet gets this long to leave. */
#define GRACE_NS 5000000
#define LOG_POLL_NS 100000
/* How long release waits for writing after the profilers have ended. */
#define WRITE_TIMEOUT_NS 1000000000u

static epp_status *not_a_session(const char *call)
{
	return epp_status_create(EPP_INVALID_ARGUMENT, "%s: no such session", call);
}

/* Closes the recorders of a use. Returns false if there was nothing to close. The lock is held. */
static bool close_recorders(struct session *session, enum recorder_use use)
{
	struct recorder *recorder;
	bool any = false;
	LIST_FOREACH(recorder, &session->recorders, session_link) {
		struct recorder_hot *hot = LOAD_ACQUIRE(&recorder->hot);
		if (recorder->use != (uint32_t)use ||
		    (recorder_is_closed(recorder) && LOAD_RELAXED(&hot->handle) == RECORDER_CACHE_EMPTY))
			continue;
		STORE_RELAXED(&recorder->closed, 1);
		STORE_RELAXED(&hot->handle, RECORDER_CACHE_EMPTY);
		any = true;
	}
	return any;
}

static bool is_marked(const struct recorder *recorder)
{
	return LOAD_ACQUIRE(&LOAD_ACQUIRE(&recorder->hot)->mark) == MARK_RECORDING;
}

/* True if a thread is in the middle of a record; the lock is held. */
static bool any_marked(const struct session *session, enum recorder_use use)
{
	const struct recorder *recorder;
	LIST_FOREACH(recorder, &session->recorders, session_link)
		if (recorder->use == (uint32_t)use && !recorder->owner_gone && is_marked(recorder))
			return true;
	return false;
}

void session_close_recorders(struct session *session, enum recorder_use use)
{
	pthread_mutex_lock(&session->lock);
	/* Repeated if a recorder entered before it was closed and then became resident. No other recorder can. */
	while (close_recorders(session, use)) {
		if (!gate_barrier()) {
			session->unsafe_to_unmap = true;
			nanosleep(&(struct timespec){ .tv_nsec = GRACE_NS }, NULL);
		}
		/* A record takes nanoseconds or, if a thread waits for a chunk, until the helper has got this lock. */
		while (any_marked(session, use)) {
			pthread_mutex_unlock(&session->lock);
			sched_yield();
			pthread_mutex_lock(&session->lock);
		}
	}
	pthread_mutex_unlock(&session->lock);
}

/* Waits for IDLE; the lock is held.  `deadline` NULL: no limit. Returns false on a timeout. */
static bool wait_idle(struct session *session, const struct timespec *deadline)
{
	while (session->state != SESSION_IDLE) {
		int error = deadline ? pthread_cond_timedwait(&session->changed, &session->lock, deadline)
		                     : pthread_cond_wait(&session->changed, &session->lock);
		if (error == ETIMEDOUT)
			return session->state == SESSION_IDLE;
	}
	return true;
}

epp_status *epp_session_start(epp_session *handle)
{
	struct session *session = session_of((uintptr_t)handle);
	if (!session)
		return not_a_session("start");
	pthread_mutex_lock(&session->lock);
	if (session->releasing || session->release_wanted) {
		pthread_mutex_unlock(&session->lock);
		return not_a_session("start");
	}
	if (session->state == SESSION_RECORDING) {
		pthread_mutex_unlock(&session->lock);
		return epp_status_create(EPP_UNAVAILABLE, "start: the session records already");
	}
	wait_idle(session, NULL);
	pthread_mutex_unlock(&session->lock);
	EPP_TRY(helper_add(session));

	struct epf_host_pair start;
	clock_pair_read(&start);
	session->run_first_id = recorder_id_block();
	session->orphans_at = 0;
	session->run_end_ticks = UINT64_MAX;
	if (!calls_prepare(session, start.ticks)) {
		helper_remove(session);
		return epp_status_create(EPP_OUT_OF_MEMORY, "start: out of memory");
	}
	pthread_mutex_lock(&session->drain_lock);
	drain_begin_run(session, &start);
	pthread_mutex_unlock(&session->drain_lock);
	STORE_RELEASE(&session->pushes, 1);
	calls_start_profiling(session);
	pthread_mutex_lock(&session->lock);
	STORE_RELEASE(&session->state, SESSION_RECORDING);
	pthread_mutex_unlock(&session->lock);
	ADD_RELAXED(&epp_recording_count, 1);
	session_tell(session);
	/* A session in memory has no work before the first event, whose recorder wakes the helper. */
	if (session->window.fd >= 0)
		helper_wake();
	return NULL;
}

static void stop_handovers(struct session *session)
{
	STORE_RELEASE(&session->pushes, 0);
	session_close_recorders(session, RECORDER_HANDOVER);
	pthread_mutex_lock(&session->lock);
	STORE_RELEASE(&session->state, SESSION_DRAINING);
	pthread_mutex_unlock(&session->lock);
}

static void *ask_profilers(void *argument)
{
	struct session *session = argument;
	calls_end_profiling(session);
	stop_handovers(session);
	helper_wake();
	return NULL;
}

bool session_finish_run(struct session *session)
{
	drain_visit(session, true);
	pthread_mutex_lock(&session->lock);
	STORE_RELEASE(&session->state, SESSION_IDLE);
	bool release = session->release_wanted;
	pthread_cond_broadcast(&session->changed);
	pthread_mutex_unlock(&session->lock);
	return release;
}

static void drain_here(struct session *session)
{
	pthread_mutex_lock(&session->drain_lock);
	/* The helper may have done it already. */
	if (LOAD_ACQUIRE(&session->state) == SESSION_DRAINING)
		session_finish_run(session);
	pthread_mutex_unlock(&session->drain_lock);
	session_tell(session);
}

epp_status *epp_session_end(epp_session *handle)
{
	struct session *session = session_of((uintptr_t)handle);
	if (!session)
		return not_a_session("end");
	bool profilers = profilers_any_driven(session);
	pthread_mutex_lock(&session->lock);
	if (session->state != SESSION_RECORDING) {
		pthread_mutex_unlock(&session->lock);
		return NULL;
	}
	STORE_RELEASE(&session->state, SESSION_ASKING);
	pthread_mutex_unlock(&session->lock);
	__atomic_sub_fetch(&epp_recording_count, 1, __ATOMIC_RELAXED);
	session_close_recorders(session, RECORDER_EVENTS);
	STORE_RELEASE(&session->run_end_ticks, clock_ticks());
	session->window.live->run_end_ticks = session->run_end_ticks;
	if (profilers) {
		/* EndProfiling may take seconds. */
		helper_apart(ask_profilers, session);
		return NULL;
	}
	stop_handovers(session);
	if (session->window.fd < 0)
		drain_here(session);
	else
		helper_wake();
	return NULL;
}

epp_status *epp_session_wait(epp_session *handle, uint64_t timeout_ns)
{
	struct session *session = session_of((uintptr_t)handle);
	if (!session)
		return not_a_session("wait");
	struct timespec deadline = thread_deadline(timeout_ns == UINT64_MAX ? 0 : timeout_ns);
	pthread_mutex_lock(&session->lock);
	bool recording = session->state == SESSION_RECORDING;
	bool idle = !recording && wait_idle(session, timeout_ns == UINT64_MAX ? NULL : &deadline);
	pthread_mutex_unlock(&session->lock);
	if (recording)
		return epp_status_create(EPP_UNAVAILABLE, "wait: the session still records");
	if (!idle)
		return epp_status_create(EPP_TIMEOUT, "wait: the run was not written in time");
	session_tell(session);
	pthread_mutex_lock(&session->error_lock);
	epp_status *status = session->first_error;
	session->first_error = NULL;
	pthread_mutex_unlock(&session->error_lock);
	return status;
}

/* The host may free its log callback's data as soon as release has returned. */
static void let_go_of_log(struct session *session)
{
	pthread_mutex_lock(&session->error_lock);
	session->log = NULL;
	while (session->telling) {
		pthread_mutex_unlock(&session->error_lock);
		nanosleep(&(struct timespec){ .tv_nsec = LOG_POLL_NS }, NULL);
		pthread_mutex_lock(&session->error_lock);
	}
	pthread_mutex_unlock(&session->error_lock);
}

/* Leaves the rest of the release to the helper. Returns true if the run ended just now, so that the caller
 * continues. */
static bool leave_to_helper(struct session *session)
{
	let_go_of_log(session);
	pthread_mutex_lock(&session->lock);
	bool idle = session->state == SESSION_IDLE;
	session->release_wanted = !idle;
	pthread_mutex_unlock(&session->lock);
	return idle;
}

void session_release(struct session *session)
{
	epp_status_release(epp_session_end(session_handle(session)));
	struct timespec deadline = thread_deadline(session->plugin_timeout_ns + WRITE_TIMEOUT_NS);
	pthread_mutex_lock(&session->lock);
	session->releasing = true;
	bool idle = wait_idle(session, &deadline);
	pthread_mutex_unlock(&session->lock);
	if (!idle) {
		session_tell(session);
		idle = leave_to_helper(session);
	}
	if (idle)
		session_free(session);
}

void epp_session_release(epp_session *handle)
{
	if (share_give_back(handle))
		return;
	struct session *session = session_of((uintptr_t)handle);
	if (!session)
		return;
	/* Another thread may be releasing it, or may have released it already. */
	pthread_mutex_lock(&session->lock);
	bool first = session_handle(session) == handle && session->state != SESSION_FREE && !session->releasing;
	session->releasing |= first;
	pthread_mutex_unlock(&session->lock);
	if (first)
		session_release(session);
}
