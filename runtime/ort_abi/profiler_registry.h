/* What the process knows of OrtEpProfilerImpl objects beyond their struct: where their pushed events go while a session
 * has them, and which plugin they keep loaded.  The link between plugins/ (tables, loader) and record/ (sessions),
 * which otherwise meet only in the struct.
 *
 * Thread: [any-thread] throughout. */
#ifndef EPPROF_RUNTIME_ORT_ABI_PROFILER_REGISTRY_H
#define EPPROF_RUNTIME_ORT_ABI_PROFILER_REGISTRY_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/worker.h"
#include "epprof/ep_push.h"

typedef void (*profiler_push_fn)(void *user, const EpprofBatch *batch);

/* In a forked child no session has any profiler: the pushing threads and the sessions are the parent's. */

/* A session takes the profiler: pushes go to `push`.  False: some session has it already, or no memory. */
bool profiler_registry_attach(OrtEpProfilerImpl *profiler, const void *session, profiler_push_fn push, void *user);
/* It gives it back: returns when no push is inside `push` any more. */
void profiler_registry_detach(OrtEpProfilerImpl *profiler);
/* Which session has it: equal for those of one session, NULL if none has it.  For telling them apart alone: by the time that it
 * is looked at, the session may be gone. */
const void *profiler_registry_session(const OrtEpProfilerImpl *profiler);
/* For whoever does something else with it for a while: gives the `user` of who has it, NULL if nobody has; a detach waits
 * for the leave, which goes with a success only. */
void *profiler_registry_enter(OrtEpProfilerImpl *profiler);
void profiler_registry_leave(OrtEpProfilerImpl *profiler);
/* EpprofApi_PushEvents_SinceV1: to the session that has it; without one, nothing. */
void profiler_registry_push(OrtEpProfilerImpl *profiler, const EpprofBatch *batch);

/* A plugin made the profiler, on this worker.  `*live` was counted up by the caller and is counted down after Release; NULL:
 * nothing is counted.  False: somebody owns it already, or no memory. */
bool profiler_registry_own(OrtEpProfilerImpl *profiler, atomic_int *live, struct worker *worker, const char *name);
/* What its plugin calls itself; NULL: nobody knows.  Valid while the plugin is loaded, and so while the profiler lives. */
const char *profiler_registry_name(const OrtEpProfilerImpl *profiler);
/* The worker of a profiler, or a new one if no plugin made it; NULL: no memory.  Ownership: worker_release. */
struct worker *profiler_registry_worker(const OrtEpProfilerImpl *profiler);
/* Has its worker call Release and count down its plugin, and does not wait for it; on this thread if it has none.  NULL does
 * nothing. */
void profiler_release(OrtEpProfilerImpl *profiler);
/* The same on a worker of the caller's, who waits for the call or abandons it.  NULL: no memory, and Release was called on
 * this thread. */
struct worker_call *profiler_release_on(OrtEpProfilerImpl *profiler, struct worker *worker);

#endif
