/* Sessions that several users of a process share, and the session that EPPROF_OUTPUT requests.
 *
 * A shared session has a count of shares: the first user creates and starts it, the last release ends and frees it. One
 * lock is held during these operations, so that no user finds a session that is being released, or opens its file a
 * second time. The expanded paths are compared. If two different paths name the same file, the second open fails
 * because of the file's lock.
 *
 * EPPROF_FROM_NS and EPPROF_UNTIL_NS limit the recording into EPPROF_OUTPUT to a time range, which is the same in all
 * processes of a program. A separate thread starts and ends the sessions.
 *
 * With EPPROF_START_PAUSED, sessions that record into EPPROF_OUTPUT are paused from the beginning, until the first
 * `epprof ctl resume`. */
#include "record/shared_sessions.h"

#include <bsd/libutil.h>
#include <bsd/stdlib.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/os/os.h"
#include "base/thread.h"
#include "record/process.h"

#define PER_SESSION "%session%"

static pthread_mutex_t share_lock = PTHREAD_MUTEX_INITIALIZER;
static bool default_is_free; /* the path has %session%, so the file of the default session is for one user, and no user
                                has taken it yet */

/* The process has a default session in which only bridges record. It is kept for the next bridge, and records from the
 * start of the first bridge to the end of the last one. */
static bool default_is_kept;

static bool output_is_made;  /* a session has written to EPPROF_OUTPUT */
static bool output_is_taken; /* another process writes EPPROF_OUTPUT: the files of this process have its pid in their
                                names */

/* The time range of the output. Protected by share_lock, except for the times, which do not change while the thread
 * runs. */
static struct {
	int64_t from_ns, until_ns; /* CLOCK_MONOTONIC; 0: no limit */
	bool has_thread;
	bool is_early; /* sessions are created idle, and the thread starts them */
	bool is_over;  /* the time range has ended: no session is created any more */
} range;

/* Whether sessions of the output are paused from the beginning. Protected by share_lock. */
static enum { START_UNKNOWN, START_PAUSED, START_AT_ONCE } start_mode;

/* Defined by a bridge whose runs are ended by the framework. Such a bridge delivers the events of a run after the time
 * range has ended, and the session stays open until then. */
extern const char epprof_bridge_ends_runs[] __attribute__((weak, visibility("default")));

/* Returns whether sessions of the output begin paused. share_lock is held. */
static bool starts_paused(void)
{
	if (start_mode == START_UNKNOWN) {
		const char *setting = os_variable("EPPROF_START_PAUSED");
		start_mode = setting && strcmp(setting, "1") == 0 ? START_PAUSED : START_AT_ONCE;
	}
	return start_mode == START_PAUSED;
}

void share_resume(void)
{
	pthread_mutex_lock(&share_lock);
	start_mode = START_AT_ONCE;
	pthread_mutex_unlock(&share_lock);
}

/* ---- one session, several users ---- */

/* Starts a session, or pauses it if sessions of the output begin paused. */
static epp_status *start(struct session *session)
{
	if (!session->is_output || !starts_paused())
		return epp_session_start(session_handle(session));
	session_await_resume(session);
	return NULL;
}

static epp_status *create_session(const epp_session_options *options, char *path, bool is_output, epp_session **handle)
{
	EPP_TRY(session_make(options, path, handle));
	struct session *session = session_of((uintptr_t)*handle);
	session->is_output = is_output;
	session->waits = is_output && range.is_early;
	epp_status *status = session->waits ? NULL : start(session);
	if (status) {
		epp_session_destroy(*handle);
		*handle = NULL;
		return status;
	}
	STORE_RELAXED(&session->shares, 1);
	return NULL;
}

static bool is_held_by_default_only(const struct session *session)
{
	return default_is_kept && session->shares == 1 &&
	       (uintptr_t)session_handle(session) == LOAD_RELAXED(&session_default_handle);
}

static epp_status *start_again(struct session *session)
{
	return is_held_by_default_only(session) && !session->waits ? start(session) : NULL;
}

/* Finds the shared session with the path in the options and adds a share, or creates the session with one share.
 * `*made` is set if it was created. If the session is for EPPROF_OUTPUT and the time range has ended, `*handle` is
 * NULL. */
static epp_status *share(const epp_session_options *given, bool is_output, epp_session **handle, bool *made)
{
	epp_session_options options;
	*handle = NULL;
	*made = false;
	process_setup();
	EPP_TRY(session_check_options(given, &options));
	if (!options.path)
		return epp_status_create(EPP_INVALID_ARGUMENT, "session options: a shared session needs a path");
	char *path = process_expand_path(options.path);
	if (!path)
		return epp_status_no_memory();
	epp_status *status = NULL;
	pthread_mutex_lock(&share_lock);
	struct session *session = session_shared_at(path);
	if (is_output && range.is_over) {
		free(path);
	} else if (session) {
		status = start_again(session);
		if (!status) {
			STORE_RELAXED(&session->shares, session->shares + 1);
			*handle = session_handle(session);
		}
		free(path);
	} else {
		status = create_session(&options, path, is_output, handle);
		*made = !status;
	}
	pthread_mutex_unlock(&share_lock);
	return status;
}

epp_status *epp_session_share(const epp_session_options *options, epp_session **handle)
{
	bool made;
	return share(options, false, handle, &made);
}

bool share_give_back(epp_session *handle)
{
	struct session *session = session_of((uintptr_t)handle);
	if (!session || !LOAD_RELAXED(&session->shares))
		return false;
	pthread_mutex_lock(&share_lock);
	/* The exit of the process may have released the session already. */
	session = session_of((uintptr_t)handle);
	if (session && session->shares) {
		STORE_RELAXED(&session->shares, session->shares - 1);
		if (range.is_over && is_held_by_default_only(session))
			STORE_RELAXED(&session->shares, 0);
		if (!session->shares)
			session_release(session);
		else if (is_held_by_default_only(session))
			epp_status_destroy(epp_session_end(handle));
	}
	pthread_mutex_unlock(&share_lock);
	return true;
}

void share_end_all(void)
{
	struct session *session;
	pthread_mutex_lock(&share_lock);
	while ((session = session_shared_at(NULL))) {
		STORE_RELAXED(&session->shares, 0);
		session_release(session);
	}
	pthread_mutex_unlock(&share_lock);
}

void share_fork_child(void)
{
	pthread_mutex_init(&share_lock, NULL);
	default_is_free = default_is_kept = false;
	output_is_taken |= output_is_made;
	range.has_thread = false;
}

/* ---- the time range ---- */

static void begin_range(void)
{
	struct session *session;
	pthread_mutex_lock(&share_lock);
	range.is_early = false;
	while ((session = session_of_output(true))) {
		session->waits = false;
		if (!is_held_by_default_only(session))
			epp_status_destroy(start(session));
	}
	pthread_mutex_unlock(&share_lock);
}

static void end_range(void)
{
	struct session *session;
	pthread_mutex_lock(&share_lock);
	range.is_over = true;
	if (!epprof_bridge_ends_runs)
		STORE_RELEASE(&session_default_handle, 0);
	while (!epprof_bridge_ends_runs && (session = session_of_output(false))) {
		STORE_RELAXED(&session->shares, 0);
		session_release(session);
	}
	pthread_mutex_unlock(&share_lock);
}

static void *keep_range(void *unused)
{
	if (range.from_ns) {
		os_thread_sleep_until(range.from_ns);
		begin_range();
	}
	if (range.until_ns) {
		os_thread_sleep_until(range.until_ns);
		end_range();
	}
	return unused;
}

static epp_status *read_time(const char *variable, int64_t *ns)
{
	const char *text = os_variable(variable), *problem = NULL;
	*ns = text && *text ? strtonum(text, 1, INT64_MAX, &problem) : 0;
	return problem ? epp_status_create(EPP_INVALID_ARGUMENT, "%s=%s: %s", variable, text, problem) : NULL;
}

/* Reads the variables of the time range. If a time is given, starts the thread.  share_lock is held. */
static epp_status *set_up_range(void)
{
	pthread_t thread;
	if (range.has_thread)
		return NULL;
	EPP_TRY(read_time("EPPROF_FROM_NS", &range.from_ns));
	EPP_TRY(read_time("EPPROF_UNTIL_NS", &range.until_ns));
	range.is_early = thread_now_ns() < range.from_ns;
	range.is_over = range.until_ns && thread_now_ns() >= range.until_ns;
	range.has_thread = range.is_early || (range.until_ns && !range.is_over);
	int error = range.has_thread ? thread_start("epprof-range", keep_range, NULL, &thread) : 0;
	range.has_thread &= !error;
	return error ? epp_status_errno(error, "starting epprof's thread") : NULL;
}

/* ---- settings from the environment ---- */

/* Parses a size such as "64M". Checks the text, because expand_number alone accepts any text after the unit. */
static bool read_bytes(const char *text, uint64_t *bytes)
{
	const char *unit = text + strspn(text, "0123456789");
	return unit > text && (!*unit || !unit[1]) && expand_number(text, bytes) == 0;
}

/* Parses "stream", "stop:64M" or "ring:64M". */
static epp_status *read_policy(const char *text, epp_session_options *options)
{
	static const char *const names[] = { "stream", "ring", "stop" };
	const char *colon = strchrnul(text, ':');
	size_t bytes = (size_t)(colon - text);
	uint32_t policy = 0;
	while (policy < 3 && (strlen(names[policy]) != bytes || memcmp(names[policy], text, bytes) != 0))
		policy++;
	bool limited = policy == EPP_POLICY_RING || policy == EPP_POLICY_STOP;
	if (policy == 3 || limited != (*colon != 0) || (limited && !read_bytes(colon + 1, &options->max_bytes)))
		return epp_status_create(EPP_INVALID_ARGUMENT, "must be of the form stream, stop:64M or ring:64M");
	options->policy = policy;
	return session_check_options(options, &(epp_session_options){ 0 });
}

/* Returns "run.%pid%.epp" for "run.epp". Returns NULL if out of memory. */
static char *path_with_pid(const char *path)
{
	size_t bytes = strlen(path);
	size_t ending = bytes >= 4 && !strcmp(path + bytes - 4, ".epp") ? 4 : 0;
	char *made;
	return asprintf(&made, "%.*s.%%pid%%%s", (int)(bytes - ending), path, path + bytes - ending) < 0 ? NULL : made;
}

static epp_status *share_with_pid(epp_session_options options, epp_session **session, bool *made)
{
	char *path = path_with_pid(options.path);
	if (!path)
		return epp_status_no_memory();
	options.path = path;
	epp_status *status = share(&options, true, session, made);
	free(path);
	return status;
}

/* Opens the file. If another process is writing it, opens a file with the pid in its name. */
static epp_status *share_file(const epp_session_options *options, epp_session **session, bool *made)
{
	bool is_taken = LOAD_RELAXED(&output_is_taken);
	epp_status *status = is_taken ? NULL : share(options, true, session, made);
	if (epp_status_code(status) == EPP_BUSY) {
		epp_status_destroy(status);
		is_taken = true;
		STORE_RELAXED(&output_is_taken, true);
	}
	if (is_taken)
		status = share_with_pid(*options, session, made);
	if (!status)
		STORE_RELAXED(&output_is_made, true);
	return status;
}

static epp_status *share_output(const char *path, epp_session **session, bool *made)
{
	epp_session_options options = { .struct_size = sizeof(options), .path = path, .overwrite = 1 };
	pthread_mutex_lock(&share_lock);
	epp_status *status = set_up_range();
	pthread_mutex_unlock(&share_lock);
	EPP_TRY(status);
	const char *policy = os_variable("EPPROF_POLICY");
	if (policy && *policy)
		EPP_TRY(epp_status_prefix(read_policy(policy, &options), "EPPROF_POLICY=%s", policy));
	const char *sync = os_variable("EPPROF_SYNC_MS"), *problem = NULL;
	if (sync && *sync)
		options.sync_ms = (uint32_t)strtonum(sync, 0, UINT32_MAX, &problem);
	if (problem)
		return epp_status_create(EPP_INVALID_ARGUMENT, "EPPROF_SYNC_MS=%s: %s", sync, problem);
	const char *lossless = os_variable("EPPROF_LOSSLESS");
	if (lossless && *lossless)
		options.lossless = (uint32_t)strtonum(lossless, 0, 1, &problem);
	if (problem)
		return epp_status_create(EPP_INVALID_ARGUMENT, "EPPROF_LOSSLESS=%s: %s", lossless, problem);
	const char *buffer = os_variable("EPPROF_BUFFER_BYTES");
	if (buffer && *buffer) {
		if (!read_bytes(buffer, &options.buffer_bytes))
			return epp_status_create(EPP_INVALID_ARGUMENT,
			                         "EPPROF_BUFFER_BYTES=%s: must be of the form 256M", buffer);
		EPP_TRY(epp_status_prefix(session_check_options(&options, &(epp_session_options){ 0 }),
		                          "EPPROF_BUFFER_BYTES=%s", buffer));
	}
	options.include = os_variable("EPPROF_INCLUDE");
	options.exclude = os_variable("EPPROF_EXCLUDE");
	options.schedule = os_variable("EPPROF_SCHEDULE");
	options.step = os_variable("EPPROF_STEP");
	EPP_TRY(epp_status_prefix(schedule_parse(options.schedule, NULL, &(struct schedule){ 0 }, &(bool){ false }),
	                          "EPPROF_SCHEDULE"));
	EPP_TRY(epp_status_prefix(throttle_parse(os_variable("EPPROF_MAX_OVERHEAD"), &options.max_overhead),
	                          "EPPROF_MAX_OVERHEAD"));
	return share_file(&options, session, made);
}

/* Returns the rank of this process in a job; NULL: it has none. */
static const char *find_rank(void)
{
	static const char *const variables[] = { "PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "RANK", "SLURM_PROCID" };
	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		const char *rank = os_variable(variables[i]);
		if (rank && *rank && strspn(rank, "0123456789") == strlen(rank))
			return rank;
	}
	return NULL;
}

/* Returns true if a list such as "0,7" has the number. */
static bool list_has(const char *list, const char *number)
{
	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strtoull(at, NULL, 10) == strtoull(number, NULL, 10))
			return true;
	}
	return false;
}

/* Returns whether this process is recorded, as EPPROF_ONLY_PID and EPPROF_RANKS select it. */
static bool is_recorded(void)
{
	const char *pid = os_variable("EPPROF_ONLY_PID"), *ranks = os_variable("EPPROF_RANKS");
	if (pid && *pid && strtoull(pid, NULL, 10) != (unsigned long long)getpid())
		return false;
	const char *rank = ranks && *ranks ? find_rank() : NULL;
	return !ranks || !*ranks || (rank && list_has(ranks, rank));
}

static const char *output(void)
{
	/* os_variable ignores the variable if the program runs with more rights than its user. */
	const char *path = os_variable("EPPROF_OUTPUT");
	return path && *path && is_recorded() ? path : NULL;
}

static void keep_as_default(epp_session *session)
{
	pthread_mutex_lock(&share_lock);
	if (!session_default_handle) {
		session_of((uintptr_t)session)->shares++;
		default_is_kept = true;
		STORE_RELEASE(&session_default_handle, (uintptr_t)session);
	}
	pthread_mutex_unlock(&share_lock);
}

epp_status *epp_session_share_output(epp_session **session)
{
	const char *path = output();
	bool made;
	*session = NULL;
	process_setup();
	if (!path)
		return NULL;
	/* With one file per session, the first caller takes the default session's file. */
	pthread_mutex_lock(&share_lock);
	struct session *own = default_is_free ? session_of((uintptr_t)epp_session_default()) : NULL;
	default_is_free = false;
	if (own && own->shares) {
		STORE_RELAXED(&own->shares, own->shares + 1);
		*session = session_handle(own);
	}
	pthread_mutex_unlock(&share_lock);
	if (*session)
		return NULL;
	EPP_TRY(share_output(path, session, &made));
	/* With one file for all, the process keeps a share, so that the next caller finds the session. If the program
	 * created the session itself, no share is kept, because the program may finish the session. */
	if (made && !strstr(path, PER_SESSION))
		keep_as_default(*session);
	return NULL;
}

epp_status *share_default(epp_session **session)
{
	const char *path = output();
	bool made;
	*session = NULL;
	if (!path)
		return NULL;
	default_is_free = strstr(path, PER_SESSION) != NULL;
	return share_output(path, session, &made);
}
