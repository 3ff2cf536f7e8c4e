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
 * appears, complete, at finish.
 *
 * Thread: [any-thread], but a writer, and a trace, is used by one thread at a time; any number of writers may be used
 * at once.
 */
#ifndef EPPROF_TRACE_WRITER_H
#define EPPROF_TRACE_WRITER_H

#include "epprof/trace_reader.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct epp_trace_writer epp_trace_writer;

typedef struct epp_trace_writer_options {
	size_t struct_size;        /* a non-zero unknown tail is an error */
	const char *path;          /* the .epp; required */
	const char *label;         /* the label of the trace; NULL: "" */
	uint64_t ticks_per_second; /* of the host's clock; 0: 1,000,000,000 */
	uint32_t overwrite;        /* 1: a file at `path` is replaced; 0: it is an error */
	uint32_t reserved;
} epp_trace_writer_options;

/* Begins a trace with source 0, whose process is not described yet.
 * Errors: EPP_EXISTS, EPP_BUSY (a session is writing it), EPP_INVALID_ARGUMENT (no path, an
 * unknown option, not a regular file), EPP_NOT_FOUND, EPP_IO, EPP_OUT_OF_MEMORY.
 * Ownership: options and strings are copied, here and below. */
EPP_EXPORT epp_status *epp_trace_writer_create(const epp_trace_writer_options *options, epp_trace_writer **writer)
    EPP_MUST_CHECK;

/* Frees a writer; an unfinished file is removed.  NULL does nothing. */
EPP_EXPORT void epp_trace_writer_destroy(epp_trace_writer *writer);

/* Adds a source, that is, a process; source 0 exists from the beginning.  All sources share the host's clock.
 * Errors: EPP_LIMIT beyond the 65,535th, EPP_OUT_OF_MEMORY. */
EPP_EXPORT epp_status *epp_trace_writer_add_source(epp_trace_writer *writer, uint32_t *source) EPP_MUST_CHECK;
/* Describes the process of a source; may be called until finish.  Texts are cut to 63 bytes; NULL keeps the previous
 * text. */
EPP_EXPORT void epp_trace_writer_describe_source(epp_trace_writer *writer, uint32_t source, uint32_t pid,
                                                 const char *program, const char *hostname);

/* Returns the number of a name in this file.  A text of more than 64 KiB is cut and "..." appended.  If there is no
 * room (65,536 names, 3 MiB of text), the result is the number of "(name lost)", EPP_RECORD_NAME_LOST: the caller can
 * keep the text as an arg.  Without memory the result is the same, and finish fails. */
EPP_EXPORT epp_name epp_trace_writer_intern_name(epp_trace_writer *writer, const char *text, size_t bytes);
#define EPP_RECORD_NAME_LOST 3u

/* Adds a track.  `track` and `pid` of the definition are ignored; NULL names are "".  EPP_TRACK_CALLS needs a producer,
 * and its thread in `thread_id`.  Clock kinds are those of epp_trace_track except ONNX Runtime's offset formula, which
 * a clock with one pair can express.
 * Errors: EPP_INVALID_ARGUMENT (unknown kind, clock kind, source or producer), EPP_OUT_OF_MEMORY; `*track` is 0
 * then. */
EPP_EXPORT epp_status *epp_trace_writer_add_track(epp_trace_writer *writer, const epp_trace_track *definition,
                                                  uint32_t *track) EPP_MUST_CHECK;
/* Renames a track; may be called until finish.  NULL keeps a text.
 * Errors: EPP_INVALID_ARGUMENT (no such track), EPP_OUT_OF_MEMORY. */
EPP_EXPORT epp_status *epp_trace_writer_rename_track(epp_trace_writer *writer, uint32_t track, const char *name,
                                                     const char *group) EPP_MUST_CHECK;

/* Adds a producer, for tracks of an execution provider; its account is kept by the writer.
 * Errors: EPP_LIMIT beyond the 32nd. */
EPP_EXPORT epp_status *epp_trace_writer_add_producer(epp_trace_writer *writer, const char *label, int32_t *producer)
    EPP_MUST_CHECK;

typedef enum epp_record_kind {
	EPP_RECORD_EVENT = 1, /* host ticks; nests in its thread */
	EPP_RECORD_INSTANT = 2,
	EPP_RECORD_COUNTER = 3,  /* the value is the first arg */
	EPP_RECORD_COMPLETE = 4, /* in ticks of the track's clock */
	EPP_RECORD_FLOW = 5,     /* from event `parent` to event `id`, of the same source; takes an id of its
	                            own, which no reader shows */
	EPP_RECORD_ASYNC_BEGIN = 6,
	EPP_RECORD_ASYNC_END = 7,  /* start: the time of the end; id: the id of the begin */
	EPP_RECORD_CLOCK_PAIR = 10 /* start: device ticks, duration: host ticks, id: half-width in host ticks; of the
	                              track's clock */
} epp_record_kind;

typedef struct epp_trace_record {
	uint64_t start_ticks;
	uint64_t duration_ticks;
	uint64_t id; /* unique within the source; of two events with the same start the outer one has the smaller id */
	uint64_t parent; /* complete events and flows: the causing event; 0: none */
	const epp_arg *args;
	size_t args_count;
	epp_name name;
	uint32_t track;
	uint8_t kind;      /* epp_record_kind */
	uint8_t category;  /* epp_category */
	uint8_t placement; /* epp_placement of timeline.h, if it is known: 2 placed by a formula, 3 the parent was
	                      found by containment; else 0 */
	uint8_t unended;   /* 1: the duration is a lower bound */
} epp_trace_record;

/* Adds a record.  Args beyond the limits are cut, marked and counted.
 * Errors: EPP_INVALID_ARGUMENT (unknown track, kind or category, no name, an arg without key or text), EPP_WRONG_STATE
 * (finished, or after a failed write), EPP_IO, EPP_OUT_OF_MEMORY. */
EPP_EXPORT epp_status *epp_trace_writer_add_record(epp_trace_writer *writer, const epp_trace_record *record)
    EPP_MUST_CHECK;

/* Counts events that could not be kept, in the account of a thread's track, or of the session as a whole (track 0). */
EPP_EXPORT void epp_trace_writer_count_lost(epp_trace_writer *writer, uint32_t track, epp_loss reason, uint64_t count);

/* As epp_trace_writer_count_lost, in a producer's account; ignored if there is no such producer. */
EPP_EXPORT void epp_trace_writer_count_producer_lost(epp_trace_writer *writer, int32_t producer, epp_loss reason,
                                                     uint64_t count);
/* Sets the note of a producer's account, at most 79 bytes, and replaces the last one. */
EPP_EXPORT void epp_trace_writer_set_producer_note(epp_trace_writer *writer, int32_t producer, const char *text);

/* Gets the earliest start and the latest end in host ticks so far; returns 0 if there is none. */
EPP_EXPORT int epp_trace_writer_time_range(const epp_trace_writer *writer, uint64_t *first_ticks, uint64_t *last_ticks);

/* A reading of the host's clocks together, or an estimate of it: `ticks` +- half_width_ticks. */
typedef struct epp_trace_pair {
	uint64_t ticks;
	uint64_t half_width_ticks;
	int64_t monotonic_ns;
	int64_t realtime_ns; /* unix time; counted from 0 if it is not known */
} epp_trace_pair;

/* Writes the remaining records and one run from `start` (time 0 of the timeline) to `end`, and gives the file its name.
 * After that, or a failure, the writer can only be destroyed.
 * Errors: EPP_IO, EPP_OUT_OF_MEMORY, EPP_EXISTS (a file with this name was created meanwhile), EPP_WRONG_STATE
 * (the trace is finished), EPP_INVALID_ARGUMENT (start or end is 0 ticks, or the end before the start). */
EPP_EXPORT epp_status *epp_trace_writer_finish(epp_trace_writer *writer, const epp_trace_pair *start,
                                               const epp_trace_pair *end) EPP_MUST_CHECK;

/* Writes the readable part of a trace as a finished trace: records in the window of a killed process become blocks,
 * events that were open become `unended`.  The file appears at `path` by rename when it is complete; with `overwrite`
 * this may be the trace's own path.
 * Errors: EPP_BUSY (it is still being recorded, or a session writes `path`), EPP_EXISTS,
 * EPP_INVALID_ARGUMENT (not a regular file), EPP_INCOMPATIBLE (a block larger than a segment), EPP_CORRUPT,
 * EPP_NOT_FOUND, EPP_IO, EPP_OUT_OF_MEMORY. */
EPP_EXPORT epp_status *epp_trace_recover(epp_trace *trace, const char *path, int overwrite) EPP_MUST_CHECK;

/* As epp_trace_recover, with packed blocks: records in columns, compressed with zstd, in a third to two thirds of the
 * size, with an index by time and track, so that a time range can be read without the rest.  All functions that read
 * traces accept it; epp_trace_recover converts it back.
 * Errors: as epp_trace_recover; EPP_LIMIT also if a block has more tracks than an index can list. */
EPP_EXPORT epp_status *epp_trace_pack(epp_trace *trace, const char *path, int overwrite) EPP_MUST_CHECK;

/* Writes the last `last_ns` of a session as a finished trace while recording continues, for example of a ring.  Earlier
 * blocks are left out and counted as filtered; the first blocks that are kept may begin earlier.  All device events are
 * kept.
 * Units: nanoseconds, UINT64_MAX for the whole trace.  Thread: [any-thread], not concurrent with epp_session_destroy;
 * recording threads are not blocked.  Errors: as epp_trace_recover. */
EPP_EXPORT epp_status *epp_session_snapshot(epp_session *session, const char *path, uint64_t last_ns, int overwrite)
    EPP_MUST_CHECK;

/* As epp_session_snapshot, of a trace that another process of this machine is recording, in its state when it was
 * opened or later.  The process does not notice it.
 * Units: as epp_session_snapshot.  Errors: as epp_trace_recover; EPP_BUSY only if a session writes `path`; EPP_WRONG_STATE
 * (no process records it), EPP_INCOMPATIBLE (also if the process uses another clock than this one, unless `last_ns` is
 * UINT64_MAX). */
EPP_EXPORT epp_status *epp_trace_snapshot(epp_trace *trace, const char *path, uint64_t last_ns, int overwrite)
    EPP_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
