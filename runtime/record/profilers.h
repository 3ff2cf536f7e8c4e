/* The profilers of a session: attached ones, which the session starts and ends, and members, which other code starts
 * and ends while the session records. Both have a producer's ledger and are in the registry, so that pushed and added
 * events reach the session. */
#ifndef EPPROF_RUNTIME_RECORD_PROFILERS_H
#define EPPROF_RUNTIME_RECORD_PROFILERS_H

#include "record/session.h"

/* True if the session calls this profiler. A member's state changes at any time, but a member stays one. */
static inline bool profilers_drives(const struct session_profiler *of)
{
	return !of->joined && of->profiler;
}

/* True if the session calls any profiler. */
bool profilers_any_driven(const struct session *session);

/* Removes all profilers from the registry, so that none of them submits events any more. Members stay with their
 * owners. */
void profilers_detach(struct session *session);
/* Calls Release of the attached profilers on their workers; with `waits`, waits as long as for any call. */
void profilers_release(struct session *session, bool waits);

#endif
