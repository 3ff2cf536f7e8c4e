/* The helper: one thread per process, which empties the windows of all sessions.
 *
 * While events are recorded it visits every 2 ms; after a quiet period, about ten times a second; if no session records
 * or drains, not at all. A recorder that takes chunks quickly while the helper sleeps wakes it once per burst. That is
 * the only system call of recording (tests/record/check_warm.c). The helper requests a short scheduling delay
 * (be_prompt). */
#ifndef EPPROF_RUNTIME_STORAGE_HELPER_H
#define EPPROF_RUNTIME_STORAGE_HELPER_H

#include <pthread.h>

#include "record/session.h"

/* Starts the thread if it does not run, and makes it visit the session until helper_remove. */
epp_status *helper_add(struct session *session);
/* Returns when the helper no longer uses the session. The helper itself may call it. Must not be called with locks that
 * the helper takes. */
void helper_remove(struct session *session);

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
