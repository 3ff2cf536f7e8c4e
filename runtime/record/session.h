/* A session: the state shared by the threads that record, the helper that drains, and the owner that starts and ends.
 *
 * Sessions are in a table for the life of the process. An entry is reused under a new generation, so a stale handle is
 * recognised and never leads to freed memory. A handle is (generation, index) encoded as a pointer.
 *
 * Locks, in the order in which they are taken: shares, table, then those of the storage (storage/storage.h).
 *   shares              of record/share.c: creation and release of shared sessions
 *   table               handles, creation and release
 *   storage.drain_lock  to write blocks
 *   storage.lock        of the session too: recorders, profilers, state
 * A recording thread takes storage.lock once, when it creates its recorder. A thread whose mark is set takes none of
 * these (except drain_lock in a lossless session), and a thread that waits for a mark holds none. */
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
	SESSION_NEW, /* being created: its handle is not known yet */
	SESSION_IDLE,
	SESSION_CHANGING, /* being started, or its file is being finished */
	SESSION_RECORDING,
	SESSION_ASKING,   /* ended; profilers are in EndProfiling */
	SESSION_DRAINING, /* ended; regions are becoming blocks */
	SESSION_LATE,     /* ended and written; late events of profilers are being stored */
};

struct submission;
struct name_filter;

struct session_profiler {
	OrtEpProfilerImpl *profiler; /* NULL: a member that has left */
	bool joined;                 /* a member: other code starts and ends it */
	struct session *session;
	uint32_t producer; /* its index */
	char label[32];
	uint64_t before_ticks, after_ticks; /* around StartProfiling */
	int64_t offset_ns;                  /* argument of StartProfiling */
	int64_t shift_us, shift_rest_ns;    /* from the origin of its times to the run's start; rest: below 1 us */
	bool reported;                      /* a status of this run was kept */
	uint64_t invalid_before;            /* its invalid events before this run */
	struct worker *worker;              /* its entries are called there */
	bool is_hung;                       /* a call has not returned in time: it takes no further part in this run */
	bool expects;                       /* its ledger counts an event that is still expected; atomic */
	bool is_inside;                     /* StartEvent or StopEvent has not returned: it is never released */
	struct submission *submission;
};

struct session {
	uint32_t index;
	uint64_t generation;    /* of the handle; changes at release */
	uint32_t state;         /* enum session_state, under storage.lock; read without it as a hint */
	pthread_cond_t changed; /* state */
	struct storage storage;
	struct helper_client helper;

	/* Hints, read without a lock, also through stale handles; so is storage.slots.free. */
	uint32_t pushes; /* 1: submitted events are accepted */
	uint32_t shares; /* number of users that share it, under the lock of record/share.c; 0: not shared */

	/* The members from here on are zeroed when an entry is reused. */
	bool is_output;       /* it records into EPPROF_OUTPUT; under the lock of record/share.c, as is `waits` */
	bool waits;           /* it is idle until the time range of EPPROF_FROM_NS begins */
	bool releasing;       /* a release was requested; under the lock */
	bool release_wanted;  /* the helper finishes and frees it when it is idle; under the lock */
	bool is_paused;       /* session_pause ended its run; under the lock */
	bool is_stopped;      /* session_stop: no further run records; under the lock */
	bool is_late;         /* DRAINING follows LATE; under the lock */
	uint32_t late_pushes; /* running calls of session_push_late; under the lock */
	uint64_t plugin_timeout_ns;
	uint64_t grace_ns;
	struct name_filter *filter;      /* NULL: all events are recorded */
	LIST_HEAD(, recorder) recorders; /* that threads may still record with; under the lock */
	uint64_t run_first_id;
	uint64_t orphans[SESSION_ORPHANS]; /* recent ids that ended on another thread */
	uint32_t orphans_at;

	/* Profilers. */
	struct session_profiler profilers[CALLS_PROFILERS_MAX];
	uint32_t profilers_count;
	struct profiler_calls *calls; /* of this run; NULL: no profiler wants events */
	bool calls_stay;              /* `calls` is never freed, because a thread is inside a hung callback */
};

/* Handles. */
epp_session *session_handle(const struct session *session);
/* Returns the session of a handle, or NULL if it is stale or invalid. The entry itself always stays readable. */
struct session *session_of(uintptr_t handle);
/* As session_of, with the session's lock held. Returns NULL, without the lock, also for a session that is being
 * released. For calls that may run concurrently with a release. */
struct session *session_lock(uintptr_t handle);

/* Checks the options and copies those that this version knows; missing members at the end of the caller's struct are
 * zero. */
epp_status *session_check_options(const epp_session_options *given, epp_session_options *known);

/* Creates a session with an expanded path, which it takes over; NULL: in memory. */
epp_status *session_make(const epp_session_options *options, char *path, epp_session **handle);

/* Finds a shared session with this path (NULL: any), or NULL. The lock of record/share.c is held. */
struct session *session_shared_at(const char *path);

/* Finds a shared session that records into EPPROF_OUTPUT (`waits`: one that waits for its time range), or NULL.  The lock
 * of record/share.c is held. */
struct session *session_of_output(bool waits);

/* As session_lock, for an entry of the table from 0 to SESSION_COUNT_MAX - 1. */
struct session *session_lock_at(uint32_t index);

/* Control from outside (record/control/commands.c), on a thread that does not own the session. A stale handle does
 * nothing. Pausing ends the run, and resuming starts another, so events that were open are unended, and attached
 * profilers are ended and started. An epp_session_end of the owner ends the pause, too. */
bool session_pause(epp_session *handle); /* false: it does not record */
/* A session that does not record is paused from now on. */
void session_await_resume(struct session *session);
/* Errors: EPP_WRONG_STATE (it is not paused); those of epp_session_start. */
epp_status *session_resume(epp_session *handle);
/* Ends the run and finishes the file. The session exists until its owner destroys it, but records nothing any more:
 * epp_session_start then does nothing. Errors: EPP_TIMEOUT (profilers or writes take longer than in a release; the run
 * has ended); EPP_IO. */
epp_status *session_stop(epp_session *handle);

/* Ends the session's run and frees the session, however many shares of it exist. */
void session_release(struct session *session);

/* As epp_session_lost; the lock is held. */
uint64_t session_lost(const struct session *session, epp_loss reason);

/* Counts lost events that no thread's slot counts; ignored if the session no longer exists. */
void session_lose(uintptr_t handle, epp_loss reason, uint64_t count);

/* Completes a release: finishes the file, releases the profilers, frees everything. The state is idle. */
void session_free(struct session *session);
/* As session_free, for the helper, which does not wait for the profilers' Release. */
void session_free_by_helper(struct session *session);

/* After fork, in the child: drops every session of the parent. */
void session_fork_child(void);

/* For the helper: drains the session, finishes a run that has ended, and completes a release. */
int64_t session_visit(struct helper_client *client);

/* Records events that a profiler pushes after its EndProfiling. Until the session is released or its next run begins,
 * they are added to the run that has ended; else they are counted as lost. Waits while blocks are written. */
void session_push_late(void *session_profiler, const EpprofBatch *batch);

/* Waits until no late event is being stored; the lock is held. */
void session_await_late(struct session *session);

/* Closes the recorders of one use and waits until none is in the middle of a record. The caller holds no lock. */
void session_close_recorders(struct session *session, enum recorder_use use);

#endif
