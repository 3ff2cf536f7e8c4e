/* epprof: converts another profiler's file into a trace.
 *
 * The input is read once, from start to end.  At most 16 MiB of memory are used, whatever the size of the input: data
 * that is needed again is kept in temporary files in TMPDIR.  A truncated file is imported as far as it goes.
 *
 * Thread: [any-thread]. */
#ifndef EPPROF_IMPORT_H
#define EPPROF_IMPORT_H

#include "epprof/export.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct epp_import_format {
	const char *name;        /* the name for the option -t, for example "ort" */
	const char *description; /* one line, for the help text */
} epp_import_format;

/* Returns an import format; NULL beyond the last.
 * Ownership: valid for the life of the process. */
EPP_EXPORT const epp_import_format *epp_import_format_at(size_t index);

typedef struct epp_import_options {
	size_t struct_size;         /* a non-zero unknown tail is an error */
	const char *format;         /* NULL: detected from the file's first bytes */
	const char *label;          /* the label of the trace; NULL: the input's file name */
	int64_t epoch_unix_ns;      /* the unix time of the input's time 0; 0: taken from the file, if the file contains
	                          it */
	const volatile int *cancel; /* may be NULL; when it becomes non-zero, the import ends with EPP_CANCELLED
	                               and leaves no file */
	uint32_t overwrite;         /* 1: an existing output file is replaced */
	uint32_t beside_recording;  /* 1: the output will be added to a recording of the same process. The kit's
	                             * `epprof.lost` events that have the arg `epprof.id` are left out, because the
	                             * recording has counted these losses */
	uint32_t allow_empty;       /* 1: an input without events is no error: the output has a run without events */
	uint32_t reserved;
} epp_import_options;

typedef struct epp_import_counts {
	size_t struct_size; /* sizeof(epp_import_counts) of the caller, who sets it */
	uint64_t input_bytes;
	uint64_t events;         /* slices, instants, counters and flows in the trace */
	uint64_t repaired_lines; /* lines that were not valid JSON and were repaired */
	uint64_t left_out;       /* events that could not be parsed or stored; the ledger counts them */
	uint64_t correlated;     /* events of execution providers whose host event the file names */
	uint64_t inferred;       /* events of execution providers whose host event was found by containment */
	uint64_t uncorrelated;   /* events of execution providers for which no host event was found */
	uint64_t ambiguous;      /* events of execution providers that several host events could have caused; they
	                            have no parent */
} epp_import_counts;

/* Reads `input` ("-" is standard input) and writes the trace `output`, which appears when it is complete.  `receipt` is
 * called as by epp_export, with one line for each repair, each assumption and each kind of data that was left out; the
 * trace has the same texts in the event `epprof.import`.  `options`, `receipt` and `counts` may be NULL.
 * Errors: EPP_NOT_FOUND (input, format), EPP_IO, EPP_CORRUPT (not of that format, or no event in it), EPP_EXISTS
 * (the output), EPP_CANCELLED, EPP_INVALID_ARGUMENT, EPP_OUT_OF_MEMORY. */
EPP_EXPORT epp_status *epp_import_file(const char *input, const char *output, const epp_import_options *options,
                                       epp_receipt_fn receipt, void *receipt_user, epp_import_counts *counts)
    EPP_MUST_CHECK;

/* ---- events of execution providers ---- */

/* An account in a session for the events of execution providers (EPs) that do not push their events to the session.
 * ONNX Runtime gets these events at the end of profiling, and writes them only into its own profile. */
typedef struct epp_provider_events epp_provider_events;

/* Opens the account in a session into which the collector records (docs/onnxruntime.md).  If `label` is not NULL, the
 * account counts one expected event at once: if the process is killed before the events arrive, that event is counted
 * as lost with EPP_LOSS_KILLED.  If `label` is NULL, the account "providers" is opened when the first events arrive.
 * Errors: as epp_hosted_profiler_create.
 * Thread: [any-thread].  Ownership: the caller destroys it before the session's release; the label is copied. */
EPP_EXPORT epp_status *epp_provider_events_create(epp_session *session, const char *label, epp_provider_events **events)
    EPP_MUST_CHECK;

typedef struct epp_provider_events_options {
	size_t struct_size;
	const char *const *profiles; /* paths of the files that ONNX Runtime has written */
	size_t profiles_count;
	int64_t profile_unix_us;  /* the unix time of time 0 of the profile, if there is only one, in microseconds; 0:
	                             taken from the recording */
	uint64_t max_bytes;       /* the limit of a session with a ring: events whose host events do not fit are left
	                             out (EPP_LOSS_FILTER); 0: no limit */
	uint32_t is_one_provider; /* 1: all events are of one EP, and therefore on one clock */
	uint32_t reserved;
} epp_provider_events_options;

typedef struct epp_provider_events_counts {
	size_t struct_size; /* sizeof(epp_provider_events_counts) of the caller, who sets it */
	uint64_t added;
	uint64_t lost;       /* events that the account counts as lost, for any reason */
	uint64_t filtered;   /* part of `lost`: left out because of max_bytes (EPP_LOSS_FILTER) */
	uint32_t has_pushed; /* 1: the session already had device events */
	uint32_t reserved;
} epp_provider_events_counts;

/* Adds the EPs' events in the profiles to the session.  Events that the session already got from the EP itself
 * (EPPROF_RECORDED_KEY) or from a plugin that the collector hosts are not added again.  Each EP has a clock of its own,
 * in microseconds.  The parent of an event is the host event that it names.  In the account "providers", a device has the
 * name of an EP if nodes of this EP caused all its events.  The account counts events that cannot be
 * read, and events that an EP reports as lost.  After success no events are expected any more. Memory: 64 bytes a host
 * event of these profiles, and the memory of epp_import_file.
 * Errors: as epp_import_file and epp_timeline_create.
 * Thread: one at a time for one session. */
EPP_EXPORT epp_status *epp_provider_events_add(epp_provider_events *events, const epp_provider_events_options *options,
                                               epp_provider_events_counts *counts) EPP_MUST_CHECK;

/* Ends the expectation of events: the account counts no expected event any more.  Its note becomes `note`; "" removes
 * the note.
 * Thread: one at a time for one account.  Ownership: the text is copied. */
EPP_EXPORT void epp_provider_events_expect_none(epp_provider_events *events, const char *note);

/* Sets the account's note.  Expected events are still expected.  If the account is not open yet, the call does
 * nothing.
 * Thread: one at a time for one account.  Ownership: the text is copied. */
EPP_EXPORT void epp_provider_events_set_note(epp_provider_events *events, const char *note);

/* Closes the account.  Events that are still expected are counted as lost (EPP_LOSS_PLUGIN).  NULL does nothing.
 * Thread: [any-thread]. */
EPP_EXPORT void epp_provider_events_destroy(epp_provider_events *events);

#ifdef __cplusplus
}
#endif
#endif
