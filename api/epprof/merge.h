/* epprof: merges several traces into one, on one clock: the processes of a job, a server and its clients.
 *
 * Each process of each trace becomes a process of the merged trace, with its tracks, its runs and its part of the
 * ledger.  Ids are looked up within their process, so equal ids of two processes do not conflict.  The merged trace's
 * clock counts nanoseconds; it is the clock of the first trace whose unix time is known.  The clocks of the traces are
 * aligned to it
 *   of the same boot of a machine    by the counter that both read (no error), else by CLOCK_MONOTONIC
 *   of other boots and machines      by CLOCK_REALTIME, within the error bound of its readings; the offset between two
 *                                    machines' clocks is in no trace: the bound excludes it; the receipt reports this;
 *                                    better: by events that occur in all traces (options.align)
 *   without a known time             not at all: their first run begins at the start of the merged trace
 * Each process has the method and its error bound (epp_trace_source_at), and the errors of its events include the
 * bound.
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
	/* The name of events of threads that end at the same moment in all processes, as barriers do: the first such
	 * event of one process matches the first of each other one, and so on.  Machines whose clocks would be aligned
	 * by CLOCK_REALTIME, or not at all, are aligned by these events.  NULL: by clocks alone. */
	const char *align;
	uint32_t align_starts; /* 1: the events begin, instead of end, at the same moment */
	uint32_t strict;       /* 1: error (EPP_INCOMPATIBLE) if a clock cannot be aligned, if a trace that needs
	                       `align` has none of these events or a different number of them, or if names do not fit */
	uint32_t overwrite;    /* 1: a file at `path` is replaced */
	uint32_t reserved;
	const volatile int *cancel; /* may be NULL; when it becomes non-zero, the merge ends with EPP_CANCELLED and
	                               leaves no file */
} epp_merge_options;

typedef struct epp_merge_counts {
	size_t struct_size; /* sizeof(epp_merge_counts) of the caller, who sets it */
	uint64_t records;
	uint64_t names_lost; /* names that did not fit: there is room for 1,048,576 names with 256 MiB of text */
	uint32_t sources;
	uint32_t machines; /* pairs of a host name and a boot among all processes; a trace with neither counts as one */
	uint32_t unrelated; /* machines whose clock could not be aligned */
	uint32_t reserved;
} epp_merge_counts;

/* Merges the traces into the file `path`, which appears by rename when it is complete.  The receipt, as epp_export's,
 * reports how each machine's clock was aligned, one line each, and once what all bounds exclude.  Events that a killed
 * process left open end at its last recorded time.  Memory: what the open traces take, the names, 8 bytes a name of
 * each trace, and 16 bytes an event that `align` names.
 * `options`, `receipt` and `counts` may be NULL.
 * Errors: EPP_BUSY (a trace is still being recorded), EPP_INVALID_ARGUMENT (two hold the same recording),
 * EPP_INCOMPATIBLE (`strict`), EPP_EXISTS, EPP_CANCELLED, EPP_CORRUPT, EPP_IO, EPP_OUT_OF_MEMORY.
 * Thread: one at a time for each trace. */
EPP_EXPORT epp_status *epp_trace_merge(epp_trace *const *traces, size_t count, const char *path,
                                       const epp_merge_options *options, epp_receipt_fn receipt, void *receipt_user,
                                       epp_merge_counts *counts) EPP_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
