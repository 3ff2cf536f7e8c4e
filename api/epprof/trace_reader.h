/* epprof: reads a .epp trace: finished, still being written, or left behind by a killed process.
 *
 * This header gives a trace's description (sources, tracks, losses, clocks, findings), epprof/timeline.h its events.
 * The reader never writes to the file and never maps it: a file that is truncated during reading gives an error, not a
 * signal.  For the memory bound see timeline.h.
 *
 * Thread, unless a function says otherwise: [any-thread], but a trace is used by one thread at a time.
 */
#ifndef EPPROF_TRACE_READER_H
#define EPPROF_TRACE_READER_H

#include <stddef.h>
#include <stdint.h>

#include "epprof/session.h"
#include "epprof/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct epp_trace epp_trace;

/* Opens a trace.  Errors: EPP_NOT_FOUND or EPP_IO (with the path), EPP_CORRUPT (not an .epp, or nothing readable in
 * it), EPP_INCOMPATIBLE (another version or byte order: the message names both).  A truncated or damaged file opens
 * with the part that can be read; epp_trace_validate reports the damage.
 * Ownership: the caller closes it. */
EPP_EXPORT epp_status *epp_trace_open(const char *path, epp_trace **trace) EPP_MUST_CHECK;

/* Opens the trace of a session of this process, in its present state; NULL is the default session.
 * Ownership: the caller closes it, before the session is destroyed.  Errors: EPP_INVALID_ARGUMENT (no session); as
 * epp_trace_open. */
EPP_EXPORT epp_status *epp_trace_open_session(epp_session *session, epp_trace **trace) EPP_MUST_CHECK;

/* Closes a trace; NULL does nothing. */
EPP_EXPORT void epp_trace_close(epp_trace *trace);

typedef enum epp_trace_state {
	EPP_TRACE_FINISHED = 1,  /* the session was destroyed */
	EPP_TRACE_RECORDING = 2, /* its process is alive */
	EPP_TRACE_CUT_OFF = 3    /* its process ended without finishing the file (killed, or the file was copied
	                            while live); or the end of the finished file is missing: is_truncated */
} epp_trace_state;

typedef struct epp_trace_info {
	const char *path;  /* NULL for a session's */
	const char *label; /* the session's label */
	const char *program;
	const char *hostname;
	char file_id[33]; /* hexadecimal */
	uint32_t version; /* the version of the format */
	uint32_t state;   /* epp_trace_state */
	uint32_t pid;
	uint32_t policy; /* epp_policy */
	uint32_t runs_count;
	uint32_t sources_count;
	uint32_t tracks_count;
	uint32_t producers_count;
	const char *clock; /* "tsc", "monotonic", "cntvct"; "merged": the common clock of several processes */
	uint64_t ticks_per_second;
	int64_t epoch_unix_ns; /* the unix time of timeline time 0 */
	uint64_t file_bytes;
	uint64_t records_count;           /* in blocks and in the window */
	uint64_t open_count;              /* events that were open when the trace was read or cut off */
	uint64_t recovered_records_count; /* part of records_count: found in the window of a file that was never
	                                     finished */
	uint64_t names_count;
	uint32_t survives;     /* 0: the window was anonymous memory, and a kill loses its records */
	uint32_t damage_count; /* errors found in the file so far; no account counts the records lost by them.
	                          epp_trace_validate reports each, and checks more */
	uint32_t is_truncated; /* 1: the file was finished, and its end is missing */
	uint32_t reserved;
	uint64_t missing_bytes; /* of a truncated file; 0: not known */
} epp_trace_info;

/* Ownership, here and below: valid until the trace is closed. */
EPP_EXPORT const epp_trace_info *epp_trace_get_info(const epp_trace *trace);

/* One start and end of the session. */
typedef struct epp_trace_run {
	size_t struct_size; /* sizeof(epp_trace_run) of the caller, who sets it */
	uint32_t run;
	uint32_t ended;   /* 0: it still records, or its process was killed; then end_ns is 0 */
	int64_t start_ns; /* on the timeline */
	int64_t end_ns;
	int64_t start_unix_ns;
	uint32_t source; /* the process; 0 except in a merged trace */
	uint32_t reserved;
	uint64_t page_faults; /* page faults of threads while they recorded, including the program's own; only of threads
	                    that recorded more than their first 2 KiB */
	uint64_t event_cost_ps; /* picoseconds: the time that begin and end of an event without args took, measured in
	                           this process on a thread without other work; 0: not measured */
	uint64_t write_cpu_ns;  /* CPU time of writing the events of this run so far, without what recording threads of
	                           a lossless session write themselves */
} epp_trace_run;

/* Returns 0 beyond the last, and if struct_size is not set. */
EPP_EXPORT int epp_trace_run_at(const epp_trace *trace, size_t index, epp_trace_run *run);

/* How the clock of a process was aligned to the trace's clock. */
typedef enum epp_relation {
	EPP_RELATED_SELF = 0,      /* it is the trace's clock */
	EPP_RELATED_COUNTER = 1,   /* the same counter of the same machine since the same boot */
	EPP_RELATED_MONOTONIC = 2, /* by CLOCK_MONOTONIC of the same boot */
	EPP_RELATED_REALTIME = 3,  /* by CLOCK_REALTIME: the error excludes the offset between the two machines'
	                              clocks, which was not measured */
	EPP_RELATED_EVENTS = 4,    /* by events that occur in both */
	EPP_RELATED_NOT = 5        /* not aligned: its first run begins at the start of the trace */
} epp_relation;

/* One process of a trace; a merged trace has several. */
typedef struct epp_trace_source {
	size_t struct_size; /* sizeof(epp_trace_source) of the caller, who sets it */
	uint32_t source;    /* as in tracks */
	uint32_t pid;
	const char *program; /* never NULL, here and below */
	const char *hostname;
	const char *label;
	char boot_id[33];       /* hexadecimal; the id of the machine's boot, zeros if it is not known */
	uint32_t relation;      /* epp_relation */
	int64_t clock_error_ns; /* the common error of all its times, in addition to each event's own error (the
	                           error of an event includes it); INT64_MAX: not known */
} epp_trace_source;

/* Returns 0 beyond the last, and if struct_size is not set. */
EPP_EXPORT int epp_trace_source_at(const epp_trace *trace, size_t index, epp_trace_source *source);

/* "own", "counter", "monotonic", "realtime", "events", "none"; NULL beyond the last relation. */
EPP_EXPORT const char *epp_relation_name(unsigned relation);

/* The quality of the host's clock, from its readings in the trace. */
typedef struct epp_trace_clock {
	size_t struct_size;            /* sizeof(epp_trace_clock) of the caller, who sets it */
	uint64_t pairs_count;          /* readings together with CLOCK_MONOTONIC and CLOCK_REALTIME */
	int64_t largest_half_width_ns; /* the largest uncertainty of a reading */
	int64_t rate_error_ppb;        /* of ticks_per_second, against CLOCK_MONOTONIC; 0: the trace is too short to
	                                  measure it */
	int64_t largest_step_ns;       /* of CLOCK_REALTIME against CLOCK_MONOTONIC from one reading to the next */
} epp_trace_clock;

/* Does nothing if struct_size is not set. */
EPP_EXPORT void epp_trace_get_clock(const epp_trace *trace, epp_trace_clock *clock);

typedef enum epp_track_kind {
	EPP_TRACK_THREAD = 1,
	EPP_TRACK_DEVICE = 2, /* a stream of a device */
	EPP_TRACK_CUSTOM = 3, /* made by the host application */
	EPP_TRACK_CALLS = 4,  /* host calls that a plugin reports, such as a driver's launch: host work on a thread */
	EPP_TRACK_KIND_COUNT
} epp_track_kind;

/* "thread", "device", "custom", "calls"; "unknown" beyond the last.
 * Thread: [any-thread].  Ownership: valid for the life of the process. */
EPP_EXPORT const char *epp_track_kind_name(unsigned kind);

typedef struct epp_trace_track {
	uint32_t track; /* as in events; not an index */
	uint32_t kind;  /* epp_track_kind */
	uint32_t source;
	uint32_t pid;
	uint32_t thread_id; /* of threads, and of calls whose thread is known; else 0 */
	int32_t device;     /* -1: none */
	int64_t stream;
	int32_t producer;    /* index, or -1 */
	uint32_t clock_kind; /* epp_clock_kind; 3: ONNX Runtime's offset formula in microseconds */
	uint32_t clock;      /* clock number; tracks with the same number share clock pairs; 0: the host's clock */
	uint32_t clock_bits;
	uint64_t ticks_per_second;
	const char *name;  /* never NULL: thread name, stream name */
	const char *group; /* never NULL: process, device */
	/* For a thread: the first track of that thread, which has the events of all its tracks (epp_event.track).  For
	 * calls: the track of the thread that made them; NULL: not known.  For other kinds NULL. */
	const struct epp_trace_track *thread;
} epp_trace_track;

EPP_EXPORT const epp_trace_track *epp_trace_track_at(const epp_trace *trace, size_t index);
/* Finds a track by its number; NULL if there is none. */
EPP_EXPORT const epp_trace_track *epp_trace_track_find(const epp_trace *trace, uint32_t track);

/* The label of the plugin that a track belongs to (epp_trace_ledger_entry.producer); NULL if it belongs to none. */
EPP_EXPORT const char *epp_trace_track_plugin(const epp_trace *trace, const epp_trace_track *track);

/* The text of a name of this file (the numbers are those of the recording process).  `bytes` may be NULL.
 * Never NULL: for an unknown number it is "(unknown)". */
EPP_EXPORT const char *epp_trace_name(const epp_trace *trace, epp_name name, size_t *bytes);

/* One line of the ledger: a thread's, a session's or a profiler's account over all runs.
 * emitted = written + lost + open. */
typedef struct epp_trace_ledger_entry {
	size_t struct_size;   /* sizeof(epp_trace_ledger_entry) of the caller, who sets it */
	const char *producer; /* "thread main (1234)", "session", the profiler's label */
	uint32_t track;       /* of a thread; else 0 */
	uint32_t is_plugin;
	uint64_t emitted;
	uint64_t written;
	uint64_t open;
	uint64_t lost_total; /* the sum of `lost` without EPP_LOSS_TOO_LARGE (cut args, the event is kept) */
	uint64_t lost[EPP_LOSS_ENTRY_COUNT];
	uint64_t errors; /* statuses returned by a plugin's callbacks */
	uint32_t balanced;
	uint32_t source;  /* the process; 0 except in a merged trace */
	const char *note; /* the host's text about a profiler; "" if there is none */
} epp_trace_ledger_entry;

/* The number of accounts, at least 1; without memory it is 1, and epp_trace_ledger_at fails. */
EPP_EXPORT size_t epp_trace_ledger_count(epp_trace *trace);
/* Gets an account.  The first call counts records: it reads the whole trace once.
 * Errors: EPP_INVALID_ARGUMENT beyond the last, or without struct_size; EPP_IO, EPP_CORRUPT, EPP_OUT_OF_MEMORY. */
EPP_EXPORT epp_status *epp_trace_ledger_at(epp_trace *trace, size_t index, epp_trace_ledger_entry *account) EPP_MUST_CHECK;

/* "no buffer", "too deep", ...; NULL beyond the last reason. */
EPP_EXPORT const char *epp_loss_name(unsigned reason);

typedef enum epp_severity {
	EPP_NOTE = 0,    /* no error: a process was killed or still writes; missing records are counted */
	EPP_WARNING = 1, /* a check failed, and the loss is known or small */
	EPP_ERROR = 2
} epp_severity;

typedef struct epp_trace_finding {
	epp_severity severity;
	uint64_t offset; /* in the file; UINT64_MAX: not at one place */
	const char *text;
} epp_trace_finding;

/* Checks structure, checksums, order, pairing, ids, clocks and balance of the whole trace, and calls `report` for each
 * finding.  `*found` counts the findings without the notes: 0 if the trace is valid.  A status is returned only if the
 * check itself could not be done.
 * Ownership: a finding is valid during the call.  Errors: EPP_IO, EPP_OUT_OF_MEMORY. */
EPP_EXPORT epp_status *epp_trace_validate(epp_trace *trace, void (*report)(void *user, const epp_trace_finding *finding),
                                          void *user, uint64_t *found) EPP_MUST_CHECK;

/* Finds the record with this id in the file: sets `*offset` to the offset of its block, or of its region in the window,
 * or to UINT64_MAX if there is none.  Reads the blocks up to that one.
 * Errors: EPP_IO, EPP_CORRUPT, EPP_OUT_OF_MEMORY. */
EPP_EXPORT epp_status *epp_trace_find_record(epp_trace *trace, uint32_t source, uint64_t id, uint64_t *offset)
    EPP_MUST_CHECK;

/* ---- args of records ---- */

typedef struct epp_trace_arg {
	const char *key; /* NUL-terminated */
	size_t key_bytes;
	uint32_t type; /* epp_arg_type */
	uint32_t text_bytes;
	union {
		int64_t i64;
		uint64_t u64;
		double f64;
		const char *text; /* not NUL-terminated, any bytes */
	} value;
} epp_trace_arg;

#ifdef __cplusplus
}
#endif
#endif
