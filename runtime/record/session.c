/* The table of sessions; their creation and release. */
#include "record/session.h"
#include "base/options.h"

#include <bsd/string.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/gate.h"
#include "base/thread.h"
#include "record/describe.h"
#include "record/process.h"
#include "record/profilers/profilers.h"
#include "record/tracks.h"
#include "storage/drain.h"
#include "storage/helper.h"
#include "storage/sync.h"
#include "storage/window/chunk_pool.h"

#define INDEX_BITS 10
#define MEMORY_BYTES_DEFAULT (256ull << 20)

_Static_assert(1u << INDEX_BITS == SESSION_COUNT_MAX, "an index fits");

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct session *table[SESSION_COUNT_MAX]; /* entries are allocated once and never freed */

epp_session *session_handle(const struct session *session)
{
	/* The low bits 10 distinguish a handle from RECORDER_CACHE_EMPTY and from any pointer to a session. */
	return (epp_session *)(uintptr_t)((session->generation << INDEX_BITS | session->index) << 2 | 2);
}

struct session *session_of(uintptr_t handle)
{
	if ((handle & 3) != 2)
		return NULL;
	struct session *session = LOAD_ACQUIRE(&table[handle >> 2 & (SESSION_COUNT_MAX - 1)]);
	return session && LOAD_ACQUIRE(&session->generation) == handle >> 2 >> INDEX_BITS ? session : NULL;
}

struct session *session_lock(uintptr_t handle)
{
	struct session *session = session_of(handle);
	if (!session)
		return NULL;
	pthread_mutex_lock(&session->lock);
	if ((uintptr_t)session_handle(session) == handle && !session->releasing && session->state != SESSION_FREE)
		return session;
	pthread_mutex_unlock(&session->lock);
	return NULL;
}

/* Takes an unused entry of the table; NULL: no memory, or 1,024 sessions exist. */
static struct session *entry_take(void)
{
	struct session *session = NULL;
	pthread_mutex_lock(&table_lock);
	for (uint32_t i = 0; i < SESSION_COUNT_MAX && !session; i++) {
		if (!table[i]) {
			session = calloc(1, sizeof(*session));
			if (!session)
				break;
			session->index = i;
			session->generation = 1;
			session->window.fd = session->window.mapped_fd = session->writer.fd = -1;
			session->scratch = malloc(SESSION_SCRATCH_BYTES);
			pthread_mutex_init(&session->drain_lock, NULL);
			pthread_mutex_init(&session->lock, NULL);
			pthread_mutex_init(&session->log_lock, NULL);
			pthread_mutex_init(&session->error_lock, NULL);
			thread_cond_init(&session->changed);
			session->state = SESSION_IDLE;
			STORE_RELEASE(&table[i], session);
		} else if (LOAD_ACQUIRE(&table[i]->state) == SESSION_FREE) {
			session = table[i];
			STORE_RELAXED(&session->state, SESSION_IDLE);
		}
	}
	pthread_mutex_unlock(&table_lock);
	if (session && !session->scratch && !(session->scratch = malloc(SESSION_SCRATCH_BYTES))) {
		STORE_RELEASE(&session->state, SESSION_FREE);
		return NULL;
	}
	return session;
}

/* Returns an entry to the table; stale handles stop matching. The members from `path` to `scratch` are zeroed. */
static void entry_return(struct session *session)
{
	/* A thread with a stale handle checks the generation under one of these locks. */
	pthread_mutex_lock(&session->lock);
	pthread_mutex_lock(&session->error_lock);
	STORE_RELEASE(&session->generation, session->generation + 1);
	size_t first = offsetof(struct session, path);
	memset((char *)session + first, 0, offsetof(struct session, scratch) - first);
	session->window.fd = session->window.mapped_fd = session->writer.fd = -1;
	pthread_mutex_unlock(&session->error_lock);
	pthread_mutex_unlock(&session->lock);
	STORE_RELEASE(&session->state, SESSION_FREE);
}

epp_status *session_check_options(const epp_session_options *options, epp_session_options *known)
{
	EPP_TRY(options_take(known, sizeof(*known), options, "session options"));
	if (!options)
		return NULL;
	if (options->struct_size < offsetof(epp_session_options, policy))
		return epp_status_create(EPP_INVALID_ARGUMENT, "session options: struct_size %zu is too small",
		                         options->struct_size);
	if (known->policy > EPP_POLICY_STOP)
		return epp_status_create(EPP_INVALID_ARGUMENT, "session options: policy %u is unknown", known->policy);
	if (known->lossless > 1)
		return epp_status_create(EPP_INVALID_ARGUMENT, "session options: lossless %u is neither 0 nor 1",
		                         known->lossless);
	/* A thread may be writing for a long time: without membarrier there is no way to know when it has left. */
	if (known->lossless && !gate_barrier())
		return epp_status_create(EPP_INCOMPATIBLE,
		                         "session options: lossless needs membarrier(2), which is not to be had here");
	if (known->sync_ms && !known->path)
		return epp_status_create(EPP_INVALID_ARGUMENT, "session options: sync_ms is for a file");
	if (known->policy == EPP_POLICY_STOP && known->max_bytes < EPF_SEGMENT_BYTES)
		return epp_status_create(EPP_INVALID_ARGUMENT, "session options: stop needs max_bytes of at least 1 MiB");
	if (known->policy == EPP_POLICY_RING && known->max_bytes < BLOCK_WRITER_RING_BYTES_MIN)
		return epp_status_create(EPP_INVALID_ARGUMENT,
		                         "session options: a ring needs max_bytes of at least %u MiB",
		                         BLOCK_WRITER_RING_BYTES_MIN >> 20);
	return NULL;
}

static bool begin_writer(struct session *session, const epp_session_options *options)
{
	uint64_t limit = options->max_bytes;
	if (options->policy == EPP_POLICY_RING)
		return block_writer_init_ring(&session->writer, session->window.fd, limit);
	if (options->policy != EPP_POLICY_STOP)
		limit = 0;
	if (!options->path)
		limit = options->memory_bytes ? options->memory_bytes : MEMORY_BYTES_DEFAULT;
	block_writer_init(&session->writer, session->window.fd, limit);
	return true;
}

epp_status *session_make(const epp_session_options *options, char *path, epp_session **handle)
{
	struct session *session = entry_take();
	if (!session) {
		free(path);
		return epp_status_no_memory();
	}
	struct epf_header header = { 0 };
	describe_process(&header, options->label);
	header.policy = options->policy;
	header.features = options->policy == EPP_POLICY_RING ? EPF_FEATURE_RING : 0;
	session->path = path;
	epp_status *status = path ? window_open_file(path, options->overwrite, &header, &session->window)
	                          : window_open_memory(&header, &session->window);
	if (status) {
		free(session->path);
		entry_return(session);
		return status;
	}
	if (options->sync_ms)
		status = sync_begin(path, session->window.elsewhere, options->sync_ms, &session->sync);
	if (!status && !begin_writer(session, options))
		status = epp_status_no_memory();
	if (status) {
		sync_end(session->sync);
		window_close(&session->window, 0, 0);
		free(session->path);
		entry_return(session);
		return status;
	}
	session->policy = options->policy;
	session->lossless = options->lossless;
	session->log = options->log;
	session->log_user = options->log_user;
	session->plugin_timeout_ns = options->plugin_timeout_ns ? options->plugin_timeout_ns : worker_timeout_ns();
	LIST_INIT(&session->recorders);
	STORE_RELAXED(&session->slots_free, EPF_SLOT_COUNT);
	STAILQ_INIT(&session->tracks_new);
	session->tracks_end = 1;
	session->names_written = 1;
	session->next_sequence = 1;
	chunks_init(session);
	tracks_names_begin(session);
	*handle = session_handle(session);
	return NULL;
}

epp_status *epp_session_create(const epp_session_options *given, epp_session **handle)
{
	epp_session_options options;
	*handle = NULL;
	process_setup();
	EPP_TRY(session_check_options(given, &options));
	char *path = options.path ? describe_path(options.path) : NULL;
	if (options.path && !path)
		return epp_status_no_memory();
	return session_make(&options, path, handle);
}

struct session *session_shared_at(const char *path)
{
	struct session *found = NULL;
	pthread_mutex_lock(&table_lock);
	for (uint32_t i = 0; i < SESSION_COUNT_MAX && table[i] && !found; i++)
		if (LOAD_RELAXED(&table[i]->shares) && (!path || !strcmp(table[i]->path, path)))
			found = table[i];
	pthread_mutex_unlock(&table_lock);
	return found;
}

/* Finishes and closes the window. A window that a recorder may still write to is not unmapped; one with data that could
 * not be written is not marked as finished. */
static void window_let_go(struct session *session)
{
	bool all_written = !session->definitions_due && !session->accounts_due &&
	                   LOAD_RELAXED(&session->slots_free) == EPF_SLOT_COUNT;
	int error = all_written ? window_finish(&session->window) : 0;
	if (error)
		session_fail(session, EPP_BLAME_SYSTEM, epp_status_errno(error, "%s", session->path));
	pthread_mutex_lock(&session->error_lock);
	if (session->unsafe_to_unmap) {
		window_abandon(&session->window);
	} else {
		if (all_written && !error)
			window_shrink(&session->window, session->sync != NULL);
		window_close(&session->window, session->slots_used, session->chunks_used);
	}
	pthread_mutex_unlock(&session->error_lock);
}

/* Everything that foreign code cannot delay. */
static void finish(struct session *session)
{
	helper_remove(session);
	tracks_names_end(session);
	profilers_detach(session);
	pthread_mutex_lock(&session->drain_lock);
	drain_own_losses(session);
	drain_without_run(session);
	window_let_go(session);
	sync_end(session->sync);
	block_writer_deinit(&session->writer);
	pthread_mutex_unlock(&session->drain_lock);
	session_tell(session);
	tracks_free(session);
	if (!session->calls_stay)
		free(session->calls);
	free(session->path);
	epp_status_release(session->first_error);
}

void session_free(struct session *session)
{
	finish(session);
	profilers_release(session, true);
	entry_return(session);
}

void session_free_by_helper(struct session *session)
{
	finish(session);
	profilers_release(session, false);
	entry_return(session);
}

/* A hung plugin is always reported, in addition to an earlier error. */
static epp_status *with_both(epp_status *first, epp_status *second)
{
	epp_status *both = epp_status_create(epp_status_code(first), "%s; %s", epp_status_message(first),
	                                     epp_status_message(second));
	epp_status_release(first);
	epp_status_release(second);
	return both;
}

void session_fail(struct session *session, epp_blame blame, epp_status *status)
{
	pthread_mutex_lock(&session->error_lock);
	if (!session->first_error) {
		session->first_error = status;
		session->first_blame = blame;
		session->error_told = false;
		status = NULL;
	} else if (epp_status_code(status) == EPP_TIMEOUT) {
		session->first_error = with_both(session->first_error, status);
		session->error_told = false;
		status = NULL;
	}
	pthread_mutex_unlock(&session->error_lock);
	epp_status_release(status);
}

void session_tell(struct session *session)
{
	char text[512];
	pthread_mutex_lock(&session->error_lock);
	bool due = session->log && session->first_error && !session->error_told;
	session->error_told |= due;
	epp_blame blame = session->first_blame;
	epp_log_fn log = session->log;
	if (due)
		strlcpy(text, epp_status_message(session->first_error), sizeof(text));
	session->telling += due;
	pthread_mutex_unlock(&session->error_lock);
	if (!due)
		return;
	log(session->log_user, blame, text);
	pthread_mutex_lock(&session->error_lock);
	session->telling--;
	pthread_mutex_unlock(&session->error_lock);
}

void session_lose(uintptr_t handle, epp_loss reason, uint64_t count)
{
	struct session *session = session_of(handle);
	if (!session)
		return;
	/* The session may have been released meanwhile: it then has no window, or belongs to another user. */
	pthread_mutex_lock(&session->error_lock);
	if ((uintptr_t)session_handle(session) == handle && session->window.live)
		ADD_RELAXED(&session->window.live->lost[reason], count);
	pthread_mutex_unlock(&session->error_lock);
}

uint64_t epp_session_lost(epp_session *handle, epp_loss reason)
{
	if ((unsigned)reason >= EPF_LOSS_COUNT)
		return 0;
	struct session *session = session_lock(handle ? (uintptr_t)handle : LOAD_RELAXED(&session_default_handle));
	if (!session)
		return 0;
	uint64_t lost = session->lost_before[reason] + LOAD_RELAXED(&session->window.live->lost[reason]);
	if (reason == EPP_LOSS_POLICY)
		lost += block_writer_overwritten(&session->writer);
	for (uint32_t i = 0; i < session->slots_used; i++) {
		const struct epf_slot *slot = &session->window.slots[i];
		lost += LOAD_RELAXED(&slot->lost[reason]);
		if (reason == EPP_LOSS_DISK)
			lost += LOAD_RELAXED(&slot->drain_lost_disk);
		if (reason == EPP_LOSS_POLICY)
			lost += LOAD_RELAXED(&slot->drain_lost_policy);
	}
	/* Losses of the drain are in both the slot's ledger and the profiler's, so they are counted once. */
	for (uint32_t i = 0; i < session->profilers_count && reason != EPP_LOSS_DISK && reason != EPP_LOSS_POLICY; i++)
		lost += LOAD_RELAXED(&session->window.producers[i].lost[reason]);
	pthread_mutex_unlock(&session->lock);
	return lost;
}

void session_fork_child(void)
{
	pthread_mutex_init(&table_lock, NULL);
	for (uint32_t i = 0; i < SESSION_COUNT_MAX; i++) {
		struct session *session = table[i];
		if (!session)
			continue;
		/* The threads that held these locks, and the helper, exist only in the parent. */
		pthread_mutex_init(&session->drain_lock, NULL);
		pthread_mutex_init(&session->lock, NULL);
		pthread_mutex_init(&session->log_lock, NULL);
		pthread_mutex_init(&session->error_lock, NULL);
		thread_cond_init(&session->changed);
		session->with_helper = false;
		session->shares = 0;
		if (session->state == SESSION_FREE)
			continue;
		sync_fork_child(session->sync);
		/* The file belongs to the parent. It is closed and unmapped here, so that the child cannot change it.
		 * Heap memory of the session is not freed, because another thread may have been changing it at the
		 * fork. */
		window_drop(&session->window);
		entry_return(session);
	}
}
