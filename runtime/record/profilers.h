/* The profilers of a session. The session starts and ends attached profilers. Hosted profilers are started
 * and ended by other code while the session records. Both kinds have a producer's ledger, and both are in the registry,
 * through which pushed and added events reach the session. */
#ifndef EPPROF_RUNTIME_RECORD_PROFILERS_H
#define EPPROF_RUNTIME_RECORD_PROFILERS_H

#include "record/session.h"

/* Returns true if the session calls this profiler. Needs no lock: an attached profiler stays attached, a hosted one
 * hosted. */
static inline bool profilers_drives(const struct session_profiler *of)
{
	return !of->joined && of->profiler;
}

/* Returns true if the session calls any profiler. */
bool profilers_any_driven(const struct session *session);

/* Removes all profilers from the registry, so that they cannot submit events any more. Hosted profilers still belong to
 * their owners. */
void profilers_detach(struct session *session);
/* Calls Release of the attached profilers on their workers. If `waits` is set, waits for these calls until the usual
 * time limit. */
void profilers_release(struct session *session, bool waits);

#endif
