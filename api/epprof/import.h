/* epprof: making a trace of what another profiler wrote.
 *
 * The input is read once, front to back, in at most 16 MiB of memory whatever its size; what must be found again lies in
 * temporary files in TMPDIR.  A file that ends early is taken as far as it goes.
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
	const char *name;        /* "ort", for -t */
	const char *description; /* one line, for help */
} epp_import_format;

/* The formats there are; NULL beyond the last.
 * Ownership: valid for the life of the process. */
EPP_EXPORT const epp_import_format *epp_import_format_at(size_t index);

typedef struct epp_import_options {
	size_t struct_size;    /* a non-zero unknown tail is an error */
	const char *format;    /* NULL: by the file's first bytes */
	const char *label;     /* what the trace is called; NULL: the input's file name */
	int64_t epoch_unix_ns; /* the unix time of the input's time 0; 0: as far as the file tells */
	const volatile int *cancel; /* may be NULL; once it is not 0 the import ends with EPP_UNAVAILABLE and leaves no file */
	uint32_t overwrite;         /* 1: an existing output is replaced */
	uint32_t beside_recording; /* 1: the output goes into the recording of the same process: what the kit's `epprof.lost` says
	                               is left out if it has the arg `epprof.id`, for then the recording was told */
} epp_import_options;

typedef struct epp_import_counts {
	uint64_t input_bytes;
	uint64_t events;         /* that are in the trace: slices, instants, counters, arrows */
	uint64_t repaired_lines; /* not JSON as they stood, but understood */
	uint64_t left_out;       /* events that could not be understood or kept; the ledger has them */
	uint64_t correlated;     /* events of execution providers whose host event the file names */
	uint64_t inferred;       /* those whose host event was found by containment */
	uint64_t uncorrelated;   /* those without one */
	uint64_t ambiguous;      /* those that several host events could have caused: they are joined to none */
} epp_import_counts;

/* Reads `input` ("-" is standard input) and writes the trace `output`, which appears when it is complete.  The receipt,
 * as epp_export's, says what was repaired, guessed and left out, a line each; the same stands in the trace, in the event
 * `epprof.import`.  `options`, `receipt` and `counts` may be NULL.
 * Errors: EPP_NOT_FOUND (input, format), EPP_IO, EPP_CORRUPT (not of that format, or no event in it), EPP_UNAVAILABLE
 * (the output exists; cancelled), EPP_INVALID_ARGUMENT, EPP_OUT_OF_MEMORY. */
EPP_EXPORT epp_status *epp_import_file(const char *input, const char *output, const epp_import_options *options,
                                       epp_receipt_fn receipt, void *receipt_user, epp_import_counts *counts)
    EPP_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
