/* epprof: writes a finished trace from events that another program recorded: for importers, converters, simulators.
 *
 *   epp_trace_writer *writer;
 *   epp_trace_writer_create(&(epp_trace_writer_options){ .struct_size = sizeof(epp_trace_writer_options),
 *                                                        .path = "out.epp", .ticks_per_second = 1000000 }, &writer);
 *   epp_trace_writer_add_track(writer, &(epp_trace_track){ .kind = EPP_TRACK_THREAD, .thread_id = 7, .device = -1,
 *                                                      .producer = -1, .name = "main" }, &track);
 *   epp_trace_writer_add_record(writer, &(epp_trace_record){ .kind = EPP_RECORD_EVENT, .track = track, .id = 1, ... });
 *   epp_trace_writer_finish(writer, &start, &end);
 *   epp_trace_writer_destroy(writer);
 *
 * Records may come in any order.  The writer collects records of all tracks up to a few MiB, then sorts and writes
 * them, so memory does not grow with the number of records; names and tracks stay in memory until the end.  The file
 * appears under its name, complete, when epp_trace_writer_finish returns.
 *
 * Thread: [any-thread], but a writer, and a trace, is used by one thread at a time; any number of writers may be used
 * at once. */
#ifndef EPPROF_TRACE_WRITER_H
#define EPPROF_TRACE_WRITER_H

#include "epprof/trace_reader.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct epp_trace_writer epp_trace_writer;

typedef struct epp_trace_writer_options {
	size_t struct_size;        /* a non-zero unknown tail is an error */
	const char *path;          /* the .epp file to write; required */
	const char *label;         /* the label of the trace; NULL: an empty label */
	uint64_t ticks_per_second; /* the rate of the host's clock; 0: 1,000,000,000 */
	uint32_t overwrite;        /* 1: an existing file at `path` is replaced; 0: an existing file is an error */
	uint32_t reserved;
} epp_trace_writer_options;

/* Begins a trace.  It has source 0, whose process is not described yet.
 * Errors: EPP_EXISTS, EPP_BUSY (a session is writing the file), EPP_INVALID_ARGUMENT (no path, an unknown option, not a
 * regular file), EPP_NOT_FOUND, EPP_IO, EPP_OUT_OF_MEMORY.
 * Ownership: options and strings are copied, here and below. */
EPP_EXPORT epp_status *epp_trace_writer_create(const epp_trace_writer_options *options, epp_trace_writer **writer)
    EPP_MUST_CHECK;

/* Destroys a writer.  If the file is not finished, it is removed.  NULL does nothing. */
EPP_EXPORT void epp_trace_writer_destroy(epp_trace_writer *writer);

/* Adds a source, which is a process.  Source 0 exists from the beginning.  All sources share the host's clock.
 * Errors: EPP_LIMIT beyond the 65,535th, EPP_OUT_OF_MEMORY. */
EPP_EXPORT epp_status *epp_trace_writer_add_source(epp_trace_writer *writer, uint32_t *source) EPP_MUST_CHECK;
/* Describes the process of a source.  May be called until epp_trace_writer_finish.  Texts are cut to 63 bytes; NULL
 * keeps the previous text. */
EPP_EXPORT void epp_trace_writer_describe_source(epp_trace_writer *writer, uint32_t source, uint32_t pid,
                                                 const char *program, const char *hostname);

/* Returns the number of a name in this file.  A text of more than 64 KiB is cut and "..." appended.  If there is no
 * room (65,536 names, 3 MiB of text), the result is EPP_RECORD_NAME_LOST, the number of the name "(name lost)"; the
 * caller can store the text as an arg.  If there is no memory, the result is the same, and epp_trace_writer_finish
 * fails. */
EPP_EXPORT epp_name epp_trace_writer_intern_name(epp_trace_writer *writer, const char *text, size_t bytes);
#define EPP_RECORD_NAME_LOST 3u

/* Adds a track.  `track` and `pid` of the definition are ignored; NULL names are "".  A track of kind EPP_TRACK_CALLS
 * needs a producer, and the id of its thread in `thread_id`.  All clock kinds of epp_trace_track are allowed except
 * ONNX Runtime's formula; use a device's clock with one clock pair instead.
 * Errors: EPP_INVALID_ARGUMENT (unknown kind, clock kind, source or producer), EPP_OUT_OF_MEMORY.  After an error
 * `*track` is 0. */
EPP_EXPORT epp_status *epp_trace_writer_add_track(epp_trace_writer *writer, const epp_trace_track *definition,
                                                  uint32_t *track) EPP_MUST_CHECK;
/* Renames a track.  May be called until epp_trace_writer_finish.  NULL keeps the previous text.
 * Errors: EPP_INVALID_ARGUMENT (no such track), EPP_OUT_OF_MEMORY. */
EPP_EXPORT epp_status *epp_trace_writer_rename_track(epp_trace_writer *writer, uint32_t track, const char *name,
                                                     const char *group) EPP_MUST_CHECK;

/* Adds a producer, for tracks of an execution provider.  The writer keeps the producer's account.
 * Errors: EPP_LIMIT beyond the 32nd. */
EPP_EXPORT epp_status *epp_trace_writer_add_producer(epp_trace_writer *writer, const char *label, int32_t *producer)
    EPP_MUST_CHECK;

typedef enum epp_record_kind {
	EPP_RECORD_EVENT = 1, /* an event of a thread, in host ticks; nests in the events of its thread */
	EPP_RECORD_INSTANT = 2,
	EPP_RECORD_COUNTER = 3,  /* a value of a counter; the value is the first arg */
	EPP_RECORD_COMPLETE = 4, /* an event in ticks of the track's clock */
	EPP_RECORD_FLOW = 5,     /* an arrow from event `parent` to event `id` of the same source; the record needs an
	                            id of its own, which readers do not show */
	EPP_RECORD_ASYNC_BEGIN = 6,
	EPP_RECORD_ASYNC_END = 7,  /* start: the time of the end; id: the id of the asynchronous begin */
	EPP_RECORD_CLOCK_PAIR = 10 /* a pair of the track's clock: start: device ticks; duration: host ticks; id:
	                              half-width in host ticks */
} epp_record_kind;

typedef struct epp_trace_record {
	uint64_t start_ticks;
	uint64_t duration_ticks;
	uint64_t id; /* unique within the source; if two events have the same start, the outer one must have the smaller
	                id */
	uint64_t parent; /* the id of the causing event, for complete events and flows; 0: none */
	const epp_arg *args;
	size_t args_count;
	epp_name name;
	uint32_t track;
	uint8_t kind;      /* epp_record_kind */
	uint8_t category;  /* epp_category */
	uint8_t placement; /* an epp_placement of timeline.h, if it is known: 2: placed by a formula; 3: the parent was
	                      found by containment; else 0 */
	uint8_t unended;   /* 1: the duration is a lower bound */
} epp_trace_record;

/* Adds a record.  Args beyond the limits are cut, marked and counted.
 * Errors: EPP_INVALID_ARGUMENT (unknown track, kind or category, no name, an arg without key or text), EPP_WRONG_STATE
 * (the trace is finished, or a write failed before), EPP_IO, EPP_OUT_OF_MEMORY. */
EPP_EXPORT epp_status *epp_trace_writer_add_record(epp_trace_writer *writer, const epp_trace_record *record)
    EPP_MUST_CHECK;

/* Counts events that the caller could not store: in the account of a thread's track or, for track 0, of the session. */
EPP_EXPORT void epp_trace_writer_count_lost(epp_trace_writer *writer, uint32_t track, epp_loss reason, uint64_t count);

/* As epp_trace_writer_count_lost, but in a producer's account.  If there is no such producer, the call is ignored. */
EPP_EXPORT void epp_trace_writer_count_producer_lost(epp_trace_writer *writer, int32_t producer, epp_loss reason,
                                                     uint64_t count);
/* Sets the note of a producer's account, at most 79 bytes, and replaces the previous note. */
EPP_EXPORT void epp_trace_writer_set_producer_note(epp_trace_writer *writer, int32_t producer, const char *text);

/* Gets the earliest start and the latest end of the records so far, in host ticks.  Returns 0 if there are none. */
EPP_EXPORT int epp_trace_writer_time_range(const epp_trace_writer *writer, uint64_t *first_ticks, uint64_t *last_ticks);

/* A reading of the host's clocks at the same moment, or an estimate: the counter was `ticks` +- half_width_ticks. */
typedef struct epp_trace_pair {
	uint64_t ticks;
	uint64_t half_width_ticks;
	int64_t monotonic_ns;
	int64_t realtime_ns; /* the unix time; if it is not known, a time that counts from 0 */
} epp_trace_pair;

/* Writes the remaining records and one run from `start` (time 0 of the timeline) to `end`, and gives the file its name.
 * After success or failure, the writer can only be destroyed.
 * Errors: EPP_IO, EPP_OUT_OF_MEMORY, EPP_EXISTS (a file with this name was created meanwhile), EPP_WRONG_STATE
 * (the trace is finished), EPP_INVALID_ARGUMENT (start or end is 0 ticks, or the end before the start). */
EPP_EXPORT epp_status *epp_trace_writer_finish(epp_trace_writer *writer, const epp_trace_pair *start,
                                               const epp_trace_pair *end) EPP_MUST_CHECK;

/* Writes the readable part of a trace as a finished trace.  Records in the window of a killed process become blocks,
 * and events that were open are marked `unended`.  The file appears at `path` by rename when it is complete.  If
 * `overwrite` is set, `path` may be the trace's own path.
 * Errors: EPP_BUSY (the trace is still being recorded, or a session writes `path`), EPP_EXISTS, EPP_INVALID_ARGUMENT
 * (not a regular file), EPP_INCOMPATIBLE (a block larger than a segment), EPP_CORRUPT, EPP_NOT_FOUND, EPP_IO,
 * EPP_OUT_OF_MEMORY. */
EPP_EXPORT epp_status *epp_trace_recover(epp_trace *trace, const char *path, int overwrite) EPP_MUST_CHECK;

/* As epp_trace_recover, but writes packed blocks: records are stored in columns and compressed with zstd, which takes a
 * third to two thirds of the size.  An index by time and track allows a reader to read a time range without the rest.
 * All functions that read traces accept a packed trace; epp_trace_recover converts it back.
 * Errors: as epp_trace_recover; EPP_LIMIT also if a block has more tracks than an index can list. */
EPP_EXPORT epp_status *epp_trace_pack(epp_trace *trace, const char *path, int overwrite) EPP_MUST_CHECK;

/* Writes the last `last_ns` of a session, for example of a session with a ring, as a finished trace while recording
 * continues.  Blocks that ended earlier are left out and counted as filtered; the first blocks that are kept may begin
 * earlier.  All device events are kept.
 * Units: nanoseconds, UINT64_MAX for the whole trace.  Thread: [any-thread], not concurrent with epp_session_destroy;
 * recording threads are not blocked.  Errors: as epp_trace_recover. */
EPP_EXPORT epp_status *epp_session_snapshot(epp_session *session, const char *path, uint64_t last_ns, int overwrite)
    EPP_MUST_CHECK;

/* As epp_session_snapshot, for a trace that another process of this machine is recording.  The snapshot has the state
 * of the trace when it was opened, or a later one.  The recording process is not disturbed.
 * Units: as epp_session_snapshot.  Errors: as epp_trace_recover; EPP_BUSY only if a session writes `path`;
 * EPP_WRONG_STATE (no process is recording the trace), EPP_INCOMPATIBLE (also if the recording process uses another
 * clock than this one, unless `last_ns` is UINT64_MAX). */
EPP_EXPORT epp_status *epp_trace_snapshot(epp_trace *trace, const char *path, uint64_t last_ns, int overwrite)
    EPP_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
