/* Syncs a trace to the disk periodically (see sync.h). The sync includes data stored through a mapping, and the file's
 * size. The name of a new file is part of its directory, which is synced once. */
#include "storage/sync.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/os/os.h"
#include "base/thread.h"

#define SYNC_FILES 3u /* the files: the directory, the trace, an external window file */

struct sync {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int fds[SYNC_FILES]; /* -1: none; used only by the sync thread */
	uint32_t interval_ms;
	unsigned users; /* the session and the thread; the last user frees the struct. This and the members below are
	                   protected by the lock */
	bool ended;
	int error;
};

static int (*injected)(int fd);

void sync_inject(int (*call)(int fd))
{
	__atomic_store_n(&injected, call, __ATOMIC_SEQ_CST);
}

static int sync_file(int fd)
{
	int (*call)(int) = __atomic_load_n(&injected, __ATOMIC_SEQ_CST);
	return call ? call(fd) : os_file_sync(fd);
}

static void destroy(struct sync *sync)
{
	for (unsigned i = 0; i < SYNC_FILES; i++)
		if (sync->fds[i] >= 0)
			close(sync->fds[i]);
	pthread_cond_destroy(&sync->changed);
	pthread_mutex_destroy(&sync->lock);
	free(sync);
}

/* Removes one user, and unlocks. */
static void release_and_unlock(struct sync *sync)
{
	bool last = --sync->users == 0;
	pthread_mutex_unlock(&sync->lock);
	if (last)
		destroy(sync);
}

/* Syncs all files. Returns the errno of the first failure, or 0. */
static int sync_all(struct sync *sync)
{
	int error = 0;
	for (unsigned i = 0; i < SYNC_FILES; i++)
		if (sync->fds[i] >= 0 && sync_file(sync->fds[i]) && !error)
			error = errno;
	if (sync->fds[0] >= 0 && !error) {
		int directory = sync->fds[0];
		sync->fds[0] = -1;
		close(directory);
	}
	return error;
}

static void *loop(void *argument)
{
	struct sync *sync = argument;
	struct timespec due = thread_deadline(sync->interval_ms * UINT64_C(1000000));
	bool last = false;
	pthread_mutex_lock(&sync->lock);
	while (!last) {
		while (!sync->ended && pthread_cond_timedwait(&sync->changed, &sync->lock, &due) != ETIMEDOUT)
			;
		last = sync->ended;
		pthread_mutex_unlock(&sync->lock);
		due = thread_deadline(sync->interval_ms * UINT64_C(1000000));
		int error = sync_all(sync);
		pthread_mutex_lock(&sync->lock);
		if (error && !sync->error)
			sync->error = error;
	}
	release_and_unlock(sync);
	return NULL;
}

epp_status *sync_begin(const char *path, const char *external_path, uint32_t interval_ms, struct sync **sync)
{
	struct sync *made = calloc(1, sizeof(*made));
	*sync = NULL;
	if (!made)
		return epp_status_no_memory();
	pthread_mutex_init(&made->lock, NULL);
	thread_cond_init(&made->changed);
	made->interval_ms = interval_ms;
	made->users = 2;
	made->fds[0] = os_file_open_folder_of(path);
	/* The trace is opened again, because a duplicate of the writer's descriptor would hold the file's lock until
	 * the last sync ends. */
	made->fds[1] = os_file_open(path, true);
	made->fds[2] = external_path ? os_file_open(external_path, true) : -1;
	bool opened = made->fds[0] >= 0 && made->fds[1] >= 0 && (made->fds[2] >= 0 || !external_path);
	pthread_t thread;
	int error = opened ? thread_start("epprof sync", loop, made, &thread) : errno;
	if (error) {
		destroy(made);
		return epp_status_errno(error, "%s: syncing it", path);
	}
	*sync = made;
	return NULL;
}

int sync_take_error(struct sync *sync)
{
	if (!sync)
		return 0;
	pthread_mutex_lock(&sync->lock);
	int error = sync->error;
	sync->error = 0;
	pthread_mutex_unlock(&sync->lock);
	return error;
}

void sync_end(struct sync *sync)
{
	if (!sync)
		return;
	pthread_mutex_lock(&sync->lock);
	sync->ended = true;
	pthread_cond_signal(&sync->changed);
	release_and_unlock(sync);
}

void sync_fork_child(struct sync *sync)
{
	if (!sync)
		return;
	/* In the child the struct is not freed: its lock may be held by a thread that exists only in the parent. */
	for (unsigned i = 0; i < SYNC_FILES; i++)
		if (sync->fds[i] >= 0)
			close(sync->fds[i]);
}
