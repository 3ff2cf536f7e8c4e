/* epprof: where the time went: the events of a trace added up by op, kernel, stream, thread and phase, in one
 * pass.
 *
 *   epp_summary *summary;
 *   epp_summary_create(trace, NULL, &summary);
 *   for (size_t i = 0; i < epp_summary_lines_count(summary, EPP_BY_KERNEL); i++)
 *       ... epp_summary_line_at(summary, EPP_BY_KERNEL, i)->total_ns ...
 *   epp_summary_release(summary);
 *
 * Memory grows with the number of names and tracks, not with the number of events.
 *
 * Thread, unless a function says otherwise: [any-thread]; a summary that is made does not change.
 */
#ifndef EPPROF_SUMMARY_H
#define EPPROF_SUMMARY_H

#include "epprof/timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct epp_summary epp_summary;

typedef enum epp_summary_by {
	EPP_BY_OP = 0, /* events of the host program, by name and category; of a node without ONNX Runtime's "_kernel_time" */
	EPP_BY_KERNEL = 1, /* events of devices, by name and by the operator type of the node that caused them */
	EPP_BY_STREAM = 2,
	EPP_BY_THREAD = 3,
	/* Parts of an accelerator's work, by category, cause and name:
	 *   submit    API events of the host that something else names as its cause: the calls that launch
	 *   queue     of each device event, from when it can have been launched (epp_event.launch_ns) to its start
	 *   copy in   device events whose name has "copy in", "upload", "h2d", "htod" or "host to device" in it
	 *   copy out  likewise "copy out", "download", "d2h", "dtoh", "device to host"
	 *   copy      others with "copy", "memcpy" or "transfer", and those that are stated to be copies (epp_summary_line.work)
	 *   fill      those with "memset", and those that are stated to be fills
	 *   compute   all other device events
	 * Only those that occur have a line. */
	EPP_BY_PHASE = 4,
	/* Nodes of a model by operator type and execution provider (their args `op_name` and `provider`), with the events of devices
	 * that they caused. */
	EPP_BY_OP_TYPE = 5,
	EPP_BY_COUNT
} epp_summary_by;

/* Why a stream did nothing between two of its events, and before the first. */
typedef enum epp_idle {
	EPP_IDLE_UNLAUNCHED = 0, /* until the next one can have been launched (epp_event.launch_ns); and after the last one */
	EPP_IDLE_COPY = 1,       /* after that, as long as a copy ran on another stream of the device */
	EPP_IDLE_LATE = 2,       /* the rest: it was launched and had not started */
	EPP_IDLE_UNKNOWN = 3, /* the next event names no cause */
	EPP_IDLE_COUNT
} epp_idle;

/* How values are spread: buckets whose width is at most 1/64 of their values. */
typedef struct epp_histogram epp_histogram;

EPP_EXPORT uint64_t epp_histogram_count(const epp_histogram *histogram);
/* The value below which `part` (0 to 1) of all values lie, within 0.8 %; 0 if there are none. */
EPP_EXPORT int64_t epp_histogram_quantile(const epp_histogram *histogram, double part);
/* The buckets that have values, from the least on: `*count` of them from `*from` to below `*to`.  `*cursor` is 0 at first.
 * Returns 0 behind the last. */
EPP_EXPORT int epp_histogram_next(const epp_histogram *histogram, size_t *cursor, int64_t *from, int64_t *to,
                                  uint64_t *count);

typedef struct epp_summary_line {
	const char *name; /* NUL-terminated; names beyond the first 65,536 are added up under "(other names)" */
	size_t name_bytes;
	const char *group;     /* of a stream its device, of a thread its process; else NULL */
	uint32_t category;     /* of an op: epp_category */
	uint32_t is_copy;      /* kernels, phases: 1: copies or fills */
	uint64_t count;        /* of this and what follows the first ones are left out, if epp_summary_options say so */
	uint64_t warmup_count; /* how many were */
	int64_t warmup_ns;     /* the sum of their durations */
	int64_t total_ns;      /* events within events count again */
	int64_t self_ns;       /* without the events inside, on the same lane */
	int64_t busy_ns;       /* streams and threads: the time that any event covers */
	int64_t max_ns;
	const epp_histogram *durations;
	const epp_histogram *launches;   /* kernels, streams: from epp_event.launch_ns to their start */
	const epp_histogram *gaps;       /* streams: between events, each gap by its length; else NULL */
	int64_t idle_ns[EPP_IDLE_COUNT]; /* streams: with busy_ns the time from first_ns to last_ns */
	const epp_histogram *errors;     /* streams: of each event the larger error bound of its two times; else NULL */
	int64_t max_error_ns;
	uint64_t placed_count[EPP_PLACEMENT_COUNT]; /* streams: events by how they were placed */
	const char *op_type;  /* nodes: their operator; kernels: that of the node that caused them; NULL: not known */
	const char *provider; /* operator types: the execution provider; NULL: not known */
	uint64_t device_count; /* operator types: events of devices that their nodes caused, and the sum of their durations */
	int64_t device_ns;
	/* Kernels: "kernel", "copy in", "copy out", "copy" or "fill", as the arg `kind` ("kernel", "memcpy", "memset") or `cat`
	 * ("kernel", "gpu_memcpy", "gpu_memset") of the first one states, or else its name; NULL: no kernel. */
	const char *work;
	uint64_t bytes; /* phases: of copies and fills, the sum of the arg `bytes`; how many have it, and their durations */
	uint64_t bytes_count;
	int64_t bytes_ns;
} epp_summary_line;

typedef struct epp_summary_totals {
	int64_t first_ns; /* the first start and the last end; 0 and 0 without events */
	int64_t last_ns;
	uint64_t host_events; /* slices and asynchronous ones */
	uint64_t device_events;
	uint64_t instants;
	uint64_t counters; /* values */
	uint64_t unended;  /* events that were closed from outside, or are open */
	epp_timeline_counts counts;
} epp_summary_totals;

typedef struct epp_summary_options {
	size_t struct_size;
	const epp_timeline_options *timeline; /* NULL: everything */
	uint64_t warmup_count; /* so many first events of each op and kernel are warm-up: told apart in their line */
} epp_summary_options;

/* Reads the events and adds them up.  `options` may be NULL.  Errors: EPP_IO, EPP_CORRUPT, EPP_OUT_OF_MEMORY,
 * EPP_INVALID_ARGUMENT (an option that this version does not know).
 * Thread: one at a time for one trace.  Ownership: the caller releases it, before the trace is closed. */
EPP_EXPORT epp_status *epp_summary_create(epp_trace *trace, const epp_summary_options *options, epp_summary **summary)
    EPP_MUST_CHECK;

/* Ownership, here and below: valid until the summary is released. */
EPP_EXPORT const epp_summary_totals *epp_summary_get_totals(const epp_summary *summary);
EPP_EXPORT size_t epp_summary_lines_count(const epp_summary *summary, epp_summary_by by);
/* In the order in which they were met; NULL beyond the last. */
EPP_EXPORT const epp_summary_line *epp_summary_line_at(const epp_summary *summary, epp_summary_by by, size_t index);

/* Releases a summary; NULL does nothing. */
EPP_EXPORT void epp_summary_release(epp_summary *summary);

#ifdef __cplusplus
}
#endif
#endif
