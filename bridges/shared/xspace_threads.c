/* Finds the thread of an XSpace line by inverting libstdc++'s hash; see xspace_threads.h. */
#include "xspace_threads.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define HASH_FACTOR UINT64_C(0xc6a4a7935bd1e995)
#define HASH_INVERSE UINT64_C(0x5f7a0ea7e59b19bd)
#define HASH_SEED UINT64_C(0xc70f6907)
#define NOTED_MAX 4096u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	uint64_t handle;
	uint32_t thread;
} noted[NOTED_MAX];

static uint64_t undo_shift(uint64_t hash)
{
	return hash ^ hash >> 47;
}

/* Inverts the murmur hash of libstdc++: finds the 8 bytes, a pthread_t, whose hash is the line's id. */
uint64_t xspace_thread_handle(int64_t line_id)
{
	uint64_t hash = (uint64_t)line_id;
	uint64_t mixed = undo_shift(undo_shift(hash) * HASH_INVERSE) * HASH_INVERSE;
	mixed ^= HASH_SEED ^ 8 * HASH_FACTOR;
	return undo_shift(mixed * HASH_INVERSE) * HASH_INVERSE;
}

/* Returns true if the memory of a thread's struct, to which the pthread_t points, can be read.  If the thread has
 * ended, it may be unmapped.  The C library stores the thread's id within the bytes that are tested. */
static bool is_readable(uint64_t at)
{
	char bytes[1024];
	struct iovec here = { bytes, sizeof(bytes) }, there = { (void *)(uintptr_t)at, sizeof(bytes) };
	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == sizeof(bytes);
}

static bool is_alive(pid_t thread)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/task/%d", thread);
	return access(path, F_OK) == 0;
}

uint32_t xspace_thread(int64_t line_id)
{
	uint64_t handle = xspace_thread_handle(line_id);
	clockid_t clock;
	if ((pthread_t)handle == pthread_self())
		return (uint32_t)syscall(SYS_gettid);
	if (handle % sizeof(void *) || !is_readable(handle) || pthread_getcpuclockid((pthread_t)handle, &clock) != 0)
		return 0;
	/* A clock id contains the inverted thread id, shifted left by the three bits for the kind of clock. */
	pid_t thread = ~(clock >> 3);
	return thread > 0 && is_alive(thread) ? (uint32_t)thread : 0;
}

void xspace_thread_note(uint64_t handle, uint32_t thread)
{
	pthread_mutex_lock(&lock);
	noted[thread % NOTED_MAX].handle = handle;
	noted[thread % NOTED_MAX].thread = thread;
	pthread_mutex_unlock(&lock);
}

uint64_t xspace_thread_noted(uint32_t thread)
{
	pthread_mutex_lock(&lock);
	uint64_t handle = noted[thread % NOTED_MAX].thread == thread ? noted[thread % NOTED_MAX].handle : 0;
	pthread_mutex_unlock(&lock);
	return handle;
}
