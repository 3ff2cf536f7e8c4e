/* epprof: reading a .epp trace, finished, still being written, or left behind by a killed process.
 *
 * A trace is read through this header for what it says about itself (sources, tracks, losses, clocks, findings), and
 * through epprof/timeline.h for its events.  Reading never writes to the file and never maps it: a file that is cut while
 * it is read gives an error, not a signal.  Memory is bounded by what timeline.h says.
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

/* Opens a trace.  Errors: EPP_NOT_FOUND or EPP_IO (with the path), EPP_CORRUPT (not an .epp, or nothing readable in it),
 * EPP_INCOMPATIBLE (another version or byte order: the message names both).  A cut or damaged file opens with what can be
 * read; epp_trace_findings tells the rest.
 * Ownership: the caller closes it. */
EPP_EXPORT epp_status *epp_trace_open(const char *path, epp_trace **trace) EPP_MUST_CHECK;

/* Opens the trace of a session of this process, as it is now; NULL is the default session.
 * Ownership: the caller closes it, before the session's release.  Errors: EPP_INVALID_ARGUMENT (no session); as above. */
EPP_EXPORT epp_status *epp_trace_open_session(epp_session *session, epp_trace **trace) EPP_MUST_CHECK;

/* Closes a trace; NULL does nothing. */
EPP_EXPORT void epp_trace_close(epp_trace *trace);

typedef enum epp_trace_state {
	EPP_TRACE_FINISHED = 1,  /* the session was released */
	EPP_TRACE_RECORDING = 2, /* its process is alive */
	EPP_TRACE_CUT_OFF = 3 /* its process is gone and never finished it (killed, or the file was copied while live); or the
	                         end of the finished file is missing: is_truncated */
} epp_trace_state;

typedef struct epp_trace_info {
	const char *path;  /* NULL for a session's */
	const char *label; /* of the session */
	const char *program;
	const char *hostname;
	char file_id[33]; /* hexadecimal */
	uint32_t version; /* of the format */
	uint32_t state;   /* epp_trace_state */
	uint32_t pid;
	uint32_t policy; /* epp_policy */
	uint32_t runs_count;
	uint32_t sources_count;
	uint32_t tracks_count;
	uint32_t producers_count;
	const char *clock; /* "tsc", "monotonic", "cntvct"; "merged": what those of several processes were translated to */
	uint64_t ticks_per_second;
	int64_t epoch_unix_ns; /* the unix time of timeline time 0 */
	uint64_t file_bytes;
	uint64_t records_count;           /* in blocks and in the window */
	uint64_t open_count;              /* events that were open when it was read or cut off */
	uint64_t recovered_records_count; /* of records_count: found in the window of a file never finished */
	uint64_t names_count;
	uint32_t survives;     /* 0: the window was anonymous memory, a kill loses what it holds */
	uint32_t damage_count; /* errors that were found in the file so far: what they cost is in no account.
	                          epp_trace_validate tells of each, and looks for more */
	uint32_t is_truncated; /* 1: the file was finished, and its end is missing */
	uint32_t reserved;
	uint64_t missing_bytes; /* of such a file; 0: not known */
} epp_trace_info;

/* Ownership, here and below: valid until the trace is closed. */
EPP_EXPORT const epp_trace_info *epp_trace_get_info(const epp_trace *trace);

/* One start and end of the session. */
typedef struct epp_trace_run {
	uint32_t run;
	uint32_t ended;   /* 0: it still records, or its process was killed; then end_ns is 0 */
	int64_t start_ns; /* on the timeline */
	int64_t end_ns;
	int64_t start_unix_ns;
	uint32_t source; /* whose it was: 0 but in a merged trace */
	uint32_t reserved;
	uint64_t faults; /* page faults of threads while they recorded, the program's own among them; of threads that recorded
	                    more than their first 2 KiB: others are not asked */
} epp_trace_run;

/* Returns 0 beyond the last. */
EPP_EXPORT int epp_trace_run_at(const epp_trace *trace, size_t index, epp_trace_run *run);

/* How the clock of a process was brought onto the trace's. */
typedef enum epp_relation {
	EPP_RELATED_SELF = 0,      /* it is the trace's clock */
	EPP_RELATED_COUNTER = 1,   /* the same counter of the same machine since the same boot */
	EPP_RELATED_MONOTONIC = 2, /* by CLOCK_MONOTONIC of the same boot */
	EPP_RELATED_REALTIME = 3, /* by CLOCK_REALTIME: the error leaves out how far the two machines' are apart, which nobody
	                             measured */
	EPP_RELATED_EVENTS = 4, /* by events that both have */
	EPP_RELATED_NOT = 5     /* not at all: its first run begins with the trace's */
} epp_relation;

/* One process of a trace; a merged trace has several. */
typedef struct epp_trace_source {
	uint32_t source; /* as in tracks */
	uint32_t pid;
	const char *program; /* never NULL, here and below */
	const char *hostname;
	const char *label;
	char boot_id[33];  /* hexadecimal; of the machine's boot, zeros if it is not known */
	uint32_t relation; /* epp_relation */
	int64_t clock_error_ns; /* how far its times may be off together, beside what each event says for itself (in events it
	                           is part of the error); INT64_MAX: not known */
} epp_trace_source;

/* Returns 0 beyond the last. */
EPP_EXPORT int epp_trace_source_at(const epp_trace *trace, size_t index, epp_trace_source *source);

/* "own", "counter", "monotonic", "realtime", "events", "none"; NULL beyond the last relation. */
EPP_EXPORT const char *epp_relation_name(unsigned relation);

/* How well the host's clock is known, from the readings of it that the trace holds. */
typedef struct epp_trace_clock {
	uint64_t pairs_count;          /* readings beside CLOCK_MONOTONIC and CLOCK_REALTIME */
	int64_t largest_half_width_ns; /* how uncertain the worst one was */
	int64_t rate_error_ppb;        /* of ticks_per_second, against CLOCK_MONOTONIC; 0: too short a trace to tell */
	int64_t largest_step_ns;       /* of CLOCK_REALTIME against CLOCK_MONOTONIC from one reading to the next */
} epp_trace_clock;

EPP_EXPORT void epp_trace_get_clock(const epp_trace *trace, epp_trace_clock *clock);

typedef enum epp_track_kind {
	EPP_TRACK_THREAD = 1,
	EPP_TRACK_DEVICE = 2, /* a stream of a device */
	EPP_TRACK_CUSTOM = 3, /* made by the host application */
	EPP_TRACK_CALLS = 4, /* calls of the host that a plugin reports, such as a driver's launch: host work on a thread */
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
	uint32_t thread_id; /* threads, and calls whose thread is known; else 0 */
	int32_t device;     /* -1: none */
	int64_t stream;
	int32_t producer;    /* index, or -1 */
	uint32_t clock_kind; /* epp_clock_kind; 3: ONNX Runtime's offset formula in microseconds */
	uint32_t clock;      /* clock number; tracks with the same one share pairs; 0: the host's */
	uint32_t clock_bits;
	uint64_t ticks_per_second;
	const char *name;  /* never NULL: thread name, stream name */
	const char *group; /* never NULL: process, device */
	/* Of a thread: the first track of that thread, which has the events of all its tracks (epp_event.track).  Of calls: the
	 * track of the thread that made them; NULL: not known.  Else NULL. */
	const struct epp_trace_track *thread;
} epp_trace_track;

EPP_EXPORT const epp_trace_track *epp_trace_track_at(const epp_trace *trace, size_t index);
/* By track number; NULL if there is none. */
EPP_EXPORT const epp_trace_track *epp_trace_track_find(const epp_trace *trace, uint32_t track);

/* The label of the plugin whose track it is (epp_trace_account.producer); NULL if it is no plugin's. */
EPP_EXPORT const char *epp_trace_plugin(const epp_trace *trace, const epp_trace_track *track);

/* The text of a name of this file (its numbers are the recording process's).  `bytes` may be NULL.
 * Never NULL: an unknown number is "(unknown)". */
EPP_EXPORT const char *epp_trace_name(const epp_trace *trace, epp_name name, size_t *bytes);

/* One line of the ledger: a thread's, a session's or a profiler's account over all runs.
 * emitted = written + lost + open. */
typedef struct epp_trace_account {
	const char *producer; /* "thread main (1234)", "session", the profiler's label */
	uint32_t track;       /* a thread's; else 0 */
	uint32_t is_plugin;
	uint64_t emitted;
	uint64_t written;
	uint64_t open;
	uint64_t lost_total; /* the sum of `lost`, EPP_LOSS_TOO_LARGE (cut args, the event is kept) left out */
	uint64_t lost[EPP_LOSS_ENTRY_COUNT];
	uint64_t errors; /* statuses returned by a plugin's callbacks */
	uint32_t balanced;
	uint32_t source;  /* whose it is: 0 but in a merged trace */
	const char *note; /* what the host says of a profiler, in words; "" if nothing */
} epp_trace_account;

/* At least 1; without memory it is 1, and epp_trace_account_at fails. */
EPP_EXPORT size_t epp_trace_accounts_count(epp_trace *trace);
/* The first call counts records: it reads the whole trace once.
 * Errors: EPP_INVALID_ARGUMENT beyond the last, EPP_IO, EPP_CORRUPT, EPP_OUT_OF_MEMORY. */
EPP_EXPORT epp_status *epp_trace_account_at(epp_trace *trace, size_t index, epp_trace_account *account) EPP_MUST_CHECK;

/* "no buffer", "too deep", ...; NULL beyond the last reason. */
EPP_EXPORT const char *epp_loss_name(unsigned reason);

typedef enum epp_severity {
	EPP_NOTE = 0,    /* nothing is wrong: a process was killed or still writes, what is missing is counted */
	EPP_WARNING = 1, /* something does not hold, and what it costs is known or little */
	EPP_ERROR = 2
} epp_severity;

typedef struct epp_trace_finding {
	epp_severity severity;
	uint64_t offset; /* in the file; UINT64_MAX if it has no place */
	const char *text;
} epp_trace_finding;

/* Checks structure, checksums, order, pairing, ids, clocks and balance, reading the whole trace, and calls `report` for
 * each finding.  `*found` counts them without the notes: 0 if all holds.  A status is returned only if the check itself
 * could not be done.
 * Ownership: a finding is valid during the call.  Errors: EPP_IO, EPP_OUT_OF_MEMORY. */
EPP_EXPORT epp_status *epp_trace_validate(epp_trace *trace, void (*report)(void *user, const epp_trace_finding *finding),
                                          void *user, uint64_t *found) EPP_MUST_CHECK;

/* Where the record with this id stands in the file: the offset of its block, or of its region in the window.  Sets *offset,
 * to UINT64_MAX if there is none.  Reads the blocks up to there.
 * Errors: EPP_IO, EPP_CORRUPT, EPP_OUT_OF_MEMORY. */
EPP_EXPORT epp_status *epp_trace_offset_of(epp_trace *trace, uint32_t source, uint64_t id, uint64_t *offset)
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
