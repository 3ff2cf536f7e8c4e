/* Workers: threads on which plugins are called, so that a call that does not return holds up nobody else.
 *
 * A plugin has one worker, and every call of it but StartEvent and StopEvent is made there, one after the other: a plugin
 * always sees the same thread.  Whoever makes a call waits for it until a deadline.  A call that has not returned by then is
 * abandoned: it keeps its memory, and the worker discards its result when it returns.  Until that happens the worker is
 * hung, and further calls fail at once; those that nobody waits for stay queued and run afterwards.
 *
 * A forked child has no workers' threads.  A worker that was in a call at the fork stays hung there for ever.
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

/* The worker of a plugin's library, by dlopen's handle: the same for all who ask for the same one.  NULL as the key: a new
 * one.  Returns NULL without memory.
 * Ownership: each one that is returned is given back with worker_release.  NULL there does nothing. */
struct worker *worker_for(const void *key);
struct worker *worker_hold(struct worker *worker);
void worker_release(struct worker *worker);

enum worker_result {
	WORKER_DONE,
	WORKER_HUNG,     /* this call has not returned in time */
	WORKER_BUSY,     /* it did not begin: an earlier one has not returned */
	WORKER_NO_THREAD /* it did not begin */
};

/* A call: the first member of a struct on the heap that holds all that it needs. */
struct worker_call {
	void (*run)(struct worker_call *call);
	/* Frees a call that its caller has given up.  `ran` is false if it did not begin.  On the worker's thread after `run`,
	 * else on the caller's. */
	void (*discard)(struct worker_call *call, bool ran);
	bool is_last; /* worth running later, when nobody waits any more: it is not taken out of the queue */
	/* The worker's. */
	STAILQ_ENTRY(worker_call) link;
	struct worker *worker;
	enum { WORKER_QUEUED, WORKER_RUNNING, WORKER_RETURNED, WORKER_FAILED } state;
	bool is_abandoned;
};

/* Queues a call.  Ownership: the worker's until worker_await; worker_abandon gives it up at once. */
void worker_submit(struct worker *worker, struct worker_call *call);

/* Waits for a call until the deadline.  With WORKER_DONE the call is the caller's again; with any other result it is, or
 * will be, discarded. */
enum worker_result worker_await(struct worker_call *call, const struct timespec *deadline);
void worker_abandon(struct worker_call *call);

/* EPPROF_PLUGIN_TIMEOUT_MS, and the deadline of calls that are submitted now. */
uint64_t worker_timeout_ns(void);
struct timespec worker_deadline(void);

/* What a result other than WORKER_DONE means for the step, as a status. */
epp_status *worker_status(enum worker_result result, const char *step);

#endif
