/* epprof: reads a .epp trace: finished, still being written, or left behind by a killed process.
 *
 * This header has the functions for a trace's description (sources, tracks, losses, clocks, findings); those for its
 * events are in epprof/timeline.h.  The reader never writes to the file and never maps it: a file that is truncated
 * during reading gives an error, not a signal.  For the memory bound see timeline.h.
 *
 * Thread, unless a function says otherwise: [any-thread], but a trace is used by one thread at a time. */
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

/* Opens a trace.  Errors: EPP_NOT_FOUND or EPP_IO (with the path), EPP_CORRUPT (the file is no .epp file, or nothing in
 * it can be read), EPP_INCOMPATIBLE (the file has another version or byte order; the message names both).  If a file is
 * truncated or damaged, the trace has the part that can be read; epp_trace_validate reports the damage.
 * Ownership: the caller closes the trace. */
EPP_EXPORT epp_status *epp_trace_open(const char *path, epp_trace **trace) EPP_MUST_CHECK;

/* Opens the trace of a session of this process in its present state.  NULL means the default session.
 * Ownership: the caller closes the trace before the session is destroyed.  Errors: EPP_INVALID_ARGUMENT (there is no
 * such session); those of epp_trace_open. */
EPP_EXPORT epp_status *epp_trace_open_session(epp_session *session, epp_trace **trace) EPP_MUST_CHECK;

/* Closes a trace; NULL does nothing. */
EPP_EXPORT void epp_trace_close(epp_trace *trace);

typedef enum epp_trace_state {
	EPP_TRACE_FINISHED = 1,  /* the file is complete: its session has finished it, or a command has written it */
	EPP_TRACE_RECORDING = 2, /* the process that records it is alive */
	EPP_TRACE_CUT_OFF = 3    /* the process ended without finishing the file (it was killed, or the file was copied
	                            while it was recorded); or the end of a finished file is missing: is_truncated */
} epp_trace_state;

typedef struct epp_trace_info {
	const char *path;  /* NULL for the trace of a session in memory */
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
	const char *clock; /* the clock's name: "tsc", "monotonic" or "cntvct"; "merged": the common clock of several
	                      processes */
	uint64_t ticks_per_second;
	int64_t epoch_unix_ns; /* the unix time of time 0 of the timeline */
	uint64_t file_bytes;
	uint64_t records_count;           /* records in blocks and in the window */
	uint64_t open_count;              /* events that were open when the trace was read or when its process was
	                                     killed */
	uint64_t recovered_records_count; /* part of records_count: records that were found in the window of an
	                                     unfinished file */
	uint64_t names_count;
	uint32_t survives;     /* 0: the window was anonymous memory, so that a kill loses its records */
	uint32_t damage_count; /* errors found in the file so far; the records lost by them are in no account.
	                          epp_trace_validate reports each error, and checks more */
	uint32_t is_truncated; /* 1: the file was finished, and its end is missing */
	uint32_t reserved;
	uint64_t missing_bytes; /* the size of the missing end of a truncated file; 0: not known */
} epp_trace_info;

/* Ownership, here and below: valid until the trace is closed. */
EPP_EXPORT const epp_trace_info *epp_trace_get_info(const epp_trace *trace);

/* A run: the time between one start of the session and its end. */
typedef struct epp_trace_run {
	size_t struct_size; /* sizeof(epp_trace_run), set by the caller */
	uint32_t run;
	uint32_t ended;   /* 0: the run still records, or its process was killed; then end_ns is 0 */
	int64_t start_ns; /* on the timeline */
	int64_t end_ns;
	int64_t start_unix_ns;
	uint32_t source; /* the process of the run; 0 except in a merged trace */
	uint32_t reserved;
	uint64_t page_faults;   /* the number of page faults of threads while they recorded, including those of the
	                         program's own code; only of threads that recorded more than their first 2 KiB */
	uint64_t event_cost_ps; /* picoseconds: the duration of begin and end of an event without args, measured in this
	                           process on a thread without other work; 0: not measured */
	uint64_t write_cpu_ns;  /* the CPU time of writing the events of this run so far; without the time in which
	                           recording threads of a lossless session write */
} epp_trace_run;

/* Gets a run.  Returns 0 beyond the last, or if struct_size is not set. */
EPP_EXPORT int epp_trace_run_at(const epp_trace *trace, size_t index, epp_trace_run *run);

/* The method by which the clock of a process was aligned to the trace's clock. */
typedef enum epp_relation {
	EPP_RELATED_SELF = 0,      /* it is the trace's clock itself */
	EPP_RELATED_COUNTER = 1,   /* by the counter, which both clocks read on the same machine since the same boot */
	EPP_RELATED_MONOTONIC = 2, /* by CLOCK_MONOTONIC of the same machine since the same boot */
	EPP_RELATED_REALTIME = 3,  /* by CLOCK_REALTIME: the error bound does not include the offset between the two
	                              machines' clocks, which was not measured */
	EPP_RELATED_EVENTS = 4,    /* by events that occur in both processes */
	EPP_RELATED_NOT = 5        /* not aligned: its first run begins at the start of the trace */
} epp_relation;

/* One process of a trace; a merged trace has several. */
typedef struct epp_trace_source {
	size_t struct_size; /* sizeof(epp_trace_source), set by the caller */
	uint32_t source;    /* the number of the process, as in tracks */
	uint32_t pid;
	const char *program; /* never NULL; the same holds for `label` and `hostname` */
	const char *hostname;
	const char *label;
	char boot_id[33];       /* hexadecimal; the id of the machine's boot; zeros if it is not known */
	uint32_t relation;      /* epp_relation */
	int64_t clock_error_ns; /* the common error of all times of the process; the error of an event includes it.
	                           INT64_MAX: not known */
} epp_trace_source;

/* Gets a source.  Returns 0 beyond the last, or if struct_size is not set. */
EPP_EXPORT int epp_trace_source_at(const epp_trace *trace, size_t index, epp_trace_source *source);

/* Returns the name of an epp_relation: "own", "counter", "monotonic", "realtime", "events" or "none"; NULL beyond the
 * last. */
EPP_EXPORT const char *epp_relation_name(unsigned relation);

/* The accuracy of the host's clock, computed from its readings in the trace. */
typedef struct epp_trace_clock {
	size_t struct_size;            /* sizeof(epp_trace_clock), set by the caller */
	uint64_t pairs_count;          /* the number of readings, each together with CLOCK_MONOTONIC and
	                                  CLOCK_REALTIME */
	int64_t largest_half_width_ns; /* the largest uncertainty of a reading */
	int64_t rate_error_ppb;        /* the error of ticks_per_second, compared with CLOCK_MONOTONIC; 0: the trace is
	                                  too short to measure it */
	int64_t largest_step_ns;       /* the largest step of CLOCK_REALTIME from one reading to the next, compared with
	                                  CLOCK_MONOTONIC */
} epp_trace_clock;

/* Computes the accuracy of the host's clock.  Does nothing if struct_size is not set. */
EPP_EXPORT void epp_trace_get_clock(const epp_trace *trace, epp_trace_clock *clock);

typedef enum epp_track_kind {
	EPP_TRACK_THREAD = 1,
	EPP_TRACK_DEVICE = 2, /* a stream of a device */
	EPP_TRACK_CUSTOM = 3, /* a track that the host application created */
	EPP_TRACK_CALLS = 4,  /* host calls that a plugin reports, such as calls of a driver: host work on a thread */
	EPP_TRACK_KIND_COUNT
} epp_track_kind;

/* Returns the name of an epp_track_kind: "thread", "device", "custom" or "calls"; "unknown" beyond the last.
 * Thread: [any-thread].  Ownership: valid for the life of the process. */
EPP_EXPORT const char *epp_track_kind_name(unsigned kind);

typedef struct epp_trace_track {
	uint32_t track; /* the track's number, as in events; not an index */
	uint32_t kind;  /* epp_track_kind */
	uint32_t source;
	uint32_t pid;
	uint32_t thread_id; /* the id of the thread, for threads and for calls whose thread is known; else 0 */
	int32_t device;     /* the number of the device; -1: none */
	int64_t stream;
	int32_t producer;    /* the index of the plugin's account; -1: none */
	uint32_t clock_kind; /* epp_clock_kind; 3: ONNX Runtime's formula, an offset in microseconds */
	uint32_t clock;      /* the number of the clock; tracks with the same number share clock pairs; 0: the host's
	                        clock */
	uint32_t clock_bits;
	uint64_t ticks_per_second;
	const char *name;  /* the name of the thread or stream; never NULL */
	const char *group; /* the name of the process or device; never NULL */
	/* For a thread: the first track of that thread; epp_event.track is this one for the events of all tracks of the
	 * thread.  For calls: the track of the thread that made the calls; NULL: not known.  For other kinds: NULL. */
	const struct epp_trace_track *thread;
} epp_trace_track;

EPP_EXPORT const epp_trace_track *epp_trace_track_at(const epp_trace *trace, size_t index);
/* Returns the track with this number; NULL if there is none. */
EPP_EXPORT const epp_trace_track *epp_trace_track_find(const epp_trace *trace, uint32_t track);

/* Returns the label of the plugin whose track this is (epp_trace_ledger_entry.producer); NULL if the track belongs to
 * no plugin. */
EPP_EXPORT const char *epp_trace_track_plugin(const epp_trace *trace, const epp_trace_track *track);

/* Returns the text of a name of this file.  The numbers of names are those of the recording process.  If `bytes` is not
 * NULL, it receives the size of the text.  The result is never NULL: for an unknown number it is "(unknown)". */
EPP_EXPORT const char *epp_trace_name(const epp_trace *trace, epp_name name, size_t *bytes);

/* An account of the ledger: that of a thread, a session or a profiler over all runs.
 * emitted = written + lost + open. */
typedef struct epp_trace_ledger_entry {
	size_t struct_size;   /* sizeof(epp_trace_ledger_entry), set by the caller */
	const char *producer; /* for example "thread main (1234)" or "session"; for a profiler its label */
	uint32_t track;       /* the track of a thread; else 0 */
	uint32_t is_plugin;
	uint64_t emitted;
	uint64_t written;
	uint64_t open;
	uint64_t lost_total; /* the sum of `lost` without EPP_LOSS_TOO_LARGE, which counts events that were kept with
	                        cut args */
	uint64_t lost[EPP_LOSS_ENTRY_COUNT];
	uint64_t errors; /* the number of error statuses that a plugin's callbacks returned */
	uint32_t balanced;
	uint32_t source;  /* the process of the account; 0 except in a merged trace */
	const char *note; /* the host's note about a profiler; "" if there is none */
} epp_trace_ledger_entry;

/* Returns the number of accounts, at least 1.  If there is no memory, it is 1, and epp_trace_ledger_at fails. */
EPP_EXPORT size_t epp_trace_ledger_count(epp_trace *trace);
/* Gets an account.  The first call counts records: it reads the whole trace once.
 * Errors: EPP_INVALID_ARGUMENT if `index` is beyond the last, or struct_size is not set; EPP_IO, EPP_CORRUPT,
 * EPP_OUT_OF_MEMORY. */
EPP_EXPORT epp_status *epp_trace_ledger_at(epp_trace *trace, size_t index, epp_trace_ledger_entry *account) EPP_MUST_CHECK;

/* Returns the name of an epp_loss: "no buffer", "too deep", ...; NULL beyond the last. */
EPP_EXPORT const char *epp_loss_name(unsigned reason);

typedef enum epp_severity {
	EPP_NOTE = 0,    /* no error: a process was killed or still writes, and missing records are counted */
	EPP_WARNING = 1, /* a check failed, but the loss is known or small */
	EPP_ERROR = 2
} epp_severity;

typedef struct epp_trace_finding {
	epp_severity severity;
	uint64_t offset; /* the offset in the file; UINT64_MAX: the finding has no single offset */
	const char *text;
} epp_trace_finding;

/* Checks structure, checksums, order, pairing, ids, clocks and balance of the whole trace, and calls `report` for each
 * finding.  `*found` is the number of findings that are not notes; it is 0 if the trace is valid.  The function fails
 * only if the check itself could not be done.
 * Ownership: a finding is valid during the call.  Errors: EPP_IO, EPP_OUT_OF_MEMORY. */
EPP_EXPORT epp_status *epp_trace_validate(epp_trace *trace, void (*report)(void *user, const epp_trace_finding *finding),
                                          void *user, uint64_t *found) EPP_MUST_CHECK;

/* Finds the record with this id in the file.  Sets `*offset` to the offset of its block, or of its region in the
 * window, or to UINT64_MAX if there is no such record.  Reads all blocks up to the one that is found.
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
		const char *text; /* any bytes, without a NUL at the end */
	} value;
} epp_trace_arg;

#ifdef __cplusplus
}
#endif
#endif
