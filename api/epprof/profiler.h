/* epprof: profilers in a session.  A profiler is an OrtEpProfilerImpl, usually from epp_plugin_profiler_create.  A
 * session drives an attached profiler: it calls StartProfiling, StartEvent, StopEvent, EndProfiling and Release.  The
 * caller drives a hosted profiler. */
#ifndef EPPROF_PROFILER_H
#define EPPROF_PROFILER_H

#include <stddef.h>
#include <stdint.h>

#include "epprof/abi/ort_ep_profiler.h"
#include "epprof/session.h"
#include "epprof/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Attaches a profiler: any OrtEpProfilerImpl, usually one from epp_plugin_profiler_create.  `label` is the name of its
 * tracks (NULL: its plugin's name, or "ep" if no plugin made it).
 * Errors: EPP_WRONG_STATE while recording; EPP_LIMIT (32 profilers at once); EPP_BUSY (the profiler is attached
 * already); EPP_INCOMPATIBLE if the profiler's version is below 25 or a required entry is NULL.
 * Thread: [session-thread].  Ownership: on success the session calls Release, after the last EndProfiling. */
EPP_EXPORT epp_status *epp_session_attach(epp_session *session, OrtEpProfilerImpl *profiler, const char *label)
    EPP_MUST_CHECK;

/* A hosted profiler: its entries are called by the caller, not by the session.  Usually a framework drives it, too. */
typedef struct epp_hosted_profiler epp_hosted_profiler;

/* Adds a profiler to a session, at any time, also while recording.  The profiler gets an account in the ledger.  If a
 * profiler with this label was destroyed before, it gets that one's account.  The events that it pushes or adds are
 * recorded in the trace.  The session calls none of its entries.
 * Errors: EPP_LIMIT (32 profilers at once), EPP_BUSY (attached already), EPP_INCOMPATIBLE as in attach.
 * Thread: [any-thread].  Ownership: the profiler stays the caller's; the caller destroys
 * `*hosted`. */
EPP_EXPORT epp_status *epp_hosted_profiler_create(epp_session *session, OrtEpProfilerImpl *profiler, const char *label,
                                                  epp_hosted_profiler **hosted) EPP_MUST_CHECK;

/* A call of one hosted profiler, and its result. */
typedef struct epp_hosted_profiler_call {
	epp_hosted_profiler *hosted;
	/* For EndProfiling: a container of the function tables that the profiler was created with.  NULL: a container
	 * of epp_ort_api_base()'s tables, which adds the events to the session.  A container must outlive a call that
	 * does not return. */
	OrtProfilingEventsContainer *container;
	OrtStatus *status;   /* the profiler's result; the caller releases it with the profiler's tables */
	epp_status *failure; /* EPP_TIMEOUT: the call has not returned in time */
} epp_hosted_profiler_call;

/* Calls StartProfiling of all profilers at once, each on its profiler's own thread, between two readings of the clock.
 * Returns when all have returned, or after EPPROF_PLUGIN_TIMEOUT_MS (of the environment, or else 2 s).  Each profiler
 * gets the offset `offset_ns`, which is the time since the origin of the profile's microseconds.  If `since_ticks` is
 * not 0, the time since `since_ticks` of epp_host_ticks is added to the offset.
 * Units: nanoseconds.  Thread: one at a time for one profiler.  Ownership: the caller owns statuses and failures. */
EPP_EXPORT void epp_hosted_profilers_start(epp_hosted_profiler_call *calls, size_t count, int64_t offset_ns,
                                           uint64_t since_ticks);

/* As epp_hosted_profilers_start, with EndProfiling.  A profiler whose StartProfiling has not returned in time is not
 * called; its status and its failure are NULL.
 * Thread: one at a time for one profiler.  Ownership: as epp_hosted_profilers_start. */
EPP_EXPORT void epp_hosted_profilers_end(epp_hosted_profiler_call *calls, size_t count);

/* Adds a delay to the error bound of the profiler's events.  A host needs this function if it gets the offset from
 * another component, and measures later how much time passed between the reading of that offset and
 * epp_hosted_profilers_start.  If a profiler counts from the offset, its times are right without a correction; if it
 * uses times of the other component, they are early by this delay.  The error bound of events that are added from now
 * on covers both cases.  A delay of 0 or less is ignored.
 * Units: nanoseconds.  Thread: one at a time for one profiler. */
EPP_EXPORT void epp_hosted_profiler_add_start_delay(epp_hosted_profiler *hosted, int64_t delay_ns);

/* Returns a container of epp_ort_api_base()'s tables, which adds events to the session.
 * Thread: one at a time for one profiler.  Ownership: valid until epp_hosted_profiler_destroy. */
EPP_EXPORT OrtProfilingEventsContainer *epp_hosted_profiler_container(epp_hosted_profiler *hosted);

/* Returns the accounts, in the session's trace, of all hosted profilers with this label, including this one, as a set
 * of bits: bit n is the account with epp_trace_track.producer n.  If several profilers belong to one plugin that is
 * profiled for the whole process (docs/vendor-guide.md), only one of them gets each event, so the account of one
 * profiler may contain events of another one.  Returns 0 after the session was destroyed.
 * Thread: one at a time for one profiler. */
EPP_EXPORT uint64_t epp_hosted_profiler_producers(const epp_hosted_profiler *hosted);

/* Counts in the ledger that a callback of the profiler returned an error.
 * Thread: [any-thread], not concurrent with epp_hosted_profiler_destroy. */
EPP_EXPORT void epp_hosted_profiler_count_error(epp_hosted_profiler *hosted);

/* Reports that StartEvent or StopEvent, which the host calls directly, has not returned in time.  The account counts
 * EPP_LOSS_HUNG and gets the note `note`, and the profiler is not called any more.
 * Thread: [any-thread], not concurrent with epp_hosted_profiler_destroy. */
EPP_EXPORT void epp_hosted_profiler_report_hang(epp_hosted_profiler *hosted, const char *note);

/* Counts events of the profiler that the host could not add to the session.
 * Thread: [any-thread], not concurrent with epp_hosted_profiler_destroy. */
EPP_EXPORT void epp_hosted_profiler_count_lost(epp_hosted_profiler *hosted, epp_loss reason, uint64_t count);

/* 1: the profiler will deliver its events later, all at once; 0: it has delivered them.  In between, the account counts
 * one event as emitted, so that the trace of a killed process reports the missing events, with EPP_LOSS_KILLED and the
 * note.  If events are still expected when the profiler is destroyed, the event is counted as lost
 * (EPP_LOSS_PLUGIN).
 * Thread: one at a time for one profiler. */
EPP_EXPORT void epp_hosted_profiler_set_expected(epp_hosted_profiler *hosted, int expected);

/* Reports that a profiler with this label submits its events as they happen.  Hosted profilers with the label then
 * expect no events any more; those that did lose their notes.
 * Thread: [any-thread]. */
EPP_EXPORT void epp_session_expect_none(epp_session *session, const char *label);

/* Adds an account for a plugin that hung before it had a profiler: when the plugin was loaded or a profiler was
 * requested.  The account has one event, lost with EPP_LOSS_HUNG, and the note `note` (at most 79 bytes).  A second
 * report with this label counts in the same account, which keeps its note.
 * Thread: [any-thread]. */
EPP_EXPORT void epp_session_report_hang(epp_session *session, const char *label, const char *note);

/* Sets the note of the profiler's account, at most 79 bytes, and replaces the previous note.
 * Thread: one at a time for one profiler.  Ownership: the text is copied. */
EPP_EXPORT void epp_hosted_profiler_set_note(epp_hosted_profiler *hosted, const char *text);

/* Removes the profiler from its session; none of its calls may be running.  NULL does nothing.
 * Thread: [any-thread], also after epp_session_destroy. */
EPP_EXPORT void epp_hosted_profiler_destroy(epp_hosted_profiler *hosted);

#ifdef __cplusplus
}
#endif
#endif
