/* Start, end and wait of a run, and the release of a session, which ends the session's run. States of a session:
 *
 *   IDLE -> CHANGING (start) -> RECORDING -end-> ASKING (profilers, on a worker) -> DRAINING (the helper, or end itself)
 *   -> IDLE -> CHANGING (session_stop finishes the file) -> IDLE
 *
 * Late events of profilers: IDLE -> LATE -> ASKING -> DRAINING -> IDLE. */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "base/gate.h"
#include "base/helper.h"
#include "base/thread.h"
#include "record/filter/name_filter.h"
#include "record/profilers.h"
#include "record/session.h"
#include "record/shared_sessions.h"
#include "record/submit.h"
#include "storage/drain.h"

/* The wait in place of gate_barrier, if the system has no membarrier. In this time a thread that has not seen `closed`
 * yet leaves its recorder. */
#define GRACE_NS 5000000
/* The maximum time that a release waits for writes after the profilers have ended. */
#define WRITE_TIMEOUT_NS 1000000000u

/* Finds the session of a call. NULL means the default session. */
static epp_status *find_session(epp_session *handle, const char *call, struct session **session)
{
	*session = session_of(handle ? (uintptr_t)handle : LOAD_RELAXED(&session_default_handle));
	if (*session)
		return NULL;
	if (handle)
		return epp_status_create(EPP_INVALID_ARGUMENT, "%s: no such session", call);
	return epp_status_create(EPP_INVALID_ARGUMENT,
	                         "%s: there is no default session; EPPROF_OUTPUT=FILE in the environment creates one",
	                         call);
}

/* Closes all recorders of one use (`use`). Returns false if there was none to close. The session's lock is held. */
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

/* Returns true if a thread is in the middle of a record. The session's lock is held. */
static bool any_marked(const struct session *session, enum recorder_use use)
{
	const struct recorder *recorder;
	LIST_FOREACH(recorder, &session->recorders, session_link)
		if (recorder->use == (uint32_t)use && is_marked(recorder))
			return true;
	return false;
}

void session_close_recorders(struct session *session, enum recorder_use use)
{
	pthread_mutex_lock(&session->storage.lock);
	/* Repeated, because a recorder may have entered before it was closed, and become resident after that. No other
	 * recorder can become resident. */
	while (close_recorders(session, use)) {
		if (!gate_barrier()) {
			session->storage.unsafe_to_unmap = true;
			nanosleep(&(struct timespec){ .tv_nsec = GRACE_NS }, NULL);
		}
		/* The wait is short: a record takes nanoseconds; a thread that waits for a chunk needs the time until
		 * the helper gets this lock. */
		while (any_marked(session, use)) {
			pthread_mutex_unlock(&session->storage.lock);
			sched_yield();
			pthread_mutex_lock(&session->storage.lock);
		}
	}
	pthread_mutex_unlock(&session->storage.lock);
}

/* Waits until the session is idle. The session's lock is held. `deadline` NULL: no limit. Returns false on a
 * timeout. */
static bool wait_idle(struct session *session, const struct timespec *deadline)
{
	while (session->state != SESSION_IDLE) {
		int error = deadline ? pthread_cond_timedwait(&session->changed, &session->storage.lock, deadline)
		                     : pthread_cond_wait(&session->changed, &session->storage.lock);
		if (error == ETIMEDOUT)
			return session->state == SESSION_IDLE;
	}
	return true;
}

/* Leaves the state SESSION_CHANGING. Returns true if a release was requested meanwhile; the caller must then carry it
 * out. */
static bool set_state(struct session *session, enum session_state state)
{
	pthread_mutex_lock(&session->storage.lock);
	STORE_RELEASE(&session->state, state);
	bool release = session->release_wanted;
	pthread_cond_broadcast(&session->changed);
	pthread_mutex_unlock(&session->storage.lock);
	return release;
}

/* Waits until an earlier run has ended and its blocks are written. If the session is then idle and was not stopped,
 * changes its state to SESSION_CHANGING; if `resumes` is set, only if the session is paused. The session's lock is held
 * on entry and released. */
static epp_status *prepare_start(struct session *session, bool resumes, bool *is_stopped)
{
	uint64_t generation = session->generation;
	while (!session->releasing &&
	       (session->state == SESSION_ASKING || session->state == SESSION_DRAINING || session->state == SESSION_LATE))
		pthread_cond_wait(&session->changed, &session->storage.lock);
	bool exists = session->generation == generation && !session->releasing && !session->release_wanted;
	bool is_idle = session->state == SESSION_IDLE, may_start = session->is_paused || !resumes;
	*is_stopped = session->is_stopped;
	if (exists && is_idle && may_start && !session->is_stopped) {
		session->is_paused = false;
		STORE_RELEASE(&session->state, SESSION_CHANGING);
	}
	pthread_mutex_unlock(&session->storage.lock);
	if (!exists)
		return epp_status_create(EPP_INVALID_ARGUMENT, "start: no such session");
	if (!may_start)
		return epp_status_create(EPP_WRONG_STATE, "resume: the session is not paused");
	/* A stopped session is not in the state IDLE while its file is being finished. */
	return is_idle || *is_stopped ? NULL
	                              : epp_status_create(EPP_WRONG_STATE, "start: the session is already recording");
}

/* Starts a run. The session is in the state SESSION_CHANGING. */
static epp_status *start_run(struct session *session)
{
	pthread_mutex_lock(&session->storage.drain_lock);
	bool may_begin = drain_may_begin_run(&session->storage);
	pthread_mutex_unlock(&session->storage.drain_lock);
	if (!may_begin)
		return epp_status_create(EPP_IO, "start: the ends of %u earlier runs could not be written",
		                         EPF_UNWRITTEN_RUNS);
	EPP_TRY(helper_add(&session->helper));

	struct epf_host_pair start;
	clock_pair_read(&start);
	session->run_first_id = recorder_id_block();
	session->orphans_at = 0;
	if (!calls_prepare(session, start.ticks)) {
		helper_remove(&session->helper);
		return epp_status_create(EPP_OUT_OF_MEMORY, "start: out of memory");
	}
	pthread_mutex_lock(&session->storage.drain_lock);
	drain_begin_run(&session->storage, &start, session->run_first_id);
	pthread_mutex_unlock(&session->storage.drain_lock);
	STORE_RELEASE(&session->pushes, 1);
	calls_start_profiling(session);
	/* Counted before the state changes, because another thread may end the run right after that. */
	ADD_RELAXED(&epp_recording_count, 1);
	return NULL;
}

/* Starts a run of an idle session. The session's lock is held on entry and released. */
static epp_status *start(struct session *session, bool resumes)
{
	bool is_stopped;
	EPP_TRY(prepare_start(session, resumes, &is_stopped));
	if (is_stopped)
		return NULL;
	epp_status *status = start_run(session);
	/* Read before the state changes, because another thread may destroy the session right after that. */
	bool has_file = session->storage.window.fd >= 0;
	set_state(session, status ? SESSION_IDLE : SESSION_RECORDING);
	if (status)
		return status;
	run_error_log(&session->storage.error);
	/* For a session in memory there is nothing to do before the first event. The recorder of that event wakes the
	 * helper. */
	if (has_file)
		helper_wake();
	return NULL;
}

epp_status *epp_session_start(epp_session *handle)
{
	struct session *session;
	EPP_TRY(find_session(handle, "start", &session));
	pthread_mutex_lock(&session->storage.lock);
	return start(session, false);
}

epp_status *session_resume(epp_session *handle)
{
	struct session *session = session_lock((uintptr_t)handle);
	return session ? start(session, true) : epp_status_create(EPP_WRONG_STATE, "resume: no such session");
}

static void stop_submissions(struct session *session)
{
	pthread_mutex_lock(&session->storage.lock);
	while (session->late_pushes)
		pthread_cond_wait(&session->changed, &session->storage.lock);
	STORE_RELEASE(&session->pushes, 0);
	pthread_mutex_unlock(&session->storage.lock);
	session_close_recorders(session, RECORDER_SUBMISSIONS);
	pthread_mutex_lock(&session->storage.lock);
	STORE_RELEASE(&session->state, SESSION_DRAINING);
	pthread_mutex_unlock(&session->storage.lock);
}

static void *ask_profilers(void *argument)
{
	struct session *session = argument;
	calls_end_profiling(session);
	stop_submissions(session);
	helper_wake();
	return NULL;
}

/* Removes the recorders from the list. Their threads free them, and may have exited already. */
static void unlist_recorders(struct session *session)
{
	struct recorder *recorder;
	while ((recorder = LIST_FIRST(&session->recorders))) {
		LIST_REMOVE(recorder, session_link);
		recorder->is_listed = false;
	}
}

/* Drains the rest of an ended run and makes the session idle; the drain lock is held. Returns true if a release was
 * requested meanwhile; the caller must then carry it out. */
static bool finish_run(struct session *session)
{
	uint32_t producers_count = LOAD_ACQUIRE(&session->profilers_count);
	if (session->is_late)
		drain_finish_late(&session->storage, producers_count);
	else
		drain_finish_run(&session->storage, producers_count);
	pthread_mutex_lock(&session->storage.lock);
	unlist_recorders(session);
	session->is_late = false;
	STORE_RELEASE(&session->state, SESSION_IDLE);
	bool release = session->release_wanted;
	pthread_cond_broadcast(&session->changed);
	pthread_mutex_unlock(&session->storage.lock);
	return release;
}

/* Returns the cost of an event, which is higher in a session with a throttle. */
static uint64_t cost_of_event_ps(const struct session *session, uint32_t state)
{
	struct budget_costs costs;

	if (!session->filter || !session->filter->throttle)
		return event_cost_ps();
	/* The cost of an event that is left out can be measured only while a session records. */
	if (state == SESSION_RECORDING)
		event_costs_measure();
	STORE_RELAXED(&session->filter->throttle->visits, session->filter->throttle->visits + 1);
	return event_costs(&costs) ? costs.event_ps : 0;
}

int64_t session_visit(struct helper_client *client)
{
	struct session *session = (struct session *)(void *)((char *)client - offsetof(struct session, helper));
	int64_t next_ns = -1;
	bool release = false;
	pthread_mutex_lock(&session->storage.drain_lock);
	uint32_t state = LOAD_ACQUIRE(&session->state);
	if (state == SESSION_IDLE || state == SESSION_CHANGING || state == SESSION_FREE) {
		pthread_mutex_unlock(&session->storage.drain_lock);
		return -1;
	}
	if (state == SESSION_DRAINING) {
		release = finish_run(session);
	} else {
		STORE_RELAXED(&session->storage.window.live->event_cost_ps, cost_of_event_ps(session, state));
		calls_watch(session);
		next_ns = drain_and_grow(&session->storage);
	}
	pthread_mutex_unlock(&session->storage.drain_lock);
	run_error_log(&session->storage.error);
	if (release)
		session_free_by_helper(session);
	return next_ns;
}

static void drain_here(struct session *session)
{
	pthread_mutex_lock(&session->storage.drain_lock);
	/* The helper may have finished the run already. */
	if (LOAD_ACQUIRE(&session->state) == SESSION_DRAINING)
		finish_run(session);
	pthread_mutex_unlock(&session->storage.drain_lock);
	run_error_log(&session->storage.error);
}

/* Ends the run. Returns false if there is none. The session's lock is held on entry and released. */
static bool end_run(struct session *session)
{
	bool profilers = profilers_any_driven(session);
	if (session->state != SESSION_RECORDING) {
		pthread_mutex_unlock(&session->storage.lock);
		return false;
	}
	STORE_RELEASE(&session->state, SESSION_ASKING);
	pthread_mutex_unlock(&session->storage.lock);
	__atomic_sub_fetch(&epp_recording_count, 1, __ATOMIC_RELAXED);
	session_close_recorders(session, RECORDER_EVENTS);
	drain_end_run(&session->storage);
	if (profilers) {
		/* On a thread of its own, because EndProfiling may take seconds. */
		helper_run_detached(ask_profilers, session);
		return true;
	}
	/* Read before the state changes, because another thread may destroy the session once the helper has drained the
	 * run. */
	bool has_file = session->storage.window.fd >= 0;
	stop_submissions(session);
	if (has_file)
		helper_wake();
	else
		drain_here(session);
	return true;
}

/* ---- late events ---- */

/* Late events can arrive before the profiler has reported their work as unfinished, and so can a batch that only takes
 * such a report back. `late` counts them until the report arrives. */
void submission_add_unfinished(struct session_profiler *of, uint64_t count)
{
	if (count == 0)
		return;
	pthread_mutex_lock(&of->session->storage.lock);
	struct submission *submission = of->submission;
	uint64_t came = submission->late < count ? submission->late : count;
	submission->late -= came;
	count -= came;
	submission->unfinished += count;
	pthread_mutex_unlock(&of->session->storage.lock);
	ADD_RELAXED(&of->session->storage.window.producers[of->producer].emitted, count);
	submission_lose(of, EPP_LOSS_AFTER_END, count);
}

/* Removes `count` pieces of unfinished work from the profiler's emitted and lost events, because their late events are
 * counted separately. If fewer pieces were reported as unfinished yet, `late` counts the rest. */
static void take_unfinished(struct session_profiler *of, uint64_t count)
{
	pthread_mutex_lock(&of->session->storage.lock);
	struct submission *submission = of->submission;
	uint64_t known = submission->unfinished < count ? submission->unfinished : count;
	submission->unfinished -= known;
	submission->late += count - known;
	pthread_mutex_unlock(&of->session->storage.lock);
	ADD_RELAXED(&of->session->storage.window.producers[of->producer].emitted, 0 - known);
	submission_lose(of, EPP_LOSS_AFTER_END, 0 - known);
}

/* Returns false if the run is over for late events, too. */
static bool begin_late(struct session *session)
{
	pthread_mutex_lock(&session->storage.lock);
	/* Waits only for states that do not depend on a call into a profiler: the kit holds a lock that EndProfiling
	 * needs. */
	while (session->state == SESSION_DRAINING || (session->state == SESSION_ASKING && !LOAD_RELAXED(&session->pushes)))
		pthread_cond_wait(&session->changed, &session->storage.lock);
	bool begins = session->state == SESSION_IDLE && !session->releasing && !session->is_stopped &&
	              LOAD_RELAXED(&session->storage.window.live->run);
	bool is_open = begins || session->state == SESSION_ASKING ||
	               (session->state == SESSION_LATE && !session->releasing);
	if (begins) {
		session->is_late = true;
		drain_begin_late(&session->storage);
		STORE_RELEASE(&session->state, SESSION_LATE);
		STORE_RELEASE(&session->pushes, 1);
	}
	session->late_pushes += is_open;
	pthread_mutex_unlock(&session->storage.lock);
	return is_open;
}

static void end_late(struct session *session)
{
	pthread_mutex_lock(&session->storage.lock);
	bool is_last = --session->late_pushes == 0 && session->state == SESSION_LATE;
	if (is_last)
		STORE_RELEASE(&session->state, SESSION_ASKING);
	pthread_cond_broadcast(&session->changed);
	pthread_mutex_unlock(&session->storage.lock);
	if (!is_last)
		return;
	stop_submissions(session);
	helper_wake();
}

/* Returns true if the event belongs to the last run, or to no known run. The ids of a run's events are larger than
 * those of earlier runs. */
static bool is_of_last_run(const struct session *session, const EpprofEvent *event)
{
	return !event->parent || event->parent >= LOAD_RELAXED(&session->run_first_id);
}

static void count_late_lost(struct session_profiler *of, const EpprofBatch *batch, uint64_t count)
{
	ADD_RELAXED(&of->session->storage.window.producers[of->producer].emitted, count);
	submission_lose(of, EPP_LOSS_AFTER_END, count);
	if (batch->ids)
		memset(batch->ids, 0, count * sizeof(*batch->ids));
}

/* Pushes events while late events are accepted. */
static void push_if_open(struct session_profiler *of, const EpprofBatch *batch)
{
	struct session *session = of->session;
	pthread_mutex_lock(&session->storage.lock);
	bool has_ledger = of->submission->has_ledger;
	pthread_mutex_unlock(&session->storage.lock);
	/* Events of a profiler without a ledger, and events of one that was given up, are counted by
	 * submission_push. */
	if (has_ledger && !LOAD_RELAXED(&of->is_hung))
		ADD_RELAXED(&session->storage.window.producers[of->producer].emitted, batch->events_count);
	submission_push(of, batch);
}

static void push_late(struct session_profiler *of, EpprofBatch batch)
{
	const EpprofEvent *events = batch.events;
	uint64_t *ids = batch.ids;
	uint64_t count = events ? batch.events_count : 0, at = 0;
	uint64_t unfinished_count = count + batch.unfinished_count;
	bool is_correction = count == 0 && batch.unfinished_count > 0;
	batch.unfinished_count = 0;
	if (!begin_late(of->session)) {
		count_late_lost(of, &batch, count);
		take_unfinished(of, unfinished_count);
		return;
	}
	if (is_correction) {
		take_unfinished(of, unfinished_count);
		end_late(of->session);
		return;
	}
	/* If the batch has events of an earlier run, it is pushed in pieces without them. The parts of the batch that
	 * are no events are pushed with the first piece. */
	do {
		uint64_t first = at;
		while (at < count && is_of_last_run(of->session, &events[at]))
			at++;
		batch.events_count = at - first;
		batch.events = batch.events_count ? events + first : NULL;
		batch.ids = ids ? ids + first : NULL;
		push_if_open(of, &batch);
		batch = (EpprofBatch){ .struct_size = batch.struct_size };
		first = at;
		while (at < count && !is_of_last_run(of->session, &events[at]))
			at++;
		batch.ids = ids ? ids + first : NULL;
		if (at > first)
			count_late_lost(of, &batch, at - first);
	} while (at < count);
	/* Called after the events were stored, so that after a kill in between no event is neither stored nor
	 * counted. */
	take_unfinished(of, unfinished_count);
	end_late(of->session);
}

void session_push_late(void *session_profiler, const EpprofBatch *batch)
{
	EpprofBatch own = { 0 };
	int cancel_state;
	/* The host counts late events, so the profiler's ledger is not used. */
	if (batch)
		memcpy(&own, batch, batch->struct_size < sizeof(own) ? batch->struct_size : sizeof(own));
	own.ledger = NULL;
	/* Cancellation is disabled: this is a thread of the profiler, and the call may wait while it holds the
	 * session's lock. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	push_late(session_profiler, own);
	pthread_setcancelstate(cancel_state, NULL);
}

void session_await_late(struct session *session)
{
	while (session->state == SESSION_LATE || (session->state != SESSION_IDLE && session->is_late))
		pthread_cond_wait(&session->changed, &session->storage.lock);
}

/* ---- calls of the session's owner ---- */

static void wait_while_changing(struct session *session)
{
	while (session->state == SESSION_CHANGING)
		pthread_cond_wait(&session->changed, &session->storage.lock);
}

epp_status *epp_session_end(epp_session *handle)
{
	struct session *session;
	EPP_TRY(find_session(handle, "end", &session));
	pthread_mutex_lock(&session->storage.lock);
	wait_while_changing(session);
	/* Cleared after the wait, because `epprof ctl` may pause the session during it, and resume it after this
	 * call. */
	session->is_paused = false;
	end_run(session);
	return NULL;
}

bool session_pause(epp_session *handle)
{
	struct session *session = session_lock((uintptr_t)handle);
	if (!session)
		return false;
	session->is_paused |= session->state == SESSION_RECORDING;
	return end_run(session);
}

void session_await_resume(struct session *session)
{
	pthread_mutex_lock(&session->storage.lock);
	session->is_paused |= session->state != SESSION_RECORDING;
	pthread_mutex_unlock(&session->storage.lock);
}

epp_status *epp_session_wait(epp_session *handle, uint64_t timeout_ns)
{
	struct session *session;
	EPP_TRY(find_session(handle, "wait", &session));
	struct timespec deadline = thread_deadline(timeout_ns == UINT64_MAX ? 0 : timeout_ns);
	pthread_mutex_lock(&session->storage.lock);
	wait_while_changing(session);
	bool recording = session->state == SESSION_RECORDING;
	bool idle = !recording && wait_idle(session, timeout_ns == UINT64_MAX ? NULL : &deadline);
	pthread_mutex_unlock(&session->storage.lock);
	if (recording)
		return epp_status_create(EPP_WRONG_STATE, "wait: the session is still recording");
	if (!idle)
		return epp_status_create(EPP_TIMEOUT, "wait: the run was not written in time");
	run_error_log(&session->storage.error);
	return run_error_take(&session->storage.error);
}

/* Leaves the rest of the release to the helper. Returns true if the run has ended meanwhile; the caller then continues
 * with the release itself. */
static bool leave_to_helper(struct session *session)
{
	/* The host may free the data of its log callback as soon as the release has returned, so no call may follow. */
	run_error_end_log(&session->storage.error);
	pthread_mutex_lock(&session->storage.lock);
	bool idle = session->state == SESSION_IDLE;
	session->release_wanted = !idle;
	pthread_mutex_unlock(&session->storage.lock);
	return idle;
}

epp_status *session_stop(epp_session *handle)
{
	struct session *session = session_lock((uintptr_t)handle);
	if (!session)
		return NULL;
	struct timespec deadline = thread_deadline(session->plugin_timeout_ns + session->grace_ns + WRITE_TIMEOUT_NS);
	session->is_stopped = true;
	wait_while_changing(session);
	session->is_paused = false;
	end_run(session);
	/* The owner may have destroyed the session meanwhile; that finishes the file, too. */
	session = session_lock((uintptr_t)handle);
	if (!session)
		return NULL;
	bool is_idle = wait_idle(session, &deadline), exists = session_handle(session) == handle && !session->releasing;
	if (exists && is_idle)
		STORE_RELEASE(&session->state, SESSION_CHANGING);
	pthread_mutex_unlock(&session->storage.lock);
	if (!exists)
		return NULL;
	if (!is_idle)
		return epp_status_create(EPP_TIMEOUT, "stop: the run was not written in time");
	epp_status *status = storage_finish(&session->storage);
	if (set_state(session, SESSION_IDLE))
		session_free_by_helper(session);
	return status;
}

void session_release(struct session *session)
{
	pthread_mutex_lock(&session->storage.lock);
	session->releasing = true; /* no run may start after this one has ended */
	pthread_mutex_unlock(&session->storage.lock);
	epp_status_destroy(epp_session_end(session_handle(session)));
	struct timespec deadline = thread_deadline(session->plugin_timeout_ns + session->grace_ns + WRITE_TIMEOUT_NS);
	pthread_mutex_lock(&session->storage.lock);
	bool idle = wait_idle(session, &deadline);
	pthread_mutex_unlock(&session->storage.lock);
	if (!idle) {
		run_error_log(&session->storage.error);
		idle = leave_to_helper(session);
	}
	if (idle)
		session_free(session);
}

void epp_session_destroy(epp_session *handle)
{
	if (share_give_back(handle))
		return;
	struct session *session = session_of((uintptr_t)handle);
	if (!session)
		return;
	/* Another thread may be releasing the session, or may have released it already. */
	pthread_mutex_lock(&session->storage.lock);
	bool first = session_handle(session) == handle && session->state != SESSION_FREE && !session->releasing;
	session->releasing |= first;
	pthread_mutex_unlock(&session->storage.lock);
	if (first)
		session_release(session);
}
