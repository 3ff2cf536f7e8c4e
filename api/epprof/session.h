/* epprof: recording sessions, for host applications (ONNX Runtime is one, your server another).
 *
 *   epp_name matmul = epp_name_intern("matmul");
 *   epp_session *session;
 *   epp_session_create(&(epp_session_options){ .struct_size = sizeof(epp_session_options), .path = "run.epp" }, &session);
 *   epp_session_start(session);
 *   uint64_t id = epp_event_begin(session, EPP_NODE, matmul);
 *   ...
 *   epp_event_end(session, id, NULL, 0);
 *   epp_session_end(session);
 *   epp_session_wait(session, UINT64_MAX);
 *   epp_session_release(session);
 *
 * A session records the events of all threads into a .epp file, or into memory, and drives the profilers attached to it
 * as ONNX Runtime drives an execution provider's.  Sessions are independent of each other; any number may record at
 * once.  A session may be started and ended again and again: each time is a run of the same trace.
 *
 * The session that NULL stands for is the process's default session, the one that EPPROF_OUTPUT=file.epp starts when
 * the library is loaded.  Without EPPROF_OUTPUT it records nothing and costs next to nothing.
 *
 * Which function may run beside which, on one session:
 *                 | create | attach | start | begin..async | end | wait | release |
 *   attach        |   -    |   X    |   X   |      ok      |  X  |  X   |    X    |   X: one at a time (the session-thread)
 *   start         |   -    |   X    |   X   |      ok      |  X  |  X   |    X    |   ok: always allowed
 *   begin..async  |   -    |   ok   |   ok  |      ok      |  ok |  ok  |    ok   |
 * A recording call on a released session, or beside `release`, is harmless: it records nothing and begin returns 0.
 */
#ifndef EPPROF_SESSION_H
#define EPPROF_SESSION_H

#include <stddef.h>
#include <stdint.h>

#include "epprof/ort_ep_profiler.h"
#include "epprof/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct epp_session epp_session;

/* ---- names ---- */

/* An interned string.  Valid for the life of the process; 0 is never a name. */
typedef uint32_t epp_name;

/* Interns a name, a category or an arg key.  The same bytes give the same number for the life of the process.
 * At most 65,536 bytes are kept (cut and marked with "..."); a full table (1 Mi names, 256 MiB of text) or no memory
 * gives the reserved name "(name lost)".  Takes a lock for a new text, and where 8 MiB of new ones have not been written yet,
 * waits until they are, a tenth of a second at most: do it once, not per event.
 * Thread: [any-thread].  Ownership: the text is copied. */
EPP_EXPORT epp_name epp_name_intern(const char *text);

/* The same for `bytes` bytes, which may hold anything, zeros too.
 * Thread: [any-thread].  Ownership: the text is copied. */
EPP_EXPORT epp_name epp_name_intern_bytes(const char *text, size_t bytes);

/* The text of a name; "(unknown)" for a number that names nothing.
 * Thread: [any-thread].  Ownership: valid until the process ends. */
EPP_EXPORT const char *epp_name_text(epp_name name);

/* ---- sessions ---- */

typedef enum epp_policy {
	EPP_POLICY_STREAM = 0, /* no limit but the disk's */
	EPP_POLICY_RING = 1,   /* bounded by max_bytes, keeps the newest */
	EPP_POLICY_STOP = 2    /* bounded by max_bytes, keeps the oldest */
} epp_policy;

typedef enum epp_blame { EPP_BLAME_NONE = 0, EPP_BLAME_HOST = 1, EPP_BLAME_PLUGIN = 2, EPP_BLAME_SYSTEM = 3 } epp_blame;

/* Told of what went wrong and whose fault it is; the library itself never prints.
 * Thread: [any-thread], never while the library holds a lock, and not once epp_session_release has returned: that waits for
 * a call that goes on, so it must not be made from one.  Ownership: the text is borrowed for the call. */
typedef void (*epp_log_fn)(void *user, epp_blame blame, const char *text);

typedef struct epp_session_options {
	size_t struct_size; /* sizeof(epp_session_options) of the caller; a non-zero unknown tail is an error */
	const char *path;   /* the .epp to write; NULL: in memory.  Expanded: %pid%, %hostname%, %session% (a count) */
	const char *label;  /* what the session is called in the trace; NULL: the program's name */
	uint64_t memory_bytes; /* in memory: the most that finished blocks may take; 0: 256 MiB */
	uint64_t max_bytes; /* ring and stop: how much of what was recorded is kept, beside the window's 21 MiB, or up
	                                to 53 while recording is fast; at least 1 MiB for stop, 4 MiB for ring */
	uint64_t plugin_timeout_ns; /* how long a run's start, and its end, wait for plugins that hang; 0: EPPROF_PLUGIN_TIMEOUT_MS
	                                of the environment, or else 2 s */
	epp_log_fn log;             /* NULL: nobody is told; the ledger still counts */
	void *log_user;
	uint32_t policy;    /* epp_policy */
	uint32_t overwrite; /* 1: a file at `path` is replaced; 0: it is an error */
	uint32_t sync_ms; /* 0: what the machine's end (power, a crash of the kernel) takes is the kernel's to say.  Else all
	                       that was recorded is sent to the disk at least so often, chunks in hand too, by a thread of its
	                       own, and lost is what came since, with what the disk needs for it; and chunks (64 KiB of a
	                       thread's records) or names that became blocks while they were sent.  What a window in memory holds
	                       (EPPROF_WINDOW_DIR, btrfs) is lost besides: what is in no block yet.  The last time runs behind
	                       release.  Only for files */
	uint32_t lossless; /* 0: when threads record faster than epprof's own can write, events are lost and counted (no
	                        buffer); recording never waits.  1: a thread that finds no room writes itself what has been
	                        waiting longest, up to 64 KiB of records (some 20 us), or waits while another one does, and goes
	                        on.  Nothing is lost then but what the disk does not take, what memory_bytes and max_bytes
	                        leave no room for (stop: what comes last; ring: the oldest), and what more than 700 threads
	                        record at once: counted as ever.  A write that hangs holds the threads that record, and
	                        epp_session_end, until it returns.  EPP_INCOMPATIBLE where the kernel has no membarrier(2) */
} epp_session_options;

/* Makes a session, idle.  A file is created (window mapped and touched) here, so that start is quick.
 * Errors: EPP_INVALID_ARGUMENT, EPP_IO (message names the path), EPP_BUSY (another live process or session writes that
 * file), EPP_OUT_OF_MEMORY.  `*session` is NULL on failure.
 * Thread: [any-thread].  Ownership: the caller releases the session; options and strings are copied. */
EPP_EXPORT epp_status *epp_session_create(const epp_session_options *options, epp_session **session) EPP_MUST_CHECK;

/* Gives the session that writes `options->path` in this process, recording.  Whoever opens the same path (as expanded)
 * shares it; the first makes and starts it, and the options of the others are not looked at.  Each share is given back with
 * epp_session_release: the last one ends the run and finishes the file, and so does the process's exit.  Nobody calls
 * epp_session_end on it.
 * Errors: as epp_session_create and epp_session_start.
 * Thread: [any-thread]. */
EPP_EXPORT epp_status *epp_session_share(const epp_session_options *options, epp_session **session) EPP_MUST_CHECK;

/* The same for what the environment asks for; success and a NULL session if that is nothing.
 *   EPPROF_OUTPUT   the path, replaced if it exists.  If another process is writing it, the pid comes before ".epp", in this
 *                   process from then on, and in the child of a process that has such a file.  With %session% in it each call
 *                   has a file of its own, of which the first is the process's default session.
 *   EPPROF_POLICY   "stream" (the default), "stop:64M", "ring:64M"
 *   EPPROF_SYNC_MS  options.sync_ms
 *   EPPROF_LOSSLESS options.lossless
 * For bridges into frameworks; what begins events itself has the default session.  A process whose libepprof was brought by a
 * bridge (a library that exports `epprof_carries`) has none before the first call; then the session stays, and each time from
 * the first share to the last one's release is a run.
 * Errors: as epp_session_share; EPP_INVALID_ARGUMENT (what a variable says, with its name).
 * Thread: [any-thread]. */
EPP_EXPORT epp_status *epp_session_share_output(epp_session **session) EPP_MUST_CHECK;

/* Attaches a profiler: any OrtEpProfilerImpl, most often one that epp_plugin_profiler_create made.  `label` is what its
 * tracks are called (NULL: its plugin's name, or "ep" if no plugin made it).
 * Errors: EPP_UNAVAILABLE while recording; EPP_INCOMPATIBLE if the version is below 25 or a required entry is NULL.
 * Thread: [session-thread].  Ownership: on success the session calls Release, after the last EndProfiling. */
EPP_EXPORT epp_status *epp_session_attach(epp_session *session, OrtEpProfilerImpl *profiler, const char *label)
    EPP_MUST_CHECK;

/* Why events are lost. */
typedef enum epp_loss {
	EPP_LOSS_NO_BUFFER = 0, /* the pool of chunks was dry: options.lossless */
	EPP_LOSS_NO_SLOT = 1,   /* more threads at once than slots */
	EPP_LOSS_TOO_DEEP = 2,  /* more than 64 open events on one thread */
	EPP_LOSS_TOO_LARGE = 3, /* args beyond the limits: the event is kept, its args are cut; counts cuts, not events */
	EPP_LOSS_REFUSED = 4, /* an event that broke a rule: a NULL name, a negative duration, a category of 4 or more; or
	                         what a host could not hand over: epp_session_count_refused */
	EPP_LOSS_DISK = 5,    /* a write failed */
	EPP_LOSS_POLICY = 6, /* stop: full; ring: overwritten */
	EPP_LOSS_FILTER = 7, /* filtered out on request */
	EPP_LOSS_AFTER_END = 8, /* an end that came after the session's end; a plugin's event that began after it by its times */
	EPP_LOSS_RESTART_GAP = 9, /* a shared single-run plugin was being restarted: counts the gaps, not the events; each stands
	                             in the trace as an event `epprof.restart_gap` */
	EPP_LOSS_PLUGIN = 10, /* what a plugin says it lost itself */
	EPP_LOSS_KILLED = 11, /* a plugin's, which was being handed over when the process was killed; or was still to be, which
	                             counts as one: epp_member_expect */
	EPP_LOSS_HUNG = 12, /* a plugin's, of which a call did not return in time: what it had announced and not handed over;
	                           counts as one if it had announced nothing, as their number is unknown then */
	EPP_LOSS_BEFORE_START = 13, /* a plugin's, that began before the run by its times */
	EPP_LOSS_NEGATIVE = 14,     /* a plugin's, that ended before they began by their times */
	EPP_LOSS_ENTRY_COUNT = 16   /* room in the format */
} epp_loss;

/* A profiler that somebody else drives, most often a framework that the calls come from. */
typedef struct epp_member epp_member;

/* Takes a profiler in, at any time, also while recording: it gets an account in the ledger (that of the last one under this
 * label which has left, if there is one), and what it pushes or adds goes into the trace.  The session calls none of its
 * entries.
 * Errors: EPP_UNAVAILABLE (32 profilers at once), EPP_BUSY (attached already), EPP_INCOMPATIBLE as in attach.
 * Thread: [any-thread].  Ownership: the profiler stays the caller's; the member is the caller's until epp_member_leave. */
EPP_EXPORT epp_status *epp_session_join(epp_session *session, OrtEpProfilerImpl *profiler, const char *label,
                                        epp_member **member) EPP_MUST_CHECK;

/* Counts what never came to the session because the host found no place for it: as many events, if that is known, or one for
 * each profiler that could not join.  In the session's own account, as EPP_LOSS_REFUSED.
 * Thread: [any-thread]. */
EPP_EXPORT void epp_session_count_refused(epp_session *session, uint64_t count);

/* A call of one member's profiler, and what it came to. */
typedef struct epp_member_call {
	epp_member *member;
	/* For EndProfiling, of the profiler's own tables.  NULL: one of epp_ort_api_base()'s, through which events go into the
	 * session.  One that is given must outlast a call that does not return. */
	OrtProfilingEventsContainer *container;
	OrtStatus *status;   /* what the profiler gave; its tables' to release */
	epp_status *failure; /* EPP_TIMEOUT: the call has not returned in time */
} epp_member_call;

/* Calls StartProfiling of all of them at once, each on a thread of its profiler's own, between two readings of the clock;
 * returns when all have returned, or after EPPROF_PLUGIN_TIMEOUT_MS (of the environment, or else 2 s).  Each is told
 * `offset_ns`, how long ago that began which its microseconds count from, plus the time since `since_ticks` of
 * epp_host_ticks; 0 there: plus nothing.
 * Units: nanoseconds.  Thread: one at a time for one member.  Ownership: statuses and failures are the caller's. */
EPP_EXPORT void epp_members_start(epp_member_call *calls, size_t count, int64_t offset_ns, uint64_t since_ticks);

/* The same with EndProfiling.  A member whose StartProfiling has not returned in time is not called, and gets neither status nor
 * failure.
 * Thread: one at a time for one member.  Ownership: as epp_members_start. */
EPP_EXPORT void epp_members_end(epp_member_call *calls, size_t count);

/* For a host that is told the offset by somebody else, and finds out later how much time had passed between its reading and
 * epp_members_start.  A profiler that counts from what it was told is right without it, one that repeats times of the teller's
 * is early by as much: the bound of what it adds from now on covers both.  Nothing, if it is not positive.
 * Units: nanoseconds.  Thread: one at a time for one member. */
EPP_EXPORT void epp_member_start_delayed(epp_member *member, int64_t delay_ns);

/* Adds events of epp_ort_api_base()'s tables to the session.
 * Thread: one at a time for one member.  Ownership: valid until epp_member_leave. */
EPP_EXPORT OrtProfilingEventsContainer *epp_member_container(epp_member *member);

/* The accounts in the session's trace of all that have joined under its label, its own among them: bit n is
 * epp_trace_track.producer n.  Of profilers of one plugin that is profiled for the whole process (docs/vendor-guide.md) only
 * one gets an event, so what happened in a member's time may stand in another one's account.  0 once the session is gone.
 * Thread: one at a time for one member. */
EPP_EXPORT uint64_t epp_member_producers(const epp_member *member);

/* A callback of the profiler gave an error: the ledger counts it.
 * Thread: [any-thread], not beside epp_member_leave. */
EPP_EXPORT void epp_member_count_error(epp_member *member);

/* A call of the profiler that its host makes by itself, StartEvent or StopEvent, has not returned in time: the account is that of
 * a plugin that hangs, with `note` beside it, and the member is not called any more.
 * Thread: [any-thread], not beside epp_member_leave. */
EPP_EXPORT void epp_member_give_up(epp_member *member, const char *note);

/* Counts events of the profiler's that its host could not take over.
 * Thread: [any-thread], not beside epp_member_leave. */
EPP_EXPORT void epp_member_lose(epp_member *member, epp_loss reason, uint64_t count);

/* 1: the profiler's events come later, all at once; 0: they have come.  In between the account counts one event as emitted, so
 * that the trace of a process that is killed says what is missing: EPP_LOSS_KILLED, beside the note.  What is still expected
 * when the member leaves is lost: EPP_LOSS_PLUGIN.
 * Thread: one at a time for one member. */
EPP_EXPORT void epp_member_expect(epp_member *member, int expected);

/* Puts a note of at most 79 bytes beside its account, in place of the last one.
 * Thread: one at a time for one member.  Ownership: the text is copied. */
EPP_EXPORT void epp_member_note(epp_member *member, const char *text);

/* The profiler leaves, with nothing of it under way.  NULL does nothing.
 * Thread: [any-thread], also after the session's release. */
EPP_EXPORT void epp_member_leave(epp_member *member);

/* Starts a run: from now on events are recorded.  Waits for a pending end of the run before.  StartProfiling is called
 * on all profilers at once, each on a thread of its own; a profiler that fails there is kept, its error counted, and
 * its other callbacks still come, as in ONNX Runtime.  One that has not returned after options.plugin_timeout_ns is given up
 * for this run: the others go on without it, and it is counted as EPP_LOSS_HUNG.
 * Errors: EPP_UNAVAILABLE if it records already; EPP_IO.
 * Thread: [session-thread]. */
EPP_EXPORT epp_status *epp_session_start(epp_session *session) EPP_MUST_CHECK;

/* Ends the run: nothing recorded by any thread after this returns belongs to it.  Events still open become `unended`.
 * Returns within 10 ms: EndProfiling is called on each profiler's own thread, the helper writes what is left.  Ending twice
 * does nothing.
 * Errors: EPP_INVALID_ARGUMENT (no such session); what the run itself came to is told by epp_session_wait.
 * Thread: [session-thread]. */
EPP_EXPORT epp_status *epp_session_end(epp_session *session) EPP_MUST_CHECK;

/* Waits until the ended run is wholly written: profilers asked, every region a block.
 * Units: nanoseconds, UINT64_MAX for ever.  Errors: EPP_TIMEOUT; else the first error of the run (a failed write, a
 * profiler's status), once.
 * Thread: [session-thread]. */
EPP_EXPORT epp_status *epp_session_wait(epp_session *session, uint64_t timeout_ns) EPP_MUST_CHECK;

/* Ends the run if there is one, waits for it, finishes the file and frees the session.  It waits for profilers at most
 * options.plugin_timeout_ns, and a second for what is written afterwards, which the helper finishes if it takes longer.  Each
 * profiler's Release is called on its thread and waited for like any call; of one that has been given up it is called when
 * the call that hangs returns, and never if that is StartEvent or StopEvent.
 * NULL does nothing.
 * Thread: [session-thread]. */
EPP_EXPORT void epp_session_release(epp_session *session);

/* Reads the bytes of a session's trace as they are now, file or memory alike: for readers in the same process.
 * Returns how many were copied, less than `bytes` only at the end.
 * Thread: [any-thread], not beside release. */
EPP_EXPORT size_t epp_session_read(epp_session *session, uint64_t offset, void *buffer, size_t bytes);

/* The process's default session, or NULL if EPPROF_OUTPUT is not set (or could not be followed).
 * Thread: [any-thread].  Ownership: the library's; do not release. */
EPP_EXPORT epp_session *epp_session_default(void);

/* Units: events.  What was lost so far, by reason (see epp_loss), over all threads of the session and all its runs.
 * Thread: [any-thread], not beside release. */
EPP_EXPORT uint64_t epp_session_lost(epp_session *session, epp_loss reason);

/* ---- recording ---- */

/* Events have one of four categories, ONNX Runtime's. */
typedef enum epp_category { EPP_SESSION = 0, EPP_NODE = 1, EPP_KERNEL = 2, EPP_API = 3 } epp_category;

typedef enum epp_arg_type { EPP_ARG_I64 = 0, EPP_ARG_U64 = 1, EPP_ARG_F64 = 2, EPP_ARG_TEXT = 3 } epp_arg_type;

/* A key and a value.  At most 255 arg slots and 32 KiB of text a record are kept; what is cut is counted. */
typedef struct epp_arg {
	epp_name key;
	uint32_t type; /* epp_arg_type */
	union {
		int64_t i64;
		uint64_t u64;
		double f64;
		const char *text; /* any bytes; borrowed for the call, stored inline in the record, never interned */
	} value;
	size_t text_bytes; /* EPP_ARG_TEXT only */
} epp_arg;

/* Args that many events have in common, under one number; the same args, in the same order, give the same.  An event that has
 * EPP_ARGS_OF(number) among its own has them all in that place, for 16 bytes in its record: of an event with many args, most of
 * which seldom change, this is most of what recording it takes.  Two such args an event at most; readers see the single args.
 * Returns 0 if they have a text that is NULL, if with their texts they take more than 384 bytes, in 16-byte slots, if
 * EPP_ARGS_OF is among them, or if there is no more room for names: then give them one by one.
 * They are kept for the life of the process, and in each trace: intern what comes again.  Takes a lock and waits as
 * epp_name_intern does.
 * Thread: [any-thread].  Ownership: the args are copied. */
EPP_EXPORT epp_name epp_args_intern(const epp_arg *args, size_t args_count);

/* The arg that stands for them; not of 0. */
#define EPP_ARGS_KEY ((epp_name)10)
#ifdef __cplusplus
#define EPP_ARGS_OF(number) (epp_arg{ EPP_ARGS_KEY, EPP_ARG_U64, { static_cast<int64_t>(number) }, 0 })
#else
#define EPP_ARGS_OF(number) ((epp_arg){ EPP_ARGS_KEY, EPP_ARG_U64, { (int64_t)(number) }, 0 })
#endif

/* How many sessions record now; read it through EPPROF_ENABLED(). */
EPP_EXPORT extern uint32_t epp_recording_count;

/* True while any session of the process records: one load and a branch, to skip preparing names and args. */
#if defined(__GNUC__)
#define EPPROF_ENABLED() (__builtin_expect(__atomic_load_n(&epp_recording_count, __ATOMIC_RELAXED) != 0, 0))
#else
#define EPPROF_ENABLED() (epp_recording_count != 0)
#endif

/* Begins an event on the calling thread: the clock is read, then StartEvent is called on each profiler.
 * Returns its id, unique in the process, or 0 when nothing records or 64 events are open on this thread (counted).
 * Never blocks, allocates (after a thread's first event), locks or calls the system, unless options.lossless is set.
 * Thread: [event-thread]; not from a profiler's callback (then 0), not from a signal handler. */
EPP_EXPORT uint64_t epp_event_begin(epp_session *session, epp_category category, epp_name name);

/* The slow form: interns `text` each time.
 * Thread: as epp_event_begin.  Ownership: the text is copied. */
EPP_EXPORT uint64_t epp_event_begin_text(epp_session *session, epp_category category, const char *text);

/* Ends an event: the clock is read, the record is stored (a kill from here on cannot lose it), then StopEvent is called.
 * Ending an outer event ends the inner ones as `unended`.  An id begun on another thread is joined when the trace is
 * read.  0 does nothing; an id of an earlier run counts as `after end`.
 * Thread: [event-thread].  Ownership: args are borrowed for the call. */
EPP_EXPORT void epp_event_end(epp_session *session, uint64_t id, const epp_arg *args, size_t args_count);

/* The same for an event whose name and category are known only now (ONNX Runtime's StartEvent carries none).
 * Thread: [event-thread].  Ownership: args are borrowed for the call. */
EPP_EXPORT void epp_event_end_named(epp_session *session, uint64_t id, epp_category category, epp_name name,
                                    const epp_arg *args, size_t args_count);

/* A moment on the calling thread.
 * Thread: [any-thread], here and below as epp_event_begin.  Ownership: args are borrowed for the call. */
EPP_EXPORT void epp_instant(epp_session *session, epp_category category, epp_name name, const epp_arg *args,
                            size_t args_count);

/* The value of a counter at this moment.
 * Thread: [any-thread]. */
EPP_EXPORT void epp_counter_i64(epp_session *session, epp_name name, int64_t value);
EPP_EXPORT void epp_counter_f64(epp_session *session, epp_name name, double value);

/* An arrow from one event to another, by their ids, drawn at this moment.  To an event of category EPP_API, from one that
 * launched work for a device, it says that the work was waited for: what was launched before that event began ended before
 * that event did.
 * Thread: [any-thread]. */
EPP_EXPORT void epp_flow(epp_session *session, uint64_t from_id, uint64_t to_id);

/* An event that nests in nothing and may end on any thread (a request, a transfer).
 * Thread: [any-thread].  Ownership: args are borrowed for the call. */
EPP_EXPORT uint64_t epp_async_begin(epp_session *session, epp_category category, epp_name name);
EPP_EXPORT void epp_async_end(epp_session *session, uint64_t id, const epp_arg *args, size_t args_count);

/* ---- tracks: work timed elsewhere ---- */

/* A row of the timeline with a clock of its own; belongs to a session; 0 is none. */
typedef uint32_t epp_track;

typedef enum epp_clock_kind {
	EPP_CLOCK_HOST = 0,         /* ticks of epp_host_ticks() */
	EPP_CLOCK_DEVICE = 1,       /* ticks of a device, related to the host by epp_clock_pair_add */
	EPP_CLOCK_DURATION_ONLY = 2 /* no common clock: events are placed inside their parent and marked */
} epp_clock_kind;

typedef struct epp_track_options {
	size_t struct_size;
	const char *name;          /* "stream 1" */
	const char *group;         /* rows with the same group stand together, "Accelerator 0"; NULL: none */
	uint64_t ticks_per_second; /* of its clock; not for EPP_CLOCK_HOST */
	uint32_t clock_kind;       /* epp_clock_kind */
	uint32_t clock_bits;       /* where the device's counter wraps; 0: 64 */
	int32_t device;            /* -1: not a device */
	uint32_t clock_of;         /* 0: a clock of its own; else shares that track's clock */
	int64_t stream;
} epp_track_options;

/* Makes a track.  Errors: EPP_INVALID_ARGUMENT, EPP_OUT_OF_MEMORY (4,096 tracks a session).
 * Thread: [any-thread].  Ownership: strings are copied; a track lives as long as its session. */
EPP_EXPORT epp_status *epp_track_create(epp_session *session, const epp_track_options *options, epp_track *track)
    EPP_MUST_CHECK;

/* Makes a track for events of a thread of this process that another profiler timed, in ticks of epp_host_ticks().  They nest by
 * time; of two that begin at the same tick the one that is recorded first is the outer one.  `thread_id` is the operating
 * system's number, 0 if it is not known; tracks with the same number and name are one row.
 * Errors: EPP_INVALID_ARGUMENT, EPP_OUT_OF_MEMORY.  Thread: [any-thread].  Ownership: as epp_track_create. */
EPP_EXPORT epp_status *epp_track_create_thread(epp_session *session, uint32_t thread_id, const char *name,
                                               epp_track *track) EPP_MUST_CHECK;

/* Records an event that was timed elsewhere, in ticks of the track's clock; `parent` is the id of the host event that
 * caused it, or 0.  end_ticks below start_ticks is refused and counted.  Returns the event's id; 0: it was not kept.
 * Thread: [any-thread].  Ownership: args are borrowed for the call. */
EPP_EXPORT uint64_t epp_event_complete(epp_session *session, epp_track track, epp_category category, epp_name name,
                                       uint64_t start_ticks, uint64_t end_ticks, uint64_t parent, const epp_arg *args,
                                       size_t args_count);

/* Names the parent of an event that was timed elsewhere and recorded without one, by the ids of both, which may be recorded in
 * any order.  An event that has a parent keeps it.
 * Thread: [any-thread]. */
EPP_EXPORT void epp_parent_set(epp_session *session, uint64_t id, uint64_t parent);

/* From now on, what the calling thread records by the functions above waits for room instead of being lost, as long as the
 * trace is written at all.
 * Thread: [any-thread]. */
EPP_EXPORT void epp_completes_wait(epp_session *session);

/* Relates the clock of a track to the host's: at `host_ticks` plus or minus `half_width_ticks` (host ticks too) the
 * device's counter stood at `device_ticks`.
 * Thread: [any-thread]. */
EPP_EXPORT void epp_clock_pair_add(epp_session *session, epp_track track, uint64_t device_ticks, uint64_t host_ticks,
                                   uint64_t half_width_ticks);

/* The host clock that events are stamped with (TSC where it is sound, else CLOCK_MONOTONIC).
 * Units: ticks; epp_host_ticks_per_second() of them a second, nominally (traces carry clock pairs that are exact).
 * Thread: [any-thread], [signal-safe]. */
EPP_EXPORT uint64_t epp_host_ticks(void);
EPP_EXPORT uint64_t epp_host_ticks_per_second(void);

#ifdef __cplusplus
}
#endif
#endif
