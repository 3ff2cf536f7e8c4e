/* The table of sessions; their creation and release. */
#include "record/session.h"
#include "base/options.h"
#include "record/recorder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/gate.h"
#include "base/thread.h"
#include "control/server.h"
#include "record/filter/name_filter.h"
#include "record/process.h"
#include "record/profilers.h"
#include "record/recorder.h"

#define INDEX_BITS 10

/* The limits of epp_session_options.buffer_bytes. The maximum is 65,536 chunks of 64 KiB, which is as many as a reader
 * accepts. */
#define BUFFER_BYTES_MIN (2ull << 20)
#define BUFFER_BYTES_MAX (4ull << 30)

_Static_assert(1u << INDEX_BITS == SESSION_COUNT_MAX, "an index fits");

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct session *table[SESSION_COUNT_MAX]; /* entries are allocated once and never freed */

epp_session *session_handle(const struct session *session)
{
	/* The two low bits, binary 10, distinguish a handle from RECORDER_CACHE_EMPTY, and from every pointer to a
	 * session. */
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
	pthread_mutex_lock(&session->storage.lock);
	/* The state is read atomically, because entry_allocate changes it without this lock. */
	uint32_t state = LOAD_ACQUIRE(&session->state);
	if ((uintptr_t)session_handle(session) == handle && !session->releasing && state != SESSION_FREE &&
	    state != SESSION_NEW)
		return session;
	pthread_mutex_unlock(&session->storage.lock);
	return NULL;
}

struct session *session_lock_at(uint32_t index)
{
	const struct session *session = LOAD_ACQUIRE(&table[index]);
	return session ? session_lock(LOAD_ACQUIRE(&session->generation) << (INDEX_BITS + 2) | index << 2 | 2) : NULL;
}

/* Takes an unused entry of the table.  Returns NULL if out of memory, or if there are 1,024 sessions. */
static struct session *entry_allocate(void)
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
			session->helper.visit = session_visit;
			storage_create(&session->storage);
			thread_cond_init(&session->changed);
			session->state = SESSION_NEW;
			STORE_RELEASE(&table[i], session);
		} else if (LOAD_ACQUIRE(&table[i]->state) == SESSION_FREE) {
			session = table[i];
			STORE_RELAXED(&session->state, SESSION_NEW);
		}
	}
	pthread_mutex_unlock(&table_lock);
	return session;
}

/* Returns an entry to the table.  Handles of the old session become invalid. */
static void entry_free(struct session *session)
{
	/* Both locks are held, because a thread with an old handle checks the generation under one of them. */
	pthread_mutex_lock(&session->storage.lock);
	pthread_mutex_lock(&session->storage.error.lock);
	STORE_RELEASE(&session->generation, session->generation + 1);
	size_t first = offsetof(struct session, is_output);
	memset((char *)session + first, 0, sizeof(*session) - first);
	/* The state changes under the lock, because session_lock_at may find the entry with its new generation. */
	STORE_RELEASE(&session->state, SESSION_FREE);
	pthread_mutex_unlock(&session->storage.error.lock);
	pthread_mutex_unlock(&session->storage.lock);
}

epp_status *session_check_options(const epp_session_options *options, epp_session_options *known)
{
	EPP_TRY(options_take(known, sizeof(*known), options, "epp_session_options"));
	if (known->policy > EPP_POLICY_STOP)
		return epp_status_create(EPP_INVALID_ARGUMENT, "session options: policy %u is unknown", known->policy);
	if (known->lossless > 1)
		return epp_status_create(EPP_INVALID_ARGUMENT, "session options: lossless %u is neither 0 nor 1",
		                         known->lossless);
	/* In a lossless session a recording thread may spend a long time in a write of a block.  Only membarrier shows
	 * reliably when it has left. */
	if (known->lossless && !gate_barrier())
		return epp_status_create(
		    EPP_INCOMPATIBLE, "session options: lossless needs membarrier(2), which this system does not provide");
	if (known->sync_ms && !known->path)
		return epp_status_create(EPP_INVALID_ARGUMENT, "session options: sync_ms needs a file");
	if (known->policy == EPP_POLICY_STOP && known->max_bytes < EPF_SEGMENT_BYTES)
		return epp_status_create(EPP_INVALID_ARGUMENT, "session options: stop needs max_bytes of at least 1 MiB");
	if (known->policy == EPP_POLICY_RING && known->max_bytes < BLOCK_WRITER_RING_BYTES_MIN)
		return epp_status_create(EPP_INVALID_ARGUMENT,
		                         "session options: a ring needs max_bytes of at least %u MiB",
		                         BLOCK_WRITER_RING_BYTES_MIN >> 20);
	if (known->buffer_bytes && (known->buffer_bytes < BUFFER_BYTES_MIN || known->buffer_bytes > BUFFER_BYTES_MAX))
		return epp_status_create(EPP_INVALID_ARGUMENT,
		                         "session options: buffer_bytes must be 0 or from 2 MiB to 4 GiB");
	return NULL;
}

/* The pointer is cleared first, because the child of a fork at this moment would free the filter, too. */
static void free_filter(struct session *session)
{
	struct name_filter *filter = session->filter;
	session->filter = NULL;
	name_filter_destroy(filter);
}

epp_status *session_make(const epp_session_options *options, char *path, epp_session **handle)
{
	struct session *session = entry_allocate();
	if (!session) {
		free(path);
		return epp_status_no_memory();
	}
	struct epf_header header = { 0 };
	process_describe(&header, options->label);
	recorder_read_main_name();
	header.policy = options->policy;
	header.chunk_count = (uint32_t)((options->buffer_bytes + EPF_CHUNK_BYTES - 1) / EPF_CHUNK_BYTES);
	header.features = options->policy == EPP_POLICY_RING ? EPF_FEATURE_RING : 0;
	epp_status *status = name_filter_create(options->include, options->exclude, options->schedule, options->step,
	                                        options->max_overhead, &session->filter);
	if (status)
		free(path);
	else
		status = storage_open(&session->storage, options, path, &header);
	if (status) {
		free_filter(session);
		entry_free(session);
		return status;
	}
	session->plugin_timeout_ns = options->plugin_timeout_ns ? options->plugin_timeout_ns : worker_timeout_ns();
	if (session->plugin_timeout_ns > WORKER_TIMEOUT_MAX_NS)
		session->plugin_timeout_ns = WORKER_TIMEOUT_MAX_NS;
	session->grace_ns = options->grace_ns ? options->grace_ns : worker_grace_ns();
	if (session->grace_ns > WORKER_TIMEOUT_MAX_NS)
		session->grace_ns = WORKER_TIMEOUT_MAX_NS;
	LIST_INIT(&session->recorders);
	pthread_mutex_lock(&session->storage.lock);
	STORE_RELEASE(&session->state, SESSION_IDLE);
	pthread_mutex_unlock(&session->storage.lock);
	*handle = session_handle(session);
	control_start();
	return NULL;
}

epp_status *epp_session_create(const epp_session_options *given, epp_session **handle)
{
	epp_session_options options;
	*handle = NULL;
	process_setup();
	EPP_TRY(session_check_options(given, &options));
	char *path = options.path ? process_expand_path(options.path) : NULL;
	if (options.path && !path)
		return epp_status_no_memory();
	return session_make(&options, path, handle);
}

struct session *session_shared_at(const char *path)
{
	struct session *found = NULL;
	pthread_mutex_lock(&table_lock);
	for (uint32_t i = 0; i < SESSION_COUNT_MAX && table[i] && !found; i++)
		if (LOAD_RELAXED(&table[i]->shares) && (!path || !strcmp(table[i]->storage.path, path)))
			found = table[i];
	pthread_mutex_unlock(&table_lock);
	return found;
}

struct session *session_of_output(bool waits)
{
	struct session *found = NULL;
	pthread_mutex_lock(&table_lock);
	for (uint32_t i = 0; i < SESSION_COUNT_MAX && table[i] && !found; i++)
		if (LOAD_RELAXED(&table[i]->shares) && table[i]->is_output && (!waits || table[i]->waits))
			found = table[i];
	pthread_mutex_unlock(&table_lock);
	return found;
}

/* The part of a release that foreign code cannot delay. */
static void finish(struct session *session)
{
	helper_remove(&session->helper);
	profilers_detach(session);
	storage_close(&session->storage);
	free_filter(session);
	if (!session->calls_stay)
		free(session->calls);
}

void session_free(struct session *session)
{
	finish(session);
	profilers_release(session, true);
	entry_free(session);
}

void session_free_by_helper(struct session *session)
{
	finish(session);
	profilers_release(session, false);
	entry_free(session);
}

void session_lose(uintptr_t handle, epp_loss reason, uint64_t count)
{
	struct session *session = session_of(handle);
	if (!session)
		return;
	/* If the session was released meanwhile, the entry has no window, or belongs to another session. */
	pthread_mutex_lock(&session->storage.error.lock);
	if ((uintptr_t)session_handle(session) == handle && session->storage.window.live)
		ADD_RELAXED(&session->storage.window.live->lost[reason], count);
	pthread_mutex_unlock(&session->storage.error.lock);
}

uint64_t session_lost(const struct session *session, epp_loss reason)
{
	uint64_t lost = storage_lost(&session->storage, reason);
	/* Losses by the drain are in the slot's ledger and in the profiler's ledger.  They are added only once here. */
	for (uint32_t i = 0; i < session->profilers_count && reason != EPP_LOSS_DISK && reason != EPP_LOSS_POLICY; i++)
		lost += LOAD_RELAXED(&session->storage.window.producers[i].lost[reason]);
	return lost;
}

uint64_t epp_session_lost(epp_session *handle, epp_loss reason)
{
	if ((unsigned)reason >= EPF_LOSS_COUNT)
		return 0;
	struct session *session = session_lock(handle ? (uintptr_t)handle : LOAD_RELAXED(&session_default_handle));
	if (!session)
		return 0;
	uint64_t lost = session_lost(session, reason);
	pthread_mutex_unlock(&session->storage.lock);
	return lost;
}

size_t epp_session_read(epp_session *handle, uint64_t offset, void *buffer, size_t bytes)
{
	struct session *session = session_of(handle ? (uintptr_t)handle : LOAD_RELAXED(&session_default_handle));
	errno = 0;
	return session ? storage_read(&session->storage, offset, buffer, bytes) : 0;
}

void session_fork_child(void)
{
	pthread_mutex_init(&table_lock, NULL);
	for (uint32_t i = 0; i < SESSION_COUNT_MAX; i++) {
		struct session *session = table[i];
		if (!session)
			continue;
		bool is_open = session->state != SESSION_FREE;
		storage_fork_child(&session->storage, is_open);
		thread_cond_init(&session->changed);
		session->helper.added = false; /* the helper's thread exists only in the parent */
		session->shares = 0;
		session->pushes = 0;
		name_filter_fork_child(session->filter);
		if (is_open)
			entry_free(session);
	}
}
