/* Workers: threads on which plugins are called, so that a call that does not return blocks no other thread.
 *
 * A plugin has one worker, which makes all calls except StartEvent and StopEvent one after the other, so that a plugin
 * is always called on the same thread. The caller waits until a deadline. A call that has not returned by then is
 * abandoned: its memory stays allocated, and the worker discards its result when the call returns. Until then the
 * worker is hung: further calls fail at once if a caller waits for them; other calls stay queued and run afterwards.
 *
 * The threads of workers do not exist in a forked child. A worker that was in a call at the fork stays hung in the
 * child for ever.
 *
 * Thread: [any-thread] throughout; the functions take one short lock, which is never held around a call. */
#ifndef EPPROF_RUNTIME_BASE_WORKER_H
#define EPPROF_RUNTIME_BASE_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <time.h>

#include "epprof/status.h"

struct worker;

/* worker_for returns the worker of a plugin's library. `key` is dlopen's handle: calls with the same key return the
 * same worker. If `key` is NULL, it creates a new worker. Returns NULL if out of memory.  worker_hold adds a
 * reference.
 * Ownership: the caller releases each reference with worker_release, which accepts NULL. */
struct worker *worker_for(const void *key);
struct worker *worker_hold(struct worker *worker);
void worker_release(struct worker *worker);
/* As worker_release. If this was the last reference and no call is queued or running, also waits for the end of the
 * worker's thread, at most 1 s longer than worker_timeout_ns. Returns false if the thread may still run code of the
 * plugin's library, such as destructors of thread-local data; the library must then not be unloaded. */
bool worker_end(struct worker *worker);

enum worker_result {
	WORKER_DONE,
	WORKER_HUNG,     /* the call has not returned in time */
	WORKER_SPENT,    /* as WORKER_HUNG, where earlier calls have taken a part of the time */
	WORKER_BUSY,     /* the call did not begin, because an earlier call has not returned */
	WORKER_NO_THREAD /* the call did not begin, because its thread could not be started */
};

/* A call. It is the first member of a heap-allocated struct with all data of the call. */
struct worker_call {
	void (*run)(struct worker_call *call);
	/* Frees a call that its caller has abandoned. `ran` is false if `run` was not called. Called on the worker's
	 * thread if `run` was called, otherwise on the caller's thread. */
	void (*discard)(struct worker_call *call, bool ran);
	bool is_last; /* the call must also be made if its caller does not wait any more: it stays in the queue */
	/* Used by the worker only. */
	STAILQ_ENTRY(worker_call) link;
	struct worker *worker;
	int64_t submitted_ns, took_ns;
	enum { WORKER_QUEUED, WORKER_RUNNING, WORKER_RETURNED, WORKER_FAILED } state;
	bool is_abandoned;
};

/* Queues a call.  Ownership: the worker owns the call until worker_await.  worker_abandon abandons the call without
 * waiting. */
void worker_submit(struct worker *worker, struct worker_call *call);

/* Waits for a call until the deadline. If the result is WORKER_DONE, the caller owns the call again; otherwise the call
 * was discarded, or will be. */
enum worker_result worker_await(struct worker_call *call, const struct timespec *deadline);
void worker_abandon(struct worker_call *call);

/* Limits the time that the calling thread waits for each worker, until worker_budget_leave: all calls of one worker
 * together may take the timeout, not each of them.  Workers do not share the time, because their calls may be made one
 * after the other.  `budget` is 0 for a new budget, or the number of one that continues; returns its number.  A worker
 * remembers its last budget only. */
uint64_t worker_budget_enter(uint64_t budget);
void worker_budget_leave(void);

/* Returns the deadline of a call that is submitted now: `timeout_ns` from now, less what earlier calls of the worker have
 * taken of the calling thread's budget. */
struct timespec worker_deadline_of(struct worker *worker, uint64_t timeout_ns);

/* worker_timeout_ns returns the timeout (EPPROF_PLUGIN_TIMEOUT_MS), at most a day, so that sums of times stay in range.
 * worker_deadline returns the deadline for calls that are submitted now. */
#define WORKER_TIMEOUT_MAX_NS (UINT64_C(86400) * 1000000000)
uint64_t worker_timeout_ns(void);
/* Returns EPPROF_GRACE_MS, at most a day; 0 if it is not set. */
uint64_t worker_grace_ns(void);
struct timespec worker_deadline(void);

/* Returns a status for a result of the call `step`; NULL for WORKER_DONE. */
epp_status *worker_status(enum worker_result result, const char *step);

#endif
