/* Finds the kit_thread of the calling thread, and keeps its stack of open host events.
 *
 * ONNX Runtime interleaves events of several threads and profilers, and may use the same id for two open events.  There
 * is therefore a stack for each thread and profiler, and an id refers to the innermost entry with this id.
 * There is no thread destructor, because ONNX Runtime unloads EP libraries, and the destructor's code would then be
 * unmapped.  A thread finds its kit_thread through a small cache in thread-local storage, keyed by the kit's
 * generation.  When the number of threads has doubled, the kit asks the kernel which threads are alive and reuses
 * the kit_threads of dead ones. */
#ifndef EPPROF_EP_KIT_STACK_H
#define EPPROF_EP_KIT_STACK_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

#define KIT_CACHE_ENTRIES 4u
#define KIT_TID_BITS 32
#define KIT_SWEEP_COUNT 64u
#define KIT_THREAD_ALIGN 64u /* each struct begins at a cache line of its own */

static struct kit_process {
	KIT_ATOMIC(uint64_t) generations;
	KIT_ATOMIC(uint64_t) serials;
	KIT_ATOMIC(uint32_t) token_serials;
} kit_process;

struct kit_cached {
	uint64_t generation;
	struct kit_thread *thread;
};

struct kit_local {
	uint64_t owner;           /* the value for kit_thread.owner */
	struct kit_cached recent; /* a copy of the entry that was used last, which is found without computing its
	                             index */
	struct kit_cached cache[KIT_CACHE_ENTRIES];
};

static KIT_THREAD_LOCAL struct kit_local kit_local;

static inline uint32_t kit_owner_tid(uint64_t owner)
{
	return (uint32_t)owner;
}

static bool kit_tid_lives(const struct kit *kit, uint64_t owner)
{
	return system_thread_lives(kit->process_id, kit_owner_tid(owner));
}

/* Releases the kit_threads of dead threads.  Returns the number of live threads.  In a forked child all threads count
 * as alive, because the parent's threads, including the one that forked, would appear to be dead. */
static size_t kit_threads_sweep(struct kit *kit)
{
	bool child = system_process_id() != kit->process_id;
	size_t living = 0;
	for (struct kit_thread *thread = atomic_load(&kit->threads); thread; thread = thread->next) {
		uint64_t owner = atomic_load(&thread->owner);
		if (owner != 0 && (child || atomic_load(&thread->busy) != 0 || kit_tid_lives(kit, owner)))
			living++;
		else if (owner != 0)
			atomic_compare_exchange_strong(&thread->owner, &owner, 0);
	}
	return living;
}

static struct kit_thread *kit_thread_claim(struct kit *kit)
{
	for (struct kit_thread *thread = atomic_load(&kit->threads); thread; thread = thread->next) {
		uint64_t nobody = 0;
		if (atomic_load_explicit(&thread->owner, memory_order_relaxed) == 0 &&
		    atomic_compare_exchange_strong(&thread->owner, &nobody, kit_local.owner)) {
			/* This load pairs with the dead owner's last store.  From now on the stack belongs to this
			 * thread. */
			(void)atomic_load_explicit(&thread->depth, memory_order_acquire);
			thread->run = 0;
			atomic_store_explicit(&thread->depth, 0, memory_order_release);
			return thread;
		}
	}
	return NULL;
}

static struct kit_thread *kit_thread_add(struct kit *kit)
{
	void *memory = calloc(1, sizeof(struct kit_thread) + KIT_THREAD_ALIGN);
	if (!memory)
		return NULL;
	uintptr_t unaligned = (uintptr_t)memory;
	struct kit_thread *thread = (struct kit_thread *)(void *)((char *)memory +
	                                                          (KIT_THREAD_ALIGN - unaligned % KIT_THREAD_ALIGN));
	thread->memory = memory;
	thread->chunk_bytes = KIT_CHUNK_FIRST_BYTES;
	atomic_store_explicit(&thread->owner, kit_local.owner, memory_order_relaxed);
	thread->next = atomic_load(&kit->threads);
	/* Sequentially consistent, as is EndProfiling's walk through the list.  Either EndProfiling finds this thread,
	 * or this thread sees that the run is over. */
	while (!atomic_compare_exchange_weak(&kit->threads, &thread->next, thread))
		;
	atomic_fetch_add_explicit(&kit->threads_count, 1, memory_order_relaxed);
	return thread;
}

/* The slow path: finds or adds this thread's kit_thread.  Returns NULL if out of memory. */
static KIT_NOINLINE struct kit_thread *kit_thread_find(struct kit *kit)
{
	int saved_errno = errno;
	if (kit_local.owner == 0) {
		uint64_t serial = atomic_fetch_add(&kit_process.serials, 1) + 1;
		kit_local.owner = serial << KIT_TID_BITS | (uint32_t)system_thread_id();
	}
	struct kit_thread *thread = atomic_load(&kit->threads);
	while (thread && atomic_load_explicit(&thread->owner, memory_order_relaxed) != kit_local.owner)
		thread = thread->next;
	if (!thread)
		thread = kit_thread_claim(kit);
	size_t sweep_count = atomic_load(&kit->sweep_count);
	size_t count = atomic_load_explicit(&kit->threads_count, memory_order_relaxed);
	/* There are twice as many threads as were alive at the last search.  One of the threads that notice this
	 * searches for dead threads. */
	if (!thread && count >= sweep_count && atomic_compare_exchange_strong(&kit->sweep_count, &sweep_count, SIZE_MAX)) {
		size_t living = kit_threads_sweep(kit);
		thread = kit_thread_claim(kit);
		atomic_store(&kit->sweep_count, living < KIT_SWEEP_COUNT / 2 ? KIT_SWEEP_COUNT : 2 * living);
	}
	if (!thread)
		thread = kit_thread_add(kit);
	if (thread) {
		struct kit_cached *entry = &kit_local.cache[kit->generation % KIT_CACHE_ENTRIES];
		entry->generation = kit->generation;
		entry->thread = thread;
	}
	errno = saved_errno;
	return thread;
}

static inline struct kit_thread *kit_thread_get(struct kit *kit)
{
	if (kit_likely(kit_local.recent.generation == kit->generation))
		return kit_local.recent.thread;
	const struct kit_cached *entry = &kit_local.cache[kit->generation % KIT_CACHE_ENTRIES];
	struct kit_thread *thread = entry->generation == kit->generation ? entry->thread : kit_thread_find(kit);
	if (thread) {
		kit_local.recent.generation = kit->generation;
		kit_local.recent.thread = thread;
	}
	return thread;
}

/* Returns true if the bit "on" is set in `run`.  Relaxed loads of kit.run are sufficient, because the host orders its
 * calls. */
static inline bool kit_run_is_on(uint32_t run)
{
	return run & 1;
}

/* Returns the depth of the stack in this run.  Drops events that an earlier run left open. */
static inline uint32_t kit_stack_depth(struct kit_thread *thread, uint32_t run)
{
	if (kit_likely(thread->run == run))
		return atomic_load_explicit(&thread->depth, memory_order_relaxed);
	thread->run = run;
	atomic_store_explicit(&thread->overflow_count, 0, memory_order_relaxed);
	atomic_store_explicit(&thread->depth, 0, memory_order_release);
	return 0;
}

static inline void kit_stack_push(struct kit_thread *thread, uint32_t run, uint64_t id, uint64_t token)
{
	uint32_t depth = kit_stack_depth(thread, run);
	if (depth == KIT_OPEN_MAX) {
		uint32_t overflow_count = atomic_load_explicit(&thread->overflow_count, memory_order_relaxed);
		atomic_store_explicit(&thread->overflow_count, overflow_count + 1, memory_order_relaxed);
		return;
	}
	thread->open[depth].id = id;
	thread->open[depth].token = token;
	atomic_store_explicit(&thread->depth, depth + 1, memory_order_release);
}

/* Closes the innermost event with this id, and the events inside it.  Returns the event's token; 0 if no token was
 * taken, or if there is no such event. */
static inline uint64_t kit_stack_pop(struct kit_thread *thread, uint32_t run, uint64_t id)
{
	uint32_t at = kit_stack_depth(thread, run);
	uint32_t overflow_count = atomic_load_explicit(&thread->overflow_count, memory_order_relaxed);
	if (overflow_count > 0) {
		atomic_store_explicit(&thread->overflow_count, overflow_count - 1, memory_order_relaxed);
		return 0;
	}
	while (at > 0 && thread->open[at - 1].id != id)
		at--;
	if (at == 0)
		return 0;
	atomic_store_explicit(&thread->depth, at - 1, memory_order_release);
	return thread->open[at - 1].token;
}

/* Takes `busy`.  Returns false if it is taken already, because EndProfiling is collecting, or because this is a signal
 * handler that interrupted an emit. */
static inline bool kit_thread_enter(struct kit_thread *thread)
{
	return atomic_exchange_explicit(&thread->busy, 1, memory_order_seq_cst) == 0;
}

static inline void kit_thread_leave(struct kit_thread *thread)
{
	atomic_store_explicit(&thread->busy, 0, memory_order_release);
}

/* Takes the thread's `busy` for EndProfiling.  Waits until a running emit ends, but not if the thread died during an
 * emit, or exists only in the parent of a fork. */
static void kit_thread_wait(const struct kit *kit, struct kit_thread *thread)
{
	for (unsigned tries = 0; !kit_thread_enter(thread); tries++) {
		uint64_t owner = atomic_load(&thread->owner);
		if (system_process_id() != kit->process_id || (tries % 256 == 255 && !kit_tid_lives(kit, owner)))
			return;
		system_pause();
	}
}

#endif
