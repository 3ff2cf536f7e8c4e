/* Sessions that several users of a process share, and the session that the environment requests.
 *
 * A shared session has a count of shares: the first user creates and starts it, the last release ends and frees it. One
 * lock is held during all of that, so that no user finds a session that is being released or opens its file a second
 * time. The expanded paths are compared; if two spellings name the same file, the file's lock makes the second one
 * fail. */
#include "record/share.h"

#include <bsd/libutil.h>
#include <bsd/stdlib.h>
#include <string.h>

#include "record/describe.h"
#include "record/process.h"

#define PER_SESSION "%session%"

static pthread_mutex_t share_lock = PTHREAD_MUTEX_INITIALIZER;
static bool default_is_free; /* its file is for one user (%session%), and no user has taken it yet */

/* The default session of a process in which only bridges record: it is kept for the next bridge, and records from the
 * first one's start to the last one's end. */
static bool default_is_kept;

static bool output_is_made;  /* a session has written to EPPROF_OUTPUT */
static bool output_is_taken; /* by another process: files of this one have the pid in their names */

/* ---- one session, several users ---- */

static epp_status *make(const epp_session_options *options, char *path, epp_session **handle)
{
	EPP_TRY(session_make(options, path, handle));
	epp_status *status = epp_session_start(*handle);
	if (status) {
		epp_session_release(*handle);
		*handle = NULL;
		return status;
	}
	STORE_RELAXED(&session_of((uintptr_t)*handle)->shares, 1);
	return NULL;
}

static bool is_only_kept(const struct session *session)
{
	return default_is_kept && session->shares == 1 &&
	       (uintptr_t)session_handle(session) == LOAD_RELAXED(&session_default_handle);
}

static epp_status *start_again(const struct session *session)
{
	return is_only_kept(session) ? epp_session_start(session_handle(session)) : NULL;
}

/* `*made`: the session did not exist before. */
static epp_status *share(const epp_session_options *given, epp_session **handle, bool *made)
{
	epp_session_options options;
	*handle = NULL;
	*made = false;
	process_setup();
	EPP_TRY(session_check_options(given, &options));
	if (!options.path)
		return epp_status_create(EPP_INVALID_ARGUMENT,
		                         "session options: a session is shared by its path, there is none");
	char *path = describe_path(options.path);
	if (!path)
		return epp_status_no_memory();
	epp_status *status = NULL;
	pthread_mutex_lock(&share_lock);
	struct session *session = session_shared_at(path);
	if (session) {
		status = start_again(session);
		if (!status) {
			STORE_RELAXED(&session->shares, session->shares + 1);
			*handle = session_handle(session);
		}
		free(path);
	} else {
		status = make(&options, path, handle);
		*made = !status;
	}
	pthread_mutex_unlock(&share_lock);
	return status;
}

epp_status *epp_session_share(const epp_session_options *options, epp_session **handle)
{
	bool made;
	return share(options, handle, &made);
}

bool share_give_back(epp_session *handle)
{
	struct session *session = session_of((uintptr_t)handle);
	if (!session || !LOAD_RELAXED(&session->shares))
		return false;
	pthread_mutex_lock(&share_lock);
	/* The process's exit may have released it already. */
	session = session_of((uintptr_t)handle);
	if (session && session->shares) {
		STORE_RELAXED(&session->shares, session->shares - 1);
		if (!session->shares)
			session_release(session);
		else if (is_only_kept(session))
			epp_status_release(epp_session_end(handle));
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
}

/* ---- settings from the environment ---- */

/* Parses a size such as "64M". expand_number alone accepts any text after the unit. */
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
		return epp_status_create(EPP_INVALID_ARGUMENT, "not stream, stop:64M or ring:64M");
	options->policy = policy;
	return session_check_options(options, &(epp_session_options){ 0 });
}

/* Returns "run.%pid%.epp" for "run.epp".  NULL: no memory. */
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
	epp_status *status = share(&options, session, made);
	free(path);
	return status;
}

/* Opens the file, or one with the pid in its name if another process already writes it. */
static epp_status *share_file(const epp_session_options *options, epp_session **session, bool *made)
{
	bool is_taken = LOAD_RELAXED(&output_is_taken);
	epp_status *status = is_taken ? NULL : share(options, session, made);
	if (epp_status_code(status) == EPP_BUSY) {
		epp_status_release(status);
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
	const char *policy = secure_getenv("EPPROF_POLICY");
	if (policy && *policy)
		EPP_TRY(epp_status_prefix(read_policy(policy, &options), "EPPROF_POLICY=%s", policy));
	const char *sync = secure_getenv("EPPROF_SYNC_MS"), *problem = NULL;
	if (sync && *sync)
		options.sync_ms = (uint32_t)strtonum(sync, 0, UINT32_MAX, &problem);
	if (problem)
		return epp_status_create(EPP_INVALID_ARGUMENT, "EPPROF_SYNC_MS=%s: %s", sync, problem);
	const char *lossless = secure_getenv("EPPROF_LOSSLESS");
	if (lossless && *lossless)
		options.lossless = (uint32_t)strtonum(lossless, 0, 1, &problem);
	if (problem)
		return epp_status_create(EPP_INVALID_ARGUMENT, "EPPROF_LOSSLESS=%s: %s", lossless, problem);
	return share_file(&options, session, made);
}

static const char *output(void)
{
	/* secure_getenv: ignored in a program that runs with more rights than its user. */
	const char *path = secure_getenv("EPPROF_OUTPUT");
	return path && *path ? path : NULL;
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
	/* One file per session: the first caller takes the process's own. */
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
	/* One file for all: the process keeps a share so that the next caller finds the session. This is not needed if
	 * the program created the session itself, which may then finish it. */
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
