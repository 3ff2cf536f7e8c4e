/* Workers, see worker.h. All workers share one lock, which simplifies fork: calls are rare, and the lock is held for a
 * few instructions.
 *
 * A worker's thread starts with its first call. It ends, and frees the worker, when the worker has no holders and its
 * queue is empty. The worker of a hung thread is never freed. */
#include "base/worker.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/os/os.h"
#include "base/thread.h"

#define TIMEOUT_DEFAULT_MS 2000u
#define TIMEOUT_MAX_MS (WORKER_TIMEOUT_MAX_NS / 1000000)

struct worker {
	LIST_ENTRY(worker) link;
	const void *key; /* the key of worker_for; NULL: none */
	unsigned holders;
	pthread_t thread;
	bool has_thread;
	bool is_joined;   /* worker_end joins the thread; otherwise the thread detaches itself */
	bool is_running;  /* the thread is in a call, which is no longer in the queue */
	bool is_hung;     /* a caller has timed out waiting for that call */
	uint64_t budget;  /* the last budget of its calls; 0: none */
	int64_t spent_ns; /* time that calls have taken of this budget */
	STAILQ_HEAD(, worker_call) queue;
	pthread_cond_t changed;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, worker) workers = LIST_HEAD_INITIALIZER(workers);
static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint64_t timeout_ms, grace_ms;
static uint64_t budgets_count;               /* number of budgets that were entered */
static _Thread_local uint64_t thread_budget; /* budget of the thread's calls; 0: none */

/* ---- setup and fork ---- */

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
	struct worker *worker;
	pthread_mutex_init(&lock, NULL);
	LIST_FOREACH(worker, &workers, link) {
		/* In a forked child: the queued calls belong to the parent. */
		STAILQ_INIT(&worker->queue);
		worker->is_hung = worker->has_thread = worker->is_running;
		thread_cond_init(&worker->changed);
	}
}

/* Returns the number of ms in a variable, at most a day. Returns `otherwise` if the number is 0 or the variable has no
 * number. */
static uint64_t read_ms(const char *variable, uint64_t otherwise)
{
	const char *text = os_variable(variable);
	char *end;
	unsigned long long ms = text && *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
	return ms && !*end ? ms < TIMEOUT_MAX_MS ? ms : TIMEOUT_MAX_MS : otherwise;
}

static void set_up(void)
{
	timeout_ms = read_ms("EPPROF_PLUGIN_TIMEOUT_MS", TIMEOUT_DEFAULT_MS);
	grace_ms = read_ms("EPPROF_GRACE_MS", 0);
	os_at_fork(fork_prepare, fork_parent, fork_child);
}

uint64_t worker_timeout_ns(void)
{
	pthread_once(&once, set_up);
	return timeout_ms * 1000000;
}

uint64_t worker_grace_ns(void)
{
	pthread_once(&once, set_up);
	return grace_ms * 1000000;
}

struct timespec worker_deadline(void)
{
	return thread_deadline(worker_timeout_ns());
}

/* ---- budgets ---- */

uint64_t worker_budget_enter(uint64_t budget)
{
	thread_budget = budget ? budget : __atomic_add_fetch(&budgets_count, 1, __ATOMIC_RELAXED);
	return thread_budget;
}

void worker_budget_leave(void)
{
	thread_budget = 0;
}

/* Returns the time that calls have taken of the thread's budget.  The lock is held. */
static int64_t spent_ns(const struct worker *worker)
{
	return thread_budget && worker->budget == thread_budget ? worker->spent_ns : 0;
}

struct timespec worker_deadline_of(struct worker *worker, uint64_t timeout_ns)
{
	pthread_mutex_lock(&lock);
	uint64_t spent = (uint64_t)spent_ns(worker);
	pthread_mutex_unlock(&lock);
	return thread_deadline(spent < timeout_ns ? timeout_ns - spent : 0);
}

/* ---- creation and release ---- */

struct worker *worker_for(const void *key)
{
	struct worker *worker;
	pthread_once(&once, set_up);
	pthread_mutex_lock(&lock);
	LIST_FOREACH(worker, &workers, link)
		if (key && worker->key == key && worker->holders)
			break;
	if (!worker && (worker = calloc(1, sizeof(*worker)))) {
		worker->key = key;
		STAILQ_INIT(&worker->queue);
		thread_cond_init(&worker->changed);
		LIST_INSERT_HEAD(&workers, worker, link);
	}
	if (worker)
		worker->holders++;
	pthread_mutex_unlock(&lock);
	return worker;
}

struct worker *worker_hold(struct worker *worker)
{
	pthread_mutex_lock(&lock);
	worker->holders++;
	pthread_mutex_unlock(&lock);
	return worker;
}

/* Frees a worker. The lock is held. */
static void destroy(struct worker *worker)
{
	LIST_REMOVE(worker, link);
	pthread_cond_destroy(&worker->changed);
	free(worker);
}

void worker_release(struct worker *worker)
{
	if (!worker)
		return;
	pthread_mutex_lock(&lock);
	worker->holders--;
	if (!worker->holders && worker->has_thread)
		pthread_cond_broadcast(&worker->changed);
	else if (!worker->holders)
		destroy(worker);
	pthread_mutex_unlock(&lock);
}

bool worker_end(struct worker *worker)
{
	if (!worker)
		return true;
	pthread_mutex_lock(&lock);
	pthread_t thread = worker->thread;
	bool ends = worker->holders == 1 && !worker->is_running && STAILQ_EMPTY(&worker->queue);
	bool joins = ends && worker->has_thread && !pthread_equal(thread, pthread_self());
	bool has_thread = worker->has_thread;
	worker->is_joined = joins;
	pthread_mutex_unlock(&lock);
	worker_release(worker);
	if (!joins)
		return !has_thread;
	if (os_thread_join(thread, (worker_timeout_ns() / 1000000000 + 1) * 1000000000))
		return true;
	pthread_detach(thread);
	return false;
}

/* ---- the thread ---- */

static void *run_worker(void *argument)
{
	struct worker *worker = argument;
	pthread_mutex_lock(&lock);
	while (worker->holders || !STAILQ_EMPTY(&worker->queue)) {
		struct worker_call *call = STAILQ_FIRST(&worker->queue);
		if (!call) {
			pthread_cond_wait(&worker->changed, &lock);
			continue;
		}
		STAILQ_REMOVE_HEAD(&worker->queue, link);
		worker->is_running = true;
		call->state = WORKER_RUNNING;
		pthread_mutex_unlock(&lock);
		call->run(call);
		pthread_mutex_lock(&lock);
		call->took_ns = thread_now_ns() - call->submitted_ns;
		call->state = WORKER_RETURNED;
		bool is_abandoned = call->is_abandoned;
		pthread_cond_broadcast(&worker->changed);
		if (is_abandoned) {
			/* `discard` may call the plugin again, so the worker counts as hung until `discard` has
			 * returned. */
			pthread_mutex_unlock(&lock);
			call->discard(call, true);
			pthread_mutex_lock(&lock);
		}
		worker->is_running = worker->is_hung = false;
	}
	if (!worker->is_joined)
		pthread_detach(pthread_self());
	destroy(worker);
	pthread_mutex_unlock(&lock);
	return NULL;
}

void worker_submit(struct worker *worker, struct worker_call *call)
{
	pthread_mutex_lock(&lock);
	call->worker = worker;
	call->is_abandoned = false;
	call->submitted_ns = thread_now_ns();
	call->state = WORKER_QUEUED;
	if (!worker->has_thread)
		worker->has_thread = thread_start_joinable(NULL, run_worker, worker, &worker->thread) == 0;
	if (worker->has_thread)
		STAILQ_INSERT_TAIL(&worker->queue, call, link);
	else
		call->state = WORKER_FAILED;
	pthread_cond_broadcast(&worker->changed);
	pthread_mutex_unlock(&lock);
}

/* ---- waiting ---- */

enum worker_result worker_await(struct worker_call *call, const struct timespec *deadline)
{
	struct worker *worker = call->worker;
	enum worker_result result = WORKER_DONE;
	int error = 0;
	pthread_mutex_lock(&lock);
	while (!error && (call->state == WORKER_RUNNING || (call->state == WORKER_QUEUED && !worker->is_hung)))
		error = pthread_cond_timedwait(&worker->changed, &lock, deadline);
	bool did_not_begin = (call->state == WORKER_QUEUED && !call->is_last) || call->state == WORKER_FAILED;
	if (call->state == WORKER_QUEUED) {
		call->is_abandoned = true;
		if (!call->is_last)
			STAILQ_REMOVE(&worker->queue, call, worker_call, link);
		result = WORKER_BUSY;
	} else if (call->state == WORKER_FAILED) {
		result = WORKER_NO_THREAD;
	} else if (call->state == WORKER_RUNNING) {
		call->is_abandoned = worker->is_hung = true;
		pthread_cond_broadcast(&worker->changed);
		result = spent_ns(worker) ? WORKER_SPENT : WORKER_HUNG;
	} else if (thread_budget) {
		worker->spent_ns = spent_ns(worker) + call->took_ns;
		worker->budget = thread_budget;
	}
	pthread_mutex_unlock(&lock);
	if (did_not_begin)
		call->discard(call, false);
	return result;
}

void worker_abandon(struct worker_call *call)
{
	pthread_mutex_lock(&lock);
	/* In these states the worker no longer uses the call. */
	bool is_over = call->state == WORKER_RETURNED || call->state == WORKER_FAILED;
	bool ran = call->state == WORKER_RETURNED;
	call->is_abandoned = true;
	pthread_mutex_unlock(&lock);
	if (is_over)
		call->discard(call, ran);
}

epp_status *worker_status(enum worker_result result, const char *step)
{
	if (result == WORKER_HUNG)
		return epp_status_create(EPP_TIMEOUT, "%s: it has not returned after %llu ms", step,
		                         (unsigned long long)timeout_ms);
	if (result == WORKER_SPENT)
		return epp_status_create(EPP_TIMEOUT, "%s: it has not returned after %llu ms, earlier calls included",
		                         step, (unsigned long long)timeout_ms);
	if (result == WORKER_BUSY)
		return epp_status_create(EPP_TIMEOUT, "%s: not called, because an earlier call has not returned", step);
	if (result == WORKER_DONE)
		return NULL;
	return epp_status_create(EPP_UNAVAILABLE, "%s: cannot start a thread: out of memory, or too many threads", step);
}
