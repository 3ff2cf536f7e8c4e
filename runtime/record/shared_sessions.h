/* Sessions that several users of a process share, and the session that EPPROF_OUTPUT requests: the internal interface;
 * epp_session_share in epprof/session.h is the public one. */
#ifndef EPPROF_RUNTIME_RECORD_SHARED_SESSIONS_H
#define EPPROF_RUNTIME_RECORD_SHARED_SESSIONS_H

#include "record/session.h"

/* Releases one share. The last release also releases the session. Returns false if the session is not shared. */
bool share_give_back(epp_session *session);

/* At exit: ends and releases all shared sessions. */
void share_end_all(void);

/* Opens the process's default session for EPPROF_OUTPUT. `*session` is NULL if the variable is not set. */
epp_status *share_default(epp_session **session);

/* For `epprof ctl resume`: sessions of EPPROF_OUTPUT that are created from now on are not paused, even if
 * EPPROF_START_PAUSED is set.
 * Thread: [any-thread]. */
void share_resume(void);

void share_fork_child(void);

#endif
