/* The helper: one thread per process, which calls its clients, the sessions, at intervals that the clients choose.
 *
 * While events are recorded, the helper visits a session every 2 ms; after a quiet period, about ten times a second; if
 * no session records or drains, not at all. A recorder that takes chunks quickly while the helper sleeps wakes the
 * helper once per burst. This wake-up is the only system call of recording (tests/record/check_warm.c). The helper
 * requests a short scheduling delay (os_thread_reduce_latency). */
#ifndef EPPROF_RUNTIME_BASE_HELPER_H
#define EPPROF_RUNTIME_BASE_HELPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/status.h"

/* A client of the helper, embedded in the object that the helper visits. Its memory must stay valid after
 * helper_remove. */
struct helper_client {
	/* Called on the helper's thread without the helper's lock. Returns the time in ns until the next visit. 0
	 * requests a visit at once; a negative value means that no visit is needed before helper_wake. May call
	 * helper_remove. */
	int64_t (*visit)(struct helper_client *client);
	LIST_ENTRY(helper_client) link; /* `link` and `added` are protected by the helper's lock */
	bool added;
};

/* Starts the helper's thread if it does not run, and makes the helper visit the client until helper_remove. */
epp_status *helper_add(struct helper_client *client);
/* Removes the client and waits until the helper no longer uses it. May be called on the helper's own thread. Must not
 * be called with a lock held that a visit takes. */
void helper_remove(struct helper_client *client);

/* Makes the helper visit its clients now. Does nothing if the helper is awake. Any thread. */
void helper_wake(void);

/* Calls `run` on a new thread, for foreign code that may take long or never return. If no thread can be created, calls
 * it on the caller's thread. */
void helper_run_detached(void *(*run)(void *argument), void *argument);

/* Return the number of visits and of wake-ups, for tests and the bench. */
uint64_t helper_visits(void);
uint64_t helper_wakes(void);

void helper_fork_child(void);

#endif
