/* A small hash table of profilers with one lock, which is never held while foreign code runs.  A push increments
 * `inside`, runs outside the lock, and decrements it.  A detach first sets `push` to NULL, so that no other push finds
 * the profiler, then waits until `inside` is 0.  An entry exists while a session or a plugin uses its profiler.  It is
 * removed before Release is called, because another object may have the same address after that. */
#include "ort_abi/profiler_registry.h"

#include "base/os/os.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/queue.h>

#define BUCKETS 64

struct entry {
	LIST_ENTRY(entry) link;
	OrtEpProfilerImpl *profiler;
	profiler_push_fn push;      /* NULL: the profiler is not attached to a session */
	profiler_push_fn push_late; /* NULL: late events are dropped */
	uint64_t grace_ns;
	const void *session;
	void *user;
	unsigned inside;       /* number of pushes that are running */
	unsigned waiting;      /* number of threads that wait for these pushes to return */
	struct worker *worker; /* worker of the plugin that created the profiler; NULL: none */
	atomic_int *live;      /* number of profilers of this plugin, or NULL */
	const char *name;      /* name of this plugin, or NULL */
};
LIST_HEAD(bucket, entry);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t entry_is_idle = PTHREAD_COND_INITIALIZER;
static struct bucket buckets[BUCKETS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fork_prepare(void)
{
	pthread_mutex_lock(&lock);
}

static void fork_parent(void)
{
	pthread_mutex_unlock(&lock);
}

static void fork_child(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	entry_is_idle = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	for (size_t i = 0; i < BUCKETS; i++) {
		struct entry *entry;
		LIST_FOREACH(entry, &buckets[i], link) {
			entry->push = NULL;
			entry->inside = 0;
			entry->waiting = 0;
		}
	}
}

static void set_up(void)
{
	os_at_fork(fork_prepare, fork_parent, fork_child);
}

static struct bucket *bucket_of(const OrtEpProfilerImpl *profiler)
{
	return &buckets[(uintptr_t)profiler * UINT64_C(0x9e3779b97f4a7c15) >> 58];
}

static struct entry *find(const OrtEpProfilerImpl *profiler)
{
	struct entry *entry;
	LIST_FOREACH(entry, bucket_of(profiler), link) {
		if (entry->profiler == profiler)
			return entry;
	}
	return NULL;
}

static struct entry *find_or_make(OrtEpProfilerImpl *profiler)
{
	struct entry *entry = find(profiler);
	if (entry)
		return entry;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return NULL;
	entry->profiler = profiler;
	LIST_INSERT_HEAD(bucket_of(profiler), entry, link);
	return entry;
}

static void free_if_unused(struct entry *entry)
{
	if (entry->push || entry->worker || entry->inside || entry->waiting)
		return;
	LIST_REMOVE(entry, link);
	free(entry);
}

static void close_and_wait(struct entry *entry)
{
	entry->push = NULL;
	entry->waiting++;
	while (entry->inside)
		pthread_cond_wait(&entry_is_idle, &lock);
	entry->waiting--;
}

bool profiler_registry_attach(OrtEpProfilerImpl *profiler, const void *session, profiler_push_fn push, void *user)
{
	pthread_once(&once, set_up);
	pthread_mutex_lock(&lock);
	struct entry *entry = find_or_make(profiler);
	/* If a detach is still waiting, the profiler is not free yet. */
	bool free_to_take = entry && !entry->push && !entry->waiting;
	if (free_to_take) {
		entry->push = push;
		entry->push_late = NULL;
		entry->grace_ns = 0;
		entry->session = session;
		entry->user = user;
	}
	pthread_mutex_unlock(&lock);
	return free_to_take;
}

void profiler_registry_detach(OrtEpProfilerImpl *profiler)
{
	pthread_mutex_lock(&lock);
	struct entry *entry = find(profiler);
	if (entry) {
		close_and_wait(entry);
		free_if_unused(entry);
	}
	pthread_mutex_unlock(&lock);
}

const void *profiler_registry_session(const OrtEpProfilerImpl *profiler)
{
	pthread_mutex_lock(&lock);
	const struct entry *entry = find(profiler);
	const void *session = entry && entry->push ? entry->session : NULL;
	pthread_mutex_unlock(&lock);
	return session;
}

/* Finds the entry of an attached profiler and increments `inside`.  NULL: the profiler is not attached.  Another thread
 * may set entry->push to NULL later, so it is copied to *push. */
static struct entry *enter_entry(const OrtEpProfilerImpl *profiler, profiler_push_fn *push)
{
	pthread_mutex_lock(&lock);
	struct entry *entry = find(profiler);
	if (entry && !entry->push)
		entry = NULL;
	if (entry) {
		*push = entry->push;
		entry->inside++;
	}
	pthread_mutex_unlock(&lock);
	return entry;
}

static void leave_entry(struct entry *entry)
{
	pthread_mutex_lock(&lock);
	/* `inside` may be 0 here in a forked child, because a fork resets it. */
	if (entry->inside && !--entry->inside && entry->waiting)
		pthread_cond_broadcast(&entry_is_idle);
	pthread_mutex_unlock(&lock);
}

void *profiler_registry_enter(OrtEpProfilerImpl *profiler)
{
	profiler_push_fn push;
	struct entry *entry = enter_entry(profiler, &push);
	return entry ? entry->user : NULL;
}

void profiler_registry_leave(OrtEpProfilerImpl *profiler)
{
	pthread_mutex_lock(&lock);
	struct entry *entry = find(profiler);
	pthread_mutex_unlock(&lock);
	/* The entry still exists, because `inside` is not 0. */
	if (entry)
		leave_entry(entry);
}

void profiler_registry_push(OrtEpProfilerImpl *profiler, const EpprofBatch *batch)
{
	profiler_push_fn push;
	struct entry *entry = enter_entry(profiler, &push);
	if (!entry)
		return;
	push(entry->user, batch);
	leave_entry(entry);
}

void profiler_registry_take_late(OrtEpProfilerImpl *profiler, profiler_push_fn push_late, uint64_t grace_ns)
{
	pthread_mutex_lock(&lock);
	struct entry *entry = find(profiler);
	if (entry) {
		entry->push_late = push_late;
		entry->grace_ns = grace_ns;
	}
	pthread_mutex_unlock(&lock);
}

void profiler_registry_push_late(OrtEpProfilerImpl *profiler, const EpprofBatch *batch)
{
	profiler_push_fn push;
	struct entry *entry = enter_entry(profiler, &push);
	if (!entry)
		return;
	/* push_late is set before the profiler is started and not changed later. */
	if (entry->push_late)
		entry->push_late(entry->user, batch);
	leave_entry(entry);
}

uint64_t profiler_registry_grace_ns(OrtEpProfilerImpl *profiler)
{
	pthread_mutex_lock(&lock);
	const struct entry *entry = find(profiler);
	uint64_t grace_ns = entry && entry->push ? entry->grace_ns : 0;
	pthread_mutex_unlock(&lock);
	return grace_ns;
}

bool profiler_registry_own(OrtEpProfilerImpl *profiler, atomic_int *live, struct worker *worker, const char *name)
{
	pthread_once(&once, set_up);
	pthread_mutex_lock(&lock);
	struct entry *entry = find_or_make(profiler);
	bool owned = entry && !entry->worker;
	if (owned) {
		entry->live = live;
		entry->name = name;
		entry->worker = worker_hold(worker);
	}
	pthread_mutex_unlock(&lock);
	return owned;
}

const char *profiler_registry_name(const OrtEpProfilerImpl *profiler)
{
	pthread_mutex_lock(&lock);
	const struct entry *entry = find(profiler);
	const char *name = entry && entry->worker ? entry->name : NULL;
	pthread_mutex_unlock(&lock);
	return name;
}

struct worker *profiler_registry_worker(const OrtEpProfilerImpl *profiler)
{
	struct worker *worker = NULL;
	pthread_mutex_lock(&lock);
	const struct entry *entry = find(profiler);
	if (entry && entry->worker)
		worker = worker_hold(entry->worker);
	pthread_mutex_unlock(&lock);
	return worker ? worker : worker_for(NULL);
}

/* ---- release ---- */

struct release_call {
	struct worker_call call; /* must be first */
	OrtEpProfilerImpl *profiler;
	atomic_int *live;
};

/* Removes the plugin from the entry and detaches the profiler.  The caller releases *worker, which is NULL if no plugin
 * created the profiler. */
static atomic_int *remove_owner(OrtEpProfilerImpl *profiler, struct worker **worker)
{
	atomic_int *live = NULL;
	*worker = NULL;
	pthread_mutex_lock(&lock);
	struct entry *entry = find(profiler);
	if (entry) {
		live = entry->live;
		*worker = entry->worker;
		close_and_wait(entry);
		entry->live = NULL;
		entry->worker = NULL;
		free_if_unused(entry);
	}
	pthread_mutex_unlock(&lock);
	return live;
}

static void release(OrtEpProfilerImpl *profiler, atomic_int *live)
{
	profiler->Release(profiler);
	/* Must be last: after it, the plugin may be unloaded, together with the code of Release. */
	if (live)
		atomic_fetch_sub_explicit(live, 1, memory_order_release);
}

static void release_run(struct worker_call *of)
{
	const struct release_call *call = (struct release_call *)of;
	release(call->profiler, call->live);
}

static void release_discard(struct worker_call *call, bool ran)
{
	(void)ran;
	free(call);
}

static struct worker_call *submit(OrtEpProfilerImpl *profiler, atomic_int *live, struct worker *worker)
{
	struct release_call *call = calloc(1, sizeof(*call));
	if (!call) {
		release(profiler, live);
		return NULL;
	}
	*call = (struct release_call){ { .run = release_run, .discard = release_discard, .is_last = true }, profiler, live };
	worker_submit(worker, &call->call);
	return &call->call;
}

struct worker_call *profiler_release_on(OrtEpProfilerImpl *profiler, struct worker *worker)
{
	struct worker *own;
	atomic_int *live = remove_owner(profiler, &own);
	struct worker_call *call = submit(profiler, live, worker);
	worker_release(own);
	return call;
}

void profiler_release(OrtEpProfilerImpl *profiler)
{
	struct worker *worker;
	if (!profiler)
		return;
	atomic_int *live = remove_owner(profiler, &worker);
	struct worker_call *call = worker ? submit(profiler, live, worker) : NULL;
	if (call)
		worker_abandon(call);
	else if (!worker)
		release(profiler, live);
	worker_release(worker);
}
