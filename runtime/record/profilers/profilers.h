/* The profilers of a session: those attached, which it drives, and members, which somebody else drives while it records.
 * Both have a producer's account and are in the registry, so that what they push or add finds its way. */
#ifndef EPPROF_RUNTIME_RECORD_PROFILERS_PROFILERS_H
#define EPPROF_RUNTIME_RECORD_PROFILERS_PROFILERS_H

#include "record/session.h"

/* Whether the session calls it.  What a member is changes at any time, but not that it is one. */
static inline bool profilers_drives(const struct session_profiler *of)
{
	return !of->joined && of->profiler;
}

/* Whether there is any that it calls. */
bool profilers_any_driven(const struct session *session);

/* Nothing comes from any of them any more; members stay with who drives them. */
void profilers_detach(struct session *session);
/* Has their workers call Release on those that were attached; waits for it, as long as for any call, or not at all. */
void profilers_release(struct session *session, bool waits);

#endif
