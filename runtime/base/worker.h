/* Workers: threads on which plugins are called, so that a call that does not return blocks no other thread.
 *
 * A plugin has one worker, which makes all calls except StartEvent and StopEvent one after the other: a plugin always
 * sees the same thread. The caller waits until a deadline. A call that has not returned by then is abandoned: it keeps
 * its memory, and the worker discards its result when it returns. Until then the worker is hung: further calls that are
 * waited for fail at once, and others stay queued and run afterwards.
 *
 * A forked child has no workers' threads. A worker that was in a call at the fork stays hung there for ever.
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

/* worker_for returns the worker of a plugin's library; `key` is dlopen's handle, and the same key gets the same worker.
 * With key NULL it creates a new worker. Returns NULL without memory.  worker_hold adds a reference.
 * Ownership: the caller releases each reference with worker_release, which accepts NULL. */
struct worker *worker_for(const void *key);
struct worker *worker_hold(struct worker *worker);
void worker_release(struct worker *worker);
/* As worker_release, and waits until the worker's thread has ended, if it ends now. Returns false if it may still run
 * code of the plugin's library, such as destructors of thread-local data: the library must stay. */
bool worker_end(struct worker *worker);

enum worker_result {
	WORKER_DONE,
	WORKER_HUNG,     /* the call has not returned in time */
	WORKER_BUSY,     /* it did not begin: an earlier call has not returned */
	WORKER_NO_THREAD /* it did not begin */
};

/* A call: the first member of a heap-allocated struct with all data that the call needs. */
struct worker_call {
	void (*run)(struct worker_call *call);
	/* Frees a call that its caller has abandoned. `ran` is false if it did not begin. Called on the worker's thread
	 * after `run`, otherwise on the caller's. */
	void (*discard)(struct worker_call *call, bool ran);
	bool is_last; /* still useful when no caller waits: it is not removed from the queue */
	/* Private to the worker. */
	STAILQ_ENTRY(worker_call) link;
	struct worker *worker;
	enum { WORKER_QUEUED, WORKER_RUNNING, WORKER_RETURNED, WORKER_FAILED } state;
	bool is_abandoned;
};

/* Queues a call.  Ownership: the worker's until worker_await; worker_abandon gives it up at once. */
void worker_submit(struct worker *worker, struct worker_call *call);

/* Waits for a call until the deadline. With WORKER_DONE the call belongs to the caller again; with any other result it
 * is, or will be, discarded. */
enum worker_result worker_await(struct worker_call *call, const struct timespec *deadline);
void worker_abandon(struct worker_call *call);

/* The timeout (EPPROF_PLUGIN_TIMEOUT_MS), and the deadline of calls that are submitted now. A day at most, so that no
 * sum of times is out of range. */
#define WORKER_TIMEOUT_MAX_NS (UINT64_C(86400) * 1000000000)
uint64_t worker_timeout_ns(void);
/* EPPROF_GRACE_MS, a day at most; 0 by default. */
uint64_t worker_grace_ns(void);
struct timespec worker_deadline(void);

/* The status for a result of `step`; NULL for WORKER_DONE. */
epp_status *worker_status(enum worker_result result, const char *step);

#endif
