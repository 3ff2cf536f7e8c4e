/* The thread that writes full segments to the disk and drops their pages (see writeback.h). */
#include "storage/blocks/writeback.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/os/os.h"
#include "base/thread.h"

struct writeback {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int fd;         /* used only by the writeback thread */
	uint64_t begin; /* everything before this offset was dropped.  This and the members below are protected by the
	                   lock */
	uint64_t end;   /* everything before this offset belongs to full segments */
	unsigned users; /* the block writer and the thread; the last user frees the struct */
	bool ended;
};

static void (*call_now)(int fd, uint64_t offset, uint64_t bytes) = os_file_write_back;

void writeback_inject(void (*call)(int fd, uint64_t offset, uint64_t bytes))
{
	__atomic_store_n(&call_now, call ? call : os_file_write_back, __ATOMIC_SEQ_CST);
}

static void destroy(struct writeback *writeback)
{
	if (writeback->fd >= 0)
		close(writeback->fd);
	pthread_cond_destroy(&writeback->changed);
	pthread_mutex_destroy(&writeback->lock);
	free(writeback);
}

/* Removes one user, and unlocks. */
static void release_and_unlock(struct writeback *writeback)
{
	bool last = --writeback->users == 0;
	pthread_mutex_unlock(&writeback->lock);
	if (last)
		destroy(writeback);
}

static void *loop(void *argument)
{
	struct writeback *writeback = argument;
	pthread_mutex_lock(&writeback->lock);
	while (!writeback->ended) {
		uint64_t begin = writeback->begin, bytes = writeback->end - begin;
		if (!bytes) {
			pthread_cond_wait(&writeback->changed, &writeback->lock);
			continue;
		}
		bytes = bytes < WRITEBACK_BYTES ? bytes : WRITEBACK_BYTES;
		pthread_mutex_unlock(&writeback->lock);
		__atomic_load_n(&call_now, __ATOMIC_SEQ_CST)(writeback->fd, begin, bytes);
		pthread_mutex_lock(&writeback->lock);
		writeback->begin += bytes;
		pthread_cond_signal(&writeback->changed);
	}
	release_and_unlock(writeback);
	return NULL;
}

struct writeback *writeback_begin(int fd, uint64_t begin)
{
	struct writeback *made = calloc(1, sizeof(*made));
	pthread_t thread;
	if (!made)
		return NULL;
	pthread_mutex_init(&made->lock, NULL);
	pthread_cond_init(&made->changed, NULL);
	made->begin = made->end = begin;
	made->users = 2;
	/* The file is opened again, because a duplicate of the descriptor would hold the file's lock until the thread
	 * has ended. */
	made->fd = os_file_open_again(fd);
	if (made->fd >= 0 && thread_start("epprof disk", loop, made, &thread) == 0)
		return made;
	destroy(made);
	return NULL;
}

void writeback_advance(struct writeback *writeback, uint64_t end)
{
	pthread_mutex_lock(&writeback->lock);
	writeback->end = end;
	pthread_cond_signal(&writeback->changed);
	while (writeback->end - writeback->begin > WRITEBACK_BEHIND_MAX)
		pthread_cond_wait(&writeback->changed, &writeback->lock);
	pthread_mutex_unlock(&writeback->lock);
}

void writeback_end(struct writeback *writeback)
{
	if (!writeback)
		return;
	pthread_mutex_lock(&writeback->lock);
	writeback->ended = true;
	pthread_cond_signal(&writeback->changed);
	release_and_unlock(writeback);
}

void writeback_fork_child(struct writeback *writeback)
{
	/* In the child the struct is not freed: its lock may be held by a thread that exists only in the parent. */
	if (writeback)
		close(writeback->fd);
}
