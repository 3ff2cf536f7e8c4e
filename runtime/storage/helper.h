/* The helper: one thread a process, which empties the windows of all sessions.
 *
 * While something is recorded it looks every 2 ms; when nothing was for a while, ten times a second; when no session
 * records or drains, not at all.  A recorder that takes chunks quickly while the helper sleeps long wakes it, once a burst.
 * That is all that recording asks of the system (tests/record/check_warm.c).
 * It asks the scheduler to be let run soon (be_prompt). */
#ifndef EPPROF_RUNTIME_STORAGE_HELPER_H
#define EPPROF_RUNTIME_STORAGE_HELPER_H

#include <pthread.h>

#include "record/session.h"

/* Starts the thread if there is none, and has it visit the session until helper_remove. */
epp_status *helper_add(struct session *session);
/* Returns when the helper is not inside the session any more.  Not from the helper itself, not with its locks held. */
void helper_remove(struct session *session);

/* Has it look now; does nothing if it is awake.  Any thread. */
void helper_wake(void);

/* A thread for foreign code, which may take its time or never return.  Runs on the caller's thread if none can be created. */
void helper_apart(void *(*run)(void *argument), void *argument);

/* How often it has looked, and how often it was woken to, for tests and the bench. */
uint64_t helper_visits(void);
uint64_t helper_wakes(void);

void helper_fork_child(void);

#endif
