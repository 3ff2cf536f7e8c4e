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
 * once.  A session may be started and ended several times: each time is a run of the same trace.
 *
 * A NULL session stands for the process's default session.  It is started when the library is loaded with
 * EPPROF_OUTPUT=file.epp in the environment.  Without EPPROF_OUTPUT, recording to it does nothing, at almost no cost.
 *
 * Functions that may run concurrently on one session:
 *                 | create | attach | start | begin..async | end | wait | release |
 *   attach        |   -    |   X    |   X   |      ok      |  X  |  X   |    X    |   X: one at a time (the session-thread)
 *   start         |   -    |   X    |   X   |      ok      |  X  |  X   |    X    |   ok: always allowed
 *   begin..async  |   -    |   ok   |   ok  |      ok      |  ok |  ok  |    ok   |
 * A recording call on a released session, or concurrent with `release`, is harmless: it records nothing and begin
 * returns 0.
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
 * At most 65,536 bytes are kept (longer text is cut and "..." appended).  If the table is full (1 Mi names, 256 MiB of
 * text) or there is no memory, the result is the reserved name "(name lost)".  For a new text it takes a lock, and
 * while 8 MiB of new texts are not yet written to the file it waits for the write, at most a tenth of a second: intern
 * once, not per event.
 * Thread: [any-thread].  Ownership: the text is copied. */
EPP_EXPORT epp_name epp_name_intern(const char *text);

/* As epp_name_intern, for `bytes` bytes with any values, including zeros.
 * Thread: [any-thread].  Ownership: the text is copied. */
EPP_EXPORT epp_name epp_name_intern_bytes(const char *text, size_t bytes);

/* The text of a name; "(unknown)" for a number that is not a name.
 * Thread: [any-thread].  Ownership: valid until the process ends. */
EPP_EXPORT const char *epp_name_text(epp_name name);

/* ---- sessions ---- */

typedef enum epp_policy {
	EPP_POLICY_STREAM = 0, /* limited only by the disk */
	EPP_POLICY_RING = 1,   /* bounded by max_bytes, keeps the newest */
	EPP_POLICY_STOP = 2    /* bounded by max_bytes, keeps the oldest */
} epp_policy;

typedef enum epp_blame { EPP_BLAME_NONE = 0, EPP_BLAME_HOST = 1, EPP_BLAME_PLUGIN = 2, EPP_BLAME_SYSTEM = 3 } epp_blame;

/* Called with a description of each problem and the party at fault; the library itself never prints.
 * Thread: [any-thread], never while the library holds a lock, and not after epp_session_release has returned.
 * epp_session_release waits for a running call, so it must not be called from this function.  Ownership: the text is
 * borrowed for the call. */
typedef void (*epp_log_fn)(void *user, epp_blame blame, const char *text);

typedef struct epp_session_options {
	size_t struct_size;    /* sizeof(epp_session_options) of the caller; a non-zero unknown tail is an error */
	const char *path;      /* the .epp to write; NULL: record in memory. %pid%, %hostname% and %session% (a
	                          counter) are expanded */
	const char *label;     /* the name of the session in the trace; NULL: the program's name */
	uint64_t memory_bytes; /* in memory: the maximum size of finished blocks; 0: 256 MiB */
	uint64_t max_bytes;    /* ring and stop: the maximum size of the recorded data that is kept; the window takes
	                          21 MiB more, or up to 53 while recording is fast; at least 1 MiB for stop, 4 MiB
	                          for ring */
	uint64_t plugin_timeout_ns; /* the time limit for plugins at a run's start and at its end; 0:
	                               EPPROF_PLUGIN_TIMEOUT_MS of the environment, or else 2 s */
	epp_log_fn log;             /* NULL: problems are counted in the ledger only */
	void *log_user;
	uint32_t policy;    /* epp_policy */
	uint32_t overwrite; /* 1: a file at `path` is replaced; 0: it is an error */
	uint32_t sync_ms;   /* 0: what a power failure or a kernel crash loses depends on the kernel's writeback.
	                       Else a separate thread syncs all recorded data to the disk at this interval, records
	                       that are in no block yet included.  A failure then loses the records of the last
	                       interval and of the time that a sync takes, and chunks (64 KiB of a thread's records)
	                       or names that became blocks during a sync.  If the window is in memory
	                       (EPPROF_WINDOW_DIR, btrfs), all records that are in no block yet are lost, too.  The
	                       last sync runs after epp_session_release has returned.  Only for files */
	uint32_t lossless;  /* 0: if threads record faster than the helper thread writes, events are lost and counted
	                       (EPP_LOSS_NO_BUFFER); recording never waits. 1: a thread that finds no room itself
	                       writes the records that have waited longest, up to 64 KiB (some 20 us), or waits while
	                       another thread does, and continues.  Then nothing is lost except what the disk does
	                       not accept, what does not fit into memory_bytes and max_bytes (stop: the newest; ring:
	                       the oldest), and the events of threads beyond 700 that record at once; all of these
	                       are counted as usual.  A write that hangs blocks the recording threads, and
	                       epp_session_end, until it returns.  EPP_INCOMPATIBLE if the kernel has no
	                       membarrier(2) */
} epp_session_options;

/* Makes an idle session.  The file is created here, and its window mapped and touched, so that start is fast.
 * Errors: EPP_INVALID_ARGUMENT, EPP_IO (the message names the path), EPP_BUSY (another live process or session writes
 * that file), EPP_OUT_OF_MEMORY.  `*session` is NULL on failure.
 * Thread: [any-thread].  Ownership: the caller releases the session; options and strings are copied. */
EPP_EXPORT epp_status *epp_session_create(const epp_session_options *options, epp_session **session) EPP_MUST_CHECK;

/* Returns the session of this process that writes `options->path`, recording.  All callers with the same path (as
 * expanded) share one session; the first call makes and starts it, and the options of later calls are ignored.  Each
 * share is returned with epp_session_release: the last one ends the run and finishes the file, and so does the exit of
 * the process.  Do not call epp_session_end on a shared session.
 * Errors: as epp_session_create and epp_session_start.
 * Thread: [any-thread]. */
EPP_EXPORT epp_status *epp_session_share(const epp_session_options *options, epp_session **session) EPP_MUST_CHECK;

/* As epp_session_share, with options from the environment; success and a NULL session if EPPROF_OUTPUT is not set.
 *   EPPROF_OUTPUT   the path; an existing file is replaced.  If another process is writing it, this process inserts its
 *                   pid before ".epp" from then on, and so does the child of a process that has such a file.  If
 *                   the path contains %session%, each call gets its own file; the first one is the default session.
 *   EPPROF_POLICY   "stream" (the default), "stop:64M", "ring:64M"
 *   EPPROF_SYNC_MS  options.sync_ms
 *   EPPROF_LOSSLESS options.lossless
 * For bridges into frameworks; code that begins events itself uses the default session.  In a process whose libepprof
 * was loaded by a bridge (a library that exports `epprof_carries`) there is no default session before the first call;
 * from then on the session stays, and each period from the first share to the last release is a run.
 * Errors: as epp_session_share; EPP_INVALID_ARGUMENT (the value of a variable; the message names the variable).
 * Thread: [any-thread]. */
EPP_EXPORT epp_status *epp_session_share_output(epp_session **session) EPP_MUST_CHECK;

/* Attaches a profiler: any OrtEpProfilerImpl, usually one from epp_plugin_profiler_create.  `label` is the name of its
 * tracks (NULL: its plugin's name, or "ep" if no plugin made it).
 * Errors: EPP_UNAVAILABLE while recording; EPP_INCOMPATIBLE if the version is below 25 or a required entry is NULL.
 * Thread: [session-thread].  Ownership: on success the session calls Release, after the last EndProfiling. */
EPP_EXPORT epp_status *epp_session_attach(epp_session *session, OrtEpProfilerImpl *profiler, const char *label)
    EPP_MUST_CHECK;

/* Why events are lost. */
typedef enum epp_loss {
	EPP_LOSS_NO_BUFFER = 0, /* the chunk pool was empty; see options.lossless */
	EPP_LOSS_NO_SLOT = 1,   /* more threads recorded at once than there are slots */
	EPP_LOSS_TOO_DEEP = 2,  /* more than 64 open events on one thread */
	EPP_LOSS_TOO_LARGE = 3, /* args beyond the limits: the event is kept, its args are cut; counts cuts, not events */
	EPP_LOSS_REFUSED = 4,   /* an invalid event: a NULL name, a negative duration, a category of 4 or more; or
	                           what a host could not deliver: epp_session_count_refused */
	EPP_LOSS_DISK = 5,      /* a write failed */
	EPP_LOSS_POLICY = 6,    /* stop: full; ring: overwritten */
	EPP_LOSS_FILTER = 7,    /* filtered out on request */
	EPP_LOSS_AFTER_END = 8,   /* an end after the end of the session; a plugin's event that, by its times, began
	                             after the end */
	EPP_LOSS_RESTART_GAP = 9, /* a shared single-run plugin was being restarted: counts the gaps, not the events;
	                             the trace has an event `epprof.restart_gap` for each gap */
	EPP_LOSS_PLUGIN = 10,     /* losses that a plugin reports */
	EPP_LOSS_KILLED = 11, /* a plugin's event that was being delivered when the process was killed; or events not
	                         yet delivered, counted as one: epp_member_expect */
	EPP_LOSS_HUNG = 12,   /* a plugin whose call did not return in time: the events that it had announced and not
	                         delivered; counts 1 if it had announced none, because their number is unknown then */
	EPP_LOSS_BEFORE_START = 13, /* a plugin's event that, by its times, began before the run */
	EPP_LOSS_NEGATIVE = 14,     /* a plugin's event that, by its times, ended before it began */
	EPP_LOSS_ENTRY_COUNT = 16   /* room in the format */
} epp_loss;

/* A profiler whose entries the caller calls, usually because they come from a framework. */
typedef struct epp_member epp_member;

/* Adds a profiler, at any time, also while recording.  It gets an account in the ledger (that of the last member with
 * this label that has left, if there is one), and the events that it pushes or adds go into the trace.  The session
 * calls none of its entries.
 * Errors: EPP_UNAVAILABLE (32 profilers at once), EPP_BUSY (attached already), EPP_INCOMPATIBLE as in attach.
 * Thread: [any-thread].  Ownership: the profiler stays the caller's; the member is the caller's until
 * epp_member_leave. */
EPP_EXPORT epp_status *epp_session_join(epp_session *session, OrtEpProfilerImpl *profiler, const char *label,
                                        epp_member **member) EPP_MUST_CHECK;

/* Counts events that the host could not deliver to the session: their number, if it is known, or 1 for each profiler
 * that could not join.  They are counted in the session's own account, as EPP_LOSS_REFUSED.
 * Thread: [any-thread]. */
EPP_EXPORT void epp_session_count_refused(epp_session *session, uint64_t count);

/* A call of one member's profiler, and its result. */
typedef struct epp_member_call {
	epp_member *member;
	/* For EndProfiling: a container of the tables that the profiler was made with.  NULL: a container of
	 * epp_ort_api_base()'s tables, which adds the events to the session.  A container must outlive a call that does
	 * not return. */
	OrtProfilingEventsContainer *container;
	OrtStatus *status;   /* the profiler's result; to be released with its tables */
	epp_status *failure; /* EPP_TIMEOUT: the call has not returned in time */
} epp_member_call;

/* Calls StartProfiling of all members at once, each on its profiler's own thread, between two readings of the clock.
 * Returns when all have returned, or after EPPROF_PLUGIN_TIMEOUT_MS (of the environment, or else 2 s).  Each profiler
 * gets the offset `offset_ns`, the time since the origin of its microseconds, plus the time since `since_ticks` of
 * epp_host_ticks; with `since_ticks` 0 nothing is added.
 * Units: nanoseconds.  Thread: one at a time for one member.  Ownership: statuses and failures are the caller's. */
EPP_EXPORT void epp_members_start(epp_member_call *calls, size_t count, int64_t offset_ns, uint64_t since_ticks);

/* As epp_members_start, with EndProfiling.  A member whose StartProfiling has not returned in time is not called, and
 * gets neither status nor failure.
 * Thread: one at a time for one member.  Ownership: as epp_members_start. */
EPP_EXPORT void epp_members_end(epp_member_call *calls, size_t count);

/* For a host that gets the offset from another component, and learns later how much time passed between the reading of
 * that offset and epp_members_start.  The times of a profiler that counts from the offset are right without this
 * correction; those of a profiler that repeats times of the other component are early by this delay.  The error bound
 * of events added from now on covers both.  A delay of 0 or less is ignored.
 * Units: nanoseconds.  Thread: one at a time for one member. */
EPP_EXPORT void epp_member_start_delayed(epp_member *member, int64_t delay_ns);

/* Returns the container that adds events of epp_ort_api_base()'s tables to the session.
 * Thread: one at a time for one member.  Ownership: valid until epp_member_leave. */
EPP_EXPORT OrtProfilingEventsContainer *epp_member_container(epp_member *member);

/* Returns the accounts, in the session's trace, of all members that have joined with this label, this one included: bit
 * n is epp_trace_track.producer n.  If several profilers belong to one plugin that is profiled for the whole process
 * (docs/vendor-guide.md), only one of them gets each event, so the events from a member's time may be in another one's
 * account.  0 after the session was released.
 * Thread: one at a time for one member. */
EPP_EXPORT uint64_t epp_member_producers(const epp_member *member);

/* Counts in the ledger that a callback of the profiler returned an error.
 * Thread: [any-thread], not concurrent with epp_member_leave. */
EPP_EXPORT void epp_member_count_error(epp_member *member);

/* Reports that StartEvent or StopEvent, which the host calls directly, has not returned in time.  The account becomes
 * that of a plugin that hangs, with the note `note`, and the member is not called any more.
 * Thread: [any-thread], not concurrent with epp_member_leave. */
EPP_EXPORT void epp_member_give_up(epp_member *member, const char *note);

/* Counts events of the profiler that its host could not take.
 * Thread: [any-thread], not concurrent with epp_member_leave. */
EPP_EXPORT void epp_member_lose(epp_member *member, epp_loss reason, uint64_t count);

/* 1: the profiler's events will come later, all at once; 0: they have come.  In between, the account counts one event
 * as emitted, so that the trace of a killed process reports the missing events: EPP_LOSS_KILLED, with the note.  Events
 * that are still expected when the member leaves are lost: EPP_LOSS_PLUGIN.
 * Thread: one at a time for one member. */
EPP_EXPORT void epp_member_expect(epp_member *member, int expected);

/* Sets the note of the member's account, at most 79 bytes, and replaces the last one.
 * Thread: one at a time for one member.  Ownership: the text is copied. */
EPP_EXPORT void epp_member_note(epp_member *member, const char *text);

/* Removes the member; none of its calls may be running.  NULL does nothing.
 * Thread: [any-thread], also after the session's release. */
EPP_EXPORT void epp_member_leave(epp_member *member);

/* Starts a run: from now on events are recorded.  First waits until the previous run has ended completely.
 * StartProfiling is called on all profilers at once, each on its own thread.  A profiler that returns an error stays
 * attached: the error is counted, and its other callbacks are still called, as in ONNX Runtime.  A profiler that has
 * not returned after options.plugin_timeout_ns is dropped for this run: the others continue without it, and it is
 * counted as EPP_LOSS_HUNG.
 * Errors: EPP_UNAVAILABLE if it records already; EPP_IO.
 * Thread: [session-thread]. */
EPP_EXPORT epp_status *epp_session_start(epp_session *session) EPP_MUST_CHECK;

/* Ends the run: nothing that any thread records after this returns belongs to it.  Events that are still open become
 * `unended`.
 * Returns within 10 ms: EndProfiling is called on each profiler's own thread, and the helper thread writes the rest.
 * Ending a second time does nothing.
 * Errors: EPP_INVALID_ARGUMENT (no such session); epp_session_wait returns the errors of the run itself.
 * Thread: [session-thread]. */
EPP_EXPORT epp_status *epp_session_end(epp_session *session) EPP_MUST_CHECK;

/* Waits until the ended run is completely written: EndProfiling of all profilers was called, and every region has
 * become a block.
 * Units: nanoseconds, UINT64_MAX for ever.  Errors: EPP_TIMEOUT; else the first error of the run (a failed write, a
 * profiler's status), once.
 * Thread: [session-thread]. */
EPP_EXPORT epp_status *epp_session_wait(epp_session *session, uint64_t timeout_ns) EPP_MUST_CHECK;

/* Ends the run if there is one, waits for it, finishes the file and frees the session.  It waits for profilers at most
 * options.plugin_timeout_ns, and one second for the remaining writes; if they take longer, the helper thread finishes
 * them.  Each profiler's Release is called on its thread, with the same time limit; if a call of the profiler hangs,
 * Release is called when that call returns, and never if the call is StartEvent or StopEvent.
 * NULL does nothing.
 * Thread: [session-thread]. */
EPP_EXPORT void epp_session_release(epp_session *session);

/* Reads bytes of a session's trace in its present state, from the file or from memory: for readers in the same process.
 * Returns the number of bytes copied, less than `bytes` only at the end.
 * Thread: [any-thread], not concurrent with release. */
EPP_EXPORT size_t epp_session_read(epp_session *session, uint64_t offset, void *buffer, size_t bytes);

/* The process's default session, or NULL if EPPROF_OUTPUT is not set or the session could not be started.
 * Thread: [any-thread].  Ownership: the library's; do not release. */
EPP_EXPORT epp_session *epp_session_default(void);

/* The number of events lost so far for a reason (see epp_loss), over all threads of the session and all its runs.
 * Units: events.  Thread: [any-thread], not concurrent with release. */
EPP_EXPORT uint64_t epp_session_lost(epp_session *session, epp_loss reason);

/* ---- recording ---- */

/* Events have one of four categories, ONNX Runtime's. */
typedef enum epp_category { EPP_SESSION = 0, EPP_NODE = 1, EPP_KERNEL = 2, EPP_API = 3 } epp_category;

typedef enum epp_arg_type { EPP_ARG_I64 = 0, EPP_ARG_U64 = 1, EPP_ARG_F64 = 2, EPP_ARG_TEXT = 3 } epp_arg_type;

/* A key and a value.  A record keeps at most 255 arg slots and 32 KiB of text; cuts are counted
 * (EPP_LOSS_TOO_LARGE). */
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

/* Interns args that many events have in common as one number; the same args in the same order give the same number.  An
 * event whose args include EPP_ARGS_OF(number) has all of them in that place, for 16 bytes in its record.  For an event
 * with many args, most of which seldom change, this saves most of the cost of recording it.  At most two such args an
 * event; readers see the single args.
 * Returns 0 if an arg's text is NULL, if the args with their texts take more than 384 bytes in 16-byte slots, if
 * EPP_ARGS_OF is among them, or if there is no more room for names: then pass the args individually.
 * They are kept for the life of the process, and in each trace: intern only args that recur.  Takes a lock and waits as
 * epp_name_intern does.
 * Thread: [any-thread].  Ownership: the args are copied. */
EPP_EXPORT epp_name epp_args_intern(const epp_arg *args, size_t args_count);

/* The arg that refers to interned args; `number` must not be 0. */
#define EPP_ARGS_KEY ((epp_name)10)
#ifdef __cplusplus
#define EPP_ARGS_OF(number) (epp_arg{ EPP_ARGS_KEY, EPP_ARG_U64, { static_cast<int64_t>(number) }, 0 })
#else
#define EPP_ARGS_OF(number) ((epp_arg){ EPP_ARGS_KEY, EPP_ARG_U64, { (int64_t)(number) }, 0 })
#endif

/* The number of sessions that record now; read it through EPPROF_ENABLED(). */
EPP_EXPORT extern uint32_t epp_recording_count;

/* True while any session of the process records; costs one load and a branch.  Use it to skip the preparation of names
 * and args. */
#if defined(__GNUC__)
#define EPPROF_ENABLED() (__builtin_expect(__atomic_load_n(&epp_recording_count, __ATOMIC_RELAXED) != 0, 0))
#else
#define EPPROF_ENABLED() (epp_recording_count != 0)
#endif

/* Begins an event on the calling thread: reads the clock, then calls StartEvent of each profiler.
 * Returns the event's id, unique in the process, or 0 if nothing records or 64 events are open on this thread
 * (counted).
 * Never blocks, allocates (after a thread's first event), locks or makes a system call, unless options.lossless is set.
 * Thread: [event-thread]; not from a profiler's callback (then 0), not from a signal handler. */
EPP_EXPORT uint64_t epp_event_begin(epp_session *session, epp_category category, epp_name name);

/* The slow form of epp_event_begin: interns `text` at each call.
 * Thread: as epp_event_begin.  Ownership: the text is copied. */
EPP_EXPORT uint64_t epp_event_begin_text(epp_session *session, epp_category category, const char *text);

/* Ends an event: reads the clock, stores the record (from here on a kill cannot lose it), then calls StopEvent.
 * Ending an outer event ends the inner ones as `unended`.  The end of an event that was begun on another thread is
 * joined with its begin when the trace is read.  0 does nothing; an id of an earlier run is counted as
 * EPP_LOSS_AFTER_END.
 * Thread: [event-thread].  Ownership: args are borrowed for the call. */
EPP_EXPORT void epp_event_end(epp_session *session, uint64_t id, const epp_arg *args, size_t args_count);

/* As epp_event_end, for an event whose name and category are known only now (ONNX Runtime's StartEvent has no name).
 * Thread: [event-thread].  Ownership: args are borrowed for the call. */
EPP_EXPORT void epp_event_end_named(epp_session *session, uint64_t id, epp_category category, epp_name name,
                                    const epp_arg *args, size_t args_count);

/* Records an instant on the calling thread.
 * Thread: [any-thread], here and below as epp_event_begin.  Ownership: args are borrowed for the call. */
EPP_EXPORT void epp_instant(epp_session *session, epp_category category, epp_name name, const epp_arg *args,
                            size_t args_count);

/* Records the current value of a counter.
 * Thread: [any-thread]. */
EPP_EXPORT void epp_counter_i64(epp_session *session, epp_name name, int64_t value);
EPP_EXPORT void epp_counter_f64(epp_session *session, epp_name name, double value);

/* Records a flow, a link from one event to another by their ids, at the current time.  A flow from an event that
 * launched device work to an event of category EPP_API means that the latter waited for the work: the work launched
 * before the API event began had ended when the API event ended.
 * Thread: [any-thread]. */
EPP_EXPORT void epp_flow(epp_session *session, uint64_t from_id, uint64_t to_id);

/* Begins and ends an event that need not nest in other events and may end on any thread (a request, a transfer).
 * Thread: [any-thread].  Ownership: args are borrowed for the call. */
EPP_EXPORT uint64_t epp_async_begin(epp_session *session, epp_category category, epp_name name);
EPP_EXPORT void epp_async_end(epp_session *session, uint64_t id, const epp_arg *args, size_t args_count);

/* ---- tracks: work timed elsewhere ---- */

/* A row of the timeline with its own clock; belongs to a session; 0 is no track. */
typedef uint32_t epp_track;

typedef enum epp_clock_kind {
	EPP_CLOCK_HOST = 0,         /* ticks of epp_host_ticks() */
	EPP_CLOCK_DEVICE = 1,       /* ticks of a device, related to the host by epp_clock_pair_add */
	EPP_CLOCK_DURATION_ONLY = 2 /* no common clock: events are moved inside their parent and marked */
} epp_clock_kind;

typedef struct epp_track_options {
	size_t struct_size;
	const char *name;          /* "stream 1" */
	const char *group;         /* rows with the same group are shown together, "Accelerator 0"; NULL: none */
	uint64_t ticks_per_second; /* of its clock; not for EPP_CLOCK_HOST */
	uint32_t clock_kind;       /* epp_clock_kind */
	uint32_t clock_bits;       /* the width of the device's counter; 0: 64 */
	int32_t device;            /* -1: not a device */
	uint32_t clock_of;         /* 0: the track has its own clock; else the track whose clock it shares */
	int64_t stream;
} epp_track_options;

/* Makes a track.  Errors: EPP_INVALID_ARGUMENT, EPP_OUT_OF_MEMORY (4,096 tracks a session).
 * Thread: [any-thread].  Ownership: strings are copied; a track lives as long as its session. */
EPP_EXPORT epp_status *epp_track_create(epp_session *session, const epp_track_options *options, epp_track *track)
    EPP_MUST_CHECK;

/* Makes a track for events that another profiler timed on a thread of this process, in ticks of epp_host_ticks().  They
 * nest by time; of two that begin at the same tick the one that is recorded first is the outer one.  `thread_id` is the
 * operating system's number, 0 if it is not known; tracks with the same number and name are shown as one row.
 * Errors: EPP_INVALID_ARGUMENT, EPP_OUT_OF_MEMORY.  Thread: [any-thread].  Ownership: as epp_track_create. */
EPP_EXPORT epp_status *epp_track_create_thread(epp_session *session, uint32_t thread_id, const char *name,
                                               epp_track *track) EPP_MUST_CHECK;

/* Records an event with given times, in ticks of the track's clock; `parent` is the id of the host event that caused
 * it, or 0.  end_ticks below start_ticks is refused and counted.  Returns the event's id, or 0 if it was not kept.
 * Thread: [any-thread].  Ownership: args are borrowed for the call. */
EPP_EXPORT uint64_t epp_event_complete(epp_session *session, epp_track track, epp_category category, epp_name name,
                                       uint64_t start_ticks, uint64_t end_ticks, uint64_t parent, const epp_arg *args,
                                       size_t args_count);

/* Sets the parent of an event that epp_event_complete recorded without one, by the ids of both, which may be recorded
 * in any order.  If the event has a parent, the call has no effect.
 * Thread: [any-thread]. */
EPP_EXPORT void epp_parent_set(epp_session *session, uint64_t id, uint64_t parent);

/* Makes the calling thread wait for room, instead of losing events, when it records by the functions above from now on,
 * as long as the trace can be written at all.
 * Thread: [any-thread]. */
EPP_EXPORT void epp_completes_wait(epp_session *session);

/* Adds a clock pair, which relates the clock of a track to the host's: at `host_ticks` plus or minus `half_width_ticks`
 * (host ticks too) the device's counter was `device_ticks`.
 * Thread: [any-thread]. */
EPP_EXPORT void epp_clock_pair_add(epp_session *session, epp_track track, uint64_t device_ticks, uint64_t host_ticks,
                                   uint64_t half_width_ticks);

/* Reads the host clock that gives the times of events (TSC if it is reliable, else CLOCK_MONOTONIC).
 * Units: ticks; nominally epp_host_ticks_per_second() of them a second (traces contain clock pairs, which give the
 * exact rate).
 * Thread: [any-thread], [signal-safe]. */
EPP_EXPORT uint64_t epp_host_ticks(void);
EPP_EXPORT uint64_t epp_host_ticks_per_second(void);

#ifdef __cplusplus
}
#endif
#endif
