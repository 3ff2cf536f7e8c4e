/* epprof: converts another profiler's file into a trace.
 *
 * The input is read once, from start to end, in at most 16 MiB of memory whatever its size; data that must be looked up
 * again is kept in temporary files in TMPDIR.  A truncated file is imported up to its end.
 *
 * Thread: [any-thread].
 */
#ifndef EPPROF_IMPORT_H
#define EPPROF_IMPORT_H

#include "epprof/export.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct epp_import_format {
	const char *name;        /* "ort", for the option -t */
	const char *description; /* one line, for the help text */
} epp_import_format;

/* The import formats; NULL beyond the last.
 * Ownership: valid for the life of the process. */
EPP_EXPORT const epp_import_format *epp_import_format_at(size_t index);

typedef struct epp_import_options {
	size_t struct_size;    /* a non-zero unknown tail is an error */
	const char *format;    /* NULL: detected from the file's first bytes */
	const char *label;     /* the label of the trace; NULL: the input's file name */
	int64_t epoch_unix_ns; /* the unix time of the input's time 0; 0: taken from the file, if the file has it */
	const volatile int *cancel; /* may be NULL; when it becomes non-zero, the import ends with EPP_UNAVAILABLE
	                               and leaves no file */
	uint32_t overwrite;         /* 1: an existing output is replaced */
	uint32_t beside_recording;  /* 1: the output will be added to a recording of the same process: the losses in
	                               the kit's `epprof.lost` are left out if it has the arg `epprof.id`, because
	                               the recording has counted them */
} epp_import_options;

typedef struct epp_import_counts {
	uint64_t input_bytes;
	uint64_t events;         /* in the trace: slices, instants, counters, flows */
	uint64_t repaired_lines; /* lines that were not valid JSON, but could be repaired */
	uint64_t left_out;       /* events that could not be parsed or kept; the ledger counts them */
	uint64_t correlated;     /* events of execution providers whose host event is named in the file */
	uint64_t inferred;       /* events of execution providers whose host event was found by containment */
	uint64_t uncorrelated;   /* events of execution providers without a host event */
	uint64_t ambiguous;      /* events of execution providers that several host events could have caused; they
	                            have no parent */
} epp_import_counts;

/* Reads `input` ("-" is standard input) and writes the trace `output`, which appears when it is complete.  The receipt,
 * as epp_export's, reports what was repaired, guessed and left out, one line a call; the trace has the same texts in
 * the event `epprof.import`.  `options`, `receipt` and `counts` may be NULL.
 * Errors: EPP_NOT_FOUND (input, format), EPP_IO, EPP_CORRUPT (not of that format, or no event in it), EPP_UNAVAILABLE
 * (the output exists; cancelled), EPP_INVALID_ARGUMENT, EPP_OUT_OF_MEMORY. */
EPP_EXPORT epp_status *epp_import_file(const char *input, const char *output, const epp_import_options *options,
                                       epp_receipt_fn receipt, void *receipt_user, epp_import_counts *counts)
    EPP_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
