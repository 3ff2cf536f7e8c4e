/* A session: the state shared by the threads that record, the helper that drains, and the owner that starts and ends.
 *
 * Sessions are in a table for the life of the process. An entry is reused under a new generation, so a stale handle is
 * recognised and never leads to freed memory. A handle is (generation, index) encoded as a pointer.
 *
 * Locks, in the order in which they are taken: shares, table, session.drain_lock, session.lock; the lock of names is
 * last.
 *   shares              of record/share.c: creation and release of shared sessions
 *   table               handles, creation and release
 *   session.drain_lock  held to write blocks: by the helper, by an end that drains itself, or by a recording thread of
 *                       a lossless session, which only tries to take it and never waits
 *   session.lock        recorders, slots, tracks, profilers, state
 * A recording thread takes session.lock once, when it creates its recorder. A thread whose mark is set takes none of
 * these (except drain_lock as above), and a thread that waits for a mark holds none. */
#ifndef EPPROF_RUNTIME_RECORD_SESSION_H
#define EPPROF_RUNTIME_RECORD_SESSION_H

#include <pthread.h>
#include <sys/queue.h>

#include "base/name.h"
#include "base/status.h"
#include "base/worker.h"
#include "epprof/ep_push.h"
#include "record/profilers/profiler_calls.h"
#include "record/recorder.h"
#include "storage/block_writer.h"
#include "storage/window/window.h"

#define SESSION_COUNT_MAX 1024u
#define SESSION_TRACKS_MAX 4096u /* without the tracks of threads */
#define SESSION_ORPHANS 256u
#define SESSION_SCRATCH_BYTES (2u << 20) /* unused pages of it are never touched, so they take no memory */

enum session_state {
	SESSION_FREE = 0,
	SESSION_IDLE,
	SESSION_RECORDING,
	SESSION_ASKING,   /* ended; profilers are in EndProfiling */
	SESSION_DRAINING, /* ended; regions are becoming blocks */
};

enum region_state { REGION_FREE = 0, REGION_TAKEN = 1, REGION_FULL = 2 };

struct submission;
struct sync;
struct track;

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
	struct worker *worker;              /* its entries are called there */
	bool is_hung;                       /* a call has not returned in time: it takes no further part in this run */
	bool is_inside;                     /* StartEvent or StopEvent has not returned: it is never released */
	struct submission *submission;
};

struct session {
	uint32_t index;
	uint64_t generation; /* of the handle; changes at release */
	uint32_t state;      /* enum session_state, under lock; read without it as a hint */

	pthread_mutex_t drain_lock;
	pthread_mutex_t lock;
	pthread_mutex_t log_lock;   /* of the window's log */
	pthread_mutex_t error_lock; /* of first_error, first_blame, error_told; and keeps window.live mapped */
	pthread_cond_t changed;     /* state */

	/* Hints, read without a lock, also through stale handles. */
	uint32_t slots_free;
	uint32_t pushes; /* 1: submitted events are accepted */
	uint32_t shares; /* number of users that share it, under the lock of record/share.c; 0: not shared */

	/* The members from here to `scratch` are zeroed when an entry is reused. */
	char *path;           /* NULL: memory */
	bool releasing;       /* a release was requested; under lock */
	bool release_wanted;  /* the helper finishes and frees it when it is idle; under lock */
	bool unsafe_to_unmap; /* membarrier was not available: a recorder may still use the window */
	epp_log_fn log;
	void *log_user;
	uint64_t plugin_timeout_ns;
	uint32_t policy;
	bool lossless;     /* a thread that finds no free chunk drains one itself */
	struct sync *sync; /* NULL: no periodic sync */
	struct window window;
	struct block_writer writer;
	epp_status *first_error; /* first error of the run, returned by wait */
	epp_blame first_blame;
	bool error_told;
	unsigned telling; /* threads inside the log callback; under error_lock */

	/* Recorders and their regions. */
	LIST_HEAD(, recorder) recorders;
	uint32_t slots_used; /* high-water mark */
	uint32_t chunks_used;
	uint64_t run_first_id;
	uint64_t chunks_head; /* free list: tag in the high half, index + 1 in the low */
	uint32_t chunks_free;
	uint16_t chunk_next[EPF_CHUNK_COUNT];
	uint8_t chunk_state[EPF_CHUNK_COUNT];       /* enum region_state */
	uint64_t chunk_full_ticks[EPF_CHUNK_COUNT]; /* when it became full */
	uint8_t slot_region_state[EPF_SLOT_COUNT];
	uint8_t slot_taken[EPF_SLOT_COUNT];
	uint32_t chunks_free_at_visit;     /* free chunks after the helper's last visit; far fewer wake it early */
	uint32_t chunks_wanted;            /* target number of chunks */
	uint64_t chunks_looked_ticks;      /* time of the last check of full chunks */
	uint64_t chunks_grow_due_ticks;    /* earliest time of the next attempt, after the window could not grow */
	uint64_t orphans[SESSION_ORPHANS]; /* recent ids that ended on another thread */
	uint32_t orphans_at;

	/* Tracks (record/tracks.c), under lock. */
	STAILQ_HEAD(, track) tracks_new; /* not in a block yet */
	struct track **tracks; /* hash of all tracks except threads'; it only grows and is read without the lock */
	uint32_t tracks_count; /* entries in the hash */
	uint32_t tracks_end;   /* one past the largest number */
	bool definitions_due;  /* the last attempt to write them failed */
	/* The log (storage/window/definition_log.c), under log_lock. */
	uint32_t log_piece;      /* current piece */
	bool log_stays;          /* there was no room for more pieces */
	bool log_stuck;          /* the last write of definitions failed */
	uint64_t log_full_ticks; /* time since which it is full; 0: it was emptied since */
	uint64_t log_missed;     /* definitions that did not fit */
	uint32_t clocks_end;
	epp_name names_written;
	struct name_listener names; /* file sessions */
	bool names_listening;

	/* Profilers. */
	struct session_profiler profilers[CALLS_PROFILERS_MAX];
	uint32_t profilers_count;
	struct profiler_calls *calls; /* of this run; NULL: no profiler wants events */
	bool calls_stay;              /* a thread is inside a hung callback: `calls` is never freed */

	/* State of the drain. */
	uint64_t next_sequence;
	uint64_t pair_due_ticks;
	uint64_t populate_due_ticks;
	size_t populate_at;
	uint64_t quiet_visits;
	uint64_t run_end_ticks;
	uint64_t drained_records;
	uint64_t lost_before[EPF_LOSS_COUNT]; /* of slots that were cleared; under lock */
	uint64_t own_written[EPF_LOSS_COUNT]; /* losses without a slot that are already in the ledger */
	bool accounts_due; /* a ledger, or events, of a run could not be written: the window keeps them */

	/* End of the zeroed members. */
	uint8_t *scratch;                /* SESSION_SCRATCH_BYTES, in which blocks are built */
	LIST_ENTRY(session) helper_link; /* list of the helper, under its lock */
	bool with_helper;
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

/* Releases a session, even if it is shared. */
void session_release(struct session *session);

/* Takes over a status: the first of a run is kept for wait and for the log (see session_tell). Any lock may be held. */
void session_fail(struct session *session, epp_blame blame, epp_status *status);

/* Passes a pending error to the log callback; no lock is held. */
void session_tell(struct session *session);

/* Counts a loss that belongs to no slot; ignored for a stale handle. */
void session_lose(uintptr_t handle, epp_loss reason, uint64_t count);

/* Completes a release: finishes the file, releases the profilers, frees everything. The state is idle. */
void session_free(struct session *session);
/* As session_free, for the helper, which does not wait for the profilers' Release. */
void session_free_by_helper(struct session *session);

/* After fork, in the child: drops every session of the parent. */
void session_fork_child(void);

/* Drains the rest of an ended run and makes the session idle; the drain lock is held. Returns true if a release was
 * requested meanwhile, which the caller must then carry out. */
bool session_finish_run(struct session *session);

/* Closes the recorders of one use and waits until none is in the middle of a record. The caller holds no lock. */
void session_close_recorders(struct session *session, enum recorder_use use);

#endif
