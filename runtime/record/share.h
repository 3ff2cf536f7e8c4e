/* Shared sessions: what the rest of the library needs of them. */
#ifndef EPPROF_RUNTIME_RECORD_SHARE_H
#define EPPROF_RUNTIME_RECORD_SHARE_H

#include "record/session.h"

/* Takes one share away, and releases the session with the last one.  False: it is not a shared one. */
bool share_give_back(epp_session *session);

/* At exit: all are ended and finished, whoever has them. */
void share_end_all(void);

/* The process's default session, as EPPROF_OUTPUT asks for; NULL without it. */
epp_status *share_default(epp_session **session);

void share_fork_child(void);

#endif
