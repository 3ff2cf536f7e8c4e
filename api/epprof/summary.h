/* epprof: a summary of a trace: its events added up by op, kernel, stream, thread and phase, in one pass.
 *
 *   epp_summary *summary;
 *   epp_summary_create(trace, NULL, &summary);
 *   for (size_t i = 0; i < epp_summary_lines_count(summary, EPP_BY_KERNEL); i++)
 *       ... epp_summary_line_at(summary, EPP_BY_KERNEL, i)->total_ns ...
 *   epp_summary_destroy(summary);
 *
 * Memory grows with the number of names and tracks, not with the number of events.
 *
 * Thread, unless a function says otherwise: [any-thread]; a summary does not change after epp_summary_create.
 */
#ifndef EPPROF_SUMMARY_H
#define EPPROF_SUMMARY_H

#include "epprof/timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct epp_summary epp_summary;

typedef enum epp_summary_by {
	EPP_BY_OP = 0,     /* host events, by name and category; the name of a node is used without ONNX Runtime's
	                      suffix "_kernel_time" */
	EPP_BY_KERNEL = 1, /* device events, by name and by the operator type of the node that caused them */
	EPP_BY_STREAM = 2,
	EPP_BY_THREAD = 3,
	/* Phases of an accelerator's work, by category, cause and name:
	 *   submit    host events of category API that caused another event, that is, calls that launch work; and for
	 *             each device event the time from epp_event.launch_ns to epp_event.queue_ns
	 *   queue     for each device event the time from its entry into the device's queue (epp_event.queue_ns), or,
	 *             if that is not known, from its earliest launch (epp_event.launch_ns), to its start
	 *   copy in   device events whose name has "copy in", "upload", "h2d", "htod" or "host to device" in it
	 *   copy out  the same with "copy out", "download", "d2h", "dtoh", "device to host"
	 *   copy      other device events with "copy", "memcpy" or "transfer" in the name, or whose args mark them as
	 *             copies (epp_summary_line.work)
	 *   fill      device events with "memset" in the name, or whose args mark them as fills
	 *   compute   all other device events
	 * A phase without events has no line. */
	EPP_BY_PHASE = 4,
	/* Nodes of a model, by operator type and execution provider (their args `op_name` and `provider`), and the
	 * device events that the nodes caused. */
	EPP_BY_OP_TYPE = 5,
	EPP_BY_COUNT
} epp_summary_by;

/* The reasons why a stream was idle before its first event and between two events. */
typedef enum epp_idle {
	EPP_IDLE_UNLAUNCHED = 0, /* the time before the earliest launch of the next event (epp_event.launch_ns), and the
	                            time after the last event */
	EPP_IDLE_COPY = 1,       /* after the launch of the next event, while a copy ran on another stream of the
	                            device */
	EPP_IDLE_LATE = 2,       /* the rest of the time from the launch of the next event to its start */
	EPP_IDLE_UNKNOWN = 3,    /* the cause of the next event is not known, and so its launch */
	EPP_IDLE_COUNT
} epp_idle;

/* A histogram with buckets whose width is at most 1/64 of their values. */
typedef struct epp_histogram epp_histogram;

EPP_EXPORT uint64_t epp_histogram_count(const epp_histogram *histogram);
/* Returns the quantile `part` (0 to 1), with an error of at most 0.8 %; for `part` 1 the exact largest value.  Returns
 * 0 if there are no values. */
EPP_EXPORT int64_t epp_histogram_quantile(const epp_histogram *histogram, double part);
/* As epp_histogram_quantile, but interpolates within a bucket by the mean of its values, so that a small change of all
 * values changes the result.  The error is small if the values differ by less than a bucket's width, or are distributed
 * evenly. */
EPP_EXPORT double epp_histogram_interpolate(const epp_histogram *histogram, double part);
/* Iterates over the buckets that have values, in ascending order: `*count` values from `*from` to below `*to`.  Set
 * `*cursor` to 0 before the first call.  Returns 0 after the last. */
EPP_EXPORT int epp_histogram_next(const epp_histogram *histogram, size_t *cursor, int64_t *from, int64_t *to,
                                  uint64_t *count);

typedef struct epp_summary_line {
	const char *name; /* NUL-terminated; names beyond the first 65,536 are added up under "(other names)" */
	size_t name_bytes;
	const char *group; /* for a stream its device, for a thread its process; else NULL */
	uint32_t category; /* for an op: epp_category */
	uint32_t is_copy;  /* kernels and phases: 1: the events are copies or fills */
	/* The number of events, each counted as often as its weight (epp_event.weight).  If a budget left out runs,
	 * this number, the sums and the histograms below are estimates for the whole program; busy_ns, idle_ns, max_ns,
	 * gaps, errors and placed_count describe only the events of the trace.  This and the members below do not
	 * include warm-up events (epp_summary_options). */
	uint64_t count;
	uint64_t warmup_count; /* the number of warm-up events */
	int64_t warmup_ns;     /* the sum of the durations of the warm-up events */
	int64_t total_ns;      /* the sum of the durations; the time of a nested event is also part of its parent's */
	int64_t self_ns;       /* the sum of the durations without those of nested events on the same lane */
	int64_t busy_ns;       /* streams and threads: the time in which at least one event runs */
	int64_t max_ns;
	const epp_histogram *durations;
	const epp_histogram *launches;   /* the times from epp_event.launch_ns to the start: of kernels, of a stream's
	                                  events, or of the device events that the events of an op or an operator type
	                                  caused */
	const epp_histogram *gaps;       /* streams: the lengths of the gaps between events; else NULL */
	int64_t idle_ns[EPP_IDLE_COUNT]; /* streams: the idle time by reason; the sum of these and busy_ns is the time
	                                    from first_ns to last_ns */
	const epp_histogram *errors;     /* streams: for each event the larger of the error bounds of its start and end;
	                                    else NULL */
	int64_t max_error_ns;
	uint64_t placed_count[EPP_PLACEMENT_COUNT]; /* streams: the number of events by placement */
	const char *op_type;   /* nodes: their operator type; kernels: the operator type of the node that caused them;
	                          NULL: not known */
	const char *provider;  /* operator types: the execution provider; NULL: not known */
	uint64_t device_count; /* ops, operator types: the number of device events that their events caused, and the sum
	                          of the durations of these; a device event is not counted if some 50,000 other causes
	                          began between its cause and itself */
	int64_t device_ns;
	/* Kernels: "kernel", "copy in", "copy out", "copy" or "fill", from the arg `kind` ("kernel", "memcpy",
	 * "memset") or `cat` ("kernel", "gpu_memcpy", "gpu_memset") of the first event, or else from its name.  For
	 * other lines NULL. */
	const char *work;
	uint64_t bytes; /* phases of copies and fills: the sum of the arg `bytes`; below, the number of events that have
	                   this arg, and the sum of their durations */
	uint64_t bytes_count;
	int64_t bytes_ns;
	/* The effective sample size: the number of events of equal weight that would give estimates with the same
	 * accuracy.  It is the square of the sum of the weights divided by the sum of their squares; without weights it
	 * is `count`. */
	double samples;
} epp_summary_line;

typedef struct epp_summary_totals {
	int64_t first_ns; /* the first start and, below, the last end; both 0 if there are no events */
	int64_t last_ns;
	uint64_t host_events; /* the number of slices and asynchronous events */
	uint64_t device_events;
	uint64_t instants;
	uint64_t counters; /* the number of counter values */
	uint64_t unended;  /* the number of events without a recorded end */
	const epp_timeline_counts *counts;
	uint64_t weighted; /* the number of host and device events with a weight above 1 (epp_event.weight); the numbers
	                      above count each event of the trace once */
	/* Runs, that is, outermost events of threads.  All members are 0 if it is not known which events were runs:
	 * events inside others have weights of their own (max_overhead with a step), or outer events were filtered
	 * out. */
	uint64_t runs_kept;         /* the number of runs in the trace */
	uint64_t runs_count;        /* the sum of their weights: an estimate of the number of runs of the program */
	int64_t runs_ns;            /* the sum of their weighted durations: an estimate of the duration of the program's
	                               runs */
	double runs_count_variance; /* the variances of the two estimates (docs/overhead.md); 0: no run was left out */
	double runs_ns_variance;
	uint64_t kernels_only_count; /* how often a thread began to leave out the events inside its runs (max_overhead).
	                                Numbers and times are then without those events, for which no weight makes
	                                up, and the self times of runs contain theirs */
} epp_summary_totals;

typedef struct epp_summary_options {
	size_t struct_size;
	const epp_timeline_options *timeline; /* NULL: all events */
	uint64_t warmup_count; /* the number of warm-up events: the first events of each op and of each kernel, which
	                          its line counts separately */
} epp_summary_options;

/* Reads the events and adds them up.  `options` may be NULL.  Errors: EPP_IO, EPP_CORRUPT, EPP_OUT_OF_MEMORY,
 * EPP_INVALID_ARGUMENT (an option that this version does not have).
 * Thread: one at a time for one trace.  Ownership: the caller destroys the summary before the trace is closed. */
EPP_EXPORT epp_status *epp_summary_create(epp_trace *trace, const epp_summary_options *options, epp_summary **summary)
    EPP_MUST_CHECK;

/* Ownership, here and below: valid until the summary is destroyed. */
EPP_EXPORT const epp_summary_totals *epp_summary_get_totals(const epp_summary *summary);
EPP_EXPORT size_t epp_summary_lines_count(const epp_summary *summary, epp_summary_by by);
/* Returns a line, in the order of the first event of each line; NULL beyond the last. */
EPP_EXPORT const epp_summary_line *epp_summary_line_at(const epp_summary *summary, epp_summary_by by, size_t index);

/* Destroys a summary; NULL does nothing. */
EPP_EXPORT void epp_summary_destroy(epp_summary *summary);

#ifdef __cplusplus
}
#endif
#endif
