/* Data about OrtEpProfilerImpl objects that their struct does not have: the session to which pushed events go, and the
 * plugin, which must stay loaded.  The registry connects plugins/ (tables, loader) and record/ (sessions), which
 * otherwise share only the struct.
 *
 * Thread: [any-thread] throughout. */
#ifndef EPPROF_RUNTIME_ORT_ABI_PROFILER_REGISTRY_H
#define EPPROF_RUNTIME_ORT_ABI_PROFILER_REGISTRY_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/worker.h"
#include "epprof/ep_push.h"

typedef void (*profiler_push_fn)(void *user, const EpprofBatch *batch);

/* In a forked child no profiler is attached, because the pushing threads and the sessions belong to the parent. */

/* Attaches the profiler to a session: pushes go to `push`.  Returns false if it is attached already, or if there is no
 * memory. */
bool profiler_registry_attach(OrtEpProfilerImpl *profiler, const void *session, profiler_push_fn push, void *user);
/* Detaches the profiler.  Returns when no thread is inside `push` any more. */
void profiler_registry_detach(OrtEpProfilerImpl *profiler);
/* Returns the session to which the profiler is attached, or NULL.  Use it only for comparisons, because another thread
 * may destroy the session. */
const void *profiler_registry_session(const OrtEpProfilerImpl *profiler);
/* Returns the `user` of the attached session, or NULL.  If it is not NULL, a detach waits until profiler_registry_leave
 * is called. */
void *profiler_registry_enter(OrtEpProfilerImpl *profiler);
void profiler_registry_leave(OrtEpProfilerImpl *profiler);
/* Sets the function for late events of an attached profiler, and how long its EndProfiling may wait for work. */
void profiler_registry_take_late(OrtEpProfilerImpl *profiler, profiler_push_fn push_late, uint64_t grace_ns);
/* Implement EpprofApi_PushLateEvents_SinceV1 and EpprofApi_GraceNs_SinceV1.  If the profiler is not attached, the batch
 * is ignored and the result is 0. */
void profiler_registry_push_late(OrtEpProfilerImpl *profiler, const EpprofBatch *batch);
uint64_t profiler_registry_grace_ns(OrtEpProfilerImpl *profiler);
/* Implements EpprofApi_PushEvents_SinceV1: passes the batch to the attached session.  If the profiler is not attached,
 * the batch is ignored. */
void profiler_registry_push(OrtEpProfilerImpl *profiler, const EpprofBatch *batch);

/* Records that a plugin created the profiler, with its worker.  The caller has incremented *live, which is decremented
 * after Release; `live` may be NULL.  Returns false if the profiler has an owner already, or if there is no memory. */
bool profiler_registry_own(OrtEpProfilerImpl *profiler, atomic_int *live, struct worker *worker, const char *name);
/* Returns the name of the plugin that created the profiler; NULL: unknown.  It is valid while the plugin is loaded, and
 * so as long as the profiler exists. */
const char *profiler_registry_name(const OrtEpProfilerImpl *profiler);
/* Returns the worker of a profiler, or a new one if no plugin created it; NULL: no memory.
 * Ownership: worker_release. */
struct worker *profiler_registry_worker(const OrtEpProfilerImpl *profiler);
/* Calls Release on the profiler's worker, without waiting, and then decrements the plugin's count.  If there is no
 * worker, Release is called on this thread.  NULL does nothing. */
void profiler_release(OrtEpProfilerImpl *profiler);
/* As profiler_release, on the given worker.  The caller waits for the call or abandons it.  NULL: there was no memory,
 * and Release was called on this thread. */
struct worker_call *profiler_release_on(OrtEpProfilerImpl *profiler, struct worker *worker);

#endif
