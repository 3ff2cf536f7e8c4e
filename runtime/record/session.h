/* A session: what is shared by the threads that record, the helper that drains, and the owner that starts and ends.
 *
 * Sessions live in a table for the life of the process: an entry is used again under a new generation, so a stale handle
 * is recognised and never followed to freed memory.  A handle is (generation, index) in a pointer's clothes.
 *
 * Locks, in the order in which they are taken: shares, table, session.drain_lock, session.lock; the names' lock comes after all.
 *   shares              of record/share.c: a shared session's making and release
 *   table               handles, creation and release
 *   session.drain_lock  whoever makes blocks: the helper, an end that does it itself, or a recording thread of a lossless
 *                       session, which tries for it and never waits
 *   session.lock        recorders, slots, tracks, profilers, state
 * A recording thread takes session.lock once, when it makes its recorder.  One that has its mark set takes none of these
 * (but drain_lock as above), and whoever waits for a mark holds none.
 */
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
#define SESSION_TRACKS_MAX 4096u /* beside those of threads */
#define SESSION_ORPHANS 256u
#define SESSION_SCRATCH_BYTES (2u << 20) /* what is not used of it is not there */

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
	bool joined;                 /* a member: somebody else drives it */
	struct session *session;
	uint32_t producer; /* its index */
	char label[32];
	uint64_t before_ticks, after_ticks; /* around StartProfiling */
	int64_t offset_ns;                  /* what it was told */
	int64_t shift_us, shift_rest_ns;    /* from what it counts from to the run's start; the rest is below 1 us */
	bool reported;                      /* a status of this run was kept */
	struct worker *worker;              /* that its entries are called on */
	bool is_hung;   /* a call of it has not returned in time: it takes no further part in this run */
	bool is_inside; /* StartEvent or StopEvent has not: it is never released */
	struct submission *submission;
};

struct session {
	uint32_t index;
	uint64_t generation; /* of the handle; changes at release */
	uint32_t state;      /* enum session_state, under lock; read without it as a hint */

	pthread_mutex_t drain_lock;
	pthread_mutex_t lock;
	pthread_mutex_t log_lock; /* of the window's log */
	pthread_mutex_t error_lock; /* of first_error, first_blame, error_told; and of window.live against being unmapped */
	pthread_cond_t changed;     /* state */

	/* Hints, read without a lock and by whoever has a stale handle too. */
	uint32_t slots_free;
	uint32_t pushes; /* 1: hand-overs are accepted */
	uint32_t shares; /* users that share it, by the lock of record/share.c; 0: it has one owner */

	/* From here on an entry that is used again begins as zero. */
	char *path;           /* NULL: memory */
	bool releasing;       /* somebody has asked for its release; under lock */
	bool release_wanted;  /* the helper finishes and frees it when it is idle; under lock */
	bool unsafe_to_unmap; /* there was no membarrier: a recorder may be anywhere */
	epp_log_fn log;
	void *log_user;
	uint64_t plugin_timeout_ns;
	uint32_t policy;
	bool lossless;     /* a thread that finds no chunk free writes one itself */
	struct sync *sync; /* NULL: nobody asked for it */
	struct window window;
	struct block_writer writer;
	epp_status *first_error; /* of the run, told by wait */
	epp_blame first_blame;
	bool error_told;
	unsigned telling; /* threads that are in the log; under error_lock */

	/* Recorders and their regions. */
	LIST_HEAD(, recorder) recorders;
	uint32_t slots_used; /* high-water mark */
	uint32_t chunks_used;
	uint64_t run_first_id;
	uint64_t chunks_head; /* the free list: tag in the high half, index + 1 in the low */
	uint32_t chunks_free;
	uint16_t chunk_next[EPF_CHUNK_COUNT];
	uint8_t chunk_state[EPF_CHUNK_COUNT];       /* enum region_state */
	uint64_t chunk_full_ticks[EPF_CHUNK_COUNT]; /* when it became full */
	uint8_t slot_region_state[EPF_SLOT_COUNT];
	uint8_t slot_taken[EPF_SLOT_COUNT];
	uint32_t chunks_free_at_visit;     /* what the helper left; far fewer wakes it early */
	uint32_t chunks_wanted;            /* the window is to have so many */
	uint64_t chunks_looked_ticks;      /* when the full ones were counted last */
	uint64_t chunks_grow_due_ticks;    /* the window could not grow: not before */
	uint64_t orphans[SESSION_ORPHANS]; /* ids that ended on another thread, lately */
	uint32_t orphans_at;

	/* Tracks (record/tracks.c), under lock. */
	STAILQ_HEAD(, track) tracks_new; /* in no block yet */
	struct track **tracks; /* a hash of those that are not threads', which only grows and is read without the lock */
	uint32_t tracks_count; /* in it */
	uint32_t tracks_end;   /* one past the largest number */
	bool definitions_due;  /* the last attempt to write them failed */
	/* The log (storage/window/definition_log.c), under log_lock. */
	uint32_t log_piece;      /* in hand */
	bool log_stays;          /* there was no room for more pieces */
	bool log_stuck;          /* definitions could not be written lately */
	uint64_t log_full_ticks; /* when it was found full; 0: it was emptied since */
	uint64_t log_missed;     /* definitions that it had no room for */
	uint32_t clocks_end;
	epp_name names_written;
	struct name_listener names; /* file sessions */
	bool names_listening;

	/* Profilers. */
	struct session_profiler profilers[CALLS_PROFILERS_MAX];
	uint32_t profilers_count;
	struct profiler_calls *calls; /* of the run; NULL: none wants events */
	bool calls_stay;              /* a thread is inside of one that hangs: `calls` are never freed */

	/* The drain's. */
	uint64_t next_sequence;
	uint64_t pair_due_ticks;
	uint64_t populate_due_ticks;
	size_t populate_at;
	uint64_t quiet_visits;
	uint64_t run_end_ticks;
	uint64_t drained_records;
	uint64_t lost_before[EPF_LOSS_COUNT]; /* of slots that were cleared; under lock */
	uint64_t own_written[EPF_LOSS_COUNT]; /* what the ledger says of losses that belong to no slot */
	bool accounts_due; /* an account, or events, of a run could not be written: the window keeps them */

	/* Up to here. */
	uint8_t *scratch;                /* SESSION_SCRATCH_BYTES, where blocks are made */
	LIST_ENTRY(session) helper_link; /* the helper's, under its lock */
	bool with_helper;
};

/* Handles. */
epp_session *session_handle(const struct session *session);
/* The session of a handle, or NULL if it is stale or not one.  The entry itself stays readable for ever. */
struct session *session_of(uintptr_t handle);
/* The same with its lock held; NULL, and nothing is held, of one that is being released too: for calls that may come beside
 * its release. */
struct session *session_lock(uintptr_t handle);

/* The options that this version knows, zero where the caller's struct ends. */
epp_status *session_check_options(const epp_session_options *given, epp_session_options *known);

/* A session on a path as it was expanded, which is taken over; NULL: in memory. */
epp_status *session_make(const epp_session_options *options, char *path, epp_session **handle);

/* A shared session: at this path, or any; NULL: none.  The lock of record/share.c is held. */
struct session *session_shared_at(const char *path);

/* What epp_session_release does, whoever shares it. */
void session_release(struct session *session);

/* Takes a status: the first of a run is kept for wait and for the log, which session_tell reaches later.  Any lock may be
 * held. */
void session_fail(struct session *session, epp_blame blame, epp_status *status);

/* Tells the log what is due; no lock is held. */
void session_tell(struct session *session);

/* A loss that belongs to no slot; of a stale handle, none. */
void session_lose(uintptr_t handle, epp_loss reason, uint64_t count);

/* Ends a release: finishes the file, releases the profilers, frees everything.  State is idle. */
void session_free(struct session *session);
/* The same for the helper, which does not wait for the profilers' Release. */
void session_free_by_helper(struct session *session);

/* After fork, in the child: every session of the parent is forgotten. */
void session_fork_child(void);

/* Drains what is left of an ended run and makes the session idle; the drain lock is held.  True: its release was asked for
 * meanwhile and is now the caller's to carry out. */
bool session_finish_run(struct session *session);

/* Closes the recorders of one use and waits until none is in the middle of a record; the caller holds no lock. */
void session_close_recorders(struct session *session, enum recorder_use use);

#endif
