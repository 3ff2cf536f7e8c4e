/* epprof: merges several traces into one, on one clock: the processes of a job, a server and its clients; and adds
 * events that came after the end of a recording to its trace.
 *
 * Each process of each trace becomes a process of the merged trace, with its tracks, its runs and its part of the
 * ledger.  An id refers to an event of the same process, so equal ids of two processes do not conflict.  The merged
 * trace's clock counts nanoseconds.  It is the clock of the first trace whose unix time is known.  The clocks of the
 * traces are aligned to it
 *   of the same boot of a machine    by the counter that both read (no error), else by CLOCK_MONOTONIC
 *   of other boots and machines      by CLOCK_REALTIME, within the error bound of its readings.  The offset between two
 *                                    machines' clocks is in no trace, so the bound does not include it; the receipt
 *                                    reports this.  Events that occur in all traces give a better alignment
 *                                    (options.align)
 *   without a known time             not at all: their first run begins at the start of the merged trace
 * epp_trace_source_at returns the method and its error bound for each process.  The errors of its events include this
 * bound.
 * A merged trace can be merged again. */
#ifndef EPPROF_MERGE_H
#define EPPROF_MERGE_H

#include "epprof/export.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct epp_merge_options {
	size_t struct_size; /* a non-zero unknown tail is an error */
	/* The name of host events that end at the same moment in all processes, for example of a barrier.  The first
	 * event with this name of one process matches the first one of each other process, the second the second, and
	 * so on.  These events align machines whose clocks would otherwise be aligned by CLOCK_REALTIME, or not at all.
	 * NULL: machines are aligned by clocks only. */
	const char *align;
	uint32_t align_starts; /* 1: the events begin, instead of end, at the same moment in all processes */
	uint32_t strict;       /* 1: the merge fails with EPP_INCOMPATIBLE if a clock cannot be aligned, if a trace that
	                          is to be aligned by `align` has none of these events or a different number of them, or
	                          if there is no room for all names */
	uint32_t overwrite;    /* 1: an existing file at `path` is replaced */
	uint32_t reserved;
	const volatile int *cancel; /* may be NULL; when it becomes non-zero, the merge ends with EPP_CANCELLED and
	                               leaves no file */
} epp_merge_options;

typedef struct epp_merge_counts {
	size_t struct_size; /* sizeof(epp_merge_counts) of the caller, who sets it */
	uint64_t records;
	uint64_t names_lost; /* names for which there was no room: a trace has at most 1,048,576 names with 256 MiB of
	                        text */
	uint32_t sources;
	uint32_t machines; /* the number of different machines among all processes, each identified by a host name and a
	                      boot id; a trace that has neither counts as one machine */
	uint32_t unrelated; /* the number of machines whose clock could not be aligned */
	uint32_t reserved;
} epp_merge_counts;

/* Merges the traces into the file `path`, which appears by rename when it is complete.  `receipt` is called as by
 * epp_export, with one line for each machine, which reports how its clock was aligned, and one line for the offset that
 * no bound includes.  Events that a killed process left open end at its last recorded time.  Memory: that of the open
 * traces, the names, 8 bytes for each name of each trace, and 16 bytes for each event that `align` names.
 * `options`, `receipt` and `counts` may be NULL.
 * Errors: EPP_BUSY (a trace is still being recorded), EPP_INVALID_ARGUMENT (two traces have the same recording),
 * EPP_INCOMPATIBLE (`strict`), EPP_EXISTS, EPP_CANCELLED, EPP_CORRUPT, EPP_IO, EPP_OUT_OF_MEMORY.
 * Thread: one at a time for each trace. */
EPP_EXPORT epp_status *epp_trace_merge(epp_trace *const *traces, size_t count, const char *path,
                                       const epp_merge_options *options, epp_receipt_fn receipt, void *receipt_user,
                                       epp_merge_counts *counts) EPP_MUST_CHECK;

typedef struct epp_amend_options {
	size_t struct_size;   /* a non-zero unknown tail is an error */
	const char *profiler; /* the label of the account that gets the events; NULL: the account that is labelled as
	                         theirs, else the only one with events lost after the end, else a new one */
	const volatile int *cancel; /* as in epp_merge_options */
	uint32_t overwrite;         /* 1: an existing file at `path` is replaced, which may be the trace itself */
	uint32_t reserved;
} epp_amend_options;

typedef struct epp_amend_counts {
	size_t struct_size; /* sizeof(epp_amend_counts) of the caller, who sets it */
	uint64_t added;     /* events that were added */
	uint64_t joined;    /* of these: events with a host event of the trace as their parent */
	uint64_t ambiguous; /* of these: events without a parent, because several host events have their number */
	uint64_t durations; /* of these: events without a time, because their clock has no relation to the trace's */
	uint64_t recovered; /* events that an account counted as lost after the end, and does not any more */
	uint64_t known;     /* events that the trace had already, because they were added before */
	uint64_t left_out;  /* events of the late traces that are not of devices */
} epp_amend_counts;

/* Adds the device events of other traces to a finished trace, and writes the result to `path`, which appears by rename
 * when it is complete: events that a device delivered, or wrote to a file, after the recording had ended.  A profile of
 * another program is first converted by epp_import_file.
 *
 * The parent of an event becomes the host event of `trace` that it names: by its parent, if this is an id (a token of
 * the kit) that no event of its own trace has; by the arg `token` or `external_id`, which is an id; or by the arg
 * `correlation` or `correlation_id`, if one event of the host in `trace` has the same number (of several that enclose
 * each other, the innermost).  Times are converted by CLOCK_MONOTONIC of the same boot, else by CLOCK_REALTIME; without
 * either, and for clocks of durations, an event keeps its duration only.  Each event that is added counts one less as
 * lost after the end (EPP_LOSS_AFTER_END) in its account, as long as there are any, and else one more as emitted.
 * Everything else of the trace is unchanged; the blocks of a packed trace are unpacked.
 *
 * An event that was added before, which has the same times, name and parent, is not added again.
 * `receipt` is called as by epp_export, with a line for each late trace, which reports how its clock was related.
 * `options`, `receipt` and `counts` may be NULL.  Memory: that of the open traces and their names, 24 bytes for each
 * number that late events name, and for each event that was added before.
 * Errors: EPP_WRONG_STATE (`trace` is not finished: epp_trace_recover), EPP_INCOMPATIBLE (a trace of several
 * processes), EPP_INVALID_ARGUMENT (no late trace, or `trace` itself, or a trace without a run), EPP_NOT_FOUND (no
 * account is named `profiler`), EPP_LIMIT (no room for another account, name or track), EPP_EXISTS, EPP_BUSY,
 * EPP_CANCELLED, EPP_CORRUPT, EPP_IO, EPP_OUT_OF_MEMORY.
 * Thread: one at a time for each trace. */
EPP_EXPORT epp_status *epp_trace_amend(epp_trace *trace, epp_trace *const *late, size_t count, const char *path,
                                       const epp_amend_options *options, epp_receipt_fn receipt, void *receipt_user,
                                       epp_amend_counts *counts) EPP_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
