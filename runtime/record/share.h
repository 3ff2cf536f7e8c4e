/* Shared sessions: the internal interface. */
#ifndef EPPROF_RUNTIME_RECORD_SHARE_H
#define EPPROF_RUNTIME_RECORD_SHARE_H

#include "record/session.h"

/* Releases one share, and the session with the last one. Returns false if the session is not shared. */
bool share_give_back(epp_session *session);

/* At exit: ends and releases all shared sessions. */
void share_end_all(void);

/* Opens the process's default session as EPPROF_OUTPUT requests; NULL without it. */
epp_status *share_default(epp_session **session);

void share_fork_child(void);

#endif
