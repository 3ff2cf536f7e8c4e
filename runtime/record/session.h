/* A session: the state that is shared by the recording threads, the helper, which drains, and the owner, which starts
 * and ends runs.
 *
 * Sessions are in a table for the life of the process. An entry is reused under a new generation, so a stale handle is
 * recognised and never leads to freed memory. A handle is (generation, index) encoded as a pointer.
 *
 * Locks, in the order in which they are taken: shares, table, then those of the storage (storage/storage.h).
 *   shares              of record/shared_sessions.c: creation and release of shared sessions
 *   table               handles, creation and release
 *   storage.drain_lock  to write blocks
 *   storage.lock        also protects the session's recorders, profilers and state
 * "The lock" in the comments below is storage.lock. A recording thread takes it once, when it creates its recorder. A
 * thread whose mark is set takes none of these (except drain_lock in a lossless session), and a thread that waits for a
 * mark holds none. */
#ifndef EPPROF_RUNTIME_RECORD_SESSION_H
#define EPPROF_RUNTIME_RECORD_SESSION_H

#include <pthread.h>
#include <sys/queue.h>

#include "base/helper.h"
#include "base/status.h"
#include "base/worker.h"
#include "epprof/ep_push.h"
#include "record/profiler_calls.h"
#include "record/recorder.h"
#include "storage/storage.h"

#define SESSION_COUNT_MAX 1024u
#define SESSION_ORPHANS 256u

enum session_state {
	SESSION_FREE = 0,
	SESSION_NEW, /* being created: no other thread has its handle yet */
	SESSION_IDLE,
	SESSION_CHANGING, /* a run is being started, or the file is being finished */
	SESSION_RECORDING,
	SESSION_ASKING,   /* a run has ended; profilers are in EndProfiling */
	SESSION_DRAINING, /* a run has ended; its regions are becoming blocks */
	SESSION_LATE,     /* a run has ended and is written; late events of profilers are being stored */
};

struct submission;
struct name_filter;

struct session_profiler {
	OrtEpProfilerImpl *profiler; /* NULL: the entry of a hosted profiler that was destroyed */
	bool joined;                 /* the profiler is hosted: other code starts and ends it */
	struct session *session;
	uint32_t producer; /* the index of the entry, which is the number of its ledger */
	char label[32];
	uint64_t before_ticks, after_ticks; /* the times before and after the call of StartProfiling */
	int64_t offset_ns;                  /* the argument of StartProfiling */
	int64_t shift_us, shift_rest_ns;    /* the time from the origin of the profiler's times to the run's start;
	                                       shift_rest_ns is the rest below 1 us */
	bool reported;                      /* an error status of this profiler was passed to the errors of this run;
	                                       further ones are only counted */
	uint64_t invalid_before;            /* the number of the profiler's invalid events before this run */
	struct worker *worker;              /* the worker that calls the profiler */
	bool is_hung;                       /* a call has not returned in time: the profiler takes no further part in
	                                       this run */
	bool expects;                       /* the profiler's ledger counts an event that is still expected; atomic */
	bool is_inside;                     /* StartEvent or StopEvent has not returned: the profiler is never
	                                       released */
	struct submission *submission;
};

struct session {
	uint32_t index;
	uint64_t generation;    /* part of the handle; changes when the session is released */
	uint32_t state;         /* enum session_state, under storage.lock; read without it as a hint */
	pthread_cond_t changed; /* signalled when the state changes */
	struct storage storage;
	struct helper_client helper;

	/* Hints that are read without a lock, also through handles of released sessions; storage.slots.free is another
	 * one. */
	uint32_t pushes; /* 1: submitted events are accepted */
	uint32_t shares; /* the number of users that share the session, under the lock of record/shared_sessions.c; 0: not
	                    shared */

	/* The members from here on are zeroed when an entry is reused. */
	bool is_output;       /* the session records into EPPROF_OUTPUT; `is_output` and `waits` are under the lock of
	                         record/shared_sessions.c */
	bool waits;           /* the session is idle until the time range of EPPROF_FROM_NS begins */
	bool releasing;       /* a release was requested; under the lock */
	bool release_wanted;  /* the helper finishes and frees the session when it is idle; under the lock */
	bool is_paused;       /* session_pause has ended the run; under the lock */
	bool is_stopped;      /* session_stop was called: no further run records; under the lock */
	bool is_late;         /* the state DRAINING follows the state LATE; under the lock */
	uint32_t late_pushes; /* the number of running calls of session_push_late; under the lock */
	uint64_t plugin_timeout_ns;
	uint64_t grace_ns;
	struct name_filter *filter;      /* NULL: all events are recorded */
	LIST_HEAD(, recorder) recorders; /* recorders that threads may still use; under the lock */
	uint64_t run_first_id;
	uint64_t orphans[SESSION_ORPHANS]; /* a ring with the ids of the last events that ended on another thread than
	                                      they began on */
	uint32_t orphans_at;

	/* Profilers. */
	struct session_profiler profilers[CALLS_PROFILERS_MAX];
	uint32_t profilers_count;
	struct profiler_calls *calls; /* the profilers with StartEvent or StopEvent in this run; NULL: there are none */
	bool calls_stay;              /* `calls` is never freed, because a thread is inside a hung callback */
};

/* Handles. */
epp_session *session_handle(const struct session *session);
/* Returns the session of a handle, or NULL if the handle is invalid or of a released session. The entry itself always
 * stays readable. */
struct session *session_of(uintptr_t handle);
/* As session_of, but locks the session. For calls that may run concurrently with a release: returns NULL, without the
 * lock, also if the session is being released. */
struct session *session_lock(uintptr_t handle);

/* Checks the options and copies the members that this version has. Members that are missing at the end of the caller's
 * struct become zero. */
epp_status *session_check_options(const epp_session_options *given, epp_session_options *known);

/* Creates a session. Takes ownership of `path`, which must be expanded; NULL: a session in memory. */
epp_status *session_make(const epp_session_options *options, char *path, epp_session **handle);

/* Finds a shared session with this path (NULL: any path). Returns NULL if there is none. The lock of
 * record/shared_sessions.c is held. */
struct session *session_shared_at(const char *path);

/* Finds a shared session that records into EPPROF_OUTPUT; if `waits` is set, one that waits for its time range. Returns
 * NULL if there is none. The lock of record/shared_sessions.c is held. */
struct session *session_of_output(bool waits);

/* As session_lock, for the table's entry with this index, from 0 to SESSION_COUNT_MAX - 1. */
struct session *session_lock_at(uint32_t index);

/* Functions for `epprof ctl` (record/control/commands.c), called on a thread that does not own the session. The handle
 * of a released session does nothing. Pausing ends the run, and resuming starts another run. Open events are therefore
 * marked as unended, and attached profilers are ended and started. If the owner calls epp_session_end, the pause ends,
 * too. */
bool session_pause(epp_session *handle); /* returns false if the session does not record */
/* Marks a session that does not record as paused. */
void session_await_resume(struct session *session);
/* Errors: EPP_WRONG_STATE (the session is not paused); those of epp_session_start. */
epp_status *session_resume(epp_session *handle);
/* Ends the run and finishes the file. The session exists until its owner destroys it, but records nothing any more:
 * epp_session_start does nothing. Errors: EPP_TIMEOUT (profilers or writes take longer than a release would wait; the
 * run has ended nevertheless); EPP_IO. */
epp_status *session_stop(epp_session *handle);

/* Ends the session's run and frees the session, even if it has several shares. */
void session_release(struct session *session);

/* As epp_session_lost; the session's lock is held. */
uint64_t session_lost(const struct session *session, epp_loss reason);

/* Counts lost events that are in no slot's ledger. Ignored if the session does not exist any more. */
void session_lose(uintptr_t handle, epp_loss reason, uint64_t count);

/* Completes a release: finishes the file, releases the profilers, frees everything. The session is in the state
 * IDLE. */
void session_free(struct session *session);
/* As session_free, for the helper, which does not wait for the profilers' Release. */
void session_free_by_helper(struct session *session);

/* In the child after a fork: drops every session of the parent. */
void session_fork_child(void);

/* The helper's visit of a session: drains the session, finishes a run that has ended, and completes a release. */
int64_t session_visit(struct helper_client *client);

/* Records events that a profiler pushes after its EndProfiling. Until the session is released or its next run begins,
 * the events are added to the run that has ended; after that they are counted as lost. Waits while blocks are
 * written. */
void session_push_late(void *session_profiler, const EpprofBatch *batch);

/* Waits until no late event is being stored; the session's lock is held. */
void session_await_late(struct session *session);

/* Closes the recorders of one use and waits until no thread is in the middle of a record. The caller holds no lock. */
void session_close_recorders(struct session *session, enum recorder_use use);

#endif
