/* epprof: several traces as one, on one clock: the processes of a job, a server and its clients.
 *
 * Each process of each trace becomes a process of the merged one, with its tracks, its runs and its part of the ledger; ids
 * are looked up within their process, so equal ones never meet.  The merged trace's clock counts nanoseconds, and is that
 * of the first trace whose unix time is known.  Traces are brought onto it
 *   of the same boot of a machine    by the counter that both read (no error), else by CLOCK_MONOTONIC
 *   of other boots and machines      by CLOCK_REALTIME, within what the readings tell; how far two machines' clocks were
 *                                    apart is in no trace, so that is left out and said
 *                                    or, better, by events that all have: options.align
 *   without a known time             not at all: their first run begins with the merged trace
 * How, and within what, stands with each process (epp_trace_source_at), and in the errors of its events.
 * A merged trace is a trace: it can be merged again.
 */
#ifndef EPPROF_MERGE_H
#define EPPROF_MERGE_H

#include "epprof/export.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct epp_merge_options {
	size_t struct_size; /* a non-zero unknown tail is an error */
	/* The name of events of threads that ended at one moment in all processes, as a barrier does: the first such event of
	 * one is that of the others, and so on.  Machines whose clock would be brought on by CLOCK_REALTIME, or not at all, are
	 * brought on by these.  NULL: by clocks alone. */
	const char *align;
	uint32_t align_starts; /* 1: they began at one moment */
	uint32_t strict; /* 1: it is an error (EPP_INCOMPATIBLE) if a clock cannot be related, if `align` is missing or not equally
	                    often in a trace that needs it, or if names do not fit */
	uint32_t overwrite; /* 1: a file at `path` is replaced */
	uint32_t reserved;
	const volatile int *cancel; /* may be NULL; once it is not 0 the merge ends with EPP_UNAVAILABLE and leaves no file */
} epp_merge_options;

typedef struct epp_merge_counts {
	uint64_t records;
	uint64_t names_lost; /* that did not fit: there is room for 1,048,576 names of 256 MiB together */
	uint32_t sources;
	uint32_t machines;  /* boots of machines, and traces that do not say theirs */
	uint32_t unrelated; /* of those: whose clock could not be brought on */
	uint32_t reserved;
} epp_merge_counts;

/* Writes the traces as one into `path`, which appears, complete, by rename.  The receipt, as epp_export's, says how each
 * machine's clock was brought on, a line each.  What a killed process left open ends with its last sign of life.  Memory:
 * what the open traces take, the names, 8 bytes a name of each trace, and 16 bytes an event that `align` names.
 * `options`, `receipt` and `counts` may be NULL.
 * Errors: EPP_BUSY (one is still being recorded), EPP_INVALID_ARGUMENT (two hold the same recording), EPP_INCOMPATIBLE
 * (`strict`), EPP_UNAVAILABLE (the file exists; cancelled), EPP_CORRUPT, EPP_IO, EPP_OUT_OF_MEMORY.
 * Thread: one at a time for each trace. */
EPP_EXPORT epp_status *epp_trace_merge(epp_trace *const *traces, size_t count, const char *path,
                                       const epp_merge_options *options, epp_receipt_fn receipt, void *receipt_user,
                                       epp_merge_counts *counts) EPP_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
