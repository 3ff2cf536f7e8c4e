/* The helper: one thread per process, which calls its clients, the sessions, at intervals that they choose.
 *
 * While events are recorded a session is visited every 2 ms; after a quiet period, about ten times a second; if no
 * session records or drains, not at all. A recorder that takes chunks quickly while the helper sleeps wakes it once per
 * burst. That is the only system call of recording (tests/record/check_warm.c). The helper requests a short scheduling
 * delay (be_prompt). */
#ifndef EPPROF_RUNTIME_BASE_HELPER_H
#define EPPROF_RUNTIME_BASE_HELPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/status.h"

/* Embedded in what is visited. Its memory stays valid after helper_remove. */
struct helper_client {
	/* Called on the helper's thread without its lock. Returns the time in ns until the next visit: 0 at once,
	 * negative when no visit is needed before helper_wake. It may call helper_remove. */
	int64_t (*visit)(struct helper_client *client);
	LIST_ENTRY(helper_client) link; /* under the helper's lock, as is `added` */
	bool added;
};

/* Starts the thread if it does not run, and makes it visit the client until helper_remove. */
epp_status *helper_add(struct helper_client *client);
/* Returns when the helper no longer uses the client. The helper itself may call it. Must not be called with locks that
 * a visit takes. */
void helper_remove(struct helper_client *client);

/* Makes the helper visit now; does nothing if it is awake. Any thread. */
void helper_wake(void);

/* Runs `run` on a new thread, for foreign code that may take long or never return. Runs it on the caller's thread if
 * none can be created. */
void helper_apart(void *(*run)(void *argument), void *argument);

/* Number of visits and of wake-ups, for tests and the bench. */
uint64_t helper_visits(void);
uint64_t helper_wakes(void);

void helper_fork_child(void);

#endif
