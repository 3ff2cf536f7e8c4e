/* The requests of `epprof ctl`, which control/server.h describes. They concern all sessions of the process. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/os.h"
#include "base/thread.h"
#include "control/server.h"
#include "record/session.h"
#include "record/shared_sessions.h"

/* Writes the value of a field. Control characters are replaced by '?', because a tab or a line end would begin another
 * field. */
static void put_value(FILE *answer, const char *value)
{
	for (; *value; value++)
		putc(iscntrl((unsigned char)*value) ? '?' : *value, answer);
}

static void put_error(FILE *answer, const char *text)
{
	fputs("error\t", answer);
	put_value(answer, text);
	putc('\n', answer);
}

/* ---- status ---- */

static const char *state_of(const struct session *session)
{
	switch (session->state) {
	case SESSION_RECORDING:
		return "recording";
	case SESSION_ASKING:
	case SESSION_DRAINING:
		return session->is_paused ? "paused" : "ending";
	default:
		return session->is_stopped ? "stopped" : session->is_paused ? "paused" : "idle";
	}
}

/* Returns the number of events of threads and profilers, including lost ones. */
static uint64_t emitted(const struct session *session)
{
	uint64_t events = slots_emitted(&session->storage.slots);
	for (uint32_t i = 0; i < session->profilers_count; i++)
		events += LOAD_RELAXED(&session->storage.window.producers[i].emitted);
	return events;
}

/* Writes the state and the counts of a session. The session's lock is held. */
static void put_session(FILE *answer, const struct session *session)
{
	const struct window *window = &session->storage.window;
	struct stat st;
	uint64_t bytes = window->fd >= 0 && fstat(window->fd, &st) == 0 && (size_t)st.st_size > window->bytes
	                     ? (uint64_t)st.st_size - window->bytes
	                     : 0;
	fprintf(answer,
	        "session=%" PRIu32 "\tstate=%s\ttime_ns=%" PRId64 "\tevents=%" PRIu64 "\tlost=", session->index + 1,
	        state_of(session), thread_now_ns(), emitted(session));
	for (unsigned reason = 0; reason < EPF_LOSS_COUNT; reason++)
		fprintf(answer, "%s%" PRIu64, reason ? "," : "", session_lost(session, (epp_loss)reason));
	fprintf(answer, "\tbytes=%" PRIu64 "\tevent_cost_ps=%" PRIu64 "\twrite_cpu_ns=%" PRIu64 "\toutput=", bytes,
	        LOAD_RELAXED(&window->live->event_cost_ps), LOAD_RELAXED(&window->live->write_cpu_ns));
	put_value(answer, session->storage.path ? session->storage.path : "");
	putc('\n', answer);
}

static void status(FILE *answer)
{
	fprintf(answer, "ok\tpid=%d\tprogram=", (int)getpid());
	put_value(answer, os_program());
	putc('\n', answer);
	for (uint32_t i = 0; i < SESSION_COUNT_MAX; i++) {
		struct session *session = session_lock_at(i);
		if (!session)
			continue;
		put_session(answer, session);
		pthread_mutex_unlock(&session->storage.lock);
	}
}

/* ---- pause, resume, stop ---- */

/* Returns the handle of an entry of the table; NULL if the entry is free. */
static epp_session *handle_at(uint32_t index)
{
	struct session *session = session_lock_at(index);
	if (!session)
		return NULL;
	epp_session *handle = session_handle(session);
	pthread_mutex_unlock(&session->storage.lock);
	return handle;
}

static bool pause_one(epp_session *handle, epp_status **failure)
{
	(void)failure;
	return session_pause(handle);
}

static bool resume_one(epp_session *handle, epp_status **failure)
{
	epp_status *result = session_resume(handle);
	bool done = !result;
	if (epp_status_code(result) == EPP_WRONG_STATE) {
		epp_status_destroy(result); /* the session was not paused, which is no failure */
		result = NULL;
	}
	*failure = result;
	return done;
}

static bool stop_one(epp_session *handle, epp_status **failure)
{
	*failure = session_stop(handle);
	return !*failure;
}

/* Calls `act` for each session. Answers with the first failure or, if there was none, with the number of sessions for
 * which `act` returned true. If that is 0, the answer is the error `nothing`. */
static void for_each(FILE *answer, bool (*act)(epp_session *handle, epp_status **failure), const char *nothing)
{
	epp_status *first = NULL;
	uint32_t count = 0;
	for (uint32_t i = 0; i < SESSION_COUNT_MAX; i++) {
		epp_session *handle = handle_at(i);
		epp_status *failure = NULL;
		count += handle && act(handle, &failure);
		if (first)
			epp_status_destroy(failure);
		else
			first = failure;
	}
	if (first)
		put_error(answer, epp_status_message(first));
	else if (!count)
		put_error(answer, nothing);
	else
		fprintf(answer, "ok\tsessions=%" PRIu32 "\n", count);
	epp_status_destroy(first);
}

/* Resumes all paused sessions. Sessions that are created later do not begin paused either. */
static void resume(FILE *answer)
{
	share_resume();
	for_each(answer, resume_one, "no session is paused");
}

void control_answer(const char *request, FILE *answer)
{
	if (strcmp(request, "status") == 0)
		status(answer);
	else if (strcmp(request, "pause") == 0)
		for_each(answer, pause_one, "no session records");
	else if (strcmp(request, "resume") == 0)
		resume(answer);
	else if (strcmp(request, "stop") == 0)
		for_each(answer, stop_one, "there is no session");
	else
		put_error(answer, "this request is unknown to the process; its epprof may have another version");
}
