/* epprof: recording sessions, for host applications such as ONNX Runtime or a server.  Events are recorded by the
 * functions of record.h and track.h, profilers are attached by those of profiler.h.
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
 *   epp_session_destroy(session);
 *
 * A session records the events of all threads into a .epp file, or into memory.  It calls the profilers that are
 * attached to it in the same order as ONNX Runtime calls an execution provider's.  Sessions are independent of each
 * other; any number may record at once.  A session may be started and ended several times: each period from start to
 * end is a run of the same trace.
 *
 * A NULL session stands for the process's default session.  If EPPROF_OUTPUT=file.epp is in the environment, it is
 * started when the library is loaded.  Without EPPROF_OUTPUT, recording to the default session does nothing, at almost
 * no cost.
 *
 * Functions that may run concurrently on one session:
 *             | attach, start, end, wait, destroy        | recording
 *   attach    | one at a time (the session-thread)        | allowed
 *   start     | one at a time (the session-thread)        | allowed
 *   recording | allowed                                   | allowed
 * A recording call on a destroyed session, or concurrent with epp_session_destroy, is harmless: it records nothing and
 * epp_event_begin returns 0. */
#ifndef EPPROF_SESSION_H
#define EPPROF_SESSION_H

#include <stddef.h>
#include <stdint.h>

#include "epprof/record.h"
#include "epprof/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum epp_policy {
	EPP_POLICY_STREAM = 0, /* limited only by the disk */
	EPP_POLICY_RING = 1,   /* bounded by max_bytes; keeps the newest events */
	EPP_POLICY_STOP = 2    /* bounded by max_bytes; keeps the oldest events */
} epp_policy;

typedef enum epp_blame { EPP_BLAME_NONE = 0, EPP_BLAME_HOST = 1, EPP_BLAME_PLUGIN = 2, EPP_BLAME_SYSTEM = 3 } epp_blame;

/* Receives a description of each problem and the component that caused it.  The library itself never prints.
 * Thread: [any-thread], never while the library holds a lock, and not after epp_session_destroy has returned.
 * epp_session_destroy waits for a running call, so it must not be called from this function.  Ownership: the text is
 * borrowed for the call. */
typedef void (*epp_log_fn)(void *user, epp_blame blame, const char *text);

typedef struct epp_session_options {
	size_t struct_size;    /* sizeof(epp_session_options); a non-zero unknown tail is an error */
	const char *path;      /* the .epp file to write; NULL: record in memory.  %pid%, %hostname% and %session% (a
	                          counter) are expanded */
	const char *label;     /* the label of the session in the trace; NULL: the program's name */
	uint64_t memory_bytes; /* sessions in memory: the maximum size of finished blocks; 0: 256 MiB */
	uint64_t max_bytes;    /* ring and stop: the maximum size of the recorded data that is kept.  The file's window
	                          takes 21 MiB more, or up to 53 MiB while threads record fast; if buffer_bytes is
	                          given, 5 MiB more than buffer_bytes.  At least 1 MiB for stop, 4 MiB for ring */
	uint64_t plugin_timeout_ns; /* the time limit for calls into plugins at a run's start and at its end, a day at
	                               most; 0: EPPROF_PLUGIN_TIMEOUT_MS of the environment, or else 2 s */
	epp_log_fn log;             /* receives problems; NULL: problems are only counted in the ledger */
	void *log_user;
	uint32_t policy;       /* epp_policy */
	uint32_t overwrite;    /* 1: an existing file at `path` is replaced, but not a link; 0: an existing file is an
	                          error */
	uint32_t sync_ms;      /* for files only.  0: the kernel's writeback determines how much a power failure or a
	                          kernel crash loses.  Else a separate thread syncs all recorded data to the disk at
	                          this interval, including records that are in no block yet.  A failure then loses the
	                          records of the last interval and of the time that a sync takes, and chunks (64 KiB of
	                          a thread's records) or names that became blocks during a sync.  If the window is in
	                          memory (EPPROF_WINDOW_DIR, btrfs), all records that are in no block yet are lost, too.
	                          The last sync runs after epp_session_destroy has returned */
	uint32_t lossless;     /* 0: recording never waits.  If threads record faster than the helper thread writes,
	                          events are lost and counted (EPP_LOSS_NO_BUFFER).  1: a thread that finds no room
	                          writes the oldest unwritten records itself, up to 64 KiB (some 20 us), or waits while
	                          another thread writes them, and continues.  Events are then lost in three cases only,
	                          and counted as usual: a write to the disk fails; memory_bytes or max_bytes is full
	                          (stop loses the newest events, ring the oldest); more than 700 threads record at once.
	                          A write that hangs blocks the recording threads, and epp_session_end, until it
	                          returns.  EPP_INCOMPATIBLE if the kernel has no membarrier(2) */
	uint64_t buffer_bytes; /* the size of the chunk pool: the memory, in chunks of 64 KiB, that threads fill before
	                          the helper thread writes it to the file.  Each recording thread holds one chunk.  0: 2
	                          MiB at first, then more while threads record fast, up to 48 MiB.  Else 2 MiB to 4 GiB,
	                          rounded up to whole chunks: the pool has this fixed size, and all of it is allocated
	                          and touched when epp_session_create returns (about 0.5 s a GiB).  Set it if bursts
	                          lose events by default (EPP_LOSS_NO_BUFFER): an event takes 32 bytes, and more with
	                          args */
	const char *include;   /* patterns of fnmatch(3), separated by semicolons: only events whose names match one of
	                        them are recorded; NULL or empty: all events */
	const char *exclude; /* patterns as in `include`: events whose names match one of them are not recorded, even if
	                        their names match `include`.  An event that is left out is counted (EPP_LOSS_FILTER),
	                        and epp_event_begin returns 0 for it.  The parent of an event inside it is the innermost
	                        recorded event around it.  Instants, counters, and the device events of profilers are
	                        left out by their names, too; flows are not.  An event that gets its name at its end
	                        (epp_event_end_named) is left out at its end.  Names that begin with "epprof." are
	                        always recorded */
	const char *schedule; /* the steps of the program that are recorded: "skip=10,warmup=5,active=20,repeat=3"
	                         leaves out 10 steps, then, 3 times, leaves out 5 steps and records 20, and leaves out
	                         the rest.  Only `active` is required; repeat=0 repeats until the end.  NULL or empty:
	                         all events are recorded.  Steps of all threads are numbered together, in the order in
	                         which they begin, while the session records.  Events in a step, on its thread, are
	                         recorded if the step is.  Other host events are recorded if the last step that began
	                         is.  A device event with a parent is recorded whenever it arrives; one without a parent
	                         is recorded if it began, as far as that is known, while steps were recorded.  An event
	                         that is left out is counted (EPP_LOSS_FILTER), and epp_event_begin returns 0 for it, or
	                         EPP_LEFT_OUT_ID for a step.  Attached profilers are not stopped in steps that are left
	                         out */
	const char *step; /* the name of steps: an event with this name is a step if it is not inside another step; NULL
	                     or empty: "model_run".  An event that gets this name at its end is a step, too.  A step
	                     ends on the thread on which it began.  With max_overhead: the name of the events that are
	                     runs; NULL or empty: events that are in no other event */
	double max_overhead; /* the part of each thread's CPU time that recording may take, such as 0.01; at most 0.5;
	                        0: no limit.  If recording everything would take more, first args are left out, then,
	                        if the session has device events, the events inside runs ("kernels only"), then all but
	                        one run in N.  A run is an event of a thread that is in no other event, together with
	                        all events inside it; in this last step it is recorded or left out as a whole.  Each
	                        thread has its own step and N, which change at the begin of a run, every 200 ms (at
	                        first more often) or when the budget of that time is spent.  A thread that records only
	                        instants and counters is not limited.  Events that are left out are counted
	                        (EPP_LOSS_THROTTLED), and epp_event_begin returns 0 for them, or EPP_LEFT_OUT_ID for a
	                        run.  Where the events inside a run are left out, its args, and asynchronous events and
	                        requests in it, are recorded.  Profilers then get only the StartEvent and StopEvent of
	                        the run, which so becomes the parent of what they launch; a program that calls
	                        epp_event_record passes the id of the run.  A run that is recorded as one in N has N as
	                        its weight (epp_event.weight).  A device event with a parent is recorded if the parent
	                        is; one without a parent is left out if it began between the first and the last time at
	                        which a thread began to leave out runs.  Cannot be combined with a schedule */
	uint64_t grace_ns;   /* the maximum time that the end of a run waits for unfinished work of devices, which
	                      profilers report by epp_ep_pending_add; a day at most; 0: EPPROF_GRACE_MS of the
	                      environment, or else no wait.  The wait ends as soon as the work is finished */
} epp_session_options;

/* Creates an idle session.  The call creates the file, and maps and touches its window, so that epp_session_start is
 * fast.  A new file has mode 0600, or that of EPPROF_FILE_MODE (octal) without the bits of the umask.
 * Errors: EPP_INVALID_ARGUMENT (options, EPPROF_FILE_MODE), EPP_IO (the message names the path; also if the path is a
 * symbolic link, or the file has a second hard link), EPP_BUSY (another live process or session writes that file),
 * EPP_OUT_OF_MEMORY.  `*session` is NULL on failure.
 * Thread: [any-thread].  Ownership: the caller destroys the session; options and strings are copied. */
EPP_EXPORT epp_status *epp_session_create(const epp_session_options *options, epp_session **session) EPP_MUST_CHECK;

/* Returns the session of this process that records into `options->path`.  All callers with the same path (after
 * expansion) share one session.  The first call creates and starts the session; the options of later calls are ignored.
 * Each caller releases its share with epp_session_destroy.  The last release, or the exit of the process, ends the run
 * and finishes the file.  Do not call epp_session_end on a shared session.
 * Errors: as epp_session_create and epp_session_start.
 * Thread: [any-thread]. */
EPP_EXPORT epp_status *epp_session_share(const epp_session_options *options, epp_session **session) EPP_MUST_CHECK;

/* As epp_session_share, with options from the environment; success and a NULL session if EPPROF_OUTPUT is not set.
 *   EPPROF_OUTPUT   the path; an existing file is replaced.  If another process is writing the file, this process
 *                   inserts its pid before ".epp" from then on, and so does the child of a process that has such a
 *                   file.  If the path contains %session%, each call gets its own file; the first one is the
 *                   default session.
 *   EPPROF_POLICY   "stream" (the default), "stop:64M", "ring:64M"
 *   EPPROF_SYNC_MS  options.sync_ms
 *   EPPROF_LOSSLESS options.lossless
 *   EPPROF_BUFFER_BYTES  options.buffer_bytes, such as "256M"
 *   EPPROF_INCLUDE, EPPROF_EXCLUDE  options.include and options.exclude
 *   EPPROF_SCHEDULE, EPPROF_STEP    options.schedule and options.step
 *   EPPROF_MAX_OVERHEAD  options.max_overhead, such as "1%"
 *   EPPROF_START_PAUSED  1: the session is paused until `epprof ctl resume`, which EPPROF_CONTROL must allow
 *   EPPROF_ONLY_PID, EPPROF_RANKS  a process with another pid, or with a rank that is not in this list ("0,7") or without
 *                   a rank, gets a NULL session.  The rank is the first number in PMIX_RANK, PMI_RANK,
 *                   OMPI_COMM_WORLD_RANK, RANK and SLURM_PROCID
 *   EPPROF_FROM_NS  the session is idle before this time (CLOCK_MONOTONIC, ns), and is then started
 *   EPPROF_UNTIL_NS the session is ended and its file finished at this time, as at the exit of the process; later calls
 *                   return a NULL session.  If a framework ends a bridge's run itself, this variable does not end it
 * Bridges into frameworks use this function; code that begins events itself uses the default session.  In a process
 * whose libepprof was loaded by a bridge (a library that exports `epprof_bridge_variables`) there is no default session
 * before the first call.  From then on the session stays, and each period from the first share to the last
 * epp_session_destroy is a run.
 * Errors: as epp_session_share; EPP_INVALID_ARGUMENT (the value of a variable; the message names the variable).
 * Thread: [any-thread]. */
EPP_EXPORT epp_status *epp_session_share_output(epp_session **session) EPP_MUST_CHECK;

/* The reasons for which events are lost. */
typedef enum epp_loss {
	EPP_LOSS_NO_BUFFER = 0, /* the chunk pool was empty; see options.buffer_bytes and
	                           options.lossless */
	EPP_LOSS_NO_SLOT = 1,   /* more threads recorded at once than there are slots */
	EPP_LOSS_TOO_DEEP = 2,  /* more than 64 events were open on one thread */
	EPP_LOSS_TOO_LARGE = 3, /* args exceed the limits: the event is kept, its args are cut; this counts cuts, not
	                           events */
	EPP_LOSS_REFUSED = 4,   /* an event is invalid (a NULL name, a negative duration, a category of 4 or more), or a
	                           host could not deliver it: epp_session_count_refused */
	EPP_LOSS_DISK = 5,      /* a write failed */
	EPP_LOSS_POLICY = 6,    /* stop: max_bytes was full; ring: the event was overwritten */
	EPP_LOSS_FILTER = 7,    /* left out on request: by options.include, options.exclude or options.schedule, or by
	                           filters of an export */
	EPP_LOSS_AFTER_END = 8, /* an event was ended after the end of the session; or a plugin's event began, by its
	                             times, after the end; or a late event (epp_session_wait) could not be added; or the
	                             event of a device's unfinished work (epp_ep_pending_add) has not come yet */
	EPP_LOSS_RESTART_GAP = 9, /* a shared single-run plugin was being restarted; this counts the gaps, not the
	                             events; the trace has an event `epprof.restart_gap` for each gap */
	EPP_LOSS_PLUGIN = 10,     /* losses that a plugin reports */
	EPP_LOSS_KILLED = 11, /* a plugin's event was being delivered when the process was killed; or a plugin's events
	                         were not yet delivered, which counts as one event: epp_hosted_profiler_set_expected */
	EPP_LOSS_HUNG = 12,   /* a plugin's call did not return in time: counts the events that the plugin had announced
	                         and not delivered, or 1 if it had announced none, because their number is then
	                         unknown */
	EPP_LOSS_BEFORE_START = 13, /* a plugin's event began, by its times, before the run, or arrived before the first
	                             run */
	EPP_LOSS_NEGATIVE = 14,     /* a plugin's event ended, by its times, before it began */
	EPP_LOSS_THROTTLED = 15,    /* left out to stay within options.max_overhead */
	EPP_LOSS_ENTRY_COUNT = 16   /* the number of counters in the format: more than there are reasons now */
} epp_loss;

/* Counts events that the host could not deliver to the session, in the session's own account as EPP_LOSS_REFUSED.
 * `count` is their number or, if that is not known, 1 for each profiler that could not be added.
 * Thread: [any-thread]. */
EPP_EXPORT void epp_session_count_refused(epp_session *session, uint64_t count);

/* Starts a run: from now on events are recorded.  First waits until the previous run has ended completely.
 * StartProfiling is called on all profilers at once, each on its own thread.  A profiler that returns an error stays
 * attached: the error is counted, and its other callbacks are still called, as in ONNX Runtime.  A profiler that has
 * not returned after options.plugin_timeout_ns is left out of this run and counted as EPP_LOSS_HUNG; the others
 * continue.
 * If `epprof ctl stop` has finished the trace, the call does nothing.
 * Errors: EPP_INVALID_ARGUMENT (no such session, or NULL without a default session); EPP_WRONG_STATE (the session
 * records already); EPP_IO.
 * Thread: [session-thread]. */
EPP_EXPORT epp_status *epp_session_start(epp_session *session) EPP_MUST_CHECK;

/* Ends the run: events that a thread records after this call has returned do not belong to the run.  Events that are
 * still open are marked `unended`.
 * Returns within 10 ms, because EndProfiling is called on each profiler's own thread, and the helper thread writes the
 * remaining records.  Ending a second time does nothing.
 * Errors: as EPP_INVALID_ARGUMENT of epp_session_start; epp_session_wait returns the errors of the run itself.
 * Thread: [session-thread]. */
EPP_EXPORT epp_status *epp_session_end(epp_session *session) EPP_MUST_CHECK;

/* Waits until the ended run is completely written: EndProfiling of all profilers has returned, which includes the wait
 * of options.grace_ns for unfinished work, and all records are in blocks.
 * Late events of profilers, which are submitted after this (EpprofApi_PushLateEvents_SinceV1; the kit does so for
 * events with a token), are added to the run until the session is destroyed or the next run starts.  A further call
 * waits until the late events that were submitted before it are written.
 * Units: nanoseconds, UINT64_MAX for ever.  Errors: EPP_INVALID_ARGUMENT as epp_session_start; EPP_WRONG_STATE (the
 * session still records); EPP_TIMEOUT; else the first error of the run (a failed write, a profiler's status), once.
 * Thread: [session-thread]. */
EPP_EXPORT epp_status *epp_session_wait(epp_session *session, uint64_t timeout_ns) EPP_MUST_CHECK;

/* Ends the run if there is one, waits for it, finishes the file and frees the session.  It waits for profilers at most
 * options.plugin_timeout_ns, and one second for the remaining writes; if they take longer, the helper thread finishes
 * them.  Each profiler's Release is called on the profiler's thread, with the same time limit.  If a call of the
 * profiler hangs, Release is called when that call returns; if the hanging call is StartEvent or StopEvent, Release is
 * never called.
 * NULL does nothing.
 * Thread: [session-thread]. */
EPP_EXPORT void epp_session_destroy(epp_session *session);

/* Reads bytes of a session's trace in its present state, from the file or from memory.  For readers in the same
 * process.
 * Returns the number of bytes copied.  It is less than `bytes` at the end, with errno 0, and after a failed read, with
 * the errno of the read.
 * Thread: [any-thread], not concurrent with epp_session_destroy. */
EPP_EXPORT size_t epp_session_read(epp_session *session, uint64_t offset, void *buffer, size_t bytes);

/* Returns the process's default session, or NULL if EPPROF_OUTPUT is not set or the session could not be started.
 * Thread: [any-thread].  Ownership: the library owns the session; do not destroy it. */
EPP_EXPORT epp_session *epp_session_default(void);

/* Returns the number of events lost so far for a reason (see epp_loss), in all threads and all runs of the session.
 * Units: events.  Thread: [any-thread], not concurrent with epp_session_destroy. */
EPP_EXPORT uint64_t epp_session_lost(epp_session *session, epp_loss reason);

#ifdef __cplusplus
}
#endif
#endif
